"""What verifiers leave: every way of having no reward is told apart, and none of them is zero."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from skill_health.effectiveness.trial import rewards as reading
from skill_health.effectiveness.trial.files import tally_of
from skill_health.effectiveness.trial.rewards import CtrfReport, NoReward, Reward, judge, read_ctrf, read_reward

NO_REWARD, NO_REPORT = "'reward' is not a finite number", "is no CTRF report"


def rewards(folder: Path, **files: str | bytes) -> Path:
    for name, data in files.items():
        path = folder / name.replace("_", ".")
        path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
    return folder


@pytest.mark.parametrize(("files", "value", "source"), [
    ({"reward_json": '{"reward": 0.5, "tests": 7}'}, 0.5, "reward.json"),
    ({"reward_json": '{"accuracy": 1}'}, 1, "reward.json"),
    ({"reward_json": '{"reward": 0}', "reward_txt": "1"}, 0, "reward.json"),
    ({"reward_txt": "1\n"}, 1, "reward.txt"),
    ({"reward_txt": " 0.25 \r\n"}, 0.25, "reward.txt"),
    ({"reward_txt": "-.5"}, -0.5, "reward.txt"),
    ({"reward_txt": "1e-3"}, 0.001, "reward.txt"),
])  # fmt: skip
def test_a_reward_is_read(files: dict[str, str], value: float, source: str, tmp_path: Path) -> None:
    found = read_reward(str(rewards(tmp_path, **files)))
    assert isinstance(found, Reward)
    assert (found.value, found.source) == (value, source)


@pytest.mark.parametrize(("files", "problem", "words"), [
    ({}, "missing", "neither reward.json nor reward.txt"),
    ({"reward_txt": " \n"}, "empty", "reward.txt is empty"),
    ({"reward_json": ""}, "empty", "reward.json is empty"),
    ({"reward_json": "{}"}, "empty", "holds no number"),
    ({"reward_json": "", "reward_txt": "1"}, "empty", "reward.json is empty"),
    ({"reward_json": "{", "reward_txt": "1"}, "unparsable", "reward.json: not JSON"),
    ({"reward_json": "1"}, "unparsable", "JSON object"),
    ({"reward_json": '{"reward": NaN}'}, "unparsable", "NaN"),
    ({"reward_json": '{"reward": 1e999}'}, "unparsable", "too large"),
    ({"reward_json": '{"reward": true}'}, "unparsable", NO_REWARD),
    ({"reward_json": '{"reward": "1"}'}, "unparsable", NO_REWARD),
    ({"reward_json": '{"reward": 1, "reward": 0}'}, "unparsable", "stands twice"),
    ({"reward_json": '{"reward": 1, "note": "x"}'}, "unparsable", "'note' is not"),
    ({"reward_json": '{"reward": 1' + "0" * 400 + "}"}, "unparsable", NO_REWARD),
    ({"reward_json": '{"a": 1, "b": 0}'}, "ambiguous", "none of them is called 'reward'"),
    ({"reward_json": b'{"reward": 1, "\xff": 1}'}, "unparsable", "not UTF-8"),
    *(
        ({"reward_txt": text}, "unparsable", "not one finite number")
        for text in ("nan", "inf", "1e999", "1_0", "0x1", "\uff11", "1 0", "pass")
    ),
    ({"reward_txt": "1" + " " * (reading.MAX_BYTES + 1)}, "unparsable", "larger than"),
])  # fmt: skip
def test_no_reward_has_a_reason(files: dict[str, str], problem: str, words: str, tmp_path: Path) -> None:
    found = read_reward(str(rewards(tmp_path, **files)))
    assert isinstance(found, NoReward)
    assert (found.problem, words in found.message) == (problem, True), found


def test_what_is_no_plain_file_is_not_read(tmp_path: Path) -> None:
    rewards(tmp_path, real_txt="1")
    (tmp_path / "reward.txt").symlink_to(tmp_path / "real.txt")
    found = read_reward(str(tmp_path))
    assert isinstance(found, NoReward) and found.problem == "unparsable"
    os.mkfifo(tmp_path / "reward.json")
    found = read_reward(str(tmp_path))
    assert isinstance(found, NoReward) and found.problem == "unparsable"


def test_the_plans_score_is_read_last(tmp_path: Path) -> None:
    workspace, folder = tmp_path / "workspace", tmp_path / "rewards"
    (workspace / ".runner").mkdir(parents=True)
    folder.mkdir()
    (workspace / ".runner/score.json").write_text('{"score": 0.5, "checks": 4, "by": "tests"}')
    found = read_reward(str(folder), str(workspace))
    assert isinstance(found, Reward) and (found.value, found.source) == (0.5, ".runner/score.json")
    assert isinstance(read_reward(str(folder)), NoReward)
    rewards(folder, reward_txt="1")
    found = read_reward(str(folder), str(workspace))
    assert isinstance(found, Reward) and found.source == "reward.txt"


@pytest.mark.parametrize("kind", ["nothing", "folder", "file", "link"])
def test_a_forged_score_is_removed(kind: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    rewards(outside, score_json="{}")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    place = workspace / ".runner"
    if kind == "folder":
        place.mkdir()
        rewards(place, score_json='{"score": 1}')
    elif kind == "file":
        place.write_text("1")
    elif kind == "link":
        place.symlink_to(outside)
    reading.clear_runner(str(workspace))
    assert list(workspace.iterdir()) == []
    assert (outside / "score.json").exists()


NONE = NoReward("missing", "neither")
BROKEN = NoReward("unparsable", "reward.json: not JSON")


def reward(value: float) -> Reward:
    return Reward(value, "reward.json", {"reward": value})


@pytest.mark.parametrize(("grading", "code", "found", "outcome", "value", "problem"), [
    ("exit", 0, NONE, "pass", 1, ""),
    ("exit", 1, NONE, "fail", 0, ""),
    ("exit", 127, NONE, "fail", 0, ""),
    ("exit", 1, reward(0.4), "fail", 0.4, ""),
    ("exit", 0, reward(0.9), "pass", 0.9, ""),
    ("exit", 0, reward(0), "pass", 0, "contradict"),
    ("exit", 1, reward(1), "fail", 1, "contradict"),
    ("exit", 1, reward(1.5), "fail", 1.5, "1.5"),
    ("exit", 1, reward(-0.5), "fail", -0.5, "-0.5"),
    ("exit", 1, BROKEN, "fail", 0, "not JSON"),
    ("exit", None, reward(1), "infrastructure", None, "time limit"),
    ("exit", -9, NONE, "infrastructure", None, "signal 9"),
    ("reward", 0, reward(1), "pass", 1, ""),
    ("reward", 1, reward(1), "pass", 1, ""),
    ("reward", 0, reward(0.99), "fail", 0.99, ""),
    ("reward", 1, NONE, "infrastructure", None, "exit code 1"),
    ("reward", 0, NONE, "infrastructure", None, "exit code 0"),
    ("reward", 0, BROKEN, "infrastructure", None, "not JSON"),
    ("reward", None, reward(1), "infrastructure", None, "time limit"),
    ("reward", -15, reward(1), "infrastructure", None, "signal 15"),
])  # fmt: skip
def test_verdicts(
    grading: str, code: int | None, found: Reward | NoReward, outcome: str, value: float | None, problem: str
) -> None:
    verdict = judge(grading, code, found)  # type: ignore[arg-type]
    assert (verdict.outcome, verdict.reward) == (outcome, value)
    assert problem in verdict.problem and bool(problem) == bool(verdict.problem)


@pytest.mark.parametrize("grading", ["exit", "reward"])
@pytest.mark.parametrize(("code", "stopped", "problem"), [
    (None, "timeout", "time limit"), (None, "disk", "was stopped: disk"), (-9, "", "by signal 9"),
])  # fmt: skip
def test_who_kept_a_verifier_from_its_end(grading: Any, code: int | None, stopped: str, problem: str) -> None:
    """The work of an agent, where the verifier is known to end by itself over any other; else nobody knows."""
    unknown = judge(grading, code, reward(1), stopped=stopped)
    assert (unknown.outcome, unknown.reward) == ("infrastructure", None) and problem in unknown.problem
    verdict = judge(grading, code, reward(1), stopped=stopped, proved=True)
    assert (verdict.outcome, verdict.reward) == ("fail", 0.0)
    assert problem in verdict.problem and verdict.problem != unknown.problem
    assert judge(grading, 0, reward(1), proved=True) == judge(grading, 0, reward(1))
    assert judge("reward", 0, NONE, proved=True).outcome == "infrastructure"


@given(st.binary(max_size=60), st.sampled_from(("reward.json", "reward.txt")))
def test_any_bytes_are_a_finite_reward_or_none(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "any-reward"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / name).write_bytes(data)
    found = read_reward(str(folder))
    assert isinstance(found, NoReward) or all(math.isfinite(value) for value in (found.value, *found.values.values()))


@given(st.one_of(st.none(), st.integers(-20, 255)), st.floats(allow_nan=False, allow_infinity=False))
def test_only_a_reward_of_one_passes_where_the_reward_decides(code: int | None, value: float) -> None:
    verdict = judge("reward", code, reward(value))
    assert (verdict.outcome == "pass") == (code is not None and code >= 0 and value >= 1)
    assert (verdict.reward is None) == (verdict.outcome == "infrastructure")


def report_of(**summary: Any) -> str:
    return json.dumps(
        {"reportFormat": "CTRF", "results": {"tool": {"name": "pytest"}, "summary": summary, "tests": []}}
    )


@pytest.mark.parametrize(
    ("text", "share", "problem"),
    [
        (report_of(tests=9, passed=3, failed=1, skipped=5, pending=0, other=0), 3 / 4, ""),
        (report_of(passed=0, failed=2, pending=1, other=1), 0, ""),
        (report_of(passed=0, failed=0, skipped=4), None, ""),
        (report_of(passed=-1, failed=0), None, NO_REPORT),
        (report_of(passed=True, failed=0), None, NO_REPORT),
        (report_of(passed=1), None, NO_REPORT),
        ('{"results": []}', None, NO_REPORT),
        ("[" * 100_000, None, NO_REPORT),
        ("", None, "is empty"),
        (b"\xff", None, "is not UTF-8"),
        (b" " * (reading.MAX_REPORT + 1), None, "larger than 4096 KiB"),
    ],
    ids=["skipped", "pending", "none", "negative", "flag", "part", "list", "deep", "empty", "bytes", "large"],
)
def test_the_tests_of_a_report_are_counted_and_odd_ones_are_not(
    text: str | bytes, share: float | None, problem: str, tmp_path: Path
) -> None:
    found = read_ctrf(str(rewards(tmp_path, ctrf_json=text)))
    tests = tally_of(found)
    assert problem in found.problem and bool(problem) == bool(found.problem)
    assert (tests is UNSET) == bool(problem)
    assert tests is UNSET or tests.share == share
    assert read_ctrf(str(tmp_path / "elsewhere")) == CtrfReport()


def test_a_report_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "ctrf.json").symlink_to(os.devnull)
    assert read_ctrf(str(tmp_path)).problem and read_ctrf(str(tmp_path)) != CtrfReport()
