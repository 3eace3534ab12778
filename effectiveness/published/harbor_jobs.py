"""Harbor's jobs: `result.json` of a trial, and of a job where the trials' own are not there. Read in 2026-11."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from skill_health.core.files import may_be_file
from skill_health.documents._record import OpenRecord, convert_record
from skill_health.documents.effect_result import Outcome
from skill_health.effectiveness.published._api import (
    Measured,
    PublishedItem,
    PublishedTrial,
    ResultFile,
    ResultName,
    Tokens,
    outcome_of,
)

TITLE = "Harbor job"
FULL_REWARD = 1.0
_REWARD = "reward"
_TIMEOUT = "AgentTimeoutError"
_CUT = 1e-9


class HarborModel(OpenRecord, frozen=True, kw_only=True):
    """The model that an agent asked."""

    name: ResultName


class HarborAgent(OpenRecord, frozen=True, kw_only=True):
    """The agent as it was found."""

    name: ResultName
    model_info: HarborModel | None = None


class HarborUsage(OpenRecord, frozen=True, kw_only=True):
    """What the agent says that it took."""

    input_tokens: Tokens | None = msgspec.field(name="n_input_tokens", default=None)
    cached_tokens: Tokens | None = msgspec.field(name="n_cache_tokens", default=None)
    output_tokens: Tokens | None = msgspec.field(name="n_output_tokens", default=None)
    cost_usd: Measured | None = None


class HarborVerified(OpenRecord, frozen=True, kw_only=True):
    """What the verifier wrote."""

    rewards: Mapping[str, float] | None = None


class HarborException(OpenRecord, frozen=True, kw_only=True):
    """Why a trial broke off."""

    kind: str = msgspec.field(name="exception_type")


class HarborSpan(OpenRecord, frozen=True, kw_only=True):
    """When a part of a trial began and ended, in ISO 8601."""

    started: str | None = msgspec.field(name="started_at", default=None)
    finished: str | None = msgspec.field(name="finished_at", default=None)

    @property
    def duration_ms(self) -> float | None:
        """How long it took; None where an end is missing, is no time or lies before the beginning."""
        try:
            took = datetime.fromisoformat(self.finished or "") - datetime.fromisoformat(self.started or "")
        except (ValueError, TypeError):
            return None
        return took / timedelta(milliseconds=1) if took >= timedelta() else None


class HarborTrial(OpenRecord, frozen=True, kw_only=True):
    """The result.json of a trial."""

    trial_name: ResultName
    source: str | None = None
    agent: HarborAgent = msgspec.field(name="agent_info")
    usage: HarborUsage | None = msgspec.field(name="agent_result", default=None)
    verified: HarborVerified | None = msgspec.field(name="verifier_result", default=None)
    exception: HarborException | None = msgspec.field(name="exception_info", default=None)
    execution: HarborSpan | None = msgspec.field(name="agent_execution", default=None)
    started: str | None = msgspec.field(name="started_at", default=None)


class HarborEval(OpenRecord, frozen=True, kw_only=True):
    """The trials of one agent, model and data set, by reward and by exception."""

    rewards: Mapping[str, Mapping[str, tuple[ResultName, ...]]] = msgspec.field(name="reward_stats", default={})
    exceptions: Mapping[str, tuple[ResultName, ...]] = msgspec.field(name="exception_stats", default={})


class HarborStats(OpenRecord, frozen=True, kw_only=True):
    """What a job counted."""

    evals: Mapping[str, HarborEval]


def fits(file: ResultFile) -> bool:
    """The result of a trial, or of a job."""
    return file.has("trial_name", "task_name", "agent_info") or _is_job(file.data)


def _is_job(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("stats"), dict) and "evals" in data["stats"]


def read(file: ResultFile) -> Iterator[PublishedItem]:
    """The trial, or those trials of a job that have no folder of their own beside it."""
    if _is_job(file.data):
        for name, found in convert_record(file.data["stats"], HarborStats).evals.items():
            yield from _summarised(name, found, file)
    else:
        yield _trial(convert_record(file.data, HarborTrial), file)


def _trial(trial: HarborTrial, file: ResultFile) -> PublishedTrial:
    # The trial's own folder is named after its task, and says nothing of the condition.
    labels = (trial.source or "", *file.folders[1:])
    usage = trial.usage or HarborUsage()
    exception = trial.exception.kind if trial.exception else ""
    reward = _pick_reward(trial.verified.rewards if trial.verified and trial.verified.rewards else {})
    model = trial.agent.model_info.name if trial.agent.model_info else None
    return PublishedTrial(
        task=_task_of(trial.trial_name),
        model=f"{trial.agent.name} ({model})" if model else trial.agent.name,
        labels=labels,
        identity=trial.trial_name,
        outcome=_outcome(reward, exception),
        reward=reward,
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        # Of agents that do not say what they wrote, Harbor says 0.
        output_tokens=usage.output_tokens or None,
        cost_usd=usage.cost_usd,
        duration_ms=trial.execution.duration_ms if trial.execution else None,
        started=trial.started or "",
        error=exception,
    )


def _summarised(name: str, found: HarborEval, file: ResultFile) -> Iterator[PublishedItem]:
    """The trials of a summary. Its name is agent, model and data set; a trial may be in both of its lists."""
    agent, _, rest = name.partition("__")
    model, _, dataset = rest.rpartition("__")
    rewards: dict[str, float] = {}
    for text, names in (found.rewards.get(_REWARD) or next(iter(found.rewards.values()), {})).items():
        try:
            value = float(text)
        except ValueError:
            yield f"{text[:40]!r} is no reward; its {len(names)} trials are left out"
            continue
        if not abs(value) <= 2**53:
            yield f"{text[:40]!r} is no reward; its {len(names)} trials are left out"
            continue
        rewards |= dict.fromkeys(names, value)
    exceptions = {each: kind for kind, names in found.exceptions.items() for each in names}
    for trial in sorted({*rewards, *exceptions}):
        if "/" not in trial and may_be_file(os.path.join(os.path.dirname(file.path), trial, "result.json")):
            continue
        yield PublishedTrial(
            task=_task_of(trial),
            model=f"{agent} ({model})" if model else agent,
            labels=(dataset, *file.folders),
            identity=trial,
            outcome=_outcome(rewards.get(trial), exceptions.get(trial, "")),
            reward=rewards.get(trial),
            error=exceptions.get(trial, ""),
        )


def _task_of(trial: str) -> str:
    """The task as a trial is named after it, which a job cuts at 32 characters."""
    return trial.rpartition("__")[0] or trial


def _pick_reward(rewards: Mapping[str, float]) -> float | None:
    value = rewards.get(_REWARD, next(iter(rewards.values()), None))
    return value if value is not None and abs(value) <= 2**53 else None


def _outcome(reward: float | None, exception: str) -> Outcome:
    """As in our runs: an agent out of time has not succeeded, and without a reward there is nothing to count."""
    if exception == _TIMEOUT:
        return "timeout"
    return "infrastructure" if reward is None else outcome_of(reward >= FULL_REWARD - _CUT)
