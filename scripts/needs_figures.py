"""How often `skill-health needs` is right, and what public collections need: the figures of docs/needs.md.

    python -m scripts.needs_figures CHECKOUTS     -> tests/needs/figures.json and the tables of docs/needs.md

Below CHECKOUTS lies each repository as OWNER+NAME, at the commit of tests/needs/labels.jsonl. Each line there is a
public skill with the categories that readers found in it. 180 skills have two readings, each without the other's, and
the settled categories: those on which both agree, and where they differ what a third reading by the codebook decided.
The program was written on all of them. The half `third` has one reading, made before the program had seen them, and was
measured once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.discovery.corpus import discover
from skill_health.needs.collection import bundled_reader, need_frequencies, needs_of_collection
from skill_health.needs.find import all_categories, find_needs
from skill_health.skill.parse import parse_skill
from skill_health.stats.intervals import wilson_interval

HERE = Path(__file__).resolve().parents[1]
LABELS = HERE / "tests" / "needs" / "labels.jsonl"
FIGURES = HERE / "tests" / "needs" / "figures.json"
PAGE = HERE / "docs" / "needs.md"
COLLECTIONS = ("anthropics/skills", "obra/superpowers", "openai/skills", "trailofbits/skills", "wshobson/agents")
SETS = {"labelled": ("tuned", "sealed", "second"), "third": ("third",)}
"""What is counted, and the `half` of the labels in it."""
FEWEST = 10
"""A category with fewer cases in a set is not judged."""
PRECISION, RECALL = 0.9, 0.8
"""What each category that is judged should reach."""
# Table 3 of arXiv:2606.17819; of the other categories it says only that none has more than 4.4 %.
PAPER = {
    "tools": 70.4, "auth": 66.0, "runtime": 65.2, "network": 42.0, "repository": 19.3, "mcp": 16.2, "multi-turn": 7.0,
}  # fmt: skip


class LabelledSkill(NamedTuple):
    """A public skill and the categories that each reader, and the settlement, says it needs.

    `b` is None where there is one reading only. `c` is a third reading by the codebook, of the categories that needed
    one most; `why` says what decided where readings differ.
    """

    id: int
    half: str
    repository: str
    commit: str
    path: str
    sha256: str
    a: tuple[str, ...]
    settled: tuple[str, ...]
    b: tuple[str, ...] | None = None
    c: tuple[str, ...] = ()
    why: Mapping[str, str] = MappingProxyType({})


class NeedCounts(NamedTuple):
    """Skills of a category: found rightly, found wrongly, missed."""

    right: int
    wrong: int
    missed: int

    @property
    def cases(self) -> int:
        """The skills that need it."""
        return self.right + self.missed

    @property
    def found(self) -> int:
        """The skills of which the program says so."""
        return self.right + self.wrong


def read_labels() -> list[LabelledSkill]:
    """The labelled skills, in the order of their ids."""
    lines = LABELS.read_text("utf-8").splitlines()
    return [
        LabelledSkill(
            **{key: tuple(each) if isinstance(each, list) else each for key, each in json.loads(line).items()}
        )
        for line in lines
    ]


def main(checkouts: str) -> None:
    """Measure, and write both files."""
    labels = read_labels()
    found = {each.id: _found(each, Path(checkouts)) for each in labels}
    figures: dict[str, object] = {
        name: {category: list(count_right(category, of_set(labels, name), found)) for category in all_categories()}
        for name in SETS
    }
    figures["collections"] = {name: _collection(name, Path(checkouts)) for name in COLLECTIONS}
    FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", "utf-8")
    PAGE.write_text(with_tables(PAGE.read_text("utf-8"), figures), "utf-8")


def _found(label: LabelledSkill, checkouts: Path) -> frozenset[str]:
    """What the program finds in a labelled skill. Raises SystemExit where the checkout has another text."""
    tree = checkouts / label.repository.replace("/", "+")
    folder = tree / label.path
    file = next(each for each in sorted(os.listdir(folder)) if each.lower() == "skill.md")
    data = (folder / file).read_bytes()
    if hashlib.sha256(data).hexdigest() != label.sha256:
        raise SystemExit(f"{label.repository}: {label.path} is not that of commit {label.commit}")
    files = tuple(sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()))
    others = tuple(each for each in files if each != file)
    skill = parse_skill(data, f"{label.path}/{file}", None, others)
    return frozenset(find_needs(skill, bundled_reader(Boundary(os.path.realpath(tree)))).categories)


def _collection(name: str, checkouts: Path) -> dict[str, object]:
    tree = os.path.realpath(checkouts / name.replace("/", "+"))
    frequencies = need_frequencies(needs_of_collection(tree, discover((tree,), Config(), tree).entries))
    return {"skills": frequencies[0].n, "needs": {each.category: each.count for each in frequencies}}


def of_set(labels: Sequence[LabelledSkill], name: str) -> list[LabelledSkill]:
    """The labelled skills of a set."""
    return [each for each in labels if each.half in SETS[name]]


def count_right(category: str, labels: Sequence[LabelledSkill], found: Mapping[int, frozenset[str]]) -> NeedCounts:
    """How often the program is right about a category."""
    right = sum(category in each.settled and category in found[each.id] for each in labels)
    wrong = sum(category not in each.settled and category in found[each.id] for each in labels)
    return NeedCounts(right, wrong, sum(category in each.settled for each in labels) - right)


def kappa(category: str, labels: Sequence[LabelledSkill]) -> float | None:
    """Cohen's kappa of the two readers; None where both say the same of every skill."""
    pairs = [(category in each.a, category in each.b) for each in labels if each.b is not None]
    n = len(pairs)
    one, other = (sum(pair[side] for pair in pairs) / n for side in (0, 1))
    alike = sum(a == b for a, b in pairs) / n
    chance = one * other + (1 - one) * (1 - other)
    return None if chance == 1 else (alike - chance) / (1 - chance)


def with_tables(page: str, figures: Mapping[str, object]) -> str:
    """The page with each of its tables made from the figures; the rest is left alone."""
    for name, make in _TABLES.items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        table = "\n".join(make(figures)) + "\n"
        page = re.sub(
            re.escape(start) + r".*?" + re.escape(end),
            lambda _, table=table, start=start, end=end: start + table + end,
            page,
            flags=re.S,
        )
    return page


def _accuracy(figures: Mapping[str, object]) -> Iterator[str]:
    labels = of_set(read_labels(), "labelled")
    yield "| category | κ | the 180: precision | recall | bar | sealed 44: precision | recall | bar |"
    yield "|---|---:|---:|---:|---|---:|---:|---|"
    for category in all_categories():
        agreed = kappa(category, labels)
        cells = ["–" if agreed is None else f"{agreed:.2f}"]
        for name in SETS:
            each = NeedCounts(*_of(figures, name)[category])
            cells += [_share(each.right, each.found), _share(each.right, each.cases), _verdict(each)]
        yield f"| `{category}` | {' | '.join(cells)} |"


def reaches_bar(counts: NeedCounts) -> bool | None:
    """Whether a category has the precision and the recall that are asked for; None with too few cases."""
    if counts.cases < FEWEST:
        return None
    return counts.found > 0 and counts.right >= PRECISION * counts.found and counts.right >= RECALL * counts.cases


def _verdict(counts: NeedCounts) -> str:
    return {True: "reached", False: "missed", None: "–"}[reaches_bar(counts)]


def _share(part: int, whole: int) -> str:
    if not whole:
        return "–"
    low, high = wilson_interval(part, whole)
    return f"{part} of {whole}: {part / whole:.2f} [{low:.2f}, {high:.2f}]"


def _of(figures: Mapping[str, object], key: str) -> Mapping[str, Sequence[int]]:
    found = figures[key]
    assert isinstance(found, Mapping)
    return found


def _frequencies(figures: Mapping[str, object]) -> Iterator[str]:
    collections = _of(figures, "collections")
    yield "| category | " + " | ".join(COLLECTIONS) + " | the paper |"
    yield "|---|" + "---:|" * (len(COLLECTIONS) + 1)
    yield "| skills | " + " | ".join(f"{_whole(collections, name):,}" for name in COLLECTIONS) + " | not said |"
    for category, module in all_categories().items():
        cells = [_per_cent(collections, name, category) for name in COLLECTIONS]
        paper = f"{PAPER[category]:.1f}" if category in PAPER else "≤ 4.4"
        yield f"| {module.TITLE} (`{category}`) | {' | '.join(cells)} | {paper} |"


def _whole(collections: Mapping[str, object], name: str) -> int:
    found = collections[name]
    assert isinstance(found, Mapping)
    return int(found["skills"])


def _per_cent(collections: Mapping[str, object], name: str, category: str) -> str:
    found = collections[name]
    assert isinstance(found, Mapping)
    count, n = int(found["needs"][category]), int(found["skills"])
    low, high = wilson_interval(count, n)
    return f"{100 * count / n:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


_TABLES: dict[str, Callable[[Mapping[str, object]], Iterable[str]]] = {
    "accuracy": _accuracy, "frequencies": _frequencies,
}  # fmt: skip

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
