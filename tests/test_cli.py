"""The root command: what it imports, what plugs into it, and how exceptions become exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from skill_health import __version__, cli, commands

Write = Callable[[Mapping[str, str]], Path]
Run = Callable[..., Any]

MODULE = '''
import sys, time
import click
from skill_health.core.errors import AbortedError, UsageError

def command(function):
    return click.command(function.__name__.removeprefix("do_"), help=function.__doc__)(function)

@command
@click.option("--code", type=int, default=0)
def do_greet(code):
    """Say hello."""
    click.echo("hello")
    return code

@command
def do_leave():
    """Exit by the context."""
    click.get_current_context().exit(1)

@command
def do_usage():
    raise UsageError("no such file: a\\x1b[31m\\nb")

@command
def do_abort():
    raise AbortedError("the run could not go on")

@command
@click.argument("path", type=click.File())
def do_open(path):
    pass

@command
def do_bug():
    return 1 // 0

@command
def do_full():
    raise OSError(28, "No space left on device", "reports/x.json")

@command
def do_prompt():
    click.prompt("really")

@command
def do_wait():
    click.echo("waiting")
    sys.stdout.flush()
    time.sleep(30)

@command
def do_flood():
    for _ in range(100000):
        click.echo("x" * 80)

@command
def do_odd():
    click.echo("caf\\u00e9 \\u2192 \\udc80")

not_a_command = 1
'''
NAMES = ["greet", "leave", "usage", "abort", "open", "bug", "full", "prompt", "wait", "flood", "odd"]


@pytest.fixture
def plugged(write: Write) -> dict[str, str]:
    """The environment in which a small foreign distribution plugs in commands."""
    points = [f"{name} = acme_tools.commands:do_{name}" for name in NAMES]
    points += [
        "gone = acme_missing:command",
        "wrong = acme_tools.commands:not_a_command",
        "lint = acme_tools.commands:do_bug",
    ]
    site = (
        write(
            {
                "site/acme_tools/__init__.py": "",
                "site/acme_tools/commands.py": MODULE,
                "site/acme_tools-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme-tools\nVersion: 1.0\n",
                "site/acme_tools-1.0.dist-info/entry_points.txt": "\n".join(["[skill_health.commands]", *points, ""]),
            }
        )
        / "site"
    )
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))}


def test_version(run: Run) -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"skill-health {__version__}\n", "")


def test_no_arguments_show_the_help_as_a_mistake(run: Run) -> None:
    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert "Commands:" in done.stderr


def test_help_lists_own_and_foreign_commands_with_their_short_help(run: Run, plugged: dict[str, str]) -> None:
    done = run("--help", env=plugged)
    assert done.returncode == 0, done.stderr
    own, foreign = done.stdout.split("Commands of acme_tools:")
    listed = [line.split()[0] for line in own.split("Commands:")[1].splitlines() if line.startswith("  ")]
    assert [name for name in listed if name in commands.own_names()] == commands.own_names()
    assert "greet   Say hello.\n" in foreign
    assert "wrong   the command 'wrong' (acme_tools.commands:not_a_command) is no click" in foreign
    assert "  lint" not in foreign
    assert "ModuleNotFoundError" in foreign.split("Commands of acme_missing:")[1]


def test_every_own_command_has_a_short_help() -> None:
    assert commands.own_names()
    for name in commands.own_names():
        command = commands.load_own(name)
        assert isinstance(command, click.Command)
        assert command.get_short_help_str(200)


@pytest.mark.parametrize("name", ["", "-", "--x", "_api", "a_b", "a.b", "../lint", "no-such", "class", "é", "\0"])
def test_other_names_are_no_own_command(name: str) -> None:
    assert commands.load_own(name) is None


@pytest.mark.parametrize(
    ("args", "code", "out", "err"),
    [
        (["greet"], 0, "hello\n", ""),
        (["greet", "--code", "1"], 1, "hello\n", ""),
        (["leave"], 1, "", ""),
        (["usage"], 2, "", "skill-health: error: no such file: a\\x1b[31m b\n"),
        (["abort"], 3, "", "skill-health: error: the run could not go on\n"),
        (["greet", "--code", "x"], 2, "", "skill-health: error: Invalid value for '--code'"),
        (["greet", "--nope"], 2, "", "skill-health: error: No such option"),
        (["open", "missing"], 2, "", "skill-health: error: Invalid value for 'PATH': 'missing'"),
        (["full"], 3, "", "skill-health: error: cannot go on: [Errno 28] No space left on device: 'reports/x.json'\n"),
        (["bug"], 3, "", "skill-health: internal error: ZeroDivisionError("),
        (["prompt"], 130, "really: ", "skill-health: interrupted\n"),
        (["wrong"], 3, "", "skill-health: error: the command 'wrong' "),
        (["gone"], 3, "", "skill-health: error: the command 'gone' (acme_missing:command) cannot be loaded: "),
        (["greeet"], 2, "", "skill-health: error: there is no command 'greeet'; did you mean 'greet'? "),
        (["xyzzy"], 2, "", "skill-health: error: there is no command 'xyzzy' (see 'skill-health --help')\n"),
        (["--nope"], 2, "", "skill-health: error: No such option"),
        (["odd"], 0, "café → \\udc80\n", ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_exit_codes(run: Run, plugged: dict[str, str], args: list[str], code: int, out: str, err: str) -> None:
    done = run(*args, env=plugged, input="")
    assert (done.returncode, done.stdout) == (code, out)
    assert done.stderr.startswith(err) and bool(done.stderr) == bool(err)
    assert done.stderr.count("\n") == bool(err)


def test_a_bug_says_where_and_how_to_report_it(run: Run, plugged: dict[str, str]) -> None:
    quiet = run("bug", env=plugged).stderr
    assert "at acme_tools.commands:" in quiet
    assert "please report it with what SKILL_HEALTH_DEBUG=1 shows" in quiet
    loud = run("bug", env=plugged | {"SKILL_HEALTH_DEBUG": "1"}).stderr
    assert loud.startswith("Traceback (most recent call last):")
    assert loud.endswith(quiet)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_an_interrupt_exits_with_130(tmp_path: Path, plugged: dict[str, str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "skill_health", "wait"],
        cwd=tmp_path,
        env=os.environ | plugged,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout and process.stderr
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "skill-health: interrupted\n"
        assert process.wait(30) == 130


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
@pytest.mark.parametrize("args", [["flood"], ["greet"], ["--help"]], ids=" ".join)
def test_a_reader_that_leaves_is_no_noise(tmp_path: Path, plugged: dict[str, str], args: list[str]) -> None:
    read, write_end = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "skill_health", *args],
            cwd=tmp_path,
            env=os.environ | plugged,
            stdout=write_end,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (3, "")


def test_what_the_terminal_cannot_show_is_escaped(run: Run, plugged: dict[str, str]) -> None:
    done = run("odd", env=plugged | {"PYTHONIOENCODING": "cp1252"}, encoding="cp1252")
    assert (done.returncode, done.stdout) == (0, "café \\u2192 \\udc80\n")


def test_closed_stdout_is_no_crash(tmp_path: Path) -> None:
    code = "import sys; sys.stdout = None; from skill_health.cli import main; sys.exit(main(['--version']))"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0


def test_completion_knows_the_commands(run: Run, plugged: dict[str, str]) -> None:
    asked = {cli.COMPLETE: "bash_complete", "COMP_WORDS": "skill-health gre", "COMP_CWORD": "1"}
    assert run(env=plugged | asked).stdout == "plain,greet\n"


def test_the_root_imports_no_command_and_no_metadata(tmp_path: Path) -> None:
    code = "import json, sys; from skill_health.cli import main; main(['--version']); print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = sorted(json.loads(done.stdout.splitlines()[-1]))
    ours = [name for name in loaded if name.split(".")[0] == "skill_health"]
    assert ours == [
        "skill_health",
        "skill_health.cli",
        "skill_health.commands",
        "skill_health.core",
        "skill_health.core.errors",
        "skill_health.root",
    ]
    assert not {"importlib.metadata", "difflib", "yaml", "markdown_it", "jsonschema"} & set(loaded)


def test_one_foreign_command_does_not_import_the_others(run: Run, plugged: dict[str, str], write: Write) -> None:
    write(
        {
            "site/loud.py": "raise SystemExit('imported')",
            "site/loud-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: loud\nVersion: 1\n",
            "site/loud-1.dist-info/entry_points.txt": "[skill_health.commands]\nloud = loud:command\n",
        }
    )
    assert run("greet", env=plugged).stdout == "hello\n"


def test_main_can_be_called_in_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"skill-health {__version__}\n"
    assert cli.main(["no-such-command"]) == 2
