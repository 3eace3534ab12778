"""The catalogue: what a host lists of a collection."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.errors import UsageError
from skill_health.discovery.hosts import Host, hosts, simulate
from skill_health.router.listing import catalogue, catalogue_digest, listing_notes, when_to_use
from skill_health.skill.model import Skill
from skill_health.skill.parse import parse_skill, unreadable


def skill(name: str, description: str = "Does a thing.", more: str = "", body: str = "# Title\n\nText.\n") -> Skill:
    text = f"---\nname: {name}\ndescription: {description}\n{more}---\n{body}"
    return parse_skill(text.encode(), f"skills/{name}/SKILL.md")


SMALL = Host("small", budget=60, overflow="names")


def test_the_whole_collection_in_the_order_of_paths() -> None:
    skills = [skill("b"), skill("a"), skill("c")]
    first = catalogue(skills)
    assert first.names == ("a", "b", "c")
    assert {catalogue_digest(catalogue(order)) for order in permutations(skills)} == {catalogue_digest(first)}
    shown = first.shown[0]
    assert (shown.text, shown.state, shown.description) == ("Does a thing.", "full", "Does a thing.")
    assert (shown.body, shown.path) == ("# Title\n\nText.", "skills/a/SKILL.md")
    assert listing_notes(skills, first) == ()


def test_white_space_is_collapsed() -> None:
    found = catalogue([skill("a", "|\n  One\n\n  two\tthree  ")]).shown[0]
    assert found.text == found.description == "One two three"


def test_who_is_not_listed() -> None:
    skills = [
        skill("a"),
        skill("hidden", more="disable-model-invocation: true\n"),
        skill("seen", more="disable-model-invocation: false\n"),
        unreadable("skills/broken/SKILL.md", "dangling"),
    ]
    found = catalogue(skills)
    assert found.names == ("a", "seen")
    assert [(s.name, s.state, s.text) for s in found.omitted] == [
        ("broken", "unreadable", ""),
        ("hidden", "hidden", ""),
    ]
    assert found.omitted[1].description == "Does a thing."
    assert listing_notes(skills, found) == (
        "hidden: not listed, because disable-model-invocation is set",
        "broken: not listed, because SKILL.md cannot be read",
    )


def test_skills_without_a_description_are_listed_by_name() -> None:
    skills = [
        parse_skill(b"", "skills/empty/SKILL.md"),
        parse_skill(b"# Only text\n", "skills/plain/SKILL.md"),
        skill("blank", '"  "'),
        parse_skill(b"---\nname: colon\ndescription: Writes notes: all of them\n---\n", "skills/x/SKILL.md"),
    ]
    found = catalogue(skills)
    assert found.names == ("blank", "empty", "plain", "colon")
    assert [s.text for s in found.shown] == ["", "", "", "Writes notes: all of them"]
    assert listing_notes(skills, found) == (
        "blank, empty, plain: listed by name only: there is no description",
        "colon: listed with what could be read of broken YAML; hosts with a strict parser drop such a skill",
    )


def test_a_host_cuts_names_and_omits_as_the_simulator_says() -> None:
    skills = [skill(name, name * 30) for name in "abcd"]
    for change in ({}, {"overflow": "omit"}, {"overflow": "shorten"}, {"skill_chars": 9}):
        host = SMALL._replace(**change)
        found = catalogue(skills, "small", [host])
        states = {s.name: (s.state, len(s.text)) for s in (*found.shown, *found.omitted)}
        simulated = simulate([(name, name * 30) for name in "abcd"], host)
        assert states == {s.name: (s.state, s.chars) for s in simulated.skills}
        assert found.listing == "small"
        assert all(s.description.startswith(s.text) for s in found.shown)
        assert {s.state for s in found.omitted} <= {"omitted"}
        assert listing_notes(skills, found)


def test_hidden_skills_take_no_room() -> None:
    skills = [skill("a", "a" * 40), skill("b", "b" * 40, "disable-model-invocation: true\n")]
    assert catalogue(skills, "small", [SMALL]).shown[0].state == "full"


def test_every_known_host_lists_a_small_collection_whole() -> None:
    skills = [skill("a"), skill("b")]
    for host in hosts():
        assert catalogue_digest(catalogue(skills, host.key, hosts())) == catalogue_digest(catalogue(skills))


@pytest.mark.parametrize(
    ("skills", "listing", "wanted"),
    [
        ([skill("a")], "smal", "there is no listing 'smal'; did you mean 'small'"),
        ([skill("a")], "zzzz", "take full, small"),
        ([skill("None")], "full", "skills/None/SKILL.md: a skill must not be called 'None' here"),
        (
            [skill("a"), parse_skill(b"---\nname: A\ndescription: x\n---\n", "other/SKILL.md")],
            "full",
            "two skills are called 'A': other/SKILL.md and skills/a/SKILL.md; an answer cannot tell them apart",
        ),
        (
            [parse_skill(b"---\nname: a\ndescription: x\n---\n", f"{n}/SKILL.md") for n in range(4)],
            "full",
            "0/SKILL.md and 1/SKILL.md (and 2 more such pairs)",
        ),
        ([skill("a"), skill("b", more="disable-model-invocation: true\nname: a\n")], "full", "'a'"),
    ],
)
def test_what_cannot_be_listed(skills: list[Skill], listing: str, wanted: str) -> None:
    with pytest.raises(UsageError) as caught:
        catalogue(skills, listing, [SMALL])
    assert wanted in str(caught.value)
    assert "\n" not in str(caught.value)


def test_only_what_is_shown_is_hashed() -> None:
    whole = catalogue_digest(catalogue([skill("a", "one two"), skill("b")]))
    assert whole == catalogue_digest(catalogue([skill("a", "one  two", body="# Other\n"), skill("b")]))
    assert whole != catalogue_digest(catalogue([skill("a", "one two."), skill("b")]))
    assert whole != catalogue_digest(catalogue([skill("a", "one two")]))
    assert whole != catalogue_digest(
        catalogue([skill("a", "one two"), skill("b", more="disable-model-invocation: true\n")])
    )


WHEN = """# Title

## When to use this skill

- a list
### Examples
An example.

### When NOT to use it
Never this.

## Steps
1. One.

## Triggers
More.
"""


def test_when_to_use_a_skill() -> None:
    assert when_to_use(skill("a", body=WHEN)) == "- a list\n### Examples\nAn example.\n\nMore."
    assert when_to_use(skill("a", body="# When to use\n\nText.\n")) == ""
    assert when_to_use(skill("a")) == ""


@given(st.binary(max_size=300))
def test_any_bytes_are_listed(data: bytes) -> None:
    parsed = parse_skill(data, "skills/a/SKILL.md")
    try:
        found = catalogue([parsed], "small", [SMALL])
    except UsageError as error:
        assert "'none'" in str(error).lower()
        return
    assert len(found.shown) + len(found.omitted) == 1
    assert len(catalogue_digest(found)) == 32
