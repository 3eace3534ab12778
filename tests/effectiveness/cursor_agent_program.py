"""A stand-in for cursor-agent: its documented command line and stream, with a played server behind the given proxy.

It solves a task where a skill lies in its workspace, and says in its final message where it could get to.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SAID = 0


def tell(kind: str, **more: Any) -> None:
    print(json.dumps({"type": kind, "session_id": "s-1", **more}), flush=True)


def reach(host: str) -> str:
    """The status of a way to a host through the proxy, and what its server says first."""
    proxy = urlsplit(os.environ["HTTPS_PROXY"])
    with socket.create_connection((proxy.hostname, proxy.port), timeout=10) as line:
        line.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        with line.makefile("rb") as answers:
            status = answers.readline().split()[1].decode()
            while answers.readline().strip():
                pass
            if status != "200":
                return status
            line.sendall(f"{os.environ['CURSOR_API_KEY']}\n".encode())
            return f"{status} {answers.readline().decode().strip()}"


def direct(host: str) -> str:
    try:
        socket.create_connection((host, 443), timeout=2).close()
    except OSError:
        return "no way"
    return "reached"


def use(name: str, call: str, args: dict[str, Any], result: dict[str, Any]) -> None:
    tell("tool_call", subtype="started", call_id=call, tool_call={f"{name}ToolCall": {"args": args}})
    tell(
        "tool_call", subtype="completed", call_id=call, tool_call={f"{name}ToolCall": {"args": args, "result": result}}
    )


def main() -> None:
    model = next(word for word in sys.argv if word.startswith("--model=")).partition("=")[2]
    tell("system", subtype="init", apiKeySource="env", cwd=os.getcwd(), model=model, permissionMode="default")
    ways = {
        "api2.cursor.sh": reach("api2.cursor.sh:443"),
        "example.com": reach("example.com:443"),
        "by itself": direct("93.184.216.34"),
    }
    for place in sorted(Path(".cursor/skills").glob("*/SKILL.md")):
        use("read", "r", {"path": str(place.absolute())}, {"success": {"content": place.read_text("utf-8")}})
        command = "grep -c crate crates.txt > answer.txt"
        subprocess.run(["sh", "-c", command], check=True)
        use("shell", "c", {"command": command}, {"success": {"stdout": "", "exitCode": 0}})
    text = json.dumps(ways)
    tell("assistant", message={"role": "assistant", "content": [{"type": "text", "text": text}]})
    usage = {"inputTokens": 900, "outputTokens": 40, "cacheReadTokens": 0, "cacheWriteTokens": 0}
    tell("result", subtype="success", is_error=False, duration_ms=1200, result=text, usage=usage)


if "--version" in sys.argv:
    print("2026.11.05-abcdef0")
else:
    main()
