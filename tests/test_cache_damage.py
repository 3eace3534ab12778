"""Whatever became of a cache, it is a miss and nothing else; and nothing of the user's is ever lost beside it."""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from skill_health.config.settings import Config
from skill_health.discovery.corpus import discover
from skill_health.lint.cache import cache_folder
from skill_health.lint.cache.cache_file import CacheFile
from skill_health.lint.cache.cache_folder import MARK, directory, line_sum, open_cached, own_path, write_cached
from skill_health.lint.cache.lint_cache import digest
from skill_health.lint.pipeline import run

DAY = date(2026, 11, 21)
BODY = """---
name: {name}
description: Sorts {name} lists by size.
---

# Title

See [the guide](references/guide.md#steps), which is 40% faster. <!-- skill-health: ignore CL001 ours -->

The new way is 40% faster than the old one.
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("one", "two", "one-more"):
        folder = tmp_path / "root" / "skills" / name
        (folder / "references").mkdir(parents=True)
        (folder / "SKILL.md").write_text(BODY.format(name=name))
        (folder / "references" / "guide.md").write_text("# Guide\n")
    (tmp_path / "root" / "prompts.jsonl").write_text('{"prompt_id": "p1"}\n')
    return tmp_path / "root"


def outcome(root: Path, use_cache: bool = True) -> tuple[object, ...]:
    result = run(discover([str(root)], Config(), str(root)), Config(), DAY, jobs=1, use_cache=use_cache, facts=True)
    return result.findings, result.facts, result.ignored, result.registries


def stored() -> Path:
    return next(path for path in Path(directory()).iterdir() if path.suffix == ".lint")


def has_skills(name: str) -> bool:
    with closing(CacheFile(name)) as file:
        return bool(file.skills)


def agree(root: Path, data: bytes, expected: tuple[object, ...]) -> None:
    path = stored()
    path.write_bytes(data)
    assert outcome(root) == expected
    # Whatever was wrong with it has been put right.
    assert has_skills(path.name)


@pytest.mark.parametrize("flips", [10, pytest.param(1_000, marks=pytest.mark.exhaustive)])
def test_a_flipped_bit_is_a_miss(root: Path, flips: int) -> None:
    expected = outcome(root, use_cache=False)
    outcome(root)
    good, rng = stored().read_bytes(), random.Random(flips)
    for _ in range(flips):
        data = bytearray(good)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        agree(root, bytes(data), expected)


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of a JSON value are."""
    if place:
        yield place
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from leaves(value[key], (*place, key))


def of_other_type(value: Any) -> Any:
    return {str: 7, int: "7", bool: 1, list: {}, dict: []}.get(type(value), 7)


def change(value: Any, rng: random.Random, kinds: tuple[str, ...]) -> Any:
    """The value with one thing in it changed: its type, or it is missing, nested, doubled or swapped with another."""
    value = copy.deepcopy(value)
    places = list(leaves(value))
    if not places:
        return of_other_type(value)
    place = rng.choice(places)
    above = value
    for key in place[:-1]:
        above = above[key]
    key, kind = place[-1], rng.choice(kinds)
    if kind == "type":
        above[key] = of_other_type(above[key])
    elif kind == "gone":
        del above[key]
    elif kind == "nested":
        above[key] = [above[key]]
    elif kind == "none":
        above[key] = None
    elif kind == "doubled" and isinstance(above, list):
        above.insert(key, above[key])
    else:
        other = rng.choice(sorted(above) if isinstance(above, dict) else range(len(above)))
        above[key], above[other] = above[other], above[key]
    return value


def packed(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


ANY = ("type", "gone", "nested", "none", "doubled", "swapped")


def unsealed(good: bytes, rng: random.Random) -> bytes:
    """Damage of any kind to any record or to the index; the digests are left as they were."""
    lines = good.split(b"\n")
    at = rng.randrange(len(lines))
    how = rng.randrange(6)
    if how == 0:
        return good[: rng.randrange(len(good))]
    if how == 1:
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif how == 2:
        lines[at] = b"[" * 100_000
    elif how == 3:
        start, length = rng.randrange(len(good)), rng.randrange(1, 200)
        return good[:start] + good[start + length :]
    else:
        lines[at] = lines[at][::-1]
    return b"\n".join(lines)


KINDS = ("summary", "facts", "skill")


class Parts:
    """A file of the cache taken apart: its index, and the lines of each skill by their kind."""

    def __init__(self, data: bytes) -> None:
        self.at = int(data[-16:])
        self.records, index = data[: self.at], data[self.at : -16 - 1 - len(line_sum("", b""))]
        head, *skills = index.split(b"\n")
        self.head = json.loads(head)
        self.states = {json.loads(line.split(b"\t")[1]): json.loads(line.split(b"\t")[0]) for line in skills}

    def line(self, path: str, kind: int) -> bytes:
        state = self.states[path]
        at = state[3] + sum(state[4 : 4 + kind])
        return self.records[at : at + state[4 + kind]]

    def put(self, path: str, kind: int, line: bytes) -> None:
        """Replace one line of a skill, which gets a new place for all of them."""
        lines = [self.line(path, each) if each != kind else line for each in range(3)]
        state = self.states[path]
        state[3], state[4:7] = len(self.records), [len(each) for each in lines]
        state[7 + kind] = line_sum(f"{KINDS[kind]}:{path}", line)
        self.records += b"".join(lines)

    def data(self) -> bytes:
        """The file again, below digests that are right."""
        index = packed(self.head) + b"".join(b"\n" + packed(s) + b"\t" + packed(p) for p, s in self.states.items())
        trailer = f"{line_sum(stored().name, index)} {len(self.records):016d}"
        return self.records + index + trailer.encode()


def sealed(good: bytes, rng: random.Random) -> bytes:
    """Wrong types in the index or in a record, or records swapped between skills, below digests that are right."""
    parts = Parts(good)
    one, other = rng.sample(sorted(parts.states), 2)
    how = rng.randrange(5)
    if how == 0:
        parts.head = change(parts.head, rng, ("type", "nested", "none"))
    elif how == 1:
        parts.states[one] = change(parts.states[one], rng, ("type", "nested", "none"))
    elif how == 2:
        parts.states[one], parts.states[other] = parts.states[other], parts.states[one]
    elif how == 3:
        parts.put(one, 2, parts.line(other, 2))
    else:
        kind = rng.choice((0, 2))
        parts.put(one, kind, packed(change(json.loads(parts.line(one, kind)), rng, ("type", "nested", "none"))))
    return parts.data()


def test_a_file_taken_apart_is_the_same_again(root: Path) -> None:
    outcome(root)
    good = stored().read_bytes()
    assert Parts(good).data() == good


@pytest.mark.parametrize("damage", [unsealed, sealed])
@pytest.mark.parametrize("times", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_a_damaged_structure_is_a_miss(root: Path, damage: Callable[[bytes, random.Random], bytes], times: int) -> None:
    expected = outcome(root, use_cache=False)
    outcome(root)
    good, rng = stored().read_bytes(), random.Random(times)
    for _ in range(times):
        agree(root, damage(good, rng), expected)


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'{"format": 3}', b"\xff\xfe", b"[" * 100_000, b"\n" * 10])
def test_another_file_is_a_miss(root: Path, data: bytes) -> None:
    expected = outcome(root, use_cache=False)
    outcome(root)
    agree(root, data, expected)


def test_the_file_of_another_configuration_is_a_miss(root: Path) -> None:
    expected = outcome(root)
    name, data, other = stored().name, stored().read_bytes(), cache_folder.name_of("0" * 32, "1" * 32)
    write_cached(other, [data])
    assert has_skills(name) and not has_skills(other)
    (Path(directory()) / other).unlink()
    agree(root, data, expected)


@pytest.mark.slow
def test_a_folder_of_the_users_loses_nothing(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for number in range(100):
        (own / f"{number:032x}.json").write_text(f"text {number}")
        os.utime(own / f"{number:032x}.json", (1, 1))
    with (own / "video").open("wb") as file:
        file.truncate(300 << 20)
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(own))
    before = {path.name: path.stat() for path in own.iterdir()}
    for lines in range(80):
        write_cached(cache_folder.name_of(digest(b"root") + "0" * 8, digest(bytes([lines])) + "0" * 8), [b"x"])
    outcome(root)
    after = {path.name: path.stat() for path in own.iterdir()}
    lost = [name for name, info in before.items() if after[name] != info]
    assert not lost
    assert sorted(after.keys() - before.keys()) == [Path(directory()).name]
    assert (Path(directory()) / MARK).read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")


def test_only_our_own_names_are_removed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome(root)
    folder, ours = Path(directory()), stored().name
    theirs = ["notes.txt", "a.lint", f"{'0' * 32}-{'0' * 31}.lint", f"{'0' * 32}.json", ".skill-health-notes"]
    for name in theirs:
        (folder / name).write_text("mine")
        os.utime(folder / name, (1, 1))
    left = folder / ".skill-health-abc.tmp"
    left.write_text("left behind by a run that was killed")
    os.utime(left, (1, 1))
    monkeypatch.setattr(cache_folder, "_MAX_FILES", 0)
    write_cached(ours, [b"x"])
    assert sorted(path.name for path in folder.iterdir()) == sorted([*theirs, MARK])


def test_a_folder_of_that_name_that_is_not_ours_is_left_alone(root: Path) -> None:
    folder = Path(directory())
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    assert outcome(root) == outcome(root, use_cache=False)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def swap(path: Path, make: Callable[[Path], object]) -> None:
    """Move a file away, and put something else in its place."""
    path.rename(path.with_name("moved"))
    make(path)


def truncate(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate((2 << 30) + 1)


ODD_FILES: dict[str, Callable[[Path], object]] = {
    "a link": lambda path: swap(path, lambda each: each.symlink_to("moved")),
    "a dangling link": lambda path: swap(path, lambda each: each.symlink_to("nowhere")),
    "a pipe": lambda path: swap(path, os.mkfifo),
    "a folder": lambda path: swap(path, Path.mkdir),
    "writable by the group": lambda path: path.chmod(0o660),
    "writable by all": lambda path: path.chmod(0o602),
}


@pytest.mark.parametrize("odd", ODD_FILES)
def test_an_odd_file_is_neither_read_nor_written(root: Path, odd: str) -> None:
    expected = outcome(root)
    path = stored()
    ODD_FILES[odd](path)
    before = path.lstat()
    assert open_cached(path.name) is None
    assert outcome(root) == expected
    assert path.lstat() == before


def test_a_huge_file_is_not_read(root: Path) -> None:
    expected = outcome(root)
    truncate(stored())
    assert open_cached(stored().name) is None
    assert outcome(root) == expected


@pytest.mark.parametrize("mode", [0o770, 0o703, 0o1777])
def test_a_folder_that_others_may_write_to_is_no_cache(root: Path, mode: int) -> None:
    expected = outcome(root)
    folder, before = Path(directory()), stored().read_bytes()
    folder.chmod(mode)
    assert open_cached(stored().name) is None and own_path(stored().name) is None
    (root / "skills" / "two" / "SKILL.md").unlink()
    assert outcome(root) == outcome(root, use_cache=False) != expected
    assert stored().read_bytes() == before


def test_a_link_in_place_of_the_folder_is_no_cache(root: Path, tmp_path: Path) -> None:
    expected = outcome(root)
    name, folder = stored().name, Path(directory())
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert open_cached(name) is None and own_path(name) is None
    assert outcome(root) == expected


def test_what_another_user_owns_is_no_cache(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = outcome(root)
    name = stored().name
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert open_cached(name) is None and own_path(name) is None
    assert outcome(root) == expected
