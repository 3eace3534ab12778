"""Score history: the mean of the collection from run to run, and the score of one skill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor

from skill_health.documents.daily_run import DailyRun
from skill_health.documents.page_data import HistoryMark
from skill_health.page.drawing.theme import BAD, GOOD, MUTED, WARN
from skill_health.page.figures import count, score, score_text, text_cell
from skill_health.page.model import NumberTable, Page, PageCell, Picture, anchor
from skill_health.page.pictures import _specs as vl

QUESTION, ORDER = 1, 1
MOST = 90
"""So many runs are drawn, the last ones."""
_BROKEN = "The line is broken where runs are not comparable or days are missing."
_COLORS = {"drop": BAD, "rise": GOOD, "rules": MUTED, "configuration": MUTED, "gap": WARN}
"""The colour of a mark by its kind, the most telling kind first."""


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run: its line of the history, its score, and the number of the stretch of comparable runs that it is in."""

    line: DailyRun
    score: float
    stretch: int


def build(page: Page) -> tuple[Picture, ...]:
    """The mean score of the last daily runs; none where fewer than two have one."""
    found = [(line, line.summary.mean) for line in _lines(page) if line.summary.mean is not None]
    if len(found) < 2:
        return ()
    marks = _marks(page, found[0][0].time)
    runs, texts = _scored_runs(found, marks), _describe_marks(marks)
    rows = tuple(
        (
            text_cell(run.line.time),
            *(score(page.origins, run.line, "summary", name) for name in ("mean", "min", "max")),
            count(page.origins, run.line, "summary", "skills"),
            text_cell(texts.get(run.line.time, "")),
        )
        for run in reversed(runs)
    )
    table = NumberTable(("Run", "Mean", "Lowest", "Highest", "Skills", "Mark"), rows, "Scores of the daily runs")
    alt = f"Line of the mean score over {_describe_runs(runs)} The band goes from the lowest to the highest score of a skill."
    if texts:
        alt += f" {len(texts)} mark{'s' * (len(texts) != 1)}, the last {list(texts.values())[-1].partition(': ')[2]}."
    note = f"{_BROKEN} {_note(texts)}".strip()
    if len(page.history) > MOST:
        note += f" The last {len(runs)} runs over the same paths are shown."
    spec = _spec(runs, marks, band=True)
    return (Picture("score-history", "Mean score of the collection", alt, spec, table, 1, note),)


def build_skill(page: Page, path: str) -> tuple[Picture, ...]:
    """The score of a skill over the last daily runs; none where fewer than two have one."""
    known = ((line, line.skills[path].score) for line in _lines(page) if path in line.skills)
    found = [(line, own) for line, own in known if own is not None]
    if len(found) < 2:
        return ()
    every = _marks(page, found[0][0].time)
    marks = [mark for mark in every if mark.kind not in ("drop", "rise")]
    runs, texts = _scored_runs(found, every), _describe_marks(marks)
    kept = [run for at, run in enumerate(runs) if _turns(runs, at)]
    origins = (page.origins.of(run.line, "skills", path, "score") for run in reversed(kept))
    rows = tuple(
        (text_cell(run.line.time), PageCell(score_text(run.score), run.score, origin))
        for run, origin in zip(reversed(kept), origins, strict=True)
    )
    caption = f"Scores of {len(runs)} daily runs, where they begin, end or change"
    alt, note = f"Line of the score over {_describe_runs(runs)}", f"{_BROKEN} {_note(texts)}" if texts else ""
    spec, table = _spec(kept, marks, band=False), NumberTable(("Run", "Score"), rows, caption)
    return (Picture(f"{anchor(path)}-history", "Score", alt, spec, table, 1, note),)


def _lines(page: Page) -> list[DailyRun]:
    """The last daily runs over the same paths as the last one, oldest first."""
    wanted = set(page.history[-1].paths) if page.history else set()
    return [line for line in page.history if set(line.paths) == wanted][-MOST:]


def _marks(page: Page, since: str) -> list[HistoryMark]:
    """The marks of the collection's history from a time on."""
    return [mark for mark in page.own.marks if mark.time >= since]


def _scored_runs(found: Sequence[tuple[DailyRun, float]], marks: Sequence[HistoryMark]) -> list[ScoredRun]:
    """Lines and their scores, in stretches: another one begins with other rules or settings, and after a gap."""
    broken = {mark.time for mark in marks if mark.kind == "gap"}
    runs: list[ScoredRun] = []
    for line, own in found:
        stretch = runs[-1].stretch if runs else 0
        if runs and (line.time in broken or _basis(runs[-1].line) != _basis(line)):
            stretch += 1
        runs.append(ScoredRun(line, own, stretch))
    return runs


def _basis(line: DailyRun) -> tuple[str, ...]:
    return line.configuration, line.rules, line.profile


def _turns(runs: Sequence[ScoredRun], at: int) -> bool:
    """Whether a run is needed to draw the line: where it begins, ends, changes or is broken."""
    if at in (0, len(runs) - 1):
        return True
    return len({(each.score, each.stretch) for each in runs[at - 1 : at + 2]}) > 1


def _describe_runs(runs: Sequence[ScoredRun]) -> str:
    first, last = (f"{score_text(run.score)} on {run.line.time[:10]}" for run in (runs[0], runs[-1]))
    return f"{len(runs)} daily runs: {first}, {last}."


def _numbered(marks: Sequence[HistoryMark]) -> list[tuple[str, str]]:
    """The times of the marks in order, each with the kind of its most telling mark: their places are their numbers."""
    rank = {kind: at for at, kind in enumerate(_COLORS)}
    times: dict[str, str] = {}
    for mark in sorted(marks, key=lambda each: rank.get(each.kind, len(rank))):
        times.setdefault(mark.time, mark.kind)
    return sorted(times.items())


def _describe_marks(marks: Sequence[HistoryMark]) -> dict[str, str]:
    """What the marks of a time say, by the time, with their number."""
    found = {}
    for number, (time, _) in enumerate(_numbered(marks), 1):
        texts = [mark.text for mark in marks if mark.time == time]
        found[time] = f"{number}: {'; '.join(dict.fromkeys(texts))}"
    return found


def _note(texts: Mapping[str, str]) -> str:
    """What the numbers of the marks mean, the last ones where there are many."""
    last = list(texts.values())[-6:]
    more = f"{len(texts) - len(last)} earlier marks are in the table. " if len(texts) > len(last) else ""
    return more + " ".join(f"{each}." for each in last)


def _spec(runs: Sequence[ScoredRun], marks: Sequence[HistoryMark], band: bool) -> vl.Spec:
    """The line, over the band from lowest to highest score where `band`, with the marks as numbered rules."""
    values: list[vl.Spec] = []
    dots: list[vl.Spec] = []
    ends: list[float] = []
    stretches = Counter(run.stretch for run in runs)
    for before, run in zip((None, *runs), runs, strict=False):
        summary = run.line.summary
        own: vl.Spec = {"time": run.line.time, "score": run.score}
        own |= {"low": summary.min, "high": summary.max} if band else {}
        ends += [each for each in (run.score, *((summary.min, summary.max) if band else ())) if each is not None]
        # A hole breaks the line; to draw each stretch for itself takes the library longer.
        values += [{"time": run.line.time, "score": None}] if before and before.stretch != run.stretch else []
        values.append(own)
        if stretches[run.stretch] == 1 or (band and len(runs) <= 31):
            dots.append(own)
    # A tenth of the scale at least, or a hair's breadth would look like a fall.
    high = max(min(max(ends), 1.0), 0.1)
    low = min(min(ends), max(high - 0.1, 0.0))
    room = (high - low) * 0.06
    domain = [max(0.0, floor((low - room) * 100) / 100), min(1.0, ceil((high + room) * 100) / 100)]
    axis = {"tickCount": 4 if band else 3, "grid": band}
    up: vl.Spec = {"title": "score, 0 to 1" if band else None, "scale": {"domain": domain}, "axis": axis}
    y, color = vl.channel("score", **up), vl.category("color", scale=None)
    numbers = [
        {"time": time, "number": str(at), "color": _COLORS.get(kind, MUTED), "odd": bool(at % 2)}
        for at, (time, kind) in enumerate(_numbered(marks), 1)
    ]
    # In two rows, so that the numbers of neighbours do not touch.
    number = {"y": vl.either("odd", -7, -18), "text": {"field": "number"}, "color": color}
    band_values = values if band else []
    layers = (
        (band_values, vl.layer("area", vl.interval("y", up), band_values, opacity=0.15)),
        (values, vl.layer("line", {"y": y}, values, strokeWidth=2)),
        (dots, vl.layer("point", {"y": y}, dots, filled=True, size=20)),
        (numbers, vl.layer("rule", {"color": color}, numbers, strokeDash=vl.DASHED, strokeWidth=1)),
        (numbers, vl.layer("text", number, numbers, align="center")),
    )
    seen, x = [each for own, each in layers if own], vl.time_channel("time", [run.line.time for run in runs])
    return vl.layered(150 if band else 70, seen, x=x)
