"""`effectiveness agents`: what is listed, and that a probe tells an agent that sees too much or too little."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from skill_health.commands.effectiveness import command
from skill_health.core.errors import UsageError

# Speaks like Claude Code, and sees what is staged but for one skill, and another one always.
FAKE = """#!{python} -IS
import json, os, sys
if "--version" in sys.argv:
    open(os.path.join(os.path.dirname(__file__), "env.json"), "w").write(json.dumps(dict(os.environ)))
    print("9.8.7 (Claude Code)")
    sys.exit()
staged = os.listdir(".claude/skills") if os.path.isdir(".claude/skills") else []
skills = [name for name in staged if name != {hides!r}] + [{lists!r}]
print(json.dumps({{"type": "system", "subtype": "init", "skills": skills}}))
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": "", "usage": {{}}}}))
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs beside the system's own."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-never-shown-1234567890")
    return tmp_path


def fake(folder: Path, lists: str = "own", hides: str = "") -> None:
    (folder / "claude").write_text(FAKE.format(python=sys.executable, lists=lists, hides=hides), encoding="utf-8")
    (folder / "claude").chmod(0o755)


def run(*words: str) -> Result:
    return CliRunner().invoke(command, ["agents", *words], standalone_mode=False)


@pytest.mark.slow
def test_every_agent_and_sandbox_is_listed_with_what_is_there(programs: Path) -> None:
    fake(programs)
    done = run()
    assert done.return_value == 0
    rows = {line.split()[0]: line for line in done.output.splitlines() if line}
    assert "9.8.7" in rows["claude-code"] and "2.1.197" in rows["claude-code"] and "ready" in rows["claude-code"]
    assert "no codex on PATH" in rows["codex"]
    assert "ready" in rows["scripted"]
    assert {"bubblewrap", "none", "SANDBOX", "AGENT"} <= set(rows)


@pytest.mark.slow
def test_a_program_is_asked_for_its_version_without_the_user_s_environment(programs: Path) -> None:
    fake(programs)
    done = run("--format", "json", "claude-code", "codex")
    claude, codex = json.loads(done.output)["agents"]
    assert (claude["version"], claude["path"], claude["ready"]) == ("9.8.7", str(programs / "claude"), True)
    assert (codex["version"], codex["path"], codex["ready"]) == (None, "", False)
    seen = json.loads((programs / "env.json").read_text(encoding="utf-8"))
    assert "ANTHROPIC_API_KEY" not in seen and seen["HOME"] != os.environ["HOME"]


def probed(*words: str) -> tuple[Any, int]:
    done = run("--probe", "--sandbox", "none", "--format", "json", *words)
    (agent,) = json.loads(done.output)["agents"]
    return agent["probe"], done.return_value


def test_a_probe_of_an_agent_that_sees_what_it_should() -> None:
    seen, code = probed("scripted")
    assert code == 0
    assert seen == {"ways": ["listed"], "beside": [], "problems": [], "skipped": ""}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lists", "hides", "problem"),
    [
        ("lantern-oiling", "", "with no skill staged: lantern-oiling is listed and not staged"),
        ("own", "tide-tables", "with tide-tables staged: tide-tables is staged and not listed"),
    ],
)
def test_a_probe_of_an_agent_that_sees_too_much_or_too_little(
    programs: Path, lists: str, hides: str, problem: str
) -> None:
    fake(programs, lists, hides)
    seen, code = probed("claude-code")
    assert code == 1 and problem in seen["problems"] and seen["ways"] == ["listed"]


@pytest.mark.slow
def test_what_lies_beside_is_no_problem_and_said_in_one_line(programs: Path) -> None:
    assert probed("codex") == (None, 0)
    fake(programs, "\x1b[2Jown")
    seen, code = probed("claude-code")
    assert (seen, code) == ({"ways": ["listed"], "beside": ["\x1b[2Jown"], "problems": [], "skipped": ""}, 0)
    said = run("--probe", "--sandbox", "none", "claude-code").output.splitlines()
    assert said[-1].startswith("claude-code: ") and said[-1].endswith(" \\x1b[2Jown")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("claude",), "did you mean claude-code?"), (("--sandbox", "none"), "give --probe, too"),
        (("--probe", "--sandbox", "bublewrap"), "did you mean bubblewrap?"),
    ],
)  # fmt: skip
def test_mistakes_of_the_user(words: tuple[str, ...], message: str) -> None:
    done = run(*words)
    assert message in str(done.exception)
    assert isinstance(done.exception, UsageError) or getattr(done.exception, "exit_code", None) == 2
