"""Local routers whose answers are computed by the workers of an executor; each worker opens one router once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from skill_health.documents.router_manifest import Prompt
from skill_health.executors._api import Executor, WorkerLostError, call_again
from skill_health.router.records import ListedSkill, Reply, RoutingRequest
from skill_health.router.routers._api import Router, Setup
from skill_health.router.routers._load import open_setup

_MOST_OPEN = 4


@dataclass(frozen=True, slots=True)
class _Opening:
    """All that a router is opened with."""

    module: ModuleType
    setup: Setup


class FarRouter:
    """A local router that answers as `near` does, elsewhere: the same router, opened by workers.

    A request whose workers are lost again and again has no answer, which a resumed run asks for.
    """

    def __init__(self, near: Router, module: ModuleType, setup: Setup, executor: Executor) -> None:
        self._near, self._executor = near, executor
        self._names = frozenset(skill.name for skill in setup.catalogue.shown)
        self._opening = executor.share(_Opening(module, setup))

    @property
    def replicates(self) -> bool:
        """As the near one."""
        return self._near.replicates

    def describe(self) -> Mapping[str, Any]:
        """As the near one: where it is computed changes nothing."""
        return self._near.describe()

    async def ask(self, request: RoutingRequest) -> Reply:
        """The answer of a worker."""
        names = frozenset(skill.name for skill in request.skills)
        # All skills are there already.
        given = None if names == self._names else sorted(names)
        asked = request.prompt, request.replication, request.attempt, given
        try:
            return await call_again(self._executor, _answer, self._opening, *asked)
        except WorkerLostError as error:
            return Reply("provider_error", requests=0, error=f"the worker was lost: {error}")

    async def close(self) -> None:
        """Close the near one."""
        await self._near.close()


_open: dict[int, tuple[_Opening, Router, dict[str, ListedSkill]]] = {}
"""What this worker has opened, by the address of the opening, which is kept with it."""


async def _answer(opening: _Opening, prompt: Prompt, replication: int, attempt: int, names: list[str] | None) -> Reply:
    """What a worker does: one answer of a router that it opens when it is asked first."""
    if id(opening) not in _open:
        while len(_open) >= _MOST_OPEN:
            del _open[next(iter(_open))]
        by_name = {skill.name: skill for skill in opening.setup.catalogue.shown}
        _open[id(opening)] = opening, open_setup(opening.module, opening.setup), by_name
    _, router, known = _open[id(opening)]
    shown = opening.setup.catalogue.shown
    skills = shown if names is None else tuple(known[name] for name in names)
    return await router.ask(RoutingRequest(prompt, replication, skills, "", attempt=attempt))
