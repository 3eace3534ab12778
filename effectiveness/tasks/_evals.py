"""What formats of evaluations have in common: files that hold many tasks, and criteria of which nothing gets lost."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from skill_health.core.files import blake2b
from skill_health.core.strict_json import JsonProblem, item_lines, quote, read_line, read_lines
from skill_health.documents._targets import read_targets
from skill_health.effectiveness.checks._api import make_check
from skill_health.effectiveness.rubric.model import Check, Criterion, CriterionGroup, Rubric, make_rubric
from skill_health.effectiveness.tasks._api import AGENT_TIMEOUT, Script, SetupCommand, Task, task_digest
from skill_health.effectiveness.tasks._bad import check_id
from skill_health.effectiveness.tasks._dialects import Dialect, with_dialect
from skill_health.effectiveness.tasks._folder import File, Folder, RefusedFile, is_inside
from skill_health.effectiveness.tasks._preparation import MOST as MOST_SETUP
from skill_health.effectiveness.tasks._preparation import unmet_needs
from skill_health.registries.strict_yaml import YamlItems, read_yaml
from skill_health.skill.parse import parse_skill

SKILL = "SKILL.md"
MOST_TASKS, MOST_CRITERIA = 20_000, 500
_FOLDERS = ("evals", "eval", "tests")
_SHOWN = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
NO_ORACLE = "an evaluation has no oracle: nothing shows that it can be solved"
_NOTHING = "there is nothing by which a trial could be judged"


@dataclass(slots=True)
class CriteriaDraft:
    """The criteria of one task as they are read; `unsupported` says of what could not be carried over where it stands.

    `place` is the file, for messages; a line is added to it.
    """

    place: str
    found: list[Criterion] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)

    def add_check(self, line: int, text: str, kind: str, points: float = 0.0, /, **given: Any) -> None:
        """A criterion that a check decides; what cannot be one here is said."""
        try:
            check = make_check(kind, **given)
        except ValueError as error:
            self.leave(line, f"{quote(text, _SHOWN)}: {error}")
            return
        self._add(line, text, points, check, "goal")

    def add_pattern(
        self, line: int, text: str, kind: str, dialect: Dialect, pattern: Any, points: float = 0.0, /, **given: Any
    ) -> None:
        """A criterion with a pattern in the words of another language; one that Python cannot say is left out."""
        try:
            made = with_dialect(pattern, dialect)
        except ValueError as error:
            self.leave(line, f"{quote(text, _SHOWN)}: {error}")
            return
        self.add_check(line, text, kind, points, pattern=made, **given)

    def add_judged(self, line: int, text: Any, points: float = 0.0, group: CriterionGroup = "goal") -> None:
        """A criterion that a reader has to decide; empty ones are none."""
        if isinstance(text, str) and text.strip():
            self._add(line, text.strip(), points, None, group)
        elif text not in (None, "", [], {}):
            self.leave(line, f"{quote(text, _SHOWN)} is no text")

    def leave(self, line: int, what: str) -> None:
        """Say what is left out, with its place."""
        self.unsupported.append(f"{self.place}:{line}: {what}")

    def _add(self, line: int, text: str, points: float, check: Check | None, group: CriterionGroup) -> None:
        if len(self.found) == MOST_CRITERIA:
            raise RefusedFile(self.place, f"more than {MOST_CRITERIA} criteria in one task", line=line)
        name = blake2b(repr((text, check)).encode("utf-8", "replace"), digest_size=4).hexdigest()
        same = sum(each.id.partition("-")[0] == name for each in self.found)
        number = f"{name}-{same + 1}" if same else name
        self.found.append(Criterion(number, text, points, group, check, f"{self.place}:{line}"))

    def rubric(self, line: int = 1) -> Rubric | None:
        """The rubric; None where nothing was carried over. Where some have weights, those without any are left out."""
        if any(each.points for each in self.found):
            for each in self.found:
                if not each.points:
                    self.unsupported.append(
                        f"{each.place}: {quote(each.text, _SHOWN)} has no weight, so it decides nothing"
                    )
            self.found = [each for each in self.found if each.points]
        try:
            return make_rubric(self.found) if self.found else None
        except ValueError as error:
            raise RefusedFile(self.place, str(error), line=line) from None


@dataclass(frozen=True, slots=True)
class EvalItem:
    """One evaluation of a file with the line at which it begins."""

    line: int
    data: Mapping[str, Any]


def eval_task(
    folder: Folder,
    file: str,
    line: int,
    names: Sequence[object],
    prompt: Any,
    skill: str | None,
    draft: CriteriaDraft,
    *,
    format: str,
    files: Iterable[File] = (),
    timeout_sec: float = AGENT_TIMEOUT,
    blockers: Iterable[str] = (),
    checking: Script | None = None,
    category: str = "",
    preparation: Iterable[SetupCommand] = (),
) -> Task:
    """A task of an evaluation; `names` make its id. Raises Refused for one without a prompt."""
    if not isinstance(prompt, str) or not prompt.strip():
        raise RefusedFile(file, "an evaluation without a prompt", "Say what the agent is told.", line)
    task_id = safe_name(names)
    check_id(file, task_id, line)
    staged = unique_files(files, file, line)
    rubric = draft.rubric(line)
    commands = tuple(preparation)
    if len(commands) > MOST_SETUP:
        raise RefusedFile(file, f"more than {MOST_SETUP} commands prepare one task", line=line)
    needs = unmet_needs(commands, checking.files if checking else ())
    why = [
        *blockers,
        *needs,
        *([] if rubric else [_NOTHING]),
        *([] if skill else ["nothing says which skill should help"]),
    ]
    return Task(
        id=task_id,
        slug=task_id,
        path=f"{folder.shown}/{file}" if folder.shown != "." else file,
        format=format,
        prompt=prompt,
        target_skills=read_targets(skill),
        category=category,
        agent_timeout_sec=timeout_sec,
        files=staged,
        rubric=rubric,
        checking=checking,
        preparation=commands,
        unsupported=(*draft.unsupported, NO_ORACLE),
        blockers=tuple(why),
        folder=folder.place,
        digest=task_digest(prompt, staged, (), timeout_sec, commands, checking),
    )


def safe_name(names: Sequence[object]) -> str:
    """An id that can name a folder, made of words; where they lose something, a hash keeps them apart."""
    said = "-".join(str(name) for name in names if name not in (None, ""))
    plain = _UNSAFE.sub("-", said).strip("-_")[:100] or "eval"
    if plain == said:
        return plain
    return f"{plain}-{blake2b(said.encode('utf-8', 'replace'), digest_size=3).hexdigest()}"


def written_file(path: str, content: str, draft: CriteriaDraft, line: int) -> Iterator[File]:
    """A starting file whose content stands in the evaluation. Raises Refused for a path that leads out."""
    plain = path.removeprefix("./")
    if not is_inside(plain):
        raise RefusedFile(draft.place, f"the file {path[:80]!r} does not lie in the workspace", line=line)
    yield File(plain, content.encode("utf-8", "replace"))


def unique_files(files: Iterable[File], file: str, line: int) -> tuple[File, ...]:
    """Files in the order of their paths. Raises Refused where two differ at one path, or one is a folder of another."""
    found: dict[str, File] = {}
    for each in files:
        if found.setdefault(each.path, each) != each:
            raise RefusedFile(file, f"two starting files are called {each.path[:80]!r}", line=line)
    for path in found:
        if any(above in found for above in _above(path)):
            raise RefusedFile(file, f"the starting file {path[:80]!r} lies in another one", line=line)
    return tuple(found[path] for path in sorted(found))


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def read_json(folder: Folder, file: str) -> tuple[str, Any]:
    """The text and the value of a JSON file, an object or a list. Raises Refused."""
    raw = folder.read(file)
    line = read_line(raw)
    if line.data is not None:
        return line.text, line.data
    # A list is read by the same strict reader, as the value of an object.
    if line.text.lstrip().startswith("["):
        wrapped = read_line(b'{"":' + raw.removeprefix(b"\xef\xbb\xbf") + b"}")
        if wrapped.data is not None:
            return line.text, wrapped.data[""]
        line = wrapped
    problem = line.problem or JsonProblem("unreadable")
    raise RefusedFile(file, problem.message, problem.help, line.text.count("\n", 0, problem.offset) + 1)


def read_yaml_file(folder: Folder, file: str) -> Any:
    """The value of a YAML file. Raises Refused."""
    raw = folder.read(file)
    try:
        return read_yaml(raw)
    except JsonProblem as problem:
        text = raw.decode("utf-8", "replace")
        raise RefusedFile(file, problem.message, problem.help, text.count("\n", 0, problem.offset) + 1) from None


def json_items(file: str, text: str, data: Any, keys: Sequence[str]) -> Iterator[EvalItem]:
    """The objects of a list, or of the first of the keys that holds one. Raises Refused for what is none."""
    at, items = 0, data
    if isinstance(data, Mapping):
        key = next((key for key in keys if isinstance(data.get(key), list)), "")
        if not key:
            raise RefusedFile(file, f"none of {', '.join(keys)} is a list", "The file holds a list of evaluations.")
        at, items = text.index(json.dumps(key)), data[key]
    if not isinstance(items, list):
        raise RefusedFile(file, "not a list of evaluations")
    if len(items) > MOST_TASKS:
        raise RefusedFile(file, f"more than {MOST_TASKS:,} evaluations in one file")
    for line, item in zip(item_lines(text, at), items, strict=True):
        yield EvalItem(line, item if isinstance(item, Mapping) else {})


def yaml_items(data: Any) -> Iterator[EvalItem]:
    """The objects of a YAML list; what is none of them is an empty one."""
    if isinstance(data, YamlItems):
        for line, item in zip(data.lines, data, strict=True):
            yield EvalItem(line, item if isinstance(item, Mapping) else {})


def line_items(folder: Folder, file: str) -> Iterator[EvalItem]:
    """The objects of a JSONL file. Raises Refused for a line that is none."""
    for number, each in enumerate(read_lines(folder.read(file))):
        if each.data is None or number == MOST_TASKS:
            message = each.problem.message if each.problem else f"more than {MOST_TASKS:,} evaluations in one file"
            raise RefusedFile(file, message, line=each.number)
        yield EvalItem(each.number, each.data)


def texts(value: Any) -> list[str]:
    """The texts of a list, or the one text."""
    found = value if isinstance(value, list) else [value]
    return [each for each in found if isinstance(each, str) and each.strip()]


def number(value: Any, otherwise: float = 0.0) -> float:
    """A number that somebody wrote, be it as text; `otherwise` for what is none."""
    if isinstance(value, bool):
        return otherwise
    try:
        found = float(value)
    except (TypeError, ValueError):
        return otherwise
    return found if 0 <= found < 1e9 else otherwise


def typed_values(value: Any) -> Any:
    """A value of YAML with its numbers as numbers; what a schema compares with stays text."""
    if isinstance(value, Mapping):
        return {
            key: typed_values(each) if key not in ("const", "enum", "pattern", "description") else each
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [typed_values(each) for each in value]
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] in "-0123456789" else value
    except ValueError:
        return value


def skill_around(folder: Folder) -> str | None:
    """The skill to which a file of evaluations belongs: that in whose folder it lies, or whose name its folder has."""
    for place in (folder.place, os.path.dirname(folder.place)):
        beside = Folder(place, place)
        if beside.has(SKILL):
            try:
                return parse_skill(beside.read(SKILL), f"{place.lstrip('/')}/{SKILL}").name or os.path.basename(place)
            except RefusedFile:
                return None
    name = os.path.basename(folder.place)
    return None if name in _FOLDERS else name


def skill_folder(folder: Folder) -> Folder:
    """The folder to which files of evaluations are relative: the skill's, else that of the file."""
    above = Folder(os.path.dirname(folder.place), folder.shown)
    return above if above.has(SKILL) and not folder.has(SKILL) else folder


def staged_file(folder: Folder, name: Any, target: str, draft: CriteriaDraft, line: int) -> Iterator[File]:
    """A starting file or a folder of them; Raises Refused for what is not there, or leads out."""
    if not isinstance(name, str) or not is_inside(name.removeprefix("./").rstrip("/")):
        raise RefusedFile(draft.place, f"the file {str(name)[:80]!r} does not lie in its folder", line=line)
    name = name.removeprefix("./").rstrip("/")
    if not folder.has(name):
        raise RefusedFile(draft.place, f"the file {name[:80]!r} is missing", line=line)
    elif folder.is_folder(name):
        yield from folder.tree(name, f"{target}/" if target else "")
    else:
        yield folder.file(name, target or os.path.basename(name))


def is_named(name: str, patterns: Iterable[str]) -> bool:
    """Whether a file has one of these names."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
