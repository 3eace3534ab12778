"""The hooks as other repositories use them: the real pre-commit, real commits, this checkout as the source of hooks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skill_health.init import texts
from tests.test_gate import CASES, SKILL, begin, follow, holds

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


@pytest.mark.smoke
def test_a_bad_skill_is_refused_and_the_fixed_one_passes(repository: Path) -> None:
    bad = skill("sort-maps", "maps").replace("description: Sorts", "description: Sorting: sorts")
    put(repository, "skills/sort-maps/SKILL.md", bad)
    refused = commit(repository)
    assert refused.returncode == 1
    assert "skills/sort-maps/SKILL.md:3:" in refused.stderr and "error FM003" in refused.stderr
    assert "Put the value of 'description' in quotes." in refused.stderr
    assert "new since the last commit: 1 error" in refused.stderr
    assert "Traceback" not in refused.stderr
    put(repository, "skills/sort-maps/SKILL.md", skill("sort-maps", "maps"))
    assert commit(repository).returncode == 0


def test_collection_wide_rules_see_unchanged_siblings(repository: Path) -> None:
    put(repository, "skills/sort-maps/SKILL.md", skill("sort-lists", "maps"))
    refused = commit(repository)
    assert refused.returncode == 1
    assert "error RT001" in refused.stderr and "sort-lists/SKILL.md" in refused.stderr


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


def test_unrelated_files_say_nothing(repository: Path) -> None:
    for path in ("README.md", "src/app.py", "docs/skill.markdown", "scripts/build.py", "data/rows.jsonl"):
        put(repository, path, "text\n" if path.endswith("md") else "{}\n")
    done = commit(repository)
    assert done.returncode == 0 and done.stderr.count("Passed") == 2, done.stderr
    said = re.sub(r"(?m)^(skill-health.*|- hook id: .*|- duration: .*|\s*)\n", "", done.stderr)
    assert said == "", done.stderr


def test_what_the_configuration_excludes_is_left_alone(repository: Path) -> None:
    put(repository, "skill-health.toml", 'exclude = ["vendor/"]\n')
    put(repository, "vendor/skills/x/SKILL.md", "no frontmatter\n")
    done = commit(repository)
    assert done.returncode == 0, done.stderr
    put(repository, "skill-health.toml", 'exclud = ["vendor/"]\n')
    refused = commit(repository)
    assert refused.returncode == 1 and "skill-health.toml:1" in refused.stderr and '"exclude"' in refused.stderr


def test_a_file_name_cannot_pose_as_an_option(repository: Path) -> None:
    put(repository, "--output=owned/SKILL.md", skill("owned", "things") + "\nSee [it](gone.md).\n")
    put(repository, "--report=skills/a/SKILL.md", skill("a", "things"))
    refused = commit(repository)
    assert refused.returncode == 1 and "--output=owned/SKILL.md:10:5: error LI001" in refused.stderr, refused.stderr
    assert sorted(path.name for path in repository.iterdir() if not path.name.startswith(".")) == [
        "--output=owned", "--report=skills", "prompts.jsonl", "skills",
    ]  # fmt: skip
    assert not (repository / "owned").exists()


def test_all_files_at_once(repository: Path) -> None:
    done = call(sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose", cwd=repository)
    assert done.returncode == 0 and "2 skills checked: 0 errors" in done.stdout, done.stdout
    assert "1 router prompt checked" in done.stdout


@pytest.fixture
def gate(hooks: texts.PackageSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with nothing but the hook of the linter."""
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "collection"
    put(root, ".pre-commit-config.yaml", texts.format_hooks(texts.list_hook_lines(hooks, fixtures=False)))
    return root


def install(root: Path) -> None:
    must(sys.executable, "-m", "pre_commit", "install", "-t", "pre-commit", "-t", "pre-merge-commit", cwd=root)


def start(root: Path) -> None:
    """What is there is committed without being asked; from then on the hook runs."""
    must("git", "add", "--all", cwd=root)
    must("git", "commit", "--quiet", "--no-verify", "--message", "Before", cwd=root)
    install(root)


# tests/test_gate.py has them all without pre-commit.
REST = [pytest.param(case, marks=pytest.mark.exhaustive) for case in CASES[3:]]


@pytest.mark.parametrize("case", [*CASES[:3], *REST], ids=lambda case: case["id"])
def test_a_case_of_the_gate(case: dict[str, Any], gate: Path, checkout: Path) -> None:
    """What is staged is committed, as a user does who leaves other changes for later."""
    begin(gate, case)
    start(gate)
    follow(gate, case, str(checkout / ".venv" / "bin"))
    done = call("git", "commit", "--message", "A change", cwd=gate)
    holds(case, done.stderr, done.returncode != 0)


def test_a_merge_is_refused_for_what_neither_side_had(gate: Path) -> None:
    begin(gate, {"before": {"skills/alpha/SKILL.md": "{alpha}", "skills/alpha/table.md": "# Table\n"}})
    start(gate)
    must("git", "checkout", "-qb", "side", cwd=gate)
    put(gate, "skills/alpha/SKILL.md", SKILL.format(name="alpha") + "See [it](table.md).\n")
    put(gate, "skills/beta/SKILL.md", SKILL.format(name="beta") + "See [it](theirs.md).\n")
    must("git", "add", "--all", cwd=gate)
    must("git", "commit", "-qnm", "Theirs", cwd=gate)
    must("git", "checkout", "-q", "-", cwd=gate)
    (gate / "skills/alpha/table.md").unlink()
    must("git", "commit", "-qnam", "Ours", cwd=gate)
    refused = call("git", "merge", "side", "-m", "Both", cwd=gate)
    assert refused.returncode != 0, refused.stdout
    refused = call("git", "commit", "-m", "Both", cwd=gate)
    assert refused.returncode == 1 and "skills/alpha/SKILL.md:8:5: error LI001" in refused.stderr, refused.stderr
    assert "theirs.md" not in refused.stderr and "new since both sides of the merge: 1 error" in refused.stderr
    put(gate, "skills/alpha/table.md", "# Table\n")
    must("git", "add", "--all", cwd=gate)
    must("git", "commit", "-qm", "Both", cwd=gate)


def test_a_commit_of_named_files_an_amended_one_and_a_rebase(gate: Path) -> None:
    begin(gate, {"before": {"skills/alpha/SKILL.md": "{alpha}See [it](one.md).\n", "skills/beta/SKILL.md": "{beta}"}})
    start(gate)
    must("git", "commit", "-q", "--amend", "-m", "Another message", cwd=gate)
    put(gate, "skills/alpha/SKILL.md", SKILL.format(name="alpha") + "See [it](one.md).\nMore.\n")
    put(gate, "skills/beta/SKILL.md", SKILL.format(name="beta") + "See [it](two.md).\n")
    must("git", "commit", "-qm", "Only one", "skills/alpha/SKILL.md", cwd=gate)
    refused = call("git", "commit", "-am", "The other", cwd=gate)
    assert refused.returncode == 1 and "skills/beta/SKILL.md:8:5: error LI001" in refused.stderr, refused.stderr
    must("git", "checkout", "-q", "--", ".", cwd=gate)
    must("git", "checkout", "-q", "--detach", "HEAD~1", cwd=gate)
    put(gate, "skills/beta/SKILL.md", SKILL.format(name="beta") + "More.\n")
    must("git", "commit", "-qam", "Aside", cwd=gate)
    must("git", "rebase", "-q", "-", cwd=gate)
    refused = call("git", "commit", "--amend", "--allow-empty", "-m", "It", cwd=gate)
    assert refused.returncode == 0, refused.stderr


def test_the_first_commit_of_a_repository(gate: Path) -> None:
    begin(gate, {"before": {"skills/alpha/SKILL.md": "{alpha}See [it](one.md).\n"}})
    install(gate)
    refused = commit(gate)
    assert refused.returncode == 1 and "new since nothing: 1 error" in refused.stderr, refused.stderr
    put(gate, "skills/alpha/SKILL.md", SKILL.format(name="alpha"))
    assert commit(gate).returncode == 0


def test_a_submodule_is_added_and_moved_on(gate: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    begin_other = {"before": {"skills/beta/SKILL.md": "{beta}See [it](one.md).\n"}}
    other.mkdir()
    begin(other, begin_other)
    must("git", "add", "--all", cwd=other)
    must("git", "commit", "-qm", "Theirs", cwd=other)
    begin(gate, {"before": {"skills/alpha/SKILL.md": "{alpha}"}})
    start(gate)
    must("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "vendor", cwd=gate)
    done = commit(gate)
    assert done.returncode == 0 and "LI001" not in done.stderr, done.stderr
    put(gate / "vendor", "skills/beta/SKILL.md", SKILL.format(name="beta") + "See [it](two.md).\n")
    must("git", "commit", "-qam", "On", cwd=gate / "vendor")
    done = commit(gate)
    assert done.returncode == 0 and "LI001" not in done.stderr, done.stderr


@pytest.mark.exhaustive
def test_three_hundred_changed_skills(gate: Path) -> None:
    names = [f"part{n}" for n in range(300)]
    begin(gate, {"before": {f"skills/{n}/SKILL.md": SKILL.format(name=n) + "See [it](one.md).\n" for n in names}})
    start(gate)
    for name in names:
        put(gate, f"skills/{name}/SKILL.md", SKILL.format(name=name) + "See [it](one.md).\n\nMore.\n")
    put(gate, "skills/part7/SKILL.md", SKILL.format(name="part7") + "See [it](one.md), [that](two.md).\n")
    refused = commit(gate)
    found = [line for line in refused.stderr.splitlines() if line.startswith("skills/") and " error " in line]
    assert refused.returncode == 1 and len(found) == 1 and found[0].startswith("skills/part7/SKILL.md:8:"), found


def test_a_run_between_two_revisions(gate: Path) -> None:
    begin(gate, {"before": {"skills/alpha/SKILL.md": "{alpha}See [it](one.md).\n"}})
    start(gate)
    put(gate, "skills/beta/SKILL.md", SKILL.format(name="beta") + "See [it](two.md).\n")
    must("git", "add", "--all", cwd=gate)
    must("git", "commit", "-qnm", "Unchecked", cwd=gate)
    done = call(sys.executable, "-m", "pre_commit", "run", "--from-ref", "HEAD~1", "--to-ref", "HEAD", cwd=gate)
    assert done.returncode == 1 and "two.md" in done.stdout and "one.md" not in done.stdout, done.stdout


def test_a_hook_that_is_passed_files_still_works(gate: Path) -> None:
    """As .pre-commit-config.yaml files of users have it that were written for the hook before this one."""
    put(gate, ".pre-commit-config.yaml", OLD.format(path=Path(sys.executable).parent / "skill-health"))
    begin(gate, {"before": {"skills/alpha/SKILL.md": "{alpha}"}})
    start(gate)
    put(
        gate,
        "skills/alpha/SKILL.md",
        SKILL.format(name="alpha").replace("description: Sorts", "description: It: sorts"),
    )
    refused = commit(gate)
    assert refused.returncode == 1 and "error FM003" in refused.stderr and "1 skill checked" in refused.stderr


OLD = """repos:
- repo: local
  hooks:
  - id: skill-health
    name: skill-health
    language: system
    entry: {path} lint --force-exclude
    files: (?i)^(?!-)(.*/)?(SKILL\\.md|skill-health\\.toml|[^/]*\\.jsonl|(skills?|references?|scripts)/.*)$
    require_serial: true
"""


README = re.compile(r"```yaml\n(repos:\n.*?)```", re.DOTALL)


@pytest.fixture
def newcomer(hooks: texts.PackageSource, checkout: Path, tmp_path: Path) -> Path:
    """A repository with the three hooks of README.md and nothing else of ours."""
    match = README.search((checkout / "docs" / "guide.md").read_text("utf-8"))
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
    assert refused.returncode == 1 and re.search(r"sort-trees .*: hedges", refused.stderr), refused.stderr
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
