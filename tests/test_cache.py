"""The cache is never wrong: every input that a finding depends on is edited once, and the answer changes."""

from __future__ import annotations

import errno
import io
import json
import os
import random
import shutil
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.config.settings import RuleLimits, config_with, load_config
from skill_health.core.errors import AbortedError
from skill_health.discovery.corpus import discover
from skill_health.lint.cache import cache_folder, session_skills, spool
from skill_health.lint.cache import lint_cache as cache
from skill_health.lint.pipeline import LintResult, run
from skill_health.rules._api import Finding

DAY = date(2026, 11, 21)
SKILL = """---
name: {name}
description: Sorts {name} lists by size. Use when a list of {name} must be sorted.
---

# Title

See [the guide](references/guide.md#steps) and `scripts/sort.py`.

The new way is 40% faster than the old one (claim-speed).

## Integration

- sibling-skill - hands over.
"""
CLAIM = {
    "claim_id": "claim-speed", "claim_text": "40 % faster", "owning_skill": "one", "section": "Title",
    "source_url": "https://example.com/a", "retrieved_at": "2026-11-01", "evidence_strength": "primary",
    "volatility": "high", "last_reviewed": "2026-11-01",
}  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "root"
    for name in ("one", "two"):
        folder = root / "skills" / name
        (folder / "references").mkdir(parents=True)
        (folder / "scripts").mkdir()
        (folder / "SKILL.md").write_text(SKILL.format(name=name))
        (folder / "references" / "guide.md").write_text(f"# Guide {name}\n\n## Steps\n\nDo it.\n")
        (folder / "scripts" / "sort.py").write_text(f"print('{name}')\n")
    (root / "registries").mkdir()
    (root / "registries" / "claims.jsonl").write_text(json.dumps(CLAIM) + "\n")
    (root / "skill-health.toml").write_text('extend-select = ["ALL"]\n')
    return root


def lint(root: Path, use_cache: bool = True, as_of: date = DAY, jobs: int = 1, **overrides: object) -> LintResult:
    config = config_with(load_config(str(root)), **overrides)
    return run(discover([str(root)], config, str(root)), config, as_of, jobs=jobs, use_cache=use_cache, facts=True)


def same(root: Path, **more: object) -> LintResult:
    """Lint with and without the cache and hold the two against each other, byte for byte."""
    cached, fresh = lint(root, True, **more), lint(root, False, **more)  # type: ignore[arg-type]
    assert cached.findings == fresh.findings
    assert cached.facts == fresh.facts
    return fresh


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    info = path.stat()
    path.write_text(text.replace(old, new))
    # The worst case for a cache that trusts times: the clock did not move.
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def body(root: Path) -> Path:
    return root / "skills" / "one" / "SKILL.md"


EDITS: dict[str, Callable[[Path], object]] = {
    "the body": lambda root: edit(body(root), "guide.md#steps", "gone.md"),
    "the name": lambda root: edit(body(root), "name: one", "name: uno"),
    "the description": lambda root: edit(body(root), "Sorts one", "Mixes a"),
    "a heading in a linked file": lambda root: edit(root / "skills/one/references/guide.md", "## Steps", "## Steep"),
    "the name of a linked file": lambda root: (root / "skills/one/references/guide.md").rename(
        root / "skills/one/references/other.md"
    ),
    "a mentioned script": lambda root: (root / "skills/one/scripts/sort.py").unlink(),
    "what a script holds": lambda root: edit(
        root / "skills/one/scripts/sort.py", "print", "from .helper import x\nprint"
    ),
    "an unmentioned file": lambda root: (root / "skills/one/scripts/extra.py").write_text("x = 1\n"),
    "a secret in a bundled file": lambda root: (root / "skills/one/scripts/sort.py").write_text(
        "key = 'ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" + "'\n"
    ),
    "a claim": lambda root: edit(root / "registries/claims.jsonl", "2026-11-01", "2025-11-01"),
    "the claim's id": lambda root: edit(root / "registries/claims.jsonl", "claim-speed", "claim-other"),
    "the claim's owner": lambda root: edit(root / "registries/claims.jsonl", '"one"', '"two"'),
    "a new registry": lambda root: (root / "registries/prompts.jsonl").write_text('{"prompt_id": 1}\n'),
    "a new skill": lambda root: shutil.copytree(root / "skills/one", root / "skills/three"),
    "a removed skill": lambda root: shutil.rmtree(root / "skills/two"),
    "a limit": lambda root: (root / "skill-health.toml").write_text("[limits]\nbody-lines = 3\n"),
    "the severity of a rule": lambda root: (root / "skill-health.toml").write_text('[severity]\nLI001 = "info"\n'),
    "an ignore comment": lambda root: edit(body(root), "The new", "<!-- skill-health: ignore CL001 ours -->\n\nThe new"),
    "the folder's name": lambda root: (root / "skills/one").rename(root / "skills/renamed"),
    "the spelling of SKILL.md": lambda root: body(root).rename(root / "skills/one/skill.md"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_every_edit_is_seen(tree: Path, name: str) -> None:
    before = same(tree)
    assert lint(tree).findings == before.findings
    EDITS[name](tree)
    after = same(tree)
    changed = before.findings != after.findings
    assert changed or before.facts != after.facts, "the edit was chosen badly: it changes nothing at all"


def test_the_day_and_the_selection_are_inputs(tree: Path) -> None:
    assert not [f for f in same(tree).findings if f.code == "CL004"]
    assert [f for f in same(tree, as_of=date(2027, 11, 21)).findings if f.code == "CL004"]
    assert {f.family for f in same(tree, select=("frontmatter",), extend_select=()).findings} <= {"frontmatter"}


def test_new_rules_are_an_input(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lint(tree)
    known = os.listdir(cache_folder.directory())
    monkeypatch.setattr(cache, "rules_stamp", lambda: "another set of rules")
    lint(tree)
    assert len(os.listdir(cache_folder.directory())) == len(known) + 1


def test_an_unchanged_collection_is_not_parsed_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lint(tree)
    never_check(monkeypatch)
    assert lint(tree).findings


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree.parent / "file").write_text("")
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(tree.parent / "file" / "below"))
    same(tree)


def test_concurrent_runs_agree(tree: Path) -> None:
    expected = lint(tree, False).findings
    wrong: list[object] = []

    def worker() -> None:
        for _ in range(5):
            found = lint(tree).findings
            if found != expected:
                wrong.append(found)

    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert not [name for name in os.listdir(cache_folder.directory()) if name.endswith(".tmp")]


def test_the_cache_is_bounded(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_folder, "_MAX_FILES", 3)
    for lines in range(10, 20):
        (tree / "skill-health.toml").write_text(f"[limits]\nbody-lines = {lines}\n")
        lint(tree)
    assert len(collections()) == 3


@pytest.mark.slow
def test_several_configurations_are_kept(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for lines in range(10, 30):
        lint(tree, extend_select=(), limits=RuleLimits(body_lines=lines))
    assert 3 < len(collections()) < 12
    never_check(monkeypatch)
    for lines in (27, 28, 29):
        lint(tree, extend_select=(), limits=RuleLimits(body_lines=lines))


def collections() -> list[str]:
    return [name for name in os.listdir(cache_folder.directory()) if name.endswith(".lint")]


def never_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skill_health.lint.check.check_entries", lambda *_: pytest.fail("checked again"))
    monkeypatch.setattr("skill_health.lint.check.check_corpus", lambda *_: pytest.fail("checked again"))


def ask(root: Path, *paths: str, **overrides: object) -> LintResult:
    """Lint what is named, as the command does."""
    config = config_with(load_config(str(root)), **overrides)
    return run(discover([str(root / path) for path in paths], config, str(root)), config, DAY, jobs=1)


ASKED: list[tuple[str, ...]] = [("skills/one",), ("skills/one/SKILL.md",), ("skills",), ("skills/two", "skills/one")]


@pytest.mark.parametrize("between", ASKED)
def test_no_question_throws_the_records_of_another_away(
    tree: Path, monkeypatch: pytest.MonkeyPatch, between: tuple[str, ...]
) -> None:
    whole = lint(tree).findings
    first = ask(tree, *between).findings
    ask(tree, *between, select=("FM",), extend_select=())
    never_check(monkeypatch)
    assert lint(tree).findings == whole
    assert ask(tree, *between).findings == first


def test_what_only_grades_findings_needs_no_other_records(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lint(tree)
    never_check(monkeypatch)
    lint(tree, fail_on="warning", fail_under=0.5, exclude=("nothing",))


def test_a_removed_skill_is_forgotten(tree: Path) -> None:
    lint(tree)
    shutil.rmtree(tree / "skills" / "two")
    lint(tree)
    (name,) = collections()
    assert b"skills/two" not in (Path(cache_folder.directory()) / name).read_bytes()


def settle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files need not be seconds old to be trusted: their times are fine enough for the tests that `tick`."""
    monkeypatch.setattr(cache, "SETTLED_NS", -(10**18))


def tick(root: Path) -> None:
    """Wait until the clock of the file system has moved on since any file below the root changed."""
    last = max(path.lstat().st_ctime_ns for path in (root, *root.rglob("*")))
    scratch = root.parent / "scratch"
    while True:
        scratch.write_text("")
        os.utime(scratch)
        if scratch.stat().st_ctime_ns > last:
            return


def test_an_unchanged_collection_is_not_read_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    lint(tree)
    for name in ("read_entry", "answer"):
        monkeypatch.setattr(cache, name, lambda *_: pytest.fail("read again"))
    assert lint(tree).findings


def test_paranoia_reads_everything_and_checks_nothing_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    expected = lint(tree).findings
    never_check(monkeypatch)
    read: list[str] = []
    read_entry, answer = cache.read_entry, cache.answer
    monkeypatch.setattr(cache, "read_entry", lambda root, entry: (read.append(entry.path), read_entry(root, entry))[1])
    monkeypatch.setattr(
        cache, "answer", lambda inside, asked: (read.append(asked.partition(":")[2]), answer(inside, asked))[1]
    )
    config = load_config(str(tree))
    assert run(discover([str(tree)], config, str(tree)), config, DAY, paranoid=True).findings == expected
    files = [str(path.relative_to(tree)) for path in (tree / "skills").rglob("*") if path.is_file()]
    assert set(files) <= set(read)


def test_a_file_that_is_too_young_for_its_times_is_read_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = lint(tree).findings
    read: list[str] = []
    answer = cache.answer
    monkeypatch.setattr(cache, "answer", lambda inside, asked: (read.append(asked), answer(inside, asked))[1])
    never_check(monkeypatch)
    assert lint(tree).findings == expected
    assert read
    # Once it is old enough its state is taken again, and it is not read a third time.
    later = max(path.lstat().st_ctime_ns for path in tree.rglob("*")) + 10 * cache.SETTLED_NS
    monkeypatch.setattr(cache.time, "time_ns", lambda: later)
    lint(tree)
    read.clear()
    assert lint(tree).findings == expected
    assert not read


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_collection_too_large_to_hold_is_judged_alike(tree: Path, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    for number in range(24):
        (tree / "skills" / f"more-{number}").mkdir()
        (tree / "skills" / f"more-{number}" / "SKILL.md").write_text(SKILL.format(name=f"more-{number % 20}"))
    held = lint(tree, False)
    monkeypatch.setattr(session_skills, "_HELD", 0)
    monkeypatch.setattr(spool, "_HELD", 0)
    for _ in range(2):
        found = same(tree, jobs=jobs)
        assert found.findings == held.findings and found.facts == held.facts
    edit(tree / "skills" / "one" / "SKILL.md", "40%", "30%")
    skill = tree / "skills" / "one" / "SKILL.md"
    assert lint_one(tree, skill, True) == lint_one(tree, skill, False) != ()


def lint_one(root: Path, skill: Path, use_cache: bool) -> tuple[Finding, ...]:
    config = load_config(str(root))
    return run(discover([str(skill)], config, str(root)), config, DAY, jobs=1, use_cache=use_cache).findings


def test_a_full_disk_is_one_clear_line(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(spool, "_HELD", 0)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: Full())
    with pytest.raises(AbortedError, match=r"^cannot write a temporary file: No space left on device; .* TMPDIR$"):
        lint(tree)


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(0, 200))
def test_what_is_put_aside_is_read_again(pieces: list[bytes], held: int) -> None:
    with pytest.MonkeyPatch.context() as patch, closing(spool.Spool()) as aside:
        patch.setattr(spool, "_HELD", held)
        places = [aside.add(piece) for piece in pieces]
        assert [aside.read(at, len(piece)) for at, piece in zip(places, pieces, strict=True)] == pieces
        assert aside.read(0, aside.size) == b"".join(pieces)


def swapped(text: str) -> str:
    """A text of the same length that says something else."""
    words = text.split(" ")
    return " ".join([*words[1:], words[0]])


def keep_times(path: Path, change: Callable[[Path], object]) -> None:
    info = path.stat()
    change(path)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def replace(path: Path) -> None:
    """Another file of the same size and time takes its place."""
    info, other = path.stat(), path.with_name("other.tmp")
    other.write_text(swapped(path.read_text()))
    os.utime(other, ns=(info.st_atime_ns, info.st_mtime_ns))
    other.replace(path)


def link(path: Path) -> None:
    """A link to a file elsewhere takes its place; then that link leads to another file."""
    target = path.parent / f"{path.name}-{len(list(path.parent.iterdir()))}"
    target.write_text(swapped(path.read_text()))
    path.unlink()
    path.symlink_to(target.name)


def exchange(path: Path) -> None:
    """The same file of the other skill takes its place, and the other way round."""
    there = Path(str(path).replace("/one/", "/-/").replace("/two/", "/one/").replace("/-/", "/two/"))
    if there.exists():
        aside = path.with_name("aside.tmp")
        path.rename(aside)
        there.rename(path)
        aside.rename(there)


def secret(path: Path) -> None:
    with path.open("a") as file:
        file.write("key = 'ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" + "'\n")


RANDOM_EDITS: list[Callable[[Path], object]] = [
    lambda path: path.write_text(swapped(path.read_text())),
    lambda path: keep_times(path, lambda each: each.write_text(swapped(each.read_text()))),
    lambda path: keep_times(path, secret),
    secret,
    replace,
    link,
    exchange,
    lambda path: path.touch(),
    lambda path: os.utime(path, ns=(1, 1)),
    lambda path: path.chmod(0o640 if path.stat().st_mode & 0o004 else 0o644),
    lambda path: path.rename(path.with_name(path.name + ".md")),
    lambda path: path.unlink(),
]  # fmt: skip


@pytest.mark.parametrize("edits", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_random_edits_agree_with_no_cache(tree: Path, monkeypatch: pytest.MonkeyPatch, edits: int) -> None:
    settle(monkeypatch)
    pristine = tree.parent / "pristine"
    shutil.copytree(tree, pristine)
    rng = random.Random(edits)
    same(tree)
    for number in range(edits):
        if number % 8 == 7:
            shutil.rmtree(tree)
            shutil.copytree(pristine, tree)
        files = sorted(path for path in (tree / "skills").rglob("*") if path.is_file())
        if not files:
            continue
        tick(tree)
        RANDOM_EDITS[number % len(RANDOM_EDITS)](rng.choice(files))
        same(tree)
