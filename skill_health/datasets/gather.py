"""Tasks, skills and runs -> the rows that are fit to publish, and what is left out, with the reason."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from skill_health.datasets.rows import CriterionRow, FileRow, ResultRow, SkillRow, TaskRow
from skill_health.effectiveness.rubric.model import Rubric
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.effectiveness.tasks._api import Script, Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.fleet.sketch import draw_sketch, find_near
from skill_health.quality.themes import find_themes
from skill_health.skill.model import Skill
from skill_health.text.secrets import hide_named

OPEN = (
    "0bsd", "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc-by-4.0", "cc0-1.0", "isc", "mit", "mpl-2.0", "unlicense",
)  # fmt: skip
"""Licences under which a text may be passed on, by their SPDX names in small letters."""
LARGEST = 4 << 20
"""Bytes of all files of a task that is still a row."""
_SAID = {
    "apache 2.0": "apache-2.0", "apache license 2.0": "apache-2.0", "apache license, version 2.0": "apache-2.0",
    "apache2": "apache-2.0", "mit license": "mit", "the mit license": "mit", "cc by 4.0": "cc-by-4.0", "cc0": "cc0-1.0",
    "bsd-3": "bsd-3-clause", "mpl 2.0": "mpl-2.0",
}  # fmt: skip


class LeftOut(NamedTuple):
    """Something that is no row, and why."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class PublishingTerms:
    """What may be published: licences (empty for any), and what holds for skills that declare none ("" for nothing)."""

    licences: Collection[str] = OPEN
    undeclared: str = ""


@dataclass(frozen=True, slots=True)
class SkillDataset:
    """The rows of all tables, and what is left out."""

    tasks: tuple[TaskRow, ...]
    skills: tuple[SkillRow, ...]
    results: tuple[ResultRow, ...]
    left_out: tuple[LeftOut, ...] = field(default=())


def gather_dataset(
    tasks: Sequence[Task],
    skills: Sequence[Skill],
    runs: Sequence[EffectRun],
    unsafe: Mapping[str, str],
    terms: PublishingTerms = PublishingTerms(),
) -> SkillDataset:
    """The rows, sorted by name, task and run.

    A skill is left out where a finding makes it unsafe (`unsafe` has the reason by the path of its SKILL.md), where
    nobody says that its text may be passed on, where it is a copy or a near copy of another one, and where it names
    persons or credentials. A task is left out with a skill that it is for, and trials with their task.
    """
    left: list[LeftOut] = []
    themes = find_themes({skill.name: skill.description for skill in skills})
    kept_skills = list(_skills(skills, unsafe, terms, themes, left))
    names = {row.name for row in kept_skills}
    kept_tasks = list(_tasks(tasks, names, themes, left))
    digests = {row.id: row.digest for row in kept_tasks}
    results = [row for run in runs for row in _results(run, digests, left)]
    results.sort(key=lambda row: (row.run, row.task, row.model, row.arm, row.replication))
    return SkillDataset(tuple(kept_tasks), tuple(kept_skills), tuple(results), tuple(left))


def licence_of(skill: Skill, terms: PublishingTerms) -> str:
    """The licence of a skill by its SPDX name in small letters, as far as that is known."""
    said = " ".join((skill.text_of("license") or terms.undeclared).casefold().split()).rstrip(".")
    return _SAID.get(said, said)


def _skills(
    skills: Sequence[Skill],
    unsafe: Mapping[str, str],
    terms: PublishingTerms,
    themes: Mapping[str, str],
    left: list[LeftOut],
) -> Iterator[SkillRow]:
    chosen: list[Skill] = []
    for skill in sorted(skills, key=lambda each: (each.name, each.path)):
        if reason := _unfit(skill, unsafe, terms, {each.name for each in chosen}):
            left.append(LeftOut(f"skill {skill.name}", reason))
        else:
            chosen.append(skill)
    sketches = [draw_sketch(each.text) for each in chosen]
    copies = {
        pair.other: pair.one for pair in find_near(sketches, [frozenset((each.path,)) for each in chosen])
    }  # fmt: skip
    for at, skill in enumerate(chosen):
        if at in copies:
            left.append(LeftOut(f"skill {skill.name}", f"nearly a copy of {chosen[copies[at]].name}"))
            continue
        yield SkillRow(
            name=skill.name, description=skill.description, licence=licence_of(skill, terms), theme=themes[skill.name],
            text=skill.text, files=list(skill.files),
        )  # fmt: skip


def _unfit(skill: Skill, unsafe: Mapping[str, str], terms: PublishingTerms, taken: Collection[str]) -> str:
    """Why a skill is not published; "" where it is."""
    licence = licence_of(skill, terms)
    if skill.path in unsafe:
        return unsafe[skill.path]
    if terms.licences and not licence:
        return "no licence is declared"
    if terms.licences and licence not in terms.licences:
        return f"the licence {licence[:60]!r} does not say that it may be passed on"
    if skill.name in taken:
        return "another skill has its name"
    return _named(skill.text)


def _named(text: str) -> str:
    return "names persons or credentials" if hide_named(text) != text else ""


def _tasks(
    tasks: Sequence[Task], skills: Collection[str], themes: Mapping[str, str], left: list[LeftOut]
) -> Iterator[TaskRow]:
    prompts: dict[str, str] = {}
    for task in sorted(tasks, key=lambda each: each.id):
        missing = [name for name in task.target_skills or () if name not in skills]
        same = prompts.get(" ".join(task.prompt.casefold().split()))
        row = _task(task, themes)
        reason = ""
        if missing:
            reason = f"its skill {missing[0]} is not published"
        elif same:
            reason = f"asks the same as {same}"
        elif row is None:
            reason = f"its files have more than {LARGEST >> 20} MiB"
        else:
            reason = _named("\n".join(_texts(row)))
        if reason or row is None:
            left.append(LeftOut(f"task {task.id}", reason))
            continue
        prompts[" ".join(task.prompt.casefold().split())] = task.id
        yield row


def _task(task: Task, themes: Mapping[str, str]) -> TaskRow | None:
    scripts = [script for script in (task.verifier, task.oracle) if script]
    if sum(len(file.data) for files in (task.files, *(script.files for script in scripts)) for file in files) > LARGEST:
        return None
    skills = list(task.target_skills or ())
    return TaskRow(
        id=task.id, prompt=task.prompt, skills=skills, category=task.category, difficulty=task.difficulty,
        format=task.format, theme=themes.get(skills[0], "") if skills else "", files=_files(task.files),
        verifier=_words(task.verifier), verifier_files=_files(task.verifier.files if task.verifier else ()),
        oracle=_words(task.oracle), oracle_files=_files(task.oracle.files if task.oracle else ()),
        rubric=_rubric(task.rubric), digest=task.digest,
    )  # fmt: skip


def _texts(row: TaskRow) -> Iterator[str]:
    yield row.prompt
    yield from (
        file.content for file in (*row.files, *row.verifier_files, *row.oracle_files) if file.encoding == "utf-8"
    )
    yield from (criterion.text for criterion in row.rubric)


def _words(script: Script | None) -> list[str]:
    return list(script.argv) if script else []


def _files(files: Iterable[File]) -> list[FileRow]:
    return [_file(file) for file in sorted(files, key=lambda each: each.path)]


def _file(file: File) -> FileRow:
    try:
        text, encoding = file.data.decode("utf-8"), "utf-8"
        if "\0" in text:
            raise ValueError
    except ValueError:
        text, encoding = base64.b64encode(file.data).decode("ascii"), "base64"
    return FileRow(path=file.path, encoding=encoding, content=text, executable=file.executable)


def _rubric(rubric: Rubric | None) -> list[CriterionRow]:
    return [
        CriterionRow(
            id=each.id,
            text=each.text,
            group=each.group,
            points=each.points,
            check=each.check.kind if each.check else "",
        )
        for each in (rubric.criteria if rubric else ())
    ]


def _results(run: EffectRun, digests: Mapping[str, str], left: list[LeftOut]) -> Iterator[ResultRow]:
    simulated = {model.spec: model.simulated for model in run.manifest.models}
    changed = {task.id for task in run.manifest.tasks if digests.get(task.id, task.digest) != task.digest}
    gone = {task.id for task in run.manifest.tasks if task.id not in digests}
    for what, tasks in (("has changed since", changed), ("is not published", gone)):
        for task in sorted(tasks):
            count = sum(result.task_id == task for result in run.results)
            left.append(LeftOut(f"{count} trials of {task} in {run.run_id}", f"the task {what}"))
    for each in run.results:
        if each.task_id not in changed | gone:
            yield ResultRow(
                run=run.run_id, task=each.task_id, model=each.model, simulated=simulated.get(each.model, False),
                arm=each.arm, replication=each.replication, outcome=each.outcome, reward=each.reward,
                input_tokens=each.usage.input_tokens, output_tokens=each.usage.output_tokens, cost_usd=each.cost_usd,
                duration_ms=each.duration_ms, turns=each.turns, tool_calls=each.tool_calls, invoked=each.invoked,
            )  # fmt: skip
