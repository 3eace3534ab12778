"""Two runs compared: planted changes are found, nothing is found where nothing changed, and what differs is said."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from effects_made import replace, reported, typed
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pairs_made import counted, pair_manifest
from report_nasty import NASTY, UNSAFE, everywhere
from report_runs import SKILLS, forced, frozen, kept, run, tasks

from skill_health.commands.effectiveness import command
from skill_health.core.errors import UsageError
from skill_health.core.validation import problems
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.effect_comparison import EffectComparisonReport
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.commands.compare import rendered
from skill_health.effectiveness.compare.compare import changes, compare
from skill_health.effectiveness.effects.contrasts import ArmPair
from skill_health.effectiveness.effects.sheet import CellTrials
from skill_health.effectiveness.run.runs import EffectRun

ARMS = ("control", "target", "full")


def short(run_id: str, script: str = "target=0.4", **more: Any) -> EffectRun:
    """A run of three skills in three arms: all that is compared, in little time."""
    return run(run_id, script, **{"arms": ARMS, "tasks": tasks(15, 5, 3)} | more)


ONE = short("run-1")


def drawn(successes: dict[tuple[str, str], int], **more: Any) -> EffectRun:
    """A run in which so many of three trials passed, by task and arm."""
    used = more.pop("tasks", None) or [each for each in tasks() if each["target_skill"] != "none"]
    manifest = frozen(more.pop("run_id", "drawn"), arms=("control", "target"), tasks=used, **more)
    results = [
        TrialResult(task["id"], "scripted", arm, n, "pass" if n < successes.get((task["id"], arm), 0) else "fail")
        for task in used
        for arm in ("control", "target")
        for n in range(3)
    ]
    return EffectRun("", typed(manifest), tuple(results))


def changed(found: EffectRun, **more: Any) -> EffectRun:
    return replace(found, manifest=typed(record_values(found.manifest) | {"run_id": "run-2"} | more))


def compared(run: EffectRun, baseline: EffectRun) -> dict[str, Any]:
    """The comparison, as JSON values."""
    found: dict[str, Any] = json.loads(json.dumps(record_values(compare(run, baseline))))
    return found


def primary(found: dict[str, Any]) -> dict[str, Any]:
    contrasts: list[dict[str, Any]] = found["models"][0]["contrasts"]
    return next(each for each in contrasts if each["kind"] == "primary")


@pytest.mark.slow
def test_the_same_run_has_not_changed() -> None:
    found = compared(changed(ONE), ONE)
    assert problems("effectiveness-comparison", found) == []
    assert (found["worse"], found["differences"], found["skills"], found["same_skills"]) == ([], [], [], 12)
    assert (found["tasks"]["compared"], len(found["tasks"]["common"])) == (15, 20)
    (caution,) = found["cautions"]
    assert caution.startswith("scripted is simulated: ")
    (model,) = found["models"]
    assert all(each["differing"] == 0 and each["delta"]["value"] == 0 for each in (*model["contrasts"], *model["arms"]))
    assert model["flips"] == []
    assert model["verdict"]["before"] == model["verdict"]["after"]
    assert "a run is compared with itself" in compared(ONE, ONE)["cautions"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "worse"), [("0.5", "-0.3", True), ("-0.3", "0.5", False), ("0.4", "0.4", False)]
)
def test_a_planted_change_of_the_collection(before: str, after: str, worse: bool) -> None:
    old, new = short("old", f"target={before}"), short("new", f"target={after}")
    found = compared(new, old)
    assert problems("effectiveness-comparison", found) == []
    assert bool(found["worse"]) == worse
    assert all(each["skill"] is None for each in found["worse"])
    sides = [reported(record_values(side.manifest), side.results)["models"][0] for side in (old, new)]
    words = [side["verdict"]["word"] for side in sides]
    assert found["models"][0]["verdict"] == dict(zip(("before", "after"), words, strict=True))
    deltas = [side["contrasts"][0]["delta"]["value"] for side in sides]
    assert primary(found)["delta"]["value"] == pytest.approx(deltas[1] - deltas[0], abs=1e-5)


def test_a_planted_change_of_one_skill_among_others() -> None:
    """Eight tasks each: the tool must name the skill that lost, and no other."""
    used = tasks(24, 0, 3)
    good = {(task["id"], "target"): 3 for task in used}
    bad = {key: 0 if used[n]["target_skill"] == "skill-1" else 3 for n, key in enumerate(good)}
    found = compared(drawn(bad, run_id="new", tasks=used), drawn(good, run_id="old", tasks=used))
    assert [(each["skill"], each["tasks"], each["delta"]["value"]) for each in found["worse"]] == [
        (None, 24, pytest.approx(-1 / 3)),
        ("skill-1", 8, -1.0),
    ]
    (model,) = found["models"]
    verdicts = {skill["skill"]: skill["verdict"] for skill in model["skills"]}
    assert verdicts["skill-0"]["before"] == verdicts["skill-0"]["after"]
    flips = [flip for flip in model["flips"] if flip["arm"] == "target"]
    assert {flip["skill"] for flip in flips} == {"skill-1"} and len(flips) == 8


@pytest.mark.slow
def test_fewer_than_six_changes_are_never_a_loss() -> None:
    good = {(f"{n:03}", "target"): 3 for n in range(15)}
    for lost in range(9):
        bad = good | {(f"{n:03}", "target"): 0 for n in range(lost)}
        found = compared(drawn(bad, run_id="new"), drawn(good, run_id="old"))
        each = primary(found)
        assert each["differing"] == lost
        assert each["testable"] == bool(found["worse"]) == (lost >= 6)
        assert (each["delta"]["p"] is None) == bool(each["note"]) == (lost < 6)


def exact(differences: list[float]) -> float:
    """The two-sided sign-flip p-value, by trying every pattern."""
    moved = [each for each in differences if each]
    least = abs(sum(moved)) - 1e-6
    patterns = itertools.product((1, -1), repeat=len(moved))
    return sum(abs(sum(s * d for s, d in zip(signs, moved, strict=True))) >= least for signs in patterns) / 2 ** len(
        moved
    )


def cells(counts: list[tuple[int, int, int, int]], first: int) -> dict[tuple[str, str], CellTrials]:
    """Cells with so many of three trials passed: the control's at `first`, the target's behind it."""
    found = {}
    for n, row in enumerate(counts):
        for at, arm in enumerate(("control", "target"), first):
            trials = tuple(TrialResult(f"{n}", "m", arm, rep, "pass" if rep < row[at] else "fail") for rep in range(3))
            found[f"{n}", arm] = CellTrials(trials, row[at], (), {})
    return found


@given(st.lists(st.tuples(*(st.integers(0, 3) for _ in range(4))), min_size=15, max_size=15))
def test_the_difference_in_differences_is_what_it_says(counts: list[tuple[int, int, int, int]]) -> None:
    sides = cells(counts, 0), cells(counts, 2)
    names, pair = [f"{n}" for n in range(15)], ArmPair("target", "control", "primary")
    (there,) = changes(names, *sides, [pair], 1)
    (back,) = changes(names, sides[1], sides[0], [pair], 1)
    by = [(c[3] - c[2] - c[1] + c[0]) / 3 for c in counts]
    assert there.delta.value == pytest.approx(sum(by) / 15, abs=1e-6)
    assert back.delta.value == pytest.approx(-sum(by) / 15, abs=1e-6)
    assert there.differing == back.differing == sum(abs(each) > 1e-9 for each in by)
    assert there.delta.p == back.delta.p
    if 6 <= there.differing <= 10:
        assert there.delta.p == pytest.approx(exact([round(each, 9) for each in by]), abs=1e-6)
    assert (there.delta.p is None) == (there.differing < 6)
    if there.delta.low is not None and there.delta.high is not None and there.delta.value is not None:
        assert there.delta.low <= there.delta.value <= there.delta.high


@pytest.mark.slow
def test_only_what_both_sides_have_is_compared() -> None:
    gone = replace(ONE, results=forced(ONE.results, "infrastructure", arm="target", task_id=("000", "001")))
    found = compared(changed(gone), ONE)
    assert primary(found)["tasks"] == 13
    assert next(each for each in found["models"][0]["contrasts"] if each["arm"] == "full")["tasks"] == 15
    few = changed(replace(ONE, results=forced(ONE.results, "quota", task_id=("000", "001", "002"))))
    assert any(each.startswith("scripted in run-2: 27 of 165 ") for each in compared(few, ONE)["cautions"])


@pytest.mark.slow
def test_other_tasks_are_left_out_and_named() -> None:
    used = tasks(15, 5, 3)
    used[0] |= {"digest": "other"}
    used[1] |= {"verifier_digest": "other"}
    used[2] |= {"target_skill": "skill-9", "digest": "other"}
    del used[3]
    found = compared(short("run-2", tasks=[*used, used[4] | {"id": "new"}]), ONE)["tasks"]
    assert found["changed"] == [
        {"task_id": "000", "what": "what it starts from"},
        {"task_id": "001", "what": "its verifier"},
        {"task_id": "002", "what": "what it starts from, the skill it is for"},
    ]
    assert (found["compared"], found["only_run"], found["only_baseline"]) == (11, ["new"], ["003"])


@pytest.mark.slow
def test_skills_that_changed_are_told_by_their_digests() -> None:
    skills = [{"name": name, "digest": f"digest of {name}", "description": f"Does {name}."} for name in SKILLS[1:]]
    skills[0] |= {"digest": "other"}
    skills[1] |= {"digest": "other", "description": "Does more."}
    found = compared(changed(ONE, skills=[*skills, {"name": "late", "digest": "x", "description": ""}]), ONE)
    assert [(each["name"], each["kind"], each["description"]) for each in found["skills"]] == [
        ("late", "added", False), ("skill-0", "removed", False), ("skill-1", "edited", False), ("skill-2", "edited", True),
    ]  # fmt: skip
    assert found["same_skills"] == 9


LIMITS, AGENT = record_values(ONE.manifest.limits), record_values(ONE.manifest.models[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"seed": 2}, "seed 1 -> 2"),
        ({"margin": 0.2}, "margin 0.1 -> 0.2"),
        ({"tool_version": "9"}, "skill-health 0.1 -> 9"),
        ({"sandbox": {"name": "none", "version": "", "isolates": [], "image": ""}}, "sandbox bubblewrap -> none"),
        ({"limits": LIMITS | {"timeout_sec": 60.0}}, "limit timeout_sec not given -> 60.0"),
        ({"models": [AGENT | {"version": "2.0"}]}, "scripted: version of the agent 1.0 -> 2.0"),
        ({"models": [AGENT | {"base_url": "http://x"}]}, "scripted: server not known -> http://x"),
        ({"models": [AGENT | {"flags": ["--fast"]}]}, "scripted: options none -> --fast"),
        ({"arms": ["control", "target"]}, "arms of the baseline only: full"),
        (
            {"staged": {task: {arm: ["x"] for arm in arms} for task, arms in ONE.manifest.staged.items()}},
            "in 55 of 55 pairs of task and arm other skills are staged, or in another order",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_else_is_not_the_same_is_said(more: dict[str, Any], said: str) -> None:
    assert said in compared(changed(ONE, **more), ONE)["differences"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (short("other", tasks=[each | {"id": f"x{each['id']}"} for each in tasks()]), "no task"),
        (
            short("other", tasks=[each | {"digest": "x"} for each in tasks(15, 5, 3)]),
            "all 20 common tasks have changed",
        ),
        (short("other", models=("scripted:seed=9",)), "they have no model in common: run scripted again with --agents"),
        (short("other", arms=("control", "placebo")), "they have fewer than two arms in common"),
    ],
    ids=["tasks", "changed", "models", "arms"],
)
def test_what_cannot_be_compared_is_refused_in_one_line(other: EffectRun, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        compare(other, ONE)
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_a_biased_run_and_another_model_are_cautions() -> None:
    biased = short("biased", "target=0.4,control_full=0.9", tasks=tasks(15, 30, 1))
    report = reported(record_values(biased.manifest), biased.results)
    base = short("base", tasks=tasks(15, 30, 1))
    cautions = compared(biased, base)["cautions"]
    said = [each for each in cautions if "biased is biased" in each]
    assert said == [f"biased is biased: {why}" for why in report["biased"]]
    other = replace(base, results=tuple(replace(each, resolved_model="other-2") for each in base.results))
    assert any(
        "scripted" in each and ": none -> other-2" in each for each in compared(changed(other), base)["cautions"]
    )


def test_runs_of_pairs_are_compared_by_their_arms_and_say_so() -> None:
    rows = [(1, 1, 1, 3)] * 8
    runs = [EffectRun("", typed(pair_manifest(8, run_id=name)), tuple(counted(rows))) for name in ("new", "old")]
    found = compare(*runs)
    assert "pairs of skills are compared by their arms alone" in " ".join(found.cautions)
    said = rendered(found, "md")
    assert "No skill is compared by itself" in said and "got worse" not in said and "Not testable" not in said


@pytest.mark.slow
def test_the_order_of_results_changes_nothing() -> None:
    worse = short("worse", "target=-0.2")
    turned = replace(worse, results=tuple(reversed(worse.results)))
    for name in ("text", "md", "json"):
        assert rendered(compare(worse, ONE), name) == rendered(compare(turned, ONE), name)


@pytest.mark.slow
def test_hostile_text_is_neither_markup_nor_control() -> None:
    values = everywhere(compared(short("worse", "target=-0.2"), ONE), lambda value: f"{NASTY}{value}")
    found = convert_record(values, EffectComparisonReport)
    page = rendered(found, "md")
    assert not UNSAFE.search(rendered(found, "text")) and not UNSAFE.search(page)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(page)
    inner = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in (*tokens, *inner)}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "fence", "code_block"}


@pytest.mark.slow
def test_the_command_fails_where_something_got_worse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for found in (short("good", "target=0.5"), short("bad", "target=-0.3")):
        kept(tmp_path / "reports", found)

    def call(*arguments: str) -> Any:
        return CliRunner().invoke(command, ["compare", *arguments], standalone_mode=False)

    bad = call("bad", "good")
    assert bad.return_value == 1
    assert "Worse: the collection as a whole, scripted: -" in bad.stdout
    assert "unexplained gain -> harmful" in bad.stdout
    good = call("good", "bad", "--format", "json")
    assert good.return_value == 0
    assert problems("effectiveness-comparison", json.loads(good.stdout)) == []
    assert "| target - control |" in call("good", "bad", "--format", "md").stdout
    assert isinstance(call("good", "nowhere").exception, UsageError)
