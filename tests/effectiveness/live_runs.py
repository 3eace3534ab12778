"""Whole runs of the built-in agent as processes of their own, which ask a server on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from agent_server import USAGE, AgentServer, Play
from run_made import SKILLS

from skill_health.effectiveness.sandbox._load import back_end

KEY = "sk-live-0123456789abcdef"
# A trial makes a call for each staged skill, one for the work and one to say so; each costs the same.
EACH = ((USAGE.input_tokens or 0) * 1.0 + (USAGE.output_tokens or 0) * 5.0) / 1e6
SANDBOX = "bubblewrap" if back_end("bubblewrap").found() else "none"
PLAY = Play(
    watched={name: f"Does {name}. Use when {name} is needed." for name in SKILLS},
    folder=".agents/skills",
    work="grep -c crate crates.txt > answer.txt",
)


def words(
    collection: Path,
    server: AgentServer,
    *more: str,
    tasks: str = "tasks",
    arms: str = "target,full",
    agents: str = "loop:here:m",
    sandbox: str = SANDBOX,
) -> list[str]:
    """The command line of a run of these tasks in the collection, which is configured for the server."""
    models = "".join(f'[router.prices."here:{model}"]\ninput = 1\noutput = 5\n' for model in ("m", "n"))
    (collection / "skill-health.toml").write_text(
        f'[router.providers.here]\nprotocol = "openai"\nbase-url = "{server.url}/v1"\nkey-env = "THE_KEY"\n{models}',
        "utf-8",
    )
    return [
        "effectiveness", "run", *tasks.split(), "--config", "skill-health.toml", "--agents", agents, "--quiet",
        "--arms", arms, "--reps", "1", "--sandbox", sandbox, *more,
    ]  # fmt: skip


def begin(collection: Path, server: AgentServer, *more: str, **named: str) -> subprocess.Popen[str]:
    """Begin a run of these tasks in the collection; of `more` options the last of a kind counts."""
    command = [sys.executable, "-m", "skill_health", *words(collection, server, *more, **named)]
    root = Path(__file__).resolve().parents[2]
    env = os.environ | {"THE_KEY": KEY, "PYTHONPATH": str(root)}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    return subprocess.Popen(command, cwd=collection, env=env, **pipes)


def go(collection: Path, server: AgentServer, *more: str, **named: str) -> subprocess.CompletedProcess[str]:
    """A whole run."""
    with begin(collection, server, *more, **named) as process:
        out, err = process.communicate(timeout=600)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
