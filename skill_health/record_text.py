"""The joined record for a terminal: one row for each skill, the models behind it, and what comes next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from skill_health.columns import NARROWEST, ascii_values, columns, cut, padded, squeezed, to_ascii, wrapped
from skill_health.core.console import paint
from skill_health.record_cells import HEAD, MARKS, CollectionStatus, effect_line, routing_line, rows, summary
from skill_health.record_next import grouped

_SKILL, _NAMES = 30, 6
_BAD = ("fix first", "harmful", "not found")


def render(status: CollectionStatus, width: int = 80, color: bool = False, ascii_only: bool = False) -> str:
    """At most `width` columns, and 40 at least: where a row does not fit, each skill has several lines."""
    width = max(width, NARROWEST)
    lines = [*wrapped(summary(status), width), "", *_table(status, width, color, ascii_only)]
    lines += ["", *_models(status, width), *_next(status, width, color)]
    for text in (*status.notes, MARKS):
        lines += wrapped(f"- {text}", width, "  ")
    page = "\n".join(lines).rstrip() + "\n"
    return to_ascii(page) if ascii_only else page


def _table(status: CollectionStatus, width: int, color: bool, ascii_only: bool) -> Iterator[str]:
    found = [tuple(ascii_values(list(row)) if ascii_only else row) for row in (HEAD, *rows(status))]
    cells = [[cut(cell, width) for cell in row] for row in found]
    widths = [max(columns(row[at]) for row in cells) for at in range(len(HEAD))]
    first = min(widths[0], _SKILL, width - sum(widths[1:]) - 6)
    if first < min(widths[0], 12):
        for name, *others in cells[1:]:
            yield paint(cut(name, width), "bold", color)
            for title, cell in zip(HEAD[1:], others, strict=True):
                yield f"  {cut(f'{title}: {cell}', width - 2)}"
        return
    for number, row in enumerate(cells):
        left = [padded(squeezed(row[0], first), first), *(padded(row[at], widths[at]) for at in range(1, len(HEAD)))]
        line = "  ".join(left).rstrip()
        yield paint(line, "bold", color) if number == 0 else line


def _models(status: CollectionStatus, width: int) -> Iterator[str]:
    parts: list[tuple[str, Iterable[str]]] = []
    if status.routed and status.routed.models:
        parts.append(("Routing by", map(routing_line, status.routed.models)))
    if status.effects and (whole := status.effects.of(None)):
        parts.append(("Effect of the whole collection by", map(effect_line, whole)))
    for title, found in parts:
        yield title
        for text in found:
            yield from wrapped(f"  {text}", width, "    ")
        yield ""


def _next(status: CollectionStatus, width: int, color: bool) -> Iterator[str]:
    found = grouped(status.records, status.place)
    if not found:
        yield from (*wrapped("Next: nothing; every question is answered for every skill.", width), "")
        return
    yield paint("Next", "bold", color)
    for step, names in found:
        shown = ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")
        title, *rest = wrapped(f"{step.gap} ({len(names)}): {shown}: {step.advice}", width - 2, "  ")
        yield f"  {paint(title, 'yellow', color and step.gap in _BAD)}"
        yield from (f"  {line}" for line in rest)
        if step.command:
            # Never wrapped and never cut: it is there to be copied.
            yield f"    {step.command}"
    yield ""
