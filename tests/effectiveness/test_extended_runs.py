"""`effectiveness run --extend`: only what is new or has changed is made, and nothing is counted twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from effects_made import replace
from run_made import Made, failing, make_up, only_read, rows, write_collection, write_task

from skill_health.commands.effectiveness import command as group
from skill_health.core.errors import AbortedError, SkillHealthError, UsageError
from skill_health.documents._record import convert_record
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.effectiveness.plan.extend import cell_digests
from skill_health.effectiveness.run import conduct
from skill_health.effectiveness.run.runs import EffectRun, load_run
from skill_health.stats.hypothesis_tests import sign_flip

Call = Callable[..., int]


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write_collection(tmp_path / "collection", 3, 0)
    monkeypatch.chdir(root)
    only_read(monkeypatch)
    return root


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    trial = Made()
    make_up(monkeypatch, trial)
    return trial


@pytest.fixture
def call(collection: Path) -> Call:
    def run(*given: str, agents: str = "scripted", arms: str = "target,aa", reps: int = 2) -> int:
        words = ["run", "tasks", "--agents", agents, "--quiet", "--sandbox", "none", "--arms", arms]
        code: int = group.main([*words, "--reps", str(reps), *given], standalone_mode=False)
        return code

    return run


def runs(collection: Path) -> list[EffectRun]:
    """The runs, the latest last."""
    found = [load_run(str(path)) for path in sorted((collection / "reports/effectiveness").iterdir())]
    return sorted(found, key=lambda run: len(run.manifest.extends))


def made_keys(made: Made) -> list[Any]:
    found = [tuple(each[:4]) for each in made.made]
    made.made.clear()
    return sorted(found)


@pytest.mark.slow
def test_more_tasks_and_replications_make_what_is_new(call: Call, collection: Path, made: Made, capsys: Any) -> None:
    assert call() == 0
    first = made_keys(made)
    assert len(first) == 3 * 3 * 2
    for number in (3, 4):
        write_task(collection / "tasks" / f"t{number:02}", number, "maps-work")
    capsys.readouterr()
    assert call("--extend", "last", reps=3) == 0
    second = made_keys(made)
    assert len(second) == 5 * 3 * 3 - 18 and not set(first) & set(second)
    old, new = runs(collection)
    said = capsys.readouterr().err
    assert f"taken over from {old.run_id}: 18 trials; 27 new\n" in said
    assert "forecast: 27 trials" in said
    assert new.manifest.extends == (old.run_id,)
    assert sorted(result.key for result in new.results) == sorted([*first, *second])
    taken = {result.key: result for result in new.results if result.taken_from == old.run_id}
    assert {key: replace(result, taken_from=old.results[0].taken_from) for key, result in taken.items()} == {
        result.key: result for result in old.results
    }
    for result in new.results:
        assert (Path(new.folder) / result.folder / "trial.json").is_file()
    keys = {tuple(row["key"]) for row in rows(Path(new.folder) / "attempts.jsonl")}
    assert keys == set(second), "what is taken over was paid for elsewhere"


@pytest.mark.slow
def test_an_extension_extends_again_and_says_who_made_what(call: Call, collection: Path, made: Made) -> None:
    for reps, extend in ((1, ()), (2, ("--extend", "last")), (3, ("--extend", "last"))):
        # By its name a run is the last, which begins with the second of its start.
        assert call(*extend, "--time", f"2026-11-23T06:00:0{reps}Z", reps=reps) == 0
        assert len(made_keys(made)) == 9
    first, second, third = runs(collection)
    assert third.manifest.extends == (first.run_id, second.run_id)
    makers = [result.taken_from for result in third.results if isinstance(result.taken_from, str)]
    assert sorted(makers) == sorted([first.run_id] * 9 + [second.run_id] * 9)
    report = json.loads((Path(third.folder) / "report.json").read_text())
    assert (report["extends"], report["taken_over"], report["scored"]) == ([first.run_id, second.run_id], 18, 27)
    assert any("extended twice" in why for why in report["preliminary"])
    assert any("18 of 27 trials were made by" in note for note in report["notes"])
    assert "extends" not in json.loads((Path(first.folder) / "report.json").read_text())


EDITS: dict[str, tuple[Callable[[Path], None], dict[str, Any], Callable[[Any], bool]]] = {
    "a skill": (
        lambda root: _append(root / "skills/maps-work/SKILL.md", "One line more.\n"), {},
        lambda key: key[0] == "t00" and key[2] in ("target", "aa"),
    ),
    "a task": (
        lambda root: _append(root / "tasks/t01/task.md", "Take your time.\n"), {}, lambda key: key[0] == "t01",
    ),
    "an agent more": (lambda root: None, {"agents": "scripted,scripted:seed=5"}, lambda key: key[1] != "scripted"),
    "an arm more": (lambda root: None, {"arms": "target,aa,placebo"}, lambda key: key[2] == "placebo"),
}  # fmt: skip


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text("utf-8") + text, "utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("what", EDITS)
def test_a_change_reruns_just_its_cells(call: Call, collection: Path, made: Made, what: str) -> None:
    assert call(reps=1) == 0
    made_keys(made)
    edit, given, expected = EDITS[what]
    edit(collection)
    assert call("--extend", "last", **{"reps": 1, **given}) == 0
    again = made_keys(made)
    results = {result.key: result for result in runs(collection)[-1].results}
    assert again == sorted(key for key in results if expected(key)) and again
    assert all((key in again) == (not isinstance(results[key].taken_from, str)) for key in results)


@pytest.mark.slow
def test_missing_data_is_made_again_and_lost_folders_too(call: Call, collection: Path, made: Made) -> None:
    lost = failing(9)
    made.also = lambda cell, result: lost(cell, result) if cell.key[:3:2] == ("t02", "aa") else result
    assert call(reps=1) != 3
    made_keys(made)
    made.also = lambda cell, result: result
    (old,) = runs(collection)
    gone = next(result for result in old.results if result.key[:3] == ("t00", "scripted", "target"))
    shutil.rmtree(Path(old.folder) / gone.folder)
    assert call("--extend", old.run_id, reps=1) == 0
    assert made_keys(made) == [("t00", "scripted", "target", 0), ("t02", "scripted", "aa", 0)]


REFUSED = {
    "nothing to do": (["--extend", "last"], {}, "has all of these trials already"),
    "another seed": (["--extend", "last", "--seed", "9"], {}, ": seed: 1 then, 9 now"),
    "no such run": (["--extend", "nowhere"], {}, "'nowhere'"),
    "both": (["--extend", "last", "--resume", "last"], {}, "--resume and --extend"),
}


@pytest.mark.slow
def test_what_cannot_be_extended_is_refused_in_one_line(call: Call, collection: Path, made: Made) -> None:
    with pytest.raises(UsageError, match="no run is finished"):
        call("--extend", "last", reps=1)
    assert call(reps=1) == 0
    for more, given, words in REFUSED.values():
        with pytest.raises((SkillHealthError, click.UsageError)) as raised:
            call(*more, **{"reps": 1, **given})
        assert words in str(raised.value)
    assert len(runs(collection)) == 1


@pytest.mark.slow
def test_without_the_option_nothing_is_taken_over(call: Call, collection: Path, made: Made, capsys: Any) -> None:
    assert call(reps=1) == 0
    made_keys(made)
    (old,) = runs(collection)
    capsys.readouterr()
    assert call(reps=2) == 0
    assert f"`--extend {old.run_id}`" in capsys.readouterr().err
    assert len(made_keys(made)) == 18


class _Killed(BaseException):
    pass


@pytest.mark.slow
def test_a_kill_while_trials_are_taken_over_loses_and_doubles_nothing(
    call: Call, collection: Path, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call(reps=1) == 0
    first = made_keys(made)
    copied: list[str] = []
    real = conduct._copy_trial

    def dies(donor: str, run: str, folder: str, new: Any) -> None:
        if len(copied) == 4:
            # The folder is there, its result is not: what a kill between the two leaves.
            real(donor, run, folder, new)
            raise _Killed
        copied.append(folder)
        real(donor, run, folder, new)

    monkeypatch.setattr(conduct, "_copy_trial", dies)
    with pytest.raises(_Killed):
        call("--extend", "last", reps=2)
    monkeypatch.setattr(conduct, "_copy_trial", real)
    made_keys(made)
    assert call("--extend", "last", reps=2) == 0, "the run that is unfinished goes on, and is not extended"
    assert len(made_keys(made)) == 9
    old, new = runs(collection)
    assert sorted(result.key for result in new.results) == sorted({*first, *((*key[:3], 1) for key in first)})
    assert new.manifest.extends == (old.run_id,)
    with pytest.raises(UsageError, match=new.run_id):
        call("--extend", new.run_id, reps=2)


@pytest.mark.slow
def test_a_named_run_goes_on_with_what_it_began_with(call: Call, collection: Path, made: Made) -> None:
    assert call(reps=1) == 0
    with pytest.raises(AbortedError, match="5 trials have no result"):
        call("--extend", "last", "--max-runs", "4", reps=2)
    unfinished = runs(collection)[-1]
    assert call("--resume", unfinished.run_id, reps=2) == 0
    assert len(made_keys(made)) == 18
    assert len(load_run(unfinished.folder).results) == 18


@pytest.mark.slow
def test_another_verifier_only_verifies_again(call: Call, collection: Path) -> None:
    assert call(agents="scripted:base=0,target=1", arms="target", reps=1) == 0
    path = collection / "tasks/t00/verify.sh"
    path.write_text("#!/bin/sh\n[ -e answer.txt ] && [ -e crates.txt ]\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        make_up(patch, _never)
        assert call("--extend", "last", agents="scripted:base=0,target=1", arms="target", reps=1) == 0
    old, new = runs(collection)
    assert [each.outcome for each in new.results] == [each.outcome for each in old.results]
    (passed,) = (each for each in new.results if each.key[:3:2] == ("t00", "target"))
    verdicts = [json.loads((Path(run.folder) / passed.folder / "verdict.json").read_text()) for run in (old, new)]
    digests = [next(t.verifier_digest for t in run.manifest.tasks if t.id == "t00") for run in (old, new)]
    assert [verdict["verifier_digest"] for verdict in verdicts] == digests and digests[0] != digests[1]
    path.write_text("#!/bin/sh\nexit 1\n", "utf-8")


async def _never(cell: Any, place: str) -> Any:
    raise AssertionError("no agent is to be started")


@pytest.mark.slow
def test_the_digest_of_a_cell_covers_what_it_depends_on_alone(call: Call, collection: Path, made: Made) -> None:
    assert call(reps=1) == 0
    manifest = runs(collection)[0].manifest
    before = cell_digests(manifest)
    assert len(set(before.values())) == len(before), "replications and arms keep their identity"
    (model,), (task, *others) = manifest.models, manifest.tasks
    same = {
        "price": replace(manifest, models=(replace(model, price={"rates": []}, max_usd=3.0),)),
        "verifier": replace(manifest, tasks=(replace(task, verifier_digest="0" * 32), *others)),
        "margin": replace(manifest, margin=0.2),
    }
    other = {
        "version": replace(manifest, models=(replace(model, version="2"),)),
        "flags": replace(manifest, models=(replace(model, flags=("-x",)),)),
        "server": replace(manifest, models=(replace(model, base_url="http://127.0.0.1:1"),)),
        "settings": replace(manifest, models=(replace(model, config="0"),)),
        "ours": replace(manifest, tool_version="9"),
        "seed": replace(manifest, seed=9),
        "sandbox": replace(manifest, sandbox=replace(manifest.sandbox, image="x")),
        "limits": replace(manifest, limits=replace(manifest.limits, timeout_sec=1.0)),
    }
    for name, changed in same.items():
        assert cell_digests(changed) == before, name
    for name, changed in other.items():
        assert not set(cell_digests(changed).values()) & set(before.values()), name
    older = convert_record(json.loads((Path(runs(collection)[0].folder) / "manifest.json").read_text()), EffectManifest)
    assert cell_digests(older) == before


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("looks", "least", "most"), [([(15, 2), (25, 3)], 0.035, 0.065), ([(20 * k, 3) for k in range(1, 6)], 0.08, 0.125)]
)
def test_looking_again_errs_as_often_as_the_report_says(looks: Any, least: float, most: float) -> None:
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(2_000):
        tasks, reps = looks[-1]
        chance = 1 / (1 + np.exp(0.4 - rng.normal(size=tasks)))[:, None]
        with_, without = (rng.random((tasks, reps)) < chance for _ in range(2))
        for some, times in looks:
            differences = (with_[:some, :times].sum(1) - without[:some, :times].sum(1)) / times
            p = sign_flip(differences.tolist()) if (differences != 0).sum() >= 6 else None
            if p is not None and p < 0.05:
                found += 1
                break
    assert least <= found / 2_000 <= most
