"""Indexes on disk: the same as those that were built, or none at all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skill_health.core.files import blake2b
from skill_health.lint.cache.cache_folder import directory, is_ours
from skill_health.router.lexicon import search, term_index
from skill_health.router.lexicon.search import FORM, FieldSearch, index_key, load_indexes, save_indexes
from skill_health.router.lexicon.term_index import PackedPostings, TermIndex, add_up
from skill_health.router.records import ListedSkill

MODES = ("description", "body", "content")
WORDS = ("plum", "jam", "sort", "lists", "日本語", "naïve", "\ud800", "x" * 50, "a\0b")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=6)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(search, "WORTH", 0)
    yield Path(directory())


def skills(texts: list[str]) -> list[ListedSkill]:
    return [
        ListedSkill(f"skill-{n}", text, body=f"# One\n{text}\n## Two\n{text[::-1]}", references=text * 2)
        for n, text in enumerate(texts)
    ]


def files(cache: Path) -> list[Path]:
    return sorted(cache.glob("*.index"))


def unbuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> Any:
        raise AssertionError("built, though there is a file")

    monkeypatch.setattr(search, "_build", refuse)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(TEXTS, st.sampled_from(MODES), st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join))
def test_what_is_read_back_scores_as_what_was_built(texts: list[str], mode: str, prompt: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "WORTH", 1 << 40)
        built = FieldSearch(skills(texts), mode)
        patch.setattr(search, "WORTH", 0)
        FieldSearch(skills(texts), mode)
        unbuilt(patch)
        read = FieldSearch(skills(texts), mode)
        assert read.names == built.names
        assert read.score(prompt) == built.score(prompt) and read.searches(prompt) == built.searches(prompt)
        for module in (search, term_index):
            patch.setattr(module, "find_numpy", lambda: None)
        assert FieldSearch(skills(texts), mode).score(prompt) == built.score(prompt)


def test_the_file_is_that_of_its_texts_and_of_nothing_else(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = skills(["plum jam", "sort lists"]), skills(["plum jam", "sort trees"])
    FieldSearch(one, "description")
    (first,) = files(cache)
    written = first.read_bytes()
    FieldSearch(one, "description")
    assert files(cache) == [first] and is_ours(first.name) and first.stat().st_mode & 0o077 == 0
    FieldSearch(other, "description")
    FieldSearch(one, "content")
    FieldSearch(one[::-1], "description")
    assert len(files(cache)) == 4
    first.unlink()
    FieldSearch(one, "description")
    assert first.read_bytes() == written
    monkeypatch.setattr(search, "__version__", "99")
    FieldSearch(one, "description")
    assert len(files(cache)) == 5


def damage(data: bytes, how: str) -> bytes:
    at = len(data) * 2 // 3
    return {
        "empty": b"", "cut": data[:at], "longer": data + b"\0", "bit": data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :],
        "seal": bytes([data[0] ^ 1]) + data[1:], "form": data.replace(b"form 1", b"form 9"), "noise": os.urandom(300),
    }[how]  # fmt: skip


@pytest.mark.parametrize("how", ["empty", "cut", "longer", "bit", "seal", "form", "noise"])
def test_a_damaged_file_counts_as_none_and_is_built_anew(how: str, cache: Path) -> None:
    found = FieldSearch(skills(["plum jam", "sort lists"]), "content").score("plums")
    (file,) = files(cache)
    whole = file.read_bytes()
    file.write_bytes(damage(whole, how))
    assert load_indexes(file.stem) == {}
    assert FieldSearch(skills(["plum jam", "sort lists"]), "content").score("plums") == found
    assert file.read_bytes() == whole


HEADS = [
    b"{}", b"[{}]", b"[1]", b"null", b'"x"', b"[" * 9000, b"not json",
    b'[{"name":"a","count":-1,"size":0,"terms":[],"postings":[],"owned":false}]',
    b'[{"name":"a","count":1000000000000,"size":0,"terms":[],"postings":[],"owned":false}]',
    b'[{"name":"a","count":0,"size":0,"terms":["x"],"postings":[],"owned":false}]',
    b'[{"name":"a","count":0,"size":0,"terms":["x"],"postings":[9],"owned":false}]',
    b'[{"name":"a","count":0,"size":0,"terms":[],"postings":"x","owned":false}]',
]  # fmt: skip


@pytest.mark.parametrize("head", HEADS)
def test_a_sealed_file_that_is_no_index_is_none(head: bytes, cache: Path) -> None:
    FieldSearch(skills(["plum"]), "description")
    (file,) = files(cache)
    body = FORM + head + b"\n"
    file.write_bytes(blake2b(body, digest_size=16).digest() + body)
    assert load_indexes(file.stem) == {}
    assert FieldSearch(skills(["plum"]), "description").score("plum")[0] > 0


def test_a_link_and_a_file_that_others_may_write_are_no_cache(cache: Path, tmp_path: Path) -> None:
    FieldSearch(skills(["plum"]), "description")
    (file,) = files(cache)
    (tmp_path / "elsewhere").write_bytes(file.read_bytes())
    file.chmod(0o666)
    assert load_indexes(file.stem) == {}
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    assert load_indexes(file.stem) == {}


def test_a_small_collection_writes_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "WORTH", 10_000)
    FieldSearch(skills(["plum jam"]), "content")
    assert files(cache) == []


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(tmp_path / "file"))
    assert FieldSearch(skills(["plum jam"]), "description").score("plum")[0] > 0


def test_old_indexes_make_room(cache: Path) -> None:
    one = TermIndex([["a"]])
    for n in range(20):
        save_indexes(f"{n:032x}", {"listed": one})
    assert 1 <= len(files(cache)) <= 16


def test_an_index_has_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_index, "MOST_TEXTS", 3)
    with pytest.raises(ValueError, match="at most 3 texts"):
        TermIndex([["a"], ["b"], ["c"], ["d"]])


def test_packed_postings_are_a_mapping() -> None:
    packed = PackedPostings(["a", "b"], [2, 1], [1, 2, 3])
    assert dict(packed) == {"a": [1, 2], "b": [3]} and len(packed) == 2 and "c" not in packed
    assert packed.get("c") is None


@given(st.lists(st.floats(0, 1e6)))
def test_sums_are_alike_with_and_without_numpy(numbers: list[float]) -> None:
    import numpy

    assert add_up(numbers) == add_up(numpy.array(numbers, float)) == pytest.approx(sum(numbers))


def test_the_key_holds_fields_apart() -> None:
    keys = {index_key(FieldSearch(skills([text]), mode).fields, mode) for text in ("a b", "ab", "a") for mode in MODES}
    assert len(keys) == 9


PROGRAM = """
from skill_health.router.lexicon import search
from skill_health.router.lexicon.search import FieldSearch
from skill_health.router.records import ListedSkill
search.WORTH = 0
FieldSearch([ListedSkill(f"s{n}", f"plum jam number {n} sorted") for n in range(300)], "content")
"""


@pytest.mark.slow
def test_the_bytes_are_the_same_in_any_process(cache: Path, write: Callable[..., Path]) -> None:
    written = []
    for seed in ("1", "2"):
        subprocess.run([sys.executable, "-c", PROGRAM], check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        (file,) = files(cache)
        written.append(file.read_bytes())
        file.unlink()
    assert written[0] == written[1]
