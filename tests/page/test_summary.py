"""The Markdown summary: within its size, everything that others wrote as text, most in need first."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from filled_records import filled
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec import structs
from page_made import NASTY, bare, page
from records_made import judged_as

from skill_health.documents.page_data import PageChanges
from skill_health.page.model import DueSkills, Page
from skill_health.page.summary import HEAD, MAX_BYTES, MAX_ROWS, render

HOSTILE = NASTY + " | `code` | [l](http://x.y) @user $x^2$ www.example.com\n# head\n\n- item " + "&<" * 40


def html(text: str) -> str:
    return MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text)


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("| ") and not line.startswith(("| ---", "| skill |"))]


def many(count: int, name: str = "skill") -> Page:
    """As many skills as that, all of which need something, with names and reasons like `name`."""
    made = page()
    first = made.status.skills[0]
    named = ((f"{name}{at}", f"skills/{name}{at}/SKILL.md") for at in range(count))
    skills = tuple(structs.replace(first, name=own, path=path) for own, path in named)
    verdicts = {
        each.path: judged_as(name, ("unknown", "warn", "bad")[at % 3], 1 + at % 3, name, name, f"do '{name}'")  # type: ignore[arg-type]
        for at, each in enumerate(skills)
    }
    what = [{"field": "score", "before": 0.5, "after": 1.0}, {"field": "verdict", "before": name, "after": None}]
    changes = {
        "since": {"as_of": "2026-11-19", "version": "0.1.0"},
        "added": [{"path": f"a{at}", "name": name} for at in range(count)],
        "removed": [{"path": f"r{at}", "name": name} for at in range(count)],
        "skills": [{"path": f"s{at}", "name": name, "what": what} for at in range(count)],
    }
    return replace(
        made, status=structs.replace(made.status, skills=skills), verdicts=verdicts, notes=(name,) * 50, title=name,
        own=structs.replace(made.own, changes=filled(PageChanges, changes)),
        due=(DueSkills(name, name, f"run {name}", (name,) * count),) * min(30, count),
        answers={number: judged_as(name, "bad", number, name, name, f"do {name}") for number in (1, 2, 3, 4)},
    )  # fmt: skip


def test_a_real_page() -> None:
    made = page()
    text = render(made)
    assert text == render(made)
    assert all(f"- {topic}: **" in text for topic in ("Lint", "Routing", "Effect", "Composition"))
    wanting = [path for path, each in made.verdicts.items() if each.tone in ("bad", "warn")]
    assert len(rows(text)) == min(len(wanting), MAX_ROWS) > 0
    shown = html(text)
    assert "<script" not in shown and "<img" not in shown and "<b>" not in shown
    for line in rows(text):
        assert line.replace("\\|", "").count("|") == len(HEAD) + 1
        if "scripted" in line:
            assert "SIMULATED" in line


def test_nothing_measured() -> None:
    text = render(bare())
    assert "SIMULATED," not in text and " n " not in "".join(rows(text))
    assert text.count("–") >= 2


def test_most_in_need_first_and_the_rest_is_counted() -> None:
    text = render(many(50))
    assert len(rows(text)) == MAX_ROWS
    assert "… and 13 more skills; the page has them all." in text
    assert "Others: 17 not measured." in text
    tones = [int(line.split("|")[1].strip().removeprefix("skill")) % 3 for line in rows(text)]
    assert tones[:16] == [2] * 16 and set(tones[16:]) == {1}, "what is only unknown has no row"
    assert "score 0.50 → 1.00; verdict skill → –" not in text, "20 lines of changes are of skills that are new"
    few = render(many(3))
    assert "score 0.50 → 1.00; verdict skill → –" in few and "more skill" not in few


@pytest.mark.parametrize("name", ["x" * 4000, "\U000e0001" * 4000, "漢" * 4000, "&" * 4000, HOSTILE * 20])
def test_it_fits_whatever_it_holds(name: str) -> None:
    text = render(many(40, name))
    assert 1_000 < len(text.encode("utf-8")) <= MAX_BYTES
    assert "## Next" in text and "## Since" in text and rows(text)


@settings(max_examples=12)
@given(st.text(max_size=80) | st.just(HOSTILE))
def test_everything_is_text(name: str) -> None:
    text = render(many(2, name))
    assert "://" not in re.sub("`[^`]*`", "", text) and "www." not in re.sub("`[^`]*`", "", text)
    tokens = MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(text)
    kinds = {token.type for token in tokens} | {each.type for token in tokens for each in token.children or ()}
    assert (
        kinds & {"html_block", "html_inline", "link_open", "image", "fence", "code_block", "hr", "blockquote_open"}
        == set()
    )
    assert sum(token.type == "heading_open" for token in tokens) == 4
    assert sum(token.type == "tr_open" for token in tokens) == 2


def test_skills_of_which_only_the_effect_is_not_known_have_no_row() -> None:
    made = page()
    told = dict.fromkeys(made.verdicts, judged_as("found", "good", 2, "", "run agents:", "run it"))
    text = render(replace(made, verdicts=told))
    assert rows(text) == [] and "None." in text and "Skills: 5 pass." in text
    first = next(iter(told))
    told = {**dict.fromkeys(told, judged_as("sound", "unknown", 1, "")), first: judged_as("lost", "bad", 2, "why")}
    text = render(replace(made, verdicts=told))
    assert len(rows(text)) == 1 and "Others: 4 not measured." in text


def test_changes() -> None:
    def told(*skills: Any) -> str:
        changes = filled(PageChanges, {"since": {"as_of": "2026-11-19", "version": "0.1.0"}, "skills": skills})
        return render(replace(page(), own=structs.replace(page().own, changes=changes)))

    assert "Compared with 2026-11-19: nothing has changed." in told()
    moves = {"recall": (0.5, 0.75), "effect": (None, 0.125), "tokens": (90, 95), "effect_verdict": (None, "helps")}
    what = [{"field": name, "before": before, "after": after} for name, (before, after) in moves.items()]
    said = "- plums: recall 50.0 % → 75.0 %; effect – → \\+12.5 points; tokens 90 → 95; effect verdict – → helps"
    assert said in told({"path": "p", "name": "plums", "what": what})
