"""The program of the agent in CONTRIBUTING.md, as its vendor might have written it: skills are listed to the model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

FOLDER = Path(".acme/skills")
TOOL = {"name": "bash", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}


def skills() -> dict[str, str]:
    """The skills in the workspace, with the heads of their files."""
    return {path.parent.name: path.read_text("utf-8").split("---")[1] for path in sorted(FOLDER.glob("*/SKILL.md"))}


def ask(model: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """One call of the model."""
    body = {"model": model, "messages": messages, "tools": [{"type": "function", "function": TOOL}], "max_tokens": 500}
    request = urllib.request.Request(
        f"{os.environ['OPENAI_BASE_URL']}/chat/completions",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"},
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as reply:
        answer: dict[str, Any] = json.load(reply)
    return answer


def do(model: str, task: str) -> None:
    """Work until the model calls no more tools."""
    known = "\n".join(f"{FOLDER}/{name}: {head}" for name, head in skills().items())
    messages: list[dict[str, Any]] = [{"role": "system", "content": known}, {"role": "user", "content": task}]
    spent = {"in": 0, "out": 0}
    while True:
        answer = ask(model, messages)
        spent["in"] += answer["usage"]["prompt_tokens"]
        spent["out"] += answer["usage"]["completion_tokens"]
        said = answer["choices"][0]["message"]
        messages.append(said)
        if not said.get("tool_calls"):
            print(json.dumps({"type": "message", "text": said["content"]}))
            break
        for call in said["tool_calls"]:
            arguments = json.loads(call["function"]["arguments"])
            done = subprocess.run(
                ["sh", "-c", arguments["command"]], capture_output=True, encoding="utf-8", check=False
            )
            event = {"id": call["id"], "name": "bash", "arguments": arguments, "output": done.stdout}
            print(json.dumps({"type": "tool", **event, "ok": done.returncode == 0}), flush=True)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout})
    print(json.dumps({"type": "end", "usage": spent, "model": answer["model"]}))


if sys.argv[1] == "--version":
    print("acme-agent 3.1.0")
elif sys.argv[1] == "skills":
    print("\n".join(skills()))
else:
    do(sys.argv[3].removeprefix("--model="), sys.argv[-1])
