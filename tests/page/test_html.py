"""The document: its structure, its policy, its order, and what it shows without a script."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import page_made
import pytest
from browser_look import contrast
from filled_records import documents, filled, page_over
from msgspec import structs
from page_parsed import Parsed
from records_made import judged_as

from skill_health.core.errors import UsageError
from skill_health.documents._record import record_values
from skill_health.documents.page_data import PageChanges
from skill_health.page import html
from skill_health.page.drawing.theme import DARK
from skill_health.page.html import embedded, policy, render, render_plain, source
from skill_health.page.model import TOPICS, anchor

pytestmark = pytest.mark.slow


def test_no_path_of_this_machine_is_on_the_page() -> None:
    assert page_made.page().folder not in page_made.plain()


def test_ids_are_unique_and_links_lead_somewhere() -> None:
    ids = Counter(each.attrs["id"] for each in page_made.seen().elements if "id" in each.attrs)
    assert [name for name, times in ids.items() if times > 1] == []
    inner = [link[1:] for link in page_made.seen().links() if link.startswith("#")]
    assert len(inner) > 20
    assert {name for name in inner if name not in ids} == set()
    for name in ("aria-labelledby", "aria-describedby", "for"):
        told = [each.attrs[name] for each in page_made.seen().elements if each.attrs.get(name)]
        assert {word for each in told for word in (each or "").split()} <= set(ids)


def test_headings_are_in_order() -> None:
    levels = [int(each.tag[1]) for each in page_made.seen().elements if re.fullmatch("h[1-6]", each.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_nothing_runs_or_loads() -> None:
    for each in page_made.seen().elements:
        assert "style" not in each.attrs and "srcdoc" not in each.attrs
        assert not [name for name in each.attrs if name.startswith("on")]
        assert each.tag not in ("img", "iframe", "object", "embed", "form", "base", "image", "foreignobject", "use")
        assert "src" not in each.attrs and "action" not in each.attrs
        for name in ("href", "xlink:href"):
            assert not re.match(r"\s*(?:[a-z][a-z0-9+.-]*:|//)", each.attrs.get(name) or "", re.I) or each.tag == "link"
    assert [each.attrs for each in page_made.seen().all("link")] == [{"rel": "icon", "href": "data:,"}]
    style = page_made.seen().one("style").text
    assert "url(" not in style and "@import" not in style and "http" not in style


def test_the_policy_allows_these_very_bytes_and_nothing_else() -> None:
    told = page_made.seen().one("meta", http_equiv="Content-Security-Policy").attrs["content"] or ""
    parts = dict(part.split(" ", 1) for part in told.split("; "))
    state, script, _ = page_made.seen().all("script")
    assert state.attrs == {"type": "application/json", "id": "skill-health-state"}
    assert parts == {
        "default-src": "'none'", "style-src": source(page_made.seen().one("style").text),
        "script-src": source(script.text), "img-src": "data:", "base-uri": "'none'", "form-action": "'none'",
    }  # fmt: skip
    head = [each.tag for each in page_made.seen().elements]
    assert head.index("meta") < head.index("style"), "the policy stands before what it is about"


def test_a_live_page_may_ask_its_server_only() -> None:
    live = Parsed(render(page_made.page(), live=True))
    told = live.one("meta", http_equiv="Content-Security-Policy").attrs["content"] or ""
    script = live.all("script")[1].text
    assert told == policy(live.one("style").text, script, live=True)
    assert "connect-src 'self'" in told and "EventSource" in script
    assert "connect-src" not in policy("", "") and "EventSource" not in page_made.plain()


def test_the_hash_is_that_of_the_standard() -> None:
    assert source("") == "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"


def test_the_questions_come_in_their_order_with_their_answers() -> None:
    tiles = [each.text for each in page_made.seen().all("li") if (each.attrs.get("class") or "").startswith("tile ")]
    assert len(tiles) == 4
    for number, tile in enumerate(tiles, 1):
        answer = page_made.page().answers[number]
        assert TOPICS[number] in tile and answer.word in tile and answer.reason in tile and answer.command in tile
    order = [
        "changes", "next", "rules", "overview", "question-1", "question-2", "question-3", "question-4", "trials",
        "skills", "notes",
    ]  # fmt: skip
    assert [each.attrs["id"] for each in page_made.seen().all("section")] == order


def test_every_picture_has_its_words_and_its_numbers() -> None:
    figures = page_made.seen().all("figure")
    assert len(figures) >= 6
    assert (
        len(page_made.seen().all("figcaption"))
        == len(page_made.seen().all("details", _class_="numbers"))
        == len(figures)
    )
    for picture in page_made.seen().all("svg"):
        assert picture.attrs["role"] == "img"
        names = (picture.attrs.get("aria-labelledby") or "").split()
        assert all(page_made.seen().one(id=name).text.strip() for name in names) and names
        assert picture.within("figure")


def test_without_a_script_all_is_there_and_no_control_is_dead() -> None:
    assert not [each for each in page_made.seen().elements if "hidden" in each.attrs]
    for control in [*page_made.seen().all("button"), *page_made.seen().all("input")]:
        above, hidden = control, False
        while above is not None:
            hidden |= "needs-js" in (above.attrs.get("class") or "")
            above = above.up
        assert hidden or "disabled" in control.attrs
    style = page_made.seen().one("style").text
    assert "html:not(.js) .needs-js{display:none}" in style
    parts = page_made.seen().all("details", _class_="skill")
    assert [each.attrs["id"] for each in parts] == [anchor(each.path) for each in page_made.page().status.skills]


def test_the_state_can_be_read_back() -> None:
    own = record_values(page_made.page().own.state)
    assert json.loads(page_made.seen().one("script", id="skill-health-state").text) == own
    value = {"</script><!--": "<script>&\u2028\ud800"}
    assert json.loads(embedded(value)) == value
    assert not set("<>&") & set(embedded(value)) and embedded(value).isascii()


def test_every_colour_of_a_picture_has_a_dark_one() -> None:
    for each in page_made.seen().all("svg"):
        assert each.attrs.get("style") is None
    style = page_made.seen().one("style").text
    inner = {
        (name, each.attrs[name])
        for each in page_made.seen().elements
        for name in ("fill", "stroke", "stop-color")
        if each.attrs.get(name) not in (None, "none", "transparent") and not (each.attrs[name] or "").startswith("url(")
    }
    assert len(inner) > 5
    assert {(name, color) for name, color in inner if f'svg [{name}="{color}"]{{' not in style} == set()
    assert all(dark in style for dark in DARK.values())


_WORDS = ("ink", "muted", "good", "warn", "bad", "unknown")


@pytest.mark.parametrize(
    ("ground", "texts"),
    [("ground", (*_WORDS, "link")), ("wash", (*_WORDS, "link")), ("raised", _WORDS), ("lit", ("ink",))],
)
def test_texts_can_be_read_in_both_themes(ground: str, texts: tuple[str, ...]) -> None:
    style = page_made.seen().one("style").text
    blocks = re.findall(r"color-scheme:(?:light|dark);([^}]*)", style)
    assert len(blocks) == 3
    for block in blocks:
        colors = dict(part.split(":") for part in block.replace("--", "").split(";"))
        assert {name: contrast(colors[name], colors[ground]) >= 4.5 for name in texts} == dict.fromkeys(texts, True)


def test_an_empty_collection_is_a_page() -> None:
    page = page_over(answers={1: judged_as("yes", "good", 1, "none fails")})
    seen = Parsed(render_plain(page))
    assert "first page" in seen.one(id="changes").text
    assert "0 skills" in seen.one(_class_="headline").text and seen.one(_class_="tile good").text


def test_what_changed_is_told_with_links_to_what_is_there() -> None:
    page = page_made.page()
    path = page.status.skills[0].path
    told = {
        "since": {"as_of": "2026-01-01", "version": "0.0.9"},
        "added": [{"path": path, "name": "new"}],
        "removed": [{"path": "gone/SKILL.md", "name": "gone"}],
        "skills": [{"path": path, "name": "both", "what": [
            {"field": "score", "before": 0.5, "after": 0.9961}, {"field": "verdict", "before": "sound", "after": None},
            {"field": "recall", "before": 0.25, "after": 1.0}, {"field": "effect", "before": -0.125, "after": 0.5},
            {"field": "tokens", "before": 1200, "after": 9},
        ]}],
    }  # fmt: skip
    own = structs.replace(page.own, changes=filled(PageChanges, told))
    seen = Parsed(render_plain(replace(page, own=own)))
    text = " ".join(seen.one(id="changes").text.split())
    assert "the page of 2026-01-01 by skill-health 0.0.9" in text
    assert "New on the page: new" in text and "No longer on the page: gone" in text
    assert "another version, which may judge otherwise" in text
    assert "both: score 0.50 → to 0.99; verdict sound → to –; recall % 25.0 → to 100.0" in text
    assert "effect in points -12.5 → to +50.0; listing tokens 1,200 → to 9" in text
    figures = {each.attrs["data-from"]: each for each in seen.elements if "data-from" in each.attrs}
    assert figures["page#/changes/skills/0/what/0/after"].attrs["data-value"] == "0.9961"
    assert seen.links().count(f"#{anchor(path)}") >= 3
    assert "#" + anchor("gone/SKILL.md") not in seen.links()


def test_what_is_missing_is_a_mistake_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    html.page_environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UsageError, match="jinja2"):
        render_plain(page_made.page())


def test_figures_name_where_they_come_from() -> None:
    origins = {
        (each.attrs["data-from"] or "").partition("#")[0]
        for each in page_made.seen().elements
        if "data-from" in each.attrs
    }
    known = {"status", "lint", "history", "router-history", "effectiveness-history", "page"}
    runs = {name for name in documents(page_made.page()) if "/" in name}
    results = {run.replace("effectiveness/", "results/") for run in runs}
    assert {"status", "lint", "page"} <= origins <= known | runs | results
