"""A failing trial to look at: what the agent did, what came of it, and what the verifier says."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from skill_health.page.figures import MISSING
from skill_health.page.model import PageCell
from skill_health.page.origin import JsonNode
from skill_health.page.skill.artefacts import FileLink, ReportFolders, Way
from skill_health.page.skill.trial_diff import DiffExcerpt, diff
from skill_health.page.skill.trial_files import Trial, TrialLinks, kept
from skill_health.page.skill.trial_steps import Steps, steps
from skill_health.page.skill.trial_text import TextExcerpt, fitted, from_file, price

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
    notes = _notes(trial.line.value, _problem(shelf, trial.way))
    room = ROOM - sum(price(each.text) for each in (*notes, *(output.text for output in outputs))) - changed.price
    story = steps(_trajectory(shelf, trial.way, problems), room)
    if not patch:
        problems.append("no diff was kept")
    return TrialView(
        trial, _figures(trial.line), notes, story, changed, outputs, found.links,
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


def _figures(line: JsonNode) -> tuple[tuple[str, PageCell], ...]:
    usage = line.get("usage") if isinstance(line.value.get("usage"), dict) else JsonNode({}, line.get("usage").origin)
    return (
        ("reward", _number(line.get("reward"), 2)),
        ("input tokens", _number(usage.get("input_tokens"), 0)),
        ("output tokens", _number(usage.get("output_tokens"), 0)),
        ("cost in dollars", _number(line.get("cost_usd"), 4)),
        ("seconds", _number(line.get("duration_ms"), 3, 1000.0)),
        ("turns", _number(line.get("turns"), 0)),
        ("tool calls", _number(line.get("tool_calls"), 0)),
    )


def _number(number: JsonNode, digits: int, unit: float = 1.0) -> PageCell:
    """A figure of a line that no schema was asked about."""
    value = number.value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e15 or math.isnan(value):
        return PageCell(MISSING, None, number.origin)
    told = value / unit
    return PageCell(f"{told:,.{digits if abs(told) < 10 else min(digits, 1)}f}", value, number.origin)


def _problem(shelf: ReportFolders, folder: Way) -> Any:
    """What the verdict says was wrong with the verification; None where it says nothing."""
    found = shelf.read((*folder, "verdict.json"), _MOST_FILE) if folder else None
    try:
        told = json.loads(found[0]) if found else None
    except (ValueError, RecursionError):
        return None
    return told.get("problem") if isinstance(told, dict) else None


def _notes(line: Any, problem: Any) -> tuple[TextExcerpt, ...]:
    notes = line.get("notes")
    said = [line.get("error"), problem, *(notes if isinstance(notes, list) else ())]
    return tuple(fitted(each, _NOTE, _NOTE) for each in said[:_MOST_NOTES] if isinstance(each, str) and each)
