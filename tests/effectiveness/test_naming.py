"""Skills of one name: which of them is staged, and which of them a task means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skill_health.core.errors import UsageError
from skill_health.documents._targets import read_targets
from skill_health.effectiveness.plan.inputs import NamedSkills, load_inputs, settle_names
from skill_health.effectiveness.tasks._api import Task
from skill_health.skill.model import Skill
from skill_health.skill.parse import parse_skill
from tests.effectiveness.run_made import write_collection

Write = Callable[[Mapping[str, str]], Path]
TASK = Task("t", "t", "tasks/t", "plan", "Do it.", None)
PLUGINS = {
    "discord/.claude-plugin/plugin.json": '{"name": "discord"}', "discord/skills/access/SKILL.md": "",
    "imessage/.claude-plugin/plugin.json": '{"name": "imessage"}', "imessage/skills/access/SKILL.md": "",
    "imessage/skills/pair/SKILL.md": "",
}  # fmt: skip
PATHS = ("discord/skills/access/SKILL.md", "imessage/skills/access/SKILL.md", "imessage/skills/pair/SKILL.md")


def skill(path: str, body: str = "") -> Skill:
    name = path.split("/")[-2]
    return parse_skill(f"---\nname: {name}\ndescription: {path}\n---\n{body}".encode(), path)


@pytest.fixture
def settle(write: Write) -> Callable[..., NamedSkills]:
    root = write(PLUGINS)

    def call(*targets: str | None, namesakes: str = "skip", paths: tuple[str, ...] = PATHS) -> NamedSkills:
        tasks = [replace(TASK, target_skills=read_targets(target)) for target in targets]
        return settle_names([skill(path) for path in paths], tasks, str(root), namesakes)

    return call


Settle = Callable[..., NamedSkills]


@pytest.mark.parametrize(
    ("targets", "kept", "staged"),
    [
        (("imessage:access", "pair"), "imessage", ("access", "pair")),
        (("discord:access", "imessage:pair", "none"), "discord", ("access", "pair", "none")),
        (("pair", None, "unknown"), "discord", ("pair", None, "unknown")),
    ],
)
def test_the_one_that_tasks_name_is_kept_else_the_first(
    settle: Settle, targets: tuple[str | None, ...], kept: str, staged: tuple[str | None, ...]
) -> None:
    found = settle(*targets)
    assert [each.path for each in found.skills] == [f"{kept}/skills/access/SKILL.md", PATHS[2]]
    assert tuple(task.target_name for task in found.tasks) == staged
    gone = {"discord": "imessage", "imessage": "discord"}[kept]
    assert found.notes == (
        "1 skill left out, because an agent has one skill of a name: "
        f"{gone}/skills/access/SKILL.md ({kept}/skills/access/SKILL.md stays)",
    )
    assert len(settle(*targets, namesakes="refuse").skills) == 3


def test_a_name_that_may_be_two_skills_is_a_mistake_and_so_are_two_of_one_name(settle: Settle) -> None:
    with pytest.raises(UsageError, match="'access' may be discord:access or imessage:access: say which"):
        settle("access")
    with pytest.raises(UsageError, match="tasks name discord:access and imessage:access, and an agent has one skill"):
        settle("discord:access", "imessage:access")


def test_skills_outside_plugins_go_by_the_plain_name(settle: Settle) -> None:
    found = settle("access", paths=(*PATHS, "a/b/c/access/SKILL.md", "z/a/access/SKILL.md"))
    assert "a/b/c/access/SKILL.md" not in [each.path for each in found.skills]
    assert "z/a/access/SKILL.md" in [each.path for each in found.skills]


def test_copies_count_once(write: Write) -> None:
    skills = [skill("b/pair/SKILL.md"), parse_skill(skill("b/pair/SKILL.md").text.encode(), "a/pair/SKILL.md")]
    found = settle_names(skills, [], str(write({})), "refuse")
    assert [each.path for each in found.skills] == ["a/pair/SKILL.md"] and "b/pair/SKILL.md" in found.notes[0]


def test_a_study_goes_on_without_namesakes(tmp_path: Path, run: Callable[..., Any]) -> None:
    root = write_collection(tmp_path / "collection", 1, 0)
    target = load_inputs([str(root / "tasks")]).tasks[0].target_name
    other = root / "more" / "deep" / str(target)
    other.mkdir(parents=True)
    (other / "SKILL.md").write_text(f"---\nname: {target}\ndescription: Another.\n---\n", "utf-8")
    with pytest.raises(UsageError, match="an arm needs one: --skip-namesakes keeps the one that tasks name"):
        load_inputs([str(root / "tasks")])
    inputs = load_inputs([str(root / "tasks")], skip_namesakes=True)
    assert inputs.copies[str(target)].description != "Another." and len(inputs.notes) == 1
    for command in (("check", "--static"), ("run", "--dry-run", "--agents", "loop:openai:m", "--sandbox", "none")):
        done = run("effectiveness", *command, str(root / "tasks"), "--skip-namesakes")
        assert inputs.notes[0] in done.stderr, done.stderr
    (root / "skill-health.toml").write_text('[router]\nnamesakes = "skip"\n', "utf-8")
    assert load_inputs([str(root / "tasks")]).notes == inputs.notes
