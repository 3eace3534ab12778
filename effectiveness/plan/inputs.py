"""What a run starts from: tasks, and the skills that their arms stage."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skill_health.bench.collection import REFUSE, SKIP, NamedCollection, left_out, name_skills
from skill_health.config.load import describe_refused
from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.discovery.evaluations import eval_material
from skill_health.discovery.plugins import Plugins
from skill_health.documents._targets import read_targets
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.effectiveness.check.skills import collection
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import Folder, RefusedFile
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.workspace.copies import SKILL, check_name, copies, make_copy, skill_md
from skill_health.effectiveness.workspace.staging import OTHER_SKILLS
from skill_health.lint.pipeline import configure
from skill_health.registries.records import BadRecord
from skill_health.registries.sources import expand
from skill_health.skill.model import Skill
from skill_health.skill.parse import parse_skill
from skill_health.text.near import either, list_some


@dataclass(frozen=True, slots=True)
class NamedSkills:
    """Skills that an arm can have together, tasks that name them as their files do, and what to know of others."""

    skills: tuple[Skill, ...]
    tasks: tuple[Task, ...]
    notes: tuple[str, ...]


def settle_names(skills: Iterable[Skill], tasks: Sequence[Task], root: str, namesakes: str) -> NamedSkills:
    """Of skills with the same name and the same SKILL.md keep one, and give tasks the names by which skills are staged.

    An agent has one skill of a name, whatever plugin it comes from. With `namesakes` "skip" that is the one that a task
    names, as `plugin:skill` where it has to, else the first (see `name_skills`); otherwise all stay, for whoever stages
    them to refuse.

    Raises UsageError for a name that may be several skills, and for tasks that need several of one name.
    """
    found = name_skills(skills, Plugins(root), REFUSE)
    meant = _meant(found)
    by_path = {skill.path: skill for skill in found.skills}
    wanted: dict[str, dict[str, str]] = defaultdict(dict)

    def staged(task: Task, key: str, name: str) -> str:
        """The name by which the skill is staged that a task names so."""
        paths = meant.get(name, ())
        if len(paths) > 1:
            several = either([found.names[path].listed for path in paths])
            raise UsageError(f"{task.path}: {key} {name!r} may be {several}: say which")
        for path in paths:
            wanted[by_path[path].name][path] = found.names[path].listed
            return by_path[path].name
        return name

    settled = []
    for task in tasks:
        targets = task.target_skills and read_targets(
            [staged(task, "target_skill", name) for name in task.target_skills]
        )
        more: dict[str, Any] = {
            key: staged(task, key, name) for key in OTHER_SKILLS.values() if (name := getattr(task, key))
        }
        settled.append(replace(task, target_skills=targets, **more))
    for name, listed in wanted.items():
        if len(listed) > 1:
            both = " and ".join(listed.values())
            raise UsageError(
                f"tasks name {both}, and an agent has one skill called {name!r}: give each a run of its own"
            )
    if namesakes != SKIP:
        return NamedSkills(found.skills, tuple(settled), found.notes)
    kept: dict[str, Skill] = {}
    for skill in sorted(found.skills, key=lambda skill: (skill.path not in wanted.get(skill.name, ()), _depth(skill))):
        kept.setdefault(skill.name, skill)
    rest: dict[str, list[Skill]] = defaultdict(list)
    for skill in found.skills:
        if kept[skill.name] is not skill:
            rest[kept[skill.name].path].append(skill)
    skills = tuple(skill for skill in found.skills if kept[skill.name] is skill)
    return NamedSkills(skills, tuple(settled), (*found.notes, *left_out(rest, "an agent has one skill of a name")))


def _meant(found: NamedCollection) -> Mapping[str, Sequence[str]]:
    """What a task may call skills, and the paths of those that are called so; a listed name means no other skill."""
    others: dict[str, list[str]] = defaultdict(list)
    for path, names in found.names.items():
        for name in names.others:
            others[name].append(path)
    listed: dict[str, list[str]] = defaultdict(list)
    for path, names in found.names.items():
        listed[names.listed].append(path)
    # Two that are listed by one name cannot be told apart by any label: the first stands for both.
    return {**others, **{name: paths[:1] for name, paths in listed.items()}}


def _depth(skill: Skill) -> tuple[int, str]:
    return skill.path.count("/"), skill.path


@dataclass(frozen=True, slots=True)
class TrialInputs:
    """Tasks in the order of their ids, and skills.

    `copies` are those of the collection by name and in the order of the names, `own` those that a task brings itself,
    by its id. `skills` lie below `skills_root`; `problems` are folders that are no sound task, `notes` lines that
    somebody should know.
    """

    root: str
    config: Config
    tasks: tuple[Task, ...]
    problems: tuple[BadRecord, ...]
    skills: tuple[Skill, ...]
    skills_root: str
    copies: Mapping[str, SkillCopy]
    own: Mapping[str, Mapping[str, SkillCopy]]
    notes: tuple[str, ...] = ()

    def copies_of(self, task: Task) -> Mapping[str, SkillCopy]:
        """All skills that there are for a task, by name and in the order of the names."""
        own = self.own.get(task.id)
        return dict(sorted({**self.copies, **own}.items())) if own else self.copies

    @property
    def everything(self) -> dict[str, SkillCopy]:
        """All skills that there are for any task, in the order of their names; the first of those of one name."""
        own = {name: skill for task in reversed(self.tasks) for name, skill in self.own.get(task.id, {}).items()}
        return dict(sorted({**self.copies, **own}.items()))

    @property
    def different(self) -> dict[str, dict[str, SkillCopy]]:
        """The skills of whose name tasks bring different ones: by name and by the task that brings it."""
        found: dict[str, dict[str, SkillCopy]] = defaultdict(dict)
        for task in self.tasks:
            for name, skill in self.own.get(task.id, {}).items():
                found[name][task.id] = skill
        return {
            name: found[name] for name in sorted(found) if len({skill.digest for skill in found[name].values()}) > 1
        }


def load_inputs(
    tasks: Sequence[str], skills: Sequence[str] = (), config_file: str | None = None, skip_namesakes: bool = False
) -> TrialInputs:
    """Read tasks, by default those that the configuration names, and the skills of the collection around them.

    Raises UsageError for what the user got wrong, such as a path that does not exist, no tasks, no skills, or two
    skills of one name, unless namesakes may be skipped: by `skip_namesakes`, or by `namesakes` under [router].
    """
    root, config = configure(tuple(tasks) or (os.curdir,), config_file, {})
    loaded = load_tasks(tuple(tasks) or _configured(root, config), root)
    skills_root, found = collection(skills, config_file, root)
    in_order = sorted(loaded.tasks, key=lambda task: task.id)
    settled = settle_names(found, in_order, skills_root, SKIP if skip_namesakes else config.router.namesakes)
    inputs = TrialInputs(
        root=root,
        config=config,
        tasks=settled.tasks,
        problems=loaded.problems,
        skills=settled.skills,
        skills_root=skills_root,
        copies=copies(settled.skills, skills_root),
        own={task.id: _own(task) for task in loaded.tasks if task.skills},
        notes=(*describe_refused(config), *settled.notes, *_unjudged(settled.tasks)),
    )
    if not inputs.everything:
        raise UsageError(f"no skill below {', '.join(skills) or root}: name the skills under test with --skills")
    _refuse_two(inputs)
    return replace(inputs, notes=(*inputs.notes, *_differing(inputs)))


def narrow(inputs: TrialInputs, repeated: EffectManifest) -> TrialInputs:
    """The inputs with those tasks alone that a run had, used or skipped."""
    wanted = {task.id for task in repeated.tasks} | {skipped.task for skipped in repeated.skipped}
    return replace(inputs, tasks=tuple(task for task in inputs.tasks if task.id in wanted))


def _differing(inputs: TrialInputs) -> Iterator[str]:
    """A line where tasks bring different skills of one name."""
    shown = []
    for name, skills in inputs.different.items():
        shown.append(f"{name} ({len({skill.digest for skill in skills.values()})} in {len(skills)} tasks)")
    if shown:
        yield (
            f"note: tasks bring different skills of one name, and each is tried with its own: {list_some(shown, 4)}; "
            "figures by skill are of all that are called so"
        )


def _unjudged(tasks: Sequence[Task]) -> Iterator[str]:
    """A line where trials of some tasks cannot be scored without a judge: they cost what others cost."""
    open_ones = [task for task in tasks if task.verifier is None and task.rubric and not task.rubric.checked]
    if open_ones:
        count = "the one task has" if len(tasks) == 1 else f"{len(open_ones)} of {len(tasks)} tasks have"
        yield f"{count} criteria for a judge only: their trials stay unjudged until one has read them"


def _configured(root: str, config: Config) -> tuple[str, ...]:
    """The folders of the tasks that the configuration names."""
    patterns = config.sources.tasks
    found = {os.path.dirname(path) for pattern in patterns for path in expand(root, pattern)}
    if not found:
        raise UsageError(f"no task below {root}: looked for {', '.join(patterns[:2])}; name tasks, or folders of them")
    return tuple(os.path.join(root, folder) for folder in sorted(found))


def _own(task: Task) -> dict[str, SkillCopy]:
    """The skills that a task brings itself, by the names that they give themselves, as its targets have them."""
    found: dict[str, SkillCopy] = {}
    for place in task.skills:
        folder = os.path.basename(place)
        try:
            files = Folder(place, f"{task.path}: {folder}").tree("")
            material = eval_material(file.path for file in files)
            files = tuple(file for file in files if file.path not in material)
        except RefusedFile as refused:
            raise UsageError(f"{task.path}: {folder}/{refused.path}: {refused.message}") from None
        more = tuple(file.path for file in files if file.path != SKILL)
        skill = parse_skill(skill_md(files), f"{folder}/{SKILL}", folder, more)
        check_name(skill.name, f"{task.path}: {folder}")
        if skill.name in found:
            raise UsageError(
                f"{task.path}: two of its skills are called {skill.name!r}, and an agent has one of a name"
            )
        found[skill.name] = make_copy(skill.name, skill.description, files)
    return found


def _refuse_two(inputs: TrialInputs) -> None:
    """Raise UsageError for a skill that is not the same in the collection and in a task: one of them is meant."""
    for task in inputs.tasks:
        for name, skill in inputs.own.get(task.id, {}).items():
            other = inputs.copies.get(name)
            if other is not None and other.digest != skill.digest:
                raise UsageError(
                    f"two skills are called {name!r}: that of {task.path} differs from that of the collection"
                )
