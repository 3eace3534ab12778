"""Parts of a router run, put together: the run that a whole one is, byte for byte but for the times of attempts."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loopback import Loopback, Reaction, Seen, answer, ranking
from nursery import CHECKOUT, Nursery, kill_when, nursery_in, rows
from test_kill import MODELS, PROMPTS, collection
from thinned import repeated

from skill_health.bench.run.merge import merge_shards
from skill_health.core.errors import UsageError
from skill_health.documents.router_check import InstrumentFinding, ModelVerdict
from skill_health.router.instrument.check import join_verdicts
from skill_health.router.run.conduct import merge
from skill_health.router.runs import OF_ROUTER

__all__ = ["collection"]
FREE = ("lexical:bm25", "lexical:overlap")
TIME = "2026-03-01T00:00:00Z"


def arguments(root: Path, out: Path, *more: str, models: tuple[str, ...] = MODELS) -> list[str]:
    return [
        "router", "run", str(root), "--prompts", str(root / "prompts.jsonl"), *(w for m in models for w in ("--models", m)),
        "--reps", "2", "--out", str(out), "--time", TIME, "--quiet", *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def nursery(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    folder = tmp_path_factory.mktemp("nursery")
    with nursery_in(folder, *arguments(collection, folder / "first", models=FREE)) as found:
        yield found


def shards_below(folder: Path) -> list[str]:
    return [str(path) for path in sorted(folder.glob("part*/router/*"))]


def files_of(out: Path) -> dict[str, bytes]:
    """What a folder of reports holds, but for the journal of attempts, which has times."""
    found = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if not name.endswith("attempts.jsonl")}


@pytest.mark.parametrize(
    ("total", "more"),
    [
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1, ()), (2, ()), (4, ("--prompt-ids", "p00,p07")))),
        pytest.param(30, (), marks=pytest.mark.exhaustive),
    ],
)
def test_the_merged_run_has_the_bytes_of_a_whole_one(
    nursery: Nursery, collection: Path, tmp_path: Path, total: int, more: tuple[str, ...]
) -> None:
    """Of four shards two, and of thirty ten have nothing to do."""
    assert nursery.run(arguments(collection, tmp_path / "whole", *more, models=FREE)) == 0, nursery.err.read_text()
    for number in range(1, total + 1):
        given = arguments(collection, tmp_path / f"part{number}", "--shard", f"{number}/{total}", *more, models=FREE)
        assert nursery.run(given) == 0, nursery.err.read_text()
    merge(shards_below(tmp_path), str(tmp_path / "merged"))
    assert files_of(tmp_path / "merged") == files_of(tmp_path / "whole")


@pytest.mark.parametrize("most_kills", repeated(2, 30))
def test_kills_of_shards(nursery: Nursery, collection: Path, tmp_path: Path, most_kills: int) -> None:
    draw, kills, rounds = random.Random(7), 0, 0
    assert nursery.run(arguments(collection, tmp_path / "whole")) in (0, 1), nursery.err.read_text()
    whole = [{**row, "duration_ms": None} for row in rows(next((tmp_path / "whole").glob("router/*/results.jsonl")))]
    most = 2 * 2 * PROMPTS // 2 + PROMPTS // 2
    while kills < most_kills:
        folder, rounds = tmp_path / str(rounds), rounds + 1
        for number in (1, 2):
            out = folder / f"part{number}"
            given = arguments(collection, out, "--shard", f"{number}/2")
            while (
                kills < most_kills
                and nursery.run(given, kill_when(out, "router/*/results.jsonl", draw, most)) == -signal.SIGKILL
            ):
                kills += 1
            assert nursery.run(given) == 0, nursery.err.read_text()
        merge(shards_below(folder), str(folder / "merged"))
        merged = rows(next((folder / "merged").glob("router/*/results.jsonl")))
        assert [{**row, "duration_ms": None} for row in merged] == whole


@pytest.mark.slow
def test_calls_of_a_server_are_made_once_over_all_shards(
    collection: Path, tmp_path: Path, run_in: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """A shard with the share of a cap that is not enough says so; what is missing the merged run asks for."""

    def react(seen: Seen) -> Reaction:
        return answer(seen, ranking("maps-work"))

    def run(out: Path, *more: str) -> subprocess.CompletedProcess[str]:
        given = arguments(collection, out, "--config", str(tmp_path / "s.toml"), *more, models=("here:m",))
        return run_in(CHECKOUT, *given, "--reps", "1", "--despite-check")

    with Loopback(react) as server:
        (tmp_path / "s.toml").write_text(
            f'[router.providers.here]\nprotocol = "openai"\nbase-url = "{server.url}/v1"\n'
            '[router.prices."here:m"]\ninput = 1\noutput = 1\n', "utf-8",
        )  # fmt: skip
        for number in (1, 2):
            done = run(tmp_path / f"part{number}", "--shard", f"{number}/2", "--max-runs", "30")
            assert done.returncode == 3 and "the cap of 15 calls is reached" in done.stderr, done.stderr
        assert len(server.seen) == 30, "the cap holds over both"
        ended = merge(shards_below(tmp_path), str(tmp_path / "out"))
        done = run(tmp_path / "out", "--resume", Path(ended.folder).name, "--max-runs", "100")
        assert done.returncode in (0, 1), done.stderr
    results = rows(Path(ended.folder) / "results.jsonl")
    assert len(results) == PROMPTS and len({row["prompt_id"] for row in results}) == PROMPTS


@pytest.mark.slow
def test_a_shard_that_is_no_part_of_the_others_is_refused(nursery: Nursery, collection: Path, tmp_path: Path) -> None:
    for number, seed in ((1, "1"), (2, "2")):
        given = arguments(collection, tmp_path / f"part{number}", "--shard", f"{number}/2", "--seed", seed, models=FREE)
        assert nursery.run(given) == 0
    with pytest.raises(UsageError, match="is of another run than"):
        merge_shards(shards_below(tmp_path), OF_ROUTER, str(tmp_path / "out"), lambda shards, target: None)
    folder = Path(shards_below(tmp_path)[0])
    row = rows(folder / "results.jsonl")[0]
    with (folder / "results.jsonl").open("a") as file:
        file.write(json.dumps({**row, "prompt_id": "nobody asked"}) + "\n")
    with pytest.raises(UsageError, match="does not ask for: nobody asked"):
        merge([str(folder)], str(tmp_path / "out"))


def test_of_verdicts_the_worst_stands() -> None:
    bad = InstrumentFinding("constant", "It always says the same.", 6, 6)
    ok, failed, silent = (
        ModelVerdict("m", 6, 6, True, cost_usd=0.25),
        ModelVerdict("m", 6, 6, True, (bad,), cost_usd=0.5),
        ModelVerdict("m", 6, 0, False),
    )
    (joined,) = join_verdicts([(silent,), (ok,), (failed,)])
    assert joined.failed and joined.findings == (bad,) and joined.cost_usd is None
    (joined,) = join_verdicts([(silent,), (ok,)])
    assert joined.trusted
    (joined,) = join_verdicts([(ok,), (ok,)])
    assert joined.cost_usd == 0.5
