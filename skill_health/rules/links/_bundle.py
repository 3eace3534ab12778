"""Links in the Markdown files that come with a skill, found by a scan that costs far less than the parser."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from skill_health.rules._api import Context
from skill_health.rules.links._anchors import MARKDOWN, Files, is_checkable
from skill_health.rules.links._hidden import Hidden
from skill_health.rules.links._intent import is_template
from skill_health.rules.links._targets import locate, own_files, read_target
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

_TARGET = lazy(r"\]\(\s{0,8}<?([^)\s>]+)")
_DEFINITION = lazy(r"\n\[[^\]\n]{1,200}\]:[ \t]{0,8}<?([^\s>]+)")
# Folders and names of files whose links are meant for another place.
_FOREIGN = lazy(
    r"(?:\A|/)(?:templates?|examples?|samples?|tests?|evals?|fixtures|expected[^/]*|assets|scripts|node_modules|\.[^/]*)/|"
    r"template|example|sample|(?:\A|/)(?:README|CHANGELOG|CONTRIBUTING|LICENSE|SKILL|AGENTS|CLAUDE)[^/]*\Z",
    re.I,
)


# Enough for any real file; looking up the line of each costs time that grows with the file.
_MAX_SUSPECTS = 1000


class BrokenLink(NamedTuple):
    """A link of a bundled file: its `path` does not exist, or `anchors` are all that the file has.

    `line` and `col` are those of its `target`, as written.
    """

    target: str
    line: int
    col: int
    path: str
    fragment: str = ""
    anchors: frozenset[str] | None = None


def markdown_files(skill: Skill) -> Iterator[str]:
    """The bundled Markdown files that are read in place, relative to the skill's folder."""
    if is_template(skill):
        return
    for file in own_files(skill):
        if file.lower().endswith(MARKDOWN) and not _FOREIGN.search(file):
            yield file


def broken_links(file: str, full: str, skill: Skill, context: Context) -> list[BrokenLink]:
    """The links of one bundled file that lead nowhere, the first of each target, in the order of the file."""
    text = context.read(full)
    if text is None:
        return []
    matches = list(_TARGET.finditer(text))
    if "]: " in text and "\n[" in text:
        matches = sorted([*matches, *_DEFINITION.finditer(text)], key=lambda match: match.start(1))
    if not matches:
        return []
    base = file.rpartition("/")[0]
    files = Files(context)
    verdicts: dict[str, tuple[str, str, frozenset[str] | None] | None] = {}
    found: list[BrokenLink] = []
    hidden: Hidden | None = None
    suspects, line, counted = 0, 1, 0
    for match in matches:
        target = match.group(1)
        if target not in verdicts:
            verdicts[target] = _verdict(target, base, full, files, skill, context)
        verdict = verdicts[target]
        if verdict is None:
            continue
        suspects += 1
        if suspects > _MAX_SUSPECTS:
            break
        hidden = hidden or Hidden(text)
        at = match.start(1)
        if hidden.covers(at):
            continue
        start = text.rfind("\n", 0, at) + 1
        line, counted = line + text.count("\n", counted, at), at
        verdicts[target] = None
        found.append(BrokenLink(target, line, at - start + 1, *verdict))
    return found


def _verdict(
    text: str, base: str, full: str, files: Files, skill: Skill, context: Context
) -> tuple[str, str, frozenset[str] | None] | None:
    """(path, fragment, anchors) of a target that leads nowhere, else None."""
    target = read_target(text)
    if target.kind == "anchor":
        lacking = files.lacks(full, target.fragment) if is_checkable(target.fragment) else None
        return None if lacking is None else ("", target.fragment, lacking)
    if target.kind != "file":
        return None
    place = locate(target.path, skill, context, base)
    if place.state == "missing":
        from_root = locate(target.path, skill, context)
        return (target.path, "", None) if from_root.state == "missing" else None
    if place.state == "ok" and is_checkable(target.fragment) and place.path.lower().endswith(MARKDOWN):
        lacking = files.lacks(place.path, target.fragment)
        return None if lacking is None else (target.path, target.fragment, lacking)
    return None
