"""What the reports of the effectiveness benchmark hold of a model and of a skill, by the lines of the joined record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skill_health.page.figures import MISSING, effect_marks, points, text_cell
from skill_health.page.model import JsonNode, Page, PageCell
from skill_health.page.pictures import _tags
from skill_health.page.pictures._forest import KINDS, LABELS, Row
from skill_health.page.pictures._text import fitted, text_width

AXIS = "percentage points of success"
PRIMARY = "target-control"


@dataclass(frozen=True, slots=True)
class Measured:
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
    def simulated(self) -> bool:
        """Whether it says nothing about any model."""
        return bool(self.line.value.get("simulated"))

    @property
    def primary(self) -> JsonNode | None:
        """The contrast of the skills with none."""
        return self.own["contrasts"].where("name", PRIMARY)

    @property
    def marked(self) -> frozenset[str]:
        """The words of its marks."""
        return frozenset(mark.word for mark in effect_marks(self.line.value))

    @property
    def words(self) -> str:
        """What to mind, in words: SIMULATED, stale, biased, preliminary."""
        return ", ".join(mark.word for mark in effect_marks(self.line.value))


def collections(page: Page) -> tuple[Measured, ...]:
    """The last measurement of each model over the whole collection, as the joined record names them."""
    found = ((line, _model(page, line)) for line in page.status.get("effect"))
    return tuple(Measured(line.value["model"], "", line, own) for line, own in found if own is not None)


def skills(page: Page, only: str | None = None) -> tuple[Measured, ...]:
    """The last measurement of each skill by each model; `only` the skill at this path."""
    return tuple(_skills(page, only))


def _skills(page: Page, only: str | None) -> Iterator[Measured]:
    every = page.status.get("skills")
    for at, told in enumerate(every.value or ()):
        if only is not None and told["path"] != only:
            continue
        for line in every[at]["effect"]["models"]:
            model = _model(page, line)
            own = _skill(model, told["name"]) if model is not None else None
            if own is not None:
                yield Measured(line.value["model"], told["name"], line, own, told["path"])


def _skill(model: JsonNode, name: str) -> JsonNode | None:
    """The part of a model on a skill; over plain values, as there are many skills to look through."""
    found = next((at for at, each in enumerate(model.value["skills"]) if each["skill"] == name), None)
    return None if found is None else model["skills"][found]


def _model(page: Page, line: JsonNode) -> JsonNode | None:
    report = next((each for each in page.effects if each.value.get("run_id") == line.value["run_id"]), None)
    return report["models"].where("model", line.value["model"]) if report is not None else None


def contrast_rows(measured: Sequence[Measured], only: Sequence[JsonNode] | None = None) -> list[Row]:
    """A row for each contrast that has a value, below a heading for each model where there are several."""
    rows = []
    for each in measured:
        own = [row(each, contrast) for contrast in each.own["contrasts"] if known(contrast)]
        if only is not None:
            wanted = {contrast.origin for contrast in only}
            own = [
                made for made in own if made.estimate is not None and made.estimate.origin[: -len("/delta")] in wanted
            ]
        if own and len(measured) > 1:
            rows.append(Row(titled(each)))
        rows += own
    return rows


def titled(each: Measured, width: float = LABELS) -> str:
    """The name of the model, cut to so many pixels, with SIMULATED where it is, which is never cut."""
    mark = " (SIMULATED)" if each.simulated else ""
    return fitted(each.model, width - text_width(mark)) + mark


def known(contrast: JsonNode) -> bool:
    """Whether a contrast has a value."""
    return contrast["delta"].value.get("value") is not None


def row(each: Measured, contrast: JsonNode, name: str = "") -> Row:
    """The row of a contrast, by its own name or another one."""
    told = contrast.value
    kind = told["kind"] if told["kind"] in KINDS else "descriptive"
    return Row(
        name or spoken(told),
        contrast["delta"],
        contrast["t"] if _whole(told.get("t")) else None,
        kind,
        hollow=not told["testable"],
        strong=told["name"] == PRIMARY,
    )


def _whole(student: dict[str, float | None] | None) -> bool:
    return student is not None and None not in (student["low"], student["high"])


def spoken(contrast: dict[str, str]) -> str:
    """A contrast in words: target less placebo."""
    return f"{contrast['arm']} less {contrast['against']}".replace("_", " ")


def cells(each: Measured, contrast: JsonNode, student: bool = True) -> tuple[PageCell, ...]:
    """The cells of a contrast: difference with interval, Student's interval, differing tasks, whether testable."""
    differing = contrast["differing"]
    found = [points(contrast["delta"])]
    if student:
        found += [_end(contrast, "low"), _end(contrast, "high")]
        found.append(PageCell(f"{differing.value:,}", differing.value, differing.origin))
    testable = contrast["testable"]
    return (*found, PageCell("yes" if testable.value else "no", "yes" if testable.value else "no"))


CELLS = ("Difference, points [95 % interval], n tasks", "Student's low", "Student's high", "Differing", "Testable")


def _end(contrast: JsonNode, key: str) -> PageCell:
    if not _whole(contrast.value.get("t")):
        return text_cell(MISSING)
    end = contrast["t"][key]
    return PageCell(f"{end.value * 100:+.1f}", end.value * 100, end.origin)


def tag(measured: Sequence[Measured]) -> str:
    """What a title says at its end where runs are simulated, stale, biased or preliminary."""
    return _tags.tag([each.marked for each in measured])


def warning(measured: Sequence[Measured]) -> str:
    """The sentences of the alternative text about such runs."""
    return _tags.warning([each.marked for each in measured])


def caveats(measured: Sequence[Measured], first: str = "") -> str:
    """The note below a picture: what marks mean, and which measurements are simulated, stale, biased, preliminary."""
    parts = [first] if first else []
    names: dict[str, list[str]] = {}
    for each in measured:
        for mark in effect_marks(each.line.value):
            why = f" ({mark.reason})" if mark.reason and len(measured) < 4 else ""
            names.setdefault(mark.word, []).append((each.name or each.model) + why)
    for word in ("SIMULATED", "stale", "biased", "preliminary"):
        own = names.get(word, [])
        unique = list(dict.fromkeys(own))
        if not own:
            continue
        several = "all" if len(own) == len(measured) else f"{len(own)} of {len(measured)}, see the table"
        which = "; ".join(unique) if len(unique) < 4 else several
        parts.append(f"{word[0].upper()}{word[1:]}: {which}.")
    return " ".join(parts)


def told(contrast: JsonNode) -> str:
    """A difference in a sentence: +43.3 points [+13.8, +63.8], n 15."""
    text = points(contrast["delta"]).text
    return text.replace(" [", " points [", 1).replace("] n", "], n")
