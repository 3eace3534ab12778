"""A provider that is added as one file, the one in CONTRIBUTING.md: the router and the gateway speak its protocol."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gateway_servers import KEY, PRICE, STAND_IN, Got, Reply, Server

from skill_health.bench import providers
from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.messages import Usage
from skill_health.bench.providers._load import list_providers, load_provider
from skill_health.cli import main
from skill_health.config.settings import Provider, RouterSettings
from skill_health.effectiveness.gateway._api import GatewayLimits, Upstream
from skill_health.effectiveness.gateway.server import open_gateway
from skill_health.router.records import Catalogue, Prompt, RoutingRequest
from skill_health.router.routers._load import open_choice, resolve

NAME = "skill_health.bench.providers.acme"
BLOCK = re.compile(r"^`skill_health/bench/providers/acme\.py`:\n\n````python\n(.*?)^````$", re.MULTILINE | re.DOTALL)
SPENT = {"in": 120, "out": 30}
ANSWER = {"reply": "tidy", "ended": "limit", "voice": "m-1", "spent": SPENT}
BODY = {"model": "m", "lines": [{"by": "user", "text": "Hello"}], "most_tokens": 100}
EVENTS = [
    b'data: {"voice": "m-1", "part": "ti"}\n\n',
    b'data: {"part": "dy"}\n\n',
    b'data: {"part": "", "spent": %s}\n\n' % json.dumps(SPENT).encode(),
]


@pytest.fixture(autouse=True)
def _acme(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The provider in a folder of its own, which is one more of the package's."""
    (code,) = BLOCK.findall((checkout / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    folder = tmp_path / "providers"
    folder.mkdir()
    (folder / "acme.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(providers, "__path__", [*providers.__path__, str(folder)])
    importlib.invalidate_caches()
    yield
    sys.modules.pop(NAME, None)
    vars(providers).pop("acme", None)


async def talks(got: Got, reply: Reply) -> None:
    """Acme's server."""
    if got.method == "GET":
        await reply.send(200, {"voices": ["m"]})
    elif got.json.get("stream"):
        await reply.events(EVENTS)
    else:
        await reply.send(200, ANSWER, {"x-request-id": "r-1"})


def test_the_router_asks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)

    async def ask() -> tuple[Any, Got]:
        async with Server(talks) as server:
            house = RouterSettings(providers={"house": Provider("acme", server.url, "A_KEY", max_output_tokens=77)})
            router = open_choice(resolve("house:m:8b", house), Catalogue(()))
            try:
                assert router.describe()["protocol"] == "acme"
                return await router.ask(RoutingRequest(Prompt("p", "", None), 1, (), "Which?")), server.got[0]
            finally:
                await router.close()

    reply, got = asyncio.run(ask())
    assert (reply.status, reply.text, reply.model, reply.stop_reason) == ("truncated", "tidy", "m-1", "limit")
    assert (reply.usage, reply.request_id) == (Usage(120, 30, raw=SPENT), "r-1")
    assert (got.path, got.headers["x-acme-key"]) == ("/v1/talk", KEY)
    assert got.json == {"model": "m:8b", "lines": [{"by": "user", "text": "Which?"}], "most_tokens": 77}


def test_it_is_listed_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACME_API_KEY", raising=False)
    assert main(["router", "models", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    row = rows["acme:MODEL"]
    assert (row["kind"], row["title"], row["lacks"]) == ("provider", "Acme's Talk API", ["ACME_API_KEY"])
    assert [name for name in rows if rows[name]["kind"] == "provider"] == [f"{name}:MODEL" for name in list_providers()]


async def through_gateway(
    calls: list[tuple[str, str, Any]], key: str = STAND_IN, **limits: Any
) -> tuple[Any, Any, Any]:
    """What an agent gets for its requests, what the server got, and what the gateway saw."""
    async with Server(talks) as server:
        header = load_provider("acme").build_key_header(KEY)
        upstream = Upstream(Endpoint(server.url, KEY, header), "acme")
        async with open_gateway(upstream, GatewayLimits(STAND_IN, "m", PRICE, **limits)) as gateway:
            url = f"http://127.0.0.1:{gateway.port}"
            async with httpx.AsyncClient(base_url=url, headers={"x-acme-key": key}, trust_env=False) as agent:
                answers = [await agent.request(method, path, json=body) for method, path, body in calls]
        return answers, server.got, gateway.seen


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_passes_the_gateway_and_is_measured(stream: bool) -> None:
    body = BODY | {"stream": stream}
    (answer,), (got,), seen = asyncio.run(through_gateway([("POST", "/v1/talk", body)], max_usd=1.0))
    assert (answer.status_code, got.json, got.headers["x-acme-key"]) == (200, body, KEY)
    assert answer.content == (b"".join(EVENTS) if stream else json.dumps(ANSWER).encode())
    assert (seen.usage, seen.models, seen.unmetered) == (Usage(120, 30), ("m-1",), 0)
    assert seen.cost_usd == pytest.approx((120 * 3 + 30 * 15) / 1e6)


REFUSED = [
    ("POST", "/v1/files", BODY, 404),
    ("GET", "/v1/talk", None, 404),
    ("POST", "/v1/talk", BODY | {"model": "dearer"}, 400),
    ("POST", "/v1/talk", BODY | {"browse": True}, 400),
    ("POST", "/v1/talk", BODY | {"tools": [{"type": "local"}, {"type": "elsewhere"}]}, 400),
    ("POST", "/v1/talk", BODY | {"lines": [{"by": "user", "image_url": "https://collector.example/"}]}, 400),
    ("POST", "/v1/talk", BODY | {"Most-Tokens": 1}, 400),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), REFUSED)
def test_what_may_not_pass_is_refused_in_its_words(method: str, path: str, body: Any, status: int) -> None:
    answers, got, seen = asyncio.run(through_gateway([(method, path, body)]))
    assert (answers[0].status_code, answers[0].json()["error"]["code"]) == (status, f"E{status}")
    assert (got, seen.refused) == ([], 1)


@pytest.mark.slow
def test_a_wrong_key_and_the_calls_beyond_a_cap_are_refused() -> None:
    (answer,), got, _ = asyncio.run(through_gateway([("POST", "/talk", BODY)], key=KEY))
    assert (answer.status_code, answer.json()["error"]["code"], got) == (401, "E401", [])
    answers, got, seen = asyncio.run(through_gateway([("POST", "/talk", BODY)] * 3, max_requests=2))
    assert [answer.status_code for answer in answers] == [200, 200, 400]
    assert (len(got), seen.failure) == (2, "capped")


def test_a_probe_asks_no_server_and_sees_what_is_offered() -> None:
    line = "- tidy: Tidies lists that are out of order."
    lines = [{"by": "user", "text": line}, {"by": "assistant", "text": "x"}, {"by": "user", "text": "- other: Else."}]
    watch = {"tidy": "Tidies lists that are out of order.", "other": "Else."}
    calls = [("GET", "/v1/voices", None), ("POST", "/v1/talk", BODY | {"lines": lines})]
    answers, got, seen = asyncio.run(through_gateway(calls, closed=True, watch=watch))
    assert [answer.status_code for answer in answers] == [200, 400]
    assert (answers[0].json(), got, seen.offered) == ({"voices": []}, [], ("tidy",))
