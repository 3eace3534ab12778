"""Logs of agents: the forms that their programs write are read, what is private is not kept, nothing else does harm."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import drafts_made
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.documents.prompt_draft import PromptDraft
from skill_health.drafts.from_logs import find_logs, propose_from_logs
from skill_health.drafts.material import DraftingCollection, load_collection
from skill_health.drafts.store import read_drafts
from skill_health.drafts.transcripts import claude_code, codex, opencode
from skill_health.text.secrets import hide_private

ASKED, LATER = "the second scan is upside down, put both together", "thanks, and now something else entirely"


def claude_log(path: Path, *records: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def said(text: object, **more: Any) -> dict[str, Any]:
    return {"type": "user", "isSidechain": False, "message": {"role": "user", "content": text}, "sessionId": "s"} | more


def used(name: str, **given: Any) -> dict[str, Any]:
    part = {"type": "tool_use", "id": "t", "name": name, "input": given}
    return {"type": "assistant", "message": {"role": "assistant", "content": [part]}}


@pytest.mark.parametrize(
    ("records", "turns"),
    [
        ([said(ASKED), used("Skill", skill="merge-pages")], [(ASKED, ["merge-pages"])]),
        ([said([{"type": "text", "text": ASKED}]), used("Skill", skill="p:merge-pages")], [(ASKED, ["p:merge-pages"])]),
        ([said(ASKED), used("Read", file_path="/x/skills/merge-pages/SKILL.md")], [(ASKED, ["merge-pages"])]),
        ([said(ASKED), used("Bash", command="cat .claude/skills/merge-pages/SKILL.md")], [(ASKED, ["merge-pages"])]),
        ([said(ASKED), used("Bash", command="ls merge-pages")], [(ASKED, [])]),
        ([said(ASKED), used("Skill", skill="a"), used("Skill", skill="a"), used("Skill", skill="b")], [(ASKED, ["a", "b"])]),
        ([said(ASKED), said(LATER), used("Skill", skill="a")], [(ASKED, []), (LATER, ["a"])]),
        ([said(ASKED), said("Base directory for this skill", isMeta=True), used("Skill", skill="a")], [(ASKED, ["a"])]),
        ([said(ASKED), said([{"type": "tool_result", "content": "x"}]), used("Skill", skill="a")], [(ASKED, ["a"])]),
        ([said(ASKED, isSidechain=True), used("Skill", skill="a")], []),
        ([said("<command-name>/merge-pages</command-name>"), used("Skill", skill="a")], []),
        ([used("Skill", skill="a"), said(None), said(7), said({}), {"type": "user"}, {"type": "assistant"}], []),
        ([said(ASKED), used("Skill", skill=7), used("Skill"), used("Read", file_path=[])], [(ASKED, [])]),
    ],
)  # fmt: skip
def test_claude_code(tmp_path: Path, records: list[dict[str, Any]], turns: list[tuple[str, list[str]]]) -> None:
    path = claude_log(tmp_path / "projects" / "-x" / "s.jsonl", *records)
    assert claude_code.fits(path)
    assert [(turn.request, turn.skills) for turn in claude_code.read_log(path)] == turns


def item(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"type": kind, **more}}


def typed(*texts: str) -> dict[str, Any]:
    return item("message", role="user", content=[{"type": "input_text", "text": text} for text in texts])


@pytest.mark.parametrize(
    ("records", "turns"),
    [
        (
            [typed("<environment_context>\n</environment_context>"), typed(ASKED),
             item("function_call", name="exec_command", arguments='{"cmd": "cat .agents/skills/merge-pages/SKILL.md"}')],
            [(ASKED, ["merge-pages"])],
        ),
        ([typed("# AGENTS.md instructions for /x", ASKED)], [(ASKED, [])]),
        (
            [typed(ASKED), item("local_shell_call", action={"command": ["sed", "-n", "1,9p", "skills/a/SKILL.md"]}),
             item("custom_tool_call", input="open skills/b/SKILL.md")],
            [(ASKED, ["a", "b"])],
        ),
        ([item("function_call", arguments="x/SKILL.md"), item("message", role="user", content=None)], []),
        ([{"type": "event_msg", "payload": {"type": "user_message", "message": ASKED}}], []),
    ],
)  # fmt: skip
def test_codex(tmp_path: Path, records: list[dict[str, Any]], turns: list[tuple[str, list[str]]]) -> None:
    path = claude_log(tmp_path / "sessions" / "2026" / "11" / "25" / "rollout-2026-11-25.jsonl", *records)
    assert codex.fits(path) and not claude_code.fits(path)
    assert [(turn.request, turn.skills) for turn in codex.read_log(path)] == turns


ROWS = [
    ("m1", {"role": "user"}, {"type": "text", "text": f'"{ASKED}"'}),
    ("m1", {"role": "user"}, {"type": "text", "text": "a reminder", "synthetic": True}),
    ("m2", {"role": "assistant"}, {"type": "tool", "tool": "skill", "state": {"input": {"name": "merge-pages"}}}),
    ("m2", {"role": "assistant"}, {"type": "tool", "tool": "read", "state": {"input": {"filePath": "/a/b/SKILL.md"}}}),
    ("m3", {"role": "user", "n": 2}, {"type": "text", "text": LATER}),
    ("m4", {"role": "assistant"}, {"type": "tool", "tool": "bash", "state": None}),
]
FOUND = [(ASKED, ["merge-pages", "b"]), (LATER, [])]


def database(path: Path, rows: list[tuple[str, Any, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as base:
        base.execute("create table message (id text, session_id text, time_created integer, data text)")
        base.execute("create table part (id text, message_id text, time_created integer, data text)")
        for number, (message, data, part) in enumerate(rows):
            if not base.execute("select 1 from message where id = ?", (message,)).fetchone():
                base.execute("insert into message values (?, 's', ?, ?)", (message, number, json.dumps(data)))
            base.execute("insert into part values (?, ?, ?, ?)", (f"p{number}", message, number, json.dumps(part)))
    base.close()
    return path


def test_opencode_in_its_database_and_in_files(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode" / "opencode.db", ROWS)
    assert opencode.fits(path)
    assert [(turn.request, turn.skills) for turn in opencode.read_log(path)] == FOUND
    storage = tmp_path / "storage"
    for number, (message, data, part) in enumerate(ROWS):
        for place, value in ((f"message/ses/{message}.json", data), (f"part/{message}/p{number}.json", part)):
            (storage / place).parent.mkdir(parents=True, exist_ok=True)
            (storage / place).write_text(json.dumps(value), "utf-8")
    files = sorted((storage / "message" / "ses").iterdir())
    assert all(map(opencode.fits, files))
    assert [(turn.request, turn.skills) for file in files for turn in opencode.read_log(file)] == FOUND


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("write to anna.meier+x@firma.co.uk", "write to name@example.com"),
        ("call +49 170 1234567 or (030) 123-4567", "call 555-0100 or 555-0100"),
        (
            "in /home/anna/x and /Users/bob.k and C:\\Users\\carl\\z",
            "in /home/user/x and /Users/user and C:\\Users\\user\\z",
        ),
        ("on 10.1.2.3, fe80::1ff:fe23:4567:890a", "on 192.0.2.1, 2001:db8::1"),
        ("password is hunter22, API_KEY=abcd1234", "password is ***, API_KEY=***"),
        ("clone https://u:p@host/x", "clone https://***@host/x"),
        ("DE89 3704 0044 0532 0130 00", "***"),
        ("card 4111 1111 1111 1111", "card ***"),
        ("key AbC9dEf8GhI7jKl6MnO5pQr4StU3vWx2", "key ***"),
        ("my key ghp_R7k2Vq9XwLm4Tz8Yb3Nc6Hd1Jf5Gs0PaQeUi", "my key ghp_***"),
        ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer ***"),
    ],
)
def test_what_is_private_is_replaced(text: str, hidden: str) -> None:
    assert hide_private(text) == hidden


@pytest.mark.parametrize(
    "text",
    [
        "on 2026-11-25 and 10.11.2026, version 1.18.33, 12345678 rows, port 8080",
        "127.0.0.1 and ::1 at 12:30:45",
        "the branch my-very-long-hyphenated-branch-name-for-this-thing",
        "src/components/very/long/path/to/file.tsx",
        "count the tokens of the tokenizer, it is no secret",
        "/home/user/x and name@example.com",
    ],
)
def test_what_is_not_private_is_kept(text: str) -> None:
    assert hide_private(text) == text


@given(st.text(max_size=400))
def test_hiding_twice_changes_nothing_more(text: str) -> None:
    once = hide_private(text)
    assert hide_private(once) == once


@pytest.fixture
def collection(tmp_path: Path) -> DraftingCollection:
    return load_collection([str(drafts_made.collection(tmp_path / "collection"))])


def taken(collection: DraftingCollection, logs: Path) -> list[str]:
    found = propose_from_logs(collection, collection.catalogue.shown, find_logs([str(logs)]))
    return [each.content.text for each in found.proposed]


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"\n\n", b"\xff\xfe\x00\x01" * 1000, b'{"type": "user"', b"[1, 2]\nnull\n3\n", b"{" * 200_000 + b"\n",
        b'{"type": "user", "message": {"content": "' + b"x" * (9 << 20) + b'"}}\n',
        b'{"type": "user", "message": "x"}\n{"type": "assistant", "message": {"content": {"a": 1}}}\n',
    ],
    ids=["empty", "blank", "no text", "torn", "no objects", "deep", "a long line", "other types"],
)  # fmt: skip
def test_a_hostile_log_harms_nothing_and_hides_no_sound_line(
    collection: DraftingCollection, tmp_path: Path, raw: bytes
) -> None:
    sound = "".join(json.dumps(each) + "\n" for each in (said(ASKED), used("Skill", skill="merge-pages")))
    path = tmp_path / "logs" / "projects" / "p" / "s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(raw + b"\n" + sound.encode())
    assert taken(collection, tmp_path / "logs") == [ASKED]


def test_a_hostile_database_is_named_and_ends(
    collection: DraftingCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opencode, "_MOST_STEPS", 20)
    bad = tmp_path / "logs" / "a" / "opencode.db"
    bad.parent.mkdir(parents=True)
    bad.write_bytes(b"SQLite format 3\0" + os.urandom(4096))
    endless = tmp_path / "logs" / "b" / "opencode.db"
    endless.parent.mkdir()
    with sqlite3.connect(endless) as base:
        base.execute("create table part (id text, message_id text, time_created integer, data text)")
        base.execute("insert into part values ('p', 'm', 1, '{}')")
        base.execute(
            "create view message as with recursive n(i) as (select 1 union all select i + 1 from n) "
            "select 'x' as id, 's' as session_id, i as time_created, '{}' as data from n"
        )
    base.close()
    found = propose_from_logs(collection, collection.catalogue.shown, find_logs([str(tmp_path / "logs")]))
    assert found.proposed == () and sum("opencode.db" in note for note in found.notes) == 2


def test_a_link_in_a_folder_of_logs_and_a_pipe_are_not_waited_for(
    collection: DraftingCollection, tmp_path: Path
) -> None:
    folder = tmp_path / "logs" / "projects" / "p"
    claude_log(folder / "s.jsonl", said(ASKED), used("Skill", skill="merge-pages"))
    os.mkfifo(folder / "t.jsonl")
    (folder / "loop").symlink_to(tmp_path / "logs")
    assert taken(collection, tmp_path / "logs") == [ASKED]


@pytest.mark.slow
def test_the_command_shows_asks_and_keeps_nothing_private(tmp_path: Path, run: Callable[..., Any]) -> None:
    drafts_made.collection(tmp_path)
    text = f"{ASKED}, mail it to anna.meier@firma.de\x1b[2J"
    log = tmp_path / "logs" / "projects" / "p" / "s.jsonl"
    foreign = (said("use merge-pages for it please"), used("Skill", skill="merge-pages"))
    claude_log(
        log, said(text.replace("\x1b[2J", "")), used("Skill", skill="merge-pages"), *foreign, said(text),
        used("Skill", skill="nobody"),
    )  # fmt: skip
    asked = run("draft", "prompts", "--from-transcripts", "logs", env={"HOME": str(tmp_path)}, input="n\n")
    assert asked.returncode == 0 and "Nothing was written." in asked.stdout and not (tmp_path / "drafts").exists()
    assert "name@example.com" in asked.stdout and "1 requests are left out: 1 names_skill" in asked.stdout
    done = run("draft", "prompts", "merge-pages", "--from-transcripts", "logs", "--yes")
    assert done.returncode == 0, done.stderr
    (draft,) = read_drafts(str(tmp_path), PromptDraft).drafts
    assert draft.content.text == f"{ASKED}, mail it to name@example.com"
    assert (draft.origin.by, draft.origin.resolved, draft.content.expected) == (
        "transcript", "Claude Code", "merge-pages",
    )  # fmt: skip
    assert (
        "anna" not in done.stdout and "anna" not in (tmp_path / "drafts" / "prompts" / f"{draft.id}.json").read_text()
    )


def test_where_there_is_no_log_it_says_where_it_looked(tmp_path: Path, run: Callable[..., Any]) -> None:
    drafts_made.collection(tmp_path)
    done = run("draft", "prompts", "--from-transcripts", env={"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "c")})
    assert done.returncode == 2 and "name a path" in done.stderr and "sessions" in done.stderr
    (tmp_path / "empty").mkdir()
    assert "no log of" in run("draft", "prompts", "--from-transcripts", "empty").stderr
