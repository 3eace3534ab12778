"""What is told of one call: when an agent is ended, what it is said to have opened, and what no request may hold."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from activation_bench import PROGRAMS, ROOT, agent_module, fixture_prompts
from agent_made import made_job
from effects_made import replace
from scripted_bench import fixture_copies

from skill_health.activation.call import load
from skill_health.activation.call.load import AgentListener, is_complete, outcome_of, verdict
from skill_health.activation.call.workshop import Workshop, tree_of
from skill_health.activation.plan.inputs import ActivationChoices
from skill_health.activation.plan.plan import ActivationPlan, PlannedLoad, staged_names
from skill_health.bench.prices import FREE
from skill_health.config.settings import RouterSettings
from skill_health.documents.effect_manifest import FrozenSandbox
from skill_health.documents.router_manifest import Prompt
from skill_health.effectiveness.agents._api import ProgramOutput, StreamReading
from skill_health.effectiveness.agents._load import resolve
from skill_health.effectiveness.gateway._api import GatewayTrace
from skill_health.effectiveness.plan.plan import AgentModel
from skill_health.effectiveness.trial.agent_run import AgentRun
from skill_health.effectiveness.trial.outcome import AgentExit
from skill_health.effectiveness.trial.spec import TrialSpec

STREAMS = ROOT / "tests" / "effectiveness" / "streams"
FOLDERS = {
    "claude": "claude-code", "codex": "codex", "gemini": "gemini-cli", "opencode": "opencode", "qwen": "qwen-code",
    "acp": "acp",
}  # fmt: skip
SPEC = "planted:recall=1"


def made_plan(prompts: tuple[Prompt, ...] = fixture_prompts(), **more: Any) -> ActivationPlan:
    plan = ActivationPlan(
        prompts=prompts,
        models=(AgentModel(resolve(SPEC, RouterSettings()), "planted", price=FREE),),
        skills=fixture_copies(),
        sizes=(12,),
        choices=ActivationChoices((SPEC,)),
        sandbox=FrozenSandbox(name="none", version="", isolates=(), image=""),
    )
    return replace(plan, **more)


def made_cell(**more: Any) -> TrialSpec:
    plan = made_plan()
    return replace(plan.cell(PlannedLoad(plan.prompts[0], plan.models[0], 12, 0)), **more)


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_stream_that_was_cut_off_is_never_taken_for_a_whole_one(folder: str) -> None:
    """What was read so far says that the agent is done only where the whole stream does."""
    agent, job = agent_module(FOLDERS[folder]), replace(made_job(), skills=tuple(fixture_copies().values()))
    paths = [path for path in sorted((STREAMS / folder).iterdir()) if path.suffix in (".jsonl", ".txt")]
    assert paths
    for path in paths:
        lines = path.read_bytes().splitlines(keepends=True)
        readings = [agent.read(ProgramOutput(None, b"".join(lines[:end])), job) for end in range(len(lines) + 1)]
        complete = [is_complete(reading) for reading in readings]
        assert not complete[0], path
        if True in complete:
            # What comes after the line that ends it may say how it ended, and calls no tool.
            first = readings[complete.index(True)]
            assert first.tool_calls == readings[-1].tool_calls, path
            assert first.invocations == readings[-1].invocations, path


def claude(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


CALL = {"type": "assistant", "message": {"id": "m1", "content": [
    {"type": "tool_use", "id": "t1", "name": "Skill", "input": {"skill": "csv-cleaning"}}]}}  # fmt: skip


def came_back(failed: bool) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "Launching", "is_error": failed}
    return {"type": "user", "message": {"content": [result]}}


def test_a_call_counts_once_it_has_come_back_and_has_not_failed() -> None:
    agent, job = agent_module("claude-code"), replace(made_job(), skills=tuple(fixture_copies().values()))
    for events, settled in (((CALL,), False), ((CALL, came_back(True)), False), ((CALL, came_back(False)), True)):
        reading = agent.read(ProgramOutput(None, claude(*events)), job)
        assert load.first_settled(reading, job, agent.SKILLS) == settled


def listened(
    *pieces: bytes, turns: int = 4, asked: int = 0, given: bool = False, linger: bool = False
) -> AgentListener:
    listener = AgentListener(agent_module("claude-code"), turns)

    async def hear() -> None:
        listener.command(replace(made_job(), skills=tuple(fixture_copies().values())))
        for piece in pieces:
            listener.hear(piece)
            await asyncio.sleep(0)
        if linger:
            await listener.stop.wait()
        listener.end_after(asked, given)

    asyncio.run(hear())
    return listener


@pytest.mark.slow
def test_an_agent_is_ended_at_its_first_skill_its_end_or_its_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    end = {"type": "result", "subtype": "success", "is_error": False, "result": "Done."}
    stream = claude(CALL, came_back(False))
    assert listened(stream).reason == "opened"
    assert listened(stream[:40], stream[40:]).reason == "opened", "however the bytes come"
    monkeypatch.setattr(load, "_LINGER", 600)
    assert listened(claude(end)).reason == "", "it may end by itself"
    assert listened(claude(end), stream).reason == "opened"
    monkeypatch.setattr(load, "_LINGER", 0.01)
    assert listened(claude(end), linger=True).reason == "answered"
    monkeypatch.setattr(load, "_LINGER", 600)
    assert listened(claude(CALL)).reason == ""
    assert listened(claude(CALL), asked=4).reason == "turns"
    assert listened(claude(CALL), given=True).reason == "opened", "the gateway knows it first"
    assert listened(b"no JSON\n\xff\n").reason == ""
    whole = listened(stream, asked=9)
    assert whole.stop.is_set() and whole.end_after(9, False) == "the first skill was opened"


def ran(**more: Any) -> AgentRun:
    output = more.pop("output", ProgramOutput(0))
    return AgentRun(made_job(), output, StreamReading(**more))


@pytest.mark.parametrize(("run", "given", "loaded", "opened"), [
    (ran(invocations=("csv-cleaning",), evidence=("Skill csv-cleaning",)), (), "yes", ("csv-cleaning",)),
    (ran(invocations=("foreign", "log-triage"), evidence=("x", "y")), (), "yes", ("log-triage",)),
    (ran(), (), "no", ()),
    # The gateway has seen the text of a skill that the stream does not show.
    (ran(), (("log-triage",), ("csv-cleaning",)), "yes", ("log-triage", "csv-cleaning")),
    (ran(), (("log-triage", "csv-cleaning"),), "cannot_tell", ("log-triage", "csv-cleaning")),
    (ran(observable=False), (), "cannot_tell", ()),
    (ran(observable=False), (("log-triage",),), "yes", ("log-triage",)),
    (ran(output=ProgramOutput(0, b"x", cut_stdout=1)), (), "cannot_tell", ()),
    (ran(invocations=("csv-cleaning",), evidence=("x",), observable=False), (), "yes", ("csv-cleaning",)),
])  # fmt: skip
def test_what_is_told(run: AgentRun, given: tuple[tuple[str, ...], ...], loaded: str, opened: tuple[str, ...]) -> None:
    found = verdict(made_cell(), run, GatewayTrace(given=given))
    assert (found.loaded, found.opened) == (loaded, opened)
    assert bool(found.why) == (loaded == "cannot_tell")


@pytest.mark.parametrize(("end", "loaded", "stopped", "outcome"), [
    (AgentExit(), "yes", "opened", "loaded"),
    (AgentExit(), "no", "answered", "answered"),
    (AgentExit(), "no", "", "answered"),
    (AgentExit(), "no", "turns", "turn_limit"),
    (AgentExit("timeout"), "no", "", "timeout"),
    (AgentExit("fail"), "no", "", "limit"),
    (AgentExit("refusal"), "no", "", "refusal"),
    (AgentExit("infrastructure", "gone"), "no", "", "infrastructure"),
    (AgentExit("infrastructure", "gone"), "yes", "", "loaded"),
    (AgentExit("quota", "no credit"), "yes", "", "quota"),
    (AgentExit("infrastructure", "x", (), "csv-cleaning is offered, not staged"), "yes", "opened", "infrastructure"),
])  # fmt: skip
def test_how_a_call_ended(end: AgentExit, loaded: Any, stopped: Any, outcome: str) -> None:
    assert outcome_of(end, loaded, stopped) == outcome


def test_a_request_that_was_answered_must_hold_every_skill_and_no_other_prompt() -> None:
    cell = made_cell()
    every = tuple(skill.name for skill in cell.skills)
    other = "an altogether different request of another user"
    own = json.dumps({"messages": [cell.prompt]}).encode()
    foreign = json.dumps({"messages": [cell.prompt, f"then: {other.replace(' ', chr(10))}"]}).encode()
    assert load.wrong_request(cell, GatewayTrace(turns=1, offered=every, first_request=own), (other,)) == ""
    told = GatewayTrace(turns=1, offered=every, first_request=foreign)
    assert "another prompt" in load.wrong_request(cell, told, (other,))
    less = GatewayTrace(turns=1, offered=every[1:], first_request=own)
    assert "staged and not offered" in load.wrong_request(cell, less, ())
    assert load.wrong_request(cell, replace(less, turns=0), ()) == ""
    # What a description quotes, and what is too short to tell, is no leak.
    quoted = cell.skills[0].description
    staged = json.dumps({"messages": [cell.prompt, quoted]}).encode()
    assert load.wrong_request(cell, GatewayTrace(turns=1, offered=every, first_request=staged), (quoted, "then")) == ""


@pytest.mark.slow
def test_a_workspace_is_used_again_only_as_it_was(tmp_path: Path) -> None:
    cell = made_cell()

    async def go() -> list[tuple[int, bool, str, bool]]:
        workshop, found = Workshop(str(tmp_path / "run")), []
        for nth in range(5):
            async with workshop.workspace(cell) as ready:
                places = ready.at.places
                left = [*Path(places.home).iterdir(), *Path(places.temporary).iterdir()]
                found.append((ready.served, ready.renewed, ready.tree, bool(left)))
                assert tree_of(ready.at) == ready.tree
                Path(places.home, "history.txt").write_text("what was asked")
                Path(places.temporary, "left.txt").write_text("what was asked")
                if nth == 1:
                    Path(places.workspace, "notes.txt").write_text("what was asked")
                if nth == 2:
                    next(Path(places.workspace).rglob("SKILL.md")).chmod(0o600)
        await workshop.close()
        assert not Path(places.base).exists()
        return found

    found = asyncio.run(go())
    assert [(served, renewed) for served, renewed, _, _ in found] == [
        (0, False), (1, False), (0, True), (0, True), (1, False),
    ]  # fmt: skip
    assert len({tree for _, _, tree, _ in found}) == 1 and not any(left for *_, left in found)


@pytest.mark.slow
def test_a_workspace_of_a_call_that_broke_is_not_used_again(tmp_path: Path) -> None:
    async def go() -> int:
        workshop = Workshop(str(tmp_path / "run"))
        with pytest.raises(RuntimeError):
            async with workshop.workspace(made_cell()) as broken:
                raise RuntimeError("cancelled")
        assert not Path(broken.at.places.base).exists()
        async with workshop.workspace(made_cell()) as ready:
            served = ready.served
        await workshop.close()
        return served

    assert asyncio.run(go()) == 0


def test_a_smaller_collection_holds_the_skills_of_the_label() -> None:
    names = tuple(f"s{nth}" for nth in range(10))
    prompt = Prompt("p", "text", "s7", acceptable=("s2",), rejected=("s9", "gone"))
    found = staged_names(names, prompt, 5, 1)
    assert found is not None and {"s2", "s7", "s9"} < set(found) and len(found) == 5
    assert staged_names(names, prompt, 2, 1) is None
    assert staged_names(names, prompt, 10, 1) == names == staged_names(names, prompt, 99, 1)
    # Prompts of one label share a set, so that they can share a workspace.
    assert staged_names(names, replace(prompt, prompt_id="q"), 5, 1) == found != staged_names(names, prompt, 5, 3)


def test_only_an_agent_that_keeps_an_order_gets_another_with_each_prompt() -> None:
    plan = made_plan()
    orders = {
        tuple(skill.name for skill in plan.cell(PlannedLoad(prompt, plan.models[0], 12, 0)).skills)
        for prompt in plan.prompts
    }
    assert len(orders) > 6 and {frozenset(order) for order in orders} == {frozenset(plan.skills)}
    assert set(PROGRAMS) >= {"claude-code", "codex"}
