"""How often `skill-health quality` agrees with readers: the figures of docs/quality.md.

    python -m scripts.quality_figures CHECKOUTS     -> tests/quality/figures.json and the tables of docs/quality.md

Below CHECKOUTS lies each repository as OWNER+NAME, at the commit of tests/quality/labels.jsonl. Each line there is a
public skill with two readings by one codebook, neither of which saw the other: four scores from 0 to 3, and the
patterns that show. The signs were chosen with the half `tuned`; the half `sealed` was measured once.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skill_health.quality.collection import PATTERNS, quality_of_skill
from skill_health.skill.parse import parse_skill
from skill_health.skill.rubric import DIMENSIONS
from skill_health.stats.agreement import cohen_kappa
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import wilson_interval
from skill_health.text.blocks import markdown_table

HERE = Path(__file__).resolve().parents[1]
LABELS = HERE / "tests" / "quality" / "labels.jsonl"
FIGURES = HERE / "tests" / "quality" / "figures.json"
PAGE = HERE / "docs" / "quality.md"
HALVES = ("tuned", "sealed")


class Reading(NamedTuple):
    """What one reader, or the program, says of a skill: points in the order of the dimensions, and patterns."""

    points: tuple[int, ...]
    patterns: tuple[str, ...]

    @property
    def total(self) -> int:
        """Of twelve."""
        return sum(self.points)


class ReadSkill(NamedTuple):
    """A public skill with its two readings."""

    id: int
    half: str
    repository: str
    commit: str
    path: str
    sha256: str
    a: Reading
    b: Reading


def read_labels() -> list[ReadSkill]:
    """The skills in the order of their ids."""
    found = []
    for line in LABELS.read_text("utf-8").splitlines():
        values = json.loads(line)
        a, b = (Reading(tuple(values.pop(key)), tuple(values.pop(f"{key}_patterns"))) for key in ("a", "b"))
        found.append(ReadSkill(**values, a=a, b=b))
    return found


def main(checkouts: str) -> None:
    """Measure, and write both files."""
    labels = read_labels()
    found = {str(each.id): measured(each, Path(checkouts)) for each in labels}
    figures = {key: {"points": list(each.points), "patterns": list(each.patterns)} for key, each in found.items()}
    FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", "utf-8")
    PAGE.write_text(with_tables(PAGE.read_text("utf-8"), labels, found), "utf-8")


def measured(label: ReadSkill, checkouts: Path) -> Reading:
    """What the program says. Raises SystemExit where the checkout has another text."""
    file = checkouts / label.repository.replace("/", "+") / label.path
    data = file.read_bytes()
    if hashlib.sha256(data).hexdigest() != label.sha256:
        raise SystemExit(f"{label.repository}: {label.path} is not that of commit {label.commit}")
    folder = file.parent
    files = sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file() and each != file)
    found = quality_of_skill(parse_skill(data, label.path, folder.name, tuple(files)))
    return Reading(tuple(each.points for each in found.dimensions), tuple(each.pattern for each in found.patterns))


def kept_figures() -> dict[str, Reading]:
    """What was measured last."""
    kept: dict[str, Any] = json.loads(FIGURES.read_text("utf-8"))
    return {key: Reading(tuple(each["points"]), tuple(each["patterns"])) for key, each in kept.items()}


def with_tables(page: str, labels: Sequence[ReadSkill], found: Mapping[str, Reading]) -> str:
    """The page with each of its tables made anew; the rest is left alone."""
    for name, lines in (("points", points_table(labels, found)), ("patterns", patterns_table(labels, found))):
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        told = start + "\n".join(lines) + "\n" + end
        page = re.sub(re.escape(start) + r".*?" + re.escape(end), lambda _, told=told: told, page, flags=re.S)
    return page


def points_table(labels: Sequence[ReadSkill], found: Mapping[str, Reading]) -> Iterator[str]:
    """Weighted kappa of the readers with each other, and of the program with each of them, by half."""
    rows = []
    for at, name in enumerate((*DIMENSIONS, "all twelve")):
        cells = [name]
        for half in HALVES:
            own = [each for each in labels if each.half == half]
            ours = [_points(found[str(each.id)], at) for each in own]
            readers = [[_points(reading, at) for reading in side] for side in ([e.a for e in own], [e.b for e in own])]
            for one, other in ((readers[0], readers[1]), (ours, readers[0]), (ours, readers[1])):
                cells.append(_shown(cohen_kappa(list(zip(one, other, strict=True)), ordered=True)))
        rows.append(cells)
    head = ["points"]
    for half in HALVES:
        head += [f"{half} 50: reader and reader", "program and reader A", "program and reader B"]
    return iter(list(markdown_table(head, rows)))


def _points(reading: Reading, at: int) -> int:
    return reading.total if at == len(DIMENSIONS) else reading.points[at]


def patterns_table(labels: Sequence[ReadSkill], found: Mapping[str, Reading]) -> Iterator[str]:
    """How often a pattern that the program sees is one by both readers, and how many that both see it finds."""
    rows = []
    for name, side in PATTERNS.items():
        agreed = cohen_kappa([(name in each.a.patterns, name in each.b.patterns) for each in labels])
        cells = [name.replace("_", " "), side, _shown(agreed)]
        for half in HALVES:
            own = [each for each in labels if each.half == half]
            seen = [each for each in own if name in found[str(each.id)].patterns]
            both = [each for each in own if name in each.a.patterns and name in each.b.patterns]
            right = sum(name in each.a.patterns and name in each.b.patterns for each in seen)
            cells += [_share(right, len(seen)), _share(right, len(both))]
        rows.append(cells)
    head = ["pattern", "went with", "reader and reader, κ"]
    for half in HALVES:
        head += [f"{half} 50: right of those found", "found of those that both see"]
    return iter(list(markdown_table(head, rows)))


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return "–"
    ends = "–" if estimate.low is None or estimate.high is None else f"{estimate.low:.2f}, {estimate.high:.2f}"
    return f"{estimate.value:.2f} [{ends}]"


def _share(part: int, whole: int) -> str:
    if not whole:
        return "–"
    low, high = wilson_interval(part, whole)
    return f"{part} of {whole}: {part / whole:.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    main(*sys.argv[1:])
