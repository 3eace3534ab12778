"""Workspaces that serve one request after the other, each proved to hold what it held before its first one.

A control workspace is one with the same skills in which no agent ever was. Before each request everything below the
folder of a workspace (files, links, permissions, the home, the temporary folder) must have the hash of its control; a
workspace that has another one is given up, and a new one is made.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from skill_health.bench.manifest import digest
from skill_health.core.errors import AbortedError
from skill_health.effectiveness.sandbox._run import to_the_end
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.workspace.folders import Places, let_go, remove_tree, snapshot
from skill_health.effectiveness.workspace.workspace import Workplace, open_workplace

_SetKey = tuple[str, str, tuple[str, ...]]
_MOST_IDLE = 16
"""Workspaces that wait for their next request; more are removed."""


@dataclass(slots=True)
class ProvedWorkspace:
    """A workspace that is ready. `tree` is its hash, `served` how many requests it had before.

    `renewed` says that a used one was given up just before, because it was not as it had been.
    """

    at: Workplace
    tree: str
    served: int = 0
    renewed: bool = False


class Workshop:
    """The workspaces of one run. `place` is the run's folder, which no agent may see."""

    def __init__(self, place: str) -> None:
        self._place = os.path.join(place, "call")
        self._idle: dict[_SetKey, list[ProvedWorkspace]] = {}
        self._controls: dict[_SetKey, str] = {}
        self._making = asyncio.Lock()

    @asynccontextmanager
    async def workspace(self, cell: TrialSpec) -> AsyncIterator[ProvedWorkspace]:
        """A proved workspace for a call, to which it is given back afterwards.

        Raises AbortedError where none can be made.
        """
        digests = [skill.digest for skill in cell.skills]
        # A server lists skills in the order in which they lie in its store; files have none.
        key = (cell.choice.name, cell.back_end, tuple(digests if cell.arm.served else sorted(digests)))
        found = await self._taken(cell, key)
        kept = False
        try:
            yield found
            kept = True
        finally:
            await to_the_end(asyncio.to_thread(self._give_back, key, found, kept))

    async def close(self) -> None:
        """Remove every workspace."""
        for idle in self._idle.values():
            for each in idle:
                await to_the_end(asyncio.to_thread(_drop, each.at))
        self._idle.clear()

    async def _taken(self, cell: TrialSpec, key: _SetKey) -> ProvedWorkspace:
        renewed = False
        while idle := self._idle.get(key):
            one = idle.pop()
            if await asyncio.to_thread(tree_of, one.at) == self._controls[key]:
                return replace(one, renewed=renewed)
            renewed = True
            await to_the_end(asyncio.to_thread(_drop, one.at))
        async with self._making:
            if key not in self._controls:
                self._controls[key] = await to_the_end(asyncio.to_thread(self._control, cell))
        at = await to_the_end(asyncio.to_thread(open_workplace, cell, self._place))
        tree = await asyncio.to_thread(tree_of, at)
        if tree != self._controls[key]:
            await to_the_end(asyncio.to_thread(_drop, at))
            raise AbortedError("two workspaces with the same skills differ before any agent was in them")
        return ProvedWorkspace(at, tree, 0, renewed)

    def _control(self, cell: TrialSpec) -> str:
        """The hash of a workspace in which no agent was, nor will be."""
        at = open_workplace(cell, self._place)
        try:
            return tree_of(at)
        finally:
            _drop(at)

    def _give_back(self, key: _SetKey, used: ProvedWorkspace, kept: bool) -> None:
        """Make a used workspace ready for the next request, or remove it."""
        used.served += 1
        if kept and sum(map(len, self._idle.values())) < _MOST_IDLE and _emptied(used.at.places):
            self._idle.setdefault(key, []).append(used)
        else:
            _drop(used.at)


def tree_of(at: Workplace) -> str:
    """A hash of all that lies below the folder of a workspace, by the paths in it."""
    return digest(snapshot(at.places.base))


def _emptied(places: Places) -> bool:
    """Whether home, temporary folder and final message are as new; what else an agent left is for the proof."""
    try:
        os.chmod(places.workspace, 0o700)
        for folder in (places.home, places.temporary):
            remove_tree(folder)
            os.mkdir(folder, 0o700)
        os.truncate(places.final, 0)
    except OSError:
        return False
    return True


def _drop(at: Workplace) -> None:
    remove_tree(at.places.base)
    let_go(at.places.base)
