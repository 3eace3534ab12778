"""Activation: do the intervals of a run hold the truth, and do two runs of the same raise no alarm?

`python -m benchmarks activation` simulates agents of known habits through the functions of the report and of `compare`:
skills differ, and so do the prompts of a skill, so that the requests to one skill are alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from benchmarks._measure import Options
from skill_health.activation.compare import compare_activation
from skill_health.activation.run.runs import ActivationRun
from skill_health.activation.scores.rows import LoadRow, metrics_of
from skill_health.core.forks import processors
from skill_health.documents.activation_manifest import ActivationManifest
from skill_health.documents.activation_result import LoadResult
from skill_health.documents.effect_manifest import FrozenAgent, FrozenSandbox, FrozenSkill
from skill_health.documents.router_manifest import FrozenSelection, Prompt
from skill_health.stats.association import clustered_auc, clustered_rank_correlation
from skill_health.stats.intervals import wilson_interval
from skill_health.text.blocks import markdown_table

TITLE = "Activation: coverage of its intervals, and alarms between two runs of the same"
ROUNDS, QUICK = 1_000, 40
_CHUNK = 20
_METRICS = ("recall", "precision", "other_first", "false_fire_none", "false_fire_near")
_AGENT = "agent:model"


class AgentWorld(NamedTuple):
    """Skills with their prompts, and habits. `skill` and `prompt` are standard deviations in logits."""

    name: str
    skills: int
    prompts: int
    none: int
    replications: int
    recall: float
    confuse: float
    near: float
    stray: float
    skill: float = 0.8
    prompt: float = 0.8


WORLDS = (
    AgentWorld("12 skills x 4, once", 12, 4, 16, 1, 0.75, 0.5, 0.1, 0.2),
    AgentWorld("12 skills x 4, 3 times", 12, 4, 16, 3, 0.75, 0.5, 0.1, 0.2),
    AgentWorld("30 skills x 5, 3 times", 30, 5, 50, 3, 0.6, 0.4, 0.1, 0.1),
    AgentWorld("12 skills x 4, high", 12, 4, 16, 3, 0.93, 0.5, 0.03, 0.05),
)


@dataclass(frozen=True, slots=True)
class DrawnWorld:
    """One draw of skills and prompts: what each prompt's chances are."""

    prompts: tuple[Prompt, ...]
    chances: Mapping[str, tuple[float, float, float]]
    names: tuple[str, ...]


def draw_world(rng: np.random.Generator, world: AgentWorld) -> DrawnWorld:
    """Prompts with their chances: that the label is met, that another fires, and that a near miss does."""
    names = tuple(f"skill-{nth:02d}" for nth in range(world.skills))
    prompts, chances = [], {}
    for nth, name in enumerate(names):
        own = rng.normal(0, world.skill)
        for each in range(world.prompts):
            prompt_id = f"p{nth:02d}-{each}"
            prompts.append(Prompt(prompt_id, prompt_id, name, rejected=(names[(nth + 1) % len(names)],)))
            right = _moved(world.recall, own + rng.normal(0, world.prompt))
            chances[prompt_id] = (right, world.confuse, 0.0)
    for nth in range(world.none):
        prompt_id = f"n{nth:02d}"
        near = names[nth % len(names)]
        prompts.append(Prompt(prompt_id, prompt_id, None, rejected=(near,)))
        shift = rng.normal(0, world.prompt)
        chances[prompt_id] = (0.0, _moved(world.stray, shift), _moved(world.near, shift))
    return DrawnWorld(tuple(prompts), chances, names)


def _moved(share: float, by: float) -> float:
    return 1 / (1 + math.exp(-(math.log(share / (1 - share)) + by)))


def call_agent(rng: np.random.Generator, drawn: DrawnWorld, replications: int) -> list[LoadResult]:
    """What an agent of these chances loads first."""
    found = []
    for prompt in drawn.prompts:
        right, other, near = drawn.chances[prompt.prompt_id]
        for replication in range(replications):
            first: str | None = None
            if prompt.expected and rng.random() < right:
                first = prompt.expected
            elif not prompt.expected and rng.random() < near:
                first = prompt.rejected[0]
            elif rng.random() < other:
                rest = [name for name in drawn.names if name != prompt.expected]
                first = rest[int(rng.integers(len(rest)))]
            found.append(
                LoadResult(
                    prompt.prompt_id, _AGENT, len(drawn.names), replication, "loaded" if first else "answered",
                    "yes" if first else "no", first,
                )
            )  # fmt: skip
    return found


def manifest_of(drawn: DrawnWorld, replications: int) -> ActivationManifest:
    """A manifest with these prompts and skills."""
    agent = FrozenAgent(
        spec=_AGENT, agent="agent", version="1", model="model", protocol="openai", base_url=None, simulated=False, flags=(),
        price=None, max_usd=None,
    )  # fmt: skip
    return ActivationManifest(
        version=1, kind="activation", run_id="simulated", created="2026-01-01T00:00:00Z", tool_version="0", python="3",
        commit=None, dirty=None, seed=1, replications=replications, turns=4, timeout_sec=60.0, sizes=(len(drawn.names),),
        delivery="files", listing="full", sandbox=FrozenSandbox(name="none", version="", isolates=(), image=""), hashes={},
        models=(agent,), price_table=None,
        skills=tuple(FrozenSkill(name=name, digest=name, description=name) for name in drawn.names), catalogue=(),
        prompts=drawn.prompts, selection=FrozenSelection(kind="all"),
    )  # fmt: skip


def truths(world: AgentWorld, seed: int) -> dict[str, float]:
    """What the metrics come to over very many skills and prompts of this kind."""
    rng = np.random.default_rng(seed)
    many = world._replace(skills=400, prompts=world.prompts, none=round(400 * world.none / world.skills))
    sums: dict[str, list[float]] = {name: [] for name in _METRICS}
    for _ in range(12):
        drawn = draw_world(rng, many)
        # A confused agent opens one of the skills of the small collection: one in so many is the near miss.
        rows = [
            LoadRow(prompt, result) for result, prompt in zip(call_agent(rng, drawn, 1), drawn.prompts, strict=True)
        ]
        metrics = metrics_of(rows, "skill", dict.fromkeys((*_METRICS, "accepted", "silent"), len(rows)))
        for name in _METRICS:
            sums[name].append(float(getattr(metrics, name).value))
    found = {name: float(np.mean(values)) for name, values in sums.items()}
    found["false_fire_near"] = _near(world, rng)
    return found


def _near(world: AgentWorld, rng: np.random.Generator) -> float:
    """The share of near misses that fire, with as many skills to be confused with as there are."""
    hits = total = 0
    for _ in range(1_500):
        drawn = draw_world(rng, world)
        for result, prompt in zip(call_agent(rng, drawn, 1), drawn.prompts, strict=True):
            hits += result.first in prompt.rejected
            total += 1
    return hits / total


class Tally(NamedTuple):
    """Of all rounds those with an interval, and of these those that hold the truth."""

    all: int = 0
    given: int = 0
    hits: int = 0


def one_round(world: AgentWorld, true: Mapping[str, float], seed: int, nth: int) -> dict[str, Tally]:
    """One run's intervals, and whether a second run of the same agent raises an alarm."""
    rng = np.random.default_rng([seed, nth])
    drawn = draw_world(rng, world)
    manifest = manifest_of(drawn, world.replications)
    first, second = (tuple(call_agent(rng, drawn, world.replications)) for _ in range(2))
    by_id = {prompt.prompt_id: prompt for prompt in drawn.prompts}
    rows = [LoadRow(by_id[result.prompt_id], result) for result in first]
    metrics = metrics_of(rows, "skill", dict.fromkeys((*_METRICS, "accepted", "silent"), len(rows)))
    found = {}
    for name in _METRICS:
        figure = getattr(metrics, name)
        given = figure.low is not None
        found[name] = Tally(1, given, given and figure.low <= true[name] <= figure.high)
    compared = compare_activation(ActivationRun("", manifest, second), ActivationRun("", manifest, first), 0.0)
    found["alarm"] = Tally(1, 1, bool(compared.alarms))
    return found


def calibration_round(skills: int, true: tuple[float, float], seed: int, nth: int) -> dict[str, Tally]:
    """The intervals of AUC and rank correlation of a score that tells something, over skills with 4 prompts."""
    rng = np.random.default_rng([seed, 7, nth])
    scores, hits, clusters = _scored(rng, skills)
    found = {}
    for name, figure, truth in (
        ("AUC", clustered_auc(scores, hits, [1.0] * len(hits), clusters), true[0]),
        ("rank correlation", clustered_rank_correlation(scores, hits, clusters), true[1]),
    ):
        given = figure.low is not None and figure.high is not None
        inside = figure.low is not None and figure.high is not None and figure.low <= truth <= figure.high
        found[name] = Tally(1, given, inside)
    return found


def _scored(rng: np.random.Generator, skills: int) -> tuple[list[float], list[float], list[int]]:
    own = np.repeat(rng.normal(0, 0.8, skills), 4)
    scores = own + rng.normal(0, 1, 4 * skills)
    chance = 1 / (1 + np.exp(-(0.6 + 0.9 * scores + np.repeat(rng.normal(0, 0.6, skills), 4))))
    hits = (rng.random(4 * skills) < chance).astype(float)
    return scores.tolist(), hits.tolist(), np.repeat(np.arange(skills), 4).tolist()


def calibration_truths() -> tuple[float, float]:
    """The AUC and the rank correlation of very many skills, by scipy."""
    from scipy.stats import mannwhitneyu, spearmanr

    scores, hits, _ = _scored(np.random.default_rng(3), 50_000)
    x, y = np.asarray(scores), np.asarray(hits)
    above = mannwhitneyu(x[y == 1], x[y == 0]).statistic / ((y == 1).sum() * (y == 0).sum())
    return float(above), float(spearmanr(x, y).statistic)


def run(options: Options) -> Iterator[str]:
    """Simulate so many runs of each world."""
    yield (
        f"{options.rounds:,} runs of each kind, seed {options.seed}; skills and prompts differ by a standard deviation of "
        "0.8 logits each. Coverage of the 95 % intervals in per cent, and the share of comparisons of two runs of one agent "
        "that raise an alarm; in brackets the simulation's own 95 % interval."
    )
    with ProcessPoolExecutor(processors(), get_context("spawn")) as pool:
        rows = []
        for world in WORLDS:
            true = truths(world, options.seed)
            work = partial(one_round, world, true, options.seed)
            rows.append([world.name, *_shown(pool.map(work, range(options.rounds), chunksize=_CHUNK))])
        head = ("run", *(name.replace("_", " ") for name in _METRICS), "alarm")
        yield "\n".join(markdown_table(head, rows, numbers=True))
        true_pair, lines = calibration_truths(), []
        for skills in (8, 12, 30):
            each = partial(calibration_round, skills, true_pair, options.seed)
            lines.append([f"{skills} skills x 4", *_shown(pool.map(each, range(options.rounds), chunksize=_CHUNK))])
        yield "\n".join(markdown_table(("calibration", "AUC", "rank correlation"), lines, numbers=True))


def _shown(rounds: Iterator[dict[str, Tally]]) -> list[str]:
    sums: dict[str, list[int]] = {}
    for found in rounds:
        for name, tally in found.items():
            total = sums.setdefault(name, [0, 0, 0])
            for at, value in enumerate(tally):
                total[at] += value
    return [_cell(total) for total in sums.values()]


def _cell(total: Sequence[int]) -> str:
    every, given, hits = total
    if not given:
        return "no interval"
    low, high = wilson_interval(hits, given)
    none = f", {100 * (every - given) / every:.0f} % without" if given < every else ""
    return f"{100 * hits / given:.1f} [{100 * low:.1f}, {100 * high:.1f}]{none}"
