"""An answer as it came over HTTP -> a Completion, or the Failure that it is."""

from __future__ import annotations

from dataclasses import replace

from skill_health.router.http.body import is_json_type, parsed
from skill_health.router.http.failures import Failure, judge
from skill_health.router.http.fetch import Fetched
from skill_health.router.http.messages import Completion, ProviderProtocol
from skill_health.router.http.scrub import Scrubber
from skill_health.router.http.waits import asked_wait


def read(wire: ProviderProtocol, fetched: Fetched, scrub: Scrubber, now: float) -> Completion | Failure:
    """What the answer says; every text of a completion is without the key. `now` is in seconds since 1970."""
    data = parsed(fetched.body)
    if fetched.status >= 400:
        said = None if isinstance(data, Failure) else data
        return judge(fetched.status, said, asked_wait(fetched.headers, said, now))
    kind = fetched.headers.get("content-type", "")
    if not is_json_type(kind):
        return Failure("fatal", f"sent {kind.partition(';')[0][:60]}, not JSON: base-url may be that of something else")
    if isinstance(data, Failure):
        return data
    if not isinstance(data, dict):
        return Failure("fatal", "sent JSON that is no object")
    if (error := data.get("error")) and isinstance(error, dict | str):
        # Some answer 200 before they know, and put the real status into the body.
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else _STATUS.get(str(code), 400)
        return judge(status, data, asked_wait(fetched.headers, data, now))
    found = wire.completion(data)
    if isinstance(found, Failure):
        return found
    ids = [fetched.headers[name] for name in wire.request_id if fetched.headers.get(name)]
    return _scrubbed(replace(found, request_id=ids[0] if ids else found.request_id), scrub)


_STATUS = {"rate_limit_exceeded": 429, "server_error": 500, "insufficient_quota": 429}


def _scrubbed(found: Completion, scrub: Scrubber) -> Completion:
    calls = tuple(
        replace(
            call, raw=scrub.text(call.raw), arguments=scrub.deep(call.arguments), call_id=scrub.text(call.call_id, 200)
        )
        for call in found.calls
    )
    return replace(
        found, text=scrub.text(found.text), calls=calls, usage=replace(found.usage, raw=scrub.small(found.usage.raw)),
        native=scrub.deep(found.native), stop_reason=scrub.optional(found.stop_reason),
        model=scrub.optional(found.model), request_id=scrub.optional(found.request_id),
    )  # fmt: skip
