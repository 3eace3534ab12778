"""Two runs of the same prompts: what is paired, tested and said, and that two runs of the same raise no alarm."""

from __future__ import annotations

import json
import re
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_loads import AGENT, made_manifest, made_results
from msgspec.structs import replace
from thinned import repeated

from skill_health.activation.compare import compare_activation
from skill_health.activation.report import build_activation_report
from skill_health.activation.reports._comparison import render_comparison
from skill_health.activation.run.runs import ActivationRun
from skill_health.core.errors import UsageError
from skill_health.core.validation import problems
from skill_health.documents._record import encode_record
from skill_health.documents.router_manifest import Prompt

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks import activation as simulated

SKILLS = tuple(f"skill-{nth:02d}" for nth in range(12))
PROMPTS = (
    *(Prompt(f"{name}-{nth}", f"do {name} {nth}", name, rejected=(SKILLS[at - 1],)) for at, name in enumerate(SKILLS) for nth in range(2)),
    *(Prompt(f"none-{nth}", f"hour {nth}", None) for nth in range(8)),
)  # fmt: skip


def run_of(firsts: dict[str, Any] | None = None, **more: Any) -> ActivationRun:
    """A run in which each agent does as labelled, but for what is said."""
    own = {prompt.prompt_id: [prompt.expected] for prompt in PROMPTS} | (firsts or {})
    manifest = made_manifest(PROMPTS, SKILLS, **more)
    return ActivationRun("", manifest, tuple(made_results(manifest, own)))


def test_runs_that_are_alike_differ_in_nothing() -> None:
    found = compare_activation(run_of(), run_of(), 0.0)
    (agent,) = found.models
    assert (found.alarms, agent.flips, agent.paired, agent.unpaired) == ((), (), 32, 0)
    assert {each.difference.value for each in agent.metrics.values()} == {0.0}
    assert "No alarm." in render_comparison(found, "text")


def test_a_loss_is_paired_by_prompt_and_tested_over_skills() -> None:
    lost = {f"{name}-{nth}": [None] for name in SKILLS[:7] for nth in range(2)}
    found = compare_activation(run_of(lost), run_of({"skill-11-0": [None]}), 0.0)
    (agent,) = found.models
    recall = agent.metrics["recall"]
    assert (recall.before, recall.after) == (pytest.approx(23 / 24), pytest.approx(10 / 24))
    assert recall.difference.value == pytest.approx(-13 / 24)
    # Each skill has the sum of its two prompts: seven lost two, one won one.
    sums = [-2] * 7 + [1] + [0] * 4
    flipped = [
        abs(sum(sign * each for sign, each in zip(signs, sums, strict=True))) for signs in product((1, -1), repeat=12)
    ]
    by_hand = float(np.mean(np.asarray(flipped) >= abs(sum(sums)) - 1e-9))
    assert recall.difference.p == pytest.approx(by_hand) and recall.moved == 8
    # In no other metric anything moved, so that there is nothing to correct for; with one that did, p doubles.
    assert recall.difference.p_adjusted == pytest.approx(by_hand)
    more = compare_activation(run_of(lost | {"none-0": ["skill-00"]}), run_of({"skill-11-0": [None]}), 0.0)
    assert more.models[0].metrics["recall"].difference.p_adjusted == pytest.approx(2 * by_hand)
    assert [(alarm.metric, alarm.by) for alarm in found.alarms] == [("recall", recall.difference.value)]
    assert compare_activation(run_of(lost), run_of(), 0.6).alarms == (), "no more than was allowed"
    assert compare_activation(run_of(), run_of(lost), 0.0).alarms == (), "a gain is no alarm"
    assert [flip.kind for flip in agent.flips] == ["lost"] * 14 + ["won"]


def test_more_false_fires_are_an_alarm() -> None:
    fires = {f"none-{nth}": ["skill-00"] for nth in range(8)}
    found = compare_activation(run_of(fires), run_of(), 0.0)
    assert [(alarm.model, alarm.metric, alarm.by) for alarm in found.alarms] == [(AGENT, "false_fire_none", 1.0)]
    assert re.search(rf"Alarm: {AGENT}.* \+100\.0 points", render_comparison(found, "text"))


def test_what_is_not_known_in_both_is_left_out() -> None:
    run = run_of()
    untold = tuple(
        replace(each, loaded="cannot_tell", first=None) if nth < 4 else each for nth, each in enumerate(run.results)
    )
    found = compare_activation(ActivationRun("", run.manifest, untold), run_of(), 0.0)
    (agent,) = found.models
    assert (agent.paired, agent.unpaired, agent.metrics["recall"].difference.n) == (28, 4, 20)
    assert any("4 prompts not known in both runs" in each for each in found.cautions)


def test_prompts_with_another_text_or_label_are_not_compared() -> None:
    changed = (replace(PROMPTS[0], text="something else"), replace(PROMPTS[1], rejected=()), *PROMPTS[2:])
    manifest = made_manifest(changed, SKILLS)
    told = made_results(manifest, {each.prompt_id: [each.expected] for each in changed})
    run = ActivationRun("", manifest, tuple(told))
    found = compare_activation(run, run_of(), 0.0)
    assert (found.prompts, found.only_run, found.only_baseline) == (30, ("skill-00-0", "skill-00-1"), 2)
    other = made_manifest([Prompt("x", "x", None)], SKILLS)
    with pytest.raises(UsageError, match="in common"):
        compare_activation(ActivationRun("", other, ()), run_of(), 0.0)


def test_two_models_of_one_or_two_runs() -> None:
    runs = []
    for name in ("old", "new"):
        made = run_of(agents=(f"codex:{name}",))
        own = (replace(each, model=f"codex:{name}", resolved_model=f"{name}-1") for each in made.results)
        runs.append(ActivationRun("", made.manifest, tuple(own)))
    one, two = runs
    with pytest.raises(UsageError, match="no agent is in both runs"):
        compare_activation(two, one, 0.0)
    with pytest.raises(UsageError, match="did you mean"):
        compare_activation(two, one, 0.0, ("codex:new", "codex:odl"))
    found = compare_activation(two, one, 0.0, ("codex:new", "codex:old"))
    assert (found.models[0].model, found.models[0].against, found.models[0].paired) == ("codex:new", "codex:old", 32)
    assert any("the provider named old-1 then, new-1 now" in each for each in found.cautions)


def test_what_else_differs_is_said() -> None:
    other = made_manifest(PROMPTS, SKILLS, turns=9, delivery="mcp")
    skills = tuple(replace(each, digest="other") if each.name == "skill-03" else each for each in other.skills[:-1])
    models = tuple(replace(each, version="9.9") for each in other.models)
    base = run_of()
    run = ActivationRun("", replace(other, skills=skills, models=models), base.results)
    found = compare_activation(run, base, 0.0)
    said = "\n".join(found.differences)
    for words in (
        "turns: 4 then, 9 now", "delivery: files then, mcp now", "skills removed: skill-11", "skills changed: skill-03",
        "version 1.2.3 then, 9.9 now",
    ):  # fmt: skip
        assert words in said
    assert problems("activation-comparison", json.loads(encode_record(found))) == []


def test_texts_of_others_stay_texts() -> None:
    nasty = "\x1b[31m<script>alert(1)</script>|"
    run = run_of({"skill-00-0": [nasty]})
    found = compare_activation(run, run_of(), 0.0)
    for form in ("text", "md"):
        said = render_comparison(found, form)
        assert "\x1b" not in said and (form == "text" or "<script>" not in said)


@pytest.mark.parametrize("rounds", repeated(30, 120))
def test_two_runs_of_the_same_agent_raise_no_alarm_and_intervals_hold_the_truth(rounds: int) -> None:
    """A thousand runs of each kind are in docs/statistics.md; these few fail by chance once in thousands of times."""
    world = simulated.WORLDS[0]
    true = simulated.truths(world, 1)
    tallies = [simulated.one_round(world, true, 3, nth) for nth in range(rounds)]
    alarms = sum(each["alarm"].hits for each in tallies)
    assert alarms <= 0.05 * rounds + 3.3 * (0.05 * 0.95 * rounds) ** 0.5
    for metric in ("recall", "precision", "other_first", "false_fire_none", "false_fire_near"):
        given = sum(each[metric].given for each in tallies)
        assert given >= 0.9 * rounds
        assert sum(each[metric].hits for each in tallies) / given > 0.88, metric


def test_the_report_of_simulated_runs_is_whole() -> None:
    """The made worlds go through the report itself, as runs do."""
    rng = np.random.default_rng(5)
    drawn = simulated.draw_world(rng, simulated.WORLDS[0])
    manifest = simulated.manifest_of(drawn, 1)
    report = build_activation_report(manifest, simulated.call_agent(rng, drawn, 1))
    assert report.models[0].known == len(drawn.prompts)
