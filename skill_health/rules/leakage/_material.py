"""Evaluation material: what the task directories beside the skills contain and a skill must not."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from skill_health.registries.records import RegistryRecord
from skill_health.rules._api import CorpusContext
from skill_health.text.patterns import lazy

PROMPT, VERIFIER, ORACLE, EXPECTED, RUBRIC = "prompt", "verifier", "oracle", "expected output", "rubric"

# Where the task formats keep their parts (SkillsBench 1.3, Harbor 1.4 and plain directories; read 2026-11).
_PLACES = {
    PROMPT: ("task.md", "instruction.md"),
    VERIFIER: (
        "verify.sh", "verify.py", "verifier.py", "verifier.sh", "verifier/test.sh", "verifier/verify.py", "verifier/test_outputs.py",
        "tests/test.sh", "tests/test_outputs.py", "tests/test.py", "tests/test_solution.py",
    ),
    ORACLE: ("oracle/solve.sh", "oracle/solve.py", "oracle/solution.md", "solution/solve.sh", "solution/solve.py", "solve.sh", "solution.md"),
    EXPECTED: ("expected.txt", "expected.json", "expected.csv", "expected.md", "expected_output.txt", "expected_output.json"),
    RUBRIC: ("rubric.json", "rubric.md", "rubric.yaml", "rubric.txt"),
}  # fmt: skip
_FOLDERS = ("", "tests/", "verifier/", "expected/", "oracle/", "solution/")
_STARTING = ("starting", "environment", "workspace")
_FILE = lazy(r"[\w-][\w./-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,4}\b")
_MAX_NAMED = 40


class TaskText(NamedTuple):
    """One file of a task: its path relative to the root, what it is, and its text."""

    path: str
    kind: str
    text: str


class TaskMaterial(NamedTuple):
    """One task directory. `given` is what the agent receives: the prompt and the starting files it names."""

    name: str
    folder: str
    parts: tuple[TaskText, ...]
    given: str


def load_tasks(records: tuple[RegistryRecord, ...], context: CorpusContext) -> tuple[TaskMaterial, ...]:
    """Read the task directories of the registry; leave out those without a readable part."""
    return tuple(task for record in records if (task := _load(record, context)).parts)


def _load(record: RegistryRecord, context: CorpusContext) -> TaskMaterial:
    folder = record.path.rpartition("/")[0]
    found: dict[str, TaskText] = {}
    for kind, places in _PLACES.items():
        for place in places:
            _add(found, f"{folder}/{place}".lstrip("/"), kind, context)
    if record.data.get("task_path"):
        _add(found, str(record.data["task_path"]), PROMPT, context)
    given = [part.text for part in found.values() if part.kind == PROMPT]
    for name in _named_files(found.values()):
        starting = [f"{folder}/{place}/{name}".lstrip("/") for place in _STARTING]
        texts = [text for path in starting if context.exists(path) and (text := context.read(path)) is not None]
        if texts:
            given += [name, *texts]
            continue
        for place in _FOLDERS:
            _add(found, f"{folder}/{place}{name}".lstrip("/"), EXPECTED, context)
    name = str(record.data.get("slug") or record.data.get("id") or folder)
    return TaskMaterial(name, folder, tuple(found.values()), "\n".join(given))


def _add(found: dict[str, TaskText], path: str, kind: str, context: CorpusContext) -> None:
    if path not in found and context.exists(path):
        text = context.read(path)
        if text and text.strip():
            found[path] = TaskText(path, kind, _strings_of(text) if path.endswith(".json") and kind == RUBRIC else text)


def _named_files(parts: Any) -> list[str]:
    """The files that the parts name, as paths inside the task; paths that leave it are dropped."""
    names: dict[str, None] = {}
    for part in parts:
        for match in _FILE.finditer(part.text):
            name = match.group().removeprefix("./")
            if ".." not in name and "//" not in name:
                names.setdefault(name)
    return list(names)[:_MAX_NAMED]


def _strings_of(text: str) -> str:
    """A JSON text with its keys blanked, on the same lines; the text itself if it is not JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return re.sub(r'"(?:[^"\\]|\\.)*+"(?=\s*:)', lambda match: " " * len(match.group()), text)


def rubric_items(part: TaskText) -> Iterator[tuple[int, str]]:
    """The items of a rubric as (offset, text): the strings of a JSON file, the list items of any other."""
    pattern = r'"((?:[^"\\]|\\.)*+)"' if part.path.endswith(".json") else r"(?m)^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(.+)$"
    for match in re.finditer(pattern, part.text):
        yield match.start(1), match[1]
