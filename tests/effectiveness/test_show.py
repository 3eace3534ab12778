"""`effectiveness show`: the trials of a run, one of them in full, two of them side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from trial_made import HOSTILE
from trials_run import ASKED, COUNTED, KEPT, SKILL, TWO, first_task, story, workspace, write

from skill_health.commands.effectiveness import command as group
from skill_health.core.errors import UsageError
from skill_health.text.terminal import clean

Show = Callable[..., str]
TOLD = HOSTILE.replace("\ud800", "")
"""What a line of a run can hold: it is UTF-8."""


@pytest.fixture
def show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Show:
    """What `effectiveness show` prints for the run below `reports`."""
    monkeypatch.chdir(tmp_path)

    def asked(*given: str) -> str:
        capsys.readouterr()
        assert group.main(["show", *given, "--out", "reports"], standalone_mode=False) == 0
        return capsys.readouterr().out

    return asked


def with_files(arm: str, **files: bytes) -> Mapping[str, Mapping[str, bytes]]:
    return {**KEPT, arm: {**KEPT[arm], **{name.replace("__", "/").replace("_", "."): d for name, d in files.items()}}}


def test_all_trials_are_listed_with_how_they_went(show: Show, tmp_path: Path) -> None:
    write(tmp_path / "reports")
    lines = show().splitlines()
    assert len(lines) == 6 and lines[-1] == "4 trials: 2 passed, 1 failed, 1 error"
    assert sum("error (infrastructure)" in each for each in lines) == 1
    failed = next(each for each in show("last", "--only", "failed").splitlines() if "failed" in each)
    assert failed.split()[2] == "control"
    assert show("last", "--only", "partial") == "no trials\n"


def test_a_trial_in_full_with_the_opening_of_the_skill_marked(show: Show, tmp_path: Path) -> None:
    folder = write(tmp_path / "reports")
    told = show("last", f"{first_task(folder)}/target/0")
    for part in (
        "outcome        passed", "tokens         1,200 in, 34 out", "cost           $0.0125", "duration       1.5 s",
        "  test total: passed", "What the verifier says\n  all well", "+2 dozen", f"call Skill   ← opens {SKILL}\n",
        "     Crates are counted in dozens.", "   reasoning\n     I count.", "4. agent\n   message\n     2 dozen.",
    ):  # fmt: skip
        assert part in told, part
    assert told.count("← opens") == 1 and "missing:" not in told
    assert show("last", f"{first_task(folder)}/target/0") == told


def test_two_trials_side_by_side(show: Show, tmp_path: Path) -> None:
    task = first_task(write(tmp_path / "reports"))
    told = show("last", f"{task}/target/0", "--against", f"{task}/control/0")
    for part in (
        "outcome        failed  →  passed", "  test total: failed → passed", "  the same: 1 of 2 checks",
        "step 1 user | step 1 user: ", "– | step 2 agent\n   + opens skill-0", "step 2 agent | step 3 agent: ",
        "  - 24 crates.\n  + 2 dozen.", "  the same: 1 of 2 files\n  answer.txt: not the same\n  - 24\n  + 2 dozen\n",
    ):  # fmt: skip
        assert part in told, part
    turned = show("last", f"{task}/control/0", "--against", f"{task}/target/0")
    assert "  - 2 dozen.\n  + 24 crates." in turned and "   - opens skill-0" in turned


@pytest.mark.parametrize(("given", "message"), [
    (("last", "nothing"), r"\bnothing .*: name one as "),
    (("last", "--only", "failed", "000/target/0"), "--only is for the list: leave out the trial"),
    (("last", "", "--against", "x"), "--against compares with a trial: name that one, too"),
    (("last", "x\x1b[31m"), r" x\\(u001b|x1b)\[31m"),
    (("nowhere",), "nowhere"),
])  # fmt: skip
def test_a_mistake_is_one_line(show: Show, tmp_path: Path, given: tuple[str, ...], message: str) -> None:
    write(tmp_path / "reports")
    with pytest.raises(UsageError, match=message) as raised:
        show(*given)
    assert "\n" not in str(raised.value) and "\x1b" not in str(raised.value)


@pytest.mark.parametrize("arm", ["control", "target"])
def test_what_is_missing_is_said(show: Show, tmp_path: Path, arm: str) -> None:
    task = first_task(write(tmp_path / "reports", {}))
    told = show("last", f"{task}/{arm}/0")
    assert "no trajectory" in told and "missing: no diff was kept" in told
    both = show("last", f"{task}/target/0", "--against", f"{task}/control/0")
    assert "no workspace" in both


@pytest.mark.parametrize(("files", "expected"), [
    ({"trajectory_json": b"{"}, "not JSON"),
    ({"trajectory_json": b"[" * 100_000}, "nested too"),
    ({"trajectory_json": b'{"steps": 3}'}, "no list"),
    pytest.param({"trajectory_json": b" " * ((64 << 20) + 1)}, "67 MB", marks=pytest.mark.slow),
    ({"final_txt": b"x" * ((4 << 20) + 9)}, "… 9 more bytes in "),
    ({"verifier__ctrf_json": b'{"results": {"tests": [1, {"name": 2}, null]}}'}, "verifier says"),
    ({"trial_json": b'{"agent": 7, "prompt": []}'}, "What it did"),
])  # fmt: skip
def test_what_cannot_be_read_is_said_or_left_out(
    show: Show, tmp_path: Path, files: dict[str, bytes], expected: str
) -> None:
    task = first_task(write(tmp_path / "reports", with_files("target", **files)))
    assert expected in show("last", f"{task}/target/0")


def test_no_text_of_a_stranger_reaches_the_terminal(show: Show, tmp_path: Path) -> None:
    step = {
        "source": HOSTILE, "message": HOSTILE, "reasoning_content": HOSTILE,
        "tool_calls": [{"function_name": HOSTILE, "arguments": {HOSTILE: HOSTILE}}],
        "observation": {"results": [{"content": HOSTILE}]},
    }  # fmt: skip
    hostile = HOSTILE.encode("utf-8", "surrogatepass")
    files = with_files(
        "target", trajectory_json=story(step), final_txt=hostile, diff_patch=hostile, verifier__stdout=hostile
    )
    task = first_task(write(tmp_path / "reports", files, notes=(TOLD,), stop_reason=TOLD))
    one = ("last", f"{task}/target/0")
    for told in (show(), show(*one), show(*one, "--against", f"{task}/control/0")):
        assert all(clean(line) == line for line in told.split("\n"))


@pytest.mark.parametrize("name", ["trajectory.json", "final.txt", "workspace.tar.gz", "verifier"])
def test_no_link_is_followed(show: Show, tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "reports")
    task = first_task(folder)
    place = folder / "trials" / f"{task}--target" / name
    elsewhere = tmp_path / "elsewhere"
    os.rename(place, elsewhere)
    os.symlink(elsewhere, place)
    told = show("last", f"{task}/target/0", "--against", f"{task}/control/0")
    alone = show("last", f"{task}/target/0")
    secrets = {"trajectory.json": "I read the skill", "final.txt": "at the end\n  2 dozen", "verifier": "all well"}
    secret = secrets.get(name)
    assert secret is None or secret not in alone
    if name == "workspace.tar.gz":
        assert "no workspace" in told


@pytest.mark.slow
def test_an_archive_that_grows_without_end_is_not_unpacked(show: Show, tmp_path: Path) -> None:
    files = with_files("target", workspace_tar_gz=workspace({"big": b"\0" * (70 << 20)}))
    task = first_task(write(tmp_path / "reports", files))
    told = show("last", f"{task}/target/0", "--against", f"{task}/control/0")
    assert "the kept workspace is too large to be compared" in told


def test_steps_beyond_the_limit_are_counted(show: Show, tmp_path: Path) -> None:
    long = story(ASKED, *([COUNTED] * 450), TWO)
    task = first_task(write(tmp_path / "reports", with_files("target", trajectory_json=long)))
    told = show("last", f"{task}/target/0", "--against", f"{task}/control/0")
    assert "… 52 more steps are not compared" in told
    assert "452. agent" in show("last", f"{task}/target/0")
