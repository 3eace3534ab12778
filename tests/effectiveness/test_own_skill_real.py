"""Claude Code follows our own skill: it runs the commands that the skill names, and a rotten fixture is clean."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from agent_server import AgentServer, Play
from agent_trials import program

import skill_health

pytestmark = pytest.mark.real
ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "skills" / "skill-health"
# What a model would write in the place of what no automatic fix can: a sentence in the third person, without markup.
BY_HAND = {
    "open-bracket": "",
    "colon-trap": r"sed -i -e 's/I can help you write to suppliers/Writes to suppliers/' -e 's/<supplier>/a supplier/' "
    "skills/colon-trap/SKILL.md",
}


def told_to(by_hand: str, text: str) -> str:
    """The commands of the skill, once they stand in the request, and the hand's work before the last of them."""
    found = re.search(r"```sh\n(skill-health lint skills\n.*?)```", text, re.DOTALL)
    if not found:
        return ""
    *first, last = found[1].strip().splitlines()
    return " ; ".join(filter(None, [*first, by_hand, last]))


@pytest.mark.parametrize("with_skill", [True, False], ids=["with", "without"])
@pytest.mark.parametrize("rotten", sorted(BY_HAND))
def test_a_rotten_skill_is_clean_where_the_agent_has_ours(tmp_path: Path, rotten: str, with_skill: bool) -> None:
    claude = program("claude")
    workspace = tmp_path / "workspace"
    shutil.copytree(ROOT / "fixtures" / "rotten" / "skills" / rotten, workspace / "skills" / rotten)
    if with_skill:
        shutil.copytree(OWN, workspace / ".claude" / "skills" / "skill-health")
    (tmp_path / "home").mkdir()
    own = skill_health.load_skill(OWN)
    play = Play(
        watched={own.name: own.description}, folder=".claude/skills", work=lambda text: told_to(BY_HAND[rotten], text)
    )
    assert bad(workspace, rotten)
    with AgentServer(play) as server:
        path = f"{Path(sys.executable).parent}{os.pathsep}{Path(claude).parent}{os.pathsep}{os.environ['PATH']}"
        given = {
            "PATH": path, "HOME": str(tmp_path / "home"), "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "x",
            "IS_SANDBOX": "1", "SKILL_HEALTH_CACHE_DIR": str(tmp_path / "cache"), "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }  # fmt: skip
        done = subprocess.run(
            [claude, "-p", "--model", "some-model-1", "--permission-mode", "bypassPermissions", "--setting-sources", "project"],
            input=b"Check the skills below skills and fix what is wrong with them.",
            cwd=workspace, env=given, capture_output=True, check=False, timeout=300,
        )  # fmt: skip
        assert (done.returncode, server.faults) == (0, []), done.stdout + done.stderr
        assert server.offered() == ({"skill-health"} if with_skill else set())
        seen = "\n".join(request.text for request in server.bodies())
    assert ("Never silence a finding to get to 0" in seen) == with_skill
    assert ("1 skill checked" in seen) == with_skill, "what the last command of the skill said"
    assert bool(bad(workspace, rotten)) != with_skill


def bad(workspace: Path, rotten: str) -> list[str]:
    report = skill_health.lint_paths(workspace / "skills" / rotten)
    return [finding.code for finding in report.findings if finding.severity in ("error", "warning")]
