"""The skills of a collection -> its census."""

from __future__ import annotations

import math
import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from skill_health.core.boundary import Boundary
from skill_health.core.files import blake2b
from skill_health.core.git import GitRepository
from skill_health.discovery.corpus import Entry
from skill_health.documents._record import NotedFigure
from skill_health.documents.census_report import (
    AddedInMonth,
    CensusReport,
    ComparedShare,
    DeclaredWord,
    FileExtension,
    SizeClass,
    SizeFigures,
)
from skill_health.fleet.sketch import Sketch, draw_sketch, find_near
from skill_health.lint.readable import read_entry
from skill_health.skill.frontmatter import declared_domain
from skill_health.skill.parse import parse_skill
from skill_health.stats.intervals import clustered_proportion, wilson_interval

FEW_FILES = 5
_OF_REGISTRIES = ("metadata.json", "_meta.json")
"""What registries write beside a skill is none of it; the paper leaves it out as well."""
_LONGEST_WORD, _LONGEST_EXTENSION, _KINDS = 60, 12, 40
# Appendix A.2 of SkillsBench; KB as in its text, 1,000 bytes.
PAPER_SKILL_MD, PAPER_BUNDLE, PAPER_FILES = 4_800.0, 7_200.0, 1.0
PAPER_SINGLE, PAPER_FEW = 0.599, 0.864
PAPER_EXTENSIONS: Mapping[str, float] = {".md": 0.517, ".py": 0.069, ".ts": 0.061, ".js": 0.057, ".json": 0.048}


@dataclass(frozen=True, slots=True)
class CountedSkill:
    """What is counted of one skill. `files` are the sizes of all its files by their paths, SKILL.md's included."""

    path: str
    text: str
    sketch: Sketch
    files: Mapping[str, int]
    licence: str
    category: str

    @property
    def size(self) -> int:
        """Bytes of SKILL.md."""
        return self.files[self.path.rpartition("/")[2]]


def count_skill(boundary: Boundary, entry: Entry) -> CountedSkill | None:
    """What a skill has; None where its SKILL.md cannot be read. No link out of the repository is followed."""
    data, problem = read_entry(boundary, entry)
    if problem:
        return None
    skill = parse_skill(data, entry.path, entry.folder_name, entry.files)
    folder = os.path.join(boundary.root, entry.folder)
    sizes = {path: _size(os.path.join(folder, path)) for path in entry.files if path not in _OF_REGISTRIES}
    field = skill.field("license")
    return CountedSkill(
        path=entry.path,
        text=blake2b(data, digest_size=16).hexdigest(),
        sketch=draw_sketch(skill.text),
        files={**{path: size for path, size in sizes.items() if size is not None}, skill.file_name: len(data)},
        licence=_word(field.value if field else None),
        category=declared_domain(skill.frontmatter),
    )


def _size(path: str) -> int | None:
    """The bytes of a file; None for what is none, such as a link."""
    try:
        state = os.lstat(path)
    except OSError:
        return None
    return state.st_size if stat.S_ISREG(state.st_mode) else None


def _word(value: object) -> str:
    return " ".join(str(value).split())[:_LONGEST_WORD] if isinstance(value, str) else ""


def measure(
    skills: Sequence[CountedSkill], unreadable: int, copies: int, added: Mapping[str, str] | None
) -> CensusReport:
    """The census. `added` are the months in which the paths of SKILL.md came, None where nobody knows.

    Raises ValueError where there is no skill.
    """
    n = len(skills)
    texts = Counter(each.text for each in skills)
    return CensusReport(
        schema="skill-health/census/1",
        skills=n,
        unreadable=unreadable,
        copies=copies,
        skill_md=size_figures([each.size for each in skills], PAPER_SKILL_MD),
        bundle=size_figures([sum(each.files.values()) for each in skills], PAPER_BUNDLE),
        files=size_figures([len(each.files) for each in skills], PAPER_FILES),
        single_file=_share(sum(len(each.files) == 1 for each in skills), n, PAPER_SINGLE),
        at_most_five=_share(sum(len(each.files) <= FEW_FILES for each in skills), n, PAPER_FEW),
        same_text=_share(sum(texts[each.text] > 1 for each in skills), n, None),
        near_text=_share(_count_near(skills), n, None),
        extensions=_extensions(skills),
        licences=_words(each.licence for each in skills),
        categories=_words(each.category for each in skills),
        added=None if added is None else _months(added[each.path] for each in skills if each.path in added),
    )


def size_figures(values: Sequence[int], paper: float | None) -> SizeFigures:
    """How amounts are distributed; quartiles as type 7 of Hyndman and Fan (1996, The American Statistician 50:361)."""
    ordered = sorted(values)
    first, last = median_ranks(len(ordered))
    classes = Counter(each.bit_length() for each in ordered)
    return SizeFigures(
        n=len(ordered),
        least=ordered[0],
        lower=quantile(ordered, 0.25),
        median=quantile(ordered, 0.5),
        upper=quantile(ordered, 0.75),
        most=ordered[-1],
        mean=round(fmean(ordered), 3),
        low=float(ordered[first]),
        high=float(ordered[last]),
        classes=tuple(
            SizeClass(above=1 << bits >> 1, below=1 << bits, count=classes[bits]) for bits in sorted(classes)
        ),
        paper=paper,
    )


def quantile(ordered: Sequence[int], share: float) -> float:
    """The quantile of sorted values, linear between two of them."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return round(ordered[below] + (place - below) * (ordered[above] - ordered[below]), 3)


_EXACT = 1_000


def median_ranks(n: int) -> tuple[int, int]:
    """The places, from 0, of the sorted values between which the median lies with at least 95 %.

    The number of values below it is binomial with 1/2 (Conover, Practical Nonparametric Statistics, 1999, 3.2); by its
    normal approximation from 1,000 values on. Of fewer than six values not even the ends reach 95 %: the ends.
    """
    if n > _EXACT:
        first = math.floor(n / 2 - 0.98 * math.sqrt(n)) - 1
        return max(0, first), min(n - 1, n - 1 - first)
    below, first = 0, 0
    while first < n // 2:
        below += math.comb(n, first)
        # With `first` + 1 as the place, P(fewer than first + 1 lie below) must be at most 2.5 %.
        if 40 * below > 2**n:
            break
        first += 1
    first = max(0, first - 1)
    return first, n - 1 - first


def _share(count: int, n: int, paper: float | None) -> ComparedShare:
    low, high = wilson_interval(count, n)
    figure = NotedFigure(value=round(count / n, 6), low=round(low, 6), high=round(high, 6), n=n, clusters=n, note="")
    return ComparedShare(count=count, share=figure, paper=paper)


def _count_near(skills: Sequence[CountedSkill]) -> int:
    """How many skills have a near copy among the others; of equal texts one stands for all."""
    first: dict[str, Sketch] = {}
    for each in skills:
        first.setdefault(each.text, each.sketch)
    texts = sorted(first)
    pairs = find_near([first[text] for text in texts], [frozenset((text,)) for text in texts])
    near = {texts[at] for pair in pairs for at in (pair.one, pair.other)}
    return sum(each.text in near for each in skills)


def _extensions(skills: Sequence[CountedSkill]) -> tuple[FileExtension, ...]:
    files: Counter[str] = Counter()
    owners: Counter[str] = Counter()
    kinds = [Counter(_extension(path) for path in each.files) for each in skills]
    for own in kinds:
        files += own
        owners.update(own.keys())
    totals = [float(sum(own.values())) for own in kinds]
    found = []
    for name in sorted(files, key=lambda name: (-files[name], name))[:_KINDS]:
        share = clustered_proportion([float(own[name]) for own in kinds], totals)
        low, high = (None if end is None else round(end, 6) for end in (share.low, share.high))
        figure = NotedFigure(
            value=round(files[name] / sum(totals), 6), low=low, high=high, n=int(sum(totals)), clusters=len(skills),
            note="" if low is not None else share.note or "no interval",
        )  # fmt: skip
        found.append(
            FileExtension(
                extension=name, files=files[name], skills=owners[name], share=figure, paper=PAPER_EXTENSIONS.get(name)
            )
        )
    return tuple(found)


def _extension(path: str) -> str:
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return f".{ending.lower()}" if dot and stem and 0 < len(ending) <= _LONGEST_EXTENSION else ""


def _words(words: Iterable[str]) -> tuple[DeclaredWord, ...]:
    """Declared words without regard to case, as the commonest spelling writes them."""
    spelled: dict[str, Counter[str]] = {}
    for word in words:
        spelled.setdefault(word.casefold(), Counter())[word] += 1
    found = [(min(own, key=lambda word: (-own[word], word)), sum(own.values())) for own in spelled.values()]
    return tuple(
        DeclaredWord(word=word, count=count) for word, count in sorted(found, key=lambda each: (-each[1], each[0]))
    )


def _months(months: Iterable[str]) -> tuple[AddedInMonth, ...]:
    return tuple(AddedInMonth(month=month, count=count) for month, count in sorted(Counter(months).items()))


def read_added(repository: GitRepository) -> dict[str, str] | None:
    """The month in which each SKILL.md that is or was there came to its path last; paths are relative to the top.

    None where the history is not whole, as in a shallow clone. Times are those of the authors, in their zones.
    """
    if repository.ask("rev-parse", "--is-shallow-repository").strip() != b"false":
        return None
    told = repository.run(
        "log", "--no-renames", "--diff-filter=A", "--format=%x01%ad", "--date=format:%Y-%m", "--name-only", "-z", "--",
        ":(icase,glob)**/skill.md",
    )  # fmt: skip
    if told.code:
        return None
    found: dict[str, str] = {}
    month = ""
    for part in told.output.replace(b"\n", b"\0").split(b"\0"):
        if part.startswith(b"\1"):
            month = part[1:].decode("ascii", "replace")
        elif part:
            found.setdefault(os.fsdecode(part), month)
    return found
