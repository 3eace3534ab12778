"""What docs/scoring.md says of the score, measured.

    python -m scripts.score_figures CHECKOUTS [REPORT...]

CHECKOUTS is as for scripts/population.py. A REPORT is the report.json of `skill-health router run` over one of the
collections, with the prompts that it comes with; scores and recall of its skills are then held against each other.
"""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

from scipy.stats import spearmanr

from scripts.population import AS_OF, REPOSITORIES, PublicRepository
from skill_health.config.settings import Config
from skill_health.lint.pipeline import find_skills, run
from skill_health.lint.scores import ScoringRun, judge_defects, score_result
from skill_health.profiles import Defects, load_profile
from skill_health.score.defects import HOSTS
from skill_health.score.population import load_population
from skill_health.score.scoring import Score

HERE = Path(__file__).resolve().parents[1]
DRAWS, SEED = 2_000, 20261123
LOW, LEAST = 0.5, 5
"""A skill is lost if fewer of its requests find it, of at least so many."""


class ScoredRepository(NamedTuple):
    """The scores of a repository by the paths of its skills, and those that other costs would give."""

    repository: PublicRepository
    scores: dict[str, Score]
    others: dict[str, dict[str, float]]


def main(checkouts: str, *reports: str) -> None:
    """Print every figure."""
    _population()
    every = [_score(each, Path(checkouts)) for each in REPOSITORIES]
    _hosts(every)
    _components(every)
    _labels(every)
    _costs(every)
    if reports:
        _routing({each.repository.name: each.scores for each in every}, reports)


def _population() -> None:
    population = load_population()
    print("| repository | commit | skills | mean | score 1 |\n|---|---|---:|---:|---:|")
    for each in population.repositories:
        print(f"| {each.name} | `{each.commit[:12]}` | {each.skills:,} | {each.mean:.2f} | {each.whole:.0%} |")
    whole = population.place(1.0)
    print(f"\n{population.skills:,} skills, {len(population.repositories)} repositories: {whole.same:.1%} score 1")
    print(f"score 0: {population.place(0.0).same:.2%}")
    for score in (0.5, 0.8, 0.9):
        print(f"below {score}: {population.place(score).lower:.1%}")
    left = [
        sum(other.whole for other in population.repositories if other is not one) / (len(population.repositories) - 1)
        for one in population.repositories
    ]
    print(f"score 1 without any one repository: {min(left):.1%} to {max(left):.1%}\n")


def _score(repository: PublicRepository, checkouts: Path) -> ScoredRepository:
    """One repository; where each owner has a folder, each of these is a collection of its own."""
    tree = checkouts / repository.name.replace("/", "+") / repository.owners
    scores: dict[str, Score] = {}
    others: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for folder in sorted(tree.iterdir()) if repository.owners else [tree]:
        if not any(path.name.lower() == "skill.md" for path in folder.rglob("*.[mM][dD]")):
            continue
        lead = f"{repository.owners}/{folder.name}/" if repository.owners else ""
        config, as_of = Config(), date.fromisoformat(AS_OF)
        discovery = find_skills([str(folder)], config, str(folder))
        result = run(discovery, config, as_of, use_cache=False, facts=True)
        checked = ScoringRun([str(folder)], discovery, config, as_of)
        scores |= {lead + path: score for path, score in score_result(result, checked).skills.items()}
        for name, costs in _variants():
            found = judge_defects(result, checked, costs)
            others[name] |= {lead + path: each.value for path, each in found.items()}
    return ScoredRepository(repository, scores, others)


def _variants() -> Iterator[tuple[str, Defects]]:
    costs = load_profile("standard").defects
    assert costs is not None
    for name, one, two in (("error", 0.3, 0.8), ("warning", 0.1, 0.4), ("unmeasured", 0.1, 0.5)):
        for value in (one, two):
            yield f"{name} {value}", replace(costs, **{name: value})


def _hosts(every: Sequence[ScoredRepository]) -> None:
    scores = [score for each in every for score in each.scores.values()]
    skipped = [score for score in scores if any(loss.component == HOSTS for loss in score.losses or ())]
    hazards = [score for score in scores if any(loss.component == "safety" and loss.severity == "error" for loss in score.losses or ())]  # fmt: skip
    broken = [score for score in scores if any(loss.component == "links" for loss in score.losses or ())]
    for name, some in (("a program skips", skipped), ("with a hazard", hazards), ("with a broken reference", broken)):
        print(f"skills {name}: {len(some):,}, of these score 1: {sum(score.value == 1 for score in some)}, mean {_mean(some)}")  # fmt: skip
    rest = [score for score in scores if score not in skipped]
    print(f"skills that all programs load: {len(rest):,}, mean {_mean(rest)}\n")


def _mean(scores: Sequence[Score]) -> str:
    return f"{sum(score.value for score in scores) / len(scores):.2f}" if scores else "-"


def _components(every: Sequence[ScoredRepository]) -> None:
    """How much each component takes on average, repositories weighing the same."""
    names = [part.name for part in next(iter(every[0].scores.values())).parts]
    for name in names:
        shares = []
        for each in every:
            values = [part.value for score in each.scores.values() for part in score.parts if part.name == name]
            shares.append(sum(value < 1 for value in values if value is not None) / len(values))
        print(f"{name}: takes points of {sum(shares) / len(shares):.1%} of skills")
    print()


def _labels(every: Sequence[ScoredRepository]) -> None:
    """The score against what was read by hand: hostile skills, mentions of files, and the five repositories."""
    by_name = {each.repository.name: each.scores for each in every}
    hostile = _lines(HERE / "tests/rules/safety/hostile.jsonl")
    for half in ("tuning", "sealed"):
        known = [
            by_name[one["repository"]][one["path"]].value
            for one in hostile
            if one["half"] == half and one["path"] in by_name[one["repository"]]
        ]
        zero, whole = (sum(value == end for value in known) for end in (0, 1))
        print(f"hostile skills, {half}: {zero} of {len(known)} score 0, {whole} score 1")
    for half in ("tuning", "sealed"):
        worst: dict[tuple[str, str], bool] = {}
        for one in _lines(HERE / "tests/rules/links/mentions.jsonl"):
            path = _owner(one["path"], by_name.get(one["repository"], {}))
            if one["half"] == half and path:
                key = one["repository"], path
                worst[key] = worst.get(key, False) or one["class"] == "broken"
        for label, some in (("with a mention read as broken", True), ("with mentions, none broken", False)):
            chosen = [by_name[name][path] for (name, path), broken in worst.items() if broken is some]
            losing = sum(any(loss.component == "links" for loss in score.losses or ()) for score in chosen)
            print(f"mentions, {half}: {losing} of {len(chosen)} skills {label} lose points for links")
    costs = load_profile("standard").defects
    assert costs is not None
    counted = [
        one for one in _lines(HERE / "docs/precision.jsonl") if one["severity"] != "info" and one["code"] not in costs.left_out
    ]  # fmt: skip
    right = sum(one["first"] == one["second"] == "right" for one in counted)
    print(f"held-out findings of rules that count: {right} of {len(counted)} right in both readings")
    five = [one for one in _lines(HERE / "docs/precision-five.jsonl") if one["code"] not in costs.left_out]
    told = {word: sum(one[word] for one in five) for word in ("right", "arguable", "wrong")}
    print(f"five repositories, errors and warnings that count: {told}\n")


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _owner(path: str, scores: dict[str, Score]) -> str:
    """The skill whose folder a file lies in, the innermost one."""
    folders = {skill.rpartition("/")[0]: skill for skill in scores}
    folder = path.rpartition("/")[0]
    while folder and folder not in folders:
        folder = folder.rpartition("/")[0]
    return folders.get(folder, "")


def _costs(every: Sequence[ScoredRepository]) -> None:
    """What other costs than those of the profile would change."""
    for name, _ in _variants():
        pairs = [(score.value, each.others[name][path]) for each in every for path, score in each.scores.items()]
        losing = [pair for pair in pairs if pair[0] < 1]
        rho = spearmanr(*zip(*losing, strict=True)).statistic
        print(f"{name}: rank correlation {rho:.3f} among the {len(losing):,} skills below 1")
    print()


class _Routed(NamedTuple):
    """The score of a skill, and whether its requests are lost."""

    score: float
    lost: bool


def _routing(scores: dict[str, dict[str, Score]], reports: Sequence[str]) -> None:
    collections: dict[str, list[_Routed]] = {}
    for file in reports:
        report = json.loads(Path(file).read_text("utf-8"))
        name = next(each for each in scores if each.replace("/", "+") in file)
        found = []
        for skill in report["skills"]:
            own = next((score for path, score in scores[name].items() if skill["path"].endswith(path)), None)
            if own is not None and skill["prompts"] >= LEAST and skill["recall"]["value"] is not None:
                found.append(_Routed(own.value, skill["recall"]["value"] < LOW))
        collections[name] = found
        print(f"{name}: {len(found)} skills with {LEAST} prompts or more, {sum(each.lost for each in found)} lost, AUC {_auc([found])}")  # fmt: skip
    stream, draws = random.Random(SEED), []
    for _ in range(DRAWS):
        chosen = stream.choices(list(collections.values()), k=len(collections))
        drawn = _auc([stream.choices(each, k=len(each)) for each in chosen])
        if drawn is not None:
            draws.append(drawn)
    draws.sort()
    low, high = draws[int(0.025 * len(draws))], draws[int(0.975 * len(draws))]
    n = sum(map(len, collections.values()))
    print(f"AUC within collections {_auc(list(collections.values()))}, n {n}")
    print(f"95 % interval {low:.2f} to {high:.2f} (collections and their skills drawn anew, {DRAWS:,} times)")


def _auc(collections: Sequence[Sequence[_Routed]]) -> float | None:
    """How often a lost skill scores lower than one that is found, of the same collection; a tie is half."""
    won = pairs = 0.0
    for found in collections:
        for one in found:
            for other in found:
                if one.lost and not other.lost:
                    pairs += 1
                    won += 1.0 if one.score < other.score else 0.5 * (one.score == other.score)
    return round(won / pairs, 2) if pairs else None


if __name__ == "__main__":
    main(*sys.argv[1:])
