"""The cases of the hosts against the programs themselves: `make test-all` installs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.agreement import COMPARISONS, Comparison, StagedSkill, compare
from tests.hosts.test_verdicts import CASES, text_of

pytestmark = pytest.mark.real

PROGRAMS = Path(os.environ.get("SKILL_HEALTH_AGENTS", "build/agents"))
LISTED = [each for each in COMPARISONS if each.program not in ("", "copilot") and "validate" not in each.name]
# What a program shows nowhere in its list: Codex cuts long descriptions only where the model reads them.
UNSEEN = {"Codex": {"a-long-description", "a-very-long-description"}}


@pytest.mark.parametrize("each", LISTED, ids=lambda each: each.program)
def test_a_program_makes_of_the_cases_what_its_file_says(each: Comparison) -> None:
    program = PROGRAMS / "node_modules" / ".bin" / each.program
    if not program.exists() or shutil.which("rg") is None:
        pytest.fail("install the agents: bash scripts/install_agents.sh; OpenCode needs ripgrep")
    skills = [
        StagedSkill("cases", case["id"], case["id"], "SKILL.md", _named(case["id"], text_of(case)), None)
        for case in CASES
        if case["id"] not in UNSEEN.get(each.name, ())
    ]
    found = compare(each, program.resolve(), [skills])
    differing = [(skill.path, ours.outcome, seen) for skill, ours, seen in found if ours.outcome is not seen.outcome]
    assert differing == []
    assert len(found) == len(skills)


def _named(name: str, text: str) -> bytes:
    return text.replace("name: tidy", f"name: {name}").encode()


def test_the_script_needs_no_network() -> None:
    done = subprocess.run(["unshare", "-rn", "true"], capture_output=True)
    assert done.returncode == 0, "the comparison of programs needs unshare (util-linux) and user namespaces"
