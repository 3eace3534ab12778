"""`[[custom.rules]]` as TOML has it -> CustomRules, with one clear line for every mistake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skill_health.config.custom import (
    CHECKS,
    CustomCheck,
    CustomRule,
    FilesCheck,
    KeyCheck,
    LimitCheck,
    PatternCheck,
    SectionCheck,
)
from skill_health.config.values import (
    SEVERITIES,
    Mistake,
    Place,
    dotted,
    dotted_keys,
    keys_of,
    read_fields,
    text,
    texts,
    unknown,
    wrong,
)
from skill_health.text.patterns import lazy
from skill_health.text.regex_safety import find_danger

MOST_RULES, MOST_ENTRIES = 500, 500
TYPES = ("string", "number", "boolean", "list", "mapping", "null")
TEXTS = ("file", "frontmatter", "body", "description", "section", "paths", "bundled", "repository")
"""What a pattern or a limit may look at; see docs/custom-rules.md."""
_CODE = lazy(r"[A-Z]{2,8}[0-9]{3}")
_NAME = lazy(r"[a-z0-9]+(?:-[a-z0-9]+)+")
_PLACEHOLDER = lazy(r"\{(folder|parent|name)\}")
_OUTSIDE = lazy(r"[\\~]|[A-Za-z]:|(?:.*[/\\])?\.\.(?:[/\\]|$)")
_COMMON = ("code", "name", "severity", "message", "help", "paths", "when", "unless")


def read_rules(value: object, path: Place) -> tuple[CustomRule, ...]:
    """The rules of a configuration. Raises Mistake."""
    if not isinstance(value, list):
        raise wrong(path, 'a list of tables, such as [[custom.rules]] with code = "ACME001"', value)
    if len(value) > MOST_RULES:
        raise Mistake(path, f'"{dotted(path)}" has {len(value):,} rules; at most {MOST_RULES} are run')
    rules: list[CustomRule] = []
    for at, entry in enumerate(value):
        rule = _rule(entry, (*path, at))
        for key in ("code", "name"):
            if any(getattr(rule, key) == getattr(other, key) for other in rules):
                raise Mistake((*path, at, key), f'two custom rules have the {key} "{getattr(rule, key)}"')
        rules.append(rule)
    return tuple(rules)


def _rule(entry: object, path: Place) -> CustomRule:
    if not isinstance(entry, dict):
        raise wrong(path, 'a table, such as { code = "ACME001", section = { title = "Usage" } }', entry)
    for key in entry:
        if key not in _COMMON and key not in CHECKS:
            raise unknown(key, path, (*_COMMON, *CHECKS), dotted_keys())
    if "code" not in entry:
        raise Mistake(path, f'"{dotted(path)}" needs the key "code"')
    said = {
        key: text(entry[key], (*path, key)) for key in ("code", "name", "severity", "message", "help") if key in entry
    }
    if not _CODE.fullmatch(said["code"]):
        raise wrong((*path, "code"), "two to eight capital letters and three digits, such as ACME001", said["code"])
    said.setdefault("name", f"custom-{said['code'].lower()}")
    if not _NAME.fullmatch(said["name"]):
        raise wrong((*path, "name"), "lower-case words joined by hyphens, such as needs-owner", said["name"])
    if said.get("severity", "warning") not in SEVERITIES:
        raise wrong((*path, "severity"), "one of " + ", ".join(SEVERITIES), said["severity"])
    conditions = {key: _conditions(entry[key], (*path, key)) for key in ("when", "unless") if key in entry}
    paths = texts(entry["paths"], (*path, "paths")) if "paths" in entry else ()
    check = _check({key: entry[key] for key in CHECKS if key in entry}, path)
    return CustomRule(
        check, said["code"], said["name"], said.get("severity", "warning"), said.get("message", ""), said.get("help", ""),
        paths, conditions.get("when", ()), conditions.get("unless", ()),
    )  # fmt: skip


def _conditions(value: object, path: Place) -> tuple[CustomCheck, ...]:
    """A table with one check, or a list of such tables."""
    entries = value if isinstance(value, list) else [value]
    if len(entries) > MOST_ENTRIES:
        raise Mistake(path, f'"{dotted(path)}" has {len(entries):,} conditions; at most {MOST_ENTRIES} are looked at')
    found = []
    for at, entry in enumerate(entries):
        place = (*path, at) if isinstance(value, list) else path
        if not isinstance(entry, dict):
            raise wrong(place, 'a table such as { key = { path = "risk", required = true } }', entry)
        for key in entry:
            if key not in CHECKS:
                raise unknown(key, place, CHECKS, dotted_keys())
        check = _check(entry, place)
        if isinstance(check, KeyCheck) and check.unique:
            raise Mistake((*place, "key", "unique"), f'"{dotted(place)}": "unique" cannot be a condition')
        found.append(check)
    return tuple(found)


def _check(entry: dict[str, Any], path: Place) -> CustomCheck:
    """The one check of a rule or a condition."""
    if len(entry) != 1:
        raise Mistake(path, f'"{dotted(path)}" needs exactly one of {", ".join(CHECKS)}, not {len(entry)}')
    ((kind, value),) = entry.items()
    place = (*path, kind)
    check = CHECKS[kind](**read_fields(CHECKS[kind], value, place))
    if check == CHECKS[kind]() or not any(_asked(check)):
        asks = [key for key in keys_of(CHECKS[kind]) if key not in _FRAME]
        raise Mistake(place, f'"{dotted(place)}" asks for nothing: say one of {", ".join(asks)}')
    for key, value in check._asdict().items():
        here = (*place, key.replace("_", "-"))
        if isinstance(value, tuple) and len(value) > MOST_ENTRIES:
            raise Mistake(here, f'"{dotted(here)}" has {len(value):,} entries; at most {MOST_ENTRIES} are looked at')
    for key, pattern, whole in _patterns(check):
        here = (*place, key)
        if danger := find_danger(_PLACEHOLDER.sub("x", pattern), whole):
            raise Mistake(here, f'"{dotted(here)}" {danger}')
    _judge(check, place)
    return check


_FRAME = ("path", "within", "section", "files", "exempt", "skip-code", "at-least", "level")


def _asked(check: CustomCheck) -> Iterator[object]:
    """What a check asks for, apart from where it looks."""
    frame = () if isinstance(check, FilesCheck) else _FRAME
    yield from (value for key, value in check._asdict().items() if key.replace("_", "-") not in frame)


def _patterns(check: CustomCheck) -> Iterator[tuple[str, str, bool]]:
    """The regular expressions of a check: key, expression, and whether it must match a whole text."""
    match check:
        case KeyCheck():
            yield "pattern", check.pattern, True
        case PatternCheck():
            for key in ("require", "forbid", "find", "exempt"):
                yield key, getattr(check, key), False
            yield "section", check.section, True
        case SectionCheck():
            yield "pattern", check.pattern, True
        case LimitCheck():
            yield "section", check.section, True
        case FilesCheck():
            yield "folder", check.folder, True


def _judge(check: CustomCheck, place: Place) -> None:
    """What the keys of a check must be together. Raises Mistake."""
    match check:
        case KeyCheck():
            for kind in check.types:
                if kind not in TYPES:
                    raise wrong((*place, "types"), "of " + ", ".join(TYPES), kind)
            if check.forbidden and any(_asked(check._replace(forbidden=False))):
                raise Mistake(place, f'"{dotted(place)}": a forbidden key is asked nothing else')
            if not check.path and any(_asked(check._replace(only=()))):
                raise Mistake(place, f'"{dotted(place)}" needs "path", the key that it is about')
        case PatternCheck():
            if sum(map(bool, (check.require, check.forbid, check.find))) != 1:
                raise Mistake(place, f'"{dotted(place)}" needs exactly one of require, forbid and find')
            if bool(check.find) != bool(check.exist):
                raise Mistake(place, f'"{dotted(place)}": "find" and "exist" belong together')
            _judge_text(check, place)
        case SectionCheck():
            if check.forbidden and check.order:
                raise Mistake(place, f'"{dotted(place)}": "order" is not for a forbidden section')
            _judge_globs(check.files, place)
        case LimitCheck():
            _judge_text(check, place)


def _judge_text(check: PatternCheck | LimitCheck, place: Place) -> None:
    if check.within not in TEXTS:
        raise wrong((*place, "within"), "one of " + ", ".join(TEXTS), check.within)
    if (check.within == "section") != bool(check.section):
        raise Mistake(place, f'"{dotted(place)}": "section" and within = "section" belong together')
    if (check.within in ("bundled", "repository")) != bool(check.files):
        raise Mistake(place, f'"{dotted(place)}": "files" is for within = "bundled" or "repository", and needed there')
    _judge_globs(check.files, place)


def _judge_globs(files: tuple[str, ...], place: Place) -> None:
    for glob in files:
        if _OUTSIDE.match(glob):
            raise wrong((*place, "files"), "paths inside the folder", glob)
