"""A trial from staging to its folder: what it comes to, what is kept, and whose numbers are believed."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trial_bench as bench
from agent_play import Play
from agent_server import AgentServer
from effects_made import replace
from trial_bench import agent, cell, needs_bubblewrap, run, skill, task, tried, verifier
from trial_model import KEY, asking, with_model

from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import Rates, TieredPrice
from skill_health.core.errors import AbortedError
from skill_health.documents._record import TokenUsage, convert_record, record_values
from skill_health.documents.effect_result import SCORED, TrialResult
from skill_health.effectiveness.agents._api import Command, ProgramOutput, StreamReading, ToolUse, TrajectoryStep
from skill_health.effectiveness.gateway._api import GatewayTrace
from skill_health.effectiveness.run.probes import Probe, problems, run_probe
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.tasks._api import script
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.trial.agent_run import timeout_of
from skill_health.effectiveness.trial.outcome import ending, numbers, outcome_of
from skill_health.effectiveness.trial.rewards import VerifierResult
from skill_health.effectiveness.trial.trial import run_trial

pytestmark = pytest.mark.usefixtures("folder")

BOTH = pytest.mark.parametrize("sandbox", ["bubblewrap", "none"], indirect=True)
NO_CHECK = verifier("exit 0")
PRICE = TieredPrice((Rates(1.0, 2.0, 0.5, 1.0),))
OTHERS = "beside skills of the run, {} are listed in one arm and not in another"


@pytest.fixture
def sandbox(request: pytest.FixtureRequest) -> str:
    if request.param == "bubblewrap":
        needs_bubblewrap()
    return str(request.param)


# --- The whole -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@BOTH
def test_everything_is_kept(tmp_path: Path, sandbox: str) -> None:
    text = (
        "cat in.txt; echo 3 > out.txt; echo '@opened alpha other'; echo '@listed alpha'; echo oops >&2; echo all done"
    )
    check = (
        'echo judged; grep -q "all done" "$FINAL_MESSAGE"; mkdir -p .runner; echo fine > .runner/notes.txt; test -f out.txt'
        ' && echo \'{"reward": 0.5, "speed": 2}\' > "$VERIFIER_DIR/reward.json"'
    )
    result, place = tried(tmp_path, text, sandbox, check, skills=[skill("alpha", **{"data/more.txt": "x"})])
    assert result.key == ("t1", "script", "target", 0)
    assert (result.outcome, result.reward, result.rewards) == ("pass", 0.5, {"reward": 0.5, "speed": 2.0})
    assert (result.invoked, result.invocations, result.seen) == ("yes", ("alpha",), ("alpha",))
    assert (result.changed, result.exit_code, result.folder, result.notes, result.error) == (1, 0, "trials/one", (), "")
    assert (result.usage, result.usage_source) == (TokenUsage(input_tokens=7, output_tokens=3), "agent")
    assert result.cost_usd is None and result.duration_ms is not None and result.duration_ms > 0
    names = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    assert names == {
        "trial.json", "stream.out", "stream.err", "trajectory.json", "diff.patch", "workspace.tar.gz", "verifier/stdout",
        "verifier/stderr", "verifier/reward.json", "verifier/notes.txt", "verdict.json", "usage.json", "probe.json", "final.txt",
    }  # fmt: skip
    assert (place / "final.txt").read_text() == "1\n2\nall done"
    assert (place / "verifier/stdout").read_text() == "judged\n"
    assert (place / "verifier/notes.txt").read_text() == "fine\n"
    assert bench.record(place, "trial.json")["sandbox"]["name"] == sandbox
    probe = bench.record(place, "probe.json")
    assert probe["staged"] == probe["planned"] == dict(result.skills)
    assert {".agents/skills/alpha/SKILL.md", ".agents/skills/alpha/data/more.txt", "out.txt"} < set(
        bench.archived(place)
    )
    assert b"+3" in (place / "diff.patch").read_bytes()
    assert convert_record(json.loads(json.dumps(record_values(result))), TrialResult) == result
    assert [path.name for path in place.parent.iterdir()] == ["one"]


@pytest.mark.slow
def test_the_same_trial_leaves_the_same_bytes(tmp_path: Path) -> None:
    kept = []
    for name in ("a", "b"):
        _, place = tried(
            tmp_path / name, "echo 3 > out.txt; mkdir d; ln -s x d/l; chmod +x in.txt", skills=[skill("alpha")]
        )
        kept.append({path.name: path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()})
    assert kept[0] == kept[1]


@pytest.mark.slow
def test_an_earlier_attempt_is_replaced(tmp_path: Path) -> None:
    _, place = tried(tmp_path, "true")
    (place / "old").write_text("x")
    tried(tmp_path, "true")
    assert not (place / "old").exists()


@pytest.mark.slow
@BOTH
def test_the_verifier_sees_the_same_in_every_arm(tmp_path: Path, sandbox: str) -> None:
    shown = []
    for skills in ([], [skill("alpha")], [skill("alpha"), skill("beta")]):
        _, place = tried(
            tmp_path, "echo x > out.txt", sandbox, "find . | sort; pwd | sed s,.*/,,; ls -A ~", skills=skills
        )
        shown.append((place / "verifier/stdout").read_bytes())
    assert shown[0] == shown[1] == shown[2] and b"out.txt" in shown[0] and b".agents" not in shown[0]


@pytest.mark.slow
def test_files_of_the_agent_lie_below_its_home(tmp_path: Path) -> None:
    from skill_health.effectiveness.agents._api import Command

    def command(job: Any) -> Command:
        files = (File(".tool/config.json", b"{}"), File(".tool/run", b"#!/bin/sh\necho ran; cat", True))
        return Command((f"{job.home}/.tool/run",), files=files, stdin=b"from the input")

    needs_bubblewrap()
    result, place = run(tmp_path, cell(task(tmp_path, NO_CHECK), agent("", command=command)))
    assert (result.outcome, (place / "stream.out").read_text()) == ("pass", "ran\nfrom the input")


# --- What goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    for words in (("/nowhere/agent",), ("no-such-agent",)):
        missing = agent("", command=lambda job, words=words: Command(words))
        result, place = run(tmp_path, cell(task(tmp_path, NO_CHECK), missing, "none"))
        assert result.outcome == "infrastructure" and "cannot be started: No such file" in result.error
        assert (result.exit_code, result.reward, result.usage, result.tool_calls) == (None, None, TokenUsage(), None)
        assert bench.record(place, "verdict.json")["imposed"] == "infrastructure"


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize(("work", "error"), [
    ("kill -9 $PPID", "signal 9"),
    ("sleep 5", "time limit"),
])  # fmt: skip
def test_work_that_keeps_its_verifier_from_the_end(tmp_path: Path, work: str, error: str, sandbox: str) -> None:
    """The check has seen this verifier end by itself, so the work that it runs is to blame."""
    made = task(tmp_path, verifier("bash work.sh; true", timeout_sec=1.0))
    result, place = run(tmp_path, cell(made, agent(f"echo '{work}' > work.sh"), sandbox))
    assert (result.outcome, result.reward, result.error) == ("fail", 0.0, "")
    assert len(result.notes) == 1 and error in result.notes[0]
    assert (place / "workspace.tar.gz").exists() and bench.record(place, "verdict.json")["imposed"] == ""


@pytest.mark.slow
def test_a_verifier_that_cannot_be_started(tmp_path: Path) -> None:
    made = task(tmp_path, script(("no-such-program-here",), (), 5.0))
    result, place = run(tmp_path, cell(made, agent("echo x > out.txt"), "none"))
    assert (result.outcome, result.reward) == ("infrastructure", None)
    assert result.error.startswith("the verifier: ")
    assert (place / "workspace.tar.gz").exists() and bench.record(place, "verdict.json")["imposed"] == ""


@pytest.mark.slow
def test_a_verifier_that_prints_much(tmp_path: Path) -> None:
    result, place = tried(tmp_path, "true", "none", "head -c 9000000 /dev/zero; exit 0")
    assert result.outcome == "pass" and (place / "verifier/stdout").stat().st_size == 64 << 10


@pytest.mark.slow
@pytest.mark.parametrize("word", ["quota", "auth", "infrastructure", "refusal"])
def test_failures_that_an_agent_tells(tmp_path: Path, word: str) -> None:
    result, place = tried(tmp_path, f"echo 3 > out.txt; echo '@failure {word}'", "none", "test -f out.txt")
    assert result.outcome == word
    assert (result.outcome in SCORED) == (word == "refusal") == (result.reward == 1.0)
    assert (place / "verifier").exists() == (word == "refusal")
    assert result.error == ("" if word == "refusal" else f"it said {word}")


@pytest.mark.slow
def test_a_module_that_stumbles(tmp_path: Path) -> None:
    def read(output: ProgramOutput, job: Any) -> StreamReading:
        raise KeyError("x")

    result, _ = run(tmp_path, cell(task(tmp_path, NO_CHECK), agent("true", read=read), "none"))
    assert (result.outcome, result.error) == ("infrastructure", "KeyError while the agent's output was read")


def test_a_staging_that_is_not_the_plan(tmp_path: Path) -> None:
    wrong = replace(skill("alpha"), digest="0" * 32)
    result, place = run(tmp_path, cell(task(tmp_path, NO_CHECK), agent("echo started"), "none", [wrong]))
    assert result.outcome == "infrastructure" and result.disagreement
    assert not (place / "stream.out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("said", "expected", "wrong"), [
    ("alpha", None, ""), ("alpha init", ("init",), ""), ("", None, "alpha is staged and not listed"),
    ("alpha beta", None, "beta is listed and not staged"),
    ("alpha init", ("other",), OTHERS.format("init, other")),
])  # fmt: skip
def test_each_trial_compares_again(tmp_path: Path, said: str, expected: tuple[str, ...] | None, wrong: str) -> None:
    of = {"skills": [skill("alpha")], "collection": {"alpha": "a", "beta": "b"}, "expected": expected}
    result, _ = tried(tmp_path, f"echo '@listed {said}'", "none", **of)
    assert result.outcome == ("infrastructure" if wrong else "pass")
    assert (result.disagreement or "") == wrong


def test_temporary_folder_in_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = task(tmp_path, NO_CHECK)
    inside = Path(made.folder) / "tmp"
    inside.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(inside))
    with pytest.raises(AbortedError, match="lies inside"):
        run(tmp_path, cell(made, agent("true"), "none"))


@pytest.mark.slow
def test_reports_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "reports").write_text("a file")
    made = cell(task(tmp_path, NO_CHECK), agent("true"), "none")
    with pytest.raises(AbortedError, match="cannot write"):
        asyncio.run(run_trial(made, str(tmp_path / "reports" / "trials" / "one")))


@pytest.mark.slow
@BOTH
def test_cancellation(tmp_path: Path, sandbox: str) -> None:
    word = f"4{os.getpid()}.{sandbox[0] == 'b':d}"
    made = cell(task(tmp_path, NO_CHECK), agent(f"(setsid sleep {word} &); sleep {word}"), sandbox)
    place = tmp_path / "reports" / "one"
    place.parent.mkdir()

    async def cancelled() -> None:
        trial = asyncio.ensure_future(run_trial(made, str(place)))
        while len(bench.running(word)) < 2:
            await asyncio.sleep(0.01)
        trial.cancel()
        with pytest.raises(asyncio.CancelledError):
            await trial

    asyncio.run(asyncio.wait_for(cancelled(), 600))
    assert not bench.running(word) and list(place.parent.iterdir()) == []


# --- The model, through the gateway ----------------------------------------------------------------------------------


@pytest.mark.slow
@BOTH
def test_the_model_is_reached_through_the_gateway_alone(tmp_path: Path, sandbox: str) -> None:
    text = "ask('one'); ask('two'); print(os.environ['MODEL_KEY'], open('in.txt').read()); open('key', 'w').write(os.environ['MODEL_KEY'])"
    of = {"price": PRICE, "collection": {"alpha": "x", "beta": "B things"}}
    made = cell(task(tmp_path, NO_CHECK), asking(text), sandbox, [skill("alpha", "Adds up columns of numbers")], **of)
    with AgentServer(Play()) as server:
        result, place = run(tmp_path, with_model(made, server))
        usage = server.usage()
        sent = [{name.lower(): value for name, value in request.headers.items()} for request in server.requests]
        assert {each["authorization"] for each in sent} == {f"Bearer {KEY}"}
    assert result.outcome == "pass"
    assert asdict(replace(usage, cache_write_tokens=None)) == msgspec.structs.asdict(result.usage)
    assert (result.usage_source, result.cost_source) == ("gateway", "gateway")
    assert result.cost_usd is not None and result.cost_usd > 0
    assert bench.record(place, "probe.json")["offered"] == ["alpha"]
    assert b"Adds up columns" in (place / "request.json").read_bytes()
    kept = bench.everything(place)
    assert KEY.encode() not in kept and b"***" in (place / "stream.out").read_bytes() and b"sk-" not in kept
    assert bench.record(place, "usage.json")["gateway"]["answered"] == 2


@pytest.mark.slow
def test_a_foreign_skill_stops_the_run(tmp_path: Path) -> None:
    """A user's own skill that gets into the control is seen in the request, whatever the agent says."""
    made = cell(task(tmp_path, NO_CHECK), asking("found.append('beta: B things'); ask('x'); ask('y')"), "none")
    with AgentServer(Play()) as server:
        result, _ = run(tmp_path, with_model(replace(made, collection={"beta": "B things"}), server))
    assert (result.outcome, result.disagreement) == ("infrastructure", "beta is offered and not staged")


@pytest.mark.slow
def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    # A port that is bound and not listened at refuses everybody, and nobody else can take it meanwhile.
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{held.getsockname()[1]}"
        made = with_model(cell(task(tmp_path, NO_CHECK), asking("ask('x')"), "none"), nobody)
        result, _ = run(tmp_path, made)
    assert result.outcome == "infrastructure" and "127.0.0.1" in result.error
    assert result.cost_usd == 0.0


@pytest.mark.slow
def test_a_cap_in_dollars_is_no_failure_of_the_infrastructure(tmp_path: Path) -> None:
    text = "for n in range(5): ask('x')\nprint('@failure quota')"
    made = cell(task(tmp_path, verifier("exit 1")), asking(text), "none", price=PRICE, max_usd=0.0015)
    with AgentServer(Play()) as server:
        result, _ = run(tmp_path, with_model(made, server))
        assert server.answered < 5
    assert result.outcome == "fail"
    assert any("cap" in note for note in result.notes)


# --- Probes ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@BOTH
def test_a_probe_spends_nothing(tmp_path: Path, sandbox: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skill_health.effectiveness.run.probes._AFTER_ALL", 0.1)
    skills = [skill("alpha", "Adds up columns of numbers")]
    own = lambda output: tuple(output.stdout.decode().split())  # noqa: E731
    probing = asking("print('@listed alpha init'); ask('x'); import time; time.sleep(20)", listed=own,
                     probe=lambda job: Command(("bash", "-c", "ls .agents/skills; echo init")))  # fmt: skip
    made = cell(task(tmp_path, None), probing, sandbox, skills, collection={"alpha": "x", "beta": "B things"})
    with AgentServer(Play()) as server:
        made = with_model(made, server)
        probe = asyncio.run(run_probe(made))
        assert server.requests == []
    assert (probe.staged, probe.offered, probe.own, probe.error) == (("alpha",), ("alpha",), ("alpha", "init"), "")
    # What it was stopped before it could print is not known.
    assert probe.listed == ("alpha", "init")
    assert b"Adds up columns" in probe.request and b"sk-" not in probe.request
    assert problems(made, probe, None) == []


def test_a_probe_without_any_evidence(tmp_path: Path) -> None:
    probe = asyncio.run(run_probe(cell(task(tmp_path, None), agent("true"), "none")))
    assert probe.error == "nothing shows what script sees: it neither lists its skills nor asks a model"
    assert problems(cell(task(tmp_path, None), agent("true"), "none"), probe, None) == [probe.error]


@pytest.mark.parametrize(("probe", "baseline", "wrong"), [
    (Probe(("alpha",), ("alpha", "x"), ("alpha",)), Probe((), ("x",), ()), []),
    (Probe(("alpha",), ("alpha", "y"), None), Probe((), ("x",), ()), [OTHERS.format("x, y")]),
    (Probe(("alpha",), ("x",), ()), None, ["alpha is staged and not listed", "alpha is staged and not offered"]),
    (Probe(("alpha",), None, ("alpha", "beta")), None, ["beta is offered and not staged"]),
    (Probe(("alpha",), ("alpha", "beta"), None, ("alpha",)), None, ["beta is listed and not staged"]),
    (Probe(("alpha",), ("alpha",), None, ("alpha", "beta")), None, ["beta is listed and not staged"]),
])  # fmt: skip
def test_what_a_probe_disagrees_with(tmp_path: Path, probe: Probe, baseline: Probe | None, wrong: list[str]) -> None:
    made = cell(task(tmp_path, None), agent(""), "none", [skill("alpha")], collection={"alpha": "a", "beta": "b"})
    assert problems(made, probe, baseline) == wrong


# --- Rules -----------------------------------------------------------------------------------------------------------

DONE = StreamReading(steps=(TrajectoryStep("agent", tools=(ToolUse("1", "read", {}),)),))


@pytest.mark.parametrize(("output", "reading", "seen", "imposed"), [
    (ProgramOutput(0), DONE, None, ""),
    (ProgramOutput(1), DONE, None, ""),
    (ProgramOutput(None, stopped="timeout"), DONE, None, "timeout"),
    (ProgramOutput(None, stopped="timeout"), replace(DONE, failure="infrastructure", error="cut"), None, "infrastructure"),
    (ProgramOutput(None, stopped="disk"), DONE, None, "fail"),
    (ProgramOutput(None, stopped="output"), replace(DONE, failure="infrastructure"), None, "fail"),
    (ProgramOutput(None, stopped="processes"), DONE, None, "fail"),
    (ProgramOutput(0), replace(DONE, failure="refusal"), None, "refusal"),
    (ProgramOutput(0), replace(DONE, failure="quota", error="q"), None, "quota"),
    (ProgramOutput(0), DONE, GatewayTrace(requests=2, answered=2, failure="auth", error="a"), "auth"),
    (ProgramOutput(0), replace(DONE, failure="quota"), GatewayTrace(requests=2, answered=1, failure="capped", error="c"), ""),
    (ProgramOutput(None, stopped="timeout"), DONE, GatewayTrace(requests=2, answered=1, failure="capped", error="c"), "timeout"),
    (ProgramOutput(0), DONE, GatewayTrace(requests=9, answered=8, failure="unreachable", error="u"), ""),
    (ProgramOutput(1), replace(DONE, failure="infrastructure"),
      GatewayTrace(requests=9, answered=8, failure="unreachable", error="u"), "infrastructure"),
    (ProgramOutput(0), StreamReading(), GatewayTrace(requests=3, failure="unreachable", error="u"), "infrastructure"),
    (ProgramOutput(7), StreamReading(), GatewayTrace(), "infrastructure"),
    (ProgramOutput(0), StreamReading(), GatewayTrace(), ""),
])  # fmt: skip
def test_endings(
    tmp_path: Path, output: ProgramOutput, reading: StreamReading, seen: GatewayTrace | None, imposed: str
) -> None:
    end = ending(cell(task(tmp_path, None), agent("")), output, reading, seen)
    assert end.imposed == imposed
    assert bool(end.error) == (imposed in ("infrastructure", "quota", "auth")) or reading.failure == "infrastructure"


CUT = replace(DONE, failure="infrastructure", error="its stream ends early")


@pytest.mark.parametrize(("code", "seen", "sandbox", "imposed"), [
    (-9, GatewayTrace(requests=1, answered=1), "bubblewrap", "fail"),
    (-15, GatewayTrace(requests=3, answered=2), "docker", "fail"),
    (143, GatewayTrace(requests=1, answered=1), "podman", "fail"),
    (-9, GatewayTrace(requests=1, answered=1), "none", "infrastructure"),
    (-9, GatewayTrace(requests=1), "bubblewrap", "infrastructure"),
    (-9, None, "bubblewrap", "infrastructure"),
    (1, GatewayTrace(requests=1, answered=1), "bubblewrap", "infrastructure"),
    (128, GatewayTrace(requests=1, answered=1), "bubblewrap", "infrastructure"),
    (255, GatewayTrace(requests=1, answered=1), "bubblewrap", "infrastructure"),
])  # fmt: skip
def test_a_signal_from_inside(tmp_path: Path, code: int, seen: GatewayTrace | None, sandbox: str, imposed: str) -> None:
    made = cell(task(tmp_path, None), agent(""), sandbox)
    end = ending(made, ProgramOutput(code), CUT, seen)
    assert end.imposed == imposed and end.verify == (imposed == "fail")
    assert bool(end.notes) == (imposed == "fail") and bool(end.error) == (imposed != "fail")
    # Who came to the end of its task is judged by its work, however its program ended then.
    assert ending(made, ProgramOutput(code), DONE, seen or GatewayTrace(requests=1)).imposed == ""
    stopped = replace(seen or GatewayTrace(requests=1), failure="quota", error="no credit")
    assert ending(made, ProgramOutput(code), CUT, stopped).imposed == "quota"


@pytest.mark.slow
@pytest.mark.parametrize("signal", ["KILL", "TERM"])
def test_an_agent_that_kills_all_that_it_can(tmp_path: Path, signal: str) -> None:
    needs_bubblewrap()
    text = f"ask('x')\nprint('@failure infrastructure', flush=True)\nos.system('kill -{signal} -1')\nos.wait()"
    made = cell(task(tmp_path, NO_CHECK), asking(text))
    with AgentServer(Play()) as server:
        result, _ = run(tmp_path, with_model(made, server))
    assert (result.outcome, result.error) == ("fail", "")
    assert result.exit_code == {"KILL": -9, "TERM": -15}[signal]
    assert any("by a signal from inside its own sandbox" in note for note in result.notes)


def test_an_unfinished_conversation_is_no_disagreement(tmp_path: Path) -> None:
    """An agent that was cut off in its first side question has not been asked what it would offer."""
    made = cell(task(tmp_path, None), agent(""), skills=[skill("alpha")], collection={"beta": "b"})
    early = GatewayTrace(requests=1, answered=1, offered=())
    assert ending(made, ProgramOutput(None, stopped="timeout"), StreamReading(), early).imposed == "timeout"
    assert ending(made, ProgramOutput(0), DONE, early).disagreement == "alpha is staged and not offered"
    wrong = replace(early, offered=("alpha", "beta"))
    assert ending(made, ProgramOutput(None), StreamReading(), wrong).imposed == "infrastructure"


@pytest.mark.parametrize(("imposed", "verdict", "outcome"), [
    ("", VerifierResult("pass", 1.0), "pass"), ("", VerifierResult("fail", 0.0),
      "fail"), ("", VerifierResult("infrastructure", None), "infrastructure"),
    ("timeout", VerifierResult("pass", 1.0), "timeout"), ("timeout", VerifierResult("infrastructure", None), "timeout"),
    ("refusal", VerifierResult("pass", 1.0), "refusal"), ("fail", VerifierResult("pass", 1.0), "fail"),
    ("fail", VerifierResult("infrastructure", None), "infrastructure"), ("quota", None, "quota"), ("infrastructure", None, "infrastructure"),
])  # fmt: skip
def test_outcomes(imposed: Any, verdict: VerifierResult | None, outcome: str) -> None:
    assert outcome_of(imposed, verdict) == outcome


SAID, METERED = Usage(input_tokens=100, output_tokens=10), Usage(input_tokens=90, output_tokens=9)


@pytest.mark.parametrize(("reading", "seen", "price", "tokens", "dollars"), [
    (StreamReading(usage=SAID, cost_usd=0.5), None, None, (100, "agent"), (0.5, "agent")),
    (StreamReading(), None, None, (None, ""), (None, "")),
    (StreamReading(usage=SAID, cost_usd=0.5), GatewayTrace(answered=2, usage=METERED, cost_usd=0.1), PRICE, (90, "gateway"), (0.1, "gateway")),
    (StreamReading(usage=SAID, cost_usd=0.5), GatewayTrace(answered=2, unmetered=1, usage=METERED, cost_usd=0.1),
      PRICE, (100, "agent"), (0.00012, "prices")),
    (StreamReading(usage=SAID, cost_usd=0.5), GatewayTrace(answered=2, unmetered=1, usage=METERED), None, (100, "agent"), (0.5, "agent")),
    (StreamReading(), GatewayTrace(answered=2, unmetered=1, usage=METERED, cost_usd=0.1), PRICE, (90, "gateway"), (None, "")),
    (StreamReading(), GatewayTrace(answered=2, unmetered=2), PRICE, (None, ""), (None, "")),
    (StreamReading(cost_usd=0.0), GatewayTrace(requests=1, cost_usd=0.0), None, (None, ""), (0.0, "gateway")),
])  # fmt: skip
def test_whose_numbers_are_believed(
    tmp_path: Path, reading: StreamReading, seen: GatewayTrace | None, price: Any, tokens: Any, dollars: Any
) -> None:
    counted = numbers(replace(cell(task(tmp_path, None), agent("")), price=price), reading, seen)
    assert (counted.usage.input_tokens, counted.usage_source) == tokens
    assert (counted.cost_usd, counted.cost_source) == dollars


def test_the_limit_of_time_is_the_lower_one(tmp_path: Path) -> None:
    made = task(tmp_path, None)
    for given, limit in ((5.0, 5.0), (500.0, 20.0), (0.0, 20.0)):
        assert timeout_of(cell(made, agent(""), limits=SandboxLimits(timeout_sec=given))) == limit
