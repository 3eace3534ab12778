"""The router of every provider: PROVIDER:MODEL asks one model over HTTP, in a protocol of bench/providers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skill_health.bench.http.endpoint import Endpoint, base_url, open_endpoint
from skill_health.bench.http.failures import Failure
from skill_health.bench.http.messages import Completion, Conversation, Turn
from skill_health.bench.providers._api import ProviderProtocol
from skill_health.config.settings import Provider
from skill_health.core.errors import UsageError
from skill_health.router.records import Reply, RoutingRequest, Status
from skill_health.router.routers._api import Setup

if TYPE_CHECKING:
    from skill_health.bench.http.client import CallOutcome, Client, Timing
    from skill_health.bench.prices import TieredPrice
    from skill_health.bench.run.batches import BatchLane

KIND = "provider"
EXTRA = "bench"
IMPORTS = ("httpx",)

_STATUS: Mapping[str, Status] = {"model": "model_unavailable", "refusal": "refusal"}


def open_router(setup: Setup, timing: Timing | None = None) -> ProviderRouter:
    """The router of a provider's model.

    Raises UsageError, naming the model, for a base URL that cannot be used, a key that is not set or would be sent in
    the clear, and ModuleNotFoundError where httpx is missing. With `settings["keyless"]` no key is looked for: such a
    router describes itself, for a forecast, and cannot be asked.
    """
    protocol = setup.protocol
    if protocol is None:
        raise ValueError(f"{setup.spec}: no protocol is given")
    if not setup.model:
        raise UsageError(f'"{setup.spec}" names no model; write {setup.spec.partition(":")[0]}:MODEL')
    if not setup.model.isprintable() or {".", ".."} & set(setup.model.split("/")):
        # Gemini has the model in the path, and a path with ".." is that of something else.
        raise UsageError(f"{setup.spec[:200]!r} is no name of a model: it holds control characters or parts of a path")
    import httpx  # noqa: F401

    try:
        where = base_url(setup.provider, protocol)
        endpoint = None if setup.settings.get("keyless") else open_endpoint(setup.provider, protocol)
    except UsageError as error:
        raise UsageError(f"{setup.spec}: {error}") from None
    return ProviderRouter(setup, protocol, where, endpoint, timing)


class ProviderRouter:
    """Asks one model of one provider."""

    replicates = True

    def __init__(
        self,
        setup: Setup,
        protocol: ProviderProtocol,
        where: str,
        endpoint: Endpoint | None,
        timing: Timing | None = None,
    ) -> None:
        self._setup, self._protocol, self._where = setup, protocol, where
        self._endpoint, self._timing = endpoint, timing
        self._limit = (setup.provider or Provider(protocol.name)).max_output_tokens
        self._client: Client | None = None

    def describe(self) -> Mapping[str, Any]:
        """The protocol, the server and the limit of the answer; no key."""
        return {"protocol": self._protocol.name, "base_url": self._where, "max_output_tokens": self._limit}

    async def ask(self, request: RoutingRequest) -> Reply:
        """Send the request's text as the user's only turn."""
        if self._endpoint is None:
            raise RuntimeError(f"{self._setup.spec} was opened without a key, to be described only")
        if self._client is None:
            from skill_health.bench.http.client import borrow_client

            self._client = borrow_client(self._endpoint, self._timing)
        label = (
            f"{self._setup.seed}|{self._setup.spec}|{request.prompt.prompt_id}|{request.replication}|{request.attempt}"
        )
        return reply_of(await self._client.complete(self._protocol, self.converse(request), label))

    def converse(self, request: RoutingRequest) -> Conversation:
        """What is said in one request: its text, as the user's only turn."""
        turns = (Turn("user", request.text, shared=request.shared),)
        return Conversation(self._setup.model, turns, schema=request.schema, max_output_tokens=self._limit)

    def lane(self, price: TieredPrice | None) -> BatchLane:
        """Whom batches go to. Raises RuntimeError where it was opened without a key."""
        from skill_health.bench.run.batches import BatchLane

        if self._endpoint is None:
            raise RuntimeError(f"{self._setup.spec} was opened without a key, to be described only")
        return BatchLane(self._setup.spec, self._setup.model, self._protocol, self._endpoint, price)

    async def close(self) -> None:
        """Let go of connections."""
        if self._client is not None and self._endpoint is not None:
            from skill_health.bench.http.client import give_client_back

            self._client = None
            give_client_back(self._endpoint, self._timing)


def reply_of(outcome: CallOutcome) -> Reply:
    """An outcome as the run's record of it."""
    if outcome.completion is not None:
        return replace(_answered(outcome.completion), requests=outcome.requests, duration_ms=outcome.duration_ms)
    failure = outcome.failure or Failure("fatal", "did not answer")
    status = _STATUS.get(failure.kind, "provider_error")
    return Reply(
        status=status,
        requests=outcome.requests,
        duration_ms=outcome.duration_ms if status == "refusal" else None,
        error=failure.message,
        stop="quota" if failure.kind == "quota" else "auth" if failure.kind == "auth" else "",
    )


def _answered(completion: Completion) -> Reply:
    refused = completion.end == "refusal"
    return Reply(
        status="refusal" if refused else "truncated" if completion.end == "truncated" else "finished",
        text=completion.text,
        model=completion.model,
        request_id=completion.request_id,
        stop_reason=completion.stop_reason,
        usage=completion.usage,
        error=f"the model refused to answer ({completion.stop_reason or 'no reason given'})" if refused else "",
    )
