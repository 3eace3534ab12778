"""Requests that are no conversations: one after the other, sent again only where that can hand nothing in twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx

from skill_health.bench.http.client import Timing, read_body, scrub_completion
from skill_health.bench.http.connection import ConnectionPerCall
from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.failures import Failure
from skill_health.bench.http.fetch import Fetched, fetch
from skill_health.bench.http.messages import Completion, PlainRequest
from skill_health.bench.http.pacing import MAX_WAIT, STEPS, backoff, stretched
from skill_health.bench.redact import Scrubber

MOST_BYTES = 1 << 30
"""The most bytes that are read of one answer, such as the results of a batch."""
_SLOWEST = 64 * 1024
"""Bytes a second: so slow may a network be before a large file is given up."""


class PlainClient:
    """Asks one server about its batches or its models, with one key."""

    def __init__(self, endpoint: Endpoint, timing: Timing | None = None) -> None:
        self.endpoint = endpoint
        self.scrub = Scrubber(endpoint.key)
        self._timing = timing or Timing()
        self._transport = ConnectionPerCall(endpoint.base_url)

    async def send(self, request: PlainRequest) -> Any | Failure:
        """Send once, and return the JSON of the answer. A failure says whether it was `refused`; else nobody knows."""
        fetched = await self._fetch(request)
        return fetched if isinstance(fetched, Failure) else self._read(fetched)

    async def ask(self, request: PlainRequest) -> Any | Failure:
        """Send what changes nothing when it is processed twice, again where that may help."""
        found = await self.fetch(request)
        return found if isinstance(found, Failure) else self._read(Fetched(200, {}, found))

    async def fetch(self, request: PlainRequest) -> bytes | Failure:
        """The same for a body of any form."""
        sent = 0
        while True:
            fetched = await self._fetch(request)
            if isinstance(fetched, Fetched) and fetched.status < 400:
                return fetched.body
            failure = fetched if isinstance(fetched, Failure) else self._judged(fetched)
            sent += 1
            if failure.kind not in ("retry", "costly") or sent > len(STEPS) or (failure.wait or 0) > MAX_WAIT:
                return failure
            label = f"{request.method} {request.path}"
            wait = stretched(failure.wait, label, sent) if failure.wait else backoff(label, sent - 1)
            await self._timing.sleep(wait)

    def clean(self, found: Completion | Failure) -> Completion | Failure:
        """An answer without the key in any of its texts."""
        if isinstance(found, Completion):
            return scrub_completion(found, self.scrub)
        return self._named(found)

    async def _fetch(self, request: PlainRequest) -> Fetched | Failure:
        endpoint = self.endpoint
        headers = {
            "accept": "*/*",
            "accept-encoding": "identity",
            "user-agent": "skill-health",
            **({"content-type": request.content_type} if request.content else {}),
            **request.headers,
            **dict([endpoint.key_header] if endpoint.key_header else []),
        }
        made = httpx.Request(request.method, endpoint.base_url + request.path, headers=headers, content=request.content)
        seconds = max(
            endpoint.timeout + len(request.content) / _SLOWEST, 0 if request.content else 10 * endpoint.timeout
        )
        found = await fetch(self._transport, made, replace(endpoint, timeout=seconds), MOST_BYTES)
        return self._named(found) if isinstance(found, Failure) else found

    def _read(self, fetched: Fetched) -> Any | Failure:
        found = read_body(fetched, self._timing.now())
        return self._named(found) if isinstance(found, Failure) else found

    def _judged(self, fetched: Fetched) -> Failure:
        found = read_body(replace(fetched, body=fetched.body[: 1 << 20]), self._timing.now())
        assert isinstance(found, Failure)
        return self._named(found)

    def _named(self, failure: Failure) -> Failure:
        """The failure with the server's name in front, and without the key."""
        host = self.endpoint.host
        said = failure.message if failure.message.startswith(f"{host} ") else f"{host} {failure.message}"
        return replace(failure, message=self.scrub.line(said))


def refused(failure: Failure) -> bool:
    """Whether a request was certainly not processed: it never arrived, or was refused as such.

    A server that breaks down, or does not answer in time, may have done what it was asked before.
    """
    if failure.status:
        return failure.status < 500 and failure.status not in (408, 409, 425)
    return not failure.sent
