"""The pictures of a census: how large skills are, what files they have, and when they came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.documents.census_report import CensusReport, SizeFigures
from skill_health.page.drawing.theme import INK, SERIES
from skill_health.page.model import NumberTable, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.text.numbers import count

_MOST = 12
_EMPTY = NumberTable((), (), "")


def census_charts(found: CensusReport) -> Iterator[Picture]:
    """One picture for each table that has a shape; months only where the history of git is whole."""
    for name, title, figures in (
        ("skill-md", "Bytes of SKILL.md", found.skill_md), ("bundle", "Bytes of the whole skill", found.bundle),
        ("files", "Files of a skill", found.files),
    ):  # fmt: skip
        yield _sizes(name, title, figures)
    shown = [each for each in found.extensions[:_MOST] if each.share.value is not None]
    values: list[vl.Spec] = [
        {"label": each.extension or "none", "value": 100 * (each.share.value or 0), **_paper(each.paper)}
        for each in shown
    ]
    alt = f"The {len(shown)} commonest extensions of {count(sum(each.files for each in found.extensions), 'file')}."
    yield _bars("extensions", "Extensions, per cent of files", alt, values, "extension", "% of files")
    if found.added:
        months: list[vl.Spec] = [{"label": each.month, "value": each.count} for each in found.added]
        yield _bars(
            "months", "Skills that came, by month", f"Skills by month, {len(months)} months.", months, "month", "skills"
        )


def _sizes(name: str, title: str, figures: SizeFigures) -> Picture:
    """Classes between powers of two: equal widths on a logarithmic axis."""
    values: list[vl.Spec] = [
        {
            "label": f"{each.above:,}",
            "value": 100 * each.count / figures.n,
            **_within(each.above, each.below, figures.paper),
        }
        for each in figures.classes
    ]
    alt = f"{title} of {count(figures.n, 'skill')}: median {figures.median:g}, quartiles {figures.lower:g} and {figures.upper:g}."
    return _bars(name, f"{title}, per cent of skills", alt, values, "from", "% of skills")


def _within(above: int, below: int, paper: float | None) -> vl.Spec:
    return {"paper": 0} if paper is not None and above <= paper < below else {}


def _paper(share: float | None) -> vl.Spec:
    return {} if share is None else {"paper": 100 * share}


def _bars(name: str, title: str, alt: str, values: Sequence[vl.Spec], label: str, amount: str) -> Picture:
    """Bars, with a mark where the paper's figure is."""
    layers = [
        vl.layer("bar", {"x": vl.channel("value", title=amount), "color": {"value": SERIES[0]}}),
        vl.layer("tick", {"x": vl.channel("paper", title=amount), "color": {"value": INK}}, only="paper", thickness=2),
    ]
    spec = vl.plot(values, {"step": 18}, layers, y=vl.category("label", title=label))
    note = "A dark mark is the paper's figure, or the class of its median."
    return Picture(name=f"census-{name}", title=title, alt=alt, spec=spec, table=_EMPTY, note=note)
