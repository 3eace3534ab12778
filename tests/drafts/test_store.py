"""Drafts on disk: whole or not at all, readable by people, and never overwritten by surprise."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import drafts_made
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from skill_health.core.errors import UsageError
from skill_health.documents._record import decode_record
from skill_health.documents.prompt_draft import PromptDraft
from skill_health.drafts.store import (
    add_drafts,
    change_draft,
    draft_path,
    is_edited,
    name_draft,
    read_drafts,
    settle_draft,
    split_family,
    write_json,
)

TIME = datetime(2026, 11, 25, 9, tzinfo=UTC)


def test_what_is_added_is_read_again_by_its_id(tmp_path: Path) -> None:
    made = [drafts_made.draft(text) for text in ("join the invoices", "ÄÖ \u202e turn it", "a\nb")]
    assert add_drafts(str(tmp_path), made) == tuple(made)
    assert read_drafts(str(tmp_path), PromptDraft).drafts == tuple(sorted(made, key=lambda one: one.id))
    assert sorted(os.listdir(tmp_path / "drafts" / "prompts")) == sorted(f"{one.id}.json" for one in made)


def test_a_proposal_that_was_decided_on_is_not_proposed_again(tmp_path: Path) -> None:
    made = drafts_made.draft()
    add_drafts(str(tmp_path), [made])
    done = settle_draft(made, "rejected", "person", TIME, "nobody says that")
    change_draft(str(tmp_path), made, done)
    assert add_drafts(str(tmp_path), [made]) == ()
    assert read_drafts(str(tmp_path), PromptDraft).drafts == (done,)


def test_what_another_program_changed_is_left_as_it_is(tmp_path: Path) -> None:
    made = drafts_made.draft()
    add_drafts(str(tmp_path), [made])
    other = replace(made, content=drafts_made.content("what somebody typed"))
    change_draft(str(tmp_path), made, other)
    with pytest.raises(UsageError, match="changed meanwhile"):
        change_draft(str(tmp_path), made, settle_draft(made, "accepted", "person", TIME))
    assert read_drafts(str(tmp_path), PromptDraft).drafts == (other,)
    assert is_edited(other) and not is_edited(made)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is no draft"), (b"\xff\xfe", "is no draft"), (b"[" * 100_000, "is no draft"),
        (b'{"version": 2}', "is no draft"), (b'{"version": 1, "kind": "prompt"}', "is no draft"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_named_and_harms_no_other(tmp_path: Path, content: bytes, told: str) -> None:
    made = drafts_made.draft()
    add_drafts(str(tmp_path), [made])
    (tmp_path / "drafts" / "prompts" / "b\x1bad.json").write_bytes(content)
    found = read_drafts(str(tmp_path), PromptDraft)
    assert found.drafts == (made,)
    (problem,) = found.problems
    assert told in problem and "\x1b" not in problem


def test_a_draft_under_another_name_is_named(tmp_path: Path) -> None:
    made = drafts_made.draft()
    add_drafts(str(tmp_path), [made])
    os.rename(draft_path(str(tmp_path), made), tmp_path / "drafts" / "prompts" / "other.json")
    assert f"name the file {made.id}.json" in read_drafts(str(tmp_path), PromptDraft).problems[0]


def test_a_link_out_of_the_collection_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    root = tmp_path / "collection"
    root.mkdir()
    (root / "drafts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="symbolic link"):
        add_drafts(str(root), [drafts_made.draft()])
    assert list((tmp_path / "elsewhere").iterdir()) == []


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_file_shows_nothing_that_cannot_be_seen(text: str) -> None:
    made = drafts_made.draft(text)
    written = write_json(made)
    assert all(char == "\n" or char.isprintable() for char in written)
    assert decode_record(written.encode(), PromptDraft) == made
    assert list(json.loads(written))[:3] == ["version", "id", "state"]


@given(st.text())
def test_an_id_is_a_file_name(name: str) -> None:
    made = replace(drafts_made.draft(), id=name_draft(name, drafts_made.content()))
    assert decode_record(write_json(made).encode(), PromptDraft) == made


def test_families_are_split_in_their_shares_and_by_seed() -> None:
    families = [f"family {number}" for number in range(2000)]
    sealed = [family for family in families if split_family(family, 1) == "test"]
    assert 0.36 < len(sealed) / len(families) < 0.44
    assert sealed == [family for family in families if split_family(family, 1) == "test"]
    assert sealed != [family for family in families if split_family(family, 2) == "test"]


_WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
import drafts_made
from skill_health.drafts.store import add_drafts
number = 0
while True:
    add_drafts(sys.argv[1], [drafts_made.draft(f"request {number}")])
    print(number, flush=True)
    number += 1
"""


@pytest.mark.slow
def test_nothing_that_was_reported_is_lost_by_a_kill(tmp_path: Path) -> None:
    for count in (1, 4):
        root = tmp_path / str(count)
        root.mkdir()
        command = [sys.executable, "-c", _WRITER, str(root), str(Path(__file__).parent)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            told = [int(process.stdout.readline()) for _ in range(count)]
            process.send_signal(signal.SIGKILL)
        found = read_drafts(str(root), PromptDraft)
        assert not found.problems
        assert {f"request {number}" for number in told} <= {one.content.text for one in found.drafts}
        add_drafts(str(root), [drafts_made.draft("one more")])
