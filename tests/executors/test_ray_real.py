"""Real workers of Ray: the same bytes as here, keys that stay, and kills of workers, drivers and heads."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
for folder in ("effectiveness", "router"):
    sys.path.append(str(ROOT / "tests" / folder))

from agent_server import AgentServer  # noqa: E402
from live_runs import KEY, PLAY, SANDBOX, begin  # noqa: E402
from nursery import rows  # noqa: E402
from run_made import the_run, write_collection  # noqa: E402
from test_kill_trials import AGENT, timeless  # noqa: E402

from skill_health.documents._record import record_values  # noqa: E402
from skill_health.documents.effect_result import TrialResult  # noqa: E402

pytestmark = pytest.mark.real
pytest.importorskip("ray")
KILLS = int(os.environ.get("SKILL_HEALTH_KILLS", "2"))
TIME = "2026-03-01T00:00:00Z"
CLUSTER = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 2,
    "RAY_USAGE_STATS_ENABLED": "0",
}  # fmt: skip
"""A cluster that listens on loopback only, and whoever joins it."""
TRIALS = 2 * (4 * 3 + 2)
STEADY = "scripted:base=0.3,target=0.5,sleep=0.2"
"""Fails only where its worker does."""


def command(*words: str, **more: Any) -> subprocess.Popen[str]:
    env = os.environ | {"PYTHONPATH": str(ROOT), **more}
    return subprocess.Popen(
        [sys.executable, "-m", "simulators", *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(*words: str, codes: Sequence[int] = (0, 1), cwd: Path | None = None) -> str:
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    made = [sys.executable, "-m", "simulators", *words]
    done = subprocess.run(made, env=env, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode in codes, done.stderr
    return done.stdout


def trials(collection: Path, out: Path, *more: str, agent: str = AGENT) -> list[str]:
    return [
        "effectiveness", "run", str(collection / "tasks"), "--agents", agent, "--sandbox", SANDBOX, "--out", str(out),
        "--quiet", "--time", TIME, "--arms", "target,full", "--reps", "2", *more,
    ]  # fmt: skip


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def below(pid: int) -> dict[int, str]:
    """The processes that a process has started, with their command lines."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parents[int(entry.name)] = parent_of(int(entry.name))
    found: dict[int, str] = {}
    wanted = {pid}
    while new := {child for child, parent in parents.items() if parent in wanted and child not in found}:
        for child in new:
            with suppress(OSError):
                found[child] = (
                    Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
        wanted = new
    return found


def workers_of(pid: int) -> list[int]:
    return [child for child, line in below(pid).items() if line.startswith("ray::")]


def busy(process: subprocess.Popen[str]) -> list[int]:
    """Its workers that have something to do."""
    return [child for child, line in below(process.pid).items() if line.startswith("ray::_do")]


def results_in(out: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in out.glob("effectiveness/*/results.jsonl"))


def wait_for(condition: Callable[[], Any], process: subprocess.Popen[str]) -> bool:
    """Whether it came to hold while the process lived."""
    while process.poll() is None:
        if condition():
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("collection") / "c")


@pytest.fixture(scope="module")
def whole(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a run of this machine alone says."""
    out = tmp_path_factory.mktemp("whole")
    run(*trials(collection, out))
    return timeless(the_run(out))


def values_of(results: Sequence[TrialResult]) -> list[dict[str, Any]]:
    """Results without the number of their attempts: what was in flight in a lost worker is tried again."""
    return [{**record_values(each), "attempts": 1} for each in results]


def check_whole(out: Path, whole: dict[str, Any]) -> None:
    """The same as the run that was made here; nothing that came to an end was done again."""
    found = timeless(the_run(out))
    assert values_of(found["results"]) == values_of(whole["results"])
    assert found["manifest"] == whole["manifest"] and found["probes"] == whole["probes"]
    events = rows(the_run(out) / "attempts.jsonl")
    ended = Counter((*row["key"], row["attempt"]) for row in events if row["event"] == "end")
    assert set(ended.values()) == {1}


@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.exhaustive)])
def test_trials_on_workers_have_the_bytes_of_trials_here(
    collection: Path, tmp_path: Path, whole: dict[str, Any], workers: int
) -> None:
    run(*trials(collection, tmp_path, "--executor", f"ray:{workers}"))
    found = timeless(the_run(tmp_path))
    for part in whole:
        assert found[part] == whole[part], part


def test_findings_and_rankings_have_the_same_bytes(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "fixtures", tmp_path / "f")
    for name, more in (("here", ()), ("there", ("--executor", "ray:2"))):
        lint = (
            "lint",
            "--format",
            "json",
            "--score",
            "--no-cache",
            "--as-of",
            "2026-03-01",
            "--output",
            str(tmp_path / name),
        )
        run(*lint, *more, cwd=tmp_path / "f")
        models = ("--models", "lexical:bm25,lexical:overlap,hybrid")
        run(
            "router",
            "run",
            *models,
            "--time",
            TIME,
            "--quiet",
            "--out",
            str(tmp_path / f"{name}-out"),
            *more,
            cwd=tmp_path / "f",
        )
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
    both = [
        {
            str(path.relative_to(out)): path.read_bytes()
            for path in out.rglob("*")
            if path.is_file() and path.name != "attempts.jsonl"
        }
        for out in (tmp_path / "here-out", tmp_path / "there-out")
    ]
    assert both[0] == both[1] and len(both[0]) > 4


def kept(collection: Path) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if name != "duration_ms"}
        for row in rows(next(collection.glob("reports/effectiveness/*/results.jsonl")))
    ]


def test_the_key_stays_with_the_gateway(tmp_path: Path) -> None:
    """A real agent asks its model through a worker, and no process or file there has ever held the key."""
    found = []
    with AgentServer(PLAY) as server:
        for name, more in (("here", ()), ("there", ("--executor", "ray:2"))):
            root = write_collection(tmp_path / name / "c")
            server.clear()
            process = begin(root, server, "--max-budget-usd", "5", "--reps", "2", *more)
            seen: list[str] = []
            while process.poll() is None:
                for pid in workers_of(process.pid):
                    for part in ("environ", "cmdline"):
                        with suppress(OSError):
                            seen.append(Path(f"/proc/{pid}/{part}").read_text("utf-8", "replace"))
                time.sleep(0.2)
            out, err = process.communicate()
            assert process.returncode in (0, 1), out + err
            found.append((kept(root), len([each for each in server.requests if each.model_call])))
            assert {request.headers.get("authorization") for request in server.requests if request.model_call} == {
                f"Bearer {KEY}"
            }
            data = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
            assert KEY.encode() not in data
            assert bool(seen) == bool(more) and not any(KEY in each for each in seen)
    assert found[0] == found[1]


def test_a_cap_holds_over_all_workers(collection: Path, tmp_path: Path, whole: dict[str, Any]) -> None:
    run(*trials(collection, tmp_path, "--executor", "ray:4", "--max-runs", "5"), codes=(3,))
    starts = [row for row in rows(the_run(tmp_path) / "attempts.jsonl") if row["event"] == "start"]
    assert len(starts) == 5
    run(*trials(collection, tmp_path, "--executor", "ray:4"))
    check_whole(tmp_path, whole)


def test_killed_workers_lose_what_was_in_flight_and_nothing_else(collection: Path, tmp_path: Path) -> None:
    draw, kills, rounds = random.Random(1), 0, 0
    run(*trials(collection, tmp_path / "whole", agent=STEADY))
    whole = timeless(the_run(tmp_path / "whole"))
    while kills < KILLS:
        out, rounds = tmp_path / str(rounds), rounds + 1
        process = command(*trials(collection, out, "--executor", "ray:3", agent=STEADY))
        # A trial is given up when it was lost three times, so no more than two of a run are.
        for wanted in sorted(draw.sample(range(TRIALS - 4), 2)):
            if wait_for(
                lambda out=out, wanted=wanted, process=process: results_in(out) >= wanted and busy(process), process
            ):
                with suppress(OSError, IndexError):
                    os.kill(draw.choice(busy(process)), signal.SIGKILL)
                    kills += 1
        _, err = process.communicate(timeout=600)
        assert process.returncode in (0, 1), err
        check_whole(out, whole)


@pytest.mark.exhaustive
def test_a_killed_driver_leaves_no_worker_and_resumes(collection: Path, tmp_path: Path, whole: dict[str, Any]) -> None:
    draw, kills, rounds = random.Random(2), 0, 0
    while kills < KILLS:
        out, rounds = tmp_path / str(rounds), rounds + 1
        while True:
            process = command(*trials(collection, out, "--executor", "ray:2"))
            wanted = min(results_in(out) + draw.randint(1, 9), TRIALS)
            if wanted < TRIALS and wait_for(lambda out=out, wanted=wanted: results_in(out) >= wanted, process):
                children = below(process.pid)
                process.kill()
                process.communicate()
                kills += 1
                left = gone_in_time(children)
                assert not any(ours(line) for line in left.values()), left
                for pid in left:
                    with suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
                continue
            _, err = process.communicate(timeout=600)
            assert process.returncode in (0, 1), err
            break
        check_whole(out, whole)


def ours(line: str) -> bool:
    """Whether a process is a worker, or was started by one. Agents of Ray wait until somebody reaps its daemon."""
    return not line.startswith(("ray::DashboardAgent", "ray::RuntimeEnvAgent"))


def gone_in_time(children: dict[int, str]) -> dict[int, str]:
    """Those of some processes that do not end, however long is waited."""
    for _ in range(300):
        left = {pid: line for pid, line in children.items() if alive(pid)}
        if not any(map(ours, left.values())):
            break
        time.sleep(0.1)
    return left


def alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.fixture
def head(tmp_path: Path) -> Iterator[Callable[[], tuple[str, int]]]:
    """Begins clusters by themselves; each is the address of a head, and the process that stands for it."""
    begun: list[subprocess.Popen[bytes]] = []

    def start() -> tuple[str, int]:
        import socket

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        env = os.environ | {"PYTHONPATH": str(ROOT), **CLUSTER}
        process = subprocess.Popen(
            [
                str(Path(sys.executable).with_name("ray")), "start", "--head", "--port", str(port),
                "--num-cpus", "2", "--include-dashboard", "false", "--block", "--temp-dir", f"/tmp/r{port}",
            ],
            env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        begun.append(process)
        for _ in range(600):
            if any("raylet" in line for line in below(process.pid).values()):
                break
            time.sleep(0.2)
        time.sleep(3)
        return f"127.0.0.1:{port}", process.pid

    yield start
    for process in begun:
        for pid in (*below(process.pid), process.pid):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


@pytest.mark.exhaustive
def test_a_running_cluster_is_joined_and_a_killed_head_loses_what_was_in_flight(
    collection: Path, tmp_path: Path, whole: dict[str, Any], head: Callable[[], tuple[str, int]]
) -> None:
    address, pid = head()
    process = command(*trials(collection, tmp_path, "--executor", f"ray:{address}", agent=STEADY), **CLUSTER)
    assert wait_for(lambda: results_in(tmp_path) >= 4, process), process.communicate()
    for child in (*below(pid), pid):
        with suppress(OSError):
            os.kill(child, signal.SIGKILL)
    process.communicate(timeout=600)
    assert process.returncode != 0
    there = results_in(tmp_path)
    assert 4 <= there <= TRIALS
    address, _ = head()
    again = command(*trials(collection, tmp_path, "--executor", f"ray:{address}", agent=STEADY), **CLUSTER)
    _, err = again.communicate(timeout=600)
    assert again.returncode in (0, 1), err
    found = timeless(the_run(tmp_path))
    assert len(found["results"]) == TRIALS and all(each.finished for each in found["results"])


def test_an_interrupt_ends_what_is_under_way_and_leaves_nothing(collection: Path, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    process = command(
        *trials(collection, tmp_path / "out", "--executor", "ray:2", agent="scripted:sleep=60"),
        TMPDIR=str(tmp_path / "t"),
    )
    assert wait_for(lambda: any("sleep" in line or "_inside" in line for line in below(process.pid).values()), process)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(1)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    left = [path for path in (tmp_path / "t").iterdir() if path.name.startswith("skill-health-")]
    assert left == []


def test_where_there_are_no_workers_one_line_says_so(collection: Path, tmp_path: Path) -> None:
    for name, said in (("ray:0", "between 1 and 1024"), ("rai", "did you mean ray"), ("local:3", "address")):
        done = command(*trials(collection, tmp_path, "--executor", name))
        _, err = done.communicate()
        assert done.returncode == 2 and said in err.splitlines()[-1], err
