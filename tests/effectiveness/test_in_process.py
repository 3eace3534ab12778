"""A simulated agent in a thread of ours: what comes of it is what comes of its program, and it keeps to the limits."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trial_bench
from effects_made import replace

from simulators.agents import _program, scripted
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.agents import _loop_stream
from skill_health.effectiveness.agents._api import Agent, Command, Job, ProgramOutput, Simulation
from skill_health.effectiveness.agents._load import AgentChoice
from skill_health.effectiveness.run.probes import run_probe
from skill_health.effectiveness.sandbox._api import SandboxLimits, SandboxSession
from skill_health.effectiveness.sandbox._in_process import run_in_process
from skill_health.effectiveness.sandbox._run import run
from skill_health.effectiveness.tasks._api import script
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.trial import agent_run
from skill_health.effectiveness.trial.spec import TrialSpec

LIMITS = SandboxLimits(timeout_sec=20.0, output_bytes=1 << 16, disk_bytes=1 << 20)
ORACLE = script(["sh", "solve.sh"], [File("solve.sh", b"echo done > out.txt\n", True)], 5.0)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How agents were started, in their order."""
    taken: list[str] = []

    def noted(way: str, start: Callable[..., Any]) -> Callable[..., Any]:
        def started(*words: Any) -> Any:
            taken.append(way)
            return start(*words)

        return started

    monkeypatch.setattr(agent_run, "run", noted("program", run))
    monkeypatch.setattr(agent_run, "run_in_process", noted("in process", run_in_process))
    return taken


def as_program(of: Any) -> Agent:
    """The same agent, which can only be started as a program."""

    def alone(command: Command | None) -> Command | None:
        return replace(command, simulation=None) if command else None

    values = {name: getattr(of, name) for name in Agent.__annotations__}
    return cast(Agent, SimpleNamespace(
        **values, command=lambda job: alone(of.command(job)), probe=lambda job: alone(of.probe(job)),
        listed=of.listed, read=of.read,
    ))  # fmt: skip


def trial_of(tmp_path: Path, spec: str, of: Any, **more: Any) -> TrialSpec:
    made = trial_bench.task(tmp_path, trial_bench.verifier("test -f out.txt"), oracle=ORACLE)
    skills = [trial_bench.skill("alpha"), trial_bench.skill("beta")]
    cell = trial_bench.cell(made, of, "none", skills, limits=LIMITS, **more)
    return cast(TrialSpec, replace(cell, choice=AgentChoice(spec, of, "scripted", "", "")))


def written(place: Path) -> dict[str, bytes]:
    """Every file of a trial, without what says how long something took."""
    return {str(path.relative_to(place)): timeless(path) for path in sorted(place.rglob("*")) if path.is_file()}


def timeless(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix != ".json":
        return data
    record = json.loads(data)
    for part in (record, record.get("result")):
        if isinstance(part, dict):
            part.pop("duration_ms", None)
    return json.dumps(record).encode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "outcome", "way"),
    [
        ("base=0,target=0,invoke=1,partial=1", "fail", "in process"),
        ("base=0,target=0,invoke=0,partial=0,seed=4", "fail", "in process"),
        ("base=1,refusal=1", "refusal", "in process"),
        ("base=1,fail=1,sleep=0.01", "infrastructure", "in process"),
        ("base=1,quota=1", "quota", "in process"),
        ("base=1,auth=1", "auth", "in process"),
        # An oracle is the task's code, which nobody runs without a supervisor.
        ("base=1,target=0", "pass", "program"),
    ],
)
def test_a_trial_is_the_same_in_both_ways(tmp_path: Path, ways: list[str], spec: str, outcome: str, way: str) -> None:
    found: list[tuple[TrialResult, dict[str, bytes]]] = []
    for name, of in (("one", scripted), ("other", as_program(scripted))):
        result, place = trial_bench.run(tmp_path / name, trial_of(tmp_path, f"scripted:{spec}", of))
        found.append((replace(result, duration_ms=None), written(place)))
    (result, files), other = found
    assert ways == [way, "program"]
    assert result.outcome == outcome
    assert (result, files) == other
    assert {"trial.json", "verdict.json", "stream.out", "diff.patch"} <= files.keys()


@pytest.mark.slow
def test_a_probe_is_the_same_in_both_ways(tmp_path: Path, ways: list[str]) -> None:
    one, other = (asyncio.run(run_probe(trial_of(tmp_path, "scripted", of))) for of in (scripted, as_program(scripted)))
    assert one == other
    assert (one.listed, one.error) == (("alpha", "beta"), "")
    assert ways == ["in process", "program"]


def test_no_simulation_runs_what_belongs_to_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_program, "run", lambda *words: pytest.fail(f"started {words}"))
    seen = set()
    for seed in range(60):
        cell = trial_of(tmp_path, f"scripted:seed={seed},base=0.5,target=0,fail=0.2,refusal=0.2", scripted)
        places = {name: str(tmp_path) for name in ("workspace", "home", "temporary")}
        job = Job(cell.choice.spec, "", "", **places, skills=cell.skills, task=cell.task, arm="target")
        command = scripted.command(job)
        files = {file.path: file.data for file in command.files}
        planned = json.loads(files[".scripted/plan.json"])
        seen.add((command.simulation is not None, planned["work"] == "oracle" and not planned["failure"]))
        if command.simulation is not None:
            command.simulation(str(tmp_path), lambda data: None, lambda seconds: None)
    assert seen == {(True, False), (False, True)}


@pytest.mark.slow
@pytest.mark.parametrize(("sandbox", "simulated"), [("bubblewrap", True), ("none", False)])
def test_what_is_kept_apart_or_no_simulation_is_a_program(
    tmp_path: Path, ways: list[str], sandbox: str, simulated: bool
) -> None:
    if sandbox == "bubblewrap":
        trial_bench.needs_bubblewrap()
    made = trial_bench.task(tmp_path, trial_bench.verifier("exit 0"))
    command = Command(("true",), simulation=lambda *given: pytest.fail("was called"))
    of = trial_bench.agent("", command=lambda job: command, SIMULATED=simulated)
    assert trial_bench.run(tmp_path, trial_bench.cell(made, of, sandbox))[0].outcome == "pass"
    assert ways == ["program"]


# --- How it can end --------------------------------------------------------------------------------------------------

ENDS = {
    "an exception": "say(b'{\"event\": \"start\"}\\n'); raise ValueError('wrong \\ud800')",
    "an interrupt of its own": "raise GeneratorExit('out')",
    "too deep": "def deep(): return 1 + deep()\n    return deep()",
    "exit": "raise SystemExit",
    "exit 3": "raise SystemExit(3)",
    "exit 259": "raise SystemExit(259)",
    "exit -1": "raise SystemExit(-1)",
    "exit with words": "raise SystemExit('that is all')",
    "a code": "return 7",
    "nothing to write to": "open(root + '/no/such', 'w')",
}
PROGRAM = "import sys, time\n{}\nwrite = lambda data: (sys.stdout.buffer.write(data), sys.stdout.flush())\nsys.exit(act('.', write, time.sleep))"


@pytest.mark.slow
@pytest.mark.parametrize("text", ENDS.values(), ids=ENDS)
def test_an_end_is_the_same_in_both_ways(tmp_path: Path, text: str) -> None:
    source = f"def act(root, say, wait):\n    {text}\n"
    made = trial_bench.task(tmp_path, trial_bench.verifier("exit 0"))
    found: list[tuple[TrialResult, list[str]]] = []
    for simulation in (None, compiled(source)):
        command = Command((sys.executable, "-I", "-S", "-c", PROGRAM.format(source)), simulation=simulation)
        of = trial_bench.agent("", command=lambda job, made=command: made, read=_loop_stream.read)
        result, place = trial_bench.run(tmp_path / str(len(found)), trial_bench.cell(made, of, "none"))
        said = (place / "stream.err").read_text("utf-8").splitlines()
        found.append((replace(result, duration_ms=None), [] if not said else said[-1].replace(str(place), "")))
    program, simulated = found
    if text.startswith("open"):
        assert all("FileNotFoundError: [Errno 2] No such file or directory" in result.error for result, _ in found)
        return
    assert simulated == program


def compiled(source: str) -> Simulation:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return cast(Simulation, namespace["act"])


# --- Limits ----------------------------------------------------------------------------------------------------------


def waits(root: str, say: Callable[[bytes], None], wait: Callable[[float], None]) -> int:
    wait(3600)
    return 0


def spins(root: str, say: Callable[[bytes], None], wait: Callable[[float], None]) -> int:
    while True:
        pass


def holds_on(root: str, say: Callable[[bytes], None], wait: Callable[[float], None]) -> int:
    for _ in range(3):
        try:
            spins(root, say, wait)
        except BaseException:
            continue
    return 0


def prints(root: str, say: Callable[[bytes], None], wait: Callable[[float], None]) -> int:
    while True:
        say(b"x" * 1024)


def fills(root: str, say: Callable[[bytes], None], wait: Callable[[float], None]) -> int:
    Path(root, "large").write_bytes(b"\1" * (16 << 20))
    return waits(root, say, wait)


@contextmanager
def a_box(tmp_path: Path) -> Iterator[SandboxSession]:
    """Folders for a simulation, of which nothing is left at the end."""
    workspace, home, temporary = (tmp_path / name for name in ("workspace", "home", "tmp"))
    for folder in (workspace, home, temporary):
        folder.mkdir()
    yield SandboxSession(str(workspace), str(home), str(temporary))
    assert [thread for thread in threading.enumerate() if thread.name == "simulation"] == []


def called(tmp_path: Path, simulation: Simulation, **limits: float) -> ProgramOutput:
    with a_box(tmp_path) as box:
        output = asyncio.run(run_in_process(box, simulation, replace(LIMITS, **limits)))
        # The thread ends when it has said so.
        for thread in threading.enumerate():
            if thread.name == "simulation":
                thread.join(10)
    return output


@pytest.mark.slow
@pytest.mark.parametrize("simulation", [waits, spins, holds_on])
def test_a_time_limit_holds(tmp_path: Path, simulation: Simulation) -> None:
    output = called(tmp_path, simulation, timeout_sec=0.1)
    assert (output.exit_code, output.stopped, output.stdout, output.stderr) == (None, "timeout", b"", b"")


@pytest.mark.slow
def test_a_time_limit_is_that_of_the_trial(tmp_path: Path) -> None:
    cell = trial_of(tmp_path, "scripted:base=1,hang=1,invoke=1", scripted)
    result, _ = trial_bench.run(tmp_path, replace(cell, limits=replace(LIMITS, timeout_sec=0.2)))
    assert (result.outcome, result.exit_code, result.invoked) == ("timeout", None, "yes")


def test_output_without_end_is_cut_and_ends_it(tmp_path: Path) -> None:
    output = called(tmp_path, prints)
    assert (output.exit_code, output.stopped, len(output.stdout)) == (None, "output", LIMITS.output_bytes)
    assert output.notes[0].startswith("stdout had ")


@pytest.mark.slow
def test_a_full_disk_ends_it(tmp_path: Path) -> None:
    output = called(tmp_path, fills)
    assert (output.exit_code, output.stopped) == (None, "disk")
    (note,) = output.notes
    assert " 1,048,576 bytes " in note


@pytest.mark.slow
@pytest.mark.parametrize("simulation", [waits, spins])
def test_who_waits_may_stop_it_or_give_up(tmp_path: Path, simulation: Simulation) -> None:
    begun = threading.Event()

    def told(*given: Any) -> int:
        begun.set()
        return simulation(*given)

    async def asked(box: SandboxSession, give_up: bool) -> ProgramOutput | None:
        begun.clear()
        stop = asyncio.Event()
        waiting = asyncio.ensure_future(run_in_process(box, told, LIMITS, stop))
        while not begun.is_set():
            await asyncio.sleep(0)
        if not give_up:
            stop.set()
            return await waiting
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return None

    with a_box(tmp_path) as box:
        output = asyncio.run(asked(box, False))
        assert output is not None and (output.exit_code, output.stopped) == (None, "cancelled")
        assert asyncio.run(asked(box, True)) is None
        for thread in threading.enumerate():
            if thread.name == "simulation":
                thread.join(10)
