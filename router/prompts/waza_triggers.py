"""A YAML object {skill, should_trigger_prompts, should_not_trigger_prompts}: waza's trigger tests of one skill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from skill_health.core.strict_json import kind_of
from skill_health.registries.records import BadRecord
from skill_health.registries.strict_yaml import YamlItems, read_yaml
from skill_health.router.prompts._api import FileShape, Found, Known, PromptFile
from skill_health.router.prompts._rows import row_prompt

TITLE = "trigger tests"
_LISTS = {"should_trigger_prompts": True, "should_not_trigger_prompts": False}


def fits(look: FileShape) -> bool:
    """YAML with a list of prompts that should trigger a skill, or should not."""
    return look.kind == "yaml" and not look.keys.isdisjoint(_LISTS)


def read(file: PromptFile, known: Known) -> Iterator[Found]:
    """The prompts of both lists; the skill is the one that the file names, else the one in whose folder it lies."""
    data = read_yaml(file.raw)
    named = data.get("skill")
    skill = (known.name_near(named, file.skill) or named) if isinstance(named, str) and named else file.skill
    for key, fires in _LISTS.items():
        items = data.get(key) or YamlItems()
        if not isinstance(items, YamlItems):
            yield BadRecord(file.path, 1, 1, f"{key} must be a list, not {kind_of(items)}", "List prompts.", "prompts")
            continue
        for line, item in zip(items.lines, items, strict=True):
            row = {"prompt": item} if isinstance(item, str) else item
            if isinstance(row, Mapping):
                row = {"prompt": row.get("prompt"), "reason": row.get("reason"), "should_trigger": fires}
            yield row_prompt(file, line, row, known, skill)
