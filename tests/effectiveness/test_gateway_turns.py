"""An agent that is ended by its turns, and the text of a skill in what it sends: in every protocol."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gateway_servers import PROTOCOLS, Server, ask, asking, opened, works
from test_gateway import in_loop

from skill_health.bench.providers._load import load_provider
from skill_health.effectiveness.gateway.ledger import NameWatcher, offered_order, texts_of

TOOL = {"name": "run", "description": "Runs.", "input_schema": {"type": "object"}}
LINES = {
    "csv": ("Count the rows before and after you clean.", "Never guess the delimiter of a file."),
    "logs": ("Begin with the first error, not with the last.", "Two clocks are never quite the same."),
}
ANSWER: dict[str, dict[str, Any]] = {
    "anthropic": {"role": "assistant", "content": "I look."},
    "openai": {"role": "assistant", "content": "I look."},
    "openai-responses": {"role": "assistant", "type": "message", "content": "I look."},
    "gemini": {"role": "model", "parts": [{"text": "I look."}]},
}
TALK = {"anthropic": "messages", "openai": "messages", "openai-responses": "input", "gemini": "contents"}


def with_tools(protocol: str, *later: str) -> dict[str, Any]:
    """A request with a tool, and what came after the model's first answer."""
    body = asking(protocol)
    tools: Any = [TOOL]
    if protocol == "gemini":
        tools = [{"functionDeclarations": [{"name": "run", "description": "Runs."}]}]
    elif protocol.startswith("openai"):
        own: Any = {"name": "run", "parameters": {"type": "object"}}
        tools = [{"type": "function"} | (own if protocol == "openai-responses" else {"function": own})]
    told = [asking(protocol, text)[TALK[protocol]][0] for text in later]
    talk = [*body[TALK[protocol]], *([ANSWER[protocol], *told] if later else [])]
    return {**body, TALK[protocol]: talk, "tools": tools}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_loop
async def test_only_answers_to_requests_with_tools_are_turns(protocol: str) -> None:
    asked: list[int] = []

    def enough(turns: int, given: bool) -> str:
        assert not given
        asked.append(turns)
        return "it has had its turns" if turns >= 2 else ""

    async with Server(works) as server, opened(server, protocol, end_after=enough) as gateway:
        bodies = [
            asking(protocol), with_tools(protocol), asking(protocol), with_tools(protocol), with_tools(protocol),
        ]  # fmt: skip
        answers = [await ask(gateway, protocol, body=body) for body in bodies]
        assert len(server.got) == 4, "what is refused is never asked"
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 400]
    assert "it has had its turns" in json.dumps(answers[-1].json())
    assert answers[-1].headers["x-should-retry"] == "false"
    seen = gateway.seen
    assert (seen.turns, seen.answered, seen.failure, seen.error) == (2, 4, "capped", "it has had its turns")
    assert asked == [0, 0, 1, 1, 2]


@in_loop
async def test_a_call_that_failed_is_no_turn() -> None:
    async def react(got: Any, reply: Any) -> None:
        await (works(got, reply) if len(server.got) > 2 else reply.send(529, {"error": {"message": "busy"}}))

    terms = {"end_after": lambda turns, _: "over" * (turns > 0)}
    async with Server(react) as server, opened(server, "anthropic", **terms) as gateway:
        codes = [(await ask(gateway, "anthropic", body=with_tools("anthropic"))).status_code for _ in range(4)]
    assert codes == [529, 529, 200, 400]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@in_loop
async def test_the_call_that_brings_the_text_of_a_skill_can_be_refused(protocol: str) -> None:
    terms = {"telling": LINES, "end_after": lambda _, given: "a skill was opened" * given}
    async with Server(works) as server, opened(server, protocol, **terms) as gateway:
        bodies = with_tools(protocol), with_tools(protocol, "\n".join(LINES["csv"]))
        codes = [(await ask(gateway, protocol, body=body)).status_code for body in bodies]
        assert codes == [200, 400] and len(server.got) == 1
    assert gateway.seen.given == (("csv",),)


def watched(protocol: str, *bodies: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    watcher = NameWatcher(load_provider(protocol), {}, LINES)
    for body in bodies:
        watcher.read_request(json.dumps(body).encode(), body)
    return watcher.given


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_skill_is_given_once_its_text_stands_behind_the_first_answer(protocol: str) -> None:
    text = "\n".join(LINES["csv"])
    first, second = with_tools(protocol), with_tools(protocol, f"1\t{LINES['csv'][0]}\n2\t{LINES['csv'][1]}")
    assert watched(protocol, first) == ()
    assert watched(protocol, first, second, second) == (("csv",),)
    third = with_tools(protocol, text, "\n".join(LINES["logs"]))
    assert watched(protocol, first, second, third) == (("csv",), ("logs",))
    assert watched(protocol, first, third) == (("csv", "logs"),)
    # One line of it may be a quotation, and the names alone say nothing.
    assert watched(protocol, first, with_tools(protocol, LINES["csv"][0], "csv: logs")) == ()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_the_host_brought_along_was_not_asked_for(protocol: str) -> None:
    body = with_tools(protocol, "\n".join(LINES["csv"]))
    offered = {**body, TALK[protocol]: asking(protocol, "\n".join(LINES["csv"]))[TALK[protocol]]}
    assert watched(protocol, offered, body) == ()


def test_the_order_of_what_is_offered() -> None:
    about = {"csv": "Cleans <tables> & more.", "logs": "Reads logs of services.", "gone": "Is not there at all."}
    body = json.dumps({"system": "logs: Reads  logs of services.\ncsv: Cleans &lt;tables&gt; &amp; more."}).encode()
    assert offered_order(body, about) == ("logs", "csv")
    assert offered_order(body[:-9], about) is None and texts_of(b"\xff") == ""
