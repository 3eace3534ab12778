"""Markdown tables of text that is not to be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from skill_health.core.console import markdown_text


def text(value: str, most: int = 600) -> str:
    """A text on one line so that Markdown shows it as it is, cut to so many characters of its own."""
    return markdown_text(value if len(value) <= most else value[: most - 1] + "…")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table and the blank line below it; cells are safe already. Nothing where there is no row."""
    found = list(rows)
    if not found:
        return
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in found:
        yield f"| {' | '.join(row)} |"
    yield ""


def rest(shown: int, of: int, what: str) -> Iterator[str]:
    """One line on how much of a list is not shown."""
    if of > shown:
        yield f"{of - shown:,} more {what} are in the JSON report."
        yield ""
