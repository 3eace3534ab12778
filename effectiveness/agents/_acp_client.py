"""A client of the Agent Client Protocol without a person: the program inside the sandbox that drives such an agent.

    python -I _acp_client.py PLAN        PLAN: {"argv", "cwd", "prompt", "paths", "version"}

It starts the agent, opens one session, sends the prompt, and allows whatever the agent asks leave for, since the
sandbox is what holds. It offers neither files nor terminals: the agent has to work by itself. On stdout it prints what
comes in as it came, and what it makes of it, as JSON lines:

    {"event": "agent", "protocol", "info"}
    {"event": "message", "message"}                                 each message of the agent
    {"event": "end", "stop_reason", "usage", "error": null or {"code", "message", "data"}}
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

_LONGEST = 50 << 20
_AUTH_REQUIRED = -32000
_PATIENCE = 5.0
_LEAVE = ("allow_once", "allow_always")


class AcpSession:
    """What the agent may call. The library answers whatever else it asks for as unknown."""

    async def request_permission(self, session_id: str, tool_call: Any, options: Sequence[Any], **_: Any) -> Any:
        """Allow it, this once where that can be said: some agents write what is for good into the workspace."""
        from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

        chosen = next((option for kind in _LEAVE for option in options if option.kind == kind), None)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    async def create_terminal(self, *_: Any, **__: Any) -> Any:
        """Unknown, too: of itself the library would answer that there is one."""
        from acp import RequestError

        raise RequestError.method_not_found("terminal/create")

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Told already: every message is printed as it came."""


def write_event(event: str, **values: Any) -> None:
    """Print one event."""
    sys.stdout.write(json.dumps({"event": event, **values}, ensure_ascii=True) + "\n")
    sys.stdout.flush()


def heard(event: Any) -> None:
    """Print what the agent said."""
    if event.direction.value == "incoming":
        write_event("message", message=event.message)


async def converse(agent: Any, plan: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    """One turn: why it stopped, and the tokens where the agent tells them."""
    from acp import PROTOCOL_VERSION, RequestError, text_block
    from acp.schema import ClientCapabilities, Implementation

    said = await agent.initialize(
        protocol_version=PROTOCOL_VERSION,
        client_capabilities=ClientCapabilities(),
        client_info=Implementation(name="skill-health", version=plan["version"]),
    )
    info = said.agent_info.model_dump(mode="json", by_alias=True, exclude_none=True) if said.agent_info else None
    write_event("agent", protocol=said.protocol_version, info=info)
    if said.protocol_version != PROTOCOL_VERSION:
        raise ValueError(f"the agent speaks version {said.protocol_version} of the protocol, not {PROTOCOL_VERSION}")
    try:
        session = await agent.new_session(cwd=plan["cwd"], mcp_servers=[])
    except RequestError as error:
        method = way_in(said.auth_methods or ())
        if error.code != _AUTH_REQUIRED or not method:
            raise
        await agent.authenticate(method_id=method)
        session = await agent.new_session(cwd=plan["cwd"], mcp_servers=[])
    answer = await agent.prompt(session_id=session.session_id, prompt=[text_block(plan["prompt"])])
    usage = answer.usage.model_dump(mode="json", by_alias=True, exclude_none=True) if answer.usage else None
    return str(answer.stop_reason), usage


def way_in(methods: Sequence[Any]) -> str:
    """The way to authenticate that needs no person: one by a key, else the first; "" for none."""
    names = [str(getattr(method, "id", "")) for method in methods]
    return next((name for name in names if "key" in name.lower() or "api" in name.lower()), names[0] if names else "")


async def drive(plan: Mapping[str, Any]) -> int:
    """Start the agent, have it do the task, and end it."""
    from acp import RequestError, connect_to_agent

    # A pipe could be opened, and spoken through, by everything that the agent starts; a socket cannot.
    here, there = socket.socketpair()
    try:
        with there:
            process = await asyncio.create_subprocess_exec(
                *plan["argv"],
                stdin=asyncio.subprocess.PIPE,
                stdout=there.fileno(),
                cwd=plan["cwd"],
                start_new_session=True,
            )
    except OSError as error:
        write_event("end", stop_reason=None, usage=None, error={"code": None, "message": str(error), "data": None})
        return 1
    client: Any = AcpSession()
    said, _ = await asyncio.open_connection(sock=here, limit=_LONGEST)
    agent = connect_to_agent(client, process.stdin, said, observers=[heard], use_unstable_protocol=True)
    stop, usage, wrong = None, None, None
    try:
        stop, usage = await converse(agent, plan)
    except RequestError as problem:
        wrong = {"code": problem.code, "message": str(problem), "data": problem.data}
    except (ConnectionError, ValueError) as problem:
        # What is no message of the protocol is a ValueError of its library.
        wrong = {"code": None, "message": str(problem)[:2000], "data": None}
    write_event("end", stop_reason=stop, usage=usage, error=wrong)
    with suppress(Exception):
        async with asyncio.timeout(_PATIENCE):
            await agent.close()
    await _end(process)
    return 1 if wrong else 0


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let the agent go: it ends when nobody speaks to it any more, or is made to."""
    if process.stdin is not None:
        process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(asyncio.TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await process.wait()
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    await process.wait()


def main(words: Sequence[str]) -> int:
    """Read the plan and follow it."""
    with open(words[0], encoding="utf-8") as stream:
        plan = json.load(stream)
    sys.path += plan["paths"]
    return asyncio.run(drive(plan))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
