"""Sets of triggers: [{query, should_trigger}], as skill-creator has them. Whether the skill is used decides."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from skill_health.documents._targets import NO_SKILL
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._bad import bad
from skill_health.effectiveness.tasks._evals import (
    CriteriaDraft,
    eval_task,
    is_named,
    json_items,
    read_json,
    skill_around,
)
from skill_health.effectiveness.tasks._folder import Folder, RefusedFile
from skill_health.registries.records import BadRecord

TITLE = "a set of triggers (trigger-eval.json)"
NAMES = ("*trigger*eval*.json", "*trigger*queries*.json", "triggers.json", "*trigger*corpus*.json")
_LISTS = ("queries", "evals", "cases", "triggers")
_PROMPTS = ("query", "prompt", "question")
_LABELS = ("should_trigger", "should_fire", "expected")


def is_ours(folder: Folder, name: str) -> bool:
    """A file with the name of such a set and a label in it."""
    head = folder.head(name, 1 << 16)
    return is_named(name, NAMES) and (b'"should_trigger"' in head or b'"should_fire"' in head)


def load(folder: Folder, name: str) -> Iterator[Task | BadRecord]:
    """One task for each request."""
    text, data = read_json(folder, name)
    around = data if isinstance(data, Mapping) else {}
    skill = next((each for key in ("skill_name", "skill", "target") if isinstance(each := around.get(key), str)), None)
    skill = skill or skill_around(folder)
    for nth, item in enumerate(json_items(name, text, data, _LISTS), 1):
        wanted = next((item.data[key] for key in _LABELS if isinstance(item.data.get(key), bool)), None)
        prompt = next((item.data[key] for key in _PROMPTS if key in item.data), None)
        draft = CriteriaDraft(name)
        if wanted is None:
            draft.leave(item.line, "nothing says whether the skill should be used")
        elif skill:
            said = f"{skill} is {'used' if wanted else 'left alone'}"
            draft.add_check(item.line, said, "skill_used", skill=skill, absent=not wanted)
        target = skill if wanted else NO_SKILL
        names = [skill, os.path.splitext(name)[0], item.data.get("id", nth)]
        try:
            yield eval_task(folder, name, item.line, names, prompt, target, draft, format="trigger_sets")
        except RefusedFile as error:
            yield bad(folder, error.path, error.message, error.help, item.line)
