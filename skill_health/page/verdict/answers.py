"""The answers to the four questions about the whole collection: a tone, a sentence with figures, the next command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.config.settings import Config
from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.next_steps import NextStep
from skill_health.documents.router_history import ModelRouting
from skill_health.lint.report import LintReport
from skill_health.lint.report import judge_report as gate
from skill_health.page.figures import score
from skill_health.page.model import QUESTIONS, JsonNode, SkillVerdict, Tone
from skill_health.page.verdict.ranking import naming
from skill_health.page.verdict.verdicts import (
    ASK_AGAIN,
    OUTDATED,
    PRELIMINARY,
    SO_FAR,
    Standing,
    hedged,
    percent,
    points,
    standing,
)
from skill_health.rules._api import Severity
from skill_health.stats.estimates import Estimate
from skill_health.status.next_steps import grouped
from skill_health.status.records import LOST
from skill_health.status.render import CollectionStatus

_GAPS: Mapping[int, tuple[str, ...]] = {
    1: ("fix first",),
    2: ("not found", "routing not measured", "routing out of date", "no prompts"),
    3: ("harmful", "effect not measured", "effect out of date", "effect not testable", "no tasks"),
}


def skills(n: int) -> str:
    """So many skills, in words."""
    return f"{n} skill{'s' * (n != 1)}"


def answer(
    word: str, tone: Tone, question: int, reason: str, status: CollectionStatus, model: str = ""
) -> SkillVerdict:
    """The answer to a question, with the first step that is due for it; `model` is one that it was asked of before."""
    step = _first(status, question)
    if step is None:
        return SkillVerdict(word, tone, question, reason)
    advice = SO_FAR if step.gap == "harmful" and word.startswith(PRELIMINARY) else step.advice
    return SkillVerdict(word, tone, question, reason, advice, naming(step.command, model))


def _first(status: CollectionStatus, question: int) -> NextStep | None:
    every = [step for step, _ in grouped(status.records, status.place)]
    return next((step for gap in _GAPS[question] for step in every if step.gap == gap), None)


def effect(status: CollectionStatus, verdicts: Sequence[SkillVerdict]) -> SkillVerdict:
    """The answer to the third question. Pure."""
    lines = status.effects.lines if status.effects else ()
    real = [each for each in lines if not each.simulated]
    if not real:
        why = "the runs are simulated and say nothing of any model" if lines else "no agent was run"
        return answer("not known", "unknown", 3, why, status)
    asked = [each for each in status.records if each.effect.state != "fix first"]
    counts = Counter(each.word for each in verdicts if each.question == 3)
    told = [f"{n} {word}" for word, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    left = len(asked) - sum(counts.values())
    told += [f"{left} not measured"] * (left > 0)
    whole = [each for each in (status.effects.of(None) if status.effects else ()) if not each.simulated]
    reason = "; ".join([f"of {skills(len(asked))} {', '.join(told)}", *_whole(whole, real)])
    latest = max(real, key=lambda each: each.time)
    return answer(*_word(counts, len(asked), whole, real), 3, reason, status, latest.model)


def _word(
    counts: Counter[str], asked: int, whole: Sequence[ModelEffect], lines: Sequence[ModelEffect]
) -> tuple[str, Tone]:
    # A collection that does harm holds a skill that does, even where no single one has enough tasks to show it.
    harm = [each for each in whole if each.verdict == "harmful" and not _changed(each, lines)]
    if counts["harmful"] or any(not each.preliminary for each in harm):
        return "no", "bad"
    if harm or counts[hedged("harmful", "bad", True)[0]]:
        return hedged("no", "bad", True)
    if asked and counts["helps"] == asked:
        return "yes", "good"
    maybe = hedged("helps", "good", True)[0]
    if asked and counts["helps"] + counts[maybe] == asked:
        return hedged("yes", "good", True)
    known = counts["helps"] + counts[maybe] + counts["no evidence"] + counts["biased"]
    return ("partly known", "warn") if known else ("not known", "unknown")


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
        yield f"the whole collection: {each.verdict}, {points(each.delta)} ({each.model}){said}"
    for each in whole[1:]:
        if each.verdict != whole[0].verdict:
            mark = ", preliminary" if each.preliminary else ""
            yield f"{each.model} says {each.verdict}, {points(each.delta)}{mark}"


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
        command = naming(status.place.router(), "") + " --models PROVIDER:MODEL"
        return SkillVerdict("not known", "unknown", 2, _unasked(runs, kinds), "ask a model:", command)
    best = next((each for each in real if each.trusted is not False), real[0])
    # A skill that fails the first question, or that hosts do not list, cannot be expected to be found.
    asked = [each for each in status.records if each.health.state != "failed" and each.routing.state != "not listed"]
    counts = Counter(standing(each) for each in asked)
    told = ", ".join(f"{counts[key]} {text}" for key, text in _STANDINGS.items() if counts[key])
    reason = f"{_best(best, len(real))}; of {skills(len(asked))} {told or 'none can be asked for'}{_marks(best)}"
    word, tone = _routing_word(best, counts, len(asked))
    found = answer(word, tone, 2, reason, status, best.model)
    again = (
        (counts["untrusted"], ASK_AGAIN["untrusted"]),
        (counts["few"], "label more requests for each skill, then"),
        (best.selection != "all", "ask all requests:"),
    )
    advice = next((text for n, text in again if n), "")
    if found.command or not advice:
        return found
    return SkillVerdict(word, tone, 2, reason, advice, naming(status.place.router(), best.model))


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
    return f"{percent(Estimate(run.top1, run.low, run.high, run.top1_n))} of {run.top1_n} call{'s' * (run.top1_n != 1)}"


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


ARMS: Mapping[str, str] = {
    "target_plus_one": "with one more skill",
    "target_plus_unrelated": "with unrelated skills",
    "full": "with all skills",
}
"""The arms that stage more than the target skill, each compared with that alone."""
_LEVEL = 0.05


def composing(status: CollectionStatus, effects: Sequence[JsonNode]) -> SkillVerdict:
    """The answer to the fourth question, by the latest report of each agent and model that no script stood in for."""
    latest = list(_models(effects))
    found = [(model, each, margin) for model, margin in latest if not model["biased"] for each in _contrasts(model)]
    command = _command(status, next((model["model"] for model, _ in latest), ""))
    if not found:
        why = _why_not(status, effects, [model for model, _ in latest if model["biased"]])
        return SkillVerdict("not known", "unknown", 4, why, "run agents with one skill and with several:", command)
    said = [(_composing_word(contrast, margin), contrast, model) for model, contrast, margin in found]
    # What decides is told first, and each model is named once.
    said.sort(key=lambda each: each[0] != "worse")
    told: dict[str, list[str]] = {}
    for word, contrast, model in said:
        told.setdefault(model["model"], []).append(_sentence(contrast, word))
    marks: dict[str, list[str]] = {}
    for name, model in {model["model"]: model for model, _, _ in found}.items():
        for mark in _composing_marks(model, status):
            marks.setdefault(mark, []).append(name)
    reason = "; ".join(
        [
            *(f"{name}: {', '.join(each)}" for name, each in told.items()),
            *(f"{mark} ({', '.join(names)})" for mark, names in marks.items()),
        ]
    )
    words = {word for word, _, _ in said}
    weak = {
        model["model"] for _, _, model in said if model["verdict"]["preliminary"] or _composing_changed(model, status)
    }
    worse = [model["model"] for word, _, model in said if word == "worse"]
    if worse:
        doubtful = weak.issuperset(worse)
        advice = "add tasks to be sure, then" if doubtful else "find out which skills are in each other's way, then"
        return SkillVerdict(*hedged("no", "bad", doubtful), 4, reason, advice, command)
    if words <= {"better", "as good"}:
        word, tone = hedged("yes", "good", bool(weak))
        return SkillVerdict(word, tone, 4, reason, *(("add tasks to be sure, then", command) if weak else ("", "")))
    return SkillVerdict("not shown", "unknown", 4, reason, "add tasks, then run agents again:", command)


def _command(status: CollectionStatus, model: str) -> str:
    tasks = sorted({task for each in status.records for task in each.effect.tasks})
    return naming(status.place.effectiveness(tasks), model) if tasks else "skill-health effectiveness check TASKS"


def _why_not(status: CollectionStatus, effects: Sequence[JsonNode], biased: Sequence[Mapping[str, Any]]) -> str:
    if biased:
        return f"the results of {biased[0]['model']} are biased: {biased[0]['biased'][0]}"
    lines = status.effects.lines if status.effects else ()
    if any(model["simulated"] for each in effects for model in each.value["models"]) and all(
        each.simulated for each in lines
    ):
        return "the runs are simulated and say nothing of any model"
    if lines and not effects:
        return "the reports of the runs are not here, or cannot be read"
    return "no agent was run with further skills"


def _composing_marks(model: Mapping[str, Any], status: CollectionStatus) -> Iterator[str]:
    """What to mind of the figures of a model."""
    if model["verdict"]["preliminary"]:
        yield f"preliminary: {', '.join(model['verdict']['preliminary'])}"
    changed = _composing_changed(model, status)
    if changed:
        yield f"{changed} skill{'s' * (changed != 1)} changed since"


def _composing_changed(model: Mapping[str, Any], status: CollectionStatus) -> int:
    lines = status.effects.lines if status.effects else ()
    return sum(each.model == model["model"] and each.changed is True for each in lines)


def _models(effects: Sequence[JsonNode]) -> Iterator[tuple[Mapping[str, Any], float]]:
    """The latest entry of each model that ran with further skills, without simulated ones, and its run's margin."""
    seen = set()
    for report in effects:
        for model in report.value["models"]:
            if not model["simulated"] and model["model"] not in seen and _contrasts(model):
                seen.add(model["model"])
                yield model, report.value["margin"]


def _contrasts(model: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    every = [each for each in model["contrasts"] if each["against"] == "target" and each["arm"] in ARMS]
    return [each for each in every if each["delta"]["value"] is not None]


def _composing_word(contrast: Mapping[str, Any], margin: float) -> str:
    """What a contrast shows: a difference needs its interval and its corrected test, the absence of one its margin."""
    delta = contrast["delta"]
    low, high, p = delta["low"], delta["high"], contrast["p_adjusted"]
    significant = contrast["testable"] and p is not None and p < _LEVEL
    if low is None or high is None:
        return "unclear"
    if significant and high < 0:
        return "worse"
    if significant and low > 0:
        return "better"
    return "as good" if low > -margin else "unclear"


def _sentence(contrast: Mapping[str, Any], word: str) -> str:
    delta = contrast["delta"]
    number = Estimate(delta["value"], delta["low"], delta["high"], delta["n"])
    return f"{ARMS[contrast['arm']]} {points(number)} ({word})"


def answer_questions(
    status: CollectionStatus,
    report: LintReport,
    config: Config,
    verdicts: Mapping[str, SkillVerdict],
    effects: Sequence[JsonNode],
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
    mark = "" if mean is None else f", mean score {score(JsonNode(mean, '')).text}"
    reason = f"{n - failed} of {skills(n)} pass{'es' * (n == 1)}{mark}; {counts}"
    if failed:
        return answer("no", "bad", 1, reason, status)
    if gate(report, config.fail_on, config.fail_under):
        low = mean is not None and mean < config.fail_under
        why = f"the collection scores below {config.fail_under:g}" if low else "findings beside the skills fail it"
        command = f"skill-health lint{status.place.words(*(path for path in status.place.paths if path != '.'))}"
        return SkillVerdict("no", "bad", 1, f"{reason}; {why}", "see what is wrong:", command)
    if config.fail_on == "never":
        tone: Tone = "warn" if report.number(Severity.ERROR) else "good"
        return answer("yes", tone, 1, f"{reason}; no finding can fail it (fail-on: never)", status)
    return answer("yes", "good", 1, reason, status)
