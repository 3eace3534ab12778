"""How often `skill-health quality` agrees with readers: the figures of docs/quality.md.

    python -m scripts.quality_figures CHECKOUTS     -> tests/quality/figures.json and the tables of docs/quality.md

Below CHECKOUTS lies each repository as OWNER+NAME, at the commit of tests/quality/labels.jsonl. Each line there is a
public skill with its readings by one codebook, none of which saw another: four scores from 0 to 3, and the patterns
that show. The signs were chosen with the half `tuned`; the half `sealed` was measured once.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skill_health.quality.collection import quality_of_skill
from skill_health.skill.authoring import SIDES
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
    """A public skill with its readings; `a` is None where there is one only."""

    id: int
    half: str
    repository: str
    commit: str
    path: str
    sha256: str
    b: Reading
    a: Reading | None = None

    @property
    def settled(self) -> frozenset[str]:
        """The patterns that every reading sees."""
        return frozenset(self.b.patterns).intersection(*([self.a.patterns] if self.a else []))


def read_labels() -> list[ReadSkill]:
    """The skills in the order of their ids."""
    found = []
    for line in LABELS.read_text("utf-8").splitlines():
        values = json.loads(line)
        readings = {key: _reading(values, key) for key in ("a", "b") if key in values}
        known = {key: values[key] for key in ReadSkill._fields if key in values}
        found.append(ReadSkill(**(known | readings)))
    return found


def _reading(values: Mapping[str, Any], key: str) -> Reading:
    return Reading(tuple(values[key]), tuple(values[f"{key}_patterns"]))


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
        before, rest = page.split(start)
        page = before + start + "\n".join(lines) + "\n" + end + rest.split(end)[1]
    return page


def points_table(labels: Sequence[ReadSkill], found: Mapping[str, Reading]) -> Iterator[str]:
    """Weighted kappa of the readers with each other, and of the program with each of them, by half."""
    rows = []
    for at, name in enumerate((*DIMENSIONS, "all twelve")):
        cells = [name]
        for half in HALVES:
            own = [each for each in labels if each.half == half]
            both = [(_points(each.a, at), _points(each.b, at)) for each in own if each.a]
            with_a = [(_points(found[str(each.id)], at), _points(each.a, at)) for each in own if each.a]
            with_b = [(_points(found[str(each.id)], at), _points(each.b, at)) for each in own]
            cells += [_shown(cohen_kappa(pairs, ordered=True)) for pairs in (both, with_a, with_b)]
        rows.append(cells)
    head = ["points"]
    for half in HALVES:
        head += [f"{_counted(labels, half)}: reader and reader", "program and reader A", "program and reader B"]
    yield from markdown_table(head, rows)


def _points(reading: Reading, at: int) -> int:
    return reading.total if at == len(DIMENSIONS) else reading.points[at]


def patterns_table(labels: Sequence[ReadSkill], found: Mapping[str, Reading]) -> Iterator[str]:
    """How often a pattern that the program sees is one by every reading, and how many of these it finds."""
    rows = []
    for name, side in SIDES.items():
        agreed = cohen_kappa([(name in each.a.patterns, name in each.b.patterns) for each in labels if each.a])
        cells = [name.replace("_", " "), side, _shown(agreed)]
        for half in HALVES:
            own = [each for each in labels if each.half == half]
            seen = [each for each in own if name in found[str(each.id)].patterns]
            right = sum(name in each.settled for each in seen)
            cells += [_share(right, len(seen)), _share(right, sum(name in each.settled for each in own))]
        rows.append(cells)
    head = ["pattern", "went with", "reader and reader, κ"]
    for half in HALVES:
        head += [f"{_counted(labels, half)}: right of those found", "found of those that are there"]
    yield from markdown_table(head, rows)


def _counted(labels: Sequence[ReadSkill], half: str) -> str:
    return f"{half} {sum(each.half == half for each in labels)}"


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
