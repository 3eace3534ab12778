"""A trial to look at: what the agent did, what came of it, and what the verifier says; as an excerpt, or as a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from skill_health.page.figures import MISSING
from skill_health.page.model import PageCell
from skill_health.page.skill.budget import TextExcerpt, cut, fitted, from_file, price
from skill_health.trials.kept_files import FileLink, ReportFolders
from skill_health.trials.reading import SHORT, WHOLE, KeptOutput, KeptTrial, ReadLimits, read_trial
from skill_health.trials.results import Trial, TrialLinks, kept
from skill_health.trials.steps import UNMARKED, PieceKind, SkillOpenings, ToldStep, raw_steps, told_step

Sign = Literal["added", "removed", "place", "same"]
MOST_LINES = 120
_AROUND = 25
"""Bytes of HTML around a line."""


@dataclass(frozen=True, slots=True)
class ViewLimits:
    """How much of a trial is shown: steps and pieces of one, lines of a diff, characters, and bytes of HTML.

    `lengths` are the most characters of each piece, the longest first for which all steps fit.
    """

    room: int = 9_800
    steps: int = 40
    pieces: int = 12
    lengths: tuple[int, ...] = (600, 300, 150, 80)
    diff: int = 3_000
    diff_lines: int = MOST_LINES
    line: int = 300
    verifier: int = 2_500
    final: int = 800
    notes: int = 4
    note: int = 300
    read: ReadLimits = SHORT


EXCERPT = ViewLimits()
"""What a page with all skills has room for."""
FULL = ViewLimits(
    3_000_000, 2_000, 200, (20_000, 4_000, 600, 300, 150, 80), 600_000, 8_000, 4_000, 200_000, 100_000, 40, 2_000, WHOLE
)
"""What a page of its own has room for."""


@dataclass(frozen=True, slots=True)
class DiffExcerpt:
    """The first lines of a diff. `left` lines of what was read are left out, and `unread` bytes of the file."""

    lines: tuple[tuple[Sign, str], ...] = ()
    left: int = 0
    unread: int = 0
    price: int = 0


def diff(data: bytes, size: int, limits: ViewLimits = EXCERPT) -> DiffExcerpt:
    """The beginning of a diff of `size` bytes, of which `data` were read, within the limits."""
    text = data.decode("utf-8", "surrogateescape")
    every = text.removesuffix("\n").split("\n") if text else []
    lines: list[tuple[Sign, str]] = []
    spent = 0
    for line in every[: limits.diff_lines]:
        most = limits.line
        told = line if len(line) <= most else f"{line[:most]}… ({len(line) - most:,} more characters)"
        spent += price(told) + _AROUND
        if spent > limits.diff:
            break
        lines.append((_sign(line, lines), told))
    paid = sum(price(told) + _AROUND for _, told in lines)
    return DiffExcerpt(tuple(lines), len(every) - len(lines), size - len(data), paid)


def _sign(line: str, before: list[tuple[Sign, str]]) -> Sign:
    """The heads of a file begin with signs, too; they stand before its first place."""
    if line.startswith(("@@", "diff ", "index ", "new file", "deleted file", "old mode", "new mode", "similarity ")):
        return "place"
    if line.startswith(("--- ", "+++ ")) and before and before[-1][0] == "place" and not before[-1][1].startswith("@@"):
        return "place"
    return {"+": "added", "-": "removed"}.get(line[:1], "same")  # type: ignore[return-value]


MOST_STEPS = EXCERPT.steps
_STEP, _PIECE = 120, 130
"""Bytes of HTML around a step and around a piece of it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that was said, thought, called or given back. `label` names the tool, `opened` the skills it opens."""

    kind: PieceKind
    label: str
    text: TextExcerpt
    opened: str = ""


@dataclass(frozen=True, slots=True)
class StepView:
    """A step: its number from 1, who speaks, and what there is of it; `more` counts the pieces left out."""

    number: int
    source: str
    pieces: tuple[Piece, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Steps:
    """The first steps and the last ones; `left` counts those left out between them."""

    first: tuple[StepView, ...] = ()
    last: tuple[StepView, ...] = ()
    left: int = 0

    @property
    def price(self) -> int:
        """Bytes of HTML that the steps take, about."""
        return sum(map(_price, self.first + self.last))


def steps(trajectory: Any, room: int, openings: SkillOpenings = UNMARKED, limits: ViewLimits = EXCERPT) -> Steps:
    """As many steps as fit into `room` bytes of HTML: the longest pieces first, then the fewest steps left out."""
    told = raw_steps(trajectory)
    # The end of a long story says how it failed, and its beginning what was asked.
    most = limits.steps
    head, tail = told[: most * 3 // 4], told[most * 3 // 4 :][-(most // 4) :]
    read = [told_step(number, step, openings) for number, step in _numbered(head, tail, len(told))]
    made: list[StepView] = []
    for length in limits.lengths:
        made = [_step(each, length, limits.pieces) for each in read]
        if sum(map(_price, made)) <= room:
            return _split(made, len(told))
    chosen: list[StepView] = []
    for step in _from_both_ends(made):
        room -= _price(step)
        if room < 0:
            break
        chosen.append(step)
    return _split(sorted(chosen, key=lambda step: step.number), len(told))


def _numbered(head: list[Any], tail: list[Any], total: int) -> Iterator[tuple[int, Any]]:
    yield from enumerate(head, 1)
    yield from enumerate(tail, total - len(tail) + 1)


def _from_both_ends(made: list[StepView]) -> Iterator[StepView]:
    """Two of the beginning, then the last, and so on."""
    low, high = 0, len(made)
    while low < high:
        yield from made[low : min(low + 2, high)]
        low = min(low + 2, high)
        if low < high:
            high -= 1
            yield made[high]


def _split(made: list[StepView], total: int) -> Steps:
    at = next((at for at, step in enumerate(made) if step.number != at + 1), len(made))
    return Steps(tuple(made[:at]), tuple(made[at:]), total - len(made))


def _price(step: StepView) -> int:
    return _STEP + sum(
        _PIECE + price(piece.label) + price(piece.opened) + price(piece.text.text) for piece in step.pieces
    )


def _step(told: ToldStep, most: int, most_pieces: int) -> StepView:
    pieces = tuple(
        Piece(each.kind, each.label[:80], cut(each.text, most), ", ".join(each.opened)[:200])
        for each in told.pieces[:most_pieces]
    )
    return StepView(told.number, told.source[:40], pieces, len(told.pieces) - len(pieces))


ROOM = EXCERPT.room
"""Bytes of HTML that the texts of a trial may take; with what is around them no view is dearer than DEAREST."""
_FRAME = 2_500
DEAREST = ROOM + _FRAME


@dataclass(frozen=True, slots=True)
class OutputExcerpt:
    """A text file that was kept: its title, its beginning, and the link to the whole of it."""

    title: str
    text: TextExcerpt
    whole: FileLink | None


@dataclass(frozen=True, slots=True)
class TrialView:
    """A trial as the page shows it. `problems` say what could not be read; `figures` are named cells."""

    trial: Trial
    kept: KeptTrial
    figures: tuple[tuple[str, PageCell], ...]
    notes: tuple[TextExcerpt, ...]
    steps: Steps
    diff: DiffExcerpt
    outputs: tuple[OutputExcerpt, ...]
    links: tuple[FileLink, ...]
    trajectory: FileLink | None
    patch: FileLink | None
    problems: tuple[str, ...]
    price: int
    """Bytes of HTML that the view takes, about."""


def trial_view(shelf: ReportFolders, trial: Trial, limits: ViewLimits = EXCERPT) -> TrialView:
    """The view of a trial, from the files in its folder; never raises for what they hold."""
    told = read_trial(shelf, trial, limits.read)
    found: TrialLinks = kept(shelf, trial)
    links = {link.text: link for link in found.links}
    outputs = tuple(_output(shelf, each, limits) for each in told.outputs)
    changed = diff(told.patch.data, told.patch.size, limits) if told.patch else DiffExcerpt()
    notes = tuple(fitted(each, limits.note, limits.note) for each in told.notes[: limits.notes])
    texts = sum(price(each.text) for each in (*notes, *(output.text for output in outputs)))
    room = limits.room - texts - changed.price
    story = steps(told.trajectory, room, SkillOpenings.of(trial.line), limits)
    return TrialView(
        trial, told, _figures(trial), notes, story, changed, outputs, found.links, links.get("trajectory"),
        links.get("diff"), told.problems, _FRAME + limits.room - room + story.price,
    )  # fmt: skip


def full_view(shelf: ReportFolders, trial: Trial) -> TrialView:
    """The view of a trial on a page of its own, which links to what is too long even for that."""
    return trial_view(shelf, trial, FULL)


def _output(shelf: ReportFolders, told: KeptOutput, limits: ViewLimits) -> OutputExcerpt:
    room = limits.verifier if told.way[-1] == "stdout" else limits.final
    return OutputExcerpt(
        told.title, from_file(told.data, told.size, room, room), shelf.link(told.way, "the whole file")
    )


def _figures(trial: Trial) -> tuple[tuple[str, PageCell], ...]:
    line, origin = trial.line, trial.origin
    shown: tuple[tuple[str, str, float | None, int, float], ...] = (
        ("reward", "reward", line.reward, 2, 1.0),
        ("input tokens", "usage/input_tokens", line.usage.input_tokens, 0, 1.0),
        ("output tokens", "usage/output_tokens", line.usage.output_tokens, 0, 1.0),
        ("cost in dollars", "cost_usd", line.cost_usd, 4, 1.0),
        ("seconds", "duration_ms", line.duration_ms, 3, 1000.0),
        ("turns", "turns", line.turns, 0, 1.0),
        ("tool calls", "tool_calls", line.tool_calls, 0, 1.0),
    )
    return tuple(
        (name, number_cell(value, f"{origin}/{key}", digits, unit)) for name, key, value, digits, unit in shown
    )


def number_cell(value: float | None, origin: str, digits: int, unit: float = 1.0) -> PageCell:
    """A figure of a trial in a unit of so many of its own, with so many digits where it is small; a dash for none."""
    if value is None:
        return PageCell(MISSING, None, origin)
    told = value / unit
    return PageCell(f"{told:,.{digits if abs(told) < 10 else min(digits, 1)}f}", value, origin)
