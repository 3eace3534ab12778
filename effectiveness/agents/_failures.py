"""What an agent says of a failure -> the word for it that a run goes by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skill_health.bench.http.failures import judge
from skill_health.effectiveness.agents._api import Failure, ProgramOutput
from skill_health.effectiveness.agents._stream import JsonStream
from skill_health.text.patterns import lazy
from skill_health.text.terminal import one_line

_STATUS = lazy(
    r"(?:status|error|code)\b[^\w\n]{0,4}(?:code[^\w\n]{1,3})?\(?([1-5]\d\d)\b|\((4\d\d|5\d\d)\)|\b([45]\d\d) [A-Z]"
)
_NO_QUOTA = lazy(r"quota exceeded|usage limit reached|hit your usage limit|credit balance")
_NO_LOGIN = lazy(r"not logged in|please run /login|failed to authenticate|authentication[_ ]failed|unauthorized")
_WORDS: Mapping[str, Failure] = {"quota": "quota", "auth": "auth", "refusal": "refusal"}


def failure_of(message: str, status: int | None = None) -> Failure:
    """What the message of an agent about a failed call of a model means, with the status of HTTP where it is known.

    Only what every further call would meet too is quota or auth; whatever else broke the trial is infrastructure.
    """
    said = message[:4000].lower()
    if _NO_QUOTA.search(said):
        return "quota"
    number = status if status and 400 <= status < 600 else status_in(message)
    # Without a status the words alone decide, as they do for a request that was refused.
    kind = judge(number or 400, {"error": {"message": message[:2000]}}).kind
    if kind == "fatal" and _NO_LOGIN.search(said):
        return "auth"
    return _WORDS.get(kind, "infrastructure")


def status_in(message: str) -> int | None:
    """The status of HTTP that a message names."""
    found = _STATUS.search(message[:4000])
    number = int(next(filter(None, found.groups()))) if found else 0
    return number if 400 <= number < 600 else None


def without_end(output: ProgramOutput, stream: JsonStream) -> tuple[Failure, str]:
    """What it means that a stream does not say how the agent ended, and one line about it.

    Nothing, where we stopped it; else it broke down, and its last words say why.
    """
    if output.stopped:
        return "", ""
    words = last_words(output, stream)
    how = "ended" if output.exit_code is None else f"ended with exit code {output.exit_code}"
    error = f"the agent {how} before its stream was complete{': ' + words if words else ''}"
    return (failure_of(words) if words else "infrastructure"), error


def last_words(output: ProgramOutput, stream: JsonStream) -> str:
    """The last line of stderr, else the last plain line among the stream, safe to print; "" for none."""
    lines = [line for line in output.stderr[-8000:].decode("utf-8", "replace").splitlines() if line.strip()]
    return one_line(lines[-1]) if lines else stream.plain[-1] if stream.plain else ""


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
