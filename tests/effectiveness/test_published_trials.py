"""Errors and time in published trials: the shares and means that numpy finds, and nothing from half a pair."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from published_made import harbor, job, put

from scripts import published_trials
from scripts.published_trials import errors_by_side, errors_of_job, time_and_reward
from skill_health.effectiveness.published._load import SidedTrial, load_published


def timed(minutes: float) -> dict[str, Any]:
    seconds = round(60 * minutes)
    end = f"2026-01-01T{10 + seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}Z"
    return {"agent_execution": {"started_at": "2026-01-01T10:00:00Z", "finished_at": end}}


def cells(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:] if line]


@pytest.fixture
def trials(tmp_path: Path) -> list[SidedTrial]:
    rng = np.random.default_rng(3)
    for n in range(9):
        for side in ("no_skills", "skills"):
            reward, minutes = float(rng.integers(2)), float(rng.integers(1, 90))
            name = f"t{n}__{side}"
            put(tmp_path, f"runs/{side}/{name}/result.json", harbor(name, reward, **timed(minutes)))
    # One half of a pair, and one that broke before the agent began.
    put(tmp_path, "runs/skills/alone__1/result.json", harbor("alone__1", 1.0, **timed(500)))
    broken = {"exception_info": {"exception_type": "RuntimeError"}, "agent_execution": None}
    put(tmp_path, "runs/no_skills/alone__2/result.json", harbor("alone__2", None, **broken))
    (group,) = load_published([str(tmp_path / "runs")]).groups
    return group.trials


def test_time_and_reward_are_means_over_tasks_with_both(trials: list[SidedTrial]) -> None:
    (row,) = cells(list(time_and_reward(trials)))
    rng = np.random.default_rng(3)
    drawn = np.array([[(rng.integers(2), rng.integers(1, 90)) for _ in range(2)] for _ in range(9)])
    rewards, minutes = drawn[..., 0].mean(axis=0), drawn[..., 1].mean(axis=0)
    assert row[:5] == ["loop (m)", "9", "18", f"{minutes[0]:.1f}", f"{minutes[1]:.1f}"]
    assert row[5].startswith(f"{minutes[1] - minutes[0]:+.1f} [")
    assert row[6:8] == [f"{100 * rewards[0]:.1f}", f"{100 * rewards[1]:.1f}"]
    assert row[8].startswith(f"{100 * (rewards[1] - rewards[0]):+.1f} [")


def test_trials_without_a_result_are_named_by_condition(trials: list[SidedTrial]) -> None:
    assert cells(list(errors_by_side(trials))) == [
        ["loop (m)", "without", "1 of 10", "10", "RuntimeError 1"],
        ["loop (m)", "with", "0 of 10", "10", "–"],
    ]


def test_errors_of_a_job_by_kind_over_its_tasks() -> None:
    made = job({}, {"AgentTimeoutError": ["a__1", "a__2", "b__1"], "ValueError": ["c__1"]}) | {"n_total_trials": 40}
    rows = cells(list(errors_of_job(made, 2)))
    assert [row[:3] for row in rows] == [
        ["AgentTimeoutError", "3 of 40", "2"],
        ["ValueError", "1 of 40", "1"],
        ["any but AgentTimeoutError", "1 of 40", "1"],
    ]
    assert [row[3].split(" ")[0] for row in rows] == ["7.5", "2.5", "2.5"]
    with pytest.raises(ValueError, match="40 trials are no 3"):
        list(errors_of_job(made, 3))


def test_the_part_of_the_page_is_written_between_its_marks(
    tmp_path: Path, trials: list[SidedTrial], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{published_trials.BEGIN}\nold\n{published_trials.END}\nafter\n", "utf-8")
    monkeypatch.setattr(published_trials, "PAGE", page)
    summary = tmp_path / "job.json"
    summary.write_text(json.dumps(job({}, {"ValueError": ["c__1"]}) | {"n_total_trials": 10}), "utf-8")
    published_trials.main([str(tmp_path / "runs"), str(summary), "5"])
    text = page.read_text("utf-8")
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| ValueError | 1 of 10 | 1 |" in text
