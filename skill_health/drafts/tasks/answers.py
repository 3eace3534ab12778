"""Answers of models that draft, read strictly: they are data, and what is not in the form asked for is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.core.strict_json import JsonProblem, parse_object
from skill_health.documents._drafting import DraftFlaw
from skill_health.documents.proposal_draft import ProposalContent
from skill_health.drafts.tasks.model import MOST_FILES, DraftedTask, flaw, has_controls
from skill_health.drafts.tasks.subject import HERE, NOT_HERE
from skill_health.effectiveness.checks._api import make_check
from skill_health.effectiveness.rubric.model import Check, Criterion, CriterionGroup
from skill_health.effectiveness.tasks._folder import File

MOST_ANSWER = 1 << 20
MOST_TEXT, MOST_ITEMS = 2_000, 60
CHECKS = (
    "command",
    "file_contains",
    "file_exists",
    "file_matches",
    "json_value",
    "output_contains",
    "output_length",
    "output_matches",
)
"""The checks that a draft may use: those over what an oracle leaves, too."""
_THOUGHTS_END = "</think>"
_FENCE = re.compile(r"```[A-Za-z]*\n(.*)\n```\Z", re.DOTALL)
_PROPOSAL = ("title", "situation", "inputs", "outcome", "hidden", "needs")
_TASK = ("instruction", "files", "goal", "instruction_following", "solution", "category", "minutes")
_GROUPS: tuple[tuple[str, CriterionGroup, str], ...] = (
    ("goal", "goal", "goal"),
    ("instruction_following", "instruction", "rule"),
)


class BadAnswer(Exception):
    """An answer that is not in its form; the flaw says why."""

    def __init__(self, why: DraftFlaw) -> None:
        super().__init__(why.message)
        self.flaw = why


def parse_answer(text: str) -> dict[str, Any]:
    """The one JSON object that an answer is, thoughts before it and a fence around it apart. Raises BadAnswer."""
    if _THOUGHTS_END in text:
        text = text.rpartition(_THOUGHTS_END)[2]
    text = text.strip()
    if not text:
        raise BadAnswer(flaw("no-answer", "the answer is empty"))
    if len(text) > MOST_ANSWER:
        raise BadAnswer(flaw("too-large", f"the answer has {len(text):,} characters"))
    if found := _FENCE.match(text):
        text = found.group(1).strip()
    try:
        return parse_object(text)
    except JsonProblem as problem:
        raise BadAnswer(flaw("wrong-form", f"the answer is no JSON object: {problem.message}")) from None


def read_proposals(text: str, most: int, skills: tuple[str, ...]) -> tuple[ProposalContent, ...]:
    """The proposals of an answer, the first `most` of them. Raises BadAnswer."""
    data = parse_answer(text)
    given = data.get("proposals")
    if set(data) != {"proposals"} or not isinstance(given, list) or not given:
        raise BadAnswer(flaw("wrong-form", 'the answer is no {"proposals": [...]} with at least one'))
    return tuple(_proposal(each, skills) for each in given[:most])


def _proposal(given: Any, skills: tuple[str, ...]) -> ProposalContent:
    if not isinstance(given, dict) or not set(given) <= set(_PROPOSAL):
        raise BadAnswer(flaw("wrong-form", f"a proposal has other keys than {', '.join(_PROPOSAL)}"))
    texts = {key: _text(given.get(key), key) for key in ("title", "situation", "outcome", "hidden")}
    lists = {key: tuple(_text(each, key) for each in _list(given.get(key) or [], key)) for key in ("inputs", "needs")}
    if odd := [each for each in lists["needs"] if each not in HERE and each not in NOT_HERE]:
        raise BadAnswer(flaw("wrong-form", f"there is no category of environment {odd[0][:40]!r}"))
    return ProposalContent(**texts, **lists, skills=skills)  # type: ignore[arg-type]


def _text(value: Any, key: str, most: int = MOST_TEXT) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadAnswer(flaw("wrong-form", f"{key} is no text"))
    if len(value) > most:
        raise BadAnswer(flaw("too-large", f"{key} has {len(value):,} characters, not {most:,} at most"))
    if has_controls(value):
        raise BadAnswer(flaw("control-characters", f"{key} holds control characters"))
    return value.strip()


def _list(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list) or len(value) > MOST_ITEMS:
        raise BadAnswer(flaw("wrong-form", f"{key} is no list of at most {MOST_ITEMS}"))
    return value


def read_task(text: str) -> DraftedTask:
    """The task of an answer. What is wrong with a task of the right form is found elsewhere. Raises BadAnswer."""
    data = parse_answer(text)
    if odd := sorted(set(data) - set(_TASK)):
        raise BadAnswer(flaw("wrong-form", f"a task has no key {odd[0][:40]!r}"))
    instruction = data.get("instruction")
    if not isinstance(instruction, str):
        raise BadAnswer(flaw("wrong-form", "instruction is no text"))
    criteria = [each for key, group, prefix in _GROUPS for each in _criteria(data.get(key), key, group, prefix)]
    minutes = data.get("minutes", 10)
    if isinstance(minutes, bool) or not isinstance(minutes, int) or not 1 <= minutes <= 60:
        raise BadAnswer(flaw("wrong-form", "minutes is no whole number from 1 to 60"))
    category = data.get("category") or ""
    return DraftedTask(
        instruction.rstrip() + "\n",
        tuple(_files(data.get("files") or [], "files")),
        tuple(criteria),
        tuple(_files(data.get("solution"), "solution")),
        _text(category, "category", 60) if category else "",
        minutes,
    )


def _files(given: Any, key: str) -> Iterator[File]:
    if not isinstance(given, list) or len(given) > 10 * MOST_FILES:
        raise BadAnswer(flaw("wrong-form", f"{key} is no list of files"))
    for each in given:
        if not isinstance(each, dict) or set(each) != {"path", "text"}:
            raise BadAnswer(flaw("wrong-form", f"{key} holds what is no file with path and text"))
        path, text = each["path"], each["text"]
        if not isinstance(path, str) or not isinstance(text, str):
            raise BadAnswer(flaw("wrong-form", f"{key} holds a file whose path or text is no text"))
        yield File(path, text.encode("utf-8", "surrogatepass"))


def _criteria(given: Any, key: str, group: CriterionGroup, prefix: str) -> Iterator[Criterion]:
    for nth, each in enumerate(_list(given, key), 1):
        if not isinstance(each, dict) or not {"text", "points"} <= set(each) <= {"text", "points", "check"}:
            raise BadAnswer(flaw("wrong-form", f"item {nth} of {key} has other keys than text, points and check"))
        points = each["points"]
        if isinstance(points, bool) or not isinstance(points, int | float):
            raise BadAnswer(flaw("wrong-form", f"the points of item {nth} of {key} are no number"))
        check = _check(each.get("check"), f"item {nth} of {key}")
        yield Criterion(f"{prefix}-{nth}", _text(each["text"], f"item {nth} of {key}"), float(points), group, check)


def _check(given: Any, where: str) -> Check | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or not isinstance(given.get("kind"), str):
        raise BadAnswer(flaw("check", f"{where}: the check has no kind"))
    kind = given["kind"]
    if kind not in CHECKS:
        raise BadAnswer(
            flaw("check", f"{where}: there is no check {kind[:40]!r} for drafts; there are {', '.join(CHECKS)}")
        )
    try:
        # A value is the JSON that stands there, where files of tasks hold the text of some.
        more = {key: json.dumps(given[key]) for key in ("value", "schema") if given.get(key) is not None}
        return make_check(kind, **{str(key): each for key, each in given.items() if key != "kind"} | more)
    except (ValueError, TypeError) as error:
        raise BadAnswer(flaw("check", f"{where}: {error}")) from None
