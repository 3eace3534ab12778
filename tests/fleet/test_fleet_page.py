"""The page over a fleet: what it says is what the record says, and nothing on it is markup of others."""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from typing import Any

import msgspec
import pytest
from browser_driver import AXE, NARROW, WIDE, chromium, missing, visit

from skill_health.documents.fleet_line import FleetLine
from skill_health.documents.fleet_run import FleetRun
from skill_health.fleet.page.html import render_fleet
from skill_health.fleet.render import fleet_blocks
from skill_health.text.blocks import as_markdown, as_text

Patch = pytest.MonkeyPatch
pytestmark = pytest.mark.slow
SKILL = """---
name: {name}
description: Sorts {name} by size and prints them in order. Use when {name} are out of order, not for tables of numbers.
---
# {name}

Sort the {name}, then check that none was lost on the way.
"""
BROKEN = "\nSee [the guide](gone.md).\n"


@pytest.fixture(scope="module")
def made(make_fleet: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Three repositories, one of which is gone, in their second run: with new findings, copies and waivers."""
    fleet = make_fleet(tmp_path_factory.mktemp("made"))
    plums = SKILL.format(name="plums")
    fleet.repository("fruit", {"skills/plums/SKILL.md": plums, "skills/figs/SKILL.md": SKILL.format(name="figs")})
    fleet.repository("market", {"skills/plums/SKILL.md": plums, "skills/figs/SKILL.md": SKILL.format(name="figs") * 2})
    fleet.repository("gone", {"skills/nuts/SKILL.md": SKILL.format(name="nuts")})
    for name in ("fruit", "market", "gone"):
        fleet.list(name, owner=f"@{name}")
    fleet.waive(rule="LI", repository="market", reason="agreed", until="2026-11-30")
    fleet.waive(rule="FM", reason="over", until="2026-10-31")
    fleet.run(page=True)
    for name in ("fruit", "market"):
        with (fleet.root / name / "skills/figs/SKILL.md").open("a", encoding="utf-8") as file:
            file.write(BROKEN)
    (fleet.root / "gone").rename(fleet.root / "away")
    assert fleet.run(day=2, page=True).returncode == 3
    return fleet


def page_of(made: Any) -> str:
    return str((made.reports / "index.html").read_text(encoding="utf-8"))


def documents(made: Any) -> tuple[FleetRun, tuple[FleetLine, ...]]:
    run = msgspec.json.decode((made.reports / "skill-health-fleet.json").read_bytes(), type=FleetRun)
    return run, tuple(msgspec.convert(each, FleetLine) for each in made.history())


def test_every_figure_of_the_page_is_where_it_says_that_it_is(made: Any) -> None:
    run, lines = documents(made)
    page = render_fleet(run, lines, plain=True)
    listed = json.loads(re.search(r'id="skill-health-origins">(.*?)</script>', page)[1])  # type: ignore[index]
    known = {"fleet": made.record(), "fleet-history": made.history()}
    seen = 0
    for origin, rest in re.findall(r' data-from="([^"]*)"((?: data-value="[^"]*")?(?: class="\w+")?>[^<]*)', page):
        whole = "/".join(
            listed[int(part[2:])] if part.startswith("~:") else part for part in unescape(origin).split("/")
        )
        name, _, pointer = whole.partition("#")
        value: Any = known[name]
        for part in filter(None, pointer.split("/")):
            part = part.replace("~1", "/").replace("~0", "~")
            value = value[int(part)] if isinstance(value, list) else value.get(part)
        if isinstance(value, int) and not isinstance(value, bool):
            assert rest.rpartition(">")[2] == f"{value:,}"
            seen += 1
    assert seen > 30


def test_the_page_text_and_record_say_the_same(made: Any) -> None:
    run, _ = documents(made)
    plain = re.sub(r"<[^>]*>", " ", page_of(made))
    blocks = list(fleet_blocks(run))
    for told in (as_text(blocks), as_markdown(blocks)):
        assert "Incomplete: 4 skills in 2 of 3 repositories" in told
        assert "there is no folder gone" in told.replace("\\", "")
    assert "Incomplete: 4 skills in 2 of 3 repositories" in plain and "there is no folder gone" in plain
    by = {each.name: each for each in run.repositories}
    assert by["gone"].findings is None
    assert by["market"].findings and by["market"].findings.waived == 1 and by["market"].findings.change
    assert not by["market"].findings.change.new
    assert by["fruit"].findings and by["fruit"].findings.change and len(by["fruit"].findings.change.new) == 1
    assert [each.status for each in run.waivers] == ["active", "expired"]
    assert len(run.copies) == 1 and len(run.near) + len(run.namesakes) >= 1


def test_the_same_record_gives_the_same_page(made: Any) -> None:
    run, lines = documents(made)
    assert render_fleet(run, lines) == render_fleet(run, lines) == page_of(made)


HOSTILE = "<script>alert(1)</script>\"'&\x1b[2J\u202e</style>${7*7}{{7*7}}"


def test_nothing_of_others_is_markup_on_the_page_or_in_the_terminal(made: Any) -> None:
    from skill_health.documents._record import map_values

    run, _ = documents(made)

    def worse(value: Any) -> Any:
        return HOSTILE + value if isinstance(value, str) and value in texts else value

    texts = {
        "plums", "figs", "skills/figs/SKILL.md", "skills/plums/SKILL.md", "agreed", "over", "@fruit", "@market",
        "fruit", "market",
    }  # fmt: skip
    texts |= {
        new.message
        for each in run.repositories
        if each.findings and each.findings.change
        for new in each.findings.change.new
    }
    hostile = map_values(run, worse)
    hostile = msgspec.structs.replace(hostile, title=HOSTILE, notes=(HOSTILE,))
    for plain in (True, False):
        page = render_fleet(hostile, (), plain=plain)
        body = re.sub(r"<script[^>]*>.*?</script>|<style>.*?</style>", "", page, flags=re.DOTALL)
        assert "<script" not in body and "alert(1)" in body and "\x1b" not in page and "\u202e" not in page
        assert page.count("<script>") == 1 and page.count("</style>") == 1
    for told in (as_text(fleet_blocks(hostile)), as_markdown(fleet_blocks(hostile))):
        assert "\x1b" not in told and "\u202e" not in told
    assert "<script>" not in as_markdown(fleet_blocks(hostile))


def test_without_the_library_the_record_is_written_and_the_page_is_not(fleet: Any, monkeypatch: Patch) -> None:
    fleet.repository("fruit", {"skills/figs/SKILL.md": SKILL.format(name="figs")}, is_git=False)
    fleet.list("fruit")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    done = fleet.run(page=True)
    assert "the extra report (jinja2)" in done.stdout and done.returncode == 0
    assert len(fleet.history()) == 1 and fleet.record()["total"]["skills"] == 1
    assert not (fleet.reports / "index.html").exists()


@pytest.mark.real
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_the_page_in_a_browser(made: Any) -> None:
    with chromium() as browser:
        for size in (WIDE, NARROW):
            with visit(browser, made.reports / "index.html", viewport=size) as seen:
                page = seen.page
                assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
                rows = page.locator("#table tbody tr")
                assert rows.count() == 3 and page.locator("#shown").text_content() == "3 of 3 repositories"
                page.locator("#find").fill("market")
                page.locator("#shown", has_text="1 of 3 repositories").wait_for()
                page.locator("#find").fill("")
                page.locator("#by-owner").select_option("@fruit")
                page.locator("#shown", has_text="1 of 3 repositories").wait_for()
                page.locator("#by-owner").select_option("")
                page.locator(".chip", has_text="not measured").click()
                page.locator("#shown", has_text="1 of 3 repositories").wait_for()
                page.locator(".chip", has_text="not measured").click()
                page.locator("th.c-skill button").click()
                names = [each.strip() for each in page.locator("#table tbody th a").all_text_contents()]
                assert names == ["fruit", "gone", "market"]
                page.locator("#table tbody th a", has_text="fruit").click()
                assert page.locator("details.skill[open] h3").text_content() == "fruit"
                # No cell is cut off in its row.
                cut = page.evaluate(
                    "[...document.querySelectorAll('#table tbody tr')].filter((row) => row.scrollHeight > row.clientHeight + 1).length"
                )
                assert cut == 0


@pytest.mark.real
@pytest.mark.skipif(
    bool(missing()) or not AXE.is_file(), reason=missing() or "axe-core is missing: bash scripts/install_browser.sh"
)
def test_a_checker_of_accessibility_finds_nothing(made: Any) -> None:
    with chromium() as browser:
        for size, shade in ((WIDE, "light"), (NARROW, "dark")):
            options = {"viewport": size, "color_scheme": shade, "bypass_csp": True}
            with visit(browser, made.reports / "index.html", may_fail=True, **options) as seen:
                seen.page.locator("#open-all").click()
                seen.page.evaluate(AXE.read_text(encoding="utf-8"))
                found = seen.page.evaluate("axe.run()")["violations"]
                assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
