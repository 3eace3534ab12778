"""The root command: what it imports, how commands are found, and how exceptions become exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click
import pytest
from fixture_types import Write

from skill_health import __version__, cli, commands
from skill_health.root import root

Shown = tuple[int, str, str]
InProcess = Callable[..., Shown]

HEAD = """
import sys, time
import click
from skill_health.core.errors import AbortedError, UsageError

@click.command("{name}")
"""
BODIES = {
    "greet": '''
@click.option("--code", type=int, default=0)
def command(code):
    """Say hello."""
    click.echo("hello")
    return code
''',
    "leave": "def command():\n    click.get_current_context().exit(1)\n",
    "usage": 'def command():\n    raise UsageError("no such file: a\\x1b[31m\\nb")\n',
    "abort": 'def command():\n    raise AbortedError("the run could not go on")\n',
    "open_": '@click.argument("path", type=click.File())\ndef command(path): ...\n',
    "bug": "def command():\n    return 1 // 0\n",
    "full": 'def command():\n    raise OSError(28, "No space left on device", "reports/x.json")\n',
    "prompt": 'def command():\n    click.prompt("really")\n',
    "wait": 'def command():\n    click.echo("waiting")\n    sys.stdout.flush()\n    time.sleep(30)\n',
    "flood": 'def command():\n    for _ in range(100000):\n        click.echo("x" * 80)\n',
    "odd": 'def command():\n    click.echo("caf\\u00e9 \\u2192 \\udc80")\n',
}
PROGRAM = """
import os, sys
from skill_health import commands
commands.__path__.append(os.environ["MORE_COMMANDS"])
from skill_health.cli import entry
entry()
"""


@pytest.fixture
def plugged(write: Write, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with more commands, which this process knows for the time of the test."""
    bodies = {name.removesuffix("_"): HEAD.format(name=name.removesuffix("_")) + body for name, body in BODIES.items()}
    folder = str(write({f"more/{name}.py": body for name, body in bodies.items()}) / "more")
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, folder])
    monkeypatch.setenv("MORE_COMMANDS", folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    import_module("importlib").invalidate_caches()
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith("skill_health.commands."):
            del sys.modules[name]
            delattr(commands, name.rpartition(".")[2])


def test_version(called: InProcess) -> None:
    assert called("--version") == (0, f"skill-health {__version__}\n", "")


def test_help_lists_every_command_with_its_short_help(called: InProcess, plugged: str) -> None:
    code, out, _ = called("--help")
    names = [line.split()[0] for line in out.split("Commands:")[1].splitlines() if line[:2] == "  " != line[2:4]]
    assert code == 0 and {"lint", "router", "effectiveness", "greet"} <= set(names) and names == sorted(names)
    assert "Say hello." in out


def groups(command: click.Command, context: click.Context) -> list[click.Command]:
    """A command and all below it."""
    if not isinstance(command, click.Group):
        return [command]
    below = [found for name in command.list_commands(context) if (found := command.get_command(context, name))]
    return [command, *(each for found in below for each in groups(found, context))]


def test_every_command_has_a_short_help() -> None:
    found = groups(root, click.Context(root))
    assert len(found) > 25
    assert [command.name for command in found if not command.get_short_help_str(200)] == []


@pytest.mark.parametrize("name", ["", "-", "--x", "_api", "a_b", "a.b", "../lint", "no-such", "class", "é", "\0"])
def test_other_names_are_no_command(name: str) -> None:
    assert root.get_command(click.Context(root), name) is None


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
        (["greeet"], 2, "", "skill-health: error: ... 'greeet' ... 'greet'?"),
        (["xyzzy"], 2, "", "skill-health: error: ... 'xyzzy' ... 'skill-health --help'"),
        (["--nope"], 2, "", "skill-health: error: No such option"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_exit_codes(called: InProcess, plugged: str, args: list[str], code: int, out: str, err: str) -> None:
    found, printed, said = called(*args)
    assert (found, printed) == (code, out)
    start, *parts = err.split("... ")
    assert said.startswith(start) and all(part.strip() in said for part in parts) and bool(said) == bool(err)
    assert said.count("\n") == bool(err)


def test_a_bug_says_where_and_how_to_report_it(
    called: InProcess, plugged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = called("bug")[2]
    assert "at skill_health.commands.bug:" in quiet
    assert "please report it with what SKILL_HEALTH_DEBUG=1 shows" in quiet
    monkeypatch.setenv("SKILL_HEALTH_DEBUG", "1")
    loud = called("bug")[2]
    assert loud.startswith("Traceback (most recent call last):")
    assert loud.endswith(quiet)


def process(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
    """The command with the commands of `plugged` as a process of its own."""
    command = [sys.executable, "-c", PROGRAM, *args]
    given: dict[str, object] = {"capture_output": True, "encoding": "utf-8", "timeout": 600, "check": False} | more
    return subprocess.run(command, **given)  # type: ignore[call-overload, no-any-return]


def test_an_exit_code_is_that_of_the_process(plugged: str) -> None:
    done = process("usage")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "skill-health: error: no such file: a\\x1b[31m b\n"


@pytest.mark.slow
def test_a_prompt_without_an_answer_is_an_interrupt(plugged: str) -> None:
    done = process("prompt", input="")
    assert (done.returncode, done.stdout, done.stderr) == (130, "really: ", "skill-health: interrupted\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_an_interrupt_exits_with_130(plugged: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as waiting:
        assert waiting.stdout and waiting.stderr
        assert waiting.stdout.readline() == "waiting\n"
        waiting.send_signal(signal.SIGINT)
        assert waiting.stderr.read() == "skill-health: interrupted\n"
        assert waiting.wait(600) == 130


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
@pytest.mark.parametrize("args", [["flood"], ["greet"], ["--help"]], ids=" ".join)
def test_a_reader_that_leaves_is_no_noise(plugged: str, args: list[str]) -> None:
    read, write_end = os.pipe()
    os.close(read)
    try:
        done = process(*args, capture_output=False, stdout=write_end, stderr=subprocess.PIPE)
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (3, "")


@pytest.mark.parametrize(("encoding", "arrow"), [("utf-8", "→"), ("cp1252", "\\u2192")])
def test_what_the_terminal_cannot_show_is_escaped(
    plugged: str, monkeypatch: pytest.MonkeyPatch, encoding: str, arrow: str
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    done = process("odd", encoding=encoding)
    assert (done.returncode, done.stdout) == (0, f"café {arrow} \\udc80\n")


@pytest.mark.slow
def test_closed_stdout_is_no_crash(tmp_path: Path) -> None:
    code = "import sys; sys.stdout = None; from skill_health.cli import main; sys.exit(main(['--version']))"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0


def test_completion_knows_the_commands(plugged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {cli.COMPLETE: "bash_complete", "COMP_WORDS": "skill-health gre", "COMP_CWORD": "1"}.items():
        monkeypatch.setenv(name, value)
    assert process().stdout == "plain,greet\n"


def test_the_root_imports_no_command_and_no_metadata(tmp_path: Path) -> None:
    code = "import json, sys; from skill_health.cli import main; main(['--version']); print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = sorted(json.loads(done.stdout.splitlines()[-1]))
    ours = [name for name in loaded if name.split(".")[0] == "skill_health"]
    assert ours == [
        "skill_health", "skill_health.cli", "skill_health.commands", "skill_health.commands._folder",
        "skill_health.core", "skill_health.core.errors", "skill_health.core.plugins", "skill_health.root",
    ]  # fmt: skip
    assert not {"importlib.metadata", "difflib", "yaml", "markdown_it", "jsonschema"} & set(loaded)


@pytest.mark.slow
def test_a_folder_called_as_one_of_ours_is_not_taken_for_it(write: Write) -> None:
    """A repository may well have a package `router` of its own."""
    folder = write({f"{name}/__init__.py": "raise SystemExit('a stranger')" for name in ("router", "effectiveness")})
    for name in ("router", "effectiveness"):
        command = [sys.executable, "-m", "skill_health", name, "--help"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"Usage: skill-health {name}")
