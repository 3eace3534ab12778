"""Variables that must be set for it to run."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import SectionUse
from skill_health.needs.reading.read import SkillReading
from skill_health.needs.reading.variables import OWN, REQUIRED_WORDS, calls_keys_optional, is_secret, is_switch
from skill_health.text.patterns import lazy

ORDER = 5
TITLE = "Env variables setup"
MEANING = "Variables that the skill names must be set for it to run, keys included."

_PLACEHOLDER = lazy(r"=[\"']?(?:your|my|<|\.\.\.|xxx|\{|/path/|path/|sk-|\*)", 2)
_EXPORT = frozenset(("export", "setx", "set"))
_DOLLAR = lazy(r"\$\{?(?:env:)?([A-Z][A-Z0-9]*_[A-Z0-9_]{1,60})(\}|:-|:\?)?")
_NAME = lazy(r"(?<![\w/-])([A-Z][A-Z0-9]{1,30}(?:_[A-Z0-9]{1,30})+)(?![\w/(-]|\.[a-z])")
_SETS = lazy(
    r"\benv(?:ironment)?[- ]var(?:iable)?s?\b|\.env\b|\bexport(?:ed|s)?\b|\b(?:set|setting|define) "
    r"`?\$?[a-z0-9]+_[a-z0-9_]+|\$\{?[a-z0-9]+_[a-z0-9_]+"
)
_FIRST_CELL = lazy(r"\s*\|\s*`?[a-z0-9]+_[a-z0-9_]+`?\s*\|")
_TABLES = lazy(r"(?i)environment|env var|variables|configuration|credentials|secrets|prerequisite|requirements|setup")
_OPTIONAL = lazy(
    r"\boptional|\bdefaults?\b|\boverride|\bif (?:set|present|unset|not set)\b|\| no \||\bcan (?:be )?set\b|\bmay\b"
)
_SET_ALREADY = lazy(r"\b(?:which|that|it|script|wrapper) sets\b")
_MUST_SET = lazy(
    r"\b(?:set|export|define) `?\$?[a-z0-9]{1,40}_[a-z0-9_]{1,60}`? (?:to|in|before)\b|"
    r"(?<![a-z0-9_])[a-z0-9]{1,40}_[a-z0-9_]{1,60}`? (?:env|environment)[- ]?var[a-z]{0,20} set\b"
)
_CODE = lazy(r"(?:environ\[|environ\.get\(|getenv\(|process\.env\.|process\.env\[)\s*[\"']?([A-Z][A-Z0-9_]{2,60})")


def find(reading: SkillReading) -> Iterator[Sign]:
    """Variables that are declared, exported, used by commands without being set there, or required in words."""
    optional = any(calls_keys_optional(each.text) for each in reading.statements_with(("optional",)))
    for sign in _signs(reading):
        name = sign.evidence.subject
        if not is_switch(name) and (name not in reading.optional_names or sign.evidence.kind is EvidenceKind.DECLARED):
            yield sign._replace(weight=sign.weight * (0.3 if optional and is_secret(name) else 1.0))


def _signs(reading: SkillReading) -> Iterator[Sign]:
    for name, line in reading.declared.variables:
        if name not in OWN:
            yield reading.sign(1.0, EvidenceKind.DECLARED, name, line)
    for match in _NAME.finditer(reading.declared.compatibility):
        yield reading.sign(1.0, EvidenceKind.DECLARED, match[1], reading.declared.line)
    given = {
        name for placed in reading.commands for name in placed.command.assigned if placed.command.program not in _EXPORT
    }
    for placed in reading.commands:
        command = placed.command
        if command.program in _EXPORT and command.assigned and command.assigned[0] not in OWN:
            name = command.assigned[0]
            open_ = _PLACEHOLDER.search(command.text) is not None
            weight = 1.0 if is_secret(name) or (open_ and placed.role is SectionUse.REQUIRED) else 0.5 if open_ else 0.2
            yield reading.sign(weight * placed.weight, EvidenceKind.VARIABLE, name, placed.line, command.text)
        elif "$" in command.text:
            for match in _DOLLAR.finditer(command.text):
                if match[1] not in OWN and match[1] not in given and match[2] != ":-":
                    yield reading.sign(
                        (0.8 if is_secret(match[1]) else 0.25) * placed.weight,
                        EvidenceKind.VARIABLE,
                        match[1],
                        placed.line,
                        command.text,
                    )
    for statement in reading.statements_with(("_",)):
        if statement.weight <= 0 or not (names := dict.fromkeys(_NAME.findall(statement.shown))):
            continue
        sets = _SETS.search(statement.text) is not None
        row = _row(reading, statement.line, statement.kind)
        table = _FIRST_CELL.match(row) is not None and _TABLES.search(_title(reading, statement.line)) is not None
        optional = 0.3 if _OPTIONAL.search(row or statement.text) else 1.0
        for name in names:
            if name in OWN or name in given:
                continue
            strength = (
                (1.0 if REQUIRED_WORDS.search(statement.text) else 0.8)
                if is_secret(name)
                else (0.9 if statement.role is SectionUse.REQUIRED else 0.65)
                if _MUST_SET.search(statement.text)
                else 0.5
                if sets or table
                else 0.0
            )
            if f"{name}=" in statement.shown or _SET_ALREADY.search(statement.text):
                strength *= 0.3
            weight = (
                strength
                * statement.weight
                * optional
                * (1.0 if sets or table or REQUIRED_WORDS.search(statement.text) else 0.5)
                / (0.6 if table else 1.0)
            )
            yield reading.sign(weight, EvidenceKind.VARIABLE, name, statement.line, statement.shown)
    for snippet in reading.snippets:
        if "env" in snippet.text:
            for name in dict.fromkeys(_CODE.findall(snippet.text)):
                if name not in OWN:
                    line = snippet.line + 1 + snippet.text.count("\n", 0, snippet.text.find(name))
                    yield reading.sign(
                        (0.5 if is_secret(name) else 0.1) * snippet.role.run, EvidenceKind.VARIABLE, name, line
                    )
    for name, line, weight in reading.assigned_secrets:
        yield reading.sign(0.8 * weight, EvidenceKind.VARIABLE, name, line)
    for name, line, path in reading.exported:
        if is_secret(name) and name not in reading.optional_names:
            yield reading.sign(1.0, EvidenceKind.VARIABLE, name, line, f"README exports {name}", path)
    for script in reading.scripts:
        for use in script.uses:
            if (
                use.kind in ("variable", "required")
                and use.name not in OWN
                and use.name.isupper()
                and use.name not in reading.optional_names
            ):
                strength = (
                    (1.0 if is_secret(use.name) else 0.7)
                    if use.kind == "required"
                    else (0.4 if is_secret(use.name) else 0.05)
                )
                yield reading.sign(
                    strength * (1.0 if script.weight >= 0.7 else 0.5),
                    EvidenceKind.VARIABLE,
                    use.name,
                    use.line,
                    f"{script.file} reads {use.name}",
                    script.path,
                )


def _title(reading: SkillReading, line: int) -> str:
    """The title of the section that a line is in."""
    section = reading.skill.body.section_at(line)
    return section.heading.title if section else ""


def _row(reading: SkillReading, line: int, kind: str) -> str:
    """The whole row of a cell in lower case; "" of other text."""
    return reading.skill.lines[line - 1].lower() if kind == "cell" and line <= len(reading.skill.lines) else ""
