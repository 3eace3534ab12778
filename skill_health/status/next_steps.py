"""What is missing in the record of a skill, and the command that comes next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from skill_health.status.records import SkillRecord
from skill_health.text.terminal import clean

_CHECK = "skill-health effectiveness check"


@dataclass(frozen=True, slots=True)
class NextStep:
    """A gap in a few words, what to do about it, and a command ("" where it is not a command that does it)."""

    gap: str
    advice: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class CommandBuilder:
    """How a command names what it is about: what was asked for, and what leads from here to the root."""

    paths: tuple[str, ...] = ()
    prefix: str = ""

    def words(self, *paths: str) -> str:
        """Paths as words for a shell, each with a blank before it."""
        return "".join(f" {_word(path)}" for path in paths)

    def router(self) -> str:
        """The command that measures routing anew."""
        return f"skill-health router run{self.words(*(path for path in self.paths if path != '.'))}"

    def effectiveness(self, tasks: Iterable[str]) -> str:
        """The command that measures the effect: over the folders that the tasks lie in, with the controls there."""
        folders = sorted({self.prefix + (task.rpartition("/")[0] or ".") for task in tasks})
        return f"skill-health effectiveness run{self.words(*folders)} --agents AGENT:MODEL"


def _word(path: str) -> str:
    return shlex.quote(clean(f"./{path}" if path.startswith("-") else path))


def steps(record: SkillRecord, place: CommandBuilder) -> tuple[NextStep, ...]:
    """The gaps of a skill in the order of the questions; after one that it fails there is no later one."""
    if record.health.state == "failed":
        folder = place.prefix + (record.path.rpartition("/")[0] or ".")
        return (NextStep("fix first", "fix what is wrong with it", f"skill-health lint{place.words(folder)}"),)
    routing = tuple(_routing(record, place))
    if record.routing.state == "failed":
        return routing
    return (*routing, *_effect(record, place))


def _routing(record: SkillRecord, place: CommandBuilder) -> Iterator[NextStep]:
    state, measured = record.routing.state, place.router()
    if state == "failed":
        yield NextStep("not found", "most requests for it go elsewhere: reword its description, then", measured)
    elif state == "not listed":
        yield NextStep("not listed", "hosts do not offer it to the model (disable-model-invocation): nothing to route")
    elif not record.routing.prompts and state in ("not measured", "not testable"):
        yield NextStep(
            "no prompts", "label some requests that it should answer, and some that it should not, then", measured
        )
    elif state in ("not measured", "not testable"):
        yield NextStep("routing not measured", "ask which requests find it:", measured)
    elif state == "stale":
        yield NextStep("routing out of date", "its description has changed since it was measured:", measured)


def _effect(record: SkillRecord, place: CommandBuilder) -> Iterator[NextStep]:
    effect = record.effect
    again = place.effectiveness(effect.tasks)
    if effect.state == "failed":
        yield NextStep("harmful", "agents do worse with it: fix or retire it, then", again)
    elif effect.state == "not testable":
        yield NextStep("effect not testable", "add tasks that it should help with (6 must differ), then", again)
    elif not effect.tasks and effect.state == "not measured":
        yield NextStep("no tasks", "write tasks with it as their target_skill, then", f"{_CHECK} TASKS")
    elif effect.state == "not measured":
        yield NextStep("effect not measured", "run agents with and without it:", again)
    elif effect.state == "stale":
        yield NextStep("effect out of date", "it has changed since it was measured:", again)


def grouped(records: Sequence[SkillRecord], place: CommandBuilder) -> list[tuple[NextStep, list[str]]]:
    """Every step once, with the skills that it is for, in the order of the questions."""
    found: dict[NextStep, list[str]] = {}
    for record in records:
        for step in steps(record, place):
            found.setdefault(step, []).append(record.name)
    order = (
        "fix first", "not found", "not listed", "no prompts", "routing not measured", "routing out of date", "harmful",
        "no tasks", "effect not measured", "effect out of date", "effect not testable",
    )  # fmt: skip
    return sorted(found.items(), key=lambda item: order.index(item[0].gap))
