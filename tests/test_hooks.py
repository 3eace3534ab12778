"""The hooks as other repositories use them: the real pre-commit, real commits, this checkout as the source of hooks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from skill_health.init import texts

pytestmark = pytest.mark.real

GOOD = """---
name: {name}
description: Sorts {what} by size. Use when {what} must be put in order.
---

# {name}

Sort the {what}, then check the order.
"""
BOM = "\ufeff"


def skill(name: str, what: str = "lists") -> str:
    return GOOD.format(name=name, what=what)


def call(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=kept, capture_output=True, encoding="utf-8", timeout=600, check=False
    )


def must(*command: str | Path, cwd: Path) -> str:
    done = call(*command, cwd=cwd)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def hooks(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[texts.PackageSource]:
    """This checkout, as it is on disk, as a git repository of its own at one commit; pre-commit keeps its home beside.

    So all tests share the one environment that pre-commit builds for that commit.
    """
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
        yield texts.PackageSource(str(repo), must("git", "rev-parse", "HEAD", cwd=repo).strip())


@pytest.fixture
def repository(hooks: texts.PackageSource, tmp_path: Path) -> Path:
    """A repository with two good skills, a registry and the two hooks that `init` writes, committed and installed."""
    lines = texts.list_hook_lines(hooks, fixtures=True)
    put(tmp_path, ".pre-commit-config.yaml", texts.format_hooks(lines))
    put(tmp_path, "skills/sort-lists/SKILL.md", skill("sort-lists"))
    put(tmp_path, "skills/sort-trees/SKILL.md", skill("sort-trees", "trees"))
    put(tmp_path, "prompts.jsonl", prompt("p1", "Sort this list.", "sort-lists"))
    must("git", "init", "--quiet", cwd=tmp_path)
    must(sys.executable, "-m", "pre_commit", "install", cwd=tmp_path)
    done = commit(tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def use(root: Path, source: texts.PackageSource, hook: str) -> None:
    """Let the repository use one other hook instead, committed without running any."""
    text = f"repos:\n- repo: {source.repo}\n  rev: {source.rev}\n  hooks:\n  - id: {hook}\n"
    put(root, ".pre-commit-config.yaml", text)
    must("git", "add", "--all", cwd=root)
    must("git", "commit", "--quiet", "--no-verify", "--message", "Another hook", cwd=root)


def prompt(key: str, text: str, expected: str) -> str:
    return json.dumps({"prompt_id": key, "prompt": text, "expected_primary_skill": expected}) + "\n"


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8", newline="")


def commit(root: Path) -> subprocess.CompletedProcess[str]:
    """Stage everything and commit it, as a user would; the hooks run. All that they print is on stderr."""
    must("git", "add", "--all", cwd=root)
    return call("git", "commit", "--message", "A change", cwd=root)


def test_a_bad_skill_is_refused_and_the_fixed_one_passes(repository: Path) -> None:
    bad = skill("sort-maps", "maps").replace("description: Sorts", "description: Sorting: sorts")
    put(repository, "skills/sort-maps/SKILL.md", bad)
    refused = commit(repository)
    assert refused.returncode == 1
    assert "skills/sort-maps/SKILL.md:3:" in refused.stderr and "error FM003" in refused.stderr
    assert "help: " in refused.stderr and "1 skill checked: 1 error" in refused.stderr
    assert "Traceback" not in refused.stderr
    put(repository, "skills/sort-maps/SKILL.md", skill("sort-maps", "maps"))
    assert commit(repository).returncode == 0


def test_collection_wide_rules_see_unchanged_siblings(repository: Path) -> None:
    put(repository, "skills/sort-maps/SKILL.md", skill("sort-lists", "maps"))
    put(repository, "skill-health.toml", 'fail-on = "warning"\n')
    refused = commit(repository)
    assert refused.returncode == 1
    assert "warning RT001" in refused.stderr and "sort-lists/SKILL.md" in refused.stderr


def test_a_change_beside_the_skill_file_counts(repository: Path) -> None:
    put(repository, "skills/sort-lists/SKILL.md", skill("sort-lists") + "\nSee [the table](references/table.md).\n")
    put(repository, "skills/sort-lists/references/table.md", "# Table\n\nSizes.\n")
    assert commit(repository).returncode == 0
    put(repository, "skills/sort-lists/references/table.md", "# Table\n\nSend it to AKIAQ3EGPKH7DWLZ2XCB.\n")
    refused = commit(repository)
    assert refused.returncode == 1
    assert "skills/sort-lists/references/table.md:3:" in refused.stderr


def test_the_fix_hook_fixes_and_stops_the_commit(repository: Path, hooks: texts.PackageSource) -> None:
    use(repository, hooks, "skill-health-fix")
    path = repository / "skills/sort-lists/SKILL.md"
    put(repository, "skills/sort-lists/SKILL.md", BOM + skill("sort-lists"))
    stopped = commit(repository)
    assert stopped.returncode == 1
    assert "files were modified by this hook" in stopped.stderr and "fixed skills/sort-lists/SKILL.md" in stopped.stderr
    assert path.read_text("utf-8") == skill("sort-lists")
    put(
        repository,
        "skills/sort-trees/SKILL.md",
        skill("sort-trees", "trees").replace("description: S", "description: A: s"),
    )
    stopped = commit(repository)
    assert (
        stopped.returncode == 1 and 'description: "A: sorts' in (repository / "skills/sort-trees/SKILL.md").read_text()
    )
    assert commit(repository).returncode == 0


def test_the_fix_hook_renames(repository: Path, hooks: texts.PackageSource) -> None:
    use(repository, hooks, "skill-health-fix")
    put(repository, "skills/sort-maps/skill.md", skill("sort-maps", "maps"))
    stopped = commit(repository)
    assert stopped.returncode == 1 and "internal error" not in stopped.stderr, stopped.stderr
    assert os.listdir(repository / "skills/sort-maps") == ["SKILL.md"], stopped.stderr
    assert commit(repository).returncode == 0


def test_the_fixtures_hook_refuses_a_bad_record(repository: Path) -> None:
    good = (repository / "prompts.jsonl").read_text("utf-8")
    put(repository, "prompts.jsonl", good + '{"prompt_id": "p2", "prompt": "Sort.", "expected_primary_skil": null}\n')
    refused = commit(repository)
    assert refused.returncode == 1
    assert "prompts.jsonl:2:" in refused.stderr and "error FX001" in refused.stderr
    assert "2 router prompts checked" in refused.stderr
    put(repository, "prompts.jsonl", good + prompt("p2", "Sort these rows.", "sort-rows"))
    refused = commit(repository)
    assert refused.returncode == 1 and "error FX003" in refused.stderr
    put(repository, "prompts.jsonl", good + prompt("p2", "Sort these leaves.", "sort-trees"))
    assert commit(repository).returncode == 0


def test_a_renamed_skill_breaks_the_labels_that_name_it(repository: Path) -> None:
    (repository / "skills/sort-lists").rename(repository / "skills/sort-queues")
    put(repository, "skills/sort-queues/SKILL.md", skill("sort-queues", "queues"))
    refused = commit(repository)
    assert refused.returncode == 1 and "prompts.jsonl:1:" in refused.stderr and "FX003" in refused.stderr


def test_unrelated_files_do_not_trigger(repository: Path) -> None:
    for path in ("README.md", "src/app.py", "docs/skill.markdown"):
        put(repository, path, "text\n")
    done = commit(repository)
    assert done.returncode == 0 and done.stderr.count("(no files to check)") == 2, done.stderr
    put(repository, "scripts/build.py", "print()\n")
    put(repository, "data/rows.jsonl", "{}\n")
    done = commit(repository)
    assert done.returncode == 0 and done.stderr.count("Passed") == 2, done.stderr


def test_what_the_configuration_excludes_is_left_alone(repository: Path) -> None:
    put(repository, "skill-health.toml", 'exclude = ["vendor/"]\n')
    put(repository, "vendor/skills/x/SKILL.md", "no frontmatter\n")
    done = commit(repository)
    assert done.returncode == 0, done.stderr
    put(repository, "skill-health.toml", 'exclud = ["vendor/"]\n')
    refused = commit(repository)
    assert refused.returncode == 1 and "skill-health.toml:1" in refused.stderr and '"exclude"' in refused.stderr


def test_a_file_name_cannot_pose_as_an_option(repository: Path) -> None:
    put(repository, "--output=owned/SKILL.md", skill("owned", "things"))
    put(repository, "--report=skills/a/SKILL.md", skill("a", "things"))
    assert commit(repository).returncode == 0
    assert sorted(path.name for path in repository.iterdir() if not path.name.startswith(".")) == [
        "--output=owned", "--report=skills", "prompts.jsonl", "skills",
    ]  # fmt: skip
    assert not (repository / "owned").exists()


def test_all_files_at_once(repository: Path) -> None:
    done = call(sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose", cwd=repository)
    assert done.returncode == 0 and "2 skills checked: 0 errors" in done.stdout, done.stdout
    assert "1 router prompt checked" in done.stdout


README = re.compile(r"```yaml\n(repos:\n.*?)```", re.DOTALL)


@pytest.fixture
def newcomer(hooks: texts.PackageSource, checkout: Path, tmp_path: Path) -> Path:
    """A repository with the three hooks of README.md and nothing else of ours."""
    match = README.search((checkout / "README.md").read_text("utf-8"))
    assert match
    text = re.sub("<the address.*>", hooks.repo, match[1]).replace("<a tag or commit of it>", hooks.rev)
    put(tmp_path, ".pre-commit-config.yaml", text)
    must("git", "init", "--quiet", cwd=tmp_path)
    must(sys.executable, "-m", "pre_commit", "install", cwd=tmp_path)
    return tmp_path


LAYOUTS = {
    "a folder of skills": ("skills/sort-lists/SKILL.md", "skills/sort-trees/SKILL.md"),
    "a plugin": ("plugins/sorting/skills/sort-lists/SKILL.md", "plugins/sorting/skills/sort-trees/SKILL.md"),
    "an agent's folder": (".claude/skills/sort-lists/SKILL.md",),
    "a skill in the root": ("SKILL.md",),
    "no skill": (),
}


@pytest.mark.parametrize("paths", LAYOUTS.values(), ids=LAYOUTS)
def test_a_newcomer_commits_without_prompts_and_settings(newcomer: Path, paths: tuple[str, ...]) -> None:
    put(newcomer, "README.md", "# Read me\n")
    put(newcomer, "plugins/sorting/.claude-plugin/plugin.json", '{"name": "sorting"}\n')
    for path in paths:
        name = path.split("/")[-2] if "/" in path else "sort-lists"
        put(newcomer, path, skill(name))
    for change in ("", "Use it when rows are out of order, too.", "more"):
        for path in paths:
            text = (newcomer / path).read_text("utf-8")
            put(newcomer, path, text.replace("\n---", f" {change}\n---", 1) if change else text)
        put(newcomer, "README.md", f"# Read me {change}\n")
        done = commit(newcomer)
        assert done.returncode == 0, done.stderr
        assert "rror" not in done.stderr
    for path in paths:
        (newcomer / path).unlink()
    assert commit(newcomer).returncode == (0 if paths else 1), "there is nothing to commit"


def test_a_newcomers_prompts_are_kept_found(newcomer: Path) -> None:
    put(newcomer, "skills/sort-lists/SKILL.md", skill("sort-lists"))
    put(newcomer, "skills/sort-trees/SKILL.md", skill("sort-trees", "hedges and trees"))
    put(newcomer, "prompts.jsonl", prompt("p1", "Trim the hedges", "sort-trees"))
    assert commit(newcomer).returncode == 0
    put(newcomer, "skills/sort-trees/SKILL.md", skill("sort-trees", "bushes"))
    refused = commit(newcomer)
    assert refused.returncode == 1 and "sort-trees no longer says: hedges" in refused.stderr, refused.stderr
    must("git", "checkout", "--quiet", "HEAD", "--", "skills", cwd=newcomer)
    (newcomer / "skills/sort-trees").rename(newcomer / "skills/sort-bushes")
    put(newcomer, "skills/sort-bushes/SKILL.md", skill("sort-bushes", "hedges"))
    refused = commit(newcomer)
    assert refused.returncode == 1 and "expected sort-trees; now sort-bushes comes first" in refused.stderr
    put(newcomer, "prompts.jsonl", prompt("p1", "Trim the hedges", "sort-bushes"))
    assert commit(newcomer).returncode == 0


def test_a_deleted_skill_is_missed_though_pre_commit_passes_no_file(newcomer: Path) -> None:
    put(newcomer, "skills/sort-lists/SKILL.md", skill("sort-lists"))
    put(newcomer, "skills/sort-trees/SKILL.md", skill("sort-trees", "trees"))
    put(newcomer, "prompts.jsonl", prompt("p1", "My trees must be put in order", "sort-trees"))
    assert commit(newcomer).returncode == 0
    (newcomer / "skills/sort-trees/SKILL.md").unlink()
    refused = commit(newcomer)
    assert refused.returncode == 1 and "expected sort-trees; now" in refused.stderr, refused.stderr
    put(newcomer, "prompts.jsonl", prompt("p1", "My lists must be put in order", "sort-lists"))
    assert commit(newcomer).returncode == 0
    put(newcomer, "skills/draft/SKILL.md", skill("draft", "lists: my lists must be put in order"))
    must("git", "commit", "--quiet", "--allow-empty", "--message", "Without the draft", cwd=newcomer)


def test_a_broken_file_of_prompts_is_one_clear_line(newcomer: Path) -> None:
    put(newcomer, "skills/sort-lists/SKILL.md", skill("sort-lists"))
    put(newcomer, "prompts.jsonl", '{"prompt_id": "p1", broken\n')
    must("git", "add", "--all", cwd=newcomer)
    must("git", "commit", "--quiet", "--no-verify", "--message", "Unchecked", cwd=newcomer)
    put(newcomer, "skills/sort-lists/SKILL.md", skill("sort-lists", "rows"))
    must("git", "add", "--all", cwd=newcomer)
    refused = call(sys.executable, "-m", "pre_commit", "run", "skill-health-router", cwd=newcomer)
    assert refused.returncode == 1 and "- exit code: 2" in refused.stdout
    said = [line for line in refused.stdout.splitlines() if line and not line.startswith("- ")]
    assert len(said) == 2 and said[1].startswith("skill-health: error: prompts.jsonl:1: not JSON"), refused.stdout
    assert commit(newcomer).returncode == 1


def test_our_own_hooks_and_configuration_are_valid(checkout: Path) -> None:
    must(sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml", cwd=checkout)
    must(sys.executable, "-m", "pre_commit", "validate-config", ".pre-commit-config.yaml", cwd=checkout)
