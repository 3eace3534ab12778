"""One client for all routers that ask the same server with the same key, so that its limits hold for them together."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from skill_health.router.http.client import Client, Timing
from skill_health.router.http.endpoint import Endpoint

Key = tuple[Endpoint, Timing]
# For each running loop: the clients that are open, and how many have borrowed each. Connections belong to their loop.
_OPEN: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Key, tuple[Client, int]]] = WeakKeyDictionary()


def borrow(endpoint: Endpoint, timing: Timing | None = None) -> Client:
    """The client of this endpoint in the running loop. Each `borrow` needs one `give_back`."""
    clients = _OPEN.setdefault(asyncio.get_running_loop(), {})
    key = (endpoint, timing or Timing())
    client, users = clients.get(key) or (Client(*key), 0)
    clients[key] = (client, users + 1)
    return client


async def give_back(endpoint: Endpoint, timing: Timing | None = None) -> None:
    """Let go of a client; the last one to do so closes its connections."""
    clients = _OPEN[asyncio.get_running_loop()]
    key = (endpoint, timing or Timing())
    client, users = clients.pop(key)
    if users > 1:
        clients[key] = (client, users - 1)
    else:
        await client.aclose()
