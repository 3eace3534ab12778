"""What the page's script puts together is what a page without a script has, and its text can end no script."""

from __future__ import annotations

import json
import re

import page_made
import pytest
from filled_records import documents, resolve
from hypothesis import given
from hypothesis import strategies as st
from page_parsed import Parsed

from skill_health.page.html import (
    DATA,
    LONG_TABLE,
    embedded,
    pack,
    pointer_part,
    render_site,
    unpack,
    whole,
    with_marks,
    with_row_marks,
    without_marks,
    without_row_marks,
)
from skill_health.page.model import anchor


@given(st.lists(st.text(alphabet='<>/ab \n\u2028&"', max_size=60), max_size=12))
def test_texts_come_back_as_they_were(texts: list[str]) -> None:
    listed, packed = pack(texts)
    assert [unpack(listed, each) for each in packed] == texts
    assert len(set(listed)) == len(listed)
    assert pack(texts) == (listed, packed), "the same texts give the same pieces"


def test_what_repeats_is_kept_once() -> None:
    texts = [f"<p class=one>{n}</p>\n<p>the same line</p>\n" for n in range(100)]
    listed, packed = pack(texts)
    assert len(json.dumps([listed, packed])) < 0.5 * sum(map(len, texts))
    assert all("the same line" not in str(each) for each in packed)


@given(st.text(max_size=30), st.integers(0, 99))
def test_marks_of_a_skill_are_undone(path: str, at: int) -> None:
    html = (
        f'<b data-from="status#/skills/{at}/health/score">1</b><i data-from="status#/skills/{at}1/x">2</i>'
        f'<u data-from="page#/trends/{pointer_part(path)}/change">3</u><s data-from="page#/listing/skills/{pointer_part(path)}">4</s>'
    )
    marked = with_marks(html, at, path)
    assert "~s/health/score" in marked and f"status#/skills/{at}1/x" in marked
    assert not path or ("trends/~p/change" in marked and 'skills/~p"' in marked)
    assert without_marks(marked, at, path) == html


def test_marks_of_a_row_are_undone() -> None:
    html = (
        '<tr><td data-from="lint#/skills/12/a">1</td><td data-from="lint#/skills/12/b">2</td></tr><tr><td>x</td></tr>'
    )
    marked = with_row_marks(html)
    assert marked.startswith('<tr data-base="lint#/skills/12"><td data-from="~b/a">') and marked.endswith(
        "<tr><td>x</td></tr>"
    )
    assert without_row_marks(marked) == html


@pytest.mark.slow
def test_the_script_makes_what_a_page_without_one_has() -> None:
    page = page_made.page()
    scripted = Parsed(page_made.scripted())
    data = json.loads(scripted.one("script", id=DATA).text)
    paths = [skill.path for skill in page.status.skills]
    assert data["places"] == [anchor(path) for path in paths]

    def made(kind: str) -> list[str]:
        return [without_marks(unpack(data["list"], each), at, paths[at]) for at, each in enumerate(data[kind])]

    seen = page_made.seen()
    for kind, tag, key in (("rows", "tr", "data-skill"), ("parts", "details", "id")):
        there = {each.attrs[key]: each.text for each in seen.all(tag) if each.attrs.get(key) in data["places"]}
        assert [there[place] for place in data["places"]] == [Parsed(html).elements[0].text for html in made(kind)]
    told = documents(page)
    for kind in ("rows", "parts"):
        elements = [each for html in made(kind) for each in Parsed(html).elements]
        origins = {each.attrs["data-from"] for each in elements if "data-from" in each.attrs}
        assert origins and not [origin for origin in origins if "~:" in str(origin)]
        for origin in origins:
            if str(origin).startswith(("status", "lint", "page")):
                resolve(told, str(origin))


@pytest.mark.slow
def test_rows_sort_by_what_the_records_say() -> None:
    page = page_made.page()
    data = json.loads(Parsed(page_made.scripted()).one("script", id=DATA).text)
    assert data["keys"]["lint"] == [skill.health.score for skill in page.status.skills]
    need = [page.verdicts[skill.path].need for skill in page.status.skills]
    order = sorted(range(len(need)), key=lambda at: data["keys"]["verdict"][at])
    assert [need[at] for at in order] == sorted(need)
    assert data["grades"] == [page.verdicts[skill.path].grade.value for skill in page.status.skills]
    codes = {each.code for each in page.lint.findings}
    assert set(data["facets"]["rule"]) == codes
    for code, places in data["facets"]["rule"].items():
        paths = {path for each in page.lint.findings if each.code == code for path in (each.skill, *each.also)}
        assert {page.status.skills[at].path for at in places} == paths & {each.path for each in page.status.skills}


@pytest.mark.slow
def test_long_tables_are_made_by_the_script_too() -> None:
    plain, scripted = page_made.seen(), Parsed(page_made.scripted())
    data = json.loads(scripted.one("script", id=DATA).text)
    for name in data["tables"]:
        assert unpack(data["list"], data["tables"][name]).count("<tr") > LONG_TABLE
        assert len([each for each in scripted.elements if each.attrs.get("data-table") == name]) == 1
    assert not [each for each in plain.elements if "data-table" in each.attrs]


@pytest.mark.slow
def test_a_site_has_a_page_for_each_skill_and_leads_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skill_health.page.trials.pages.MOST_PAGES", 10)
    page = page_made.page()
    files = dict(render_site(page))
    names = {f"skills/{anchor(skill.path)}.html" for skill in page.status.skills}
    assert {name for name in files if not name.startswith("trials/")} == {"index.html", *names}
    seen = Parsed(files["index.html"])
    data = json.loads(seen.one("script", id=DATA).text)
    assert "parts" not in data and not [link for link in seen.links() if link.startswith("#skill-")]
    rows = "".join(unpack(data["list"], each) for each in data["rows"])
    assert set(re.findall(r'href="(skills/[^"]*)"', rows)) == names
    ids = {str(each.attrs["id"]) for each in seen.elements if "id" in each.attrs}
    for name in sorted(names):
        own = Parsed(files[name])
        assert own.one("details", _class_="skill").attrs["id"] == name[7:-5]
        for link in own.links():
            where, _, place = link.partition("#")
            assert where != "../index.html" or not place or place in ids, link
    assert dict(render_site(page)) == files


@pytest.mark.slow
def test_no_text_of_a_skill_ends_the_script_that_keeps_it() -> None:
    text = page_made.scripted()
    inner = re.findall(rf'<script type="application/json" id="{DATA}">(.*?)</script>', text, re.DOTALL)[0]
    assert not set("<>&") & set(inner) and inner.isascii()
    pieces = json.loads(inner)
    joined = "".join(unpack(pieces["list"], each) for each in [*pieces["rows"], *pieces["parts"]])
    assert "<script" not in joined and "<img" not in joined and "onerror=alert" in joined, "it is there, as text"
    assert embedded({"a": "</script><!--\u2028"}).count("<") == 0
    assert whole("a/~:0/b", ["c"]) == "a/c/b"
