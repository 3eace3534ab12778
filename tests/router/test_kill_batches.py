"""A run in batches that is killed at any of its steps and goes on another day: nothing lost, nothing done twice."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from batch_server import Batch, BatchProvider, Call
from callers import KEY, KEY_ENV
from loopback import PROTOCOLS, Loopback
from made_collection import labelled, the_run, write_collection
from nursery import finish, python, rows, wait_until
from test_batches import EACH, SPOILT, right, settings
from thinned import repeated

from skill_health.bench.journal import read_past
from skill_health.bench.run import desk
from skill_health.router.runs import FIELDS

Run = Callable[..., "subprocess.CompletedProcess[str]"]
# Tests see no variable of ours, so it is read before they begin.
KILLS = int(os.environ.get("SKILL_HEALTH_KILLS", "10"))
MOST = 7
CALLS = 2 * EACH
EACH_USD = 150 * 10 / 1e6 / 2
# Forks a process for each line of [step at which it is killed, arguments, file for what it says]. A step is what comes
# before or after a request about batches, or a write to the disk.
NURSERY = f"""
import json, os, signal, sys
from skill_health.bench.http import pacing, plain_requests as http
from skill_health.bench.journal import Journal
from skill_health.bench.providers._load import load_provider
from skill_health.bench.run import desk as engine
import skill_health.router.run.conduct, skill_health.bench.http.client, skill_health.router.reports
engine.LOOKS, engine.TICK, engine.SETTLE = (0.01,), 0.01, 0.1
pacing.STEPS = tuple(step / 1000 for step in pacing.STEPS)
for name in ("openai", "openai-responses", "anthropic", "gemini"):
    type(load_provider(name).batches).most_requests = {MOST}
at, steps = 0, 0
def step():
    global steps
    steps += 1
    if steps == at:
        os.kill(os.getpid(), signal.SIGKILL)
fetch, commit = http.fetch, Journal._commit
async def fetching(*given):
    step()
    found = await fetch(*given)
    step()
    return found
def committing(self, batch):
    step()
    commit(self, batch)
    step()
http.fetch, Journal._commit = fetching, committing
for line in sys.stdin:
    at, arguments, said = json.loads(line)
    child = os.fork()
    if child == 0:
        for stream in (1, 2):
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        code = main(arguments)
        print("steps", steps, file=sys.stderr, flush=True)
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_ENV, KEY)
        process = python(NURSERY, stdin=subprocess.PIPE, stderr=None)
    yield process
    process.communicate(timeout=600)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("collection"), labelled(EACH))


class Driver:
    """Runs against a provider of its own, which goes on whatever happens to them."""

    def __init__(self, nursery: subprocess.Popen[str], collection: Path, folder: Path, protocol: str, url: str) -> None:
        self.nursery, self.folder, self.protocol = nursery, folder, protocol
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.toml").write_text(settings(url), "utf-8")
        self.arguments = [
            "router", "run", str(collection), "--batch", "--config", str(folder / "settings.toml"), "--models",
            f"{protocol}:m", "--reps", "2", "--out", str(folder / "reports"), "--max-runs",
        ]  # fmt: skip
        self.said = folder / "said.txt"
        # As many as are made, twice those of one call that fails and of one that is answered in the wrong form.
        self.most = 6 + CALLS + 4

    def run(self, at: int = 0, *more: str) -> int:
        """The exit code of one process, that is killed at a step."""
        assert self.nursery.stdin is not None and self.nursery.stdout is not None
        self.nursery.stdin.write(json.dumps([at, [*self.arguments, str(self.most), *more], str(self.said)]) + "\n")
        self.nursery.stdin.flush()
        return int(self.nursery.stdout.readline())

    @property
    def steps(self) -> int:
        return int(self.said.read_text("utf-8").rpartition("steps ")[2])

    @property
    def folder_of_run(self) -> Path:
        return the_run(self.folder / "reports")

    @property
    def reported(self) -> bool:
        """Whether the run was over: the same command would begin another."""
        return any((self.folder / "reports").glob("router/*/report.md"))

    @property
    def checked(self) -> bool:
        """Whether the instrument check was on the disk; what is not when a run is killed counts as lost."""
        found = (self.folder / "reports").glob("router/*/attempts.jsonl")
        return any(b'"batch":' in path.read_bytes() for path in found)

    def results(self) -> list[dict[str, Any]]:
        """What the results say, whatever batch they came in."""
        return [{**row, "batch": ""} for row in rows(self.folder_of_run / "results.jsonl")]


def failing_once() -> BatchProvider:
    """One that fails a call once and has another answered in the wrong form, always."""
    failed: set[str] = set()

    def done(batch: Batch, call: Call) -> str:
        if "please, number 4" in call.text and call.text not in failed:
            failed.add(call.text)
            return "errored"
        return SPOILT if "please, number 7" in call.text else right(call)

    return BatchProvider(right, done=done)


def check(driver: Driver, made: BatchProvider, whole: list[dict[str, Any]], killed_in_check: bool = False) -> None:
    """All answers are there, each call was handed in as often as it has to be, and all that was paid is counted."""
    assert driver.results() == whole
    wanted = {text: 2 if "please, number 4" in text or "please, number 7" in text else 1 for text in made.texts()}
    assert Counter(made.texts()) == wanted and len(wanted) == CALLS
    past = read_past(str(driver.folder_of_run), FIELDS)
    assert past.batches == {}
    paid = 2 * made.alone + CALLS + 2
    if not killed_in_check:
        assert past.lost == 0
        assert past.usd == pytest.approx(paid * EACH_USD)
        assert past.attempts == made.alone + CALLS + 4
    assert past.usd >= paid * EACH_USD - 1e-9
    assert KEY not in "".join(path.read_text("utf-8") for path in driver.folder_of_run.iterdir())


Whole = Callable[[str], tuple[list[dict[str, Any]], int]]


@pytest.fixture(scope="module")
def whole(nursery: subprocess.Popen[str], collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The results of a run of a protocol that nobody disturbed, and its steps."""

    @cache
    def run(protocol: str) -> tuple[list[dict[str, Any]], int]:
        made = failing_once()
        with Loopback(made.react) as server:
            driver = Driver(nursery, collection, tmp_path_factory.mktemp("whole"), protocol, server.url)
            assert driver.run() in (0, 1), driver.said.read_text("utf-8")
            check(driver, made, driver.results())
            return driver.results(), driver.steps

    return run


@pytest.mark.parametrize("kills", repeated(1, KILLS))
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_killed_at_a_step_and_resumed_the_next_day(
    nursery: subprocess.Popen[str], collection: Path, tmp_path: Path, protocol: str, kills: int, whole: Whole
) -> None:
    results, steps = whole(protocol)
    points = range(1, steps + 1)
    for at in points if steps <= kills else random.Random(protocol).sample(points, kills):
        made = failing_once()
        with Loopback(made.react) as server:
            driver = Driver(nursery, collection, tmp_path / str(at), protocol, server.url)
            # How often providers are asked varies a little, so that the last steps may not be there.
            code = driver.run(at)
            assert code == -signal.SIGKILL or (code in (0, 1) and at > steps // 2), driver.said.read_text("utf-8")
            checked = driver.checked
            driver.most += 0 if checked else 6
            if driver.reported:
                check(driver, made, results)
                continue
            assert driver.run() in (0, 1), f"killed at step {at}: {driver.said.read_text('utf-8')}"
            check(driver, made, results, not checked)


@pytest.mark.parametrize(
    ("protocol", "most"),
    [
        pytest.param("openai", 1, marks=pytest.mark.slow),
        *(pytest.param(protocol, KILLS, marks=pytest.mark.exhaustive) for protocol in PROTOCOLS),
    ],
)
def test_killed_again_and_again(
    nursery: subprocess.Popen[str], collection: Path, tmp_path: Path, protocol: str, most: int, whole: Whole
) -> None:
    results, steps = whole(protocol)
    draw, kills, run = random.Random(f"{protocol} often"), 0, 0
    while kills < most:
        run += 1
        made = failing_once()
        with Loopback(made.react) as server:
            driver = Driver(nursery, collection, tmp_path / str(run), protocol, server.url)
            code = driver.run(draw.randint(steps // 4, steps))
            checked = driver.checked
            driver.most += 0 if checked else 6
            for _ in range(50):
                if code != -signal.SIGKILL or driver.reported:
                    break
                kills += 1
                code = driver.run(draw.randint(1, 30))
            if code == -signal.SIGKILL and not driver.reported:
                code = driver.run()
            assert code in (0, 1) or driver.reported, driver.said.read_text("utf-8")
            check(driver, made, results, not checked)


SOON = """
from skill_health.bench.run import desk as engine
engine.LOOKS, engine.TICK, engine.SETTLE = (0.01,), 0.01, 0.1
sys.exit(main())
"""


class OneRun:
    """A run in batches that processes work on, this one among them."""

    def __init__(self, collection: Path, folder: Path, run_in: Run) -> None:
        self.collection, self.folder, self.run_in = collection, folder, run_in

    def arguments(self, protocol: str, url: str) -> list[str]:
        (self.folder / "settings.toml").write_text(settings(url), "utf-8")
        return [
            "router", "run", str(self.collection), "--batch", "--config", str(self.folder / "settings.toml"), "--models",
            f"{protocol}:m", "--reps", "2", "--out", str(self.folder / "reports"), "--max-runs", "60",
        ]  # fmt: skip

    def start(self, protocol: str, url: str) -> subprocess.Popen[str]:
        return python(SOON, *self.arguments(protocol, url))

    def go_on(self, protocol: str, url: str, *more: str) -> tuple[int, str]:
        """The exit code, and what was said on stderr."""
        done = self.run_in(self.folder, *self.arguments(protocol, url), *more)
        return done.returncode, done.stderr


@pytest.fixture
def one_run(collection: Path, tmp_path: Path, run_in: Run, monkeypatch: pytest.MonkeyPatch) -> OneRun:
    monkeypatch.setenv(KEY_ENV, KEY)
    for name, value in (("LOOKS", (0.01,)), ("TICK", 0.01), ("SETTLE", 0.1)):
        monkeypatch.setattr(desk, name, value)
    return OneRun(collection, tmp_path, run_in)


def submitted(folder: Path) -> bool:
    return any(b'"submitted"' in path.read_bytes() for path in folder.glob("reports/router/*/batches.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_interrupt_leaves_batches_and_another_process_collects_or_cancels_them(
    one_run: OneRun, tmp_path: Path, protocol: str
) -> None:
    made = BatchProvider(right, looks=10**9)
    with Loopback(made.react) as server:
        process = one_run.start(protocol, server.url)
        wait_until(lambda: submitted(tmp_path), process)
        process.send_signal(signal.SIGINT)
        code, _, err = finish(process)
        assert code == 130, err
        assert "stopping: 1 batch with the provider go" in err and "--cancel-batches cancels them" in err
        assert f"interrupted: {CALLS} calls" in err
        (batch,) = made.batches
        assert not batch.cancelling
        # Some calls are done by the time that the batch is cancelled: these are paid, and kept.
        made.done = lambda batch, call: right(call) if "please, number 1" in call.text else "canceled"
        code, err = one_run.go_on(protocol, server.url, "--cancel-batches")
        assert code == 3, err
        assert "is being cancelled; what is done is kept, and paid" in err
        assert re.search(rf": {CALLS - 2} calls .*\(the batches", err)
        assert batch.over == "cancelled" and len(made.batches) == 1
        folder = the_run(tmp_path / "reports")
        assert {row["prompt_id"] for row in rows(folder / "results.jsonl")} == {"p1"}
        past = read_past(str(folder), FIELDS)
        assert past.usd == pytest.approx((12 + 2) * EACH_USD)
        made.done, made.looks = None, 1
        code, err = one_run.go_on(protocol, server.url)
        assert code in (0, 1), err
        assert len(rows(folder / "results.jsonl")) == CALLS
        assert [len(each.calls) for each in made.batches] == [CALLS, CALLS - 2]
        assert read_past(str(folder), FIELDS).usd == pytest.approx((12 + CALLS) * EACH_USD)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_somebody_cancels_at_the_provider_is_not_handed_in_again_by_itself(one_run: OneRun, protocol: str) -> None:
    made = BatchProvider(right, outcome=lambda batch: "cancelled")
    with Loopback(made.react) as server:
        code, err = one_run.go_on(protocol, server.url)
        assert code == 3, err
        assert "somebody cancelled a batch at the provider" in err
        assert len(made.batches) == 1
        made.outcome = lambda batch: "completed"
        assert one_run.go_on(protocol, server.url)[0] in (0, 1)
        assert [len(each.calls) for each in made.batches] == [CALLS, CALLS]


@pytest.mark.slow
def test_two_processes_do_not_share_a_run(one_run: OneRun, tmp_path: Path) -> None:
    made = BatchProvider(right, looks=10**9)
    with Loopback(made.react) as server:
        first = one_run.start("openai", server.url)
        wait_until(lambda: submitted(tmp_path), first)
        code, err = one_run.go_on("openai", server.url)
        assert code == 2 and "is in use by process" in err
        made.looks = 1
        assert finish(first)[0] in (0, 1)
        assert len(made.batches) == 1
