"""YAML with a list of `scenarios` or `stimuli`, each with a prompt: eval files in a folder of their skill's name.

A stimulus says by a grader `skill-invocation` which skill must be called. A scenario is a task for the skill of its
folder, unless `expect_activation` is false. Each is one request: a conversation of several turns is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.core.strict_json import kind_of
from skill_health.registries.records import BadRecord
from skill_health.registries.strict_yaml import YamlItems, read_yaml
from skill_health.router.prompts._api import FileShape, Found, Known, PromptFile
from skill_health.router.prompts._rows import row_prompt

TITLE = "scenarios of evals"
_TASKS, _GRADED = "scenarios", "stimuli"
_GRADER = "skill-invocation"


def fits(look: FileShape) -> bool:
    """YAML with such a list of prompts."""
    return look.kind == "yaml" and bool(look.keys & {_TASKS, _GRADED}) and "prompt" in look.inner


def read(file: PromptFile, known: Known) -> Iterator[Found]:
    """The prompts of the list; one that no skill is said to be right or wrong for is a bad record."""
    data = read_yaml(file.raw)
    key = _TASKS if isinstance(data, Mapping) and _TASKS in data else _GRADED
    items = data.get(key) if isinstance(data, Mapping) else data
    if not isinstance(items, YamlItems):
        yield _bad(file, 1, f"{key} must be a list, not {kind_of(items)}", "List scenarios.")
        return
    for line, item in zip(items.lines, items, strict=True):
        if not isinstance(item, Mapping):
            yield _bad(file, line, f"not an object but {kind_of(item)}", "Each scenario is an object with a prompt.")
        elif "turns" in item and "prompt" not in item:
            yield _bad(file, line, "a conversation, not one request", "Write its request as `prompt`.")
        elif key == _TASKS:
            row = {"prompt": item.get("prompt"), "should_trigger": item.get("expect_activation", True)}
            yield row_prompt(file, line, row, known, file.skill)
        else:
            yield _graded(file, line, item, known)


def _graded(file: PromptFile, line: int, item: Mapping[str, Any], known: Known) -> Found:
    required, disallowed = _skills(item, "required"), _skills(item, "disallowed")
    if not required and not disallowed:
        return _bad(file, line, f"no grader {_GRADER} names a skill", "Add one.")
    # Where nothing is required, the label says who is wrong, and not who is right.
    label = {"expected_skills": required} if required else {"skill": disallowed[0], "should_trigger": False}
    return row_prompt(file, line, {"prompt": item.get("prompt"), "rejected": disallowed, **label}, known)


def _skills(item: Mapping[str, Any], kind: str) -> list[str]:
    """The skills that the graders of this item require or disallow."""
    found: list[str] = []
    graders = item.get("graders")
    for grader in graders if isinstance(graders, list) else ():
        if isinstance(grader, Mapping) and grader.get("type") == _GRADER:
            config = grader.get("config")
            names = config.get(kind) if isinstance(config, Mapping) else None
            found += [name for name in (names if isinstance(names, list) else [names]) if isinstance(name, str)]
    return list(dict.fromkeys(found))


def _bad(file: PromptFile, line: int, message: str, advice: str) -> BadRecord:
    return BadRecord(file.path, line, 1, message, advice, "prompts")
