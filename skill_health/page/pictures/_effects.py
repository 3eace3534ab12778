"""What the reports of the effectiveness benchmark hold of a model and of a skill, and how it is drawn and listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skill_health.page.drawing.theme import GROUND, MUTED, SERIES
from skill_health.page.figures import MISSING, Mark, effect_marks, points, text_cell
from skill_health.page.model import JsonNode, NumberTable, Page, PageCell
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._caveats import mark_words

PRIMARY = "target-control"
_FIGURES = ("Difference, points [95 % interval], n tasks", "Student's low", "Student's high", "Differing", "Testable")
_KINDS = {
    "primary": (SERIES[0], "circle"),
    "secondary": (SERIES[1], "square"),
    "interaction": (SERIES[2], "diamond"),
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
    line: JsonNode
    own: JsonNode
    path: str = ""

    @property
    def subject(self) -> str:
        """The skill, or the model over the whole collection."""
        return self.name or self.model

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What keeps its figures from being taken at their word."""
        return effect_marks(self.line.value)

    @property
    def model_label(self) -> str:
        """The name of the model, with SIMULATED where it is."""
        return self.model + (" (SIMULATED)" if self.line.value.get("simulated") else "")

    @property
    def primary(self) -> JsonNode | None:
        """The contrast of the skills with none, where it has a value."""
        found = self.own["contrasts"].where("name", PRIMARY)
        return found if found is not None and has_value(found) else None


Pair = tuple[EffectMeasurement, JsonNode]
"""A measurement and one of its contrasts."""


def collection_effects(page: Page) -> tuple[EffectMeasurement, ...]:
    """The last measurement of each model over the whole collection, as the joined record names them."""
    found = ((line, _model(page, line)) for line in page.status.get("effect"))
    return tuple(EffectMeasurement(line.value["model"], "", line, own) for line, own in found if own is not None)


def effects_by_skill(page: Page, only: str | None = None) -> tuple[EffectMeasurement, ...]:
    """The last measurement of each skill by each model; `only` the skill at this path."""
    return tuple(_by_skill(page, only))


def _by_skill(page: Page, only: str | None) -> Iterator[EffectMeasurement]:
    every = page.status.get("skills")
    for at, skill in enumerate(every.value or ()):
        if only is not None and skill["path"] != only:
            continue
        for line in every[at]["effect"]["models"]:
            model = _model(page, line)
            own = _skill(model, skill["name"]) if model is not None else None
            if own is not None:
                yield EffectMeasurement(line.value["model"], skill["name"], line, own, skill["path"])


def _skill(model: JsonNode, name: str) -> JsonNode | None:
    """The part of a model on a skill; over plain values, as there are many skills to look through."""
    found = next((at for at, each in enumerate(model.value["skills"]) if each["skill"] == name), None)
    return None if found is None else model["skills"][found]


def _model(page: Page, line: JsonNode) -> JsonNode | None:
    report = next((each for each in page.effects if each.value.get("run_id") == line.value["run_id"]), None)
    return report["models"].where("model", line.value["model"]) if report is not None else None


def all_contrasts(measured: Sequence[EffectMeasurement]) -> list[Pair]:
    """Every contrast of every measurement."""
    return [(each, contrast) for each in measured for contrast in each.own["contrasts"]]


def has_value(contrast: JsonNode) -> bool:
    """Whether the difference of success is known."""
    return contrast["delta"].value.get("value") is not None


def describe_contrast(contrast: JsonNode) -> str:
    """A contrast in words: target less placebo."""
    return f"{contrast.value['arm']} less {contrast.value['against']}".replace("_", " ")


def describe_difference(contrast: JsonNode) -> str:
    """A difference in a sentence: +43.3 points [+13.8, +63.8], n 15."""
    return points(contrast["delta"]).text.replace(" [", " points [", 1).replace("] n", "], n")


def describe_primary(measured: Sequence[EffectMeasurement]) -> str:
    """What the first models do with the target skill less without."""
    found = [f"{each.model}: {describe_difference(each.primary)}" for each in measured if each.primary is not None]
    return "; ".join(found[:4]) or "not known"


def contrast_table(pairs: Sequence[Pair], leads: Sequence[str], caption: str, brief: bool = False) -> NumberTable:
    """The figures of contrasts, after the columns `leads`, of Contrast, Skill and Model; some of them where `brief`."""
    figures = (_FIGURES[0], _FIGURES[-1]) if brief else (*_FIGURES, "Marks")
    rows = []
    for each, contrast in pairs:
        lead = {"Contrast": describe_contrast(contrast), "Skill": each.name, "Model": each.model}
        own = _figures(contrast, brief)
        marks = () if brief else (text_cell(mark_words(each)),)
        rows.append((*(text_cell(lead[name]) for name in leads), *own, *marks))
    return NumberTable((*leads, *figures), tuple(rows), caption)


def _figures(contrast: JsonNode, brief: bool) -> tuple[PageCell, ...]:
    first, last = points(contrast["delta"]), text_cell("yes" if contrast["testable"].value else "no")
    if brief:
        return first, last
    differing = contrast["differing"]
    ends = (_student_end(contrast, "low"), _student_end(contrast, "high"))
    return first, *ends, PageCell(f"{differing.value:,}", differing.value, differing.origin), last


def _student(contrast: JsonNode) -> JsonNode | None:
    """Student's interval, where it has both ends."""
    found = contrast.value.get("t")
    return None if found is None or None in (found["low"], found["high"]) else contrast["t"]


def _student_end(contrast: JsonNode, key: str) -> PageCell:
    student = _student(contrast)
    if student is None:
        return text_cell(MISSING)
    return PageCell(f"{student[key].value * 100:+.1f}", student[key].value * 100, student[key].origin)


def forest(
    pairs: Sequence[Pair],
    names: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    measure: str = "",
    title: str = "percentage points of success",
    factor: float = 100.0,
) -> vl.Spec:
    """A forest plot: a contrast a row, with its intervals over one axis; rows of several groups below their headings.

    Rows are named by their contrast and grouped by model, unless `names` and `groups` say otherwise. Drawn are
    differences of success, or of a `measure`, each times `factor`.
    """
    names = names or [describe_contrast(contrast) for _, contrast in pairs]
    groups = groups or [each.model_label for each, _ in pairs]
    values = []
    for (_, contrast), name, group in zip(pairs, vl.labels(names, groups), groups, strict=True):
        own, student = contrast.value, None if measure else _student(contrast)
        estimate = own["deltas"][measure] if measure else own["delta"]
        values.append({
            **vl.estimate_values(estimate, factor), "name": name, "group": group, "n": f"n {estimate['n']:,}",
            "kind": own["kind"] if own["kind"] in _KINDS else "descriptive", "main": own["name"] == PRIMARY,
            "open": estimate["low"] is None if measure else not own["testable"],
            **{f"t_{end}": round(student[end].value * factor, 6) for end in ("low", "high") if student is not None},
        })  # fmt: skip
    look = vl.looks("kind", _KINDS, {each["kind"] for each in values}, legend=False)
    axis = vl.signed_axis(title)
    fill = {**look["color"], "condition": {"test": "datum.open", "value": GROUND}}
    shape = {"shape": look["shape"], "fill": fill, "size": vl.either("main", 70, 36)}
    thin = vl.layer("rule", vl.interval("x", axis, "t_low", "t_high"), strokeWidth=1, yOffset=5)
    layers = [
        # First the one that all rows have: their order is that of the first mark.
        vl.layer("text", {"x": {"value": 222}, "text": {"field": "n"}, "color": {"value": MUTED}}),
        vl.layer("rule", vl.interval("x", axis), strokeWidth=2),
        *([thin] if any("t_low" in each for each in values) else []),
        vl.layer("point", {"x": vl.channel("value", **axis), **shape}),
    ]
    drawn = vl.plot(values, {"step": 17}, layers, 215, y=vl.row_names(), color=look["color"])
    return vl.facets(drawn, groups, apart=True) if len({*groups}) > 1 else drawn
