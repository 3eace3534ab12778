"""Does the efficiency endpoint keep its level, and do negative controls pass as often as the forecast says?

`python -m benchmarks endpoints` simulates whole runs of agents and reads the verdicts of their reports.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple
from zlib import crc32

import numpy as np

from benchmarks._measure import Options
from skill_health.core.forks import processors
from skill_health.documents._record import TokenUsage
from skill_health.documents.effect_manifest import FrozenAgent
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.effects.contrasts import ALL, families
from skill_health.effectiveness.effects.controls import controls, passed
from skill_health.effectiveness.effects.efficiency import judge_efficiency
from skill_health.effectiveness.effects.sheet import RunTrials, TaskFacts, TrialRunFacts, read_sheet
from skill_health.effectiveness.records import CONTROL, FULL, NEGATIVE, PLACEBO, TARGET
from skill_health.effectiveness.workspace.staging import parse_arm
from skill_health.stats.intervals import wilson_interval
from skill_health.stats.power import chance_to_pass_controls

TITLE = "Efficiency and negative controls, by simulation"
ROUNDS = 400
REPLICATIONS, MARGIN = 3, 0.10
SPREAD = 2.5
"""Of the tasks' difficulty, in logits: the best case, as in the forecast."""


OF_TRIAL = 0.35
"""The spread of what a trial takes, in logarithms."""


class Truth(NamedTuple):
    """A simulated run: success in logits (None: all pass), and what each arm takes; spreads are of logarithms.

    An arm's mean is that of an arm with the usual spread, whatever its own and however many trials run away.
    """

    tasks: int = 30
    level: float | None = 0.0
    loss: float = 0.0
    taken: Mapping[str, float] = {}
    spread: Mapping[str, float] = {}
    runaway: tuple[float, float, float] | None = None
    """The share of the target's trials that run away, the least factor, and the index of its Pareto distribution."""


NEVER: Mapping[str, Truth] = {
    "nothing differs, 10 tasks": Truth(10),
    "nothing differs, 30 tasks": Truth(),
    "nothing differs, all pass": Truth(level=None),
    "nothing differs, heavy tails (1.2)": Truth(spread=dict.fromkeys((CONTROL, TARGET, PLACEBO, NEGATIVE), 1.2)),
    "the target's tails are heavier (0.6), all pass": Truth(level=None, spread={TARGET: 0.6}),
    "the target's tails are heavier (1.0), all pass": Truth(level=None, spread={TARGET: 1.0}),
    "the target's tails are heavier (1.5), all pass": Truth(level=None, spread={TARGET: 1.5}),
    "the target's tails are heavier (1.5), all pass, 60 tasks": Truth(60, None, spread={TARGET: 1.5}),
    "1 of 20 of the target's trials runs away, all pass": Truth(level=None, runaway=(0.05, 3.0, 2.0)),
    "1 of 20 of the target's trials runs far away, all pass": Truth(level=None, runaway=(0.05, 3.0, 1.5)),
    "1 of 20 of the target's trials runs far away, all pass, 60 tasks": Truth(60, None, runaway=(0.05, 3.0, 1.5)),
    "1 of 50 of the target's trials runs very far away, all pass": Truth(level=None, runaway=(0.02, 5.0, 1.5)),
    "10 points lost, half is taken": Truth(loss=0.10, taken={TARGET: 0.5}),
    "10 points lost, half is taken, 60 tasks": Truth(60, loss=0.10, taken={TARGET: 0.5}),
    "20 points lost, half is taken": Truth(loss=0.20, taken={TARGET: 0.5}),
    "any text halves it": Truth(taken={TARGET: 0.5, PLACEBO: 0.5, NEGATIVE: 0.5}),
    "any text halves it, all pass": Truth(level=None, taken={TARGET: 0.5, PLACEBO: 0.5, NEGATIVE: 0.5}),
}
FOUND: Mapping[str, Truth] = {
    "half is taken, all pass, 30 tasks": Truth(level=None, taken={TARGET: 0.5}),
    "half is taken, half pass, 30 tasks": Truth(taken={TARGET: 0.5}),
    "half is taken, half pass, 60 tasks": Truth(60, taken={TARGET: 0.5}),
    "0.8 is taken, half pass, 60 tasks": Truth(60, taken={TARGET: 0.8}),
    "half is taken, half pass, 100 tasks": Truth(100, taken={TARGET: 0.5}),
}
SIZES = ((20, 0), (60, 0), (100, 0), (60, 20), (100, 20), (150, 20))
ARMS = (CONTROL, TARGET, PLACEBO, NEGATIVE, FULL)


def run(options: Options) -> Iterator[str]:
    """Three tables: what is never to be said, what is to be found, and the negative controls."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with ProcessPoolExecutor(min(processors(), 2), get_context("spawn")) as pool:
        for said, truths in (("should never be *cheaper*", NEVER), ("is cheaper", FOUND)):
            yield "\n".join(_table(pool, said, truths, options))
        yield "\n".join(_controls(pool, options))


def _table(pool: ProcessPoolExecutor, said: str, truths: Mapping[str, Truth], options: Options) -> Iterator[str]:
    yield f"| {said} | runs | cheaper | other gain | helps or harmful | the ratio's interval holds the truth |"
    yield "|---|---|---|---|---|---|"
    for name, truth in truths.items():
        jobs = [(options.seed, crc32(name.encode()), at) for at in range(options.rounds)]
        found = list(pool.map(partial(_one, truth), jobs, chunksize=20))
        words = Counter(word for word, _, _ in found)
        success = sum(tested for _, tested, _ in found)
        held = [hit for _, _, hit in found if hit is not None]
        other = words["any text helps"] + words["unexplained gain"]
        cells = (share(words["cheaper"], len(found)), share(other, len(found)), share(success, len(found)))
        yield f"| {name} | {len(found)} | {' | '.join(cells)} | {share(sum(held), len(held))} |"


def _controls(pool: ProcessPoolExecutor, options: Options) -> Iterator[str]:
    yield "| negative controls + other tasks | runs | forecast | passed |"
    yield "|---|---|---|---|"
    for size in SIZES:
        forecast = chance_to_pass_controls(*size, REPLICATIONS, MARGIN)
        jobs = [(options.seed, size[0] * 1000 + size[1], at) for at in range(options.rounds)]
        hits = sum(pool.map(partial(_validated, size), jobs, chunksize=20))
        yield f"| {size[0]} + {size[1]} | {options.rounds} | {100 * forecast:.0f} % | {share(hits, options.rounds)} |"


def share(hits: int, of: int) -> str:
    """A share of simulated runs in percent with its 95 % interval (Wilson)."""
    if not of:
        return "-"
    low, high = wilson_interval(hits, of)
    return f"{100 * hits / of:.1f} % ({100 * low:.1f}-{100 * high:.1f})"


def _one(truth: Truth, job: tuple[int, ...]) -> tuple[str, bool, bool | None]:
    """The verdict on efficiency, whether success is significant, and whether the interval holds the true ratio."""
    rng = np.random.default_rng(job)
    found = families(_sheet(rng, truth))
    key = ("scripted", ALL)
    efficiency = found.efficiencies[key]
    primary = found.primary(*key)
    p = primary.delta.p_adjusted if primary else None
    ratio = efficiency.against_control.ratio
    held = None
    if ratio.low is not None and ratio.high is not None:
        held = ratio.low <= truth.taken.get(TARGET, 1.0) <= ratio.high
    return judge_efficiency(efficiency, "").word, p is not None and p < 0.05, held


def _sheet(rng: np.random.Generator, truth: Truth) -> RunTrials:
    facts = _facts({f"{at:03}": "skill" for at in range(truth.tasks)})
    results = []
    size = rng.lognormal(9.5, 0.6, truth.tasks)
    # A task takes its own share of the true ratio, which is that of the middle one.
    own = rng.lognormal(0, 0.3, truth.tasks)
    for at, task in enumerate(facts.tasks):
        chance = _chance(rng, truth.level)
        for arm in ARMS[:-1]:
            lost = truth.loss if arm == TARGET else 0.0
            taken = truth.taken.get(arm, 1.0)
            mean = size[at] * taken * (own[at] if arm == TARGET else 1.0)
            for replication in range(REPLICATIONS):
                tokens = int(mean * _noise(rng, truth, arm)) + 1
                hit = rng.random() < chance and rng.random() >= _extra(chance, lost, truth.level)
                results.append(
                    TrialResult(
                        task, "scripted", arm, replication, "pass" if hit else "fail",
                        usage=TokenUsage(input_tokens=tokens, output_tokens=0),
                    )
                )  # fmt: skip
    return read_sheet(facts, results)


def _noise(rng: np.random.Generator, truth: Truth, arm: str) -> float:
    """What a trial takes of its task's amount: the mean is the same for all arms and truths."""
    spread = truth.spread.get(arm, OF_TRIAL)
    found = rng.lognormal((OF_TRIAL**2 - spread**2) / 2, spread)
    if truth.runaway is None or arm != TARGET:
        return float(found)
    share, least, index = truth.runaway
    factor = least * (1 + rng.pareto(index)) if rng.random() < share else 1.0
    return float(found * factor / (1 + share * (least * index / (index - 1) - 1)))


def _chance(rng: np.random.Generator, level: float | None) -> float:
    return 1.0 if level is None else float(1 / (1 + np.exp(-level - SPREAD * rng.standard_normal())))


def _extra(chance: float, lost: float, level: float | None) -> float:
    """The share of passes that is lost, so that `lost` of all trials are: half of all pass at level 0."""
    return lost / (1.0 if level is None else 0.5) if chance else 0.0


def _validated(size: tuple[int, int], job: tuple[int, ...]) -> bool:
    rng = np.random.default_rng(job)
    narrow, others = size
    facts = _facts({f"{at:03}": "none" if at < narrow else "skill" for at in range(narrow + others)})
    results = []
    for task in facts.tasks:
        chance = _chance(rng, 0.0)
        for arm in (CONTROL, NEGATIVE, FULL):
            for replication in range(REPLICATIONS):
                outcome = "pass" if rng.random() < chance else "fail"
                results.append(TrialResult(task, "scripted", arm, replication, outcome))  # type: ignore[arg-type]
    return passed(controls(read_sheet(facts, results))["scripted"]) is True


def _facts(tasks: Mapping[str, str]) -> TrialRunFacts:
    agent = FrozenAgent(
        spec="scripted", agent="scripted", version=None, model="", protocol="", base_url=None, simulated=True, flags=(),
        price=None, max_usd=None,
    )  # fmt: skip
    return TrialRunFacts(
        tasks={name: TaskFacts(name, name, skill, "", "", ARMS) for name, skill in tasks.items()},
        arms={arm: parse_arm(arm) for arm in ARMS},
        models=(agent,),
        replications=REPLICATIONS,
        margin=MARGIN,
        seed=1,
    )
