"""Whatever others wrote is text: nothing of it runs, loads, hides or leads away, in any part of the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from browser_driver import NARROW, build, open_all, visit
from browser_hostile import ATTACKS, BIDI, write_hostile
from browser_look import too_wide

pytestmark = pytest.mark.real
_ELEMENTS = """() => [...document.querySelectorAll("*")].map((each) => [
    each.namespaceURI.split("/").pop(), each.localName, [...each.attributes].map((one) => [one.name, one.value])])"""
_LISTENERS = """() => [...document.querySelectorAll("*")].flatMap((each) => each.getAttributeNames())
    .filter((name) => /^on|^style$|^srcdoc$/i.test(name))"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile")
    write_hostile(root)
    return build(root)


@pytest.mark.parametrize("scripted", [True, False])
def test_nothing_runs_and_nothing_is_asked_for(scripted: bool, page: Path, browser: Any) -> None:
    with visit(browser, page, java_script_enabled=scripted) as seen:
        if scripted:
            open_all(seen.page)
            for head in seen.page.locator("#table th button").all():
                head.click()
            for link in seen.page.locator("#table tbody a").all():
                link.hover()
                link.focus()
            seen.page.locator("#find").fill(ATTACKS[0])
            seen.page.wait_for_timeout(300)
            assert seen.page.evaluate("window.__owned") is None
        assert seen.page.url.startswith("file:")
        assert seen.page.evaluate("window.length") == 0


def test_no_element_and_no_attribute_is_of_their_making(page: Path, browser: Any) -> None:
    with visit(browser, page) as seen:
        assert seen.page.evaluate(_LISTENERS) == []
        elements = seen.page.evaluate(_ELEMENTS)
        names = {name for _, name, _ in elements}
        assert not names & {
            "iframe", "img", "object", "embed", "form", "base", "foreignObject", "foreignobject", "textarea",
            "animate", "set", "image",
        }  # fmt: skip
        # As many scripts as the page itself has, each named in its policy; the others are data.
        allowed = (
            seen.page.locator("meta[http-equiv]").get_attribute("content").partition("script-src")[2].partition(";")[0]
        )
        assert seen.page.locator("script:not([type])").count() == allowed.count("'sha256-") > 0
        data = seen.page.locator("script[type]").evaluate_all("all => all.map((each) => [each.type, each.textContent])")
        assert data and all(kind == "application/json" and json.loads(text) is not None for kind, text in data)
        assert seen.page.locator("style").count() == 1
        assert seen.page.locator("meta[http-equiv]").count() == 1
        for _, name, attributes in elements:
            for key, value in attributes:
                if key in ("href", "src", "xlink:href", "action", "formaction") and not (
                    name == "link" and value == "data:,"
                ):
                    where = value.partition("#")[0]
                    assert ":" not in where and not where.startswith(("/", "\\")), (name, key, value)
                    assert not where or (page.parent / unquote(where)).exists(), f"a dead link: {value}"


def test_every_text_shows_as_text(page: Path, browser: Any) -> None:
    with visit(browser, page) as seen:
        open_all(seen.page)
        text = seen.page.evaluate("document.body.textContent")
        kinds = ("name", "prompt", "rationale", "model", "task", "message", "diff", "verifier")
        for kind in kinds:
            assert f"[{kind}]" in text, f"{kind} is not on the page"
            told = [each for each in ATTACKS if f"[{kind}]{each}" in text]
            assert told, f"{kind} does not show as it is"
        for attack in ATTACKS:
            assert f"[name]{attack}\\u{{202e}}" in text, attack
        for hidden in (*BIDI.replace("txet", ""), "\x1b", "\x07"):
            assert hidden not in text
        assert "\\u{202e}" in text
        assert "[7*7]" not in text and "49${" not in text, "a template was filled in"


def test_it_can_still_be_used(page: Path, browser: Any) -> None:
    with visit(browser, page, viewport=NARROW) as seen:
        assert too_wide(seen.page) == 0
        open_all(seen.page)
        assert too_wide(seen.page) == 0
        for link in seen.page.locator("#table tbody a").all():
            place = link.get_attribute("href")
            assert seen.page.locator(place).count() == 1
        seen.page.locator("#find").fill("window.__owned=3")
        seen.page.wait_for_function("() => document.getElementById('shown').textContent.trim().startsWith('1 of')")
