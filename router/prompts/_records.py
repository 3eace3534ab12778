"""The plan's own records: a prompt with the ranking that is right for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.registries.records import ID_OF, BadRecord, RegistryRecord, parse_registries
from skill_health.registries.sources import SourceFile
from skill_health.router.prompts._api import Found, PromptFile
from skill_health.router.prompts._rows import extras
from skill_health.router.records import Prompt

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
