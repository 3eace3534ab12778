"""Votes, scores, agreement, differences between arms, and calibration: by hand, and as the commands write them."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from judge_made import criterion, parts_of, rubric, verdicts
from judge_runs import ask_one_judge, make_run, rubrics
from loopback import Loopback, Reaction, Seen, answer
from run_made import SKILLS, task
from scipy.stats import permutation_test

from skill_health.core.validation import problems
from skill_health.documents.judge_manifest import CheckedCriterion, FrozenEvidence
from skill_health.documents.judge_result import JudgedCriterion, JudgeResult
from skill_health.effectiveness.commands import calibrate, judge
from skill_health.effectiveness.judge.scores.agreement import agree, flip_rate
from skill_health.effectiveness.judge.scores.report import compare_scores, score_verdict
from skill_health.effectiveness.judge.scores.votes import VoteSheet, read_votes, score_rubric, score_trial, settle
from skill_health.effectiveness.rubric.model import Check
from skill_health.stats.estimates import Estimate

MET, NOT, TELL = "met", "not_met", "cannot_tell"
TWO = rubric(criterion("a", "apples"), criterion("b", "brooms", 3))


def trial(task_id: str = "t", replication: int = 0, twice: bool = False, checked: Any = None) -> FrozenEvidence:
    return FrozenEvidence(
        task_id=task_id, model="m", arm="control", replication=replication, folder="trials/x", digest="d", size=1,
        length=1, left_out=0, twice=twice, flags=(),
        checked=tuple(CheckedCriterion(criterion=name, met=met) for name, met in (checked or {}).items()),
    )  # fmt: skip


def vote(judge: str, said: Mapping[str, str], *, at: Any = None, number: int = 0, void: Any = ()) -> JudgeResult:
    """A vote that gives all points for what is met."""
    task_id, model, arm, replication = (at or trial()).key
    found = tuple(
        JudgedCriterion(
            criterion=name, verdict=word, points={"a": 25.0, "b": 75.0}[name] * (word == MET), evidence=(),  # type: ignore[arg-type]
            void="no_evidence" if name in void else "",
        )
        for name, word in said.items()
    )  # fmt: skip
    return JudgeResult(
        task_id=task_id, model=model, arm=arm, replication=replication, judge=judge, vote=number,
        status="finished" if found else "format_failure", verdicts=found,
    )  # fmt: skip


def sheet(results: Iterable[JudgeResult], judges: Sequence[str] = ("x", "y", "z"), votes: int = 1) -> VoteSheet:
    return read_votes({"t": TWO, "u": TWO}, judges, votes, results)


@pytest.mark.parametrize(
    ("said", "verdict", "points"),
    [
        ((MET, MET, NOT), MET, 25.0), ((MET, NOT, NOT), NOT, 0.0), ((MET, NOT, None), None, None),
        ((MET, None, None), MET, 25.0), ((None, None, None), None, None), ((TELL, TELL, MET), TELL, None),
        ((MET, NOT, TELL), None, None),
    ],
)  # fmt: skip
def test_the_majority_of_the_votes_that_count_decides(said: Sequence[Any], verdict: Any, points: Any) -> None:
    votes = [vote(judge, {} if word is None else {"a": word}) for judge, word in zip("xyz", said, strict=True)]
    found = settle(sheet(votes), trial().key, "a")
    assert (found.verdict, found.points) == (verdict, points)
    assert (found.met, found.not_met, found.cannot_tell) == (said.count(MET), said.count(NOT), said.count(TELL))
    assert found.missing == said.count(None)


def test_void_verdicts_and_repeats_are_no_votes() -> None:
    votes = [vote("x", {"a": MET}, void="a"), vote("y", {"a": NOT}), vote("z", {}), vote("y", {"a": MET}, number=1)]
    found = settle(sheet(votes), trial(twice=True).key, "a")
    assert (found.verdict, found.met, found.not_met, found.missing) == (NOT, 0, 1, 2)


def test_a_criterion_that_is_not_settled_is_missing_and_not_zero() -> None:
    found = score_trial(sheet([vote("x", {"a": MET, "b": TELL})], ["x"]), trial())
    assert (found.goal, found.instruction, found.weighted, found.coverage) == (100.0, None, 100.0, 0.25)
    nothing = score_trial(sheet([], ["x"]), trial())
    assert (nothing.goal, nothing.weighted, nothing.coverage) == (None, None, 0.0)


def test_what_checks_decided_counts_in_the_scores() -> None:
    mixed = rubric(
        criterion("a", "a"), criterion("b", "b", 3, check=Check("file_exists")),
        criterion("i", "i", 1, "instruction", check=Check("command")), goal_weight=0.75,
    )  # fmt: skip
    votes = [vote("x", {"a": MET})]

    def score(**checked: bool) -> tuple[float | None, float | None, float | None, float]:
        found = score_trial(read_votes({"t": mixed}, ["x"], 1, votes), trial(checked=checked))
        assert {each.criterion: each.met for each in found.checked} == checked
        return found.goal, found.instruction, found.weighted, found.coverage

    # a has 25 of 100 points, b 75; the coverage is that of the judge.
    assert score(b=True, i=False) == (100.0, 0.0, 75.0, 1.0)
    assert score(b=False, i=True) == (25.0, 100.0, 43.75, 1.0)
    # What a check could not tell is missing, and so is the score of a group of nothing else.
    assert score(b=False) == (25.0, None, None, 1.0)
    assert score() == (100.0, None, None, 1.0)


def test_the_weighted_score_needs_every_group() -> None:
    both = rubric(criterion("a", "a"), criterion("i", "i", 1, "instruction"), goal_weight=0.75)
    assert score_rubric(both, {"a": 100, "i": 0}).weighted == 75
    assert score_rubric(both, {"a": 100}).weighted is None
    checked = rubric(criterion("a", "a", check=Check("file")), criterion("i", "i", 1, "instruction"))
    assert score_rubric(checked, {"i": 50}).weighted is None, "what only a check decides is missing here"
    assert score_rubric(checked, {"i": 50, "a": 100}).weighted == 75
    alone = rubric(criterion("i", "i", 1, "instruction"), goal_weight=1.0)
    assert score_rubric(alone, {"i": 40}).weighted == 40


GIVEN = st.tuples(st.floats(0.01, 1e3), st.sampled_from(["goal", "instruction"]), st.none() | st.floats(0, 1))


@given(st.lists(GIVEN, min_size=1, max_size=8), st.floats(0, 1))
def test_scores_are_percent(given: list[tuple[float, str, float | None]], weight: float) -> None:
    made = [criterion(f"c{at}", "x", points, group) for at, (points, group, _) in enumerate(given)]
    whole = rubric(*made, goal_weight=weight)
    points = {each.id: each.points * share for each, (_, _, share) in zip(whole.criteria, given, strict=True) if share is not None}  # fmt: skip
    found = score_rubric(whole, points)
    for group, score in (("goal", found.goal), ("instruction", found.instruction)):
        own = [(p, share) for p, name, share in given if name == group and share is not None]
        if score is None:
            assert not own
        else:
            assert score == pytest.approx(100 * sum(p * s for p, s in own) / sum(p for p, _ in own), abs=1e-6)
    assert found.weighted is None or 0 <= found.weighted <= 100


def test_agreement_of_two_is_cohens_and_of_more_fleiss() -> None:
    trials = [trial("t", at) for at in range(3)]
    said = [(MET, MET), (MET, NOT), (NOT, NOT)]
    told = zip(trials, said, strict=True)
    results = [vote(name, {"a": word}, at=at) for at, both in told for name, word in zip("xy", both, strict=True)]
    two = agree(sheet(results, ["x", "y"]), trials, 1)
    assert (two.kind, two.raw.value, two.raw.n, two.kappa.n) == ("cohen", pytest.approx(2 / 3), 3, 3)
    # Chance: 2/3 x 1/3 + 1/3 x 2/3 = 4/9.
    assert two.kappa.value == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))
    assert [(each.task, each.criterion, each.differing, each.trials) for each in two.disputed] == [("t", "a", 1, 3)]
    third = [vote("z", {"a": word}, at=at) for at, word in zip(trials, (MET, MET, NOT), strict=True)]
    three = agree(sheet([*results, *third]), trials, 1)
    assert (three.kind, three.raw.n, three.raw.value) == ("fleiss", 9, pytest.approx(7 / 9))
    one = agree(sheet(results, ["x"]), trials, 1)
    assert (one.kind, one.raw.value) == ("", None) and one.raw.note.endswith("one judge")


def test_judges_that_say_nothing_that_counts_agree_with_nobody() -> None:
    found = agree(sheet([vote("x", {"a": MET}), vote("y", {"a": NOT}, void="a")]), [trial()], 1)
    assert (found.raw.n, found.raw.value, found.disputed) == (0, None, ())


def test_flips_are_counted_between_the_first_two_votes_of_a_judge() -> None:
    once, twice = trial("t", 0), trial("u", 1, twice=True)
    results = [
        vote("x", {"a": MET, "b": MET}, at=twice), vote("x", {"a": NOT, "b": MET}, at=twice, number=1),
        vote("y", {"a": MET, "b": NOT}, at=twice), vote("y", {"a": MET, "b": MET}, at=twice, number=1, void="b"),
        vote("x", {"a": MET}, at=once),
    ]  # fmt: skip
    votes = sheet(results, ["x", "y"])
    found = flip_rate(votes, [once, twice], ["x", "y"])
    assert (found.value, found.n) == (pytest.approx(1 / 3), 3)
    assert flip_rate(votes, [once, twice], ["y"]).value == 0
    assert flip_rate(votes, [once], ["x"]).note == "not testable: nothing was judged twice"


def test_scores_of_two_arms_are_compared_as_success_is() -> None:
    differences = [0.3, 0.1, -0.05, 0.2, 0.25, 0.0, 0.15, 0.4]
    found = compare_scores(differences, 1)
    exact = permutation_test((differences,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", vectorized=True)  # fmt: skip
    assert found.p == pytest.approx(exact.pvalue)
    assert found.value == pytest.approx(sum(differences) / 8) and found.low is not None
    assert score_verdict(found) == "higher"
    assert score_verdict(compare_scores([-each for each in differences], 1)) == "lower"
    few = compare_scores([0.5] * 5 + [0.0] * 5, 1)
    assert score_verdict(few) == "not_testable" and few.p is None and few.low is None and "5 of 10 tasks" in few.note
    assert score_verdict(compare_scores([], 1)) == "not_testable"
    assert score_verdict(Estimate(0.1, -0.1, 0.3, p=0.04)) == "no_evidence"
    assert score_verdict(Estimate(0.1, 0.01, 0.3, p=0.04, p_adjusted=0.08)) == "no_evidence"


TASKS = tuple(task(number, SKILLS[number % 3]) for number in range(10))
LENIENT, STRICT = {"t00", "t02", "t03", "t05", "t06", "t08"}, {"t01", "t04"}
"""Tasks in which the judge lies: that brooms are met in the control, and that apples are not met in the target."""


def liar(seen: Seen) -> Reaction:
    """Right but for eight of forty verdicts."""
    parts = parts_of(seen.text)
    name, control = parts["task"].removeprefix("Do ").removesuffix("."), "brooms" not in parts["diff"]
    said = verdicts(seen.text)
    if control and name in LENIENT:
        said[1] |= {"verdict": MET, "points": 75, "evidence": ["here are apples"]}
    if not control and name in STRICT:
        said[0] |= {"verdict": NOT, "points": 0, "evidence": []}
    return answer(seen, json.dumps({"criteria": said}))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of twenty trials that the liar has judged, each twice."""
    root = tmp_path_factory.mktemp("judged")
    make_run(root / "reports", tasks=TASKS, reps=1)
    with pytest.MonkeyPatch.context() as patch, Loopback(liar) as server:
        patch.chdir(root)
        patch.setattr(judge, "load_tasks_of", lambda *_: ())
        patch.setattr(judge, "rubrics_of", lambda _: rubrics(TASKS, TWO))
        done = ask_one_judge(server.url, "--repeat-share", "1")
    assert done.exit_code == 0, done.output
    return root


@pytest.fixture
def judged(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that run, which is the current folder."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def folders(where: Path) -> dict[tuple[str, str], str]:
    """The names of the trials' folders by task and arm."""
    found = [json.loads(line) for line in next(where.glob("reports/effectiveness/*/results.jsonl")).read_text().splitlines()]  # fmt: skip
    return {(row["task_id"], row["arm"]): row["folder"] for row in found}


def truth(where: Path) -> list[dict[str, str]]:
    """What people say: what is so."""
    so = {("control", "b"): NOT}
    return [
        {"trial": folder.partition("/")[2], "criterion": name, "verdict": so.get((arm, name), MET)}
        for (_, arm), folder in folders(where).items()
        for name in ("a", "b")
    ]


def hold(where: Path, labels: str, *more: str) -> Result:
    (where / more[0] if more else where / "labels.jsonl").write_text(labels, "utf-8")
    name = more[0] if more else "labels.jsonl"
    return CliRunner().invoke(calibrate.command, [name, "--format", "json"], standalone_mode=False)


def lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.slow
def test_the_accuracy_of_a_judge_is_recovered_from_forty_labels(judged: Path) -> None:
    labels = truth(judged)
    assert len(labels) == 40
    assert "Not calibrated" in next(judged.glob("reports/effectiveness/*/judging/*/report.md")).read_text()
    done = hold(judged, lines(labels))
    assert done.exit_code == 0 and done.exception is None, done.output
    (path,) = judged.glob("reports/effectiveness/*/judging/*/calibration.json")
    found = json.loads(path.read_text())
    assert list(problems("judging-calibration", found)) == []
    assert (found["labels"], found["unjudged"]) == (40, 0)
    for figures in (found["counted"], found["judges"][0]):
        accuracy = figures["accuracy"]
        assert (accuracy["value"], accuracy["n"], accuracy["clusters"]) == (0.8, 40, 10)
        assert accuracy["low"] < 0.8 < accuracy["high"]
        assert figures["leniency"]["value"] == pytest.approx((6 - 2) / 40)
        # By hand: people say met 30 times, the judge 34 times, both 28 times.
        chance = 34 / 40 * 30 / 40 + 6 / 40 * 10 / 40
        assert figures["kappa"]["value"] == pytest.approx((0.8 - chance) / (1 - chance))
        for name in ("kappa", "leniency"):
            assert figures[name]["low"] < figures[name]["value"] < figures[name]["high"]
    assert [(each["lenient"], each["strict"]) for each in found["criteria"][:4]] == [(0, 0), (1, 0), (0, 1), (0, 0)]
    report = json.loads(path.with_name("report.json").read_text())
    assert report["calibration"]["accuracy"] == found["counted"]["accuracy"]
    text = path.with_name("report.md").read_text()
    assert "Not calibrated" not in text and "Held against 40 verdicts of people: accuracy 80.0 % (" in text


@pytest.mark.slow
def test_labels_may_come_in_any_order_and_as_a_table(judged: Path) -> None:
    labels = truth(judged)
    found = [hold(judged, lines(labels)).stdout, hold(judged, lines(labels[::-1])).stdout]
    with (judged / "t.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["note", "trial", "verdict", "criterion"])
        writer.writeheader()
        writer.writerows({**row, "note": 'seen, "twice"', "trial": f"trials/{row['trial']}/"} for row in labels)
    table = CliRunner().invoke(calibrate.command, ["t.csv", "--format", "json"], standalone_mode=False).stdout
    assert found[0] == found[1] == table


@pytest.mark.slow
def test_length_and_place_of_errors_are_told(judged: Path) -> None:
    """The lies on the second criterion outnumber those on the first: the slope on the place is negative."""
    found = json.loads(hold(judged, lines(truth(judged))).stdout)["counted"]
    assert found["by_position"]["value"] < 0 and found["by_position"]["n"] == 40
    # Right of twenty: 18 on the first criterion, 14 on the second.
    assert found["by_position"]["value"] == pytest.approx(math.log(14 / 6) - math.log(18 / 2))
    assert found["by_length"]["value"] is not None or found["by_length"]["note"]


@pytest.mark.slow
def test_a_human_who_cannot_tell_is_an_answer_and_what_is_not_settled_is_missing(judged: Path) -> None:
    labels = truth(judged)
    labels[0]["verdict"] = TELL
    found = json.loads(hold(judged, lines(labels[:4])).stdout)
    assert found["labels"] == 4 and found["counted"]["accuracy"]["n"] == 4
    (path,) = judged.glob("reports/effectiveness/*/judging/*/results.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    task, arm = next(key for key, folder in folders(judged).items() if folder.endswith(labels[0]["trial"]))
    path.write_text(lines(row for row in rows if (row["task_id"], row["arm"]) != (task, arm)))
    found = json.loads(hold(judged, lines(labels[:4])).stdout)
    assert (found["labels"], found["unjudged"]) == (2, 2)


WRONG = [
    ("", "labels.jsonl"),
    ("{\n", "labels.jsonl:1: "),
    ('{"trial": "x"}\n', "labels.jsonl:1: a label has trial, criterion, verdict, each a text"),
    ('{"trial": "x", "criterion": 1, "verdict": "met"}\n', "each a text"),
    ('{"trial": "x", "criterion": "a", "verdict": "yes"}\n', 'the verdict is "yes"; write met, not_met, cannot_tell'),
    ('{"trial": "x", "criterion": "a", "verdict": "met"}\n', 'labels.jsonl:1: "x" is no folder of a trial'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), WRONG)
def test_labels_that_are_none_are_said_with_their_line(judged: Path, text: str, why: str) -> None:
    done = hold(judged, text)
    assert why in str(done.exception) and "\n" not in str(done.exception)
    assert not list(judged.glob("reports/effectiveness/*/judging/*/calibration.json"))


@pytest.mark.slow
def test_more_labels_that_are_none(judged: Path) -> None:
    one = truth(judged)[0]
    assert "a second label of" in str(hold(judged, lines([one, one])).exception)
    other = hold(judged, lines([one | {"criterion": "c"}]))
    assert 'labels.jsonl:1: "c" is no judged criterion of t00; it has a, b' in str(other.exception)
    assert "there is no column criterion or verdict" in str(hold(judged, "trial\nx\n", "t.csv").exception)
    assert "is no CSV file in UTF-8" in str(hold(judged, 'trial,criterion,verdict\n"x\n', "t.csv").exception)
    missing = CliRunner().invoke(calibrate.command, ["none.jsonl"], standalone_mode=False)
    assert "cannot read none.jsonl" in str(missing.exception)
