"""Whether the prose around a path refers to a bundled file, or to one that is elsewhere or yet to be created."""

from __future__ import annotations

import re
from bisect import bisect_right

from skill_health.rules._api import Context
from skill_health.rules.links._paths import CodePath
from skill_health.skill.model import Prose, Skill
from skill_health.text.patterns import lazy

_MAKES = lazy(
    r"\b(?:creat|writ|sav|generat|output|produc|export|stor|emit|append|scaffold|dump|copy|copies|copied|mov|renam|"
    r"e\.g\.|for example|such as|for instance|would|should live|your|user's|project's|repo(?:sitory)?'s|new file)",
    re.I,
)
# Before a list, these make its items files to be created, unless the item itself says to read or run one.
_MAKES_LISTED = lazy(
    r"\b(?:creat(?:e|es|ing)|mov(?:e|es|ing)|split(?:s|ting)?|extract(?:s|ing)?|add(?:s|ing)?|put(?:s|ting)?|"
    r"writ(?:e|es|ing)|generat(?:e|es|ing)|scaffold(?:s|ing)?|relocat(?:e|es|ing)|break(?:s|ing)?|refactor(?:s|ing)?)\b",
    re.I,
)
_USES = lazy(
    r"\b(?:read|see|load|run|execute|open|follow|consult|use|using|based on|per|check|context|python3?|bash|node)\b",
    re.I,
)
_SENTENCE = lazy(r"[.!?]\s+(?=[A-Z])")
_KEBAB = lazy(r"(?<![a-z0-9])[a-z0-9]++(?:-[a-z0-9]++)++")
_OTHER = lazy(r"\b(?<!this )skill['\u2019]s [`*]*\Z")
_TEMPLATES = frozenset(("template", "templates", "_template", "_templates", "skill-template", "template-skill"))


def is_template(skill: Skill) -> bool:
    """Whether the skill is a template for others to fill in, so that its references are invented."""
    return not _TEMPLATES.isdisjoint(skill.folder.split("/"))


def means_bundled(code: CodePath, skill: Skill, context: Context) -> bool:
    """Whether a missing path was meant to be a bundled file of this very skill.

    It was not if the sentence up to it speaks of creating a file, of the user's project or of another skill, if the
    line that introduces its list says to create what is listed, if its paragraph names a sibling skill that has the
    file, or if this skill is a template for others.
    """
    if is_template(skill):
        return False
    prose = _prose_at(code.code.line, code.code.text, skill)
    before = skill.lines[code.code.line - 1][: code.code.col - 1]
    if prose is not None:
        before = prose.text[: prose.text.find(code.code.text)].replace("\n", " ")
    sentence = _SENTENCE.split(before)[-1]
    if _MAKES.search(sentence) or _OTHER.search(before):
        return False
    if prose is not None and prose.item and not _USES.search(before) and not _USES.search(code.code.text):
        lead_in = _SENTENCE.split(_lead_in(prose, skill).replace("\n", " "))[-1]
        if _MAKES_LISTED.search(lead_in) and not _USES.search(lead_in):
            return False
    above = skill.folder.rpartition("/")[0]
    names = sorted(set(_KEBAB.findall(prose.text))) if prose is not None else []
    return not any(context.exists(f"{above}/{name}/{code.path}".lstrip("/")) for name in names)


def _prose_at(line: int, text: str, skill: Skill) -> Prose | None:
    """The paragraph or cell that contains this inline code."""
    prose = skill.body.prose
    at = bisect_right(prose, line, key=lambda entry: entry.line) - 1
    # The cells of a row share a line, and a paragraph may have begun some lines above.
    for entry in reversed(prose[max(0, at - 40) : at + 1]):
        if line <= entry.line + entry.text.count("\n") and text in entry.text:
            return entry
    return None


def _lead_in(item: Prose, skill: Skill) -> str:
    """The paragraph or item above a list item that ends with a colon, with nothing but items between, or ""."""
    prose = skill.body.prose
    at = bisect_right(prose, item.line, key=lambda entry: entry.line) - 1
    for entry in reversed(prose[max(0, at - 40) : at + 1]):
        if entry.line >= item.line:
            continue
        if entry.text.rstrip(" *_").endswith(":"):
            return entry.text
        if not entry.item:
            break
    return ""
