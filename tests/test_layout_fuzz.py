"""Any layout of files: no command meets an internal error, and none touches what is outside."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fixture_types import Run
from hypothesis import given
from hypothesis import strategies as st

SECRET = "swordfish-4711-of-somebody-else"
HEAD = "---\nname: a\ndescription: Sorts lists: by size. Use when sorting.\n---\n"
NAMES = st.sampled_from(
    ["skills", "a", "b", "SKILL.md", "skill.md", "references", "x.md", "scripts", "claims.jsonl", "prompts.jsonl", "tasks", ".claude",
     ".gitignore", ".git", "node_modules", "pyvenv.cfg", "skill-health.toml", "skill-health-baseline.json", "plugin.json",
     ".claude-plugin", "reports", "evals", "é\n\x1b[0m", "x" * 200, " ", "-rf", "\udcff", "con", "a:b"]
)  # fmt: skip
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
TARGETS = st.one_of(
    PATHS,
    st.sampled_from(["../outside", "../outside/SKILL.md", "../../outside/SKILL.md", "../../../outside", "/proc/self/environ",
                     "/dev/zero", ".", "..", "../..", "/", "/nowhere", "SKILL.md", "a/../../outside"]),
)  # fmt: skip
CONTENTS = st.sampled_from(
    ["", HEAD + "# A\n\n[x](references/x.md) [y](../b/SKILL.md) [z](../../../outside/SKILL.md)\n", "*\n", "\0\xff", "[" * 2_000,
     "---\na:\n" + "- " * 2_000 + "\n---\n", '[sources]\nclaims = ["../outside/*", "**/*.jsonl"]\n', '{"claim_id": "x"}\n',
     '{"version": 1, "findings": []}', '{"name": "p", "skills": ["../../outside"]}', "gitdir: ../outside\n", "x\n" * 1_000]
)  # fmt: skip
NODES = st.one_of(
    st.tuples(st.just("file"), PATHS, CONTENTS), st.tuples(st.just("link"), PATHS, TARGETS),
    st.tuples(st.just("pipe"), PATHS, st.just("")), st.tuples(st.just("folder"), PATHS, st.just("")),
    st.tuples(st.just("hard link"), PATHS, PATHS),
)  # fmt: skip
COMMANDS = (
    ("lint",), ("lint", "--fix", "--unsafe-fixes"), ("lint", "--format", "sarif", "--score"), ("lint", "--profile", "plan-v2.3.0"),
    ("fixtures",), ("status",), ("daily", "--time", "2026-11-20T04:00:00Z"), ("router", "run", "--models", "lexical:overlap"),
    ("effectiveness", "check", "--static"), ("report", "--format", "md"),
)  # fmt: skip


def plant(root: Path, kind: str, path: str, given: str) -> None:
    place = root / path
    try:
        # What is planted stays within the layout, wherever its links lead.
        if not os.path.realpath(place.parent).startswith(str(root)):
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind == "file" and not place.is_symlink() and not place.is_fifo():
            place.write_text(given, "utf-8", "surrogateescape")
        elif kind == "link":
            place.symlink_to(given)
        elif kind == "pipe":
            os.mkfifo(place)
        elif kind == "folder":
            place.mkdir()
        elif kind == "hard link" and (root / given).is_file() and not (root / given).is_symlink():
            os.link(root / given, place)
    except OSError:
        return


def states(folder: Path) -> Iterator[tuple[str, object]]:
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        yield str(path), (state.st_ino, state.st_mode, state.st_mtime_ns, state.st_nlink, path.read_bytes())


@pytest.mark.slow
@given(st.lists(NODES, max_size=12))
def test_any_layout_is_judged_or_refused(run: Run, nodes: list[tuple[str, str, str]]) -> None:
    with TemporaryDirectory() as made:
        root, outside = Path(os.path.realpath(made)) / "repository", Path(made) / "outside"
        for folder in (root, outside):
            folder.mkdir()
        for name in ("SKILL.md", "x.md", "claims.jsonl"):
            (outside / name).write_text(HEAD + SECRET)
        (root / "skills/good").mkdir(parents=True)
        (root / "skills/good/SKILL.md").write_text(HEAD.replace("name: a", "name: good") + "# Good\n\nSort it.\n")
        for node in nodes:
            plant(root, *node)
        before = dict(states(outside))
        for command in COMMANDS:
            # Git itself waits for a pipe in the place of its own files.
            if command[0] == "daily" and any(path.is_fifo() for path in root.rglob(".git*")):
                continue
            done = run(*command, cwd=root)
            assert done.returncode in (0, 1, 2), (command, done.stderr)
            assert "internal error" not in done.stderr
            assert SECRET not in done.stdout + done.stderr
            assert "\x1b" not in done.stdout + done.stderr
        assert dict(states(outside)) == before
