"""Two runs of the same prompts -> what has changed, paired by prompt and clustered by skill, or why it cannot be said.

What is compared is declared beforehand: recall, and false fires where no skill applies and on near misses. Holm's
correction covers all of them and all agents, so that two runs of the same raise an alarm in at most 5 % of comparisons.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from msgspec.structs import replace

from skill_health.activation.run.runs import ActivationRun
from skill_health.activation.scores.rows import METRICS, LoadMetric, LoadRow, cluster_of, clustering_of, judge_loads
from skill_health.core.errors import UsageError
from skill_health.documents.activation_comparison import (
    ActivationAlarm,
    ActivationChange,
    ActivationComparison,
    ActivationFlip,
    ComparedActivationRun,
    ComparedAgent,
    LoadFlip,
)
from skill_health.documents.activation_manifest import ActivationManifest
from skill_health.documents.router_manifest import NONE, Prompt
from skill_health.router.scores.numbers import difference, not_testable, number
from skill_health.stats.multiplicity import benjamini_hochberg, holm
from skill_health.text.near import did_you_mean, list_some
from skill_health.text.numbers import count

ALPHA = 0.05
COMPARED: Mapping[str, int] = {"recall": 1, "false_fire_none": -1, "false_fire_near": -1}
"""The metrics that can raise an alarm, each with the sign of what is better."""
ALSO = ("accepted", "other_first", "silent")
"""What is shown beside them."""
_UNKNOWN = 0.05
_FLIPS: tuple[LoadFlip, ...] = ("lost", "won", "moved")


@dataclass(frozen=True, slots=True)
class PairedLoads:
    """The known results of one prompt, in the baseline and in the run."""

    prompt: Prompt
    before: tuple[LoadRow, ...]
    after: tuple[LoadRow, ...]

    def sides(self, metric: LoadMetric) -> tuple[float, float]:
        """The share of hits over the replications, in the baseline and in the run."""
        return fmean(map(metric.value, self.before)), fmean(map(metric.value, self.after))


def compare_activation(
    run: ActivationRun, baseline: ActivationRun, max_loss: float, models: tuple[str, str] | None = None
) -> ActivationComparison:
    """The comparison of the agents that both runs have, or of one of the run with one of the baseline.

    Raises UsageError where no prompt or no agent is in common.
    """
    common = _common(run.manifest, baseline.manifest)
    if not common:
        raise UsageError(f"{run.run_id} and {baseline.run_id} have no prompt in common: there is nothing to compare")
    met = _met(run.manifest, baseline.manifest, models)
    clustering = clustering_of(run.manifest)
    compared = _corrected([_agent(pair, run, baseline, common, clustering) for pair in met])
    only = tuple(prompt.prompt_id for prompt in run.manifest.prompts if prompt.prompt_id not in common)
    return ActivationComparison(
        schema="skill-health/activation-comparison/1",
        run=_side(run.manifest),
        baseline=_side(baseline.manifest),
        max_loss=max_loss,
        prompts=len(common),
        only_run=only,
        only_baseline=len(baseline.manifest.prompts) - len(common),
        clustering="skill" if clustering == "skill" else "prompt",
        differences=tuple(_differences(run.manifest, baseline.manifest, met)),
        cautions=tuple(_cautions(run, baseline, compared)),
        models=compared,
        alarms=tuple(_alarms(compared, max_loss)),
    )


def _side(manifest: ActivationManifest) -> ComparedActivationRun:
    return ComparedActivationRun(
        run_id=manifest.run_id, created=manifest.created, commit=manifest.commit, dirty=manifest.dirty
    )


def _common(now: ActivationManifest, then: ActivationManifest) -> dict[str, Prompt]:
    """The prompts that ask and expect the same in both runs, by their ids."""
    old = {prompt.prompt_id: _asked(prompt) for prompt in then.prompts}
    return {prompt.prompt_id: prompt for prompt in now.prompts if old.get(prompt.prompt_id) == _asked(prompt)}


def _asked(prompt: Prompt) -> tuple[object, ...]:
    labels = (prompt.expected, prompt.known, frozenset(prompt.acceptable), frozenset(prompt.rejected))
    return " ".join(prompt.text.split()), *labels


def _met(
    now: ActivationManifest, then: ActivationManifest, models: tuple[str, str] | None
) -> tuple[tuple[str, str], ...]:
    """The pairs of agents, each (in the run, in the baseline). Raises UsageError without any."""
    mine, theirs = ([model.spec for model in manifest.models] for manifest in (now, then))
    if models is None:
        both = tuple((spec, spec) for spec in mine if spec in theirs)
        if not both:
            raise UsageError(
                f"no agent is in both runs ({list_some(mine)}; {list_some(theirs)}): name two by --model and --against"
            )
        return both
    for name, there, manifest in ((models[0], mine, now), (models[1], theirs, then)):
        if name not in there:
            raise UsageError(f"{manifest.run_id} has no agent {name!r}{did_you_mean(name, there)}")
    return (models,)


def pair_loads(before: Iterable[LoadRow], after: Iterable[LoadRow], prompts: Mapping[str, Prompt]) -> list[PairedLoads]:
    """The prompts of which it is known in both what was opened, in the run's order."""
    old, new = _by_prompt(before), _by_prompt(after)
    return [
        PairedLoads(prompts[name], tuple(old[name]), tuple(new[name]))
        for name in prompts
        if name in old and name in new
    ]


def _by_prompt(rows: Iterable[LoadRow]) -> dict[str, list[LoadRow]]:
    found: defaultdict[str, list[LoadRow]] = defaultdict(list)
    for row in rows:
        if row.result.known:
            found[row.prompt.prompt_id].append(row)
    return found


def change(pairs: Sequence[PairedLoads], metric: LoadMetric, clustering: str, seed: int) -> ActivationChange:
    """A metric before and after with the difference, its interval and its p; each prompt counts once."""
    there = [each for each in pairs if metric.of(each.prompt)]
    if not there:
        return ActivationChange(before=None, after=None, difference=not_testable(metric.why), moved=0)
    sums: dict[str, list[float]] = {}
    for each in there:
        before, after = each.sides(metric)
        total = sums.setdefault(cluster_of(each.prompt, clustering, metric.near), [0.0, 0.0])
        total[0] += round(after - before, 9)
        total[1] += 1
    rows = [sums[cluster] for cluster in sorted(sums)]
    old, new = zip(*(each.sides(metric) for each in there), strict=True)
    found = dataclasses.replace(difference(rows, seed), n=len(there), clusters=len(rows))
    return ActivationChange(
        before=round(fmean(old), 9),
        after=round(fmean(new), 9),
        difference=number(found),
        moved=sum(round(total, 9) != 0 for total, _ in rows),
    )


def _agent(
    pair: tuple[str, str], run: ActivationRun, baseline: ActivationRun, common: Mapping[str, Prompt], clustering: str
) -> ComparedAgent:
    (mine, theirs), seed = pair, run.manifest.seed
    after, before = _rows(run, mine), _rows(baseline, theirs)
    pairs = pair_loads(before, after, common)
    metrics = {
        name: change(pairs, METRICS[name], clustering, seed)
        for name in (*COMPARED, *ALSO)
        if any(METRICS[name].of(prompt) for prompt in common.values())
    }
    versions = {
        side: next((model.version for model in manifest.models if model.spec == spec), None)
        for side, manifest, spec in (("before", baseline.manifest, theirs), ("after", run.manifest, mine))
    }
    return ComparedAgent(
        model=mine,
        against=theirs,
        resolved=(_resolved(before), _resolved(after)),
        versions=(versions["before"], versions["after"]),
        paired=len(pairs),
        unpaired=len(common) - len(pairs),
        metrics=metrics,
        skills=_by_skill(pairs, seed),
        flips=tuple(_flips_of(pairs)),
    )


def _rows(run: ActivationRun, spec: str) -> list[LoadRow]:
    """The results of an agent with the whole collection."""
    size = run.manifest.sizes[-1]
    return [
        row for row in judge_loads(run.manifest, run.results) if row.result.model == spec and row.result.size == size
    ]


def _resolved(rows: Iterable[LoadRow]) -> tuple[str, ...]:
    return tuple(sorted({row.result.resolved_model for row in rows if row.result.resolved_model}))


def _by_skill(pairs: Sequence[PairedLoads], seed: int) -> dict[str, ActivationChange]:
    groups: defaultdict[str, list[PairedLoads]] = defaultdict(list)
    for each in pairs:
        if each.prompt.expected:
            groups[each.prompt.expected].append(each)
    found = {skill: change(groups[skill], METRICS["recall"], "prompt", seed) for skill in sorted(groups)}
    adjusted = benjamini_hochberg([each.difference.p for each in found.values()])
    return {
        skill: replace(each, difference=replace(each.difference, p_adjusted=p))
        for (skill, each), p in zip(found.items(), adjusted, strict=True)
    }


def _corrected(agents: Sequence[ComparedAgent]) -> tuple[ComparedAgent, ...]:
    """Holm's correction over all agents and all metrics that can raise an alarm."""
    cells = [(nth, name) for nth, agent in enumerate(agents) for name in COMPARED if name in agent.metrics]
    adjusted = holm([agents[nth].metrics[name].difference.p for nth, name in cells])
    by_agent: defaultdict[int, dict[str, float | None]] = defaultdict(dict)
    for (nth, name), p in zip(cells, adjusted, strict=True):
        by_agent[nth][name] = p
    return tuple(
        replace(
            agent,
            metrics={
                name: replace(each, difference=replace(each.difference, p_adjusted=by_agent[nth].get(name)))
                for name, each in agent.metrics.items()
            },
        )
        for nth, agent in enumerate(agents)
    )


def _alarms(agents: Iterable[ComparedAgent], max_loss: float) -> Iterator[ActivationAlarm]:
    for agent in agents:
        for name, sign in COMPARED.items():
            found = agent.metrics[name].difference if name in agent.metrics else None
            if found is None or found.value is None or found.p_adjusted is None or found.p_adjusted > ALPHA:
                continue
            if -sign * found.value > max_loss:
                yield ActivationAlarm(model=agent.model, metric=name, by=found.value, p_adjusted=found.p_adjusted)


def _flips_of(pairs: Sequence[PairedLoads]) -> list[ActivationFlip]:
    found = []
    for each in pairs:
        before, after = _modal(each.before), _modal(each.after)
        if before != after:
            was, now = (_is_right(each.prompt, name) for name in (before, after))
            kind: LoadFlip = "lost" if was and not now else "won" if now and not was else "moved"
            found.append(
                ActivationFlip(
                    prompt_id=each.prompt.prompt_id,
                    expected=each.prompt.expected,
                    kind=kind,
                    before=before,
                    after=after,
                )
            )
    return sorted(found, key=lambda flip: _FLIPS.index(flip.kind))


def _modal(rows: Sequence[LoadRow]) -> str:
    """What was opened first most often; of equals what is right, then the first by name."""
    counts = Counter(row.first for row in rows)
    return min(counts, key=lambda name: (-counts[name], not _is_right(rows[0].prompt, name), name))


def _is_right(prompt: Prompt, first: str) -> bool:
    if not prompt.known:
        return first not in prompt.rejected
    return first in (prompt.expected or NONE, *prompt.acceptable)


def _differences(now: ActivationManifest, then: ActivationManifest, met: Sequence[tuple[str, str]]) -> Iterator[str]:
    for name, what in (
        ("turns", "turns"), ("timeout_sec", "seconds for a request"), ("delivery", "delivery"),
        ("replications", "replications"), ("tool_version", "version of skill-health"),
    ):  # fmt: skip
        one, other = getattr(then, name), getattr(now, name)
        if one != other:
            yield f"{what}: {one} then, {other} now"
    if then.sandbox.name != now.sandbox.name:
        yield f"sandbox: {then.sandbox.name} then, {now.sandbox.name} now"
    old, new = ({skill.name: skill.digest for skill in manifest.skills} for manifest in (then, now))
    for word, names in (
        ("added", new.keys() - old.keys()), ("removed", old.keys() - new.keys()),
        ("changed", {name for name in old.keys() & new.keys() if old[name] != new[name]}),
    ):  # fmt: skip
        if names:
            yield f"skills {word}: {list_some(sorted(names), 12)}"
    versions = {model.spec: model.version for model in then.models}
    for mine, theirs in met:
        own = next((model.version for model in now.models if model.spec == mine), None)
        if versions.get(theirs) != own:
            yield f"{mine}: version {versions.get(theirs) or 'unknown'} then, {own or 'unknown'} now"


def _cautions(run: ActivationRun, baseline: ActivationRun, agents: Sequence[ComparedAgent]) -> Iterator[str]:
    for agent in agents:
        if agent.unpaired > _UNKNOWN * (agent.paired + agent.unpaired):
            yield f"{agent.model}: {count(agent.unpaired, 'prompt')} not known in both runs, and left out"
        if agent.resolved[0] != agent.resolved[1] and any(agent.resolved):
            then, now = (list_some(list(each)) if each else "none" for each in agent.resolved)
            yield f"{agent.model}: the provider named {then} then, {now} now"
    simulated = sorted(
        {model.spec for manifest in (run.manifest, baseline.manifest) for model in manifest.models if model.simulated}
    )
    if simulated:
        yield f"simulated, and no model of anybody's: {list_some(simulated)}"
