"""Files of labelled prompts -> prompts, with one clear line for each record that is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from skill_health.core.errors import UsageError
from skill_health.registries.records import BadRecord, problem_line
from skill_health.router import prompts as package
from skill_health.router.prompts._api import Known, PromptFile, PromptFormat
from skill_health.router.prompts._files import find_files
from skill_health.router.prompts._look import look_at
from skill_health.router.prompts._settle import SettledPrompts
from skill_health.router.records import Prompt

MAX_PER_FILE = 100
MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class LoadedPrompts:
    """Prompts in the order of their files' paths and lines, the records that are none, and what else to know."""

    prompts: tuple[Prompt, ...] = ()
    problems: tuple[BadRecord, ...] = ()
    notes: tuple[str, ...] = ()


@cache
def formats() -> tuple[PromptFormat, ...]:
    """Every format, found by walking the package."""
    names = sorted(found.name for found in iter_modules(package.__path__) if found.name[0] != "_")
    return tuple(cast(PromptFormat, import_module(f"{package.__name__}.{name}")) for name in names)


def load_prompts(paths: Sequence[str], known: Known, root: str = "") -> LoadedPrompts:
    """Read the prompts of files, and of the eval files below folders. Raises UsageError where a path does not exist."""
    return read_prompts(find_files(paths, known, root), known)


def read_prompts(files: Iterable[PromptFile], known: Known) -> LoadedPrompts:
    """The prompts of files already read. Never raises on bad content; the order of the files does not matter."""
    settled = SettledPrompts()
    counts: dict[str, list[tuple[str, int]]] = {}
    for file in sorted(files, key=lambda file: (file.path, file.raw)):
        form = _format(file, settled)
        if form is not None:
            count = settled.add(file.path, form.read(file, known), known)
            counts.setdefault(form.TITLE, []).append((file.path, count))
    read = sum(count for rows in counts.values() for _, count in rows)
    notes = [*_counted(counts), *settled.notes]
    if merged := read - len(settled.prompts):
        notes.append(f"{merged} of the records are about a request that stands elsewhere, too: the labels are joined")
    return LoadedPrompts(tuple(settled.prompts.values()), tuple(_capped(settled.problems)), tuple(notes))


def refuse_bad_records(problems: Sequence[BadRecord], skip: bool | None) -> list[str]:
    """One line for each record that is no prompt. Raises UsageError where there are any and they may not be skipped.

    `skip` is what the option --skip-bad says; None where there is no such option.
    """
    lines = [problem_line(problem) for problem in problems]
    if lines and not skip:
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        advice = "fix the records (`router prompts` lists them)" + ("" if skip is None else ", or give --skip-bad")
        raise UsageError(f"{lines[0]}{more}: {advice}")
    return lines


def _format(file: PromptFile, settled: SettledPrompts) -> PromptFormat | None:
    """The format of a file; None, with the reason, where it has none that is known."""
    if fault := file.problem or _unreadable(file.raw):
        settled.problems.append(BadRecord(file.path, 1, 1, fault, _advice(fault), "prompts"))
        return None
    look = look_at(file.raw)
    found = next((form for form in formats() if form.fits(look)), None)
    if found is None and not file.named:
        settled.notes.append(f"{file.path}: passed over, because it holds no labelled prompts")
    elif found is None:
        titles = ", ".join(form.TITLE for form in formats())
        message = "nothing in it looks like labelled prompts"
        settled.problems.append(BadRecord(file.path, 1, 1, message, f"What can be read: {titles}.", "prompts"))
    return found


def _counted(counts: Mapping[str, Sequence[tuple[str, int]]]) -> Iterator[str]:
    """What was read from where; many files of one format are counted only."""
    for title, rows in sorted(counts.items()):
        if len(rows) > MAX_NAMED:
            yield f"{len(rows)} files: {title}, {sum(count for _, count in rows)} read"
        else:
            yield from (f"{path}: {title}, {count} read" for path, count in rows)


def _unreadable(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "the file is UTF-16"
    return "" if raw.strip() else "the file is empty"


def _advice(fault: str) -> str:
    return "Save it as UTF-8." if "UTF-16" in fault else "Name another file."


def _capped(problems: Sequence[BadRecord]) -> Iterator[BadRecord]:
    """At most so many problems for one file; the last of them says how many more there are."""
    total = Counter(problem.path for problem in problems)
    shown: Counter[str] = Counter()
    for problem in problems:
        shown[problem.path] += 1
        if shown[problem.path] == MAX_PER_FILE < total[problem.path]:
            more = total[problem.path] - MAX_PER_FILE
            yield problem._replace(message=f"{problem.message} (and {more} more bad records in this file)")
        elif shown[problem.path] <= MAX_PER_FILE:
            yield problem
