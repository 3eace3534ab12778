"""Workspaces: what has changed, what is kept and comes back, what an agent's program needs, and secrets taken out."""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skill_health.effectiveness.sandbox._host import interpreter
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.trial.keep import BadArchive, CannotKeep, pack, unpack
from skill_health.effectiveness.trial.redact import holds_secret, redact, secret_words
from skill_health.effectiveness.trial.trial import MAX_DIFF, WorkspaceDiff, diff, quoted
from skill_health.effectiveness.workspace.copies import make_copy
from skill_health.effectiveness.workspace.folders import hold, let_go, remove_tree, sweep
from skill_health.effectiveness.workspace.programs import needs, search_path
from skill_health.effectiveness.workspace.tree import read_tree
from skill_health.effectiveness.workspace.workspace import digests_on_disk

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=12).filter(
    lambda name: name not in (".", "..") and len(name.encode()) < 200
)
TEXTS = st.text(st.sampled_from("ab\n\r\t\x1b\u2028é"), max_size=40)
FILES = st.dictionaries(NAMES, st.one_of(TEXTS.map(lambda text: text.encode()), st.binary(max_size=40)), max_size=5)


def write(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def changed(before: dict[str, bytes], folder: Path) -> WorkspaceDiff:
    return diff({name: File(name, data) for name, data in before.items()}, read_tree(str(folder)))


@given(FILES, FILES)
def test_the_diff_counts_what_changed(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as place:
        found = changed(before, write(Path(place) / "w", after))
    paths = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert found.changed == len(paths)
    assert found.text.count(b"diff --git ") >= len(paths)
    assert bool(found.text) == bool(paths)


FEW_FILES = st.dictionaries(st.sampled_from("abc"), TEXTS, max_size=3)


@settings(max_examples=12)
@given(FEW_FILES, FEW_FILES)
@pytest.mark.slow
def test_git_can_apply_it(before: dict[str, str], after: dict[str, str]) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    then = {name: text.encode() for name, text in before.items()}
    now = {name: text.encode() for name, text in after.items()}
    with tempfile.TemporaryDirectory() as place:
        found = changed(then, write(Path(place) / "after", now))
        start = write(Path(place) / "before", then)
        if found.text:
            words, env = ["git", "apply", "--unidiff-zero", "-"], {**os.environ, "GIT_CEILING_DIRECTORIES": place}
            subprocess.run(words, cwd=start, input=found.text, check=True, env=env)
        assert {path.name: path.read_bytes() for path in start.iterdir()} == now


@pytest.mark.parametrize(("before", "after", "lines"), [
    ({"a": b"1\n2\n"}, {"a": b"1\n3\n"}, ["--- a/a", "+++ b/a", "@@ -1,2 +1,2 @@", " 1", "-2", "+3"]),
    ({}, {"a": b"x"}, ["new file mode 100644", "--- /dev/null", "+++ b/a", "@@ -0,0 +1 @@", "+x", "\\ No newline at end of file"]),
    ({"a": b"x\n"}, {}, ["deleted file mode 100644", "--- a/a", "+++ /dev/null", "@@ -1 +0,0 @@", "-x"]),
    ({}, {"a": b""}, ["new file mode 100644"]),
    ({"a": b"\0"}, {"a": b"\0\0"}, ["# binary or large: 1 bytes blake2b:… -> 2 bytes blake2b:…"]),
    ({"a\nb": b""}, {"a\nb": b"\x1b[2J\n"}, ['--- "a/a\\nb"', '+++ "b/a\\nb"', "@@ -0,0 +1 @@", "+\x1b[2J"]),
])  # fmt: skip
def test_what_a_diff_looks_like(
    tmp_path: Path, before: dict[str, bytes], after: dict[str, bytes], lines: list[str]
) -> None:
    text = changed(before, write(tmp_path / "w", after)).text.decode()
    assert text.startswith("diff --git ")
    shown = text.split("\n")[1:-1]
    assert [re.sub("blake2b:[0-9a-f]+", "blake2b:…", line) for line in shown] == lines


def test_a_diff_has_a_limit(tmp_path: Path) -> None:
    files = {f"f{number:03}": (f"{number} line\n" * 3000).encode() for number in range(60)}
    found = changed({}, write(tmp_path / "w", files))
    assert found.changed == 60
    assert len(found.text) < MAX_DIFF + 100 and found.text.endswith(b" more changed paths are not shown\n")


def test_rights_and_kinds(tmp_path: Path) -> None:
    folder = write(tmp_path / "w", {"a": b"x\n", "c": b"x\n"})
    os.chmod(folder / "a", 0o755)
    (folder / "b").symlink_to("/etc/passwd")
    os.unlink(folder / "c")
    (folder / "c").mkdir()
    found = changed({"a": b"x\n", "b": b"x\n", "c": b"x\n"}, folder)
    assert found.changed == 3
    for line in ("old mode 100644\nnew mode 100755", "new mode 120000", "+/etc/passwd", "deleted file mode 100644"):
        assert f"{line}\n".encode() in found.text
    assert b"root:" not in found.text


@pytest.mark.parametrize(("name", "shown"), [
    ("a b", "a b"), ('q"', '"q\\""'), ("tab\t", '"tab\\t"'), ("é", '"\\303\\251"'), ("\udcff", '"\\377"'), ("\x1b[2J", '"\\033[2J"'),
])  # fmt: skip
def test_names_are_quoted_as_git_does(name: str, shown: str) -> None:
    assert quoted(name) == shown


# --- Kept, and unpacked ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(FILES)
def test_what_is_kept_comes_back(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = write(Path(place) / "w", files)
        (folder / ("d" * 90)).mkdir()
        (folder / ("d" * 90) / ("e" * 90)).symlink_to("x" * 150)
        first = pack(read_tree(str(folder)))
        for path in folder.rglob("*"):
            os.utime(path, (1, 1), follow_symlinks=False)
        assert pack(read_tree(str(folder))).data == first.data
        (Path(place) / "a.tar.gz").write_bytes(first.data)
        back = Path(place) / "back"
        back.mkdir()
        unpack(f"{place}/a.tar.gz", str(back))
        assert pack(read_tree(str(back))).data == first.data
        assert {path.name: path.read_bytes() for path in back.iterdir() if path.is_file()} == files


def archive(*members: tuple[str, bytes | str, Any]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, kind, data in members:
            info = tarfile.TarInfo(name)
            info.type = kind if isinstance(kind, bytes) else tarfile.REGTYPE
            if info.type == tarfile.REGTYPE:
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
            else:
                info.linkname = data
                tar.addfile(info)
    return raw.getvalue()


HOSTILE = [
    archive(("../out", "", b"x")), archive(("/out", "", b"x")), archive(("a/../../out", "", b"x")), archive(("a//b", "", b"x")),
    archive(("l", tarfile.SYMTYPE, "/"), ("l/tmp/out", "", b"x")), archive(("a", tarfile.LNKTYPE, "/etc/passwd")),
    archive(("a", tarfile.FIFOTYPE, "")), archive(("a", tarfile.CHRTYPE, "")), archive(("a", "", b"x"), ("a", "", b"y")),
    archive(("a/b", "", b"x")), archive(("a", "", b"x"))[:60], b"", b"no archive", gzip.compress(b"x" * 700),
]  # fmt: skip


@pytest.mark.parametrize("raw", HOSTILE, ids=range(len(HOSTILE)))
def test_archives_that_are_not_ours(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "a.tar.gz").write_bytes(raw)
    inner = tmp_path / "x" / "y"
    inner.mkdir(parents=True)
    with pytest.raises(BadArchive):
        unpack(str(tmp_path / "a.tar.gz"), str(inner))
    assert {path.name for path in tmp_path.iterdir()} == {"a.tar.gz", "x"}
    assert {path.name for path in (tmp_path / "x").iterdir()} == {"y"}


def test_an_archive_that_is_a_bomb(tmp_path: Path) -> None:
    info = tarfile.TarInfo("a")
    info.size = 100 << 30
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(info.tobuf() + bytes(1 << 20)))
    with pytest.raises(BadArchive, match="larger than"):
        unpack(str(tmp_path / "a.tar.gz"), str(tmp_path))


def test_links_are_made_last(tmp_path: Path) -> None:
    """A link that points out of the folder is what the agent made: kept, and nothing is written through it."""
    (tmp_path / "out").mkdir()
    folder = write(tmp_path / "w", {"a": b"x"})
    (folder / "b").symlink_to(tmp_path / "out")
    (tmp_path / "a.tar.gz").write_bytes(pack(read_tree(str(folder))).data)
    (tmp_path / "back").mkdir()
    unpack(str(tmp_path / "a.tar.gz"), str(tmp_path / "back"))
    assert os.readlink(tmp_path / "back" / "b") == str(tmp_path / "out") and not list((tmp_path / "out").iterdir())


def test_what_is_too_large_is_not_kept_by_halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "w", {"a": b"x" * 100, "b": b"y" * 100})
    for name, limit in (("MAX_FILE", 99), ("MAX_TOTAL", 199), ("MAX_MEMBERS", 1)):
        with monkeypatch.context() as patch:
            patch.setattr(f"skill_health.effectiveness.trial.keep.{name}", limit)
            with pytest.raises(CannotKeep):
                pack(read_tree(str(folder)))


# --- Secrets ---------------------------------------------------------------------------------------------------------

SECRET = 'key-"12345678"\\ü'


@pytest.mark.parametrize("form", [SECRET, 'key-\\"12345678\\"\\\\ü', 'key-\\"12345678\\"\\\\\\u00fc'])
def test_every_form_of_a_secret(form: str) -> None:
    secrets = secret_words([SECRET, "short"], ["", SECRET])
    assert secrets == (SECRET,)
    assert redact(b"\xff a " + form.encode() + b" b short", secrets) == b"\xff a *** b short"
    assert holds_secret(form.encode(), secrets) and not holds_secret(b"short", secrets)


def test_a_secret_that_was_cut_off() -> None:
    secrets = ("abcdefghijklmnop", "zyxwvutsrqponm")
    assert redact(b"text abcdefghij", secrets, cut=True) == b"text ***"
    assert redact(b"text abcdefghij", secrets) == b"text abcdefghij"
    assert redact(b"text abc", secrets, cut=True) == b"text abc"
    assert redact(b"anything", ()) == b"anything"


def test_the_longer_secret_goes_first() -> None:
    assert redact(b"secret-key-more", secret_words(["secret-key", "secret-key-more"])) == b"***"


# --- Skills on the disk ----------------------------------------------------------------------------------------------


def test_digests_are_read_back(tmp_path: Path) -> None:
    place = tmp_path / "w" / ".x" / "skills"
    write(place / "alpha", {"SKILL.md": b"text", "run": b"#!"})
    os.chmod(place / "alpha" / "run", 0o755)
    planned = make_copy("alpha", "", [File("run", b"#!", True), File("SKILL.md", b"text")]).digest
    assert digests_on_disk(str(tmp_path / "w"), ".x/skills") == {"alpha": planned}
    (place / "beta").mkdir()
    (place / "alpha" / "link").symlink_to("run")
    assert digests_on_disk(str(tmp_path / "w"), ".x/skills") == {"alpha": "", "beta": ""}
    assert digests_on_disk(str(tmp_path / "w"), ".y/skills") == {}
    (tmp_path / "w" / ".z").symlink_to(".x")
    assert digests_on_disk(str(tmp_path / "w"), ".z/skills") == {".z/skills": ""}


# --- Programs --------------------------------------------------------------------------------------------------------


def script(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


NO_AGENT: Any = SimpleNamespace()


def test_a_package_of_npm_is_seen_as_a_whole(tmp_path: Path) -> None:
    real = script(tmp_path / "lib/node_modules/@x/agent/cli.js", "#!/usr/bin/env node\n")
    inner, outer = tmp_path / "lib/node_modules/.bin/agent", tmp_path / "bin/agent"
    for link in (inner, outer):
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(real)
    modules = str(tmp_path / "lib/node_modules")
    assert needs([str(inner)], NO_AGENT).readable[0] == modules
    assert needs([str(inner)], NO_AGENT).argv == (str(inner),)
    # A link from outside would not lead anywhere inside, and node looks beside the real file.
    found = needs([str(outer), "-p"], NO_AGENT)
    assert found.argv == (str(real), "-p") and found.readable[0] == modules and str(real.parent) in found.folders


def test_a_program_of_a_virtual_environment(tmp_path: Path) -> None:
    program = script(tmp_path / "env/bin/agent")
    (tmp_path / "env/pyvenv.cfg").write_text("home = /usr/bin\n")
    (tmp_path / "env/bin/python").symlink_to(interpreter())
    link = tmp_path / "bin/agent"
    link.parent.mkdir()
    link.symlink_to(program)
    readable = needs([str(link)], NO_AGENT).readable
    assert str(tmp_path / "env") in readable and str(link) in readable


def test_a_plain_program_is_seen_alone(tmp_path: Path) -> None:
    program = script(tmp_path / "agent")
    found = needs([str(program), str(tmp_path), "/etc/passwd", "--x"], NO_AGENT)
    assert (found.readable, found.folders) == ((str(program),), (str(tmp_path),))
    assert needs([str(program)], NO_AGENT, (str(tmp_path),)).readable == ()
    assert needs(["/usr/bin/env"], NO_AGENT).readable == ()
    assert needs(["bash", "-c", "x"], NO_AGENT).folders == ()


def test_what_a_module_asks_for(tmp_path: Path) -> None:
    folder = write(tmp_path / "lib", {"main.py": b""})
    found = needs([sys.executable, str(folder / "main.py"), str(tmp_path)], SimpleNamespace(READABLE=(str(folder),)))  # type: ignore[arg-type]
    assert found.argv[0] == interpreter()
    assert found.readable[0] == str(folder)
    assert str(folder / "main.py") in found.readable
    assert str(tmp_path) not in found.readable


def test_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/home/me/bin:/usr/bin")
    assert "/home/me/bin" not in search_path(True, ("/x",)) and search_path(True, ("/x",)).startswith("/x:")
    assert "/home/me/bin" in search_path(False) and "/usr/bin" in search_path(True)


# --- Removal ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda folder: os.chmod(folder, 0o000),
    lambda folder: (folder / "a").symlink_to("/"),
    lambda folder: ((folder / "a").mkdir(), (folder / "a" / "b").mkdir(), os.chmod(folder / "a", 0o000)),
])  # fmt: skip
def test_everything_can_be_removed(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    make(folder)
    remove_tree(str(folder))
    assert not folder.exists() and Path("/usr").exists()
    remove_tree(str(folder))


def test_folders_of_dead_processes_are_removed(tmp_path: Path) -> None:
    def made(name: str, age: float = 3600.0) -> Path:
        base = tmp_path / name
        for inner in ("workspace/deep", "home", "tmp"):
            (base / inner).mkdir(parents=True)
        (base / "final.txt").write_text("")
        base.chmod(0o700)
        os.utime(base, (base.stat().st_mtime - age,) * 2)
        return base

    dead, young, alive, ours = made("job-a"), made("job-b", 1.0), made("job-c"), made("job-d")
    other, odd = made("other"), made("job-e")
    (odd / "final.txt").unlink()
    os.utime(odd, (1, 1))
    (tmp_path / "job-f").symlink_to(other)
    hold(str(ours))
    program = "import fcntl, os, sys\nfcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    words, pipe = [sys.executable, "-c", program, str(alive)], subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe) as process:
        assert process.stdout and process.stdout.readline()
        assert sweep(str(tmp_path), "job-") == 1
        process.communicate()
    assert not dead.exists() and all(path.exists() for path in (young, alive, ours, other, odd))
    let_go(str(ours))
    sweep.cache_clear()
    assert sweep(str(tmp_path), "job-") == 2
    assert young.exists() and not alive.exists() and not ours.exists()
