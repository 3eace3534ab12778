"""Who does pieces of a work, and what a back end must offer.

A module of this package whose name has no underscore in front, `shards` aside, is one back end. It has

    TITLE            what it is, in one line
    EXTRA, IMPORTS   the extra of the distribution that it needs, and the modules which that brings
    open_executor    address -> Executor, with "" for the usual place

`with open_executor("ray:4") as executor` (see `_load`) opens one. Shards need none of it: each is a run by itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

_Result = TypeVar("_Result")


LOOPBACK = "127.0.0.1"
"""The `host` of an executor whose workers are processes of this machine."""


class WorkerLostError(Exception):
    """A worker ended before its work did, which somebody else may do."""


class Executor(Protocol):
    """Workers that are ready."""

    @property
    def workers(self) -> int:
        """How many pieces are done at once."""

    @property
    def host(self) -> str:
        """The address under which workers reach this machine; "" where the work is done in this very process."""

    def share(self, value: Any) -> Any:
        """What stands for a value among the arguments of `call`: the same content is sent to a machine once."""

    async def call(self, work: Callable[..., Awaitable[_Result]], *arguments: Any) -> _Result:
        """What a module's function comes to. Cancellation ends the work first; its exceptions pass through.

        Raises WorkerLostError where its worker is lost.
        """

    def close(self) -> None:
        """Let the workers go."""


TRIES = 3
"""How often a piece of work is begun whose workers are lost."""


async def call_again(executor: Executor, work: Callable[..., Awaitable[_Result]], *arguments: Any) -> _Result:
    """What `call` gives, from another worker where one is lost, for work that may be done twice.

    Raises WorkerLostError where too many are.
    """
    for _ in range(TRIES - 1):
        try:
            return await executor.call(work, *arguments)
        except WorkerLostError:
            continue
    return await executor.call(work, *arguments)


class ExecutorModule(Protocol):
    """A back end's module."""

    TITLE: str
    EXTRA: str
    IMPORTS: tuple[str, ...]

    def open_executor(self, address: str) -> Executor:
        """The workers at an address. Raises UsageError where there are none."""
