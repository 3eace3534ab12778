"""What target skills need that is surely not there: notes, as a skill may get on without, and reading it may err.

Of a container's image nothing is known before it runs, so programs are looked for only where the sandbox has those of
this machine. What a task brings (files, a service in its image) is its own affair, and nothing is said of it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from skill_health.core.boundary import Boundary
from skill_health.documents.effect_check import TaskFinding
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.workspace.scripts import ScriptOptions
from skill_health.needs.collection import bundled_reader
from skill_health.needs.find import find_needs
from skill_health.needs.model import EvidenceKind, Need, NeedEvidence, SkillNeeds
from skill_health.needs.reading.programs import facts_of
from skill_health.skill.model import Skill


class NeededByTargets:
    """What the target skills of a task need; each skill is read once, when a task asks."""

    def __init__(self, skills: Iterable[Skill], root: str) -> None:
        self._skills = {skill.name: skill for skill in skills}
        self._read = bundled_reader(Boundary(os.path.realpath(root)))
        self._known: dict[str, SkillNeeds] = {}

    def __call__(self, task: Task) -> Mapping[str, SkillNeeds]:
        """By the name of each target skill that is of the collection."""
        for name in task.target_skills or ():
            if name in self._skills and name not in self._known:
                self._known[name] = find_needs(self._skills[name], self._read)
        return self._known


_RUN = (EvidenceKind.COMMAND, EvidenceKind.DECLARED)
_FILES = frozenset(("sqlite3", "duckdb", "dbt", "prisma", "alembic"))
"""Clients of databases that may be files."""
Found = Callable[[str], str | None]


def unmet_needs(
    task: Task, skills: Mapping[str, SkillNeeds], terms: ScriptOptions | None, found: Found = shutil.which
) -> Iterator[TaskFinding]:
    """What the target skills of a task need and a trial on these `terms` surely does not have, each once.

    A warning is what the skill declares in its frontmatter, information the rest. Without terms nothing is known.
    """
    if terms is None:
        return
    for name in task.target_skills or ():
        own = skills.get(name)
        for need in own.needs if own else ():
            for what, evidence in _missing(need, task, terms, found):
                level: Literal["warning", "info"] = "warning" if evidence.kind is EvidenceKind.DECLARED else "info"
                place = f"{evidence.path}:{evidence.line}: {evidence.text}"
                yield TaskFinding(
                    "unmet-need", level, f"{name} needs {what}, which a trial here does not have ({place})"
                )


def _missing(need: Need, task: Task, terms: ScriptOptions, found: Found) -> Iterator[tuple[str, NeedEvidence]]:
    alone = "network" in terms.sandbox.ISOLATES and task.agent_network is None
    at_home = not getattr(terms.sandbox, "NEEDS_IMAGE", False) and task.recipe is None
    match need.category:
        case "network" if alone:
            yield from _first("the network", need, (*_RUN, EvidenceKind.HOST))
        case "database" if alone and at_home:
            servers = [each for each in need.evidence if each.subject not in _FILES]
            yield from _first("a database", Need(need.category, tuple(servers)), _RUN)
        case "mcp":
            servers = [each for each in need.evidence if each.kind is EvidenceKind.SERVER]
            yield from ((f"the MCP server {each.subject}", each) for each in servers[:1])
        case "environment-variables":
            given = {name for name, _ in task.env}
            for each in _of_kinds(need.evidence, (EvidenceKind.DECLARED,)):
                if each.subject not in given:
                    yield f"the variable {each.subject}", each
        case "tools" if at_home:
            for each in _once(_of_kinds(need.evidence, _RUN)):
                known = each.kind is EvidenceKind.DECLARED or facts_of(each.subject).listed
                if known and found(each.subject) is None:
                    yield f"the program {each.subject}", each
        case "multi-turn":
            yield from _first("answers of a user", need, tuple(EvidenceKind))


def _first(what: str, need: Need, kinds: tuple[EvidenceKind, ...]) -> Iterator[tuple[str, NeedEvidence]]:
    for each in _of_kinds(need.evidence, kinds):
        yield what, each
        return


def _of_kinds(evidence: Iterable[NeedEvidence], kinds: tuple[EvidenceKind, ...]) -> Iterator[NeedEvidence]:
    return (each for each in evidence if each.kind in kinds)


def _once(evidence: Iterable[NeedEvidence]) -> Iterator[NeedEvidence]:
    """The strongest of each subject."""
    seen: dict[str, NeedEvidence] = {}
    for each in evidence:
        seen.setdefault(each.subject, each)
    yield from seen.values()
