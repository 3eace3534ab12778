"""Two runs against each other: what is compared, what is refused, and whether the numbers are right."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from made_runs import SKILLS, checked, frozen, manifest, prompt, put_run, replace, result, simulate, values

from skill_health.commands.router import command
from skill_health.core.errors import UsageError
from skill_health.core.validation import load_schema
from skill_health.documents._record import convert_record
from skill_health.documents.router_comparison import RouterComparisonReport
from skill_health.documents.router_manifest import SweepSelection
from skill_health.router.compare.comparable import changed_skills
from skill_health.router.compare.compare import compare, contrast
from skill_health.router.compare.document import apart, document
from skill_health.router.records import NONE, ListedSkill, Prompt, RoutingResult
from skill_health.router.runs import RouterRun
from skill_health.router.scores.judge import read_facts
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock, as_markdown, as_text

Answer = Callable[[random.Random, Prompt, tuple[str, ...]], Sequence[str]]


def made(given: dict[str, Any], results: Sequence[RoutingResult], check: dict[str, Any] | None = None) -> RouterRun:
    manifest_ = frozen(given)
    return RouterRun(manifest_.run_id, manifest_, read_facts(manifest_), tuple(results), checked(check))


def later(given: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The manifest of a second run of the same."""
    return copy.deepcopy(given) | {"run_id": "20260516T120000Z-def", "created": "2026-05-16T12:00:00Z"} | more


def right(rate: float, labels: Sequence[str] = (*SKILLS, NONE)) -> Answer:
    """A model that is right so often, and else names another."""

    def answer(rng: random.Random, each: Prompt, order: tuple[str, ...]) -> Sequence[str]:
        target = each.expected or NONE
        return [target] if rng.random() < rate else [rng.choice([name for name in labels if name != target]), target]

    return answer


def prompts(n: int, family: int = 1) -> list[Prompt]:
    """Prompts of all targets; `family` of them share one."""
    labels = [*SKILLS, None]
    return [prompt(f"p{at:03}", labels[at % 5], family=f"f{at // family}" if family > 1 else "") for at in range(n)]


def compared(run: RouterRun, baseline: RouterRun, max_loss: float = 0.02, **more: Any) -> dict[str, Any]:
    """A comparison, checked against the published schema."""
    found = values(compare(run, baseline, max_loss, **more))
    Draft202012Validator(load_schema("router-comparison")).validate(json.loads(json.dumps(found, allow_nan=False)))
    return found


def blocks(found: dict[str, Any]) -> Iterator[Block]:
    return document(convert_record(found, RouterComparisonReport))


def group(found: dict[str, Any], at: int = 0) -> dict[str, Any]:
    only: dict[str, Any] = found["models"][at]["groups"][0]
    return only


@pytest.mark.slow
def test_the_schemas_are_schemas_and_say_what_their_fields_mean() -> None:
    for name in ("router-manifest", "router-result", "router-attempt", "router-history", "router-comparison"):
        schema = dict(load_schema(name))
        Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"skill-health/{name}/1"
        assert [key for key, part in schema["properties"].items() if not part.get("description")] == []


def test_by_hand() -> None:
    """Four prompts, two of one family, three replications: every number computed on paper."""
    asked = [prompt("a", "alpha"), prompt("b", "beta"), prompt("c", "gamma", family="f"), prompt("d", None, family="f")]
    base = manifest(asked, replications=3)

    def three(name: str, *rankings: str) -> list[RoutingResult]:
        return [result(name, ranking.split(), replication=at) for at, ranking in enumerate(rankings)]

    before = [
        *three("a", "alpha", "alpha", "alpha"),
        *three("b", "beta", "alpha beta", "alpha beta"),
        *three("c", "gamma", "gamma", "none"),
        *three("d", "none", "none", "none"),
    ]
    after = [
        *three("a", "beta alpha", "beta alpha", "alpha"),
        *three("b", "beta", "beta", "beta"),
        *three("c", "gamma", "gamma", "gamma"),
        *three("d", "delta alpha beta none", "", "none"),
    ]
    found = group(compared(made(later(base), after), made(base, before)))
    top1 = found["metrics"]["top1"]
    # a: 1 -> 1/3, b: 1/3 -> 1, c: 2/3 -> 1, d: 1 -> 1/3
    assert (top1["before"], top1["after"]) == (pytest.approx(0.75), pytest.approx(2 / 3))
    assert top1["difference"]["value"] == pytest.approx(-1 / 12)
    # Clusters: a -2/3, b +2/3, f: 1/3 - 2/3. Of the eight sign patterns six give a sum at least as far from 0 as -1/3.
    assert top1["difference"]["p"] == pytest.approx(1.0)
    assert (top1["difference"]["n"], top1["difference"]["clusters"], top1["moved"]) == (4, 3, 3)
    assert (found["better"], found["worse"]) == (2, 2)
    mrr = found["metrics"]["mrr"]
    assert mrr["before"] == pytest.approx((1 + (1 + 0.5 + 0.5) / 3 + 2 / 3 + 1) / 4)
    assert mrr["after"] == pytest.approx(((0.5 + 0.5 + 1) / 3 + 1 + 1 + (0.25 + 0 + 1) / 3) / 4)
    top3 = found["metrics"]["top3"]
    assert (top3["before"], top3["after"]) == (pytest.approx((3 + 2 / 3) / 4), pytest.approx((3 + 1 / 3) / 4))
    abstained = found["metrics"]["abstained"]
    assert (abstained["before"], abstained["after"]) == (pytest.approx((1 / 3 + 1) / 4), pytest.approx(1 / 3 / 4))
    assert found["flips"] == [
        {
            "prompt_id": "a", "expected": "alpha", "kind": "lost",
            "before": {"answer": "alpha", "valid": True, "calls": 3, "of": 3},
            "after": {"answer": "beta", "valid": True, "calls": 2, "of": 3},
        },
        {
            "prompt_id": "b", "expected": "beta", "kind": "won",
            "before": {"answer": "alpha", "valid": True, "calls": 2, "of": 3},
            "after": {"answer": "beta", "valid": True, "calls": 3, "of": 3},
        },
    ]  # fmt: skip
    assert [(skill["skill"], skill["before"], skill["after"]) for skill in found["skills"]] == [
        ("alpha", 1, pytest.approx(1 / 3)),
        ("beta", pytest.approx(1 / 3), 1),
        ("gamma", pytest.approx(2 / 3), 1),
        (NONE, 1, pytest.approx(1 / 3)),
    ]


def test_a_failure_is_an_answer_that_flips() -> None:
    base = manifest([prompt("a", "alpha")])
    found = compared(made(later(base), [result("a")]), made(base, [result("a", ["alpha"])]))
    assert group(found)["flips"][0]["after"] == {"answer": "format_failure", "valid": False, "calls": 1, "of": 1}
    assert "a: alpha -> format failure\n" in as_text(blocks(found))


def test_only_what_both_runs_scored_counts_and_the_rest_is_said() -> None:
    base = manifest(prompts(20))
    before = [result(each.prompt_id, [each.expected or NONE]) for each in prompts(20)]
    after = list(before[:15])
    after += [result(each.prompt_id, status="provider_error") for each in prompts(20)[15:19]]
    found = compared(made(later(base), after), made(base, before))
    only = group(found)
    assert (only["prompts"], only["unpaired"], only["metrics"]["top1"]["after"]) == (15, 5, 1.0)
    assert only["metrics"]["top1"]["difference"]["value"] == 0
    assert found["cautions"] == [
        "maker:one in 20260516T120000Z-def: 25.0% of 20 calls are missing (provider_error 4, not_run 1)"
    ]


def test_prompts_without_a_right_answer_are_not_compared() -> None:
    asked = [prompt("a", "alpha"), prompt("b", None, known=False, rejected=("alpha",)), prompt("c", "gone")]
    base = manifest(asked)
    results = [result(each.prompt_id, ["alpha"]) for each in asked]
    found = compared(made(later(base), results), made(base, results))
    assert group(found)["prompts"] == 1
    assert found["prompts"] == {"common": 3, "only_run": [], "only_baseline": 0, "not_testable": 2}
    plan = base | {"template": {"name": "plan", "version": "1", "digest": "q", "none_allowed": False}}
    plan["prompts"] = manifest([prompt("a", "alpha"), prompt("n", None)])["prompts"]
    both = [result("a", ["alpha"]), result("n", ["alpha"])]
    found = compared(made(later(plan), both), made(plan, both))
    assert (group(found)["prompts"], "abstained" in group(found)["metrics"]) == (1, False)


@pytest.mark.slow
def test_a_loss_that_counts() -> None:
    base = manifest(prompts(60), models=["maker:one", "maker:two"])
    answers: dict[str, Answer] = {"maker:one": right(0.9), "maker:two": right(0.9)}
    before = simulate(base, answers, seed=1)
    after = simulate(later(base), answers | {"maker:one": right(0.5)}, seed=2)
    found = compared(made(later(base), after), made(base, before))
    assert [lost["model"] for lost in found["lost"]] == ["maker:one"]
    top1 = group(found)["metrics"]["top1"]["difference"]
    assert found["lost"][0]["by"] == -top1["value"] > 0.2
    assert top1["low"] < top1["value"] < top1["high"] < 0
    assert top1["p"] <= top1["p_adjusted"] <= 0.05
    assert "Loss: maker:one loses" in as_text(blocks(found))
    assert compared(made(later(base), after), made(base, before), max_loss=0.9)["lost"] == []
    # The same gain is no loss.
    assert compared(made(later(base), before), made(base, after))["lost"] == []


def test_holm_covers_models_and_groups() -> None:
    base = manifest(prompts(40), models=["maker:one", "maker:two"])
    answers: dict[str, Answer] = {"maker:one": right(0.8), "maker:two": right(0.8)}
    before, after = simulate(base, answers, seed=1), simulate(later(base), answers, seed=2)
    parts = {"affected": [f"p{n:03}" for n in range(25)], "controls": [f"p{n:03}" for n in range(25, 40)] + ["gone"]}
    found = compared(made(later(base), after), made(base, before), groups=parts)
    groups = [each for model in found["models"] for each in model["groups"]]
    assert [(each["group"], each["prompts"]) for each in groups] == [("affected", 25), ("controls", 15)] * 2
    ps = sorted(
        (each["metrics"]["top1"]["difference"]["p"], each["metrics"]["top1"]["difference"]["p_adjusted"])
        for each in groups
    )
    smallest, adjusted = ps[0]
    assert adjusted == pytest.approx(min(1, smallest * 4))
    assert all(p <= q for p, q in ps)


@pytest.mark.slow
def test_equal_models_are_seldom_told_apart() -> None:
    """Type I error of the gate, over families with difficulties of their own and three replications."""
    asked = prompts(45, family=3)
    base = manifest(asked, replications=3)

    def hard(rng: random.Random, each: Prompt, order: tuple[str, ...]) -> Sequence[str]:
        ease = random.Random(each.family).choice([0.2, 0.9, 0.97])
        return right(ease)(rng, each, order)

    false = 0
    for trial in range(40):
        before = simulate(base, {"maker:one": hard}, seed=trial)
        after = simulate(base, {"maker:one": hard}, seed=1000 + trial)
        found = group(values(compare(made(later(base), after), made(base, before), 0.0)))
        false += (found["metrics"]["top1"]["difference"].get("p") or 1.0) <= 0.05
    # Expected 2 of 40; 7 or more have a chance below 0.4 %.
    assert false < 7


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mode": "json_schema"}, "the mode is json_schema and was text: run one of them again with --mode text"),
        ({"listing": "codex"}, "the listing is codex and was full: "),
        (
            {"template": {"name": "plan", "version": "2", "digest": "0123456789", "none_allowed": False}},
            "the template is plan 2 (01234567) and was none 1 (d): ",
        ),
        (
            {"template": {"name": "plan", "version": None, "digest": None, "none_allowed": False}, "imported": True},
            "the template is plan and was none 1 (d): what an imported run asked is not known",
        ),
        ({"prompts": manifest([prompt("p000", "beta"), prompt("p001", "beta")])["prompts"]}, "of p000 differ (1 of 2 common"),
        ({"prompts": manifest([prompt("p000", "alpha", text="x")])["prompts"]}, "the text or the labels of p000 differ"),
        ({"prompts": manifest([prompt("p000", "alpha", rejected=("beta",))])["prompts"]}, "the labels of p000 differ"),
        ({"prompts": manifest([prompt("new", "alpha")])["prompts"]}, "they have no prompt in common"),
        ({"models": manifest([], ["maker:other"])["models"]}, "no model in common: run maker:one again with --models"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_compared_is_refused_with_the_way_out(change: dict[str, Any], said: str) -> None:
    base = manifest(prompts(10))
    with pytest.raises(UsageError) as refused:
        compare(made(later(base, **change), []), made(base, []), 0.02)
    assert str(refused.value).startswith("20260516T120000Z-def cannot be compared with 20260515T120000Z-abc: ")
    assert said in str(refused.value)


def test_what_may_differ_is_compared_and_said() -> None:
    base = manifest(prompts(10))
    base["hashes"]["bodies"] = "b"
    other = later(base, seed=2, orders="plan", index="body", tool_version="0.2", replications=2)
    other["hashes"]["bodies"] = "c"
    other["prompts"] = [
        each | {"tags": ["x"], "split": "test", "reason": "r", "family": "g"} for each in other["prompts"]
    ]
    both = [result(each.prompt_id, ["alpha"], resolved_model="one-1") for each in prompts(10)]
    renamed = [result(each.prompt_id, ["alpha"], resolved_model="one-2") for each in prompts(10)]
    found = compared(made(other, renamed), made(base, both))
    assert found["differences"] == [
        "the orders of presentation are others: seed 1 -> 2",
        "the orders of presentation are others: cyclic -> plan",
        "replications 1 -> 2",
        "local routers read description -> body",
        "skill-health 0.1 -> 0.2",
        "local routers may read more of a skill than its description, and that has changed",
    ]
    assert "maker:one is another model now: one-1 -> one-2" in found["cautions"]
    assert found["models"][0]["resolved"] == {"before": ["one-1"], "after": ["one-2"]}


def test_imported_runs_compare_with_each_other() -> None:
    plan = manifest(
        prompts(4), imported=True, template={"name": "plan", "version": None, "digest": None, "none_allowed": False}
    )
    both = [result(each.prompt_id, ["alpha"]) for each in prompts(4)]
    found = compared(made(later(plan), both), made(plan, both))
    assert found["differences"] == ["the templates of imported runs are not known, and taken for the same"]


def test_untrusted_and_simulated_models_are_said() -> None:
    base = manifest(prompts(4), models=[{"spec": "scripted", "kind": "simulated"}])
    both = [result(each.prompt_id, ["alpha"], "scripted") for each in prompts(4)]
    verdict = {"model": "scripted", "trusted": False, "failed": True}
    check = {"planted": [verdict], "finished": []}
    found = compared(made(later(base), both, check), made(base, both))
    assert found["cautions"] == [
        "scripted is not to be trusted in 20260516T120000Z-def: the instrument check failed",
        "scripted is simulated: no model was asked",
    ]


def lost_of(count: int, kind: str, n: int = 60, models: int = 1) -> dict[str, Any]:
    """A comparison in which each model loses so many of n prompts."""
    asked = prompts(n)
    specs = [f"maker:{at}" for at in range(models)]
    base = manifest(asked, models=[{"spec": spec, "kind": kind} for spec in specs])
    before = [result(each.prompt_id, [each.expected or NONE], spec) for each in asked for spec in specs]
    wrong = {each.prompt_id for each in [each for each in asked if each.expected != "alpha"][:count]}
    after = [
        result(each.prompt_id, ["alpha"] if each.prompt_id in wrong else [each.expected or NONE], spec)
        for each in asked
        for spec in specs
    ]
    return compared(made(later(base), after), made(base, before))


def test_too_few_prompts_for_any_test_are_said_in_the_verdict() -> None:
    found = lost_of(3, "provider", 10)
    assert found["lost"] == [] and found["cautions"] == []
    assert found["powerless"] == [{"model": "maker:0", "group": "all", "moved": 3, "p": 0.25}]
    assert group(found)["metrics"]["top1"]["difference"]["low"] is None
    shown = as_text(blocks(found))
    assert "top-1 changed on too few independent prompts: maker:0 (3). Read the flips." in shown.partition("Verdict")[2]


@pytest.mark.parametrize(("count", "models", "least"), [(5, 1, 0.0625), (6, 1, None), (6, 2, 0.0625), (7, 2, None)])
def test_what_can_be_significant_depends_on_how_much_is_tested(count: int, models: int, least: float | None) -> None:
    """Six losses are enough for one test (2 of 64 sign patterns), not for the first of two."""
    found = lost_of(count, "provider", models=models)
    assert [each["p"] for each in found["powerless"]] == ([] if least is None else [least] * models)
    assert len(found["lost"]) == (models if least is None else 0)


@pytest.mark.parametrize(
    ("count", "n", "fails"),
    [(1, 60, False), (2, 60, True), (4, 60, True), (2, 100, False), (3, 100, True), (0, 60, False), (1, 10, True)],
)
def test_what_a_local_router_loses_is_no_chance(count: int, n: int, fails: bool) -> None:
    """The same loss of a model that may answer otherwise next time needs a test, and has none."""
    found = lost_of(count, "local", n)
    assert [(each["how"], each["lost"], each["won"], each["of"]) for each in found["lost"]] == (
        [("computed", count, 0, n)] if fails else []
    )
    assert lost_of(count, "provider", n)["lost"] == []
    shown = as_text(blocks(found)).partition("Verdict")[2]
    assert (f"Loss: maker:0 has {count} prompts fewer right ({count} lost, 0 won)" in shown) == fails
    assert f"maker:0 {f'{count} lost, 0 won' if count else 'no change'}." in shown
    assert "Not testable" not in shown


def test_a_local_router_may_win_what_it_loses() -> None:
    asked = prompts(20)
    base = manifest(asked, models=[{"spec": "lexical:x", "kind": "local"}])
    right = [result(each.prompt_id, [each.expected or NONE], "lexical:x") for each in asked]
    wrong = [result(each.prompt_id, ["delta" if each.expected != "delta" else "alpha"], "lexical:x") for each in asked]
    found = compared(made(later(base), [*right[:10], *wrong[10:]]), made(base, [*wrong[:10], *right[10:]]))
    assert (group(found)["better"], group(found)["worse"], found["lost"]) == (10, 10, [])


def test_groups_of_a_local_router_are_counted_together_over_what_they_were_selected_from() -> None:
    asked = prompts(20)
    base = manifest(asked, models=[{"spec": "lexical:x", "kind": "local"}])
    before = [result(each.prompt_id, [each.expected or NONE], "lexical:x") for each in asked]
    after = [*(result(each.prompt_id, ["delta"], "lexical:x") for each in asked[:2]), *before[2:]]
    parts = {"affected": ["p000", "p002"], "controls": ["p001", "p004"]}
    runs = made(later(base), after), made(base, before)
    for testable, fails in ((200, False), (99, True)):
        swept = SweepSelection(since="x", changed=(), affected=(), controls=(), of=testable, testable=testable)
        found = values(contrast(*runs, 0.02, parts, swept))
        assert [each["of"] for each in found["lost"]] == ([testable] if fails else [])
        assert not fails or (found["lost"][0]["lost"], found["lost"][0]["group"]) == (2, "all")


def test_nothing_new_takes_one_line() -> None:
    found = lost_of(0, "local", 10)
    shown = as_text(blocks(found))
    assert "The same as before: top-1 1.000, top-3 1.000, MRR 1.000, abstained 0.200.\n" in shown
    assert "p corrected" not in shown


def test_thresholds_that_moved_are_said() -> None:
    base = manifest(prompts(4), models=[{"spec": "lexical:x", "kind": "local", "settings": {"threshold": 1.5}}])
    other = later(base)
    other["models"][0]["settings"] = {"threshold": 1.25}
    found = compared(made(other, []), made(base, []))
    (moved,) = found["differences"]
    assert moved.startswith("lexical:x ") and moved.endswith(": 1.5 -> 1.25")


def test_a_skill_of_one_side_only_is_named() -> None:
    asked = [prompt("a", "alpha"), prompt("n", "new")]
    base = manifest(asked)
    other = later(base, catalogue=manifest([], skills=(*SKILLS, "new"))["catalogue"])
    both = [result("a", ["alpha"]), result("n", ["new"])]
    (said,) = compared(made(other, both), made(base, [*both[:1], result("n", ["alpha"])]))["cautions"]
    assert said == ("1 prompt (n) expects new, which the baseline does not have: there is nothing to compare it with")


def test_labels_beside_the_right_answer_may_change_between_sweeps() -> None:
    asked = [prompt("a", "alpha"), prompt("b", "beta", rejected=("old",)), prompt("c", "gamma")]
    base = manifest(asked)
    other = later(base)
    other["prompts"][1]["rejected"], other["prompts"][2]["expected"] = ["alpha"], "delta"
    both = [result(each.prompt_id, ["alpha"]) for each in asked]
    found = values(contrast(made(other, both), made(base, both), 0.02))
    assert (found["prompts"]["common"], found["prompts"]["only_run"]) == (2, ["c"])


def test_changed_texts() -> None:
    old = [
        ListedSkill("a", "Cut he", description="Cut here."),
        ListedSkill("b", "Same."),
        ListedSkill("c", "Old.", description="Old."),
        ListedSkill("d", "Gone."),
    ]
    new = [
        ListedSkill("a", "Cut", description="Cut here."),
        ListedSkill("b", "Same.", body="New."),
        ListedSkill("c", "New.", description="New."),
        ListedSkill("e", "Come."),
    ]
    found = changed_skills(old, new)
    assert [(each.name, each.kind, each.before, each.after, each.cut) for each in found] == [
        ("a", "edited", "Cut he", "Cut", True),
        ("c", "edited", "Old.", "New.", False),
        ("d", "removed", "Gone.", "", False),
        ("e", "added", "", "Come.", False),
    ]
    assert [each.name for each in changed_skills(old, new, bodies=True)] == ["a", "b", "c", "d", "e"]
    assert changed_skills(old, reversed(old)) == ()


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("Sorts lists of plums.", "Sorts lists of pears.", ("… of plums.", "… of pears.")),
        ("Sorts lists.", "Sorts all the lists.", ("Sorts lists.", "Sorts all the lists.")),
        ("a b c d e", "a b d e", ("… b c d …", "… b d …")),
        ("same", "same", ("same", "same")),
        ("", "new", ("", "new")),
        ("a a a", "a a", ("… a a", "… a")),
    ],
)  # fmt: skip
def test_what_differs_is_shown_with_a_word_on_either_side(old: str, new: str, shown: tuple[str, str]) -> None:
    assert apart(old, new) == shown


@given(st.text("ab ", max_size=12), st.text("ab ", max_size=12))
def test_what_differs_is_never_lost(old: str, new: str) -> None:
    one, other = apart(old, new)
    assert (one != other) == (old.split() != new.split())


@given(st.randoms(use_true_random=False))
def test_the_order_of_results_does_not_matter(rng: random.Random) -> None:
    base = manifest(prompts(12, family=2), replications=2)
    before, after = (simulate(base, {"maker:one": right(0.6)}, seed=seed) for seed in (1, 2))
    expected = compare(made(later(base), after), made(base, before), 0.02)
    rng.shuffle(before)
    rng.shuffle(after)
    assert compare(made(later(base), after), made(base, before), 0.02) == expected


@pytest.mark.slow
def test_two_models_of_one_run_or_of_two_are_compared_prompt_by_prompt() -> None:
    """The figures are those of the same answers given under one name."""
    base = manifest(prompts(60), models=["maker:one", "maker:two"])
    answers = {"maker:one": right(0.5), "maker:two": right(0.9)}
    results = simulate(base, answers, seed=3)
    run = made(base, results)
    (found,) = compare(run, run, 0.02, models=("maker:one", "maker:two")).models
    assert (found.model, found.against) == ("maker:one", "maker:two")
    alone = manifest(prompts(60))
    mine = [each for each in results if each.model == "maker:one"]
    theirs = [replace(each, model="maker:one") for each in results if each.model == "maker:two"]
    (same,) = compare(made(later(alone), mine), made(alone, theirs), 0.02).models
    assert values(found.groups) == values(same.groups)
    assert found.groups[0].metrics["top1"].difference.value == pytest.approx(
        found.groups[0].metrics["top1"].after - found.groups[0].metrics["top1"].before
    )
    second = made(later(manifest(prompts(60), models=["maker:two"])), [r for r in results if r.model == "maker:two"])
    (across,) = compare(run, second, 0.02, models=("maker:one", "maker:two")).models
    assert values(across.groups) == values(found.groups)
    text = as_text(document(compare(run, second, 0.02, models=("maker:one", "maker:two"))))
    assert "maker:one against maker:two: 60 prompts" in text
    with pytest.raises(UsageError, match="did not ask maker:six, but maker:one, maker:two"):
        compare(run, run, 0.02, models=("maker:one", "maker:six"))


def test_of_a_local_router_and_a_model_the_difference_is_chance() -> None:
    base = manifest(prompts(40), models=[{"spec": "lexical:tfidf", "kind": "local"}, "maker:one"])
    results = simulate(base, {"lexical:tfidf": right(0.8), "maker:one": right(0.9)}, seed=1)
    run = made(base, results)
    for models in (("lexical:tfidf", "maker:one"), ("maker:one", "lexical:tfidf")):
        found = compare(run, run, 0.0, models=models)
        assert found.models[0].kind == "provider"
        assert {loss.how for loss in found.lost} <= {"significant"}


def test_the_command_needs_something_to_compare_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    base = manifest(prompts(40), models=["maker:one", "maker:two"])
    put_run(tmp_path, base, simulate(base, {"maker:one": right(0.9), "maker:two": right(0.9)}, seed=1))

    def call(*more: str) -> Any:
        arguments = ["compare", "20260515T120000Z-abc", *more, "--out", str(tmp_path)]
        return CliRunner().invoke(command, arguments, standalone_mode=False)

    assert "maker:one against maker:two" in call("--model", "maker:one", "--against", "maker:two").output
    for more in ((), ("--model", "maker:one")):
        assert "Name a BASELINE" in str(call(*more).exception)
    assert "--against needs --model" in str(call("--against", "maker:one").exception)


@pytest.mark.parametrize(("format_", "begins"), [("text", "Router: 2026"), ("md", "# Router: 2026"), ("json", "{\n ")])
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str, begins: str) -> None:
    monkeypatch.chdir(tmp_path)
    base = manifest(prompts(40))
    put_run(tmp_path, base, simulate(base, {"maker:one": right(0.95)}, seed=1))
    put_run(tmp_path, later(base), simulate(later(base), {"maker:one": right(0.4)}, seed=2))

    def call(*more: str) -> Any:
        arguments = ["compare", *more, "--out", str(tmp_path), "--format", format_]
        return CliRunner().invoke(command, arguments, standalone_mode=False)

    done = call("20260516T120000Z-def", str(tmp_path / "router" / "20260515T120000Z-abc" / "manifest.json"))
    assert (done.exception, done.return_value, done.output[: len(begins)]) == (None, 1, begins)
    assert call("20260516T120000Z-def", "20260515T120000Z-abc", "--max-loss", "1").return_value == 0
    if format_ == "json":
        Draft202012Validator(load_schema("router-comparison")).validate(json.loads(done.output))
    wrong = call("20260516T120000Z-deg", "20260515T120000Z-abc")
    assert isinstance(wrong.exception, UsageError)
    assert "did you mean 20260516T120000Z-def?" in str(wrong.exception)


@pytest.mark.parametrize(
    "damage",
    [
        "{", "[]", '{"kind": "router"}', '{"kind": "effectiveness"}',
        json.dumps(manifest([]) | {"mode": "loud"}), json.dumps(manifest([]) | {"models": {}}),
        json.dumps(manifest([]) | {"prompts": [{"prompt_id": 7}]}), json.dumps(manifest([]) | {"template": None}),
        json.dumps(manifest([]) | {"run_id": "../x"}),
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_a_damaged_manifest_is_a_mistake_and_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "manifest.json").write_text(damage, encoding="utf-8")
    done = CliRunner().invoke(command, ["compare", str(folder), str(folder)], standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert str(folder) in str(done.exception)


def test_nothing_of_a_run_is_markup_or_control() -> None:
    evil = "evil\x1b[31m`<b>](http://x.example)\n# head"
    base = manifest([prompt(evil, evil)], skills=(evil, "beta"))
    other = later(base)
    other["catalogue"][0]["text"] = evil
    found = compared(made(other, [result(evil, ["beta"])]), made(base, [result(evil, [evil])]))
    for text in (as_text(blocks(found)), as_markdown(blocks(found))):
        assert "\x1b" not in text
        assert "\n# head" not in text
    assert "<b>" not in as_markdown(blocks(found))
    assert "](http" not in as_markdown(blocks(found))


def test_blocks() -> None:
    items = [Items(["a", "b", "c"], most=2), Items([])]
    blocks = [TitleBlock("T", 1), Sentence("S", strong=True), *items, Table(["", "n"], [["x", "10"]])]
    assert as_text(blocks) == "T\nS\n  a\n  b\n  and 1 more\n      n\n  x  10\n"
    long = Table(["a"], [["1"], ["2"], ["3"]], most=1)
    assert as_text([long]) == "  a\n  1\n  and 2 more\n"
    assert as_markdown([long]).endswith("| 3 |\n")
    assert as_markdown(blocks) == "# T\n\n**S**\n\n- a\n- b\n- c\n\n|  | n |\n|---|---:|\n| x | 10 |\n"
