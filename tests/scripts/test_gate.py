"""What the gate runs for a change."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import gate

Git = Callable[..., str]


def folders(files: tuple[str, ...]) -> set[str]:
    return {name.split("/")[1] for name in files}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "among", "never"),
    [
        ("skill_health/rules/structure/empty_body.py", {"rules"}, {"router", "effectiveness", "page"}),
        ("skill_health/page/sections/changes.py", {"page"}, {"effectiveness", "rules"}),
        ("skill_health/page/sections/changes.html.j2", {"page"}, {"effectiveness", "rules"}),
        ("skill_health/bench/providers/gemini.py", {"bench", "router"}, {"rules", "hosts"}),
        ("effectiveness/agents/codex.py", {"effectiveness"}, {"rules", "bench"}),
        ("router/curve/document.py", {"router"}, {"effectiveness", "rules"}),
        ("skill_health/core/files.py", {"core", "router", "effectiveness", "page", "rules", "drafts"}, set()),
        ("tests/router/nursery.py", {"router", "effectiveness"}, {"rules", "page"}),
        ("tests/page/test_serve.py", {"page"}, {"router"}),
        ("tests/rules/structure/ST001.yaml", {"rules"}, {"router", "effectiveness"}),
        ("scripts/precision.py", {"test_precision.py"}, {"router", "effectiveness"}),
        ("docs/hosts.md", {"test_docs.py"}, {"trials"}),
    ],
)
def test_a_change_reaches_the_tests_of_what_it_is_about(changed: str, among: set[str], never: set[str]) -> None:
    choice = gate.choose([changed])
    assert not choice.why_all
    found = folders(choice.files)
    assert among <= found and not never & found


@pytest.mark.slow
def test_the_dearest_files_of_an_agent_and_a_provider_are_those_that_name_them() -> None:
    files = gate.choose(["effectiveness/agents/codex.py"]).files
    assert "tests/effectiveness/test_codex.py" in files and "tests/effectiveness/test_agents_real_codex.py" in files
    assert "tests/effectiveness/test_images.py" not in files


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed", ["Makefile", "constraints.txt", "tests/conftest.py", "scripts/run_tests.py", "strange" + ".bin"]
)
def test_what_cannot_be_placed_reaches_everything(changed: str) -> None:
    choice = gate.choose(["skill_health/rules/structure/empty_body.py", changed])
    assert changed in choice.why_all
    every = {path.relative_to(gate.ROOT).as_posix() for path in gate.TESTS.rglob("test_*.py")}
    assert set(choice.files) == every


@pytest.mark.slow
def test_the_order_of_the_changed_files_does_not_matter() -> None:
    changed = ["router/curve/document.py", "docs/hosts.md", "effectiveness/agents/codex.py"]
    assert gate.choose(changed).files == gate.choose(changed[::-1]).files


@pytest.mark.slow
def test_nothing_changed_reaches_nothing_and_a_removed_module_the_tests_of_its_package() -> None:
    assert gate.choose([]).files == gate.choose([gate.HISTORY]).files == ()
    assert folders(gate.choose(["skill_health/fleet/was_removed.py"]).files) == {"fleet"}


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Git in a repository of its own, which the gate takes for the project, with two commits on main."""
    monkeypatch.setattr(gate, "ROOT", tmp_path)

    def call(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    call("init", "--quiet", "--initial-branch", "main")
    for number in (1, 2):
        (tmp_path / f"{number}.txt").write_text("")
        call("add", ".")
        call("commit", "--quiet", "--message", str(number))
    return call


def write_history(root: Path, *records: dict[str, object]) -> None:
    (root / "reports").mkdir()
    (root / gate.HISTORY).write_text("".join(f"{json.dumps(each)}\n" for each in records))


@pytest.mark.slow
def test_on_a_branch_the_base_is_where_it_left_main(git: Git, tmp_path: Path) -> None:
    main = git("rev-parse", "HEAD")
    git("checkout", "--quiet", "-b", "topic")
    git("commit", "--quiet", "--allow-empty", "--message", "3")
    assert gate.find_base() == main


@pytest.mark.slow
def test_on_main_the_base_is_the_last_commit_on_record_or_else_the_last(git: Git, tmp_path: Path) -> None:
    first, last = git("rev-parse", "HEAD^"), git("rev-parse", "HEAD")
    assert gate.find_base() == first
    git("commit", "--quiet", "--allow-empty", "--message", "3")
    assert gate.find_base() == last
    write_history(
        tmp_path,
        {"commit": first, "suite": "passed"},
        {"commit": last, "count": 200, "caught": 190},
        {"commit": "0" * 40, "suite": "passed"},
    )
    assert gate.find_base() == first


def test_without_an_earlier_commit_there_is_no_base(git: Git) -> None:
    git("checkout", "--quiet", "--orphan", "fresh")
    git("branch", "--quiet", "-D", "main")
    git("commit", "--quiet", "--message", "1")
    assert gate.find_base() == ""


@pytest.mark.slow
def test_what_is_not_committed_has_changed_too(git: Git, tmp_path: Path) -> None:
    (tmp_path / "1.txt").unlink()
    (tmp_path / "3 with a space.txt").write_text("")
    assert gate.changed_files("HEAD^") == ["1.txt", "2.txt", "3 with a space.txt"]


def test_a_record_names_the_commit_and_needs_a_clean_one(git: Git, tmp_path: Path) -> None:
    write_history(tmp_path)
    gate.record({"suite": "passed"})
    assert gate.passed_commits() == [git("rev-parse", "HEAD")]
    git("add", ".")
    git("commit", "--quiet", "--message", "history")
    gate.record({"suite": "passed"})
    gate.record({"count": 200, "caught": 190})
    (tmp_path / "1.txt").write_text("changed")
    with pytest.raises(SystemExit):
        gate.record({"suite": "passed"})
    assert len(gate.passed_commits()) == 2


def test_every_real_part_has_a_smoke_case() -> None:
    agents = {f"tests/effectiveness/test_agents_real_{name}.py" for name in ("claude", "codex", "more", "openhands")}
    sandboxes = {"tests/effectiveness/test_isolation.py", "tests/effectiveness/test_containers_real.py"}
    others = {"page/test_browser_serve.py", "test_golden.py", "test_hooks.py", "test_packaging.py"}
    assert set(gate.smoke_files()) >= agents | sandboxes | {f"tests/{name}" for name in others}
