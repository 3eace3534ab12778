"""One HTTP request and its answer, bounded in time and size, to the one host it is meant for.

httpx is used at the transport, below its client: no redirects are followed, and the environment's cookies, proxies and
netrc are not used, so the key goes nowhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import httpx

from skill_health.bench.http.endpoint import Endpoint
from skill_health.bench.http.failures import Failure


def decoded(raw: bytes, encoding: str, limit: int) -> bytes | Failure:
    """The body without its content encoding, at most `limit` bytes: a decompression bomb is never unpacked further.

    We ask for no encoding; gzip and deflate are understood because some servers send them anyway.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return raw
    if encoding not in ("gzip", "x-gzip", "deflate"):
        return Failure("fatal", f"sent its answer in the encoding {encoding[:40]!r}, which was not asked for")
    # 32 + 15: zlib's or gzip's header; some servers call a raw stream "deflate".
    for bits in (47, -15) if encoding == "deflate" else (47,):
        stream = zlib.decompressobj(bits)
        try:
            data = stream.decompress(raw, limit + 1)
        except zlib.error:
            continue
        if len(data) > limit:
            return too_large(limit)
        if stream.eof:
            return data
    return Failure("costly", f"sent a damaged {encoding} answer")


def too_large(limit: int) -> Failure:
    """The failure of an answer with more bytes than we read."""
    return Failure("fatal", f"sent more than {limit:,} bytes, the most that is read of one answer")


def is_json_type(content_type: str) -> bool:
    """Whether a Content-Type says JSON; if it is missing, the body decides."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind in ("", "application/json", "text/json") or kind.endswith("+json")


BODY_LIMIT = 8 << 20
_CONNECT = 15.0


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer as received: header names in lower case, the body decoded, and cut if it is an overlong error."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def fetch(
    transport: httpx.AsyncBaseTransport, request: httpx.Request, endpoint: Endpoint, limit: int = BODY_LIMIT
) -> Fetched | Failure:
    """Send one request. Never raises for what a server or a network does; cancellation propagates."""
    request.extensions["timeout"] = {"connect": min(_CONNECT, 0.75 * endpoint.timeout)}
    begun = idle = False
    try:
        async with asyncio.timeout(endpoint.timeout) as timer:
            response = await transport.handle_async_request(request)
            begun = True
            try:
                end, clock = timer.when() or 0.0, asyncio.get_running_loop().time
                parts: list[bytes] = []
                size = 0
                pieces = aiter(cast("httpx.AsyncByteStream", response.stream))
                while size <= limit:
                    soonest = clock() + endpoint.idle_timeout
                    idle = soonest < end
                    timer.reschedule(min(soonest, end))
                    if (part := await anext(pieces, None)) is None:
                        break
                    parts.append(part)
                    size += len(part)
            finally:
                with contextlib.suppress(httpx.HTTPError, OSError):
                    await cast("httpx.AsyncByteStream", response.stream).aclose()
    except TimeoutError:
        if idle:
            return Failure("costly", f"sent nothing for {endpoint.idle_timeout:g} s in the middle of its answer")
        return Failure("costly", f"did not answer in full within {endpoint.timeout:g} s")
    except (httpx.HTTPError, OSError) as error:
        return judge_connection(error, begun)
    return _whole(response, b"".join(parts), limit)


def _whole(response: httpx.Response, raw: bytes, limit: int) -> Fetched | Failure:
    headers = {name.lower(): value[:1000] for name, value in response.headers.items()}
    if 300 <= response.status_code < 400:
        said = describe_redirect(response.status_code, headers.get("location", ""))
        return Failure("fatal", said, status=response.status_code)
    if len(raw) > limit:
        if response.status_code < 300:
            return too_large(limit)
        raw = b""
    body = decoded(raw, headers.get("content-encoding", ""), limit)
    if isinstance(body, Failure):
        if response.status_code < 300:
            return body
        body = b""
    return Fetched(response.status_code, headers, body)


def describe_redirect(status: int, location: str) -> str:
    """Describe an answer that redirects us."""
    try:
        target = urlsplit(location).netloc.rpartition("@")[2]
    except ValueError:
        target = ""
    where = f" to {target[:100]}" if target else ""
    return f"answered {status}, a redirect{where}; redirects are not followed: put the right address in base-url"


def judge_connection(error: httpx.HTTPError | OSError, begun: bool) -> Failure:
    """Why a connection failed. A request that had `begun` was processed, and perhaps charged."""
    reason = " ".join(str(error).split())[:200]
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        return Failure("fatal", f"has a certificate that cannot be trusted ({reason})")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return Failure("retry", f"cannot be reached ({reason or 'no connection in time'})", sent=False)
    if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
        return Failure("fatal", f"cannot be asked ({reason})", sent=False)
    if isinstance(error, httpx.RemoteProtocolError):
        return Failure("costly" if begun else "retry", f"broke the rules of HTTP ({reason})")
    return Failure(
        "costly" if begun else "retry", f"broke the connection {'in the middle of' if begun else 'before'} its answer"
    )
