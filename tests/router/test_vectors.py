"""Vectors are kept over runs by what they are vectors of; whatever happens to the file, answers stay the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from skill_health.lint.cache.cache_folder import VECTORS, directory
from skill_health.router.lexicon import vectors
from skill_health.router.lexicon.vectors import VectorStore, open_vectors

TEXTS = ["Cooks jam from plums.", "Fills in tax forms.", "Draws star charts."]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(tmp_path / "cache"))
    vectors._open.cache_clear()
    return Path(directory()) / VECTORS


def counted(store: VectorStore, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the store computes from now on."""
    made: list[object] = []
    compute = VectorStore._vector

    def count(self: VectorStore, one: str | Sequence[int]) -> bytes:
        made.append(one)
        return compute(self, one)

    monkeypatch.setattr(VectorStore, "_vector", count)
    return made


def again() -> VectorStore:
    vectors._open.cache_clear()
    return open_vectors()


@pytest.mark.slow
def test_what_was_embedded_is_not_embedded_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_vectors()
    made = counted(store, monkeypatch)
    first = store.embed([*TEXTS, TEXTS[0]])
    assert len(made) == len(TEXTS) and first.shape == (4, 384)
    assert np.linalg.norm(first, axis=1) == pytest.approx([1] * 4, abs=1e-3)
    assert (first[0] == first[3]).all()
    store.save()
    assert open_vectors() is store, "routers of a process share it"
    other = again()
    assert (other.embed(TEXTS[::-1]) == first[2::-1]).all() and len(made) == len(TEXTS)
    other.embed(["Something new."])
    assert len(made) == len(TEXTS) + 1


@pytest.mark.slow
def test_the_file_is_the_same_in_any_order_and_two_runs_lose_nothing(cache: Path) -> None:
    store = open_vectors()
    store.embed(TEXTS)
    store.save()
    held = cache.read_bytes()
    one, other = again(), again()
    one.embed(["first of two runs"])
    other.embed(["second of two runs"])
    one.save()
    other.save()
    assert len(again().held) == len(TEXTS) + 2
    cache.unlink()
    backwards = again()
    backwards.embed(TEXTS[::-1])
    backwards.save()
    assert cache.read_bytes() == held


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other model", "text", "folder", "link"])
def test_a_damaged_file_is_computed_again(cache: Path, damage: str, tmp_path: Path) -> None:
    store = open_vectors()
    whole = store.embed(TEXTS)
    store.save()
    raw = cache.read_bytes()
    cache.unlink()
    if damage == "folder":
        cache.mkdir()
    elif damage == "link":
        (tmp_path / "elsewhere").write_bytes(raw)
        cache.symlink_to(tmp_path / "elsewhere")
    else:
        middle = len(raw) // 2
        cache.write_bytes({
            "cut": raw[:-100], "flipped": raw[:middle] + bytes([raw[middle] ^ 1]) + raw[middle + 1 :], "empty": b"",
            "other model": raw[:16] + bytes(16) + raw[32:], "text": b"not a cache" * 100,
        }[damage])  # fmt: skip
    store = again()
    assert store.held == {}
    assert (store.embed(TEXTS) == whole).all()
    store.save()


def test_a_cache_that_cannot_be_written_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(tmp_path / "file" / "below"))
    store = again()
    store.embed(TEXTS)
    store.save()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "in the way"


KILLED = """
import os, signal, sys
from skill_health.core import files
from skill_health.router.lexicon.vectors import open_vectors
store = open_vectors()
store.embed(["kept before"]); store.save()
store.embed(["lost with the process"])
replace = os.replace
def die(*names):
    os.kill(os.getpid(), signal.SIGKILL)
os.replace = die
store.save()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal")
def test_a_kill_in_the_middle_of_a_write_leaves_what_was_there(cache: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], env=dict(os.environ), check=False)
    assert done.returncode == -signal.SIGKILL
    store = again()
    assert len(store.held) == 1
    store.embed(["kept before", "lost with the process"])
    store.save()
    assert len(again().held) == 2
