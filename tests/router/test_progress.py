"""Progress: what is shown, where, and how often."""

from __future__ import annotations

import asyncio
import io

import pytest

from skill_health.bench.progress import Progress, duration, write_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that moves by a step whenever it is read."""

    def __init__(self, step: float = 1.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LINES", "24")


def screen(text: str) -> list[str]:
    """What a terminal shows of a text with carriage returns."""
    shown = []
    for line in text.split("\n"):
        cells: list[str] = []
        for part in line.split("\r"):
            cells[: len(part)] = part
        shown.append("".join(cells).rstrip())
    return shown


def test_a_file_gets_a_line_every_tenth() -> None:
    stream = io.StringIO()
    with Progress(200, stream, clock=Clock()) as progress:
        for _ in range(200):
            progress.update("finished", spent=0.5)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "20/200 (10 %)  3 min left  $0.5000"
    assert lines[-1] == "200/200 (100 %)  $0.5000"
    assert "\r" not in stream.getvalue() and "\x1b" not in stream.getvalue()


def test_a_terminal_gets_one_line_that_is_redrawn() -> None:
    stream = Terminal()
    progress = Progress(50, stream, clock=Clock())
    for number in range(50):
        progress.update("finished" if number % 10 else "provider_error")
    progress.close()
    assert screen(stream.getvalue()) == ["50/50 (100 %)  provider_error 5 (10.0 %)", ""]
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_is_not_redrawn_for_every_call() -> None:
    stream = Terminal()
    with Progress(10_000, stream, clock=Clock(0.001)) as progress:
        for _ in range(9_999):
            progress.update("finished")
    assert 50 < stream.getvalue().count("\r") < 150


def test_a_line_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    stream = Terminal()
    with Progress(5, stream, clock=Clock()) as progress:
        for kind in ("format_failure", "provider_error", "refusal", "truncated", "finished"):
            progress.update(kind, 1.0)
    assert max(len(part) for part in stream.getvalue().replace("\n", "\r").split("\r")) <= 29


@pytest.mark.parametrize(("quiet", "stream"), [(True, io.StringIO()), (True, Terminal()), (False, None)])
def test_nothing_is_shown_where_it_is_not_wanted(quiet: bool, stream: io.StringIO | None) -> None:
    with Progress(2, stream, quiet=quiet) as progress:
        progress.update("finished")
        progress.update("refusal")
    assert progress.done == 2
    assert stream is None or stream.getvalue() == ""


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with Progress(1, stream) as progress:
        progress.update("finished")
    assert stream.getvalue() == "1/1 (100 %)\n"


def test_a_resumed_run_counts_on_and_rates_only_what_is_new() -> None:
    stream = io.StringIO()
    progress = Progress(100, stream, done=50, clock=Clock())
    for _ in range(10):
        progress.update("format_failure")
    assert stream.getvalue().splitlines() == ["60/100 (60 %)  40 s left  format_failure 10 (100.0 %)"]
    assert Progress(100, None, done=100).line() == "100/100 (100 %)"
    assert Progress(0, None).line() == "0/0 (100 %)"


def test_the_time_left_follows_the_rate_of_late() -> None:
    clock = Clock(1.0)
    progress = Progress(2_000, None, clock=clock)
    for _ in range(500):
        progress.update("finished")
    clock.step = 3.0
    for _ in range(500):
        progress.update("finished")
    assert "50 min left" in progress.line()


def test_outcomes_are_shown_without_control_characters() -> None:
    progress = Progress(3, None, fine=("trial",))
    progress.update("bad\x1b[31m\n")
    progress.update("trial")
    assert progress.line().endswith("bad\\x1b[31m\\x0a 1 (50.0 %)")


def test_close_twice_and_update_after_it_show_nothing_more() -> None:
    stream = Terminal()
    progress = Progress(3, stream, clock=Clock())
    progress.update("finished")
    progress.close()
    shown = stream.getvalue()
    progress.update("finished")
    progress.close()
    assert stream.getvalue() == shown and shown.endswith("\n")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (-3, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (200, "3 min 20 s"), (3599.9, "1 h"), (7500, "2 h 5 min"),
     (7200, "2 h"), (86_399, "24 h")],
)  # fmt: skip
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


class Closed(Terminal):
    """A terminal that was closed: whoever writes to it is told so."""

    tries = 0

    def write(self, text: str) -> int:
        self.tries += 1
        raise OSError(5, "Input/output error")


def test_a_terminal_that_was_closed_is_no_reason_to_end() -> None:
    stream = Closed()
    with Progress(20, stream, clock=Clock()) as progress:
        for _ in range(20):
            progress.update("finished")
    assert (progress.done, stream.tries) == (20, 1)
    assert not write_progress(stream, "x")
    assert not write_progress(None, "x")
    closed = io.StringIO()
    closed.close()
    assert not write_progress(closed, "x")


def test_away_from_a_terminal_no_minute_is_silent() -> None:
    stream, clock = io.StringIO(), Clock(0.0)
    with Progress(200, stream, clock=clock, what="agents asked: ") as progress:
        for _ in range(40):
            clock.now += 5
            progress.tick()
        assert stream.getvalue().splitlines() == ["agents asked: 0/200 (0 %)"] * 3
        progress.update("finished")
        clock.now += 61
        progress.tick()
    assert stream.getvalue().splitlines()[-1].startswith("agents asked: 1/200 (0 %)  ")


def test_a_line_for_a_tenth_puts_the_next_minute_off() -> None:
    stream, clock = io.StringIO(), Clock(0.0)
    with Progress(10, stream, clock=clock) as progress:
        clock.now = 59
        progress.update("finished")
        clock.now = 118
        progress.tick()
        assert len(stream.getvalue().splitlines()) == 1
        clock.now = 119
        progress.tick()
    assert len(stream.getvalue().splitlines()) == 2


def test_what_is_under_way_is_looked_at_until_it_ends() -> None:
    stream, clock = io.StringIO(), Clock(30.0)

    async def work() -> str:
        while "0/9" not in stream.getvalue():
            await asyncio.sleep(0)
        return "done"

    with Progress(9, stream, clock=clock) as progress:
        assert asyncio.run(progress.beside(work(), look=0)) == "done"


def test_work_that_fails_ends_the_looking_with_it() -> None:
    async def work() -> None:
        raise ValueError("broken")

    async def both() -> int:
        with pytest.raises(ValueError, match="broken"):
            await Progress(9, io.StringIO()).beside(work())
        return len(asyncio.all_tasks())

    assert asyncio.run(both()) == 1


def test_what_is_under_way_elsewhere_takes_the_place_of_the_time_left() -> None:
    stream = Terminal()
    with Progress(4, stream, clock=Clock()) as progress:
        progress.update("finished", 0.5)
        assert "left" in progress.line()
        progress.aside = lambda: "batches: 1 with 3 calls, 0 over"
        assert progress.line() == "1/4 (25 %)  $0.5000  batches: 1 with 3 calls, 0 over"
        progress.tick()
        progress.tell("batch \x1b[31mb1 handed in")
        progress.update("finished")
    shown = screen(stream.getvalue())
    assert shown[0].startswith("batch ") and "\x1b" not in stream.getvalue()
    assert shown[1].startswith("2/4")
    quiet = io.StringIO()
    Progress(4, quiet, quiet=True).tell("nothing")
    assert quiet.getvalue() == ""
