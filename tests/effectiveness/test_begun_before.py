"""Before money is spent again: a run that is over, and one that was left behind, are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from report_runs import frozen, kept, run

from skill_health.bench.run_folder import RunLocation
from skill_health.effectiveness.plan.plan import OF_TRIALS
from skill_health.effectiveness.plan.preflight import said_of_earlier
from skill_health.effectiveness.run.runs import EffectRun

FIRST, SECOND = "20261121T050000Z-aaaaaaaa", "20261122T050000Z-bbbbbbbb"


def said(reports: Path, manifest: Any, stored: Any = None) -> list[str]:
    return list(said_of_earlier(RunLocation("", OF_TRIALS, manifest, stored), str(reports)))


def test_a_first_run_and_one_that_goes_on_need_no_word(tmp_path: Path) -> None:
    assert said(tmp_path, frozen()) == []
    kept(tmp_path, run(FIRST))
    assert said(tmp_path, frozen(), stored=frozen()) == []


def test_the_same_run_is_over(tmp_path: Path) -> None:
    kept(tmp_path, run(FIRST))
    assert said(tmp_path, frozen(SECOND)) == [
        f"note: {FIRST} was this same run and is finished (`effectiveness report {FIRST}`): this begins another one; "
        f"`--extend {FIRST}` takes over what has not changed"
    ]
    assert said(tmp_path, frozen(SECOND, seed=7)) == []


def test_one_that_was_left_behind_says_what_differs(tmp_path: Path) -> None:
    whole = run(FIRST)
    kept(tmp_path, EffectRun("", whole.manifest, whole.results[:3] + whole.results[4:]))
    assert said(tmp_path, frozen(SECOND, seed=7)) == [
        f"note: {FIRST} is unfinished (1 trial without a result) and cannot go on, since it is not the same run: "
        "seed: 1 then, 7 now: this begins another one"
    ]
    # With --no-resume the same run is begun anew on purpose.
    assert said(tmp_path, frozen(SECOND)) == []


def test_only_runs_of_the_same_agents_and_the_latest_of_them(tmp_path: Path) -> None:
    kept(tmp_path, run(FIRST))
    assert said(tmp_path, frozen(SECOND, models=("another",))) == []
    kept(tmp_path, run(SECOND, seed=3, replications=1))
    (line,) = said(tmp_path, frozen("20261123T050000Z-cccccccc"))
    assert line.startswith(f"note: {SECOND} has 105 trials ") and f"`--extend {SECOND}`" in line
