"""Do the figures about loading hold the truth: how often a skill is reached, and what loading does, forced or not?

`python -m benchmarks loading` simulates the trials of an arm that is offered a skill, of one that is ordered to load it
and of a control, and reads the figures by the functions that make a report.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from itertools import product
from multiprocessing import get_context
from typing import NamedTuple
from zlib import crc32

import numpy as np

from benchmarks._measure import Options
from benchmarks._populations import Floats, Hit, chances, looked_up
from benchmarks.coverage import Tally, shown
from benchmarks.coverage import covers as judge
from skill_health.core.forks import processors
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.effects.arms import arms
from skill_health.effectiveness.effects.contrasts import ArmPair, compare
from skill_health.effectiveness.effects.loading import measure_loading
from skill_health.effectiveness.effects.sheet import CellTrials, TaskFacts, TrialRunFacts, make_cell
from skill_health.effectiveness.records import CONTROL, FORCED, TARGET
from skill_health.effectiveness.workspace.staging import parse_arm
from skill_health.stats.estimates import Estimate

TITLE = "Reached, offered and loaded: coverage by simulation"
ROUNDS = 300
MARGIN, CONTROL_LEVEL = 0.10, 0.35
HARD, WILLING = 1.0, 2.0
"""The spread of the tasks' difficulty in logits, and of how often their trials load the skill."""
OBEYED = 0.95
"""The share of forced trials that load it."""
DESIGNS = ((15, 2), (15, 3), (40, 3))
"""Numbers of tasks, and replications of each."""
ACTIVATIONS, EFFECTS = (0.2, 0.5, 0.8, 1.0), (0.0, 0.2, 0.4)
_DRAWN = 2_000_000


class LoadingWorld(NamedTuple):
    """How loading hangs together with the rest, as correlations of normal traits.

    `hard` is that of a task's activation with its difficulty, `alike` that of its difficulty with and without the skill
    loaded, and `stuck` that of a trial's loading with its bad luck: an agent that gets nowhere looks for help.
    """

    hard: float = 0.0
    alike: float = 1.0
    stuck: float = 0.0


WORLDS: Mapping[str, LoadingWorld] = {
    "trials load at random": LoadingWorld(),
    "trials of hard tasks load, and effects vary by task": LoadingWorld(hard=0.7, alike=0.6),
    "trials that are stuck load": LoadingWorld(hard=0.3, alike=0.8, stuck=0.6),
}


class LoadingTruth(NamedTuple):
    """What is planted, as shares over all tasks and trials, not those of a run; `naive` compares trials that loaded."""

    reached: float
    offered: float
    forced: float
    complier: float
    naive: float


def run(options: Options) -> Iterator[str]:
    """For each world the share of intervals that hold the truth, by activation, over the planted effects and tasks."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    yield (
        f"{', '.join(f'{n} tasks x {reps}' for n, reps in DESIGNS)} replications, a control at {100 * CONTROL_LEVEL:.0f} %, loading "
        f"adds {', '.join(f'{100 * each:.0f}' for each in EFFECTS)} points, {100 * OBEYED:.0f} % of the forced trials load; "
        f"{options.rounds:,} runs of each, seed {options.seed}. In brackets the simulation's own 95 % interval."
    )
    with ProcessPoolExecutor(min(processors(), 2), get_context("spawn")) as pool:
        for name, world in WORLDS.items():
            yield f"### {name[0].upper()}{name[1:]}\n\n{_covered(pool, world, options)}"
    yield f"### What is planted\n\n{chr(10).join(_planted())}"


def _covered(pool: ProcessPoolExecutor, world: LoadingWorld, options: Options) -> str:
    found: dict[str, dict[str, Tally]] = defaultdict(lambda: defaultdict(Tally))
    for design, activation, effect in product(DESIGNS, ACTIVATIONS, EFFECTS):
        planted = truth(world, activation, effect)
        mark = crc32(repr((world, design, activation, effect)).encode())
        jobs = [(options.seed, mark, at) for at in range(options.rounds)]
        once = partial(_tallies, world, design, activation, effect, planted)
        for tallies in pool.map(once, jobs, chunksize=25):
            for what, tally in tallies:
                found["{}, {} tasks x {}".format(what, *design)][f"{100 * activation:.0f} %"] += tally
    return shown(found, "of intervals hold the truth", "no interval", judge)


def _tallies(
    world: LoadingWorld,
    design: tuple[int, int],
    activation: float,
    effect: float,
    planted: LoadingTruth,
    job: tuple[int, ...],
) -> list[tuple[str, Tally]]:
    tallies = []
    for what, value, estimate in simulate(np.random.default_rng(job), world, design, activation, effect, planted):
        low, high = estimate.low, estimate.high
        given = low is not None and high is not None
        tallies.append((what, Tally(1, given, given and low - 1e-9 <= value <= high + 1e-9)))  # type: ignore[operator]
    return tallies


def simulate(
    rng: np.random.Generator,
    world: LoadingWorld,
    design: tuple[int, int],
    activation: float,
    effect: float,
    planted: LoadingTruth,
) -> Iterator[Hit]:
    """The figures of one simulated run with so many tasks and replications, each with its truth."""
    tasks, replications = design
    names = (CONTROL, TARGET, FORCED)
    facts = TrialRunFacts(
        tasks={f"{at:03}": TaskFacts(f"{at:03}", f"{at:03}", "a", "", "", names) for at in range(tasks)},
        arms={name: parse_arm(name) for name in names},
        models=(),
        replications=replications,
        margin=MARGIN,
        seed=1,
    )
    willing, without, within = _traits(rng, world, tasks, activation, effect)
    cells: dict[tuple[str, str], CellTrials] = {}
    for arm in names:
        luck, keen = _luck(rng, world, (tasks, replications))
        loaded = np.zeros((tasks, replications), dtype=bool)
        if arm == TARGET:
            loaded = keen < willing[:, None]
        elif arm == FORCED:
            loaded = rng.random((tasks, replications)) < OBEYED
        passed = luck < np.where(loaded, within[:, None], without[:, None])
        for at, task in enumerate(facts.tasks):
            rows = zip(passed[at], loaded[at], strict=True)
            cells[task, arm] = make_cell([_kind(bool(good), bool(opened)) for good, opened in rows])
    table = {arm.arm: arm for arm in arms(facts, facts.targets, cells)}
    rate = table[TARGET].invoked.rate
    yield Hit("reached", planted.reached, Estimate(rate.value, rate.low, rate.high))
    pair = ArmPair(TARGET, CONTROL, "primary")
    for what, arm, value in (("offered", TARGET, planted.offered), ("forced", FORCED, planted.forced)):
        found = compare(ArmPair(arm, CONTROL, "loading"), facts.targets, cells, facts.seed)
        assert found is not None
        yield Hit(what, value, found.interval)
    loading = measure_loading(pair, facts.targets, facts, cells)
    assert loading is not None and loading.selection is not None
    complier, selection = loading.complier, loading.selection
    yield Hit("complier", planted.complier, Estimate(complier.value, complier.low, complier.high))
    gap = planted.offered - planted.reached * planted.forced
    yield Hit("offered - reached x forced", gap, Estimate(selection.value, selection.low, selection.high))


@lru_cache(maxsize=4)
def _kind(passed: bool, loaded: bool) -> TrialResult:
    return TrialResult("", "", "", 0, "pass" if passed else "fail", invoked="yes" if loaded else "no")


def _traits(
    rng: np.random.Generator, world: LoadingWorld, tasks: int, activation: float, effect: float
) -> tuple[Floats, Floats, Floats]:
    """Of each task: how often a trial loads the skill, and how often it passes without and with it."""
    easy, own, other = rng.standard_normal((3, tasks))
    keen = -world.hard * easy + (1 - world.hard**2) ** 0.5 * own
    mixed = world.alike * easy + (1 - world.alike**2) ** 0.5 * other
    willing = np.ones(tasks) if activation == 1 else looked_up(chances("logit-normal", WILLING, activation), keen)
    without = looked_up(chances("logit-normal", HARD, CONTROL_LEVEL), easy)
    return willing, without, looked_up(chances("logit-normal", HARD, CONTROL_LEVEL + effect), mixed)


def _luck(rng: np.random.Generator, world: LoadingWorld, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Of each trial: its bad luck, which passes below the task's chance, and its reluctance to load; both uniform."""
    from scipy.special import ndtr

    bad, own = rng.standard_normal((2, *shape))
    return ndtr(bad), ndtr(-world.stuck * bad + (1 - world.stuck**2) ** 0.5 * own)


@lru_cache(maxsize=64)
def truth(world: LoadingWorld, activation: float, effect: float) -> LoadingTruth:
    """What the figures are of, from so many tasks with a trial each that chance moves them by 0.1 points at most."""
    rng = np.random.default_rng(crc32(repr((world, activation, effect)).encode()))
    willing, without, within = _traits(rng, world, _DRAWN, activation, effect)
    luck, keen = _luck(rng, world, (_DRAWN,))
    loaded = keen < willing
    gained = (luck < within).astype(float) - (luck < without)
    passed = luck < np.where(loaded, within, without)
    return LoadingTruth(
        reached=activation,
        offered=float((gained * loaded).mean()),
        forced=OBEYED * effect,
        complier=float(gained[loaded].mean()),
        naive=float(passed[loaded].mean()) - CONTROL_LEVEL,
    )


def _planted() -> Iterator[str]:
    yield "| loading adds 20 points on average; of trials, load | reached | offered | complier | success given loaded - control |"
    yield "|---|---|---|---|---|"
    for name, world in WORLDS.items():
        for activation in ACTIVATIONS:
            found = truth(world, activation, 0.2)
            cells = (f"{100 * each:+.1f}" for each in (found.offered, found.complier, found.naive))
            yield f"| {name} | {100 * found.reached:.0f} % | {' | '.join(cells)} |"
