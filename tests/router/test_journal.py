"""The journal: durable before counted, torn lines, two processes, changed manifests, keys kept out."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench import durable
from skill_health.bench.journal import ATTEMPTS, MANIFEST, RESULTS, Journal, create, read_manifest, read_past, resume
from skill_health.bench.redact import keys_in_use, redacted
from skill_health.core.errors import AbortedError, UsageError

FIELDS = ("prompt_id", "model", "replication")
SAME: Callable[[dict[str, Any]], Sequence[str]] = lambda manifest: []  # noqa: E731


def result(number: int, **more: Any) -> dict[str, Any]:
    return {"prompt_id": f"p{number:02}", "model": "m", "replication": 0, "status": "finished", **more}


def start(number: int, attempt: int = 1, usd: float | None = 0.5) -> dict[str, Any]:
    return {"event": "start", "key": [f"p{number:02}", "m", 0], "attempt": attempt, "reserved_usd": usd}


def end(number: int, attempt: int = 1, **more: Any) -> dict[str, Any]:
    return {"event": "end", "key": [f"p{number:02}", "m", 0], "attempt": attempt, "requests": 1, **more}


def write(folder: Path, numbers: Sequence[int], attempts: Sequence[dict[str, Any]] = ()) -> None:
    async def work(journal: Journal) -> None:
        for record in attempts:
            await journal.append(record)
        await asyncio.gather(*(journal.add(result(number)) for number in numbers))

    with create(str(folder), {"version": 1}, FIELDS) as journal:
        asyncio.run(work(journal))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_what_is_added_is_durable_when_the_call_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[str, int]] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        real(handle)
        synced.append((os.readlink(f"/proc/self/fd/{handle}"), os.fstat(handle).st_size))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    folder = tmp_path / "run"

    async def work(journal: Journal) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        for number in range(3):
            await journal.append(start(number))
            assert synced[-1] == (str(folder / ATTEMPTS), (folder / ATTEMPTS).stat().st_size)
            journal.note(end(number, cost_usd=0.1))
            await journal.add(result(number))
            assert [Path(path).name for path, _ in synced[-2:]] == [ATTEMPTS, RESULTS]
            assert synced[-1][1] == (folder / RESULTS).stat().st_size
            assert len(lines(folder / RESULTS)) == number + 1

    with create(str(folder), {}, FIELDS) as journal:
        asyncio.run(work(journal))


def test_lines_of_many_callers_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (calls.append(handle), real(handle))[1])
    write(tmp_path / "run", range(200))
    assert sorted(line["prompt_id"] for line in lines(tmp_path / "run" / RESULTS)) == sorted(
        result(number)["prompt_id"] for number in range(200)
    )
    assert len(calls) < 30


def test_a_cancelled_caller_loses_no_line_and_holds_up_nobody(tmp_path: Path) -> None:
    async def work(journal: Journal) -> None:
        tasks = [asyncio.create_task(journal.add(result(number))) for number in range(20)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert done[1::2] == [None] * 10
        present = {line["prompt_id"] for line in lines(tmp_path / "run" / RESULTS)}
        assert present >= {f"p{number:02}" for number in range(1, 20, 2)}

    with create(str(tmp_path / "run"), {}, FIELDS) as journal:
        asyncio.run(work(journal))
    assert len(lines(tmp_path / "run" / RESULTS)) == 20


def test_a_full_disk_stops_the_run_and_what_was_there_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    room = [400]
    real = os.write

    def short(handle: int, data: bytes) -> int:
        if threading.current_thread() is threading.main_thread():
            return real(handle, data)
        if not room[0]:
            raise OSError(28, "No space left on device")
        taken = real(handle, bytes(data)[: min(room[0], 100)])
        room[0] -= taken
        return taken

    async def work(journal: Journal) -> int:
        for number in range(50):
            await journal.add(result(number))
        return 0

    monkeypatch.setattr(os, "write", short)
    with create(str(folder), {}, FIELDS) as journal, pytest.raises(AbortedError, match="No space left on device"):
        asyncio.run(work(journal))
    monkeypatch.undo()
    assert (folder / RESULTS).stat().st_size == 400
    with resume(str(folder), SAME, FIELDS) as journal:
        assert 0 < len(journal.results) < 50
        asyncio.run(journal.add(result(49)))
    assert [line["prompt_id"] for line in lines(folder / RESULTS)][-1] == "p49"


def test_finishing_puts_results_into_order(tmp_path: Path) -> None:
    async def work(journal: Journal) -> None:
        for number in (2, 0, 1):
            await journal.add(result(number))

    with create(str(tmp_path / "run"), {}, FIELDS) as journal:
        asyncio.run(work(journal))
        journal.finish([(f"p{number:02}", "m", 0) for number in range(4)])
        with pytest.raises(RuntimeError, match="finished"):
            asyncio.run(journal.add(result(3)))
    assert [line["prompt_id"] for line in lines(tmp_path / "run" / RESULTS)] == ["p00", "p01", "p02"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == sorted([ATTEMPTS, MANIFEST, RESULTS])


def test_a_second_result_for_a_key_is_a_bug(tmp_path: Path) -> None:
    write(tmp_path / "run", [1])
    with resume(str(tmp_path / "run"), SAME, FIELDS) as journal, pytest.raises(RuntimeError, match="second result"):
        asyncio.run(journal.add(result(1)))


@pytest.mark.slow
def test_torn_results_at_every_byte(tmp_path: Path) -> None:
    write(tmp_path / "run", [0, 1, 2])
    path = tmp_path / "run" / RESULTS
    whole = path.read_bytes()
    first = whole.rindex(b"\n", 0, -1) + 1
    for cut in range(first, len(whole) + 1):
        path.write_bytes(whole[:cut])
        seen = read_past(str(path.parent), FIELDS)
        assert path.read_bytes() == whole[:cut], "reading changes nothing"
        with resume(str(path.parent), SAME, FIELDS) as journal:
            assert journal.results == seen.results
            assert len(journal.results) == (3 if cut >= len(whole) - 1 else 2)
            assert journal.past.problems == []
            if len(journal.results) == 2:
                asyncio.run(journal.add(result(2)))
        assert path.read_bytes() == whole


@pytest.mark.slow
def test_torn_attempts_at_every_byte(tmp_path: Path) -> None:
    write(tmp_path / "run", [0], [start(0), end(0, cost_usd=0.1), start(1), end(1, cost_usd=0.2, requests=3)])
    path = tmp_path / "run" / ATTEMPTS
    whole = path.read_bytes()
    first = whole.rindex(b"\n", 0, -1) + 1
    for cut in range(first, len(whole) + 1):
        path.write_bytes(whole[:cut])
        with resume(str(path.parent), SAME, FIELDS) as journal:
            past = journal.past
        if cut >= len(whole) - 1:
            assert (past.attempts, past.lost, round(past.usd, 9)) == (2, 0, 0.3)
            assert [record["cost_usd"] for record in past.ends["p01", "m", 0]] == [0.2]
        else:
            assert (past.attempts, past.lost, round(past.usd, 9)) == (2, 1, 0.6)
            assert past.ends == {}
        assert path.read_bytes().endswith(b"\n")


def test_a_cut_off_start_counts_beside_the_attempt_that_took_its_place(tmp_path: Path) -> None:
    write(tmp_path / "run", [0], [start(0), start(0, usd=0.25), end(0, cost_usd=None), start(1, usd=None)])
    past = read_past(str(tmp_path / "run"), FIELDS)
    assert (past.attempts, past.lost, past.usd) == (3, 2, 0.75)


@pytest.mark.slow
@given(st.lists(st.binary(max_size=30), min_size=1, max_size=6))
def test_foreign_lines_are_named_and_left_out(tmp_path_factory: pytest.TempPathFactory, junk: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("run")
    write(folder, [0, 1], [start(0), end(0)])
    for name in (RESULTS, ATTEMPTS):
        good = (folder / name).read_bytes().splitlines(keepends=True)
        (folder / name).write_bytes(good[0] + b"".join(line.replace(b"\n", b"") + b"\n" for line in junk) + good[1])
    with resume(str(folder), SAME, FIELDS) as journal:
        assert set(journal.results) == {("p00", "m", 0), ("p01", "m", 0)}
        assert journal.past.attempts == 1
    foreign = sum(1 for line in junk if line.replace(b"\n", b"").strip())
    assert len(journal.past.problems) == 2 * foreign


@pytest.mark.parametrize(
    "line",
    ['{"prompt_id": "p", "model": "m"}', '{"prompt_id": ["p"], "model": "m", "replication": 0}', "{}"],
    ids=["field-missing", "list-as-key", "empty"],
)
def test_records_without_a_key_are_named(tmp_path: Path, line: str) -> None:
    write(tmp_path / "run", [0])
    with open(tmp_path / "run" / RESULTS, "a") as file:
        file.write(line + "\n")
    with resume(str(tmp_path / "run"), SAME, FIELDS) as journal:
        assert len(journal.results) == 1
        assert "without prompt_id" in journal.past.problems[0]


def test_of_two_results_the_first_stays(tmp_path: Path) -> None:
    write(tmp_path / "run", [0])
    with open(tmp_path / "run" / RESULTS, "a") as file:
        file.write(durable.to_json(result(0, status="refusal")) + "\n")
    for _ in range(2):
        with resume(str(tmp_path / "run"), SAME, FIELDS) as journal:
            assert [record["status"] for record in journal.results.values()] == ["finished"]
    assert len(lines(tmp_path / "run" / RESULTS)) == 1


def test_results_that_are_to_be_had_again_are_dropped(tmp_path: Path) -> None:
    write(tmp_path / "run", [0, 1])
    with resume(str(tmp_path / "run"), SAME, FIELDS, again=lambda record: record["prompt_id"] == "p00") as journal:
        assert set(journal.results) == {("p01", "m", 0)}
    assert len(lines(tmp_path / "run" / RESULTS)) == 1


def test_a_changed_manifest_is_refused_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path / "run", [0])
    before = (tmp_path / "run" / RESULTS).read_bytes()
    with pytest.raises(UsageError, match="catalogue: the listed text of csv-cleaning changed"):
        resume(str(tmp_path / "run"), lambda _: ["catalogue: the listed text of csv-cleaning changed"], FIELDS)
    assert (tmp_path / "run" / RESULTS).read_bytes() == before
    assert not (tmp_path / "run" / durable.NAME).exists()


@pytest.mark.parametrize("text", [b"", b"[]", b'{"a": 1', b"\xff{}", b'{"a": 1, "a": 2}'])
def test_a_damaged_manifest_is_one_clear_line(tmp_path: Path, text: bytes) -> None:
    write(tmp_path / "run", [0])
    (tmp_path / "run" / MANIFEST).write_bytes(text)
    with pytest.raises(UsageError, match="is damaged"):
        read_manifest(str(tmp_path / "run"))
    with pytest.raises(UsageError, match="is damaged"):
        resume(str(tmp_path / "run"), SAME, FIELDS)


def test_no_run_to_resume_and_no_run_to_overwrite(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(str(tmp_path / "none"))):
        resume(str(tmp_path / "none"), SAME, FIELDS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=re.escape(str(tmp_path / "empty"))):
        resume(str(tmp_path / "empty"), SAME, FIELDS)
    write(tmp_path / "run", [0])
    with pytest.raises(UsageError, match="already contains a run"):
        create(str(tmp_path / "run"), {}, FIELDS)


HOLD = """
import sys
from skill_health.bench.journal import resume
with resume(sys.argv[1], lambda manifest: [], ("prompt_id", "model", "replication")):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.slow
@pytest.mark.parametrize("end_with", ["exit", "kill"])
def test_two_processes_cannot_run_one_journal(tmp_path: Path, checkout: Path, end_with: str) -> None:
    write(tmp_path / "run", [0])
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=checkout, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match=rf"in use by process {other.pid}: wait for it, or stop it$"):
            resume(str(tmp_path / "run"), SAME, FIELDS)
        if end_with == "kill":
            other.kill()
        else:
            other.stdin.write("\n")
            other.stdin.flush()
        other.wait()
    with resume(str(tmp_path / "run"), SAME, FIELDS) as journal:
        assert len(journal.results) == 1


def test_without_advisory_locks_the_file_is_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    message = rf"process {os.getpid()}: .* remove .*{durable.NAME}"
    with durable.locked(str(tmp_path)), pytest.raises(UsageError, match=message), durable.locked(str(tmp_path)):
        raise AssertionError("locked twice")
    with durable.locked(str(tmp_path)):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_whose_file_was_replaced_meanwhile_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")
    real, calls = fcntl.flock, []

    def flock(handle: int, how: int) -> None:
        if not calls:  # another process lets go between our opening the file and our locking it
            os.unlink(tmp_path / durable.NAME)
        calls.append(handle)
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with durable.locked(str(tmp_path)):
        assert len(calls) == 2
        assert (tmp_path / durable.NAME).read_text() == f"{os.getpid()}\n"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AbortedError, match="cannot write to"):
        create(str(tmp_path / "file" / "run"), {}, FIELDS)


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_a_journal_that_is_taken_away_meanwhile_is_noticed(tmp_path: Path, how: str) -> None:
    """An open file takes what is written to it, wherever its name has gone; nobody would ever read it."""
    folder = tmp_path / "run"

    async def work(journal: Journal) -> None:
        await journal.add(result(0))
        if how == "removed":
            shutil.rmtree(folder)
        elif how == "moved":
            folder.rename(tmp_path / "elsewhere")
        else:
            (folder / RESULTS).unlink()
            (folder / RESULTS).write_text("")
        await journal.add(result(1))

    with (
        pytest.raises(AbortedError, match=r"cannot write to .*run: it was moved or removed meanwhile"),
        create(str(folder), {"version": 1}, FIELDS) as journal,
    ):
        asyncio.run(work(journal))


def test_lines_that_are_no_results_go_when_a_run_is_resumed(tmp_path: Path) -> None:
    write(tmp_path / "run", range(3), [start(1), end(1, status="finished")])
    path = tmp_path / "run" / RESULTS
    sound = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(sound[0] + b"\xff junk\n" + sound[2])
    with resume(str(tmp_path / "run"), SAME, FIELDS) as journal:
        assert journal.past.problems == [f"{RESULTS}:2 is not a JSON object; the line is left out"]
        assert list(journal.past.ends) == [("p01", "m", 0)], "its attempt is there, and need not be made again"
    assert path.read_bytes() == sound[0] + sound[2]


@pytest.mark.parametrize("key", ["sk-live-0123456789", 'quo"ted\\key-12345', "schlüssel-äöü-99", "k" * 300])
def test_no_key_is_ever_written(tmp_path: Path, key: str) -> None:
    folder = tmp_path / "run"
    secrets = keys_in_use(["MY_KEY", "NOT_SET"], {"MY_KEY": f" {key}\n"})
    assert secrets == (key,)

    async def work(journal: Journal) -> None:
        await journal.append({**start(0), "error": f"the server said: bad key {key}"})
        journal.note(end(0, raw_text=f"{key}{key}"))
        await journal.add(result(0, rationale=f"because {key}", usage={"raw": {"echo": key}}))

    with create(str(folder), {"note": f"https://host/?key={key}"}, FIELDS, secrets) as journal:
        asyncio.run(work(journal))
        journal.finish([("p00", "m", 0)])
    assert json.loads((folder / MANIFEST).read_text("utf-8")) == {"note": "https://host/?key=***"}
    assert lines(folder / ATTEMPTS)[1]["raw_text"] == "******"
    for path in folder.iterdir():
        text = path.read_text("utf-8")
        assert key not in text
        assert json.dumps(key)[1:-1] not in text
        assert key not in json.dumps([json.loads(line) for line in text.splitlines()], ensure_ascii=False)


def test_what_is_no_key_is_left_alone() -> None:
    assert keys_in_use(["A", "B"], {"A": "none", "B": "EMPTY"}) == ()
    assert redacted('{"ranking":["none"]}', keys_in_use(["A"], {"A": "none"})) == '{"ranking":["none"]}'
    assert keys_in_use(["A", "B"], {"A": "abcdefgh", "B": "abcdefgh-long"}) == ("abcdefgh-long", "abcdefgh")


def test_surrogates_of_hostile_text_are_kept_as_escapes(tmp_path: Path) -> None:
    with create(str(tmp_path / "run"), {}, FIELDS) as journal:
        asyncio.run(journal.add(result(0, rationale="a\ud800b")))
    assert lines(tmp_path / "run" / RESULTS)[0]["rationale"] == "a\ud800b"
