"""Names of fields as servers take them: some do not mind how they are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skill_health.effectiveness.gateway.exchange import Rejected


def normalize_name(name: str) -> str:
    """A name in one way of writing: `max_tokens`, `maxTokens` and `Max_Tokens` are the same."""
    return name.replace("_", "").replace("-", "").lower()


def fields_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """An object by its plain names. Raises Rejected where two of them are one: only one of both would be looked at."""
    found = {normalize_name(name): value for name, value in data.items()}
    if len(found) != len(data):
        raise Rejected(400, "two fields of the body are the same to some servers")
    return found
