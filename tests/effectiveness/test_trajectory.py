"""Trajectories keep to their format whatever an agent did."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_made import made_job, made_skill, recorded
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from skill_health.bench.http.messages import Usage
from skill_health.core.validation import load_schema, problems
from skill_health.effectiveness.agents import claude_code, codex
from skill_health.effectiveness.agents._api import StreamReading, ToolUse, TrajectoryStep
from skill_health.effectiveness.trial.files import SCHEMA_VERSION, to_atif


def checked(reading: StreamReading) -> dict[str, Any]:
    whole = to_atif(reading, "some-agent", "some-model")
    assert problems("trajectory", whole) == []
    loaded: dict[str, Any] = json.loads(json.dumps(whole, ensure_ascii=False, allow_nan=False))
    assert loaded == whole
    return whole


def test_an_empty_reading_is_a_trajectory_that_claims_nothing() -> None:
    assert checked(StreamReading()) == {
        "schema_version": SCHEMA_VERSION,
        "agent": {"name": "some-agent", "version": "unknown", "model_name": "some-model"},
        "steps": [{"step_id": 1, "source": "system", "message": "No step could be read from the stream."}],
    }


def test_everything_that_is_known_has_its_place() -> None:
    usage = Usage(100, 20, 60, 5, 7)
    tools = (
        ToolUse("a", "Bash", {"command": "ls"}, "x", False),
        ToolUse("a", "Bash", {"command": "false"}, "", True),
        ToolUse("", "Read", {"path": "y"}),
    )
    steps = (
        TrajectoryStep("user", "Do it.", tools=tools, model="m", usage=usage, reasoning="hm"),
        TrajectoryStep("agent", "Doing.", tools, "hm", "m-2", usage, "2026-01-02T03:04:05.678Z"),
        TrajectoryStep("agent", "Done.", at="yesterday"),
    )
    whole = checked(
        StreamReading(steps, "Done.", usage, 0.5, 2, "end_turn", "m-2", "1.2", "s-1", failure="quota", error="no money")
    )
    assert whole["agent"] == {"name": "some-agent", "version": "1.2", "model_name": "m-2"}
    assert whole["steps"][0] == {"step_id": 1, "source": "user", "message": "Do it."}
    ids = [call["tool_call_id"] for call in whole["steps"][1]["tool_calls"]]
    assert len(set(ids)) == 3
    assert whole["steps"][1]["observation"]["results"] == [
        {"source_call_id": ids[0], "content": "x"}, {"source_call_id": ids[1], "content": ""},
    ]  # fmt: skip
    assert whole["steps"][1]["extra"] == {"failed_calls": [ids[1]]}
    assert whole["steps"][1]["timestamp"] == "2026-01-02T03:04:05.678Z"
    assert "timestamp" not in whole["steps"][2]
    assert whole["steps"][1]["metrics"] == {
        "prompt_tokens": 100, "completion_tokens": 20, "cached_tokens": 60,
        "extra": {"cache_write_tokens": 5, "reasoning_tokens": 7},
    }  # fmt: skip
    assert whole["final_metrics"].items() >= {("total_prompt_tokens", 100), ("total_cost_usd", 0.5), ("total_steps", 3)}
    assert whole["notes"] == "no money; failure: quota"
    assert whole["extra"] == {"stop_reason": "end_turn", "turns": 2}


@pytest.mark.parametrize(("agent", "folder", "name"), [
    *((claude_code, "claude", name) for name in ("skill", "read", "control", "refusal", "auth-stopped")),
    *((codex, "codex", name) for name in ("skill", "patch", "failed-command", "quota")),
])  # fmt: skip
def test_streams_of_agents(agent: Any, folder: str, name: str) -> None:
    reading = agent.read(recorded(folder, f"{name}.jsonl"), made_job(made_skill("zebra-invoices")))
    assert len(checked(reading)["steps"]) == len(reading.steps)


TOKENS = st.none() | st.integers(0, 10**9)
USAGE = st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS, TOKENS)
WORD = st.text(max_size=8)
TOOL = st.builds(
    ToolUse, st.sampled_from(["", "a", "a-2", "b"]), WORD, st.dictionaries(WORD, WORD | st.integers()),
    st.none() | WORD, st.none() | st.booleans(),
)  # fmt: skip
STEP = st.builds(
    TrajectoryStep, st.sampled_from(["system", "user", "agent"]), WORD, st.lists(TOOL, max_size=4).map(tuple), WORD,
    st.none() | WORD, st.none() | USAGE, st.none() | WORD,
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(STEP, max_size=4).map(tuple), USAGE, st.none() | st.floats(0, 1e6), st.none() | WORD)
def test_any_reading_is_a_trajectory(
    steps: tuple[TrajectoryStep, ...], usage: Usage, cost: float | None, word: str | None
) -> None:
    whole = checked(StreamReading(steps, "", usage, cost, None, word, word, word, word))
    assert [step["step_id"] for step in whole["steps"]] == list(range(1, max(1, len(steps)) + 1))
    for step in whole["steps"]:
        ids = [call["tool_call_id"] for call in step.get("tool_calls", [])]
        results = [one["source_call_id"] for one in step.get("observation", {}).get("results", [])]
        assert len(set(ids)) == len(ids) and set(results) <= set(ids)


@pytest.mark.parametrize("change", [
    {"more": 1},
    {"schema_version": "ATIF-v9"},
    {"steps": []},
    {"steps": [{"step_id": 1, "source": "user", "message": "", "model_name": "m"}]},
    {"steps": [{"step_id": 0, "source": "user", "message": ""}]},
    {"steps": [{"step_id": 1, "source": "robot", "message": ""}]},
    {"agent": {"name": "a"}},
])  # fmt: skip
def test_the_schema_forbids_what_the_format_forbids(change: dict[str, Any]) -> None:
    whole = {**to_atif(StreamReading(), "a", "m"), **change}
    assert list(Draft202012Validator(load_schema("trajectory")).iter_errors(whole))
