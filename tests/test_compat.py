"""The published checker's quirks, one by one; the whole corpus that it was published with is compared by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fixture_types import Run, Write

from skill_health.lint.compat import SECTIONS, PlanSkill, check_text

HEAD = "---\nname: tidy\ndescription: Sorts lists. Use when a list is long.\n---\n"
WHOLE = "".join(f"## {title}\n\n" for title in SECTIONS if title != "Gotchas")
GOTCHAS = "## Gotchas\n\n1. one\n2. two\n3. three\n\n"
CODE = "```\na\n```\n```\nb\n```\n"


def check(text: str, mechanisms: int = 1, cases: int = 1, root: str = "/nonexistent") -> PlanSkill:
    return check_text("tidy", "skills/tidy/SKILL.md", text, {"claim-known"}, mechanisms, cases, root)


def test_everything_there_scores_one() -> None:
    skill = check(HEAD + WHOLE + GOTCHAS + CODE)
    assert (skill.score, skill.flagged) == (1.0, False)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        (HEAD + "### Gotchas\n", "missing_sections", [f"## {t}" for t in SECTIONS if t != "Gotchas"]),
        (HEAD + "see ## References here\n", "missing_sections", [f"## {t}" for t in SECTIONS if t != "References"]),
        (HEAD + "### Gotchas\n\n1. one\n", "gotcha_count", 0),
        (HEAD + "## Gotchas\n\n- one\n- two\n", "gotcha_count", 0),
        (HEAD + "## Gotchas\n\n1. one\n   1. inner\n\n2. two\n## Next\n3. no\n", "gotcha_count", 3),
        (HEAD + "```\na\n```\n```\n", "code_example_count", 1),
        (HEAD + "10x faster\n", "numeric_claims_total", 2),
        (HEAD + "```\n40% in code\n```\n", "numeric_claims_total", 1),
        (HEAD + "5 seconds, 5 s, 5 sec, 3 tokens, 2 ms, 7K\n", "numeric_claims_total", 6),
        (HEAD + "MMLU and SWE-bench\n", "numeric_claims_total", 2),
        (HEAD + "claim-known claim-other claim-known\n", "numeric_claims_with_id", 2),
        (HEAD + "claim-known claim-other\n", "claim_ids_unknown", ["claim-other"]),
        (HEAD + "[x](https://a.b) [y](./references/z.md)\n", "external_link_count", 1),
        (HEAD + "[x](../skills/other/SKILL.md)\n", "internal_links_total", 1),
        (HEAD + "[x](../skills/other/SKILL.md)\n", "internal_links_resolved", 0),
        (HEAD + "[x](./references/z.md)\n", "internal_links_total", 0),
        (HEAD + "x\n" * 497, "line_count_ok", False),
        (HEAD + "x\n" * 496, "line_count_ok", True),
        ("---\nname: tidy\ndescription: >\n  folded\n---\n", "frontmatter_issues", []),
        ("---\nname: tidy\ndescription: use: this\n---\n", "frontmatter_valid", True),
        (HEAD.replace("name: tidy", "name: other"), "frontmatter_valid", False),
        (HEAD.replace("Sorts", "I can sort"), "frontmatter_valid", False),
        (HEAD.replace("Sorts", "x" * 1030), "frontmatter_valid", False),
        ("# no frontmatter\n", "frontmatter_issues", ["name missing", "description missing"]),
    ],
)
def test_a_quirk(text: str, key: str, value: object) -> None:
    assert getattr(check(text), key) == value


def test_the_ratio_of_claims_is_not_clamped_and_registries_give_a_whole_component() -> None:
    assert check(HEAD + WHOLE + GOTCHAS + CODE + "9 ms claim-known claim-other claim-third\n").score == 1.3
    assert check(HEAD + WHOLE + GOTCHAS + CODE, mechanisms=0, cases=0).score == 0.9
    assert check(HEAD + WHOLE + GOTCHAS + CODE, mechanisms=9, cases=9).score == 1.0


def test_flags() -> None:
    assert check(HEAD + GOTCHAS + CODE).flagged is True
    assert check((HEAD + WHOLE + GOTCHAS + CODE).replace("name: tidy", "name: other")).flagged is True


def test_a_link_resolves_where_the_skill_is(tmp_path: Path) -> None:
    (tmp_path / "skills/other").mkdir(parents=True)
    (tmp_path / "skills/other/SKILL.md").write_text("")
    assert check(HEAD + "[x](../skills/other/SKILL.md)\n", root=str(tmp_path)).internal_links_resolved == 1


def test_the_report_is_key_for_key(run: Run, write: Write, tmp_path: Path) -> None:
    write(
        {
            "skills/tidy/SKILL.md": HEAD + WHOLE + GOTCHAS + CODE,
            "researcher/mechanisms/registry.jsonl": json.dumps({"mechanism_id": "m", "owning_skill": "tidy"}) + "\n",
            "researcher/fixtures/activation-cases.jsonl": json.dumps(
                {"case_id": "c", "prompt": "p", "expected_primary_skill": "tidy"}
            ) + "\n",
        }
    )  # fmt: skip
    done = run("lint", "--profile", "plan-v2.3.0", "--report", "out.json", "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    assert list(report) == ["ok", "summary", "skills"]
    assert list(report["summary"]) == [
        "skill_count", "corpus_score", "min_score", "max_score", "flagged", "known_claim_ids", "mechanism_owners",
        "activation_owners",
    ]  # fmt: skip
    assert list(report["skills"][0]) == [
        "name", "path", "line_count", "line_count_ok", "frontmatter_valid", "frontmatter_issues", "missing_sections",
        "gotcha_count", "code_example_count", "internal_links_total", "internal_links_resolved", "external_link_count",
        "external_link_results", "numeric_claims_total", "numeric_claims_with_id", "claim_ids_referenced",
        "claim_ids_unknown", "mechanism_count", "activation_case_count", "score", "flagged",
    ]  # fmt: skip
