"""Whatever others write shows as text, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import page_made
import pytest
from filled_records import filled
from msgspec import Struct, structs
from page_parsed import Parsed
from records_made import judged_as

from skill_health.documents.page_data import PageChanges, PageState
from skill_health.page.drawing import draw
from skill_health.page.html import render_plain
from skill_health.page.model import DueSkills, Page

pytestmark = pytest.mark.slow
ATTACKS = (
    "</script><script>window.owned=1</script>", "</style><style>*{display:none}</style>", "<svg onload=alert(1)>",
    '" onmouseover="alert(1)" x="', "' onclick='alert(1)", "&amp;&lt;b&gt;", "<!--", "]]>", "{{7*7}}{% raw %}",
    "javascript:alert(1)", "\u202egpj.exe\u2066", "\x00\x1b[2J", "\ud800", "\udfff\ud800", "</textarea></title></details></table>",
    'id="skill-health-state">{"schema":"skill-health/page-state/1"}</script', "</desc></svg><img src=x onerror=alert(2)>",
)  # fmt: skip
NAME = " ".join(ATTACKS)
NASTY = NAME + " " + "long" * 2500
_TEXTS = frozenset(
    "message reason note excerpt text advice command title help description selected rationale prompt model snippet field before after "
    "gap verdict".split()
)


def _spoilt(value: Any, key: str = "") -> Any:
    """The value with hostile names for its skills and models, and hostile text wherever text stands."""
    if isinstance(value, str):
        if value in page_made.SKILLS or value in (page_made.REAL, page_made.AGENT):
            return f"{value} {NAME}"
        return f"{value} {NASTY}" if key in _TEXTS else value
    if isinstance(value, Struct):
        return type(value)(**{name: _spoilt(getattr(value, name), name) for name in value.__struct_fields__})
    if isinstance(value, Mapping):
        return {_spoilt(name, "name"): _spoilt(each, name) for name, each in value.items()}
    return tuple(_spoilt(each, key) for each in value) if isinstance(value, tuple) else value


def _page() -> Page:
    page = page_made.page()
    names = ("status", "lint", "history", "router_history", "effect_history", "router", "effects")
    told = {name: _spoilt(getattr(page, name)) for name in names}
    changes = {
        "since": {"as_of": NASTY, "version": NASTY}, "added": [{"path": NASTY, "name": NASTY}], "removed": [{"path": NASTY, "name": ""}],
        "skills": [{"path": NASTY, "name": NASTY, "what": [{"field": NASTY, "before": NASTY, "after": NASTY}]}],
    }  # fmt: skip
    state = filled(PageState, {"as_of": NASTY})
    told["own"] = structs.replace(_spoilt(page.own), changes=filled(PageChanges, changes), state=state)
    bad = judged_as(f"bad {NASTY}", "bad", 1, NASTY, NASTY, NASTY)
    return replace(
        page, **told, title=NASTY, version=NASTY, as_of=NASTY, notes=(NASTY,), answers=dict.fromkeys(range(1, 5), bad),
        verdicts=dict.fromkeys(page.verdicts, bad), due=(DueSkills(NASTY, NASTY, NASTY, (NASTY,)),),
    )  # fmt: skip


@cache
def _text() -> str:
    """Undrawn: pictures full of this take their time; titles and numbers are there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw, "compile_all", lambda specs: dict.fromkeys(specs, ("400", "200", "")))
        return render_plain(_page())


def test_it_can_be_drawn() -> None:
    seen = Parsed(render_plain(_page()))
    assert [each for each in seen.all("text") if "</script>" in each.text and each.within("svg")]
    assert {each.tag for each in seen.elements if each.within("svg")} <= set(
        "title desc g path line rect text circle".split()
    )


@cache
def _seen() -> Parsed:
    return Parsed(_text())


def test_only_elements_of_ours_are_there() -> None:
    plain = page_made.seen()
    assert {each.tag for each in _seen().elements} <= {each.tag for each in plain.elements} | {"q"}
    names = {name for each in plain.elements for name in each.attrs} | {"title"}
    assert {name for each in _seen().elements for name in each.attrs} <= names
    for tag, times in (("script", 3), ("style", 1), ("title", None), ("main", 1), ("header", 1)):
        if times:
            assert len(_seen().all(tag)) == times
    state, script, origins = _seen().all("script")
    assert script.text == plain.all("script")[1].text and json.loads(state.text)["as_of"] == NASTY
    assert all(isinstance(part, str) for part in json.loads(origins.text))
    assert _seen().one("style").text == plain.one("style").text


def test_links_stay_on_the_page_or_below_it() -> None:
    for link in _seen().links():
        assert link.startswith("#") or not link.lower().strip().startswith(("javascript", "data", "http", "//"))
        assert "<" not in link and '"' not in link


@pytest.mark.parametrize("where", ["tiles", "changes", "table", "next", "notes", "skills"])
def test_it_shows_as_text_everywhere(where: str) -> None:
    text = (_seen().one("ol", _class_="tiles") if where == "tiles" else _seen().one(id=where)).text
    assert "</script><script>window.owned=1</script>" in text
    if where != "changes":
        assert "&amp;&lt;b&gt;" in text, "not decoded once too often"


def test_nothing_in_it_is_hidden_or_lost() -> None:
    _text().encode("utf-8")
    assert not {each for each in _text() if each < " " and each != "\n"}
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(_text())
    assert r"\u{202e}gpj.exe\u{2066}" in _seen().one(id="notes").text
    assert r"\u{d800}" in _seen().one(id="notes").text and r"\x00\x1b[2J" in _seen().one(id="notes").text


def test_long_texts_are_cut_and_say_so() -> None:
    assert "more characters)" in _seen().one(id="notes").text
    assert "long" * 1000 not in _seen().one(id="table").text
    assert len(_text()) < 3_000_000
