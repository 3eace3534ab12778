"""This process, and those that the work itself starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from skill_health.core.errors import UsageError
from skill_health.core.forks import processors

_Result = TypeVar("_Result")
TITLE = "this machine"
EXTRA = ""
IMPORTS = ()


class LocalExecutor:
    """Does everything here, when it is asked."""

    host = ""

    @property
    def workers(self) -> int:
        """The processors."""
        return processors()

    def share(self, value: Any) -> Any:
        """The value."""
        return value

    async def call(self, work: Callable[..., Awaitable[_Result]], *arguments: Any) -> _Result:
        """Do it."""
        return await work(*arguments)

    def close(self) -> None:
        """Nothing is held."""


def open_executor(address: str) -> LocalExecutor:
    """This process. Raises UsageError where an address is given."""
    if address:
        raise UsageError("the executor local takes no address")
    return LocalExecutor()
