"""Ray: workers of this machine, or of a cluster that is running.

    ray                 one worker for each processor of this machine, for as long as the command takes
    ray:4               four of them
    ray:auto            the cluster that this machine is part of
    ray:HOST:PORT       the cluster whose head is there

Pieces are tasks that are never repeated by Ray itself: whoever asked for one decides, and has written down that it was
begun.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from typing import Any, NamedTuple, TypeVar, cast

from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import blake2b
from skill_health.core.forks import processors
from skill_health.executors._api import LOOPBACK, WorkerLostError
from skill_health.text.patterns import lazy

_Result = TypeVar("_Result")
TITLE = "Ray: workers of this machine, or of a cluster"
EXTRA = "ray"
IMPORTS = ("ray",)
PATIENCE = 20.0
"""Seconds that a piece of work has to end when it is cancelled, before its worker is killed."""
_MOST_HELD = 256
OURS = __name__.partition(".")[0]
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Under this name Ray keeps to the loopback address, which it does by itself on those systems alone."""


_SECRET = lazy(r"(?i)KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
_OF_RAY = "RAY_"


@contextmanager
def _secrets_aside() -> Iterator[None]:
    """Start processes without the variables that are named as secrets are: no worker needs one."""
    aside = {name: value for name, value in os.environ.items() if _SECRET.search(name) and not name.startswith(_OF_RAY)}
    for name in aside:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(aside)


class _Shared(NamedTuple):
    """What stands for a value: its hash, and where each machine fetches it from."""

    mark: bytes
    reference: Any


_held: dict[bytes, Any] = {}
"""The values that this worker has fetched, the last used at the end."""


def _fetch(shared: _Shared) -> Any:
    if shared.mark in _held:
        _held[shared.mark] = _held.pop(shared.mark)
    else:
        while len(_held) >= _MOST_HELD:
            del _held[next(iter(_held))]
        _held[shared.mark] = import_module("ray").get(shared.reference)
    return _held[shared.mark]


def _do(work: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
    """What a worker does."""
    given = [_fetch(each) if isinstance(each, _Shared) else each for each in arguments]
    return asyncio.run(cast(Any, work(*given)))


def _more_plugins() -> dict[str, list[str]]:
    """The packages of ours that have plug-ins in further folders, with all their folders."""
    packages = {name: getattr(module, "__path__", ()) for name, module in tuple(sys.modules.items())}
    return {name: list(found) for name, found in packages.items() if name.startswith(f"{OURS}.") and len(found) > 1}


def _plugin_taker(folders: dict[str, list[str]]) -> Callable[[], None]:
    """What a worker does first: it looks for plug-ins where the process does that wants its work."""

    def take_plugins() -> None:
        for name, found in folders.items():
            package = import_module(name)
            package.__path__ = [*package.__path__, *(each for each in found if each not in package.__path__)]

    return take_plugins


class RayExecutor:
    """Workers of Ray, for one process: a connection of this process, which `close` ends."""

    def __init__(self, address: str) -> None:
        ray: Any = import_module("ray")
        self._ray = ray
        local = not _is_elsewhere(address)
        self.host = LOOPBACK
        more: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
        if folders := _more_plugins():
            more["runtime_env"] = {"worker_process_setup_hook": _plugin_taker(folders)}
        with (
            open(os.devnull, "w", encoding="utf-8") as nothing,
            redirect_stdout(nothing),
            redirect_stderr(nothing),
            _secrets_aside(),
        ):
            try:
                if local:
                    workers = int(address or processors())
                    ray.init(address="local", num_cpus=workers, num_gpus=0, include_dashboard=False, **more)
                else:
                    ray.init(address=address, **more)
                    self.host = ray.util.get_node_ip_address()
            except (ConnectionError, OSError, RuntimeError, ValueError) as error:
                where = "on this machine" if local else f"at {address[:80]!r}"
                said = " ".join(str(error).split())[:200]
                raise UsageError(f"there are no workers of Ray {where}: {said}") from None
        self.workers = int(ray.cluster_resources().get("CPU", 0)) or 1
        self._remote = ray.remote(num_cpus=1, max_retries=0)(_do)
        self._shared: dict[bytes, _Shared] = {}
        self._known: dict[int, tuple[Any, _Shared]] = {}

    def share(self, value: Any) -> Any:
        """A reference to the value in the store of objects, from which each machine fetches it once."""
        known = self._known.get(id(value))
        if known is None:
            mark = blake2b(self._ray.cloudpickle.dumps(value), digest_size=32).digest()
            if mark not in self._shared:
                self._shared[mark] = _Shared(mark, self._ray.put(value))
            # The value is kept, so that no other one comes to its address.
            known = self._known[id(value)] = value, self._shared[mark]
        return known[1]

    async def call(self, work: Callable[..., Awaitable[_Result]], *arguments: Any) -> _Result:
        """Have a worker do it; see `Executor`."""
        errors = self._ray.exceptions
        under_way = self._remote.remote(work, *arguments)
        waiting = asyncio.wrap_future(under_way.future())
        try:
            return cast(_Result, await asyncio.shield(waiting))
        except asyncio.CancelledError:
            await self._end(under_way, waiting)
            raise
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.RayError as error:
            raise WorkerLostError(" ".join(str(error).split())[:300]) from None

    async def _end(self, under_way: Any, waiting: asyncio.Future[Any]) -> None:
        """Interrupt a piece of work, and kill its worker where that does not end it."""
        for force in (False, True):
            with suppress(Exception):
                self._ray.cancel(under_way, force=force)
            with suppress(Exception, asyncio.CancelledError):
                async with asyncio.timeout(PATIENCE):
                    await asyncio.shield(waiting)
            if waiting.done():
                waiting.cancelled() or waiting.exception()
                return

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        self._shared.clear()
        self._known.clear()
        self._ray.shutdown()


def _is_elsewhere(address: str) -> bool:
    """Whether an address is that of a cluster which is running."""
    return bool(address) and not address.isdecimal()


def open_executor(address: str) -> RayExecutor:
    """Workers at an address of Ray, or so many on this machine. Raises UsageError where there are none."""
    if address.isdecimal() and not 1 <= int(address) <= 1024:
        raise UsageError(f"ray:{address}: between 1 and 1024 workers")
    for name, value in (_QUIET if _is_elsewhere(address) else _QUIET | _LOOPBACK).items():
        os.environ.setdefault(name, value)
    try:
        return RayExecutor(address)
    except ImportError as error:
        raise AbortedError(f"Ray cannot be used here: {error}") from error
