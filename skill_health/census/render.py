"""A census as text and as Markdown, with what the paper found beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.documents._record import NotedFigure
from skill_health.documents.census_report import CensusReport, ComparedShare, DeclaredWord, SizeFigures
from skill_health.text.blocks import Block, Sentence, Table, TitleBlock
from skill_health.text.numbers import NOTHING, count

_MOST = 12
PAPER = "SkillsBench, appendix A: 2,014,000 skills in spring 2026, files and sizes of some 767,430 that it cloned"


def census_blocks(found: CensusReport) -> Iterator[Block]:
    """The document."""
    more = f", {count(found.copies, 'further place')} of the same folder" if found.copies else ""
    bad = f", {found.unreadable:,} that cannot be read" if found.unreadable else ""
    yield TitleBlock(f"A census of {count(found.skills, 'skill')}{more}{bad}", 1)
    yield Sentence(f"In the last column stands what the paper found ({PAPER}); it is another population.")
    yield TitleBlock("Sizes")
    rows = [
        ("bytes of SKILL.md", *size_cells(found.skill_md)), ("bytes of the whole skill", *size_cells(found.bundle)),
        ("files of the skill", *size_cells(found.files)),
    ]  # fmt: skip
    yield Table(("amount", "n", "median [95 %]", "quartiles", "mean", "most", "paper's median"), rows)
    yield Sentence("A token is some four bytes.")
    for title, figures in (("Bytes of SKILL.md", found.skill_md), ("Bytes of the whole skill", found.bundle)):
        yield TitleBlock(title, 3)
        yield Table(
            ("bytes", "skills", "%"),
            [
                (f"{each.above:,} to {each.below - 1:,}", f"{each.count:,}", f"{100 * each.count / figures.n:.1f}")
                for each in figures.classes
            ],
        )
    yield TitleBlock("Files and copies")
    yield Table(
        ("of the skills", "number", "% [95 %]", "paper's %"),
        [
            ("SKILL.md and nothing else", *_share(found.single_file)),
            ("at most five files", *_share(found.at_most_five)),
            ("SKILL.md byte for byte that of another", *_share(found.same_text)),
            ("SKILL.md nearly that of another (7 of 10 passages)", *_share(found.near_text)),
        ],
    )
    yield Table(
        ("extension", "files", "skills", "% of files [95 %]", "paper's %"),
        [
            (
                each.extension or "none",
                f"{each.files:,}",
                f"{each.skills:,}",
                percent(each.share),
                paper_points(each.paper),
            )
            for each in found.extensions
        ],
        most=_MOST,
    )
    yield TitleBlock("What they say of themselves")
    yield from _words("licence", found.licences, found.skills)
    yield from _words("category", found.categories, found.skills)
    yield TitleBlock("When they came")
    if found.added is None:
        yield Sentence("Not known: there is no whole history of git here.")
    else:
        yield Table(("month", "skills"), [(each.month, f"{each.count:,}") for each in found.added], most=60)


def size_cells(found: SizeFigures) -> tuple[str, ...]:
    """An amount as the cells of a row: n, median with its interval, quartiles, mean, most, the paper's median."""
    return (
        f"{found.n:,}", f"{found.median:,.0f} [{found.low:,.0f}, {found.high:,.0f}]", f"{found.lower:,.0f} to {found.upper:,.0f}",
        f"{found.mean:,.1f}", f"{found.most:,}", NOTHING if found.paper is None else f"{found.paper:,.0f}",
    )  # fmt: skip


def _share(found: ComparedShare) -> tuple[str, str, str]:
    return f"{found.count:,} of {found.share.n:,}", percent(found.share), paper_points(found.paper)


def percent(found: NotedFigure) -> str:
    """A share in per cent with its interval."""
    if found.value is None:
        return NOTHING
    if found.low is None or found.high is None:
        return f"{100 * found.value:.1f} [{NOTHING}]"
    return f"{100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def paper_points(share: float | None) -> str:
    """A share of the paper in per cent."""
    return NOTHING if share is None else f"{100 * share:.1f}"


def _words(what: str, words: Sequence[DeclaredWord], n: int) -> Iterator[Block]:
    named = [each for each in words if each.word]
    said = sum(each.count for each in named)
    yield Sentence(
        f"{said:,} of {n:,} name a {what}; {count(len(named), 'word')}:" if named else f"None of {n:,} names a {what}."
    )
    if named:
        yield Table((what, "skills"), [(each.word, f"{each.count:,}") for each in named], most=_MOST)
