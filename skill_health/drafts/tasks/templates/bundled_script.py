"""What a bundled script prints for an input of the skill's own: it is to be written without being told how."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from skill_health.documents.proposal_draft import ProposalContent
from skill_health.drafts.tasks.model import MOST_FILE, MOST_FILES, MOST_TOTAL, DraftedTask, bad_path
from skill_health.drafts.tasks.subject import DraftSubject
from skill_health.drafts.tasks.templates._api import (
    MOST_ITEMS,
    CheckedItem,
    RunScript,
    TemplateDraft,
    make_rubrics,
)
from skill_health.effectiveness.rubric.model import Criterion
from skill_health.effectiveness.tasks._folder import File
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

TITLE = "script in Python that needs nothing else, with its command on a file of which the skill has an example"
_COMMAND = lazy(
    r"(?m)^[ \t$>]*(?:python3?|uv run(?: python3?)?)[ \t]+(?P<script>[^\s\"'|;&]+\.py)(?P<rest>[ \t][^\n|;&]*)?$"
)
_DATA = frozenset("json jsonl csv tsv txt md yaml yml xml html log toml sql".split())
_OUTPUT = lazy(r"(?i)\bout|result|dest")
_WORD = lazy(r"[^\W_][\w.-]{2,}")
_FEWEST_LINES, _FEWEST_WORDS, _MOST_COMMANDS, _MOST_TRIES = 6, 10, 12, 8
_RESULT = "result.txt"


@dataclass(frozen=True, slots=True)
class _Call:
    """A documented command: the script within the skill's folder, its words before and after the input, the example."""

    script: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    input: File


def draft(subject: DraftSubject, run: RunScript | None) -> Iterator[TemplateDraft]:
    """A task for each script whose command works in the sandbox, in the order of the skills' texts."""
    if run is None:
        return
    for skill in subject.skills:
        done: set[str] = set()
        # What is called with fewer options leaves less open.
        for nth, call in enumerate(sorted(_calls(skill, subject), key=lambda each: len(each.before) + len(each.after))):
            if nth >= _MOST_TRIES:
                break
            if call.script not in done and (made := _task(subject, skill, call, run)):
                done.add(call.script)
                yield made


def _calls(skill: Skill, subject: DraftSubject) -> Iterator[_Call]:
    """The documented commands, each with every example that fits it."""
    for match in list(_COMMAND.finditer(skill.text))[:_MOST_COMMANDS]:
        named = match["script"].rpartition("/")[2]
        scripts = [file for file in skill.files if file.rpartition("/")[2] == named]
        try:
            words = shlex.split(match["rest"] or "", comments=True)
        except ValueError:
            continue
        places = [at for at, word in enumerate(words) if _ending(word) in _DATA and not _OUTPUT.search(word)]
        if len(scripts) != 1 or len(places) != 1 or any(re.search(r"[<>{}$\[\]]", word) for word in words):
            continue
        at = places[0]
        for data in _examples(skill, subject, _ending(words[at])):
            name = f"input.{_ending(words[at])}"
            yield _Call(scripts[0], tuple(words[:at]), tuple(words[at + 1 :]), File(name, data))


def _ending(word: str) -> str:
    return word.rpartition(".")[2].lower() if "." in word else ""


def _examples(skill: Skill, subject: DraftSubject, ending: str) -> Iterator[bytes]:
    """Texts of this ending that the skill bundles, and then blocks that it shows, each once; at most three."""
    bundled = [subject.texts[path] for path in sorted(subject.texts) if path != skill.path and _ending(path) == ending]
    shown = [block.text for block in skill.body.blocks if block.info.lower() == ending]
    fit = [text for text in dict.fromkeys([*bundled, *shown]) if 40 <= len(text) <= 20_000]
    yield from (f"{text.rstrip()}\n".encode() for text in fit[:3])


def _task(subject: DraftSubject, skill: Skill, call: _Call, run: RunScript) -> TemplateDraft | None:
    purpose = _purpose(subject.texts.get(skill.path_of(call.script), ""))
    if not purpose:
        return None
    words = [*call.before, call.input.path, *call.after]
    script = f"skill/{call.script}"
    command = (
        f'here="$(cd "$(dirname "$0")" && pwd)"\nexec python3 -B "$here"/{shlex.quote(script)} {shlex.join(words)}'
    )
    for beside in _bundles(skill, subject):
        first = run(command, [call.input], beside)
        if first.exit_code == 0:
            break
    else:
        return None
    again = run(command, [call.input], beside)
    other = run(command, [File(call.input.path, call.input.data[: len(call.input.data) // 3])], beside)
    if first != again or first.printed == other.printed:
        return None
    rubrics = _rubrics(first.printed)
    if rubrics is None:
        return None
    options = shlex.join([*call.before, *call.after])
    called = f", called with `{options}`" if options else ""
    instruction = f"""\
# What does our tool say of it?

Here is `{call.input.path}`, and what we use for such files is: {purpose} Please write into `{_RESULT}` what it prints for
this file{called}, line by line. `{call.input.path}` stays as it is.
"""
    proposal = ProposalContent(
        title=f"What {call.script.rpartition('/')[2]} prints",
        situation="Somebody has a file, and wants to know what the tool of the house says of it.",
        inputs=(f"{call.input.path}: an example that the skill itself has",),
        outcome=f"{_RESULT} with the lines that the script prints for it in the sandbox",
        hidden="the script, and the form in which it reports",
        needs=("input-file", "runtime"),
        skills=subject.names,
    )
    solve = f'here="$(cd "$(dirname "$0")" && pwd)"\npython3 -B "$here"/{shlex.quote(script)} {shlex.join(words)} > {_RESULT}\n'
    files = (File("solve.sh", solve.encode()), *beside)
    return TemplateDraft(proposal, DraftedTask(instruction, (call.input,), rubrics, files, "scripts"))


def _purpose(text: str) -> str:
    """The first sentence of a script's docstring, on one line; "" where there is none."""
    try:
        said = ast.get_docstring(ast.parse(text)) or ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    first = " ".join(said.strip().split("\n\n")[0].split())
    # The script's own name says nothing to whoever does not have it.
    first = re.sub(r"^\S+\.py\s*[:\u2013\u2014-]+\s*", "", first)
    sentence = re.split(r"(?<=[.!?])\s", first)[0]
    return f"{sentence.rstrip('.')}." if 10 <= len(sentence) <= 200 and sentence.isprintable() else ""


def _bundles(skill: Skill, subject: DraftSubject) -> Iterator[tuple[File, ...]]:
    """What a script may need, the least first: the skill's scripts, and all texts of its folder but SKILL.md."""
    files = tuple(
        File(f"skill/{file}", subject.texts[skill.path_of(file)].encode("utf-8", "surrogatepass"))
        for file in skill.files
        if skill.path_of(file) in subject.texts
    )
    for chosen in (tuple(file for file in files if file.path.endswith(".py")), files):
        sizes = [len(file.data) for file in chosen]
        small = len(chosen) < MOST_FILES and sum(sizes) < MOST_TOTAL and max(sizes, default=0) <= MOST_FILE
        if chosen and small and not any(bad_path(file.path) for file in chosen):
            yield chosen


def _rubrics(printed: str) -> tuple[Criterion, ...] | None:
    lines = [line.rstrip() for line in printed.split("\n") if line.strip()]
    once = [line for line in dict.fromkeys(lines) if lines.count(line) == 1 and line.isprintable() and len(line) <= 300]
    words = list(dict.fromkeys(word for line in lines for word in _WORD.findall(line) if word.isprintable()))
    if len(once) < _FEWEST_LINES or len(words) < _FEWEST_WORDS:
        return None
    once, words = once[: MOST_ITEMS // 2], words[:MOST_ITEMS]
    goal = [CheckedItem(f"{_RESULT} says {word!r}", "file_contains", {"path": _RESULT, "text": word}) for word in words]
    rules = [
        CheckedItem(
            f"{_RESULT} has the line {line!r}",
            "file_matches",
            {"path": _RESULT, "pattern": rf"(?m)^{re.escape(line)}[ \t\r]*$"},
        )
        for line in once
    ]
    rules += [
        CheckedItem(
            f"the line {one!r} stands before {other!r}",
            "file_matches",
            {"path": _RESULT, "pattern": rf"(?ms)^{re.escape(one)}[ \t\r]*$.*^{re.escape(other)}[ \t\r]*$"},
        )
        for one, other in pairwise(once)
    ]
    return make_rubrics(goal, rules)
