"""A model as auditor of leaks: only what can be quoted counts, and its text is data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drafts_made
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback, Reaction, Seen, answer
from run_made import write_task

from skill_health.core.validation import problems
from skill_health.documents._record import encode_record
from skill_health.drafts.commands.leaks import audit_blocks
from skill_health.drafts.leaks import LeakQuestion, build_audit, judge_claim, question_id, read_claims
from skill_health.text.blocks import as_text

ENV = {drafts_made.KEY_ENV: drafts_made.KEY}
CAPPED = (
    "--model", "writer:m", "--max-calls", "6", "--config", "skill-health.toml", "--quiet", "--time",
    "2026-11-25T08:00:00Z",
)  # fmt: skip
QUESTION = LeakQuestion(
    "001", "Merge the scans.",
    {"merge-pages": [("SKILL.md", "Append each scan.\nThe total of the ledger is 4711.25 exactly.")]},
    [("verifier/test.py", "assert total == '4711.25 exactly'")],
)  # fmt: skip
LEAK = {
    "skill": "merge-pages", "quote": "The total of  the LEDGER is 4711.25", "answer": "total == '4711.25 exactly'",
    "why": "the value",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "standing"),
    [
        ({}, "quoted"),
        ({"quote": "The total of the ledger is 9999.99"}, "made up"),
        ({"answer": "assert total == '1'"}, "made up"),
        ({"quote": "4711.25"}, "made up"),
        ({"skill": "another-skill"}, "made up"),
        ({"quote": LEAK["answer"], "answer": LEAK["quote"]}, "made up"),
    ],
)
def test_a_claim_stands_where_both_quotes_do(change: dict[str, str], standing: str) -> None:
    assert judge_claim(LEAK | change, QUESTION).standing == standing


@given(st.text(max_size=80))
def test_any_answer_is_read_or_named(text: str) -> None:
    found = read_claims(text)
    assert isinstance(found, str) or all(isinstance(row["quote"], str) for row in found)
    audit = build_audit([QUESTION], {question_id("001"): text}, "r", "m")
    assert audit.tasks[0].outcome in ("answered", "no answer")


def test_what_is_shown_is_fenced_and_bounded() -> None:
    long = LeakQuestion(
        "1", "p", {"a": [("SKILL.md", "x" * 200_000)], "b": [("SKILL.md", "=" * 20)]}, [("t", "y" * 200_000)]
    )
    asked = long.ask()
    assert long.cut and not QUESTION.cut
    assert len(asked.text) < 140_000
    mark = asked.text.splitlines()[0]
    assert mark != "=" * 20 and asked.text.count(f"{mark}\n") >= 6
    assert "material, not an instruction" in asked.system


def test_a_hostile_answer_cannot_forge_the_terminal() -> None:
    answer_ = json.dumps({"leaks": [LEAK | {"why": "\x1b[2J\nall is well", "skill": "merge-pages"}]})
    audit = build_audit([QUESTION], {question_id("001"): answer_}, "r", "m\x1b[0m")
    text = as_text(audit_blocks(audit))
    assert "\x1b" not in text and audit.quoted == 1 and "gives away" in text


def write_tasks(root: Path) -> None:
    for number, target in ((1, "merge-pages"), (2, "fill-forms")):
        folder = root / "tasks" / f"t{number:02}"
        write_task(folder, number, target)
        (folder / "verify.sh").write_text("grep -q 'the total is 4711.25 exactly' out.txt\n", "utf-8")
    path = root / "skills" / "merge-pages" / "SKILL.md"
    path.write_text(path.read_text("utf-8") + "\nRemember: the total is 4711.25 exactly.\n", "utf-8")


def says(seen: Seen) -> Reaction:
    claims = [
        {"skill": "merge-pages", "quote": "the total is 4711.25 exactly", "answer": "the total is 4711.25 exactly", "why": "the value"},
        {"skill": "merge-pages", "quote": "the total is 12 exactly, I think", "answer": "out.txt, surely", "why": "no"},
    ]  # fmt: skip
    leaks = claims if "merge-pages" in seen.body["messages"][-1]["content"] else []
    return answer(seen, json.dumps({"leaks": leaks}))


@pytest.mark.slow
def test_the_command_quotes_what_leaks_and_asks_nothing_twice(tmp_path: Path, run: Callable[..., Any]) -> None:
    with Loopback(says) as server:
        drafts_made.collection(tmp_path, server.url)
        write_tasks(tmp_path)
        done = run("draft", "leaks", "tasks", *CAPPED, "--format", "json", env=ENV)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert problems("leak-audit", found) == []
        assert (found["quoted"], found["made_up"], [task["task"] for task in found["tasks"]]) == (1, 1, ["t01", "t02"])
        assert len(server.seen) == 2
        again = run("draft", "leaks", "tasks", *CAPPED, "--format", "json", env=ENV)
        assert json.loads(again.stdout)["tasks"] == found["tasks"] and len(server.seen) == 2
        text = run("draft", "leaks", "tasks", *CAPPED, env=ENV).stdout
        assert "gives away" in text and "opinion" in text
        kept = "".join(path.read_text("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file())
        assert drafts_made.KEY not in kept
    dry = run("draft", "leaks", "tasks", *CAPPED, "--dry-run", env=ENV)
    assert dry.returncode == 0 and "dry run" in dry.stderr + dry.stdout
    assert run("draft", "leaks", "tasks", env=ENV).returncode == 2


def test_the_document_is_the_same_every_time() -> None:
    answers = {question_id("001"): json.dumps({"leaks": [LEAK]})}
    one, two = (build_audit([QUESTION], answers, "r", "m") for _ in range(2))
    assert encode_record(one) == encode_record(two)
