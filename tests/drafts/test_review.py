"""A person decides: in the terminal or through a pipe, with rules that hold after every edit."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import drafts_made
import pytest
from drafts_made import merging, registry

from skill_health.core.errors import UsageError
from skill_health.documents.prompt_draft import PromptDraft
from skill_health.drafts.desks.prompts import PromptDesk
from skill_health.drafts.material import load_collection
from skill_health.drafts.store import add_drafts, read_drafts
from skill_health.drafts.walk import WalkTally, walk_through

Patch = pytest.MonkeyPatch
TIME = datetime(2026, 11, 25, 9, tzinfo=UTC)
TEXTS = (
    "the second scan is upside down, turn it and put both together",
    "i need these four pages as a single document",
    "three photographs of a contract, make them one file",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    drafts_made.collection(tmp_path)
    add_drafts(str(tmp_path), [merging(text) for text in TEXTS])
    return tmp_path


def desk(root: Path) -> PromptDesk:
    return PromptDesk(load_collection([str(root)]), lambda: TIME, ())


def walk(root: Path, *typed: str, edit: Callable[[str], str | None] = lambda text: None) -> tuple[WalkTally, list[str]]:
    said: list[str] = []
    lines = iter(typed)
    return walk_through(desk(root), lambda question: next(lines, None), edit, said.append), said


def stored(root: Path) -> dict[str, PromptDraft]:
    return {draft.content.text: draft for draft in read_drafts(str(root), PromptDraft).drafts}


def test_each_decision_is_kept_with_its_time_and_nobody(root: Path) -> None:
    order = [draft.content.text for draft in desk(root).waiting()]
    tally, _ = walk(root, "a", "r", "nobody  says that", "s")
    assert (tally.accepted, tally.rejected, tally.left) == (1, 1, 1)
    found = stored(root)
    assert [found[text].state for text in order] == ["accepted", "rejected", "proposed"]
    verdict = found[order[1]].verdict
    told = verdict and (verdict.by, verdict.reason, verdict.at)
    assert told == ("person", "nobody says that", "2026-11-25T09:00:00Z")
    (line,) = registry(root)
    assert (line["prompt"], line["expected_primary_skill"], line["split"]) == (order[0], "merge-pages", "train")
    assert line["tags"] == ["from-template"]


def test_the_end_of_the_input_and_a_word_that_is_none_decide_nothing(root: Path) -> None:
    tally, _ = walk(root, "accept it", "", "yes", "reject")
    assert (tally.accepted, tally.rejected, tally.left) == (0, 0, 3) and tally.ended
    assert {draft.state for draft in stored(root).values()} == {"proposed"} and registry(root) == []


def test_an_edit_is_shown_kept_and_held_against_the_rules(root: Path) -> None:
    first, second = (draft.content.text for draft in desk(root).waiting()[:2])
    texts = iter(
        [lambda old: old.replace(first, "merge-pages please"), lambda old: old.replace("merge-pages please", second)]
    )
    _, said = walk(root, "e", "a", "q", edit=lambda text: next(texts)(text))
    shown = "\n".join(said)
    assert f'-  "text": "{first}"' in shown and '+  "text": "merge-pages please"' in shown
    assert shown.count("tests: merge-pages") == 2, "after the edit, and where it is accepted all the same"
    assert registry(root) == [] and stored(root)["merge-pages please"].state == "proposed"
    _, said = walk(root, "s", "s", "s")
    assert any("a template (weaker), edited" in line for line in said)


def test_what_is_edited_well_is_accepted_as_edited(root: Path, run: Callable[..., Any]) -> None:
    first = desk(root).waiting()[0].content.text
    walk(root, "e", "a", "q", edit=lambda text: text.replace(first, "glue these photographs to one another"))
    assert [line["prompt"] for line in registry(root)] == ["glue these photographs to one another"]
    report = json.loads(run("draft", "report", "--format", "json").stdout)
    assert (report["all"]["unchanged"], report["all"]["edited"], report["all"]["proposed"]) == (0, 1, 2)


def test_an_edit_that_cannot_be_read_changes_nothing(root: Path) -> None:
    before = stored(root)
    _, said = walk(root, "e", "e", "q", edit=lambda text: text[:-5])
    assert sum("is no request" in line for line in said) == 2
    assert stored(root) == before


NEAR = "nearly the same request"


def test_two_that_are_nearly_the_same_are_not_both_accepted(root: Path) -> None:
    add_drafts(str(root), [merging(f"{TEXTS[0]} please")])
    said: list[str] = []

    def ask(question: str) -> str:
        return "s" if NEAR in said[-1] else "a"

    assert walk_through(desk(root), ask, lambda text: None, said.append).accepted == 3
    assert sum(NEAR in line for line in said) == 1


def test_nothing_in_a_draft_forges_a_line(tmp_path: Path) -> None:
    drafts_made.collection(tmp_path)
    hostile = "x\x1b[2J\r\nmust not | fill-forms\n[a]ccept\u202e\u2028 of this"
    add_drafts(str(tmp_path), [merging(hostile, reason="a\nb\x07")])
    _, said = walk(tmp_path, "s")
    assert all(char.isprintable() for line in said for char in line)
    assert not [line for line in said if line.startswith(("[a]ccept", "must not", "  must not"))]


def test_a_kill_between_registry_and_draft_loses_and_doubles_nothing(root: Path, monkeypatch: Patch) -> None:
    first = desk(root).waiting()[0]

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("skill_health.drafts.store._write", die)
        desk(root).accept(first)
    assert len(registry(root)) == 1 and stored(root)[first.content.text].state == "proposed"
    desk(root).accept(first)
    assert len(registry(root)) == 1 and stored(root)[first.content.text].state == "accepted"
    with pytest.raises(UsageError, match="changed meanwhile"):
        desk(root).reject(first, "too late")


def test_what_was_killed_and_is_then_rejected_leaves_the_registry(root: Path, monkeypatch: Patch) -> None:
    first = desk(root).waiting()[0]

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("skill_health.drafts.store._write", die)
        desk(root).accept(first)
    desk(root).reject(first, "not after all")
    assert registry(root) == []


@pytest.mark.parametrize(
    ("content", "told"),
    [('[{"query": "x", "should_trigger": true}]', "another form"), ("prompt,skill\nx,y\n", "another form")],
)
def test_a_file_of_another_format_is_left_as_it_is(root: Path, content: str, told: str) -> None:
    (root / "prompts.jsonl").write_text(content, "utf-8")
    tally, said = walk(root, "a", "q")
    assert any(told in line for line in said) and tally.failed == 1
    assert (root / "prompts.jsonl").read_text("utf-8") == content
    assert {draft.state for draft in stored(root).values()} == {"proposed"}


def test_a_decision_that_cannot_be_carried_out_is_no_success(root: Path, run: Callable[..., Any]) -> None:
    (root / "prompts.jsonl").write_text("prompt,skill\nx,y\n", "utf-8")
    assert run("draft", "review", input="s\nq\n").returncode == 0
    for rest in ("q", "s\nq"):
        assert run("draft", "review", input=f"a\n{rest}\n").returncode == 2


def test_lines_that_are_there_stay_as_they_are(root: Path) -> None:
    old = '{"prompt_id":"p1","prompt":"draw it","expected_primary_skill":"chart-sheets"}'
    (root / "prompts.jsonl").write_text(old, "utf-8")
    walk(root, "a", "q")
    lines = (root / "prompts.jsonl").read_text("utf-8").splitlines()
    assert lines[0] == old and len(lines) == 2


def test_prompts_that_would_vanish_behind_a_new_registry_are_named(root: Path) -> None:
    sets = root / "skills" / "merge-pages" / "evals" / "trigger.json"
    sets.parent.mkdir()
    sets.write_text(json.dumps([{"query": "draw a chart of it", "should_trigger": False}]), "utf-8")
    (problem,) = desk(root).problems()
    assert "1 labelled prompts stand in skills/merge-pages/evals/trigger.json" in problem


@pytest.mark.slow
def test_the_command_takes_decisions_from_a_pipe_and_starts_the_editor(root: Path, run: Callable[..., Any]) -> None:
    program = root / "edit.py"
    program.write_text(
        "import sys, pathlib\np = pathlib.Path(sys.argv[1])\np.write_text(p.read_text().replace('scan', 'page'))\n"
    )
    order = [draft.content.text for draft in desk(root).waiting()]
    typed = "".join("e\na\n" if text == TEXTS[0] else "r too plain\n" for text in order)
    editor = {"VISUAL": f"{sys.executable} {program}"}
    done = run("draft", "review", "--time", "2026-11-25T09:00:00Z", input=typed, env=editor)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("1 accepted, 2 rejected, 0 left for later\n")
    assert [line["prompt"] for line in registry(root)] == [TEXTS[0].replace("scan", "page")]
    assert not any(word in done.stdout for word in ("sealed", '"train"', '"test"'))
    routed = run("router", "run", "--models", "lexical", "--quiet")
    assert routed.returncode == 0 and "1 prompts" in routed.stdout


@pytest.mark.slow
def test_an_editor_that_is_not_there_is_named(root: Path, run: Callable[..., Any]) -> None:
    done = run("draft", "review", input="e\nq\n", env={"VISUAL": os.path.join(str(root), "no-such-editor")})
    assert done.returncode == 0 and "set EDITOR" in done.stdout
