"""One verdict per skill, in the order of the questions; no simulation and no count of words decides one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from records_made import EFFECT, FOUND, health_of, skill_record
from records_made import figure as est

from skill_health.documents._record import NotedFigure
from skill_health.documents.effect_history import VERDICTS, ModelEffect
from skill_health.documents.skill_record import SkillHealth, SkillRecord, SkillRouted
from skill_health.page.verdict.verdicts import verdict
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.records import _benefit, _route

PLACE = CommandBuilder(("skills",))
OK, FAILED = health_of(), health_of("failed", 0.5, errors=2, warnings=1)


SURE, POOR, LOST, NONE = est(0.9, 0.7, 1.0), est(0.4, 0.2, 0.6), est(0.1, 0.0, 0.3), est(None)


def routed(recall: NotedFigure = SURE, **more: Any) -> SkillRouted:
    return replace(FOUND, recall=recall, **more)


def effect(word: str = "helps", **more: Any) -> ModelEffect:
    return replace(EFFECT, verdict=word, **{"changed": False} | more)


def record(
    routes: list[SkillRouted], effects: list[ModelEffect], health: SkillHealth = OK, hidden: bool = False
) -> SkillRecord:
    """A record with the states that the joined record gives it."""
    routing = _route(hidden, 3, routes, health)
    benefit = _benefit(("tasks/1",), effects, health, routing)
    return skill_record("plums", health, routing, benefit)


CASES: dict[str, tuple[SkillRecord, tuple[str, str, int]]] = {
    "fails lint": (record([routed()], [effect()], FAILED), ("", "bad", 1)),
    "lost": (record([routed(LOST)], [effect()]), ("lost", "bad", 2)),
    "harms": (record([routed()], [effect("harmful")]), ("harmful", "bad", 3)),
    "helps": (record([routed()], [effect()]), ("helps", "good", 3)),
    "may help": (record([], [effect(preliminary=("few",))]), ("preliminary: helps", "warn", 3)),
    "may harm": (record([], [effect("harmful", preliminary=("few",))]), ("preliminary: harmful", "warn", 3)),
    "may harm, harms by another": (
        record([], [effect("harmful", preliminary=("few",)), effect("harmful", model="b")]),
        ("harmful", "bad", 3),
    ),
    "little evidence": (
        record([], [effect("no evidence", preliminary=("few",))]),
        ("preliminary: no evidence", "warn", 3),
    ),
    "a model then and words now": (record([routed(changed=True), routed(LOST, local=True)], []), ("", "good", 1)),
    "biased": (record([routed()], [effect("biased", biased=("why",))]), ("found", "good", 2)),
    "no evidence": (record([routed()], [effect("no evidence")]), ("no evidence", "warn", 3)),
    "not testable": (record([routed()], [effect("not testable")]), ("found", "good", 2)),
    "helped once": (record([routed()], [effect(changed=True)]), ("found", "good", 2)),
    "harmed once, helps now": (record([], [effect("harmful", changed=True), effect(model="b")]), ("helps", "good", 3)),
    "helps in a simulation": (record([routed()], [effect(simulated=True)]), ("found", "good", 2)),
    "harms in a simulation": (record([], [effect("harmful", simulated=True)]), ("", "good", 1)),
    "found": (record([routed()], []), ("found", "good", 2)),
    "found at times": (record([routed(POOR)], []), ("unclear", "warn", 2)),
    "no interval": (record([routed(est(1.0))], []), ("unclear", "warn", 2)),
    "found then": (record([routed(changed=True)], []), ("", "good", 1)),
    "not trusted": (record([routed(trusted=False)], []), ("", "good", 1)),
    "found in a simulation": (record([routed(simulated=True)], []), ("", "good", 1)),
    "found by words": (record([routed(local=True)], []), ("", "good", 1)),
    "a model and words": (record([routed(LOST, local=True), routed()], []), ("found", "good", 2)),
    "no numbers": (record([routed(NONE)], []), ("", "good", 1)),
    "hidden": (record([routed(LOST)], [], hidden=True), ("", "good", 1)),
    "nothing known": (record([], []), ("", "good", 1)),
}


@pytest.mark.parametrize(("given_", "expected"), CASES.values(), ids=CASES)
def test_the_verdict(given_: SkillRecord, expected: tuple[str, str, int]) -> None:
    found = verdict(given_, PLACE)
    assert (found.detail, found.tone, found.question) == expected
    assert found.reason
    assert bool(found.command) == bool(found.advice)


ASK = "requests find"
RUN = "run agents"
RETIRE = "fix or retire it"
CHANGED = "changed since"
ROUTER, AGENTS = "skill-health router run skills", "skill-health effectiveness run tasks --agents"


@pytest.mark.parametrize(
    ("given_", "advice", "command"),
    [
        (record([], []), ASK, ROUTER),
        (record([routed(simulated=True)], []), ASK, ROUTER),
        (record([routed()], []), RUN, f"{AGENTS} AGENT:MODEL"),
        (record([routed(POOR)], []), "label more requests", f"{ROUTER} --models maker:m"),
        (record([routed(LOST)], []), "reword its description", f"{ROUTER} --models maker:m"),
        (record([routed(changed=True)], []), CHANGED, f"{ROUTER} --models maker:m"),
        (record([routed(trusted=False)], []), "why the check failed", f"{ROUTER} --models maker:m"),
        (record([routed(LOST, model="a b;c")], []), "", f"{ROUTER} --models 'a b;c'"),
        (record([routed()], [effect("harmful")]), RETIRE, f"{AGENTS} loop:m"),
        (record([], [effect("harmful", preliminary=("few",))]), "add tasks to be sure", f"{AGENTS} loop:m"),
        (record([routed()], [effect(changed=True)]), CHANGED, f"{AGENTS} loop:m"),
        (record([routed()], [effect()]), "", ""),
    ],
)
def test_the_next_command_names_who_was_asked_before(given_: SkillRecord, advice: str, command: str) -> None:
    found = verdict(given_, PLACE)
    assert advice in found.advice
    assert found.command == command


@pytest.mark.parametrize(
    ("given_", "parts"),
    [
        (record([routed()], [effect(preliminary=("few",))]), ["+20.0 points [+10.0, +30.0] over 8 tasks", "loop:m", "preliminary: few"]),
        (record([routed()], [effect(changed=True)]), [CHANGED]),
        (record([routed()], [effect("biased", biased=("a control fails",))]), ["a control fails"]),
        (record([], [effect("not testable", reason="not testable: 3 tasks differ")]), ["; 3 tasks differ"]),
        (record([], [effect("no evidence", model="b"), effect()]), ["b says no evidence"]),
        (record([routed(LOST)], []), ["10.0 % [0.0, 30.0] of 12 calls (maker:m)"]),
        (record([routed(est(1.0, n=1))], []), ["100.0 % [–] of 1 call ("]),
        (record([routed(changed=True)], []), ["description"]),
        (record([routed(trusted=False)], []), ["check failed"]),
        (record([], [], FAILED), ["2 errors, 1 warning"]),
        (record([], [], health_of(warnings=1)), ["score 0.90", "1 warning"]),
        (record([], [], health_of(score=0.999)), ["score 0.99;"]),
    ],
)  # fmt: skip
def test_the_reason_has_the_figures(given_: SkillRecord, parts: list[str]) -> None:
    reason = verdict(given_, PLACE).reason
    assert not [part for part in parts if part not in reason]


ROUTES = st.builds(
    routed, st.sampled_from([SURE, POOR, LOST, NONE]), local=st.booleans(), changed=st.booleans(), simulated=st.booleans(),
    trusted=st.sampled_from([True, False, None]),
)  # fmt: skip
EFFECTS = st.builds(effect, st.sampled_from(VERDICTS), changed=st.booleans(), simulated=st.booleans())


@given(st.lists(ROUTES, max_size=3), st.lists(EFFECTS, max_size=3), st.booleans())
def test_what_asked_no_model_decides_nothing(
    routes: list[SkillRouted], effects: list[ModelEffect], hidden: bool
) -> None:
    found = verdict(record(routes, effects, hidden=hidden), PLACE)
    real = [each for each in effects if not each.simulated]
    asked = [each for each in routes if not each.simulated and not each.local]
    assert found.question != 3 or real
    assert found.tone in ("good", "warn") or [*real, *asked]
    assert found.detail not in ("found", "lost", "unclear") or asked
    if any(not each.changed and each.verdict == "harmful" for each in real) and found.question == 3:
        assert found.detail.removeprefix("preliminary: ") == "harmful"
