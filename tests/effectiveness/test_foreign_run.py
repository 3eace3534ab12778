"""A SkillsBench task and a Harbor task, from the command line: loaded, checked, run; wrong ones give one line each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from skill_health.commands.effectiveness import command
from skill_health.core.errors import UsageError

SKILL = """---
name: {name}
description: {name} is for sheets of numbers. Use when columns have to be read or added.
---
# {name}

Read every number of the sheet before you add any of them, because units differ between the parts of it.
"""
BENCH = {
    "task.md": "---\nschema_version: '1.3'\nmetadata: {target_skill: sum-sheets, irrelevant_skill: poems}\n"
    "agent: {timeout_sec: 60}\n---\n\nAdd up the numbers of /root/in.txt and write the sum to /root/out.txt.\n",
    "environment/in.txt": "1\n2\n",
    "verifier/test.sh": "mkdir -p /logs/verifier\n"
    "grep -qx 3 /root/out.txt && echo 1 > /logs/verifier/reward.txt || echo 0.25 > /logs/verifier/reward.txt\n",
    "oracle/solve.sh": "awk '{ s += $1 } END { print s }' /root/in.txt > /root/out.txt\n",
}
HARBOR = {
    "task.toml": 'version = "1.0"\n[metadata]\ntarget_skill = "sum-sheets"\nirrelevant_skill = "poems"\n'
    "[verifier]\ntimeout_sec = 5\n",
    "instruction.md": "Write the number of lines of /app/in.txt to /app/out.txt.\n",
    "environment/in.txt": "1\n2\n",
    "tests/test.sh": "python3 /tests/check.py\n",
    "tests/check.py": "from pathlib import Path\nout = Path('/app/out.txt')\n"
    "right = out.exists() and out.read_text().strip() == '2'\n"
    "Path('/logs/verifier/reward.json').write_text('{\"reward\": %d}' % right)\n",
    "solution/solve.sh": "grep -c '' /app/in.txt > /app/out.txt\n",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write(tmp_path, "skill-health.toml", "")
    for name in ("sum-sheets", "poems"):
        write(tmp_path, f"skills/{name}/SKILL.md", SKILL.format(name=name))
    for folder, files in (("sums", BENCH), ("lines", HARBOR)):
        for path, text in files.items():
            write(tmp_path, f"tasks/{folder}/{path}", text)
    return tmp_path


def write(root: Path, path: str, text: str) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")


def call(place: Path, *words: str) -> Result:
    return CliRunner().invoke(command, [*words], catch_exceptions=True, standalone_mode=False)


def run(place: Path, script: str) -> tuple[list[dict[str, Any]], Result]:
    found = call(
        place, "run", str(place / "tasks"), "--agents", script, "--sandbox", "none", "--reps", "1", "--quiet",
        "--arms", "control,target,negative", "--format", "json", "--out", str(place / "out"),
    )  # fmt: skip
    lines = [path.read_text("utf-8").splitlines() for path in place.glob("out/effectiveness/*/results.jsonl")]
    return [json.loads(line) for part in lines for line in part], found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "outcome", "rewards"), [pytest.param(1, "pass", {1.0}, marks=pytest.mark.slow), (0, "fail", {0.0, 0.25})]
)
def test_tasks_of_two_other_formats_run(base: int, outcome: str, rewards: set[float], place: Path) -> None:
    results, found = run(place, f"scripted:base={base},target=0")
    assert found.exception is None
    assert [each["arm"] for each in results] == ["control", "target", "negative"] * 2
    assert {each["outcome"] for each in results} == {outcome}
    assert {each["reward"] for each in results} == rewards
    assert {each["task_id"] for each in results} == {"sums", "lines"}


@pytest.mark.slow
def test_both_are_fit(place: Path) -> None:
    found = call(place, "check", str(place / "tasks"), "--format", "json", "--sandbox", "none")
    assert found.return_value == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "old", "new", "word"),
    [
        ("sums/task.md", "schema_version: '1.3'", "schema_version: '2.0'", "'2.0'"),
        ("sums/task.md", "agent: {", "agents: {", "agents"),
        ("sums/task.md", "agent: {timeout_sec: 60}", "oracle: {}\nsolution: {}", "solution"),
        ("lines/task.toml", "timeout_sec = 5", "timeout_sec = 'x'", "timeout_sec"),
        ("lines/task.toml", "[verifier]", "[verifier", "task.toml"),
        ("lines/task.toml", '"sum-sheets"', '"sum-sheet"', "sum-sheets"),
    ],
)
def test_a_wrong_one_stops_the_run_with_one_line(path: str, old: str, new: str, word: str, place: Path) -> None:
    target = place / "tasks" / path
    text = target.read_text("utf-8")
    assert old in text
    target.write_text(text.replace(old, new), "utf-8")
    results, found = run(place, "scripted")
    assert isinstance(found.exception, UsageError), found.exception
    assert word in str(found.exception)
    assert "\n" not in str(found.exception)
    assert not results
