"""One labelled request of the formats that speak of one skill at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from skill_health.core.strict_json import JsonProblem, kind_of, quote
from skill_health.core.validation import problems
from skill_health.registries.records import ID_OF, BadRecord, RegistryRecord, parse_registries
from skill_health.registries.sources import SourceFile
from skill_health.router.prompts._api import CLASH, Found, Known, PromptFile
from skill_health.router.prompts._look import EXPECTED_KEYS, FIRES_KEYS
from skill_health.router.records import NONE, Prompt


class Label(NamedTuple):
    """The label of a request. `expected` is None for no skill; it counts only where `is_known`."""

    expected: str | None
    is_known: bool = True
    rejected: tuple[str, ...] = ()


class LabelFault(NamedTuple):
    """What is wrong with a label, and what to do."""

    message: str
    advice: str


def read_label(row: Mapping[str, Any], known: Known, skill: str, default: bool | None) -> Label | LabelFault:
    """The label of a record; `skill` and `default` as in `row_prompt`."""
    subject = _subject(row, known, skill)
    key = "expected" if "expected" in row else ""
    fires = row.get("should_trigger")
    agree = subject is None and fires is not None and fires is not _is_nobody(row.get(key))
    if key and (fires is None or agree):
        return _by_expected(row[key], subject or "", known)
    fires = default if fires is None else fires
    if fires is None:
        return LabelFault("the label is missing", "Say in `should_trigger` whether the request is meant for the skill.")
    if subject is None or (fires and not subject):
        return LabelFault("no skill is named", "Name it in `skill`, or keep the file in the folder of the skill.")
    other = known.name_of(row[key]) if key else None
    nobody = bool(key) and _is_nobody(row[key])
    if fires:
        if nobody or other not in (None, subject):
            named = "no skill" if nobody else quote(other)
            return LabelFault(f"should_trigger is true for {quote(subject)}, but {named} is expected", CLASH)
        return Label(subject)
    if subject and other == subject:
        return LabelFault(f"should_trigger is false for {quote(subject)}, but it is the one expected", CLASH)
    return Label(other, other is not None or nobody or not subject, (subject,) if subject else ())


def subject_of(row: Mapping[str, Any], known: Known, skill: str) -> str:
    """The skill that a record is about; "" where it is about none."""
    return _subject(row, known, skill) or ""


def _subject(row: Mapping[str, Any], known: Known, skill: str) -> str | None:
    """The skill that a record is about; "" where it says that there is none, None where it says nothing."""
    named = next((row[key] for key in ("skill", "skill_name") if key in row), skill or ...)
    if named is ...:
        return None
    return "" if _is_nobody(named) else known.name_near(named, skill) or str(named)


def _by_expected(given: object, subject: str, known: Known) -> Label:
    """The label of a record that only names who is expected; a name that nobody has is found out later."""
    expected = None if _is_nobody(given) else known.name_of(given) or str(given)
    return Label(expected, True, (subject,) if subject and subject != expected else ())


def _is_nobody(value: object) -> bool:
    return value is None or (isinstance(value, str) and value.strip().casefold() in ("", NONE))


SCHEMA = "labelled-query"
_FIELDS = f"The fields are described by the schema skill-health/{SCHEMA}/1."
_TEXTS = ("query", "prompt", "question", "user_prompt")


def row_prompt(
    file: PromptFile, line: int, row: object, known: Known, skill: str = "", default: bool | None = None
) -> Found:
    """The prompt that a record describes.

    `skill` is the one that the file speaks of, for records that name none; their ids count within it. `default`
    is what `should_trigger` is where neither it nor an expected skill is given.

    A request that should not trigger a skill has a known answer only where the record names it: an expected skill
    that is exactly one of the collection, or null. `should_trigger` false for no skill says that none should fire.
    """
    record_id = row.get("id") if isinstance(row, Mapping) else None

    def bad(message: str, advice: str) -> BadRecord:
        shown = str(record_id) if isinstance(record_id, str | int) else ""
        return BadRecord(file.path, line, 1, message, advice, "prompts", shown)

    if not isinstance(row, Mapping):
        return bad(f"not an object but {kind_of(row)}", "Each record is an object with a query and a label.")
    row, others = _canonical(row, default is not None)
    if found := problems(SCHEMA, row):
        return bad("; ".join(problem.message for problem in found[:3]), _FIELDS)
    text = next((row[key] for key in _TEXTS if key in row), "")
    if not text:
        return bad("the request is missing", "Say in `query` what the user asks for.")
    label = read_label(row, known, skill, default)
    if isinstance(label, LabelFault):
        return bad(label.message, label.advice)
    return Prompt(
        prompt_id=_within(subject_of(row, known, skill) if skill else "", record_id),
        text=text,
        expected=label.expected,
        known=label.is_known,
        acceptable=tuple(dict.fromkeys((*others, *_names(row.get("acceptable"))))),
        rejected=tuple(dict.fromkeys((*label.rejected, *_names(row.get("rejected"))))),
        source=f"{file.path}:{line}",
        **extras(row),
    )


def _names(value: object) -> tuple[str, ...]:
    found = value if isinstance(value, list) else [value]
    return tuple(name for name in found if isinstance(name, str) and name.strip())


def _canonical(row: Mapping[str, Any], is_task: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A record with one name for each of its labels; and who else may fire where several skills are expected.

    What a task of an eval set expects is seldom a skill, so that there `expect` is not read.
    """
    found = {key: value for key, value in row.items() if key not in (*EXPECTED_KEYS, *FIRES_KEYS)}
    expected = next((key for key in EXPECTED_KEYS if key in row and not (is_task and key == "expect")), "")
    fires = next((key for key in FIRES_KEYS if key in row), "")
    found |= ({"expected": row[expected]} if expected else {}) | ({"should_trigger": row[fires]} if fires else {})
    names = row.get(expected)
    if expected == "expected" or not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return found, ()
    return found | {"expected": names[0] if names else None}, tuple(names[1:])


def extras(row: Mapping[str, Any]) -> dict[str, Any]:
    """What every format may say of a prompt beyond its label. The values are of the right types."""
    return {
        "family": row.get("family") or "",
        "tags": tuple(dict.fromkeys(row.get("tags") or ())),
        "split": row.get("split") or "",
        "reason": row.get("reason") or "",
    }


def unreadable(file: PromptFile, text: str, problem: JsonProblem) -> BadRecord:
    """A file or line whose JSON cannot be read, with the place where it stops."""
    before = text[: problem.offset]
    line, col = before.count("\n") + 1, problem.offset - before.rfind("\n")
    return BadRecord(file.path, line, col, problem.message, problem.help or "Correct the file.", "prompts")


def _within(skill: str, record_id: object) -> str:
    """The id of a record; one that counts within a skill carries the skill's name."""
    if record_id is None:
        return ""
    text = str(record_id)
    return f"{skill}:{text}" if skill and not text.startswith(skill) else text


UNKNOWN = "expected_known"


def read_records(file: PromptFile, kind: str) -> Iterator[Found]:
    """The records of a registry of this kind ("prompts" or "activation"), in the order of the file."""
    found = parse_registries((SourceFile(kind, file.path, file.raw),))
    good: tuple[RegistryRecord, ...] = getattr(found, kind) or ()
    entries: list[RegistryRecord | BadRecord] = [*good, *found.bad]
    for entry in sorted(entries, key=lambda entry: entry.line):
        yield entry if isinstance(entry, BadRecord) else _prompt(entry, kind)


def _prompt(record: RegistryRecord, kind: str) -> Found:
    data = record.data
    if fault := _odd(data):
        advice = "The fields are described by the schema skill-health/router-prompt/1."
        return BadRecord(record.path, record.line, 1, fault, advice, kind, data[ID_OF[kind]])
    return Prompt(
        prompt_id=data[ID_OF[kind]],
        text=data["prompt"],
        expected=data["expected_primary_skill"],
        known=data.get(UNKNOWN) is not False,
        acceptable=tuple(data.get("acceptable_secondary_skills", ())),
        rejected=tuple(data.get("rejected_skills", ())),
        source=f"{record.path}:{record.line}",
        **extras(data),
    )


def _odd(data: Mapping[str, Any]) -> str:
    """What is wrong with fields that the schema of activation cases does not know; "" where nothing is."""
    for key in ("family", "split"):
        if not isinstance(data.get(key, ""), str):
            return f"{key} must be text"
    tags = data.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) and tag.strip() for tag in tags):
        return "tags must be a list of text"
    if not isinstance(data.get(UNKNOWN, True), bool):
        return f"{UNKNOWN} must be true or false"
    if data.get(UNKNOWN) is False and data["expected_primary_skill"] is not None:
        return f"{UNKNOWN} is false, but expected_primary_skill names a skill"
    return ""
