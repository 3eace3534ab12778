"""The faults of one skill that hosts mind, with where they are; what a host makes of them is its own file's to say."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from skill_health.hosts._api import Fault, HostLimits
from skill_health.skill.model import Defect, Field, Frontmatter, Skill, Span
from skill_health.text.patterns import lazy

SPECIFIED = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_SHOWN = 40
_TEXTS = frozenset(("str", "date"))
_SCALARS = frozenset(("int", "float", "bool"))
_COLLECTIONS = frozenset(("seq", "map"))
_CONTROL = lazy("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_TAG = lazy(r"[:,\-\[{]\s+!(!?)[\w<]")
_ALONE = lazy(r"(?m)^[^\n]{0,500}\r[^\n]")
_BROKEN = {
    "colon-trap": Fault.COLON_IN_VALUE,
    "tab-indent": Fault.TAB_INDENT,
    "too-deep": Fault.BROKEN_YAML,
    "alias-bomb": Fault.BROKEN_YAML,
    "no-frontmatter": Fault.NO_FRONTMATTER,
    "leading-text": Fault.NO_FRONTMATTER,
    "empty-file": Fault.NO_FRONTMATTER,
    "unclosed-frontmatter": Fault.UNCLOSED_FRONTMATTER,
    "empty-frontmatter": Fault.EMPTY_FRONTMATTER,
    "not-a-mapping": Fault.NO_MAPPING,
    "bom": Fault.BYTE_ORDER_MARK,
    "utf-16": Fault.UTF16,
    "invalid-utf8": Fault.NOT_UTF8,
    "alias": Fault.ANCHOR,
}
_UNREADABLE = frozenset(("unreadable", "directory", "dangling", "loop", "outside", "uncheckable"))


class FoundFault(NamedTuple):
    """A fault, where it is, and what it is in this skill, in words that need no host."""

    fault: Fault
    span: Span
    what: str


def find_faults(skill: Skill, limits: HostLimits = HostLimits()) -> list[FoundFault]:
    """Every fault of a skill under these limits, in the order of the places. Pure; never raises."""
    found = [*_of_file(skill, limits), *_of_block(skill), *_of_fields(skill, limits)]
    return sorted(dict.fromkeys(found), key=lambda each: (each.span.line, each.span.col, each.fault.name))


def _plain(fault: Fault, span: Span) -> FoundFault:
    return FoundFault(fault, span, fault.value)


def _of_file(skill: Skill, limits: HostLimits) -> Iterator[FoundFault]:
    top = Span(1, 1)
    if skill.file_name != "SKILL.md":
        yield _plain(Fault.LOWER_CASE_FILE if skill.file_name == "skill.md" else Fault.OTHER_CASE_FILE, top)
    if skill.folder_name.startswith(".") and len(skill.folder_name) > 1:
        yield _plain(Fault.HIDDEN_FOLDER, top)
    for defect in skill.defects:
        if defect.kind in _UNREADABLE:
            yield FoundFault(Fault.UNREADABLE, defect.span, defect.message)
    size = len(skill.text)
    if 0 < limits.file_characters < size:
        what = f"the file has {size:,} characters, {limits.file_characters:,} are allowed"
        yield FoundFault(Fault.LARGE_FILE, top, what)
    if 0 < limits.file_bytes < len(skill.text.encode("utf-8", "replace")):
        yield FoundFault(Fault.LARGE_FILE, top, f"the file has more than {limits.file_bytes:,} bytes")


def _of_block(skill: Skill) -> Iterator[FoundFault]:
    matter = skill.frontmatter
    for defect in skill.defects:
        fault = _BROKEN.get(defect.kind)
        if fault is not None:
            yield FoundFault(fault, defect.span, defect.message)
        elif defect.kind == "yaml-error":
            yield FoundFault(_broken_yaml(skill, defect), defect.span, defect.message)
        elif defect.kind == "duplicate-key" and matter is not None:
            top = any(field.key_span == defect.span and field.key in SPECIFIED[:2] for field in matter.fields)
            yield FoundFault(Fault.DUPLICATE_NAME if top else Fault.DUPLICATE_KEY, defect.span, defect.message)
        elif defect.kind == "mixed-newlines" and ", 0 LF" in defect.message and defect.message.startswith("mixed line endings: 0 CRLF"):
            yield _plain(Fault.LONE_CARRIAGE_RETURNS, Span(1, 1))
    if matter is None:
        return
    first, last = matter.span.line, min(matter.span.end_line, len(skill.lines))
    if skill.lines[0] != "---" and skill.lines[0].rstrip() == "---":
        yield _plain(Fault.SPACE_AFTER_OPENING_FENCE, Span(1, 4))
    for number in range(first, last + 1):
        line = skill.lines[number - 1]
        if number < last + 1 and "---" in line:
            yield _plain(Fault.DASHES_IN_BLOCK, Span(number, line.index("---") + 1))
        control = _CONTROL.search(line)
        if control:
            yield _plain(Fault.CONTROL_CHARACTER, Span(number, control.start() + 1))
        tag = _TAG.search(line)
        if tag and matter.valid:
            yield _plain(Fault.TAG if tag[1] else Fault.OTHER_TAG, Span(number, tag.start() + 1))
    if matter.valid:
        for field in _every(matter.fields):
            start = skill.lines[field.span.line - 1][field.span.col - 1 :][:1] if field.span.line <= len(skill.lines) else ""
            if field.style in ("sequence", "mapping") and start in ("[", "{"):
                yield _plain(Fault.FLOW_STYLE, field.span)


def _every(fields: tuple[Field, ...]) -> Iterator[Field]:
    for field in fields:
        yield field
        yield from _every(field.fields)


def _broken_yaml(skill: Skill, defect: Defect) -> Fault:
    """Which of the usual mistakes a line makes that YAML does not read; hosts repair some of them."""
    line = skill.lines[defect.span.line - 1] if defect.span.line <= len(skill.lines) else ""
    key, colon, value = line.partition(":")
    value = value.strip()
    if _CONTROL.search(line):
        return Fault.CONTROL_CHARACTER
    if not colon or not key.strip() or key[:1] in (" ", "\t", "-"):
        return Fault.BROKEN_YAML
    if value[:1] in ("@", "`", "%", "*", "&", "!"):
        return Fault.RESERVED_START
    if value[:1] in ("[", "{") and value.count("[") == value.count("]") and value.count("{") == value.count("}"):
        return Fault.TEXT_AFTER_BRACKET
    return Fault.BROKEN_YAML


def _of_fields(skill: Skill, limits: HostLimits) -> Iterator[FoundFault]:
    matter = skill.frontmatter
    if matter is None or any(defect.kind in ("not-a-mapping", "empty-frontmatter") for defect in skill.defects):
        return
    yield from _of_name(skill, matter, limits)
    yield from _of_description(matter, limits)
    metadata = _last(matter, "metadata")
    if metadata and metadata.tag not in ("map", "null"):
        yield _plain(Fault.METADATA_NOT_MAPPING, metadata.span)
    for inner in metadata.fields if metadata else ():
        if inner.key == "short-description" and inner.tag in _COLLECTIONS:
            yield _plain(Fault.SHORT_DESCRIPTION_COLLECTION, inner.span)
    tools = _last(matter, "allowed-tools")
    if tools and tools.tag == "map":
        yield _plain(Fault.TOOLS_MAPPING, tools.span)
    compatibility = _last(matter, "compatibility")
    if compatibility and compatibility.tag in _COLLECTIONS:
        yield _plain(Fault.COMPATIBILITY_COLLECTION, compatibility.span)
    elif compatibility and 0 < limits.compatibility < len(str(compatibility.value)):
        what = f"compatibility has {len(str(compatibility.value)):,} characters, {limits.compatibility:,} are allowed"
        yield FoundFault(Fault.LONG_COMPATIBILITY, compatibility.span, what)
    unknown = [field for field in matter.fields if field.key not in SPECIFIED]
    if unknown:
        names = list(dict.fromkeys(_quoted(field.key) for field in unknown))
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        what = f"keys that are not in the specification: {', '.join(names[:8])}{more}"
        yield FoundFault(Fault.UNKNOWN_KEY, unknown[0].key_span, what)


def _of_name(skill: Skill, matter: Frontmatter, limits: HostLimits) -> Iterator[FoundFault]:
    field = _last(matter, "name")
    if field is None:
        yield _plain(Fault.NO_NAME, matter.span)
        return
    name = str(field.value).strip() if field.tag in _TEXTS else _spelled(skill, field)
    if field.tag == "null" or not name:
        yield _plain(Fault.EMPTY_NAME, field.key_span)
        return
    if field.tag in _SCALARS or field.tag in _COLLECTIONS:
        yield FoundFault(Fault.NAME_NOT_TEXT, field.span, f"the name '{_quoted(name)}' is not text to YAML")
        if field.tag in _COLLECTIONS:
            return
    elif field.tag == "date":
        yield FoundFault(Fault.DATE_NAME, field.span, f"the name '{_quoted(name)}' is a date to YAML")
    name = unicodedata.normalize("NFKC", name)
    if 0 < limits.name < len(name):
        yield FoundFault(Fault.LONG_NAME, field.span, f"the name has {len(name):,} characters, {limits.name} are allowed")
    if limits.name_pattern and not lazy(limits.name_pattern).fullmatch(name):
        what = f"the name '{_quoted(name)}' holds characters that are not allowed there"
        yield FoundFault(Fault.NAME_CHARACTERS, field.span, what)
    if skill.folder_name and name != unicodedata.normalize("NFKC", skill.folder_name):
        what = f"the name '{_quoted(name)}' is not that of the folder, '{_quoted(skill.folder_name)}'"
        yield FoundFault(Fault.OTHER_NAME, field.span, what)


def _of_description(matter: Frontmatter, limits: HostLimits) -> Iterator[FoundFault]:
    field = _last(matter, "description")
    if field is None:
        yield _plain(Fault.NO_DESCRIPTION, matter.span)
    elif field.tag == "null":
        yield _plain(Fault.NULL_DESCRIPTION, field.key_span)
    elif field.tag in _COLLECTIONS:
        yield _plain(Fault.DESCRIPTION_COLLECTION, field.span)
    elif not str(field.value).strip():
        yield _plain(Fault.BLANK_DESCRIPTION, field.key_span)
    elif field.tag in _SCALARS:
        yield _plain(Fault.DESCRIPTION_NOT_TEXT, field.span)
    elif field.tag == "date":
        yield _plain(Fault.DATE_DESCRIPTION, field.span)
    elif 0 < limits.description < len(field.value):
        what = f"the description has {len(field.value):,} characters, {limits.description:,} are allowed"
        yield FoundFault(Fault.LONG_DESCRIPTION, field.span, what)


def _last(matter: Frontmatter, key: str) -> Field | None:
    """The field of a key; of a key that stands twice the last one, which counts."""
    return next((field for field in reversed(matter.fields) if field.key == key), None)


def _spelled(skill: Skill, field: Field) -> str:
    if field.span.line == field.span.end_line and 0 < field.span.line <= len(skill.lines):
        return skill.lines[field.span.line - 1][field.span.col - 1 : field.span.end_col - 1].strip()
    return str(field.value)


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
