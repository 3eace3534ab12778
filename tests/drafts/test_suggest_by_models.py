"""Descriptions measured by a scripted model over HTTP on loopback: a stand-in that goes by what is listed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import drafts_made
import pytest
from loopback import Loopback, Reaction, Seen, answer, failure, ranking
from test_suggest import BAD, ENV, GOOD, SEALED_WORDS, TIME, prompts

from skill_health.bench.http import pacing
from skill_health.drafts.suggest.by_models import read_rights
from skill_health.drafts.suggest.measure import is_testable, keep_answered
from skill_health.router.instrument.planted import NAME
from skill_health.router.records import Prompt, RoutingResult

Run = Callable[..., Any]
CHECK, TRAIN, SEALED = 6, 12, 24
ALL = CHECK + 2 * TRAIN + 2 * SEALED
"""The calls for one candidate that is ahead, where each prompt is asked once."""
React = Callable[[Seen], Reaction]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back-off takes no time to speak of."""
    monkeypatch.setattr(pacing, "STEPS", tuple(step / 100 for step in pacing.STEPS))


def request_of(seen: Seen) -> str:
    return seen.text.rpartition("<<<REQUEST")[2]


def is_sealed(seen: Seen) -> bool:
    return any(word in seen.text for word in SEALED_WORDS.split())


def by_listing(seen: Seen) -> Reaction:
    """A model that finds letters with the good description alone."""
    request = request_of(seen)
    if "quaffle" in request:
        return answer(seen, ranking(NAME))
    if "letters" not in request:
        return answer(seen, ranking("none"))
    return answer(seen, ranking("merge-pages" if GOOD in seen.text else "chart-sheets"))


@pytest.fixture
def suggest(tmp_path: Path, run: Run) -> Callable[..., Any]:
    """Run `suggest description` over a server, with `checker:m` as the model that measures."""

    def call(server: Loopback, *more: str, capped: bool = True, env: dict[str, str] = ENV) -> Any:
        if not (tmp_path / "skills").exists():
            drafts_made.collection(tmp_path, server.url)
            prompts(tmp_path)
            (tmp_path / "good.txt").write_text(GOOD, "utf-8")
            (tmp_path / "bad.txt").write_text(BAD, "utf-8")
        return run("suggest", "description", "merge-pages", *arguments(*more, capped=capped), env=env)

    return call


def arguments(*more: str, capped: bool = True) -> list[str]:
    cap = ["--max-calls", "500"] if capped and "--max-calls" not in more else []
    candidate = [] if "--candidate" in more or "--model" in more else ["--candidate", "good.txt"]
    fixed = ["--models", "checker:m", "--reps", "1", "--config", "skill-health.toml", "--quiet", *TIME]
    return [*candidate, *fixed, *cap, *more]


def uses(root: Path) -> list[dict[str, Any]]:
    path = root / "drafts" / "sealed-uses.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


@pytest.mark.slow
def test_models_decide_and_the_same_command_asks_nothing_more(tmp_path: Path, suggest: Run) -> None:
    with Loopback(by_listing) as server:
        done = suggest(server, "--candidate", "bad.txt", "--candidate", "good.txt")
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(server.seen) == ALL + TRAIN
        again = suggest(server, "--candidate", "bad.txt", "--candidate", "good.txt", "--format", "json")
        assert len(server.seen) == ALL + TRAIN and len(uses(tmp_path)) == 1
        anew = suggest(server, "--candidate", "good.txt", "--no-resume")
        assert len(server.seen) == 2 * ALL + TRAIN
    assert "measured by checker:m (1 x each prompt, $0." in done.stdout
    assert "they decide nothing" in done.stdout
    report = json.loads(again.stdout)
    assert report["measured_by"] == ["checker:m"] and report["best"] == 2 and len(report["runs"]) == 5
    assert [each["share"] for each in report["candidates"]] == [0.0, 1.0]
    assert report["beside"] == ["lexical", "lexical:tfidf", "lexical:overlap"] and report["today_beside"] is not None
    confirmation = report["confirmation"]
    assert (confirmation["today"], confirmation["candidate"], confirmation["answered"]) == (0.0, 1.0, SEALED)
    # 120 tokens in and 30 out at $10 a million, for each of the 84 prompts that were asked.
    assert report["cost_usd"] == pytest.approx((3 * TRAIN + 2 * SEALED) * 150e-5)
    assert [use["number"] for use in uses(tmp_path)] == [1, 2], "answers vary: asked anew, it is another use"
    shown = "".join((done.stdout, done.stderr, again.stdout, again.stderr, anew.stdout, anew.stderr))
    shown += (tmp_path / "drafts" / "sealed-uses.jsonl").read_text("utf-8")
    assert not any(word in shown for word in SEALED_WORDS.split())
    assert not (tmp_path / "reports" / "router").exists()
    assert not any(path.name in ("report.md", "history.jsonl") for path in (tmp_path / "reports").rglob("*"))


@pytest.mark.slow
def test_only_the_description_differs_between_runs(suggest: Run) -> None:
    with Loopback(by_listing) as server:
        assert suggest(server).returncode == 0
        today, _ = drafts_made.SKILLS["merge-pages"]
        asked = [seen.text for seen in server.seen if "quaffle" not in seen.text]
    before, after = ({text for text in asked if one in text} for one in (today, GOOD))
    assert len(before) == len(after) == TRAIN + SEALED
    assert {text.replace(today, GOOD) for text in before} == after


@pytest.mark.slow
def test_where_none_is_ahead_no_sealed_prompt_is_sent(tmp_path: Path, suggest: Run) -> None:
    with Loopback(by_listing) as server:
        done = suggest(server, "--candidate", "bad.txt")
        assert done.returncode == 1 and "Better" not in done.stdout
        assert len(server.seen) == CHECK + 2 * TRAIN and not any(map(is_sealed, server.seen))
    assert not uses(tmp_path)


@pytest.mark.slow
def test_what_models_do_not_confirm_is_no_better_whatever_free_routers_say(suggest: Run) -> None:
    def react(seen: Seen) -> Reaction:
        sealed_miss = is_sealed(seen) and "letters" in request_of(seen)
        return answer(seen, ranking("chart-sheets")) if sealed_miss else by_listing(seen)

    with Loopback(react) as server:
        done = suggest(server, "--format", "json")
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert report["verdict"] == "not_confirmed" and report["confirmation"]["moved"] == 0
    assert report["candidates"][0]["beside"] > report["today_beside"]


@pytest.mark.slow
@pytest.mark.parametrize("sealed", [False, True], ids=["to select on", "sealed"])
def test_an_error_is_no_wrong_answer(tmp_path: Path, suggest: Run, sealed: bool) -> None:
    """The server fails for a quarter of the prompts under the good description; the next time it does not."""
    broken = True

    def react(seen: Seen) -> Reaction:
        number = re.search(r"(?:kitchen|garage|attic|cellar|office|garden|hall|porch) (\d+)", request_of(seen))
        hit = number and int(number[1]) % 4 == 0 and GOOD in seen.text and is_sealed(seen) == sealed
        return failure(seen, "server_error") if broken and hit else by_listing(seen)

    with Loopback(react) as server:
        done = suggest(server)
        assert done.returncode == 1, done.stderr
        of, left = (SEALED, 6) if sealed else (TRAIN, 3)
        assert f"Not testable: {of - left} of the {of}" in done.stdout and "points" not in done.stdout.splitlines()[-1]
        assert "Better" not in done.stdout and len(uses(tmp_path)) == sealed
        broken, before = False, len(server.seen)
        again = suggest(server)
        assert again.returncode == 0 and "Better" in again.stdout
        assert len(server.seen) - before == left + (0 if sealed else 2 * SEALED)
    assert [use["number"] for use in uses(tmp_path)] == [1]


@pytest.mark.slow
def test_caps_hold_over_all_runs(tmp_path: Path, suggest: Run) -> None:
    with Loopback(by_listing) as server:
        refused = suggest(server, capped=False)
        assert refused.returncode == 2 and "--max-runs" in refused.stderr and not server.seen
        dry = suggest(server, "--dry-run", env={})
        assert dry.returncode == 0 and f"forecast: {ALL - CHECK} calls" in dry.stderr, dry.stderr
        assert not server.seen and not (tmp_path / "reports").exists()
        for cap in (CHECK + 5, CHECK + TRAIN + 5, CHECK + 2 * TRAIN + SEALED + 5):
            done = suggest(server, "--max-calls", str(cap))
            assert done.returncode == 3 and str(cap) in done.stderr and len(server.seen) == cap
            assert not done.stdout
        # A call costs $0.0015, and more than that is reserved for it.
        spent = len(server.seen) * 150e-5
        poor = suggest(server, "--max-budget-usd", f"{spent:.4f}", capped=False)
        assert poor.returncode == 3 and len(server.seen) == cap
        done = suggest(server, "--max-calls", str(ALL))
        assert done.returncode == 0 and len(server.seen) == ALL, done.stderr
    assert [use["number"] for use in uses(tmp_path)] == [1]


@pytest.mark.parametrize(
    "at",
    [
        pytest.param(CHECK + 2 * TRAIN + 4, marks=pytest.mark.slow),
        *(pytest.param(at, marks=pytest.mark.exhaustive) for at in (CHECK + 4, CHECK + TRAIN + 4, ALL - SEALED + 4)),
    ],
)
def test_a_kill_costs_one_call_and_no_use(tmp_path: Path, suggest: Run, at: int) -> None:
    """The server hangs on one call, and the process is killed there: in each of the four runs."""
    hang = True

    def react(seen: Seen) -> Reaction:
        return by_listing(seen).but(hang=hang and seen.number == at)

    with Loopback(react) as server:
        suggest(server, "--dry-run")
        command = [sys.executable, "-m", "skill_health", "suggest", "description", "merge-pages"]
        given = arguments("--concurrency", "1")
        with subprocess.Popen([*command, *given], cwd=tmp_path, env=os.environ | ENV) as process:
            while len(server.seen) < at:
                assert process.poll() is None
            process.send_signal(signal.SIGKILL)
        hang = False
        done = suggest(server, "--concurrency", "1")
        assert done.returncode == 0 and len(server.seen) == ALL + 1, done.stderr
    assert [use["number"] for use in uses(tmp_path)] == [1]
    assert len(list((tmp_path / "reports" / "suggesting" / "router").iterdir())) == 4


@pytest.mark.slow
def test_a_model_that_fails_the_instrument_check_measures_nothing(suggest: Run) -> None:
    with Loopback(lambda seen: answer(seen, ranking("chart-sheets"))) as server:
        done = suggest(server)
        assert done.returncode == 1 and done.stderr and not done.stdout
        assert len(server.seen) == CHECK
        despite = suggest(server, "--despite-check")
        assert despite.returncode == 1 and "trusted" in despite.stdout


@pytest.mark.slow
def test_the_model_that_writes_sees_nothing_sealed_and_shares_the_cap(tmp_path: Path, suggest: Run) -> None:
    said = json.dumps({"candidates": [{"description": GOOD, "why": "x"}]})

    def react(seen: Seen) -> Reaction:
        return answer(seen, said) if "<<<REQUEST" not in seen.text else by_listing(seen)

    with Loopback(react) as server:
        model = ("--model", "writer:m", "--candidates", "1")
        done = suggest(server, *model, "--max-calls", str(ALL))
        assert done.returncode == 3 and len(server.seen) == ALL
        done = suggest(server, *model, "--max-calls", str(ALL + 1))
        assert done.returncode == 0 and len(server.seen) == ALL + 1, done.stderr
        (written,) = (seen for seen in server.seen if "<<<REQUEST" not in seen.text)
    assert not is_sealed(written) and "letters from the kitchen 0" in written.text


@pytest.mark.slow
def test_what_was_judged_is_not_looked_at_again(tmp_path: Path, suggest: Run) -> None:
    """One sealed prompt of 24 has no answer, which is little enough for a verdict; it stays as it is."""
    broken = True

    def react(seen: Seen) -> Reaction:
        hit = " 13 " in request_of(seen) and GOOD in seen.text
        return failure(seen, "server_error") if broken and hit else by_listing(seen)

    with Loopback(react) as server:
        done = suggest(server)
        assert done.returncode == 0 and "Candidate 1 on 23 sealed prompts" in done.stdout, done.stdout + done.stderr
        broken, before = False, len(server.seen)
        again = suggest(server)
        assert (again.returncode, again.stdout) == (0, done.stdout) and len(server.seen) == before
    assert [use["number"] for use in uses(tmp_path)] == [1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["server_error", "wrong_key", "no_credit"])
def test_a_model_that_nobody_answers_for_is_an_aborted_run(tmp_path: Path, suggest: Run, kind: str) -> None:
    down = True
    with Loopback(lambda seen: failure(seen, kind) if down else by_listing(seen)) as server:
        done = suggest(server)
        assert done.returncode == 3 and not done.stdout and drafts_made.KEY not in done.stderr, done.stderr
        assert not any(map(is_sealed, server.seen))
        down = False
        assert suggest(server).returncode == 0
    assert [use["number"] for use in uses(tmp_path)] == [1]
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(drafts_made.KEY.encode() in each for each in written)


@pytest.mark.slow
def test_a_router_that_there_is_not_is_found_out_before_anything_is_paid(suggest: Run) -> None:
    with Loopback(by_listing) as server:
        for more in (("--routers", "nothing"), ("--routers", "nothing", "--model", "writer:m")):
            assert suggest(server, *more).returncode == 2
        assert not server.seen


def test_a_free_router_is_no_model(suggest: Run) -> None:
    with Loopback(by_listing) as server:
        free = suggest(server, "--models", "lexical")
        assert free.returncode == 2 and "lexical is no model" in free.stderr
        assert suggest(server, "--resume", "x", "--no-resume").returncode == 2
        assert not server.seen


def test_a_template_without_none_cannot_ask_for_it(tmp_path: Path, run: Run) -> None:
    drafts_made.collection(tmp_path)
    prompts(tmp_path)
    (tmp_path / "good.txt").write_text(GOOD, "utf-8")
    (tmp_path / "skill-health.toml").write_text('[router]\ntemplate = "plan"\n', "utf-8")
    row = {
        "prompt_id": "n", "prompt": "hello", "expected_primary_skill": None, "split": "train",
        "acceptable_secondary_skills": [], "rejected_skills": [],
    }  # fmt: skip
    with (tmp_path / "prompts.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    given = ("--candidate", "good.txt", "--models", "openai:m", "--dry-run")
    done = run("suggest", "description", "merge-pages", *given)
    assert done.returncode == 2 and "right for 1 prompts" in done.stderr


@pytest.mark.parametrize("more", [("--reps", "2"), ("--despite-check",)])
def test_reps_and_the_check_are_for_models(run: Run, more: Sequence[str]) -> None:
    done = run("suggest", "description", "merge-pages", "--candidate", "x", *more)
    assert done.returncode == 2 and "--models" in done.stderr


def result(prompt: str, pick: str, status: str = "finished", replication: int = 0, model: str = "m") -> RoutingResult:
    ranked = (pick,) if pick else ()
    return RoutingResult(prompt, model, replication, status, ranked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("results", "found"),
    [
        ([result("p", "a")], {"p": 1.0}),
        ([result("p", "b")], {"p": 0.0}),
        ([result("q", "none")], {"q": 1.0}),
        ([result("p", "", "format_failure")], {"p": 0.0}),
        ([result("p", "", "refusal")], {"p": 0.0}),
        ([result("p", "", "provider_error")], {}),
        ([result("p", "", "model_unavailable")], {}),
        ([result("p", "a"), result("p", "b", replication=1), result("p", "", "provider_error", 2)], {"p": 0.5}),
    ],
)
def test_rights_are_shares_of_answers(results: Sequence[RoutingResult], found: dict[str, float]) -> None:
    asked = [Prompt("p", "x", "a"), Prompt("q", "y", None)]
    assert read_rights(results, asked, ["m"]) == found


def test_of_several_models_each_weighs_the_same_and_each_has_to_answer() -> None:
    asked = [Prompt("p", "x", "a"), Prompt("q", "y", "a")]
    results = [result("p", "a"), result("p", "b", model="n"), result("p", "b", replication=1, model="n")]
    assert read_rights([*results, result("q", "a")], asked, ["m", "n"]) == {"p": 0.5}


@pytest.mark.parametrize(("answered", "enough"), [(0, False), (18, False), (19, True), (20, True)])
def test_more_than_one_in_twenty_missing_is_not_testable(answered: int, enough: bool) -> None:
    asked = [Prompt(f"p{n}", "x", "a") for n in range(20)]
    there = {f"p{n}": 1.0 for n in range(answered)}
    assert is_testable(keep_answered(asked, [there, dict.fromkeys((f"p{n}" for n in range(20)), 0.0)]), asked) == enough
