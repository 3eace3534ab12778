"""Shards: the parts of a run, checked anywhere, merge to the very bytes of the whole run, or to one clear line."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from fixture_types import Run
from thinned import thinned

from skill_health import formats

SKILL = """---
name: {name}
description: Sorts {about} by size. Use when {about} must be sorted.
---

# Title

See [the guide](references/guide.md#steps), `scripts/{name}.py` and [the other]({other}).

The new way is {percent}% faster. <!-- skill-health: ignore CL001 -->

The old way is {percent}% slower.
"""
ABOUT = ["lists", "lists", "piles of books", "apples", "the mail", "stones"]


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A collection of eleven skills that a test may change."""
    return make_collection(tmp_path / "collection")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, run_in: Run) -> Path:
    """The same collection, which stays as it is. Its shards stand beside the skills: 1.shard, 2.shard, and other.shard
    of three; those of a whole run in `of-1` and `of-3`.
    """
    root = make_collection(tmp_path_factory.mktemp("shards") / "collection")
    for number, count, name in ((1, 2, "1"), (2, 2, "2"), (1, 3, "other")):
        run_in(root, "lint", "--shard", f"{number}/{count}", "--output", f"{name}.shard")
    for count in (1, 3):
        folder = root / f"of-{count}"
        folder.mkdir()
        make_shards(lambda *words, cwd: run_in(cwd, *words), root, count, folder)
    os.mkfifo(root / "pipe")
    (root / "link.shard").symlink_to(root / "README.md")
    return root


@pytest.fixture(scope="module")
def undivided(finished: Path, run_in: Run) -> str:
    """What the whole run prints of that collection."""
    told: str = run_in(finished, "lint", "--no-cache").stdout
    return told


def make_collection(root: Path) -> Path:
    """Eleven skills with faults of their own, faults between them, files that are the same, and one that is no text."""
    for number in range(11):
        folder = root / "skills" / f"part-{number % 2}" / f"skill-{number}"
        (folder / "references").mkdir(parents=True)
        (folder / "references" / "guide.md").write_text("# Guide\n\n[gone](gone.md)\n")
        other = f"../skill-{number + 2}/SKILL.md" if number % 3 else "/etc/passwd"
        name = f"skill-{number if number % 5 else 0}"
        text = SKILL.format(name=name, about=ABOUT[number % len(ABOUT)], other=other, percent=number)
        (folder / "SKILL.md").write_text(text)
    (root / "skills" / "broken").mkdir()
    (root / "skills" / "broken" / "SKILL.md").write_bytes(b"\0\xff\xfe binary")
    (root / "registries").mkdir()
    (root / "registries" / "claims.jsonl").write_text('{"claim_id": "none"}\n')
    (root / "README.md").write_text("# Eleven skills\n")
    (root / "skill-health.toml").write_text('extend-select = ["ALL"]\n')
    return root


def make_shards(run: Run, root: Path, count: int, folder: Path, *options: str) -> list[Path]:
    files = [folder / f"{number}-of-{count}.shard" for number in range(1, count + 1)]
    for number, file in enumerate(files, 1):
        made = run("lint", "--shard", f"{number}/{count}", "--output", file, *options, cwd=root)
        assert made.returncode == 0, made.stderr
        assert made.stdout == ""
    return files


def assert_same(run: Run, root: Path, files: list[Path], *options: str) -> str:
    merged, whole = run("merge", *files, *options, cwd=root), run("lint", "--no-cache", *options, cwd=root)
    assert (merged.stdout, merged.returncode) == (whole.stdout, whole.returncode)
    assert whole.stdout
    return merged.stderr


@pytest.mark.parametrize("count", [1, 2, 5, pytest.param(30, marks=pytest.mark.slow)])
def test_shards_merge_to_the_bytes_of_the_whole_run(run: Run, collection: Path, tmp_path: Path, count: int) -> None:
    files = make_shards(run, collection, count, tmp_path)
    random.Random(count).shuffle(files)
    assert assert_same(run, collection, files) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", formats.names())
def test_in_every_format(run: Run, finished: Path, name: str) -> None:
    files = sorted((finished / "of-3").iterdir())
    assert len(files) == 3
    assert_same(run, finished, files, "--format", name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [("--score",), ("--score", "--profile", "plan"), ("--statistics",), ("--fail-on", "never"), ("--ignore", "LI")],
)
def test_with_every_kind_of_report(run: Run, collection: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    shared = tuple(options[-2:]) if options[-2:-1] in (("--profile",), ("--ignore",)) else ()
    assert_same(run, collection, make_shards(run, collection, 2, tmp_path, *shared), *options)


@pytest.mark.slow
def test_a_baseline_is_that_of_the_whole(run: Run, collection: Path, tmp_path: Path) -> None:
    files = make_shards(run, collection, 2, tmp_path)
    run("merge", *files, "--write-baseline", "known", cwd=collection)
    kept = (collection / "skill-health-baseline.json").read_bytes()
    (collection / "skill-health-baseline.json").unlink()
    run("lint", "--write-baseline", "known", cwd=collection)
    assert (collection / "skill-health-baseline.json").read_bytes() == kept


@pytest.mark.slow
def test_each_shard_may_come_from_another_machine(run: Run, collection: Path, tmp_path: Path) -> None:
    files = []
    for number in (1, 2, 3):
        copy = tmp_path / f"machine {number}" / "checkout"
        shutil.copytree(collection, copy)
        for path in copy.rglob("*"):
            os.utime(path, (number * 1e6, number * 1e6))
        file = tmp_path / f"{number}.shard"
        made = run(
            "lint", "--shard", f"{number}/3", "--output", file, *(["--no-cache"] if number == 2 else []), cwd=copy
        )
        assert "of 12 skills checked" in made.stderr
        shutil.rmtree(copy.parent)
        files.append(file)
    assert assert_same(run, collection, files) == ""


@pytest.mark.slow
def test_of_some_of_the_skills(run: Run, collection: Path, tmp_path: Path) -> None:
    files = [tmp_path / "1", tmp_path / "2"]
    for number, file in enumerate(files, 1):
        run("lint", "skills/part-0", "--shard", f"{number}/2", "--output", file, cwd=collection)
    merged, whole = (
        run("merge", *files, "--path", "skills/part-0", cwd=collection),
        run("lint", "skills/part-0", cwd=collection),
    )
    assert merged.stdout == whole.stdout
    assert "6 skills checked" in whole.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "checked"),
    [
        ("skills/part-0/skill-2/SKILL.md", "1 skill was"),
        ("skills/part-1/skill-3/references/guide.md", "1 skill was"),
        ("skills/part-1/skill-99/SKILL.md", "1 skill was"),
        ("skills/part-0/skill-6/scripts/skill-6.py", "1 skill was"),
    ],
)
def test_what_has_changed_since_is_checked_again(
    run: Run, collection: Path, tmp_path: Path, edit: str, checked: str
) -> None:
    files = make_shards(run, collection, 2, tmp_path)
    (collection / edit).parent.mkdir(parents=True, exist_ok=True)
    (collection / edit).write_text("---\nname: new\ndescription: A new one.\n---\n\n[gone](gone.md)\n")
    assert assert_same(run, collection, files).startswith(checked)


@pytest.mark.slow
def test_a_skill_that_is_gone_is_gone(run: Run, collection: Path, tmp_path: Path) -> None:
    files = make_shards(run, collection, 2, tmp_path)
    shutil.rmtree(collection / "skills" / "part-0" / "skill-4")
    assert_same(run, collection, files)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["merge", "1.shard", "1.shard"], "1.shard is shard 1/2, and so is another of these: 1.shard"),
        (["merge", "1.shard", "other.shard"], "other.shard is one of 3 shards, and 1.shard one of 2"),
        (["merge", "1.shard", "2.shard", "--ignore", "FM"], "1.shard was made with other settings: give `merge` the"),
        (["merge", "skills"], "cannot read skills: Is a directory"),
        (["merge", "pipe"], "cannot read pipe: "),
        (["lint", "--shard", "1/2", "--output", "link.shard"], "cannot write link.shard: "),
        (["lint", "--shard", "1/2", "--output", "x", "--score"], "--score is about the whole report: give it to"),
        (["lint", "--shard", "1/2", "--output", "x", "--fix"], "--fix is about the whole report"),
        (["lint", "--shard", "0/2", "--output", "x"], "K/N"),
        (["lint", "--shard", "\u0661/\u0662", "--output", "x"], "K/N"),
        (["lint", "--shard", "1/99999", "--output", "x"], "K/N"),
        (["lint", "nowhere", "--shard", "1/2", "--output", "x"], "nowhere"),
    ],
)
def test_what_cannot_be_is_one_clear_line(run: Run, finished: Path, arguments: list[str], says: str) -> None:
    before = sorted(finished.rglob("*"))
    done = run(*arguments, cwd=finished)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(finished.rglob("*")) == before
    assert (finished / "README.md").read_text() == "# Eleven skills\n"


def test_other_rules_and_registries_do_not_fit(
    run: Run, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = make_shards(run, collection, 1, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("skill_health.lint.cache.shards.rules_digest", lambda: "other")
        assert "with other rules than those of this skill-health" in run("merge", *files, cwd=collection).stderr
        patch.setattr("skill_health.lint.cache.shards.__version__", "9.9")
        assert "by skill-health 0.2.0, and this is 9.9" in run("merge", *files, cwd=collection).stderr
    (collection / "registries" / "claims.jsonl").write_text('{"claim_id": "another"}\n')
    assert "with other registries beside the skills" in run("merge", *files, cwd=collection).stderr


@pytest.mark.parametrize("seed", thinned(range(40), 3))
def test_a_damaged_shard_is_no_shard_or_does_not_matter(
    run: Run, finished: Path, undivided: str, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    data = bytearray((finished / "of-1" / "1-of-1.shard").read_bytes())
    if seed % 4:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    else:
        del data[rng.randrange(len(data)) :]
    file = tmp_path / "1-of-1.shard"
    file.write_bytes(data)
    merged = run("merge", file, cwd=finished)
    if merged.returncode == 2:
        assert file.name in merged.stderr and merged.stderr.count("\n") == 1
        assert merged.stdout == ""
    else:
        assert merged.stdout == undivided


@pytest.mark.slow
def test_a_hostile_skill_cannot_speak_through_a_shard(run: Run, collection: Path, tmp_path: Path) -> None:
    folder = collection / "skills" / "part-0" / "evil\x1b[31m\u202eskill"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: evil\x1b]0;x\ndescription: \u202e<script>\n---\n[a](\x1b[2J.md)\n")
    assert_same(run, collection, make_shards(run, collection, 2, tmp_path))
    assert "\x1b" not in run("merge", *make_shards(run, collection, 2, tmp_path), cwd=collection).stdout
