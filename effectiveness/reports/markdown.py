"""The report for a pull request, a job summary or a repository; everything that is not ours is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.bench.report_formats import PLAIN, RenderOptions
from skill_health.documents._record import FullFigure
from skill_health.documents.effect_report import (
    ArmContrast,
    ArmFigures,
    EffectReport,
    EfficiencyVerdict,
    ModelEffectReport,
)
from skill_health.effectiveness.effects.contrasts import DELTAS
from skill_health.effectiveness.reports import _authoring, _cells, _composition, _loading
from skill_health.effectiveness.reports._forest import LEGEND, EffectRow, forest
from skill_health.text.blocks import markdown_table, rest, text
from skill_health.text.near import list_some
from skill_health.text.numbers import (
    NOTHING,
    bracket,
    change,
    count,
    format_number,
    p_value,
    percent,
    points,
    quantity,
    share,
    with_interval,
)

_TASKS, _SKILLS = 200, 100


def head(report: EffectReport) -> Iterator[str]:
    """What the run was, and what speaks against believing it."""
    ids = {task.task_id for model in report.models for task in model.tasks}
    yield "# Effectiveness report"
    yield ""
    if report.simulated:
        yield from (f"> **{text(_cells.SIMULATED)}**", "")
    if report.sandbox == "none":
        yield from ("> **Not isolated**: the trials ran without a sandbox.", "")
    if report.biased:
        yield from (f"> **Biased**: {text(why)}  " for why in report.biased)
        yield ""
    yield text(
        f"Run {report.run_id}, {report.created or 'at a time not known'}, skill-health {report.tool_version}: {count(len(ids), 'task')}, "
        f"{count(len(report.models), 'model')}, {count(report.replications, 'replication')}, sandbox "
        f"{report.sandbox or 'not known'}, seed {report.seed}; {report.scored:,} of {count(report.planned, 'trial')} scored "
        f"({_cells.outcomes(report) or 'none run'}); {_cells.spent(report)}."
    )
    yield ""
    yield from (f"- Preliminary: {text(why)}" for why in report.preliminary)
    if report.preliminary:
        yield ""


def contrasts(found: Sequence[ArmContrast]) -> Iterator[str]:
    """Every contrast with its interval and its tests."""
    rows = [
        [
            text(_cells.label(each)), text(_cells.KINDS.get(each.kind, each.kind)),
            points(each.delta), bracket(each.t), f"{each.differing} of {each.tasks}",
            *_ps(each), f"{percent(each.normalised_gain)}", text(_cells.reason(each)) or NOTHING,
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
    yield from markdown_table(names, rows)


def _ps(each: ArmContrast) -> list[str]:
    """The p-values; none is shown for a contrast that is not testable."""
    if not each.testable:
        return [NOTHING] * 3
    corrected = p_value(each.p_adjusted)
    return [
        p_value(each.sign_flip_p), p_value(each.wilcoxon_p),
        corrected if each.p_adjusted is None or each.correction == "none" else f"{corrected} ({text(each.correction)})",
    ]  # fmt: skip


def skills(model: ModelEffectReport) -> Iterator[str]:
    """Each skill: its verdict, what it adds, and how often it succeeds with and without."""
    rows = []
    for skill in model.skills:
        each, verdict = _cells.headline(skill.contrasts), skill.verdict
        by_arm = {arm.arm: arm for arm in skill.arms}
        sides = [by_arm.get(side) for side in ((each.against, each.arm) if each else ("", ""))]
        reason = "; ".join(filter(None, [_cells.why(verdict), *(f"preliminary: {why}" for why in verdict.preliminary)]))
        rows.append([
            text(skill.skill), text(verdict.word), points(each.delta) if each else NOTHING, str(len(skill.tasks)),
            *(f"{share(side.success)} n {side.trials:,}" if side else NOTHING for side in sides),
            _ratio(skill.efficiency), text(reason) or NOTHING,
        ])  # fmt: skip
    if rows:
        yield "### Skills"
        yield ""
    names = ("skill", "verdict", "target - control, points", "tasks", "without, %", "with, %", "takes", "why")
    yield from markdown_table(names, rows[:_SKILLS])
    yield from rest(_SKILLS, len(rows), "skills")


def contributions(model: ModelEffectReport) -> Iterator[str]:
    """The skills by what is lost without them, and which of them can be told apart."""
    rows = [
        [
            NOTHING if each.rank is None else str(each.rank), text(each.skill), text(each.against), points(each.delta),
            str(each.tasks), p_value(each.delta.p_adjusted) if each.testable else NOTHING,
            text(list_some(each.above, 6)) or NOTHING,
        ]
        for each in model.contributions
    ]  # fmt: skip
    if rows:
        yield f"### {_cells.CONTRIBUTIONS}"
        yield ""
    names = ("rank", "skill", "of", "points", "tasks", "p corrected", "shown to be above")
    yield from markdown_table(names, rows)
    if rows and (said := _cells.told_apart(model)):
        yield text(said, 2_000)
        yield ""


def penalties(model: ModelEffectReport) -> Iterator[str]:
    """What is lost without the hint in one delivery against another."""
    if model.penalties:
        yield f"### {_cells.PENALTIES}"
        yield ""
        rows = [[text(cell) for cell in _cells.penalty_row(each)] for each in model.penalties]
        yield from markdown_table(_cells.PENALTY_HEAD, rows)


def _ratio(found: EfficiencyVerdict | None) -> str:
    """What a skill takes of what is taken without it: "0.50 [0.45, 0.55] of the tokens, n 12"."""
    if found is None or found.ratio.value is None:
        return NOTHING
    return f"{with_interval(found.ratio, '.2f', 1.0)} of the {found.measure}, n {found.ratio.clusters}"


def arms(found: Sequence[ArmFigures], title: str = "Arms") -> Iterator[str]:
    """Success, invocation and what a trial takes, for each arm."""
    tested = any(arm.tests for arm in found)
    rows = [
        [
            text(arm.arm), f"{arm.trials:,} / {arm.tasks:,}", f"{arm.missing:,}", share(arm.success),
            format_number(arm.reward), *[_cells.tests(arm)] * tested, text(", ".join(arm.flags)) or NOTHING, _cells.invoked(arm),
            *(quantity(getattr(arm, name)) for name in _cells.MEASURES),
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
        *["tests passed, %"] * tested,
        "flag",
        "opened a skill, %",
        *_cells.MEASURES.values(),
    )
    yield from markdown_table(names, rows)
    for arm in found:
        if said := _cells.creations(arm):
            yield from (text(said, 2_000), "")
    described = [arm for arm in found if arm.success_given_invoked.value is not None]
    if described:
        said = "; ".join(f"{a.arm} {share(a.success_given_invoked)} n {a.success_given_invoked.n}" for a in described)
        yield f"Success in the trials that opened a skill, biased by selection (they chose themselves), %: {text(said)}."
        yield ""


def loading(model: ModelEffectReport) -> Iterator[str]:
    """How often the skill is reached, what its offer does, and what loading it does."""
    said = [f"- {text(each, 2_000)}" for each in _loading.sentences(model)]
    if said:
        yield from (f"### {_loading.TITLE}", "", *said, "")


def deliveries(found: Sequence[ArmFigures]) -> Iterator[str]:
    """What each delivery of skills takes, per trial; nothing where all are files."""
    rows = [[text(arm.arm), *_cells.delivery_row(arm)] for arm in _cells.delivered(found)]
    if rows:
        yield "### Deliveries of the skills, per trial"
        yield ""
        yield from markdown_table(_cells.DELIVERY_HEAD, rows)


def best_of(found: Sequence[ArmFigures]) -> Iterator[str]:
    """What several tries at a task come to, beside the mean of single ones."""
    rows = [[text(cell) for cell in row] for row in _cells.best_of(found)]
    if rows:
        yield from (f"### {_cells.BEST_OF}", "")
    yield from markdown_table(_cells.BEST_OF_HEAD, rows)


def costs(found: Sequence[ArmContrast]) -> Iterator[str]:
    """What one arm takes more than another, per trial."""
    names = [name for name in DELTAS if any(getattr(each.deltas, name).value is not None for each in found)]
    rows = [
        [text(_cells.label(each)), str(each.tasks), *(_amount(getattr(each.deltas, name)) for name in names)]
        for each in found
    ]
    if not names:
        return
    yield "### Cost of the arms, per trial"
    yield ""
    yield from markdown_table(("contrast", "tasks", *(_cells.MEASURES[name] for name in names)), rows)


def _amount(number: FullFigure) -> str:
    return f"{change(number)} n {number.n:,}" if number.value is not None else NOTHING


def tasks(model: ModelEffectReport) -> Iterator[str]:
    """One row for each task: passes of scored trials in each arm, and whether the skill flipped it."""
    found = model.tasks
    names = list(dict.fromkeys(arm for task in found for arm in task.arms))
    rows = [
        [
            text(task.task_id), text(task.skill or NOTHING), text(task.category or NOTHING),
            f"**{task.flip}**" if task.flip in ("gained", "lost") else text(task.flip or NOTHING),
            *(_cells.passes(task, arm) for arm in names),
        ]
        for task in found[:_TASKS]
    ]  # fmt: skip
    if rows:
        yield "### Tasks"
        yield ""
        yield "Trials that passed of those that were scored."
        yield ""
    yield from markdown_table(("task", "skill", "category", "target against control", *map(text, names)), rows)
    yield from rest(_TASKS, len(found), "tasks")


def composition(model: ModelEffectReport) -> Iterator[str]:
    """Two skills at a time, and whether what the collection says of them is true."""
    found = model.composition
    if found:
        yield from ("### Composition", "", _composition.HOW, "")
    rows = [list(map(text, _composition.row(pair, intervals=True))) for pair in found[:_SKILLS]]
    yield from markdown_table(_composition.HEAD, rows)
    yield from rest(_SKILLS, len(found), "pairs")
    for pair in found[:_SKILLS]:
        yield from (f"- **{text(_composition.name(pair))}**", *(f"  - {text(e)}" for e in _composition.sentences(pair)))
        yield from (f"  - {text(_composition.declaration(pair, said))}" for said in pair.declared)
    if found:
        yield ""


EXTENSION = ".md"
_PLOT, _LEADERS, _ROWS = 100, 50, 60


def render(report: EffectReport, look: RenderOptions = PLAIN) -> str:
    """The verdicts first, then each model: contrasts, skills, arms, costs, controls, categories, tasks."""
    parts = [head(report), _leaders(report)]
    parts += [_model(report, model) for model in report.models]
    return "\n".join(line for part in (*parts, _authored(report), _foot(report)) for line in part).rstrip() + "\n"


def _authored(report: EffectReport) -> Iterator[str]:
    """How the skills are written beside what each adds; where it is known of enough of them."""
    if found := report.authoring:
        yield from (f"## {_authoring.TITLE}", "")
        yield from (f"- {text(said, 2_000)}" for said in _authoring.sentences(found))
        yield ""
        if rows := [list(map(text, row)) for row in _authoring.rows(found)]:
            yield from (f"### {_authoring.PATTERNS}", "", *markdown_table(_authoring.HEAD, rows))


def _leaders(report: EffectReport) -> Iterator[str]:
    found = report.leaderboard
    if found:
        yield "## Who benefits most"
        yield ""
    rows = [
        [
            *map(text, _cells.place(each)), text(_cells.marked(report, each.model)), points(each.delta),
            str(each.delta.clusters), text(each.verdict),
        ]
        for each in found[:_LEADERS]
    ]  # fmt: skip
    yield from markdown_table(("rank", "skill", "model", "target - control, points", "tasks", "verdict"), rows)
    yield from rest(_LEADERS, len(found), "places")


def _model(report: EffectReport, model: ModelEffectReport) -> Iterator[str]:
    yield f"## {text(model.model, 200)}"
    yield ""
    yield from _facts(model)
    yield from _plot(model)
    yield from contrasts(model.contrasts)
    yield from skills(model)
    yield from contributions(model)
    yield from arms(model.arms)
    yield from loading(model)
    yield from deliveries(model.arms)
    yield from penalties(model)
    yield from best_of(model.arms)
    yield from costs(model.contrasts)
    yield from composition(model)
    yield from _controls(report, model)
    yield from _categories(model)
    yield from tasks(model)


def _facts(model: ModelEffectReport) -> Iterator[str]:
    verdict, primary = model.verdict, _cells.headline(model.contrasts)
    why = _cells.why(verdict)
    said = f"**{text(verdict.word)}**" + (f": {text(why)}" if why else "")
    if primary:
        name, tested = text(_cells.name_of(primary)), text(_cells.tested(primary))
        yield f"{name}: **{points(primary.delta)}** points, {count(primary.tasks, 'task')}, {tested}. Verdict: {said}."
    else:
        yield f"Verdict: {said}."
    yield ""
    version = text(f"{model.agent} {model.agent_version or '(version not known)'}")
    resolved = f", models named by the provider: {text(', '.join(model.resolved), 200)}" if model.resolved else ""
    yield f"- {version}{resolved}"
    if model.simulated:
        yield f"- {text(_cells.SIMULATED)}"
    if weaker := _cells.weaker_proof(model):
        yield f"- **{text(weaker)}**"
    yield from (f"- **Biased**: {text(why)}" for why in model.biased)
    yield from (f"- Preliminary: {text(why)}" for why in verdict.preliminary)
    yield from (f"- {text(note)}" for note in verdict.notes)
    if efficiency := _cells.efficiency(model):
        yield f"- {text(efficiency)}"
    yield f"- Trials: {text(_cells.outcomes(model)) or NOTHING}; {model.retried:,} retried; {_cells.spent(model)}"
    if gone := _cells.missing(model):
        yield f"- {text(gone)}"
    yield ""


def _plot(model: ModelEffectReport) -> Iterator[str]:
    """The effect plot, as a block of code: nothing in there is markup, and no text in it can end it."""
    found = [(_cells.label(each), each) for each in model.contrasts]
    own = [(each.skill, _cells.headline(each.contrasts)) for each in model.skills[:_ROWS]]
    found += [(name, contrast) for name, contrast in own if contrast]
    rows = [
        EffectRow(_fenceless(name), each.delta, each.tasks, each.testable and each.kind != "descriptive")
        for name, each in found
    ]
    if rows:
        yield from ("### Effect on success, in points", "", "```text")
        yield from forest(rows, RenderOptions(), _PLOT, indent="")
        yield from ("```", "", f"{LEGEND[0].upper()}{LEGEND[1:]}.", "")


def _fenceless(name: str) -> str:
    return name.replace("`", "'").replace("~", "-")


def _controls(report: EffectReport, model: ModelEffectReport) -> Iterator[str]:
    controls, calibration = model.controls, model.calibration
    if controls.contrasts:
        said = {True: "passed", False: "**failed**", None: "not shown"}[controls.passed]
        yield "### Negative controls"
        yield ""
        yield (
            f"{count(len(controls.tasks), 'task')} that no skill should help with, declared margin "
            f"{100 * report.margin:.0f} points: {said}. {text(controls.note)}".rstrip()
        )
        yield ""
        rows = [
            [
                text(_cells.over(each)), points(each.delta), str(each.tasks), bracket(each.ninety),
                p_value(each.tost_p), {True: "yes", False: "no", None: "not shown"}[each.equivalent],
                p_value(each.bias_p_adjusted), text(_cells.reason(each)) or NOTHING,
            ]
            for each in controls.contrasts
        ]  # fmt: skip
        yield from markdown_table(
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
        yield from arms(controls.arms, "Arms of the negative controls")
    if calibration:
        yield f"### Calibration: {text(_cells.name_of(calibration))}"
        yield ""
        yield f"{points(calibration.delta)} points, {count(calibration.tasks, 'task')}, " + text(
            f"{_cells.tested(calibration)}: {calibration.verdict}"
        )
        yield ""


def _categories(model: ModelEffectReport) -> Iterator[str]:
    found = [(each, _cells.headline(each.contrasts)) for each in model.categories]
    rows = [
        [text(each.category or "(none)"), str(each.tasks), points(one.delta), text(_cells.tested(one))]
        for each, one in found
        if one
    ]
    if rows:
        yield "### By category"
        yield ""
    yield from markdown_table(("category", "tasks", "target - control, points", "test"), rows)


def _foot(report: EffectReport) -> Iterator[str]:
    yield "## How to read this"
    yield ""
    yield from (
        f"- {text(each)}" for each in (*report.notes, *_cells.explained(report), _cells.INTENTION, _cells.READING)
    )
    yield f"- [{NOTHING}] stands where there is no interval, {NOTHING} where there is no number."
