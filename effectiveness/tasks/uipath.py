"""UiPath's task YAML: {task_id, initial_prompt, success_criteria}, and rows in JSONL. Read from its tests, 2026-11."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.bench.http.json_values import mapping
from skill_health.core.boundary import git_top
from skill_health.documents._targets import NO_SKILL
from skill_health.effectiveness.tasks._api import AGENT_TIMEOUT, Script, SetupCommand, Task, script
from skill_health.effectiveness.tasks._bad import refused
from skill_health.effectiveness.tasks._evals import (
    CriteriaDraft,
    EvalItem,
    eval_task,
    line_items,
    number,
    read_yaml_file,
    texts,
    yaml_items,
)
from skill_health.effectiveness.tasks._folder import File, Folder, RefusedFile
from skill_health.effectiveness.tasks._preparation import SECONDS
from skill_health.registries.records import BadRecord
from skill_health.text.patterns import lazy

TITLE = "a UiPath task YAML"
_ROW = lazy(r"\$\{row\.([\w-]+)\}")
_REPOSITORY = lazy(r"\$\{?SKILLS_REPO_PATH\}?/((?:[\w.-]+/)*)")
_SHARED = "_shared"
_LEVELS = 4
_COMMAND_SECONDS = 120.0
_KNOWN = frozenset((
    "task_id", "description", "tags", "initial_prompt", "success_criteria", "run_limits", "agent", "dataset", "sandbox", "reference",
    "max_iterations", "skip", "pre_run", "post_run",
))  # fmt: skip
_NOT_RUN = ("simulation",)


def is_ours(folder: Folder, name: str) -> bool:
    """A YAML file with a task_id and success_criteria."""
    if not name.endswith((".yaml", ".yml")):
        return False
    head = b"\n" + folder.head(name, 1 << 18)
    return b"\ntask_id:" in head and b"\nsuccess_criteria:" in head


def load(folder: Folder, name: str) -> Iterator[Task | BadRecord]:
    """The task, or one for each row of its data."""
    data = read_yaml_file(folder, name)
    if not isinstance(data, Mapping):
        raise RefusedFile(name, "not an object")
    for row in _rows(folder, name, data):
        try:
            yield _task(folder, name, data, row)
        except RefusedFile as error:
            yield refused(folder, error)


def _rows(folder: Folder, name: str, data: Mapping[str, Any]) -> Iterator[Mapping[str, Any] | None]:
    dataset = mapping(data.get("dataset"))
    if not dataset:
        yield None
        return
    for each in yaml_items(dataset.get("rows")):
        yield each.data
    for path in (*texts(dataset.get("paths")), *texts(dataset.get("path"))):
        place = _reached(folder, path)
        if place is None:
            raise RefusedFile(name, f"the data {path[:80]!r} are missing, or not in this repository")
        for item in line_items(place[0], place[1]):
            yield item.data


def _task(folder: Folder, name: str, data: Mapping[str, Any], row: Mapping[str, Any] | None) -> Task:
    draft = CriteriaDraft(name)
    data = _filled(data, row) if row is not None else data
    used = ""
    for each in yaml_items(data.get("success_criteria")):
        if each.data.get("type") == "skill_triggered" and each.data.get("skill_name") == each.data.get(
            "expected_skill"
        ):
            used = used or str(each.data["skill_name"])
        _criterion(draft, each)
    for key in data:
        if key in _NOT_RUN:
            draft.leave(1, f"{key}: not done here")
        elif key not in _KNOWN:
            draft.leave(1, f"{key[:60]}: not known here")
    blockers = ["skip: the task is not to be run"] if data.get("skip") is True else []
    files = [*_templates(folder, mapping(data.get("sandbox")), draft, blockers)]
    for key in mapping(data.get("sandbox")):
        if key not in ("template_sources", "driver"):
            draft.leave(1, f"sandbox.{key[:60]}: not set up here")
    tags = texts(data.get("tags"))
    negative = row is not None and "expected_skill" in row and not row["expected_skill"]
    skill = (
        NO_SKILL
        if negative or (row is not None and row.get("expected_skill") in ("none", "null"))
        else used or next(iter(tags), None)
    )
    limit = number(mapping(data.get("run_limits")).get("task_timeout"), AGENT_TIMEOUT) or AGENT_TIMEOUT
    commands = [*_commands(draft, data.get("pre_run"))]
    prompt = data.get("initial_prompt")
    if prompt is None and "simulation" in data:
        raise RefusedFile(name, "a simulated user speaks with the agent, which is not done here")
    identity = [
        data.get("task_id"),
        row.get(str(mapping(data.get("dataset")).get("id_field", "id")), "") if row else "",
    ]
    return eval_task(
        folder, name, 1, identity, prompt, skill, draft, format="uipath", files=files, timeout_sec=limit, blockers=blockers,
        checking=_checking(folder, draft, commands), preparation=commands,
    )  # fmt: skip


def _criterion(draft: CriteriaDraft, item: EvalItem) -> None:
    data, line = item.data, item.line
    kind = str(data.get("type", ""))
    said = str(data.get("description") or kind)
    weight = number(data.get("weight"), 1.0)
    if data.get("pass_threshold") is not None and number(data["pass_threshold"], 1.0) == 0:
        draft.leave(line, f"{said[:80]!r} is reported only, and decides nothing")
        return
    if kind == "llm_judge":
        draft.add_judged(line, data.get("prompt") or said, weight)
        return
    checks = [*_checks(kind, data)]
    if not checks:
        draft.leave(line, f"a criterion of the type {kind[:40]!r} is not known here, or says nothing: {said[:80]}")
    for check, given in checks:
        draft.add_check(line, said, check, weight / len(checks), **given)


def _checks(kind: str, data: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The checks that a criterion stands for, with what each is given."""
    path, absent = data.get("path"), str(data.get("must_match", "true")).lower() == "false"
    match kind:
        case "run_command":
            given = {"exit": data.get("expected_exit_code"), "seconds": data.get("timeout", _COMMAND_SECONDS)}
            yield "command", {"command": data.get("command"), **given, "text": texts(data.get("stdout_contains"))}
        case "command_executed" | "command_not_executed":
            most = 0 if kind == "command_not_executed" else data.get("max_count")
            least = None if kind == "command_not_executed" else data.get("min_count", 1)
            yield "tool_called", {
                "tool": data.get("tool_name"), "pattern": data.get("command_pattern"), "except": data.get("exclude_pattern"),
                "succeeded": data.get("require_success") is True, "least": least, "most": most,
            }  # fmt: skip
        case "cli_called":
            yield (
                "tool_called",
                {"pattern": [*_call_patterns(data)], "most": data.get("max_count"), "least": data.get("min_count", 1)},
            )
        case "file_exists":
            yield "file_exists", {"path": path}
        case "file_matches_regex":
            yield "file_matches", {"path": path, "pattern": data.get("pattern"), "absent": absent}
        case "file_contains" | "file_check":
            for key, gone in (("includes", False), ("excludes", True)):
                for text in texts(data.get(key)):
                    yield "file_contains", {"path": path, "text": text, "absent": gone}
            for each in yaml_items(data.get("patterns")):
                gone = each.data.get("must_match") is False
                yield "file_matches", {"path": path, "pattern": each.data.get("pattern"), "absent": gone}
        case "json_check":
            for each in yaml_items(data.get("assertions")):
                value = json.dumps(_typed(each.data.get("expected"), str(each.data.get("operator"))))
                yield (
                    "json_value",
                    {
                        "path": path,
                        "at": each.data.get("expression"),
                        "operator": each.data.get("operator"),
                        "value": value,
                    },
                )
        case "skill_triggered":
            yield (
                "skill_used",
                {"skill": data.get("skill_name"), "absent": data.get("skill_name") != data.get("expected_skill")},
            )
        case "classification_match":
            yield (
                "file_matches",
                {"path": path, "pattern": rf"(?i)\A\s*{re.escape(str(data.get('expected_label')))}\s*\Z"},
            )
        case "commands_efficiency":
            share = number(data.get("pass_threshold"), 1.0) or 1.0
            yield "figure", {"of": "tool_calls", "most": number(data.get("expected_commands")) / share}


def _call_patterns(data: Mapping[str, Any]) -> Iterator[str]:
    """A call of a program by its verb, its words and its flags, as patterns of the command."""
    words = [*str(data.get("tool", "")).split(), *str(data.get("verb", "")).split()]
    yield r"\b" + r"\s+".join(map(re.escape, words))
    for word in texts(data.get("positional")):
        yield rf"(?:^|[\s'\"]){re.escape(word)}(?:$|[\s'\"])"
    for flag, value in mapping(data.get("flags")).items():
        yield rf"--{re.escape(str(flag))}[\s=]['\"]?{re.escape(str(value))}"


def _typed(value: Any, operator: str) -> Any:
    """What was expected: YAML's numbers are read as text, and are numbers where they look like some."""
    if not isinstance(value, str) or operator in ("contains", "not_contains", "regex"):
        return value
    try:
        return json.loads(value) if re.fullmatch(r"-?\d+(\.\d+)?", value) else value
    except ValueError:
        return value


def _top(folder: Folder) -> str:
    """The repository, or what was named of it: nothing outside it is staged."""
    return git_top(folder.place) or folder.top or folder.place


def _reached(folder: Folder, path: str) -> tuple[Folder, str] | None:
    """The folder and the name of what a path leads to within the repository; None where it leads out, or nowhere."""
    top = _top(folder)
    place = os.path.normpath(os.path.join(folder.place, path))
    if os.path.isabs(path) or not path.isprintable() or os.path.commonpath((top, place)) != top:
        return None
    inner = os.path.relpath(place, top)
    whole = Folder(top, folder.shown)
    return (whole, inner.replace(os.sep, "/")) if whole.has(inner) else None


def _templates(folder: Folder, sandbox: Mapping[str, Any], draft: CriteriaDraft, blockers: list[str]) -> Iterator[File]:
    """The files of the templates; of two with one path the later template's counts, as there."""
    found: dict[str, File] = {}
    for each in yaml_items(sandbox.get("template_sources")):
        path = each.data.get("path")
        place = _reached(folder, path) if isinstance(path, str) else None
        if place is None or each.data.get("type") != "template_dir":
            blockers.append(f"{draft.place}:{each.line}: the template {str(path)[:80]!r} is not in this repository")
            continue
        found |= {file.path: file for file in place[0].tree(place[1])}
    yield from found.values()


def _commands(draft: CriteriaDraft, given: Any) -> Iterator[SetupCommand]:
    """What is run before the agent. What is run after it cleans up, which nothing needs where all is thrown away."""
    for each in yaml_items(given):
        command = each.data.get("command")
        if isinstance(command, str) and command.strip():
            needed = str(each.data.get("fail_on_error", "false")).lower() == "true"
            yield SetupCommand(command, number(each.data.get("timeout")) or SECONDS, required=needed)
        else:
            draft.leave(each.line, "pre_run: an entry without a command")


def _checking(folder: Folder, draft: CriteriaDraft, commands: Sequence[SetupCommand]) -> Script | None:
    """The files that commands name by TASK_DIR and SKILLS_REPO_PATH, at the paths that they have in the repository."""
    every = [each.command for each in commands]
    every += [dict(each.check.given).get("command", "") for each in draft.found if each.check]
    named = [command for command in every if "TASK_DIR" in command or "SKILLS_REPO_PATH" in command]
    if not named:
        return None
    top = _top(folder)
    whole, own = Folder(top, folder.shown), os.path.relpath(folder.place, top).replace(os.sep, "/")
    wanted = {own} if any("TASK_DIR" in command for command in named) else set()
    parts = own.split("/")
    wanted |= (
        {"/".join((*parts[:end], _SHARED)) for end in range(max(0, len(parts) - _LEVELS), len(parts))}
        if wanted
        else set()
    )
    wanted |= {match[1].rstrip("/") for command in named for match in _REPOSITORY.finditer(command) if match[1]}
    files: dict[str, File] = {}
    for path in sorted(wanted):
        try:
            inside = os.path.normpath(path) == path and not path.startswith("..")
            files |= (
                {file.path: file for file in whole.tree(path, f"{path}/")} if inside and whole.is_folder(path) else {}
            )
        except RefusedFile as error:
            draft.leave(1, f"files of commands: {error.path}: {error.message}")
    return script((), files.values(), _COMMAND_SECONDS, [("SKILLS_REPO_PATH", ""), ("TASK_DIR", own)])


def _filled(value: Any, row: Mapping[str, Any]) -> Any:
    """A value in which `${row.name}` is what the row says."""
    if isinstance(value, str):
        return _ROW.sub(lambda match: str(row.get(match[1]) or ""), value)
    if isinstance(value, Mapping):
        return {key: _filled(each, row) for key, each in value.items()}
    if isinstance(value, list):
        made = type(value)(_filled(each, row) for each in value)
        if hasattr(value, "lines"):
            made.lines = value.lines  # type: ignore[attr-defined]
        return made
    return value
