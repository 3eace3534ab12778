"""The answers to the four questions about the whole collection: a grade, a sentence with figures, the next command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from skill_health.config.settings import Config
from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.effect_report import EffectReport
from skill_health.documents.next_steps import NextStep
from skill_health.documents.router_history import ModelRouting
from skill_health.documents.skill_grades import SkillGrade, count_grades, grade_all, grade_word
from skill_health.lint.report import LintReport
from skill_health.lint.report import judge_report as gate
from skill_health.page.figures import score_text
from skill_health.page.model import QUESTIONS, SkillVerdict
from skill_health.page.verdict.composing import composing
from skill_health.page.verdict.verdicts import ASK_AGAIN, PRELIMINARY, SO_FAR, Standing, answers_of, points, standing
from skill_health.rules._api import Severity
from skill_health.stats.estimates import Estimate
from skill_health.status.next_steps import CommandBuilder, grouped
from skill_health.status.render import CollectionStatus
from skill_health.text.numbers import count, with_interval

_GAPS: Mapping[int, tuple[str, ...]] = {
    1: ("fix first",),
    2: ("not found", "routing not measured", "routing out of date", "no prompts"),
    3: ("harmful", "effect not measured", "effect out of date", "effect not testable", "no tasks"),
}


def skills(n: int) -> str:
    """So many skills, in words."""
    return count(n, "skill")


def answer(
    said: SkillVerdict, status: CollectionStatus, place: CommandBuilder | None = None, weak: bool = False
) -> SkillVerdict:
    """The answer to a question, with the first step that is due for it; `place` says whom commands ask.

    A `weak` answer is preliminary.
    """
    said = replace(said, preliminary=weak)
    step = _first(status, said.question, place or status.place)
    if step is None:
        return said
    return replace(said, advice=SO_FAR if step.gap == "harmful" and weak else step.advice, command=step.command)


def _first(status: CollectionStatus, question: int, place: CommandBuilder) -> NextStep | None:
    every = [step for step, _ in grouped(status.records, place)]
    return next((step for gap in _GAPS[question] for step in every if step.gap == gap), None)


def effect(status: CollectionStatus) -> SkillVerdict:
    """The answer to the third question. Pure."""
    lines = status.effects.lines if status.effects else ()
    real = [each for each in lines if not each.simulated]
    if not real:
        why = "the runs are simulated and say nothing of any model" if lines else "no agent was run"
        return answer(SkillVerdict(SkillGrade.NOT_MEASURED, "", 3, why), status)
    asked = [each for each in status.records if each.effect.state != "fix first"]
    told = [answers_of(each)[2] for each in asked]
    known = [each for each in told if each.detail]
    counts = Counter(each.detail for each in known)
    parts = [f"{n} {word}" for word, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    left = len(asked) - len(known)
    parts += [f"{left} not measured"] * (left > 0)
    whole = [each for each in (status.effects.of(None) if status.effects else ()) if not each.simulated]
    reason = "; ".join([f"of {skills(len(asked))} {', '.join(parts)}", *_whole(whole, real)])
    latest = max(real, key=lambda each: each.time)
    grade, detail = _effect_grade(known, len(asked), whole, real)
    weak = detail.startswith(PRELIMINARY)
    place = replace(status.place, agent=latest.model)
    return answer(SkillVerdict(grade, detail, 3, reason), status, place, weak)


def _effect_grade(
    known: Sequence[SkillVerdict], asked: int, whole: Sequence[ModelEffect], lines: Sequence[ModelEffect]
) -> tuple[SkillGrade, str]:
    """The grade of the collection, and what it rests on in a word or two. It passes where all of its skills do."""
    # A collection that does harm holds a skill that does, even where no single one has enough tasks to show it.
    current = [each for each in whole if not _changed(each, lines)]
    harm = {grade_word(each.verdict, bool(each.preliminary)) for each in current if each.verdict == "harmful"}
    grades = Counter(each.grade for each in known)
    if grades[SkillGrade.FAIL] or SkillGrade.FAIL in harm:
        return SkillGrade.FAIL, "harmful"
    if harm or any(each.effect == "harmful" for each in known):
        return SkillGrade.NEEDS_WORK, f"{PRELIMINARY}harmful"
    if asked and grades[SkillGrade.PASSING] == asked:
        return SkillGrade.PASSING, ""
    measured = grades[SkillGrade.PASSING] + grades[SkillGrade.NEEDS_WORK]
    if not measured:
        return SkillGrade.NOT_MEASURED, ""
    weak = any(each.preliminary for each in known)
    return SkillGrade.NEEDS_WORK, f"{PRELIMINARY}helps" if weak and measured == asked else "partly known"


def _whole(whole: Sequence[ModelEffect], lines: Sequence[ModelEffect]) -> Iterator[str]:
    """What is said of the whole collection: the latest in full, and who says something else."""
    for each in whole[:1]:
        changed = _changed(each, lines)
        marks = [
            *(f"biased: {why}" for why in each.biased),
            *([f"{skills(changed)} changed since"] if changed else []),
            *([f"preliminary ({', '.join(each.preliminary)})"] if each.preliminary else []),
        ]
        said = "".join(f", {mark}" for mark in marks)
        yield f"the whole collection: {each.verdict}, {points(each.delta, each.delta.n)} ({each.model}){said}"
    for each in whole[1:]:
        if each.verdict != whole[0].verdict:
            mark = ", preliminary" if each.preliminary else ""
            yield f"{each.model} says {each.verdict}, {points(each.delta, each.delta.n)}{mark}"


def _changed(each: ModelEffect, lines: Sequence[ModelEffect]) -> int:
    return sum(line.model == each.model and line.changed is True for line in lines)


_STANDINGS: Mapping[SkillGrade, Mapping[Standing, str]] = {
    SkillGrade.FAIL: {"lost": "most requests lost"},
    SkillGrade.NEEDS_WORK: {"few": "too few prompts to say"},
    SkillGrade.NOT_MEASURED: {
        "changed": "changed since",
        "untrusted": "asked in a run that failed its check",
        "none": "not asked for",
    },
    SkillGrade.PASSING: {"found": ""},
}


def _count_standings(counts: Counter[Standing]) -> Iterator[str]:
    """So many skills of each grade and why: "1 fails (most requests lost)", "3 not measured (2 changed since, …)"."""
    for grade, reasons in _STANDINGS.items():
        n = sum(counts[each] for each in reasons)
        told = {text: counts[each] for each, text in reasons.items() if text and counts[each]}
        why = ", ".join(text if own == n else f"{own:,} {text}" for text, own in told.items())
        if n:
            yield f"{grade.predicate(n)} ({why})" if why else grade.predicate(n)


def routing(status: CollectionStatus) -> SkillVerdict:
    """The answer to the second question, by the best model that was really asked. Pure."""
    runs = [each for each in (status.routed.models if status.routed else ()) if each.top1 is not None]
    kinds = {row.model: row.local for each in status.records for row in each.routing.models}
    real = [each for each in runs if not each.simulated and kinds.get(each.model) is False]
    if not real:
        command = replace(status.place, model="PROVIDER:MODEL").router()
        return SkillVerdict(SkillGrade.NOT_MEASURED, "", 2, _unasked(runs, kinds), "ask a model:", command)
    best = next((each for each in real if each.trusted is not False), real[0])
    # A skill that fails the first question, or that hosts do not list, cannot be expected to be found.
    asked = [each for each in status.records if each.health.state != "failed" and each.routing.state != "not listed"]
    counts = Counter(standing(each) for each in asked)
    told = ", ".join(_count_standings(counts))
    reason = f"{_best(best, len(real))}; of {skills(len(asked))} {told or 'none can be asked for'}{_marks(best)}"
    place = replace(status.place, model=best.model)
    grade, detail = _routing_grade(best, counts, len(asked))
    found = answer(SkillVerdict(grade, detail, 2, reason), status, place)
    again = (
        (counts["untrusted"], ASK_AGAIN["untrusted"]),
        (counts["few"], "label more requests for each skill, then"),
        (best.selection != "all", "ask all requests:"),
    )
    advice = next((text for n, text in again if n), "")
    if found.command or not advice:
        return found
    return replace(found, advice=advice, command=place.router())


def _routing_grade(best: ModelRouting, counts: Counter[Standing], asked: int) -> tuple[SkillGrade, str]:
    """The grade of the collection, and what it rests on. It passes where all of its skills do, by all prompts."""
    if counts["lost"]:
        return SkillGrade.FAIL, ""
    if best.trusted is False:
        return SkillGrade.NOT_MEASURED, "untrusted"
    if asked and counts["changed"] == asked:
        return SkillGrade.NOT_MEASURED, "out of date"
    if asked and counts["found"] == asked and best.selection == "all":
        return SkillGrade.PASSING, ""
    measured = counts["found"] + counts["few"]
    return (SkillGrade.NEEDS_WORK, "partly known") if measured else (SkillGrade.NOT_MEASURED, "unclear")


def _best(run: ModelRouting, models: int) -> str:
    lead = f"best of {models} models {run.model}" if models > 1 else run.model
    return f"{lead}: right skill for {_top1(run)}"


def _top1(run: ModelRouting) -> str:
    return f"{with_interval(Estimate(run.top1, run.low, run.high), unit=' %')} of {run.top1_n} call{'s' * (run.top1_n != 1)}"


def _unasked(runs: Sequence[ModelRouting], kinds: dict[str, bool]) -> str:
    counted = next((each for each in runs if kinds.get(each.model) and not each.simulated), None)
    if counted:
        return f"no model was asked; by word counts alone, {_best(counted, 1)}{_marks(counted)}"
    real = next((each for each in runs if not each.simulated), None)
    if real:
        return f"{_best(real, 1)}{_marks(real)}; no report of that run is here to say what was asked, and of whom"
    return "no model was asked: the runs are simulated" if runs else "no model was asked"


def _marks(run: ModelRouting) -> str:
    changed = len(run.changed or ())
    marks = (
        ("; the instrument check failed", run.trusted is False),
        ("; some prompts only", run.selection != "all"),
        (f"; {changed} description{'s' * (changed != 1)} changed since", changed > 0),
    )
    return "".join(mark for mark, there in marks if there)


def answer_questions(
    status: CollectionStatus,
    report: LintReport,
    config: Config,
    effects: Sequence[EffectReport],
) -> dict[int, SkillVerdict]:
    """The answer to each question, by its number. Pure.

    `report` is the scored lint run, `effects` the reports of the benchmark.
    """
    if not status.records:
        return {
            number: SkillVerdict(SkillGrade.NOT_MEASURED, "", number, "there is no skill to judge")
            for number in QUESTIONS
        }
    return {
        1: _gates(status, report, config),
        2: routing(status),
        3: effect(status),
        4: composing(status, effects),
    }


def _gates(status: CollectionStatus, report: LintReport, config: Config) -> SkillVerdict:
    grades = [each.health.grade for each in status.records]
    counts = ", ".join(count(report.number(each), each.value) for each in Severity)
    mean = report.scores.corpus.mean if report.scores else None
    mark = "" if mean is None else f", mean score {score_text(mean)}"
    reason = f"of {skills(len(status.records))} {count_grades(grades)}{mark}; {counts}"
    grade = grade_all(grades)
    command = f"skill-health lint{status.place.words(*(path for path in status.place.paths if path != '.'))}"
    if grade is not SkillGrade.FAIL and gate(report, config.fail_on, config.fail_under):
        low = mean is not None and mean < config.fail_under
        why = f"the collection scores below {config.fail_under:g}" if low else "findings beside the skills fail it"
        return SkillVerdict(SkillGrade.FAIL, "", 1, f"{reason}; {why}", "see what is wrong:", command)
    if config.fail_on == "never":
        reason = f"{reason}; no finding can fail it (fail-on: never)"
    if grade in (SkillGrade.FAIL, SkillGrade.NEEDS_WORK):
        return SkillVerdict(grade, "", 1, reason, "see what to fix:", command)
    return answer(SkillVerdict(grade, "", 1, reason), status)
