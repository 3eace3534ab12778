"""The report for a terminal: what helps, by how much and at what cost, and why to be careful."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from skill_health.bench.report_formats import PLAIN, RenderOptions
from skill_health.documents._record import map_values
from skill_health.documents.effect_report import ArmContrast, EffectReport, ModelEffectReport, TaskReport
from skill_health.effectiveness.effects.contrasts import DELTAS
from skill_health.effectiveness.reports import _authoring, _cells, _composition, _loading
from skill_health.effectiveness.reports._forest import LEGEND, EffectRow, forest
from skill_health.text.numbers import NOTHING, change, count, points, share
from skill_health.text.terminal import NARROWEST, ascii_values, cut, lay_out_table, paint, to_ascii, wrapped

_FLIPS = 20


def arms(model: ModelEffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    """How often each arm succeeded, on how many trials of how many tasks, and how often it opened a skill."""
    tested = any(arm.tests for arm in model.arms)
    rows = [
        [
            arm.arm, share(arm.success), f"{arm.trials:,}/{arm.tasks:,}", *[_cells.tests(arm)] * tested,
            _cells.invoked(arm), f"{arm.missing:,}",
        ]
        for arm in model.arms
    ]  # fmt: skip
    head = ("arm", "success %", "n/tasks", *["tests passed %"] * tested, "opened a skill %", "missing")
    yield from _titled("Arms", head, rows, look, width)
    written = [said for arm in model.arms if (said := _cells.creations(arm))]
    for said in written:
        yield from wrapped(said, width, "  ")
    flagged = [(arm.arm, flag) for arm in model.arms for flag in arm.flags]
    for flag in sorted({flag for _, flag in flagged}):
        yield from wrapped(f"At the {flag}: {', '.join(arm for arm, found in flagged if found == flag)}", width, "  ")
    if flagged or written:
        yield ""


def loading(model: ModelEffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    """How often the skill is reached, what its offer does, and what loading it does."""
    said = [*_loading.sentences(model)]
    if said:
        yield paint(cut(_loading.TITLE, width), "bold", look.color)
    for each in said:
        yield from wrapped(f"- {each}", width, "  ")
    if said:
        yield ""


def deliveries(model: ModelEffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    """What each delivery of skills takes, per trial; nothing where all are files."""
    rows = [[arm.arm, *_cells.delivery_row(arm)] for arm in _cells.delivered(model.arms)]
    yield from _titled("Deliveries of the skills, per trial", _cells.DELIVERY_HEAD, rows, look, width)


def best_of(model: ModelEffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    """What several tries at a task come to, beside the mean of single ones."""
    yield from _titled(_cells.BEST_OF, _cells.BEST_OF_HEAD, [*_cells.best_of(model.arms)], look, width)


def costs(model: ModelEffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    """What each arm of a contrast costs more, per trial; those of the headline alone where the terminal is narrow."""
    found = [each for each in model.contrasts if any(getattr(each.deltas, name).value is not None for name in DELTAS)]
    rows = [
        [_cells.name_of(each), *(change(getattr(each.deltas, name)) for name in DELTAS), f"{each.tasks:,}"]
        for each in found
    ]  # fmt: skip
    head = ("per trial", *(_cells.MEASURES[name] for name in DELTAS), "tasks")
    if rows and _wide(head, rows) > width:
        yield from _down(found, look, width)
    else:
        yield from _titled("Cost of the arms", head, rows, look, width)


def _down(found: Sequence[ArmContrast], look: RenderOptions, width: int) -> Iterator[str]:
    """The same with a line for each measure, of the headline only."""
    each = _cells.headline(found) or found[0]
    rows = [
        [_cells.MEASURES[name], change(getattr(each.deltas, name)), str(getattr(each.deltas, name).n)]
        for name in DELTAS
        if getattr(each.deltas, name).value is not None
    ]
    yield from _titled(f"Cost, {_cells.name_of(each)}", ("per trial", "difference", "n"), rows, look, width)


def _wide(head: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return sum(widths) + 2 * (len(widths) - 1)


def tasks(model: ModelEffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    """The tasks whose success differs between target and control."""
    found = _cells.flips(model)
    if not found:
        return
    yield paint(cut("Tasks that the skill lost or gained", width), "bold", look.color)
    for task in found[:_FLIPS]:
        yield f"  {cut(_flip(task, _cells.sides(model)), width - 2)}"
    if len(found) > _FLIPS:
        yield f"  and {len(found) - _FLIPS:,} more"
    yield ""


def _contributions(model: ModelEffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    """The skills by what is lost without them, and which of them can be told apart."""
    rows = [
        EffectRow(f"{each.against} without {each.skill}", each.delta, each.tasks, each.testable)
        for each in model.contributions
    ]
    yield from _plot(f"{_cells.CONTRIBUTIONS}, in points", rows, look, width)
    if rows and (said := _cells.told_apart(model)):
        yield from wrapped(said, width, "  ")
        yield ""


def _penalties(model: ModelEffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    """What is lost without the hint in one delivery against another."""
    rows = [_cells.penalty_row(each) for each in model.penalties]
    yield from _titled(_cells.PENALTIES, _cells.PENALTY_HEAD, rows, look, width)


def _flip(task: TaskReport, sides: Sequence[str]) -> str:
    shown = ", ".join(f"{arm} {_cells.passes(task, arm)}" for arm in sides)
    return f"{task.flip:<6}  {shown}  {task.task_id} ({task.skill or NOTHING})"


def composition(model: ModelEffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    """Two skills at a time: how often none, either one and both succeed, the verdict, and what was declared."""
    found = model.composition
    rows = [_composition.row(pair, intervals=False) for pair in found[:_SKILLS]]
    more = f" (the first {_SKILLS} of {len(found)})" if len(found) > _SKILLS else ""
    yield from _titled(f"Composition{more}", _composition.HEAD, rows, look, width)
    for pair in found[:_SKILLS]:
        yield paint(cut(_composition.name(pair), width), "bold", look.color)
        for each in _composition.sentences(pair):
            yield from wrapped(f"- {each}", width, "  ")
        for said in pair.declared:
            yield from wrapped(f"- {_composition.declaration(pair, said)}", width, "  ")
    if found:
        yield from ("", *wrapped(_composition.HOW, width, "  "), "")


def _titled(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], look: RenderOptions, width: int
) -> Iterator[str]:
    if not rows:
        return
    yield paint(cut(title, width), "bold", look.color)
    yield from (f"  {line}" for line in lay_out_table(head, rows, width - 2, fewest=3, least=22))
    yield ""


EXTENSION = ".txt"
_LEADERS, _SKILLS = 10, 60


def render(report: EffectReport, look: RenderOptions = PLAIN) -> str:
    """At most `look.width` columns, and 40 at least; tables lose columns before they lose names."""
    if look.ascii:
        return to_ascii(_page(map_values(report, ascii_values), look))
    return _page(report, look)


def _page(report: EffectReport, look: RenderOptions) -> str:
    width = max(look.width, NARROWEST)
    lines = [*_head(report, look, width)]
    for model in report.models:
        lines += _model(report, model, look, width)
    lines += [*_authored(report, look, width), *_leaders(report, look, width), *_mind(report, look, width)]
    return "\n".join(lines).rstrip() + "\n"


def _head(report: EffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    yield paint(cut(f"effectiveness run {report.run_id}", width), "bold", look.color)
    ids = {task.task_id for model in report.models for task in model.tasks}
    yield from wrapped(
        f"{count(len(ids), 'task')}, {count(report.replications, 'replication')}, sandbox {report.sandbox or 'not known'}, "
        f"seed {report.seed}; {report.scored:,} of {count(report.planned, 'trial')} scored; {_cells.spent(report)}",
        width,
    )
    yield from wrapped(f"Trials: {_cells.outcomes(report) or NOTHING}.", width)
    if report.sandbox == "none":
        yield from _loud(["NOT ISOLATED: the trials ran without a sandbox."], look, width)
    if report.simulated:
        yield from _loud([_cells.SIMULATED], look, width)
    yield from _loud((f"BIASED: {why}" for why in report.biased), look, width)
    yield ""


def _loud(texts: Iterable[str], look: RenderOptions, width: int) -> Iterator[str]:
    for text in texts:
        yield from (paint(line, "yellow", look.color) for line in wrapped(f"*** {text}", width, "    "))


def _model(report: EffectReport, model: ModelEffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    version = f" {model.agent_version}" if model.agent_version else ""
    mark = f"{'  SIMULATED' if model.simulated else ''}{'  WEAKER PROOF' if model.unproved else ''}"
    yield paint(cut(f"{model.model}  ({model.agent}{version}){mark}", width), "bold", look.color)
    if gone := _cells.missing(model):
        yield from wrapped(gone, width)
    yield from _loud(filter(None, [_cells.weaker_proof(model)]), look, width)
    yield from _loud((f"BIASED: {why}" for why in model.biased), look, width)
    yield from _verdict(model, look, width)
    yield ""
    rows = [_row(_cells.label(each), each, _cells.KINDS.get(each.kind, "")) for each in model.contrasts]
    yield from _plot("Effect on success, in points", rows, look, width)
    yield from _plot(*_skills(model), look, width)
    yield from _contributions(model, look, width)
    yield from arms(model, look, width)
    yield from loading(model, look, width)
    yield from deliveries(model, look, width)
    yield from _penalties(model, look, width)
    yield from best_of(model, look, width)
    yield from costs(model, look, width)
    yield from composition(model, look, width)
    yield from _controls(report, model, look, width)
    yield from _plot("Target against control by category", _categories(model), look, width)
    yield from tasks(model, look, width)


def _verdict(model: ModelEffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    """The headline: intention to treat, target against control."""
    primary, verdict = _cells.headline(model.contrasts), model.verdict
    if primary:
        yield from wrapped(
            f"{_cells.name_of(primary)}: {points(primary.delta)} points of success{_cells.student(primary)}, "
            f"{count(primary.tasks, 'task')}, {_cells.tested(primary)}",
            width, "  ",
        )  # fmt: skip
    styles = {"helps": "blue", "cheaper": "blue", "harmful": "yellow", "any text helps": "yellow", "biased": "yellow"}
    style = styles.get(verdict.word, "dim")
    why = _cells.why(verdict)
    said = f"Verdict on the collection: {verdict.word}" + (f" ({why})" if why else "")
    yield from (paint(line, style, look.color) for line in wrapped(said, width, "  "))
    for note in verdict.notes:
        yield from wrapped(f"- {note}", width, "  ")
    yield from wrapped(_cells.efficiency(model), width, "  ")


def _row(label: str, contrast: ArmContrast, word: str = "") -> EffectRow:
    sure = contrast.testable and contrast.kind != "descriptive"
    return EffectRow(label, contrast.delta, contrast.tasks, sure, word)


def _skills(model: ModelEffectReport) -> tuple[str, list[EffectRow]]:
    found = [(skill, _cells.headline(skill.contrasts)) for skill in model.skills]
    rows = [_row(skill.skill, each, skill.verdict.word) for skill, each in found if each]
    rows.sort(key=lambda row: (row.delta.value is None, -(row.delta.value or 0), row.label))
    more = f" (the first {_SKILLS} of {len(rows)})" if len(rows) > _SKILLS else ""
    return f"Skills, target against control{more}", rows[:_SKILLS]


def _categories(model: ModelEffectReport) -> list[EffectRow]:
    found = [(each.category or "(none)", _cells.headline(each.contrasts)) for each in model.categories]
    return [_row(name, each) for name, each in found if each] if len(found) > 1 else []


def _plot(title: str, rows: list[EffectRow], look: RenderOptions, width: int) -> Iterator[str]:
    if rows:
        yield paint(cut(title, width), "bold", look.color)
        yield from forest(rows, look, width)
        yield ""


def _controls(report: EffectReport, model: ModelEffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    """The negative controls and the calibration: what says whether the rest can be believed."""
    controls, calibration = model.controls, model.calibration
    if controls.contrasts:
        said = {True: "passed", False: "FAILED", None: "not shown"}[controls.passed]
        margin = f"{100 * report.margin:.0f}"
        yield from wrapped(
            f"Negative controls ({count(len(controls.tasks), 'task')}, margin {margin} points): {said}"
            + (f"; {controls.note}" if controls.note else ""),
            width, "  ",
        )  # fmt: skip
        yield from forest([_row(_cells.over(each), each) for each in controls.contrasts], look, width)
    if calibration:
        yield from wrapped(
            f"Same arm twice (aa): {points(calibration.delta)} points, {count(calibration.tasks, 'task')}, "
            f"{_cells.tested(calibration)}: {calibration.verdict}",
            width,
            "  ",
        )
    if controls.contrasts or calibration:
        yield ""


def _authored(report: EffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    """How the skills are written beside what each adds; where it is known of enough of them."""
    if found := report.authoring:
        yield paint(cut(_authoring.TITLE, width), "bold", look.color)
        for said in _authoring.sentences(found):
            yield from wrapped(f"- {said}", width, "  ")
        yield ""
        yield from _titled(_authoring.PATTERNS, _authoring.HEAD, _authoring.rows(found), look, width)


def _leaders(report: EffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    if len(report.models) < 2 or not report.leaderboard:
        return
    yield paint(cut("Who benefits most", width), "bold", look.color)
    for each in report.leaderboard[:_LEADERS]:
        delta = f"{points(each.delta)} n {each.delta.clusters}"
        rank, what = _cells.place(each)
        shown = f"{rank:>3}  {delta}  {each.verdict}  {what}, {_cells.marked(report, each.model)}"
        yield f"  {cut(shown, width - 2)}"
    if len(report.leaderboard) > _LEADERS:
        yield f"  and {len(report.leaderboard) - _LEADERS:,} more"
    yield ""


def _mind(report: EffectReport, look: RenderOptions, width: int) -> Iterator[str]:
    yield paint("Mind", "bold", look.color)
    reasons = {model.model: model.verdict.preliminary for model in report.models}
    said = [f"preliminary: {why}" for why in _cells.grouped(reasons)]
    for text in (*said, *report.notes, *_cells.explained(report), _cells.INTENTION, _cells.READING, LEGEND):
        yield from wrapped(f"- {text}", width, "  ")
