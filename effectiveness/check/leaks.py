"""What of a task its skills hold, and what an agent that has none of them is told: overlaps, and leaks.

A skill may well teach what a task asks for: words that it shares with the solution or the tests are reported, with the
words, for a reader to judge. Only what gives an answer to arms without the skill spoils a comparison.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Literal, cast

from skill_health.core.files import read_small
from skill_health.core.strict_json import quote
from skill_health.documents.effect_check import FindingKind, TaskFinding
from skill_health.effectiveness.check.skills import SkillIndex
from skill_health.effectiveness.tasks._api import Script, Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.tasks._image import ImageRecipe, copied_files
from skill_health.effectiveness.tasks._scripts import text_of
from skill_health.registries.records import Registries, RegistryRecord
from skill_health.rules._api import Corpus, CorpusContext
from skill_health.rules.leakage import prompt_names_skill
from skill_health.rules.leakage._material import ORACLE, PROMPT, VERIFIER, TaskMaterial, TaskText
from skill_health.rules.leakage._passages import LEAST_CODE, LEAST_PROSE, Passage, PassageIndex, passages
from skill_health.rules.leakage.evaluation_constant import rare_values
from skill_health.text.fingerprints import fingerprints, words_of
from skill_health.text.near import list_some
from skill_health.text.numbers import count

_CERTAIN = 1.5
_MOST_SKILLS = 2
_MOST_TEXT, _MOST_CONTEXT = 1 << 20, 16 << 20
_SHOWN = 160
# A copy that was touched here and there still holds half of what it was made from.
_SHARE, _LEAST_PRINTS = 0.5, 8
_ENTRIES = ("verify.sh", "test.sh", "oracle/solve.sh", "solve.sh")
_CODE = (".sh", ".bash", ".py", ".js", ".mjs", ".ts", ".rb", ".pl", ".awk", ".jq")
_NAMES = re.compile(r"(?<![\w/.-])(?:[\w.-]+/)*(?:verify\.sh|test_outputs\.py|solve\.sh|solve\.py)(?![\w-])")
_TESTS = re.compile(r"(?:\A|/)(?:test_[\w-]+|[\w-]+_test|verify)\.\w+\Z")
_FILE = re.compile(r"\.[A-Za-z]\w*\Z")

Weight = Literal["leak", "named", "warning", "info"]


@dataclass(frozen=True, slots=True)
class TaskOverlap:
    """What a task shares with a skill or with its prompt, as a sentence.

    The `weight` is "leak" where an arm without the skill has the answer, and "named" where the prompt calls the skill
    that should help by its name: both fail the task.
    """

    message: str
    kind: FindingKind
    weight: Weight


def overlaps(task: Task, material: TaskMaterial, hidden: Mapping[str, str], index: SkillIndex) -> Iterator[TaskOverlap]:
    """What of a task stands in skills, in its prompt and in what the agent is given.

    `material` are all its texts, `hidden` the rare values that the agent is not given.
    """
    yield from _in_prompt(task, index)
    for name, found in _in_skills(material, hidden, index):
        # What is of no use to the task is in arms without the skill that is, and a control should profit from none.
        is_given = task.is_control or name == task.irrelevant_skill
        yield _leak(found.message) if is_given and found.weight == "warning" else found
    yield from _in_given(task, material)


def _leak(message: str) -> TaskOverlap:
    return TaskOverlap(message, "prompt-overlap", "leak")


def texts_of(task: Task) -> TaskMaterial:
    """All texts of a task, as the linter's rules take them; what the agent gets counts as prompt."""
    parts = [TaskText("prompt", PROMPT, task.prompt), *_parts("starting", PROMPT, task.files)]
    for name, kind, script in (("verifier", VERIFIER, task.verifier), ("oracle", ORACLE, task.oracle)):
        parts += _parts(name, kind, script.files if script else ())
    given = "\n".join([*(part.text for part in parts if part.kind == PROMPT), *_in_context(task.recipe)])
    return TaskMaterial(task.id, task.path, tuple(parts), given)


def _parts(name: str, kind: str, files: Iterable[File]) -> Iterator[TaskText]:
    for file in files:
        text = text_of(file) if len(file.data) <= _MOST_TEXT else None
        if text and text.strip():
            yield TaskText(file.path if file.path.startswith(f"{name}/") else f"{name}/{file.path}", kind, text)


def _in_context(recipe: ImageRecipe | None) -> Iterator[str]:
    """The names and the texts of the files that the image of a task is given."""
    for file in _context_files(recipe):
        yield file.path
        yield text_of(file) or ""


def _context_files(recipe: ImageRecipe | None) -> Iterator[File]:
    """The files that are copied into an image: an agent has them. Large ones without what they hold."""
    total = 0
    for path in copied_files(recipe) if recipe else ():
        data = read_small(os.path.join(recipe.context, path)) if recipe and total < _MOST_CONTEXT else None
        total += len(data or b"")
        yield File(path, data or b"")


def _is_target_called(name: str, task: Task) -> bool:
    return name in (task.target_skills or ()) and _is_called(name, task.prompt)


def _in_prompt(task: Task, index: SkillIndex) -> Iterator[TaskOverlap]:
    """Names of skills, and of the files that judge."""
    for name in names_in_prompt(task.prompt, index):
        certain = _is_target_called(name, task)
        message = f"the prompt names the skill {name!r}"
        yield (
            TaskOverlap(message, "prompt-overlap", "named")
            if certain
            else TaskOverlap(f"{message}, perhaps as a word", "prompt-overlap", "info")
        )
    given = {file.path for file in task.files}
    for match in _NAMES.finditer(task.prompt):
        if match.group() not in given:
            yield _leak(f"the prompt names {match.group()!r}, which the agent does not have")


def names_in_prompt(prompt: str, index: SkillIndex) -> Iterator[str]:
    """The skills whose names stand in a prompt as the linter's rule sees it, perhaps as words."""
    for name in index.names_in(prompt):
        record = RegistryRecord("", 1, {"prompt": prompt, "prompt_id": "", "expected_primary_skill": name})
        context = cast(CorpusContext, SimpleNamespace(registries=Registries(prompts=(record,))))
        if any(prompt_names_skill.check_corpus(Corpus(()), context)):
            yield name


def _is_called(name: str, prompt: str) -> bool:
    """Whether a name stands there as that of a skill: as a command, in quotes, or beside that word; it may be words.

    Names with a digit or three parts are nobody's words.
    """
    if any(char.isdigit() for char in name) or len(re.split(r"[-_]", name)) > 2:
        return True
    # In a path, or with an ending, it is the name of a file.
    word = rf"{re.escape(name)}(?![\w/-]|\.\w)"
    called = rf"(?i)(?<![\w./~])/{word}|[$@`'\"]{word}|\b{word}[`'\"]?\s+skills?\b|\bskills?\s+[`'\"]?{word}"
    return re.search(called, prompt) is not None


def _in_skills(
    material: TaskMaterial, hidden: Mapping[str, str], index: SkillIndex
) -> Iterator[tuple[str, TaskOverlap]]:
    """Passages and rare values of the task that stand in skills, each with the skill's name."""
    places = PassageIndex.of([material])
    texts = index.texts_with(places.places)
    for nth in sorted({*texts, *index.skills_with(hidden)}):
        skill = index.skills[nth]
        shared: dict[str, list[tuple[str, Passage]]] = defaultdict(list)
        for path, text, _ in (skill.texts[number] for number in texts.get(nth, ())):
            for found in passages(text, places, index.spread, skill.files):
                shared[found.part.path].append((f"{path}:{found.span.line}", found))
        for same in shared.values():
            # What a skill says in several places, or in several files, is one thing to fix.
            where, most = max(same, key=lambda one: one[1].words)
            others = [place for place, _ in same if place != where]
            more = f" and in {count(len(others), 'other place')}, such as {others[0]}" if others else ""
            message = _shared(f"the skill {skill.name!r} ({where}{more})", most)
            yield skill.name, TaskOverlap(message, "skill-overlap", "warning" if _is_telling(most) else "info")
        told = (value for value in skill.values if value in hidden and value not in index.bundled)
        rare = [value for value in told if index.holders[value] <= _MOST_SKILLS]
        # A value that the verifier expects is an answer; what the oracle uses and names of files may be knowledge.
        answers = [value for value in rare if hidden[value].startswith("verifier/") and not _FILE.search(value)]
        for value in (answers or rare)[:1]:
            more = f", and {count(len(rare) - 1, 'other value')} like it" if len(rare) > 1 else ""
            message = f"the skill {skill.name!r} holds {value!r}, which only {hidden[value]} of the task knows{more}"
            yield skill.name, TaskOverlap(message, "skill-overlap", "warning" if answers else "info")


def _is_telling(found: Passage) -> bool:
    """Whether a passage is more than what any two texts about one subject share."""
    if found.least == LEAST_PROSE or found.part.kind == PROMPT:
        return found.words >= _CERTAIN * found.least
    is_imports = "import" in found.there and not {"=", "{"} & set(found.there)
    return found.words >= _CERTAIN * LEAST_CODE and not is_imports


def _in_given(task: Task, material: TaskMaterial) -> Iterator[TaskOverlap]:
    """The verifier or the oracle in what the agent is told and given."""
    solution = _scripts(task.oracle)
    secret = [(other, b" ".join(other.data.split())) for other in (*_scripts(task.verifier), *solution)]
    entries = {other.path: _prints(other) for other, _ in secret if other.path in _ENTRIES}
    for file in (*task.files, *_context_files(task.recipe)):
        plain = b" ".join(file.data.split())
        ours = _prints(file) if any(len(theirs) >= _LEAST_PRINTS for theirs in entries.values()) else frozenset()
        for other, same in secret:
            theirs = entries.get(other.path, frozenset[int]())
            if plain and plain == same:
                message = f"the starting file {file.path} is a copy of {other.path}"
                # What a verifier has beside its tests, such as a simulator, agents may be meant to have, too.
                judges = other in solution or other.path in _ENTRIES or _TESTS.search(other.path) is not None
                yield _leak(message) if judges else TaskOverlap(message, "prompt-overlap", "info")
            elif len(theirs) >= _LEAST_PRINTS and len(theirs & ours) >= _SHARE * len(theirs):
                yield _leak(f"the starting file {file.path} holds most of {other.path}")
    parts = tuple(part for part in material.parts if part.kind != PROMPT)
    for found in passages(task.prompt, PassageIndex.of([material._replace(parts=parts)]), {}, ()):
        message = _shared("the prompt", found)
        # What is asked for in words stands in many a solution, too: as a template, or a comment. Code is the solution.
        is_code = found.least == LEAST_CODE and _is_telling(found)
        yield _leak(message) if is_code else TaskOverlap(message, "prompt-overlap", "info")


def _scripts(script: Script | None) -> list[File]:
    return [file for file in script.files if file.path.endswith(_CODE)] if script else []


def _prints(file: File) -> frozenset[int]:
    return frozenset(value for value, _ in fingerprints(words_of(text_of(file) or "")))


def hidden_values(whole: TaskMaterial) -> dict[str, str]:
    """The rare values of the verifier and the oracle that the agent is not given, each with where it stands."""
    given = _values([whole.given])
    found: dict[str, str] = {}
    for part in whole.parts:
        if part.kind != PROMPT:
            for value, start, _ in rare_values(part.text):
                if value not in given and value not in whole.given:
                    found.setdefault(value, f"{part.path}:{part.text.count(chr(10), 0, start) + 1}")
    return found


def shared_answers(material: TaskMaterial, hidden: Mapping[str, str]) -> Iterator[TaskFinding]:
    """Rare values that the oracle and the verifier share: answers that the tests hold, which the agent is not given."""
    solution = _values(part.text for part in material.parts if part.kind == ORACLE)
    for part in material.parts:
        if part.kind == VERIFIER:
            found = [
                (value, start) for value, start, _ in rare_values(part.text) if value in solution and value in hidden
            ]
            if found:
                where = part.text.count("\n", 0, found[0][1]) + 1
                shared = list_some([repr(value) for value in dict.fromkeys(value for value, _ in found)])
                message = f"{part.path}:{where}: the solution holds {shared}, too: literal answers"
                yield TaskFinding("answers-in-tests", "info", message)


def _values(texts: Iterable[str]) -> dict[str, None]:
    return {value: None for text in texts for value, _, _ in rare_values(text)}


def _shared(where: str, found: Passage) -> str:
    return f"{where} holds {found.words} words of {found.part.path}:{found.there_line}: {quote(found.there, _SHOWN)}"
