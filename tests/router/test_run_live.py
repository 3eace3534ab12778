"""Whole runs against a real HTTP server: keys, stops, missing models, caps in dollars, the instrument check."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from callers import KEY, KEY_ENV
from loopback import PROTOCOLS, Loopback, Reaction, Seen, answer, failure, ranking
from made_collection import NULL, answer_rightly, labelled, the_run, write_collection
from nursery import rows

from skill_health.bench.http import pacing
from skill_health.bench.journal import read_past
from skill_health.commands.router import command as group
from skill_health.core.errors import AbortedError, GateError, SkillHealthError
from skill_health.router.runs import FIELDS

React = Callable[[Seen], Reaction]


def right(seen: Seen) -> str:
    return answer_rightly(seen.text, rationale=f"Because of {KEY}.")


def good(seen: Seen) -> Reaction:
    return answer(seen, right(seen), request_id=f"req-{KEY}", extra={"echo": KEY})


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(good) as running:
        yield running


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(KEY_ENV, KEY)
    return write_collection(tmp_path, [*labelled(8), NULL])


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back-off takes no time to speak of."""
    monkeypatch.setattr(pacing, "STEPS", tuple(step / 100 for step in pacing.STEPS))


class LiveRun:
    """`router run` over a server: every protocol is a provider of its name; and what the only run has left."""

    def __init__(self, root: Path, server: Loopback) -> None:
        self.root, self.server = root, server

    def __call__(self, *given: str, models: str = "openai:m", reps: int = 2, setting: str = "") -> int:
        lines = []
        for name in PROTOCOLS:
            shown = name.replace("_", "-")
            lines += [f"[router.providers.{shown}]", f'protocol = "{shown}"', f'base-url = "{self.server.url}"']
            lines += [f'key-env = "{KEY_ENV}"', setting]
            for model in ("m", "gone"):
                lines += [f'[router.prices."{shown}:{model}"]', "input = 10.0", "output = 10.0"]
        (self.root / "skill-health.toml").write_text("\n".join(lines), "utf-8")
        words = ["run", "--config", "skill-health.toml", "--models", models, "--reps", str(reps), "--quiet"]
        code: int = group.main([*words, *given], standalone_mode=False)
        return code

    @property
    def folder(self) -> Path:
        return the_run(self.root / "reports")

    def rows(self, name: str) -> list[dict[str, Any]]:
        return rows(self.folder / f"{name}.jsonl")


@pytest.fixture
def call(collection: Path, server: Loopback) -> LiveRun:
    return LiveRun(collection, server)


def assert_no_key(collection: Path, *texts: str) -> None:
    files = [path for path in collection.rglob("*") if path.is_file()]
    assert len(files) > 5
    for text in (*(path.read_bytes().decode("utf-8", "replace") for path in files), *texts):
        assert KEY not in text
        assert "SECRET" not in text


@pytest.mark.slow
def test_all_protocols_answer_and_the_key_is_in_no_file(call: LiveRun, capsys: pytest.CaptureFixture[str]) -> None:
    models = ",".join(f"{name.replace('_', '-')}:m" for name in PROTOCOLS)
    assert call("--max-runs", "200", models=models) == 0
    folder = call.folder
    found = rows(folder / "results.jsonl")
    assert len(found) == 4 * 9 * 2
    assert {row["status"] for row in found} == {"finished"}
    assert {row["cost_usd"] for row in found} == {150 * 10 / 1e6}
    assert {row["rationale"] for row in found} == {"Because of ***."}
    assert all(KEY in str(seen.headers) for seen in call.server.seen)
    assert Counter(seen.protocol for seen in call.server.seen) == dict.fromkeys(PROTOCOLS, 9 * 2 + 6)
    assert_no_key(call.root, *capsys.readouterr())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wrong_key", "no_credit"])
@pytest.mark.parametrize("after", [pytest.param(0, marks=pytest.mark.slow), 15])
def test_a_stop_keeps_what_is_done_and_the_run_goes_on_later(
    call: LiveRun, capsys: pytest.CaptureFixture[str], kind: str, after: int
) -> None:
    call.server.react = lambda seen: good(seen) if seen.number <= after else failure(seen, kind)
    stop = "auth" if kind == "wrong_key" else "quota"
    with pytest.raises(AbortedError, match=rf"incomplete: \d+ calls have no result \({stop}: ") as caught:
        call("--max-runs", "60")
    there = call.rows("results")
    assert len(there) == max(0, after - 6)
    assert len(call.server.seen) <= after + 4
    out, err = capsys.readouterr()
    assert (out == "") == (after == 0)
    assert_no_key(call.root, str(caught.value), out, err)
    call.server.react = good
    assert call("--max-runs", "60") == 0
    assert len(call.rows("results")) == 18
    assert Counter(seen.text for seen in call.server.seen[after + 4 :]).most_common(1)[0][1] <= 2


@pytest.mark.slow
def test_a_cap_in_dollars_is_kept_and_a_larger_one_goes_on(call: LiveRun, capsys: pytest.CaptureFixture[str]) -> None:
    each = 150 * 10 / 1e6
    cap = 0.04
    with pytest.raises(AbortedError, match=r"\$0\.0400"):
        call("--max-budget-usd", str(cap))
    assert each * len(call.server.seen) <= cap
    assert "the cap of $0.0400 is below the forecast" in capsys.readouterr().err
    there = len(call.server.seen)
    assert call("--max-budget-usd", "1") == 0
    assert len(call.server.seen) == 18 + 6
    assert there > 6


@pytest.mark.slow
def test_a_failed_check_spends_nothing_more_unless_told_to(call: LiveRun, capsys: pytest.CaptureFixture[str]) -> None:
    call.server.react = lambda seen: answer(seen, ranking("none"))
    with pytest.raises(GateError, match="openai:m, so nothing more was asked"):
        call("--max-runs", "60")
    assert len(call.server.seen) == 6
    assert "abstained on all 3 requests" in capsys.readouterr().err
    raw = [row["raw_text"] for row in call.rows("attempts") if row["event"] == "end"]
    assert raw == [ranking("none")] * 6
    assert call("--max-runs", "60", "--despite-check") == 1
    assert len(call.server.seen) == 6 + 18, "what was answered in the check is not asked again"


@pytest.mark.slow
def test_a_server_that_does_not_answer_the_check_is_left_alone(call: LiveRun) -> None:
    call.server.react = lambda seen: failure(seen, "bad_request") if seen.protocol == "openai" else good(seen)
    with pytest.raises(
        AbortedError, match=r"incomplete: 18 calls have no result \(openai:m did not answer 6 calls in a row: "
    ):
        call("--max-runs", "60", models="openai:m,anthropic:m")
    assert Counter(seen.protocol for seen in call.server.seen) == {"openai": 6, "anthropic": 24}
    call.server.react = good
    assert call("--max-runs", "60", models="openai:m,anthropic:m") == 0
    assert Counter(seen.protocol for seen in call.server.seen) == {"openai": 6 + 24, "anthropic": 24}


def test_missing_usage_is_charged_as_reserved_and_has_no_cost(call: LiveRun) -> None:
    call.server.react = lambda seen: answer(seen, right(seen), usage=None)
    with pytest.raises(AbortedError, match=r"\$0\.2000"):
        call("--max-budget-usd", "0.2")
    found = call.rows("results")
    assert found
    assert {row["cost_usd"] for row in found} == {None}
    reserved = [row["reserved_usd"] for row in call.rows("attempts") if row["event"] == "start"]
    assert 0.15 < sum(reserved) <= 0.2


def test_a_price_that_nobody_knows_fails_closed(call: LiveRun) -> None:
    with pytest.raises(SkillHealthError, match="openai:other"):
        call("--max-budget-usd", "1", models="openai:other")
    assert call.server.seen == []
    assert not (call.root / "reports").exists()
    assert call("--unsafe-no-cost-cap", models="openai:other", reps=1) == 0


@pytest.mark.slow
def test_requests_that_broke_off_count_against_the_cap(call: LiveRun) -> None:
    """The server answers and charges each time, though every other answer never arrives."""
    call.server.react = lambda seen: good(seen).but(cut=20) if seen.number % 2 else good(seen)
    each, cap = 150 * 10 / 1e6, 0.15
    with pytest.raises(AbortedError, match=r"\$0\.1500"):
        call("--max-budget-usd", str(cap))
    starts = [row for row in call.rows("attempts") if row["event"] == "start"]
    assert len(starts) == len(call.server.seen) > 6
    spent = read_past(str(call.folder), FIELDS).usd
    assert each * len(call.server.seen) <= spent <= cap
    assert spent + max(row["reserved_usd"] for row in starts) > cap, "the cap was used"


def test_attempts_are_capped_when_requests_are_sent_again(call: LiveRun) -> None:
    call.server.react = lambda seen: good(seen).but(cut=20) if seen.number % 3 == 0 else good(seen)
    with pytest.raises(AbortedError, match="the cap of 12 calls is reached"):
        call("--max-runs", "12")
    assert len(call.server.seen) == 12


@pytest.mark.slow
def test_errors_that_nobody_charges_leave_the_budget_whole(call: LiveRun) -> None:
    call.server.react = lambda seen: failure(seen, "bad_request")
    for _ in range(4):
        with pytest.raises(AbortedError, match="did not answer 6 calls in a row"):
            call("--max-budget-usd", "0.08")
    call.server.react = good
    assert call("--max-budget-usd", "0.08") == 0
    assert {row["status"] for row in call.rows("results")} == {"finished"}


@pytest.mark.slow
def test_missing_data_is_asked_again_where_the_run_is_named_and_a_new_run_is_a_new_run(
    call: LiveRun, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that is gone must not hold a nightly run for ever: the next night asks the others anew."""
    gone = {"gone"}
    call.server.react = lambda seen: failure(seen, "no_model") if seen.model in gone else good(seen)
    given = ("--max-runs", "200", "--time", "2026-03-01T00:00:00Z")
    assert call(*given, models="openai:gone,openai:m") == 1
    first = call.folder
    assert f": 18; --resume {first.name} " in capsys.readouterr().err
    asked = len(call.server.seen)
    assert call("--max-runs", "200", "--time", "2026-03-02T00:00:00Z", models="openai:gone,openai:m") == 1
    assert sum(seen.model == "m" for seen in call.server.seen[asked:]) == 18 + 6
    assert len(list(first.parent.iterdir())) == 2
    gone.clear()
    capsys.readouterr()
    asked = len(call.server.seen)
    assert call(*given, "--resume", first.name, models="openai:gone,openai:m") == 0
    assert Counter(seen.model for seen in call.server.seen[asked:]) == {"gone": 18 + 6}
    found = rows(first / "results.jsonl")
    assert (len(found), {row["status"] for row in found}) == (36, {"finished"})
    assert "--resume" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_folder_that_is_removed_meanwhile_ends_the_run_at_once(call: LiveRun) -> None:
    """What is paid for and written nowhere is lost."""

    def react(seen: Seen) -> Reaction:
        if seen.number == 12:
            shutil.rmtree(call.root / "reports")
        return good(seen)

    call.server.react = react
    with pytest.raises(AbortedError, match=re.escape(os.path.join("reports", "router"))):
        call("--max-runs", "200", reps=9)
    assert len(call.server.seen) <= 12 + 8


@pytest.mark.slow
@pytest.mark.parametrize("declared", [True, False])
def test_thoughts_are_read_over_where_the_provider_declares_them(call: LiveRun, declared: bool) -> None:
    call.server.react = lambda seen: answer(seen, f"<think>Which one?</think>\n{right(seen)}")
    call("--max-budget-usd", "5", "--despite-check", setting="think-tags = true" if declared else "")
    results = call.rows("results")
    assert {result["status"] for result in results} == {"finished" if declared else "format_failure"}
    report = json.loads((call.folder / "report.json").read_text("utf-8"))
    (model,) = report["models"]
    assert ('"thoughts": 18' in json.dumps(model)) is declared
