"""The tutorials are run: what they show is what a user sees who follows them, from an empty folder."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.fixture(scope="module")
def tutorials() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tutorials", ROOT / "scripts" / "tutorials.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tutorials"] = module
    spec.loader.exec_module(module)
    return module


TUTORIALS = [
    pytest.param(page, marks=[pytest.mark.exhaustive] * (page.stem == "effect"))
    for page in PAGES
    if page.name != "README.md"
]


@pytest.mark.real
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_shows_what_happens(tutorials: ModuleType, page: Path, tmp_path: Path) -> None:
    steps = list(tutorials.rerun(page.read_text("utf-8"), tmp_path))
    assert len(steps) >= 8
    for command, shown, printed in steps:
        assert tutorials.alike(shown, printed), f"$ {command}\n{printed}"


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("mean 0.9\n", "mean 0.9\n", True),
        ("mean 0.9\n", "mean 0.8\n", False),
        ("of 2026-11-22T04:00:00Z, commit 9d5c4362bee0\n", "of 2027-01-01T00:00:00Z, commit 4414672afd51\n", True),
        ("run 20261122T065115Z-4ddb1784\n", "run 20270101T000000Z-d731ad58\n", True),
        ("first\n…\nlast\n", "first\na\nb\nlast\n", True), ("first\n…\nlast\n", "first\na\nb\n", False),
        ("", "an error\n", False), ("12 skills\n", "1234567 skills\n", False),
    ],
)  # fmt: skip
def test_what_is_compared(tutorials: ModuleType, shown: str, printed: str, same: bool) -> None:
    assert tutorials.alike(shown, printed) is same


def test_a_file_with_fences_in_it_stands_between_longer_ones(tutorials: ModuleType, tmp_path: Path) -> None:
    page = "````markdown a.md\n```sh\nls\n```\n````\n\n```console\n$ cat a.md\n```\n"
    assert list(tutorials.rerun(page, tmp_path)) == [("cat a.md", "", "```sh\nls\n```\n")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"(`{3,}).*?\1(?!`)", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / target).exists(), target
