"""What a script answers to one request. Every draw is a hash of what it is for: the order of calls does not matter."""

from __future__ import annotations

import json

from simulators.routers._script import MALFORMED, Script
from skill_health.core.files import blake2b
from skill_health.router.records import NONE, RoutingRequest
from skill_health.router.run.outcome import KINDS

_TOP = 3


def right(script: Script, request: RoutingRequest) -> float:
    """The probability that the first place is right, given that there is a ranking; 0 where nothing is right."""
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
    """The first of the ranking, the right skill in second place where it comes so near, and others up to three."""
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
    """A number from 0 up to, not including, 1 for one purpose in answering one attempt."""
    return _unit(script.seed, request.prompt.prompt_id, request.replication, request.attempt, purpose)


def mark(script: Script, request: RoutingRequest) -> str:
    """16 hexadecimal digits that tell one attempt from all others."""
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
    """With a single skill in the list there is no other to take for it."""
    return 1.0 if len(request.skills) == 1 else _settled(script, request, script.skill)


def _settled(script: Script, request: RoutingRequest, share: float) -> float:
    """The share, or for a settled prompt 0 or 1."""
    prompt = request.prompt.prompt_id
    if _unit(script.difficulty, prompt, "settled") >= script.spread:
        return share
    return float(_unit(script.difficulty, prompt, "easy") < share)


def _unit(*parts: object) -> float:
    """A number from 0 up to, not including, 1 that depends on the parts alone (53 bits of a hash)."""
    return (int.from_bytes(_hash(*parts), "big") >> 11) / 2**53


def _hash(*parts: object) -> bytes:
    return blake2b(json.dumps(parts, ensure_ascii=True).encode("ascii"), digest_size=8).digest()
