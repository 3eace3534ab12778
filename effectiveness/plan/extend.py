"""Trials of an earlier run that need not be made again: those that depend on nothing that has changed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from skill_health.bench.durable import read_objects
from skill_health.bench.journal import RESULTS
from skill_health.bench.manifest import differences, digest
from skill_health.bench.run_folder import LAST, earlier_runs, find_run
from skill_health.core.errors import AbortedError, UsageError
from skill_health.documents._record import convert_record, record_values
from skill_health.documents.effect_manifest import EffectManifest, skills_of
from skill_health.documents.effect_result import Key, TrialResult
from skill_health.effectiveness.plan.plan import OF_TRIALS, TrialPlan, keys
from skill_health.effectiveness.records import SELF_GENERATED
from skill_health.effectiveness.run.runs import KIND, EffectRun, folder_of, load_manifest, load_run
from skill_health.effectiveness.trial.files import TRIAL
from skill_health.text.numbers import count


def cell_digests(manifest: EffectManifest) -> dict[Key, str]:
    """A hash of all that each trial of a run depends on before it is verified, by its key.

    That is our version, the seed, sandbox, limits, the agent with its version, model, server, flags and settings, the
    task, and the contents of what is staged in its order. Prices, verifiers and other trials are no part of it.
    """
    sandbox = manifest.sandbox
    common = [
        manifest.tool_version, manifest.seed, sandbox.name, sandbox.image, sandbox.isolates,
        record_values(manifest.limits),
    ]  # fmt: skip
    agents = {model.spec: record_values(replace(model, price=None, max_usd=None)) for model in manifest.models}
    tasks = {task.id: task.digest for task in manifest.tasks}
    skills = {
        task: {name: skill.digest for name, skill in skills_of(manifest, task).items()} for task in manifest.staged
    }
    found = {}
    for key in keys(manifest):
        task, spec, arm, _ = key
        staged = [[name, skills[task].get(name)] for name in manifest.staged[task][arm]]
        found[key] = digest([*common, agents[spec], tasks[task], staged, list(key)])
    return found


def count_unchanged(donor: EffectManifest, manifest: EffectManifest) -> int:
    """How many trials of a planned run another run has, as far as manifests tell."""
    old = cell_digests(donor)
    return sum(old.get(key) == mark for key, mark in cell_digests(manifest).items())


def count_lacking(folder: str, manifest: EffectManifest) -> int:
    """How many trials of a run have no result."""
    try:
        records = list(read_objects(os.path.join(folder, RESULTS), []))
    except AbortedError:
        return 0
    there = {
        tuple(record.get(name) for name in OF_TRIALS.fields) for record in records if not OF_TRIALS.missing(record)
    }
    return sum(key not in there for key in keys(manifest))


@dataclass(frozen=True, slots=True)
class Extension:
    """What a run takes over from another, the `donor`.

    `trials` are results of the donor by their keys. The verifiers of those in `verify_again` are not what they were.
    `changed` counts trials that both runs have and that must be made again; `new` those that nothing is known of.
    """

    donor: EffectRun
    trials: Mapping[Key, TrialResult]
    verify_again: frozenset[Key]
    changed: int
    new: int

    def lines(self) -> Iterator[str]:
        """What is taken over, and what that means."""
        again = f" ({len(self.verify_again)} of them verified again)" if self.verify_again else ""
        changed = f", {self.changed} made again since something about them changed" if self.changed else ""
        yield f"taken over from {self.donor.run_id}: {count(len(self.trials), 'trial')}{again}; {self.new} new{changed}"
        yield (
            "note: whoever extends a run after a look at it tests more than once: its results stay preliminary, and the "
            "report says why"
        )


def open_donor(reports: str, extend: str, named: str) -> EffectRun | None:
    """The run that is extended: by its name, as the `last` finished one, or the one that the run `named` began with.

    None where nothing is extended. Raises UsageError where there is no such run.
    """
    if named:
        begun = load_manifest(find_run(named, reports, KIND)).extends
        return load_run(find_run(begun[-1], reports, KIND)) if begun else None
    if extend != LAST:
        return load_run(find_run(extend, reports, KIND)) if extend else None
    for folder, values in earlier_runs(reports, KIND):
        if count_lacking(folder, convert_record(values, EffectManifest)) == 0:
            return load_run(folder)
    raise UsageError("--extend last: no run is finished; name one, or leave --extend out")


def extend_run(donor: EffectRun, plan: TrialPlan, manifest: EffectManifest, done: Collection[Key]) -> Extension:
    """What the planned run takes over, beside the trials that are `done` already.

    A trial must be finished, its folder must be there, and what was staged must be what would be staged now. Raises
    UsageError where a run that begins would take over nothing, or everything.
    """
    wanted, old = cell_digests(manifest), cell_digests(donor.manifest)
    staged = {
        (task, arm.name): tuple((skill.name, skill.digest) for skill in skills)
        for (task, arm), skills in plan.staged.items()
        if arm.condition != SELF_GENERATED
    }
    verifiers = {task.id: task.verifier_digest for task in donor.manifest.tasks}
    results = {result.key: result for result in donor.results}
    taken = {
        key: result
        for key, mark in wanted.items()
        if key not in done
        and old.get(key) == mark
        and (result := results.get(key)) is not None
        and result.finished
        and result.skills == staged.get((key[0], key[2]), result.skills)
        and result.folder == folder_of(key)
        and os.path.isfile(os.path.join(donor.folder, result.folder, TRIAL))
    }
    now = {task.id: task.verifier_digest for task in manifest.tasks}
    again = frozenset(key for key in taken if now[key[0]] != verifiers[key[0]])
    left = [key for key in wanted if key not in taken and key not in done]
    changed = sum(key in old for key in left)
    if not done and not taken:
        before = replace(donor.manifest, extends=manifest.extends)
        found = differences(record_values(before), record_values(manifest))
        why = f": {'; '.join(found[:3])}" if found else ""
        raise UsageError(f"nothing of {donor.run_id} can be taken over{why}; leave --extend out to begin anew")
    if not done and not left and not again:
        raise UsageError(
            f"{donor.run_id} has all of these trials already: see `effectiveness report {donor.run_id}`, or give more "
            "tasks or replications"
        )
    return Extension(donor, taken, again, changed, len(left) - changed)
