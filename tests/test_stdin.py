"""`lint -` says of a text what `lint PATH` says once it is saved there, wherever PATH is and whatever is there now."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Run
from thinned import thinned

from tests.rules.test_cases import CASES, plant

Write = Callable[[Mapping[str, str | bytes]], Path]
HEAD = "---\nname: tidy\ndescription: Tidies lists. Use when a list is out of order.\n---\n# Tidy\n\n"


@pytest.fixture
def pipe(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `lint - ...` with this text on standard input."""

    def call(data: bytes, *args: str, **more: Any) -> Any:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))
        return run("lint", *args, "-", **more)

    return call


def planted(case: dict[str, Any], root: Path) -> list[Path]:
    plant(root, case)
    return sorted(path for path in root.rglob("*") if path.name.lower() == "skill.md" and not path.is_symlink())


@pytest.mark.parametrize("state", ["as it is", "with another text", "without it"])
@pytest.mark.parametrize(
    ("code", "case"), thinned([each for each in CASES if each.values[1]["kind"] == "fail"][::7], 3)
)
def test_it_is_judged_as_if_it_were_saved(
    code: str, case: dict[str, Any], state: str, run: Run, pipe: Run, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    for path in planted(case, tmp_path)[:2]:
        if not path.is_file():
            continue
        options = ("--format", "json", "--extend-select", code, "--no-cache")
        saved = run("lint", *options, path)
        data = path.read_bytes()
        if state == "with another text":
            path.write_bytes(b"---\nname: else\n---\n# Else\n")
        elif state == "without it":
            path.unlink()
        given = pipe(data, *options, "--stdin-filename", str(path))
        assert (given.stdout, given.returncode) == (saved.stdout, saved.returncode), given.stderr
        path.write_bytes(data)


@pytest.mark.parametrize("cached", [True, False], ids=["with a cache", "without"])
def test_what_is_kept_of_earlier_runs_is_not_taken_for_it(cached: bool, run: Run, pipe: Run, write: Write) -> None:
    more = () if cached else ("--no-cache",)
    root = write(
        {"skills/tidy/SKILL.md": HEAD + "[it](a.md)\n", "skills/other/SKILL.md": HEAD.replace("tidy", "other")}
    )
    place = ("--stdin-filename", "skills/tidy/SKILL.md", "--format", "concise", *more)
    clean = (HEAD + "Sort it.\n").encode()
    for _ in range(2):
        assert "LI001" in run("lint", "--format", "concise", *more, cwd=root).stdout
        assert pipe(clean, *place, cwd=root).stdout == ""
        assert "FM008" in pipe(clean + b"\x07", *place, cwd=root).stdout
        assert "LI001" in pipe((HEAD + "[it](a.md)\n").encode(), *place, cwd=root).stdout


def test_without_a_path_it_stands_here(pipe: Run, write: Write) -> None:
    root = write({"skills/tidy/references/a.md": "# A\n"})
    given = pipe((HEAD + "See [a](references/a.md) and [b](references/b.md).\n").encode(), cwd=root / "skills" / "tidy")
    assert "SKILL.md:7:30: warning LI001" in given.stdout
    assert "1 skill checked" in given.stdout


def test_a_bundled_file_is_judged_within_its_skill(run: Run, pipe: Run, write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD + "See [a](references/a.md).\n", "skills/tidy/references/a.md": "# A\n"})
    text = b"# A\n\nSee [gone](gone.md).\n"
    for path in ("a.md", "new.md"):
        target = f"skills/tidy/references/{path}"
        given = pipe(text, "--stdin-filename", target, "--format", "concise", cwd=root)
        old = (root / target).read_bytes() if (root / target).exists() else None
        (root / target).write_bytes(text)
        assert given.stdout == run("lint", "--format", "concise", target, cwd=root).stdout != ""
        if old is not None:
            (root / target).write_bytes(old)
    made = pipe(
        (HEAD + "See [a](references/a.md) and [b](b.md).\n").encode(), "--stdin-filename", "skills/tidy/b.md", cwd=root
    )
    assert "b.md" not in [line.split(":")[0] for line in made.stdout.splitlines() if "LI001" in line]


def test_a_changed_copy_is_a_skill_of_its_own(pipe: Run, write: Write) -> None:
    root = write({f"{place}/tidy/SKILL.md": HEAD for place in ("a", "b")})
    (root / ".git").mkdir()
    place = ("--stdin-filename", "b/tidy/SKILL.md", "--format", "concise", "--no-cache")
    assert not re.search("RT0", pipe(HEAD.encode(), *place, cwd=root).stdout)
    (root / "b/tidy/SKILL.md").write_text(HEAD + "More.\n")
    saved = pipe((HEAD + "More.\n").encode(), *place, cwd=root).stdout
    (root / "b/tidy/SKILL.md").write_text(HEAD)
    assert pipe((HEAD + "More.\n").encode(), *place, cwd=root).stdout == saved
    assert re.search("RT0", saved)


def test_fixed_text_goes_to_standard_output_and_nothing_is_written(pipe: Run, write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD})
    text = (HEAD + "A bell\x07 here, don\xe2\x80\x99t.\n[gone](gone.md)\n").encode()
    place = ("--stdin-filename", "skills/tidy/SKILL.md")
    fixed = pipe(text, "--fix", *place, cwd=root)
    assert fixed.stdout == text.replace(b"\x07", b"").decode()
    assert "LI001" in fixed.stderr and "U+0007" not in fixed.stderr
    assert "’t" in pipe(text, "--fix", "--unsafe-fixes", *place, cwd=root).stdout
    shown = pipe(text, "--diff", *place, cwd=root)
    assert shown.returncode == 1 and "+A bell here" in shown.stdout
    assert pipe(HEAD.encode(), "--diff", *place, cwd=root).stdout == ""
    assert (root / "skills/tidy/SKILL.md").read_text() == HEAD


def test_a_skill_that_is_the_root_is_judged_alone(run: Run, pipe: Run, write: Write) -> None:
    root = write({"beside/other/SKILL.md": HEAD.replace("tidy", "other"), "beside/tidy/notes.md": ""}) / "beside/tidy"
    piped = pipe(HEAD.encode(), "--stdin-filename", "SKILL.md", cwd=root)
    (root / "SKILL.md").write_text(HEAD, "utf-8")
    saved = run("lint", "SKILL.md", cwd=root)
    assert (piped.returncode, piped.stdout, piped.stderr) == (saved.returncode, saved.stdout, saved.stderr)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0" * 300, b"\xff\xfe\x00", b"---\n" * 5000, b"\xef\xbb\xbf",
        pytest.param(b"x" * (2 << 20), marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_any_bytes(data: bytes, pipe: Run, write: Write) -> None:
    # In a folder of its own: what is beside a SKILL.md counts, and other tests leave skills beside theirs.
    root = write({"collection/skills/other/SKILL.md": HEAD.replace("tidy", "other")}) / "collection"
    for name in ("skills/tidy/SKILL.md", "skills/other/a\nb.md", "SKILL.md"):
        assert pipe(data, "--stdin-filename", name, cwd=root).returncode in (0, 1)


def test_what_is_no_part_of_a_skill_comes_back_as_it_is(pipe: Run, write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD, "README.md": "# Read\n"})
    given = pipe(b"# Read \x07\n", "--fix", "--stdin-filename", "README.md", cwd=root)
    assert (given.stdout, given.returncode) == ("# Read \x07\n", 0)
    assert "README.md is not part of a skill" in given.stderr


@pytest.mark.parametrize("switch", ["--staged", "--changed=HEAD", "--watch", "--add-ignore", "--write-baseline=x"])
def test_what_is_about_files_is_refused(switch: str, pipe: Run, write: Write) -> None:
    given = pipe(HEAD.encode(), switch, cwd=write({}))
    assert given.returncode == 2
    assert given.stderr.count("\n") == 1 and switch.split("=")[0] in given.stderr


def test_no_other_path_beside_it(run: Run, write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD})
    assert run("lint", "-", "skills", cwd=root).returncode == 2
    assert run("lint", "skills", "--stdin-filename", "SKILL.md", cwd=root).returncode == 2


@pytest.mark.slow
def test_as_a_process(run: Run, write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD})
    done = run("lint", "-", "--stdin-filename", "skills/tidy/SKILL.md", cwd=root, input=HEAD + "\x07\n")
    assert "FM008" in done.stdout and done.returncode == 0
