"""A census of public collections: the part of docs/census.md between its marks.

    python -m scripts.census_page CHECKOUTS

Below CHECKOUTS lies each repository as OWNER+NAME, with its whole history where it has one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from skill_health.census.measure import PAPER_EXTENSIONS, count_skill, measure
from skill_health.census.render import paper_points, percent, size_cells
from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.discovery.corpus import discover
from skill_health.documents.census_report import CensusReport
from skill_health.text.blocks import markdown_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "census.md"
COLLECTIONS = ("anthropics/skills", "kouko/monkey-skills", "sickn33/antigravity-awesome-skills", "openclaw/skills")
BEGIN, END = "<!-- begin census -->", "<!-- end census -->"


def census_of(root: Path) -> CensusReport:
    """The census of a checkout without its months: a copy of a repository has no whole history."""
    found = discover([str(root)], Config(), str(root))
    entries = sorted((entry for entry in found.entries if entry.target), key=lambda entry: entry.path)
    counted = [each for each in (count_skill(Boundary(found.root), entry) for entry in entries) if each]
    return measure(counted, len(entries) - len(counted), sum(len(entry.copies) for entry in entries), None)


def table(folder: Path) -> Iterator[str]:
    """One column for each collection below `folder`, the paper's in the last."""
    found, heads = [], ["figure [95 %]"]
    for name in COLLECTIONS:
        root = folder / name.replace("/", "+")
        commit = subprocess.run(
            ("git", "rev-parse", "HEAD"), cwd=root, check=True, capture_output=True, text=True
        ).stdout
        found.append(census_of(root))
        heads.append(f"{name} at {commit[:8]}")
    first = found[0]
    rows = [["skills", *(f"{each.skills:,}" for each in found), "767,430"]]
    for what, key in (("bytes of SKILL.md", "skill_md"), ("bytes of the whole skill", "bundle"), ("files", "files")):
        cells = [size_cells(getattr(each, key)) for each in found]
        rows.append([f"{what}: median", *(each[1] for each in cells), cells[0][-1]])
        rows.append([f"{what}: quartiles", *(each[2] for each in cells), PAPER_QUARTILES.get(key, "–")])
        rows.append([f"{what}: most", *(each[4] for each in cells), "–"])
    for what, key in SHARES:
        paper = paper_points(getattr(first, key).paper)
        rows.append([what, *(percent(getattr(each, key).share) for each in found), paper])
    for kind, paper_share in PAPER_EXTENSIONS.items():
        shares = [next((one.share for one in each.extensions if one.extension == kind), None) for each in found]
        rows.append(
            [
                f"% of files that are {kind}",
                *(percent(each) if each else "0.0 [–]" for each in shares),
                paper_points(paper_share),
            ]
        )
    for what, key in (("a licence", "licences"), ("a category", "categories")):
        named = [sum(word.count for word in getattr(each, key) if word.word) for each in found]
        rows.append([f"name {what}", *(f"{n:,}" for n in named), "–"])
    yield from markdown_table([*heads, "the paper"], rows, numbers=True)


PAPER_QUARTILES = {"skill_md": "2,400 to 9,200", "bundle": "3,000 to 17,400"}
SHARES = (
    ("% that are SKILL.md alone", "single_file"), ("% of at most five files", "at_most_five"),
    ("% byte for byte that of another", "same_text"), ("% nearly that of another", "near_text"),
)  # fmt: skip


def main(folder: str) -> None:
    """Write the page."""
    told = "\n".join([BEGIN, *table(Path(folder)), END])
    page = PAGE.read_text("utf-8")
    PAGE.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: told, page, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
