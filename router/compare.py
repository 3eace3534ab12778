"""Two runs of the same prompts -> what the edit of the descriptions did, with intervals, or why that cannot be said."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from router.comparable import Relisted, agreeing, changed_skills, differences, obstacles
from router.paired import COMPARED, by_skill, change, flips, pair
from router.runs import Run
from router.scores.failures import coverage
from router.scores.judge import Column
from router.scores.metrics import PRIMARY
from router.scores.numbers import number
from skill_health.core.errors import UsageError
from skill_health.core.stats.multiplicity import holm
from skill_health.core.stats.permutation import smallest_p

SCHEMA = "skill-health/router-comparison/1"
ALL = "all"
ALPHA = 0.05
MISSING = 0.05
"""More missing calls than this share are said."""
LIVE = "Ranking bounds what a description can do; whether a live agent loads the skill is another question."

Groups = Mapping[str, Collection[str]]


def compare(run: Run, baseline: Run, max_loss: float, groups: Groups | None = None) -> dict[str, Any]:
    """The comparison as JSON values (router-comparison.schema.json).

    `groups` are prompts by the name of their group, by default all of them in one; each is tested by itself, and Holm's
    correction covers all models and groups. A loss of top-1 is significant where its corrected p is at most 0.05;
    `lost` names those beyond `max_loss`.

    Raises UsageError where the prompts, the mode, the listing or the template differ, or nothing is in common.
    """
    if found := list(obstacles(run, baseline)):
        raise UsageError(f"{run.run_id} cannot be compared with {baseline.run_id}: {'; '.join(found)}")
    return contrast(run, baseline, max_loss, groups)


def contrast(run: Run, baseline: Run, max_loss: float, groups: Groups | None = None) -> dict[str, Any]:
    """The same for runs that are known to be comparable in the prompts that have the same text and labels in both."""
    common = agreeing(run.facts, baseline.facts)
    parts = {name: set(prompts) & set(common) for name, prompts in (groups or {ALL: common}).items()}
    old = {column.model.spec: column for column in baseline.sheet.columns}
    both = [(old[new.model.spec], new) for new in run.sheet.columns if new.model.spec in old]
    models = [_model(before, after, run, baseline, parts) for before, after in both]
    _correct([group for model in models for group in model["groups"]])
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
            "not_testable": sum(name in run.facts.untested or name in baseline.facts.untested for name in common),
        },
        "differences": list(differences(run, baseline)),
        "cautions": [*_trust(run, baseline, both), *_gaps(run, baseline, both), *_powerless(models)],
        "models": models,
        "lost": list(_lost(models, max_loss)),
        "note": LIVE,
    }


def _model(before: Column, after: Column, run: Run, baseline: Run, parts: Groups) -> dict[str, Any]:
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


def _lost(models: list[dict[str, Any]], max_loss: float) -> Iterator[dict[str, Any]]:
    for model in models:
        for group in model["groups"]:
            found = group["metrics"][PRIMARY]["difference"]
            if found["value"] is not None and found.get("p_adjusted", 1.0) <= ALPHA and -found["value"] > max_loss:
                yield {"model": model["model"], "group": group["group"], "by": -found["value"]}


def _identity(run: Run) -> dict[str, Any]:
    return {key: run.manifest.get(key) for key in ("run_id", "created", "commit", "dirty", "tool_version")}


def _relisted(skill: Relisted) -> dict[str, Any]:
    return {key: getattr(skill, key) for key in ("name", "kind", "before", "after", "cut")}


def _resolved(column: Column) -> list[str]:
    return sorted({result.resolved_model for result in column.results if result.resolved_model})


def _trust(run: Run, baseline: Run, both: list[tuple[Column, Column]]) -> Iterator[str]:
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


def _gaps(run: Run, baseline: Run, both: list[tuple[Column, Column]]) -> Iterator[str]:
    for pair_of in both:
        for side, column in zip((baseline, run), pair_of, strict=True):
            found = coverage(column, side.facts)
            if found["planned"] and 1 - found["share"] > MISSING:
                kinds = ", ".join(f"{name} {n}" for name, n in found["missing"].items())
                share = f"{1 - found['share']:.1%} of {found['planned']} calls are missing ({kinds})"
                yield f"{column.model.spec} in {side.run_id}: {share}"


def _powerless(models: list[dict[str, Any]]) -> Iterator[str]:
    """Where so few independent prompts changed that no loss of theirs can be significant, whatever its size."""
    for model in models:
        for group in model["groups"]:
            moved = group["metrics"][PRIMARY]["moved"]
            if group["worse"] and smallest_p(moved) > ALPHA:
                yield (
                    f"{model['model']}, {group['group']}: top-1 changed on {moved} independent "
                    f"prompt{'s' * (moved != 1)} only, too few for a test (p cannot fall below {smallest_p(moved):.2g}): "
                    "read the flips"
                )
