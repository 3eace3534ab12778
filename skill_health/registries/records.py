"""Claims, mechanisms, activation cases, router prompts and task metadata beside the skills."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple

from skill_health.config.settings import SourceGlobs, Volatility
from skill_health.core.strict_json import JsonLine, read_line, read_lines, top_level
from skill_health.registries.sources import KINDS, SourceFile, digest, read_sources
from skill_health.text.terminal import clean

SCHEMA_OF = {
    "claims": "claim",
    "mechanisms": "mechanism",
    "activation": "activation-case",
    "prompts": "router-prompt",
    "tasks": "task",
}
ID_OF = {
    "claims": "claim_id",
    "mechanisms": "mechanism_id",
    "activation": "case_id",
    "prompts": "prompt_id",
    "tasks": "id",
}


class RegistryRecord(NamedTuple):
    """One line of a registry: where it stands and what it says. `line` counts from 1."""

    path: str
    line: int
    data: Mapping[str, Any]


class BadRecord(NamedTuple):
    """A line that is not a record: where, what is wrong, what to do.

    `kind` names the registry; `record_id` is the line's id where one could be read, so that a
    broken record is not also taken for a missing one.
    """

    path: str
    line: int
    col: int
    message: str
    help: str = ""
    kind: str = ""
    record_id: str = ""


class Registries(NamedTuple):
    """All registries of one collection. `None` where the collection has no such registry.

    The data of a task holds its `task_path` too: the prompt beside metadata.json, relative to the root.
    """

    claims: tuple[RegistryRecord, ...] | None = None
    mechanisms: tuple[RegistryRecord, ...] | None = None
    activation: tuple[RegistryRecord, ...] | None = None
    prompts: tuple[RegistryRecord, ...] | None = None
    tasks: tuple[RegistryRecord, ...] | None = None
    bad: tuple[BadRecord, ...] = ()
    digest: str = ""


def load_registries(root: str, sources: SourceGlobs) -> Registries:
    """Read and validate every registry below `root` that `sources` names. Never raises on bad content."""
    return parse_registries(read_sources(root, sources))


def from_json(kept: Mapping[str, Any]) -> Registries:
    """The registries that `_asdict` and JSON were made of."""
    records = {
        kind: None if kept[kind] is None else tuple(RegistryRecord(*record) for record in kept[kind])
        for kind in ("claims", "mechanisms", "activation", "prompts", "tasks")
    }
    return Registries(**records, bad=tuple(BadRecord(*bad) for bad in kept["bad"]), digest=kept["digest"])


def parse_registries(files: tuple[SourceFile, ...]) -> Registries:
    """The records of files already read, in their order; a line that is no record becomes a BadRecord."""
    records: dict[str, list[RegistryRecord]] = {}
    bad: list[BadRecord] = []
    for entry in files:
        kept = records.setdefault(entry.kind, [])
        for found in _records(entry):
            if isinstance(found, RegistryRecord):
                kept.append(found)
            else:
                bad.append(found)
    groups = {kind: tuple(records[kind]) for kind in KINDS if kind in records}
    return Registries(**groups, bad=tuple(bad), digest=digest(files))


def _records(entry: SourceFile) -> Iterator[RegistryRecord | BadRecord]:
    if entry.problem:
        yield BadRecord(entry.path, 1, 1, entry.problem, kind=entry.kind)
    elif entry.kind == "tasks":
        line = read_line(entry.raw) if entry.raw.strip() else JsonLine(1, "", {})
        yield _record(entry, line, lambda data: [] if entry.task_path else ["task.md is missing beside it"])
    else:
        for line in read_lines(entry.raw):
            yield _record(entry, line)


def _record(
    entry: SourceFile, line: JsonLine, further: Callable[[Mapping[str, Any]], list[str]] = lambda data: []
) -> RegistryRecord | BadRecord:
    if line.data is None:
        return _unreadable(entry, line)
    from skill_health.core.validation import problems

    found = problems(SCHEMA_OF[entry.kind], line.data)
    messages = [problem.message for problem in found] + further(line.data)
    if not messages:
        task = {"task_path": entry.task_path} if entry.kind == "tasks" else {}
        return RegistryRecord(entry.path, line.number, {**line.data, **task})
    offset = next((at for key, at in top_level(line.text) if found and key == found[0].key), 0)
    row, col = _place(line, offset)
    named = line.data.get(ID_OF[entry.kind])
    record_id = named if isinstance(named, str) else ""
    more = f"; and {len(messages) - 3} more" if len(messages) > 3 else ""
    advice = f"The fields are described by the schema skill-health/{SCHEMA_OF[entry.kind]}/1."
    return BadRecord(entry.path, row, col, "; ".join(messages[:3]) + more, advice, entry.kind, record_id)


def _unreadable(entry: SourceFile, line: JsonLine) -> BadRecord:
    problem = line.problem
    offset, message, advice = (problem.offset, problem.message, problem.help) if problem else (0, "unreadable", "")
    row, col = _place(line, offset)
    advice = advice or ("One JSON object per line." if entry.kind != "tasks" else "The file holds one JSON object.")
    return BadRecord(entry.path, row, col, message, advice, entry.kind)


def _place(line: JsonLine, offset: int) -> tuple[int, int]:
    before = line.text[:offset]
    return line.number + before.count("\n"), offset - before.rfind("\n")


class Review(NamedTuple):
    """A claim with the last day on which somebody looked at its source, and the day it is due again.

    `field` names the date that counts; `days` is how long the claim stays fresh by its volatility;
    `overdue` is how many days past due it is (negative: days left).
    """

    record: RegistryRecord
    claim_id: str
    owner: str
    field: str
    reviewed: date
    volatility: str
    days: int
    due: date
    overdue: int


def reviews(registries: Registries, volatility: Volatility, as_of: date) -> list[Review]:
    """Every claim's review, in the order of the registry.

    A claim was last looked at on the later of `last_reviewed` and `retrieved_at`: fetching a source again is
    a look at it too. It is stale after `volatility.<its volatility>` days.
    """
    return [_review(record, volatility, as_of) for record in registries.claims or ()]


def due_claims(registries: Registries, volatility: Volatility, as_of: date, within_days: int) -> list[Review]:
    """Claims that are not stale yet but will be within so many days, the most urgent first."""
    due = [entry for entry in reviews(registries, volatility, as_of) if -within_days <= entry.overdue <= 0]
    return sorted(due, key=lambda entry: (entry.due, entry.claim_id, entry.record.path, entry.record.line))


def _review(record: RegistryRecord, volatility: Volatility, as_of: date) -> Review:
    data = record.data
    field, reviewed = max(
        ((name, date.fromisoformat(str(data[name]))) for name in ("last_reviewed", "retrieved_at") if name in data),
        key=lambda entry: entry[1],
    )
    days: int = getattr(volatility, data["volatility"])
    due = min(reviewed.toordinal() + days, date.max.toordinal())
    late = as_of.toordinal() - due
    claim_id, owner, volatile = data["claim_id"], data["owning_skill"], data["volatility"]
    return Review(record, claim_id, owner, field, reviewed, volatile, days, date.fromordinal(due), late)


def problem_line(problem: BadRecord) -> str:
    """A bad record as one line, safe to print: `path:line: what is wrong; what to do`."""
    advice = problem.help[:1].lower() + problem.help[1:].removesuffix(".")
    text = f"{problem.path}:{problem.line}: {problem.message}" + (f"; {advice}" if advice else "")
    return clean(" ".join(text.split()))
