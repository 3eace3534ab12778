"""Names of routers -> their modules, found by looking into this folder; names of providers -> their protocols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from skill_health.bench.providers._api import ProviderProtocol
from skill_health.bench.providers._load import list_providers, load_provider, load_providers
from skill_health.config.settings import Provider, RouterSettings
from skill_health.core.errors import UsageError
from skill_health.core.extras import missing_modules, tell_missing
from skill_health.core.plugins import LONGEST_NAME, plugin_names, quote_name
from skill_health.documents.router_manifest import RouterKind
from skill_health.router import routers
from skill_health.router.lexicon.abstention import AbstentionCriterion
from skill_health.router.records import Catalogue, Mode, Prompt
from skill_health.router.routers._api import Router, Setup

LOCAL, PROVIDER = "local", "provider"
OURS = ("router", "skill_health")


@dataclass(frozen=True, slots=True)
class RouterChoice:
    """A router that was named: what the user wrote, its module, and what the module is told.

    For the model of a provider that is its protocol, and its server where one is configured.
    """

    spec: str
    model: str
    module: ModuleType
    provider: Provider | None = None
    protocol: ProviderProtocol | None = None

    @property
    def kind(self) -> RouterKind:
        """The KIND of the module: local, provider or simulated."""
        return cast(RouterKind, self.module.KIND)


@dataclass(frozen=True, slots=True)
class RouterInfo:
    """What `router models` says of a router. `missing` are the modules of its extra that cannot be imported."""

    name: str
    title: str
    kind: str
    extra: str
    missing: tuple[str, ...]

    @property
    def installed(self) -> bool:
        """Whether everything that it imports is there."""
        return not self.missing


def available() -> list[RouterInfo]:
    """Every router of this package and every provider: local ones first, providers last, each by name."""
    found = [_info(module := _import(stem), _name(module), module.TITLE) for stem in _stems()]
    provider = _import("_provider")
    found += [_info(provider, protocol.name, protocol.title) for protocol in load_providers()]
    return sorted(found, key=lambda info: (info.kind != LOCAL, info.kind == PROVIDER, info.name))


def resolve(spec: str, routing: RouterSettings) -> RouterChoice:
    """The router that `spec` names, with the configured provider where it names one.

    Raises UsageError, with the nearest names, for an unknown name, for a provider without a model, and for a local
    router with one.
    """
    head, _, rest = spec.partition(":")
    configured = routing.providers.get(head)
    if configured or head in list_providers():
        protocol = _configured_protocol(head, configured) if configured else load_provider(head)
        if not rest.strip():
            raise UsageError(f"{quote_name(spec)}: which model? Write {head}:MODEL")
        if rest.strip() == "?":
            raise UsageError(f"which models {quote_name(head)} offers now: `skill-health router models {head}`")
        return RouterChoice(spec, rest, _import("_provider"), configured, protocol)
    whole = _named(spec)
    head, rest = (spec, "") if whole else (head, rest)
    module = whole or _named(head) or _unknown(spec, routing)
    name = _name(module)
    if module.KIND == LOCAL and spec != name:
        if any(info.name.startswith(f"{name}:") for info in available()):
            _unknown(spec, routing)
        raise UsageError(f"{quote_name(spec)}: {name} takes no model; write {name}")
    return RouterChoice(spec, rest, module)


def open_choice(
    choice: RouterChoice,
    catalogue: Catalogue,
    *,
    train: tuple[Prompt, ...] = (),
    seed: int = 1,
    index: str = "description",
    mode: Mode = "text",
    none_allowed: bool = True,
    settings: Mapping[str, Any] | None = None,
    criterion: AbstentionCriterion = AbstentionCriterion(),  # noqa: B008 - it is frozen
) -> Router:
    """Open a router over a catalogue. Raises UsageError where a package that it needs is missing."""
    return open_setup(
        choice.module,
        Setup(
            choice.spec, choice.model, catalogue, train, choice.provider, choice.protocol, seed, index, mode, none_allowed,
            settings or {}, criterion,
        ),
    )  # fmt: skip


def open_setup(module: ModuleType, setup: Setup) -> Router:
    """Open the router of a module. Raises UsageError where a package that it needs is missing."""
    try:
        return cast(Router, module.open_router(setup))
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in OURS or not module.EXTRA:
            raise
        raise UsageError(tell_missing(quote_name(setup.spec), module.EXTRA, *([missing] if missing else ()))) from error


def _stems() -> list[str]:
    return plugin_names(routers.__path__)


def _import(stem: str) -> ModuleType:
    return import_module(f"{routers.__name__}.{stem}")


def _name(module: ModuleType) -> str:
    """The name of a router: `lexical:bm25` is `lexical_bm25.py`."""
    stem = module.__name__.rpartition(".")[2]
    family, _, rest = stem.partition("_")
    return f"{family}:{rest.replace('_', '-')}" if rest else family


def _named(name: str) -> ModuleType | None:
    """The module of exactly this name, imported; None where there is none."""
    stem = name.replace(":", "_").replace("-", "_")
    if stem not in _stems():
        return None
    module = _import(stem)
    return module if _name(module) == name else None


def _configured_protocol(provider: str, configured: Provider) -> ProviderProtocol:
    known = list_providers()
    if configured.protocol not in known:
        raise UsageError(
            f'"router.providers.{provider}.protocol": there is no protocol {quote_name(configured.protocol)}; '
            f"take {', '.join(known)}"
        )
    return load_provider(configured.protocol)


def _unknown(spec: str, routing: RouterSettings) -> ModuleType:
    from difflib import get_close_matches

    names = [*(info.name for info in available()), *sorted(routing.providers)]
    head = spec.partition(":")[0]
    family = [name for name in names if name.startswith(f"{head}:")]
    near = (
        family
        or get_close_matches(spec[:LONGEST_NAME], names, n=3)
        or get_close_matches(head[:LONGEST_NAME], names, n=3)
    )
    hint = (
        f"did you mean {' or '.join(dict.fromkeys(near))}?"
        if near
        else "`skill-health router models` lists what there is"
    )
    raise UsageError(f"there is no router or provider {quote_name(spec)}; {hint}")


def _info(module: ModuleType, name: str, title: str) -> RouterInfo:
    needed: tuple[str, ...] = getattr(module, "IMPORTS", ())
    return RouterInfo(name, title, module.KIND, module.EXTRA, missing_modules(needed))
