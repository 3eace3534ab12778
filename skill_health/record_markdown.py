"""The joined record as Markdown, for a repository or a job summary; whatever comes from files is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.console import clean, markdown_text
from skill_health.record_cells import HEAD, MARKS, CollectionStatus, effect_line, routing_line, rows, summary
from skill_health.record_next import grouped

_WIDEST = 400


def render(status: CollectionStatus) -> str:
    """One table of the skills, the models behind it, and what comes next."""
    return "\n".join(_lines(status)).rstrip() + "\n"


def _lines(status: CollectionStatus) -> Iterator[str]:
    yield from ("# Skill health: status", "", _text(summary(status)), "")
    if status.records:
        yield f"| {' | '.join(HEAD)} |"
        yield "| --- | --- | --- | --- |"
        yield from (f"| {' | '.join(map(_text, row))} |" for row in rows(status))
        yield ""
    if status.routed and status.routed.models:
        yield from ("## Routing", "", *(f"- {_text(routing_line(run))}" for run in status.routed.models), "")
    if status.effects and (whole := status.effects.of(None)):
        yield from ("## Effect of the whole collection", "", *(f"- {_text(effect_line(each))}" for each in whole), "")
    yield from ("## Next", "")
    found = grouped(status.records, status.place)
    for step, names in found:
        yield f"- **{_text(step.gap)}** ({len(names)}): {_text(', '.join(names))}: {_text(step.advice)}{_code(step.command)}"
    if not found:
        yield "Nothing: every question is answered for every skill."
    yield ""
    yield from (f"- {_text(note)}" for note in status.notes)
    yield f"- {markdown_text(MARKS)}"


def _code(command: str) -> str:
    """A command that can be copied; one with a backtick in it cannot be shown as code."""
    return "" if not command else f" {_text(command)}" if "`" in command else f" `{clean(command)}`"


def _text(text: str) -> str:
    return markdown_text(text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…")
