"""Names of executors -> workers that are ready."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import cast

from skill_health import executors
from skill_health.core.errors import UsageError
from skill_health.core.extras import missing_modules, tell_missing
from skill_health.core.plugins import plugin_names, quote_name
from skill_health.executors._api import Executor, ExecutorModule
from skill_health.text.near import nearest

LOCAL = "local"


def executor_names() -> list[str]:
    """The names of all back ends."""
    return [name for name in plugin_names(executors.__path__) if name != "shards"]


@contextmanager
def open_executor(spec: str) -> Iterator[Executor]:
    """The workers that NAME or NAME:ADDRESS means, until the context ends.

    Raises UsageError for an unknown name, for a missing extra, and where there are no workers at the address.
    """
    name, _, address = spec.partition(":")
    names = executor_names()
    if name not in names:
        near = nearest(name, names)
        hint = f"did you mean {near}?" if near else f"there are {' and '.join(names)}"
        raise UsageError(f"there is no executor {quote_name(name)}; {hint}")
    module = cast(ExecutorModule, import_module(f"{executors.__name__}.{name}"))
    if missing := missing_modules(module.IMPORTS):
        raise UsageError(tell_missing(f"the executor {name}", module.EXTRA, *missing))
    executor = module.open_executor(address)
    try:
        yield executor
    finally:
        executor.close()
