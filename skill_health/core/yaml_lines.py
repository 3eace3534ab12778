"""What can be saved, line by line, of frontmatter that strict YAML rejects."""

from __future__ import annotations

from skill_health.core.skill import Defect, Field, Span

_NOT_PLAIN = "\"'[{|>&*!%@`#"


def _runs(block: list[str]) -> list[tuple[int, int]]:
    """Top-level entries as (first line, last line): a key at the margin and the indented lines below it."""
    runs: list[tuple[int, int]] = []
    for i, line in enumerate(block):
        if line[:1] not in ("", " ", "\t", "#", "-") and ":" in line:
            runs.append((i, i))
        elif runs and (line[:1] in (" ", "\t") and line.strip()):
            runs[-1] = (runs[-1][0], i)
    return runs


def quote_traps(block: list[str]) -> tuple[list[str], dict[int, int]]:
    """Quote each top-level plain value that holds `: ` (or ends in a colon); the line count stays the same."""
    saved, traps = list(block), {}
    for first, last in _runs(block):
        key, _, rest = block[first].partition(":")
        value = " ".join([rest.strip(), *(line.strip() for line in block[first + 1 : last + 1])]).strip()
        if not rest.strip() or rest.strip()[0] in _NOT_PLAIN or not (": " in value or value.endswith(":")):
            continue
        saved[first : last + 1] = [f"{key}: '{value.replace(chr(39), chr(39) * 2)}'"] + [""] * (last - first)
        traps[first] = last
    return saved, traps


def trap_field(block: list[str], first: int, last: int, offset: int) -> Field:
    """The field of an entry as it is spelled; `offset` is the line of the block's first."""
    key, _, rest = block[first].partition(":")
    value = " ".join([rest.strip(), *(line.strip() for line in block[first + 1 : last + 1])]).strip()
    line, col = first + offset, len(block[first]) - len(rest.lstrip()) + 1
    span = Span(line, col, last + offset, len(block[last].rstrip()) + 1)
    return Field(key.strip(), value, Span(line, 1, line, len(key) + 1), span)


def trap_defect(entry: Field) -> Defect:
    """What is wrong with such a field."""
    at = entry.value.find(": ")
    col = entry.span.col + at if at >= 0 and entry.span.line == entry.span.end_line else entry.span.col
    message = f"the value of '{entry.key}' holds an unquoted colon, so the frontmatter is not valid YAML"
    remedy = f"put the value of '{entry.key}' in quotes"
    return Defect("colon-trap", Span(entry.span.line, col, entry.span.line, col + 1), message, remedy)


def line_fields(block: list[str], offset: int) -> list[Field]:
    """Every top-level entry as it is spelled, whatever else stands in the block."""
    fields = []
    for first, last in _runs(block):
        key = block[first].partition(":")[0]
        if key.strip() and len(key) <= 64:
            trapped = trap_field(block, first, last, offset)
            fields.append(Field(trapped.key, trapped.value.strip("\"'"), trapped.key_span, trapped.span))
    return fields
