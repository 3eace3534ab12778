"""The pictures of the findings of repositories from run to run: one for each."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from skill_health.documents.fleet_line import FleetEntry, FleetLine
from skill_health.documents.fleet_run import FleetRun, RepositoryFindings
from skill_health.page.drawing.theme import BAD, WARN
from skill_health.page.figures import count, score, text_cell
from skill_health.page.model import NumberTable, Origins, Picture, anchor
from skill_health.page.pictures import _specs as vl

RUNS, REPOSITORIES = 60, 24
_LOOKS = {"errors": (BAD, [1, 0]), "warnings": (WARN, [4, 2])}
_STEPS = [digit * 10**power for power in range(12) for digit in (1, 2, 5)]
_HEAD = ("Run", "Errors", "Warnings", "Information", "Skills", "Score")
_BROKEN = "The lines are broken where other rules or settings ran, and where it could not be checked."


def draw_findings(origins: Origins, run: FleetRun, lines: Sequence[FleetLine]) -> list[tuple[Picture, str]]:
    """Errors and warnings in the last runs, with the SVG, of the repositories with the most; none before two runs."""
    from skill_health.page.drawing.draw import draw_all

    known = [(each.name, each.findings) for each in run.repositories if each.findings]
    ranked = sorted(known, key=lambda item: (*_need(item[1]), item[0]))
    found = [picture for name, _ in ranked if (picture := _picture(origins, name, lines[-RUNS:]))][:REPOSITORIES]
    drawn = draw_all(found)
    return [(picture, drawn[picture.name]) for picture in found]


def _need(found: RepositoryFindings) -> tuple[int, int]:
    return -found.counts.error, -found.counts.warning


def _picture(origins: Origins, name: str, lines: Sequence[FleetLine]) -> Picture | None:
    entries = [(line.time, line.repositories[name]) for line in lines if name in line.repositories]
    counted = [(time, entry) for time, entry in entries if entry.errors is not None]
    if len(counted) < 2:
        return None
    values: list[vl.Spec] = []
    before: FleetEntry | None = None
    for time, entry in entries:
        for kind in _LOOKS:
            n = getattr(entry, kind)
            if before is not None and n is not None and before.rules != entry.rules:
                values.append({"time": time, "kind": kind, "n": None})
            values.append({"time": time, "kind": kind, "n": n})
        before = entry
    color, dash = (
        vl.category(
            "kind",
            scale={"domain": [*_LOOKS], "range": [own[at] for own in _LOOKS.values()]},
            legend={"title": None, "symbolType": "stroke"},
        )
        for at in (0, 1)
    )
    # Whole numbers: left alone, an axis up to 2 has its marks at halves.
    most = max(max(entry.errors or 0, entry.warnings or 0) for _, entry in counted)
    step = next(step for step in _STEPS if step * 4 >= most)
    marks = [*range(0, max(1, ceil(most / step)) * step + 1, step)]
    axis = {"values": marks, "grid": True, "format": ",d"}
    y = vl.channel("n", title=None, axis=axis, scale={"domain": [0, marks[-1]], "nice": False})
    layers = (
        vl.layer("line", {"y": y, "color": color, "strokeDash": dash}, strokeWidth=2),
        vl.layer("point", {"y": y, "color": color}, filled=True, size=20, only="n"),
    )
    spec = vl.plot(values, 90, layers, x=vl.time_channel("time", [time for time, _ in entries]))
    rows = tuple(
        (
            text_cell(time), *(count(origins, entry, kind) for kind in ("errors", "warnings", "infos", "skills")),
            score(origins, entry, "score"),
        )
        for time, entry in reversed(entries)
    )  # fmt: skip
    (since, first), (until, last) = counted[0], counted[-1]
    alt = (
        f"Lines of the errors and warnings of {name} over {len(entries)} runs: {first.errors} and {first.warnings} on "
        f"{since[:10]}, {last.errors} and {last.warnings} on {until[:10]}."
    )
    broken = len({entry.rules for _, entry in entries}) > 1
    return Picture(
        f"{anchor(name)}-findings", name, alt, spec, NumberTable(_HEAD, rows), note=_BROKEN if broken else ""
    )
