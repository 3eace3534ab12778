"""A small agent that speaks the Agent Client Protocol by its own library; run as a program, it does what it is told.

    python acp_agent_program.py FLAG...      flags: key (wants a key first), deaf (does not end by itself), ...

The prompt is a list of words, each one thing to do: see `Small.prompt`.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

from acp import (
    Agent,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    run_agent,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
)
from acp.schema import AuthenticateResponse, AuthMethodAgent, Implementation, PermissionOption, ToolCallUpdate, Usage

FLAGS = set(sys.argv[1:])


class Small(Agent):
    """The agent. `let` is whether somebody who has a key has come."""

    def __init__(self) -> None:
        self.client: Any = None
        self.let = "key" not in FLAGS
        self.cwd = ""

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        methods = [AuthMethodAgent(id=name, name=name) for name in ("person", "api-key")]
        return InitializeResponse(
            protocol_version=7 if "future" in FLAGS else protocol_version,
            agent_info=Implementation(name="small", version="9.9"),
            auth_methods=methods if "key" in FLAGS else [],
        )

    async def authenticate(self, method_id: str, **_: Any) -> AuthenticateResponse:
        self.let = method_id == "api-key" and bool(os.environ.get("OPENAI_API_KEY"))
        return AuthenticateResponse()

    async def new_session(self, cwd: str, mcp_servers: Any = None, **_: Any) -> NewSessionResponse:
        if not self.let:
            raise RequestError.auth_required()
        self.cwd = cwd
        return NewSessionResponse(session_id="s-1")

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> PromptResponse:
        stop: Any = "end_turn"
        for word in prompt[0].text.split():
            if word in ("refusal", "max_tokens", "cancelled"):
                stop = word
            elif word == "fail":
                raise RequestError(401, "Incorrect API key provided")
            elif word == "die":
                sys.stderr.write("Traceback: nothing works\n")
                sys.stderr.flush()
                os._exit(3)
            elif word in ("babble", "list"):
                sys.stdout.write("no JSON at all\n" if word == "babble" else "[1, 2]\n")
                sys.stdout.flush()
            elif word == "hang":
                await asyncio.sleep(600)
            elif word == "child":
                subprocess.Popen(["sleep", "97.31"])
            else:
                await getattr(self, f"do_{word}")(session_id)
        usage = Usage(total_tokens=9, input_tokens=5, output_tokens=4)
        return PromptResponse(stop_reason=stop, usage=usage)

    async def do_talk(self, session_id: str) -> None:
        await self.client.session_update(session_id, update_agent_thought_text("Hm."))
        for part in ("All ", "done."):
            await self.client.session_update(session_id, update_agent_message_text(part))

    async def do_work(self, session_id: str) -> None:
        """Ask leave for a command and run it, or not."""
        command = "pwd > out.txt; env | sort > environment.txt"
        options = [
            PermissionOption(option_id="never", name="no", kind="reject_once"),
            PermissionOption(option_id="ever", name="always", kind="allow_always"),
            PermissionOption(option_id="once", name="yes", kind="allow_once"),
        ]
        call = ToolCallUpdate(tool_call_id="c1", title=command, kind="execute")
        await self.client.session_update(
            session_id, start_tool_call("c1", command, kind="execute", raw_input={"command": command})
        )
        answer = await self.client.request_permission(session_id=session_id, tool_call=call, options=options)
        chosen = getattr(answer.outcome, "option_id", "none")
        if chosen != "never":
            await asyncio.to_thread(subprocess.run, ["bash", "-c", command], cwd=self.cwd, check=True)
        content = [tool_content(text_block(chosen))]
        await self.client.session_update(session_id, update_tool_call("c1", status="completed", content=content))

    async def do_nothing_allowed(self, session_id: str) -> None:
        call = ToolCallUpdate(tool_call_id="c2", title="x", kind="edit")
        options = [PermissionOption(option_id="never", name="no", kind="reject_once")]
        answer = await self.client.request_permission(session_id=session_id, tool_call=call, options=options)
        await self.client.session_update(session_id, update_agent_message_text(answer.outcome.outcome))

    async def do_files(self, session_id: str) -> None:
        """Ask for a file and for a terminal, which were not offered."""
        said = []
        for ask in (
            self.client.read_text_file(session_id=session_id, path=f"{self.cwd}/in.txt"),
            self.client.create_terminal(session_id=session_id, command="ls"),
        ):
            try:
                await ask
                said.append("given")
            except RequestError as error:
                said.append(str(error.code))
        await self.client.session_update(session_id, update_agent_message_text(" ".join(said)))


async def main() -> None:
    await run_agent(Small())
    if "deaf" in FLAGS:
        await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(main())
