"""Negative-control tasks from templates: the same for the same seed, and fit to use."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from effects_made import manifest, task, trial, typed

from skill_health.core.errors import UsageError
from skill_health.documents.effect_validation import EffectValidation
from skill_health.effectiveness.controls._api import LEVELS, Draw
from skill_health.effectiveness.controls.generate import generate_controls, templates
from skill_health.effectiveness.effects.validation import document, pool_controls
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.text.blocks import as_text


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_the_same_seed_writes_the_same_tasks_and_another_one_others(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        generate_controls(str(tmp_path / name), 20, seed, ["a-skill", "b-skill"])
    assert contents(tmp_path / "one") == contents(tmp_path / "again")
    assert not set(contents(tmp_path / "one").values()) >= set(contents(tmp_path / "other").values())
    loaded = load_tasks((str(tmp_path / "one"),), str(tmp_path))
    assert not loaded.problems
    assert {each.irrelevant_skill for each in loaded.tasks} == {"a-skill", "b-skill"}
    assert {each.difficulty for each in loaded.tasks} == set(LEVELS)


@pytest.mark.slow
@pytest.mark.parametrize("name", templates())
@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_the_oracle_works_out_what_the_template_did(name: str, level: int, tmp_path: Path) -> None:
    for seed in range(4):
        draft = templates()[name](Draw(f"{seed}"), level)
        for path, text in draft.starting.items():
            (tmp_path / path).write_text(text, encoding="utf-8")
        subprocess.run([sys.executable, "-S", "-c", draft.solve], cwd=tmp_path, check=True)
        assert (tmp_path / draft.answer).read_text(encoding="utf-8").splitlines() == list(draft.expected)
        assert len(draft.expected) > 1


@pytest.mark.slow
def test_the_verifier_takes_the_answer_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    generate_controls(str(tmp_path / "made"), 1, 1, [])
    (place,) = (tmp_path / "made").iterdir()
    assert "irrelevant_skill" not in json.loads((place / "metadata.json").read_text(encoding="utf-8"))
    work = tmp_path / "work"
    work.mkdir()
    for path in (place / "starting").iterdir():
        (work / path.name).write_bytes(path.read_bytes())

    def passes() -> bool:
        return subprocess.run(["sh", str(place / "verify.sh")], cwd=work, capture_output=True).returncode == 0

    assert not passes()
    subprocess.run(["sh", str(place / "oracle" / "solve.sh")], cwd=work, check=True)
    assert passes()
    (answer,) = {path.name for path in work.iterdir()} - {path.name for path in (place / "starting").iterdir()}
    (work / answer).write_text((work / answer).read_text(encoding="utf-8") + "one more\n", encoding="utf-8")
    assert not passes()


def test_nothing_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine", encoding="utf-8")
    for target, count in ((tmp_path, 3), (tmp_path / "there", 3), (tmp_path / "new", 0)):
        with pytest.raises(UsageError):
            generate_controls(str(target), count, 1, [])
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_an_empty_folder_stays_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real").chmod(0o2770)
    (tmp_path / "link").symlink_to("real")
    for target in ("real", "link"):
        before = (tmp_path / "real").stat()
        generate_controls(str(tmp_path / target), 2, 1, [])
        after = (tmp_path / "real").stat()
        assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
        assert len(list((tmp_path / "real").iterdir())) == 2
        for each in (tmp_path / "real").iterdir():
            shutil.rmtree(each)
    assert (tmp_path / "link").is_symlink()


def test_a_folder_that_takes_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()

    def fail(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    for name in ("listdir", "mkdir", "rename"):
        with monkeypatch.context() as patch, pytest.raises(UsageError, match="real: Permission denied"):
            patch.setattr(os, name, fail)
            generate_controls(str(tmp_path / "real"), 1, 1, [])
        assert not list((tmp_path / "real").iterdir())


def of_controls(names: list[str], *arms: str, at: int) -> dict[str, Any]:
    return manifest([task(name, "none") for name in names], arms, run_id=f"2026112{at}T050000Z-ab12cd34")


def pooled(runs: int, tasks: int, bias: int = 0) -> EffectValidation:
    """Runs of different negative controls and one common one; in each the arm negative loses so many."""
    found = []
    for at in range(runs):
        names = ["000", *(f"{at}{number:02}" for number in range(1, tasks))]
        planned = of_controls(names, "control", "negative", "full", at=at)
        results = [
            trial(name, arm, replication, number % 3 > 0 and not (arm == "negative" and number < bias))
            for number, name in enumerate(names)
            for arm in planned["arms"]
            for replication in range(3)
        ]  # fmt: skip
        found.append(EffectRun("", typed(planned), results))
    once, again = pool_controls(found), pool_controls([*found[::-1], found[0]])
    assert once == again
    assert as_text(document(once))
    return once


def test_runs_are_pooled_by_task() -> None:
    (one,), (three,) = pooled(1, 20).pools, pooled(3, 20).pools
    assert (one.tasks, one.passed, len(three.runs)) == (20, None, 3)
    assert (three.tasks, three.trials, three.passed) == (58, 540, True)
    assert {(each.over, each.tasks) for each in three.contrasts} == {("controls", 58)}
    (biased,) = pooled(3, 20, bias=12).pools
    assert biased.passed is False and "negative-control" in biased.note


def test_other_skills_are_another_pool() -> None:
    planned = [of_controls(["000"], "control", "negative", at=at) for at in (1, 2)]
    planned[1] |= {"skills": [{"name": "one", "path": "p", "digest": "d", "description": "", "files": 1, "bytes": 1}]}
    found = pool_controls([EffectRun("", typed(each), []) for each in planned])
    assert [len(pool.runs) for pool in found.pools] == [1, 1]
