"""Two runs of the same prompts -> what the edit of the descriptions did, with intervals, or why that cannot be said."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from skill_health.core.errors import UsageError
from skill_health.router.comparable import Relisted, agreeing, changed_skills, differences, named, obstacles
from skill_health.router.losses import ALL, losses, powerless
from skill_health.router.paired import COMPARED, by_skill, change, flips, pair
from skill_health.router.runs import RouterRun
from skill_health.router.scores.facts import UNKNOWN
from skill_health.router.scores.failures import coverage
from skill_health.router.scores.judge import ModelScores
from skill_health.router.scores.metrics import PRIMARY
from skill_health.router.scores.numbers import number
from skill_health.stats.multiplicity import holm

SCHEMA = "skill-health/router-comparison/1"
MISSING = 0.05
"""More missing calls than this share are said."""
LIVE = "Ranking bounds what a description can do; whether a live agent loads the skill is another question."

Groups = Mapping[str, Collection[str]]


def compare(run: RouterRun, baseline: RouterRun, max_loss: float, groups: Groups | None = None) -> dict[str, Any]:
    """The comparison as JSON values (router-comparison.schema.json).

    `groups` are prompts by the name of their group, by default all of them in one; each is tested by itself, and Holm's
    correction covers all models and groups. `lost` names the losses of top-1 beyond `max_loss` (see `router.losses`).

    Raises UsageError where the prompts, the mode, the listing or the template differ, or nothing is in common.
    """
    if found := list(obstacles(run, baseline)):
        raise UsageError(f"{run.run_id} cannot be compared with {baseline.run_id}: {'; '.join(found)}")
    return contrast(run, baseline, max_loss, groups)


def contrast(
    run: RouterRun, baseline: RouterRun, max_loss: float, groups: Groups | None = None, testable: int | None = None
) -> dict[str, Any]:
    """The same for runs that are known to be comparable in the prompts that ask and expect the same in both.

    `testable` is how many prompts with a right answer the groups were selected from, by default those in common.
    """
    common = agreeing(run.facts, baseline.facts)
    parts = {name: set(prompts) & set(common) for name, prompts in (groups or {ALL: common}).items()}
    old = {column.model.spec: column for column in baseline.sheet.columns}
    both = [(old[new.model.spec], new) for new in run.sheet.columns if new.model.spec in old]
    models = [_model(before, after, run, baseline, parts) for before, after in both]
    _correct([group for model in models for group in model["groups"]])
    untested = {name for name in common if name in run.facts.untested or name in baseline.facts.untested}
    relisted = changed_skills(baseline.facts.shown.values(), run.facts.shown.values())
    return {
        "schema": SCHEMA,
        "run": _identity(run),
        "baseline": _identity(baseline),
        "max_loss": max_loss,
        "skills": [_relisted(skill) for skill in relisted],
        "same_skills": len(run.facts.shown) - sum(skill.kind != "removed" for skill in relisted),
        "prompts": {
            "common": len(common),
            "only_run": [name for name in run.facts.prompts if name not in set(common)],
            "only_baseline": sum(name not in set(common) for name in baseline.facts.prompts),
            "not_testable": len(untested),
        },
        "differences": list(differences(run, baseline)),
        "cautions": [*_trust(run, baseline, both), *_gaps(run, baseline, both), *_unlisted(run, baseline, common)],
        "models": models,
        "lost": list(losses(models, max_loss, len(common) - len(untested) if testable is None else testable)),
        "powerless": powerless(models),
        "untrusted": [model["model"] for model in models if run.trusted(model["model"]) is False],
        "note": LIVE,
    }


def _model(
    before: ModelScores, after: ModelScores, run: RouterRun, baseline: RouterRun, parts: Groups
) -> dict[str, Any]:
    tested = {prompt.prompt_id for prompt in run.facts.tested} & {prompt.prompt_id for prompt in baseline.facts.tested}
    none = run.facts.none_allowed
    groups = []
    for name, prompts in parts.items():
        pairs = pair(before, after, prompts)
        primary = [each.by(COMPARED[PRIMARY][1]) for each in pairs]
        groups.append({
            "group": name,
            "prompts": len(pairs),
            "unpaired": len(tested & set(prompts)) - len(pairs),
            "better": sum(by > 0 for by in primary),
            "worse": sum(by < 0 for by in primary),
            "metrics": {
                key: change(pairs, value, run.facts.seed)
                for key, (_, value) in COMPARED.items()
                if none or key != "abstained"
            },
            "skills": by_skill(pairs, run.facts.seed),
            "flips": flips(pairs),
        })  # fmt: skip
    return {
        "model": after.model.spec,
        "kind": after.model.kind,
        "resolved": {"before": _resolved(before), "after": _resolved(after)},
        "coverage": {"before": coverage(before, baseline.facts), "after": coverage(after, run.facts)},
        "groups": groups,
    }


def _correct(groups: list[dict[str, Any]]) -> None:
    """Put Holm's corrected p beside each p: one family of tests for each metric."""
    for key in COMPARED:
        tests = [group["metrics"][key] for group in groups if key in group["metrics"]]
        for test, p in zip(tests, holm([test["difference"].p for test in tests]), strict=True):
            test["difference"] = number(replace(test["difference"], p_adjusted=p))


def _identity(run: RouterRun) -> dict[str, Any]:
    return {key: run.manifest.get(key) for key in ("run_id", "created", "commit", "dirty", "tool_version")}


def _relisted(skill: Relisted) -> dict[str, Any]:
    return {key: getattr(skill, key) for key in ("name", "kind", "before", "after", "cut")}


def _resolved(column: ModelScores) -> list[str]:
    return sorted({result.resolved_model for result in column.results if result.resolved_model})


def _trust(run: RouterRun, baseline: RouterRun, both: list[tuple[ModelScores, ModelScores]]) -> Iterator[str]:
    for before, after in both:
        spec = after.model.spec
        for side in (run, baseline):
            if side.trusted(spec) is False:
                yield f"{spec} is not to be trusted in {side.run_id}: the instrument check failed"
        if after.model.kind == "simulated":
            yield f"{spec} is simulated: no model was asked"
        old, new = _resolved(before), _resolved(after)
        if old and new and old != new:
            yield f"{spec} is another model now: {', '.join(old)} -> {', '.join(new)}"


def _gaps(run: RouterRun, baseline: RouterRun, both: list[tuple[ModelScores, ModelScores]]) -> Iterator[str]:
    for pair_of in both:
        for side, column in zip((baseline, run), pair_of, strict=True):
            found = coverage(column, side.facts)
            if found["planned"] and 1 - found["share"] > MISSING:
                kinds = ", ".join(f"{name} {n}" for name, n in found["missing"].items())
                share = f"{1 - found['share']:.1%} of {found['planned']} calls are missing ({kinds})"
                yield f"{column.model.spec} in {side.run_id}: {share}"


def _unlisted(run: RouterRun, baseline: RouterRun, common: Collection[str]) -> Iterator[str]:
    """Which prompts expect a skill that only one of the collections has: one that is new, renamed or gone."""
    for side, other, what in ((run, baseline, "baseline"), (baseline, run, "run")):
        names = [
            each for each in common
            if other.facts.untested.get(each) == UNKNOWN and side.facts.untested.get(each) != UNKNOWN
        ]  # fmt: skip
        if names:
            skills = sorted({str(run.facts.prompts[each].expected) for each in names})
            prompts, expect, them = (
                ("1 prompt", "expects", "it") if len(names) == 1 else (f"{len(names)} prompts", "expect", "them")
            )
            yield (
                f"{prompts} ({named(names)}) {expect} {named(skills)}, which the "
                f"{what} does not have: there is nothing to compare {them} with"
            )
