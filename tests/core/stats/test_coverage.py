"""The intervals hold the truth as often as they say, in a small version of the simulation in benchmarks/."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from thinned import EXHAUSTIVE, SLOW, thinned

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from benchmarks import coverage, resampling
from benchmarks._edges import EDGES
from benchmarks._measure import Options
from benchmarks._nulls import NULLS
from benchmarks._populations import POPULATIONS, chances, related, traits
from benchmarks._scenarios import EXHIBITS, SCENARIOS

SWEEPS = {
    "Metrics of a model": 50, "Differences of two models or runs": 40, "Agreement of four models": 15, "Slopes": 25,
    "Skills with 3 to 9 prompts": 8, "Latency": 60, "Effectiveness, 6 conditions": 60, "Other contrasts of arms": 50,
    "Two skills, alone and together": 50,
}  # fmt: skip


@pytest.mark.parametrize("title", thinned(SCENARIOS, 3, SLOW, EXHAUSTIVE))
def test_no_interval_covers_too_little(title: str) -> None:
    tallies: dict[str, coverage.Tally] = defaultdict(coverage.Tally)
    for column in SCENARIOS[title]:
        for what, tally in coverage._sweeps(1, (title, column, 0, SWEEPS[title])).items():
            tallies[re.sub(r", [\d.]+$", "", what)] += tally
    assert {what: tally for what, tally in tallies.items() if coverage.covers(tally) == "**too low**"} == {}
    assert all(tally.given for tally in tallies.values())


@pytest.mark.parametrize("name", thinned(EDGES, 3, SLOW, EXHAUSTIVE))
def test_where_most_tasks_are_alike_the_interval_holds_the_truth_more_often_than_scipys(name: str) -> None:
    (title,) = EXHIBITS
    found = coverage._sweeps(1, (title, "20 tasks x 3", 0, 300))
    ours, plain, true = (
        found[f"{name}: {each}"] for each in ("a report's", "Student's of scipy", "the same in all runs")
    )
    assert ours.given == plain.given < true.given + 1 == 301
    assert ours.hits >= plain.hits and coverage.covers(ours) != "**too low**"


@pytest.mark.slow
def test_nothing_is_found_where_nothing_is() -> None:
    tallies: dict[str, coverage.Tally] = defaultdict(coverage.Tally)
    for column in NULLS:
        for what, tally in coverage._sweeps(1, (coverage.TESTS, column, 0, 20)).items():
            tallies[what] += tally
    assert {what: tally for what, tally in tallies.items() if coverage.errs(tally) != "yes"} == {}


def test_naive_intervals_would_be_noticed() -> None:
    # 300 calls as if each were independent: what the simulation is there to find.
    rng, hits, population = np.random.default_rng(1), 0, POPULATIONS[1]
    table = chances(population.kind, population.spread, 0.9)
    for _ in range(400):
        right = rng.binomial(3, rng.choice(table, 100)).sum()
        low, high = coverage.wilson_interval(right, 300)
        hits += low <= table.mean() <= high
    assert coverage.covers(coverage.Tally(400, 400, hits)) == "**too low**"


def test_populations_have_the_accuracy_and_the_likeness_that_they_state() -> None:
    for population in POPULATIONS:
        for level in (0.5, 0.97):
            assert chances(population.kind, population.spread, level).mean() == pytest.approx(level, abs=0.001)
    table = chances("beta", 0.5, 0.8)
    assert table.var() / (0.8 * 0.2) == pytest.approx(0.5, abs=0.01)
    rng, families = np.random.default_rng(1), POPULATIONS[-1]
    drawn = np.array([traits(rng, families) for _ in range(3_000)])
    assert np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1] == pytest.approx(families.kinship, abs=0.04)
    assert np.corrcoef(drawn[:, 1], drawn[:, 2])[0, 1] == pytest.approx(0, abs=0.06)
    assert np.corrcoef(drawn[:, 0], related(rng, drawn[:, 0], 0.7))[0, 1] == pytest.approx(0.7**0.5, abs=0.04)


@pytest.mark.parametrize(
    ("tally", "verdict"),
    [
        ((1000, 1000, 950), "yes"), ((1000, 1000, 900), "**too low**"), ((1000, 1000, 1000), coverage.HIGH),
        ((9, 9, 9), "yes"),
    ],
)  # fmt: skip
def test_a_verdict_allows_for_the_error_of_the_simulation(tally: tuple[int, int, int], verdict: str) -> None:
    assert coverage.covers(coverage.Tally(*tally)) == verdict


def test_a_sweep_is_the_same_in_whatever_share_it_comes() -> None:
    job = ("Metrics of a model", "ICC 0.5")
    whole, head, tail = (coverage._sweeps(3, (*job, *part)) for part in ((0, 5), (0, 2), (2, 5)))
    assert whole == {what: head[what] + tail[what] for what in whole}
    assert coverage._sweeps(4, (*job, 0, 5)) != whole


@pytest.mark.slow
def test_the_tables_show_every_interval(capsys: pytest.CaptureFixture[str]) -> None:
    coverage.main(["--rounds", "2"])
    printed = capsys.readouterr().out
    for what in ("top-1, 0.97", "MRR", "nDCG@3", "abstention F1", "Brier", "Fleiss kappa", "recall of a skill"):
        assert f"| {what}" in printed
    for title in (*SCENARIOS, "Nothing to be found"):
        assert f"### {title}" in printed
    rows = [line for line in printed.splitlines() if line.startswith("|")]
    assert all(row.endswith("|") for row in rows)


@pytest.mark.slow
def test_resampling_is_timed(tmp_path: Path) -> None:
    _, table = resampling.run(Options(tmp_path, None, 1, 1, 2, None))
    assert "| cluster bootstrap of a ratio | **" in table
    assert "| < 500 ms |" in table
