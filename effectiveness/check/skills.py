"""The skills of a collection as texts, and whether a task names skills that there are."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from skill_health.bench.collection import read_skills
from skill_health.config.settings import Config
from skill_health.core.files import read_bytes
from skill_health.discovery.corpus import discover
from skill_health.effectiveness.tasks._api import NO_SKILL, Task
from skill_health.effectiveness.tasks._load import task_above
from skill_health.lint.check import FileContext
from skill_health.lint.pipeline import configure
from skill_health.registries.records import Registries
from skill_health.rules.leakage._bundled import all_texts
from skill_health.skill.model import Skill
from skill_health.skill.parse import parse_skill
from skill_health.text.fingerprints import fingerprints, words_of
from skill_health.text.near import nearest

_KEYS = ("irrelevant_skill", "related_skill", "unrelated_skill")


@dataclass(frozen=True, slots=True)
class SkillTexts:
    """A skill with all its texts as (path, text, fingerprints), and the names of its bundled files."""

    name: str
    texts: tuple[tuple[str, str, frozenset[int]], ...]
    files: frozenset[str]


def skill_texts(skills: Iterable[Skill], root: str) -> tuple[SkillTexts, ...]:
    """The texts of skills; those beside SKILL.md are read below `root`."""
    context = FileContext(root, Config(), Registries())
    return tuple(
        SkillTexts(
            skill.name,
            tuple((path or skill.path, text, _prints(text)) for path, text in all_texts(skill, context)),
            frozenset(file.rpartition("/")[2] for file in skill.files),
        )
        for skill in skills
    )


def collection(paths: Sequence[str], config_file: str | None, root: str = "") -> tuple[str, list[Skill]]:
    """The skills below paths, or below the root where no path is given, with the root that theirs are relative to.

    Skills inside tasks are left out. Raises UsageError where a path does not exist.
    """
    root, config = configure(paths or (root,), config_file, {})
    found = discover(paths or (root,), config, root)
    entries = tuple(entry for entry in found.entries if not task_above(entry.path, root))
    return root, read_skills(found._replace(entries=entries))


def own_skills(task: Task) -> tuple[SkillTexts, ...]:
    """The skills that a task brings itself."""
    found = []
    for folder in task.skills:
        raw, _ = read_bytes(os.path.join(folder, "SKILL.md"))
        name = os.path.basename(folder)
        files = sorted(
            os.path.relpath(os.path.join(place, file), folder).replace(os.sep, "/")
            for place, _, files in os.walk(folder)
            for file in files
        )
        found.append(parse_skill(raw, f"{name}/SKILL.md", name, tuple(file for file in files if file != "SKILL.md")))
    return skill_texts(found, os.path.dirname(task.skills[0])) if found else ()


def spread(skills: Iterable[SkillTexts]) -> Counter[int]:
    """In how many skills each fingerprint occurs."""
    found: Counter[int] = Counter()
    for skill in skills:
        found.update(frozenset().union(*(prints for _, _, prints in skill.texts)))
    return found


def _prints(text: str) -> frozenset[int]:
    return frozenset(value for value, _ in fingerprints(words_of(text)))


def skill_faults(task: Task, names: Sequence[str]) -> Iterator[str]:
    """What is wrong with the skills that a task names; `names` are those that there are."""
    wanted = {key: name for key in ("target_skill", *_KEYS) if (name := getattr(task, key)) is not None}
    for key, name in wanted.items():
        if name == NO_SKILL and key != "target_skill":
            yield f"{key} is {NO_SKILL!r}: leave the key out"
        elif name != NO_SKILL and name not in names:
            near = nearest(name, names)
            yield f"{key} {name!r} is not a skill of the collection" + (f"; did you mean {near!r}?" if near else "")
    twice = [name for name, times in Counter(wanted.values()).items() if times > 1 and name != NO_SKILL]
    yield from (
        f"{name!r} has two parts at once: {', '.join(k for k in wanted if wanted[k] == name)}" for name in twice
    )


def skill_notes(task: Task) -> Iterator[str]:
    """The arms that a task cannot have."""
    arms = {
        "irrelevant_skill": "negative",
        "related_skill": "target_plus_one",
        "unrelated_skill": "target_plus_unrelated",
    }
    for key, arm in arms.items():
        if getattr(task, key) is None and (key == "irrelevant_skill" or not task.is_control):
            yield f"no {key}: the task has no arm {arm}"
