"""Evaluations in a skill's own folder: no leak of themselves, in no workspace, and looked for in linear time."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from trial_bench import agent, cell, run

from skill_health.discovery.evaluations import eval_material
from skill_health.effectiveness.check import leaks
from skill_health.effectiveness.check.check import check_tasks
from skill_health.effectiveness.check.skills import collection
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.workspace.copies import copies
from skill_health.rules.leakage._passages import passages

SECRET = (
    "the quarterly ledger of Harrowgate Mills must balance to 48,317.92 before anything else is even looked at by you"
)
EVAL = {
    "id": 1, "prompt": f"Check that {SECRET}.", "expected_output": "4711.0815", "assertions": ["It says 48,317.92."],
}  # fmt: skip
FILES = {
    "skills/sums/SKILL.md": "---\nname: sums\ndescription: Adds up numbers in ledgers.\n---\n# Sums\n\nAdd [all](references/how.md).\n",
    "skills/sums/references/how.md": "Add one number after another.\n",
    "skills/sums/evals/evals.json": json.dumps({"skill_name": "sums", "evals": [EVAL]}),
    "skills/sums/evals/files/ledger.txt": "a starting file of an evaluation 90125.7734\n",
    "skills/sums/tests/eval.yaml": "scenarios:\n  - prompt: Add up.\n    rubric: [It answers 77001.3391.]\n",
    "skills/sums/tests/answer.txt": "77001.3391\n",
    "skills/sums/trigger-eval.json": '[{"query": "Add the ledger up 31337.4242.", "should_trigger": true}]',
}  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / "repo" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "repo" / path).write_text(text)
    return tmp_path / "repo"


def test_evaluations_are_no_leak_of_themselves(root: Path) -> None:
    loaded = load_tasks([str(root)], str(root))
    assert not loaded.problems and len(loaded.tasks) == 3
    _, skills = collection([str(root)], None, str(root))
    for checked in check_tasks(loaded.tasks, skills, str(root)):
        assert checked.ok and not [one for one in checked.findings if one.kind == "skill-overlap"], checked


def test_a_skill_that_holds_the_answer_is_still_named(root: Path) -> None:
    (root / "skills/sums/references/how.md").write_text(f"Remember: {SECRET}.\n")
    loaded = load_tasks([str(root)], str(root))
    _, skills = collection([str(root)], None, str(root))
    checked = check_tasks(loaded.tasks, skills, str(root))
    shared = {one.task.id: [each.level for each in one.findings if each.kind == "skill-overlap"] for one in checked}
    assert shared["sums-eval-1"] == ["warning"] and sum(map(len, shared.values())) == 1


@pytest.mark.slow
def test_no_evaluation_is_in_the_workspace(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "fresh"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    (task,) = [each for each in load_tasks([str(root)], str(root)).tasks if each.format == "skill_evals"]
    _, skills = collection([str(root)], None, str(root))
    staged = copies(skills, str(root))["sums"]
    assert [file.path for file in staged.files] == ["SKILL.md", "references/how.md"]
    seen = "find . -type f -exec cat {} + ; find . ; find .. -maxdepth 3"
    result, kept = run(tmp_path, cell(task, agent(seen), "none", [staged]))
    said = (kept / "final.txt").read_text()
    assert result.outcome == "unjudged" and "Add one number" in said
    for hidden in ("48,317", "4711.08", "90125", "77001", "31337", "evals", "eval.yaml", "trigger"):
        assert hidden not in said, hidden


@pytest.mark.parametrize(
    ("path", "material"),
    [
        ("evals/anything.md", True), ("Evals/x.py", True), ("references/evals/x.md", True), ("evals.json", True),
        ("tests/eval.yaml", True), ("tests/tasks/one.yaml", True), ("trigger_eval.json", True), ("benchmark/evals.json", True),
        ("scripts/evaluate.py", False), ("references/evals.md", False), ("SKILL.md", False), ("assets/tests.json", False),
    ],
)  # fmt: skip
def test_what_is_material(path: str, material: bool) -> None:
    files = (path, "tests/eval.yaml", "SKILL.md")
    assert (path in eval_material(files)) is material


@pytest.mark.slow
def test_a_task_is_held_against_texts_that_share_what_is_rare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the skills with twice the tasks compare twice the texts, not four times as many."""
    counted: list[int] = []
    for size in (5, 10):
        root = tmp_path / str(size)
        for nth in range(size):
            folder = root / f"skills/skill-{nth}"
            (folder / "evals").mkdir(parents=True)
            body = " ".join(f"word{nth}x{at}" for at in range(300))
            (folder / "SKILL.md").write_text(f"---\nname: skill-{nth}\ndescription: D.\n---\n{body}\n")
            prompt = " ".join(f"word{nth}x{at}" for at in range(40, 70))
            (folder / "evals/evals.json").write_text(json.dumps([{"id": 1, "prompt": prompt, "assertions": ["x"]}]))
        calls: list[str] = []

        def watched(text: str, *rest: object, calls: list[str] = calls) -> object:
            calls.append(text)
            return passages(text, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(leaks, "passages", watched)
        loaded = load_tasks([str(root)], str(root))
        _, skills = collection([str(root)], None, str(root))
        checked = check_tasks(loaded.tasks, skills, str(root))
        assert len(checked) == size == sum(bool(one.findings) for one in checked)
        counted.append(len(calls))
    assert counted[1] == 2 * counted[0]


def test_a_run_says_before_it_costs_anything_what_stays_unjudged(root: Path) -> None:
    from skill_health.effectiveness.plan.inputs import load_inputs

    assert load_inputs([str(root)]).notes[-1].startswith("2 of 3 tasks have criteria for a judge only")
