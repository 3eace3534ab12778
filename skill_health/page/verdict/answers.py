"""The answers to the four questions about the whole collection: a tone, a sentence with figures, the next command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from skill_health.config.settings import Config
from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.effect_report import EffectReport, VerdictWord
from skill_health.documents.next_steps import NextStep
from skill_health.documents.router_history import ModelRouting
from skill_health.lint.report import LintReport
from skill_health.lint.report import judge_report as gate
from skill_health.page.figures import score_text
from skill_health.page.model import QUESTIONS, SkillVerdict, Tone
from skill_health.page.verdict.composing import composing
from skill_health.page.verdict.verdicts import ASK_AGAIN, OUTDATED, SO_FAR, Standing, hedged, points, standing
from skill_health.rules._api import Severity
from skill_health.stats.estimates import Estimate
from skill_health.status.next_steps import CommandBuilder, grouped
from skill_health.status.records import LOST
from skill_health.status.render import CollectionStatus
from skill_health.text.numbers import with_interval

_GAPS: Mapping[int, tuple[str, ...]] = {
    1: ("fix first",),
    2: ("not found", "routing not measured", "routing out of date", "no prompts"),
    3: ("harmful", "effect not measured", "effect out of date", "effect not testable", "no tasks"),
}


def skills(n: int) -> str:
    """So many skills, in words."""
    return f"{n} skill{'s' * (n != 1)}"


def answer(
    said: SkillVerdict, status: CollectionStatus, place: CommandBuilder | None = None, weak: bool = False
) -> SkillVerdict:
    """The answer to a question, with the first step that is due for it; `place` says whom commands ask.

    A `weak` answer is preliminary: it says so.
    """
    word, tone = hedged(said.word, said.tone, weak)
    said = replace(said, word=word, tone=tone, preliminary=weak)
    step = _first(status, said.question, place or status.place)
    if step is None:
        return said
    return replace(said, advice=SO_FAR if step.gap == "harmful" and weak else step.advice, command=step.command)


def _first(status: CollectionStatus, question: int, place: CommandBuilder) -> NextStep | None:
    every = [step for step, _ in grouped(status.records, place)]
    return next((step for gap in _GAPS[question] for step in every if step.gap == gap), None)


def effect(status: CollectionStatus, verdicts: Sequence[SkillVerdict]) -> SkillVerdict:
    """The answer to the third question. Pure."""
    lines = status.effects.lines if status.effects else ()
    real = [each for each in lines if not each.simulated]
    if not real:
        why = "the runs are simulated and say nothing of any model" if lines else "no agent was run"
        return answer(SkillVerdict("not known", "unknown", 3, why), status)
    asked = [each for each in status.records if each.effect.state != "fix first"]
    known = [each for each in verdicts if each.question == 3]
    counts = Counter(each.word for each in known)
    told = [f"{n} {word}" for word, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    left = len(asked) - len(known)
    told += [f"{left} not measured"] * (left > 0)
    whole = [each for each in (status.effects.of(None) if status.effects else ()) if not each.simulated]
    reason = "; ".join([f"of {skills(len(asked))} {', '.join(told)}", *_whole(whole, real)])
    latest = max(real, key=lambda each: each.time)
    word, tone, weak = _word(known, len(asked), whole, real)
    place = replace(status.place, agent=latest.model)
    return answer(SkillVerdict(word, tone, 3, reason), status, place, weak)


_GOOD: tuple[VerdictWord, ...] = ("helps", "cheaper")
_KNOWN: tuple[VerdictWord, ...] = (*_GOOD, "any text helps", "unexplained gain", "no evidence", "biased")


def _word(
    known: Sequence[SkillVerdict], asked: int, whole: Sequence[ModelEffect], lines: Sequence[ModelEffect]
) -> tuple[str, Tone, bool]:
    """The answer in a word, its tone, and whether it is preliminary."""
    sure: Counter[VerdictWord | None] = Counter(each.effect for each in known if not each.preliminary)
    maybe: Counter[VerdictWord | None] = Counter(each.effect for each in known if each.preliminary)
    # A collection that does harm holds a skill that does, even where no single one has enough tasks to show it.
    harm = [each for each in whole if each.verdict == "harmful" and not _changed(each, lines)]
    if sure["harmful"] or any(not each.preliminary for each in harm):
        return "no", "bad", False
    if harm or maybe["harmful"]:
        return "no", "bad", True
    likely = sum(maybe[word] for word in _GOOD)
    if asked and sum(sure[word] for word in _GOOD) + likely == asked:
        return "yes", "good", bool(likely)
    some = likely + sum(sure[word] for word in _KNOWN)
    return ("partly known", "warn", False) if some else ("not known", "unknown", False)


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


_STANDINGS: dict[Standing, str] = {
    "found": "certainly found",
    "lost": "lost",
    "few": "with too few prompts to say",
    "changed": "changed since",
    "untrusted": "asked in a run that failed its check",
    "none": "not asked for",
}


def routing(status: CollectionStatus) -> SkillVerdict:
    """The answer to the second question, by the best model that was really asked. Pure."""
    runs = [each for each in (status.routed.models if status.routed else ()) if each.top1 is not None]
    kinds = {row.model: row.local for each in status.records for row in each.routing.models}
    real = [each for each in runs if not each.simulated and kinds.get(each.model) is False]
    if not real:
        command = replace(status.place, model="PROVIDER:MODEL").router()
        return SkillVerdict("not known", "unknown", 2, _unasked(runs, kinds), "ask a model:", command)
    best = next((each for each in real if each.trusted is not False), real[0])
    # A skill that fails the first question, or that hosts do not list, cannot be expected to be found.
    asked = [each for each in status.records if each.health.state != "failed" and each.routing.state != "not listed"]
    counts = Counter(standing(each) for each in asked)
    told = ", ".join(f"{counts[key]} {text}" for key, text in _STANDINGS.items() if counts[key])
    reason = f"{_best(best, len(real))}; of {skills(len(asked))} {told or 'none can be asked for'}{_marks(best)}"
    place = replace(status.place, model=best.model)
    word, tone = _routing_word(best, counts, len(asked))
    found = answer(SkillVerdict(word, tone, 2, reason), status, place)
    again = (
        (counts["untrusted"], ASK_AGAIN["untrusted"]),
        (counts["few"], "label more requests for each skill, then"),
        (best.selection != "all", "ask all requests:"),
    )
    advice = next((text for n, text in again if n), "")
    if found.command or not advice:
        return found
    return replace(found, advice=advice, command=place.router())


def _routing_word(best: ModelRouting, counts: Counter[Standing], asked: int) -> tuple[str, Tone]:
    if counts["lost"]:
        return "no", "bad"
    if best.trusted is False:
        return "unclear", "unknown"
    if asked and counts["changed"] == asked:
        return f"{OUTDATED}unclear", "unknown"
    if asked and counts["found"] == asked and best.selection == "all":
        return "yes", "good"
    known = counts["found"] or (counts["few"] and best.low is not None and best.low >= LOST)
    return ("partly known", "warn") if known else ("unclear", "unknown")


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
    verdicts: Mapping[str, SkillVerdict],
    effects: Sequence[EffectReport],
) -> dict[int, SkillVerdict]:
    """The answer to each question, by its number. Pure.

    `report` is the scored lint run, `verdicts` are by path, `effects` the reports of the benchmark.
    """
    if not status.records:
        return {
            number: SkillVerdict("no skills", "unknown", number, "there is no skill to judge") for number in QUESTIONS
        }
    return {
        1: _gates(status, report, config),
        2: routing(status),
        3: effect(status, list(verdicts.values())),
        4: composing(status, effects),
    }


def _gates(status: CollectionStatus, report: LintReport, config: Config) -> SkillVerdict:
    n = len(status.records)
    failed = sum(each.health.state == "failed" for each in status.records)
    counts = ", ".join(f"{report.number(each)} {each.value}{'s' * (report.number(each) != 1)}" for each in Severity)
    mean = report.scores.corpus.mean if report.scores else None
    mark = "" if mean is None else f", mean score {score_text(mean)}"
    reason = f"{n - failed} of {skills(n)} pass{'es' * (n == 1)}{mark}; {counts}"
    if failed:
        return answer(SkillVerdict("no", "bad", 1, reason), status)
    if gate(report, config.fail_on, config.fail_under):
        low = mean is not None and mean < config.fail_under
        why = f"the collection scores below {config.fail_under:g}" if low else "findings beside the skills fail it"
        command = f"skill-health lint{status.place.words(*(path for path in status.place.paths if path != '.'))}"
        return SkillVerdict("no", "bad", 1, f"{reason}; {why}", "see what is wrong:", command)
    if config.fail_on == "never":
        tone: Tone = "warn" if report.number(Severity.ERROR) else "good"
        return answer(SkillVerdict("yes", tone, 1, f"{reason}; no finding can fail it (fail-on: never)"), status)
    return answer(SkillVerdict("yes", "good", 1, reason), status)
