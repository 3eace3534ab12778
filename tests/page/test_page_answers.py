"""The answers about a whole collection: what is said holds, with n and interval, and nothing preliminary condemns."""

from __future__ import annotations

import re
from typing import Any

import page_made
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from records_made import EFFECT, ROUTING, figure, health_of, skill_record
from records_made import FOUND as ROUTED
from test_one_vocabulary import EFFECTS

from skill_health.cli import main
from skill_health.documents._record import NotedFigure
from skill_health.documents.effect_history import Effects, ModelEffect
from skill_health.documents.router_history import ModelRouting
from skill_health.documents.skill_record import SkillRouted
from skill_health.page.verdict.answers import effect, routing
from skill_health.page.verdict.verdicts import verdict
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.records import RoutedSkills, _benefit, _route
from skill_health.status.render import CollectionStatus

PLACE = CommandBuilder((".",))
RUN = replace(ROUTING, top1=0.61, low=0.551, high=0.666, top1_n=300, n=300, planned=300)
FOUND, LOST, FEW = (figure(*told) for told in ((0.9, 0.7, 1.0), (0.1, 0.0, 0.3), (0.7, 0.4, 0.9)))
TOP = "maker:m: right skill for 61.0 % [55.1, 66.6] of 300 calls"


def routed(recall: NotedFigure = FOUND, **more: Any) -> SkillRouted:
    return replace(ROUTED, recall=recall, precision=recall, **more)


def collection(
    routes: list[list[SkillRouted]],
    effects: list[list[ModelEffect]] | None = None,
    whole: list[ModelEffect] | None = None,
    runs: list[ModelRouting] | None = None,
) -> CollectionStatus:
    """A collection of as many skills as `routes` has rows."""
    effects = effects or [[] for _ in routes]
    records, lines = [], list(whole or [])
    for at, (rows, helped) in enumerate(zip(routes, effects, strict=True)):
        health = health_of()
        route = _route(False, 3, rows, health)
        own = [replace(each, skill=f"skill-{at}") for each in helped]
        lines += own
        records.append(skill_record(f"skill-{at}", health, route, _benefit(("tasks/1",), own, health, route)))
    asked = {row.model: row for rows in routes for row in rows}
    models = {
        name: replace(RUN, model=name, simulated=row.simulated, trusted=row.trusted, selection=row.selection)
        for name, row in asked.items()
    } | {run.model: run for run in runs or ()}
    return CollectionStatus(
        tuple(records), RoutedSkills(tuple(models.values())), Effects(tuple(lines)), PLACE, "0.1.0", "standard"
    )


NOBODY = "no model"


@pytest.mark.parametrize(
    ("routes", "word", "tone", "reason"),
    [
        ([], "", "unknown", NOBODY),
        ([[routed(simulated=True)]], "", "unknown", "simulated"),
        ([[routed(local=True)]], "", "unknown", TOP),
        ([[routed()]] * 2, "", "good", f"{TOP}; of 2 skills 2 pass"),
        ([[routed()], [routed(LOST)]], "", "bad", f"{TOP}; of 2 skills 1 fails (most requests lost), 1 passes"),
        ([[routed(FEW)]] * 3, "partly known", "warn", f"{TOP}; of 3 skills 3 need work ("),
        ([[routed()], []], "partly known", "warn", "of 2 skills 1 not measured (not asked for), 1 passes"),
        ([[routed(changed=True)]], "out of date", "unknown", "of 1 skill 1 not measured (changed since)"),
        ([[routed(changed=True)], [routed()]], "partly known", "warn", "1 not measured (changed since), 1 passes"),
        ([[routed(changed=True)], [], []], "unclear", "unknown", "3 not measured (1 changed since, 2 not asked for)"),
        (
            [[routed(trusted=False)]], "untrusted", "unknown",
            "1 not measured (asked in a run that failed its check); the instrument",
        ),
        ([[routed(selection="sweep")]], "partly known", "warn", "1 passes; some prompts only"),
        ([[routed(), routed(LOST, model="maker:b")]], "", "bad", "best of 2 models maker:m: right skill for"),
    ],
)  # fmt: skip
def test_routing(routes: list[list[SkillRouted]], word: str, tone: str, reason: str) -> None:
    found = routing(collection(routes))
    assert (found.detail, found.tone) == (word, tone)
    assert reason in found.reason
    assert " 0 " not in found.reason, "what no skill is, is not said"
    assert bool(found.command) == (tone != "good")
    assert ("--models" in found.command) == bool(found.command)


def test_the_figures_of_the_run_as_a_whole_are_told() -> None:
    few = routing(collection([[routed(FEW)]], runs=[replace(RUN, low=0.3)]))
    assert (few.detail, few.tone) == ("partly known", "warn")
    assert "of 1 skill 1 needs work (" in few.reason
    one = routing(collection([[routed()]], runs=[replace(RUN, n=1, top1_n=1, top1=1.0, low=None, high=None)]))
    assert (one.detail, one.tone) == ("", "good")
    assert "100.0 % [–] of 1 call; of 1 skill" in one.reason


def test_a_run_without_a_report_says_nothing_of_a_model() -> None:
    found = routing(collection([[]], runs=[replace(RUN, model="lexical:overlap")]))
    assert (found.detail, found.tone) == ("", "unknown")
    assert "no report of that run is here" in found.reason


HELPS, HARMS, WEAK = EFFECT, replace(EFFECT, verdict="harmful"), replace(EFFECT, preliminary=("few",))
MAYBE = replace(HARMS, preliminary=("few",))


@pytest.mark.parametrize(
    ("effects", "whole", "word", "tone", "reason"),
    [
        ([[]], [], "", "unknown", "no agent"),
        ([[replace(HARMS, simulated=True)]], [], "", "unknown", "simulated"),
        ([[HELPS]] * 2, [], "", "good", "of 2 skills 2 helps"),
        ([[HELPS], []], [], "partly known", "warn", "of 2 skills 1 helps, 1 not measured"),
        ([[HELPS], [WEAK]], [], "preliminary: helps", "warn", "of 2 skills 1 helps, 1 preliminary: helps"),
        ([[HELPS], [replace(HELPS, changed=True)]], [], "partly known", "warn", "1 helps, 1 out of date: helps"),
        ([[HARMS], [HELPS]], [], "harmful", "bad", "1 harmful, 1 helps"),
        ([[MAYBE], [HELPS]], [], "preliminary: harmful", "warn", "1 helps, 1 preliminary: harmful"),
        ([[replace(HELPS, verdict="not testable")]], [HELPS], "", "unknown", "collection: helps, +20.0 points [+10.0"),
        ([[]], [HARMS], "harmful", "bad", "collection: harmful"),
        ([[]], [MAYBE], "preliminary: harmful", "warn", "harmful, +20.0 points [+10.0, +30.0] over 8 tasks (loop:m), preliminary (few)"),
        ([[replace(HELPS, changed=True)]], [HARMS], "", "unknown", "1 skill changed since"),
        ([[HELPS]], [HELPS, replace(MAYBE, model="b")], "preliminary: harmful", "warn", "b says harmful, +20.0 points"),
    ],
)  # fmt: skip
def test_effect(effects: list[list[ModelEffect]], whole: list[ModelEffect], word: str, tone: str, reason: str) -> None:
    told = [replace(each, skill=None) for each in whole]
    status = collection([[] for _ in effects], effects, told)
    found = effect(status)
    assert (found.detail, found.tone) == (word, tone)
    assert reason in found.reason


@given(st.lists(st.lists(EFFECTS, max_size=3), min_size=1, max_size=4), st.lists(EFFECTS, max_size=2))
def test_red_and_green_need_what_is_sure_and_of_now(effects: list[list[ModelEffect]], whole: list[ModelEffect]) -> None:
    status = collection([[] for _ in effects], effects, [replace(each, skill=None) for each in whole])
    verdicts = [verdict(each, PLACE) for each in status.records]
    found = effect(status)
    sure = [[each for each in own if not (each.simulated or each.changed or each.preliminary)] for own in effects]
    if found.tone == "bad":
        assert "harmful" in {each.verdict for own in [*sure, [e for e in whole if not e.preliminary]] for each in own}
    if found.tone == "good":
        assert all({"helps", "cheaper"} & {each.verdict for each in own} for own in sure)
    for own, each in zip(sure, verdicts, strict=True):
        assert each.tone != "bad" or "harmful" in {one.verdict for one in own}
        assert each.question != 3 or each.tone != "good" or {one.verdict for one in own} & {"helps", "cheaper"}
        assert each.detail.startswith(("preliminary: ", "out of date: ")) <= (each.tone in ("unknown", "warn"))
    assert all(re.search(r"\[[^\]]+\] over \d+ task", part) for part in found.reason.split("; ") if "points" in part)


@pytest.mark.parametrize(
    ("place", "router", "effectiveness"),
    [
        (CommandBuilder(), "run", "run tasks --agents AGENT:MODEL"),
        (CommandBuilder(model="maker:m", agent="a:b"), "run --models maker:m", "run tasks --agents a:b"),
        (CommandBuilder(model="a b;c", agent="a\n;b"), "run --models 'a b;c'", "run tasks --agents 'a\\x0a;b'"),
    ],
)
def test_a_command_names_the_model_that_was_asked(place: CommandBuilder, router: str, effectiveness: str) -> None:
    assert place.router() == f"skill-health router {router}"
    assert place.effectiveness(["tasks/1"]) == f"skill-health effectiveness {effectiveness}"


@pytest.mark.slow
def test_what_is_due_on_a_real_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = page_made.page()
    steps = page.due
    assert [(step.gap, step.skills) for step in steps if "harmful" in step.gap] == [
        ("preliminary: harmful", ("skill-2",))
    ]
    # What lint finds is due by rule, not skill by skill.
    assert sorted(name for step in steps if not step.gap.startswith("fix ") for name in step.skills) == sorted(
        name for step in page.status.next if step.gap != "fix first" for name in step.skills
    )
    by_rule = {step.gap.removeprefix("fix "): set(step.skills) for step in steps if step.gap.startswith("fix ")}
    names = {each.path: each.name for each in page.status.skills}
    wrong = [each for each in page.lint.findings if each.severity != "info" and each.skill in names]
    assert by_rule == {
        each.code: {names[path] for one in wrong if one.code == each.code for path in (one.skill, *one.also)}
        for each in wrong
    }
    for command in {each.command for each in (*steps, *page.verdicts.values(), *page.answers.values()) if each.command}:
        assert f"--agents {page_made.AGENT}" in command or "--agents" not in command
        assert f"--models {page_made.REAL}" in command or "--models" not in command
        words = command.split()
        assert words[0] == "skill-health" and main([*words[1:], "--help"]) == 0
    assert "Usage:" in capsys.readouterr().out
