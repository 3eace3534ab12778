"""The picture of the findings of repositories from run to run."""

from __future__ import annotations

from collections.abc import Sequence

from skill_health.documents.fleet_line import FleetEntry, FleetLine
from skill_health.documents.fleet_run import FleetRun
from skill_health.page.drawing.theme import BAD, WARN
from skill_health.page.figures import count, score, text_cell
from skill_health.page.model import NumberTable, Origins, Picture
from skill_health.page.pictures import _specs as vl

RUNS, REPOSITORIES = 60, 12
_TABLE = 400
_LOOKS = {"errors": (BAD, [1, 0]), "warnings": (WARN, [4, 2])}


def draw_findings(origins: Origins, run: FleetRun, lines: Sequence[FleetLine]) -> list[tuple[Picture, str]]:
    """Errors and warnings of each repository in the last runs, with its SVG; none before the second run."""
    from skill_health.page.drawing.draw import draw_all

    last = lines[-RUNS:]
    ranked = sorted(
        (each for each in run.repositories if each.findings),
        key=lambda each: (
            (-each.findings.counts.error, -each.findings.counts.warning, each.name) if each.findings else ()
        ),
    )
    names = [each.name for each in ranked if _known(last, each.name) > 1]
    if not names:
        return []
    shown = names[:REPOSITORIES]
    picture = _picture(origins, shown, last, len(names) - len(shown))
    return [(picture, draw_all([picture])[picture.name])]


def _known(lines: Sequence[FleetLine], name: str) -> int:
    return sum(line.repositories[name].errors is not None for line in lines if name in line.repositories)


def _picture(origins: Origins, names: Sequence[str], lines: Sequence[FleetLine], left_out: int) -> Picture:
    values: list[vl.Spec] = []
    ends = []
    for name in names:
        before: FleetEntry | None = None
        entries = [(line.time, line.repositories[name]) for line in lines if name in line.repositories]
        for time, entry in entries:
            for kind in _LOOKS:
                n = getattr(entry, kind)
                if before is not None and n is not None and before.rules != entry.rules:
                    values.append({"group": name, "time": time, "kind": kind, "n": None})
                values.append({"group": name, "time": time, "kind": kind, "n": n})
            before = entry if entry.errors is not None else before
        ends.append(f"{name} {before.errors} and {before.warnings}" if before else "")
    scale = {"domain": [*_LOOKS], "range": [color for color, _ in _LOOKS.values()]}
    dash = {"domain": [*_LOOKS], "range": [own for _, own in _LOOKS.values()]}
    color = vl.category("kind", scale=scale, legend={"title": None})
    y = vl.channel("n", title=None, axis={"tickCount": 3, "grid": True}, scale={"zero": True, "nice": True})
    line = vl.layer(
        "line",
        {"y": y, "color": color, "strokeDash": vl.category("kind", scale=dash, legend={"title": None})},
        strokeWidth=2,
    )
    dots = vl.layer("point", {"y": y, "color": color}, filled=True, size=20, only="n")
    x = vl.time_channel("time", [line.time for line in lines])
    inner = vl.layered(70, [line, dots], width=340, x=x)
    spec = vl.facets(values, inner, apart=True)
    known = [(line, name) for line in reversed(lines) for name in names if name in line.repositories]
    rows = tuple(
        (
            text_cell(line.time), text_cell(name),
            *(count(origins, line.repositories[name], kind) for kind in ("errors", "warnings", "infos", "skills")),
            score(origins, line.repositories[name], "score"),
        )
        for line, name in known[:_TABLE]
    )  # fmt: skip
    head = ("Run", "Repository", "Errors", "Warnings", "Information", "Skills", "Score")
    notes = ["A line is broken where other rules or settings ran."]
    if left_out:
        notes.append(f"{left_out:,} more repositories are in the history.")
    if len(known) > _TABLE:
        notes.append(f"The table has the last {_TABLE} figures.")
    alt = f"Lines of errors and warnings over {len(lines)} runs. At the last: {'; '.join(filter(None, ends))}."
    return Picture(
        "fleet-findings",
        "Errors and warnings from run to run",
        alt,
        spec,
        NumberTable(head, rows),
        note=" ".join(notes),
    )
