"""The cells of the joined record in a few characters: health, routing, effect, and what the marks mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skill_health.core.estimates import Estimate
from skill_health.effect_history import Effects, ModelEffect
from skill_health.record_next import CommandBuilder
from skill_health.record_routing import RoutedSkills
from skill_health.router_history import ModelRouting
from skill_health.skill_record import SkillEffects, SkillHealth, SkillRecord, SkillRouting

HEAD = ("skill", "health", "recall %", "effect, points")
OLD, SIMULATED, LOCAL, LOOK = "*", "~", "^", "!"
MARKS = (
    f"health: the score, {LOOK} where there is a reason to look. recall: of the requests that are for the skill, by the best "
    "model, with its 95 % interval and n calls. effect: success with the skill less that without, in percentage points, "
    f"with its 95 % interval and n tasks. {OLD} the skill has changed since; {SIMULATED} simulated, no model was asked; "
    f"{LOCAL} by a router on this machine that asks no language model; {LOOK} most requests are lost."
)


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """All records of a collection, the models behind them, and what could not be read."""

    records: tuple[SkillRecord, ...]
    routed: RoutedSkills | None
    effects: Effects | None
    place: CommandBuilder
    version: str
    profile: str
    notes: tuple[str, ...] = ()


def health_cell(health: SkillHealth) -> str:
    """The score; what fails the skill where something does."""
    if health.state == "failed":
        counts = (("error", health.errors), ("warning", health.warnings), ("info", health.infos))
        word, n = next((each for each in counts if each[1]), ("finding", 0))
        return f"{n} {word}{'s' * (n != 1)}"
    score = "–" if health.score is None else f"{health.score:.2f}"
    return f"{score} {LOOK}" if health.flags or health.warnings else score


def routing_cell(routing: SkillRouting) -> str:
    """Recall by the best model, or why there is none."""
    if routing.state == "fix first":
        return routing.state
    if not routing.models or routing.models[0].recall.value is None:
        return "no prompts" if not routing.prompts else "not measured"
    best = routing.models[0]
    marks = (
        (OLD, best.changed),
        (SIMULATED, best.run.simulated),
        (LOCAL, best.local),
        (LOOK, routing.state == "failed"),
    )
    return f"{_whole(best.recall, '')} n {best.recall.n}{_marked(marks)}"


def effect_cell(effect: SkillEffects) -> str:
    """The verdict and the difference of the latest run, or why there is none."""
    if effect.state == "fix first":
        return effect.state
    if not effect.models:
        return "no tasks" if not effect.tasks else "not measured"
    last = effect.models[0]
    marks = _marked(((OLD, last.changed), (SIMULATED, last.simulated)))
    return f"{last.verdict} {_whole(last.delta, '+')} n {last.tasks}{marks}"


def _whole(number: Estimate, sign: str) -> str:
    """A share or a difference in whole hundredths, with its interval."""
    if number.value is None:
        return "–"
    value = f"{100 * number.value:{sign}.0f}"
    if number.low is None or number.high is None:
        return f"{value} [–]"
    return f"{value} [{100 * number.low:{sign}.0f}, {100 * number.high:{sign}.0f}]"


def _marked(marks: Sequence[tuple[str, bool | None]]) -> str:
    return "".join(sign for sign, there in marks if there)


def routing_line(run: ModelRouting) -> str:
    """A model of the router as a whole."""
    known = Estimate(run.top1, run.low, run.high, run.top1_n)
    marks = [
        ("simulated", run.simulated), ("not to be trusted", run.trusted is False),
        ("some prompts only", run.selection != "all"), (f"{len(run.changed or ())} descriptions changed since", bool(run.changed)),
    ]  # fmt: skip
    said = "".join(f", {word}" for word, there in marks if there)
    return f"{run.model}: top-1 {_whole(known, '')} % of {run.top1_n} calls, {run.time[:10]}, run {run.run_id}{said}"


def effect_line(effect: ModelEffect) -> str:
    """An agent over the whole collection."""
    biased = "".join(f"; biased: {why}" for why in effect.biased)
    simulated = ", SIMULATED" if effect.simulated else ""
    preliminary = ", preliminary" if effect.preliminary else ""
    return (
        f"{effect.model}: {effect.verdict} {_whole(effect.delta, '+')} points, {effect.tasks} tasks, {effect.scored} of "
        f"{effect.trials} trials, {effect.time[:10]}, run {effect.run_id}{simulated}{preliminary}{biased}"
    )


def rows(status: CollectionStatus) -> Iterator[tuple[str, str, str, str]]:
    """One row for each skill."""
    for each in status.records:
        yield each.name, health_cell(each.health), routing_cell(each.routing), effect_cell(each.effect)


def summary(status: CollectionStatus) -> str:
    """How many skills answer each question well."""
    n = len(status.records)
    said = [
        f"{sum(part.state == 'ok' for part in parts)} of {n} {what}"
        for what, parts in (
            ("sound", [each.health for each in status.records]),
            ("with routing measured", [each.routing for each in status.records]),
            ("with an effect measured", [each.effect for each in status.records]),
        )
    ]
    return f"{n} skill{'s' * (n != 1)}, profile {status.profile}: {', '.join(said)}"
