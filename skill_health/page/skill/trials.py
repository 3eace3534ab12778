"""A failing trial to look at: what the agent did, what came of it, and what the verifier says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from skill_health.documents._record import OpenRecord, decode_record
from skill_health.documents.effect_result import TrialResult
from skill_health.page.figures import MISSING
from skill_health.page.model import PageCell
from skill_health.page.skill.budget import TextExcerpt, cut, fitted, from_file, price
from skill_health.page.skill.kept_files import FileLink, ReportFolders, Way
from skill_health.page.skill.trial_files import Trial, TrialLinks, kept

Sign = Literal["added", "removed", "place", "same"]
MOST_LINES = 120
_LONGEST = 300
_AROUND = 25
"""Bytes of HTML around a line."""


@dataclass(frozen=True, slots=True)
class DiffExcerpt:
    """The first lines of a diff. `left` lines of what was read are left out, and `unread` bytes of the file."""

    lines: tuple[tuple[Sign, str], ...] = ()
    left: int = 0
    unread: int = 0
    price: int = 0


def diff(data: bytes, size: int, room: int) -> DiffExcerpt:
    """The beginning of a diff of `size` bytes, of which `data` were read, in at most `room` bytes of HTML."""
    text = data.decode("utf-8", "surrogateescape")
    every = text.removesuffix("\n").split("\n") if text else []
    lines: list[tuple[Sign, str]] = []
    spent = 0
    for line in every[:MOST_LINES]:
        told = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}… ({len(line) - _LONGEST:,} more characters)"
        spent += price(told) + _AROUND
        if spent > room:
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


Kind = Literal["message", "reasoning", "call", "result"]
MOST_STEPS = 40
_LENGTHS = (600, 300, 150, 80)
"""How many characters of each piece are shown, the longest first for which all steps fit."""
_MOST_PIECES = 12
_STEP, _PIECE = 120, 130
"""Bytes of HTML around a step and around a piece of it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that was said, thought, called or given back. `label` names the tool."""

    kind: Kind
    label: str
    text: TextExcerpt


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


def steps(trajectory: Any, room: int) -> Steps:
    """As many steps as fit into `room` bytes of HTML: the longest pieces first, then the fewest steps left out."""
    told = _list(_get(trajectory, "steps"))
    # The end of a long story says how it failed, and its beginning what was asked.
    head, tail = told[: MOST_STEPS * 3 // 4], told[MOST_STEPS * 3 // 4 :][-(MOST_STEPS // 4) :]
    made: list[StepView] = []
    for most in _LENGTHS:
        made = [_step(number, step, most) for number, step in _numbered(head, tail, len(told))]
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
    return _STEP + sum(_PIECE + price(piece.label) + price(piece.text.text) for piece in step.pieces)


def _step(number: int, told: Any, most: int) -> StepView:
    pieces = list(_pieces(told, most))
    source = _get(told, "source")
    name = source if isinstance(source, str) else "unknown"
    return StepView(number, name[:40], tuple(pieces[:_MOST_PIECES]), max(0, len(pieces) - _MOST_PIECES))


def _pieces(told: Any, most: int) -> Iterator[Piece]:
    for kind, key in _SAID:
        text = _text(_get(told, key))
        if text.strip():
            yield Piece(kind, "", cut(text, most))
    for call in _list(_get(told, "tool_calls")):
        yield Piece("call", _text(_get(call, "function_name"))[:80], cut(_arguments(_get(call, "arguments")), most))
    for result in _list(_get(_get(told, "observation"), "results")):
        yield Piece("result", "", cut(_text(_get(result, "content")), most))


_SAID: tuple[tuple[Kind, str], ...] = (("reasoning", "reasoning_content"), ("message", "message"))


def _arguments(value: Any) -> str:
    """The arguments of a call: a single text as it is (a command), everything else as JSON."""
    if isinstance(value, dict) and len(value) == 1:
        ((key, only),) = value.items()
        if isinstance(only, str):
            return f"{key}: {only}"
    return "" if value is None or value == {} else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "(nested too deep to be shown)"


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


ROOM = 9_800
"""Bytes of HTML that the texts of a trial may take; with what is around them no view is dearer than DEAREST."""
_FRAME = 2_200
DEAREST = ROOM + _FRAME
_DIFF, _VERIFIER, _FINAL = 3_000, 2_500, 800
_MOST_TRAJECTORY = 8 << 20
_MOST_FILE = 256 << 10
_MOST_NOTES, _NOTE = 4, 300


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


def trial_view(shelf: ReportFolders, trial: Trial) -> TrialView:
    """The view of a trial, from the files in its folder; never raises for what they hold."""
    problems: list[str] = []
    found: TrialLinks = kept(shelf, trial)
    links = {link.text: link for link in found.links}
    outputs = tuple(
        output
        for output in (
            _output(shelf, trial.way, ("verifier", "stdout"), "What the verifier says", _VERIFIER),
            _output(shelf, trial.way, ("verifier", "stderr"), "Errors of the verifier", _FINAL),
            _output(shelf, trial.way, ("verifier", "notes.txt"), "Remarks on the verification", _FINAL),
            _output(shelf, trial.way, ("final.txt",), "What the agent says at the end", _FINAL),
        )
        if output
    )
    patch = shelf.read((*trial.way, "diff.patch"), _MOST_FILE) if trial.way else None
    changed = diff(*patch, _DIFF) if patch else DiffExcerpt()
    notes = _notes(trial.line, _problem(shelf, trial.way))
    room = ROOM - sum(price(each.text) for each in (*notes, *(output.text for output in outputs))) - changed.price
    story = steps(_trajectory(shelf, trial.way, problems), room)
    if not patch:
        problems.append("no diff was kept")
    return TrialView(
        trial, _figures(trial), notes, story, changed, outputs, found.links,
        links.get("trajectory"), links.get("diff"), tuple(problems), _FRAME + ROOM - room + story.price,
    )  # fmt: skip


def _output(shelf: ReportFolders, folder: Way, way: Way, title: str, room: int) -> OutputExcerpt | None:
    found = shelf.read((*folder, *way), _MOST_FILE) if folder else None
    if not found or not found[0].strip():
        return None
    return OutputExcerpt(title, from_file(*found, room, room), shelf.link((*folder, *way), "the whole file"))


def _trajectory(shelf: ReportFolders, folder: Way, problems: list[str]) -> Any:
    """The trajectory as a JSON value, None where it cannot be had; `problems` then says why."""
    found = shelf.read((*folder, "trajectory.json"), _MOST_TRAJECTORY) if folder else None
    if not found:
        problems.append("no trajectory was kept")
        return None
    data, size = found
    if size > _MOST_TRAJECTORY:
        problems.append(f"the trajectory has {size / 1e6:,.0f} MB and is not shown here")
        return None
    try:
        told = json.loads(data.decode("utf-8", "surrogateescape"))
    except RecursionError:
        problems.append("the trajectory is nested too deep to be shown")
        return None
    except ValueError:
        problems.append("the trajectory is not JSON")
        return None
    if not isinstance(told, dict) or not isinstance(told.get("steps"), list):
        problems.append("the trajectory has no list of steps")
    return told


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
    return tuple((name, _number(value, f"{origin}/{key}", digits, unit)) for name, key, value, digits, unit in shown)


def _number(value: float | None, origin: str, digits: int, unit: float) -> PageCell:
    if value is None:
        return PageCell(MISSING, None, origin)
    told = value / unit
    return PageCell(f"{told:,.{digits if abs(told) < 10 else min(digits, 1)}f}", value, origin)


class _Verdict(OpenRecord, frozen=True):
    """What the page reads of a verdict.json: what was wrong with the verification, "" for nothing."""

    problem: str = ""


def _problem(shelf: ReportFolders, folder: Way) -> str:
    """What the verdict says was wrong with the verification; "" where it says nothing."""
    found = shelf.read((*folder, "verdict.json"), _MOST_FILE) if folder else None
    try:
        return decode_record(found[0], _Verdict).problem if found else ""
    except ValueError:
        return ""


def _notes(line: TrialResult, problem: str) -> tuple[TextExcerpt, ...]:
    said = (line.error, problem, *line.notes)
    return tuple(fitted(each, _NOTE, _NOTE) for each in said[:_MOST_NOTES] if each)
