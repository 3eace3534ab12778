"""What the programs of three agents really write, driven against a model that is played on loopback, is read."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import drafts_made
import pytest
from agent_server import AgentServer, Play
from agent_trials import program

from skill_health.drafts.from_logs import find_logs, propose_from_logs
from skill_health.drafts.material import load_collection

pytestmark = pytest.mark.real
ASKED = "The second scan is upside down, put both together and mail them to anna.meier@firma.de"
NAME = "merge-pages"
DESCRIPTION, BODY = drafts_made.SKILLS[NAME]

Starts = Callable[[str, Path, dict[str, str]], tuple[list[str], dict[str, str]]]


def claude(url: str, home: Path, env: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    more = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    return [program("claude"), "-p", ASKED, "--model", "some-model-1", "--allowedTools", "Bash,Skill,Read"], env | more


def codex(url: str, home: Path, env: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(
        f'model = "some-model-1"\nmodel_provider = "x"\n[model_providers.x]\nname = "x"\nbase_url = "{url}/v1"\n'
        'wire_api = "responses"\nenv_key = "XKEY"\n'
    )
    command = [program("codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", ASKED]
    return command, env | {"XKEY": "sk-x", "CODEX_HOME": str(home / ".codex")}


def opencode(url: str, home: Path, env: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    model = {"some-model-1": {"name": "some-model-1", "tool_call": True}}
    options = {"baseURL": f"{url}/v1", "apiKey": "x"}
    settings = {
        "autoupdate": False, "model": "g/some-model-1", "small_model": "g/some-model-1", "enabled_providers": ["g"],
        "provider": {"g": {"npm": "@ai-sdk/openai-compatible", "name": "g", "options": options, "models": model}},
    }  # fmt: skip
    (home / ".config" / "opencode").mkdir(parents=True)
    (home / ".config" / "opencode" / "opencode.json").write_text(json.dumps(settings))
    more = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "npm_config_offline": "true"}
    return [program("opencode"), "run", "--model", "g/some-model-1", ASKED], env | more


@pytest.mark.parametrize(
    ("title", "folder", "start"),
    [("Claude Code", ".claude/skills", claude), ("Codex", ".agents/skills", codex), ("OpenCode", ".opencode/skills", opencode)],
)  # fmt: skip
def test_a_log_of_the_program(tmp_path: Path, title: str, folder: str, start: Starts) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    skill = work / folder / NAME / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\nname: {NAME}\ndescription: {DESCRIPTION}\n---\n{BODY}", "utf-8")
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    base = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", "NO_COLOR": "1"}
    with AgentServer(Play(watched={NAME: DESCRIPTION}, folder=folder, work="ls -la")) as server:
        command, env = start(server.url, home, base)
        done = subprocess.run(
            command, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    collection = load_collection([str(drafts_made.collection(tmp_path / "collection"))])
    found = propose_from_logs(collection, collection.catalogue.shown, find_logs((), home, {}))
    (each,) = found.proposed
    assert each.content.text == ASKED.replace("anna.meier@firma.de", "name@example.com")
    assert (each.content.expected, each.origin.resolved) == (NAME, title)
