"""An output that is no file, but a device, a pipe or a descriptor, is written to, and nothing takes its place."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from skill_health.bench import durable
from skill_health.core.files import replace_file
from skill_health.core.history import append_history, append_lines

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Called = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nodes and descriptors as Linux has them")
FILES = {
    "c/skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Sorts names. Use when a list of names is out of order.\n"
    "---\n# Tidy\n\nSort the list, each name once.\n",
    "c/prompts.jsonl": '{"query": "Sort these names", "skill": "tidy", "should_trigger": true}\n',
    "fleet.toml": '[[repository]]\nname = "one"\npath = "c"\n',
}
SIZE = 1 << 20


@pytest.fixture
def root(write: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, as the current folder."""
    monkeypatch.chdir(write(FILES) / "c")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", *words], check=True)
    return Path.cwd()


def make_node(place: Path, kind: int, major: int = 1, minor: int = 3) -> Path:
    """Make a node in a new folder: a device is by default one like /dev/null."""
    place.parent.mkdir()
    try:
        os.mknod(place, 0o666 | kind, os.makedev(major, minor))
    except PermissionError:
        pytest.skip("only root makes devices")
    return place


class Node(NamedTuple):
    """A device or a pipe, and a descriptor that reads it."""

    place: Path
    handle: int


@pytest.fixture(params=["device", "pipe"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    """A device that takes everything, or a pipe with a reader; it is the same afterwards, and alone in its folder."""
    is_pipe = request.param == "pipe"
    place = make_node(tmp_path / "nodes/node.svg", stat.S_IFIFO if is_pipe else stat.S_IFCHR)
    before = place.lstat()
    handle = os.open(place, os.O_RDWR | os.O_NONBLOCK)
    if is_pipe:
        from fcntl import F_SETPIPE_SZ, fcntl

        fcntl(handle, F_SETPIPE_SZ, SIZE)
    yield Node(place, handle)
    os.close(handle)
    after = place.lstat()
    assert (after.st_mode, after.st_rdev, after.st_ino) == (before.st_mode, before.st_rdev, before.st_ino)
    assert os.listdir(place.parent) == [place.name]


DAY = "--as-of 2026-11-20 --no-cache"
ROUTER = "--prompts prompts.jsonl --models lexical"
WRITES = [
    ("lint --output NODE", b"1 skill"),
    ("lint --format json --output NODE", b"{"),
    ("lint --report NODE", b"{"),
    ("lint --shard 1/1 --output NODE", b"skill-health"),
    (f"badge {DAY} --output NODE", b"<svg"),
    (f"delta HEAD {DAY} --output NODE", b"Skill health"),
    pytest.param(f"report {DAY} --output NODE", b"<!DOCTYPE html>", marks=pytest.mark.slow),
    (f"report {DAY} --format json --output NODE", b"{"),
    (f"report {DAY} --format md --output NODE", b"# Skill health"),
    (f"picture components {DAY} --output NODE", b"<svg"),
    ("router prompts --prompts prompts.jsonl --write-split NODE", b"{"),
]


@pytest.mark.parametrize(("words", "begin"), WRITES)
@pytest.mark.usefixtures("root")
def test_devices_and_pipes_are_written_to(words: str, begin: bytes, node: Node, called: Called) -> None:
    code, _, err = called(*words.replace("NODE", str(node.place)).split())
    assert (code, "error" in err) == (0, False)
    if stat.S_ISFIFO(node.place.stat().st_mode):
        assert os.read(node.handle, SIZE).startswith(begin)


FOLDERS = [
    f"report {DAY} --reports NODE",
    f"report {DAY} --site NODE",
    f"status {DAY} --reports NODE",
    f"badge {DAY} --reports NODE",
    f"delta HEAD {DAY} --reports NODE",
    f"picture {DAY} --reports NODE",
    f"daily {DAY} --reports NODE",
    "census --charts NODE",
    "fleet ../fleet.toml --as-of 2026-11-20 --reports NODE",
    f"router run {ROUTER} --out NODE",
    f"router curve {ROUTER} --out NODE",
    "router report --out NODE",
    "effectiveness report --out NODE",
    "effectiveness controls NODE",
    "activation report --out NODE",
    "init NODE",
]


@pytest.mark.slow
@pytest.mark.parametrize("words", FOLDERS)
@pytest.mark.usefixtures("root")
def test_a_device_is_no_folder(words: str, node: Node, called: Called) -> None:
    code, _, err = called(*words.replace("NODE", str(node.place)).split())
    told = [line for line in err.splitlines() if line.startswith("skill-health: error: ")]
    assert (code, len(told), str(node.place) in told[0]) == (2, 1, True)


@pytest.mark.slow
@pytest.mark.parametrize("words", ["daily --reports reports", "fleet ../fleet.toml --reports reports --no-page"])
def test_a_verdict_that_cannot_be_printed_is_given_again(words: str, root: Path, tmp_path: Path) -> None:
    commands = [sys.executable, "-m", "skill_health", *words.split()]
    assert subprocess.run([*commands, "--time", "2026-11-01T04:00:00Z"], capture_output=True).returncode == 0
    histories = {path: path.read_bytes() for path in Path("reports").glob("*history.jsonl")}
    make_node(tmp_path / "nodes/full", stat.S_IFCHR, 1, 7)
    with (tmp_path / "nodes/full").open("wb") as full:
        assert subprocess.run([*commands, "--time", "2026-11-02T04:00:00Z"], stdout=full).returncode == 3
    assert histories == {path: path.read_bytes() for path in Path("reports").glob("*history.jsonl")} and histories


NO_FOLDERS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "file": lambda place: place.touch(),
    "dangling link": lambda place: place.symlink_to("gone"),
}


@pytest.mark.parametrize("name", ["rep", "rep/router"])
@pytest.mark.parametrize("kind", NO_FOLDERS)
def test_what_is_no_folder_takes_no_runs(kind: str, name: str, root: Path, called: Called) -> None:
    place = root / name
    place.parent.mkdir(exist_ok=True)
    NO_FOLDERS[kind](place)
    before = place.lstat().st_ino
    code, out, err = called("router", "run", *ROUTER.split(), "--out", "rep")
    told = err.splitlines()[1:]  # after what was read of the prompts
    assert (code, out, len(told), place.lstat().st_ino) == (2, "", 1, before)
    assert f" in {name}: it is " in told[0]


@pytest.mark.parametrize("name", ["rep", "rep/router"])
def test_a_folder_that_cannot_be_read_takes_no_runs(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch, called: Called
) -> None:
    (root / "rep/router").mkdir(parents=True)
    real = os.listdir

    def listed(folder: str) -> list[str]:
        if os.path.abspath(folder) == str(root / name):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
        return real(folder)

    monkeypatch.setattr(os, "listdir", listed)
    code, out, err = called("router", "run", *ROUTER.split(), "--out", "rep")
    assert (code, out, err.splitlines()[1:]) == (2, "", [f"skill-health: error: cannot read {name}: Permission denied"])
    assert not real("rep/router")


def test_a_folder_that_may_not_be_entered_takes_no_runs(
    root: Path, monkeypatch: pytest.MonkeyPatch, called: Called
) -> None:
    (root / "rep/router").mkdir(parents=True)
    real = os.stat

    def look(place: str, **more: bool) -> os.stat_result:
        if "rep/router/" in str(place):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place)
        return real(place, **more)

    monkeypatch.setattr(os, "stat", look)
    code, out, err = called("router", "run", *ROUTER.split(), "--out", "rep")
    assert (code, out, len(err.splitlines())) == (2, "", 2)
    assert "cannot find out which runs there are in" in err


@pytest.mark.parametrize("name", ["skill-health.toml", ".pre-commit-config.yaml", ".github/workflows/skill-health.yml"])
@pytest.mark.parametrize("kind", [stat.S_IFCHR, stat.S_IFIFO])
def test_what_is_set_up_replaces_no_node(name: str, kind: int, root: Path, tmp_path: Path, called: Called) -> None:
    node = make_node(tmp_path / "nodes/node", kind)
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    node.rename(root / name)
    code, out, err = called("init", "--force", "--workflow")
    assert (code, out, err.count("\n"), name in err, "regular file" in err) == (2, "", 1, True, True)
    assert stat.S_IFMT((root / name).lstat().st_mode) == kind
    assert sum(len(files) for place, _, files in os.walk(root) if ".git/" not in f"{place}/") == 3


@pytest.mark.parametrize("name", ["drafts", "drafts/prompts"])
@pytest.mark.parametrize("kind", NO_FOLDERS)
def test_what_is_no_folder_takes_no_drafts(kind: str, name: str, root: Path, called: Called) -> None:
    (root / name).parent.mkdir(exist_ok=True)
    NO_FOLDERS[kind](root / name)
    for words in (["draft", "prompts"], ["draft", "report"]):
        code, out, err = called(*words)
        assert code == 2, err
        assert [out, *err.splitlines()][-1] == f"skill-health: error: {name} is not a folder"


@pytest.mark.parametrize("form", ["json", "html", "md"])
def test_the_reason_of_the_system_is_given(
    form: str, root: Path, monkeypatch: pytest.MonkeyPatch, called: Called
) -> None:
    real = os.lstat

    def look(place: str, **more: int) -> os.stat_result:
        if place == "t0/f":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), place)
        return real(place, **more)

    monkeypatch.setattr(os, "lstat", look)
    code, out, err = called("report", *DAY.split(), "--format", form, "--output", "t0/f")
    assert (code, out, err) == (2, "", "skill-health: error: cannot write t0/f: Permission denied\n")
    assert not (root / "t0").exists()


def test_a_baseline_elsewhere_is_outside_of_the_repository(root: Path, tmp_path: Path, called: Called) -> None:
    place = tmp_path / "known.json"
    code, out, err = called("lint", "--write-baseline", "because", "--baseline", place)
    assert (code, out, err.endswith("known.json is outside of the repository\n"), place.exists()) == (
        2,
        "",
        True,
        False,
    )
    (root / "link").symlink_to("..")
    assert "link leads out" in (err := called("lint", "--baseline", "link/known.json")[2]) or "symbolic link" in err


def test_a_device_is_no_baseline(root: Path, tmp_path: Path, called: Called) -> None:
    (root / "skill-health.toml").write_text('baseline = "nodes/known.json"\n')
    place = make_node(root / "nodes/known.json", stat.S_IFIFO)
    for words in (["lint"], ["lint", "--write-baseline", "because"]):
        code, out, err = called(*words)
        assert (code, out) == (2, "")
        assert "known.json: " in err
    assert os.listdir(place.parent) == ["known.json"]


def socket_at(place: Path) -> None:
    place.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(place))


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a disk": (lambda place: make_node(place, stat.S_IFBLK, 7, 250), "regular file"),
    "a pipe without a reader": (lambda place: make_node(place, stat.S_IFIFO), "nobody reads from it"),
    "a socket": (socket_at, "regular file"),
    "a folder": (lambda place: place.mkdir(parents=True), "Is a directory"),
    "a link to a device": (lambda place: (place.parent.mkdir(), place.symlink_to(os.devnull)), "symbolic link"),
    "below a device": (lambda place: make_node(place.parent, stat.S_IFCHR) and None, "no folder"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("root")
def test_what_cannot_be_written_is_said_in_one_line(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: Called
) -> None:
    make, why = KINDS[kind]
    monkeypatch.chdir(tmp_path / "c")
    place = tmp_path / "nodes/x"
    if kind == "below a device":
        place = tmp_path / "nodes/device/x"
    make(place)
    before = sorted(os.walk(tmp_path / "nodes"))
    code, out, err = called("lint", "--output", place)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert why in err
    assert sorted(os.walk(tmp_path / "nodes")) == before


@pytest.mark.parametrize(
    "write",
    [
        lambda path: replace_file(path, b"x"),
        lambda path: replace_file(f"{path}.file", b"x", temporary=path),
        lambda path: durable.replace(path, b"x"),
        lambda path: os.close(durable.open_to_append(path)),
        lambda path: append_history(path, {"a": 1}),
        lambda path: append_lines(path, b"x\n"),
    ],
)
@pytest.mark.parametrize("kind", [stat.S_IFCHR, stat.S_IFIFO])
def test_what_only_we_write_is_a_file(write: Callable[[str], None], kind: int, tmp_path: Path) -> None:
    place = make_node(tmp_path / "nodes/node", kind)
    with pytest.raises(Exception, match=r"regular file|No such device or address"):
        write(str(place))
    assert {stat.S_IFMT(each.lstat().st_mode) for each in place.parent.iterdir() if each.stem == "node"} == {kind}


def test_a_lock_is_no_device(tmp_path: Path) -> None:
    place = make_node(tmp_path / "nodes/.lock", stat.S_IFCHR)
    with pytest.raises(Exception, match="regular file"), durable.locked(str(place.parent)):
        pass
    assert stat.S_ISCHR(place.lstat().st_mode)


DESCRIPTORS = [("/dev/stdout", 1), ("/dev/stderr", 2), ("/dev/fd/1", 1), ("/dev/fd/3", 3), ("/proc/self/fd/3", 3)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), DESCRIPTORS)
def test_what_a_descriptor_leads_to_goes_on_if_it_is_a_file(name: str, number: int, root: Path) -> None:
    program = f'"{sys.executable}" -m skill_health'
    with open("out.txt", "w", encoding="utf-8") as file:
        command = f"echo before; {program} lint --format json --output {name} {number}>&1 && echo after"
        subprocess.run(command, shell=True, stdout=file, check=True)
    text = Path("out.txt").read_text()
    assert text.startswith("before\n{")
    assert text.endswith("}\nafter\n")
    assert json.loads(text[len("before\n") : -len("after\n")])["skills"]


@pytest.mark.slow
def test_a_split_goes_where_the_audit_goes_and_leaves_bad_records_out_there(root: Path) -> None:
    """Nothing is lost on a stream, and what it leads to changes while the audit is printed."""
    with open("prompts.jsonl", "a", encoding="utf-8") as file:
        file.write("{\n")
    words = ["router", "prompts", "--prompts", "prompts.jsonl", "--skip-bad", "--write-split", "/dev/stdout"]
    with open("out.txt", "w", encoding="utf-8") as file:
        done = subprocess.run([sys.executable, "-m", "skill_health", *words], stdout=file, check=False)
    assert done.returncode in (0, 1)
    assert json.loads(Path("out.txt").read_text().splitlines()[-1])["split"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_a_descriptor_may_be_a_pipe_or_a_socket(name: str, root: Path, run: Run) -> None:
    assert json.loads(run("lint", "--format", "json", "--output", name, cwd=root, stderr=None).stdout)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        run("lint", "--format", "json", "--output", name, cwd=root, capture_output=False, stdout=theirs)
        theirs.close()
        with ours.makefile() as stream:
            assert json.load(stream)


@pytest.mark.usefixtures("root")
def test_a_descriptor_of_ours_is_none_of_the_callers(called: Called) -> None:
    with open("kept.txt", "w", encoding="utf-8") as file:
        code, _, err = called("lint", "--output", f"/dev/fd/{file.fileno()}")
    assert (code, Path("kept.txt").read_text()) == (2, "")
    assert "Bad file descriptor" in err


@pytest.mark.parametrize("leads_to", DESCRIPTORS)
@pytest.mark.usefixtures("root")
def test_a_link_to_a_descriptor_is_a_link(leads_to: tuple[str, int], called: Called) -> None:
    os.symlink(leads_to[0], "report.txt")
    code, _, err = called("lint", "--output", "report.txt")
    assert (code, "symbolic link" in err) == (2, True)


@pytest.mark.slow
def test_what_is_said_of_a_page_is_not_in_it(root: Path, run: Run) -> None:
    done = run("report", *DAY.split(), "--output", "/dev/stdout", cwd=root, timeout=600)
    assert done.stdout.endswith("</html>")
    assert done.stderr.startswith("written: /dev/stdout (lint: ")
