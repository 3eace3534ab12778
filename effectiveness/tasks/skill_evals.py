"""evals/evals.json in a skill's folder: {skill_name, evals: [{id, prompt, expected_output, files, assertions}]}.

An assertion that is a command (`{"command": "test -s out.csv"}` or the text `$ test -s out.csv`) is run with the
workspace as the current directory and holds where its exit code is 0. All others need a reader and are not graded here.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.core.strict_json import quote, read_line, top_level
from skill_health.effectiveness.tasks._api import AGENT_TIMEOUT, VERIFIER_TIMEOUT, Script, Task, script, task_digest
from skill_health.effectiveness.tasks._bad import bad, check_id, check_schema, check_text
from skill_health.effectiveness.tasks._folder import File, Folder, RefusedFile, is_inside
from skill_health.registries.records import BadRecord
from skill_health.skill.parse import parse_skill

TITLE = "an agentskills evals/evals.json"
FILE, SKILL, SCHEMA = "evals/evals.json", "SKILL.md", "skill-eval"
ENTRY = "assertions.sh"
# Input files are named relative to the skill; agents get them without these folders.
_INPUTS = ("evals/files/", "evals/")
_MOST_SHOWN = 100

_HEAD = """passed=0
check() {
  if bash -c "$1"; then passed=$((passed + 1)); else echo "not true: $1"; fi
}
"""
_TAIL = """if [ -n "${VERIFIER_DIR:-}" ]; then
  awk -v passed="$passed" -v total=%d 'BEGIN { printf "{\\"reward\\": %%.6f}\\n", passed / total }' > "$VERIFIER_DIR/reward.json"
fi
[ "$passed" -eq %d ]
"""


def fits(folder: Folder) -> str:
    """A skill's folder with evals/evals.json."""
    return FILE if folder.has(SKILL) and folder.has(FILE) else ""


def load(folder: Folder) -> Iterator[Task | BadRecord]:
    """One task for each eval, in their order."""
    text, data = _read(folder)
    skill = data.get("skill_name") or parse_skill(folder.read(SKILL), f"{folder.place.lstrip('/')}/{SKILL}").name
    if not isinstance(skill, str):
        raise RefusedFile(FILE, "skill_name must be text")
    for line, item in zip(_item_lines(text), data["evals"], strict=True):
        try:
            yield _task(folder, item, skill, line)
        except RefusedFile as error:
            yield bad(folder, error.path, error.message, error.help, error.line if error.line > 1 else line)


def _task(folder: Folder, item: Any, skill: str, line: int) -> Task:
    if not isinstance(item, Mapping):
        raise RefusedFile(FILE, "an eval is not an object", line=line)
    check_schema(FILE, SCHEMA, item, {"": line})
    task_id = f"{skill}-eval-{item['id']}"
    check_id(FILE, task_id, line)
    prompt = check_text(FILE, item["prompt"])
    files = tuple(_files(folder, item.get("files") or (), line))
    commands, ungraded = _sorted(item.get("assertions") or item.get("expectations") or ())
    unsupported = [f"not graded: {quote(text, _MOST_SHOWN)}" for text in ungraded]
    unsupported.append("an eval has no oracle: nothing shows that it can be solved")
    if item.get("expected_output"):
        unsupported.append("expected_output: not graded, a reader has to compare it")
    return Task(
        id=task_id,
        slug=task_id,
        path=f"{folder.shown}/{FILE}",
        format="skill_evals",
        prompt=prompt,
        target_skill=skill,
        files=files,
        verifier=_verifier(commands) if commands else None,
        unsupported=tuple(unsupported),
        blockers=() if commands else ("nothing can be graded here: no assertion is a command",),
        folder=folder.place,
        digest=task_digest(prompt, files, (), AGENT_TIMEOUT),
    )


def _read(folder: Folder) -> tuple[str, dict[str, Any]]:
    line = read_line(folder.read(FILE))
    if line.data is None:
        problem = line.problem
        message, offset = (problem.message, problem.offset) if problem else ("unreadable", 0)
        raise RefusedFile(FILE, message, problem.help if problem else "", line.text.count("\n", 0, offset) + 1)
    if not isinstance(line.data.get("evals"), list):
        raise RefusedFile(FILE, "evals is missing, or is not a list", "The file holds {skill_name, evals: [...]}.")
    return line.text, line.data


def _item_lines(text: str) -> Iterator[int]:
    """The line of each item of the list `evals`."""
    from skill_health.core.strict_json import item_lines

    at = next(offset for key, offset in top_level(text) if key == "evals")
    return item_lines(text, at + len('"evals"'))


def _files(folder: Folder, names: Any, line: int) -> Iterator[File]:
    for name in names:
        if not is_inside(name):
            advice = "Name files relative to the skill's folder, inside it."
            raise RefusedFile(FILE, f"the file {name[:80]!r} does not lie in the skill's folder", advice, line)
        lead = next((lead for lead in _INPUTS if name.startswith(lead)), "")
        target = name.removeprefix(lead)
        if folder.is_folder(name):
            yield from folder.tree(name, f"{target}/")
        else:
            yield folder.file(name, target)


def _sorted(assertions: Any) -> tuple[list[str], list[str]]:
    """The assertions that are commands, and the texts of the others."""
    commands, others = [], []
    for each in assertions:
        command = each.get("command") if isinstance(each, Mapping) else None
        if isinstance(each, str) and each.startswith("$ "):
            command = each[2:]
        if isinstance(command, list):
            command = shlex.join(command)
        if isinstance(command, str) and command.strip():
            commands.append(command.strip())
        else:
            others.append(each if isinstance(each, str) else quote(each, _MOST_SHOWN))
    return commands, others


def _verifier(commands: list[str]) -> Script:
    """A script that runs the commands, passes where all hold, and rewards the share of those that do."""
    checks = "".join(f"check {shlex.quote(command)}\n" for command in commands)
    body = _HEAD + checks + _TAIL % (len(commands), len(commands))
    return script(("bash", ENTRY), [File(ENTRY, body.encode())], VERIFIER_TIMEOUT)
