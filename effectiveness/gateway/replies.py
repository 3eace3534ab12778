"""What a gateway says itself, in the words of the protocol: errors, and what it answers while no model is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
}
_GOOGLE = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    502: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
FINAL = ((b"x-should-retry", b"false"),)
"""The header by which the vendors' libraries are told that another try is of no use."""


def error(protocol: str, status: int, message: str) -> bytes:
    """An error as the provider words it."""
    if protocol == "anthropic":
        return _json({"type": "error", "error": {"type": _ANTHROPIC.get(status, "api_error"), "message": message}})
    if protocol == "gemini":
        code = _GOOGLE.get(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL")
        return _json({"error": {"code": status, "message": message, "status": code}})
    kind = "invalid_request_error" if status < 500 else "server_error"
    reason = "invalid_api_key" if status == 401 else None
    return _json({"error": {"message": message, "type": kind, "param": None, "code": reason}})


def counted(protocol: str, size: int) -> bytes:
    """The answer to a count of tokens while no server is asked: a quarter of the bytes."""
    tokens = size // 4 + 1
    return _json({"totalTokens": tokens} if protocol == "gemini" else {"input_tokens": tokens})


def listed(protocol: str, path: str) -> bytes:
    """The answer to a list of models while no server is asked: none; or the one that is asked for, which it has."""
    name = path.partition("?")[0].partition("/models/")[2]
    data: Mapping[str, Any]
    if protocol == "gemini":
        methods = ["generateContent", "streamGenerateContent", "countTokens"]
        one = {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods}
        data = one if name else {"models": []}
    elif protocol == "anthropic":
        one = {"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"}
        data = one if name else {"data": [], "has_more": False, "first_id": None, "last_id": None}
    else:
        data = (
            {"id": name, "object": "model", "created": 0, "owned_by": "unknown"}
            if name
            else {"object": "list", "data": []}
        )
    return _json(data)


def _json(data: Any) -> bytes:
    return json.dumps(data).encode()
