"""Do names, headings or trigger phrases find more as searches of their own, beside those of `hybrid`?

`python -m benchmarks separate_fields --tree FOLDER`, with the sets of _labelled.py that were tuned on: only their tuned
halves are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from benchmarks._labelled import TUNE, LabelledSet, tuned_sets
from benchmarks._measure import Failed, Options
from benchmarks._paired import paired_difference, write_points
from skill_health.router.lexicon.fields import spaced
from skill_health.router.lexicon.search import FieldSearch, fuse, rescale
from skill_health.router.lexicon.term_index import TermIndex
from skill_health.router.lexicon.vectors import open_vectors
from skill_health.router.records import ListedSkill
from skill_health.router.routers._local import in_order, ranked
from skill_health.text.patterns import lazy
from skill_health.text.stems import latin_share, stem_words

TITLE = "Separate fields"
ROUNDS = 1
_HEADING = lazy(r"(?m)^#{1,6}[ \t]+(.+)$")
_QUOTED = lazy(r'["“「]([^"“”「」\n]{3,80})["”」]')
PLAIN = "as it is"
VARIANTS: Mapping[str, tuple[str, ...]] = {
    PLAIN: (), "name": ("name",), "headings": ("headings",), "phrases": ("phrases",),
    "all three": ("name", "headings", "phrases"),
}  # fmt: skip


def run(options: Options) -> Iterator[str]:
    """One table: of each set, what each field adds, and what the variant gives that was best on all other sets."""
    sets = tuned_sets(options.tree) if options.tree else []
    if len(sets) < 2:
        raise Failed("name a folder of two or more checked-out repositories OWNER+NAME by --tree")
    yield (
        "What more searches of equal weight add to the top-1 of `hybrid`, in points, on the tuned halves, with a paired "
        "bootstrap over skills: the name alone; the headings of SKILL.md; phrases in quotes and sections on when to use the "
        "skill. Where routers read what is listed, there are no headings, and only phrases in quotes. *Chosen elsewhere* "
        "is the variant that had the best mean on all other sets."
    )
    rows = [f"| set | mode | n | {' | '.join(VARIANTS)} | chosen elsewhere |", "|" + "---|" * (len(VARIANTS) + 4)]
    for mode in ("description", "content"):
        found = {one.name: _measure(one, mode) for one in sets}
        for name, (skills, right) in found.items():
            others = [other for each, (_, other) in found.items() if each != name]
            best = max(VARIANTS, key=lambda each: sum(sum(other[each]) / len(other[each]) for other in others))
            added = {each: write_points(paired_difference(right[each], right[PLAIN], skills)) for each in VARIANTS}
            added[PLAIN] = f"{100 * sum(right[PLAIN]) / len(skills):.1f}"
            chosen = PLAIN if best == PLAIN else f"{best}: {added[best]}"
            rows.append(f"| {name} | {mode} | {len(skills)} | {' | '.join(added.values())} | {chosen} |")
    yield "\n".join(rows)


def _measure(one: LabelledSet, mode: str) -> tuple[list[str], dict[str, list[bool]]]:
    """The right skill of each prompt of the tuned half, and of each variant whether it names that first."""
    skills = in_order(one.catalogue)
    names = [skill.name for skill in skills]
    search, vectors = FieldSearch(skills, mode), open_vectors()
    meanings = vectors.embed([fields.listed for fields in search.fields])
    fields = {name: TermIndex(stem_words(read(skill, mode)) for skill in skills) for name, read in _FIELDS.items()}
    asked = [(prompt.text, prompt.expected) for prompt in one.prompts if prompt.split == TUNE and prompt.expected]
    right: dict[str, list[bool]] = {each: [] for each in VARIANTS}
    for text, expected in asked:
        usual = [(1.0, scores) for scores in search.searches(text).values()]
        usual.append((latin_share(text), vectors.cosines(meanings, text)))
        more = {name: (1.0, index.scores(stem_words(text))) for name, index in fields.items()}
        for each, parts in VARIANTS.items():
            fused = rescale(fuse([*usual, *(more[part] for part in parts)]), 1.0)
            right[each].append(ranked(names, fused)[0][0] == expected)
    return [expected for _, expected in asked], right


def _read_name(skill: ListedSkill, mode: str) -> str:
    return spaced(skill.name)


def _read_headings(skill: ListedSkill, mode: str) -> str:
    return "" if mode == "description" else "\n".join(_HEADING.findall(skill.body))


def _read_phrases(skill: ListedSkill, mode: str) -> str:
    return "\n".join(chain(_QUOTED.findall(skill.text), () if mode == "description" else (skill.when,)))


_FIELDS = {"name": _read_name, "headings": _read_headings, "phrases": _read_phrases}
