"""For tests: time that a test owns, and routers that ask a loopback server with a key."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from skill_health.bench.http.client import Timing
from skill_health.bench.providers._load import load_provider
from skill_health.config.settings import Provider
from skill_health.router.records import Catalogue, Prompt, Reply, RoutingRequest
from skill_health.router.routers._api import Setup
from skill_health.router.routers._provider import ProviderRouter, open_router

KEY = "sk-test-SECRET0123456789abcdef"
KEY_ENV = "LOOPBACK_KEY"
MODEL = "some-model"


@dataclass
class FakeTime:
    """A clock that moves only when somebody sleeps; `slept` is every sleep in order."""

    start: float = 1_800_000_000.0
    passed: float = 0.0
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        until = self.passed + seconds
        await asyncio.sleep(0)
        self.passed = max(self.passed, until)

    @property
    def timing(self) -> Timing:
        return Timing(self.sleep, self._clock, self._now)

    def _clock(self) -> float:
        return self.passed

    def _now(self) -> float:
        return self.start + self.passed


def request(prompt_id: str = "p1", schema: Mapping[str, Any] | None = None) -> RoutingRequest:
    """A question to a router; the text is all that is sent."""
    return RoutingRequest(Prompt(prompt_id, "", None), 1, (), f"Which skill fits? ({prompt_id})", schema)


def open_model(
    protocol: str, url: str, time: FakeTime | None = None, *, key_env: str = KEY_ENV, model: str = MODEL, **limits: Any
) -> ProviderRouter:
    """A router of this protocol that asks `url`; `limits` are those of Provider."""
    provider = Provider(protocol, base_url=url, key_env=key_env, **limits)
    setup = Setup(f"{protocol}:{model}", model, Catalogue(()), provider=provider, protocol=load_provider(protocol))
    return open_router(setup, (time or FakeTime()).timing)


async def ask_all(router: ProviderRouter, requests: Sequence[RoutingRequest]) -> list[Reply]:
    """All answers, asked at once; the router is closed."""
    try:
        return await asyncio.gather(*(router.ask(one) for one in requests))
    finally:
        await router.close()


def ask(protocol: str, url: str, time: FakeTime | None = None, **more: Any) -> Reply:
    """Ask once, in a loop of its own."""
    return asyncio.run(ask_all(open_model(protocol, url, time, **more), [request()]))[0]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is in the environment, and only there."""
    monkeypatch.setenv(KEY_ENV, KEY)
