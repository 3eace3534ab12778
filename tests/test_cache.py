"""The cache is never wrong: every input that a finding depends on is edited once, and the answer changes."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from skill_health.config.settings import config_with, load_config
from skill_health.discovery.corpus import discover
from skill_health.lint import cache
from skill_health.lint.pipeline import LintResult, run

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
    known = os.listdir(cache.directory())
    monkeypatch.setattr(cache, "rules_stamp", lambda: "another set of rules")
    lint(tree)
    assert len(os.listdir(cache.directory())) == len(known) + 1


def test_an_unchanged_collection_is_not_parsed_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lint(tree)
    monkeypatch.setattr("skill_health.lint.check.check_entries", lambda *_: pytest.fail("checked again"))
    monkeypatch.setattr("skill_health.lint.check.check_corpus", lambda *_: pytest.fail("checked again"))
    assert lint(tree).findings


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b'{"format": 1}', b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_cache_is_no_cache(tree: Path, damage: bytes) -> None:
    lint(tree)
    folder = Path(cache.directory())
    for path in folder.iterdir():
        path.write_bytes(damage)
    same(tree)


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
    assert not [name for name in os.listdir(cache.directory()) if name.endswith(".tmp")]


def test_the_cache_is_bounded(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MAX_FILES", 3)
    for lines in range(10, 20):
        (tree / "skill-health.toml").write_text(f"[limits]\nbody-lines = {lines}\n")
        lint(tree)
    assert len(os.listdir(cache.directory())) == 3
