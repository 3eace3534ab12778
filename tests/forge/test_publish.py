"""Comments and SARIF, by loopback servers that answer as GitHub's API and GitLab's do."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forge_server import STRANGER, TOKEN, ForgeServer

from skill_health.cli import main

Patch = pytest.MonkeyPatch


@pytest.fixture
def forge() -> Iterator[ForgeServer]:
    server = ForgeServer()
    yield server
    server.server.shutdown()
    server.server.server_close()


Publish = Callable[..., int]


@pytest.fixture(params=["github", "gitlab"])
def publish(request: pytest.FixtureRequest, forge: ForgeServer, tmp_path: Path, monkeypatch: Patch) -> Publish:
    monkeypatch.chdir(tmp_path)
    for name in ("GITLAB_CI", "GITHUB_ACTIONS", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 12}}))
    given = {
        "github": {
            "GITHUB_API_URL": forge.url, "GITHUB_REPOSITORY": "o/r", "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_TOKEN": TOKEN, "GITHUB_SHA": "a" * 40, "GITHUB_REF": "refs/pull/12/merge",
        },
        "gitlab": {
            "GITLAB_CI": "true", "CI_API_V4_URL": forge.url, "CI_PROJECT_ID": "34", "CI_MERGE_REQUEST_IID": "5",
            "GITLAB_TOKEN": TOKEN,
        },
    }[request.param]  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    def call(text: str = "Text.", *more: str) -> int:
        (tmp_path / "comment.md").write_text(text, encoding="utf-8")
        return main(["publish", "--comment", "comment.md", *more])

    return call


def test_one_comment_is_written_and_then_updated(forge: ForgeServer, publish: Publish, capsys: Any) -> None:
    forge.add(STRANGER, "Nice.")
    assert [publish("First."), publish("First."), publish("Second.")] == [0, 0, 0]
    assert [each["body"] for each in forge.comments] == ["Nice.", "<!-- skill-health: delta -->\nSecond.\n"]
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["created", "unchanged", "updated"]
    assert publish("Other.", "--name", "nightly") == 0
    assert len(forge.comments) == 3


def test_it_is_found_behind_many_others(forge: ForgeServer, publish: Publish) -> None:
    for number in range(250):
        forge.add(STRANGER, f"Comment {number}")
    assert publish("First.") == 0
    assert publish("Second.") == 0
    assert len(forge.comments) == 251 and forge.comments[-1]["body"].endswith("Second.\n")


def test_a_strangers_comment_with_our_marker_is_left_alone(forge: ForgeServer, publish: Publish) -> None:
    forge.add(STRANGER, "<!-- skill-health: delta -->\nAll is well.")
    assert publish("Not so well.") == 0
    assert [each["body"] for each in forge.comments] == [
        "<!-- skill-health: delta -->\nAll is well.", "<!-- skill-health: delta -->\nNot so well.\n",
    ]  # fmt: skip


def test_too_long_a_text_is_cut_at_a_line(forge: ForgeServer, publish: Publish) -> None:
    assert publish("é line of a table\n" * 10_000) == 0
    body = forge.comments[0]["body"]
    assert len(body) < 65_536 and body.endswith("line of a table\n\n(The rest is in the summary of the job.)\n")


@pytest.mark.parametrize("code", [401, 403, 404, 422, 500])
def test_a_refusal_is_one_line_without_the_token(forge: ForgeServer, publish: Publish, code: int, capsys: Any) -> None:
    forge.refuses = code
    assert publish() == 3
    said = capsys.readouterr().err
    assert f"refused with {code}" in said and TOKEN not in said and len(said.splitlines()) == 1


def test_the_token_follows_no_redirection(forge: ForgeServer, publish: Publish) -> None:
    other = ForgeServer()
    forge.redirects = other.url
    assert publish() == 3
    assert other.asked == []
    other.server.shutdown()
    other.server.server_close()


@pytest.mark.parametrize(
    "address", ["", "http://example.com", "ftp://127.0.0.1", "http://127.0.0.1.example.com", "https://u:p@127.0.0.1"]
)
def test_the_token_goes_nowhere_openly(publish: Publish, monkeypatch: Patch, address: str) -> None:
    for name in ("GITHUB_API_URL", "CI_API_V4_URL"):
        monkeypatch.setenv(name, address)
    assert publish() == 2


def test_what_is_missing_is_named(publish: Publish, monkeypatch: Patch, capsys: Any) -> None:
    for name in ("GITHUB_TOKEN", "GITLAB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert publish() == 2
    assert "_TOKEN" in capsys.readouterr().err
    assert main(["publish"]) == 2
    assert main(["publish", "--comment", "gone.md"]) == 2
    assert publish("x", "--name", "a -->") == 2


@pytest.mark.parametrize(
    "event", [b"", b"{}", b"[]", b'{"pull_request": 3}', b'{"pull_request": {"number": "../1"}}', None]
)
@pytest.mark.parametrize("publish", ["github"], indirect=True)
def test_a_job_for_no_pull_request_is_a_mistake(publish: Publish, tmp_path: Path, event: bytes | None) -> None:
    (tmp_path / "event.json").unlink()
    if event is not None:
        (tmp_path / "event.json").write_bytes(event)
    assert publish() == 2


@pytest.mark.parametrize("publish", ["github"], indirect=True)
def test_sarif_is_handed_over(publish: Publish, forge: ForgeServer, tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("---\nname: x\n---\n[a](b.md)\n")
    assert main(["lint", "--format", "sarif", "--output", "lint.sarif", "--fail-on", "never"]) == 0
    assert main(["publish", "--sarif", "lint.sarif"]) == 0
    (upload,) = forge.uploads
    assert (upload["commit_sha"], upload["ref"]) == ("a" * 40, "refs/pull/12/merge")
    assert gzip.decompress(base64.b64decode(upload["sarif"])) == (tmp_path / "lint.sarif").read_bytes()
    for wrong in ("[]", "{}", "text"):
        (tmp_path / "lint.sarif").write_text(wrong)
        assert main(["publish", "--sarif", "lint.sarif"]) == 2
