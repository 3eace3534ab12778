"""What an agent says of a failure -> the word for it that a run goes by."""

from __future__ import annotations

from collections.abc import Mapping

from skill_health.bench.http.failures import judge
from skill_health.effectiveness.agents._api import Failure, ProgramOutput
from skill_health.effectiveness.agents._stream import JsonStream, one_line
from skill_health.text.patterns import lazy

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
