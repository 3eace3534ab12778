"""A creator at work: an agent with the task's text alone, which writes skills for the agent that does the task."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TypeVar

from msgspec import structs

from skill_health.documents._record import TokenUsage
from skill_health.documents.effect_result import CreationOutcome, SkillCreation, TrialResult
from skill_health.effectiveness.creation.written import (
    FOLDER,
    LONGEST_DESCRIPTION,
    MOST_BYTES,
    MOST_FILES,
    MOST_SKILLS,
    WrittenSkills,
    read_written,
)
from skill_health.effectiveness.sandbox._run import SandboxError, to_the_end
from skill_health.effectiveness.trial.agent_run import (
    AgentRun,
    all_secrets,
    open_line,
    read_agent,
    run_agent,
    timeout_of,
)
from skill_health.effectiveness.trial.files import evidence, to_json
from skill_health.effectiveness.trial.keep import CannotKeep, pack
from skill_health.effectiveness.trial.outcome import VERIFIED, AgentExit, ending, numbers
from skill_health.effectiveness.trial.redact import redact
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.workspace.staging import prompt_of
from skill_health.effectiveness.workspace.tree import read_tree
from skill_health.effectiveness.workspace.workspace import Workplace, open_workplace, removed

FILES = "creation"
"""The folder of the creator's files in the folder of a trial."""
_PROMPT = f"""Write a skill for another agent. Do not do its task yourself: you do not have its files, and nothing but the skill is
kept of what you do.

A skill is a folder with a file SKILL.md, which begins with YAML frontmatter between lines of three hyphens:

    name: the name of the folder, in lower-case letters, digits and hyphens
    description: what it helps with, and when to use it, in at most {LONGEST_DESCRIPTION:,} characters

Below that come its instructions: what somebody should know, do and check who has tasks of this kind. It may have other
text files, such as scripts or references, which SKILL.md names. Put it into the folder {FOLDER} of your workspace, as
{FOLDER}/NAME/SKILL.md. At most {MOST_SKILLS} skills are kept, each of at most {MOST_FILES} files and {MOST_BYTES >> 10} KiB.

The other agent starts anew. It will have its files, the skill, and this task:

"""


@dataclass(frozen=True, slots=True)
class CreatedSkills:
    """What came of a creator: the `cell` of the agent that does the task, with the skills, and its `end`.

    `files` go to the folder of the trial; none of the words in `hidden` may be in one. Where `end` is one that says
    nothing about the agent, there is nothing to be done with the cell.
    """

    cell: TrialSpec
    end: AgentExit
    record: SkillCreation
    files: Mapping[str, bytes] = field(repr=False)
    hidden: tuple[str, ...] = field(repr=False)

    @property
    def broken(self) -> bool:
        """Whether the trial ends here: the creator had no chance, or saw what it should not."""
        return self.record.outcome == "broken"


def creator_of(cell: TrialSpec) -> TrialSpec:
    """The creator's cell: the same agent, model, limits and cap, with the task's text and nothing else of it."""
    task = replace(
        cell.task, files=(), env=(), verifier=None, oracle=None, rubric=None, checking=None, preparation=(), skills=()
    )
    return replace(cell, task=task, skills=(), prompt=f"{_PROMPT}{cell.task.prompt}", creating=True)


async def create(cell: TrialSpec, place: str) -> CreatedSkills:
    """Have the agent of a cell write skills in a sandbox of its own, and stage them in its cell.

    An agent that writes none, or none that can be staged, has none: it is a result like any other. Cancellation leaves
    nothing behind. Raises AbortedError as a trial does.
    """
    creator = creator_of(cell)
    at = open_workplace(creator, place)
    async with removed(at.places.base):
        hidden = all_secrets(creator)
        ran: AgentRun | None = None
        try:
            async with open_line(creator, at) as line:
                hidden = all_secrets(creator, line.key)
                ran = await run_agent(creator, at, line, cell.choice.agent.command, timeout_of(creator))
        except SandboxError as error:
            return _broken(cell, AgentExit("infrastructure", f"the creator of the skill: {error}"), hidden)
        if ran is None:
            return _broken(cell, AgentExit("infrastructure", "the agent's module gives no command"), hidden)
        ran, seen = replace(ran, reading=await read_agent(creator, ran)), line.look()
        end = ending(creator, ran.output, ran.reading, seen)
        written, packed = await to_the_end(asyncio.to_thread(_look, at, hidden))
    counted = numbers(creator, ran.reading, seen)
    broken = end.imposed not in VERIFIED or bool(end.disagreement)
    outcome: CreationOutcome = (
        "broken" if broken else "written" if written.skills else "unusable" if written.refused else "nothing"
    )
    record = SkillCreation(
        outcome=outcome,
        refused=tuple(_plain(line, hidden) for line in written.refused),
        usage=TokenUsage(**asdict(counted.usage) | {"raw": None}),
        cost_usd=counted.cost_usd,
        duration_ms=ran.output.duration_ms,
        turns=ran.reading.turns,
        tool_calls=ran.reading.tool_calls if ran.reading.steps else None,
    )
    kept = {f"{FILES}/{name}": data for name, data in evidence(creator, ran, seen, {}).items()}
    # Packed, since a SKILL.md that lies about in the reports would be taken for one of the collection.
    kept |= {f"{FILES}/{FOLDER}.tar.gz": packed} if packed else {}
    kept[f"{FILES}/creation.json"] = to_json({"prompt": creator.prompt, **structs.asdict(record)})
    skills = () if broken else written.skills
    solver = replace(cell, skills=skills, prompt=prompt_of(cell.task, cell.arm, skills))
    said = replace(end, error=f"the creator of the skill: {end.error}") if broken else end
    return CreatedSkills(solver, said, record, kept, hidden)


def _broken(cell: TrialSpec, end: AgentExit, hidden: tuple[str, ...]) -> CreatedSkills:
    return CreatedSkills(cell, end, SkillCreation(outcome="broken"), {}, hidden)


def _look(at: Workplace, hidden: tuple[str, ...]) -> tuple[WrittenSkills, bytes]:
    """What the creator left, and an archive of it, empty where there is none. It may have locked its own workspace."""
    os.chmod(at.places.workspace, 0o700)
    written = read_written(at.places.workspace, hidden)
    if not written.skills:
        return written, b""
    try:
        return written, pack(read_tree(os.path.join(at.places.workspace, FOLDER)), hidden).data
    except (CannotKeep, OSError):
        return written, b""


def _plain(text: str, hidden: tuple[str, ...]) -> str:
    clean = redact(text.encode("utf-8", "replace"), hidden).decode("utf-8", "replace")
    return " ".join(clean.split())[:200]


def with_creation(result: TrialResult, made: CreatedSkills) -> TrialResult:
    """The result of a trial with what its creator took, too: the arm costs both. A sum with an unknown is unknown."""
    record = made.record
    if made.broken:
        return structs.replace(
            result, usage=record.usage, cost_usd=record.cost_usd, duration_ms=record.duration_ms, creation=record
        )
    usage = {
        name: _sum(getattr(result.usage, name), getattr(record.usage, name))
        for name in ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
    }
    unlisted = sorted({skill.name for skill in made.cell.skills} - set(result.seen)) if result.seen is not None else []
    notes = [f"the agent does not list {', '.join(unlisted)}, which it wrote for itself"] if unlisted else []
    return structs.replace(
        result,
        usage=TokenUsage(**usage),
        cost_usd=_sum(result.cost_usd, record.cost_usd),
        duration_ms=_sum(result.duration_ms, record.duration_ms),
        turns=_sum(result.turns, record.turns),
        tool_calls=_sum(result.tool_calls, record.tool_calls),
        notes=(*result.notes, *notes),
        creation=record,
    )


Number = TypeVar("Number", int, float)


def _sum(one: Number | None, other: Number | None) -> Number | None:
    return None if one is None or other is None else one + other
