"""Parts of runs and judgings, made one by one, killed and put together: what comes of them is what a whole one is."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from judge_made import preference
from judge_runs import judge, make_run, rubrics, settings
from loopback import Loopback, Reaction, Seen, answer
from nursery import Nursery, kill_when, nursery_in, rows
from run_made import the_run, write_collection
from test_kill_trials import FEW, SMALL, arguments, timeless

from skill_health.core.errors import UsageError
from skill_health.effectiveness.commands import judge as judge_command
from skill_health.effectiveness.commands import merge as merge_command
from skill_health.effectiveness.run.conduct import merge


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("collection") / "c")


@pytest.fixture(scope="module")
def nursery(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    folder = tmp_path_factory.mktemp("nursery")
    with nursery_in(folder, *arguments(collection, folder / "first", *SMALL)) as found:
        yield found


@pytest.fixture(scope="module")
def parts(nursery: Nursery, collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run, and the same in three shards."""
    folder = tmp_path_factory.mktemp("parts")
    assert nursery.run(arguments(collection, folder / "whole", *SMALL)) in (0, 1), nursery.err.read_text()
    for number in (1, 2, 3):
        out = folder / f"part{number}"
        assert nursery.run(arguments(collection, out, *SMALL, "--shard", f"{number}/3")) == 0, nursery.err.read_text()
        assert re.search(rf"shard .*\bpart{number}/", nursery.err.read_text())
    return folder


def shards_below(folder: Path) -> list[str]:
    return [str(path) for path in sorted(folder.glob("part*/effectiveness/*"))]


@pytest.mark.slow
def test_shards_put_together_are_the_run_that_was_made_whole(parts: Path, tmp_path: Path) -> None:
    merge(shards_below(parts)[::-1], str(tmp_path))
    whole, merged = the_run(parts / "whole"), the_run(tmp_path)
    assert merged.name == whole.name
    old, new = timeless(whole), timeless(merged)
    for part in old:
        assert new[part] == old[part], part
    for name in ("verdict.json", "trial.json", "trajectory.json"):
        there = {path.parent.name for path in (whole / "trials").glob(f"*/{name}")}
        assert {path.parent.name for path in (merged / "trials").glob(f"*/{name}")} == there != set()
    lines = [rows(out / "effectiveness-history.jsonl") for out in (parts / "whole", tmp_path)]
    assert [[row["skill"] for row in each] for each in lines] == [[None, "maps-work", "notes-work", "sums-work"]] * 2


@pytest.mark.slow
def test_a_shard_has_whole_comparisons_and_no_report(parts: Path) -> None:
    seen: Counter[tuple[Any, ...]] = Counter()
    for folder in map(Path, shards_below(parts)):
        assert not (folder / "report.json").exists()
        assert not (folder.parents[1] / "effectiveness-history.jsonl").exists()
        mine = {(row["task_id"], row["model"], row["replication"]) for row in rows(folder / "results.jsonl")}
        seen.update(mine)
    assert set(seen.values()) == {1}, "all arms that are compared are made on one machine"


def broken(parts: Path, tmp_path: Path, how: str) -> list[str]:
    """The shards with something wrong about them."""
    shutil.copytree(parts, tmp_path / "parts")
    found = shards_below(tmp_path / "parts")
    first, second = Path(found[0]), Path(found[1])
    if how == "missing":
        return found[:2]
    if how == "twice":
        return [*found, found[0]]
    if how == "whole":
        return [*found[:2], str(the_run(tmp_path / "parts" / "whole"))]

    def of_other_probes(text: str) -> str:
        probes = json.loads(text)
        probes["probes"][0]["version"] = "another"
        return json.dumps(probes)

    name, change = {
        "doubled": (
            "results.jsonl",
            lambda text: text + (first / "results.jsonl").read_text().partition("\n")[0] + "\n",
        ),
        "other": ("manifest.json", lambda text: json.dumps({**json.loads(text), "seed": 7})),
        "probes": ("probe.json", of_other_probes),
        "outside": (
            "results.jsonl",
            lambda text: text.replace(json.loads(text.partition("\n")[0])["folder"], "../../x"),
        ),
    }[how]
    (second / name).write_text(change((second / name).read_text()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("how", "said"), [
    ("missing", "shard 3/3 is missing"),
    ("twice", "is shard 1/3, and so is another"),
    ("doubled", "both have results for"),
    ("other", "not that of a run of its name"),
    ("probes", "was not offered the same"),
    ("outside", "does not say where the trial"),
    ("whole", "is no shard of a run"),
])  # fmt: skip
def test_what_is_no_set_of_shards_is_refused_and_leaves_nothing(
    parts: Path, tmp_path: Path, how: str, said: str
) -> None:
    found = broken(parts, tmp_path, how)
    out = tmp_path / "out"
    with pytest.raises(UsageError, match=said):
        merge(found, str(out))
    left = [path for path in out.rglob("*") if path.is_file()] if out.exists() else []
    assert left == []


@pytest.mark.slow
def test_no_link_of_a_shard_comes_along(parts: Path, tmp_path: Path) -> None:
    shutil.copytree(parts, tmp_path / "parts")
    found = shards_below(tmp_path / "parts")
    trial = next((Path(found[0]) / "trials").iterdir())
    (trial / "planted.txt").symlink_to("/etc/hostname")
    (trial / "planted").symlink_to("/etc")
    ended = merge(found, str(tmp_path / "out"))
    there = Path(ended.folder) / "trials" / trial.name
    assert (there / "verdict.json").exists() and not list(there.glob("planted*"))


@pytest.mark.slow
def test_what_a_shard_lacks_is_made_by_the_run_that_comes_of_them(
    nursery: Nursery, collection: Path, tmp_path: Path
) -> None:
    """A cap is shared out: three trials of ten for two shards are two and one."""
    for number, most in ((1, 2), (2, 1)):
        out = tmp_path / f"part{number}"
        code = nursery.run(arguments(collection, out, *SMALL, "--shard", f"{number}/2", "--max-runs", "3"))
        assert code == 3 and "the cap of" in nursery.err.read_text()
        starts = [row for row in rows(the_run(out) / "attempts.jsonl") if row["event"] == "start"]
        assert len(starts) == most
    out = tmp_path / "whole"
    ended = merge(shards_below(tmp_path), str(out))
    assert ended.left == FEW - 3 and not (out / "effectiveness-history.jsonl").exists()
    name = Path(ended.folder).name
    assert nursery.run(arguments(collection, out, *SMALL, "--resume", name)) in (0, 1), nursery.err.read_text()
    starts = [row for row in rows(Path(ended.folder) / "attempts.jsonl") if row["event"] == "start"]
    assert len(starts) >= FEW and len({tuple(row["key"]) for row in starts}) == FEW
    assert (out / "effectiveness-history.jsonl").exists()


@pytest.mark.parametrize(
    "most_kills", [pytest.param(30, marks=pytest.mark.exhaustive), pytest.param(2, marks=pytest.mark.slow)]
)
def test_kills_of_shards(nursery: Nursery, collection: Path, tmp_path: Path, most_kills: int) -> None:
    """Each shard killed after a random number of results, and begun again: nothing is lost or there twice."""
    draw, kills, rounds = random.Random(4), 0, 0
    assert nursery.run(arguments(collection, tmp_path / "whole", *SMALL)) in (0, 1)
    whole = timeless(the_run(tmp_path / "whole"))
    while kills < most_kills:
        folder = tmp_path / str(rounds)
        rounds += 1
        for number in (1, 2):
            out = folder / f"part{number}"
            given = arguments(collection, out, *SMALL, "--shard", f"{number}/2")
            most = FEW // 2 + 1
            while nursery.run(given, kill_when(out, "effectiveness/*/results.jsonl", draw, most)) == -signal.SIGKILL:
                kills += 1
            assert nursery.run(given) == 0, nursery.err.read_text()
        merge(shards_below(folder), str(folder / "merged"))
        merged = timeless(the_run(folder / "merged"))
        for part in whole:
            assert merged[part] == whole[part], (part, rounds)


def judged(tmp_path: Path, url: str, reports: str, *more: str) -> Path:
    """Judge the run of a folder of reports; the folder of the judging."""
    (tmp_path / "s.toml").write_text(settings(url, "one"), "utf-8")
    given = ["--judges", "one:m", "--family", "one:m=qwen", "--config", str(tmp_path / "s.toml")]
    out = ["--out", str(tmp_path / reports), "--quiet", "--time", "2026-03-02T00:00:00Z", "--max-budget-usd", "100"]
    done = CliRunner().invoke(judge_command.command, ["last", *given, *out, *more], standalone_mode=False)
    assert done.exit_code == 0 and done.exception is None, done.output
    (folder,) = (tmp_path / reports / "effectiveness").glob("*/[jp]*/*")
    return folder


def kept_of(folder: Path) -> dict[str, Any]:
    """What a judging says, without how long it took."""
    results = [{**row, "duration_ms": None} for row in rows(folder / "results.jsonl")]
    return {"results": results, **{name: (folder / f"report.{name}").read_text() for name in ("json", "md")}}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["judging", "pairwise"])
@pytest.mark.parametrize("form", ["json", "md"])
def test_a_judging_in_shards_is_the_judging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, form: str
) -> None:
    monkeypatch.setattr(judge_command, "load_tasks_of", lambda *_: ())
    monkeypatch.setattr(judge_command, "rubrics_of", lambda _: rubrics())
    monkeypatch.chdir(tmp_path)
    pairs = kind == "pairwise"
    more = ("--pairwise", "target", "control") if pairs else ()
    run = make_run(tmp_path / "reports")
    for copy in ("copy1", "copy2", "whole"):
        shutil.copytree(tmp_path / "reports", tmp_path / copy)

    def react(seen: Seen) -> Reaction:
        return answer(seen, json.dumps(preference(seen.text))) if pairs else judge(seen)

    with Loopback(react) as server:
        shards = [judged(tmp_path, server.url, f"copy{number}", *more, "--shard", f"{number}/2") for number in (1, 2)]
        asked = len(server.seen)
        whole = judged(tmp_path, server.url, "whole", *more)
        assert len(server.seen) == 2 * asked
        assert not any((shard / "report.json").exists() for shard in shards)
        given = [*map(str, shards), "--out", str(tmp_path / "reports"), "--config", str(tmp_path / "s.toml")]
        done = CliRunner().invoke(merge_command.command, [*given, "--format", form], standalone_mode=False)
    assert done.exit_code == 0 and done.exception is None, done.output
    (merged,) = (run / kind).iterdir()
    assert merged.name == whole.name and kept_of(merged) == kept_of(whole)
    assert done.stdout == (merged / f"report.{form}").read_text("utf-8")
