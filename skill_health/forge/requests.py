"""Requests to the API that the environment of a job names, by the standard library:
the base installation needs no more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.core.errors import AbortedError, UsageError

_TIMEOUT = 30
_MOST = 16 << 20
LOCAL = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class ForgeApi:
    """The address of an API, and the headers that hold its token; these stand in no message."""

    address: str
    headers: Mapping[str, str]

    def call(self, method: str, path: str, values: Mapping[str, Any] | None = None) -> Any:
        """Send JSON and return what comes back, None where that is nothing.

        No redirection is followed, as the token would go with it. Raises AbortedError, which says what was refused.
        """
        import http.client
        from urllib.error import HTTPError, URLError
        from urllib.request import HTTPRedirectHandler, Request, build_opener

        class Stay(HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                return None

        body = json.dumps(values).encode("ascii") if values is not None else None
        given = {**self.headers, "Content-Type": "application/json", "User-Agent": "skill-health"}
        request = Request(f"{self.address}{path}", data=body, headers=given, method=method)
        try:
            with build_opener(Stay).open(request, timeout=_TIMEOUT) as answer:
                raw = answer.read(_MOST)
        except HTTPError as error:
            raise AbortedError(f"{method} {path}: refused with {error.code}{_hint(error.code)}") from None
        except (URLError, OSError, http.client.HTTPException) as error:
            raise AbortedError(f"{method} {path}: {getattr(error, 'reason', None) or error}") from None
        try:
            return json.loads(raw) if raw.strip() else None
        except (ValueError, RecursionError):
            raise AbortedError(f"{method} {path}: the answer is no JSON") from None


def _hint(code: int) -> str:
    if code in (401, 403, 404):
        return "; the token may lack the permission (of a pull request from a fork it can only read)"
    return ""


def api_address(environment: Mapping[str, str], variable: str) -> str:
    """The address in a variable of the job.

    Raises UsageError where there is none, or one that sends the token openly.
    """
    from urllib.parse import urlsplit

    address = environment.get(variable, "").rstrip("/")
    parts = urlsplit(address)
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.netloc.partition(":")[0] in LOCAL)
    if not address or not safe or parts.username:
        raise UsageError(f"{variable} holds no address of an API: this is for jobs of GitHub and GitLab")
    return address


def job_value(environment: Mapping[str, str], *variables: str) -> str:
    """The first of these variables that is set. Raises UsageError, which names them, where none is."""
    for name in variables:
        if found := environment.get(name, "").strip():
            return found
    raise UsageError(f"{' or '.join(variables)} is not set: this is for jobs of GitHub and GitLab")
