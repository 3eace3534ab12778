"""`effectiveness agents`: what is listed, and that a probe tells an agent that sees too much or too little."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from effectiveness.agents._installed import version_of
from effectiveness.cli import command
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


def script(place: Path, text: str) -> str:
    place.write_text(text, encoding="utf-8")
    place.chmod(0o755)
    return str(place)


def fake(folder: Path, lists: str = "own", hides: str = "") -> str:
    return script(folder / "claude", FAKE.format(python=sys.executable, lists=lists, hides=hides))


def run(*words: str) -> Result:
    return CliRunner().invoke(command, ["agents", *words], standalone_mode=False)


def test_every_agent_and_sandbox_is_listed_with_what_is_there(programs: Path) -> None:
    fake(programs)
    done = run()
    assert done.return_value == 0
    rows = {line.split()[0]: line for line in done.output.splitlines() if line}
    assert "9.8.7" in rows["claude-code"] and "2.1.197" in rows["claude-code"] and "ready" in rows["claude-code"]
    assert "no codex on PATH" in rows["codex"]
    assert "ready" in rows["scripted"]
    assert {"bubblewrap", "none", "SANDBOX", "AGENT"} <= set(rows)


def test_a_program_is_asked_for_its_version_without_the_user_s_environment(programs: Path) -> None:
    assert version_of(fake(programs)) == "9.8.7"
    seen = json.loads((programs / "env.json").read_text(encoding="utf-8"))
    assert "ANTHROPIC_API_KEY" not in seen and seen["HOME"] != os.environ["HOME"]


@pytest.mark.parametrize(
    ("words", "version"),
    [
        ("echo codex-cli 0.169.0", "0.169.0"),
        ("echo v1.2.3-beta.1+x >&2", "1.2.3-beta.1+x"),
        ("echo 1.2.3; exit 1", None),
        ("echo hello", None),
        ("printf '\\033[31m7.7\\n'", None),
        ("printf '1.%01000d\\n' 1", f"1.{'0' * 57}…"),
    ],
)
def test_versions(tmp_path: Path, words: str, version: str | None) -> None:
    assert version_of(script(tmp_path / "some", f"#!/bin/sh\n{words}\n")) == version


def test_no_program_has_no_version(tmp_path: Path) -> None:
    assert version_of(str(tmp_path / "absent")) is None


def probed(*words: str) -> tuple[Any, int]:
    done = run("--probe", "--sandbox", "none", "--format", "json", *words)
    (agent,) = json.loads(done.output)["agents"]
    return agent["probe"], done.return_value


def test_a_probe_of_an_agent_that_sees_what_it_should() -> None:
    seen, code = probed("scripted")
    assert code == 0
    assert seen == {"ways": ["listed"], "beside": [], "problems": [], "skipped": ""}


@pytest.mark.parametrize(
    ("lists", "hides", "problem"),
    [
        ("own", "", ""),
        ("lantern-oiling", "", "with no skill staged: lantern-oiling is listed and not staged"),
        ("own", "tide-tables", "with tide-tables staged: tide-tables is staged and not listed"),
    ],
)
def test_a_probe_of_an_agent_that_sees_too_much_or_too_little(
    programs: Path, lists: str, hides: str, problem: str
) -> None:
    fake(programs, lists, hides)
    seen, code = probed("claude-code")
    assert code == (1 if problem else 0)
    assert (problem in seen["problems"]) if problem else seen["problems"] == []
    assert seen["ways"] == ["listed"]
    if not problem:
        assert seen["beside"] == ["own"]


def test_an_agent_that_is_not_there_is_not_probed(programs: Path) -> None:
    assert probed("codex") == (None, 0)


def test_what_was_seen_is_said_in_one_line_for_each(programs: Path) -> None:
    fake(programs, "\x1b[2Jown")
    said = run("--probe", "--sandbox", "none", "claude-code").output.splitlines()
    assert said[-1] == "claude-code: the staged skills and no others are listed; beside them \\x1b[2Jown"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("claude",), "there is no agent 'claude'; did you mean claude-code?"),
        (("zzz",), "there is no agent 'zzz'; there are "),
        (("--probe", "--sandbox", "bublewrap"), "there is no sandbox 'bublewrap'; did you mean bubblewrap?"),
        (("--sandbox", "none"), "give --probe, too"),
    ],
)
def test_mistakes_of_the_user(words: tuple[str, ...], message: str) -> None:
    done = run(*words)
    assert message in str(done.exception)
    assert isinstance(done.exception, UsageError) or getattr(done.exception, "exit_code", None) == 2
