"""The last line of each skill and model in the effectiveness history, for other reports: read, never computed.

The benchmark is another package, which may not even be installed: its file is taken as any other file, and whatever is
wrong with it costs a note and not the run. `core/schemas/effectiveness-history.schema.json` says what a line holds.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from skill_health.core.errors import SkillHealthError
from skill_health.core.history import read_backwards
from skill_health.documents._record import Amount, CommitText, Count, Name, OpenRecord, RunIdText, Share, TimeText
from skill_health.stats.estimates import Estimate
from skill_health.text.patterns import lazy

HISTORY = "effectiveness-history.jsonl"
KIND, VERSION = "effectiveness", 1
VERDICTS = ("helps", "no evidence", "harmful", "not testable", "biased")
# Further back nobody looks for a measurement that is still of interest.
_MOST_LINES = 20_000
_MOST_BYTES = 1 << 16
_MOST = 10**12
_REASONS = 20
_TIME = lazy(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_RUN = lazy(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class EffectHistoryLine(OpenRecord, frozen=True, kw_only=True):
    """What was run and what came out: one line for each run, model and skill, and one for the whole collection."""

    ID: ClassVar = "skill-health/effectiveness-history/1"

    version: Literal[1]
    """The version of this form."""
    kind: Literal["effectiveness"]
    """What the line is about."""
    created: TimeText
    """When the run began, in UTC."""
    run_id: RunIdText
    """The name of the run, and of its folder."""
    manifest: str
    """A hash of the manifest."""
    commit: CommitText | None
    """The commit of the collection; null outside git."""
    dirty: bool | None
    """Whether files of the collection differed from the commit; null where that is not known."""
    tool_version: str
    """The version of skill-health."""
    model: Name
    """The name of agent and model as it was given."""
    agent: str
    """The agent."""
    agent_version: str | None
    """The version of the agent's program."""
    resolved: tuple[str, ...]
    """What the provider called the model."""
    simulated: bool
    """True where the line says nothing about any model."""
    skill: str | None
    """The skill; null for the whole collection."""
    skill_digest: str | None
    """A hash of the skill as it was staged; for the collection that of all skills."""
    hashes: Mapping[str, str]
    """Hashes of what the run rested on."""
    sandbox: str
    """What agents were kept in."""
    seed: Count
    replications: Annotated[int, Meta(ge=1)]
    tasks: Count
    """Tasks that the line is about."""
    trials: Count
    """Trials of the model that were planned for these tasks."""
    scored: Count
    """Those that count."""
    outcomes: Mapping[str, Count]
    """How many trials of the model came to what, over all tasks of the run."""
    control: EffectHistoryControl
    target: EffectHistoryControl
    delta: EffectHistoryControl
    p: Share | None
    """Of the primary test; null where it is not testable."""
    p_adjusted: Share | None
    """After the correction for several tests."""
    verdict: Literal["helps", "no evidence", "harmful", "not testable", "biased"]
    """What the rules come to."""
    reason: str
    """Why."""
    preliminary: tuple[str, ...]
    """Why it is not final."""
    biased: tuple[str, ...]
    """Why nothing of the model's figures is to be trusted."""
    cost_usd: Amount | None
    """Dollars of the model's whole run; null where not all are known."""


class EffectHistoryControl(OpenRecord, frozen=True, kw_only=True):
    """The success rate without a skill."""

    value: float | None
    low: float | None
    high: float | None
    n: Count
    clusters: Count


@dataclass(frozen=True, slots=True)
class ModelEffect:
    """What the last run of a model says of a skill, or of the whole collection where `skill` is None.

    `delta` is the difference in success, target against control, between -1 and 1. `scored` of `trials` count, over
    `tasks` tasks. `digest` is the skill's as it was staged, "" where the line does not say; `changed` tells whether it
    is another one now, None where that is not known. `biased` and `preliminary` are reasons.
    """

    model: str
    skill: str | None
    time: str
    run_id: str
    verdict: str
    reason: str
    delta: Estimate
    tasks: int
    scored: int
    trials: int
    simulated: bool
    digest: str = ""
    biased: tuple[str, ...] = ()
    preliminary: tuple[str, ...] = ()
    changed: bool | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """The last line of each model and skill, by model and then by skill, the collection's first; and the problems."""

    lines: tuple[ModelEffect, ...] = ()
    problems: tuple[str, ...] = ()

    def of(self, skill: str | None) -> tuple[ModelEffect, ...]:
        """What the models say of a skill, the latest first; those that asked no model come last."""
        found = [each for each in self.lines if each.skill == skill]
        found.sort(key=lambda each: each.time, reverse=True)
        return tuple(sorted(found, key=lambda each: each.simulated))


def read_effects(
    folder: str, now: Callable[[], Mapping[str, str | None]], about: Collection[str] = ()
) -> Effects | None:
    """What the history in a folder of reports says; None where there is none. Never raises for what the file holds.

    `now` gives the digest of each skill as it would be staged now, by name; it is not called where nothing is to mark.
    Only the skills that `about` names count where it names any, and of collections those with one of them.
    """
    path = os.path.join(folder, HISTORY)
    if not os.path.lexists(path):
        return None
    last: dict[tuple[str, str | None], ModelEffect] = {}
    seen: set[tuple[str, str]] = set()
    wrong = 0
    try:
        for at, (_, raw) in enumerate(read_backwards(path)):
            if at == _MOST_LINES:
                break
            try:
                found = _line(raw)
            except (ValueError, RecursionError):
                wrong += 1
                continue
            if not found:
                continue
            run = (found.model, found.run_id)
            # The line of a collection stands before those of its skills, and so comes after them here.
            if not about or (run in seen if found.skill is None else found.skill in about):
                last.setdefault((found.model, found.skill), found)
                seen.add(run)
    except SkillHealthError as error:
        return Effects(problems=(str(error).replace(path, HISTORY),))
    order = sorted(last, key=lambda key: (key[0], key[1] is not None, key[1] or ""))
    damaged = f"{wrong} line{'s' * (wrong != 1)} of {HISTORY} {'is' if wrong == 1 else 'are'} damaged and left out"
    digests = now() if last else {}
    return Effects(tuple(_marked(last[key], digests) for key in order), (damaged,) if wrong else ())


def _marked(effect: ModelEffect, digests: Mapping[str, str | None]) -> ModelEffect:
    now = None if effect.skill is None else digests.get(effect.skill)
    return replace(effect, changed=now != effect.digest) if now and effect.digest else effect


def _line(raw: bytes) -> ModelEffect | None:
    """One line as far as it is shown; None for an object of another kind. Raises ValueError for a damaged one."""
    if len(raw) > _MOST_BYTES:
        raise ValueError("too long")
    record = json.loads(raw.decode("utf-8"))
    if not isinstance(record, dict):
        raise ValueError("not an object")
    if record.get("kind") != KIND or record.get("version") != VERSION:
        return None
    scored, trials = whole(record.get("scored")), whole(record.get("trials"))
    verdict = record.get("verdict")
    if scored > trials or verdict not in VERDICTS:
        raise ValueError("more was scored than planned, or no such verdict")
    skill = record.get("skill")
    return ModelEffect(
        model=_matching(record.get("model"), None),
        skill=None if skill is None else _matching(skill, None),
        time=_matching(record.get("created"), _TIME),
        run_id=_matching(record.get("run_id"), _RUN),
        verdict=verdict,
        reason=_text(record.get("reason")),
        delta=estimate(record.get("delta"), -1.0),
        tasks=whole(record.get("tasks")),
        scored=scored,
        trials=trials,
        simulated=record.get("simulated") is not False,
        digest=_text(record.get("skill_digest")),
        biased=_reasons(record.get("biased")),
        preliminary=_reasons(record.get("preliminary")),
    )


def estimate(value: Any, least: float = 0.0) -> Estimate:
    """An estimate of a file, between `least` and 1. Raises ValueError where it is none."""
    if not isinstance(value, dict):
        raise ValueError("not an object")
    middle, low, high = (_number(value.get(key), least) for key in ("value", "low", "high"))
    n, clusters = whole(value.get("n") or 0), whole(value.get("clusters") or 0)
    return Estimate(middle, low, high, n, clusters, note=_text(value.get("note")))


def whole(value: Any) -> int:
    """A count of a file. Raises ValueError where it is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError("not a count")
    return value


def _number(value: Any, least: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= 1:
        raise ValueError("not such a number")
    return float(value)


def _matching(value: Any, pattern: re.Pattern[str] | None) -> str:
    if not isinstance(value, str) or not value.strip() or (pattern and not pattern.fullmatch(value)):
        raise ValueError("not such a text")
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _reasons(value: Any) -> tuple[str, ...]:
    if value is None or value == []:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("not reasons")
    return tuple(value[:_REASONS])


def estimate_json(number: Estimate) -> Mapping[str, Any]:
    """An estimate as JSON values, as far as a reader of a history knows it."""
    return {key: getattr(number, key) for key in ("value", "low", "high", "n", "clusters", "note")}


def effect_line_record(each: ModelEffect) -> dict[str, Any]:
    """One line of the history as JSON values, and whether its skill has changed since."""
    plain = (
        "model", "skill", "time", "run_id", "verdict", "reason", "tasks", "scored", "trials", "simulated", "changed",
    )  # fmt: skip
    lists = {"biased": list(each.biased), "preliminary": list(each.preliminary)}
    return {name: getattr(each, name) for name in plain} | {"delta": estimate_json(each.delta)} | lists
