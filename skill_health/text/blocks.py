"""A document of headings, sentences, lists and tables, as text for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from skill_health.text.terminal import clean, lay_out_table, markdown_text

_WIDEST = 300


@dataclass(frozen=True, slots=True)
class TitleBlock:
    """A title; `level` counts from 1."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Sentence:
    """A paragraph; `strong` if nobody should miss it."""

    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list. Text shows at most `most` entries and counts the rest; Markdown shows all."""

    texts: Sequence[str]
    most: int = 12


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has as many cells as the head. The first column is left-aligned, the others right-aligned.

    Text shows at most `most` rows and counts the rest; Markdown shows all.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    most: int = 40


Block = TitleBlock | Sentence | Items | Table


def as_text(blocks: Iterable[Block]) -> str:
    """The document for a terminal, safe to print."""
    return "\n".join(line for block in blocks for line in _text(block)).strip("\n") + "\n"


def as_markdown(blocks: Iterable[Block]) -> str:
    """The document as Markdown, with no markup in it but ours."""
    return "\n\n".join("\n".join(lines) for block in blocks if (lines := list(_markdown(block)))) + "\n"


def _text(block: Block) -> Iterator[str]:
    match block:
        case TitleBlock(text, level):
            yield from ("", _safe(text)) if level > 1 else (_safe(text),)
        case Sentence(text):
            yield _safe(text)
        case Items(texts, most):
            yield from (f"  {_safe(text)}" for text in texts[:most])
            if len(texts) > most:
                yield f"  and {len(texts) - most} more"
        case Table(head, rows, most):
            short = [[_short(cell) for cell in row] for row in (head, *rows[:most])]
            yield from (f"  {line}" for line in lay_out_table(short[0], short[1:]))
            if len(rows) > most:
                yield f"  and {len(rows) - most} more"


def _markdown(block: Block) -> Iterator[str]:
    match block:
        case TitleBlock(text, level):
            yield f"{'#' * level} {_escaped(text)}"
        case Sentence(text, strong):
            yield f"**{_escaped(text)}**" if strong else _escaped(text)
        case Items(texts):
            yield from (f"- {_escaped(text)}" for text in texts)
        case Table(head, rows):
            cells = [[_escaped(cell) for cell in row] for row in rows]
            yield from [*markdown_table([_escaped(cell) for cell in head], cells, numbers=True)][:-1]


def _safe(text: str) -> str:
    return clean(_short(text))


def _escaped(text: str) -> str:
    return markdown_text(_short(text)).replace(" -&gt; ", " → ")


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def text(value: str, most: int = 600) -> str:
    """A text on one line, escaped so that Markdown shows it verbatim, cut to this many characters of its own."""
    return markdown_text(value if len(value) <= most else value[: most - 1] + "…")


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: bool = False) -> Iterator[str]:
    """A table and the blank line below it; its cells must already be safe. Nothing if there are no rows.

    `numbers` aligns all columns but the first on the right.
    """
    found = list(rows)
    if not found:
        return
    yield f"| {' | '.join(head)} |"
    yield "|---|" + ("---:|" if numbers else "---|") * (len(head) - 1)
    for row in found:
        yield f"| {' | '.join(row)} |"
    yield ""


def rest(shown: int, of: int, what: str) -> Iterator[str]:
    """One line that says how much of a list is not shown."""
    if of > shown:
        yield f"{of - shown:,} more {what} are in the JSON report."
        yield ""
