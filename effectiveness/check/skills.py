"""The skills of a collection as texts, and whether a task names skills that there are."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from skill_health.bench.collection import read_skills
from skill_health.config.settings import Config
from skill_health.core.files import read_bytes
from skill_health.discovery.corpus import discover
from skill_health.discovery.evaluations import eval_material
from skill_health.discovery.roots import relative
from skill_health.documents._targets import NO_SKILL
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._load import task_above
from skill_health.effectiveness.workspace.staging import OF_CONTROLS, OTHER_SKILLS
from skill_health.lint.check import FileContext
from skill_health.lint.pipeline import configure
from skill_health.lint.readable import require_readable
from skill_health.registries.records import Registries
from skill_health.rules.leakage._bundled import all_texts
from skill_health.rules.leakage._passages import MOST_SKILLS
from skill_health.rules.leakage.evaluation_constant import rare_values
from skill_health.skill.model import Skill
from skill_health.skill.parse import parse_skill
from skill_health.text.fingerprints import fingerprints, words_of
from skill_health.text.near import did_you_mean

_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SkillTexts:
    """A skill with all its texts as (path, text, fingerprints), the names of its bundled files, and its rare values.

    Its evaluations are left out, as they are where it is staged.
    """

    name: str
    texts: tuple[tuple[str, str, frozenset[int]], ...]
    files: frozenset[str]
    values: tuple[str, ...] = ()


class SkillIndex:
    """The texts of skills by what can leak into them, so that a task is held against few of them."""

    def __init__(self, skills: Iterable[SkillTexts]) -> None:
        self.skills = tuple(skills)
        self.names = tuple(skill.name for skill in self.skills)
        self._named: dict[str, list[str]] = defaultdict(list)
        for name in self.names:
            # Whoever names a skill writes the first word of its name as a word.
            self._named[next(iter(_WORDS.findall(name.casefold())), "")].append(name)
        self.spread = spread(self.skills)
        """In how many skills each fingerprint occurs."""
        self.holders = Counter(value for skill in self.skills for value in skill.values)
        """In how many skills each rare value stands."""
        self.bundled = {file for skill in self.skills for file in skill.files}
        self._texts: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for nth, skill in enumerate(self.skills):
            for number, (_, _, prints) in enumerate(skill.texts):
                # A passage without a fingerprint that is rare is none, so the others need not be looked up.
                for value in prints:
                    if self.spread[value] <= MOST_SKILLS:
                        self._texts[value].append((nth, number))
        self._valued: dict[str, list[int]] = defaultdict(list)
        for nth, skill in enumerate(self.skills):
            for told in skill.values:
                self._valued[told].append(nth)

    def names_in(self, prompt: str) -> list[str]:
        """The names of which a prompt may hold one, in order."""
        said = prompt.casefold()
        found = {name for word in {"", *_WORDS.findall(said)} for name in self._named.get(word, ())}
        return sorted(name for name in found if name.strip().casefold() in said)

    def texts_with(self, prints: Iterable[int]) -> dict[int, list[int]]:
        """The numbers of the skills, and of their texts, that share a rare fingerprint, both in order."""
        found: dict[int, set[int]] = defaultdict(set)
        for value in prints:
            for nth, number in self._texts.get(value, ()):
                found[nth].add(number)
        return {nth: sorted(found[nth]) for nth in sorted(found)}

    def skills_with(self, values: Iterable[str]) -> set[int]:
        """The numbers of the skills that hold one of the rare values."""
        return {nth for value in values for nth in self._valued.get(value, ())}


def skill_texts(skills: Iterable[Skill], root: str) -> tuple[SkillTexts, ...]:
    """The texts of skills; those beside SKILL.md are read below `root`."""
    context = FileContext(root, Config(), Registries())
    return tuple(_texts(skill, context) for skill in skills)


def _texts(skill: Skill, context: FileContext) -> SkillTexts:
    material = {skill.path_of(file) for file in eval_material(skill.files)}
    texts = tuple((path or skill.path, text) for path, text in all_texts(skill, context) if path not in material)
    return SkillTexts(
        skill.name,
        tuple((path, text, _prints(text)) for path, text in texts),
        frozenset(file.rpartition("/")[2] for file in skill.files if skill.path_of(file) not in material),
        tuple(dict.fromkeys(value for _, text in texts for value, _, _ in rare_values(text))),
    )


def collection(paths: Sequence[str], config_file: str | None, root: str = "") -> tuple[str, list[Skill]]:
    """The skills below paths, or below the root where no path is given, with the root that theirs are relative to.

    Skills inside tasks are left out, unless a path names their place in the task. Raises UsageError where a path does
    not exist.
    """
    root, config = configure(paths or (root,), config_file, {})
    found = discover(paths or (root,), config, root)
    require_readable(found.entries, found.unread)
    named = {relative(os.path.realpath(path), found.root) or "" for path in paths}

    def is_wanted(path: str) -> bool:
        above = [place for place in named if path == place or path.startswith(f"{place}/")]
        return any(not task_above(path, root, place) for place in above or [""])

    entries = tuple(entry for entry in found.entries if is_wanted(entry.path))
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
    others = [(key, name) for key in OTHER_SKILLS.values() if (name := getattr(task, key)) is not None]
    wanted = [*(("target_skill", name) for name in task.target_skills or ()), *others]
    for key, name in wanted:
        if name == NO_SKILL and key != "target_skill":
            yield f"{key} is {NO_SKILL!r}: leave the key out"
        elif name not in names:
            yield f"{key} {name!r} is not a skill of the collection{did_you_mean(name, names)}"
    parts: dict[str, list[str]] = defaultdict(list)
    for key, name in wanted:
        parts[name].append(key)
    for name, keys in parts.items():
        if len(keys) > 1 and name != NO_SKILL:
            yield f"{name!r} has two parts at once: {', '.join(keys)}"


def skill_notes(task: Task) -> Iterator[str]:
    """The arms that a task cannot have."""
    for arm, key in OTHER_SKILLS.items():
        if getattr(task, key) is None and (arm in OF_CONTROLS or not task.is_control):
            yield f"no {key}: the task has no arm {arm}"
