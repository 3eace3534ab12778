"""One verdict per skill: the answer to the first question that it fails, or to the last one that is answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from skill_health.core.strict_json import escape_surrogates
from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.skill_record import SkillHealth, SkillRecord, SkillRouted, SkillRouting
from skill_health.page.figures import score_text
from skill_health.page.model import DueSkills, SkillVerdict, Tone
from skill_health.page.verdict.ranking import asking_again, effect_rank
from skill_health.status.next_steps import CommandBuilder, grouped, steps
from skill_health.status.records import LOST, lost
from skill_health.status.render import CollectionStatus
from skill_health.text.numbers import Interval, with_interval

PRELIMINARY, OUTDATED = "preliminary: ", "out of date: "
"""What stands before a word that is not to be taken as the last one."""
SO_FAR = "agents did worse with it so far: add tasks to be sure, then"
Standing = Literal["found", "lost", "few", "untrusted", "changed", "none"]
_STALE = "the skill has changed since"
_REWORDED = "its description has changed since"
ASK_AGAIN: dict[Standing, str] = {
    "few": "label more requests that it should answer, then",
    "untrusted": "see why the check failed in the report of the run, then ask again:",
}
_TONES: dict[str, Tone] = {
    "harmful": "bad", "biased": "warn", "helps": "good", "cheaper": "good", "any text helps": "warn",
    "unexplained gain": "unknown", "no evidence": "warn", "not testable": "unknown",
}  # fmt: skip


def verdict(record: SkillRecord, place: CommandBuilder) -> SkillVerdict:
    """The verdict on a skill, with the next command. Pure.

    A simulated run answers nothing. A router that counts words fails no skill, and cannot say that a model finds it.
    """
    said = _said(record)
    advice, command = _next(record, place, said)
    return replace(said, advice=advice, command=command)


def hedged(word: str, tone: Tone, preliminary: bool) -> tuple[str, Tone]:
    """A word and its tone; where it is preliminary it says so, praises nothing and condemns nothing."""
    if not preliminary:
        return word, tone
    softer: dict[Tone, Tone] = {"bad": "warn", "good": "unknown"}
    return f"{PRELIMINARY}{word}", softer.get(tone, tone)


def standing(record: SkillRecord) -> Standing:
    """What models say of how a skill is found, as it is now and by the model that tells most.

    "found" and "lost" need the whole interval on one side of LOST; "few" is neither, for too few prompts.
    """
    if record.routing.state == "failed":
        return "lost"
    known = _asked(record.routing)
    current = [each for each in known if not each.changed]
    sound = [each for each in current if each.trusted is not False]
    if sound:
        return "found" if _found(sound[0]) else "few"
    return "untrusted" if current else "changed" if known else "none"


def _next(record: SkillRecord, place: CommandBuilder, said: SkillVerdict) -> tuple[str, str]:
    asked = next((each.model for each in _asked(record.routing)), "")
    agent = next((each.model for each in record.effect.models if not each.simulated), place.agent)
    place = replace(place, model=asked, agent=agent)
    if said.advice:
        return said.advice, place.router()
    # Harm that was measured comes before what is not measured yet, and what can be run before what cannot.
    ranked = sorted(steps(record, place), key=lambda each: (each.gap != "harmful", not each.command))
    step = next(iter(ranked), None)
    if step is None:
        return "", ""
    return SO_FAR if step.gap == "harmful" and said.preliminary else step.advice, step.command


def _said(record: SkillRecord) -> SkillVerdict:
    health, routing, effect = record.health, record.routing, record.effect
    if health.state == "failed":
        return SkillVerdict("fix first", "bad", 1, findings(health))
    if routing.state == "failed":
        worst = next(each for each in routing.models if lost(each))
        return SkillVerdict("not found", "bad", 2, f"most requests for it are lost: {recall(worst)}")
    return _effect([each for each in effect.models if not each.simulated]) or _routed(record) or _sound(health)


def _effect(real: Sequence[ModelEffect]) -> SkillVerdict | None:
    """What the runs that asked a model say; the latest of those of the skill as it is now, else of what it was."""
    if not real:
        return None
    current = [each for each in real if not each.changed]
    if not current:
        said = f"{_STALE}; then {_reason(real[0], real)}"
        return SkillVerdict(f"{OUTDATED}{real[0].verdict}", "unknown", 3, said)
    each = min(current, key=lambda one: effect_rank(False, False, one.verdict, bool(one.preliminary)))
    weak = bool(each.preliminary) and each.verdict in ("harmful", "helps", "cheaper", "any text helps")
    word, tone = hedged(each.verdict, _TONES[each.verdict], weak)
    return SkillVerdict(word, tone, 3, _reason(each, current), effect=each.verdict, preliminary=weak)


def _reason(each: ModelEffect, every: Sequence[ModelEffect]) -> str:
    why = each.reason.removeprefix(f"{each.verdict}: ") if each.verdict in ("not testable", "cheaper") else ""
    marks = [*each.biased, *(f"preliminary: {reason}" for reason in each.preliminary)]
    others = [f"{other.model} says {other.verdict}" for other in every if other.verdict != each.verdict]
    return "; ".join(
        part for part in (f"{points(each.delta, each.delta.n)} with it ({each.model})", why, *marks, *others) if part
    )


def _routed(record: SkillRecord) -> SkillVerdict | None:
    routing = record.routing
    known = [each for each in routing.models if not each.simulated and each.recall.value is not None]
    if routing.state == "not listed" or not known:
        return None
    current = [each for each in known if not each.changed]
    asked = [each for each in current if not each.local]
    state = standing(record)
    if state in ("found", "few"):
        best = next(each for each in asked if each.trusted is not False)
        if state == "found":
            return SkillVerdict("found", "good", 2, f"{recall(best)}; whether it helps is not known")
        few = f"too few answers to say whether it is found: {recall(best)}"
        return SkillVerdict("unclear", "unknown", 2, few, ASK_AGAIN["few"])
    local = [each for each in current if each.local]
    if local and _found(local[0]):
        return SkillVerdict("found by word counts", "unknown", 2, f"{recall(local[0])}, which asks no model")
    if local:
        why = "what models said does not hold any more" if _asked(routing) else "no model was asked"
        return SkillVerdict("sound", "unknown", 1, f"{why}; {recall(local[0])}, which counts words")
    if current:
        failed = f"the instrument check failed: {recall(current[0])}"
        return SkillVerdict("unclear", "unknown", 2, failed, ASK_AGAIN["untrusted"])
    return SkillVerdict("unclear", "unknown", 2, f"{_REWORDED}; then {recall(known[0])}")


def _sound(health: SkillHealth) -> SkillVerdict:
    score = "" if health.score is None else f"score {score_text(health.score)}, "
    noted = [f"{n} {word}{'s' * (n != 1)}" for n, word in ((health.warnings, "warning"), (health.infos, "info")) if n]
    beside = f"{', '.join(noted)}, " if noted else ""
    return SkillVerdict("sound", "unknown", 1, f"{score}{beside}nothing else is known")


def findings(health: SkillHealth) -> str:
    """How many findings of which severity, in words."""
    counts = ((health.errors, "error"), (health.warnings, "warning"), (health.infos, "info"))
    return ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts if n)


def recall(each: SkillRouted) -> str:
    """How often a skill came first for its requests, by whom: "66.7 % [16.4, 95.3] of 3 calls (maker:model)"."""
    return f"{with_interval(each.recall, unit=' %')} of {each.recall.n} call{'s' * (each.recall.n != 1)} ({each.model})"


def points(number: Interval, n: int) -> str:
    """A difference with its interval and the tasks behind it: "+20.0 points [+10.0, +30.0] over 12 tasks"."""
    said = with_interval(number, "+.1f", unit=" points")
    return said if number.value is None else f"{said} over {n} task{'s' * (n != 1)}"


def _asked(routing: SkillRouting) -> list[SkillRouted]:
    """What models said of the skill, the best first; neither scripts nor what counts words on this machine."""
    every = [each for each in routing.models if not each.simulated and not each.local]
    return [each for each in every if each.recall.value is not None]


def _found(each: SkillRouted) -> bool:
    return each.recall.low is not None and each.recall.low >= LOST


def due_skills(status: CollectionStatus, verdicts: Mapping[str, SkillVerdict]) -> tuple[DueSkills, ...]:
    """Every step that is due, in the order of the questions; `verdicts` are by the path of SKILL.md. Pure."""
    return tuple(_due(status, verdicts))


def _due(status: CollectionStatus, verdicts: Mapping[str, SkillVerdict]) -> Iterator[DueSkills]:
    by_name = {each.name: verdicts.get(escape_surrogates(each.path)) for each in status.records}
    for step, names in grouped(status.records, asking_again(status)):
        weak = {name for name in names if (found := by_name[name]) and found.preliminary and step.gap == "harmful"}
        sure = tuple(escape_surrogates(name) for name in names if name not in weak)
        maybe = tuple(escape_surrogates(name) for name in names if name in weak)
        if sure:
            yield DueSkills(step.gap, step.advice, step.command, sure)
        if maybe:
            yield DueSkills(f"{PRELIMINARY}{step.gap}", SO_FAR, step.command, maybe)
