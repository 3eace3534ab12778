"""What agents that wrap their server's answer say of a failed call of a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skill_health.bench.http.failures import judge
from skill_health.effectiveness.agents._api import Failure, ProgramOutput
from skill_health.effectiveness.agents._failures import failure_of
from skill_health.effectiveness.agents._stream import one_line
from skill_health.text.patterns import lazy

_KINDS: Mapping[str, Failure] = {"quota": "quota", "auth": "auth", "refusal": "refusal"}
_API_ERROR = lazy(r"\[API Error: (?:([45]\d\d) )?")
_NAMED_STATUS = lazy(r"\(Status: ([A-Z_]+)\)")
_TELLING = lazy(r"(?i)\b(?:error|failed|failure|cannot|invalid|unable|denied|not found|unknown)\b")
_FRAME = lazy(r"\s*(?:at |file://|node:|\^|[{}\[\]();,]+\s*$)")
_MOST = 1 << 16


def failed(status: int | None, message: str, body: Any = None) -> tuple[Failure, str]:
    """The kind of a failed call of a model, and one clear line.

    `status` is that of HTTP where it is known, `body` what the server answered, as JSON, where the agent passes it on.
    """
    known = status is not None and 400 <= status <= 599
    kind = failure_of(message, status if known else None)
    if kind == "infrastructure" and isinstance(body, dict):
        kind = _KINDS.get(judge(status if known and status else 400, body).kind, kind)
    line = one_line(message) or "the agent does not say why"
    return kind, f"answered {status}: {line}" if known else line


def api_error(message: str, code: int | None = None) -> tuple[Failure, str] | None:
    """What `[API Error: ...]` means, as Gemini CLI and what descends from it write it; None for any other text.

    `code` is the status of HTTP where it is told apart from the message.
    """
    text = message[:_MOST]
    found = _API_ERROR.match(text)
    if not found:
        return None
    inner = text[found.end() :]
    inner = inner[: inner.rfind("]")] if "]" in inner else inner
    status = int(found[1]) if found[1] else code
    try:
        body = json.loads(inner[inner.index("{") :])
    except (ValueError, RecursionError):
        named = _NAMED_STATUS.search(inner)
        return failed(status, inner, {"error": {"message": inner, "status": named[1]}} if named else None)
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        code, said = error.get("code"), error.get("message")
        status = code if isinstance(code, int) and not isinstance(code, bool) else status
        inner = said if isinstance(said, str) and said else inner
    return failed(status, inner, body)


def telling(output: ProgramOutput, noise: tuple[str, ...] = ()) -> ProgramOutput:
    """The output with the one line of stderr that tells most: the first about an error, else the last one.

    Lines of a stack trace tell nothing, nor do those that begin with words in `noise`, which this agent always prints.
    """
    lines = [line.strip() for line in output.stderr[:_MOST].decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line and not _FRAME.match(line) and not line.startswith(noise or ("\0",))]
    line = next((line for line in lines if _TELLING.search(line)), lines[-1] if lines else "")
    return replace(output, stderr=line.encode("utf-8", "replace"))
