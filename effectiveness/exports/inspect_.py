"""inspect_ai's log format: a log for each model and arm, a sample for each task, an epoch for each replication.

What is missing data in the run is a sample with an error and without a score, as it is there. Written from its
reference, 2026-11; `inspect view`, `inspect log` and its Python reader take the files.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from skill_health import __version__
from skill_health.documents._record import TokenUsage, record_values
from skill_health.documents.effect_manifest import FrozenAgent, FrozenTask
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.exports._api import ExportedFile, ExportGap, Read, plain_json
from skill_health.effectiveness.exports._inspect_log import (
    InspectEvalLog,
    LoggedCall,
    LoggedChoice,
    LoggedConfig,
    LoggedContent,
    LoggedDataset,
    LoggedError,
    LoggedFault,
    LoggedLimit,
    LoggedMessage,
    LoggedMetric,
    LoggedOutput,
    LoggedPlan,
    LoggedResults,
    LoggedSample,
    LoggedScore,
    LoggedScorer,
    LoggedSpec,
    LoggedStats,
    LoggedStep,
    LoggedUsage,
)
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.trials.reading import KeptTrial
from skill_health.trials.results import Trial
from skill_health.trials.steps import SkillOpenings, as_text, list_of, value_of

TITLE = "Log of inspect_ai"
OUTCOME, REWARD = "outcome", "reward"
_TASK = "skill-health"
_MOST_EXPLANATION = 20_000


def export(run: EffectRun, trials: Sequence[Trial], read: Read) -> Iterator[ExportedFile | ExportGap]:
    """A log for each model and arm of which there are trials."""
    groups: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.line.model, trial.line.arm].append(trial)
    for (model, arm), some in groups.items():
        samples = []
        for trial in some:
            kept = read(trial)
            samples.append(_sample(run, kept))
            if kept.trajectory is None:
                yield ExportGap(trial.name, f"without messages, as {kept.problems[0]}")
        yield _file(_log(run, model, arm, some, samples))


def _file(log: InspectEvalLog) -> ExportedFile:
    # The reader wants the fields in their order, which sorting would lose.
    values = plain_json(record_values(log))
    text = json.dumps(values, indent=1, ensure_ascii=True, allow_nan=False)
    when = log.eval.created.replace(":", "-").replace("Z", "+00-00")
    return ExportedFile(f"{when}_{_TASK}_{log.eval.task_id}.json", text.encode() + b"\n", len(log.samples))


def _log(
    run: EffectRun, model: str, arm: str, trials: Sequence[Trial], samples: Sequence[LoggedSample]
) -> InspectEvalLog:
    manifest = run.manifest
    agent = next((each for each in manifest.models if each.spec == model), None)
    tasks = [task for task, arms in manifest.staged.items() if arm in arms]
    ids = tuple(dict.fromkeys([*tasks, *(each.line.task_id for each in trials)]))
    planned = len(tasks) * manifest.replications
    scored = [each for each in samples if each.scores]
    own = _digest(run.run_id, model, arm)
    return InspectEvalLog(
        status="success" if len(samples) >= planned else "cancelled",
        eval=LoggedSpec(
            eval_id=own, run_id=run.run_id, created=manifest.created, task=_TASK, task_id=own, task_args={"arm": arm},
            solver=_solver(agent, model), tags=(arm,), dataset=LoggedDataset(name="tasks", samples=len(ids), sample_ids=ids),
            model=_model(agent, model), config=LoggedConfig(epochs=manifest.replications),
            packages={"skill-health": __version__}, metadata=_about(run, agent, arm),
        ),
        plan=LoggedPlan(steps=(LoggedStep(solver=_solver(agent, model)),)),
        results=LoggedResults(
            total_samples=planned, completed_samples=len(scored), scores=tuple(_scorers(samples, scored)),
        ),
        stats=LoggedStats(started_at=manifest.created, model_usage=_total(samples)),
        samples=tuple(samples),
    )  # fmt: skip


def _solver(agent: FrozenAgent | None, model: str) -> str:
    return agent.agent if agent else model


def _model(agent: FrozenAgent | None, model: str) -> str:
    return agent.model if agent and agent.model else model


def _digest(*parts: str) -> str:
    # As short and plain as the tool's own: it names files by it.
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=11).hexdigest()


def _about(run: EffectRun, agent: FrozenAgent | None, arm: str) -> dict[str, Any]:
    manifest = run.manifest
    return {
        "condition": arm, "run_id": run.run_id, "seed": manifest.seed, "commit": manifest.commit,
        "tool_version": manifest.tool_version, "sandbox": manifest.sandbox.name, "agent": agent.spec if agent else None,
        "agent_version": agent.version if agent else None, "simulated": agent.simulated if agent else None,
    }  # fmt: skip


def _scorers(samples: Sequence[LoggedSample], scored: Sequence[LoggedSample]) -> Iterator[LoggedScorer]:
    for name, metric in ((OUTCOME, "accuracy"), (REWARD, "mean")):
        values = [_number(each.scores[name].value) for each in scored if each.scores and name in each.scores]
        if values:
            found = LoggedMetric(name=metric, value=sum(values) / len(values))
            yield LoggedScorer(
                name=name, scorer=name, scored_samples=len(values), unscored_samples=len(samples) - len(values),
                metrics={metric: found},
            )  # fmt: skip


def _number(value: str | float) -> float:
    return float(value == "C") if isinstance(value, str) else value


def _total(samples: Iterable[LoggedSample]) -> dict[str, LoggedUsage]:
    """The tokens of all samples that tell theirs; a kind of which some do not tell is left out."""
    used: dict[str, list[LoggedUsage]] = defaultdict(list)
    for sample in samples:
        for model, usage in sample.model_usage.items():
            used[model].append(usage)
    names = LoggedUsage.__struct_fields__
    return {
        model: LoggedUsage(**{name: _sum(getattr(u, name) for u in each) for name in names})
        for model, each in used.items()
    }


def _sum(values: Iterable[Any]) -> Any:
    known = list(values)
    return None if None in known else sum(known)


def _sample(run: EffectRun, kept: KeptTrial) -> LoggedSample:
    line = kept.trial.line
    agent = next((each for each in run.manifest.models if each.spec == line.model), None)
    task = next((each for each in run.manifest.tasks if each.id == line.task_id), None)
    model = line.resolved_model or _model(agent, line.model)
    messages = tuple(_messages(kept))
    prompt = kept.about.prompt or next((_words(each) for each in messages if each.role == "user"), "")
    last = next((each for each in reversed(messages) if each.role == "assistant"), None)
    answer = kept.answer.text if kept.answer else _words(last) if last else ""
    usage = _usage(line.usage, line.cost_usd)
    return LoggedSample(
        id=line.task_id,
        epoch=line.replication + 1,
        input=prompt,
        target="",
        messages=messages,
        output=LoggedOutput(model=model, choices=(LoggedChoice(message=last),) if last else (), completion=answer),
        scores=_scores(kept, answer) or None,
        metadata=_metadata(kept, task),
        model_usage={model: usage} if usage else {},
        total_time=None if line.duration_ms is None else line.duration_ms / 1000,
        uuid=_digest(run.run_id, *map(str, line.key)),
        error=None if line.scored else LoggedError(message=f"{line.outcome}: {line.error}".rstrip(": ")),
        limit=_limit(run, line),
    )


def _limit(run: EffectRun, line: TrialResult) -> LoggedLimit | None:
    """Out of time: after how many seconds, as the run allowed them or as it took."""
    if line.outcome != "timeout":
        return None
    return LoggedLimit(limit=run.manifest.limits.timeout_sec or (line.duration_ms or 0.0) / 1000)


def _scores(kept: KeptTrial, answer: str) -> dict[str, LoggedScore]:
    """Nothing for a trial that was not scored: an error is no wrong answer."""
    line = kept.trial.line
    if not line.scored:
        return {}
    told = next((each.text for each in kept.outputs if each.way[-1] == "stdout"), "")
    found = {
        OUTCOME: LoggedScore(
            value="C" if line.outcome == "pass" else "I", answer=answer[:_MOST_EXPLANATION],
            explanation="\n".join([told[:_MOST_EXPLANATION], *kept.notes]).strip() or None,
            metadata={"outcome": line.outcome, "checks": [
                {"kind": each.kind, "name": each.name, "said": each.said, "why": each.why} for each in kept.checks
            ]},
        )
    }  # fmt: skip
    if line.reward is not None:
        found[REWARD] = LoggedScore(value=float(line.reward), metadata={"rewards": dict(line.rewards)})
    return found


def _usage(used: TokenUsage, cost: float | None) -> LoggedUsage | None:
    """None where either side is not known: the format would take it for zero."""
    if used.input_tokens is None or used.output_tokens is None:
        return None
    cached, written = used.cached_tokens, used.cache_write_tokens
    return LoggedUsage(
        input_tokens=max(0, used.input_tokens - (cached or 0) - (written or 0)), output_tokens=used.output_tokens,
        total_tokens=used.input_tokens + used.output_tokens, input_tokens_cache_read=cached,
        input_tokens_cache_write=written, reasoning_tokens=used.reasoning_tokens, total_cost=cost,
    )  # fmt: skip


def _metadata(kept: KeptTrial, task: FrozenTask | None) -> dict[str, Any]:
    line = kept.trial.line
    about = {"slug": task.slug, "category": task.category, "difficulty": task.difficulty} if task else {}
    return {
        **about, "trial": kept.trial.name, "arm": line.arm, "outcome": line.outcome, "agent": kept.agent,
        "skills": [name for name, _ in line.skills], "invoked": line.invoked, "invocations": list(line.invocations),
        "evidence": list(line.evidence), "changed": line.changed, "turns": line.turns, "tool_calls": line.tool_calls,
        "attempts": line.attempts, "cost_usd": line.cost_usd, "usage": record_values(line.usage), "notes": list(line.notes),
    }  # fmt: skip


def _messages(kept: KeptTrial) -> Iterator[LoggedMessage]:
    """The steps as messages; the call that opens a skill says so in the metadata of its answer."""
    openings = SkillOpenings.of(kept.trial.line)
    for number, step in enumerate(kept.raw_steps, 1):
        source, said = value_of(step, "source"), as_text(value_of(step, "message"))
        if source != "agent":
            role = "system" if source == "system" else "user"
            yield LoggedMessage(id=f"{number}", role=role, content=said, source="input")  # type: ignore[arg-type]
            continue
        yield from _answer(number, step, said, openings)


def _answer(number: int, step: Any, said: str, openings: SkillOpenings) -> Iterator[LoggedMessage]:
    thought = as_text(value_of(step, "reasoning_content"))
    parts = (LoggedContent(type="reasoning", reasoning=thought), LoggedContent(type="text", text=said))
    failed = list_of(value_of(value_of(step, "extra"), "failed_calls"))
    calls: list[LoggedCall] = []
    opened: list[str] = []
    for nth, call in enumerate(list_of(value_of(step, "tool_calls")), 1):
        own = as_text(value_of(call, "tool_call_id")) or f"call-{number}-{nth}"
        name, given = as_text(value_of(call, "function_name")), value_of(call, "arguments")
        arguments = given if isinstance(given, Mapping) else {} if given is None else {"value": given}
        calls.append(LoggedCall(id=own, function=name or "unknown", arguments=plain_json(arguments)))
        opened += openings.by(name, given, own in failed)
    model = value_of(step, "model_name")
    yield LoggedMessage(
        id=f"{number}", role="assistant", source="generate", content=parts if thought else said,
        tool_calls=tuple(calls) or None, model=model if isinstance(model, str) else None,
        metadata={"opened_skills": list(dict.fromkeys(opened))} if opened else None,
    )  # fmt: skip
    names = {call.id: call.function for call in calls}
    for nth, result in enumerate(list_of(value_of(value_of(step, "observation"), "results")), 1):
        of = as_text(value_of(result, "source_call_id"))
        content = as_text(value_of(result, "content"))
        yield LoggedMessage(
            id=f"{number}.{nth}", role="tool", content=content, tool_call_id=of or None, function=names.get(of),
            error=LoggedFault(message=content[:500]) if of in failed else None,
        )  # fmt: skip


def _words(message: LoggedMessage) -> str:
    """What is said in a message, without what was thought."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(each.text or "" for each in message.content if each.type == "text")
