"""What a collection of skills consists of."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from skill_health.documents._record import Count, NotedFigure, Record


class CensusReport(Record, frozen=True, kw_only=True):
    """What `skill-health census --format json` prints.

    Intervals are those of a sample, where the collection is taken for one. Figures beside which the paper has one name
    it: appendix A of SkillsBench, 2,014,000 skills in spring 2026, of which it cloned some 767,430.
    """

    ID: ClassVar = "skill-health/census/1"

    schema: Literal["skill-health/census/1"]
    skills: Count
    """The skills that could be read; byte-identical folders of one name count once."""
    unreadable: Count
    """Those that could not."""
    copies: Count
    """Further places of byte-identical folders of the same name."""
    skill_md: SizeFigures
    """Bytes of SKILL.md."""
    bundle: SizeFigures
    """Bytes of all files of a skill."""
    files: SizeFigures
    """Files of a skill, SKILL.md included."""
    single_file: ComparedShare
    """Skills that are nothing but SKILL.md."""
    at_most_five: ComparedShare
    """Skills of at most five files."""
    same_text: ComparedShare
    """Skills whose SKILL.md is byte for byte that of another one, in a folder that is not the same."""
    near_text: ComparedShare
    """Skills whose SKILL.md shares seven tenths of its passages with another, different one."""
    extensions: tuple[FileExtension, ...]
    """Of all files, the commonest first."""
    licences: tuple[DeclaredWord, ...]
    """What `license` says, the commonest first; empty where it says nothing."""
    categories: tuple[DeclaredWord, ...]
    """What `metadata.domain`, `metadata.category` or `category` says, likewise."""
    added: tuple[AddedInMonth, ...] | None
    """When SKILL.md came to its path, by the history of git; null where there is none, or only a part of it."""


class SizeFigures(Record, frozen=True, kw_only=True):
    """How an amount is distributed over skills."""

    n: Count
    least: Count
    lower: float
    """The first quartile."""
    median: float
    upper: float
    """The third quartile."""
    most: Count
    mean: float
    low: float
    """The lower end of the 95 % interval of the median: an order statistic, at least 95 % whatever the distribution."""
    high: float
    """The upper end."""
    classes: tuple[SizeClass, ...]
    """How many lie between two powers of two, without classes that are empty."""
    paper: float | None
    """The paper's median; null for none."""


class SizeClass(Record, frozen=True, kw_only=True):
    """The skills between two amounts."""

    above: Count
    """At least so much."""
    below: Count
    """Less than so much."""
    count: Count


class ComparedShare(Record, frozen=True, kw_only=True):
    """A share of the skills, with Wilson's interval."""

    count: Count
    share: NotedFigure
    paper: float | None
    """The paper's share; null for none."""


class FileExtension(Record, frozen=True, kw_only=True):
    """A kind of file."""

    extension: str
    """With its dot, in lower case; empty for none."""
    files: Count
    skills: Count
    """Skills that have one."""
    share: NotedFigure
    """Its share of all files, which come in bundles: skills are the clusters."""
    paper: float | None


class DeclaredWord(Record, frozen=True, kw_only=True):
    """What skills say of themselves."""

    word: str
    count: Count


class AddedInMonth(Record, frozen=True, kw_only=True):
    """The skills that came in a month."""

    month: Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}$")]
    count: Count
