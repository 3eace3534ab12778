"""Markers that follow from what a module is about, and the folder in which its trials happen."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fixture_verifiers import TASKS, Workspace, call, fresh

from skill_health.effectiveness.sandbox._quota import release_folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        # Each starts a verifier as a process, many a time.
        if item.path.name.startswith("test_fixture_tasks"):
            item.add_marker(pytest.mark.slow)
        # These skip their tests where there is no bubblewrap; `make test-all` runs them where there is.
        module, call = getattr(item, "module", None), getattr(item, "callspec", None)
        if {"needs_bubblewrap", "tried"} & vars(module).keys() and not (call and "none" in call.params.values()):
            item.add_marker(pytest.mark.bubblewrap)


@pytest.fixture(scope="session", autouse=True)
def _mounts_released(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs that tests kill leave their mounts for the next start in the same folder, and here comes none."""
    yield
    release_folder(str(tmp_path_factory.getbasetemp()))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where trials happen; nothing of them is left there."""
    place = tmp_path / "fresh"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert list(place.iterdir()) == []


@pytest.fixture(scope="session")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Workspace]:
    """The workspace of a task of fixtures/tasks as its oracle leaves it, made once for each."""
    made: dict[str, Workspace] = {}

    def solve(task: str) -> Workspace:
        if task not in made:
            made[task] = fresh(task, tmp_path_factory.mktemp("solved") / "workspace")
            assert call("bash", TASKS[task] / "oracle" / "solve.sh", cwd=made[task]).stderr == ""
        return made[task]

    return solve


@pytest.fixture
def after_oracle(solved: Callable[[str], Workspace], tmp_path: Path) -> Callable[[str], Workspace]:
    """A copy of the oracle's workspace."""
    return lambda task: Workspace(shutil.copytree(solved(task), tmp_path / "workspace"))
