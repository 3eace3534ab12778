"""Is a drafted task fit for a person to look at? Leaks and copies first, then oracle and doing nothing in the sandbox.

What is looked for does not depend on who drafted it, and nothing is taken from what a model says of its own work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skill_health.core.strict_json import quote
from skill_health.documents._drafting import DraftFlaw, FlawKind
from skill_health.documents.effect_check import FaultKind
from skill_health.drafts.tasks.model import flaw, sort_flaws
from skill_health.effectiveness.check.check import TaskCheck, check_tasks
from skill_health.effectiveness.check.leaks import names_in_prompt
from skill_health.effectiveness.check.skills import SkillIndex, skill_texts
from skill_health.effectiveness.check.verifier_runs import nothing_done
from skill_health.effectiveness.rubric.model import Criterion, Rubric
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.trial.rewards import FAIL
from skill_health.effectiveness.workspace.scripts import ScriptOptions
from skill_health.rules.leakage._material import PROMPT, TaskMaterial, TaskText
from skill_health.rules.leakage._passages import PassageIndex, passages
from skill_health.skill.model import Skill
from skill_health.text.fingerprints import grams, words_of
from skill_health.text.patterns import lazy

_FAULTS: Mapping[FaultKind, FlawKind] = {
    "leak": "leak",
    "no-op-passes": "nothing-passes",
    "no-oracle": "oracle-error",
    "not-runnable": "not-runnable",
    "oracle-error": "oracle-error",
    "oracle-fails": "oracle-fails",
    "oracle-reward": "oracle-fails",
    "reward": "unstable",
    "skill-named": "leak",
    "skills": "not-runnable",
    "verifier-bought": "bought",
    "verifier-changes": "unstable",
    "verifier-error": "unstable",
    "verifier-varies": "unstable",
    "visible": "visible",
}
_GRAM = 3
# Drafts of one skill share its subject; what shares this much of its runs of three words says the same.
_NEAR, _FEWEST_GRAMS = 0.7, 8
# A rule of the rubric that the instruction holds for the most part is told; what is to be made has to be told.
_TOLD: Mapping[str, float] = {"instruction": 0.6, "goal": 0.95}
_FEWEST_WORDS: Mapping[str, int] = {"instruction": 6, "goal": 12}
_LITERAL = lazy(r"[^\W_][\w .:/+-]{2,}[^\W_]")
_TOKEN = lazy(r"\\(\W)|\\[A-Za-z]|\[[^\]]{0,80}\]|\(\?[aimsux]+\)|[*+?{}()|^$.]")


@dataclass(frozen=True, slots=True)
class KnownTask:
    """A task or draft that there is already: what it asks, and for which skills."""

    name: str
    prompt: str
    skills: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DraftSurroundings:
    """What drafts are held against: the skills of the collection below `root`, and the tasks that there are."""

    root: str
    skills: tuple[Skill, ...]
    index: SkillIndex
    known: tuple[KnownTask, ...] = ()


def make_surroundings(root: str, skills: Sequence[Skill], known: Iterable[KnownTask] = ()) -> DraftSurroundings:
    """The surroundings of drafts; the files of skills are read below `root`."""
    return DraftSurroundings(root, tuple(skills), SkillIndex(skill_texts(skills, root)), tuple(known))


def find_text_flaws(name: str, text: str, skills: tuple[str, ...], around: DraftSurroundings) -> list[DraftFlaw]:
    """What is wrong with what an agent would be told: it names a skill, copies its steps, or is there already."""
    found = []
    if names := list(names_in_prompt(text, around.index)):
        found.append(flaw("names-skill", f"the instruction names the skill {quote(names[0])}"))
    for part in (skill for skill in around.index.skills if skill.name in skills):
        found += _steps(text, part.texts, part.files, part.name)
    if near := find_near(text, skills, (each for each in around.known if each.name != name)):
        found.append(flaw("duplicate", f"it asks nearly what {near} asks"))
    return found


def _steps(
    text: str, texts: Iterable[tuple[str, str, frozenset[int]]], files: frozenset[str], name: str
) -> Iterator[DraftFlaw]:
    """The longest passage that an instruction shares with a skill."""
    material = TaskMaterial("draft", "draft", (TaskText("the instruction", PROMPT, text),), text)
    index = PassageIndex.of([material])
    shared = [(path, each) for path, body, _ in texts for each in passages(body, index, {}, files)]
    if shared:
        path, most = max(shared, key=lambda one: one[1].words)
        where = f"{path}:{most.span.line} of the skill {name!r}"
        yield flaw("steps-leak", f"the instruction holds {most.words} words of {where}: {quote(most.there, 120)}")


def find_near(text: str, skills: tuple[str, ...], known: Iterable[KnownTask]) -> str:
    """The first task for one of the same skills that asks nearly the same; "" for none."""
    mine = _grams(text)
    for other in known:
        if not set(skills) & set(other.skills):
            continue
        theirs = _grams(other.prompt)
        least = min(len(mine), len(theirs))
        if words_of(text) == words_of(other.prompt) or (least >= _FEWEST_GRAMS and len(mine & theirs) >= _NEAR * least):
            return other.name
    return ""


def _grams(text: str) -> frozenset[int]:
    return frozenset(grams(words_of(text), _GRAM))


def find_static_flaws(task: Task, around: DraftSurroundings) -> tuple[DraftFlaw, ...]:
    """What is wrong with a task before anything of it is run."""
    found = find_text_flaws(task.id, task.prompt, task.target_skills or (), around)
    for criterion in task.rubric.criteria if task.rubric else ():
        found += _told(criterion, task.prompt)
    return sort_flaws(found)


def _told(criterion: Criterion, prompt: str) -> Iterator[DraftFlaw]:
    """Whether the instruction tells an item of the rubric: its words, or of a rule what its check looks for."""
    words = words_of(criterion.text)
    asked, given = frozenset(grams(words, _GRAM)), _grams(prompt)
    if len(words) >= _FEWEST_WORDS[criterion.group] and len(asked & given) >= _TOLD[criterion.group] * len(asked):
        yield flaw("rubric-leak", f"the instruction tells {criterion.id} of the rubric: {quote(criterion.text, 120)}")
        return
    folded = prompt.casefold()
    for literals in _literals(criterion) if criterion.group == "instruction" else ():
        if literals and all(literal.casefold() in folded for literal in literals):
            yield flaw("rubric-leak", f"the instruction holds {quote(literals[0])}, which {criterion.id} looks for")
            return


def _literals(criterion: Criterion) -> Iterator[list[str]]:
    """What a check wants to find: a text each, or all texts of a pattern, which say it only together.

    What must be absent may be named, and where it looks must be.
    """
    check = criterion.check
    if check is None or ("absent", "yes") in check.given:
        return
    for key, value in check.given:
        if key == "text" and check.kind.endswith("_contains") and len(value.strip()) > 3:
            yield [value.strip()]
        elif key == "pattern":
            plain = _TOKEN.sub(lambda token: token[1] or "\n", value)
            yield [each for each in _LITERAL.findall(plain) if len(each) > 5]


def try_tasks(
    tasks: Sequence[Task], around: DraftSurroundings, terms: ScriptOptions
) -> dict[str, tuple[DraftFlaw, ...]]:
    """What is wrong with each task by its id, its checks being run: with nothing done, and with its oracle.

    Only checked items count: a judge is not asked, and what it would say excuses nothing. To be called from the main
    thread, where no event loop runs. Raises AbortedError where the temporary folder is no place for that.
    """
    decided = [replace(task, rubric=_checked(task)) for task in tasks]
    found = {one.task.id: [*_faults(one)] for one in check_tasks(decided, around.skills, around.root, terms)}
    fit = [task for task in tasks if not found[task.id]]
    for task, message in asyncio.run(_goals_of_nothing(fit, terms)):
        found[task.id].append(flaw("nothing-passes", message))
    return {name: sort_flaws(flaws) for name, flaws in found.items()}


def _checked(task: Task) -> Rubric:
    return Rubric(task.rubric.checked if task.rubric else (), task.rubric.goal_weight if task.rubric else 0.5)


def _faults(one: TaskCheck) -> Iterator[DraftFlaw]:
    for fault in one.faults:
        yield flaw(_FAULTS[fault.kind], fault.message)


async def _goals_of_nothing(tasks: Sequence[Task], terms: ScriptOptions) -> list[tuple[Task, str]]:
    """The tasks whose goal alone is reached by doing nothing: a rule that fails meanwhile makes up for nothing."""
    slots = asyncio.Semaphore(terms.at_once)

    async def one(task: Task) -> tuple[Task, str] | None:
        goal = tuple(each for each in _checked(task).criteria if each.group == "goal")
        async with slots:
            state = await nothing_done(replace(task, rubric=Rubric(goal)), terms, runs=1)
        if state.tried[0].verified.verdict.outcome == FAIL:
            return None
        return task, "every checked item of the goal is met although nothing was done"

    return [each for each in await asyncio.gather(*map(one, tasks)) if each is not None]
