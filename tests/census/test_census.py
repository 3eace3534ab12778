"""The census of made collections, and its figures against other computations."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from skill_health.census.measure import CountedSkill, measure, median_ranks, quantile, size_figures
from skill_health.census.render import census_blocks
from skill_health.cli import main
from skill_health.core.validation import problems
from skill_health.documents._record import encode_record
from skill_health.fleet.sketch import draw_sketch
from skill_health.text.blocks import as_markdown, as_text

BODY = "---\nname: {0}\ndescription: Sorts {0}. Use when {0} are in a mess.\n{1}---\n# Work\n\nSort the {0}, then say so.\n"


def git(root: Path, *words: str, date: str = "2026-01-15T12:00:00+00:00") -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    env = {**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    subprocess.run(("git", *names, *words), cwd=root, check=True, capture_output=True, env=env)


def test_the_interval_of_the_median_holds_it_as_often_as_it_says() -> None:
    for n in (*range(1, 60), 99, 100, 500, 1000, 1001, 2500, 20_000):
        first, last = median_ranks(n)
        assert 0 <= first <= last <= n - 1 and first == n - 1 - last
        if n < 6:
            assert (first, last) == (0, n - 1)
            continue
        assert 2 * binom.cdf(first, n, 0.5) <= (0.05 if n <= 1000 else 0.051), n
        # One place further in it would hold too seldom.
        assert 2 * binom.cdf(first + (1 if n <= 1000 else 3), n, 0.5) > 0.05, n


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=40), st.sampled_from([0.25, 0.5, 0.75]))
def test_quantiles_are_those_of_numpy(values: list[int], share: float) -> None:
    assert quantile(sorted(values), share) == pytest.approx(np.quantile(values, share), abs=1e-3)


@given(st.lists(st.integers(0, 10**10), min_size=1, max_size=60))
def test_every_skill_is_in_one_class(values: list[int]) -> None:
    found = size_figures(values, None)
    assert sum(each.count for each in found.classes) == found.n == len(values)
    for value in values:
        assert sum(each.above <= value < each.below for each in found.classes) == 1
    assert found.least <= found.low <= found.median <= found.high <= found.most
    assert found.lower <= found.median <= found.upper and found.mean == pytest.approx(
        np.mean(values), rel=1e-6, abs=1e-3
    )


def counted(
    path: str, text: str, files: Mapping[str, int] | None = None, licence: str = "", category: str = ""
) -> CountedSkill:
    own = {**(files or {}), "SKILL.md": len(text)}
    return CountedSkill(path, str(hash(text)), draw_sketch(text), own, licence, category)


LONG = " ".join(f"word{n}" for n in range(200))
SKILLS = [
    counted("a/SKILL.md", "one", licence="MIT"), counted("b/SKILL.md", "one", {"x.PY": 5, "y.py": 1}, licence="mit"),
    counted("c/SKILL.md", LONG, {"Makefile": 3, ".env": 2, "a.tar.gz": 9}, licence="Apache-2.0", category="Data"),
    counted("d/SKILL.md", f"{LONG} and a little more", {f"{n}.md": n for n in range(5)}, licence="MIT"),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_the_order_changes_nothing_and_everything_is_counted(seed: int) -> None:
    mixed = random.Random(seed).sample(SKILLS, len(SKILLS))
    months = {"a/SKILL.md": "2026-02", "b/SKILL.md": "2026-01", "c/SKILL.md": "2026-02", "gone/SKILL.md": "2025-01"}
    found = measure(mixed, 2, 1, months)
    assert encode_record(found) == encode_record(measure(SKILLS, 2, 1, months))
    assert (found.skills, found.unreadable, found.copies) == (4, 2, 1)
    shares = (found.single_file, found.at_most_five, found.same_text, found.near_text)
    assert [each.count for each in shares] == [1, 3, 2, 2]
    kinds = {each.extension: (each.files, each.skills) for each in found.extensions}
    assert kinds == {".md": (9, 4), ".py": (2, 1), "": (2, 1), ".gz": (1, 1)}
    assert sum(each.share.value or 0 for each in found.extensions) == pytest.approx(1)
    assert [(each.word, each.count) for each in found.licences] == [("MIT", 3), ("Apache-2.0", 1)]
    assert [(each.word, each.count) for each in found.categories] == [("", 3), ("Data", 1)]
    assert [(each.month, each.count) for each in found.added or ()] == [("2026-01", 1), ("2026-02", 2)]
    assert measure(SKILLS, 0, 0, None).added is None


def test_what_others_wrote_is_text() -> None:
    nasty = counted("a/SKILL.md", "x", {"a.\x1b[2J": 1}, licence="\x1b[31m<script>|`", category="| a |\n# b")
    for render in (as_text, as_markdown):
        told = render(census_blocks(measure([nasty], 0, 0, None)))
        assert "\x1b" not in told and (render is as_text or "<script>" not in told)


@pytest.fixture
def collection(write: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write({
        "skills/maps/SKILL.md": BODY.format("maps", "license: MIT\nmetadata:\n  category: Data\n"), "skills/maps/run.py": "print()\n",
        "skills/maps/_meta.json": "{}",
        "skills/pens/SKILL.md": BODY.format("pens", ""), "skills/bad/SKILL.md": "", "skill-health.toml": "",
    })  # fmt: skip
    (root / "skills/bad/SKILL.md").unlink()
    (root / "skills/bad/SKILL.md").symlink_to("nowhere")
    (root / "secret.txt").write_text("x" * 999, encoding="utf-8")
    (root / "skills/pens/link.txt").symlink_to(root / "secret.txt")
    monkeypatch.chdir(root)
    return root


def census(capsys: pytest.CaptureFixture[str], *paths: str) -> Any:
    assert main(["census", "--format", "json", *paths]) == 0
    found = json.loads(capsys.readouterr().out)
    assert problems("census", found) == []
    return found


def test_a_collection_on_disk(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = census(capsys)
    assert (found["skills"], found["unreadable"], found["added"]) == (2, 1, None)
    assert found["bundle"]["most"] == (collection / "skills/maps/SKILL.md").stat().st_size + 8
    assert found["single_file"]["count"] == 1 and found["single_file"]["paper"] == 0.599
    assert found["licences"] == [{"word": "", "count": 1}, {"word": "MIT", "count": 1}]
    assert census(capsys, "skills/maps")["skills"] == 1


@pytest.mark.slow
def test_months_are_those_of_the_history(
    collection: Path, capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    git(collection, "init", "--quiet")
    git(collection, "add", "skills/pens")
    git(collection, "commit", "--quiet", "-m", "a", date="2025-11-30T23:30:00-08:00")
    git(collection, "add", "--all")
    git(collection, "commit", "--quiet", "-m", "b", date="2026-02-01T10:00:00+00:00")
    git(collection, "mv", "skills/maps", "skills/märz")
    git(collection, "commit", "--quiet", "-m", "c", date="2026-03-01T10:00:00+00:00")
    months = [{"month": "2025-11", "count": 1}, {"month": "2026-03", "count": 1}]
    assert census(capsys)["added"] == months == census(capsys, "skills")["added"]
    clone = tmp_path_factory.mktemp("clones") / "shallow"
    subprocess.run(
        ["git", "clone", "--quiet", "--depth", "1", f"file://{collection}", str(clone)], check=True, capture_output=True
    )
    assert census(capsys, str(clone))["added"] is None


@pytest.mark.slow
def test_charts_show_every_class_and_say_what_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(6):
        folder = tmp_path / "skills" / f"s{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(BODY.format(f"s{number}", "") + "x" * 4**number, "utf-8")
        (folder / f"a.{'py' if number % 2 else '<b>'}").write_text("1", "utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "a")
    assert main(["census", "--charts", "charts"]) == 0
    found = {path.name: path.read_text("utf-8") for path in (tmp_path / "charts").iterdir()}
    assert sorted(found) == [f"census-{name}.svg" for name in ("bundle", "extensions", "files", "months", "skill-md")]
    assert all(text.startswith("<svg") and "<title" in text for text in found.values())
    assert ".md" in found["census-extensions.svg"] and "<b>" not in found["census-extensions.svg"]
    assert "2026-01" in found["census-months.svg"]
    first = dict(found)
    assert main(["census", "--charts", "charts"]) == 0
    assert {path.name: path.read_text("utf-8") for path in (tmp_path / "charts").iterdir()} == first
