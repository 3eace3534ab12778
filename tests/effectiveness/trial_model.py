"""Agents of the tests that ask a model through the gateway, by a few lines of Python."""

from __future__ import annotations

from typing import Any

from agent_server import AgentServer
from trial_bench import SKILLS, agent

from skill_health.bench.http.endpoint import Endpoint
from skill_health.effectiveness.agents._api import Agent
from skill_health.effectiveness.agents._load import AgentChoice
from skill_health.effectiveness.gateway._api import Upstream
from skill_health.effectiveness.trial.spec import TrialSpec

KEY = "sk-real-key-98765432109876543210"

_ASK = """
import json, os, sys, urllib.request, urllib.error
found = []
for name in sorted(os.listdir(SKILLS)) if os.path.isdir(SKILLS) else []:
    text = open(os.path.join(SKILLS, name, "SKILL.md")).read()
    found.append(name + ": " + text.split("description: ")[1].split("\\n")[0])
def ask(text):
    body = {"model": "m", "messages": [{"role": "system", "content": "\\n".join(found)}, {"role": "user", "content": text}],
            "tools": [{"type": "function", "function": {"name": "run", "parameters": {"type": "object", "properties": {}}}}]}
    head = {"Authorization": "Bearer " + os.environ["MODEL_KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["MODEL_URL"] + "/v1/chat/completions", json.dumps(body).encode(), head)
    try:
        return json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as error:
        print("status", error.code)
        return {}
"""


def asking(text: str, **more: Any) -> Agent:
    """An agent that runs this Python, in which `ask(prompt)` asks the model with the skills that lie there."""
    return agent(f"SKILLS = {SKILLS!r}\n{_ASK}{text}", "python", PROTOCOLS=("openai",), **more)


def with_model(what: TrialSpec, server: AgentServer | str) -> TrialSpec:
    """The cell with the server, or whoever is at that address, behind its gateway."""
    from dataclasses import replace

    endpoint = Endpoint(server if isinstance(server, str) else server.url, KEY, ("Authorization", f"Bearer {KEY}"))
    choice = AgentChoice("script:m", what.choice.agent, "script", "m", "openai")
    return replace(what, choice=choice, upstream=Upstream(endpoint, "openai"))
