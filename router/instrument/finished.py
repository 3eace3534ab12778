"""Patterns in a finished run that say more about the instrument than about the descriptions.

Each pattern needs enough prompts to be one: with few of them, one skill or one label, a working router can show it too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from skill_health.documents.router_check import InstrumentFinding, ModelVerdict
from skill_health.router.instrument.planted import (
    ALWAYS_NONE,
    FIRST_POSITION,
    MISSING,
    NO_ANSWER,
    ONE_ANSWER,
    RECALL_ZERO,
    failures,
    quote_model,
)
from skill_health.router.records import NONE
from skill_health.router.scores.judge import Judged, ModelScores, RunScores, missing

MAX_MISSING, MAX_FAILED = 0.05, 0.20
"""More missing calls, more failures of one kind among the answers, than these shares are too many."""
SAME, SILENT = 0.90, 0.95
"""From these shares on an answer counts as always the same, an abstention as what always happens."""
PROMPTS, CALLS, FOR_ZERO = 5, 10, 10
"""A pattern needs so many prompts and calls; a recall of exactly 0 so many prompts."""


def judge_finished(sheet: RunScores, planted: Iterable[ModelVerdict] = ()) -> tuple[ModelVerdict, ...]:
    """The verdict on each model of a run, in the manifest's order.

    `planted` are the verdicts from before the run. Where all labels name one and the same skill, a model that never
    chooses it may be right about its description: if it found the planted skill, that is a note.
    """
    works = {verdict.model for verdict in planted if verdict.trusted}
    return tuple(_verdict(sheet, column, column.model.spec in works) for column in sheet.columns)


def _verdict(sheet: RunScores, column: ModelScores, works: bool) -> ModelVerdict:
    planned = column.planned(sheet.facts.prompts.values())
    answered = len(column.scored)
    spec = column.model.spec
    absent = missing(column, len(sheet.facts.prompts))
    lost = sum(absent.values())
    why = ", ".join(f"{status} {count}" for status, count in absent.items())
    if not answered and set(absent) <= {"dry_run"}:
        return ModelVerdict(
            spec, planned, 0, False, (InstrumentFinding(NO_ANSWER, "nothing was asked", 0, planned, "note"),)
        )
    findings = []
    if planned and lost > MAX_MISSING * planned:
        findings.append(
            InstrumentFinding(MISSING, f"{lost} of {planned} planned calls have no answer ({why})", lost, planned)
        )
    findings += failures([row.result for row in column.scored], MAX_FAILED, CALLS)
    names = sheet.facts.shown
    rows = [row for row in column.tested() if row.picked is not None and row.prompt.target in names]
    untested = []
    if _prompts(rows) < PROMPTS:
        untested.append(f"patterns of the answers: only {_prompts(rows)} prompts that expect a listed skill have one")
    else:
        targets = {row.prompt.target for row in rows}
        level = "note" if works and len(targets) == 1 else "fail"
        same = _one_answer(rows, len(targets))
        found = _silent(rows) or same or _zero(rows)
        findings += [_at(each, level) for each in found]
        findings += [] if found else _first(rows, len(names))
    return ModelVerdict(spec, planned, answered, answered > 0, tuple(findings), tuple(untested))


def _at(finding: InstrumentFinding, level: str) -> InstrumentFinding:
    if level == "fail":
        return finding
    text = f"{finding.text}; the planted skill was found, so look at the description"
    return InstrumentFinding(finding.key, text, finding.hits, finding.n, "note")


def _silent(rows: Sequence[Judged]) -> list[InstrumentFinding]:
    hits = sum(row.picked == NONE for row in rows)
    if hits < SILENT * len(rows):
        return []
    return [
        InstrumentFinding(
            ALWAYS_NONE, f"abstained in {hits} of {len(rows)} calls whose prompt expects a skill", hits, len(rows)
        )
    ]


def _zero(rows: Sequence[Judged]) -> list[InstrumentFinding]:
    """Never right; where mostly an acceptable skill came first, the choice is sound and the labels are strict."""
    accepted = sum(row.accepted for row in rows)
    if _prompts(rows) < FOR_ZERO or any(row.right for row in rows) or 2 * accepted >= len(rows):
        return []
    text = f"chose the expected skill in none of {len(rows)} calls: recall is exactly 0"
    return [InstrumentFinding(RECALL_ZERO, text, 0, len(rows))]


def _one_answer(rows: Sequence[Judged], targets: int) -> list[InstrumentFinding]:
    """The same skill nearly always, also where another one is right: a frequent label alone is no such pattern."""
    picks = Counter(row.picked for row in rows if row.picked is not None)
    name, hits = min(picks.items(), key=lambda pair: (-pair[1], pair[0]))
    wrong = [row for row in rows if name != row.prompt.target and name not in row.prompt.acceptable]
    given = sum(row.picked == name for row in wrong)
    if targets < 2 or hits < SAME * len(rows) or _prompts(wrong) < PROMPTS or given < SAME * len(wrong):
        return []
    text = f"gave the same answer, {quote_model(name)}, in {hits} of {len(rows)} calls with {targets} different right answers"
    return [InstrumentFinding(ONE_ANSWER, text, hits, len(rows))]


def _first(rows: Sequence[Judged], skills: int) -> list[InstrumentFinding]:
    """The first skill of the listing nearly always, though the right one stands elsewhere."""
    elsewhere = [row for row in rows if row.fired and (row.result.target_position or 1) > 1]
    hits = sum(row.result.picked_position == 1 and not row.accepted for row in elsewhere)
    if skills < 3 or _prompts(elsewhere) < PROMPTS or len(elsewhere) < CALLS or hits < SAME * len(elsewhere):
        return []
    text = (
        f"chose the skill that is listed first in {hits} of {len(elsewhere)} calls whose right skill stands elsewhere"
    )
    return [InstrumentFinding(FIRST_POSITION, text, hits, len(elsewhere))]


def _prompts(rows: Iterable[Judged]) -> int:
    return len({row.prompt.prompt_id for row in rows})
