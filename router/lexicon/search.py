"""A collection, searched by its fields: what the routers `lexical` and `hybrid` have in common.

Searched are the listed text by words and by pieces of words and, where a curator's view is wanted (index "content"),
the whole SKILL.md, its best section, the bundled references, and all of it as one. The name is part of the listed text
and of every section.

Each search gives the TF-IDF cosine. A term weighs (1 + ln tf) * (ln((1 + n) / (1 + df)) + 1) on both sides (Manning,
Raghavan and Schuetze, "Introduction to Information Retrieval", 2008, section 6.4). Where texts differ much in size, the
length of each is drawn half-way to the mean, so that none is found by its shortness (Singhal, Buckley and Mitra,
"Pivoted Document Length Normalization", SIGIR 1996). A term of the prompt that no text has counts in the prompt's
length, so that a request about something else scores low.

The searches are standardised over the skills and added: what one says with certainty counts for more than what another
barely says, which ranks cannot tell (Fox and Shaw, "Combination of Multiple Searches", TREC-2, 1994). All weigh the
same: weights learned on other collections were no better (docs/free-routers.md).

The indexes of a large collection are kept on disk, so that 100,000 skills are not read word by word for every run. A
file holds, for each index, the terms, their postings and the lengths of the texts. Its name is a digest of everything
that these depend on: the texts, what is read of them, the library that stems, and the versions of this program and of
the form below. It is in the folder of the other caches, replaced whole, and sealed: one in which a bit has changed
counts as none, and is built anew. Nothing in it is ever run.

    16 bytes   digest of all that follows
    1 line     the form and its version
    1 line     JSON: for each index its name, count, size, terms and numbers of postings, and whether it has owners;
               ends at a multiple of 8 bytes
    rest       the lengths of all indexes (64-bit floats), then for each its postings and owners (32 bits each);
               little-endian
"""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import chain
from typing import Any

from skill_health import __version__
from skill_health.core.files import blake2b
from skill_health.lint.cache.cache_folder import INDEX_ENDING, open_cached, write_cached
from skill_health.router.lexicon.fields import DESCRIPTION, SkillFields, read_fields, sections_of
from skill_health.router.lexicon.term_index import PackedPostings, TermIndex, Terms, add_up, find_numpy
from skill_health.router.records import ListedSkill
from skill_health.text.stems import cut_characters, stem_words

FORM = b"skill-health search index, form 1\n"
WORTH = 1 << 20
"""So many characters of text are worth a file; fewer are indexed in a moment."""
_SEAL = 16
Indexes = dict[str, TermIndex]


def index_key(fields: Sequence[SkillFields], index: str) -> str:
    """The digest that names the file of these fields, in this order: 32 hexadecimal digits."""
    total = blake2b(FORM, digest_size=16)
    for text in (__version__, version("snowballstemmer"), index, *_texts(fields)):
        data = text.encode("utf-8", "surrogatepass")
        total.update(b"%d:" % len(data) + data)
    return str(total.hexdigest())


def is_worth_a_file(fields: Iterable[SkillFields]) -> bool:
    """Whether building the indexes takes longer than reading them."""
    return sum(map(len, _texts(fields))) >= WORTH


def _texts(fields: Iterable[SkillFields]) -> Iterator[str]:
    for field in fields:
        yield field.name
        yield field.positive
        yield field.body
        yield field.references


def save_indexes(key: str, indexes: Mapping[str, TermIndex]) -> None:
    """Write the file of this key. A cache that cannot be written is no reason to fail."""
    parts = [
        {
            "name": name, "count": one.count, "size": one.size, "terms": list(one.postings),
            "postings": [len(held) for held in one.postings.values()], "owned": one.owners is not None,
        }
        for name, one in indexes.items()
    ]  # fmt: skip
    head = json.dumps(parts, separators=(",", ":")).encode("ascii")
    padding = b" " * (-(_SEAL + len(FORM) + len(head) + 1) % 8)
    chunks = [FORM, head, padding, b"\n"]
    chunks += [_little(array("d", one.lengths)) for one in indexes.values()]
    for one in indexes.values():
        chunks += [_little(held) for held in one.postings.values()]
        chunks.append(_little(array("I", [] if one.owners is None else one.owners)))
    seal = blake2b(digest_size=_SEAL)
    for chunk in chunks:
        seal.update(chunk)
    write_cached(key + INDEX_ENDING, [seal.digest(), *chunks])


def load_indexes(key: str) -> Indexes:
    """The indexes of this key as they were saved; {} where there are none, or a bit of the file has changed."""
    file = open_cached(key + INDEX_ENDING)
    if file is None:
        return {}
    with file:
        whole = file.read()
    body = memoryview(whole)[_SEAL:]
    seal = blake2b(body, digest_size=_SEAL).digest()
    end = whole.find(b"\n", _SEAL + len(FORM))
    if whole[:_SEAL] != seal or whole[_SEAL : _SEAL + len(FORM)] != FORM or end < 0:
        return {}
    try:
        return dict(_restored(json.loads(whole[_SEAL + len(FORM) : end]), memoryview(whole)[end + 1 :]))
    except (ValueError, KeyError, TypeError, RecursionError):
        # A seal that fits to what is no index: whoever made it, we did not.
        return {}


def _restored(parts: Any, rest: memoryview) -> Iterator[tuple[str, TermIndex]]:
    lengths = []
    for part in parts:
        own, rest = _numbers(rest, "d", part["count"])
        lengths.append(own)
    for part, own in zip(parts, lengths, strict=True):
        codes, rest = _numbers(rest, "I", sum(part["postings"]))
        owners, rest = _numbers(rest, "I", part["count"] if part["owned"] else 0)
        postings = PackedPostings(part["terms"], part["postings"], codes)
        owned = owners if part["owned"] else None
        yield part["name"], TermIndex.restore(part["count"], postings, own, owned, part["size"])
    if len(rest):
        raise ValueError("more bytes than the head says")


def _numbers(data: memoryview, kind: str, count: int) -> tuple[Any, memoryview]:
    """So many numbers from the beginning, and what follows them. Raises ValueError where there are fewer."""
    size = count * (4 if kind == "I" else 8)
    if count < 0 or size > len(data):
        raise ValueError("fewer bytes than the head says")
    numpy = find_numpy()
    if numpy:
        return numpy.frombuffer(data[:size], "<u4" if kind == "I" else "<f8"), data[size:]
    found = array(kind, bytes(data[:size]))
    if sys.byteorder != "little":
        found.byteswap()
    return found, data[size:]


def _little(numbers: Any) -> bytes:
    """The bytes of an array in little-endian order."""
    if sys.byteorder != "little":
        numbers = array(numbers.typecode, numbers)
        numbers.byteswap()
    return bytes(numbers)


PIVOTED = 0.5
"""The slope for texts of very different sizes; 1 is the cosine."""
DEFAULT = 0.03
"""The least score at which a skill is named where no labels say better: below, it shares next to nothing."""
PIECES = "pieces"

_FAINT = 0.1
_FLAT = 1e-9


class FieldSearch:
    """The indexes over some skills; those of a large collection are kept on disk.

    `fields` are what was read of each, in their order.
    """

    def __init__(self, skills: Sequence[ListedSkill], index: str) -> None:
        self.fields = [read_fields(skill, index) for skill in skills]
        self._places = {skill.name: at for at, skill in enumerate(skills)}
        self._evidence = "listed" if index == DESCRIPTION else "whole"
        self._indexes = _indexes(self.fields, index)

    def words_of(self, name: str) -> frozenset[str]:
        """The stems of what is listed of the skill of this name; none where there is no such skill."""
        at = self._places.get(name)
        return frozenset() if at is None else frozenset(stem_words(self.fields[at].listed))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the searches."""
        return tuple(self._indexes)

    def searches(self, text: str) -> dict[str, list[float]]:
        """The scores of each search for a prompt, one number for each skill."""
        asked = _asked(text)
        return {name: index.scores(asked[name == PIECES]) for name, index in self._indexes.items()}

    def score(self, text: str, more: Sequence[tuple[float, Sequence[float]]] = ()) -> list[float]:
        """The fused score of each skill for a prompt, with `more` searches as (weight, scores).

        The best score is how well any skill fits: the best cosine with what is listed or, where that is searched, with
        the whole; where no word is shared, a tenth of what another search found. A skill that no search finds has 0.
        """
        if find_numpy():
            return self._score_arrays(text, more)
        found = self.searches(text)
        others = [*found.values(), *(scores for weight, scores in more if weight)]
        evidence = max(found[self._evidence], default=0.0) or _FAINT * max(map(max, filter(None, others)), default=0.0)
        scores = rescale(fuse([*((1.0, scores) for scores in found.values()), *more]), evidence)
        most = map(max, zip(*others, strict=True))
        return [score if hit > 0 else 0.0 for score, hit in zip(scores, most, strict=True)]

    def _score_arrays(self, text: str, more: Sequence[tuple[float, Sequence[float]]]) -> list[float]:
        """The same by numpy, to the last bit: all sums are in the same order."""
        numpy = find_numpy()
        if not self.fields:
            return []
        asked = _asked(text)
        found = {name: index.close(asked[name == PIECES]) for name, index in self._indexes.items()}
        added = [(weight, numpy.asarray(scores, float)) for weight, scores in more]
        others = [*found.values(), *(scores for weight, scores in added if weight)]
        most = others[0]
        for scores in others[1:]:
            most = numpy.maximum(most, scores)
        evidence = float(found[self._evidence].max()) or _FAINT * float(most.max())
        searches = [*((1.0, scores) for scores in found.values()), *added]
        whole = math.fsum(weight for weight, _ in searches) or 1.0
        fused = numpy.zeros(len(self.fields))
        for weight, scores in searches:
            fused += weight / whole * _standardise_array(scores)
        return numpy.where(most > 0, evidence / (1 + (fused.max() - fused)), 0.0).tolist()  # type: ignore[no-any-return]


def _asked(text: str) -> tuple[Terms, Terms]:
    """The terms of a prompt: stems, and pieces of words."""
    return stem_words(text), cut_characters(text)


def _indexes(fields: Sequence[SkillFields], index: str) -> Indexes:
    """The indexes over these fields: those on disk where it is worth it, else built."""
    if not is_worth_a_file(fields):
        return _build(fields, index)
    key = index_key(fields, index)
    found = load_indexes(key)
    if not found:
        found = _build(fields, index)
        save_indexes(key, found)
    return found


def _build(fields: Sequence[SkillFields], index: str) -> Indexes:
    words = [stem_words(field.listed) for field in fields]
    found = {"listed": TermIndex(words)}
    if index != DESCRIPTION:
        found |= _build_content(fields, words)
    return {**found, PIECES: TermIndex(cut_characters(field.listed) for field in fields)}


def _build_content(fields: Sequence[SkillFields], words: Sequence[Terms]) -> Indexes:
    bodies = [stem_words(field.body) for field in fields]
    references = [stem_words(field.references) for field in fields]
    parts = [(at, part) for at, field in enumerate(fields) for part in sections_of(field)]
    return {
        "whole": TermIndex(map(_joined, words, bodies), PIVOTED),
        "section": TermIndex((stem_words(part) for _, part in parts), PIVOTED, [at for at, _ in parts], len(bodies)),
        "references": TermIndex(references, PIVOTED),
        "everything": TermIndex(map(_joined, words, bodies, references), PIVOTED),
    }


def _joined(*texts: Terms) -> Terms:
    return list(chain.from_iterable(texts))


def standardise(scores: Sequence[float]) -> list[float]:
    """How many standard deviations (of this population) each score is above the mean; zeros where all are equal."""
    if not scores:
        return []
    mean = add_up(list(scores)) / len(scores)
    distances = [score - mean for score in scores]
    deviation = math.sqrt(add_up([distance * distance for distance in distances]) / len(scores))
    return [distance / deviation for distance in distances] if deviation > _FLAT else [0.0] * len(scores)


def _standardise_array(scores: Any) -> Any:
    """`standardise` of an array, to the last bit."""
    mean = add_up(scores) / len(scores)
    distances = scores - mean
    deviation = math.sqrt(add_up(distances * distances) / len(scores))
    return distances / deviation if deviation > _FLAT else find_numpy().zeros(len(scores))


def fuse(searches: Sequence[tuple[float, Sequence[float]]]) -> list[float]:
    """The weighted mean of the standardised scores of (weight, scores) over the same skills."""
    whole = math.fsum(weight for weight, _ in searches) or 1.0
    columns = [[weight / whole * score for score in standardise(scores)] for weight, scores in searches]
    found = [0.0] * len(columns[0]) if columns else []
    for column in columns:
        found = [sum_ + score for sum_, score in zip(found, column, strict=True)]
    return found


def rescale(fused: Sequence[float], evidence: float) -> list[float]:
    """Fused scores as positive numbers in the same order, the best of which is `evidence` (how well any skill fits).

    Another is divided by 1 more than its distance from the best, in standard deviations.
    """
    best = max(fused, default=0.0)
    return [evidence / (1 + (best - score)) for score in fused]
