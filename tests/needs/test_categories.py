"""What shows a need is found, what comes near is not, and no text breaks the reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skill_health.documents.needs_report import EvidenceForm, NeedCategory
from skill_health.needs.find import MOST_EVIDENCE, all_categories, find_needs
from skill_health.needs.model import EvidenceKind, SkillNeeds
from skill_health.skill.parse import parse_skill

CASES: dict[str, dict[str, dict[str, dict[str, Any]]]] = yaml.safe_load(
    Path(__file__).with_name("cases.yaml").read_text("utf-8")
)
EVERY = [(category, answer, name) for category, own in CASES.items() for answer in own for name in own[answer]]


def needs(case: dict[str, Any]) -> SkillNeeds:
    description = case.get("description", "Helps with a thing.")
    head = f"{case['head']}\n" if "head" in case else ""
    text = f"---\nname: it\ndescription: {description}\n{head}---\n# It\n\n{case['body']}"
    files = case.get("files", {})
    skill = parse_skill(text.encode(), "skills/it/SKILL.md", None, tuple(sorted(files)))
    return find_needs(skill, lambda path: files.get(path.removeprefix("skills/it/")))


@pytest.mark.parametrize(("category", "answer", "name"), EVERY)
def test_a_text_shows_the_need_or_not(category: str, answer: bool, name: str) -> None:
    found = needs(CASES[category][answer][name]).need(category)
    assert (found is not None) == (answer in (True, "yes")), found


def test_every_category_has_cases_and_says_what_it_means() -> None:
    assert set(CASES) == set(all_categories()) == set(NeedCategory.__args__)
    orders = [module.ORDER for module in all_categories().values()]
    assert orders == list(range(1, 17))
    assert all(module.TITLE and module.MEANING.endswith(".") for module in all_categories().values())
    assert {kind.value for kind in EvidenceKind} == set(EvidenceForm.__args__)


@pytest.mark.parametrize(("category", "answer", "name"), EVERY[::4])
def test_evidence_names_a_line_that_is_there(category: str, answer: bool, name: str) -> None:
    case = CASES[category][answer][name]
    lines = 6 + case["body"].count("\n") + ("head" in case)
    for need in needs(case).needs:
        assert 1 <= len(need.evidence) <= MOST_EVIDENCE
        for each in need.evidence:
            assert each.path.startswith("skills/it/")
            assert each.subject
            assert each.path != "skills/it/SKILL.md" or 1 <= each.line <= lines


PIECES = (
    "```bash\n", "```\n", "git diff", "`gh pr view`", "$X_API_KEY", "export A_KEY=", "| `A_TOKEN` | yes |\n", "# Setup\n", "## When not to use\n",
    "mcp__a__b", "https://a.b.net/c", "ask the user", "don't", "'", '"', "\\\n", "<<'EOF'\n", "EOF\n",
    "${", "{baseDir}/scripts/a.py", "若い", "询问用户。",
    "\0", "\x1b[31m", "\u202e", "---\n", "metadata: {requires: {bins: [", "]}}\n", "- ", "\n\n", "if ", "optional ", "`" * 5, "(" * 20, "a" * 50, " ",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_text_breaks_the_reading_and_the_same_text_gives_the_same_needs(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    one, other = (find_needs(parse_skill(data, "a/SKILL.md", None, ("scripts/a.py",)), lambda path: text) for _ in "ab")
    assert one == other
    assert list(one.categories) == [key for key in all_categories() if key in one.categories]


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reading(data: bytes) -> None:
    find_needs(parse_skill(b"---\nname: a\ndescription: b\n---\n" + data, "a/SKILL.md"), lambda path: None)
    find_needs(parse_skill(data, "a/SKILL.md"), lambda path: None)


def test_files_in_any_order_give_the_same_needs() -> None:
    texts = {"scripts/a.py": "import subprocess\nsubprocess.run(['git', 'log'])\n", "scripts/b.sh": "psql -c 1\n",
        "scripts/c.js": "require('pg')\n"}  # fmt: skip
    body = "Run `python scripts/a.py`, `bash scripts/b.sh` and `node scripts/c.js`.\n"
    found = []
    for files in (tuple(texts), tuple(reversed(texts))):
        skill = parse_skill(f"---\nname: a\ndescription: b\n---\n{body}".encode(), "s/SKILL.md", None, files)
        found.append(find_needs(skill, lambda path: texts.get(path.removeprefix("s/"))))
    assert found[0] == found[1]
    assert {"tools", "runtime", "database"} <= set(found[0].categories)


@pytest.mark.parametrize(
    "part",
    ["`a ` ", "'", "```bash\n$ a \\\n", "if ask the user ", "https://", "A_KEY=", "- [ ] ", "mcp_a_b_", "git ", '"'],
)
def test_long_texts_take_time_in_proportion(part: str) -> None:
    """It ends: what would grow with the square of a text of this size would not."""
    skill = parse_skill(("---\nname: a\ndescription: b\n---\n" + part * (15_000 // len(part))).encode(), "a/SKILL.md")
    find_needs(skill)
