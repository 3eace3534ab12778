"""Shared by the rules of this family: turns defects into hits, and YAML values into text and back.

Fixes replace a value in place and never rewrite the block, which would lose comments, order and style: every other byte
stays as its author wrote it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from skill_health.rules._api import Edit, Fix, Hit
from skill_health.skill.model import Defect, Field, Frontmatter, Skill, Span
from skill_health.text.patterns import lazy

TAG_WORDS = {
    "int": "a number", "float": "a number", "bool": "a boolean", "null": "empty", "date": "a date",
    "seq": "a list", "map": "a mapping", "str": "a string",
}  # fmt: skip
# What a quoted scalar cannot contain literally: control characters, line separators, non-characters.
_UNSAFE = lazy("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_BLOCKING = frozenset({
    "no-frontmatter", "unclosed-frontmatter", "empty-frontmatter", "not-a-mapping", "yaml-error", "tab-indent",
    "alias-bomb", "too-deep",
})  # fmt: skip
# Folders of samples and templates, which no host loads as skills.
_SAMPLES = frozenset(
    "asset assets example examples fixture fixtures sample samples test tests template templates".split()
)


def below_samples(skill: Skill) -> bool:
    """Whether the skill is below a folder of samples."""
    return not _SAMPLES.isdisjoint(skill.folder.lower().split("/"))


def below_templates(skill: Skill) -> bool:
    """Whether the skill is below a folder of templates."""
    return not {"template", "templates"}.isdisjoint(skill.folder.lower().split("/"))


def defects(skill: Skill, kinds: Collection[str]) -> Iterator[Defect]:
    """The defects of these kinds, in file order."""
    return (defect for defect in skill.defects if defect.kind in kinds)


def reported(skill: Skill, kinds: Mapping[str, str]) -> Iterator[Hit]:
    """One hit per defect of these kinds; the mapping gives the remedy if the parser names none."""
    for defect in defects(skill, kinds):
        yield Hit(defect.span, defect.message, remedy(defect, kinds))


def remedy(defect: Defect, kinds: Mapping[str, str]) -> str:
    """What to do about a defect, as a sentence."""
    text = defect.help or kinds[defect.kind]
    return text[:1].upper() + text[1:].removesuffix(".") + "."


def readable(skill: Skill) -> Frontmatter | None:
    """The frontmatter if its fields can be trusted: valid YAML, or YAML broken by the colon trap only.

    None if a rule about the block itself already reports it, so that one cause gives one finding.
    """
    if skill.frontmatter is None or any(defect.kind in _BLOCKING for defect in skill.defects):
        return None
    return skill.frontmatter


def spelled(skill: Skill, span: Span) -> str | None:
    """A value as the file spells it; None if it spans lines."""
    if span.end_line != span.line or not 0 < span.line <= len(skill.lines):
        return None
    return skill.lines[span.line - 1][span.col - 1 : span.end_col - 1]


def quote(text: str) -> str:
    """This text as a YAML flow scalar on one line: in double quotes, or single ones if that saves escapes."""
    if _UNSAFE.search(text):
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", escaped) + '"'
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


def quoting(skill: Skill, *fields: Field) -> Fix | None:
    """Quote the plain values of these fields as they are spelled (1.10 stays 1.10); None if there are none."""
    edits = []
    for field in fields:
        text = spelled(skill, field.span)
        if text and field.style == "plain":
            edits.append(Edit(field.span, quote(text)))
    if not edits:
        return None
    return Fix("quote the value" if len(edits) == 1 else "quote the values", tuple(edits), safe=True)


def quote_value(text: str, limit: int = 60) -> str:
    """A value for a message: on one line, cut with an ellipsis."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
