"""Does the task give itself away: in the skills that it tests, or in what the agent is told and given?

Passages are those that `skill-health lint` finds (rules LE007, LE008 and LE010), but over every file of a task. One of
the verifier or the oracle fails the task from one and a half times the least length on, and is a note where it is
shorter; for what the agent gets the least length is that much already.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

from skill_health.core.strict_json import quote
from skill_health.effectiveness.check_skills import SkillTexts
from skill_health.effectiveness.tasks._api import Script, Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.tasks._scripts import text_of
from skill_health.registries.records import Registries, RegistryRecord
from skill_health.rules._api import Corpus, CorpusContext
from skill_health.rules.leakage import prompt_names_skill
from skill_health.rules.leakage._material import ORACLE, PROMPT, VERIFIER, TaskText
from skill_health.rules.leakage._material import TaskMaterial as Material
from skill_health.rules.leakage._passages import Passage, PassageIndex, passages
from skill_health.rules.leakage.evaluation_constant import rare_values
from skill_health.text.fingerprints import fingerprints, words_of

_CERTAIN = 1.5
_MOST_SKILLS = 2
_MOST_TEXT = 1 << 20
_SHOWN = 160
# A copy that was touched here and there still holds half of what it was made from.
_SHARE, _LEAST_PRINTS = 0.5, 8
_ENTRIES = ("verify.sh", "test.sh", "oracle/solve.sh", "solve.sh")
_CODE = (".sh", ".bash", ".py", ".js", ".mjs", ".ts", ".rb", ".pl", ".awk", ".jq")
_NAMES = re.compile(r"(?<![\w/.-])(?:[\w.-]+/)*(?:verify\.sh|test_outputs\.py|solve\.sh|solve\.py)(?![\w-])")


@dataclass(frozen=True, slots=True)
class Leak:
    """One leak as a sentence; `certain` where it fails the task."""

    message: str
    certain: bool = True


def leaks(task: Task, skills: Sequence[SkillTexts], spread: Counter[int]) -> Iterator[Leak]:
    """What leaks of a task; `spread` says in how many skills a fingerprint occurs."""
    material = _material(task)
    yield from _in_prompt(task, [skill.name for skill in skills])
    yield from _in_skills(material, skills, spread)
    yield from _in_given(task, material)


def _material(task: Task) -> Material:
    """All texts of a task, as the linter's rules take them; what the agent gets counts as prompt."""
    parts = [TaskText("prompt", PROMPT, task.prompt), *_parts("starting", PROMPT, task.files)]
    for name, kind, script in (("verifier", VERIFIER, task.verifier), ("oracle", ORACLE, task.oracle)):
        parts += _parts(name, kind, script.files if script else ())
    given = "\n".join(part.text for part in parts if part.kind == PROMPT)
    return Material(task.id, task.path, tuple(parts), given)


def _parts(name: str, kind: str, files: Iterable[File]) -> Iterator[TaskText]:
    for file in files:
        text = text_of(file) if len(file.data) <= _MOST_TEXT else None
        if text and text.strip():
            yield TaskText(file.path if file.path.startswith(f"{name}/") else f"{name}/{file.path}", kind, text)


def _in_prompt(task: Task, names: Iterable[str]) -> Iterator[Leak]:
    """Names of skills, and of the files that judge."""
    for name in sorted(names):
        record = RegistryRecord("", 1, {"prompt": task.prompt, "prompt_id": "", "expected_primary_skill": name})
        context = cast(CorpusContext, SimpleNamespace(registries=Registries(prompts=(record,))))
        if any(prompt_names_skill.check_corpus(Corpus(()), context)):
            yield Leak(f"the prompt names the skill {name!r}", certain=name == task.target_skill)
    given = {file.path for file in task.files}
    for match in _NAMES.finditer(task.prompt):
        if match.group() not in given:
            yield Leak(f"the prompt names {match.group()!r}, which the agent does not have")


def _in_skills(material: Material, skills: Sequence[SkillTexts], spread: Counter[int]) -> Iterator[Leak]:
    """Passages and rare values of the task that stand in skills."""
    index, hidden = PassageIndex.of([material]), _hidden_values(material)
    values = {skill.name: _values(text for _, text, _ in skill.texts) for skill in skills}
    holders = Counter(value for each in values.values() for value in each)
    bundled = {file for skill in skills for file in skill.files}
    for skill in skills:
        for path, text, prints in skill.texts:
            for found in () if prints.isdisjoint(index.places) else passages(text, index, spread, skill.files):
                yield _passage(f"the skill {skill.name!r} ({path}:{found.span.line})", found)
        told = [value for value in values[skill.name] if value in hidden and value not in bundled]
        if rare := [value for value in told if holders[value] <= _MOST_SKILLS]:
            where = hidden[rare[0]]
            yield Leak(f"the skill {skill.name!r} holds {rare[0]!r}, which only {where} of the task knows")


def _in_given(task: Task, material: Material) -> Iterator[Leak]:
    """The verifier or the oracle in what the agent is told and given."""
    secret = [*_scripts(task.verifier), *_scripts(task.oracle)]
    for file in task.files:
        for other in secret:
            if file.data.split() == other.data.split():
                yield Leak(f"the starting file {file.path} is a copy of {other.path}")
            elif other.path in _ENTRIES and _holds(file, other):
                yield Leak(f"the starting file {file.path} holds most of {other.path}")
    parts = tuple(part for part in material.parts if part.kind != PROMPT)
    for found in passages(task.prompt, PassageIndex.of([material._replace(parts=parts)]), {}, ()):
        yield _passage("the prompt", found)


def _scripts(script: Script | None) -> list[File]:
    return [file for file in script.files if file.path.endswith(_CODE)] if script else []


def _holds(file: File, other: File) -> bool:
    ours, theirs = text_of(file), text_of(other)
    prints = {value for value, _ in fingerprints(words_of(theirs or ""))}
    if len(prints) < _LEAST_PRINTS or not ours:
        return False
    return len(prints.intersection(value for value, _ in fingerprints(words_of(ours)))) >= _SHARE * len(prints)


def _hidden_values(whole: Material) -> dict[str, str]:
    """The rare values of the verifier and the oracle that the agent is not given, each with where it stands."""
    given = _values([whole.given])
    found: dict[str, str] = {}
    for part in whole.parts:
        if part.kind != PROMPT:
            for value, start, _ in rare_values(part.text):
                if value not in given and value not in whole.given:
                    found.setdefault(value, f"{part.path}:{part.text.count(chr(10), 0, start) + 1}")
    return found


def _values(texts: Iterable[str]) -> dict[str, None]:
    return {value: None for text in texts for value, _, _ in rare_values(text)}


def _passage(where: str, found: Passage) -> Leak:
    part = found.part
    message = f"{where} holds {found.words} words of {part.path}:{found.there_line}: {quote(found.there, _SHOWN)}"
    return Leak(message, found.words >= found.least * (1 if part.kind == PROMPT else _CERTAIN))
