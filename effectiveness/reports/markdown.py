"""The report for a pull request, a job summary or a repository; everything that is not ours is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.effectiveness.reports import PLAIN, EffectRenderOptions, Report, _cells
from skill_health.effectiveness.reports._cells import NOTHING, count, points
from skill_health.effectiveness.reports._forest import LEGEND, EffectRow, forest
from skill_health.effectiveness.reports._markdown_parts import arms, contrasts, costs, head, skills, tasks
from skill_health.text.blocks import rest, table, text

EXTENSION = ".md"
_PLOT, _LEADERS, _ROWS = 100, 50, 60
Model = Mapping[str, Any]


def render(report: Report, look: EffectRenderOptions = PLAIN) -> str:
    """The verdicts first, then each model: contrasts, skills, arms, costs, controls, categories, tasks."""
    parts = [head(report), _leaders(report)]
    parts += [_model(report, model) for model in report["models"]]
    return "\n".join(line for part in (*parts, _foot(report)) for line in part).rstrip() + "\n"


def _leaders(report: Report) -> Iterator[str]:
    found = report["leaderboard"]
    if found:
        yield "## Who benefits most"
        yield ""
    rows = [
        [
            *map(text, _cells.place(each)), text(each["model"]), points(each["delta"]),
            str(each["delta"]["clusters"]), text(each["verdict"]),
        ]
        for each in found[:_LEADERS]
    ]  # fmt: skip
    yield from table(("rank", "skill", "model", "target - control, points", "tasks", "verdict"), rows)
    yield from rest(_LEADERS, len(found), "places")


def _model(report: Report, model: Model) -> Iterator[str]:
    yield f"## {text(model['model'], 200)}"
    yield ""
    yield from _facts(model)
    yield from _plot(model)
    yield from contrasts(model["contrasts"])
    yield from skills(model)
    yield from arms(model["arms"])
    yield from costs(model["contrasts"])
    yield from _controls(report, model)
    yield from _categories(model)
    yield from tasks(model)


def _facts(model: Model) -> Iterator[str]:
    verdict, primary = model["verdict"], _cells.headline(model["contrasts"])
    why = _cells.why(verdict)
    said = f"**{text(verdict['word'])}**" + (f": {text(why)}" if why else "")
    if primary:
        name, tested = text(_cells.name_of(primary)), text(_cells.tested(primary))
        yield f"{name}: **{points(primary['delta'])}** points, {count(primary['tasks'], 'task')}, {tested}. Verdict: {said}."
    else:
        yield f"Verdict: {said}."
    yield ""
    version = text(f"{model['agent']} {model['agent_version'] or '(version not known)'}")
    resolved = f", models named by the provider: {text(', '.join(model['resolved']), 200)}" if model["resolved"] else ""
    yield f"- {version}{resolved}"
    if model["simulated"]:
        yield f"- {text(_cells.SIMULATED)}"
    yield from (f"- **Biased**: {text(why)}" for why in model["biased"])
    yield from (f"- Preliminary: {text(why)}" for why in verdict["preliminary"])
    yield from (f"- {text(note)}" for note in verdict["notes"])
    yield f"- Trials: {text(_cells.outcomes(model)) or NOTHING}; {model['retried']:,} retried; {_cells.spent(model)}"
    if gone := _cells.missing(model):
        yield f"- {text(gone)}"
    yield ""


def _plot(model: Model) -> Iterator[str]:
    """The effect plot, as a block of code: nothing in there is markup, and no text in it can end it."""
    found = [(_cells.label(each), each) for each in model["contrasts"]]
    own = [(each["skill"], _cells.headline(each["contrasts"])) for each in model["skills"][:_ROWS]]
    found += [(name, contrast) for name, contrast in own if contrast]
    rows = [
        EffectRow(_fenceless(name), each["delta"], each["tasks"], each["testable"] and each["kind"] != "descriptive")
        for name, each in found
    ]
    if rows:
        yield from ("### Effect on success, in points", "", "```text")
        yield from forest(rows, EffectRenderOptions(), _PLOT, indent="")
        yield from ("```", "", f"{LEGEND[0].upper()}{LEGEND[1:]}.", "")


def _fenceless(name: str) -> str:
    return name.replace("`", "'").replace("~", "-")


def _controls(report: Report, model: Model) -> Iterator[str]:
    controls, calibration = model["controls"], model["calibration"]
    if controls["contrasts"]:
        said = {True: "passed", False: "**failed**", None: "not shown"}[controls["passed"]]
        yield "### Negative controls"
        yield ""
        yield (
            f"{count(len(controls['tasks']), 'task')} that no skill should help with, declared margin "
            f"{100 * report['margin']:.0f} points: {said}. {text(controls['note'])}".rstrip()
        )
        yield ""
        rows = [
            [
                text(_cells.over(each)), points(each["delta"]), str(each["tasks"]), _cells.bracket(each["ninety"]),
                _cells.p_value(each["tost_p"]), {True: "yes", False: "no", None: "not shown"}[each["equivalent"]],
                _cells.p_value(each["bias_p_adjusted"]), text(_cells.reason(each)) or NOTHING,
            ]
            for each in controls["contrasts"]
        ]  # fmt: skip
        yield from table(
            (
                "contrast",
                "points",
                "tasks",
                "90 % interval",
                "p (equivalence)",
                "within the margin",
                "p (any difference, Holm)",
                "note",
            ),
            rows,
        )
        yield from arms(controls["arms"], "Arms of the negative controls")
    if calibration:
        yield f"### Calibration: {text(_cells.name_of(calibration))}"
        yield ""
        yield f"{points(calibration['delta'])} points, {count(calibration['tasks'], 'task')}, " + text(
            f"{_cells.tested(calibration)}: {calibration['verdict']}"
        )
        yield ""


def _categories(model: Model) -> Iterator[str]:
    found = [(each, _cells.headline(each["contrasts"])) for each in model["categories"]]
    rows = [
        [text(each["category"] or "(none)"), str(each["tasks"]), points(one["delta"]), text(_cells.tested(one))]
        for each, one in found
        if one
    ]
    if rows:
        yield "### By category"
        yield ""
    yield from table(("category", "tasks", "target - control, points", "test"), rows)


def _foot(report: Report) -> Iterator[str]:
    yield "## How to read this"
    yield ""
    yield from (f"- {text(each)}" for each in (*report["notes"], _cells.INTENTION, _cells.READING))
    yield f"- [{NOTHING}] stands where there is no interval, {NOTHING} where there is no number."
