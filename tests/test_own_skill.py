"""The skill that leads an agent through our commands: it passes our own checks, says what exists, and is found."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest

import skill_health
from skill_health.cli import main
from skill_health.root import root as command_line

ROOT = Path(__file__).resolve().parents[1]
OWN = ROOT / "skills" / "skill-health"
PROMPTS = [json.loads(line) for line in (ROOT / "tests" / "own_skill_prompts.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_it_passes_every_rule_there_is() -> None:
    """Opinions included, and information counts; but for the one that asks for a script, which a command replaces."""
    assert main(["lint", str(OWN), "--select", "ALL", "--ignore", "AU001", "--fail-on", "info"]) == 0
    report = skill_health.lint_paths(OWN, score=True)
    assert [(skill.path, skill.score, skill.flags) for skill in report.skills] == [
        ("skills/skill-health/SKILL.md", 1.0, ())
    ]


def commands() -> list[str]:
    texts = "".join(path.read_text(encoding="utf-8") for path in sorted(OWN.rglob("*.md")))
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", texts, re.DOTALL)).splitlines()
    return [line for line in [*blocks, *re.findall(r"`(skill-health [^`]*)`", texts)] if line]


@pytest.mark.parametrize("line", commands())
def test_every_command_in_it_exists_with_its_options(line: str) -> None:
    name, *words = shlex.split(line)
    assert name == "skill-health"
    command: click.Command | None = command_line
    context = click.Context(command_line)
    while isinstance(command, click.Group):
        command = command.get_command(context, words.pop(0))
    assert command is not None
    options = {flag for each in command.params for flag in each.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_its_version_is_ours() -> None:
    metadata = skill_health.load_skill(OWN).frontmatter["metadata"]
    assert metadata["version"] == skill_health.__version__


@pytest.fixture(scope="module")
def beside_the_fixtures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collection")
    (folder / "skill-health.toml").touch()
    (folder / "skills").mkdir()
    for skill in [*(ROOT / "fixtures" / "skills").iterdir(), OWN]:
        if (skill / "SKILL.md").is_file():
            (folder / "skills" / skill.name).mkdir()
            (folder / "skills" / skill.name / "SKILL.md").write_bytes((skill / "SKILL.md").read_bytes())
    return folder


@pytest.mark.slow
def test_requests_reach_it_among_others(beside_the_fixtures: Path) -> None:
    """By a router that only counts words; the prompts were written before it was asked for the first time."""
    answers = skill_health.route([each["prompt"] for each in PROMPTS], beside_the_fixtures)
    assert {answer.listed for answer in answers} == {13}
    first = [answer.ranking[0].name if answer.ranking else "" for answer in answers]
    assert sum(name == "skill-health" for name in first) >= 6, first


@pytest.mark.slow
def test_it_takes_hardly_a_request_from_the_others(beside_the_fixtures: Path) -> None:
    lines = (ROOT / "fixtures" / "registries" / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = [json.loads(line)["prompt"] for line in lines]
    answers = skill_health.route(prompts, beside_the_fixtures)
    taken = [answer.prompt for answer in answers if answer.picked == "skill-health"]
    assert len(prompts) == 60 and len(taken) <= 6, taken
