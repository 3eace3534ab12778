"""Judgings of extended runs: what was judged before is taken over, counted where it is paid: at the judges' server."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from judge_made import criterion, preference, rubric
from judge_runs import RUN_ID, TrialKey, judge, make_run, plain_work, rubrics, settings
from loopback import Loopback, Reaction, Seen, answer, failure
from nursery import rows
from run_made import SKILLS, TASKS, task

from skill_health.bench.journal import Journal
from skill_health.core.validation import problems
from skill_health.effectiveness.commands import judge as command

SECOND, THIRD = "20260302T000000Z-0000abcd", "20260303T000000Z-0000abcd"
FEW, MORE = TASKS, (*TASKS, task(5, SKILLS[2]))
ARMS = ("control", "target")
OLD: frozenset[TrialKey] = frozenset((f"t{n:02}", "made:m", arm, r) for n in range(4) for arm in ARMS for r in range(2))
"""The trials of the first run: four tasks in two arms with two replications. The second has more of both."""
NEW = 5 * 2 * 3 - len(OLD)
FAMILIES = ("--family", "one:m=qwen", "--family", "two:m=mistral")


@pytest.fixture(autouse=True)
def with_rubrics(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "load_tasks_of", lambda *_: ())
    monkeypatch.setattr(command, "rubrics_of", lambda _: rubrics(MORE))
    monkeypatch.chdir(tmp_path)


def make_second(more: Mapping[TrialKey, Mapping[str, str]] | None = None, taken: frozenset[TrialKey] = OLD) -> Path:
    return make_run(
        Path("reports"), tasks=MORE, reps=3, run_id=SECOND, extends=(RUN_ID,), taken=taken, more=more,
        work=plain_work,
    )  # fmt: skip


def go(server: Loopback, *more: str, run: str = SECOND, judges: str = "one:m", price: float = 10.0) -> Result:
    """Judge a run; the server keeps its address, as a judge on another server is another judge."""
    Path("s.toml").write_text(settings(server.url, "one", "two", price=price), "utf-8")
    given = ["--judges", judges, *FAMILIES, "--config", "s.toml", "--max-runs", "200", "--quiet", "--repeat-share", "0"]
    return CliRunner().invoke(command.command, [run, *given, *more], standalone_mode=False)


def fine(done: Result) -> Result:
    assert done.exit_code == 0 and done.exception is None, (done.output, done.exception)
    return done


def judging(run: str = SECOND, kind: str = "judging") -> Path:
    """The latest judging of a run."""
    return max((Path("reports/effectiveness") / run / kind).iterdir())


def report(run: str = SECOND, kind: str = "judging") -> Any:
    return json.loads((judging(run, kind) / "report.json").read_text())


@pytest.mark.slow
def test_only_new_trials_are_judged_and_the_scores_are_those_of_judging_all(tmp_path: Path) -> None:
    make_run(Path("reports"), tasks=FEW)
    with Loopback(judge) as server:
        fine(go(server, run=RUN_ID))
        assert len(server.seen) == len(OLD)
        make_second()
        dry = fine(go(server, "--dry-run"))
        assert f"forecast: {NEW} calls" in dry.output
        first = judging(RUN_ID).name
        assert f"{first}: {len(OLD)} calls, on trials that the run has taken over" in dry.output
        done = fine(go(server, "--max-runs", str(NEW), "--time", "2026-03-04T00:00:00Z"))
        assert len(server.seen) == len(OLD) + NEW == 30
        found, carried = report(), judging()
        assert found["taken_over"] == {first: len(OLD)} and "incomplete" not in done.output
        assert f"- taken over from the judging {first}: {len(OLD)} votes" in (carried / "report.md").read_text()
        results = rows(carried / "results.jsonl")
        assert Counter(row.get("taken_from") for row in results) == {first: len(OLD), None: NEW}
        assert [each for row in results for each in problems("judging-result", row)] == []
        assert list(problems("judging-report", found)) == []
        starts = [row for row in rows(carried / "attempts.jsonl") if row["event"] == "start"]
        assert len(starts) == NEW, "what is taken over was paid for elsewhere"
        assert found["votes_read"] == found["votes_planned"] == 30
        # To judge all anew, it must be asked for.
        fine(go(server, "--no-resume", "--time", "2026-03-05T00:00:00Z"))
        assert len(server.seen) == len(OLD) + NEW + 30
    anew = report()
    assert anew["taken_over"] == {} and judging() != carried
    assert all(found[part] == anew[part] for part in ("trials", "contrasts", "skills", "agreement", "cost_usd"))


CHANGED: dict[str, tuple[Mapping[str, Any], int]] = {
    "another judge": ({"judges": "two:m"}, 30),
    "a judge more": ({"judges": "one:m,two:m"}, NEW + 30),
    "a vote more": ({"more": ("--votes", "2")}, NEW + 30),
    "another seed": ({"more": ("--seed", "9")}, NEW),
    "a price": ({"price": 20.0}, NEW),
    "other criteria": ({"rubric": rubric(criterion("a", "apples"), criterion("b", "brooms", 4))}, 30),
    "one more word in a final message": ({"edited": {"final.txt": "I did it well.\n"}}, NEW + 1),
    "a trial that was made again": ({"taken": OLD - {("t00", "made:m", "target", 1)}}, NEW + 1),
}


SLOW = pytest.mark.slow
QUICK = ("another judge", "a trial that was made again")


@pytest.mark.slow
@pytest.mark.parametrize("what", [pytest.param(what, marks=() if what in QUICK else SLOW) for what in CHANGED])
def test_what_has_changed_is_judged_again_and_nothing_else(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, calls = CHANGED[what]
    make_run(Path("reports"), tasks=FEW)
    with Loopback(judge) as server:
        fine(go(server, run=RUN_ID))
        edited = {("t01", "made:m", "control", 0): given["edited"]} if "edited" in given else None
        make_second(edited, given.get("taken", OLD))
        server.seen.clear()
        if found := given.get("rubric"):
            monkeypatch.setattr(command, "rubrics_of", lambda _: rubrics(MORE, found))
        fine(go(server, *given.get("more", ()), judges=given.get("judges", "one:m"), price=given.get("price", 10.0)))
        assert len(server.seen) == calls


@SLOW
def test_an_answer_that_never_came_is_asked_for_again_and_who_asked_first_stays_known() -> None:
    make_run(Path("reports"), tasks=FEW)
    broken = [True]

    def mostly(seen: Seen) -> Reaction:
        return failure(seen, "bad_request") if broken[0] and seen.number == 3 else judge(seen)

    with Loopback(mostly) as server:
        fine(go(server, "--concurrency", "1", run=RUN_ID))
        broken[0] = False
        make_second()
        fine(go(server))
        assert len(server.seen) == len(OLD) + 1 + NEW
        first, second = judging(RUN_ID).name, judging().name
        keys = frozenset((f"t{n:02}", "made:m", arm, r) for n in (0, 1, 2, 3, 5) for arm in ARMS for r in range(3))
        make_run(Path("reports"), tasks=MORE, reps=4, run_id=THIRD, extends=(RUN_ID, SECOND), taken=keys)
        server.seen.clear()
        fine(go(server, run=THIRD))
        assert len(server.seen) == 5 * 2
    assert report(THIRD)["taken_over"] == {first: len(OLD) - 1, second: NEW + 1}


@pytest.mark.slow
def test_a_judging_that_is_damaged_or_gone_is_made_anew() -> None:
    make_run(Path("reports"), tasks=FEW)
    with Loopback(judge) as server:
        fine(go(server, run=RUN_ID))
        path = judging(RUN_ID) / "results.jsonl"
        path.write_text("[]\n" + path.read_text())
        make_second()
        server.seen.clear()
        assert "forecast: 30 calls" in fine(go(server, "--dry-run")).output


class _Killed(BaseException):
    pass


@pytest.mark.slow
def test_a_kill_while_answers_are_taken_over_asks_for_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(Path("reports"), tasks=FEW)
    with Loopback(judge) as server:
        fine(go(server, run=RUN_ID))
        make_second()
        server.seen.clear()
        real = Journal.add

        async def dies(self: Journal, record: Mapping[str, Any]) -> None:
            if len(self.results) == 5:
                raise _Killed
            await real(self, record)

        monkeypatch.setattr(Journal, "add", dies)
        with pytest.raises(_Killed):
            go(server)
        monkeypatch.setattr(Journal, "add", real)
        assert len(rows(judging() / "results.jsonl")) == 5 and not server.seen
        fine(go(server))
        assert len(server.seen) == NEW
    assert len(list((Path("reports/effectiveness") / SECOND / "judging").iterdir())) == 1
    assert sum(report()["taken_over"].values()) == len(OLD)


@SLOW
def test_pairs_are_taken_over_where_both_trials_are() -> None:
    def prefer(seen: Seen) -> Reaction:
        return answer(seen, json.dumps(preference(seen.text)))

    def both(server: Loopback, *more: str, run: str = SECOND) -> Result:
        return go(server, "--pairwise", *ARMS, *more, run=run)

    make_run(Path("reports"), tasks=FEW)
    with Loopback(prefer) as server:
        fine(both(server, run=RUN_ID))
        assert len(server.seen) == 2 * 4 * 2
        make_second(taken=OLD - {("t00", "made:m", "target", 1)})
        server.seen.clear()
        fine(both(server))
        pairs = 5 * 3
        assert len(server.seen) == 2 * (pairs - 4 * 2 + 1), "of one pair a trial was made again"
        # The arms the other way round are the same questions.
        assert fine(go(server, "--pairwise", *reversed(ARMS), "--dry-run")).output.count("forecast: 16 calls") == 1
    found = report(kind="pairwise")
    assert found["taken_over"] == {judging(RUN_ID, "pairwise").name: 2 * 7}
    assert found["answers_read"] == 2 * pairs and list(problems("pairwise-report", found)) == []
    assert f"{judging(RUN_ID, 'pairwise').name}: " in (judging(kind="pairwise") / "report.md").read_text()
