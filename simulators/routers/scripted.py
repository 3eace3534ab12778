"""A router with known properties: it reads the right answer off the label and spoils it by the rules of its name.

`scripted:skill=0.8,bias=0.1,seed=7` needs no key and no network. All shares are 0 to 1, and 0 unless said otherwise.
The first that happens decides; with n skills, a prompt whose right skill is listed gets the right first place with

    (1 - failures) (1 - abstain) (bias / n + (1 - bias) (noise / n + (1 - noise) (1 - confusion) skill))

on average over orders in which every skill stands everywhere equally often. A prompt that no skill answers is answered
right with (1 - failures) reject.

    error, unavailable, refusal, truncated   the call ends so, with that status
    malformed               the answer is broken, in each of the ways of `answers.KINDS` equally often
    prose, not_json, ...    the answer is broken in just this way; any of `answers.KINDS`
    abstain                 "none" for a prompt that a skill answers
    bias, position=first    the skill in this position (first or last) comes first, whatever is asked
    noise                   any skill comes first, each equally often
    confusion=a>b@0.3+c>d@0.2   where a is right, b comes first in 0.3 of the answers that are left, and so on
    skill=0.8, spread       the right skill comes first; `spread` of the prompts are always right (`skill` of them) or
                            always wrong, which is the correlation of two replications; the others are right by chance
    difficulty=1            seed of which prompts these are, the same for all models unless said otherwise
    second=0.5              where a wrong skill comes first, the right one is second; otherwise it is not in the ranking
    reject=skill            "none" for a prompt that no skill answers
    fenced                  the answer stands in a code fence
    confidence=0.9, calibrated=1   what is said of the first place: this number, or the true probability
    latency                 milliseconds, slept and reported
    seed                    that of the run unless given: two scripts of one seed draw alike, so give each its own

Every draw is a hash of seed, prompt, replication, attempt and purpose, so that the order of calls does not matter.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from simulators.routers._broken import broken
from simulators.routers._script import STATUSES, Script, parse_script
from simulators.routers._simulate import draw, failure_of, mark, ranking, right
from skill_health.bench.http.messages import Usage
from skill_health.router.records import Reply, RoutingRequest, Status
from skill_health.router.routers._api import Router, Setup

TITLE = "Simulated answers of known accuracy, bias, abstention and failures, for tests"
KIND = "simulated"
EXTRA = ""
IMPORTS = ()


def open_router(setup: Setup) -> Router:
    """Read the script. Raises UsageError where there is a mistake in it."""
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
        """Nothing to let go of."""

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
