"""What is counted in a skill, and how sections are told by their titles."""

from __future__ import annotations

import json

import pytest
from growth import is_linear, lines_run
from hypothesis import given
from hypothesis import strategies as st

from skill_health.skill.measure import Measures, estimate_tokens, measure, measures_from
from skill_health.skill.parse import parse_skill
from skill_health.skill.sections import ROLES, plain_title, roles_of

HEAD = "---\nname: tiny\ndescription: Sorts lists. Use when a list is long.\n---\n"


def measured(body: str, head: str = HEAD, files: tuple[str, ...] = ()) -> Measures:
    return measure(parse_skill((head + body).encode(), "skills/tiny/SKILL.md", "tiny", files))


@pytest.mark.parametrize(
    ("title", "role"),
    [
        ("When to Use This Skill", "when_to_use"), ("3. When to activate", "when_to_use"),
        ("When NOT to use", "boundaries"), ("Scope", "boundaries"),
        ("⚠️ Common Pitfalls & How to Avoid Them", "gotchas"), ("Known Issues", "gotchas"),
        ("**Anti-Patterns**", "gotchas"), ("Troubleshooting Guide", "gotchas"), ("Don’ts", "gotchas"),
        ("Step 2: Workflow", "workflow"), ("Practical Guidance", "workflow"), ("Example: a pull request", "examples"),
        ("Quality checklist", "verification"), ("See also", "references"), ("Related Skills", "integration"),
        ("Core Concepts", "concepts"),
    ],
)  # fmt: skip
def test_titles_have_roles(title: str, role: str) -> None:
    assert role in roles_of(title)


@pytest.mark.parametrize("title", ["Authentication", "Exampleton", "The trapezoid rule", "Rate limits", "", "🙂", "1."])
def test_other_titles_have_none(title: str) -> None:
    assert roles_of(title) == frozenset()


def test_every_alias_gives_its_role() -> None:
    for name, role in ROLES.items():
        for alias in (*role.anywhere, *role.whole):
            assert plain_title(alias) == alias, "an alias is written as titles are compared"
            assert name in roles_of(alias)


def test_counts() -> None:
    body = (
        "# Tiny\n[a](references/a.md) ![p](p.png) <https://example.com>\n## Gotchas\n1. One.\n   - detail\n2. Two.\n"
        "## Examples\n- a\n- b\n```\nx\n```\n```\n\n```\n### Nested gotchas\n- Three.\n## Gotchas\n- Four.\n"
    )
    found = measured(body, files=("scripts/x.py", "assets/y.md", "references/a.md"))
    assert found.line_count == 23
    assert found.titles == ("Gotchas", "Examples", "Gotchas")
    assert found.gotchas == {"Gotchas": 3, "Nested gotchas": 1}
    assert (found.gotcha_count, found.code_examples, found.example_entries, found.bundled) == (4, 1, 3, 2)
    assert (found.link_count, found.image_count, found.external_link_count, found.heading_count) == (2, 1, 1, 5)


def test_line_count_is_that_of_the_whole_file() -> None:
    assert measured("a\nb\n").line_count == 6
    assert measured("a\nb").line_count == 6
    assert measured("a\r\nb\r\n", HEAD.replace("\n", "\r\n")).line_count == 6


def test_roles_from_the_description_and_from_numbered_steps() -> None:
    assert measured("# Tiny\n").roles == ("when_to_use",)
    described = HEAD.replace("long.", "long. Not for sets.")
    assert measured("# Tiny\n", described).roles == ("boundaries", "when_to_use")
    assert "workflow" in measured("# T\n## Doing it\n1. a\n2. b\n3. c\n").roles
    assert "workflow" in measured("# T\n## Step 1: a\n## Step 2: b\n").roles
    assert "workflow" not in measured("# T\n1. a\n2. b\n\ntext\n\n1. c\n").roles


@pytest.mark.parametrize(
    ("head", "issues"),
    [
        (HEAD, ()),
        ("", ("no-frontmatter",)),
        ("---\nname: [\n---\n", ("invalid-yaml", "name-invalid", "name-differs", "description-missing")),
        ("---\nname: Tiny\ndescription: Use when sorting.\n---\n", ("name-invalid", "name-differs")),
        ("---\nname: tiny\ndescription: I can sort when asked.\n---\n", ("description-first-person",)),
        ("---\nname: tiny\ndescription: Lists.\n---\n", ("description-without-trigger",)),
        ("---\nname: tiny\ndescription: >\n  Sorts.\n  Use when long.\n---\n", ()),
        (f"---\nname: tiny\ndescription: When {'x' * 1024}\n---\n", ("description-long",)),
    ],
)
def test_frontmatter_issues(head: str, issues: tuple[str, ...]) -> None:
    assert measured("Text.\n", head).issues == issues


def test_survives_json() -> None:
    found = measured("# T\n## Gotchas\n- a\n")
    assert measures_from(json.loads(json.dumps(found._asdict()))) == found
    assert measures_from({"line_count": 3, "of_another_version": 1}) == Measures(line_count=3)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("word " * 100, 100), ("{};" * 100, 180), ("排序" * 50, 100), ("ё" * 100, 50)]
)
def test_estimate(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_estimate_agrees_with_a_known_count() -> None:
    # 90 tokens in cl100k_base, 86 in DeepSeek's vocabulary and 99 in Claude 2's, counted in November 2026.
    text = (
        "Use the script to sort the list, then report how many entries moved and where they went.\n\n"
        "```bash\npython scripts/sort.py --input list.txt --output sorted.txt --report\n```\n\n"
        "| column | meaning |\n|---|---|\n| `old` | the number before sorting |\n| `new` | the number after it |\n\n"
        "Do not run it twice: the second run reports that nothing moved, whatever the first one did.\n"
    )
    assert estimate_tokens(text) == pytest.approx(92, rel=0.14)


@given(st.text(max_size=400), st.text(max_size=400))
def test_estimate_is_additive_and_never_negative(one: str, two: str) -> None:
    assert estimate_tokens(one) >= 0
    assert abs(estimate_tokens(one + two) - estimate_tokens(one) - estimate_tokens(two)) <= 1


@given(st.binary(max_size=300))
def test_any_bytes_can_be_measured(data: bytes) -> None:
    found = measure(parse_skill(data, "skills/tiny/SKILL.md", "tiny"))
    assert json.loads(json.dumps(found._asdict()))["line_count"] == found.line_count
    assert found.gotcha_count == sum(found.gotchas.values())


def test_many_sections_are_measured_in_linear_time() -> None:
    def lines(times: int) -> int:
        skill = parse_skill((HEAD + "".join(f"## Gotchas\n- {n}\n" for n in range(times))).encode(), "a/SKILL.md", "a")
        assert measure(skill).gotcha_count == times
        return lines_run(lambda: measure(skill))

    assert is_linear(lines)
