"""The benchmarks run and print what they should. What they measure is no matter of a test: machines differ."""

from __future__ import annotations

import hashlib
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import _generate, _trees
from benchmarks.__main__ import QUESTIONS
from benchmarks._measure import Command, Failed, Options, Sample, environment, interleave, measure, python
from benchmarks._table import Ratio, absolutes, ratios

RATIO = r"\| \*\*\d+\.\d\d\*\* \| \d+\.\d\d - \d+\.\d\d \|"


@pytest.fixture
def bench(checkout: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `python -m benchmarks` with one round over a tiny collection and a stand-in for agnix."""
    agnix = tmp_path / "agnix"
    agnix.write_text("#!/bin/sh\necho found\nexit 1\n", encoding="utf-8")
    agnix.chmod(0o755)

    def call(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "benchmarks", *args, "--rounds", "1", "--skills", "3", "--agnix", str(agnix)]
        env = os.environ | {"PYTHONPATH": str(checkout)}
        return subprocess.run(command, cwd=checkout, env=env, capture_output=True, encoding="utf-8", timeout=600)

    return call


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("hook", ["## One skill from a hook", "one skill, no cache", "unchanged and cached", "edited since"]),
        ("collection", ["## A collection", "3 generated skills", "no cache, two processes", "after one edit",
                        "hook on one skill, no cache"]),
        ("scale", ["## Ten times", "| 30 generated skills, no cache | 3 generated skills, no cache |", "peak memory"]),
        ("parse", ["## Inside one process", "markdown-it-py, full parse", "| frontmatter |", "the slowest steps",
                   "opt-in rules"]),
    ],
)  # fmt: skip
def test_every_question_is_answered(bench: Any, name: str, shown: list[str]) -> None:
    done = bench(name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r"\w+ \w+, \d+ cores, CPython 3\.\d+\.\d+", done.stdout)
    assert re.search(RATIO, done.stdout)
    for text in shown:
        assert text in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert all(row.endswith("|") for row in rows)
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|Users)/", done.stdout)


@pytest.mark.slow
def test_a_real_tree_is_copied_and_never_changed(bench: Any, checkout: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    source = (checkout / "fixtures" / "skills" / "log-triage" / "SKILL.md").read_bytes()
    for name in ("log-triage", "log-counting"):
        (tree / "skills" / name).mkdir(parents=True)
        (tree / "skills" / name / "SKILL.md").write_bytes(source.replace(b"log-triage", name.encode()))
    before = digest(tree)
    done = bench("collection", "--tree", str(tree))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 skills, `skill-health lint" in done.stdout
    assert digest(tree) == before


@pytest.mark.slow
def test_what_cannot_be_measured_is_said(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "agnix").write_text("#!/bin/sh\necho broken >&2\nexit 4\n", encoding="utf-8")
    done = bench("collection")
    assert done.returncode == 1
    assert re.search(r"^Not measured: agnix .* 4: broken$", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_the_tables_go_between_the_marks_of_a_document(bench: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Speed\n\n<!-- begin generated -->\nstale tables\n<!-- end generated -->\n\n## After\n", encoding="utf-8"
    )
    for _ in range(2):
        assert bench("parse", "--write", str(page)).returncode == 0
        text = page.read_text(encoding="utf-8")
        assert text.startswith("# Speed\n\n<!-- begin generated -->\n\n")
        assert text.endswith(" |\n\n<!-- end generated -->\n\n## After\n")
        assert text.count("\n### Inside one process") == 1
        assert "stale tables" not in text
    page.write_text("# Speed\n", encoding="utf-8")
    assert "has no lines '<!-- begin generated -->'" in bench("parse", "--write", str(page)).stderr


def test_the_page_has_a_place_for_both_collections(checkout: Path) -> None:
    text = (checkout / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for kind in ("generated", "real"):
        assert text.count(f"<!-- begin {kind} -->\n") == text.count(f"<!-- end {kind} -->\n") == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["hok"], "there is no question 'hok'; there are hook, collection, scale, editor, parse"),
        (["--tree", "no-such-folder"], "no such folder"),
    ],
)
def test_mistakes_are_named(bench: Any, args: list[str], message: str) -> None:
    done = bench(*args)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    env = environment(tmp_path)
    with pytest.raises(Failed, match="ended with exit code 3: what was wrong"):
        measure(
            Command(python("-c", "import sys; print('what was wrong', file=sys.stderr); sys.exit(3)"), tmp_path, env)
        )
    with pytest.raises(Failed, match="cannot be run"):
        measure(Command(["no-such-program"], tmp_path, env))


@pytest.mark.slow
def test_commands_take_turns_after_a_warm_up(tmp_path: Path) -> None:
    log = tmp_path / "log"
    env = environment(tmp_path)

    def note(letter: str) -> None:
        log.write_text((log.read_text() if log.exists() else "") + letter)

    def command(letter: str) -> Command:
        return Command(python("-c", f"open({str(log)!r}, 'a').write({letter!r})"), tmp_path, env)

    samples = interleave({"a": command("a"), "b": command("b")._replace(before=lambda: note("+"))}, 3)
    assert log.read_text() == "a+b" * 4
    assert [len(runs) for runs in samples.values()] == [3, 3]
    assert all(run.wall > 0 and run.cpu > 0 and run.peak > 1e6 for runs in samples.values() for run in runs)


def test_a_ratio_is_the_median_of_the_rounds() -> None:
    ours = [Sample(wall, wall, 30_000_000) for wall in (1.0, 4.0, 9.0)]
    theirs = [Sample(wall, wall * 2, 20_000_000) for wall in (1.0, 2.0, 3.0)]
    samples = {"ours": ours, "theirs": theirs}
    table = ratios(samples, [Ratio("ours", "theirs", 2.0), Ratio("ours", "theirs", 2.0, strict=True)])
    assert "| ours | theirs | 3 | **2.00** | 1.00 - 3.00 | 1.00 | <= 2 | yes |" in table
    assert "| < 2 | **no** |" in table
    assert "**0.20** | 0.10 - 0.30" in ratios(samples, [Ratio("ours", "theirs", scale=10)])
    assert "| ours | 4,000 ms | 4,000 ms | 30 MB |" in absolutes(samples)


@pytest.mark.slow
def test_the_generated_collection_is_the_same_every_time(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        _generate.generate(tmp_path / name, 12, seed)
    assert digest(tmp_path / "one") == digest(tmp_path / "two") != digest(tmp_path / "three")


@pytest.mark.slow
def test_the_generated_skills_are_as_long_as_public_ones(tmp_path: Path) -> None:
    _generate.generate(tmp_path, 200, 1)
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("SKILL.md")]
    lengths = sorted(text.count("\n") for text in texts)
    assert len(set(texts)) == 200
    assert 135 <= statistics.median(lengths) <= 157
    assert 370 <= lengths[180] <= 450
    assert 650 <= lengths[198] <= 1000


@pytest.mark.slow
def test_further_copies_of_a_real_tree_differ_in_name_and_description(tmp_path: Path) -> None:
    tree, scratch = tmp_path / "tree", tmp_path / "scratch"
    _generate.generate(tree, 4, 1)
    copied = _trees.prepare(Options(scratch, tree, 4, 1, 1, None), 3)
    assert len(copied.skills) == 12
    folders = [Path(path).parent.name for path in copied.skills]
    heads = [(copied.root / path).read_text(encoding="utf-8").split("---\n")[1] for path in copied.skills]
    assert len(set(folders)) == len(set(heads)) == 12
    assert all(f"name: {folder}\n" in head for folder, head in zip(folders, heads, strict=True))


def test_a_tree_without_skills_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    with pytest.raises(Failed, match="no SKILL"):
        _trees.prepare(Options(tmp_path / "scratch", tmp_path / "tree", 1, 1, 1, None))


def digest(folder: Path) -> str:
    """A digest over the names and bytes of all files."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            total.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


@pytest.mark.slow
def test_the_daily_history_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import history

    monkeypatch.setattr(history, "SIZES", (3,))
    monkeypatch.setattr(history, "DAYS", (4,))
    _, table = history.run(Options(tmp_path, None, 3, 1, 1, None))
    assert re.search(r"(?m)^\| 3 \| 4 \| \*\*\d{3} B\*\* \| < 20,000 B \| yes \| 0.00 MB ", table), table
    assert len((tmp_path / "3/reports-4/skill-health-history.jsonl").read_bytes().splitlines()) == 5


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_question_can_be_asked(name: str) -> None:
    question = import_module(f"benchmarks.{name}")
    assert question.TITLE and question.ROUNDS > 0 and callable(question.run)
