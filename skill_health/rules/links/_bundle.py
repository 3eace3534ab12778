"""Links in the Markdown files bundled with a skill, found by a scan that is far cheaper than the parser."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from skill_health.rules._api import Context
from skill_health.rules.links._anchors import MARKDOWN, Files, is_checkable
from skill_health.rules.links._intent import is_specimen
from skill_health.rules.links._targets import locate, own_files, read_target
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
_DEFINITION = lazy(r"\n\[[^\]\n]{1,200}\]:[ \t]{0,8}<?([^\s>]+)")
# Folders and names of files whose links are resolved elsewhere.
_FOREIGN = lazy(
    r"(?:\A|/)(?:templates?|examples?|samples?|tests?|evals?|fixtures|expected[^/]*|assets|scripts|node_modules|\.[^/]*)/|"
    r"template|example|sample|(?:\A|/)(?:README|CHANGELOG|CONTRIBUTING|LICENSE|SKILL|AGENTS|CLAUDE)[^/]*\Z",
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
