"""A need that a trial surely cannot meet is named with its line, once; of what may be there nothing is said."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from skill_health.effectiveness.check.check import check_tasks
from skill_health.effectiveness.check.skills import collection
from skill_health.effectiveness.check.unmet import NeededByTargets, unmet_needs
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._image import ImageRecipe, NetworkGrant
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.workspace.scripts import ScriptOptions
from skill_health.skill.parse import parse_skill

SKILLS = {
    "declared": "---\nname: declared\ndescription: Sends notes.\n"
    "metadata: {openclaw: {requires: {bins: [notectl], env: [NOTE_API_KEY]}}}\n---\n# Notes\n\nSend it.\n",
    "database": "---\nname: database\ndescription: Cleans tables.\n---\n# Clean\n\n## Steps\n\n"
    "```bash\npsql -h db shop -c 'select 1'\npsql -h db shop -f clean.sql\n```\n",
    "file": "---\nname: file\ndescription: Cleans tables.\n---\n# Clean\n\n```bash\nsqlite3 shop.db .schema\nsqlite3 shop.db .dump\n```\n",
    "host": "---\nname: host\ndescription: Reads rates.\n---\n# Rates\n\n```bash\ncurl https://rates.bank.net/today.json\n```\n",
    "server": "---\nname: server\ndescription: Lists work.\n---\n# Work\n\nCall `mcp__planner__list_jobs` and show the result.\n",
    "asks": "---\nname: asks\ndescription: Plans.\n---\n# Plan\n\n1. Write the plan.\n2. Wait for the user's approval.\n3. Carry it out.\n",
    "plain": "---\nname: plain\ndescription: Writes verse.\n---\n# Verse\n\nRhyme.\n",
}  # fmt: skip


def task(target: str, **more: object) -> Task:
    return Task("t", "t", "tasks/t", "plan_directory", "Do it.", (target,), **more)  # type: ignore[arg-type]


def said(
    target: str, sandbox: str = "bubblewrap", there: tuple[str, ...] = ("curl", "psql", "sqlite3"), **more: object
) -> list[tuple[str, str]]:
    skills = [parse_skill(text.encode(), f"{name}/SKILL.md") for name, text in SKILLS.items()]
    terms = ScriptOptions(back_end(sandbox))
    one = task(target, **more)
    needed = NeededByTargets(skills, ".")(one)
    found = unmet_needs(one, needed, terms, lambda name: f"/bin/{name}" if name in there else None)
    return [(each.level, each.message.split(" needs ")[1].split(", which")[0]) for each in found]


DECLARED = [("warning", "the program notectl"), ("warning", "the variable NOTE_API_KEY")]
CASES = {
    "what is declared and not there is a warning": ("declared", {"there": ()}, DECLARED),
    "a program that is there is none": ("declared", {"there": ("notectl",)}, [("warning", "the variable NOTE_API_KEY")]),
    "a variable that the task sets is none": ("declared", {"there": ("notectl",), "env": (("NOTE_API_KEY", "k"),)}, []),
    "a database cannot be reached without a network": ("database", {}, [("info", "a database")]),
    "nor can its client run where it is not": ("database", {"there": ()}, [("info", "the program psql"), ("info", "a database")]),
    "a database that is a file can be there": ("file", {}, []),
    "a host cannot be reached without a network": ("host", {}, [("info", "the network")]),
    "with a network it may be": ("host", {"network": NetworkGrant(None, True)}, []),
    "a network for the scripts alone is none for agents": ("host", {"network": NetworkGrant(None)}, [("info", "the network")]),
    "a sandbox that keeps nothing apart has this machine's": ("host", {"sandbox": "none"}, []),
    "of an image's programs nothing is known": ("database", {"there": (), "recipe": ImageRecipe("FROM scratch", "", (), "")}, []),
    "agents have no servers of their own": ("server", {}, [("info", "the MCP server planner")]),
    "nobody answers an agent": ("asks", {}, [("info", "answers of a user")]),
    "nothing is said of what needs nothing": ("plain", {}, []),
    "a skill that is not of the collection is not known": ("elsewhere", {}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_needs_that_cannot_be_met(case: str) -> None:
    target, more, expected = CASES[case]
    network = [each for each in said(target, **more) if each[1] != "the network" or target == "host"]
    assert sorted(network) == sorted(expected)


def test_nothing_is_known_before_the_place_is_chosen() -> None:
    needed = NeededByTargets([parse_skill(SKILLS["host"].encode(), "host/SKILL.md")], ".")
    assert [*unmet_needs(task("host"), needed(task("host")), None)] == []


@pytest.mark.slow
def test_the_check_tells_the_line_and_uses_the_task_all_the_same(tmp_path: Path) -> None:
    for name, text in SKILLS.items():
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text(text, "utf-8")
    folder = tmp_path / "tasks" / "t"
    (folder / "oracle").mkdir(parents=True)
    meta = {"id": "t1", "slug": "plan", "target_skill": "asks", "irrelevant_skill": "plain"}
    (folder / "metadata.json").write_text(json.dumps(meta), "utf-8")
    (folder / "task.md").write_text("Write the number of months to `out.txt`.\n", "utf-8")
    (folder / "verify.sh").write_text('[ "$(cat out.txt)" = 12 ]\n', "utf-8")
    (folder / "oracle" / "solve.sh").write_text("echo 12 > out.txt\n", "utf-8")
    loaded = load_tasks((str(tmp_path / "tasks"),), str(tmp_path))
    root, skills = collection((str(tmp_path / "skills"),), None, str(tmp_path))
    tasks = [dataclasses.replace(each, network=None) for each in loaded.tasks]
    (checked,) = check_tasks(tasks, skills, root, ScriptOptions(back_end("none")))
    assert checked.ok
    (found,) = [each for each in checked.findings if each.kind == "unmet-need"]
    assert (found.level, "asks/SKILL.md:8" in found.message) == ("info", True)
