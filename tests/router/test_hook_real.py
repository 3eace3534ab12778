"""The hook `skill-health-router` under the real pre-commit, with real commits; the hook comes from this checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

SKILL = """---
name: {name}
description: {description}
---

# {name}

Do it, then check it.
"""
TIDY = "Sorts lists by size. Use when a queue is jammed."
PRUNE = "Prunes trees in spring. Use when a hedge is overgrown."


def call(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=kept, capture_output=True, encoding="utf-8", timeout=600, check=False
    )


def must(*command: str | Path, cwd: Path) -> str:
    done = call(*command, cwd=cwd)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8", newline="")


def skill(root: Path, name: str, description: str) -> None:
    put(root, f"skills/{name}/SKILL.md", SKILL.format(name=name, description=description))


def commit(root: Path) -> subprocess.CompletedProcess[str]:
    """Stage everything and commit it, as a user would; the hook runs. All that it prints is on stderr."""
    must("git", "add", "--all", cwd=root)
    return call("git", "commit", "--message", "A change", cwd=root)


@pytest.fixture(scope="module")
def source(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """This checkout, as it is on disk, as a git repository at one commit; pre-commit keeps its home beside it."""
    root = tmp_path_factory.mktemp("hooks")
    repo = root / "skill-health"
    names = must("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=checkout)
    for name in filter(None, names.split("\0")):
        if (checkout / name).is_file():
            (repo / name).parent.mkdir(parents=True, exist_ok=True)
            (repo / name).write_bytes((checkout / name).read_bytes())
    must("git", "init", "--quiet", cwd=repo)
    must("git", "add", "--all", cwd=repo)
    must("git", "commit", "--quiet", "--message", "As it is", cwd=repo)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRE_COMMIT_HOME", str(root / "home"))
        patch.setenv("PIP_CONSTRAINT", str(checkout / "constraints.txt"))
        yield repo, must("git", "rev-parse", "HEAD", cwd=repo).strip()


@pytest.fixture
def repository(source: tuple[Path, str], tmp_path: Path) -> Path:
    """Two skills and a prompt for each, committed with the hook installed; the first commit has nothing before it."""
    hooks = f"repos:\n- repo: {source[0]}\n  rev: {source[1]}\n  hooks:\n  - id: skill-health-router\n"
    put(tmp_path, ".pre-commit-config.yaml", hooks)
    skill(tmp_path, "tidy-lists", TIDY)
    skill(tmp_path, "prune-trees", PRUNE)
    prompts = [("p1", "My queue is jammed again", "tidy-lists"), ("p2", "The hedge is overgrown", "prune-trees")]
    records = [{"prompt_id": key, "prompt": text, "expected_primary_skill": name} for key, text, name in prompts]
    put(tmp_path, "prompts.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    must("git", "init", "--quiet", cwd=tmp_path)
    must(sys.executable, "-m", "pre_commit", "install", cwd=tmp_path)
    done = commit(tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_a_description_that_loses_a_prompt_is_refused_and_a_better_one_passes(repository: Path) -> None:
    skill(repository, "tidy-lists", "Puts things in order. Use when they are not.")
    refused = commit(repository)
    assert refused.returncode == 1
    assert (
        "1 of 2 prompts right before" not in refused.stderr and "2 of 2 prompts right before, 1 now" in refused.stderr
    )
    assert 'p1 "My queue is jammed again"' in refused.stderr
    assert "tidy-lists no longer says: queue, jammed" in refused.stderr and "Traceback" not in refused.stderr
    skill(repository, "tidy-lists", "Puts things in order. Use when a queue is jammed.")
    passed = commit(repository)
    assert passed.returncode == 0, passed.stderr


def test_a_thief_is_refused_and_what_changes_no_description_passes(repository: Path) -> None:
    put(repository, "skills/tidy-lists/SKILL.md", SKILL.format(name="tidy-lists", description=TIDY) + "\nMore.\n")
    assert commit(repository).returncode == 0
    skill(repository, "catch-all", "My queue is jammed again. Use when the queue is jammed again.")
    refused = commit(repository)
    assert refused.returncode == 1
    assert "expected tidy-lists; now catch-all comes first" in refused.stderr


def test_only_what_is_staged_counts(repository: Path) -> None:
    skill(repository, "prune-trees", PRUNE.replace("Prunes", "Cuts"))
    must("git", "add", "--all", cwd=repository)
    skill(repository, "tidy-lists", "Puts things in order. Use when they are not.")
    done = call("git", "commit", "--message", "The good half", cwd=repository)
    assert done.returncode == 0, done.stderr
    assert commit(repository).returncode == 1


def test_a_branch_is_checked_from_where_it_began(repository: Path) -> None:
    must("git", "branch", "start", cwd=repository)
    skill(repository, "tidy-lists", "Puts things in order. Use when they are not.")
    must("git", "add", "--all", cwd=repository)
    must("git", "commit", "--no-verify", "--quiet", "--message", "Unchecked", cwd=repository)
    done = call(sys.executable, "-m", "pre_commit", "run", "--from-ref", "start", "--to-ref", "HEAD", cwd=repository)
    assert done.returncode == 1 and "tidy-lists no longer says: queue, jammed" in done.stdout


def test_the_environment_of_the_hook_is_the_base_installation(repository: Path) -> None:
    home = Path(os.environ["PRE_COMMIT_HOME"])
    (program,) = home.glob("repo*/py_env-*/bin/skill-health")
    skill(repository, "tidy-lists", "Puts things in order. Use when they are not.")
    command = (program, "router", "hook", "skills/tidy-lists/SKILL.md")
    assert call(*command, cwd=repository).returncode == 1
    assert call(program.parent / "python", "-c", "import numpy", cwd=repository).returncode == 1
