"""Drafts by a model over HTTP on loopback: what it says is data, caps are kept, and a kill costs nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import drafts_made
import pytest
from loopback import Loopback, Reaction, Seen, answer, failure

from skill_health.bench.http import pacing
from skill_health.documents.prompt_draft import PromptDraft
from skill_health.drafts.prompts.question import read_checks, read_prompts
from skill_health.drafts.store import read_drafts

Run = Callable[..., Any]
ENV = {drafts_made.KEY_ENV: drafts_made.KEY}
ROWS = (
    ("positive", "the second scan is upside down, turn it and put both together", "merge-pages"),
    ("positive", "merge-pages these two scans please", "merge-pages"),
    ("near_miss", "which boxes of this tax form do i have to fill", "fill-forms"),
    ("none", "how thick is a sheet of paper", "none"),
    ("none", "anything", "merge-pages"),
)
SETTINGS = ("--config", "skill-health.toml", "--quiet")
CAPPED = ("--max-calls", "20", *SETTINGS, "--time", "2026-11-25T08:00:00Z")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back-off takes no time to speak of."""
    monkeypatch.setattr(pacing, "STEPS", tuple(step / 100 for step in pacing.STEPS))


def drafts(root: Path) -> dict[str, PromptDraft]:
    return {draft.content.text: draft for draft in read_drafts(str(root), PromptDraft).drafts}


def writes(*rows: tuple[str, str, str]) -> Callable[[Seen], Reaction]:
    return lambda seen: answer(seen, drafts_made.answered(*rows))


@pytest.mark.slow
def test_what_a_model_writes_is_held_against_our_rules_and_kept_with_its_id(tmp_path: Path, run: Run) -> None:
    with Loopback(writes(*ROWS)) as server:
        drafts_made.collection(tmp_path, server.url)
        done = run("draft", "prompts", "merge-pages", "--model", "writer:m", *CAPPED, env=ENV)
        assert done.returncode == 0, done.stderr
        found = drafts(tmp_path)
        assert [text for _, text, _ in ROWS if found[text].state == "rejected"] == [ROWS[1][1], ROWS[4][1]]
        assert {draft.state for draft in found.values()} == {"proposed", "rejected"}
        assert [found[ROWS[at][1]].verdict.code for at in (1, 4)] == ["names_skill", "label"]  # type: ignore[union-attr]
        first = found[ROWS[0][1]]
        assert (first.origin.by, first.origin.model, first.origin.resolved) == ("model", "writer:m", "m-resolved")
        assert found[ROWS[2][1]].content.rejected == ("merge-pages",)
        (request,) = server.seen
        assert request.body["response_format"]["type"] == "json_schema"
        again = run("draft", "prompts", "merge-pages", "--model", "writer:m", *CAPPED, env=ENV)
        assert "1 answers " in again.stderr and again.stdout == "No new draft.\n"
        assert len(server.seen) == 1 and drafts(tmp_path) == found
        run("draft", "prompts", "merge-pages", "--model", "writer:m", "--no-resume", *CAPPED, env=ENV)
        assert len(server.seen) == 2 and drafts(tmp_path) == found
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 8 and not any(drafts_made.KEY.encode() in each for each in written)


def test_a_second_model_may_only_reject(tmp_path: Path, run: Run) -> None:
    rows = (ROWS[0], ROWS[1], ROWS[2], ROWS[3])
    checks = drafts_made.checked(
        ("merge-pages", True), ("merge-pages", False), ("chart-sheets", False), ("none", False)
    )

    def react(seen: Seen) -> Reaction:
        return answer(seen, checks if "Requests" in seen.text else drafts_made.answered(*rows))

    with Loopback(react) as server:
        drafts_made.collection(tmp_path, server.url)
        done = run(
            "draft", "prompts", "merge-pages", "--model", "writer:m", "--check-model", "checker:m", *CAPPED, env=ENV
        )
        assert done.returncode == 0, done.stderr
        asked = server.seen[1].text
    found = drafts(tmp_path)
    verdicts = [found[text].verdict for _, text, _ in rows]
    assert [verdict and verdict.code for verdict in verdicts] == ["ambiguous", "names_skill", "label_disputed", None]
    assert [verdict and verdict.by for verdict in verdicts] == ["model", "validation", "model", None]
    assert "positive" not in asked and "near_miss" not in asked


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty_answer"), ("Sure! Here they are.", "prose"), ('{"prompts": [', "not_json"),
        ('{"prompts": {}}', "wrong_form"), ('{"prompts": [1]}', "wrong_form"),
        ('{"prompts": [{"role": "boss", "text": "x", "expected": null}]}', "wrong_form"),
        ('{"prompts": [{"role": "none", "text": 7, "expected": null}]}', "wrong_form"),
        ('{"prompts": [], "prompts": []}', "not_json"), (json.dumps({"prompts": [{}] * 1000}), "too_long"),
        ("[" * 100_000, "prose"),
    ],
    ids=str,
)  # fmt: skip
def test_an_answer_of_another_form_is_none(text: str, kind: str) -> None:
    assert read_prompts(text) == kind


def test_an_answer_in_a_fence_or_after_thoughts_is_read() -> None:
    text = drafts_made.answered(ROWS[0])
    assert read_prompts(f"```json\n{text}\n```") == read_prompts(text)
    assert read_prompts(f"<think>{{}}</think>{text}", think_tags=True) == read_prompts(text)


@pytest.mark.parametrize("rows", [(), (("a", False),), (("a", False),) * 3])
def test_a_check_of_another_number_of_prompts_is_none(rows: tuple[tuple[str, bool], ...]) -> None:
    assert read_checks(drafts_made.checked(*rows), 2) == "missing_answer"


def test_a_hostile_answer_harms_nothing(tmp_path: Path, run: Run) -> None:
    rows = (
        ("positive", "\x1b]0;owned\x07 join these scans for me", "merge-pages"),
        ("positive", "</script><script>alert(1)</script> join them", "merge-pages"),
        ("positive", "../../../../etc/passwd please join these two", "../../x"),
        ("none", "z" * 50_000, "none"),
    )
    with Loopback(writes(*rows)) as server:
        drafts_made.collection(tmp_path, server.url)
        done = run("draft", "prompts", "merge-pages", "--model", "writer:m", *CAPPED, env=ENV)
    assert done.returncode == 0 and "\x1b" not in done.stdout + done.stderr
    names = sorted(path.name for path in (tmp_path / "drafts" / "prompts").iterdir())
    assert len(names) == 4 and all(re.fullmatch(r"merge-pages-[0-9a-f]{12}\.json", name) for name in names)
    assert all("\x1b" not in path.read_text("utf-8") for path in (tmp_path / "drafts" / "prompts").iterdir())


@pytest.mark.slow
def test_bad_answers_are_asked_for_once_more_and_caps_are_kept(tmp_path: Path, run: Run) -> None:
    with Loopback(lambda seen: answer(seen, "no")) as server:
        drafts_made.collection(tmp_path, server.url)
        done = run("draft", "prompts", "--model", "writer:m", "--max-calls", "3", *SETTINGS, env=ENV)
        assert done.returncode == 3 and "with a larger cap" in done.stderr
        assert len(server.seen) == 3
        refused = run("draft", "prompts", "--model", "writer:m", *SETTINGS, env=ENV)
        assert refused.returncode == 2 and "--max-runs" in refused.stderr
        dry = run("draft", "prompts", "--model", "writer:m", "--dry-run", *SETTINGS, env={})
        assert dry.returncode == 0 and "4 calls" in dry.stderr and len(server.seen) == 3


def test_a_wrong_key_stops_it(tmp_path: Path, run: Run) -> None:
    with Loopback(lambda seen: failure(seen, "wrong_key")) as server:
        drafts_made.collection(tmp_path, server.url)
        done = run("draft", "prompts", "--model", "writer:m", "--concurrency", "1", *CAPPED, env=ENV)
        assert done.returncode == 3 and len(server.seen) == 1
    assert drafts_made.KEY not in done.stderr


@pytest.mark.slow
def test_a_killed_run_goes_on_and_asks_nothing_twice(tmp_path: Path, run: Run) -> None:
    """The server answers the first two questions and hangs on the third; the process is killed there."""
    hang = True

    def react(seen: Seen) -> Reaction:
        name = re.search(r"The skill\nname: ([\w-]+)", seen.text)
        assert name
        row = ("positive", f"a request about whatever number {name[1][:5]} is about", name[1])
        reaction = answer(seen, drafts_made.answered(row))
        return reaction.but(hang=True) if hang and seen.number > 2 else reaction

    with Loopback(react) as server:
        drafts_made.collection(tmp_path, server.url)
        command = [
            sys.executable, "-m", "skill_health", "draft", "prompts", "--model", "writer:m", "--concurrency", "1", *CAPPED,
        ]  # fmt: skip
        with subprocess.Popen(command, cwd=tmp_path, env=os.environ | ENV) as process:
            while len(server.seen) < 3:
                assert process.poll() is None
            process.send_signal(signal.SIGKILL)
        hang = False
        done = run("draft", "prompts", "--model", "writer:m", "--concurrency", "1", *CAPPED, env=ENV)
        assert done.returncode == 0, done.stderr
        assert len(server.seen) == 5, "two were answered, one was lost, two were left"
    assert len(list((tmp_path / "reports" / "drafting").iterdir())) == 1
    assert len(drafts(tmp_path)) == 4
