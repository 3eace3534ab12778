"""Decisions on drafts over HTTP: from our own page alone, on what was shown, and with nothing of a draft as markup."""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import drafts_made
import pytest
from drafts_made import merging, registry
from msgspec.structs import replace

from skill_health.documents.prompt_draft import PromptDraft
from skill_health.drafts.store import add_drafts, change_draft, read_drafts
from skill_health.page.request import PageOptions
from skill_health.page.serving.draft_pages import DraftPages
from skill_health.page.serving.server import Server
from skill_health.page.serving.site import Site
from skill_health.page.serving.site import site as live_site

TODAY = date(2026, 11, 25)
TEXT = "the second scan is upside down, turn it and put both together"
HOSTILE = "</textarea><script>alert(1)</script> \x1b[2J\u202e \"' & join the scans"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    drafts_made.collection(tmp_path)
    add_drafts(str(tmp_path), [merging(TEXT), merging(HOSTILE)])
    return tmp_path


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    site = Site(lambda: "<html><head></head><body></body></html>", lambda: "1")
    with Server(site, str(root), drafts=lambda: DraftPages([str(root)])) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()


def get(server: Server) -> str:
    with urlopen(f"{server.url}drafts") as answer:
        page: str = answer.read().decode()
    return page


def forms(page: str) -> list[dict[str, str]]:
    """The fields of each form, as a browser would send them."""
    found = []
    for form in re.findall(r"<form .*?</form>", page, re.DOTALL):
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form))
        (text,) = re.findall(r'<textarea name="text">\n(.*?)</textarea>', form, re.DOTALL)
        fields |= {"text": html.unescape(text).replace("\n", "\r\n"), "reason": ""}
        found.append({name: html.unescape(value) for name, value in fields.items()})
    return found


def post(server: Server, fields: dict[str, str], path: str = "drafts", **headers: str) -> tuple[int, str]:
    given = {"Origin": server.url.rstrip("/"), "Sec-Fetch-Site": "same-origin"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    kept = {name: value for name, value in given.items() if value}
    try:
        with urlopen(Request(f"{server.url}{path}", urlencode(fields).encode(), kept)) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def form_of(page: str, text: str) -> dict[str, str]:
    return next(each for each in forms(page) if json.loads(each["text"])["text"] == text)


def states(root: Path) -> dict[str, str]:
    return {draft.content.text: draft.state for draft in read_drafts(str(root), PromptDraft).drafts}


def test_a_draft_is_accepted_as_it_was_shown(server: Server, root: Path) -> None:
    status, page = post(server, form_of(get(server), TEXT) | {"do": "accept"})
    assert status == 200 and "is accepted." in page and len(forms(page)) == 1
    assert states(root)[TEXT] == "accepted" and [line["prompt"] for line in registry(root)] == [TEXT]


def test_an_edit_is_saved_or_accepted_and_keeps_the_rules(server: Server, root: Path) -> None:
    before = get(server)
    fields = form_of(before, TEXT)
    wrong = fields["text"].replace(TEXT, "merge-pages these scans for me")
    status, page = post(server, fields | {"do": "accept", "text": wrong})
    assert status == 200 and page.count("role=") > before.count("role=") and registry(root) == []
    fields = form_of(page, "merge-pages these scans for me")
    right = fields["text"].replace("merge-pages these scans for me", "glue these photographs to one another")
    _, page = post(server, fields | {"do": "save", "text": right})
    assert "is saved." in page and registry(root) == []
    post(server, form_of(page, "glue these photographs to one another") | {"do": "accept"})
    assert [line["prompt"] for line in registry(root)] == ["glue these photographs to one another"]


def test_a_draft_is_rejected_with_a_reason(server: Server, root: Path) -> None:
    fields = form_of(get(server), TEXT)
    assert "say it in a few words" in post(server, fields | {"do": "reject"})[1]
    assert states(root)[TEXT] == "proposed"
    post(server, fields | {"do": "reject", "reason": "nobody says that"})
    assert states(root)[TEXT] == "rejected"


def test_what_was_changed_since_is_not_decided_on(server: Server, root: Path) -> None:
    fields = form_of(get(server), TEXT)
    (draft,) = (each for each in read_drafts(str(root), PromptDraft).drafts if each.content.text == TEXT)
    change_draft(str(root), draft, replace(draft, content=replace(draft.content, text="something else entirely")))
    assert "changed meanwhile" in post(server, fields | {"do": "accept"})[1]
    assert registry(root) == []


FOREIGN: list[tuple[dict[str, str], dict[str, str], int]] = [
    ({"word": "guessed"}, {}, 403),
    ({"word": ""}, {}, 403),
    ({}, {"Origin": "http://elsewhere.example"}, 403),
    ({}, {"Origin": "null"}, 403),
    ({}, {"Origin": ""}, 403),
    ({}, {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}, 403),
    ({}, {"Sec_Fetch_Site": "same-site"}, 403),
    ({}, {"Host": "elsewhere.example"}, 421),
    ({}, {"Content_Type": "text/plain"}, 400),
    ({}, {"Content_Type": "multipart/form-data; boundary=x"}, 400),
    ({f"n{number}": "" for number in range(30)}, {}, 400),
    ({"text": "x" * (3 << 20)}, {}, 400),
]  # fmt: skip


def test_no_other_page_decides(server: Server, root: Path) -> None:
    fields = form_of(get(server), TEXT) | {"do": "accept"}
    for change, headers, status in FOREIGN:
        try:
            assert post(server, fields | change, **headers)[0] == status, (change, headers)
        except OSError:
            assert status == 400, "hung up on what is too large"
        assert set(states(root).values()) == {"proposed"} and registry(root) == []


def test_a_form_of_another_run_of_the_server_is_refused(server: Server, root: Path) -> None:
    fields = form_of(DraftPages([str(root)]).page()[1], TEXT) | {"do": "accept"}
    assert post(server, fields)[0] == 403 and registry(root) == []


@pytest.mark.parametrize("path", ["", "events", "drafts/x", "report.json"])
def test_nothing_else_takes_a_form(server: Server, path: str) -> None:
    assert post(server, {"do": "accept"}, path)[0] == 405


def test_nothing_of_a_draft_is_markup_and_nothing_says_what_is_sealed(server: Server) -> None:
    page = get(server)
    assert "<script" not in page and "\x1b" not in page and "\u202e" not in page
    assert page.count("<form ") == 2 and not re.search(r"\b(sealed|split|train|test)\b", page)
    assert form_of(page, HOSTILE)


def test_a_server_without_drafts_has_no_such_page(root: Path) -> None:
    site = Site(lambda: "<html><head></head><body></body></html>", lambda: "1")
    with Server(site, str(root)) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with pytest.raises(HTTPError) as found:
            get(server)
        found.value.close()
        assert found.value.code == 404
        server.shutdown()


@pytest.mark.slow
def test_the_page_says_what_waits_and_follows_a_decision(root: Path, server: Server) -> None:
    live, folder = live_site((str(root),), PageOptions(True, 1, TODAY, None, None, None), lambda: TODAY)
    assert "2 drafts wait for a decision" in live.page()[1]
    post(server, form_of(get(server), TEXT) | {"do": "accept"})
    assert '<p><a href="/drafts">1 draft waits for a decision</a></p>' in live.page()[1]
    (root / "drafts" / "prompts" / "broken.json").write_bytes(b"\xff{")
    assert "1 draft waits" in live.page()[1] and folder.startswith(str(root))
