"""The registry of prompts, one line for each prompt that was accepted: what `router run` reads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import here, is_there, replace_file
from skill_health.discovery.roots import stay_inside
from skill_health.documents._draft import DraftMaker
from skill_health.documents.prompt_draft import PromptDraft, PromptRole
from skill_health.registries.sources import MAX_BYTES, expand
from skill_health.router.audit import prompt_line
from skill_health.router.prompts._look import look_at
from skill_health.router.prompts.plan_prompts import fits
from skill_health.router.records import FROM_TEMPLATE, Prompt

USUAL = "registries/prompts.jsonl"
"""Where prompts go in a collection that has none, unless its configuration names another file."""
_TAGS: Mapping[PromptRole, tuple[str, ...]] = {"positive": (), "near_miss": ("near-miss",), "none": ("hard-negative",)}
_FROM: Mapping[DraftMaker, str] = {
    "model": "from-model", "template": FROM_TEMPLATE, "transcript": "from-transcript",
}  # fmt: skip


def find_registry(root: str, config: Config) -> str:
    """The file that accepted prompts are written to, absolute: the first that is there, else the one that is usual.

    Raises UsageError where the configuration names nothing but patterns and nothing is there.
    """
    patterns = config.sources.prompts
    boundary = Boundary(root)
    for pattern in patterns:
        for path in sorted(expand(root, pattern, boundary)):
            if not boundary.leads_out(path):
                return os.path.join(root, path)
    plain = [pattern for pattern in patterns if not any(mark in pattern for mark in "*?[")]
    if not plain:
        raise UsageError("no file of prompts is there, and `sources.prompts` names only patterns: name a file there")
    return stay_inside(os.path.join(root, USUAL if USUAL in plain else plain[0]), root)


def to_prompt(draft: PromptDraft) -> Prompt:
    """A draft as the registry holds it."""
    content = draft.content
    return Prompt(
        prompt_id=draft.id,
        text=content.text,
        expected=content.expected,
        acceptable=content.acceptable,
        rejected=content.rejected,
        family=draft.family,
        tags=(*_TAGS[content.role], _FROM[draft.origin.by]),
        split=draft.split,
        reason=content.reason,
    )


def put_prompt(path: str, prompt: Prompt) -> None:
    """Write a prompt into a registry, in the place of a line with its id, else as the last line.

    Raises UsageError where the file is no registry of prompts, AbortedError where it cannot be written.
    """
    _change(path, prompt.prompt_id, prompt_line(prompt).encode())


def drop_prompt(path: str, prompt_id: str) -> None:
    """Take the line with an id out of a registry, if there is one. Raises as `put_prompt`."""
    if is_there(path, links=False):
        _change(path, prompt_id, b"")


def _change(path: str, prompt_id: str, new: bytes) -> None:
    raw = _read(path)
    lines = raw.splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        lines[-1] += b"\n"
    at = next((number for number, line in enumerate(lines) if _id_of(line) == prompt_id), None)
    if at is None:
        lines.append(new)
    else:
        lines[at] = new
    whole = b"".join(lines)
    if whole == raw:
        return
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace_file(path, whole, durable=True)
    except OSError as error:
        raise AbortedError(f"cannot write {here(path)}: {error.strerror or error}") from error


def _read(path: str) -> bytes:
    """The bytes of a registry; none where there is no file."""
    if not is_there(path, links=False):
        return b""
    try:
        raw = Boundary(os.path.dirname(path)).read(path, MAX_BYTES)
    except OSError as error:
        raise UsageError(f"{here(path)} cannot be read: {error.strerror or error}") from None
    if raw is None:
        raise UsageError(f"{here(path)} is larger than {MAX_BYTES >> 20} MiB")
    if raw.strip() and not fits(look_at(raw)):
        raise UsageError(
            f"{here(path)} holds prompts in another form, and accepted drafts are JSON lines: name a new file in "
            "`sources.prompts`, or rewrite it by `skill-health router prompts --write-split`"
        )
    return raw


def _id_of(line: bytes) -> str | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    named = found.get("prompt_id") if isinstance(found, dict) else None
    return named if isinstance(named, str) else None
