"""Links and paths in the Markdown files bundled with a skill, found by a scan that is far cheaper than the parser."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from skill_health.rules._api import Context
from skill_health.rules.links._anchors import MARKDOWN, Files, is_checkable
from skill_health.rules.links._intent import is_about_skills, is_in_clone, is_of_another, is_specimen, means_present
from skill_health.rules.links._mentions import state_of
from skill_health.rules.links._targets import index_of, locate, own_files, read_target
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

_FENCE = lazy(r"\n[ \t>]*+(`{3,}|~{3,})([^\n]*)")
# Inline code ends with its block at the latest: at an empty line, a list item, a heading, a table row or a fence.
_RUN_OR_BLOCK = lazy(r"`++|\n[ \t>]*+(?:\n|[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|\||~{3}|```[^\n]*+)")


class Hidden:
    """The half-open ranges of offsets where links do not count. Inline code is looked for on demand."""

    def __init__(self, text: str) -> None:
        self._text = text
        ranges = sorted((*_fences(text), *_comments(text)))
        self._starts = [start for start, _ in ranges]
        # A range can lie inside an earlier one, so the furthest end so far decides.
        self._ends: list[int] = []
        for _, end in ranges:
            self._ends.append(max(end, self._ends[-1]) if self._ends else end)
        self._spans: list[tuple[int, int]] = []
        self._read = 0

    def covers(self, at: int) -> bool:
        """Whether an offset is in code or a comment; offsets must be asked for in ascending order."""
        nth = bisect_right(self._starts, at)
        if nth > 0 and at < self._ends[nth - 1]:
            return True
        if at >= self._read:
            self._spans, self._read = _spans(self._text, _block_start(self._text, self._read, at), at)
        nth = bisect_right(self._spans, (at, len(self._text)))
        return nth > 0 and at < self._spans[nth - 1][1]


def _fences(text: str) -> Iterator[tuple[int, int]]:
    fence, opened = "", 0
    fenced = "```" in text or "~~~" in text
    for match in _FENCE.finditer("\n" + text if fenced else ""):
        marker = match.group(1)
        if not fence:
            fence, opened = marker, match.start()
        elif marker[0] == fence[0] and len(marker) >= len(fence) and not match.group(2).strip():
            yield opened, match.end() - 1
            fence = ""
    if fence:
        yield opened, len(text)


def _comments(text: str) -> Iterator[tuple[int, int]]:
    at = text.find("<!--")
    while at >= 0:
        end = text.find("-->", at)
        yield at, end if end >= 0 else len(text)
        at = text.find("<!--", end) if end >= 0 else -1


def _block_start(text: str, low: int, at: int) -> int:
    """Where the last empty line before `at` begins, or `low`.

    Only an empty line after a line with text counts: of several in a row, `_RUN_OR_BLOCK` may begin at any.
    """
    start = text.rfind("\n\n", low, at)
    while start > low and text[start - 1] in "\n \t>":
        start = text.rfind("\n\n", low, start)
    return max(start, low)


def _spans(text: str, start: int, at: int) -> tuple[list[tuple[int, int]], int]:
    """Inline code of the block that contains `at`, and the end of that block; `start` begins a block at or before it.

    Inline code reaches from a run of backticks to the next run of the same length in the same block.
    """
    runs: list[tuple[int, int]] = []
    end = len(text)
    for match in _RUN_OR_BLOCK.finditer(text, start):
        if text[match.start()] == "`":
            runs.append(match.span())
        elif match.start() > at:
            end = match.start()
            break
        else:
            runs = []
    return list(_paired(runs)), end


def _paired(runs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    closing: list[int] = [0] * len(runs)
    later: dict[int, int] = {}
    for nth in range(len(runs) - 1, -1, -1):
        length = runs[nth][1] - runs[nth][0]
        closing[nth] = later.get(length, 0)
        later[length] = nth
    nth = 0
    while nth < len(runs):
        end = closing[nth]
        if end:
            yield runs[nth][1], runs[end][0]
        nth = (end or nth) + 1


_TARGET = lazy(r"\]\(\s{0,8}<?([^)\s>]+)")
_IMAGE = lazy(r"<(?:img|source)\b[^<>]{0,200}?\bsrc(?:set)?=[\"']([^\"'\s>]+)")
# A path in inline code, alone or in a command.
_PATH = lazy(r"[\w./\-]+\.[a-z]\w{0,8}(?=[`\s])")
_BEFORE_PATH = lazy(r"`(?:python3? |bash |node )?(?:\./)?\Z")
_USES = lazy(r"\b(?:read|see|load|runs?|execute|open|follow|consult|refer to|use)\b[^.\n]{0,60}\Z", re.I)
# How far before a path words count; what strangers write may be one line without end.
_BEFORE = 600
_FOLDERS = ("references/", "scripts/", "assets/", "resources/")
_DEFINITION = lazy(r"\n\[[^\]\n]{1,200}\]:[ \t]{0,8}<?([^\s>]+)")
# Folders and names of files whose links are resolved elsewhere.
_FOREIGN = lazy(
    r"(?:\A|/)(?:templates?|examples?|samples?|tests?|evals?|fixtures|expected[^/]*|assets|scripts|node_modules|\.[^/]*)/|"
    r"template|example|sample|README|(?:\A|/)(?:CHANGELOG|CONTRIBUTING|LICENSE|SKILL|AGENTS|CLAUDE)[^/]*\Z",
    re.I,
)


# Enough for any real file; looking up the line of each takes time proportional to the file.
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
    """The bundled Markdown files that are used in place, relative to the skill's folder."""
    if is_specimen(skill):
        return
    for file in own_files(skill):
        if file.lower().endswith(MARKDOWN) and not _FOREIGN.search(file):
            yield file


def broken_links(file: str, full: str, skill: Skill, context: Context) -> list[BrokenLink]:
    """The links of one bundled file that lead nowhere, the first to each target, in file order."""
    text = context.read(full)
    if text is None:
        return []
    suspected = [(match.start(1), match.start(1), match.group(1)) for match in _TARGET.finditer(text)]
    if "]: " in text and "\n[" in text:
        suspected += ((match.start(1), match.start(1), match.group(1)) for match in _DEFINITION.finditer(text))
    if "<img" in text or "<source" in text:
        suspected += ((match.start(1), match.start(1), match.group(1)) for match in _IMAGE.finditer(text))
    suspected += _paths(text, file, skill, context)
    if not suspected:
        return []
    suspected.sort()
    base = file.rpartition("/")[0]
    files = Files(context)
    verdicts: dict[str, tuple[str, str, frozenset[str] | None] | None] = {}
    found: list[BrokenLink] = []
    hidden: Hidden | None = None
    suspects, line, counted = 0, 1, 0
    for seen_at, at, target in suspected:
        if target not in verdicts:
            verdicts[target] = _verdict(target, base, full, files, skill, context)
        verdict = verdicts[target]
        if verdict is None:
            continue
        suspects += 1
        if suspects > _MAX_SUSPECTS:
            break
        hidden = hidden or Hidden(text)
        if hidden.covers(seen_at):
            continue
        start = text.rfind("\n", 0, at) + 1
        line, counted = line + text.count("\n", counted, at), at
        verdicts[target] = None
        found.append(BrokenLink(target, line, at - start + 1, *verdict))
    return found


def _paths(text: str, file: str, skill: Skill, context: Context) -> Iterator[tuple[int, int, str]]:
    """The paths in inline code that the reader is told to read or run, and that are neither here nor in a skill nearby.

    Each comes with the offset of its backtick, where it must not be hidden, and its own.
    """
    base = file.rpartition("/")[0]
    known = index_of(skill).files
    for folder in _FOLDERS:
        at = text.find(folder)
        while at >= 0:
            start, at = at, text.find(folder, at + 1)
            if text[start - 1] not in "` /":
                continue
            match, tick = _PATH.match(text, start), _BEFORE_PATH.search(text, max(0, start - 12), start)
            if match is None or tick is None or match.group() in known:
                continue
            path = match.group()
            before = text[max(text.rfind("\n", 0, start) + 1, start - _BEFORE) : tick.start()]
            after = text[match.end() : match.end() + 120].partition("\n")[0]
            if _USES.search(before) is None or not means_present(before, after):
                continue
            if (
                not _is_missing(path, base, skill, context)
                or is_in_clone(path, skill, context)
                or is_about_skills(skill)
            ):
                continue
            if not is_of_another(path, before + after, skill, context):
                yield tick.start(), start, path


def _is_missing(path: str, base: str, skill: Skill, context: Context) -> bool:
    """Whether a path leads nowhere, from the folder of its file and from every folder above, and no file is beside it.

    Scripts of a skill that has none, and such deep below that folder, are those of a project.
    """
    folders = index_of(skill).folders
    if path.startswith("scripts/") and path.rpartition("/")[0] not in folders:
        return False
    if f"{base}/{path.rpartition('/')[2]}" in index_of(skill).files:
        return False
    while base:
        if locate(path, skill, context, base).state != "missing":
            return False
        base = base.rpartition("/")[0]
    return state_of(path, skill, context)[0] == "missing"


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
