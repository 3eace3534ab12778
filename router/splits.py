"""Train, validation and sealed test: which prompts may be tuned on, and which only measure.

A family of paraphrases is never torn apart, each class (the expected skill, or none) is spread over the splits in their
shares, and what has a split keeps it. Within a class the families are ordered by a hash of seed and name, and the
shares cut that order like a circle from a seeded start, so that the roundings of many small classes even out. A further
family moves at most one other over each cut; once the splits are written down, nothing moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b
from skill_health.router.records import Prompt
from skill_health.rules.fixtures._records import same_text
from skill_health.text import similarity
from skill_health.text.similarity import STOP

TRAIN, VALIDATION, TEST = "train", "validation", "test"
SHARES: Mapping[str, float] = {TRAIN: 0.5, VALIDATION: 0.2, TEST: 0.3}
_UNKNOWN, _POOL = "?", ""

Family = list[Prompt]


def assign(prompts: Sequence[Prompt], seed: int = 1, shares: Mapping[str, float] = SHARES) -> tuple[Prompt, ...]:
    """The prompts with a split each, in their order.

    `shares` maps the names of the splits, in the order in which they cut, to weights. A family with members that have
    a split follows them (the commonest, by name where two are as common). Classes that have but one family share one
    order, so that together they keep the shares, too.

    Raises UsageError for shares that are negative or all zero.
    """
    total = sum(shares.values())
    if not total > 0 or total == float("inf") or min(shares.values()) < 0:
        raise UsageError("the shares of the splits are numbers from 0 on, of which one at least is above 0")
    families: dict[str, Family] = {}
    for prompt in prompts:
        families.setdefault(prompt.cluster, []).append(prompt)
    chosen = {name: split for name, members in families.items() if (split := _kept(members))}
    present: dict[str, Counter[str]] = {}
    for name, split in chosen.items():
        present.setdefault(_class_of(families[name]), Counter())[split] += len(families[name])
    new = {name: members for name, members in families.items() if name not in chosen}
    for stratum, names in _strata(new, present).items():
        sizes = {name: len(families[name]) for name in names}
        wanted = _wanted(present.get(stratum, {}), sum(sizes.values()), shares)
        chosen |= _cut(sizes, wanted, seed, _hash(seed, f"class:{stratum}") / 2**64)
    return tuple(prompt if prompt.split else replace(prompt, split=chosen[prompt.cluster]) for prompt in prompts)


def spanning(prompts: Sequence[Prompt]) -> dict[str, tuple[str, ...]]:
    """The families whose members are in several splits, with these; a leak from what is tuned on to what measures."""
    found: dict[str, set[str]] = {}
    for prompt in prompts:
        if prompt.family and prompt.split:
            found.setdefault(prompt.family, set()).add(prompt.split)
    return {family: tuple(sorted(splits)) for family, splits in sorted(found.items()) if len(splits) > 1}


def split_table(prompts: Sequence[Prompt]) -> dict[str, dict[str, int]]:
    """How many prompts of each class are in each split; "?" is the class of those without a known answer."""
    table: dict[str, Counter[str]] = {}
    for prompt in prompts:
        table.setdefault(prompt.target or _UNKNOWN, Counter())[prompt.split] += 1
    return {name: dict(sorted(row.items())) for name, row in sorted(table.items())}


def _kept(members: Family) -> str:
    given = Counter(prompt.split for prompt in members if prompt.split)
    return min(given, key=lambda split: (-given[split], split)) if given else ""


def _strata(families: Mapping[str, Family], present: Mapping[str, Mapping[str, int]]) -> dict[str, list[str]]:
    """The names of new families by their class; classes with one of them, and none from before, are pooled."""
    found: dict[str, list[str]] = {}
    for name in sorted(families):
        found.setdefault(_class_of(families[name]), []).append(name)
    strata = {stratum: names for stratum, names in found.items() if len(names) > 1 or stratum in present}
    if pool := [names[0] for stratum, names in found.items() if stratum not in strata]:
        strata[_POOL] = sorted(pool)
    return strata


def _class_of(members: Family) -> str:
    """The commonest class of a family."""
    counts = Counter(prompt.target or _UNKNOWN for prompt in members)
    return min(counts, key=lambda name: (-counts[name], name))


def _wanted(present: Mapping[str, int], new: int, shares: Mapping[str, float]) -> dict[str, float]:
    """What share of the new prompts each split needs, so that with those it has its share of all comes out."""
    whole = new + sum(present.get(split, 0) for split in shares)
    total = sum(shares.values())
    need = {split: max(0.0, share / total * whole - present.get(split, 0)) for split, share in shares.items()}
    return {split: value / sum(need.values()) for split, value in need.items()}


def _cut(sizes: Mapping[str, int], shares: Mapping[str, float], seed: int, start: float) -> dict[str, str]:
    """Order families by hash around a circle and cut it by the shares; a family goes where its middle lies."""
    order = sorted(sizes, key=lambda name: (_hash(seed, name), name))
    total, before = sum(sizes.values()), 0
    chosen = {}
    for name in order:
        middle = ((before + sizes[name] / 2) / total + start) % 1.0
        before += sizes[name]
        bound = 0.0
        for split, share in shares.items():
            bound += share
            if share > 0:
                chosen[name] = split
                if middle < bound - 1e-9:
                    break
    return chosen


def _hash(seed: int, name: str) -> int:
    mark = blake2b(f"split|{seed}|{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(mark, "big")


NEAR = 0.8
# Words that two prompts share weigh least where there are few prompts; these are taken to exist beside them.
_BACKGROUND = 200
_LEAST = 3


@dataclass(frozen=True, slots=True)
class SimilarPrompts:
    """Two prompts, the earlier one first, and the cosine of their words; 1.0 and `same` for one text twice."""

    first: Prompt
    later: Prompt
    similarity: float
    same: bool = False


def near_pairs(prompts: Sequence[Prompt], threshold: float = NEAR) -> list[SimilarPrompts]:
    """The pairs of prompts with the same text (case, spacing and closing punctuation aside) or nearly the same words.

    Of a text that stands several times each later one is paired with the first. A text of fewer than three telling
    words is compared as a whole only.
    """
    first: dict[str, Prompt] = {}
    pairs = []
    for prompt in prompts:
        earlier = first.setdefault(same_text(prompt.text), prompt)
        if earlier is not prompt:
            pairs.append(SimilarPrompts(earlier, prompt, 1.0, True))
    distinct = list(first.values())
    words = [similarity.terms(prompt.text, STOP) for prompt in distinct]
    vectors = similarity.Vectors([text if len(set(text)) >= _LEAST else [] for text in words], _BACKGROUND)
    found = similarity.similar_pairs(vectors, threshold)
    return [*pairs, *(SimilarPrompts(distinct[i], distinct[j], min(value, 1.0)) for i, j, value in found)]


def with_families(prompts: Sequence[Prompt], threshold: float = NEAR) -> tuple[Prompt, ...]:
    """The prompts with a family each: their own; else that of one that is nearly the same; else one named by their id.

    Of several prompts without a family that are nearly the same, the first names it. `threshold` is as in `near_pairs`.
    """
    leader = {prompt.prompt_id: prompt.prompt_id for prompt in prompts}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    for pair in near_pairs(prompts, threshold):
        # Declared families are never joined: whoever named them apart meant it.
        one, other = find(pair.first.prompt_id), find(pair.later.prompt_id)
        leader[other] = one
    named: dict[str, str] = {}
    for prompt in prompts:
        if prompt.family:
            named.setdefault(find(prompt.prompt_id), prompt.family)
    for prompt in prompts:
        named.setdefault(find(prompt.prompt_id), prompt.prompt_id)
    return tuple(p if p.family else replace(p, family=named[find(p.prompt_id)]) for p in prompts)
