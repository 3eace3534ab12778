"""The head and the tables of the Markdown report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.effectiveness.reports import Report, _cells
from skill_health.effectiveness.reports._cells import NOTHING, count, percent, points, share
from skill_health.text.blocks import rest, table, text

_TASKS, _SKILLS = 200, 100
Part = Mapping[str, Any]


def head(report: Report) -> Iterator[str]:
    """What the run was, and what speaks against believing it."""
    ids = {task["task_id"] for model in report["models"] for task in model["tasks"]}
    yield "# Effectiveness report"
    yield ""
    if report["simulated"]:
        yield from (f"> **{text(_cells.SIMULATED)}**", "")
    if report["sandbox"] == "none":
        yield from ("> **Not isolated**: the trials ran without a sandbox.", "")
    if report["biased"]:
        yield from (f"> **Biased**: {text(why)}  " for why in report["biased"])
        yield ""
    yield text(
        f"Run {report['run_id']}, {report['created'] or 'at a time not known'}, skill-health {report['tool_version']}: {count(len(ids), 'task')}, "
        f"{count(len(report['models']), 'model')}, {count(report['replications'], 'replication')}, sandbox "
        f"{report['sandbox'] or 'not known'}, seed {report['seed']}; {report['scored']:,} of {count(report['planned'], 'trial')} scored "
        f"({_cells.outcomes(report) or 'none run'}); {_cells.spent(report)}."
    )
    yield ""
    yield from (f"- Preliminary: {text(why)}" for why in report["preliminary"])
    if report["preliminary"]:
        yield ""


def contrasts(found: Sequence[Part]) -> Iterator[str]:
    """Every contrast with its interval and its tests."""
    rows = [
        [
            text(_cells.label(each)), text(each["kind"]), points(each["delta"]), _cells.bracket(each["t"]), f"{each['differing']} of {each['tasks']}",
            *_ps(each), f"{percent(each['normalised_gain'])}", text(_cells.reason(each)) or NOTHING,
        ]
        for each in found
    ]  # fmt: skip
    if rows:
        yield "### Contrasts"
        yield ""
    names = (
        "contrast", "kind", "points", "t interval", "tasks that differ", "p sign flip", "p Wilcoxon", "p corrected",
        "normalised gain, %", "note",
    )  # fmt: skip
    yield from table(names, rows)


def _ps(each: Part) -> list[str]:
    """The p-values; none is shown for a contrast that is not testable."""
    if not each["testable"]:
        return [NOTHING] * 3
    corrected = _cells.p_value(each["p_adjusted"])
    return [
        _cells.p_value(each["sign_flip_p"]), _cells.p_value(each["wilcoxon_p"]),
        corrected if each["p_adjusted"] is None or each["correction"] == "none" else f"{corrected} ({text(each['correction'])})",
    ]  # fmt: skip


def skills(model: Part) -> Iterator[str]:
    """Each skill: its verdict, what it adds, and how often it succeeds with and without."""
    rows = []
    for skill in model["skills"]:
        each, verdict = _cells.headline(skill["contrasts"]), skill["verdict"]
        by_arm = {arm["arm"]: arm for arm in skill["arms"]}
        sides = [by_arm.get(each[side]) if each else None for side in ("against", "arm")]
        reason = "; ".join(
            filter(None, [_cells.why(verdict), *(f"preliminary: {why}" for why in verdict["preliminary"])])
        )
        rows.append([
            text(skill["skill"]), text(verdict["word"]), points(each["delta"]) if each else NOTHING, str(len(skill["tasks"])),
            *(f"{share(side['success'])} n {side['trials']:,}" if side else NOTHING for side in sides), text(reason) or NOTHING,
        ])  # fmt: skip
    if rows:
        yield "### Skills"
        yield ""
    names = ("skill", "verdict", "target - control, points", "tasks", "without, %", "with, %", "why")
    yield from table(names, rows[:_SKILLS])
    yield from rest(_SKILLS, len(rows), "skills")


def arms(found: Sequence[Part], title: str = "Arms") -> Iterator[str]:
    """Success, invocation and what a trial takes, for each arm."""
    rows = [
        [
            text(arm["arm"]), f"{arm['trials']:,} / {arm['tasks']:,}", f"{arm['missing']:,}", share(arm["success"]),
            _cells.decimal(arm["reward"]), text(", ".join(arm["flags"])) or NOTHING, _cells.invoked(arm),
            *(_cells.quantity(arm[name]) for name in _cells.MEASURES),
        ]
        for arm in found
    ]  # fmt: skip
    if rows:
        yield f"### {title}"
        yield ""
        yield "Means per trial, each with its interval."
        yield ""
    names = (
        "arm",
        "trials / tasks",
        "missing",
        "success, %",
        "reward",
        "flag",
        "opened a skill, %",
        *_cells.MEASURES.values(),
    )
    yield from table(names, rows)
    described = [arm for arm in found if arm["success_given_invoked"]["value"] is not None]
    if described:
        said = "; ".join(
            f"{a['arm']} {share(a['success_given_invoked'])} n {a['success_given_invoked']['n']}" for a in described
        )
        yield f"Success in the trials that opened a skill, descriptive only, %: {text(said)}."
        yield ""


def costs(found: Sequence[Part]) -> Iterator[str]:
    """What one arm takes more than another, per trial."""
    names = [name for name in _cells.MEASURES if any(_known(each["deltas"].get(name)) for each in found)]
    rows = [
        [text(_cells.label(each)), str(each["tasks"]), *(_amount(each["deltas"].get(name)) for name in names)]
        for each in found
    ]
    if not names:
        return
    yield "### Cost of the arms, per trial"
    yield ""
    yield from table(("contrast", "tasks", *(_cells.MEASURES[name] for name in names)), rows)


def _known(number: Part | None) -> bool:
    return number is not None and number["value"] is not None


def _amount(number: Part | None) -> str:
    return f"{_cells.change(number)} n {number['n']:,}" if number is not None and _known(number) else NOTHING


def tasks(model: Part) -> Iterator[str]:
    """One row for each task: passes of scored trials in each arm, and whether the skill flipped it."""
    found = model["tasks"]
    names = list(dict.fromkeys(arm for task in found for arm in task["arms"]))
    rows = [
        [
            text(task["task_id"]), text(task["skill"] or NOTHING), text(task["category"] or NOTHING),
            f"**{task['flip']}**" if task["flip"] in ("gained", "lost") else text(task["flip"] or NOTHING),
            *(_cells.passes(task, arm) for arm in names),
        ]
        for task in found[:_TASKS]
    ]  # fmt: skip
    if rows:
        yield "### Tasks"
        yield ""
        yield "Trials that passed of those that were scored."
        yield ""
    yield from table(("task", "skill", "category", "target against control", *map(text, names)), rows)
    yield from rest(_TASKS, len(found), "tasks")
