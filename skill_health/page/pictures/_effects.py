"""What the reports of the effectiveness benchmark hold of a model and of a skill, and how it is drawn and listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from skill_health.documents._record import FullFigure
from skill_health.documents.caveats import FoundCaveat, find_effect_caveats
from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.effect_report import ArmContrast, ModelEffectReport, SkillEffectReport
from skill_health.page.drawing.theme import GROUND, MUTED, SERIES
from skill_health.page.figures import MISSING, count, points, text_cell
from skill_health.page.model import NumberTable, Origins, Page, PageCell
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import mark_words
from skill_health.text.numbers import with_interval

Measure = Literal["input_tokens", "output_tokens", "cost_usd", "duration_ms"]
Column = Literal["Contrast", "Skill", "Model"]
PRIMARY = "target-control"
_FIGURES = ("Difference, points [95 % interval], n tasks", "Student's low", "Student's high", "Differing", "Testable")
_KINDS = {
    "primary": (SERIES[0], "circle"),
    "secondary": (SERIES[1], "square"),
    "interaction": (SERIES[2], "diamond"),
    "discovery": (SERIES[3], "square"),
    "knowledge": (SERIES[4], "square"),
    "delivery": (SERIES[5], "square"),
    "calibration": (SERIES[6], "triangle-up"),
    "descriptive": (SERIES[6], "triangle-down"),
}
"""Colour and shape of a contrast by its kind."""


@dataclass(frozen=True, slots=True)
class EffectMeasurement:
    """The last measurement of a model: of the whole collection, or of a skill.

    `line` is that of the joined record, `own` the part of the run's report with `contrasts`; `name` the skill's,
    "" for the collection.
    """

    model: str
    name: str
    line: ModelEffect
    own: ModelEffectReport | SkillEffectReport
    path: str = ""

    @property
    def subject(self) -> str:
        """The skill, or the model over the whole collection."""
        return self.name or self.model

    @property
    def marks(self) -> tuple[FoundCaveat, ...]:
        """What keeps its figures from being taken at their word."""
        return find_effect_caveats(self.line)

    @property
    def model_label(self) -> str:
        """The name of the model, with SIMULATED where it is."""
        return self.model + (" (SIMULATED)" if self.line.simulated else "")

    @property
    def primary(self) -> ArmContrast | None:
        """The contrast of the skills with none, where it has a value."""
        return next((each for each in self.own.contrasts if each.name == PRIMARY and has_value(each)), None)


Pair = tuple[EffectMeasurement, ArmContrast]
"""A measurement and one of its contrasts."""


def collection_effects(page: Page) -> tuple[EffectMeasurement, ...]:
    """The last measurement of each model over the whole collection, as the joined record names them."""
    found = ((line, _model(page, line)) for line in page.status.effect)
    return tuple(EffectMeasurement(line.model, "", line, own) for line, own in found if own is not None)


def effects_by_skill(page: Page, only: str | None = None) -> tuple[EffectMeasurement, ...]:
    """The last measurement of each skill by each model; `only` the skill at this path."""
    return tuple(_by_skill(page, only))


def _by_skill(page: Page, only: str | None) -> Iterator[EffectMeasurement]:
    for skill in page.status.skills:
        if only is not None and skill.path != only:
            continue
        for line in skill.effect.models:
            model = _model(page, line)
            own = next((each for each in model.skills if each.skill == skill.name), None) if model else None
            if own is not None:
                yield EffectMeasurement(line.model, skill.name, line, own, skill.path)


def _model(page: Page, line: ModelEffect) -> ModelEffectReport | None:
    report = next((each for each in page.effects if each.run_id == line.run_id), None)
    return next((each for each in report.models if each.model == line.model), None) if report else None


def all_contrasts(measured: Sequence[EffectMeasurement]) -> list[Pair]:
    """Every contrast of every measurement."""
    return [(each, contrast) for each in measured for contrast in each.own.contrasts]


def has_value(contrast: ArmContrast) -> bool:
    """Whether the difference of success is known."""
    return contrast.delta.value is not None


def describe_contrast(contrast: ArmContrast) -> str:
    """A contrast in words: target less placebo."""
    return f"{contrast.arm} less {contrast.against}".replace("_", " ")


def describe_difference(contrast: ArmContrast) -> str:
    """A difference in a sentence: +43.3 points [+13.8, +63.8], n 15."""
    said = with_interval(contrast.delta, "+,.1f", unit=" points")
    return f"{said}, n {contrast.delta.n:,}" if has_value(contrast) else said


def get_measure(contrast: ArmContrast, measure: Measure) -> FullFigure:
    """What else a contrast changes, by its name."""
    found: FullFigure = getattr(contrast.deltas, measure)
    return found


def describe_primary(measured: Sequence[EffectMeasurement]) -> str:
    """What the first models do with the target skill less without."""
    found = [f"{each.model}: {describe_difference(each.primary)}" for each in measured if each.primary is not None]
    return "; ".join(found[:4]) or "not known"


def contrast_table(
    origins: Origins, pairs: Sequence[Pair], leads: Sequence[Column], caption: str, brief: bool = False
) -> NumberTable:
    """The figures of contrasts, after the columns `leads`; some of them where `brief`."""
    figures = (_FIGURES[0], _FIGURES[-1]) if brief else (*_FIGURES, "Marks")
    rows = []
    for each, contrast in pairs:
        lead: dict[Column, str] = {"Contrast": describe_contrast(contrast), "Skill": each.name, "Model": each.model}
        marks = () if brief else (text_cell(mark_words(each)),)
        rows.append((*(text_cell(lead[name]) for name in leads), *_figures(origins, contrast, brief), *marks))
    return NumberTable((*leads, *figures), tuple(rows), caption)


def _figures(origins: Origins, contrast: ArmContrast, brief: bool) -> tuple[PageCell, ...]:
    first, last = points(origins, contrast.delta), text_cell("yes" if contrast.testable else "no")
    if brief:
        return first, last
    ends = [text_cell(MISSING)] * 2
    if student := _student(contrast):
        ends = [
            PageCell(f"{end * 100:+.1f}", end * 100, origins.of(contrast, "t", name))
            for name, end in zip(("low", "high"), student, strict=True)
        ]
    return first, *ends, count(origins, contrast, "differing"), last


def _student(contrast: ArmContrast) -> tuple[float, float] | None:
    """Student's interval, where it has both ends."""
    found = contrast.t
    return None if found is None or found.low is None or found.high is None else (found.low, found.high)


def forest(
    pairs: Sequence[Pair],
    names: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    measure: Measure | None = None,
    title: str = "percentage points of success",
    factor: float = 100.0,
) -> vl.Spec:
    """A forest plot: a contrast a row, with its intervals over one axis; rows of several groups below their headings.

    Rows are named by their contrast and grouped by model, unless `names` and `groups` say otherwise. Drawn are
    differences of success, or of a `measure`, each times `factor`.
    """
    names = names or [describe_contrast(contrast) for _, contrast in pairs]
    groups = groups or [each.model_label for each, _ in pairs]
    values: list[vl.Spec] = []
    kinds = []
    has_thin = False
    for (_, contrast), name, group in zip(pairs, vl.labels(names, groups), groups, strict=True):
        estimate = get_measure(contrast, measure) if measure else contrast.delta
        kinds.append(contrast.kind if contrast.kind in _KINDS else "descriptive")
        student = None if measure else _student(contrast)
        has_thin = has_thin or student is not None
        values.append({
            **vl.estimate_values(estimate, factor), "name": name, "group": group, "n": f"n {estimate.n:,}",
            "kind": kinds[-1], "main": contrast.name == PRIMARY,
            "open": estimate.low is None if measure else not contrast.testable,
            **({"t_low": round(student[0] * factor, 6), "t_high": round(student[1] * factor, 6)} if student else {}),
        })  # fmt: skip
    color, shape = vl.looks("kind", _KINDS, kinds, legend=False)
    axis = vl.signed_axis(title)
    fill = {**color, "condition": {"test": "datum.open", "value": GROUND}}
    point = {"shape": shape, "fill": fill, "size": vl.either("main", 70, 36)}
    thin = vl.layer("rule", vl.interval("x", axis, "t_low", "t_high"), strokeWidth=1, yOffset=5)
    layers = [
        # First the one that all rows have: their order is that of the first mark.
        vl.layer("text", {"x": {"value": 226}, "text": {"field": "n"}, "color": {"value": MUTED}}),
        vl.layer("rule", vl.interval("x", axis), strokeWidth=2),
        *([thin] if has_thin else []),
        vl.layer("point", {**point, "x": vl.channel("value", **axis)}),
    ]
    inner = vl.layered({"step": 17}, layers, 215, y=vl.row_names(), color=color)
    return vl.facets(values, inner, apart=True) if len({*groups}) > 1 else vl.with_data(values, inner)
