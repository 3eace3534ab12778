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
_NAMED = 8
_TOP = Span(1, 1)
_TEXTS = frozenset(("str", "date"))
_SCALARS = frozenset(("int", "float", "bool"))
_COLLECTIONS = frozenset(("seq", "map"))
_CONTROL = lazy("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
# A tag stands where a value begins; in a sentence an exclamation mark is one.
_TAG = lazy(r"^(?:\s*-)*\s*(?:[\w-]{1,64}:\s+)?!(!?)[\w<]")
_DASHES = lazy("-{3}")
_FENCE = 3
_NUMBER = lazy(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+")
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
_QUOTES = ("'", '"')
_UNREADABLE = frozenset(("unreadable", "directory", "dangling", "loop", "outside", "uncheckable"))


class FoundFault(NamedTuple):
    """A fault, where it is, and what it is in this skill, in words that need no host."""

    fault: Fault
    span: Span
    what: str


def find_faults(skill: Skill) -> list[FoundFault]:
    """Every fault of a skill that does not depend on a host's limits. Pure; never raises."""
    return [*_of_file(skill), *_of_block(skill), *_of_fields(skill)]


def find_excesses(skill: Skill, limits: HostLimits) -> Iterator[FoundFault]:
    """What of a skill is beyond the limits of a host."""
    size = len(skill.text)
    if 0 < limits.file_characters < size:
        what = f"the file has {size:,} characters, {limits.file_characters:,} are allowed"
        yield FoundFault(Fault.LARGE_FILE, _TOP, what)
    if 0 < limits.file_bytes < len(skill.text.encode("utf-8", "replace")):
        yield FoundFault(Fault.LARGE_FILE, _TOP, f"the file has more than {limits.file_bytes:,} bytes")
    matter = _fields_of(skill)
    if matter is None:
        return
    name = matter.get("name")
    if name is not None and name.tag not in ("null", *_COLLECTIONS) and (text := _name_of(skill, name)):
        if 0 < limits.name < len(text):
            what = f"the name has {len(text):,} characters, {limits.name} are allowed"
            yield FoundFault(Fault.LONG_NAME, name.span, what)
        if limits.name_pattern and not lazy(limits.name_pattern).fullmatch(text):
            what = f"the name '{_quoted(text)}' holds characters that are not allowed there"
            yield FoundFault(Fault.NAME_CHARACTERS, name.span, what)
    for key, most, fault in (
        ("description", limits.description, Fault.LONG_DESCRIPTION),
        ("compatibility", limits.compatibility, Fault.LONG_COMPATIBILITY),
    ):
        field = matter.get(key)
        if field is not None and field.tag not in _COLLECTIONS and 0 < most < len(str(field.value)):
            what = f"the {key} has {len(str(field.value)):,} characters, {most:,} are allowed"
            yield FoundFault(fault, field.span, what)


def _plain(fault: Fault, span: Span) -> FoundFault:
    return FoundFault(fault, span, fault.value)


def _of_file(skill: Skill) -> Iterator[FoundFault]:
    if skill.file_name != "SKILL.md":
        yield _plain(Fault.LOWER_CASE_FILE if skill.file_name == "skill.md" else Fault.OTHER_CASE_FILE, _TOP)
    if skill.folder_name.startswith(".") and len(skill.folder_name) > 1:
        yield _plain(Fault.HIDDEN_FOLDER, _TOP)
    for defect in skill.defects:
        if defect.kind in _UNREADABLE:
            yield FoundFault(Fault.UNREADABLE, defect.span, defect.message)


def _of_block(skill: Skill) -> Iterator[FoundFault]:
    matter = skill.frontmatter
    for defect in skill.defects:
        fault = _BROKEN.get(defect.kind)
        if fault is Fault.COLON_IN_VALUE and matter is not None and _is_later(skill, matter, defect):
            fault = Fault.COLON_IN_LATER_LINE
        if fault is not None:
            yield FoundFault(fault, defect.span, defect.message)
        elif defect.kind == "yaml-error":
            yield FoundFault(_broken_yaml(skill, defect), defect.span, defect.message)
        elif defect.kind == "duplicate-key" and matter is not None:
            top = any(field.key_span == defect.span and field.key in SPECIFIED[:2] for field in matter.fields)
            yield FoundFault(Fault.DUPLICATE_NAME if top else Fault.DUPLICATE_KEY, defect.span, defect.message)
        elif (
            defect.kind == "mixed-newlines"
            and ", 0 LF" in defect.message
            and defect.message.startswith("mixed line endings: 0 CRLF")
        ):
            yield _plain(Fault.LONE_CARRIAGE_RETURNS, Span(1, 1))
    if matter is None:
        return
    first, last = matter.span.line, min(matter.span.end_line, len(skill.lines))
    if first == 2 and len(skill.lines[0]) > _FENCE:
        yield _plain(Fault.SPACE_AFTER_OPENING_FENCE, Span(1, 4))
    if matter.valid and matter.fields and skill.lines[matter.fields[0].key_span.line - 1].lstrip()[:1] == "{":
        yield _plain(Fault.FLOW_STYLE, matter.span)
    for number in range(first, last + 1):
        line = skill.lines[number - 1]
        dashes = _DASHES.search(line)
        if dashes:
            yield _plain(Fault.DASHES_IN_BLOCK, Span(number, dashes.start() + 1))
        control = _CONTROL.search(line)
        if control:
            yield _plain(Fault.CONTROL_CHARACTER, Span(number, control.start() + 1))
        tag = _TAG.search(line)
        if tag and matter.valid:
            yield _plain(Fault.TAG if tag[1] else Fault.OTHER_TAG, Span(number, tag.start() + 1))
    if matter.valid:
        for field in _every(matter.fields):
            start = (
                skill.lines[field.span.line - 1][field.span.col - 1 :][:1]
                if field.span.line <= len(skill.lines)
                else ""
            )
            if field.style in ("sequence", "mapping") and start in ("[", "{"):
                yield _plain(Fault.FLOW_STYLE, field.span)


def _is_later(skill: Skill, matter: Frontmatter, defect: Defect) -> bool:
    """Whether the colon of a trap is not on the line of its key, which is as far as a repair by line reaches."""
    field = next((field for field in matter.fields if field.span.line == defect.span.line), None)
    if field is None or field.span.end_line == field.span.line:
        return False
    later = skill.lines[field.span.line : field.span.end_line]
    return any(": " in line or line.rstrip().endswith(":") for line in later)


def _every(fields: tuple[Field, ...]) -> Iterator[Field]:
    for field in fields:
        yield field
        yield from _every(field.fields)


def _broken_yaml(skill: Skill, defect: Defect) -> Fault:
    """Which of the usual mistakes a line makes that YAML does not read; hosts repair some of them."""
    matter = skill.frontmatter
    block = skill.lines[matter.span.line - 1 : matter.span.end_line] if matter else ()
    if any(map(_CONTROL.search, block)):
        return Fault.CONTROL_CHARACTER
    line = skill.lines[defect.span.line - 1] if defect.span.line <= len(skill.lines) else ""
    key, colon, value = line.partition(":")
    value = value.strip()
    if colon and key[:1] in (" ", "-") and ": " in value and value[:1] not in _QUOTES:
        return Fault.COLON_BELOW
    if not colon or not key.strip() or key[:1] in (" ", "\t", "-"):
        return Fault.BROKEN_YAML
    if value[:1] in ("@", "`"):
        return Fault.RESERVED_START
    if value[:1] in ("%", "*", "&", "!"):
        return Fault.DIRECTIVE_START
    if value[:1] in _QUOTES:
        return Fault.BROKEN_QUOTES
    if value[:1] in ("[", "{") and value.count("[") == value.count("]") and value.count("{") == value.count("}"):
        return Fault.TEXT_AFTER_BRACKET
    return Fault.BROKEN_YAML


def _fields_of(skill: Skill) -> Frontmatter | None:
    """The frontmatter, if it is a mapping."""
    if any(defect.kind in ("not-a-mapping", "empty-frontmatter") for defect in skill.defects):
        return None
    return skill.frontmatter


def _of_fields(skill: Skill) -> Iterator[FoundFault]:
    matter = _fields_of(skill)
    if matter is None:
        return
    yield from _of_name(skill, matter)
    yield from _of_description(skill, matter)
    metadata = matter.get("metadata")
    whole = not any(defect.kind in ("yaml-error", "tab-indent") for defect in skill.defects)
    if whole and metadata and metadata.tag not in ("map", "null"):
        yield _plain(Fault.METADATA_NOT_MAPPING, metadata.span)
    for inner in metadata.fields if metadata else ():
        if inner.key == "short-description" and inner.tag in _COLLECTIONS:
            yield _plain(Fault.SHORT_DESCRIPTION_COLLECTION, inner.span)
    tools, hint = matter.get("allowed-tools"), matter.get("argument-hint")
    if tools and tools.tag in ("map", "null", *_SCALARS):
        yield _plain(Fault.TOOLS_NOT_TEXT, tools.span)
    if hint and hint.tag in (*_COLLECTIONS, *_SCALARS):
        yield _plain(Fault.HINT_NOT_TEXT, hint.span)
    for key in ("user-invocable", "disable-model-invocation"):
        switch = matter.get(key)
        if switch and (switch.tag != "bool" or _is_text(switch, _spelled(skill, switch))):
            yield FoundFault(Fault.SWITCH_NOT_BOOLEAN, switch.span, f"{key} is neither true nor false")
    compatibility = matter.get("compatibility")
    if compatibility and compatibility.tag in _COLLECTIONS:
        yield _plain(Fault.COMPATIBILITY_COLLECTION, compatibility.span)
    unknown = [field for field in matter.fields if field.key not in SPECIFIED]
    if unknown:
        names = list(dict.fromkeys(_quoted(field.key) for field in unknown))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        what = f"keys that are not in the specification: {', '.join(names[:_NAMED])}{more}"
        yield FoundFault(Fault.UNKNOWN_KEY, unknown[0].key_span, what)


def _of_name(skill: Skill, matter: Frontmatter) -> Iterator[FoundFault]:
    field = matter.get("name")
    if field is None:
        yield _plain(Fault.NO_NAME, matter.span)
        return
    name = _name_of(skill, field)
    if field.tag == "null" or not name:
        yield _plain(Fault.EMPTY_NAME, field.key_span)
        return
    if field.tag in _COLLECTIONS or not _is_text(field, name):
        yield FoundFault(Fault.NAME_NOT_TEXT, field.span, f"the name '{_quoted(name)}' is not text to YAML")
    elif field.tag == "date":
        yield FoundFault(Fault.DATE_NAME, field.span, f"the name '{_quoted(name)}' is a date to YAML")
    folder = unicodedata.normalize("NFKC", skill.folder_name)
    if folder and name != folder and field.tag not in _COLLECTIONS:
        what = f"the name '{_quoted(name)}' is not that of the folder, '{_quoted(folder)}'"
        yield FoundFault(Fault.OTHER_NAME, field.span, what)


def _of_description(skill: Skill, matter: Frontmatter) -> Iterator[FoundFault]:
    field = matter.get("description")
    if field is None:
        yield _plain(Fault.NO_DESCRIPTION, matter.span)
    elif field.tag == "null":
        yield _plain(Fault.NULL_DESCRIPTION, field.key_span)
    elif field.tag in _COLLECTIONS:
        yield _plain(Fault.DESCRIPTION_COLLECTION, field.span)
    elif not str(field.value).strip():
        yield _plain(Fault.BLANK_DESCRIPTION, field.key_span)
    elif not _is_text(field, _spelled(skill, field)):
        yield _plain(Fault.DESCRIPTION_NOT_TEXT, field.span)
    elif field.tag == "date":
        yield _plain(Fault.DATE_DESCRIPTION, field.span)


def _is_text(field: Field, spelled: str) -> bool:
    """Whether a scalar is text to YAML 1.2, which most hosts read: `yes` is, and `1e3` is not."""
    if field.tag == "bool":
        return spelled.lower() not in ("true", "false")
    return field.tag not in _SCALARS and not (field.style == "plain" and _NUMBER.fullmatch(spelled))


def _name_of(skill: Skill, field: Field) -> str:
    """A name as it is compared; of what is no text to YAML, its spelling."""
    name = str(field.value).strip() if field.tag in _TEXTS else _spelled(skill, field)
    return unicodedata.normalize("NFKC", name)


def _spelled(skill: Skill, field: Field) -> str:
    if field.span.line == field.span.end_line and 0 < field.span.line <= len(skill.lines):
        return skill.lines[field.span.line - 1][field.span.col - 1 : field.span.end_col - 1].strip()
    return str(field.value)


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
