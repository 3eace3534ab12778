"""What a commit makes worse, by `lint --staged` and `lint --new-since`; the same cases go through the real hook."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from thinned import EXHAUSTIVE, SLOW, thinned

from skill_health.cli import main
from skill_health.config.settings import config_with, load_config
from skill_health.discovery.corpus import discover
from skill_health.lint.gate.changes import read_since, read_staged
from skill_health.lint.gate.judge import Gate
from skill_health.lint.pipeline import run
from skill_health.rules._api import Finding

CASES = yaml.safe_load((Path(__file__).parent / "gate" / "cases.yaml").read_text("utf-8"))
SKILL = """---
name: {name}
description: Sorts {name} lists by size. Use when {name} lists must be put in order.
---
# {name}

Sort the list, then check the order.
"""
DAY = date(2026, 11, 21)
Lines = pytest.CaptureFixture[str]


def text_of(source: str) -> str:
    """A text of a case, in which {NAME} stands for a skill of that name."""
    for name in ("alpha", "beta", "gamma"):
        source = source.replace(f"{{{name}}}", SKILL.format(name=name))
    return source


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, encoding="utf-8", check=True)
    return done.stdout


def put(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text_of(text), encoding="utf-8", newline="")


def commit(root: Path, *options: str) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--no-verify", "--message", "A change", *options)


def begin(root: Path, case: Mapping[str, Any]) -> None:
    """The repository of a case before anything happens."""
    git(root, "init", "--quiet")
    put(root, case["before"])
    for link, target in case.get("links", {}).items():
        (root / link).symlink_to(target)


def follow(root: Path, case: Mapping[str, Any], binaries: str) -> None:
    """What happens in a case."""
    environment = {**os.environ, "PATH": os.pathsep.join([binaries, os.environ["PATH"]])}
    subprocess.run(["bash", "-euc", case["steps"]], cwd=root, env=environment, check=True, capture_output=True)


def holds(case: Mapping[str, Any], said: str, failed: bool) -> None:
    """The output is as the case has it."""
    assert failed is case["fails"], said
    at = 0
    for part in case.get("says", ()):
        assert part in said[at:], said
        at = said.index(part, at)
    for part in case.get("never", ()):
        assert part not in said
    assert "internal error" not in said and "Traceback" not in said


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("GIT_INDEX_FILE", raising=False)
    place = tmp_path / "collection"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("case", thinned(CASES, 4), ids=lambda case: case["id"])
def test_a_case(case: dict[str, Any], root: Path, capfd: Lines, checkout: Path) -> None:
    begin(root, case)
    commit(root)
    follow(root, case, str(checkout / ".venv" / "bin"))
    code = main(["lint", "--staged"])
    out, err = capfd.readouterr()
    holds(case, out + err, code != 0)
    again = main(["lint", "--staged", "--no-cache"])
    assert (again, capfd.readouterr().out) == (code, out)


def judge(root: Path, since: str = "", **settings: Any) -> tuple[list[str], int]:
    """The findings that are new, each as path and message, and how many are older."""
    config = config_with(load_config(str(root)), **settings)
    changes = read_since(str(root), since) if since else read_staged(str(root))
    assert changes is not None
    result = Gate(str(root), config, DAY, jobs=1, use_cache=False).judge(changes)
    return [f"{finding.path}: {finding.message.partition(', ')[0]}" for finding, _ in result.new], result.older


def broken(name: str, target: str) -> str:
    return f"skills/{name}/SKILL.md: link to {target}"


def test_nothing_staged_is_the_whole_collection(root: Path, capfd: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a run over all files in CI does not pass for want of a commit; but one may change its message only."""
    begin(root, {"before": {"skills/alpha/SKILL.md": "{alpha}See [ref](gone.md).\n"}})
    commit(root)
    assert main(["lint", "--staged", "--fail-on", "warning"]) == 1
    assert "1 skill checked: 0 errors, 1 warning" in capfd.readouterr().out
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    assert main(["lint", "--staged", "--fail-on", "warning"]) == 0
    assert capfd.readouterr().out == ""


def test_the_first_commit(root: Path, capfd: Lines) -> None:
    begin(root, {"before": {"skills/alpha/SKILL.md": "{alpha}See [ref](gone.md).\n"}})
    git(root, "add", ".")
    assert main(["lint", "--staged"]) == 1
    assert "new since nothing: 1 error\n" in capfd.readouterr().out


@pytest.mark.slow
def test_a_merge_is_new_where_neither_side_had_it(root: Path) -> None:
    """One side deletes a file, the other links to it: nobody has seen them together."""
    begin(root, {"before": {"skills/alpha/SKILL.md": "{alpha}", "skills/alpha/table.md": "# Table\n", "x": "1\n"}})
    commit(root)
    git(root, "checkout", "-qb", "side")
    put(
        root,
        {"skills/alpha/SKILL.md": "{alpha}See [it](table.md).\n", "skills/beta/SKILL.md": "{beta}[b](theirs.md)\n"},
    )
    put(root, {"x": "2\n"})
    commit(root)
    git(root, "checkout", "-q", "-")
    put(root, {"skills/gamma/SKILL.md": "{gamma}[g](ours.md)\n", "x": "3\n"})
    (root / "skills/alpha/table.md").unlink()
    commit(root)
    subprocess.run(["git", "merge", "-q", "side"], cwd=root, check=False, capture_output=True)
    put(root, {"x": "4\n"})
    git(root, "add", ".")
    assert judge(root) == ([broken("alpha", "table.md")], 0)


@pytest.mark.slow
def test_a_detached_head_and_an_amended_commit(root: Path) -> None:
    begin(root, {"before": {"skills/alpha/SKILL.md": "{alpha}[a](one.md)\n"}})
    commit(root)
    git(root, "checkout", "-q", "--detach")
    put(root, {"skills/alpha/SKILL.md": "{alpha}[a](one.md) [b](two.md)\n"})
    git(root, "add", ".")
    assert judge(root) == ([broken("alpha", "two.md")], 1)
    commit(root, "--amend")
    put(root, {"skills/alpha/SKILL.md": "{alpha}[a](one.md) [b](two.md) [c](three.md)\n"})
    git(root, "add", ".")
    assert judge(root) == ([broken("alpha", "three.md")], 2)


@pytest.mark.slow
def test_since_a_branch_point(root: Path) -> None:
    """What the other branch has fixed in the meantime is not new here; untracked files count, ignored ones do not."""
    begin(root, {"before": {"skills/alpha/SKILL.md": "{alpha}[a](one.md)\n", ".gitignore": "ignored/\n"}})
    commit(root)
    git(root, "branch", "trunk")
    put(root, {"skills/beta/SKILL.md": "{beta}[b](two.md)\n"})
    commit(root)
    put(root, {"skills/gamma/SKILL.md": "{gamma}[c](three.md)\n", "ignored/skills/x/SKILL.md": "nothing\n"})
    git(root, "checkout", "-q", "trunk")
    put(root, {"skills/alpha/SKILL.md": "{alpha}\n"})
    git(root, "commit", "-qam", "Mended")
    git(root, "checkout", "-q", "-")
    assert judge(root, "trunk") == ([broken("beta", "two.md"), broken("gamma", "three.md")], 0)
    assert main(["lint", "--new-since", "trunk", "skills/beta"]) == 1
    assert main(["lint", "--new-since", "trunk", "skills/alpha"]) == 0


@pytest.mark.slow
def test_a_shallow_clone_lacks_the_revision(root: Path, tmp_path: Path, capfd: Lines, monkeypatch: Any) -> None:
    begin(root, {"before": {"skills/alpha/SKILL.md": "{alpha}"}})
    commit(root)
    first = git(root, "rev-parse", "HEAD").strip()
    put(root, {"x": "y"})
    commit(root)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{root}", "shallow")
    monkeypatch.chdir(tmp_path / "shallow")
    assert main(["lint", "--new-since", first]) == 2
    said = capfd.readouterr().err
    assert said.count("\n") == 1 and "is shallow" in said and "fetch-depth: 0" in said


@pytest.mark.slow
def test_a_submodule_is_checked_where_it_comes_from(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    begin(other, {"before": {"skills/beta/SKILL.md": "{beta}[b](two.md)\n", "guide.md": "# Guide\n"}})
    commit(other)
    begin(root, {"before": {"skills/alpha/SKILL.md": "{alpha}"}})
    commit(root)
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "vendor")
    git(root, *add)
    put(root, {"skills/alpha/SKILL.md": "{alpha}[g](../../vendor/guide.md) [n](../../vendor/none.md)\n"})
    git(root, "add", ".")
    new, _ = judge(root, ignore=("LI007",))
    assert [line for line in new if "vendor/guide" in line] == []
    assert len(new) == 1 and "vendor/none.md" in new[0]
    commit(root)
    put(root / "vendor", {"skills/beta/SKILL.md": "{beta}[b](two.md) [c](three.md)\n"})
    commit(root / "vendor")
    git(root, "add", ".")
    assert judge(root) == ([], 0)


@pytest.mark.slow
def test_many_changed_skills(root: Path) -> None:
    names = [f"part{n}" for n in range(300)]
    begin(root, {"before": {f"skills/{name}/SKILL.md": SKILL.format(name=name) + "[a](one.md)\n" for name in names}})
    commit(root)
    for name in names:
        put(root, {f"skills/{name}/SKILL.md": SKILL.format(name=name) + "[a](one.md)\nMore.\n"})
    put(root, {"skills/part7/SKILL.md": SKILL.format(name="part7") + "[a](one.md) [b](two.md)\n"})
    git(root, "add", ".")
    new, older = judge(root, select=("LI",))
    assert new == [broken("part7", "two.md")] and older == 300


@pytest.mark.slow
def test_no_traps_in_a_tree_are_followed(root: Path, tmp_path: Path) -> None:
    """A link that leads out, and one to a file that somebody put there meanwhile, show nothing of what they lead to."""
    (tmp_path / "secret.md").write_text("# Secret\nAKIAQ3EGPKH7DWLZ2XCB\n")
    begin(root, {"before": {"skills/alpha/SKILL.md": "{alpha}", "skills/beta/notes/a.md": "# A\n"}})
    commit(root)
    (root / "skills/alpha/link.md").symlink_to(tmp_path / "secret.md")
    put(root, {"skills/beta/SKILL.md": "{beta}[a](notes/secret.md)\n"})
    shutil.rmtree(root / "skills/beta/notes")
    (root / "skills/beta/notes").symlink_to(tmp_path)
    git(root, "add", ".")
    for since in ("", "HEAD"):
        new, _ = judge(root, since)
        assert not any("LE001" in line or "AKIA" in line for line in new), new


def full(root: Path) -> tuple[Finding, ...]:
    config = config_with(load_config(str(root)), select=SELECTED)
    return run(discover([str(root)], config, str(root)), config, DAY, jobs=1, use_cache=False).findings


SELECTED = ("LI001", "LI002", "LI003", "LI005", "LI011", "FM", "RT001", "LE001", "ST")
REFERENCES = ("LI001", "LI002", "LI003", "LI005", "LI011")
WORDS = ("alpha", "beta", "gamma", "delta")


def texts(rng: random.Random) -> Iterator[str]:
    """Lines for a SKILL.md, most of which refer to something that may be there."""
    for _ in range(rng.randrange(5)):
        name, file = rng.choice(WORDS), rng.choice(("a.md", "b.md", "notes/c.md"))
        yield rng.choice(
            (
                f"See [it]({file}).", f"See [it](../{name}/{file}).", f"See [it](../{name}/SKILL.md#order).",
                f"Look into `{file}` first.", f"Ask [{name}](../{name}/SKILL.md).", f"See [part]({file}#order).",
                f"Read [that](../../docs/{file}).", "## Order", "Send it to AKIAQ3EGPKH7DWLZ2XCB.", "TODO: write this.",
            )
        )  # fmt: skip
        yield ""


def edit(root: Path, rng: random.Random) -> None:
    """One random edit of a small collection: a text, a file that comes or goes, a skill that goes or is renamed."""
    name, file = rng.choice(WORDS), rng.choice(("a.md", "b.md", "notes/c.md"))
    folder = root / "skills" / name
    match rng.randrange(7):
        case 0 | 1 | 2:
            own = rng.choice((name, name, name, rng.choice(WORDS)))
            put(root, {f"skills/{name}/SKILL.md": SKILL.format(name=own) + "\n".join(texts(rng)) + "\n"})
        case 3:
            put(root, {rng.choice((f"skills/{name}/{file}", f"docs/{file}")): "# A\n\n" + "\n".join(texts(rng)) + "\n"})
        case 4:
            path = rng.choice((folder / file, root / "docs" / file))
            path.unlink(missing_ok=True)
        case 5:
            shutil.rmtree(folder, ignore_errors=True)
        case 6:
            put(root, {f"skills/{name}/{file}": "# Order\n"})


def said(finding: Finding) -> tuple[str, str, str]:
    return finding.code, finding.path, finding.message


@pytest.mark.parametrize("seed", thinned(range(120), 20, SLOW, EXHAUSTIVE))
def test_the_answer_is_that_of_two_whole_runs(seed: int, root: Path) -> None:
    """Over random edits: new is what a whole run says more often of the later checkout than of the earlier one.

    A reference that led nowhere and still does, if in another way, is not; what is said of several skills or
    targets at once varies with each of them, so that it must be new only where there was no such finding.
    """
    rng = random.Random(seed)
    begin(root, {"before": {"README.md": "# Read me\n"}})
    for _ in range(10):
        edit(root, rng)
    commit(root)
    for _ in range(4):
        before = full(root)
        for _ in range(rng.choice((1, 1, 2, 4))):
            edit(root, rng)
        git(root, "add", "--all")
        changed = git(root, "diff", "--cached", "--name-status", "--no-renames")
        if not changed or all(re.search(rf"^{kind}\t.*/SKILL.md$", changed, re.M) for kind in "AD"):
            # One skill instead of another may be the same one, moved.
            commit(root, "--allow-empty")
            continue
        after = full(root)
        dead = {(f.path, f.source, f.col) for f in before if f.code in REFERENCES}
        several = {(f.code, f.path) for f in before if f.code in ("RT001", "LI005")}
        may = Counter(map(said, after)) - Counter(map(said, before))
        spared = {said(f) for f in after if f.code in REFERENCES and (f.path, f.source, f.col) in dead}
        spared |= {said(f) for f in after if (f.code, f.path) in several}
        often = {(f.code, f.path, f.message.partition(" (")[0]) for f in before if f.message.endswith("this file)")}
        spared |= may.keys() & often
        must = Counter({each: n for each, n in may.items() if each not in spared})
        for since in ("", "HEAD"):
            config = config_with(load_config(str(root)), select=SELECTED)
            changes = read_since(str(root), since) if since else read_staged(str(root))
            assert changes is not None
            result = Gate(str(root), config, DAY, jobs=1, use_cache=bool(seed % 2)).judge(changes)
            found = Counter(said(finding) for finding, _ in result.new)
            assert (must - found, found - may) == (Counter(), Counter()), since
        commit(root)


@pytest.mark.slow
def test_the_gate_shows_what_is_severe_and_fails_for_all(tmp_path: Path, called: Any, monkeypatch: Any) -> None:
    git(tmp_path, "init", "--quiet")
    put(tmp_path, {"skills/alpha/SKILL.md": "{alpha}"})
    commit(tmp_path)
    put(tmp_path, {"skills/alpha/SKILL.md": "{alpha}\nA bell\x07.\n"})
    git(tmp_path, "add", "--all")
    monkeypatch.chdir(tmp_path)
    options = ("lint", "--staged", "--fail-on", "warning")
    code, out, _ = called(*options)
    assert (code, "FM008" in out, "lint --diff" in out) == (1, True, True)
    code, out, _ = called(*options, "--min-severity", "error")
    assert code == 1 and re.fullmatch(r"\D*\(1 less severe\D*\n", out)
    code, out, _ = called(*options, "--min-severity", "error", "--format", "concise")
    assert (code, out) == (1, "")
