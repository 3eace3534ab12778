"""Several judgings of one run, and a calibration that holds for further judgings by the same judges."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from judge_made import criterion, reply, rubric
from judge_runs import WORDS, TrialKey, judge, make_run, rubrics, settings
from loopback import Loopback, Reaction, Seen, answer
from nursery import rows
from run_made import SKILLS, task

from skill_health.core.validation import problems
from skill_health.effectiveness.commands import calibrate, judges
from skill_health.effectiveness.commands import judge as command

TASKS = [task(number, SKILLS[number % 3]) for number in range(12)]
TWO = rubric(criterion("a", "apples"), criterion("b", "brooms"))
FAMILIES = ("--family", "one:m=qwen", "--family", "two:m=mistral")
CAP = ("--max-runs", "999", "--repeat-share", "0")


@pytest.fixture(autouse=True)
def with_rubrics(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "load_tasks_of", lambda *_: ())
    monkeypatch.setattr(command, "rubrics_of", lambda _: rubrics(TASKS, TWO))
    monkeypatch.chdir(tmp_path)


def work(key: TrialKey) -> tuple[str, ...]:
    """Of every third task the control says both words as well."""
    return WORDS if key[2] == "target" or int(key[0][1:]) % 3 == 0 else WORDS[:1]


def strict(seen: Seen) -> Reaction:
    """A judge that wants more than brooms in every fourth task."""
    said = json.loads(reply(seen.text))
    if any(f"Do t{number:02}." in seen.text for number in range(0, 12, 4)):
        said["criteria"][1] |= {"verdict": "not_met", "points": 0, "evidence": []}
    return answer(seen, json.dumps(said))


def go(url: str, out: str, *more: str, judge_: str = "one:m") -> Result:
    Path("s.toml").write_text(settings(url, "one", "two"), "utf-8")
    given = ["last", "--judges", judge_, *FAMILIES, "--config", "s.toml", "--out", out, "--quiet", *CAP, *more]
    return CliRunner().invoke(command.command, given, standalone_mode=False)


def either(seen: Seen) -> Reaction:
    return strict(seen) if seen.path.startswith("/two/") else judge(seen)


def compared(out: str, format_: str = "json") -> Result:
    return CliRunner().invoke(judges.command, ["last", "--out", out, "--format", format_], standalone_mode=False)


def cohen(said: list[tuple[str, str]]) -> float:
    """Cohen's kappa by its formula."""
    ones, others = (Counter(pair[side] for pair in said) for side in (0, 1))
    chance = sum(ones[word] * others[word] for word in ones) / len(said) ** 2
    return (sum(one == other for one, other in said) / len(said) - chance) / (1 - chance)


@pytest.mark.slow
def test_two_judgings_of_a_run_are_kept_and_their_agreement_can_be_had(tmp_path: Path) -> None:
    make_run(tmp_path / "reports", work, tasks=TASKS, reps=1)
    with Loopback(either) as server:
        assert go(server.url, "reports", "--time", "2026-03-02T00:00:00Z").exit_code == 0
        assert go(server.url, "reports", "--time", "2026-03-03T00:00:00Z", judge_="two:m").exit_code == 0
    done = compared("reports")
    assert done.exit_code == 0, done.exception
    found = json.loads(done.stdout)
    assert list(problems("judging-comparison", found)) == []
    assert [line["judges"] for line in found["judgings"]] == [["one:m"], ["two:m"]]
    (pair,) = found["pairs"]
    said = [(verdict, other) for verdict, other in both(tmp_path)]
    assert pair["shared"] == len(said) == 12 * 2 * 2
    agreement = pair["agreement"]
    assert agreement["raw"]["value"] == pytest.approx(sum(one == other for one, other in said) / len(said))
    assert agreement["kappa"]["value"] == pytest.approx(cohen(said))
    assert agreement["kappa"]["low"] < agreement["kappa"]["value"] < agreement["kappa"]["high"]
    assert agreement["kappa"]["clusters"] == 12 and {each["criterion"] for each in agreement["disputed"]} == {"b"}
    text = compared("reports", "md").stdout
    assert "not calibrated" in text and f"| {pair['shared']} |" in text and "two:m" in text


def both(where: Path) -> list[tuple[str, str]]:
    """The verdicts of the two judgings by trial and criterion, read from their results alone."""
    found: list[dict[Any, str]] = []
    for folder in sorted(where.glob("reports/effectiveness/*/judging/*")):
        said = {}
        for row in rows(folder / "results.jsonl"):
            for each in row["verdicts"]:
                said[row["task_id"], row["arm"], row["replication"], each["criterion"]] = each["verdict"]
        found.append(said)
    return [(found[0][key], found[1][key]) for key in found[0]]


@pytest.mark.slow
def test_one_judging_has_nobody_to_agree_with_and_none_is_said(tmp_path: Path) -> None:
    make_run(tmp_path / "reports", work, tasks=TASKS, reps=1)
    assert "has no judging yet" in str(compared("reports").exception)
    with Loopback(either) as server:
        assert go(server.url, "reports").exit_code == 0
    assert json.loads(compared("reports").stdout)["pairs"] == []


@pytest.mark.slow
def test_criteria_in_other_words_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path / "reports", work, tasks=TASKS, reps=1)
    with Loopback(either) as server:
        assert go(server.url, "reports").exit_code == 0
        other = rubric(criterion("a", "apples"), criterion("b", "drums"))
        monkeypatch.setattr(command, "rubrics_of", lambda _: rubrics(TASKS, other))
        assert go(server.url, "reports", judge_="two:m").exit_code == 0
    (pair,) = json.loads(compared("reports").stdout)["pairs"]
    assert pair["shared"] == 24 and pair["agreement"]["raw"]["value"] == 1.0


def calibrated(where: Path, out: str) -> Path:
    """Labels of all trials of a judged run, held against it; the calibration."""
    found = rows(next((where / out).glob("effectiveness/*/results.jsonl")))
    said = {"target": "met", "control": "not_met"}
    labels = [
        {"trial": row["folder"].partition("/")[2], "criterion": name, "verdict": said[row["arm"]]}
        for row in found
        for name in ("a", "b")
    ]
    (where / "labels.jsonl").write_text("".join(json.dumps(each) + "\n" for each in labels))
    done = CliRunner().invoke(calibrate.command, ["labels.jsonl", "--out", out], standalone_mode=False)
    assert done.exit_code == 0, done.exception
    return next((where / out).glob("effectiveness/*/judging/*/calibration.json"))


def other_model(seen: Seen) -> Reaction:
    return answer(seen, reply(seen.text), model="another")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("react", "more", "judge_", "why"),
    [
        (either, (), "one:m", ""),
        (other_model, (), "one:m", "its judges were m-resolved, not another, or on another server"),
        (either, ("--votes", "3"), "one:m", "its judges voted 1 times, not 3"),
        (either, (), "two:m", "or on another server"),
        (either, (), "one:m,two:m", "its judges were m-resolved, not m-resolved, m-resolved"),
    ],
)
def test_a_calibration_holds_for_its_judges_only(tmp_path: Path, react: Any, more: Any, judge_: str, why: str) -> None:
    make_run(tmp_path / "first", work, tasks=TASKS, reps=1)
    make_run(tmp_path / "second", work, tasks=TASKS[:8], reps=1)
    now: list[Callable[[Seen], Reaction]] = [either]
    with Loopback(lambda seen: now[0](seen)) as server:
        assert go(server.url, "first").exit_code == 0
        path = calibrated(tmp_path, "first")
        now[0] = react
        done = go(server.url, "second", "--calibration", str(path), *more, judge_=judge_)
    assert done.exit_code == 0, done.exception
    (folder,) = (tmp_path / "second").glob("effectiveness/*/judging/*")
    found = json.loads((folder / "report.json").read_text())["calibration"]
    if why:
        assert why in done.output and found is None and "Not calibrated" in done.output
        assert not (folder / "calibration.json").exists()
    else:
        theirs = json.loads(path.read_text())
        assert found["judging"] == theirs["run_id"] and found["accuracy"] == theirs["counted"]["accuracy"]
        assert theirs["run_id"] in done.output
        assert found["accuracy"]["n"] == found["labels"] == 48 and found["accuracy"]["low"] < found["accuracy"]["value"]
        assert list(problems("judging-report", json.loads((folder / "report.json").read_text()))) == []


@pytest.mark.slow
def test_a_calibration_put_there_by_hand_that_is_of_others_is_none(tmp_path: Path) -> None:
    make_run(tmp_path / "reports", work, tasks=TASKS, reps=1)
    with Loopback(either) as server:
        assert go(server.url, "reports").exit_code == 0
        path = calibrated(tmp_path, "reports")
        values = json.loads(path.read_text())
        path.write_text(json.dumps(values | {"run_id": "20260101T000000Z-00000000", "panel": None}))
        (line,) = json.loads(compared("reports").stdout)["judgings"]
    assert line["calibration"] is None


@pytest.mark.parametrize(
    ("text", "why"), [(None, "cannot read c.json"), ("{", "is no calibration of ours"), ("{}", "c.json")]
)
def test_a_file_that_is_no_calibration_is_refused_before_asking(tmp_path: Path, text: str | None, why: str) -> None:
    make_run(tmp_path / "reports", work, tasks=TASKS, reps=1)
    if text is not None:
        Path("c.json").write_text(text)
    with Loopback(either) as server:
        done = go(server.url, "reports", "--calibration", "c.json")
        assert why in str(done.exception) and "\n" not in str(done.exception) and server.seen == []
        done = go(server.url, "reports", "--calibration", "c.json", "--pairwise", "target", "control")
        assert "--calibration is about criteria" in str(done.exception)
