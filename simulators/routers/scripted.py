"""A router with known properties: it takes the right answer from the label and spoils it by the rules in its name.

`scripted:skill=0.8,bias=0.1,seed=7` needs no key and no network. All shares are 0 to 1 and default to 0. The first
event decides; with n skills, a prompt whose right skill is listed gets the right first place with probability

    (1 - failures) (1 - abstain) (bias / n + (1 - bias) (noise / n + (1 - noise) (1 - confusion) skill))

averaged over orders in which every skill is in every place equally often. A prompt that no skill answers is answered
correctly with probability (1 - failures) reject.

    error, unavailable, refusal, truncated   the call ends with that status
    malformed               the answer is malformed, in each way of `answers.KINDS` equally often
    prose, not_json, ...    the answer is malformed in just this way; any of `answers.KINDS`
    abstain                 "none" for a prompt that a skill answers
    bias, position=first    the skill in this position (first or last) comes first, whatever the prompt
    noise                   any skill comes first, each equally often
    confusion=a>b@0.3+c>d@0.2   if a is right, b comes first in 0.3 of the remaining answers, and so on
    skill=0.8, spread       the right skill comes first; `spread` of the prompts are always right (`skill` of them) or
                            always wrong, which is the correlation of two replications; the others are right by chance
    difficulty=1            seed of which prompts these are; by default the same for all models
    second=0.5              if a wrong skill comes first, the right one is second; otherwise it is not ranked
    reject=skill            "none" for a prompt that no skill answers
    fenced                  the answer is in a code fence
    confidence=0.9, calibrated=1   the confidence stated for the first place: this number, or the true probability
    latency                 milliseconds, slept and reported
    seed                    default: the run's; two scripts with one seed draw alike, so give each its own

Every draw is a hash of seed, prompt, replication, attempt and purpose, so the order of calls does not matter.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

from skill_health.bench.http.messages import Usage
from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b
from skill_health.router.records import NONE, Reply, RoutingRequest, Status
from skill_health.router.routers._api import Router, Setup
from skill_health.router.run.outcome import KINDS, MAX_CHARS
from skill_health.text.near import nearest


def broken(answer: Mapping[str, Any], kind: str, names: Collection[str]) -> str:
    """The text of `answer` with exactly this kind of failure; `names` are those that were shown."""
    changed = dict(answer)
    if kind == "missing_key":
        del changed["rationale"]
    elif kind == "wrong_type":
        changed["confidence"] = "high"
    elif kind == "confidence_range":
        changed["confidence"] = 1.5
    elif kind == "empty_ranking":
        changed["ranking"] = []
    elif kind == "duplicate":
        changed["ranking"] = [*answer["ranking"], answer["ranking"][0]]
    elif kind == "unknown_skill":
        changed["ranking"] = [*answer["ranking"], max(names, key=len, default="skill") + "-unheard-of"]
    elif kind == "too_long":
        changed["rationale"] = "and so on " * (MAX_CHARS // 10 + 1)
    text = json.dumps(changed, ensure_ascii=True)
    if kind == "empty_answer":
        return ""
    if kind == "prose":
        return f"I would load {answer['ranking'][0]} for this."
    if kind == "not_json":
        return text[:-1]
    return json.dumps(answer["ranking"]) if kind == "not_an_object" else text


STATUSES = {
    "error": "provider_error", "unavailable": "model_unavailable", "refusal": "refusal", "truncated": "truncated",
}  # fmt: skip
MALFORMED = "malformed"
FAILURES = (*STATUSES, MALFORMED, *KINDS)
SHARES = ("skill", "spread", "second", "bias", "abstain", "reject", "noise", "fenced", "confidence", *FAILURES)
POSITIONS = ("first", "last")
_WHOLE = {"latency": 3_600_000, "seed": 2**63, "difficulty": 2**63, "calibrated": 1}
_KEYS = (*SHARES, *_WHOLE, "position", "confusion")


@dataclass(frozen=True, slots=True)
class Script:
    """The script of a router. Shares are 0 to 1, `failures` has those that are not 0; `latency` is in ms."""

    skill: float = 0.8
    spread: float = 0.0
    second: float = 0.5
    bias: float = 0.0
    position: str = "first"
    abstain: float = 0.0
    reject: float = 0.8
    noise: float = 0.0
    confusion: Mapping[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)
    fenced: float = 0.0
    failures: Mapping[str, float] = field(default_factory=dict)
    confidence: float = 0.9
    calibrated: bool = False
    latency: int = 0
    seed: int = 1
    difficulty: int = 1


def parse_script(text: str, seed: int) -> Script:
    """Read `key=value,key=value`; `seed` is the default seed, and `reject` defaults to `skill`.

    Raises UsageError for an unknown or repeated key, a value of the wrong kind, and failures of more than 1 in all.
    """
    given: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not equals or key not in _KEYS:
            near = nearest(key, _KEYS)
            raise UsageError(f"scripted: there is no {part[:60]!r}; {f'did you mean {near}=?' if near else _all()}")
        if key in given:
            raise UsageError(f"scripted: {key} is given twice")
        given[key] = _value(key, value)
    failures = {key: given[key] for key in FAILURES if given.get(key)}
    if sum(failures.values()) > 1 + 1e-9:
        raise UsageError(f"scripted: {', '.join(failures)} come to more than 1 in all")
    given["calibrated"] = bool(given.get("calibrated"))
    given = {"seed": seed, "reject": given.get("skill", Script().skill), **given}
    return Script(**{key: value for key, value in given.items() if key not in FAILURES}, failures=failures)


def _value(key: str, value: str) -> Any:
    if key == "confusion":
        return _confusion(value)
    if key == "position":
        if value not in POSITIONS:
            raise UsageError(f"scripted: position={value[:60]!r}: take {' or '.join(POSITIONS)}")
        return value
    if key in _WHOLE:
        if not (value.isascii() and value.isdigit() and len(value) < 20 and int(value) <= _WHOLE[key]):
            raise UsageError(f"scripted: {key}={value[:60]!r}: take a whole number from 0 to {_WHOLE[key]}")
        return int(value)
    return _share(key, value)


def _share(key: str, value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"scripted: {key}={value[:60]!r}: take a share from 0 to 1")
    return share


def _confusion(text: str) -> dict[str, tuple[tuple[str, float], ...]]:
    """`a>b@0.3+a>c@0.1`: if a is right, b comes first in 0.3 of the answers and c in 0.1."""
    found: dict[str, tuple[tuple[str, float], ...]] = {}
    for pair in text.split("+"):
        names, at, share = pair.rpartition("@")
        right, arrow, wrong = names.partition(">")
        if not (at and arrow and right and wrong) or right == wrong:
            raise UsageError(f"scripted: confusion={pair[:60]!r}: write right-skill>wrong-skill@share, joined by +")
        found[right] = (*found.get(right, ()), (wrong, _share("confusion", share)))
    for right, pairs in found.items():
        if sum(share for _, share in pairs) > 1 + 1e-9:
            raise UsageError(f"scripted: the confusions of {right[:60]} come to more than 1")
    return found


def _all() -> str:
    return f"the keys are {', '.join(_KEYS)}"


_TOP = 3


def right(script: Script, request: RoutingRequest) -> float:
    """The probability that the first place is right, given that there is a ranking; 0 if nothing is right."""
    target = request.prompt.target
    if target == NONE:
        return _settled(script, request, script.reject)
    names = [skill.name for skill in request.skills]
    if target is None or target not in names:
        return 0.0
    confused = sum(share for wrong, share in script.confusion.get(target, ()) if wrong in names)
    fair = script.noise / len(names) + (1 - script.noise) * (1 - confused) * _knows(script, request)
    by_place = script.bias * (_placed(script, request) == target)
    return (1 - script.abstain) * (by_place + (1 - script.bias) * fair)


def ranking(script: Script, request: RoutingRequest) -> list[str]:
    """The ranking: the first skill, the right one second if it comes that close, and others up to three."""
    names = sorted(skill.name for skill in request.skills)
    target = request.prompt.target
    first = _first(script, request, names)
    if first == NONE:
        return [NONE]
    found = [first]
    if target in names and first != target and draw(script, request, "second") < script.second:
        found.append(target)
    others = [name for name in names if name not in (first, target)]
    others.sort(key=lambda name: draw(script, request, f"others {name}"))
    return [*found, *others][:_TOP]


def failure_of(script: Script, request: RoutingRequest) -> str:
    """The key of the failure that this call ends in, or ""."""
    drawn = draw(script, request, "failure")
    for failure, share in script.failures.items():
        if (drawn := drawn - share) < 0:
            return KINDS[int(draw(script, request, "kind") * len(KINDS))] if failure == MALFORMED else failure
    return ""


def draw(script: Script, request: RoutingRequest, purpose: str) -> float:
    """A number from 0 to 1, 1 excluded, for one purpose in answering one attempt."""
    return _unit(script.seed, request.prompt.prompt_id, request.replication, request.attempt, purpose)


def mark(script: Script, request: RoutingRequest) -> str:
    """16 hexadecimal digits that identify one attempt."""
    return _hash(script.seed, request.prompt.prompt_id, request.replication, request.attempt).hex()


def _first(script: Script, request: RoutingRequest, names: list[str]) -> str:
    target = request.prompt.target
    if not names or (target == NONE and draw(script, request, "skill") < _settled(script, request, script.reject)):
        return NONE
    if target in names and draw(script, request, "abstain") < script.abstain:
        return NONE
    if draw(script, request, "bias") < script.bias:
        return _placed(script, request)
    if target is None or target not in names or draw(script, request, "noise") < script.noise:
        return _any(script, request, names)
    drawn = draw(script, request, "confusion")
    for wrong, share in script.confusion.get(target, ()):
        if wrong in names and (drawn := drawn - share) < 0:
            return wrong
    if draw(script, request, "skill") < _knows(script, request):
        return target
    return _any(script, request, [name for name in names if name != target])


def _any(script: Script, request: RoutingRequest, names: list[str]) -> str:
    return names[int(draw(script, request, "any") * len(names))]


def _placed(script: Script, request: RoutingRequest) -> str:
    return request.skills[0 if script.position == "first" else -1].name


def _knows(script: Script, request: RoutingRequest) -> float:
    """With a single skill in the list there is nothing to confuse it with."""
    return 1.0 if len(request.skills) == 1 else _settled(script, request, script.skill)


def _settled(script: Script, request: RoutingRequest, share: float) -> float:
    """The share; for a settled prompt, 0 or 1."""
    prompt = request.prompt.prompt_id
    if _unit(script.difficulty, prompt, "settled") >= script.spread:
        return share
    return float(_unit(script.difficulty, prompt, "easy") < share)


def _unit(*parts: object) -> float:
    """A number from 0 to 1, 1 excluded, that depends only on the parts (53 bits of a hash)."""
    return (int.from_bytes(_hash(*parts), "big") >> 11) / 2**53


def _hash(*parts: object) -> bytes:
    return blake2b(json.dumps(parts, ensure_ascii=True).encode("ascii"), digest_size=8).digest()


TITLE = "Simulated answers of known accuracy, bias, abstention and failures, for tests"
KIND = "simulated"
EXTRA = ""
IMPORTS = ()


def open_router(setup: Setup) -> Router:
    """Read the script. Raises UsageError for a mistake in it."""
    script = parse_script(setup.model, setup.seed)
    return Scripted(script if setup.none_allowed else replace(script, abstain=0.0, reject=0.0))


@dataclass(frozen=True, slots=True)
class Scripted:
    """The router of one script."""

    script: Script

    @property
    def replicates(self) -> bool:
        """Replications differ, by chance and by the order of presentation."""
        return True

    def describe(self) -> Mapping[str, Any]:
        """Every parameter of the script."""
        told: dict[str, Any] = json.loads(json.dumps(asdict(self.script)))
        return told

    async def close(self) -> None:
        """Nothing to close."""

    async def ask(self, request: RoutingRequest) -> Reply:
        """Answer by the script, after its latency."""
        if self.script.latency:
            await asyncio.sleep(self.script.latency / 1000)
        failure = failure_of(self.script, request)
        status = cast(Status, STATUSES.get(failure, "finished"))
        if status in ("provider_error", "model_unavailable"):
            return Reply(status=status, error=f"scripted: {failure}")
        text = self._text(request, failure)
        return Reply(
            status=status,
            text=text,
            model="scripted",
            request_id=f"scripted-{mark(self.script, request)}",
            stop_reason={"refusal": "refusal", "truncated": "length"}.get(failure, "stop"),
            usage=Usage(input_tokens=_tokens(request.text), output_tokens=_tokens(text)),
            duration_ms=float(self.script.latency),
        )

    def _text(self, request: RoutingRequest, failure: str) -> str:
        script = self.script
        confidence = round(right(script, request), 4) if script.calibrated else script.confidence
        answer = {"ranking": ranking(script, request), "confidence": confidence, "rationale": "scripted"}
        text = json.dumps(answer, ensure_ascii=True)
        if failure == "refusal":
            return "I cannot help with that."
        if failure == "truncated":
            return text[: len(text) // 2]
        if failure:
            return broken(answer, failure, [skill.name for skill in request.skills])
        return f"```json\n{text}\n```" if draw(script, request, "fenced") < script.fenced else text


def _tokens(text: str) -> int:
    """Bytes / 4, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // 4)
