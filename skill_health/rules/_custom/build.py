"""CustomRules -> ordinary rules: their checks, and the pages that `explain` shows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from skill_health.config.settings import CustomRules
from skill_health.core.errors import UsageError
from skill_health.rules._api import CUSTOM, Context, Corpus, CorpusContext, Hit, Rule, Severity
from skill_health.rules._custom.code import load_code
from skill_health.rules._custom.files import check_files
from skill_health.rules._custom.keys import check_key, find_values, text_of
from skill_health.rules._custom.subject import Subject, is_named
from skill_health.rules._custom.texts import check_limit, check_pattern, check_section
from skill_health.skill.model import Skill, Span

_KINDS = {kind: name for name, kind in CHECKS.items()}


def build_rules(custom: CustomRules, ours: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules of a configuration. Raises UsageError where one is called as a rule of ours, or as another one."""
    rules = [*map(_build, custom.rules), *map(load_code, custom.code)]
    codes: dict[str, str] = {rule.code[:2]: rule.code[:2] for rule in ours}
    names = {rule.name for rule in ours}
    seen: set[str] = set()
    for rule in rules:
        if rule.code[:-3] in codes:
            raise UsageError(
                f'custom rule "{rule.code}": codes that begin with {rule.code[:-3]} are those of our own rules'
            )
        if rule.name in names:
            raise UsageError(f'custom rule "{rule.code}": "{rule.name}" is the name of a built-in rule')
        if {rule.code, rule.name} & seen:
            raise UsageError(f'custom rule "{rule.code}": another one has the same code or the name "{rule.name}"')
        seen |= {rule.code, rule.name}
    return tuple(rules)


def _build(custom: CustomRule) -> Rule:
    unique = isinstance(custom.check, KeyCheck) and custom.check.unique

    def check(skill: Skill, context: Context) -> Iterator[Hit]:
        subject = Subject(skill, context)
        if _is_about(custom, subject):
            for hit in _hits(custom.check, subject):
                helped = custom.help or (_sentence(hit.message) if custom.message else hit.help)
                yield hit._replace(message=custom.message or hit.message, help=helped)

    def collect(skill: Skill, context: Context) -> list[list[Any]]:
        subject = Subject(skill, context)
        assert isinstance(custom.check, KeyCheck)
        found = find_values(subject, custom.check.path) if _is_about(custom, subject) else []
        return [[text_of(each.value), *each.span] for each in found if not isinstance(each.value, list | dict)]

    return Rule(
        code=custom.code, name=custom.name, family=CUSTOM, severity=Severity(custom.severity), since="", default=True,
        doc=_document(custom), check=check, check_corpus=_unique(custom) if unique else None,
        collect=collect if unique else None,
    )  # fmt: skip


def _is_about(custom: CustomRule, subject: Subject) -> bool:
    """Whether a skill is below the paths of a rule and fulfils its conditions."""
    if custom.paths and not is_named(subject.skill.path, custom.paths):
        return False
    holds = (next(_hits(each, subject), None) is None for each in custom.when)
    return all(holds) and all(next(_hits(each, subject), None) is not None for each in custom.unless)


def _hits(check: CustomCheck, subject: Subject) -> Iterator[Hit]:
    match check:
        case KeyCheck():
            yield from check_key(check, subject)
        case PatternCheck():
            yield from check_pattern(check, subject)
        case SectionCheck():
            yield from check_section(check, subject)
        case LimitCheck():
            yield from check_limit(check, subject)
        case FilesCheck():
            yield from check_files(check, subject)


def _unique(custom: CustomRule) -> Callable[[Corpus, CorpusContext], Iterator[Hit]]:
    """What finds values that another skill has too."""

    def check_corpus(corpus: Corpus, _: CorpusContext) -> Iterator[Hit]:
        assert isinstance(custom.check, KeyCheck)
        path = custom.check.path
        places: dict[str, list[tuple[str, Span]]] = {}
        for skill in corpus.skills:
            for value, *span in skill.facts[custom.code]:
                places.setdefault(value, []).append((skill.path, Span(*span)))
        for value, found in places.items():
            if len(found) < 2 or not value or not corpus.shows(*(each for each, _ in found)):
                continue
            for own, span in found:
                others = [each for each, _ in found if each != own] or [own]
                detail = f'`{path}` is "{value}" in {others[0]} too'
                helped = custom.help or (
                    _sentence(detail) if custom.message else f"Give each skill a `{path}` of its own."
                )
                yield Hit(span, custom.message or detail, helped, own, also=tuple(others[:20]))

    return check_corpus


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _document(custom: CustomRule) -> str:
    """The page of a rule, in the form of the documentation of ours."""
    kind = _KINDS[type(custom.check)]
    title = custom.message or f"A rule of this repository: {kind} {_said(custom.check)}"
    lines = [title, "", "## What", f"{kind}: {_said(custom.check)}."]
    lines += [f"Only for {', '.join(custom.paths)}."] * bool(custom.paths)
    lines += [f"Only when this holds: {_KINDS[type(each)]}: {_said(each)}." for each in custom.when]
    lines += [f"Not when this holds: {_KINDS[type(each)]}: {_said(each)}." for each in custom.unless]
    lines += ["", "## Fix", custom.help] if custom.help else []
    lines += ["", "## Source", "the configuration of this repository, `[[custom.rules]]`."]
    return "\n".join(lines) + "\n"


def _said(check: CustomCheck) -> str:
    """What differs from a check that asks for nothing, as the configuration has it."""
    plain = type(check)()._asdict()
    asked = [(key, value) for key, value in check._asdict().items() if value != plain[key]]
    return ", ".join(f"{key.replace('_', '-')} = {_value(value)}" for key, value in asked)


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else f"`{value}`"
