"""Work outside a container's working directory: which folders of it travel, and what of them a verifier sees."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_images import task_of

from skill_health.effectiveness.agents._api import Command
from skill_health.effectiveness.sandbox import podman
from skill_health.effectiveness.sandbox._api import OwnImage, SandboxLimits
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.sandbox._run import run
from skill_health.effectiveness.tasks._outputs import lost_folders, may_travel, output_folders
from skill_health.effectiveness.trial.verify import make_ready
from skill_health.effectiveness.workspace.folders import make_places, remove_tree
from skill_health.effectiveness.workspace.images import _is_work, _runs, copy_start
from skill_health.effectiveness.workspace.tree import read_tree
from skill_health.effectiveness.workspace.workspace import OUTSIDE, Workplace, workplace

ASKS = "Write the report to /output/report.json."


@pytest.mark.parametrize(("verifier", "others", "found"), [
    ('OUT = Path("/output/report.json")', ASKS, ("/output",)),
    ('OUT = Path("/output") / name', ASKS, ("/output",)),
    ('f"/output/scenario_{n}.json"', "mkdir -p /output", ("/output",)),
    ("cat /output/*.csv", "ls /output/$name", ("/output",)),
    ("/output/a.txt /output/parts/b.txt", "/output/a.txt /output/parts/b.txt", ("/output", "/output/parts")),
    ("/opt/tool/conf/x.txt", "edit /opt/tool/conf/x.txt", ("/opt/tool/conf",)),
    ("/app/output/x.csv", "/app/output/x.csv", ("/app/output",)),
    # Only one of them knows it: what the verifier brings, or an input.
    ("/expected/x.json", ASKS, ()),
    ("/data/list.txt", ASKS, ()),
    # The workspace, what lies in it, and what it lies in.
    ("/srv/work/x.txt", "/srv/work/x.txt", ()),
    ("/srv/work /srv", "/srv/work /srv", ()),
    # What programs obey, homes, and what is the scripts' own.
    *((path, path, ()) for path in ("/usr/local/bin/python3", "/etc/ld.so.preload", "/root/.bashrc", "/root/x.txt",
      "/home/me/x.txt", "/opt/x.txt", "/x.txt", "/tests/x.txt", "/logs/verifier/reward.txt", "/tmp/x/y.txt",
      "/var/lib/x/y", "/app/.venv/lib/x.py", "/proc/self/environ", "/output/../etc/cron.d/x.txt")),
    # No path at all.
    ("https://host/output/x.json", "https://host/output/x.json", ()),
    ("$dir/output/x.json", "$dir/output/x.json", ()),
])  # fmt: skip
def test_the_folders_that_a_task_speaks_of(verifier: str, others: str, found: tuple[str, ...]) -> None:
    assert output_folders([verifier], [others], "/srv/work") == found


def test_what_is_asked_for_where_it_is_lost_is_said() -> None:
    prompt = "Write /root/answer.txt, /etc/nginx/nginx.conf, /output/x.txt and /srv/work/y.txt; see /tests/x.txt."
    assert list(lost_folders([prompt], prompt, "/srv/work")) == ["/etc/nginx", "/root"]


@given(st.text(st.sampled_from("/ab.{}*$\n \"'-~:srvwork"), max_size=60))
def test_no_text_names_what_may_not_travel(text: str) -> None:
    for path in output_folders([text], [text], "/srv/work"):
        assert os.path.normpath(path) == path and may_travel(path, "/srv/work")


@pytest.mark.slow
def test_tasks_know_them_and_are_others_by_them(tmp_path: Path) -> None:
    plain = task_of(tmp_path / "a").in_container()
    told = {"instruction_md": "Write /out/x.txt.\n", "tests_test_sh": "cat /out/x.txt\n"}
    own = task_of(tmp_path / "b", **told).in_container()
    verified = task_of(tmp_path / "c", **{**told, "tests_test_sh": "cat /srv/x.txt\n"}).in_container()
    assert plain.recipe and own.recipe and verified.recipe
    assert (plain.recipe.outputs, own.recipe.outputs, verified.recipe.outputs) == ((), ("/out",), ())
    assert own.digest != verified.digest and own.recipe.digest == verified.recipe.digest
    lost = task_of(tmp_path / "d", instruction_md="Write /x.txt.\n", tests_test_sh="cat /x.txt\n").in_container()
    assert lost.recipe and lost.recipe.outputs == () and "does not reach the verifier" in lost.unsupported[-1]


@pytest.mark.parametrize(("env", "runs"), [
    ({"PATH": "/usr/bin:/opt/tool/bin"}, True), ({"PYTHONPATH": "/opt"}, True), ({"VIRTUAL_ENV": "/opt/tool"}, True),
    ({"PATH": "/usr/bin:/opt/tools"}, False), ({"OUTPUT_DIR": "/opt/tool"}, False), ({"PATH": ":bin"}, False),
])  # fmt: skip
def test_where_programs_are_looked_for_nothing_travels(env: dict[str, str], runs: bool) -> None:
    assert _runs(OwnImage("x", "/srv", tuple(env.items())), "/opt/tool") == runs


@pytest.mark.parametrize(("path", "work"), [
    ("a/b.txt", True), ("bin/tool", False), ("lib/python3/site-packages/x.py", False), ("pyvenv.cfg", False),
])  # fmt: skip
def test_where_programs_are_installed_nothing_travels(path: str, work: bool, tmp_path: Path) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("x")
    assert _is_work(read_tree(str(tmp_path))) == work


@pytest.fixture
def at(tmp_path: Path) -> Workplace:
    """A workplace whose image has a file, a link and a conftest.py in its folder /output, as the agent finds them."""
    outside, files = tmp_path / "image" / "outside", tmp_path / "image" / "files"
    (outside / "output").mkdir(parents=True)
    files.mkdir()
    (outside / "output" / "given.txt").write_text("given\n")
    (outside / "output" / "conftest.py").write_text("x = 1\n")
    (outside / "output" / "way").symlink_to("/usr/share")
    places = make_places("", "job-")
    own = OwnImage("x", "/srv", files=str(files), outputs=("/output",), outside=str(outside))
    copy_start(own.outside, places.beside(OUTSIDE))
    found = workplace(task_of(tmp_path), places, podman)
    yield replace(found, own=own, outside=os.path.join(places.base, OUTSIDE))  # type: ignore[misc]
    remove_tree(places.base)


def test_every_program_has_them_at_their_paths(at: Workplace) -> None:
    assert at.outputs == ((f"{at.outside}/output", "/output"),)
    assert at.box().mounts == at.outputs
    assert at.after(make_places("", "job-")).outputs == at.outputs


@pytest.mark.slow
def test_what_is_written_there_counts(at: Workplace) -> None:
    folder = at.outputs[0][0]
    fill = Command(("bash", "-c", f"head -c 30000000 /dev/zero > {folder}/f; sleep 60"), {"PATH": "/usr/bin:/bin"})
    box = replace(at.box(), own=None)
    output = asyncio.run(run(back_end("none"), box, fill, SandboxLimits(50, 1 << 20, 10_000_000)))
    assert output.stopped == "disk", output


def test_what_would_steer_the_verifier_is_taken_out_there_too(at: Workplace, tmp_path: Path) -> None:
    folder = Path(at.outside, "output")
    (folder / "answer.json").write_text("{}")
    (folder / "here").symlink_to("/output/answer.json")
    (folder / "tests").symlink_to("/tests/expected.json")
    (folder / "up").symlink_to("../../../etc/passwd")
    os.mkfifo(folder / "wait")
    for name in ("sitecustomize.py", "conftest.py", "deep/usercustomize.py", ".runner/score.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("raise SystemExit(0)\n")
    (folder / ".runner" / "out").symlink_to("/etc")
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "config").write_text("[core]\n\tfsmonitor = sh run\n")
    notes = make_ready(task_of(tmp_path), at, read_tree(at.places.workspace), "", at.places.base)
    left = {entry.path: entry.kind for entry in read_tree(str(folder)).entries if entry.kind != "folder"}
    assert left == {
        "answer.json": "file", "given.txt": "file", "conftest.py": "file", "here": "link", "way": "link",
        ".git/config": "file",
    }  # fmt: skip
    assert (folder / "conftest.py").read_text() == "x = 1\n"
    assert "fsmonitor" not in (folder / ".git/config").read_text()
    assert any("2 links" in note for note in notes) and any("fifo" in note for note in notes)


def test_a_conftest_of_the_image_is_put_back_and_not_removed(at: Workplace, tmp_path: Path) -> None:
    """The check and a new verification know no more of the image than a trial does."""
    assert at.own
    for folder in (at.own.files, at.places.workspace):
        Path(folder, "conftest.py").write_text("x = 1\n")
    Path(at.places.workspace, "conftest.py").write_text("raise SystemExit(0)\n")
    make_ready(task_of(tmp_path), at, read_tree(at.places.workspace), "", at.places.base)
    assert Path(at.places.workspace, "conftest.py").read_text() == "x = 1\n"
