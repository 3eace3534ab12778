"""What no call may ask for: tools that the provider runs, addresses that it fetches, an unusual price.

These would reach the network through the sandbox's only way out, or cost more than a count of tokens shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skill_health.bench.providers._api import ProviderProtocol, RequestFields, normalize_name


class RequestPolicy:
    """The rules for one provider's requests. `known` are all providers, since servers adopt each other's fields."""

    def __init__(self, provider: ProviderProtocol, known: Iterable[ProviderProtocol]) -> None:
        known = list(known)
        self._provider = provider
        self._reaching = sorted({name for each in known for name in each.reaching_fields})
        self._usual: dict[str, set[str]] = {}
        for each in known:
            for name, values in each.usual_values:
                self._usual.setdefault(normalize_name(name), {""}).update(values)
        self._addresses = {_normalized(name) for each in known for name in each.address_fields}
        self._data = {_normalized(name) for each in known for name in each.data_fields}
        self._free = {normalize_name(name) for name in provider.free_fields}

    def find_refusal(self, fields: RequestFields) -> str:
        """Why a request may not pass, in one line; "" if it may. Raises AmbiguousRequest."""
        parts = (fields, *self._provider.list_inner_requests(fields))
        return next((why for part in parts if (why := self._refusal(part))), "")

    def _refusal(self, fields: RequestFields) -> str:
        for name in self._reaching:
            if fields.get(name):
                return f"the field {name} is not allowed in a trial: it makes the provider reach elsewhere"
        for name, usual in self._usual.items():
            value = fields.get(name)
            if value is not None and not (isinstance(value, str) and value.lower() in usual):
                return f"{name} {str(value)[:40]!r} is not allowed in a trial: it changes the price"
        for tool in self._provider.list_tools(fields):
            if kind := self._provider.find_foreign_tool(tool):
                return f"a tool of the kind {kind[:60]!r} is not allowed in a trial: only tools that the agent itself runs are"
        turns = (*self._provider.conversation, *self._provider.instructions)
        if any(self._has_address(fields.get(name)) for name in turns):
            return "addresses of pictures and files are not allowed in a trial, as the provider would fetch them: send their data"
        return ""

    def _has_address(self, turns: Any) -> bool:
        """Whether a conversation contains an address in place of data, which the provider would fetch."""
        waiting: list[tuple[str, str, Any]] = [("", "", turns)]
        while waiting:
            name, path, value = waiting.pop()
            if isinstance(value, list):
                waiting += ((name, path, item) for item in value)
            elif isinstance(value, dict):
                for key, inner in value.items():
                    below = normalize_name(key)
                    if not (below in self._free and isinstance(inner, dict)):
                        waiting.append((below, f"{name}.{below}", inner))
            elif isinstance(value, str) and (
                (not value.startswith("data:") and not self._addresses.isdisjoint((name, path)))
                or ("://" in value[:64] and not self._data.isdisjoint((name, path)))
            ):
                return True
        return False


def _normalized(path: str) -> str:
    return ".".join(map(normalize_name, path.split(".")))
