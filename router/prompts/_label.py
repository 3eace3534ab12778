"""What a record says about one skill: whether the request is meant for it, and which skill is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from skill_health.core.strict_json import quote
from skill_health.router.prompts._api import Known
from skill_health.router.records import NONE

_CLASH = "Decide which label is right and remove the other."


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
    key = next((key for key in ("expected", "expected_skill") if key in row), "")
    fires = row.get("should_trigger")
    if fires is None and key:
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
            return LabelFault(f"should_trigger is true for {quote(subject)}, but {named} is expected", _CLASH)
        return Label(subject)
    if subject and other == subject:
        return LabelFault(f"should_trigger is false for {quote(subject)}, but it is the one expected", _CLASH)
    return Label(other, other is not None or nobody or not subject, (subject,) if subject else ())


def subject_of(row: Mapping[str, Any], known: Known, skill: str) -> str:
    """The skill that a record is about; "" where it is about none."""
    return _subject(row, known, skill) or ""


def _subject(row: Mapping[str, Any], known: Known, skill: str) -> str | None:
    """The skill that a record is about; "" where it says that there is none, None where it says nothing."""
    named = next((row[key] for key in ("skill", "skill_name") if key in row), skill or ...)
    if named is ...:
        return None
    return "" if _is_nobody(named) else known.name_of(named) or str(named)


def _by_expected(given: object, subject: str, known: Known) -> Label:
    """The label of a record that only names who is expected; a name that nobody has is found out later."""
    expected = None if _is_nobody(given) else known.name_of(given) or str(given)
    return Label(expected, True, (subject,) if subject and subject != expected else ())


def _is_nobody(value: object) -> bool:
    return value is None or (isinstance(value, str) and value.strip().casefold() == NONE)
