"""The negative controls of several runs, pooled: each run has too few to show that nothing is biased."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from skill_health.bench.manifest import digest
from skill_health.documents._record import map_values
from skill_health.documents.effect_manifest import EffectManifest, FrozenAgent
from skill_health.documents.effect_result import TrialResult
from skill_health.documents.effect_validation import EffectValidation, PooledControls
from skill_health.effectiveness.effects.build import settle
from skill_health.effectiveness.effects.controls import controls, equivalence_record, explain_controls, passed
from skill_health.effectiveness.effects.sheet import (
    CellTrials,
    ModelTrials,
    RunTrials,
    TaskFacts,
    make_cell,
    read_facts,
    read_sheet,
)
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.text.blocks import Block, Sentence, Table, TitleBlock
from skill_health.text.numbers import NOTHING, bracket, count, p_value, points


class _PoolKey(NamedTuple):
    """What runs that are taken together have in common; `skills` is a hash of the collection."""

    model: str
    agent_version: str | None
    sandbox: str
    skills: str


def pool_controls(runs: Sequence[EffectRun]) -> EffectValidation:
    """Pool the negative controls of runs; their order does not matter.

    Pooled are runs of one version of an agent with one model on the same skills, by their hashes, in the same sandbox.
    A task is the same where what it starts from and its verifier are; its trials of several runs are then replications,
    so the task stays the cluster. Raises UsageError for an arm in a manifest that there is not.
    """
    pools: dict[_PoolKey, list[tuple[EffectRun, FrozenAgent]]] = defaultdict(list)
    for run in sorted({run.run_id: run for run in runs}.values(), key=lambda run: run.run_id):
        for model in run.manifest.models:
            key = _PoolKey(model.spec, model.version, run.manifest.sandbox.name, _skills(run.manifest))
            pools[key].append((run, model))
    found = [_pool(key, members) for key, members in sorted(pools.items(), key=lambda each: str(each[0]))]
    found.sort(key=lambda each: -len(each.runs))
    whole = EffectValidation(version=1, kind="effectiveness-validation", pools=tuple(found))
    return map_values(whole, settle)


def _skills(manifest: EffectManifest) -> str:
    return digest(sorted((skill.name, skill.digest) for skill in manifest.skills))


def _pool(key: _PoolKey, members: Sequence[tuple[EffectRun, FrozenAgent]]) -> PooledControls:
    sheets = [(run.manifest, read_sheet(read_facts(run.manifest), run.results)) for run, _ in members]
    tasks: dict[str, TaskFacts] = {}
    trials: dict[tuple[str, str], list[TrialResult]] = defaultdict(list)
    for manifest, sheet in sheets:
        names = {task.id: f"{task.id} {task.digest} {task.verifier_digest}" for task in manifest.tasks}
        column = next(each for each in sheet.columns if each.spec == key.model)
        for task in sheet.facts.tasks.values():
            name = names[task.id]
            before = tasks[name].arms if name in tasks else ()
            tasks[name] = replace(task, id=name, arms=tuple(dict.fromkeys((*before, *task.arms))))
        for (task_id, arm), cell in column.cells.items():
            trials[names[task_id], arm].extend(cell.trials)
    first = sheets[0][1].facts
    facts = replace(
        first,
        tasks=dict(sorted(tasks.items())),
        arms={name: arm for _, sheet in sheets for name, arm in sheet.facts.arms.items()},
        models=(members[0][1],),
        margin=min(sheet.facts.margin for _, sheet in sheets),
    )
    cells: dict[tuple[str, str], CellTrials] = {where: make_cell(each) for where, each in trials.items()}
    results = tuple(result for each in trials.values() for result in each)
    checked = controls(RunTrials(facts, (ModelTrials(key.model, results, cells),), 0))[key.model]
    own = {task.id for task in facts.controls}
    return PooledControls(
        **key._asdict(),
        simulated=any(model.simulated for _, model in members),
        runs=tuple(run.run_id for run, _ in members),
        tasks=len(own),
        trials=sum(len(cell.trials) for (task, _), cell in cells.items() if task in own),
        margin=facts.margin,
        contrasts=tuple(map(equivalence_record, checked)),
        passed=passed(checked),
        note=explain_controls(checked),
    )


def document(found: EffectValidation) -> Iterator[Block]:
    """The pools for people."""
    yield TitleBlock("Negative controls of several runs", 1)
    if not found.pools:
        yield Sentence("There is no run.")
    for pool in found.pools:
        version = f" ({pool.agent_version})" if pool.agent_version else ""
        yield TitleBlock(f"{pool.model}{version}{', SIMULATED' if pool.simulated else ''}")
        said = {True: "passed", False: "FAILED", None: "not shown"}[pool.passed]
        yield Sentence(
            f"{said}: {pool.note} ({count(pool.tasks, 'negative-control task')}, {count(pool.trials, 'scored trial')}, margin "
            f"{100 * pool.margin:g} points)."
        )
        yield Sentence(f"{count(len(pool.runs), 'run')} on the same skills in {pool.sandbox}: {', '.join(pool.runs)}.")
        rows = [
            (
                f"{each.name} ({'controls' if each.over == 'controls' else 'all tasks'})", points(each.delta), str(each.tasks),
                bracket(each.ninety), p_value(each.tost_p), {True: "yes", False: "no", None: "not shown"}[each.equivalent],
                p_value(each.bias_p_adjusted), each.note or NOTHING,
            )
            for each in pool.contrasts
        ]  # fmt: skip
        if rows:
            head = (
                "contrast",
                "points",
                "tasks",
                "90 % interval",
                "p (equivalence)",
                "within the margin",
                "p (any)",
                "note",
            )
            yield Table(head, rows)
