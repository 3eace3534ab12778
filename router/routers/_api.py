"""What a router is, and what its module must offer.

A module of this package is one router. It is named by the start of a model's name with `:` and `-` as `_`:
`lexical:bm25` is `lexical_bm25.py`. `_provider` is the router of all models of providers, PROVIDER:MODEL, whose
protocols are in bench/providers. A router's module has

    TITLE           one line for `router models`
    KIND            "local" (free, computed here), "provider" (asks a server) or "simulated"
    EXTRA           the extra of the distribution that it needs, or ""
    IMPORTS         the modules that this extra must make importable
    open_router     Setup -> Router

and imports nothing at its top that the base installation does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from skill_health.bench.providers._api import ProviderProtocol
from skill_health.config.settings import Provider
from skill_health.router.lexicon.abstention import AbstentionCriterion
from skill_health.router.records import Catalogue, Mode, Prompt, Reply, RoutingRequest

if TYPE_CHECKING:
    from skill_health.bench.http.messages import Conversation
    from skill_health.bench.prices import TieredPrice
    from skill_health.bench.run.batches import BatchLane


@dataclass(frozen=True, slots=True)
class Setup:
    """What a router is opened with.

    `spec` is the whole name as the user gave it, `model` what follows the router's own name ("" for most local ones).
    `train` are the prompts that a threshold may be chosen on by the `criterion`, each without its own say where they
    have no split. `index` is what
    local routers read of a skill: "description" (the text that is listed) or "body" (SKILL.md too) or "content" (the
    bundled references, too). `protocol` is that of a provider's
    model, and `provider` its configured server, None for the vendor's own. `settings` may fix what
    `describe` tells: `threshold` that of a local router.
    """

    spec: str
    model: str
    catalogue: Catalogue
    train: tuple[Prompt, ...] = ()
    provider: Provider | None = None
    protocol: ProviderProtocol | None = None
    seed: int = 1
    index: str = "description"
    mode: Mode = "text"
    none_allowed: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    criterion: AbstentionCriterion = AbstentionCriterion()  # noqa: RUF009 - it is frozen


class Router(Protocol):
    """A router that is ready to answer.

    `replicates` is False where every replication would give the same answer whatever the order: it is asked once.
    """

    @property
    def replicates(self) -> bool:
        """Whether a second replication can differ from the first."""

    def describe(self) -> Mapping[str, Any]:
        """What else a manifest must hold to repeat this: versions, thresholds, limits. JSON-safe, no key, no clock."""

    async def ask(self, request: RoutingRequest) -> Reply:
        """Answer one request. Never raises for what a server or a skill does; cancellation passes through."""

    async def close(self) -> None:
        """Let go of connections."""


@runtime_checkable
class BatchRouter(Protocol):
    """A router whose questions can go to its provider in batches."""

    def lane(self, price: TieredPrice | None) -> BatchLane:
        """Whom the batches go to, at this price. Raises RuntimeError where it was opened without a key."""

    def converse(self, request: RoutingRequest) -> Conversation:
        """What is said in one request."""
