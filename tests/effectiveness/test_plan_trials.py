"""Which trials there are and in which order: the same for any order of files, balanced, and from the seed alone."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import groupby

import pytest
from effects_made import replace
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import structs
from run_made import SKILLS, TASKS, a_model, a_plan, manifest_of, skill, task

from skill_health.bench.manifest import differences, digest, identity
from skill_health.core.validation import load_schema
from skill_health.documents._record import convert_record
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.effectiveness.plan import plan as frozen
from skill_health.effectiveness.plan.plan import TrialPlan, freeze_skill, skills_digest
from skill_health.effectiveness.records import CONDITIONS
from skill_health.effectiveness.run.runs import folder_of
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.workspace.copies import make_copy

ARMS = (*CONDITIONS, "placebo", "aa", "full+hint", "order:7", "leave_one_out:maps-work")


def order(plan: TrialPlan) -> list[tuple[str, str, str, int]]:
    return [planned.key for planned in plan.trials()]


@given(
    st.permutations(TASKS), st.permutations([skill(name) for name in SKILLS]), st.integers(0, 2**40), st.integers(1, 4)
)
def test_the_order_of_files_decides_nothing(tasks: list[object], skills: list[object], seed: int, reps: int) -> None:
    one = a_plan(a_model("made:a"), a_model("made:b"), arms=ARMS, seed=seed, reps=reps)
    other = a_plan(
        a_model("made:a"), a_model("made:b"), tasks=tasks, skills=skills, arms=ARMS, seed=seed, reps=reps,  # type: ignore[arg-type]
    )  # fmt: skip
    assert order(one) == order(other)
    assert list(one.keys()) == list(other.keys())
    assert json.dumps(manifest_of(one)) == json.dumps(manifest_of(other))
    assert sorted(order(one)) == sorted(one.keys()), "each key is tried once"


@given(st.integers(0, 2**40))
def test_all_models_have_one_order_and_arms_of_a_task_are_tried_together(seed: int) -> None:
    plan = a_plan(a_model("made:a"), a_model("made:b"), seed=seed, reps=3)
    by_model = {spec: [key for key in order(plan) if key[1] == spec] for spec in ("made:a", "made:b")}
    one, other = ([(key[0], *key[2:]) for key in by_model[spec]] for spec in ("made:a", "made:b"))
    assert one == other
    assert [replication for _, _, _, replication in order(plan)] == sorted(key[3] for key in order(plan))
    blocks = [block for block, _ in groupby(order(plan), key=lambda key: (key[3], key[0]))]
    assert len(blocks) == len(set(blocks)) == 3 * len(TASKS)


@pytest.mark.slow
def test_orders_differ_by_seed_replication_and_task() -> None:
    plan = a_plan(tasks=[task(n, SKILLS[n % 3]) for n in range(12)], reps=4)
    tasks = {
        replication: tuple(key[0] for key in order(plan) if key[3] == replication and key[2] == "control")
        for replication in range(4)
    }
    assert len(set(tasks.values())) == 4
    arms = {
        (key[0], key[3]): tuple(each[2] for each in order(plan) if (each[0], each[3]) == (key[0], key[3]))
        for key in order(plan)
    }
    assert len(set(arms.values())) > 40
    assert order(plan) != order(a_plan(tasks=[task(n, SKILLS[n % 3]) for n in range(12)], reps=4, seed=2))


def test_no_arm_is_tried_earlier_than_others_on_the_whole() -> None:
    """The mean place of each arm within its block, over 1,200 blocks, is the middle but for chance."""
    plan = a_plan(tasks=[task(n, SKILLS[n % 3]) for n in range(60)], reps=20)
    places: Counter[str] = Counter()
    for _, block in groupby(order(plan), key=lambda key: (key[3], key[0])):
        for place, key in enumerate(block):
            places[key[2]] += place
    assert len(places) == 6
    # The standard error of a mean place is sqrt(35 / 12 / 1200) = 0.05.
    assert {arm: round(total / 1200, 2) for arm, total in places.items() if abs(total / 1200 - 2.5) > 0.2} == {}


def test_an_early_stop_leaves_balanced_data() -> None:
    plan = a_plan(tasks=[task(n, SKILLS[n % 3]) for n in range(9)], reps=2)
    for stop in range(6, 108, 6):
        arms = Counter(key[2] for key in order(plan)[:stop])
        assert set(arms.values()) == {stop // 6}


def test_pairs_that_cannot_be_are_left_out_with_their_reason() -> None:
    alone = task(7, None)
    plan = a_plan(tasks=[*TASKS, alone], arms=("control", "target", "negative"))
    reasons = {(pair.task, pair.arm): pair.reason for pair in plan.left_out}
    assert reasons.keys() == {("t04", "target"), ("t07", "control"), ("t07", "target"), ("t07", "negative")}
    assert "_skill" not in reasons["t07", "control"] and "arm" in reasons["t07", "control"]
    assert "target_skill" in reasons["t07", "target"] and "irrelevant_skill" in reasons["t07", "negative"]
    assert {key[0] for key in plan.keys()} == {each.id for each in TASKS}  # noqa: SIM118
    assert len(order(plan)) == 2 * (4 * 3 + 2)


def test_a_manifest_keeps_its_schema_and_knows_its_keys() -> None:
    plan = a_plan(a_model("made:a"), a_model("scripted", price=None), arms=ARMS)
    made = json.loads(json.dumps(manifest_of(plan) | {"run_id": "r", "created": "2026-01-01T00:00:00Z"}))
    Draft202012Validator(load_schema("effectiveness-manifest")).validate(made)
    assert list(frozen.keys(convert_record(made, EffectManifest))) == list(plan.keys())
    assert made["staged"]["t00"]["target_plus_one"] == ["maps-work", "notes-work"]
    assert made["staged"]["t04"] == {
        "control": [], "negative": ["tides-work"], "full": list(SKILLS), "full+hint": list(SKILLS),
    }  # fmt: skip
    assert [model["flags"] for model in made["models"]] == [["--flag"], ["--flag"]]


CHANGES = {
    "seed": (lambda: a_plan(seed=9), "seed: 1 then, 9 now"),
    "margin": (lambda: a_plan(margin=0.2), "margin: 0.1 then, 0.2 now"),
    "arms": (lambda: a_plan(arms=CONDITIONS[:3]), "arms: "),
    "timeout": (lambda: a_plan(timeout_sec=5.0), "limits: changed: timeout_sec"),
    "another file in a skill": (lambda: a_plan(skills=[skill(SKILLS[0], "Sort well."), *map(skill, SKILLS[1:])]),
        "the hash of skills differs (changed: maps-work)"),
    "a task": (lambda: a_plan(tasks=[*TASKS[:-1], replace(TASKS[-1], digest="else")]),
        "the hash of tasks differs (changed: t04)"),
    "a verifier": (lambda: a_plan(tasks=[replace(each, verifier=None) for each in TASKS]),
        "the hash of tasks differs (changed: t00, t01, t02 and 2 more)"),
    "a version of the agent": (lambda: a_plan(replace(a_model(), version="1.1")), "models: changed: made:m"),
    "the sandbox": (lambda: replace(a_plan(), sandbox=structs.replace(a_plan().sandbox, name="bubblewrap")),
        "sandbox: changed: name"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_results_rest_on_is_in_the_identity(name: str) -> None:
    change, message = CHANGES[name]
    then, now = manifest_of(a_plan()), manifest_of(change())
    assert identity(then) != identity(now)
    assert any(difference.startswith(message) for difference in differences(then, now)), differences(then, now)


def test_prices_of_the_day_and_pace_are_not() -> None:
    then = manifest_of(a_plan(a_model()))
    now = manifest_of(a_plan(a_model(price=None, cap=3.0, concurrency=1))) | {"commit": "c", "run_id": "x"}
    assert identity(then) == identity(now)


@given(
    st.text(min_size=1), st.text(min_size=1), st.sampled_from(("target", "order:7", "full+hint")), st.integers(0, 999)
)
def test_folders_of_trials_are_safe_names_and_no_two_keys_share_one(
    task_id: str, model: str, arm: str, number: int
) -> None:
    folder = folder_of((task_id, model, arm, number))
    top, _, name = folder.partition("/")
    assert top == "trials" and "/" not in name and name.isascii() and name.isprintable()
    assert len(name) < 160 and not name.startswith(".")
    others = {folder_of(key) for key in ((task_id, model, arm, number + 1), (task_id + "x", model, arm, number))}
    assert folder not in others


def test_a_seeded_order_is_the_same_on_every_machine() -> None:
    """Pinned: whoever changes the order changes what a resumed run goes on with."""
    plan = a_plan(tasks=TASKS[:2], arms=("control", "target"), reps=1)
    assert [(key[0], key[2]) for key in order(plan)] == [
        ("t00", "control"), ("t00", "target"), ("t01", "control"), ("t01", "target"),
    ]  # fmt: skip
    shuffled = random.Random(1).sample(TASKS[:2], 2)
    assert order(a_plan(tasks=shuffled, arms=("control", "target"), reps=1)) == order(plan)


@pytest.mark.parametrize(("head", "domain"), [
    ("metadata:\n  domain: Media  & Files\n  category: x", "Media & Files"),
    ("metadata:\n  category: media\ncategory: other", "media"),
    ("category: finance", "finance"),
    ("metadata: [domain]\ncategory: 7", ""),
    ("metadata:\n  domain: {a: b}", ""),
    ("category: " + "x" * 500, "x" * 80),
    ("category: ' '", ""),
    (": : [", ""),
    ("", ""),
])  # fmt: skip
def test_a_skill_is_frozen_with_its_length_and_domain(head: str, domain: str) -> None:
    data = f"---\n{head}\n---\n# Text\n".encode()
    frozen = freeze_skill(make_copy("a", "Does a.", [File("SKILL.md", data), File("b.md", b"more")]))
    assert (frozen.length, frozen.domain) == (len(data), domain)


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00", b"---\n" * 9])
def test_what_is_no_skill_file_has_no_domain(data: bytes) -> None:
    assert freeze_skill(make_copy("a", "", [File("SKILL.md", data)])).domain == ""
    assert freeze_skill(make_copy("a", "", [])).length == 0


def test_a_run_goes_on_whatever_is_written_down_beside_the_contents() -> None:
    one = freeze_skill(make_copy("a", "Does a.", [File("SKILL.md", b"---\ncategory: x\n---\n")]))
    assert skills_digest([one]) == skills_digest([replace(one, length=None, domain="")])
    assert skills_digest([one]) == digest([{"name": "a", "digest": one.digest, "description": "Does a."}])
