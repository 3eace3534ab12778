"""Sweeps that stop when they know enough: the blocks, what is settled by real HTTP, and what goes on from there."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from loopback import Loopback, Reaction, Seen, answer, ranking
from made_collection import TOPICS, answer_rightly, labelled, the_run, write_collection
from nursery import CHECKOUT, rows
from thinned import repeated

from benchmarks.settling import simulate
from skill_health.core.validation import problems
from skill_health.documents._record import convert_record
from skill_health.documents.router_manifest import RouterManifest
from skill_health.router.compare import settle
from skill_health.router.compare.settle import FEWEST, blocks_of
from skill_health.router.runs import load_run
from skill_health.router.scores.judge import RoutingRunFacts, read_facts

SORTED = (*TOPICS, "tickets")
PROMPTS, REPS = 120, 2
NOTHING_LOST = "No loss "


def collection(root: Path) -> None:
    write_collection(root, labelled(PROMPTS, SORTED, digits=3), SORTED)


class Model:
    """Answers right, but for a share of the prompts, by their numbers."""

    def __init__(self) -> None:
        self.wrong = 0.0

    def __call__(self, seen: Seen) -> Reaction:
        number = re.search(r"number (\d+)", seen.text.rpartition("<<<REQUEST")[2])
        wrong = number and int(number[1]) % 100 < 100 * self.wrong
        return answer(seen, ranking("none") if wrong else answer_rightly(seen.text, SORTED))


@pytest.fixture
def model() -> Model:
    return Model()


Sweep = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def sweep(tmp_path: Path, model: Model, run_in: Sweep) -> Iterator[Sweep]:
    collection(tmp_path / "c")
    with Loopback(model) as server:
        (tmp_path / "s.toml").write_text(
            f'[router.providers.here]\nprotocol = "openai"\nbase-url = "{server.url}/v1"\nconcurrency = 32\n'
            '[router.prices."here:m"]\ninput = 1\noutput = 1\n', "utf-8",
        )  # fmt: skip

        def run(*more: str, models: str = "here:m,lexical:bm25") -> subprocess.CompletedProcess[str]:
            server.seen.clear()
            done = run_in(
                CHECKOUT, "router", "sweep", tmp_path / "c", "--prompts", tmp_path / "c/prompts.jsonl", "--config",
                tmp_path / "s.toml", "--models", models, "--reps", str(REPS), "--out", tmp_path / "r", "--quiet",
                "--max-runs", "5000", *more,
            )  # fmt: skip
            done.asked = len(server.seen)  # type: ignore[attr-defined]
            return done

        yield run


def edit(root: Path) -> None:
    path = root / "skills/maps-work/SKILL.md"
    path.write_text(path.read_text().replace("Sorts maps.", "Sorts maps well."), "utf-8")


@pytest.mark.slow
def test_nothing_lost_is_settled_early_and_the_rest_can_be_asked(sweep: Sweep, model: Model, tmp_path: Path) -> None:
    assert sweep().returncode == 0
    edit(tmp_path / "c")
    done = sweep("--settle", "0.1", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(problems("router-settlement", found)) == []
    (settled,) = found["models"]
    assert settled["model"] == "here:m" and settled["verdict"] == "kept" and settled["moved"] == 0
    assert settled["clusters"] < PROMPTS == settled["of"] and settled["low"] > -0.1
    folder = tmp_path / "r/router" / found["run"]["run_id"]
    results = rows(folder / "results.jsonl")
    assert sum(row["model"] == "here:m" for row in results) == REPS * settled["clusters"]
    assert sum(row["model"] == "lexical:bm25" for row in results) == PROMPTS
    assert not (folder / "report.json").exists()
    assert len((tmp_path / "r/router-history.jsonl").read_text().splitlines()) == 2
    again = sweep("--settle", "0.1", "--format", "json")
    assert again.stdout == done.stdout and again.asked == 0  # type: ignore[attr-defined]
    assert (folder / "settlement.json").read_text("utf-8") == done.stdout
    markdown = (folder / "settlement.md").read_text("utf-8")
    assert markdown.startswith("## ") and sweep("--settle", "0.1", "--format", "md").stdout == markdown
    assert not sweep("--settle", "0.1").stdout.startswith(("#", "{"))
    whole = sweep()
    assert whole.returncode == 0 and whole.asked == REPS * (PROMPTS - settled["clusters"])  # type: ignore[attr-defined]
    assert (folder / "report.json").exists() and (folder / "comparison.json").exists()
    assert not (folder / "settlement.json").exists()


@pytest.mark.slow
def test_a_large_loss_is_settled_early_and_fails(sweep: Sweep, model: Model, tmp_path: Path) -> None:
    assert sweep().returncode == 0
    edit(tmp_path / "c")
    model.wrong = 0.6
    done = sweep("--settle", "0.1")
    assert done.returncode == 1, done.stderr
    assert "has fallen by more" in done.stdout and "not settled" not in done.stdout


@pytest.mark.slow
def test_free_routers_leave_nothing_to_settle(sweep: Sweep, tmp_path: Path) -> None:
    assert sweep(models="lexical:bm25").returncode == 0
    edit(tmp_path / "c")
    done = sweep("--settle", "0.1", models="lexical:bm25")
    assert done.returncode == 0 and NOTHING_LOST in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_what_is_not_settled_is_asked_whole_and_compared(sweep: Sweep, tmp_path: Path) -> None:
    assert sweep().returncode == 0
    edit(tmp_path / "c")
    done = sweep("--settle", "0.01")
    assert done.returncode == 0, done.stderr
    assert NOTHING_LOST in done.stdout and done.asked >= REPS * PROMPTS  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_cap_ends_it_and_the_same_command_goes_on(sweep: Sweep, tmp_path: Path) -> None:
    assert sweep().returncode == 0
    edit(tmp_path / "c")
    done = sweep("--settle", "0.1", "--max-runs", "30")
    assert done.returncode == 3 and "the cap of 30 calls is reached" in done.stderr
    assert sweep("--settle", "0.1").returncode == 0


@pytest.mark.slow
def test_an_interrupt_ends_it_after_the_block_too(
    sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was under way may come to its end, so that nothing of the block is left; nothing more is begun."""
    assert sweep().returncode == 0
    edit(tmp_path / "c")
    asked = settle.answer_prompts
    monkeypatch.setattr(settle, "answer_prompts", lambda *given: replace(asked(*given), reason="interrupted"))
    done = sweep("--settle", "0.01")
    assert done.returncode == 130 and "interrupted" in done.stderr, done.stderr
    assert done.asked < REPS * PROMPTS  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_question_is_about_all_prompts(sweep: Sweep) -> None:
    for more in (("--changed",), ("--since", "HEAD")):
        done = sweep("--settle", "0.1", *more)
        assert done.returncode == 2 and "leave out --since and --changed" in done.stderr
    assert sweep("--settle", "0").returncode == 2


def facts_of(tmp_path: Path) -> RoutingRunFacts:
    from skill_health.cli import main

    collection(tmp_path / "c")
    given = ["router", "run", str(tmp_path / "c"), "--prompts", str(tmp_path / "c/prompts.jsonl")]
    assert main([*given, "--models", "lexical:bm25", "--out", str(tmp_path / "r"), "--quiet"]) == 0
    folder = the_run(tmp_path / "r")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert load_run(str(folder)).finished
    return read_facts(convert_record(manifest, RouterManifest))


@pytest.mark.slow
def test_blocks_are_whole_clusters_in_an_order_of_the_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = facts_of(tmp_path)
    blocks = blocks_of(facts, facts)
    assert sorted(name for block in blocks for name in block) == sorted(facts.prompts)
    assert all(len(block) >= FEWEST for block in blocks[:-1])
    assert [name for block in blocks for name in block] != sorted(facts.prompts)
    assert blocks == blocks_of(facts, facts)


@pytest.mark.parametrize("tries", repeated(15, 150))
def test_promised_errors_hold_in_simulated_sweeps(tries: int) -> None:
    for margin, shift in ((0.05, -0.05), (0.1, -0.1)):
        found = simulate(margin, shift, tries)
        assert found.kept <= 0.05 * tries and found.missed <= 0.1 * tries
    quiet = simulate(0.1, 0.0, tries)
    assert quiet.kept == tries and quiet.asked < 0.5
