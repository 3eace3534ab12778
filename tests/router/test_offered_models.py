"""`router models PROVIDER`: what a server says that it offers, over loopback; nothing of it is trusted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Reaction, Seen

from skill_health.commands.router import command as group
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.router.routers._load import resolve

KEY = "sk-made-for-a-test-0123456789"
PAGES: dict[str, dict[str, Any]] = {
    "/v1/models": {"data": [{"id": "m-large"}, {"id": "m-small"}, {"id": "m-large"}, {"id": 3}, "x"]},
    "/v1/models?limit=1000": {"data": [{"id": "c-one"}], "has_more": True, "last_id": "c-one"},
    "/v1/models?limit=1000&after_id=c-one": {"data": [{"id": "c-two"}], "has_more": False, "last_id": "c-two"},
    "/v1beta/models?pageSize=1000": {
        "models": [
            {"name": "models/g-one", "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/embeds", "supportedGenerationMethods": ["embedContent"]},
        ],
        "nextPageToken": "a&b",
    },
    "/v1beta/models?pageSize=1000&pageToken=a%26b": {
        "models": [{"name": "models/g-two", "supportedGenerationMethods": ["countTokens", "generateContent"]}]
    },
}


def served(seen: Seen) -> Reaction:
    page = PAGES.get(seen.path)
    return Reaction(404) if page is None else Reaction(body=json.dumps(page).encode())


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Ask a server at this URL with the protocol of this name; what is printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MADE_KEY", KEY)

    def run(protocol: str, url: str, *given: str, more: str = "") -> str:
        here = f'[router.providers.here]\nprotocol = "{protocol}"\nbase-url = "{url}"\nkey-env = "MADE_KEY"\n'
        (tmp_path / "skill-health.toml").write_text(here + more, encoding="utf-8")
        words = ["models", "--config", "skill-health.toml", *(given or ("here",))]
        assert group.main(words, standalone_mode=False) == 0
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize(
    ("protocol", "names"),
    [("openai", ("m-large", "m-small")), ("openai-responses", ("m-large", "m-small")), ("anthropic", ("c-one", "c-two")),
     ("gemini", ("g-one", "g-two"))],
)  # fmt: skip
def test_every_page_of_models_is_listed_once_and_sorted(
    call: Callable[..., str], protocol: str, names: tuple[str, ...]
) -> None:
    price = f'[router.prices."here:{names[0]}"]\ninput = 1.5\noutput = 6.0\n'
    with Loopback(served) as server:
        told = call(protocol, server.url, more=price)
        found = json.loads(call(protocol, server.url, "here:?", "--format", "json", more=price))
    assert [each["name"] for each in found] == [f"here:{name}" for name in names]
    assert [each["input"] for each in found] == [1.5, None]
    lines = told.splitlines()
    assert lines[0].startswith(f"here:{names[0]}") and lines[0].endswith("$1.5 in, $6 out per million tokens")
    assert lines[1].endswith("no known price") and len(lines) == 2
    assert all(KEY in "".join(seen.headers.values()) for seen in server.seen)


NO_LIST = "named no model"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Reaction(401, b'{"error": {"message": "no such key"}}'), "no such key"),
        (Reaction(404), "404"),
        (Reaction(body=b"<html>"), "not JSON"),
        (Reaction(body=b"[]"), NO_LIST),
        (Reaction(body=b'{"data": []}'), NO_LIST),
        (Reaction(body=b'{"data": "many"}'), NO_LIST),
    ],
)
def test_what_is_no_list_of_models_is_said_in_one_line(call: Callable[..., str], answer: Reaction, said: str) -> None:
    with Loopback(lambda seen: answer) as server, pytest.raises(UsageError) as caught:
        call("openai", server.url)
    assert said in str(caught.value) and "\n" not in str(caught.value) and KEY not in str(caught.value)


def test_names_forge_nothing_and_give_the_key_away_to_nobody(call: Callable[..., str]) -> None:
    page = json.dumps({"data": [{"id": "\x1b[2Ja\nb"}, {"id": f"echo-{KEY}"}]}).encode()
    with Loopback(lambda seen: Reaction(body=page)) as server:
        told = call("openai", server.url)
    assert "\x1b" not in told and KEY not in told and len(told.splitlines()) == 2


def test_pages_without_an_end_are_left_after_some(call: Callable[..., str]) -> None:
    page = json.dumps({"data": [{"id": "a"}], "has_more": True, "last_id": "a"}).encode()
    with Loopback(lambda seen: Reaction(body=page)) as server:
        call("anthropic", server.url)
    assert len(server.seen) == 50


def test_what_is_computed_here_has_no_models(call: Callable[..., str]) -> None:
    for name in ("lexical:tfidf", "scripted", "nobody"):
        with pytest.raises(UsageError):
            call("openai", "http://127.0.0.1:1", name)
    with pytest.raises(UsageError, match="`skill-health router models openai`"):
        resolve("openai:?", RouterSettings())
