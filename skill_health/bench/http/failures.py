"""What a server's failure means: retry, stop the run, do without the model, or give up on this call.

Every vendor words these differently, and some with the wrong HTTP status; the forms here are from the vendors' error
references and reports of their users, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal

from skill_health.text.patterns import lazy

Kind = Literal["retry", "costly", "model", "refusal", "quota", "auth", "fatal"]
"""retry: nothing was done, try again. costly: try again, though the server may have done and charged the work.
model: the provider does not have it. refusal: it will not answer this. quota, auth: every further call fails too.
fatal: this call has failed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer. `message` follows the server's name; `wait` is the wait the server asks for, in seconds.

    `status` is the HTTP status if the server answered with an error, else 0. `sent`: it may have got the request.
    """

    kind: Kind
    message: str
    wait: float | None = None
    status: int = 0
    sent: bool = True

    @property
    def crowded(self) -> bool:
        """Whether the server is overloaded or limits the rate, so that fewer requests at once help."""
        return self.kind == "retry" and self.status in _CROWDED

    @property
    def free(self) -> bool:
        """Whether nothing chargeable was done."""
        return self.status > 0 or self.kind == "retry"


_NO_CREDIT = lazy(
    r"credit balance is too low|insufficient[ _](?:balance|credits?|funds)|not enough credits"
    r"|credits? (?:are|is|have been) (?:depleted|exhausted|used up)|out of credits|reached your specified api usage limits"
    r"|spend(?:ing)? (?:cap|limit)|key limit exceeded|billing (?:hard )?limit|requires more credits"
)
_NO_CREDIT_CODES = frozenset(
    ("insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits",
     "insufficient_balance", "payment_required")
)  # fmt: skip
_NO_MODEL = lazy(
    r"\bmodel\b.{0,160}\b(?:does not exist|doesn't exist|not found|not exist|decommissioned|deprecated|retired|been removed"
    r"|no longer available|not available)\b|not a valid model|invalid model\b|unknown model\b|unexpected model name"
    r"|no endpoints found for|^model: |\bmodels/\S{1,200} is not found"
)
_NO_MODEL_CODES = frozenset(
    (
        "model_not_found",
        "invalid_model",
        "unknown_model",
        "model_decommissioned",
        "model_deprecated",
        "model_not_available",
    )
)
_WRONG_KEY = lazy(r"api key (?:not valid|expired|not found)|invalid (?:x-)?api[ -]key|incorrect api key")
_FLAGGED = lazy(
    r"blocked by (?:our )?content|content (?:management|filtering) policy|usage policy|(?:was|were|been) flagged"
    r"|content policy"
)
_FLAGGED_CODES = frozenset(("content_filter", "content_policy_violation", "moderation_blocked"))
_NOT_AGAIN = frozenset((501, 505, 510, 511))
_CROWDED = frozenset((429, 503, 529))


def judge(status: int, data: Any, wait: float | None = None) -> Failure:
    """What an answer with this HTTP status (400 or above) means. `data` is its body if that is JSON, else None."""
    error = error_of(data)
    message = _message(error, data)
    codes = frozenset(_codes(error, data))
    said = message[:2000].lower()
    kind = _kind(status, codes, said, error, wait)
    hint = "; base-url may be wrong" if kind == "fatal" and status in (404, 405) else ""
    return Failure(kind, f"answered {status}{_phrase(status)}{': ' + message if message else ''}{hint}", wait, status)


def _kind(status: int, codes: frozenset[str], said: str, error: Mapping[str, Any], wait: float | None) -> Kind:
    if status < 500 and _no_credit(status, codes, said, error, wait):
        return "quota"
    if status in (400, 403, 404, 410, 422) and _no_model(status, codes, said, error):
        return "model"
    if status in (400, 403, 422) and (codes & _FLAGGED_CODES or _FLAGGED.search(said)):
        return "refusal"
    if status in (401, 403) or "api_key_invalid" in codes or (status == 400 and _WRONG_KEY.search(said)):
        return "auth"
    if status in (408, 409, 425, 429) or (status >= 500 and status not in _NOT_AGAIN):
        return "retry"
    return "fatal"


def _no_credit(status: int, codes: frozenset[str], said: str, error: Mapping[str, Any], wait: float | None) -> bool:
    if status == 402 or codes & _NO_CREDIT_CODES or _NO_CREDIT.search(said):
        return True
    if status == 429 and "exceeded your current quota" in said:
        # Google says this of per-minute limits too, but then also says when to come back.
        return wait is None or any("perday" in quota for quota in _quotas(error))
    return False


def _no_model(status: int, codes: frozenset[str], said: str, error: Mapping[str, Any]) -> bool:
    if codes & _NO_MODEL_CODES or _NO_MODEL.search(said):
        return True
    return status in (404, 410) and (error.get("param") == "model" or "model" in said)


def error_of(data: Any) -> Mapping[str, Any]:
    """The object that describes the error in a body: `error`, or the body itself if it is flat; {} for none."""
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return {}
    error = data.get("error")
    return error if isinstance(error, dict) else data


def _message(error: Mapping[str, Any], data: Any) -> str:
    """What the server says in words, at most 2,000 characters."""
    for value in (error.get("message"), error.get("error"), error.get("detail")):
        if isinstance(value, str) and value.strip():
            return value[:2000]
    return data[:2000] if isinstance(data, str) else ""


def _codes(error: Mapping[str, Any], data: Any) -> Iterator[str]:
    """Every word that a vendor uses for the kind of the error, in lower case."""
    details = error.get("details")
    sources = [error, *(details[:20] if isinstance(details, list) else ())]
    for source in sources:
        for key in ("type", "code", "status", "reason"):
            if isinstance(source, dict) and isinstance(value := source.get(key), str):
                yield value[:100].lower()


def _quotas(error: Mapping[str, Any]) -> Iterator[str]:
    details = error.get("details")
    for detail in details[:20] if isinstance(details, list) else ():
        violations = detail.get("violations") if isinstance(detail, dict) else None
        for violation in violations[:20] if isinstance(violations, list) else ():
            if isinstance(violation, dict):
                yield str(violation.get("quotaId", ""))[:200].lower()


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""
