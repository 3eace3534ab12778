"""What earlier runs of a model tell about the next one: tokens for its bytes, length of its answers, time of a call.

They are read from the folders of the runs, the latest first; what cannot be read there is passed over, since a damaged
old run must not keep a new one from starting.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from skill_health.bench.journal import RESULTS, read_manifest, readable_lines
from skill_health.bench.run_folder import run_ids, runs_folder
from skill_health.core.errors import SkillHealthError
from skill_health.router.forecast import BYTES_PER_TOKEN, UNCALIBRATED, Factor
from skill_health.router.records import Mode
from skill_health.router.results import from_line
from skill_health.router.runs import ROUTER
from skill_health.router.scores.facts import RoutingRunFacts, read_facts
from skill_health.router.sizes import question_size
from skill_health.router.template import load_template

FOLDERS, CALLS, FEWEST = 30, 1_000, 5
"""So many runs are looked at, so many calls of a model are enough, fewer than FEWEST are too few."""
ABSURD = 10**8
LEAST_FACTOR, MOST_FACTOR = 0.25, 8.0
HEADROOM = 1.1


@dataclass(frozen=True, slots=True)
class EarlierCalls:
    """What earlier calls of one model come to; None where too few of them said so."""

    factor: Factor = UNCALIBRATED
    output_tokens: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class _Seen:
    ratios: list[tuple[int, float]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)


def read_earlier(reports: str, specs: Collection[str], mode: Mode) -> dict[str, EarlierCalls]:
    """What the latest runs below a folder of reports tell of each of these models, asked in the same mode."""
    seen = {spec: _Seen() for spec in specs}
    for number, name in enumerate(run_ids(reports, ROUTER)):
        if number == FOLDERS or all(len(each.times) >= CALLS for each in seen.values()):
            break
        folder = os.path.join(runs_folder(reports, ROUTER), name)
        try:
            manifest = read_manifest(folder)
            asked = {model["spec"] for model in manifest["models"]}
            if manifest.get("kind") == "router" and manifest.get("mode") == mode and asked.intersection(seen):
                _read_run(folder, manifest, seen)
        except (SkillHealthError, KeyError, TypeError, ValueError, AttributeError):
            continue
    return {spec: _earlier(each) for spec, each in seen.items()}


def _read_run(folder: str, manifest: Mapping[str, Any], seen: Mapping[str, _Seen]) -> None:
    facts = read_facts(manifest)
    size_of = _size(manifest, facts)
    for result in readable_lines(os.path.join(folder, RESULTS), from_line):
        mine = seen.get(result.model)
        if mine is None or len(mine.times) >= CALLS or not result.scored or result.attempts != 1:
            continue
        prompt = facts.prompts.get(result.prompt_id)
        read, written, took = result.usage.input_tokens, result.usage.output_tokens, result.duration_ms
        if size_of and prompt and read is not None and 0 < read < ABSURD:
            size = size_of(prompt.text)
            mine.ratios.append((size, read / size))
        if written is not None and 0 < written < ABSURD:
            mine.outputs.append(written)
        if took is not None and 0 < took < ABSURD:
            mine.times.append(took / 1000)


def _size(manifest: Mapping[str, Any], facts: RoutingRunFacts) -> Callable[[str], int] | None:
    """The bytes of that run's questions by the text of the prompt; None where its template is no longer there."""
    try:
        template = load_template(str(manifest["template"]["name"]))
    except SkillHealthError:
        return None
    if template.digest != manifest["template"]["digest"]:
        return None
    return question_size(template, list(facts.shown.values()), manifest["mode"])


def _earlier(seen: _Seen) -> EarlierCalls:
    factor = UNCALIBRATED
    if len(seen.ratios) >= FEWEST:
        size = sum(each for each, _ in seen.ratios)
        mean = _within(sum(each * ratio for each, ratio in seen.ratios) / size * BYTES_PER_TOKEN)
        highest = max(ratio for _, ratio in seen.ratios) * BYTES_PER_TOKEN
        factor = Factor(round(mean, 4), round(max(mean, _within(highest)) * HEADROOM, 4), len(seen.ratios))
    return EarlierCalls(
        factor,
        round(median(seen.outputs)) if len(seen.outputs) >= FEWEST else None,
        round(median(seen.times), 3) if len(seen.times) >= FEWEST else None,
    )


def _within(factor: float) -> float:
    return min(max(factor, LEAST_FACTOR), MOST_FACTOR)
