"""Score history: the mean of the collection from run to run, and the score of one skill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from skill_health.page.drawing.theme import BAD, GOOD, MUTED, WARN
from skill_health.page.figures import count, score, text_cell
from skill_health.page.model import JsonNode, NumberTable, Page, Picture, anchor
from skill_health.page.pictures import _specs as vl

QUESTION, ORDER = 1, 1
MOST = 90
"""So many runs are drawn, the last ones."""
_BROKEN = "The line is broken where runs are not comparable or days are missing."
_COLORS = {"drop": BAD, "rise": GOOD, "rules": MUTED, "configuration": MUTED, "gap": WARN}
"""The colour of a mark by its kind, the most telling kind first."""
_SAME = ("configuration", "rules", "profile")


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run: its line of the history, its score, and the number of the stretch of comparable runs that it is in."""

    line: JsonNode
    score: JsonNode
    stretch: int

    @property
    def time(self) -> str:
        """When it began, in UTC."""
        return str(self.line.value["time"])


def build(page: Page) -> tuple[Picture, ...]:
    """The mean score of the last daily runs; none where fewer than two have one."""
    found = [(line, line["summary"]["mean"]) for line in _lines(page) if line.value["summary"]["mean"] is not None]
    if len(found) < 2:
        return ()
    marks = _marks(page, found[0][0].value["time"])
    runs, texts = _scored_runs(found, marks), _describe_marks(marks)
    rows = tuple(
        (
            text_cell(run.time),
            score(run.score),
            *(score(run.line["summary"][end]) for end in ("min", "max")),
            count(run.line["summary"]["skills"]),
            text_cell(texts.get(run.time, "")),
        )
        for run in reversed(runs)
    )
    table = NumberTable(("Run", "Mean", "Lowest", "Highest", "Skills", "Mark"), rows, "Scores of the daily runs")
    alt = f"Line of the mean score over {_describe_runs(runs)} The band goes from the lowest to the highest score of a skill."
    if texts:
        alt += f" {len(texts)} mark{'s' * (len(texts) != 1)}, the last {list(texts.values())[-1].partition(': ')[2]}."
    note = f"{_BROKEN} {_note(texts)}".strip()
    if len(page.history.value) > MOST:
        note += f" The last {len(runs)} runs over the same paths are shown."
    spec = _spec(runs, marks, band=True)
    return (Picture("score-history", "Mean score of the collection", alt, spec, table, 1, note),)


def build_skill(page: Page, path: str) -> tuple[Picture, ...]:
    """The score of a skill over the last daily runs; none where fewer than two have one."""
    known = [line for line in _lines(page) if path in line.value["skills"]]
    scored = ((line, line["skills"][path]["score"]) for line in known)
    found = [(line, own) for line, own in scored if own.value is not None]
    if len(found) < 2:
        return ()
    every = _marks(page, found[0][0].value["time"])
    marks = [mark for mark in every if mark.value["kind"] not in ("drop", "rise")]
    runs, texts = _scored_runs(found, every), _describe_marks(marks)
    kept = [run for at, run in enumerate(runs) if _turns(runs, at)]
    rows = tuple((text_cell(run.time), score(run.score)) for run in reversed(kept))
    caption = f"Scores of {len(runs)} daily runs, where they begin, end or change"
    alt, note = f"Line of the score over {_describe_runs(runs)}", f"{_BROKEN} {_note(texts)}" if texts else ""
    spec, table = _spec(kept, marks, band=False), NumberTable(("Run", "Score"), rows, caption)
    return (Picture(f"{anchor(path)}-history", "Score", alt, spec, table, 1, note),)


def _lines(page: Page) -> list[JsonNode]:
    """The last daily runs over the same paths as the last one, oldest first."""
    every = list(page.history)
    wanted = set(every[-1].value["paths"]) if every else set()
    return [line for line in every if set(line.value["paths"]) == wanted][-MOST:]


def _marks(page: Page, since: str) -> list[JsonNode]:
    """The marks of the collection's history from a time on."""
    return [mark for mark in page.own.get("marks") if mark.value["time"] >= since]


def _scored_runs(found: Sequence[tuple[JsonNode, JsonNode]], marks: Sequence[JsonNode]) -> list[ScoredRun]:
    """Lines and their scores, in stretches: another one begins with other rules or settings, and after a gap."""
    broken = {mark.value["time"] for mark in marks if mark.value["kind"] == "gap"}
    runs: list[ScoredRun] = []
    for line, own in found:
        stretch = runs[-1].stretch if runs else 0
        if runs and (line.value["time"] in broken or _basis(runs[-1].line.value) != _basis(line.value)):
            stretch += 1
        runs.append(ScoredRun(line, own, stretch))
    return runs


def _basis(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(line[key] for key in _SAME)


def _turns(runs: Sequence[ScoredRun], at: int) -> bool:
    """Whether a run is needed to draw the line: where it begins, ends, changes or is broken."""
    if at in (0, len(runs) - 1):
        return True
    return len({(each.score.value, each.stretch) for each in runs[at - 1 : at + 2]}) > 1


def _describe_runs(runs: Sequence[ScoredRun]) -> str:
    first, last = (f"{score(run.score).text} on {run.time[:10]}" for run in (runs[0], runs[-1]))
    return f"{len(runs)} daily runs: {first}, {last}."


def _numbered(marks: Sequence[JsonNode]) -> list[tuple[str, str]]:
    """The times of the marks in order, each with the kind of its most telling mark: their places are their numbers."""
    rank = {kind: at for at, kind in enumerate(_COLORS)}
    times: dict[str, str] = {}
    for mark in sorted(marks, key=lambda each: rank.get(each.value["kind"], len(rank))):
        times.setdefault(mark.value["time"], mark.value["kind"])
    return sorted(times.items())


def _describe_marks(marks: Sequence[JsonNode]) -> dict[str, str]:
    """What the marks of a time say, by the time, with their number."""
    found = {}
    for number, (time, _) in enumerate(_numbered(marks), 1):
        texts = [mark.value["text"] for mark in marks if mark.value["time"] == time]
        found[time] = f"{number}: {'; '.join(dict.fromkeys(texts))}"
    return found


def _note(texts: Mapping[str, str]) -> str:
    """What the numbers of the marks mean, the last ones where there are many."""
    last = list(texts.values())[-6:]
    more = f"{len(texts) - len(last)} earlier marks are in the table. " if len(texts) > len(last) else ""
    return more + " ".join(f"{each}." for each in last)


def _spec(runs: Sequence[ScoredRun], marks: Sequence[JsonNode], band: bool) -> vl.Spec:
    """The line, over the band from lowest to highest score where `band`, with the marks as numbered rules."""
    values: list[vl.Spec] = []
    dots: list[vl.Spec] = []
    stretches = Counter(run.stretch for run in runs)
    for before, run in zip((None, *runs), runs, strict=False):
        own = {"time": run.time, "score": run.score.value}
        if band:
            own |= {"low": run.line.value["summary"]["min"], "high": run.line.value["summary"]["max"]}
        # A hole breaks the line; to draw each stretch for itself takes the library longer.
        values += [{"time": run.time, "score": None}] if before and before.stretch != run.stretch else []
        values.append(own)
        if stretches[run.stretch] == 1 or (band and len(runs) <= 31):
            dots.append(own)
    ends = [each[key] for each in values for key in ("score", "low", "high") if each.get(key) is not None]
    # A tenth of the scale at least, or a hair's breadth would look like a fall.
    room = max(max(ends) - min(ends), 0.1) * 0.06
    domain = [max(0.0, floor((min(ends) - room) * 100) / 100), ceil((max(ends) + room) * 100) / 100]
    axis = {"tickCount": 4 if band else 3, "grid": band}
    up: vl.Spec = {"title": "score, 0 to 1" if band else None, "scale": {"domain": domain}, "axis": axis}
    y, color = vl.channel("score", **up), vl.category("color", scale=None)
    numbers = [
        {"time": time, "number": str(at), "color": _COLORS.get(kind, MUTED), "odd": bool(at % 2)}
        for at, (time, kind) in enumerate(_numbered(marks), 1)
    ]
    # In two rows, so that the numbers of neighbours do not touch.
    number = {"y": vl.either("odd", -7, -18), "text": {"field": "number"}, "color": color}
    layers = [
        vl.layer("area", vl.interval("y", up), values if band else [], opacity=0.15),
        vl.layer("line", {"y": y}, values, strokeWidth=2),
        vl.layer("point", {"y": y}, dots, filled=True, size=20),
        vl.layer("rule", {"color": color}, numbers, strokeDash=vl.DASHED, strokeWidth=1),
        vl.layer("text", number, numbers, align="center"),
    ]
    seen = [each for each in layers if each["data"]["values"]]
    return vl.plot(values, 150 if band else 70, seen, x=vl.time_channel("time", [run.time for run in runs]))
