"""What a hook finds in the skills of a commit is what a run over the whole collection finds in them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from thinned import EXHAUSTIVE, SLOW, thinned

from benchmarks._generate import generate
from skill_health.config.settings import config_with, load_config
from skill_health.discovery.corpus import discover
from skill_health.lint.pipeline import run
from skill_health.rules._api import Finding
from skill_health.rules.links import unknown_skill
from skill_health.skill.parse import parse_head, parse_skill
from tests.rules.test_cases import LOADER, plant

ROOT = Path(__file__).parents[1]
DAY = date(2026, 11, 21)
FILES = sorted((ROOT / "tests" / "rules").glob("*/*.yaml"))
MANY = [
    (document["rule"], case)
    for document in (yaml.load(path.read_text("utf-8"), LOADER) for path in FILES)
    for case in document["cases"]
    if sum(path.endswith("/SKILL.md") for path in case.get("tree", {})) > 1
]


def lint(root: Path, named: Iterable[str] = (), use_cache: bool = False) -> tuple[list[str], tuple[Finding, ...]]:
    """What was asked for, and what was found."""
    config = config_with(load_config(str(root)), extend_select=("ALL",))
    named = list(named)
    discovery = discover([str(root / path) for path in named or ("",)], config, str(root))
    found = run(discovery, config, DAY, jobs=1, use_cache=use_cache, paths=named)
    return [entry.path for entry in found.entries if entry.target], found.findings


def agree(root: Path, named: list[str], whole: tuple[Finding, ...], use_cache: bool = False) -> None:
    wanted, found = lint(root, named, use_cache)
    of_them = [f for f in whole if {f.path, f.skill, *f.also} & {*wanted, *named}]
    assert list(found) == of_them, named


@pytest.mark.parametrize(
    ("code", "case"), thinned([pytest.param(*each, id=f"{each[0]}-{each[1]['id']}") for each in MANY], 3)
)
def test_each_skill_of_a_case(code: str, case: dict[str, Any], tmp_path: Path) -> None:
    plant(tmp_path, case)
    paths, whole = lint(tmp_path)
    for path in [*paths, *(p for p in case["tree"] if p.endswith((".jsonl", "metadata.json")))][:4]:
        agree(tmp_path, [path], whole)


@pytest.mark.parametrize(("skills", "asked"), thinned([(9, 1), (150, 40)], 2, SLOW, EXHAUSTIVE))
def test_random_skills_of_a_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skills: int, asked: int
) -> None:
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(tmp_path / "cache"))
    root, rng = tmp_path / "root", random.Random(skills)
    generate(root, skills, skills)
    shutil.copytree(ROOT / "fixtures" / "skills", root / "skills", dirs_exist_ok=True)
    shutil.copytree(ROOT / "fixtures" / "registries", root / "registries")
    (root / "skill-health.toml").touch()
    paths, whole = lint(root)
    for path in rng.sample(paths, 6):
        # Copies under another name are close to each other, and share every passage.
        shutil.copytree((root / path).parent, (root / path).parent.with_name(f"{Path(path).parent.name}-copy"))
    paths, whole = lint(root)
    for _ in range(asked):
        agree(root, rng.sample(paths, rng.choice((1, 1, 2, 5))), whole)
        agree(root, rng.sample(paths, rng.choice((1, 1, 2, 5))), whole, use_cache=True)


@pytest.mark.slow
def test_siblings_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    from skill_health.skill import markdown

    parse = markdown.parse_document
    monkeypatch.setattr(markdown, "parse_document", lambda *given: (parsed.append(1), parse(*given))[1])
    config = load_config(str(ROOT / "fixtures"))
    path = str(ROOT / "fixtures" / "skills" / "eval-statistics" / "SKILL.md")
    discovery = discover([path], config, str(ROOT / "fixtures"))
    run(discovery, config, DAY, jobs=1, use_cache=False)
    assert len(discovery.entries) > 10
    assert len(parsed) == 1


HEADINGS = (
    "## Related skills", "- ## Related", "> 12. ### See also:", "Skill integrations\n---", "...\nWorks well with\n===",
    "## *Complementary skills*", "1) # Cross-references ##", "## \u017fee al\u017fo",
)  # fmt: skip


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_section_on_related_skills_is_not_overlooked(heading: str) -> None:
    text = f"---\nname: one\n---\n\n{heading}\n\n- other-skill - does more\n"
    assert unknown_skill.may_have_section(text)


def test_no_section_means_no_parsing() -> None:
    assert not unknown_skill.may_have_section("# Sorting\n\nIt works with lists, and is related to `sort`.\n")


@pytest.mark.parametrize(
    "text", ["", "# Only\n", "---\nname: a\n---\n# A\n\nText\n", "---\na: [\n---\n" + "x" * 30_000]
)
def test_a_head_is_the_skill_without_its_long_lines(text: str) -> None:
    head, whole = parse_head(text.encode(), "a/SKILL.md"), parse_skill(text.encode(), "a/SKILL.md")
    assert [d for d in whole.defects if d.kind != "long-line"] == list(head.defects)
    assert (head.name, head.frontmatter, head.lines, head.body) == (
        whole.name, whole.frontmatter, whole.lines, whole.body,
    )  # fmt: skip
