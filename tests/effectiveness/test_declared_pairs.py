"""Which skills say that they work together: what counts as saying so, what does not, and where it is quoted from."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skill_health.documents.effect_composition import TriedPair
from skill_health.effectiveness.check.declared import declared_pairs
from skill_health.skill.parse import parse_skill

OTHERS = {"sql-tables": "", "pdf": "", "log-triage": ""}
HEAD = "---\nname: {name}\ndescription: d\n{more}---\n\n# {name}\n\n"


def pairs(texts: Mapping[str, str], more: Mapping[str, str] | None = None) -> tuple[TriedPair, ...]:
    """The pairs of skills with these texts below their title."""
    skills = []
    for name, text in texts.items():
        head = HEAD.format(name=name, more=(more or {}).get(name, ""))
        skills.append(parse_skill((head + text).encode("utf-8", "surrogatepass"), f"skills/{name}/SKILL.md", name, ()))
    return declared_pairs(skills)


def said(text: str, more: str = "") -> set[tuple[str, str]]:
    """What the skill `csv` says of others: their names, and how."""
    found = pairs({"csv": text, **OTHERS}, {"csv": more})
    return {(each.other, each.source) for pair in found for each in pair.declared}


SECTION = "## {}\n\n- **sql-tables** - for queries\n- a line about the pdf format and nothing else\n"
SAYS = {
    "section, head in bold": SECTION.format("Integration"),
    "section, related": SECTION.format("Related Skills"),
    "section, works with": SECTION.format("Works with"),
    "section, see also": SECTION.format("See also"),
    "section, code": "## Integration\n\nHand the table to `sql-tables` once it is clean.\n",
    "section, plain name of several words": "## Related skills\n\nsql-tables takes over from here.\n",
    "section, with a plugin": "## Integration\n\n- tables:sql-tables - for queries\n",
    "section, table": "## Integration\n\n| skill | for |\n|---|---|\n| sql-tables | queries |\n",
    "section, colon": "## Related Skills\n\n- sql-tables: USE for queries. NOT for cleaning.\n",
}
SILENT = {
    "another section": "## Steps\n\n- **sql-tables** - for queries\n",
    "itself": "## Integration\n\n- **csv** - this one\n",
    "nobody": "## Integration\n\n- **xml-trees** - for trees\n",
    "a word that is a name": "## Integration\n\nRead the pdf first.\n",
    "in the place of it": "## Related skills\n\n- **sql-tables** - use that instead for queries\n",
    "apart": "## Distinction from other skills\n\n- **sql-tables** - queries\n",
    "a conflict": "## Integration\n\n- **sql-tables** conflicts with this one\n",
    "not both": "## Integration\n\n- Do **not** load `sql-tables` as well.\n",
    "a part of a path": "## Integration\n\nSee sql-tables/notes and x.sql-tables here.\n",
    "code block": "## Integration\n\n```\nsql-tables\n```\n",
    "an example of a text": "Required sub-skills: \u2705 good: `sql-tables`\n",
    "a link elsewhere": "See [it](https://example.org/sql-tables/SKILL.md) and [this](../xml-trees/SKILL.md).\n",
    "a link away": "For those, use [sql-tables](../sql-tables/SKILL.md).\n",
    "a link below what is not for it": "## When not to use\n\nQueries: [sql-tables](../sql-tables/SKILL.md).\n",
}


@pytest.mark.parametrize("name", SAYS)
def test_a_section_on_related_skills_says_so(name: str) -> None:
    assert said(SAYS[name]) == {("sql-tables", "section")}


@pytest.mark.parametrize("name", SILENT)
def test_what_says_nothing_of_the_kind(name: str) -> None:
    assert said(SILENT[name]) == set()


@pytest.mark.parametrize(
    "more",
    [
        "related: [sql-tables, xml-trees]\n", "related-skills: sql-tables, other\n", "metadata:\n  related_skills: [sql-tables]\n",
        "depends_on:\n  - tables:sql-tables\n", "requires:\n  - name: sql-tables\n",
    ],
)  # fmt: skip
def test_frontmatter_says_so(more: str) -> None:
    assert said("", more) == {("sql-tables", "frontmatter")}
    assert said("", re.sub("related|depends_on|requires", r"un\g<0>", more)) == set()


def test_links_and_sentences_say_so() -> None:
    for link in ("../sql-tables/SKILL.md", "../sql-tables/"):
        assert said(f"Then hand over, as in [the tables]({link}).\n") == {("sql-tables", "link")}
    assert said("REQUIRED SUB-SKILL: Use tables:sql-tables to query.\n") == {("sql-tables", "sentence")}
    assert said("It works well with `pdf` where a report is wanted.\n") == {("pdf", "sentence")}


def test_a_catalogue_of_links_declares_nothing() -> None:
    names = [f"skill-{n}" for n in range(14)]
    links = "".join(f"- [{name}](../{name}/SKILL.md)\n" for name in names)
    assert pairs({"csv": links} | dict.fromkeys(names, "")) == ()


def test_both_sides_are_one_pair_with_every_place_in_any_order() -> None:
    texts = {
        "sql": "## Integration\n\n- **csv** - cleans\n\nMore:\n\n- **csv** - again\n",
        "csv": "## Related skills\n\n- **sql** -   for \u202equeries\n",
    }
    (pair,) = pairs(texts)
    assert pair.skills == ("csv", "sql")
    assert [(each.skill, each.line) for each in pair.declared] == [("csv", 10), ("sql", 10), ("sql", 14)]
    assert pair.declared[0].quote == "- **sql** - for \u202equeries"
    assert pairs(dict(reversed(texts.items()))) == (pair,)


def test_a_long_line_is_cut() -> None:
    (pair,) = pairs({"csv": f"## Integration\n\n- **pdf** - {'very ' * 200}long\n", "pdf": ""})
    assert len(pair.declared[0].quote) == 200


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=300), st.text(alphabet="-`*[]()|:#/.\n a", max_size=200))
def test_any_text_is_read(text: str, marks: str) -> None:
    for pair in pairs({"csv": f"## Integration\n\n{text}\n\n- pdf{marks}", **OTHERS}):
        assert pair.skills[0] != pair.skills[1]
        assert all(each.line >= 1 and "\n" not in each.quote for each in pair.declared)
