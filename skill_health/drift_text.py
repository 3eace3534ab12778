"""The short form of the drift report, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.core.console import clean, paint
from skill_health.drift_sections import DriftSection

_MOST = 8
_DETAILS = 6
_WIDEST = 300
_BAD = {"Fell", "Newly flagged", "New findings", "Claims that became stale"}
_LONG = {"Findings by rule"}


def render(
    head: Sequence[str], reasons: Sequence[str], collection: Sequence[str], parts: Sequence[DriftSection], color: bool
) -> str:
    """The run, the collection, the beginning of every section, and last the verdict, one line for each limit."""
    lines = [*map(_text, head), "", *(f"  {_text(line)}" for line in collection), ""]
    for section in parts:
        lines += _section(section, color)
    if reasons:
        lines += [f"{paint('drift:', 'red', color)} {_text(reason)}" for reason in reasons]
    else:
        lines.append(paint("no drift beyond the limits", "green", color))
    return "\n".join(lines) + "\n"


def _section(section: DriftSection, color: bool) -> Iterator[str]:
    title = f"{section.title} ({len(section.items)})"
    yield paint(_text(title), "yellow" if section.title in _BAD else "bold", color)
    for item in section.items[:_MOST]:
        yield f"  {_text(item.text)}"
        yield from (f"      {_text(detail)}" for detail in item.details[:_DETAILS])
        if len(item.details) > _DETAILS:
            yield f"      and {len(item.details) - _DETAILS} more"
    if len(section.items) > _MOST:
        yield f"  and {len(section.items) - _MOST} more"
    if section.note:
        yield f"  {_text(section.note)}"
    if section.command:
        yield f"  {section.command}"
    yield ""


def _text(text: str) -> str:
    return clean(text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…")
