"""A frontmatter key of a skill against what a configuration asks of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from skill_health.config.custom import KeyCheck
from skill_health.rules._api import Hit
from skill_health.rules._custom.subject import START, Subject
from skill_health.skill.model import Field, Span

_SCALARS = (str, int, float, bool, type(None))


class KeyValue(NamedTuple):
    """One value of the frontmatter: what it is called, what it is, and where it stands."""

    label: str
    value: Any
    span: Span
    key_span: Span
    fields: tuple[Field, ...] = ()


def check_key(check: KeyCheck, subject: Subject) -> Iterator[Hit]:
    """Report each value that is not what the check asks for, and a key that is missing or too many."""
    skill = subject.skill
    place = skill.frontmatter.span if skill.frontmatter else START
    if not check.path:
        entries = skill.frontmatter.fields if skill.frontmatter else ()
        yield from _foreign("the frontmatter", [(each.key, each.key_span) for each in entries], check)
        return
    found = find_values(subject, check.path)
    if check.forbidden:
        for each in found:
            yield Hit(each.key_span, f"`{each.label}` must not be there", f"Remove `{each.label}`.")
        return
    if check.required and not any(each.value not in (None, "", [], {}) for each in found):
        empty = found[0].span if found else Span(place.line, 1)
        missing = "has no value" if found else "is missing"
        yield Hit(empty, f"`{check.path}` {missing}", f"Add `{check.path}` to the frontmatter.")
        return
    for each in found:
        for wanted in _faults(each, check, subject):
            yield Hit(each.span, f"`{each.label}` {wanted}")
        if check.only and isinstance(each.value, dict):
            keys = {field.key: field.key_span for field in each.fields}
            entries_ = [(str(key), keys.get(str(key), each.span)) for key in each.value]
            yield from _foreign(f"`{each.label}`", entries_, check)


def _foreign(where: str, entries: list[tuple[str, Span]], check: KeyCheck) -> Iterator[Hit]:
    for key, span in entries:
        if key not in check.only:
            yield Hit(span, f"{where} must not have the key `{key}`", f"Use only {', '.join(check.only)}.")


def find_values(subject: Subject, path: str) -> list[KeyValue]:
    """The values that a path names: `a.b`, `a.*` for each entry of a mapping, `a[]` for each item of a list."""
    skill = subject.skill
    own = skill.field(path)
    if own is not None or skill.frontmatter is None:
        return [_of_field(own, path)] if own else []
    fields = skill.frontmatter.fields
    root = KeyValue("", {each.key: each.value for each in fields}, START, START, fields)
    found = [root]
    for part in path.split("."):
        name, items = (part[:-2], True) if part.endswith("[]") else (part, False)
        found = [entry for each in found for entry in _entries(each, name)]
        if items:
            found = [
                each._replace(label=f"{each.label}[{at}]", value=item, fields=())
                for each in found
                if isinstance(each.value, list)
                for at, item in enumerate(each.value)
            ]
    return found


def _of_field(field: Field, label: str) -> KeyValue:
    return KeyValue(label, field.value, field.span, field.key_span, field.fields)


def _entries(one: KeyValue, name: str) -> Iterator[KeyValue]:
    if not isinstance(one.value, dict):
        return
    fields = {field.key: field for field in one.fields}
    for key, value in one.value.items():
        if name in ("*", key):
            label = f"{one.label}.{key}".lstrip(".")
            field = fields.get(key)
            yield _of_field(field, label) if field else KeyValue(label, value, one.span, one.key_span)


def _faults(each: KeyValue, check: KeyCheck, subject: Subject) -> Iterator[str]:
    """What a value must be and is not."""
    value, kind = each.value, kind_of(each.value)
    if check.types and kind not in check.types:
        yield f"must be a {' or '.join(check.types)}, not a {kind}"
        return
    if not isinstance(value, _SCALARS):
        if check.values or check.pattern or check.equals:
            yield f"must be a single value, not a {kind}"
        elif check.min_items and len(value) < check.min_items:
            yield f"has {len(value):,} entries; at least {check.min_items:,} are asked for"
        elif check.max_items and len(value) > check.max_items:
            yield f"has {len(value):,} entries; at most {check.max_items:,} are allowed"
        return
    if check.min_items or check.max_items:
        yield f"must have entries, and is a {kind}"
        return
    text = text_of(value)
    if check.values and text not in check.values:
        yield f"must be one of {', '.join(check.values)}, not {_short(text)}"
    if check.pattern and not subject.compiled(check.pattern).fullmatch(text[:_LONGEST]):
        yield f"must match {check.pattern}, and is {_short(text)}"
    if check.equals and text != subject.filled(check.equals):
        yield f'must be "{subject.filled(check.equals)}", not {_short(text)}'
    if len(text) < check.min_chars:
        yield f"has {len(text):,} characters; at least {check.min_chars:,} are asked for"
    if check.max_chars and len(text) > check.max_chars:
        yield f"has {len(text):,} characters; at most {check.max_chars:,} are allowed"


_LONGEST = 5000


def text_of(value: Any) -> str:
    """A single value as it is compared: as YAML writes it, without white space around it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def kind_of(value: Any) -> str:
    """The type of a value by the name that a configuration has for it."""
    for kind, name in (
        (bool, "boolean"), (str, "string"), (int, "number"), (float, "number"), (list, "list"), (dict, "mapping"),
    ):  # fmt: skip
        if isinstance(value, kind):
            return name
    return "null"


def _short(text: str) -> str:
    return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}..."'
