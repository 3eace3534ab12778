"""What a gateway is given and what it has seen.

    async with open_gateway(upstream, limits, socket) as gateway:     socket "" listens on 127.0.0.1 instead
        ... gateway.port (0 with a socket) ...
    gateway.seen                                       GatewayTrace, while it is open and after it was closed

The agent speaks its provider's protocol to it, with a stand-in for the key. It passes on nothing but calls of models to
the one server it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import TieredPrice


@dataclass(frozen=True, slots=True)
class Upstream:
    """The server behind a gateway, with its real key. `protocol` is a module of bench/providers."""

    endpoint: Endpoint
    protocol: str


@dataclass(frozen=True, slots=True)
class GatewayLimits:
    """What one trial may do. `key` is the stand-in that the agent must show.

    `max_usd` and `max_requests` end the trial's spending (None: no cap): further calls are refused with an error of the
    provider's own form. `model` is the only one that may be asked, as the price is that of one model ("": any).
    `asked` is the model that the trial asks: where a call meets an error of key or credit, the gateway asks it for a
    word itself, and believes only what its own call meets, too ("": every such error is believed).
    `closed` refuses every call of a model and only keeps what was asked: a probe. `watch` are the names (with
    descriptions) that are looked for in what the agent sends. `telling` are lines of each skill's body: where they
    stand in a conversation, the agent has been given that skill to read. `end_after` says why no further call may be
    made after so many answers to requests that had tools, and whether a skill was given by then; "" as long as one may.
    """

    key: str
    model: str = ""
    price: TieredPrice | None = None
    max_usd: float | None = None
    max_requests: int | None = None
    asked: str = ""
    closed: bool = False
    watch: Mapping[str, str] = field(default_factory=dict)
    telling: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    end_after: Callable[[int, bool], str] | None = None


@dataclass(frozen=True, slots=True)
class GatewayTrace:
    """What has passed. `usage` sums the answers that said one, None where none did; `unmetered` counts the others.

    An answer that told one side only, of input and output, is among both. `cost_usd` is that of the metered answers.
    `offered` are the watched names that stood, with at least the start of their description, in what a request said
    before its model's first answer; None as long as there was no request. Whoever has the stand-in key can add to them,
    as whatever the model runs has it. `first_request` is the first body, cut. `failure` is "", "quota" or "auth" (what
    stops a run), "capped", or "unreachable"; `error` one clear line about it without a key.

    `requests` counts calls of a model. `refused` counts what was turned away: anything else, a call without the
    stand-in key, of another model, with a tool that the provider would run. `errors` are the calls that the server
    answered with an error or broke off; `trouble` is one line about the last of either. They decide nothing: an agent
    tries again by itself. `refuted` is the last error of key or credit that a call of the gateway's own did not meet:
    it was that one request's. `barred` is why a call was refused that no trial may make.

    `turns` counts the answers to requests that had tools. `given` are the skills whose text has come into a
    conversation after the first answer of its model, in the order of the requests, those of one request together.
    """

    requests: int = 0
    answered: int = 0
    unmetered: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    models: tuple[str, ...] = ()
    offered: tuple[str, ...] | None = None
    first_request: bytes = b""
    failure: str = ""
    error: str = ""
    refused: int = 0
    errors: int = 0
    trouble: str = ""
    barred: str = ""
    refuted: str = ""
    turns: int = 0
    given: tuple[tuple[str, ...], ...] = ()
