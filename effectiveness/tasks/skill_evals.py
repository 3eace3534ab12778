"""Evaluations beside a skill: {skill_name, evals: [{id, prompt, expected_output, assertions}]} or the list alone.

Read are agentskills.io's and skill-creator's `evals.json`, NVIDIA's (question, ground_truth, expected_behavior,
expected_skill, expected_script), test prompts (test_cases), and each of them in a folder of its own outside the skill.

An assertion that is a command (`{"command": "test -s out.csv"}` or the text `$ test -s out.csv`) is run with the
workspace as the current directory and is met where its exit code is 0. Prose is judged.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.core.strict_json import quote
from skill_health.documents._targets import NO_SKILL
from skill_health.effectiveness.checks._patterns import bad_pattern
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._bad import refused
from skill_health.effectiveness.tasks._evals import (
    CriteriaDraft,
    EvalItem,
    eval_task,
    is_named,
    json_items,
    read_json,
    skill_around,
    skill_folder,
    staged_file,
    texts,
    written_file,
)
from skill_health.effectiveness.tasks._folder import File, Folder, RefusedFile
from skill_health.registries.records import BadRecord

TITLE = "an agentskills evals.json"
NAMES = ("evals.json", "*-evals.json", "evals-*.json", "*_evals.json", "test-prompts.json")
_NOT = ("trigger*", "*trigger-eval*", "*trigger_eval*")
_MARKS = (b'"prompt"', b'"question"', b'"query"')
_LISTS = ("evals", "cases", "test_cases", "tests", "queries", "prompts")
_PROMPTS = ("prompt", "question", "query", "input")
_OUTPUTS = ("expected_output", "ground_truth", "expected_behavior_text", "expected_workflow", "expected_test", "rubric")
_ASSERTIONS = ("assertions", "expectations", "expected_behavior", "expected_behaviors", "checks", "criteria")
_KNOWN = frozenset((
    "id", "name", "files", "should_trigger", "expected_skill", "acceptable_skills", "skill", "skill_name", "expected_script",
    "expected_references", "must_not", "type", "notes", "tags", "rationale", "category", "difficulty", "description", "lang",
    *_PROMPTS, *_OUTPUTS, *_ASSERTIONS,
))  # fmt: skip
# Input files are named relative to the skill; agents get them without these folders.
_INPUTS = ("evals/files/", "evals/")
_TEXTS = ("text", "assertion", "description", "expectation", "criterion", "name")
_SHOWN = 100


def is_ours(folder: Folder, name: str) -> bool:
    """An evals.json, or a file with such a name that holds prompts and is no set of triggers."""
    if name == "evals.json":
        return True
    ours = is_named(name, NAMES) and not is_named(name, _NOT)
    return ours and any(mark in folder.head(name, 1 << 20) for mark in _MARKS)


def load(folder: Folder, name: str) -> Iterator[Task | BadRecord]:
    """One task for each evaluation, in their order."""
    text, data = read_json(folder, name)
    around = data if isinstance(data, Mapping) else {}
    skill = next((each for key in ("skill_name", "skill") if isinstance(each := around.get(key), str)), None)
    skill = skill or skill_around(folder)
    alone = any(isinstance(around.get(key), str) for key in _PROMPTS) and not any(key in around for key in _LISTS)
    for nth, item in enumerate([EvalItem(1, around)] if alone else json_items(name, text, data, _LISTS), 1):
        try:
            yield _task(folder, name, item, nth, skill)
        except RefusedFile as error:
            yield refused(folder, error, item.line)


def _task(folder: Folder, file: str, item: EvalItem, nth: int, own: str | None) -> Task:
    data, line = item.data, item.line
    prompt = next((data[key] for key in _PROMPTS if key in data), None)
    skill = _skill(data, own)
    draft = CriteriaDraft(file)
    for key in _OUTPUTS:
        draft.add_judged(line, _worded(key, data.get(key)))
    for key in _ASSERTIONS:
        _assertions(draft, line, data.get(key))
    _references(draft, line, data)
    for text in texts(data.get("must_not")):
        draft.add_judged(line, f"It must not: {text}")
    wanted = data.get("should_trigger")
    if not draft.found and own and (isinstance(wanted, bool) or "expected_skill" in data):
        used = wanted if isinstance(wanted, bool) else data["expected_skill"] == own
        draft.add_check(line, f"{own} is {'used' if used else 'left alone'}", "skill_used", skill=own, absent=not used)
    for key in data:
        if key not in _KNOWN:
            draft.leave(line, f"{key[:60]}: not known here")
    files = _files(skill_folder(folder), folder, data.get("files") or (), draft, line)
    stem = os.path.splitext(file)[0]
    below = os.path.basename(folder.place)
    label = ["eval"] if stem == "evals" else [stem]
    label = [below, *label] if below in ("benchmark", "benchmarks") else label
    # Whose skill it is decides the id, so that evaluations of two skills never have one.
    names = [own or skill, *label, data.get("id", nth)]
    return eval_task(folder, file, line, names, prompt, skill, draft, format="skill_evals", files=files)


def _skill(data: Mapping[str, Any], own: str | None) -> str | None:
    """The skill that should help: a negative one has none."""
    if data.get("should_trigger") is False or str(data.get("type", "")).startswith("should_not"):
        return NO_SKILL
    if "expected_skill" in data:
        named = data["expected_skill"]
        return named if isinstance(named, str) and named.strip() else NO_SKILL
    return own


def _worded(key: str, value: Any) -> Any:
    return f"The answer agrees with this: {value}" if isinstance(value, str) and value.strip() else value


def _assertions(draft: CriteriaDraft, line: int, found: Any) -> None:
    for each in found if isinstance(found, list) else [found]:
        text = each if isinstance(each, str) else ""
        kind, given = "", each if isinstance(each, Mapping) else {}
        if isinstance(each, Mapping):
            text = next((value for key in _TEXTS if isinstance(value := each.get(key), str) and value.strip()), "")
            kind = each["type"] if isinstance(each.get("type"), str) else ""
        command = given.get("command", text[2:] if text.startswith("$ ") else None)
        command = shlex.join(map(str, command)) if isinstance(command, list) else command
        value = next(
            (value for key in ("pattern", "phrase", "value", "text_value") if isinstance(value := given.get(key), str)),
            None,
        )
        if isinstance(command, str) and command.strip():
            draft.add_check(line, text or command, "command", command=command.strip())
        elif kind in _TYPED and (value or given.get("path")):
            _typed(draft, line, text or quote(each, _SHOWN), kind, given, value)
        elif text:
            draft.add_judged(line, text)
        else:
            draft.add_judged(line, each)


def _typed(draft: CriteriaDraft, line: int, text: str, kind: str, given: Mapping[str, Any], value: str | None) -> None:
    check, absent = _TYPED[kind]
    if check == "file_exists":
        draft.add_check(line, text, check, path=given.get("path") or value, absent=absent)
    elif check == "output_matches" and value and not bad_pattern(value):
        draft.add_check(line, text, check, pattern=value, absent=absent)
    else:
        draft.add_check(line, text, "output_contains", text=value, ignore_case=True, absent=absent)


_TYPED: Mapping[str, tuple[str, bool]] = {
    "contains": ("output_contains", False), "contains_phrase": ("output_contains", False),
    "not_contains": ("output_contains", True), "not_contains_phrase": ("output_contains", True),
    "contains_pattern": ("output_matches", False), "not_contains_pattern": ("output_matches", True),
    "regex": ("output_matches", False), "not_regex": ("output_matches", True),
    "file_exists": ("file_exists", False), "file_not_exists": ("file_exists", True),
}  # fmt: skip


def _references(draft: CriteriaDraft, line: int, data: Mapping[str, Any]) -> None:
    """Scripts and references of the skill that the agent should use: their names in what it gives its tools."""
    for key, verb in (("expected_script", "runs"), ("expected_references", "reads")):
        for name in texts(data.get(key)):
            draft.add_check(
                line, f"The agent {verb} {name}", "tool_called", text=os.path.basename(name.rstrip("/")) or name
            )


def _files(skill: Folder, folder: Folder, names: Sequence[Any], draft: CriteriaDraft, line: int) -> Iterator[File]:
    """Files relative to the skill, else to the file of evaluations; what is written out is taken as it is."""
    for name in names if isinstance(names, list) else ():
        if isinstance(name, Mapping) and isinstance(name.get("path"), str) and isinstance(name.get("content"), str):
            yield from written_file(name["path"], name["content"], draft, line)
            continue
        name = name.get("path") if isinstance(name, Mapping) else name
        plain = name.removeprefix("./").rstrip("/") if isinstance(name, str) else ""
        lead = next((lead for lead in _INPUTS if plain.startswith(lead)), "")
        place = skill if skill.has(plain) or not folder.has(plain) else folder
        yield from staged_file(place, name, plain.removeprefix(lead), draft, line)
