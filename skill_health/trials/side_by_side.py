"""Two trials side by side: what was decided otherwise, where their steps part, and how they end."""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal

from skill_health.trials.kept_files import ReportFolders
from skill_health.trials.reading import KeptTrial
from skill_health.trials.steps import ToldStep

Side = Literal["same", "changed", "left", "right"]
MOST_STEPS, MOST_LINES, MOST_FILES = 400, 400, 60
_MOST_WORK = 200_000
_LARGEST_TEXT = 256 << 10
_AROUND = 2
WORKSPACE = "workspace.tar.gz"
_MOST_ARCHIVE, _MOST_FILES = 64 << 20, 20_000
_GZIP = 31


@dataclass(frozen=True, slots=True)
class LinePair:
    """A line of each side. `skipped` counts lines that are the same in both and stand between; then both are ""."""

    side: Side
    left: str = ""
    right: str = ""
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class CheckPair:
    """A thing that was decided otherwise; None where a side does not have it."""

    kind: str
    name: str
    left: str | None
    right: str | None


@dataclass(frozen=True, slots=True)
class StepPair:
    """A step of each side, or of one of them; `lines` are those of a pair that is not the same."""

    side: Side
    left: ToldStep | None
    right: ToldStep | None
    lines: tuple[LinePair, ...] = ()


@dataclass(frozen=True, slots=True)
class FilePair:
    """A file that is not the same at the end. `note` says so where its lines cannot be compared."""

    side: Side
    path: str
    lines: tuple[LinePair, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Two trials. `same_checks` and `same_files` are counted only; `problem` says why no files are compared.

    `left_steps`, `left_files` and `left_checks` count what is beyond the limits, and left out.
    """

    left: KeptTrial
    right: KeptTrial
    checks: tuple[CheckPair, ...]
    same_checks: int
    steps: tuple[StepPair, ...]
    left_steps: int
    answer: tuple[LinePair, ...]
    files: tuple[FilePair, ...]
    same_files: int
    left_files: int
    problem: str

    @property
    def answers_differ(self) -> bool:
        """Whether the final messages are not the same."""
        return any(each.side != "same" for each in self.answer)


def compare_trials(shelf: ReportFolders, left: KeptTrial, right: KeptTrial) -> SideBySide:
    """Two trials side by side, the left one as what the right one is held against."""
    checks, same_checks = _checks(left, right)
    steps = align_steps(list(left.steps(MOST_STEPS)), list(right.steps(MOST_STEPS)))
    over = sum(max(0, len(each.raw_steps) - MOST_STEPS) for each in (left, right))
    files, same_files, problem = _files(final_files(shelf, left), final_files(shelf, right))
    answers = compare_lines(_answer(left), _answer(right))
    return SideBySide(
        left, right, checks, same_checks, steps, over, answers, files[:MOST_FILES], same_files,
        max(0, len(files) - MOST_FILES), problem,
    )  # fmt: skip


def _answer(kept: KeptTrial) -> str:
    return kept.answer.text if kept.answer else ""


def _checks(left: KeptTrial, right: KeptTrial) -> tuple[tuple[CheckPair, ...], int]:
    sides = [{(each.kind, each.name): each.said for each in side.checks} for side in (left, right)]
    names = list(dict.fromkeys([*sides[0], *sides[1]]))
    pairs = [CheckPair(*name, sides[0].get(name), sides[1].get(name)) for name in names]
    other = tuple(each for each in pairs if each.left != each.right)
    return other, len(pairs) - len(other)


def align_steps(left: Sequence[ToldStep], right: Sequence[ToldStep]) -> tuple[StepPair, ...]:
    """The steps in order: those that are the same beside each other, then those that call the same tools."""
    pairs: list[StepPair] = []
    words = [[(step.source, step.text) for step in side] for side in (left, right)]
    kinds = [[(step.source, *(p.label for p in step.pieces if p.kind == "call")) for step in s] for s in (left, right)]
    for same, a, b, c, d in _blocks(words[0], words[1]):
        if same:
            pairs += (StepPair("same", *both) for both in zip(left[a:b], right[c:d], strict=True))
            continue
        for alike, e, f, g, h in _blocks(kinds[0][a:b], kinds[1][c:d]):
            ours, theirs = left[a + e : a + f], right[c + g : c + h]
            if alike:
                pairs += (_changed(one, other) for one, other in zip(ours, theirs, strict=True))
            else:
                pairs += (StepPair("left", step, None) for step in ours)
                pairs += (StepPair("right", None, step) for step in theirs)
    return tuple(pairs)


def _changed(left: ToldStep, right: ToldStep) -> StepPair:
    return StepPair("changed", left, right, compare_lines(left.text, right.text))


def compare_lines(left: str, right: str, most: int = MOST_LINES) -> tuple[LinePair, ...]:
    """The lines of two texts beside each other; of what is the same only what stands around a difference.

    At most `most` pairs, the last of which then says how many lines were left out.
    """
    if left == right:
        lines = left.split("\n") if left else []
        return (LinePair("same", skipped=len(lines)),) if lines else ()
    if left.endswith("\n") and right.endswith("\n"):
        left, right = left[:-1], right[:-1]
    ours, theirs = left.split("\n") if left else [], right.split("\n") if right else []
    pairs = list(_lines(ours, theirs))
    if len(pairs) <= most:
        return tuple(pairs)
    return (*pairs[: most - 1], LinePair("changed", skipped=len(pairs) - most + 1))


def _lines(left: list[str], right: list[str]) -> Iterator[LinePair]:
    blocks = list(_blocks(left, right))
    for at, (same, a, b, c, d) in enumerate(blocks):
        if not same:
            for one, other in zip_longest(left[a:b], right[c:d]):
                side: Side = "left" if other is None else "right" if one is None else "changed"
                yield LinePair(side, one or "", other or "")
            continue
        head = _AROUND if at else 0
        tail = _AROUND if at + 1 < len(blocks) else 0
        if b - a <= head + tail + 1:
            head, tail = b - a, 0
        yield from (LinePair("same", line, line) for line in left[a : a + head])
        if skipped := b - a - head - tail:
            yield LinePair("same", skipped=skipped)
        yield from (LinePair("same", line, line) for line in left[b - tail : b])


_Block = tuple[bool, int, int, int, int]


def _blocks(left: Sequence[object], right: Sequence[object]) -> Iterator[_Block]:
    """What is the same and what is not, by turns, as ranges of both sides.

    What is too much to be compared is one block that is not the same, but for how both begin and end.
    """
    least = min(len(left), len(right))
    start = next((at for at in range(least) if left[at] != right[at]), least)
    end = next((at for at in range(least - start) if left[-1 - at] != right[-1 - at]), least - start)
    if start:
        yield True, 0, start, 0, start
    a, b, c, d = start, len(left) - end, start, len(right) - end
    if (b - a) * (d - c) > _MOST_WORK:
        yield False, a, b, c, d
    elif b > a or d > c:
        # What occurs often counts, too: the matcher would leave it out to be faster.
        for word, e, f, g, h in SequenceMatcher(None, left[a:b], right[c:d], autojunk=False).get_opcodes():
            yield word == "equal", a + e, a + f, c + g, c + h
    if end:
        yield True, b, len(left), d, len(right)


def _files(left: Mapping[str, bytes] | str, right: Mapping[str, bytes] | str) -> tuple[tuple[FilePair, ...], int, str]:
    if isinstance(left, str) or isinstance(right, str):
        return (), 0, left if isinstance(left, str) else str(right)
    other = [path for path in sorted({*left, *right}) if left.get(path) != right.get(path)]
    # Those beyond the limit are counted, not compared.
    pairs = tuple(_file(path, left.get(path), right.get(path), at < MOST_FILES) for at, path in enumerate(other))
    return pairs, len({*left, *right}) - len(other), ""


def _file(path: str, left: bytes | None, right: bytes | None, full: bool) -> FilePair:
    side: Side = "left" if right is None else "right" if left is None else "changed"
    if not full:
        return FilePair(side, path)
    texts = [_text(each) for each in (left, right)]
    if texts[0] is None or texts[1] is None:
        sizes = [f"{len(each):,} bytes" if each is not None else "not there" for each in (left, right)]
        return FilePair(side, path, note=f"no text or too long: {sizes[0]} and {sizes[1]}")
    return FilePair(side, path, compare_lines(texts[0], texts[1]))


def _text(data: bytes | None) -> str | None:
    if data is None:
        return ""
    if len(data) > _LARGEST_TEXT or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def final_files(shelf: ReportFolders, kept: KeptTrial) -> Mapping[str, bytes] | str:
    """The files of a workspace as its agent left them, without staged skills, by path; else why they cannot be had.

    A link is its target as text.
    """
    way = (*kept.trial.way, WORKSPACE)
    found = shelf.read(way, _MOST_ARCHIVE) if kept.trial.way else None
    if not found:
        return "no workspace was kept"
    if found[1] > _MOST_ARCHIVE:
        return "the kept workspace is too large to be compared"
    reader = zlib.decompressobj(_GZIP)
    try:
        # A small archive may say that it holds anything: no more is ever unpacked than the limit.
        raw = reader.decompress(found[0], _MOST_ARCHIVE)
        if reader.unconsumed_tail:
            return "the kept workspace is too large to be compared"
        return _members(raw, kept.about.skills_folder.strip("/"))
    except (tarfile.TarError, zlib.error, OSError, ValueError, EOFError, OverflowError):
        return "the kept workspace is damaged"


def _members(raw: bytes, skills: str) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:", errors="surrogateescape") as archive:
        for member in archive:
            if len(files) >= _MOST_FILES:
                raise ValueError("too many files")
            if skills and (member.name == skills or member.name.startswith(f"{skills}/")):
                continue
            if member.issym():
                files[member.name] = f"link to {member.linkname}".encode("utf-8", "surrogateescape")
            elif member.isreg() and (stream := archive.extractfile(member)):
                files[member.name] = stream.read()
    return files
