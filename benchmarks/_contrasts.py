"""Simulated contrasts beside the primary one: order, crowding, contributions, deliveries, tests, tokens and pairs.

The intervals are those of a report, by the functions that make it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks._effects import ALIKE, HARD, MARGIN, OF_TASK, OF_TRIAL, REPLICATIONS
from benchmarks._populations import Hit, chances, looked_up, related, right
from skill_health.documents._record import TokenUsage
from skill_health.documents.effect_result import TrialResult, TrialTests
from skill_health.effectiveness.effects.arms import arms
from skill_health.effectiveness.effects.composition import measure_pair
from skill_health.effectiveness.effects.contrasts import ArmPair, compare
from skill_health.effectiveness.effects.contributions import turn
from skill_health.effectiveness.effects.efficiency import compare_amounts
from skill_health.effectiveness.effects.penalties import measure_penalties
from skill_health.effectiveness.effects.sheet import (
    Cells,
    ModelTrials,
    TaskFacts,
    TrialRunFacts,
    make_cell,
    pair_arms,
)
from skill_health.effectiveness.records import CONTROL, FULL, SELF_GENERATED, TARGET
from skill_health.effectiveness.workspace.staging import parse_arm
from skill_health.stats.estimates import Estimate

ORDERED, LEFT_OUT, HINTED, SERVED, SERVED_HINTED = (
    "order:1", "leave_one_out:a", "target+hint", "target@mcp", "target@mcp+hint",
)  # fmt: skip
LEVELS = {
    CONTROL: 0.4, TARGET: 0.6, FULL: 0.55, ORDERED: 0.5, LEFT_OUT: 0.4, SELF_GENERATED: 0.45,
    HINTED: 0.75, SERVED: 0.5, SERVED_HINTED: 0.7,
}  # fmt: skip
"""Success rates of the arms; between any two the difficulty of a task correlates as in `_effects`."""
CONTRASTS = {
    "order": (ORDERED, FULL),
    "crowding": (FULL, TARGET),
    "self_generated - control": (SELF_GENERATED, CONTROL),
    "discovery penalty": (HINTED, TARGET),
    "knowledge quality": (SERVED_HINTED, HINTED),
    "delivery": (SERVED, TARGET),
}
SINGLE, BOTH, SWAPPED = ("subset:a", "subset:b"), "subset:a+b", "subset:b+a"
PAIRS: Mapping[str, tuple[float, float, float, float]] = {
    "synergy": (0.30, 0.40, 0.40, 0.80),
    "conflict": (0.30, 0.60, 0.60, 0.30),
    "redundancy": (0.30, 0.75, 0.75, 0.75),
    "nothing": (0.40, 0.40, 0.40, 0.40),
    "near the ceiling": (0.50, 0.85, 0.85, 0.97),
}
"""Success rates of none, either skill and both."""
PAIR_SPREAD = 1.0
"""The spread of the tasks' difficulty in logits, which is the same in all four cells."""
TESTS, LIKENESS = 8, 0.5
RATIO, OF_RATIO = 0.6, 0.3


def contrasts(rng: np.random.Generator, tasks: int, replications: int = REPLICATIONS) -> Iterator[Hit]:
    """The secondary contrasts of success, the share of tests passed and the ratio of tokens."""
    easy = rng.standard_normal(tasks)
    passes = {
        arm: right(rng, looked_up(chances("logit-normal", HARD, level), related(rng, easy, ALIKE)), replications)
        for arm, level in LEVELS.items()
    }
    facts = _facts(tasks, LEVELS, replications)
    cells = _cells(facts, passes)
    for what, (arm, against) in CONTRASTS.items():
        found = compare(ArmPair(arm, against, "secondary"), facts.targets, cells, facts.seed)
        assert found is not None
        yield Hit(what, LEVELS[arm] - LEVELS[against], found.interval)
    lost = compare(ArmPair(LEFT_OUT, FULL, "secondary"), facts.targets, cells, facts.seed)
    assert lost is not None
    yield Hit("contribution", LEVELS[FULL] - LEVELS[LEFT_OUT], turn(lost.interval))
    served, plain = facts.arms[SERVED], facts.arms[TARGET]
    truth = LEVELS[SERVED_HINTED] - LEVELS[SERVED] - LEVELS[HINTED] + LEVELS[TARGET]
    yield Hit("difference of two penalties", truth, measure_penalties(served, plain, facts, cells).delta)
    yield from _tests(rng, tasks, replications)
    yield from _tokens(rng, tasks, replications)


def _tests(rng: np.random.Generator, tasks: int, replications: int) -> Iterator[Hit]:
    """Trials with TESTS tests each, which pass and fail together: by task, and by trial."""
    facts = _facts(tasks, (TARGET,), replications)
    for level in (0.6, 0.9):
        strength = 1 / LIKENESS - 1
        of_task = rng.beta(level * strength, (1 - level) * strength, (tasks, 1)).clip(1e-6, 1 - 1e-6)
        of_trial = rng.beta(4 * of_task, 4 * (1 - of_task), (tasks, replications))
        passed = rng.binomial(TESTS, of_trial)
        cells = {
            (task.id, TARGET): make_cell(
                [
                    TrialResult(task.id, "", TARGET, at, "fail", tests=TrialTests(passed=int(each), counted=TESTS))
                    for at, each in enumerate(row)
                ]
            )
            for task, row in zip(facts.targets, passed, strict=True)
        }
        found = arms(facts, facts.targets, cells)[0].tests
        assert found is not None
        yield Hit(f"tests passed, {level}", level, Estimate(found.value, found.low, found.high))


def _tokens(rng: np.random.Generator, tasks: int, replications: int) -> Iterator[Hit]:
    """Tokens of the target as a share of the control's: the ratio of a task varies about RATIO."""
    facts = _facts(tasks, (CONTROL, TARGET), replications)
    size, own = rng.lognormal(9.5, OF_TASK, tasks), rng.lognormal(np.log(RATIO), OF_RATIO, tasks)
    for spread in (OF_TRIAL, 1.0):
        cells = {}
        for at, task in enumerate(facts.targets):
            for arm, mean in ((CONTROL, size[at]), (TARGET, size[at] * own[at])):
                taken = mean * rng.lognormal(0, spread, replications)
                cells[task.id, arm] = make_cell(
                    [
                        TrialResult(
                            task.id, "", arm, at, "pass",
                            usage=TokenUsage(input_tokens=int(each) + 1, output_tokens=0),
                        )
                        for at, each in enumerate(taken)
                    ]
                )  # fmt: skip
        found = compare_amounts((TARGET, CONTROL), (), facts.targets, cells, [0.0] * tasks, MARGIN, facts.seed)
        yield Hit(f"ratio of tokens, spread {spread:g}", RATIO, found.against_control.ratio)


def composition(rng: np.random.Generator, tasks: int, replications: int = REPLICATIONS) -> Iterator[Hit]:
    """What is computed of two skills in four cells, both orders of listing in the last."""
    names = (CONTROL, *SINGLE, BOTH, SWAPPED)
    facts = _facts(tasks, names, replications)
    (pair,) = pair_arms(facts.arms)
    for planted, levels in PAIRS.items():
        easy = rng.standard_normal(tasks)
        tables = [chances("logit-normal", PAIR_SPREAD, level) for level in levels]
        of_arm = dict(zip(names, (*tables, tables[3]), strict=True))
        cells = _cells(facts, {arm: right(rng, looked_up(each, easy), replications) for arm, each in of_arm.items()})
        found = measure_pair(pair, facts, ModelTrials("", (), cells))
        none, one, other, joint = levels
        assert found.order is not None
        yield Hit(f"interaction, {planted}", joint - one - other + none, found.interaction)
        saved = float(((1 - tables[1]) * (1 - tables[2]) - (1 - tables[0]) * (1 - tables[3])).mean())
        yield Hit(f"independence, {planted}", saved, found.independence)
        yield Hit(f"both over one, {planted}", joint - one, found.over_first)
        yield Hit(f"main effect, {planted}", (one - none + joint - other) / 2, found.main_first)
        yield Hit(f"order of two, {planted}", 0.0, found.order)


def _cells(facts: TrialRunFacts, passes: Mapping[str, NDArray[np.int64]]) -> Cells:
    """The cells of a run of which nothing but success matters: those with as many passes are one."""
    kinds = [
        make_cell([TrialResult("", "", "", at, "pass" if at < hits else "fail") for at in range(facts.replications)])
        for hits in range(facts.replications + 1)
    ]
    return {
        (task.id, arm): kinds[int(hits)]
        for arm, table in passes.items()
        for task, hits in zip(facts.targets, table.sum(axis=1), strict=True)
    }


def _facts(tasks: int, names: Sequence[str] | Mapping[str, float], replications: int) -> TrialRunFacts:
    return TrialRunFacts(
        tasks={f"{at:03}": TaskFacts(f"{at:03}", f"{at:03}", "a", "", "", tuple(names)) for at in range(tasks)},
        arms={name: parse_arm(name) for name in names},
        models=(),
        replications=replications,
        margin=MARGIN,
        seed=1,
    )
