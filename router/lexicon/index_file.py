"""The indexes of a large collection on disk, so that 100,000 skills are not read word by word for every run.

A file holds what `FieldSearch` built: for each of its indexes the terms, their postings and the lengths of the texts.
Its name is a digest of everything that these depend on: the texts, what is read of them, the library that stems, and
the versions of this program and of the form below. It is in the folder of the other caches, replaced whole, and sealed:
one in which a bit has changed counts as none, and is built anew. Nothing in it is ever run.

    16 bytes   digest of all that follows
    1 line     the form and its version
    1 line     JSON: for each index its name, count, size, terms and numbers of postings, and whether it has owners;
               ends at a multiple of 8 bytes
    rest       the lengths of all indexes (64-bit floats), then for each its postings and owners (32 bits each);
               little-endian
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from skill_health import __version__
from skill_health.core.files import blake2b
from skill_health.lint.cache.cache_folder import INDEX_ENDING, open_cached, write_cached
from skill_health.router.lexicon.fields import SkillFields
from skill_health.router.lexicon.term_index import PackedPostings, TermIndex, find_numpy

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
