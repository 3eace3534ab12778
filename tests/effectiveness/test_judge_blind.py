"""Judges are not told the arm: nothing that a run itself put into a trial says it, over all arms there are."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import judge_runs
import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st
from judge_made import blocks_of, preference, reply
from judge_runs import ask_one_judge, make_run, rubrics
from loopback import Loopback, Reaction, Seen, answer
from nursery import rows
from run_made import SKILLS, TASKS, only_read, write_collection

from skill_health.cli import main
from skill_health.effectiveness.commands import judge as command
from skill_health.effectiveness.judge.asking.evidence import TRIAL_NAME, hide_arm, shows_skill
from skill_health.effectiveness.workspace.staging import hint_line

ARMS = (
    "control", "target", "negative", "full", "target_plus_one", "target_plus_unrelated", "placebo", "aa",
    f"leave_one_out:{SKILLS[0]}", "order:7", "target+hint", "full+hint", "placebo+hint",
)  # fmt: skip


@pytest.fixture(autouse=True)
def with_rubrics(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "load_tasks_of", lambda *_: ())
    monkeypatch.setattr(command, "rubrics_of", lambda _: rubrics())
    monkeypatch.chdir(tmp_path)


def go(url: str, *more: str) -> Result:
    return ask_one_judge(url, "--out", "reports", "--max-runs", "9999", *more)


def answers(seen: Seen) -> Reaction:
    text = json.dumps(preference(seen.text)) if "A_diff" in blocks_of(seen.text) else reply(seen.text)
    return answer(seen, text)


def as_staged(run: Path) -> None:
    """Write into the trials what a run of each arm leaves: the hint in prompt and transcript, and its own folder."""
    staged = json.loads((run / "manifest.json").read_text())["staged"]
    for row in rows(run / "results.jsonl"):
        place = run / row["folder"]
        names = staged[row["task_id"]][row["arm"]]
        prompt = f"Do {row['task_id']}.\n"
        if row["arm"].endswith("+hint") and names:
            prompt = f"{prompt.rstrip()}\n\n{hint_line(names)}\n"
        trial = {
            "prompt": prompt, "arm": row["arm"], "replication": row["replication"], "skills_folder": ".agents/skills",
        }  # fmt: skip
        trial["skills"] = [{"name": name, "digest": "d", "placebo": "placebo" in row["arm"]} for name in names]
        steps = [{"source": "user", "message": prompt}, {"source": "agent", "message": f"I am in {place}/workspace."}]
        (place / "trial.json").write_text(json.dumps(trial))
        (place / "trajectory.json").write_text(json.dumps({"steps": steps}))
        (place / "final.txt").write_text(f"I wrote {place.name}/list.txt.\n")
        (place / "diff.patch").write_text("+here are apples\n")


def telling(body: Any) -> set[str]:
    """The names of arms in what a judge is sent; those that are ordinary words only where a folder has them."""
    text = json.dumps(body, ensure_ascii=False)
    found = {arm for arm in ARMS if re.search(r"[:_+]", arm) and arm in text}
    found |= {arm for arm in ARMS if re.search(rf"--{re.escape(re.sub('[^A-Za-z0-9._-]+', '-', arm))}--", text)}
    plain = re.sub("skill's", "", text.lower())
    return found | {word for word in ("+hint", "placebo", "skill", "trials/t0") if word in plain}


@pytest.mark.slow
def test_no_question_of_any_arm_tells_it(tmp_path: Path) -> None:
    run = make_run(tmp_path / "reports", lambda _: ("apples",), arms=ARMS, reps=1)
    as_staged(run)
    with Loopback(answers) as server:
        done = go(server.url, "--repeat-share", "0")
        assert done.exit_code == 0, done.output
        for arm in ("target+hint", "placebo", "order:7"):
            done = go(server.url, "--pairwise", arm, "control", "--repeat-share", "0")
            assert done.exit_code == 0, (arm, done.exception)
    made = {row["arm"] for row in rows(run / "results.jsonl")}
    assert made == set(ARMS) and len(server.seen) > 4 * len(ARMS)
    assert [found for seen in server.seen if (found := telling(seen.body))] == []
    # The same work gets the same question in every arm, to the byte.
    questions = defaultdict(set)
    for seen in server.seen:
        questions[blocks_of(seen.text)["task"], "A_diff" in blocks_of(seen.text)].add(seen.text)
    assert {len(texts) for texts in questions.values()} == {1}


@pytest.mark.slow
def test_a_skill_that_was_opened_is_not_hidden_but_counted(tmp_path: Path) -> None:
    run = make_run(tmp_path / "reports", reps=1)
    for row in rows(run / "results.jsonl"):
        place = run / row["folder"]
        names = ["maps-work"] if row["arm"] == "target" else []
        trial = {"prompt": "Do it.", "arm": row["arm"], "skills_folder": ".agents/skills"}
        (place / "trial.json").write_text(json.dumps(trial | {"skills": [{"name": name} for name in names]}))
        if names and row["task_id"] in ("t00", "t01"):
            call = {"function_name": "read", "arguments": {"path": "maps-work/SKILL.md"}}
            steps = [{"source": "agent", "tool_calls": [call]}]
            (place / "trajectory.json").write_text(json.dumps({"steps": steps}))
    with Loopback(answers) as server:
        done = go(server.url, "--repeat-share", "0")
        assert done.output.count("2 of 8 trials ") == 2
        assert "not blind: 2 of 8 trials show that a skill was there" in done.output
        assert any("maps-work/SKILL.md" in seen.text for seen in server.seen), "whoever opened it followed it or not"
        done = go(server.url, "--pairwise", "target", "control", "--repeat-share", "0")
        assert "not blind: 2 of 4 pairs show that a skill was there" in done.output


STAGED = {"skills": [{"name": "pdf"}, {"name": "maps-work"}], "skills_folder": ".claude/skills"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I use the pdf skill.", True), ("maps-work", True), ("cat .claude/skills/x", True), ("report.pdf-2", False),
        ("pdfs", False), ("maps-works", False), ("", False),
    ],
)  # fmt: skip
def test_a_staged_skill_is_known_by_its_whole_name(text: str, shown: bool) -> None:
    assert shows_skill([text], STAGED) is shown


@pytest.mark.parametrize(
    "trial", [{}, {"skills": None}, {"skills": [1, {"name": 2}], "skills_folder": 3}, {"skills": {}}]
)
def test_a_description_that_says_nothing_hides_nothing(trial: dict[str, Any]) -> None:
    assert hide_arm("as it was", trial, "trials/x") == "as it was" and not shows_skill(["as it was"], trial)


@given(st.text(), st.lists(st.text(min_size=1), max_size=4))
def test_hiding_takes_nothing_else_away(text: str, names: list[str]) -> None:
    trial = {"skills": [{"name": name} for name in names]}
    place = "t00--made-m--control--r0--12345678"
    told, left = (f"{text}\n\n{hint_line(names)}\n", f"{text}\n") if names else (text, text)
    assert hide_arm(f"{told}<{place}>", trial, f"trials/{place}/") == f"{left}<{TRIAL_NAME}>"


@pytest.mark.slow
def test_no_question_about_a_real_run_tells_its_arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials that the scripted agent really made, in every arm; what it writes itself names no arm."""
    collection = write_collection(tmp_path / "c", 2, 1)
    only_read(monkeypatch)
    arms = ",".join(arm for arm in ARMS if not arm.endswith("+hint"))
    given_ = ["effectiveness", "run", str(collection / "tasks"), "--agents", "scripted:base=0.3,target=0.6", "--sandbox", "none",
              "--out", str(tmp_path / "reports"), "--arms", arms, "--hint", "also", "--reps", "1", "--quiet"]  # fmt: skip
    assert main(given_) == 0
    found = rubrics(TASKS, judge_runs.rubric(judge_runs.criterion("w", "answer")))
    monkeypatch.setattr(command, "rubrics_of", lambda _: found)
    with Loopback(answers) as server:
        assert go(server.url, "--repeat-share", "0").exit_code == 0
        assert go(server.url, "--pairwise", "target+hint", "control", "--repeat-share", "0").exit_code == 0
    assert len(server.seen) > 24
    # Whoever solves a task writes its answer down, and the diff says so.
    (run,) = tmp_path.glob("reports/effectiveness/*")
    changed = {(row["task_id"], row["arm"]) for row in rows(run / "results.jsonl") if row["changed"]}
    (report,) = run.glob("judging/*/report.json")
    trials = json.loads(report.read_text())["trials"]
    met = {(trial["task_id"], trial["arm"]) for trial in trials if trial["criteria"][0]["verdict"] == "met"}
    assert changed and met >= changed
    for seen in server.seen:
        text = json.dumps(seen.body)
        assert "+hint" not in text and "--r0--" not in text and str(tmp_path) not in text
        assert not re.search(r"there for (this task|you): read", text)
        # The scripted agent's own steps speak of what it opened; task, message and changes must not.
        shown = {name: block for name, block in blocks_of(seen.text).items() if not name.endswith("transcript")}
        assert not telling(shown)
