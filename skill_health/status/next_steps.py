"""What is missing in the record of a skill, and the command that comes next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from skill_health.documents.next_steps import NextStep, StepKind
from skill_health.documents.skill_record import SkillRecord
from skill_health.text.terminal import clean

_ADVICE: Mapping[StepKind, str] = {
    StepKind.FIX_FIRST: "fix what is wrong with it",
    StepKind.NOT_FOUND: "most requests for it go elsewhere: reword its description, then",
    StepKind.NOT_LISTED: "hosts do not offer it to the model (disable-model-invocation): nothing to route",
    StepKind.NO_PROMPTS: "label requests that it should answer and some that it should not (or accept what `draft prompts` drafts), then",
    StepKind.ROUTING_NOT_MEASURED: "ask which requests find it:",
    StepKind.ROUTING_OUT_OF_DATE: "its description has changed since it was measured:",
    StepKind.HARMFUL: "agents do worse with it: fix or retire it, then",
    StepKind.NO_TASKS: "write tasks with it as their target_skill (or accept what `draft tasks` drafts), then",
    StepKind.EFFECT_NOT_MEASURED: "run agents with and without it:",
    StepKind.EFFECT_OUT_OF_DATE: "it has changed since it was measured:",
    StepKind.EFFECT_NOT_TESTABLE: "add tasks that it should help with (6 must differ), then",
}


@dataclass(frozen=True, slots=True)
class CommandBuilder:
    """How a command names what it is about: what was asked for, what leads from here to the root, and whom to ask.

    Without a `model` the router asks nobody but those that count words.
    """

    paths: tuple[str, ...] = ()
    prefix: str = ""
    model: str = ""
    agent: str = "AGENT:MODEL"

    def words(self, *paths: str) -> str:
        """Paths as words for a shell, each with a blank before it."""
        return "".join(f" {_word(path)}" for path in paths)

    def router(self) -> str:
        """The command that measures routing anew."""
        asked = f" --models{self.words(self.model)}" if self.model else ""
        return f"skill-health router run{self.words(*(path for path in self.paths if path != '.'))}{asked}"

    def activation(self) -> str:
        """The command that asks a live agent anew."""
        asked = self.words(*(path for path in self.paths if path != "."))
        return f"skill-health activation run{asked} --agents{self.words(self.agent)}"

    def effectiveness(self, tasks: Iterable[str]) -> str:
        """The command that measures the effect: over the folders that the tasks lie in, with the controls there."""
        folders = sorted({self.prefix + (task.rpartition("/")[0] or ".") for task in tasks})
        return f"skill-health effectiveness run{self.words(*folders)} --agents{self.words(self.agent)}"

    def step(self, kind: StepKind, *records: SkillRecord) -> NextStep:
        """The step that closes a gap of one or several skills, with one command for all of them."""
        match kind:
            case StepKind.FIX_FIRST:
                folders = [self.prefix + (record.path.rpartition("/")[0] or ".") for record in records]
                named = folders if len(folders) == 1 else [path for path in self.paths if path != "."]
                command = f"skill-health lint{self.words(*named)}"
            case StepKind.NOT_LISTED:
                command = ""
            case StepKind.NO_TASKS:
                command = "skill-health effectiveness check TASKS"
            case (
                StepKind.NOT_FOUND | StepKind.NO_PROMPTS | StepKind.ROUTING_NOT_MEASURED | StepKind.ROUTING_OUT_OF_DATE
            ):
                command = self.router()
            case _:
                command = self.effectiveness(task for record in records for task in record.effect.tasks)
        return NextStep(gap=kind, advice=_ADVICE[kind], command=command)


def _word(path: str) -> str:
    return shlex.quote(clean(f"./{path}" if path.startswith("-") else path))


def gaps(record: SkillRecord) -> Iterator[StepKind]:
    """The gaps of a skill in the order of the questions; after one that it fails there is no later one."""
    routing, effect = record.routing, record.effect
    match record.health.state, routing.state:
        case "failed", _:
            yield StepKind.FIX_FIRST
            return
        case _, "failed":
            yield StepKind.NOT_FOUND
            return
        case _, "not listed":
            yield StepKind.NOT_LISTED
        case _, "not measured" | "not testable":
            yield StepKind.ROUTING_NOT_MEASURED if routing.prompts else StepKind.NO_PROMPTS
        case _, "stale":
            yield StepKind.ROUTING_OUT_OF_DATE
    match effect.state:
        case "failed":
            yield StepKind.HARMFUL
        case "not testable":
            yield StepKind.EFFECT_NOT_TESTABLE
        case "not measured":
            yield StepKind.EFFECT_NOT_MEASURED if effect.tasks else StepKind.NO_TASKS
        case "stale":
            yield StepKind.EFFECT_OUT_OF_DATE


def steps(record: SkillRecord, place: CommandBuilder) -> tuple[NextStep, ...]:
    """What to do about the gaps of a skill."""
    return tuple(place.step(kind, record) for kind in gaps(record))


def grouped(records: Sequence[SkillRecord], place: CommandBuilder) -> list[tuple[NextStep, list[str]]]:
    """Every step once, with the skills that it is for, in the order of the questions."""
    found: dict[StepKind, list[SkillRecord]] = {}
    for record in records:
        for kind in gaps(record):
            found.setdefault(kind, []).append(record)
    return [(place.step(kind, *found[kind]), [each.name for each in found[kind]]) for kind in StepKind if kind in found]
