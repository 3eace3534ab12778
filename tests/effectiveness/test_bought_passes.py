"""Passes that an agent could buy: what lies beside the work steers no verifier, and the check names weak ones."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from effects_made import replace
from hypothesis import given
from hypothesis import strategies as st
from test_check import TASK, check, kinds  # noqa: F401 - a fixture
from trial_bench import agent, archived, cell, run, task, tried, verifier

from skill_health.effectiveness.check.check import TaskCheck
from skill_health.effectiveness.trial import verify as verify_module
from skill_health.effectiveness.workspace import scripts
from skill_health.effectiveness.workspace.sanitise import clean_git_config, leads_to, sanitise
from skill_health.effectiveness.workspace.tree import TreeEntry, read_tree

pytestmark = pytest.mark.usefixtures("folder")

BOTH = pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
# What is noted.
OF_GIT, LEADING_OUT = "repositories of git", "links that lead out"
EXPECTED = 'printf "forty-two\\n" > "$TMPDIR/expected"\n'
READS_BOTH = (
    EXPECTED + 'python3 -c "\nimport os, sys\n'
    "one, two = open(os.environ['TMPDIR'] + '/expected'), open('answer.txt')\nsys.exit(one.read() != two.read())\n\"\n"
)
STATUS = 'echo secret-answer > "$TMPDIR/expected"\ngit status --short > "$TMPDIR/out" 2>&1\ncmp -s "$TMPDIR/expected" answer.txt\n'
REPOSITORY = "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm x"
STEAL = "printf '#!/bin/sh\\ncat \"$TMPDIR/expected\" > answer.txt\\n' > .git/run; chmod +x .git/run; "


# What the agent does, the verifier, and what the note says.
ATTACKS = {
    "link to an open file": (
        "ln -s /proc/self/fd/3 answer.txt", EXPECTED + 'cmp "$TMPDIR/expected" answer.txt', LEADING_OUT),
    "link to a file that Python has open": ("ln -s /proc/self/fd/3 answer.txt", READS_BOTH, LEADING_OUT),
    "link by another link": (
        "ln -s /proc/self .p; ln -s .p/fd/3 answer.txt", EXPECTED + 'cmp "$TMPDIR/expected" answer.txt', "2 links"),
    "link to what the verifier writes": (
        "ln -s expected answer.txt", 'printf x > expected; cmp expected answer.txt', LEADING_OUT),
    "module beside the work": (
        "printf 'import os\\nos._exit(0)\\n' | tee json.py csv.py pathlib.py > random.py",
        'python3 -c "import json, sys, csv, pathlib, random; sys.exit(not pathlib.Path(\'answer.txt\').exists())"', ""),
    "package beside the work": (
        "mkdir json; printf 'import os\\nos._exit(0)\\n' > json/__init__.py", 'python3 -c "import json, sys; sys.exit(1)"', ""),
    "module beside a script from stdin": (
        "printf 'import os\\nos._exit(0)\\n' > json.py", "python3 - <<'END'\nimport json, sys\nsys.exit(1)\nEND", ""),
    "module in place of one of a module": (
        "printf 'import os\\nos._exit(0)\\n' > json.py", "python3 -m json.tool no-such-file", ""),
    "sitecustomize": (
        "printf 'import os\\nos._exit(0)\\n' > sitecustomize.py", "PYTHONPATH=. python3 -c 'import sys; sys.exit(1)'", "sitecustomize.py"),
    "sitecustomize by a link": (
        "printf 'import os\\nos._exit(0)\\n' > more.py; ln -s more.py sitecustomize.py",
        "PYTHONPATH=. python3 -c 'import sys; sys.exit(1)'", "sitecustomize.py"),
    "sitecustomize as a package": (
        "mkdir sitecustomize; printf 'import os\\nos._exit(0)\\n' > sitecustomize/__init__.py",
        "PYTHONPATH=. python3 -c 'import sys; sys.exit(1)'", "sitecustomize"),
    "sitecustomize as a link to a package": (
        "mkdir more; printf 'import os\\nos._exit(0)\\n' > more/__init__.py; ln -s more usercustomize; ln -s more sitecustomize",
        "PYTHONPATH=. python3 -c 'import sys; sys.exit(1)'", "sitecustomize"),
    "sitecustomize compiled": (
        "printf 'import os\\nos._exit(0)\\n' > more.py; python3 -c 'import py_compile; py_compile.compile(\"more.py\", \"sitecustomize.pyc\")'",
        "PYTHONPATH=. python3 -c 'import sys; sys.exit(1)'", "sitecustomize.pyc"),
    "fsmonitor": (
        f"{REPOSITORY}; {STEAL} git config core.fsmonitor 'sh .git/run'; printf 1 > new", STATUS, OF_GIT),
    "filter": (
        f"{REPOSITORY}; {STEAL} git config filter.x.clean 'sh .git/run'; echo '* filter=x' > .gitattributes; printf '3\\n4\\n' > in.txt",
        STATUS, OF_GIT),
    "repository without a worktree": (
        f"{REPOSITORY}; {STEAL} git config core.bare false; git config core.worktree .; git config core.fsmonitor 'sh run';"
        "mv .git/* . ; rm -r .git; touch more", STATUS, OF_GIT),
    "included configuration": (
        f"{REPOSITORY}; {STEAL} git config include.path ../more; printf '[core]\\n\\tfsmonitor = sh .git/run\\n' > more", STATUS,
        OF_GIT),
    "hook": (
        f"{REPOSITORY}; {STEAL} cp .git/run .git/hooks/pre-commit",
        f"{STATUS.rpartition('cmp')[0]} git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; "
        'cmp -s "$TMPDIR/expected" answer.txt', OF_GIT),
    "score of the plan's runner": (
        "mkdir -p .runner; echo '{\"score\": 1}' > .runner/score.json", "exit 1", "the agent wrote .runner"),
}  # fmt: skip


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("name", ATTACKS)
def test_what_lies_beside_the_work_buys_no_pass(tmp_path: Path, name: str, sandbox: str) -> None:
    text, verify, noted = ATTACKS[name]
    if "git" in text and shutil.which("git") is None:
        pytest.skip("git is missing")
    result, place = tried(tmp_path, text, sandbox, verify)
    assert (result.outcome, result.error) == ("fail", ""), (place / "verifier/stderr").read_text()
    assert any(noted in note for note in result.notes) or not noted, result.notes
    # The evidence is what the agent left.
    assert ("answer.txt" in archived(place)) == ("answer.txt" in text and "run" not in text)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name", [name for name in ATTACKS if name not in ("score of the plan's runner", "sitecustomize")]
)
def test_the_attacks_are_real(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them buys its pass where nothing is done about it."""
    monkeypatch.setattr(verify_module, "sanitise", lambda *words: [])
    monkeypatch.setattr(scripts, "_guards", lambda *words: {})
    text, verify, _ = ATTACKS[name]
    assert tried(tmp_path, text, "none", verify)[0].outcome == "pass"


GATHERS = 'echo 0 > "$VERIFIER_DIR/reward.txt"\ncp *.json *.txt made/* "$VERIFIER_DIR/" 2>/dev/null || true\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "echo '{\"reward\": 1}' > reward.json",
        "echo 1 > reward.txt",
        "mkdir made; echo '{\"reward\": 1}' > made/reward.json",
        "echo '{\"reward\": 1}' > more; ln -s more reward.json",
    ],
)
def test_a_verifier_that_gathers_the_work_gathers_no_reward(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As verifiers of public tasks do, so as to keep what an agent made beside their own reports."""
    made = replace(task(tmp_path, verifier(GATHERS)), grading="reward")
    result, place = run(tmp_path, cell(made, agent(f"{text}; echo '{{}}' > work.json"), "none"))
    assert (result.outcome, result.reward) == ("fail", 0.0)
    assert any("reward." in note for note in result.notes), result.notes
    assert "work.json" in archived(place)
    monkeypatch.setattr(verify_module, "sanitise", lambda *words: [])
    assert run(tmp_path, cell(made, agent(text), "none"))[0].outcome == "pass", "the attack is real"


@pytest.mark.slow
def test_a_cache_speaks_for_no_file_that_was_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python believes a cache that says so itself, whatever the source is."""
    text = (
        "printf 'import os\\nos._exit(0)\\n' > more.py; python3 -c \"import py_compile, importlib.util as u\n"
        "py_compile.compile('more.py', u.cache_from_source('sitecustomize.py'),"
        ' invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)"'
    )
    verify = verifier("PYTHONPATH=. python3 -c 'import sys; sys.exit(1)'")
    made = task(tmp_path, verify, {"sitecustomize.py": "mine = 1\n"})
    result, _ = run(tmp_path, cell(made, agent(text), "none"))
    assert (result.outcome, result.notes) == ("fail", ())
    monkeypatch.setattr(verify_module, "sanitise", lambda *words: [])
    assert run(tmp_path, cell(made, agent(text), "none"))[0].outcome == "pass", "the attack is real"


@pytest.mark.slow
def test_honest_work_is_left_as_it_is(tmp_path: Path) -> None:
    """Links inside, repositories, packages of its own, and modules whose names nothing installed has."""
    text = (
        f"{REPOSITORY}; git branch feature; mkdir lib; echo 'VALUE = 7' > lib/helper.py; touch lib/__init__.py; ln -s lib/helper.py h.py;"
        "ln -s $PWD/lib absolute; printf 'from lib.helper import VALUE\\nprint(VALUE)\\n' > main.py;"
        "printf '[project]\\nname = \"x\"\\n' > pyproject.toml; mkdir -p .venv/lib/site-packages; touch .venv/lib/site-packages/conftest.py;"
        "git worktree add -q tree feature"
    )
    verify = (
        'set -e\ntest "$(python3 main.py)" = 7\ntest "$(python3 -c "import h; print(h.VALUE)")" = 7\ntest -L h.py\ntest -f absolute/helper.py\n'
        "git log --oneline feature >/dev/null\ngit -C tree status --short\ngrep -q name pyproject.toml\ntest -f .venv/lib/site-packages/conftest.py\n"
    )
    result, place = tried(tmp_path, text, "bubblewrap", verify)
    assert (result.outcome, result.notes) == ("pass", ()), (place / "verifier/stderr").read_text()


PYTEST = "[tool.pytest.ini_options]\naddopts = '-p planted'\n"


@pytest.mark.parametrize(("path", "text", "left"), [
    ("conftest.py", "x = 1\n", None),
    ("deep/er/conftest.py", "x = 1\n", None),
    ("pytest.ini", "[pytest]\n", None),
    ("pyproject.toml", f"[project]\nname = 'x'\n{PYTEST}[tool.ruff]\nline-length = 9\n", "[project]\nname = 'x'\n[tool.ruff]\nline-length = 9\n"),
    ("pyproject.toml", "tool.pytest.ini_options.addopts = 'x'\n", None),
    ("pyproject.toml", "[project]\nname = 'x'\n", "[project]\nname = 'x'\n"),
    ("pyproject.toml", "[broken\n", "[broken\n"),
    ("setup.cfg", "[metadata]\nname = x\n[tool:pytest]\naddopts = x\n  y\n", "[metadata]\nname = x\n"),
    ("tox.ini", "[pytest]\r\naddopts = x\r\n", ""),
    ("named.conftest.py", "x = 1\n", "x = 1\n"),
    ("node_modules/a/conftest.py", "x = 1\n", "x = 1\n"),
])  # fmt: skip
def test_files_that_pytest_and_python_obey(tmp_path: Path, path: str, text: str, left: str | None) -> None:
    made = task(tmp_path, verifier("true"))
    place = tmp_path / "w" / path
    place.parent.mkdir(parents=True)
    place.write_bytes(text.encode())
    notes = sanitise(str(tmp_path / "w"), read_tree(str(tmp_path / "w")), made, "/workspace")
    assert (place.read_text() if place.exists() else None) == left
    assert bool(notes) == (left != text) and all(path in note for note in notes)


def test_what_the_task_speaks_of_is_work_and_what_it_staged_is_put_back(tmp_path: Path) -> None:
    place = tmp_path / "w"
    place.mkdir()
    (place / "conftest.py").write_text("changed = 1\n")
    made = task(tmp_path, verifier("true"), {"conftest.py": "mine = 1\n"})
    spoken = replace(made, prompt="Repair conftest.py, please.")
    assert sanitise(str(place), read_tree(str(place)), spoken, "/workspace") == []
    assert (place / "conftest.py").read_text() == "changed = 1\n"
    assert len(sanitise(str(place), read_tree(str(place)), made, "/workspace")) == 1
    assert (place / "conftest.py").read_text() == "mine = 1\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")
@given(
    st.lists(
        st.sampled_from(
            ["[core]", "[Core]", '[remote "o"]', '[core "x"]', "[include]", "[core] fsmonitor = x", "[core]fsmonitor=x",
             "\tfsmonitor = x", "fsmonitor", "\tbare = false", "\tbare = false \\", "path = more", "; [core]", "url = a\\", "\tname = \"a", "[user]",
             "hookspath = x", "\\", "name = x # [core]", "]", "[", "\x0b[core]", "\turl = ext::sh"]
        ),
        max_size=8,
    )
)  # fmt: skip
def test_git_finds_nothing_to_run_in_a_cleaned_configuration(lines: list[str]) -> None:
    """By git's own reading of it."""
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
        file.write(clean_git_config("\n".join(lines)))
        file.flush()
        ran = subprocess.run(
            ["git", "config", "--file", file.name, "--no-includes", "--name-only", "--list"],
            capture_output=True,
            text=True,
            check=False,
        )
    known = ("core.bare", "user.name", "remote.o.url", "core.x.bare")
    assert set(ran.stdout.split()) <= set(known), ran.stdout


@given(st.data())
def test_no_path_that_is_kept_leads_out(data: st.DataObject) -> None:
    """Against the system's own walk: what is said to stay inside does."""
    names = ["a", "b", "d/c", "d/e"]
    target = st.sampled_from(
        [
            "a",
            "b",
            "d",
            "../a",
            "..",
            ".",
            "d/c",
            "./d/../a",
            "../..",
            "/",
            "/etc/passwd",
            "../d/e",
            "/w/a",
            "/w/../etc",
            "d/c/x",
        ]
    )
    links = data.draw(st.dictionaries(st.sampled_from(names), target, max_size=4))
    with tempfile.TemporaryDirectory() as base:
        root = Path(base).resolve() / "w"
        (root / "d").mkdir(parents=True)
        for name in names:
            if name in links:
                (root / name).symlink_to(
                    links[name].replace("/w", str(root), 1) if links[name].startswith("/w/a") else links[name]
                )
            else:
                (root / name).write_text("x")
        tree = read_tree(str(root))
        entries: dict[str, TreeEntry] = {entry.path: entry for entry in tree.entries}
        for name in links:
            try:
                real = (root / name).resolve(strict=True)
                stays = real == root or root in real.parents
            except (OSError, RuntimeError):
                stays = False
            if leads_to(name, entries, str(root)):
                assert stays, (name, links)


# --- The check says who can be bought --------------------------------------------------------------------------------

BOUGHT = {
    "empty-answer": ({"verify.sh": "test -e out.txt\n"}, "empty files"),
    "exit-zero": (
        {"verify.sh": 'python3 -c "from solution import f; import sys; sys.exit(f() != 3)"\n',
         "oracle/solve.sh": "printf 'def f():\\n    return 3\\n' > solution.py\n"}, "ends at once"),
    "program": ({"verify.sh": 'PATH=.:$PATH\ngrep -qx 3 out.txt\n'}, "programs called"),
    "module": ({"verify.sh": 'PYTHONPATH=. python3 -S -c "import json, sys; sys.exit(open(\'out.txt\').read() != \'3\\n\')"\n'}, "a module"),
    "git": ({"verify.sh": "cp -r .git copy 2>/dev/null; sh .git/run >/dev/null 2>&1; rm -rf copy; grep -qx 3 out.txt\n"}, "runs a program"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUGHT)
def test_a_verifier_that_can_be_bought_is_named(name: str, check: Callable[..., TaskCheck]) -> None:  # noqa: F811
    changes, word = BOUGHT[name]
    checked = check({**TASK, **changes}, sandbox="none")
    faults = [fault.message for fault in checked.faults if fault.kind == "verifier-bought"]
    assert any(line.startswith(f"the hack {name} works: ") and word in line for line in faults), checked.faults
    assert set(kinds(checked)) == {"verifier-bought"}
