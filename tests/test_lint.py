"""The lint command as its users run it: what it prints, what it writes, how it exits."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from fixture_types import Run, Write

from skill_health import formats
from skill_health.commands import lint as lint_command
from skill_health.commands._lint import LintOptions, flags_only, name_flag

GOOD = """---
name: good
description: Sorts lists by size. Use when a list must be sorted.
---

# Good

Sort the list, then check the order.
"""
TRAP = GOOD.replace("name: good", "name: trap").replace("lists by", "lists: by")
COLLECTION = {"skills/good/SKILL.md": GOOD, "skills/trap/SKILL.md": TRAP}


def commit_all(folder: Path) -> None:
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


SWITCHES = [name for name, default in vars(LintOptions).items() if default is False]


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_means_the_same_with_the_framework_and_without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Sequence[str], LintOptions]] = []
    monkeypatch.setattr(lint_command, "run_lint", lambda *args: given.append(args))
    arguments = ["here", name_flag(name)]
    lint_command.command.main([*arguments, "--as-of", "2026-11-22"], standalone_mode=False)
    short = flags_only(arguments)
    assert short is not None
    declared = LintOptions.__annotations__
    one, other = ({key: getattr(options, key) for key in declared} for _, options in (*given, short))
    assert [given[0][0], one] == [short[0], other | {"as_of": date(2026, 11, 22)}]
    assert other[name] is True and flags_only([*arguments, "--output"]) is None


def test_paths_are_those_that_the_user_can_open(run: Run, write: Write, tmp_path: Path) -> None:
    write({f"deep/{path}": text for path, text in COLLECTION.items()} | {"deep/skill-health.toml": ""})
    line = run("lint", "deep/skills/trap").stdout.splitlines()[0]
    assert (tmp_path / line.split(":")[0]).is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--select", "FM0003"], " FM003"), (["--write-baseline", ""], "needs a reason"),
        (["--profile", "nope.toml"], "nope.toml"), (["--output", "skills"], "cannot write"),
    ],
)  # fmt: skip
def test_the_users_mistakes_exit_2_with_one_line(run: Run, write: Write, arguments: list[str], message: str) -> None:
    write(COLLECTION)
    done = run("lint", *arguments)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr


def test_select_ignore_and_severity(run: Run, write: Write) -> None:
    write(COLLECTION)
    assert run("lint", "--ignore", "FM003").returncode == 0
    assert run("lint", "--select", "structure").returncode == 0
    write({"skill-health.toml": '[severity]\nFM003 = "info"\n'})
    assert run("lint").returncode == 0
    write({"skill-health.toml": 'per-path = [{ glob = "skills/trap/*", ignore = ["FM"] }]\n'})
    done = run("lint")
    assert done.returncode == 0 and re.fullmatch(r"2 skills \D*\n", done.stdout)
    write({"skill-health.toml": 'selct = ["FM"]\n'})
    done = run("lint")
    assert done.returncode == 2 and "select" in done.stderr


def test_inline_comments_silence_and_must_be_used(run: Run, write: Write) -> None:
    comment = "<!-- skill-health: ignore LI001 kept for the reader -->"
    text = f"{GOOD}\n{comment}\n\nSee [this](gone.md).\n\nAnd [that](lost.md).\n"
    write({"skills/good/SKILL.md": text})
    done = run("lint", "--format", "json")
    report = json.loads(done.stdout)
    assert [(f["code"], f["line"]) for f in report["findings"]] == [("LI001", 14)]
    assert report["summary"]["ignored"] == 1
    write({"skills/good/SKILL.md": text.replace("ignore LI001 kept", "ignore-file LI001 kept")})
    assert json.loads(run("lint", "--format", "json").stdout)["summary"]["ignored"] == 2
    write({"skills/good/SKILL.md": GOOD + "\n<!-- skill-health: ignore LI001 -->\n\nNothing.\n"})
    done = run("lint")
    assert done.returncode == 0 and "IG001" in done.stdout


def test_the_baseline_hides_what_is_known_and_only_shrinks(run: Run, write: Write, tmp_path: Path) -> None:
    write(COLLECTION)
    done = run("lint", "--write-baseline", "inherited")
    assert done.returncode == 0 and "wrote skill-health-baseline.json: 1 finding" in done.stdout
    assert run("lint").returncode == 0, "a baseline under the default name counts without being named"
    path = tmp_path / "skill-health-baseline.json"
    entries = json.loads(path.read_text())["findings"]
    assert [(e["code"], e["reason"]) for e in entries] == [("FM003", "inherited")]
    write({"skill-health.toml": 'baseline = "skill-health-baseline.json"\n'})
    done = run("lint")
    assert done.returncode == 0 and "(1 in " in done.stdout
    write({"skills/trap/SKILL.md": "\n" * 0 + TRAP.replace("# Good", "# Moved\n\n# Good")})
    assert run("lint").returncode == 0, "a finding that moved is still known"
    write({"skills/new/SKILL.md": TRAP.replace("name: trap", "name: new")})
    assert run("lint").returncode == 1
    done = run("lint", "--write-baseline", "again")
    assert done.returncode == 1 and "--grow-baseline" in done.stdout, "it does not grow unasked, and says so"
    assert run("lint", "--write-baseline", "again", "--grow-baseline").returncode == 0
    shutil.rmtree(tmp_path / "skills" / "trap")
    assert run("lint", "--write-baseline", "again").returncode == 0
    assert [e["path"] for e in json.loads(path.read_text())["findings"]] == ["skills/new/SKILL.md"]


def test_fix_and_diff(run: Run, write: Write, tmp_path: Path) -> None:
    write(COLLECTION)
    before = (tmp_path / "skills/trap/SKILL.md").read_bytes()
    done = run("lint", "--diff")
    assert done.returncode == 1 and "+description:" in done.stdout
    assert (tmp_path / "skills/trap/SKILL.md").read_bytes() == before
    done = run("lint", "--fix")
    assert done.returncode == 0, done.stdout
    after = (tmp_path / "skills/trap/SKILL.md").read_bytes()
    assert after != before and after.split(b"\n")[3:] == before.split(b"\n")[3:]
    assert run("lint", "--diff").returncode == 0
    run("lint", "--fix")
    assert (tmp_path / "skills/trap/SKILL.md").read_bytes() == after


def test_fix_keeps_windows_line_endings_and_other_bytes(run: Run, write: Write, tmp_path: Path) -> None:
    path = write(COLLECTION) / "skills/trap/SKILL.md"
    data = TRAP.replace("\n", "\r\n").encode() + "naïve tab\t\r\nno end".encode()
    path.write_bytes(data)
    assert run("lint", "--fix").returncode == 0
    after = path.read_bytes()
    assert after.count(b"\r\n") == data.count(b"\r\n") and after.count(b"\n") == data.count(b"\n")
    assert after.split(b"\r\n")[3:] == data.split(b"\r\n")[3:]


def test_unsafe_fixes_are_offered_not_forced(run: Run, write: Write, tmp_path: Path) -> None:
    write({"skills/good/SKILL.md": GOOD.replace("name: good", "name: other")})
    assert run("lint", "--fix", "--fail-on", "warning").returncode == 1
    assert "name: other" in (tmp_path / "skills/good/SKILL.md").read_text()
    assert run("lint", "--fix", "--unsafe-fixes", "--fail-on", "warning").returncode == 0
    assert "name: good" in (tmp_path / "skills/good/SKILL.md").read_text()


def test_a_file_name_is_fixed(run: Run, write: Write, tmp_path: Path) -> None:
    write({"skills/good/skill.md": GOOD})
    assert "FM" in run("lint", "--fail-on", "info").stdout
    run("lint", "--fix")
    assert os.listdir(tmp_path / "skills/good") == ["SKILL.md"]


@pytest.mark.slow
def test_changed_looks_at_what_differs_but_sees_the_whole_collection(run: Run, write: Write, tmp_path: Path) -> None:
    twin = GOOD.replace("name: good", "name: twin")
    write({"skills/good/SKILL.md": GOOD, "skills/twin/SKILL.md": twin, "skills/trap/SKILL.md": TRAP})
    commit_all(tmp_path)
    done = run("lint", "--changed")
    assert done.returncode == 0 and "no skill has changed" in done.stderr
    write({"skills/twin/SKILL.md": twin.replace("name: twin", "name: good")})
    done = run("lint", "--changed", "HEAD", "--format", "json")
    report = json.loads(done.stdout)
    assert [skill["path"] for skill in report["skills"]] == ["skills/twin/SKILL.md"]
    assert "RT001" in {f["code"] for f in report["findings"]}
    assert "FM003" not in {f["code"] for f in report["findings"]}
    write({"skills/fresh/SKILL.md": TRAP})
    assert "skills/fresh/SKILL.md" in run("lint", "--changed").stdout


def test_a_deleted_file_concerns_the_skill_that_had_it(run: Run, write: Write, tmp_path: Path) -> None:
    text = GOOD + "\nSee [it](references/it.md).\n"
    write({"skills/good/SKILL.md": text, "skills/good/references/it.md": "# It\n", "skills/trap/SKILL.md": TRAP})
    commit_all(tmp_path)
    shutil.rmtree(tmp_path / "skills/good/references")
    done = run("lint", "--changed", "--format", "json")
    report = json.loads(done.stdout)
    assert [f["code"] for f in report["findings"]] == ["LI001"]
    shutil.rmtree(tmp_path / "skills/trap")
    report = json.loads(run("lint", "--changed", "--format", "json").stdout)
    assert [skill["path"] for skill in report["skills"]] == ["skills/good/SKILL.md"]


@pytest.fixture(scope="module")
def shuffled_copies(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Path:
    root, source = tmp_path_factory.mktemp("copies"), checkout / "fixtures"
    files = [path for path in source.rglob("*") if path.is_file()]
    for copy, seed in (("a", 1), ("b", 2)):
        random.Random(seed).shuffle(files)
        for path in files:
            target = root / copy / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return root


@pytest.mark.slow
@pytest.mark.parametrize("name", formats.names())
def test_two_runs_over_shuffled_copies_give_the_same_bytes(run: Run, shuffled_copies: Path, name: str) -> None:
    outputs = []
    for jobs, copy in (("1", "a"), ("2", "b")):
        cwd = shuffled_copies / copy
        done = run("lint", "--score", "--format", name, "--as-of", "2026-11-21", "--jobs", jobs, "--no-cache", cwd=cwd)
        outputs.append(done.stdout)
        assert done.returncode in (0, 1), done.stderr
    assert outputs[0] == outputs[1]


def test_hostile_names_cannot_forge_output(run: Run, write: Write) -> None:
    write({"skills/a\x1b[2Jb\n::error::x/SKILL.md": TRAP})
    for name in ("text", "github", "markdown", "junit"):
        done = run("lint", "--format", name)
        assert "\x1b[2J" not in done.stdout and "\n::error::x" not in done.stdout


def test_no_finding_shows_a_credential(run: Run, write: Write) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    write({"skills/good/SKILL.md": GOOD + f"\nSee [this](gone.md) with {secret} now.\n"})
    for name in formats.names():
        done = run("lint", "--format", name)
        assert done.returncode == 1 and secret not in done.stdout
        assert "LE001" in done.stdout and "LI001" in done.stdout


def many(write: Write) -> None:
    write({f"skills/s{n:03}/SKILL.md": GOOD.replace("name: good", f"name: s{n:03}") * 40 for n in range(400)})


@pytest.mark.slow
def test_an_interrupt_ends_every_process(write: Write, tmp_path: Path) -> None:
    many(write)
    for wait in (0.3, 0.6, 0.9):
        command = [sys.executable, "-m", "skill_health", "lint", "--no-cache", "--jobs", "2"]
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        time.sleep(wait)
        # As a terminal does it: to the whole group.
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=600)
        if process.returncode == 0:
            break
        assert process.returncode in (130, -signal.SIGINT), error
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)


@pytest.mark.slow
def test_a_worker_that_dies_is_a_finding_of_the_skill_that_it_checked(write: Write, tmp_path: Path) -> None:
    many(write)
    code = (
        "import os\n"
        "from skill_health.lint.check import SkillChecker as C\n"
        "real = C.check\n"
        "C.check = lambda s, e: os._exit(9) if e.path.endswith('s333/SKILL.md') else real(s, e)\n"
        "from skill_health.cli import main\n"
        "raise SystemExit(main(['lint', '--no-cache', '--jobs', '2']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and done.stderr == ""
    assert "s333/SKILL.md:1:1: error FM006" in done.stdout and "400 skills checked: 1 error" in done.stdout


def test_what_fails_does_not_depend_on_what_is_shown(run: Run, write: Write) -> None:
    root = write(
        {"skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies lists. Use it.\n---\n# Tidy\n\nA bell\x07\n"}
    )
    every = run("lint", "--format", "concise", "--select", "FM008", cwd=root)
    assert (every.stdout.count("\n"), every.returncode) == (1, 0)
    hidden = run("lint", "--select", "FM008", "--min-severity", "error", "--fail-on", "warning", cwd=root)
    assert hidden.returncode == 1 and re.fullmatch(r"1 skill \D*\(1 less severe\D*\n", hidden.stdout)
    fixed = run("lint", "--select", "FM008", "--min-severity", "error", "--diff", cwd=root)
    assert (fixed.stdout, fixed.returncode) == ("", 0)
