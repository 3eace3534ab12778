"""What keeps two runs from being compared, which tasks can be, and what else differs between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import UNSET

from skill_health.documents.effect_comparison import ComparedStagedSkill
from skill_health.documents.effect_manifest import EffectManifest, FrozenAgent, FrozenTask, FrozenTrialLimits
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.text.near import list_some

_TASK = ("digest", "verifier_digest", "target_skills")


def tasks_of(manifest: EffectManifest) -> dict[str, FrozenTask]:
    """The tasks of a run by their ids, in its order."""
    return {task.id: task for task in manifest.tasks}


def agreeing(run: EffectManifest, baseline: EffectManifest) -> list[str]:
    """The tasks of both that start alike, are verified alike and are for the same skill, in the order of their ids."""
    new, old = tasks_of(run), tasks_of(baseline)
    return sorted(name for name in new if name in old and _same(new[name], old[name]))


def _same(one: FrozenTask, other: FrozenTask) -> bool:
    return all(getattr(one, key) == getattr(other, key) for key in _TASK)


def changed_tasks(run: EffectManifest, baseline: EffectManifest) -> dict[str, str]:
    """The tasks of both that are not the same task any more, and what is not."""
    new, old = tasks_of(run), tasks_of(baseline)
    said = {"digest": "what it starts from", "verifier_digest": "its verifier", "target_skills": "the skill it is for"}
    return {
        name: ", ".join(said[key] for key in _TASK if getattr(new[name], key) != getattr(old[name], key))
        for name in sorted(new)
        if name in old and not _same(new[name], old[name])
    }


def specs(manifest: EffectManifest) -> list[str]:
    """The models of a run as they were named."""
    return [model.spec for model in manifest.models]


def obstacles(run: EffectRun, baseline: EffectRun) -> Iterator[str]:
    """Why the runs cannot be compared, and what to do about it; nothing where they can."""
    one, other = run.manifest, baseline.manifest
    if not agreeing(one, other):
        changed = changed_tasks(one, other)
        what = f"all {len(changed)} common tasks have changed" if changed else "they have no task in common"
        yield f"{what}: run {run.run_id} again with the tasks of {baseline.run_id}"
    if not set(specs(one)) & set(specs(other)):
        yield f"they have no model in common: run {list_some(specs(other))} again with --agents"
    if len(set(one.arms) & set(other.arms)) < 2:
        yield f"they have fewer than two arms in common: run one of them again with --arms {','.join(other.arms)}"
    if run.run_id != baseline.run_id and (both := shared(run, baseline)):
        yield f"{both} of their trials are the same, taken over with --extend: compare runs that were made apart"


def shared(one: EffectRun, other: EffectRun) -> int:
    """How many trials two runs both count, since one took them over from the other or both from a third."""
    mine, theirs = (
        {(run.run_id if each.taken_from is UNSET else each.taken_from, each.key) for each in run.results}
        for run in (one, other)
    )
    return len(mine & theirs)


def relisted(run: EffectManifest, baseline: EffectManifest) -> list[ComparedStagedSkill]:
    """The skills that are not the same, by name: edited, added or removed, with their digests."""
    new, old = ({skill.name: skill for skill in side.skills} for side in (run, baseline))
    found = []
    for name in sorted({*new, *old}):
        before, after = (None if name not in side else side[name].digest for side in (old, new))
        if before != after:
            edited = before is not None and after is not None
            found.append(
                ComparedStagedSkill(
                    name=name,
                    kind="edited" if edited else "added" if before is None else "removed",
                    before=before,
                    after=after,
                    description=edited and old[name].description != new[name].description,
                )
            )
    return found


def differences(run: EffectManifest, baseline: EffectManifest) -> Iterator[str]:
    """What else is not the same, besides the skills: it may be behind a change just as well."""
    for what, value in _SETTINGS.items():
        if value(run) != value(baseline):
            yield f"{what} {_plain(value(baseline))} -> {_plain(value(run))}"
    for name in sorted(FrozenTrialLimits.__struct_fields__):
        was, now = (getattr(side.limits, name) for side in (baseline, run))
        if was != now:
            yield f"limit {name} {_given(was)} -> {_given(now)}"
    old = {model.spec: model for model in baseline.models}
    for model in run.models:
        if before := old.get(model.spec):
            yield from _agent(before, model)
    yield from _arms(run, baseline)


def _agent(old: FrozenAgent, new: FrozenAgent) -> Iterator[str]:
    for key, what in _AGENT.items():
        was, now = getattr(old, key), getattr(new, key)
        if was != now:
            yield f"{new.spec}: {what} {_plain(was)} -> {_plain(now)}"


def _arms(run: EffectManifest, baseline: EffectManifest) -> Iterator[str]:
    for side, other, what in ((run, baseline, "run"), (baseline, run, "baseline")):
        if only := [arm for arm in side.arms if arm not in other.arms]:
            yield f"arms of the {what} only: {list_some(only)}"
    common = agreeing(run, baseline)
    arms = [arm for arm in run.arms if arm in baseline.arms]
    cells = [
        (run.staged.get(task, {}).get(arm), baseline.staged.get(task, {}).get(arm)) for task in common for arm in arms
    ]
    pairs = [(new, old) for new, old in cells if new is not None and old is not None]
    if others := sum(new != old for new, old in pairs):
        yield f"in {others} of {len(pairs)} pairs of task and arm other skills are staged, or in another order"


_SETTINGS: Mapping[str, Callable[[EffectManifest], Any]] = {
    "replications": lambda manifest: manifest.replications,
    "seed": lambda manifest: manifest.seed,
    "margin": lambda manifest: manifest.margin,
    "skill-health": lambda manifest: manifest.tool_version,
    "sandbox": lambda manifest: manifest.sandbox.name,
    "version of the sandbox": lambda manifest: manifest.sandbox.version,
    "image": lambda manifest: manifest.sandbox.image,
    "what the sandbox isolates": lambda manifest: manifest.sandbox.isolates,
}
_AGENT = {
    "version": "version of the agent", "base_url": "server", "protocol": "protocol", "flags": "options",
    "max_usd": "cap of a trial in dollars", "simulated": "simulated",
}  # fmt: skip


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or "none"
    return "not known" if value is None else "none" if value == "" else str(value)


def _given(limit: Any) -> str:
    return "not given" if limit is None else _plain(limit)
