"""The answers to the four questions about the whole collection: a tone, a sentence with figures, the next command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from skill_health.core.config import Config
from skill_health.core.estimates import Estimate
from skill_health.effect_history import Effect
from skill_health.formats._api import Report
from skill_health.lint_run import verdict as gate
from skill_health.page.composing import composing
from skill_health.page.model import Tone, Verdict
from skill_health.page.origin import Doc
from skill_health.page.verdicts import percent, points
from skill_health.record_cells import Status
from skill_health.record_next import Step, grouped
from skill_health.record_routing import SkillRouted
from skill_health.router_history import Routed
from skill_health.rules._api import Severity
from skill_health.skill_record import LOST, SkillRecord

_GAPS: Mapping[int, tuple[str, ...]] = {
    1: ("fix first",),
    2: ("not found", "routing not measured", "routing out of date", "no prompts"),
    3: ("harmful", "effect not measured", "effect out of date", "effect not testable", "no tasks"),
}


def answers(
    status: Status, report: Report, config: Config, verdicts: Mapping[str, Verdict], effects: Sequence[Doc]
) -> dict[int, Verdict]:
    """The answer to each question, by its number. Pure.

    `report` is the scored lint run, `verdicts` are by path, `effects` the reports of the benchmark.
    """
    every = list(verdicts.values())
    return {
        1: _gates(status, report, config),
        2: _routing(status, every),
        3: _effect(status, every),
        4: composing(status, effects),
    }


def _gates(status: Status, report: Report, config: Config) -> Verdict:
    n = len(status.records)
    failed = sum(each.health.state == "failed" for each in status.records)
    counts = ", ".join(f"{report.number(each)} {each.value}{'s' * (report.number(each) != 1)}" for each in Severity)
    mean = report.scores.corpus.mean if report.scores else None
    score = "" if mean is None else f", mean score {mean:.2f}"
    reason = f"{n - failed} of {_skills(n)} pass{score}; {counts}"
    if failed:
        return _answer("no", "bad", 1, reason, status)
    if gate(report, config.fail_on, config.fail_under):
        low = mean is not None and mean < config.fail_under
        why = f"the collection scores below {config.fail_under:g}" if low else "findings beside the skills fail it"
        command = f"skill-health lint{status.place.words(*(path for path in status.place.paths if path != '.'))}"
        return Verdict("no", "bad", 1, f"{reason}; {why}", "see what is wrong:", command)
    return _answer("yes", "good", 1, reason, status)


def _routing(status: Status, verdicts: Sequence[Verdict]) -> Verdict:
    runs = status.routed.models if status.routed else ()
    rows = [row for each in status.records for row in each.routing.models]
    local = {row.run.model for row in rows if row.local}
    real = [each for each in runs if not each.simulated and each.model not in local and each.top1 is not None]
    if not real:
        found_none = _answer(*_unasked(runs, local), status)
        ask = f"{status.place.router()} --models PROVIDER:MODEL"
        return found_none if found_none.command else replace(found_none, advice="ask a model:", command=ask)
    best = next((each for each in real if each.trusted is not False), real[0])
    # A skill that fails the first question, or that hosts do not list, cannot be expected to be found.
    asked = [each for each in status.records if each.routing.state not in ("fix first", "not listed")]
    found = sum(any(row.recall.low is not None and row.recall.low >= LOST for row in _sound(each)) for each in asked)
    lost = sum(each.word == "not found" for each in verdicts)
    reason = f"{_top1(best)}; of {_skills(len(asked))} {found} certainly found, {lost} not found{_marks(best)}"
    if lost:
        return _answer("no", "bad", 2, reason, status)
    if best.trusted is False:
        return _answer("unclear", "unknown", 2, f"the instrument check failed; {reason}", status)
    if asked and found == len(asked):
        return _answer("yes", "good", 2, reason, status)
    return _answer("partly known", "warn", 2, reason, status)


def _sound(record: SkillRecord) -> list[SkillRouted]:
    """What models say of a skill as it is now."""
    every = [each for each in record.routing.models if not each.local and not each.changed]
    return [each for each in every if not each.run.simulated and each.run.trusted is not False]


def _unasked(runs: Sequence[Routed], local: set[str]) -> tuple[str, Tone, int, str]:
    counted = next((each for each in runs if each.model in local and each.top1 is not None), None)
    if counted:
        return "not known", "unknown", 2, f"no model was asked; by word counts alone, {_top1(counted)}{_marks(counted)}"
    if runs:
        return "not known", "unknown", 2, "no model was asked: the runs are simulated"
    return "not known", "unknown", 2, "no model was asked"


def _effect(status: Status, verdicts: Sequence[Verdict]) -> Verdict:
    lines = status.effects.lines if status.effects else ()
    if not any(not each.simulated for each in lines):
        why = "the runs are simulated and say nothing of any model" if lines else "no agent was run"
        return _answer("not known", "unknown", 3, why, status)
    every = Counter(each.word for each in verdicts if each.question == 3)
    words = {each.word for each in verdicts if each.question == 3 and each.tone != "unknown"}
    asked = sum(each.effect.state != "fix first" for each in status.records)
    counts = ", ".join(f"{n} {word}" for word, n in sorted(every.items())) or "none"
    whole = [each for each in (status.effects.of(None) if status.effects else ()) if not each.simulated]
    parts = [
        f"verdicts on {_skills(asked)}: {counts}",
        *(f"the whole collection: {_whole(each, lines)}" for each in whole[:1]),
    ]
    reason = "; ".join(parts)
    if "harmful" in words:
        return _answer("no", "bad", 3, reason, status)
    if words == {"helps"} and every["helps"] == asked:
        return _answer("yes", "good", 3, reason, status)
    return _answer("partly known" if words else "not known", "warn" if words else "unknown", 3, reason, status)


def _whole(each: Effect, lines: Sequence[Effect]) -> str:
    changed = sum(line.model == each.model and line.changed is True for line in lines)
    marks = [
        *(f"biased: {why}" for why in each.biased),
        *([f"preliminary ({', '.join(each.preliminary)})"] if each.preliminary else []),
    ]
    marks += [f"{_skills(changed)} changed since"] * bool(changed)
    said = "".join(f", {mark}" for mark in marks)
    return f"{each.verdict}, {points(each.delta)} points ({each.model}){said}"


def _top1(run: Routed) -> str:
    share = percent(Estimate(run.top1, run.low, run.high, run.n))
    return f"{run.model} finds the right skill for {share} of {run.n} calls"


def _marks(run: Routed) -> str:
    changed = len(run.changed or ())
    marks = (
        ("; some prompts only", run.selection != "all"),
        (f"; {changed} description{'s' * (changed != 1)} changed since", changed > 0),
    )
    return "".join(mark for mark, there in marks if there)


def _skills(n: int) -> str:
    return f"{n} skill{'s' * (n != 1)}"


def _answer(word: str, tone: Tone, question: int, reason: str, status: Status) -> Verdict:
    step = _first(status, question)
    return Verdict(word, tone, question, reason, step.advice if step else "", step.command if step else "")


def _first(status: Status, question: int) -> Step | None:
    """The first step, over all skills, that the question asks for."""
    every = [step for step, _ in grouped(status.records, status.place)]
    return next((step for gap in _GAPS[question] for step in every if step.gap == gap), None)
