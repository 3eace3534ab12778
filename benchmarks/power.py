"""How often is a gain found, with success and efficiency corrected together?

`python -m benchmarks power` simulates runs of one model and prints the tables of docs/statistics.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks._measure import Options
from benchmarks._populations import chances, looked_up, right
from benchmarks.endpoints import share
from skill_health.documents._record import TokenUsage
from skill_health.documents.effect_manifest import FrozenAgent
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.effects.contrasts import ALL, Contrast, families
from skill_health.effectiveness.effects.sheet import RunTrials, TaskFacts, TrialRunFacts, read_sheet
from skill_health.effectiveness.records import CONTROL, NEGATIVE, PLACEBO, TARGET
from skill_health.effectiveness.workspace.staging import parse_arm
from skill_health.stats.hypothesis_tests import ALPHA, sign_flip
from skill_health.stats.multiplicity import Endpoints, two_endpoints
from skill_health.stats.power import FEW_CLUSTERS, fewest_differing
from skill_health.stats.resampling import paired_bootstrap, paired_t

TITLE = "Power of the verdicts on success, by simulation"
ROUNDS = 2_000
RUNS = 200
"""The most runs of whole families, which take longer."""
REPLICATIONS, LEVEL, SPREAD, MARGIN = 3, 0.35, 1.0, 0.10
"""Three trials of a task and arm, the control's success rate, and the spread of the tasks' difficulty in logits."""
TASKS = (15, 20, 30, 50, 100)
GAINS = (0.09, 0.15, 0.18, 0.25, 0.30, 0.40)
WORLDS: Mapping[str, tuple[float, float]] = {
    "+30 points": (0.30, 0.0), "+40 points": (0.40, 0.0), "any text adds 20 points": (0.20, 0.20),
    "any text adds 30 points": (0.30, 0.30),
}  # fmt: skip
"""What the target adds, and what a text of no use adds."""
_SURE = 0.01
"""With a smaller p the interval leaves zero out, too: it need not be resampled."""


def run(options: Options) -> Iterator[str]:
    """A gain over the control, by tasks and size; then whose gain it is said to be."""
    yield (
        f"A control at {100 * LEVEL:.0f} %, {REPLICATIONS} replications, one model, the same amounts in all arms, so that "
        f"success is tested at 0.8 of the level; {options.rounds:,} runs each, in brackets the simulation's 95 % interval."
    )
    yield "\n".join(_gains(options))
    yield "\n".join(_words(options))


def _gains(options: Options) -> Iterator[str]:
    yield f"| tasks | {' | '.join(f'+{100 * gain:.0f} points' for gain in GAINS)} |"
    yield "|---" * (len(GAINS) + 1) + "|"
    for tasks in TASKS:
        hits = [
            sum(found(np.random.default_rng([options.seed, tasks, at, n]), tasks, gain) for n in range(options.rounds))
            for at, gain in enumerate(GAINS)
        ]
        yield f"| {tasks} | {' | '.join(share(each, options.rounds) for each in hits)} |"


def found(rng: np.random.Generator, tasks: int, gain: float) -> bool:
    """Whether a simulated run finds the gain: significant, corrected for a ratio of amounts that is not, and shown."""
    easy = rng.standard_normal(tasks)
    one, other = (
        right(rng, looked_up(chances("logit-normal", SPREAD, level), easy), REPLICATIONS).sum(axis=1)
        for level in (LEVEL + gain, LEVEL)
    )
    differences = ((one - other) / REPLICATIONS).tolist()
    if sum(each != 0 for each in differences) < fewest_differing(1) or sum(differences) <= 0:
        return False
    (p, _) = two_endpoints([Endpoints(sign_flip(differences), 1.0, 1.0)])[0]
    if p is None or p >= ALPHA:
        return False
    if p < _SURE:
        return True
    shown = paired_t(differences) if tasks < FEW_CLUSTERS else paired_bootstrap(differences)
    return shown.low is None or shown.low > 0


def _words(options: Options) -> Iterator[str]:
    rounds = min(options.rounds, RUNS)
    yield "| 15 tasks | texts of no use | runs | helps | unexplained gain | any text helps |"
    yield "|---|---|---|---|---|---|"
    for name, (gain, of_text) in WORLDS.items():
        for texts in ((PLACEBO, NEGATIVE),) if of_text else ((PLACEBO, NEGATIVE), (PLACEBO,)):
            words = Counter(
                word(np.random.default_rng([options.seed, at]), (gain, of_text), texts) for at in range(rounds)
            )
            cells = " | ".join(share(words[each], rounds) for each in ("helps", "unexplained gain", "any text helps"))
            yield f"| {name} | {' and '.join(texts)} | {rounds} | {cells} |"


def word(rng: np.random.Generator, adds: tuple[float, float], texts: tuple[str, ...], tasks: int = 15) -> str:
    """The verdict on success of one run, by the rules of docs/statistics.md; "" for none of the three."""
    table = families(_sheet(rng, adds, texts, tasks))
    key = ("scripted", ALL)
    primary, attribution = table.primary(*key), table.attributions[key]
    if primary is None or not _above(primary):
        return ""
    p = attribution.p_adjusted
    if p is not None and p < ALPHA and all(_shown(each) for each in attribution.gains):
        return "helps"
    return "any text helps" if any(map(_above, attribution.useless)) else "unexplained gain"


def _above(contrast: Contrast) -> bool:
    p = contrast.delta.p_adjusted
    return p is not None and p < ALPHA and _shown(contrast)


def _shown(contrast: Contrast) -> bool:
    low = contrast.interval.low
    return low > 0 if low is not None else (contrast.delta.value or 0.0) > 0


def _sheet(rng: np.random.Generator, adds: tuple[float, float], texts: tuple[str, ...], tasks: int) -> RunTrials:
    arms = (CONTROL, TARGET, *texts)
    easy, size = rng.standard_normal(tasks), rng.lognormal(9.5, 0.6, tasks)
    results = []
    for arm in arms:
        level = LEVEL + (0.0 if arm == CONTROL else adds[0] if arm == TARGET else adds[1])
        hits = right(rng, looked_up(chances("logit-normal", SPREAD, level), easy), REPLICATIONS)
        for at in range(tasks):
            for replication in range(REPLICATIONS):
                tokens = int(size[at] * rng.lognormal(0, 0.35)) + 1
                results.append(
                    TrialResult(
                        f"{at:03}", "scripted", arm, replication, "pass" if hits[at, replication] else "fail",
                        usage=TokenUsage(input_tokens=tokens, output_tokens=0),
                    )
                )  # fmt: skip
    agent = FrozenAgent(
        spec="scripted", agent="scripted", version=None, model="", protocol="", base_url=None, simulated=True, flags=(),
        price=None, max_usd=None,
    )  # fmt: skip
    return read_sheet(
        TrialRunFacts(
            tasks={f"{at:03}": TaskFacts(f"{at:03}", f"{at:03}", "skill", "", "", arms) for at in range(tasks)},
            arms={arm: parse_arm(arm) for arm in arms},
            models=(agent,),
            replications=REPLICATIONS,
            margin=MARGIN,
            seed=1,
        ),
        results,
    )
