"""Ignore files against real git, and against hostile globs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skill_health.discovery.globs import glob_matcher
from skill_health.discovery.ignores import MAX_BYTES, Patterns, compile_patterns, ignored, ignored_within, read_patterns

TREE = [
    f"{folder}{name}"
    for folder in ("", "a/", "b/", "ab/", "a/a/", "a/b/", "b/a/", "a/b/a/", "a/b/a b/", "b/[a]/", "a/a/a/a/b/")
    for name in ("a.md", "ab.md", "b#", "!a", "a-b", "[b]", "b\\")
] + ["ab/b", "ab/a", "b/[a]/b", "a/b/a/b", "a/b/a b/a"]


def _git(folder: Path, *args: str) -> bytes:
    return subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("git")
    _git(root, "init", "-q")
    for path in TREE:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"")
    return root


def _kept(root: Path, folder: str = "", stack: tuple[Patterns, ...] = ()) -> Iterator[str]:
    """The files that are left when a walk enters nothing that is ignored."""
    own = read_patterns(str(root / folder / ".gitignore"), cut=len(folder))
    stack = (own, *stack) if own else stack
    for name in os.listdir(root / folder):
        path = folder + name
        is_folder = (root / path).is_dir()
        if name in (".git", ".gitignore") or ignored(stack, path, name, is_folder):
            continue
        yield from _kept(root, path + "/", stack) if is_folder else (path,)


def _compare(root: Path, files: dict[str, str]) -> None:
    for folder, text in files.items():
        (root / folder / ".gitignore").write_bytes(text.encode())
    try:
        listed = _git(root, "ls-files", "--others", "--exclude-standard", "-z").decode().split("\0")
        assert sorted(_kept(root)) == sorted(path for path in listed if path and not path.endswith(".gitignore"))
    finally:
        for folder in files:
            (root / folder / ".gitignore").unlink()


PIECES = st.sampled_from(
    [
        "a b",
        *r"a b ab * ? a* *b *.md a.* *a* [ab] [!a] [^b]* [a-b] [[:alpha:]] \a \* \[b] []a] [b-a] [a [[:no:]]".split(),
        *r"[\]b] [!] a-b b\# !a #b ** *** . ..".split(),
    ]
)
LINES = st.builds(
    lambda bang, lead, parts, tail, blanks: bang + lead + "/".join(parts) + tail + blanks,
    st.sampled_from(["", "", "", "!", "\\!", "#"]),
    st.sampled_from(["", "", "/"]),
    st.lists(PIECES, min_size=1, max_size=4),
    st.sampled_from(["", "", "/", "/**", "/**/", "/*", "//"]),
    st.sampled_from(["", "", " ", "  ", "\\ ", "\\  ", "\r", "\t", " \r"]),
)
FILES = st.lists(LINES, max_size=6).map("\n".join)


@pytest.mark.slow
@given(top=FILES, nested=FILES)
@example(top="*\n!*/\n!*.md", nested="")
@example(top="a/*\n!a/b/\n", nested="a.md\n!b")
@example(top="a/b/\n!a/b/a/", nested="")
@example(top="\ufeffa.md\r\nb/\r\n", nested="/a.md")
@example(top="**/a/**/b\n", nested="**\n!/b/")
@example(top="*\n!a/**\n", nested="!*")
@example(top="/*/a\n", nested="/b")
def test_as_git(repository: Path, top: str, nested: str) -> None:
    _compare(repository, {"": top, "a": nested})


@pytest.mark.parametrize(
    ("lines", "path", "verdict"),
    [
        ((), "a", None),
        (("# a", "", "   ", "/", "!", "[", "a\\"), "a", None),
        (("b",), "a", None),
        (("a",), "x/a", True),
        (("a/",), "x/a", None),
        (("/a",), "x/a", None),
        (("x/*",), "x/a", True),
        (("*", "!a"), "x/a", False),
        (("!x/a", "a"), "x/a", True),
        (("a", "!x/a"), "x/a", False),
        (("x/a", "!x/a/"), "x/a", True),
    ],
)
def test_decides(lines: tuple[str, ...], path: str, verdict: bool | None) -> None:
    patterns = compile_patterns(lines)
    assert (patterns.decide(path, path.rpartition("/")[2], False) if patterns else None) is verdict


def test_places_above_and_below_the_root_of_the_walk() -> None:
    above = compile_patterns(["sub/skills/a"], lead="sub/")
    below = compile_patterns(["/a"], cut=len("skills/"))
    assert above and below
    assert above.decide("skills/a", "a", True) is True
    assert below.decide("skills/a", "a", True) is True
    assert below.decide("skills/b/a", "a", True) is None


def test_the_nearest_file_that_speaks_decides() -> None:
    near, far = compile_patterns(["!a"]), compile_patterns(["a", "b"])
    assert near and far
    assert not ignored((near, far), "x/a", "a", False)
    assert ignored((near, far), "x/b", "b", False)
    assert not ignored((near, far), "x/c", "c", False)


def test_within_a_folder_that_is_left_out() -> None:
    stack = tuple(filter(None, [compile_patterns(["drafts/"])]))
    assert ignored_within(stack, "skills/drafts/a/SKILL.md", False)
    assert not ignored_within(stack, "skills/drafts", False)
    assert ignored_within(stack, "skills/drafts", True)
    assert not ignored_within(stack, "", True)


def test_no_file_and_too_large_a_file(tmp_path: Path) -> None:
    assert read_patterns(str(tmp_path / ".gitignore")) is None
    (tmp_path / ".gitignore").write_bytes(b"a\n" * MAX_BYTES)
    with pytest.raises(OSError, match="larger than 1 MiB"):
        read_patterns(str(tmp_path / ".gitignore"))


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xff*\n")
    patterns = read_patterns(str(tmp_path / ".gitignore"))
    assert patterns
    assert patterns.decide(os.fsdecode(b"\xffa"), os.fsdecode(b"\xffa"), False) is True


@pytest.mark.parametrize(
    "glob", ["*a" * 200 + "b", "**/a*/" * 60 + "b", "a/**/" * 60 + "b", "[!b]*" * 200 + "b", "*" * 5000 + "b"]
)
def test_hostile_globs_come_to_an_end(glob: str) -> None:
    matches = glob_matcher(glob, "/" in glob)
    assert matches
    assert not matches("a" * 2000)
    assert not matches("a/" * 1000 + "a")


@given(st.text(max_size=30), st.text(max_size=30))
def test_never_raises(line: str, path: str) -> None:
    patterns = compile_patterns([line])
    if patterns:
        patterns.decide(path, path.rpartition("/")[2], True)
