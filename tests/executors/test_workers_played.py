"""Checks and free routers on workers that are played: the same findings and answers, whatever becomes of them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tarfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from skill_health.core.errors import UsageError
from skill_health.executors import _load
from skill_health.executors._api import WorkerLostError
from skill_health.executors.local import LocalExecutor
from skill_health.lint import spread
from skill_health.lint.pipeline import configure, lint
from skill_health.lint.spread import SharedTree, checked_parts, pack_tree, unpack_tree
from skill_health.router.records import Catalogue, ListedSkill, Prompt, RoutingRequest
from skill_health.router.routers import lexical_bm25, lexical_overlap
from skill_health.router.routers._api import Setup
from skill_health.router.routers._load import open_setup
from skill_health.router.run.workers import FarRouter

Write = Callable[[Mapping[str, str]], Path]
DAY = date(2026, 3, 1)


@dataclass
class Played(LocalExecutor):
    """Workers of another machine, which are lost now and then."""

    host: str = "far.example"
    lose: Callable[[int], bool] = lambda number: False
    calls: int = 0

    @property
    def workers(self) -> int:
        return 3

    async def call(self, work: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        self.calls += 1
        if self.lose(self.calls):
            raise WorkerLostError("gone")
        return await work(*arguments)


@pytest.fixture
def aside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where temporary folders are."""
    return tmp_path_factory.mktemp("aside")


@pytest.fixture
def repository(write: Write, monkeypatch: pytest.MonkeyPatch, aside: Path) -> Path:
    root = write({
        **{
            f"skills/s{n}/SKILL.md": f"---\nname: s{n}\ndescription: Sorts lists of kind {n}. Use when they are in a mess.\n---\n# S\n\n"
            f"See [notes](notes.md), [gone](gone{n}.md) and `scripts/run.sh`.\n" for n in range(7)
        },
        **{f"skills/s{n}/notes.md": "# Notes\n\nBe quick.\n" for n in range(0, 7, 2)},
        "skills/s1/scripts/run.sh": "#!/bin/sh\nexit 0\n", "skill-health.toml": "", "secret.env": "x",
    })  # fmt: skip
    (root / "skills/s3/link.md").symlink_to("notes.md")
    for words in (("init", "--quiet"), ("add", "--all")):
        subprocess.run(("git", *words), cwd=root, check=True, capture_output=True)
    monkeypatch.chdir(root)
    monkeypatch.setattr("tempfile.tempdir", str(aside))
    return root


def findings(executor: Played | None) -> tuple[list[Any], int]:
    root, config = configure((".",), None, {})
    if executor is None:
        report, result = lint((".",), root, config, DAY, use_cache=False)
        return [*report.findings], result.checked
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spread, "open_executor", lambda spec: _Opened(executor))
        with checked_parts("played", (".",), root, config) as parts:
            report, result = lint((".",), root, config, DAY, shards=parts)
    return [*report.findings], result.checked


class _Opened:
    def __init__(self, executor: Played) -> None:
        self.executor = executor

    def __enter__(self) -> Played:
        return self.executor

    def __exit__(self, *_: object) -> None:
        self.executor.close()


@pytest.mark.slow
@pytest.mark.parametrize("host", ["127.0.0.1", "far.example"])
def test_workers_find_what_is_found_here_and_nothing_is_checked_twice(repository: Path, host: str) -> None:
    here, _ = findings(None)
    assert here
    executor = Played(host)
    assert findings(executor) == (here, 0) and executor.calls == 3


@pytest.mark.slow
def test_what_lost_workers_did_not_check_is_checked_by_others_or_here(repository: Path) -> None:
    here, _ = findings(None)
    some = Played(lose=lambda number: number == 2)
    assert findings(some) == (here, 0) and some.calls == 4
    every = Played(lose=lambda number: True)
    found, checked = findings(every)
    assert (found, checked, every.calls) == (here, 7, 9)


@pytest.mark.slow
def test_what_has_changed_since_is_checked_here(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Played):
        async def call(self, work: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
            found = await super().call(work, *arguments)
            (repository / "skills/s1/SKILL.md").write_text("---\nname: s1\n---\nChanged.\n", "utf-8")
            return found

    found, checked = findings(Slow())
    assert checked == 1 and found == findings(None)[0]


def test_an_archive_is_named_by_its_content_and_has_no_history(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = pack_tree(str(repository))
    monkeypatch.setattr("time.time", lambda: 1e9)
    two = pack_tree(str(repository))
    assert one == two and one.in_git
    with tarfile.open(fileobj=BytesIO(one.data)) as archive:
        names = archive.getnames()
    assert {name for name in names if name.startswith(".git")} <= {".git/HEAD", ".git/index", ".git/info/exclude"}
    assert "skills/s3/link.md" in names and ".git/config" not in names
    os.utime(repository / "skills/s1/SKILL.md", (1, 1))
    assert pack_tree(str(repository)).mark == one.mark
    (repository / "skills/s1/SKILL.md").write_text("# Other\n", "utf-8")
    assert pack_tree(str(repository)).mark != one.mark
    place = Path(unpack_tree(one))
    assert unpack_tree(one) == str(place) and (place / "skills/s3/link.md").is_symlink()
    assert place.parent.stat().st_mode & 0o77 == 0


def test_an_archive_writes_nothing_outside_its_folder(repository: Path, aside: Path) -> None:
    stream = BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, target in (("out", "/etc"), ("up", "../../.."), ("fine", "kept.md")):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
        for name in ("../escaped.md", "/escaped.md", "out/escaped.md", "kept.md"):
            entry = tarfile.TarInfo(name)
            entry.size = 1
            archive.addfile(entry, BytesIO(b"x"))
    place = Path(unpack_tree(SharedTree("/nowhere", False, "made", stream.getvalue())))
    assert not [path for path in aside.rglob("escaped.md") if place not in path.parents]
    assert not Path("/escaped.md").exists() and (place / "kept.md").exists() and not (place / "up").is_symlink()


def test_rules_in_python_are_not_sent(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, config = configure((".",), None, {})
    config = config._replace(custom=config.custom._replace(code="made"))
    monkeypatch.setattr(spread, "open_executor", lambda spec: _Opened(Played()))
    with pytest.raises(UsageError, match="run on this machine alone"), checked_parts("played", (".",), root, config):
        raise AssertionError("it was checked")


SKILLS = tuple(
    ListedSkill(f"{name}-work", f"Sorts {name}. Use when {name} are in a mess.") for name in ("maps", "plums", "songs")
)


@pytest.mark.parametrize("module", [lexical_bm25, lexical_overlap])
@pytest.mark.parametrize("names", [None, ("maps-work", "songs-work")])
def test_a_far_router_answers_as_the_near_one(module: Any, names: tuple[str, ...] | None) -> None:
    setup = Setup("made", "", Catalogue(SKILLS))
    near = open_setup(module, setup)
    far = FarRouter(near, module, setup, Played(lose=lambda number: number % 3 == 1))
    shown = SKILLS if names is None else tuple(skill for skill in SKILLS if skill.name in names)

    async def both() -> None:
        for text in ("sort my maps", "a song in a mess", "nothing of the kind", ""):
            request = RoutingRequest(Prompt("p", text, None), 0, shown[::-1], "")
            assert await far.ask(request) == await near.ask(request)
        await far.close()

    asyncio.run(both())
    assert far.describe() == near.describe() and far.replicates == near.replicates
    json.dumps(dict(far.describe()))


def test_a_router_whose_workers_are_always_lost_has_no_answer() -> None:
    setup = Setup("made", "", Catalogue(SKILLS))
    far = FarRouter(open_setup(lexical_overlap, setup), lexical_overlap, setup, Played(lose=lambda number: True))
    found = asyncio.run(far.ask(RoutingRequest(Prompt("p", "sort my maps", None), 0, SKILLS, "")))
    assert (found.status, found.error, found.requests) == ("provider_error", "the worker was lost: gone", 0)


@pytest.mark.parametrize(("spec", "said"), [
    ("nobody", "there are local and ray"), ("loca", "did you mean local"), ("local:2", "takes no address"), ("_api", "no executor"),
    ("shards", "no executor"),
])  # fmt: skip
def test_who_does_not_exist_is_named(spec: str, said: str) -> None:
    with pytest.raises(UsageError, match=said), _load.open_executor(spec):
        raise AssertionError("it was opened")
