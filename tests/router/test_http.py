"""The client's parts: limits, waits, pacing, keys, bounds; and what vendors' errors mean."""

from __future__ import annotations

import asyncio
import json
import math
import ssl
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from callers import KEY, KEY_ENV, FakeTime, _key, ask, ask_all, open_model, request  # noqa: F401
from hypothesis import given
from hypothesis import strategies as st
from loopback import PROTOCOLS, Loopback, Reaction, Seen, answer, failure, ranking

from skill_health.bench.http.client import _OPEN, Client, borrow_client, give_client_back, read
from skill_health.bench.http.connection import trusted_certificates
from skill_health.bench.http.endpoint import Endpoint, open_endpoint
from skill_health.bench.http.failures import Failure, judge
from skill_health.bench.http.fetch import Fetched, decoded
from skill_health.bench.http.json_values import without
from skill_health.bench.http.messages import Completion, Conversation, Turn
from skill_health.bench.http.pacing import STEPS, Pace, asked_wait, backoff, costs_of, duration, stretched, until_reset
from skill_health.bench.providers._load import load_provider
from skill_health.bench.redact import LINE, Scrubber
from skill_health.config.settings import Provider
from skill_health.core.errors import UsageError
from skill_health.router.records import Catalogue, Reply
from skill_health.router.routers._api import Setup
from skill_health.router.routers._provider import open_router
from skill_health.text.terminal import clean

TEXT = ranking("tidy")
NOW = 1_800_000_000.0
OPENAI, ANTHROPIC = load_provider("openai"), load_provider("anthropic")

# --- What a vendor's error means ---


def error(**said: Any) -> dict[str, Any]:
    return {"error": said}


def google(status: str, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    return error(code=0, status=status, message=message, details=list(details))


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "33s"}
PER_DAY = {"@type": "type.googleapis.com/google.rpc.QuotaFailure",
           "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}  # fmt: skip
PER_MINUTE = {"@type": "type.googleapis.com/google.rpc.QuotaFailure",
              "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]}  # fmt: skip
GOOGLE_QUOTA = "You exceeded your current quota, please check your plan and billing details."
WORDED: list[tuple[str, int, Any]] = [
    # OpenAI
    ("auth", 401, error(message="Incorrect API key provided: sk-1***2.", type="invalid_request_error", code="invalid_api_key")),
    ("auth", 401, error(message="Your account is not active.", code="account_deactivated")),
    ("auth", 403, error(message="Country, region, or territory not supported", code="unsupported_country_region_territory")),
    ("quota", 429, error(message=GOOGLE_QUOTA, type="insufficient_quota", code="insufficient_quota")),
    ("quota", 429, error(message="Your account is not active, check billing.", code="billing_not_active")),
    ("quota", 400, error(message="Billing hard limit has been reached", code="billing_hard_limit_reached")),
    ("retry", 429, error(message="Rate limit reached for m on tokens per min (TPM)", code="rate_limit_exceeded")),
    ("model", 404, error(message="The model `m` does not exist or you do not have access to it.", code="model_not_found")),
    ("model", 403, error(message="Project `p` does not have access to model `m`", code="model_not_found")),
    ("model", 400, error(message="The requested model 'm' does not exist.", param="model", code="model_not_found")),
    ("model", 404, error(message="This is not a chat model and thus not supported in this endpoint.", param="model")),
    ("model", 404, error(message="The model `m` has been deprecated, learn more here", code="model_not_found")),
    ("fatal", 400, error(message="Unsupported value: 'temperature' does not support 0 with this model.", code="unsupported_value")),
    ("fatal", 400, error(message="This model's maximum context length is 8192 tokens.", code="context_length_exceeded")),
    ("fatal", 400, error(message="Invalid schema for response_format 'answer'", param="response_format")),
    ("fatal", 404, error(message="Invalid URL (POST /v1/v1/chat/completions)", code=None)),
    ("refusal", 400, error(message="Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
                           code="invalid_prompt")),
    ("refusal", 400, error(message="The response was filtered", code="content_filter")),
    # Anthropic
    ("auth", 401, {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}),
    ("auth", 403, {"type": "error", "error": {"type": "permission_error", "message": "Your API key does not have permission."}}),
    ("quota", 400, {"type": "error", "error": {"type": "invalid_request_error", "message":
        "Your credit balance is too low to access the Anthropic API."}}),
    ("quota", 400, {"type": "error", "error": {"type": "invalid_request_error", "message":
        "You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC."}}),
    ("quota", 402, {"type": "error", "error": {"type": "billing_error", "message": "Payment needed"}}),
    ("model", 404, {"type": "error", "error": {"type": "not_found_error", "message": "model: some-claude"}}),
    ("fatal", 404, {"type": "error", "error": {"type": "not_found_error", "message": "Not Found"}}),
    ("fatal", 400, {"type": "error", "error": {"type": "invalid_request_error", "message":
        "output_config.format.schema: For 'number' type, property 'minimum' is not supported"}}),
    ("fatal", 413, {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the size"}}),
    ("refusal", 400, {"type": "error", "error": {"type": "invalid_request_error", "message":
        "Output blocked by content filtering policy"}}),
    ("retry", 529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    # Google
    ("auth", 400, google("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", {"reason": "API_KEY_INVALID"})),
    ("auth", 400, google("INVALID_ARGUMENT", "API key expired. Please renew the API key.")),
    ("auth", 403, google("PERMISSION_DENIED", "Your API key was reported as leaked.")),
    ("retry", 429, google("RESOURCE_EXHAUSTED", GOOGLE_QUOTA, PER_MINUTE, RETRY_INFO)),
    ("quota", 429, google("RESOURCE_EXHAUSTED", GOOGLE_QUOTA, PER_DAY, RETRY_INFO)),
    ("quota", 429, google("RESOURCE_EXHAUSTED", GOOGLE_QUOTA)),
    ("quota", 429, google("RESOURCE_EXHAUSTED", "Your prepayment credits are depleted.")),
    ("retry", 429, google("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).")),
    ("retry", 503, google("UNAVAILABLE", "The model is overloaded. Please try again later.")),
    ("model", 404, google("NOT_FOUND", "models/m is not found for API version v1beta, or is not supported.")),
    ("model", 400, google("INVALID_ARGUMENT", "* GenerateContentRequest.model: unexpected model name format")),
    ("retry", 429, [google("RESOURCE_EXHAUSTED", GOOGLE_QUOTA, RETRY_INFO)]),
    # OpenRouter, vLLM, Ollama, Mistral, Groq, DeepSeek and others
    ("quota", 402, error(message="Insufficient credits", code=402)),
    ("quota", 403, error(message="Key limit exceeded", code=403)),
    ("quota", 402, error(message="This request requires more credits, or fewer max_tokens.", code=402)),
    ("quota", 402, error(message="Insufficient Balance", code="invalid_request_error")),
    ("model", 400, error(message="m is not a valid model ID", code=400)),
    ("model", 404, error(message="No endpoints found for some/model.", code=404)),
    ("refusal", 403, error(message="Your chosen model requires moderation and your input was flagged", code=403)),
    ("model", 404, {"object": "error", "message": "The model `m` does not exist.", "type": "NotFoundError", "code": 404}),
    ("model", 404, error(message="model 'm' not found", type="not_found_error")),
    ("model", 404, {"error": "model 'm' not found, try pulling it first"}),
    ("model", 400, {"object": "error", "message": "Invalid model: m", "type": "invalid_model", "code": "1500"}),
    ("model", 400, error(message="The model `m` has been decommissioned and is no longer supported.", code="model_decommissioned")),
    ("fatal", 404, {"detail": "Not Found"}),
    ("fatal", 422, {"detail": [{"loc": ["body"], "msg": "field required"}]}),
    # Bare statuses
    ("auth", 401, None), ("quota", 402, None), ("auth", 403, None), ("fatal", 400, None), ("fatal", 404, None),
    ("fatal", 405, "no"), ("retry", 408, None), ("retry", 409, None), ("fatal", 410, None), ("fatal", 418, 7), ("retry", 425, []),
    ("retry", 429, {}), ("retry", 500, None), ("fatal", 501, None), ("retry", 502, "<html>"), ("retry", 504, None),
    ("retry", 520, None), ("retry", 529, None),
    # What a broken server says of money or models is not believed.
    ("retry", 500, error(message="insufficient_quota: model not found", code="insufficient_quota")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "status", "data"), WORDED)
def test_what_an_error_means(kind: str, status: int, data: Any) -> None:
    found = judge(status, data, asked_wait({}, data, NOW))
    assert found.kind == kind
    assert found.message.startswith(f"answered {status}")


TOLD = st.sampled_from("error message code type details violations @type retryDelay reason".split())
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TOLD, inner, max_size=5),
    max_leaves=20,
)


@given(st.integers(400, 599), ANY, st.sampled_from(PROTOCOLS))
def test_no_error_raises(status: int, data: Any, protocol: str) -> None:
    body = json.dumps(data).encode()
    scrub = Scrubber(KEY)
    assert isinstance(read(load_provider(protocol), Fetched(status, {}, body), scrub, NOW), Failure)
    assert isinstance(read(load_provider(protocol), Fetched(200, {}, body), scrub, NOW), Failure | Completion)


@given(st.binary(max_size=200), st.sampled_from(["", "gzip", "deflate", "x"]), st.integers(200, 599))
def test_no_bytes_raise(raw: bytes, encoding: str, status: int) -> None:
    body = decoded(raw, encoding, 1000)
    if isinstance(body, bytes):
        assert len(body) <= 1000
        assert isinstance(read(OPENAI, Fetched(status, {}, body), Scrubber(KEY), NOW), Failure | Completion)


# --- Waits ---


@pytest.mark.parametrize(
    ("headers", "data", "wait"),
    [
        ({}, None, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, google("", "", RETRY_INFO), 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, google("", "", RETRY_INFO), 9.0),
        ({"retry-after": " 0.25 "}, None, 0.25),
        ({"retry-after": formatdate(NOW + 12, usegmt=True)}, None, 12.0),
        ({"retry-after": formatdate(NOW + 12, usegmt=True), "date": formatdate(NOW + 10, usegmt=True)}, None, 2.0),
        ({"retry-after": formatdate(NOW - 12, usegmt=True)}, google("", "", RETRY_INFO), 33.0),
        ({"retry-after": "0"}, None, None),
        ({"retry-after": "-5"}, google("", "", RETRY_INFO), 33.0),
        ({"retry-after": "inf"}, None, None),
        ({"retry-after": "nan"}, None, None),
        ({"retry-after": "9" * 400}, None, None),
        ({"retry-after": "Mon, 99 Foo 99999 99:99:99 GMT"}, None, None),
        ({}, google("", "", RETRY_INFO), 33.0),
        ({}, google("", "", {"@type": "x.RetryInfo", "retryDelay": "1s"}), None),
        ({}, google("", "", RETRY_INFO | {"retryDelay": "1m0.5s"}), 60.5),
        ({}, google("", "", RETRY_INFO | {"retryDelay": {"seconds": 3}}), None),
        ({}, error(details="x"), None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], data: Any, wait: float | None) -> None:
    assert asked_wait(headers, data, NOW) == wait


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0), ("6m0s", 360.0), ("120ms", 0.12), ("1h2m3.5s", 3723.5), ("1d", 86400.0), ("59.993s", 59.993),
        ("17", 17.0), ("0.5", 0.5), (str(int(NOW) + 20), 20.0), (str((int(NOW) + 20) * 1000), 20.0), ("1700000000", 0.0),
        ("2027-01-15T08:00:30Z", 30.0), ("2027-01-15T08:00:30+00:00", 30.0), ("2027-01-15T08:00:30", 30.0),
        ("2020-01-01T00:00:00Z", 0.0), ("", None), ("soon", None), ("1..5s", None), ("s", None), ("-1s", None),
        ("9" * 300, None), ("0001-01-01T00:00:00+23:59", 0.0),
    ],
)  # fmt: skip
def test_until_a_limit_resets(text: str, seconds: float | None) -> None:
    assert until_reset(text, NOW) == (None if seconds is None else pytest.approx(seconds))


@given(st.text(alphabet="0123456789.dhmsTZ:-+ e", max_size=30))
def test_times_never_raise(text: str) -> None:
    for seconds in (until_reset(text, NOW), duration(text), asked_wait({"retry-after": text}, None, NOW)):
        assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


def test_the_jitter_is_the_calls_own() -> None:
    waits = [backoff(f"p{i}", 2) for i in range(200)]
    assert all(3 <= wait <= 5 for wait in waits)
    assert max(waits) - min(waits) > 1.5
    assert waits == [backoff(f"p{i}", 2) for i in range(200)]
    assert all(10 <= stretched(10, f"p{i}", 0) <= 11 for i in range(200))


def test_retries_are_the_same_every_time() -> None:
    def slept() -> list[float]:
        time = FakeTime()
        with Loopback(lambda seen: failure(seen, "server_error")) as server:
            assert ask("openai", server.url, time).requests == len(STEPS) + 1
        return time.slept

    first = slept()
    assert first == slept()
    assert all(0.75 * step <= wait <= 1.25 * step for step, wait in zip(STEPS, first, strict=True))


# --- Pacing ---

COSTS = costs_of(100, 50)


def pace() -> tuple[Pace, FakeTime]:
    time = FakeTime()
    return Pace(time.timing.clock, time.timing.now), time


def said(left: int, reset: str, name: str = "requests") -> dict[str, str]:
    return {f"x-ratelimit-remaining-{name}": str(left), f"x-ratelimit-reset-{name}": reset}


@pytest.mark.parametrize(
    ("headers", "delay"),
    [
        ({}, 0.0),
        (said(1, "10s"), 0.0),
        (said(0, "10s"), 10.0),
        (said(0, "400s"), 60.0),
        (said(0, "nonsense"), 0.0),
        ({"x-ratelimit-remaining-requests": "0"}, 0.0),
        ({"x-ratelimit-remaining-requests": "-3", "x-ratelimit-reset-requests": "10s"}, 0.0),
        (said(149, "7s", "tokens"), 7.0),
        (said(150, "7s", "tokens"), 0.0),
        ({"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "2027-01-15T08:00:30Z"}, 30.0),
        ({"anthropic-ratelimit-input-tokens-remaining": "99",
          "anthropic-ratelimit-input-tokens-reset": "2027-01-15T08:00:05Z"}, 5.0),
        ({"anthropic-ratelimit-output-tokens-remaining": "50",
          "anthropic-ratelimit-output-tokens-reset": "2027-01-15T08:00:05Z"}, 0.0),
        (said(0, "10s") | said(0, "20s", "tokens"), 20.0),
    ],
)  # fmt: skip
def test_headers_hold_the_next_request_back(headers: dict[str, str], delay: float) -> None:
    paced, time = pace()
    paced.answered(paced.sent(COSTS), ANTHROPIC, headers)
    assert paced.delay(COSTS) == pytest.approx(delay)
    time.passed += delay + 0.001
    assert paced.delay(COSTS) == 0


def test_what_is_under_way_is_perhaps_not_in_the_header_yet() -> None:
    paced, _ = pace()
    first, second, third = (paced.sent(COSTS) for _ in range(3))
    paced.answered(second, OPENAI, said(3, "10s"))
    assert paced.delay(COSTS) == 0
    fourth = paced.sent(COSTS)
    assert paced.delay(COSTS) == 10
    # Sent earlier, so what it was told is older.
    paced.answered(first, OPENAI, said(40, "10s"))
    assert paced.delay(COSTS) == 10
    paced.answered(fourth, OPENAI, said(2, "10s"))
    assert paced.delay(COSTS) == 0
    paced.answered(third, OPENAI, None)


def test_a_limit_is_kept_to() -> None:
    """A server with 5 requests for each 100 ms has next to nothing to refuse.

    An answer that is under way while the window changes tells of the old one, so a refusal now and then is no fault.
    Without pacing there are dozens.
    """
    windows: Counter[int] = Counter()

    time = FakeTime()

    def react(seen: Seen) -> Reaction:
        passed = time.passed * 10
        windows[int(passed)] += 1
        left, reset = 5 - windows[int(passed)], f"{100 * (1 - passed % 1):.3f}ms"
        return failure(seen, "rate_limit") if left < 0 else answer(seen, TEXT, headers=list(said(left, reset).items()))

    with Loopback(react) as server:
        router = open_model("openai", server.url, time, concurrency=4)
        replies = asyncio.run(ask_all(router, [request(f"p{i}") for i in range(30)]))
        assert len(server.seen) <= 34
    assert {reply.status for reply in replies} == {"finished"}


def test_requests_per_minute() -> None:
    time = FakeTime()
    with Loopback(lambda seen: answer(seen, TEXT)) as server:
        router = open_model("openai", server.url, time, concurrency=8, requests_per_minute=120)
        asyncio.run(ask_all(router, [request(f"p{i}") for i in range(11)]))
    assert time.passed == pytest.approx(5.0)


def test_one_waiting_model_does_not_hold_up_another() -> None:
    time = FakeTime()
    order: list[str] = []

    def react(seen: Seen) -> Reaction:
        order.append(seen.model)
        if seen.model == "slow" and order.count("slow") == 1:
            return failure(seen, "rate_limit", headers=[("retry-after", "50")])
        return answer(seen, TEXT)

    async def go(url: str) -> None:
        slow, fast = (open_model("openai", url, time, concurrency=1, model=model) for model in ("slow", "fast"))
        await slow.ask(request("first"))
        await asyncio.gather(*(slow.ask(request(f"s{i}")) for i in range(3)), fast.ask(request("f")))
        await slow.close()
        await fast.close()

    with Loopback(react) as server:
        asyncio.run(go(server.url))
    assert order.count("slow") == 5
    assert order.count("fast") == 1
    assert time.passed < 60


# --- Connections ---


@pytest.mark.slow
def test_each_call_has_a_connection_and_no_more_are_open_than_allowed() -> None:
    under_way: list[int] = []

    async def go(url: str) -> list[Reply]:
        router = open_model("openai", url, concurrency=3)
        asked = asyncio.gather(*(router.ask(request(f"p{i}")) for i in range(60)))
        while not asked.done():
            under_way.append(server.open)
            await asyncio.sleep(0.001)
        return await asked

    with Loopback(lambda seen: answer(seen, TEXT).but(delay=0.005)) as server:
        replies = asyncio.run(go(server.url))
        assert (len(server.seen), server.connections) == (60, 60)
    assert {reply.status for reply in replies} == {"finished"}
    assert 1 <= max(under_way) <= 2 * 3, "a server may notice late that a connection is closed"


def test_two_models_of_one_server_share_its_limits() -> None:
    async def go(url: str) -> None:
        routers = [open_model("openai", url, concurrency=2, model=model) for model in ("a", "b", "a")]
        for router in routers:
            router._timing = routers[0]._timing
        await asyncio.gather(*(router.ask(request(f"p{i}")) for i in range(5) for router in routers))
        assert len(_OPEN[asyncio.get_running_loop()]) == 1
        for router in routers:
            await router.close()
            await router.close()
        assert _OPEN[asyncio.get_running_loop()] == {}

    with Loopback(lambda seen: answer(seen, TEXT).but(delay=0.005)) as server:
        asyncio.run(go(server.url))
        assert (len(server.seen), server.connections) == (15, 15)


def test_another_key_is_another_client() -> None:
    async def go() -> None:
        ends = [Endpoint("http://127.0.0.1:9", key) for key in ("one", "two", "one")]
        clients = [borrow_client(end) for end in ends]
        assert clients[0] is clients[2]
        assert clients[0] is not clients[1]
        for end in ends:
            give_client_back(end)

    asyncio.run(go())


def test_a_router_can_be_used_in_a_second_loop() -> None:
    with Loopback() as server:
        router = open_model("openai", server.url)
        for _ in range(2):
            assert asyncio.run(ask_all(router, [request()]))[0].status == "finished"
        assert len(server.seen) == 2


def test_a_server_that_closes_the_connection_costs_nothing() -> None:
    with Loopback(lambda seen: answer(seen, TEXT).but(close=True)) as server:
        router = open_model("openai", server.url, concurrency=2)
        replies = asyncio.run(ask_all(router, [request(f"p{i}") for i in range(10)]))
        assert len(server.seen) == 10
    assert {(reply.status, reply.requests) for reply in replies} == {("finished", 1)}


def test_certificates_are_checked() -> None:
    context = trusted_certificates()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.cert_store_stats()["x509_ca"] > 50


# --- Keys and addresses ---


@pytest.mark.parametrize(
    ("base", "words"),
    [
        ("http://api.example.com/v1", "is not https"),
        ("http://8.8.8.8", "is not https"),
        ("http://localhost.example.com", "is not https"),
        ("http://127.0.0.1.example.com", "is not https"),
        ("http://[2001:4860:4860::8888]", "is not https"),
        ("https://user:hunter2@host.example", "user name or a password"),
        ("https://host.example/v1?key=hunter2", "must end with its path"),
        ("https://host.example/v1#hunter2", "must end with"),
        ("hunter2", "is not a URL"),
        ("ftp://host.example", "is not a URL"),
        ("https://", "is not a URL"),
        ("https://host.example:99999", "is not a URL"),
        ("https://[::1", "is not a URL"),
        ("https://host.example/a b", "is not a URL"),
        ("https://höst.example", "is not a URL"),
        ("https://host.example/\x1b[2J", "is not a URL"),
    ],
)
def test_base_urls_that_are_refused(base: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        open_model("openai", base)
    message = str(raised.value)
    assert message.startswith("openai:some-model: base-url ")
    assert words in message
    assert "hunter2" not in message
    assert KEY not in message
    assert message.isprintable()


@pytest.mark.parametrize(
    "base",
    ["https://api.example.com", "http://localhost:8080", "http://box.localhost", "http://127.0.0.1", "http://[::1]:80",
     "http://10.0.0.7/v1", "http://192.168.1.5:11434", "http://172.16.0.1", "http://[fd00::1]"],
)  # fmt: skip
def test_base_urls_that_may_have_the_key(base: str) -> None:
    assert open_endpoint(Provider("openai", base, KEY_ENV), OPENAI).key == KEY


def test_without_a_key_any_address_is_good() -> None:
    end = open_endpoint(Provider("openai", "http://api.example.com/v1/"), OPENAI)
    assert (end.base_url, end.key, end.key_header) == ("http://api.example.com/v1", "", None)
    with Loopback() as server:
        assert ask("openai", server.url, key_env="").status == "finished"
        assert "authorization" not in server.seen[0].headers


@pytest.mark.parametrize(
    ("protocol", "name", "url"),
    [
        ("openai", "OPENAI_API_KEY", "https://api.openai.com/v1"),
        ("openai-responses", "OPENAI_API_KEY", "https://api.openai.com/v1"),
        ("anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com"),
        ("gemini", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com"),
    ],
)
def test_the_vendors_own_key_goes_to_the_vendor_only(protocol: str, name: str, url: str) -> None:
    wire = load_provider(protocol)
    environ = {name: "own-key-0123456789"}
    own = open_endpoint(None, wire, environ)
    assert (own.base_url, own.key) == (url, "own-key-0123456789")
    assert open_endpoint(Provider(protocol, concurrency=9), wire, environ).key == "own-key-0123456789"
    assert open_endpoint(Provider(protocol, "https://other.example"), wire, environ).key == ""
    assert "own-key" not in repr(own)


@pytest.mark.parametrize("value", ["", "  ", "two words", "kéy", "a\nb", "a\x00b"])
def test_a_key_that_cannot_be_one(value: str) -> None:
    with pytest.raises(UsageError, match=f" {KEY_ENV} ") as raised:
        open_endpoint(Provider("openai", "https://h.example", KEY_ENV), OPENAI, {KEY_ENV: value})
    assert not value.strip() or value not in str(raised.value)


def test_a_router_without_a_key_describes_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    setup = Setup("anthropic:some-claude", "some-claude", Catalogue(()), protocol=ANTHROPIC)
    with pytest.raises(UsageError, match=r"anthropic:some-claude: .* ANTHROPIC_API_KEY "):
        open_router(setup)
    assert open_router(replace(setup, settings={"keyless": True})).describe() == {
        "protocol": "anthropic", "base_url": "https://api.anthropic.com", "max_output_tokens": 1024,
    }  # fmt: skip


def test_a_router_needs_a_model() -> None:
    with pytest.raises(UsageError, match='"openai" names no model; write openai:MODEL'):
        open_router(Setup("openai", "", Catalogue(()), protocol=OPENAI))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("model", ["..", "../../elsewhere", "a/./b", "a/..", "m\nx", "m\x1b[2J", "m\x00", "m\udce9"])
def test_names_that_no_model_has(protocol: str, model: str) -> None:
    with pytest.raises(UsageError, match="is no name of a model") as raised:
        open_model(protocol, "https://h.example", model=model)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize("model", ["a b", "org/model:free", "modèle", "m.1", "..m", "a//b"])
def test_names_that_a_model_may_have(model: str) -> None:
    with Loopback() as server:
        assert ask("gemini", server.url, model=model).status == "finished"
        assert server.seen[0].path.startswith("/v1beta/")


@pytest.mark.parametrize("name", [KEY, "hf_AbCdEf0123456789", "two words", "x\x1b[2J"])
def test_a_key_in_the_place_of_its_name_is_not_repeated(name: str) -> None:
    with pytest.raises(UsageError, match="key-env") as raised:
        open_endpoint(Provider("openai", "https://h.example", name), OPENAI, {})
    assert name not in str(raised.value)


def test_a_variable_may_have_a_small_name() -> None:
    assert open_endpoint(Provider("openai", "https://h.example", "my_key"), OPENAI, {"my_key": KEY}).key == KEY


# --- What is kept of an answer ---


@given(st.text(), st.text(), st.integers(1, 400))
def test_no_text_keeps_the_key(before: str, after: str, limit: int) -> None:
    scrub = Scrubber(KEY)
    said = before + KEY + after + KEY
    for text in (scrub.text(said, limit), scrub.line(said, limit), scrub.optional(said, limit) or ""):
        assert KEY not in text
        assert len(text) <= limit
        text.encode()
    assert clean(scrub.line(said)) == scrub.line(said)
    assert KEY not in json.dumps([scrub.small({said: [said]}), scrub.deep({said: [said]})])


def test_a_placeholder_is_no_key() -> None:
    """Local servers are given words such as "none"; an answer is full of them."""
    for word in ("none", "EMPTY", "ollama"):
        assert Scrubber(word).text(f'{{"ranking": ["{word}"]}}') == f'{{"ranking": ["{word}"]}}'


@given(ANY)
def test_usage_can_be_written_again(value: Any) -> None:
    text = json.dumps(Scrubber(KEY).small(value), allow_nan=False)
    assert len(text) < 64**4 * LINE


def test_usage_is_bounded() -> None:
    nested: Any = 1
    for _ in range(500):
        nested = [nested]
    huge = {"n": 10**30, "deep": nested, "long": "x" * 10**6, "many": list(range(10**5)), "fine": {"a": [1, 2.5, True]}}
    small = Scrubber("").small(huge)
    assert small["n"] is None
    assert small["fine"] == {"a": [1, 2.5, True]}
    assert len(json.dumps(small)) < 2000


def test_a_property_may_be_named_as_a_keyword() -> None:
    schema = {"properties": {"minimum": {"minimum": 1}}, "required": ["minimum"], "enum": [{"minimum": 1}]}
    assert without(schema, ("minimum",)) == {
        "properties": {"minimum": {}}, "required": ["minimum"], "enum": [{"minimum": 1}],
    }  # fmt: skip


def test_a_conversation_needs_no_router() -> None:
    """The client answers whole conversations too."""

    async def go(url: str) -> Completion:
        told = Conversation("m", (Turn("user", "Hello"),), "Be brief.")
        outcome = await Client(Endpoint(url)).complete(ANTHROPIC, told, "x")
        assert outcome.completion is not None
        return outcome.completion

    with Loopback(lambda seen: answer(seen, seen.text)) as server:
        assert asyncio.run(go(server.url)).text == "Hello"
        assert server.seen[0].body["system"] == "Be brief."


@pytest.mark.slow
def test_naming_a_protocol_loads_no_client() -> None:
    code = "import sys\nfrom skill_health.bench.providers._load import load_providers\nassert load_providers()\n"
    code += "print(sorted({'httpx', 'asyncio', 'ssl', 'numpy'} & set(sys.modules)))"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
