"""What a task shares with skills and prompt: reported with the words, and refused only where an arm without the skill
has the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from growth import is_linear, lines_run
from test_check import BENCH, HARBOR, META, SKILL, TASK, Files, write

from skill_health.effectiveness.check.check import TaskCheck, check_tasks
from skill_health.effectiveness.check.leaks import _is_called
from skill_health.effectiveness.check.skills import collection
from skill_health.effectiveness.tasks._load import load_tasks

Look = Callable[..., TaskCheck]
LINE = "Every second number of the third sheet counts double because the parts were weighed together that day."
CODE = (
    "def total(rows, seen={}): return {name: sum(row['count'] * row['price'] for row in rows if row['name'] == name and "
    "row['id'] not in seen) for name in sorted({row['name'] for row in rows})} if rows else {'none': 0, 'checked': [None]}"
)
IMPORTS = (
    "from openpyxl import Workbook from openpyxl.pivot.table import TableDefinition, Location, PivotField, DataField from "
    "openpyxl.pivot.cache import CacheDefinition, CacheField, SharedItems, CacheSource, WorksheetSource from openpyxl.utils import "
    "get_column_letter, column_index_from_string, range_boundaries, rows_from_range"
)


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Read a task, and what skills hold of it; nothing is run."""

    def call(files: Files, skill: str = SKILL, other: str = "") -> TaskCheck:
        write(tmp_path, {"skill-health.toml": "", "skills/sum-sheets/SKILL.md": skill})
        text = "---\nname: poems\ndescription: Writes poems. Use when a poem is wanted.\n---\n# Poems\n"
        write(tmp_path, {"skills/poems/SKILL.md": text + other})
        write(tmp_path / "tasks/one", files)
        loaded = load_tasks([str(tmp_path / "tasks")], str(tmp_path))
        assert loaded.problems == ()
        root, skills = collection((), None, str(tmp_path))
        (checked,) = check_tasks([task.in_container() for task in loaded.tasks], skills, root)
        return checked

    return call


def shared(checked: TaskCheck) -> list[tuple[str, str]]:
    """The kind and the level of what is shared."""
    return [(one.kind, one.level) for one in checked.findings if one.kind.endswith("-overlap")]


@pytest.mark.parametrize(
    ("name", "prompt", "certain"),
    [
        ("co-marketing", "Write to a potential co-marketing partner.", False),
        ("co-marketing", "Use the co-marketing skill.", True),
        ("co-marketing", "Use the skill `co-marketing` for it.", True),
        ("co-marketing", "Run /co-marketing for me.", True),
        ("co-marketing", "Our CO-MARKETING plan is late, and skills are rare.", False),
        ("tool-run-status", "Why does tool-run-status fail?", True),
        ("plan-b2b", "Make plan-b2b better.", True),
        # The name of a file, or of a folder, is none of a skill.
        ("audiobook", "Write it to /root/audiobook.mp3.", False),
        ("audiobook", "Put it into 'audiobook/one.mp3' and \"audiobook.m4b\".", False),
        ("audiobook", "Make an audiobook in /srv/audiobook of it.", False),
        ("audiobook", "Make it with 'audiobook'.", True),
    ],
)
def test_a_name_may_be_a_word(name: str, prompt: str, certain: bool) -> None:
    assert _is_called(name, prompt) == certain


@pytest.mark.parametrize(("place", "level"), [
    # What a task says to everybody is no secret of its.
    ("task.md", "info"), ("starting/notes.md", "info"),
    ("verify.sh", "warning"), ("verifier/rule.txt", "warning"), ("oracle/solve.sh", "warning"),
])  # fmt: skip
def test_a_skill_that_holds_the_task(place: str, level: str, look: Look) -> None:
    text = TASK.get(place, "")
    line = f"# {LINE}\n" if place.endswith(".sh") else f"{LINE}\n"
    checked = look({**TASK, place: line + text}, SKILL + LINE + "\n")
    assert checked.ok
    assert [one.level for one in checked.findings if one.kind == "skill-overlap"] == [level]
    said = next(one.message for one in checked.findings if one.kind == "skill-overlap")
    assert said.startswith("the skill 'sum-sheets' (skills/sum-sheets/SKILL.md:")
    assert "number of the third sheet" in said


@pytest.mark.parametrize(("words", "level"), [(CODE, "warning"), (CODE[:150], "info"), (IMPORTS, "info")])
def test_code_that_any_two_may_share_is_information(words: str, level: str, look: Look) -> None:
    checked = look({**TASK, "oracle/solve.sh": f"{words}\necho 3 > out.txt\n"}, f"{SKILL}```python\n{words}\n```\n")
    assert checked.ok and shared(checked) == [("skill-overlap", level)]


@pytest.mark.parametrize(("metadata", "refused"), [
    ({"target_skill": "sum-sheets", "irrelevant_skill": "poems"}, True), ({"target_skill": "none"}, True),
    ({"target_skill": "sum-sheets", "related_skill": "poems"}, False), ({"target_skill": "poems"}, False),
])  # fmt: skip
def test_what_arms_without_the_skill_hold_is_refused(metadata: dict[str, str], refused: bool, look: Look) -> None:
    about = {key: value for key, value in META.items() if not key.endswith("_skill")} | metadata
    files = {**TASK, "metadata.json": json.dumps(about), "oracle/solve.sh": f"# {LINE}\necho 3 > out.txt\n"}
    checked = look(files, other=LINE + "\n")
    assert ([fault.kind for fault in checked.faults] == ["leak"]) == refused
    assert (shared(checked) == [("skill-overlap", "warning")]) != refused


@pytest.mark.parametrize(("value", "where", "level"), [
    ("48213.77", "verify.sh", "warning"), ("48213.77", "oracle/solve.sh", "info"), ("march-ledger-9.csv", "verify.sh", "info"),
])  # fmt: skip
def test_a_skill_that_holds_a_value_of_the_task(value: str, where: str, level: str, look: Look) -> None:
    skill = f"{SKILL}The total of March is {value} in most years.\n"
    hidden = {**TASK, where: f"grep -q {value} out.txt\n"}
    checked = look(hidden, skill)
    assert checked.ok and shared(checked) == [("skill-overlap", level)]
    (said,) = (one.message for one in checked.findings if one.kind == "skill-overlap")
    assert f"the skill 'sum-sheets' holds {value!r}, which only" in said
    assert shared(look({**hidden, "starting/in.txt": f"{value}\n"}, skill)) == []


def test_a_prompt_that_holds_the_solution(look: Look) -> None:
    asked = f"Add up the numbers.\n{LINE}\n"
    checked = look({**TASK, "task.md": asked, "oracle/solve.sh": f"# {LINE}\necho 3 > out.txt\n"})
    # What is asked for in words may well stand in the solution, too.
    assert checked.ok and shared(checked) == [("prompt-overlap", "info")]
    checked = look({**TASK, "task.md": f"Add up.\n{CODE}\n", "oracle/solve.sh": f"{CODE}\necho 3 > out.txt\n"})
    assert [fault.kind for fault in checked.faults] == ["leak"] and "of oracle/solve.sh:1" in checked.faults[0].message


IMAGE = {
    **{path: text for path, text in HARBOR.items() if not path.startswith("environment/")},
    "environment/Dockerfile": "FROM debian\nWORKDIR /app\nCOPY data model.py /app/\n",
    "environment/data/in.txt": "1\n2\n48213.77\n", "environment/model.py": "def step(x): return x + 1\n",
    "tests/test_outputs.py": "assert open('/app/out.txt').read() == '3'\n",
}  # fmt: skip


@pytest.mark.parametrize(("more", "faults", "found"), [
    ({}, [], []),
    # A copy of the tests that stays out of the image is nobody's.
    ({"environment/kept/x.py": IMAGE["tests/test_outputs.py"]}, [], []),
    ({"environment/data/x.py": IMAGE["tests/test_outputs.py"]}, ["leak"], []),
    ({"environment/data/x.sh": HARBOR["solution/solve.sh"]}, ["leak"], []),
    ({"tests/model.py": IMAGE["environment/model.py"]}, [], [("prompt-overlap", "info")]),
])  # fmt: skip
def test_what_an_image_is_given(more: Files, faults: list[str], found: list[tuple[str, str]], look: Look) -> None:
    skill = SKILL + "The total of March is 48213.77 in most years.\n"
    checked = look({**IMAGE, **more, "tests/total.txt": "48213.77\n"}, skill)
    assert ([fault.kind for fault in checked.faults], shared(checked)) == (faults, found)


def test_short_likeness_is_none(look: Look) -> None:
    hidden = f"# the sum is to be in out.txt\n{TASK['verify.sh']}"
    checked = look({**TASK, "verify.sh": hidden}, SKILL + "Write the sum to a file.\n")
    assert checked.ok and shared(checked) == []


def test_a_task_brings_its_own_skill(look: Look) -> None:
    bench = {**BENCH, "environment/skills/own/SKILL.md": SKILL.replace("sum-sheets", "own") + LINE + "\n"}
    bench["task.md"] = bench["task.md"].replace("target_skill: sum-sheets", "target_skill: own")
    assert look(bench).ok
    checked = look({**bench, "oracle/solve.sh": f"# {LINE}\necho 3 > /root/out.txt\n"})
    (said,) = (one.message for one in checked.findings if one.kind == "skill-overlap")
    assert checked.ok and "the skill 'own'" in said


@pytest.mark.slow
def test_each_task_and_each_skill_costs_the_same(tmp_path: Path) -> None:
    """Skills and tasks for them that share words, numbers and names: twice as many of both take twice as long."""

    def cost(size: int) -> int:
        root = tmp_path / str(size)
        shared = " ".join(f"common{nth}" for nth in range(60))
        for nth in range(size):
            own = " ".join(f"word{nth}x{at} {nth}.{at}75" for at in range(20))
            head = f"---\nname: own-{nth}\ndescription: Does {nth}.\n---\n"
            write(root, {f"skills/own-{nth}/SKILL.md": f"{head}{own} {shared}\n"})
            about = {"id": f"{nth:03}", "target_skill": f"own-{nth}", "category": "a", "difficulty": "easy"}
            meta = json.dumps(about | {"slug": "x"})
            files = TASK | {"metadata.json": meta, "task.md": f"Do word{nth}x3 {nth}.175 with {shared}.\n"}
            write(root / f"tasks/{nth:03}", files)
        write(root, {"skill-health.toml": ""})
        tasks = load_tasks([str(root / "tasks")], str(root)).tasks
        where, skills = collection((), None, str(root))
        assert (len(tasks), len(skills)) == (size, size)
        return lines_run(lambda: check_tasks(tasks, skills, where))

    assert is_linear(cost, (16,))
