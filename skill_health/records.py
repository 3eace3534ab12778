"""What the cache keeps of a checked skill, as JSON, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skill_health.ignores import Ignore
from skill_health.rules._api import Finding, Severity

if TYPE_CHECKING:
    from skill_health.check import CheckedSkill

_SEVERITIES = {severity.value: severity for severity in Severity}


def to_record(key: str, checked: CheckedSkill) -> dict[str, Any]:
    """One skill as the cache stores it. The facts stay encoded, since most runs do not need them."""
    import json

    return {
        "key": key,
        "findings": [pack(finding) for finding in checked.findings],
        "facts": json.dumps(checked.facts, ensure_ascii=True, separators=(",", ":")),
        "measures": json.dumps(checked.measures, ensure_ascii=True, separators=(",", ":")),
        "ignores": [[list(i.codes), i.first, i.last, i.reason, i.path, i.line, i.col] for i in checked.ignores],
        "inputs": checked.inputs,
    }


def ignores_of(record: dict[str, Any]) -> list[Ignore]:
    """The inline comments of a stored skill."""
    return [Ignore(tuple(codes), *rest) for codes, *rest in record["ignores"]]


def pack(f: Finding) -> list[Any]:
    """A finding as a JSON list; its fix is not kept, only that there is one."""
    return [
        f.code, f.rule, f.family, f.severity.value, f.path, f.line, f.col, f.end_line, f.end_col, f.message, f.help,
        f.source, f.skill, f.key, f.fixable, list(f.also),
    ]  # fmt: skip


def unpack(values: Sequence[Any]) -> Finding:
    """The reverse of `pack`."""
    *rest, fixable, also = values
    rest[3] = _SEVERITIES[rest[3]]
    return Finding._make([*rest, None, fixable, tuple(also)])
