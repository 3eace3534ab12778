"""The YAML block at the head of a SKILL.md: where it is, what it says, what is wrong with it."""

from __future__ import annotations

from skill_health.core import yaml_errors, yaml_fields
from skill_health.core.skill import Defect, Field, Frontmatter, Span

MAX_CHARACTERS = 1 << 18
_NOT_PLAIN = "\"'[{|>&*!%@`#"


def split(lines: list[str]) -> tuple[int, int, list[Defect]]:
    """Find the block: (index of its opening fence, index of its closing fence, defects); (-1, -1, ...) without one.

    Without a closing fence the block is taken to end at the first line that cannot belong to it.
    """
    start = next((i for i, line in enumerate(lines[:50]) if line.strip()), -1)
    if start < 0:
        return -1, -1, []
    if lines[start].rstrip() != "---":
        later = next((i for i, line in enumerate(lines[:30]) if line.rstrip() == "---"), -1)
        if later > 0 and any(_is_key(line, "name", "description") for line in lines[later + 1 : later + 12]):
            message = f"text stands before the frontmatter, which starts at line {later + 1}"
            return *_close(lines, later)[:2], [Defect("leading-text", Span(start + 1, 1), message)]
        return -1, -1, [Defect("no-frontmatter", Span(1, 1), "the file does not start with a frontmatter block")]
    opening, closing, defects = _close(lines, start)
    if start > 0:
        defects.append(Defect("leading-text", Span(1, 1), "blank lines stand before the frontmatter"))
    return opening, closing, defects


def _close(lines: list[str], start: int) -> tuple[int, int, list[Defect]]:
    for i in range(start + 1, len(lines)):
        if lines[i].startswith("---") and lines[i].rstrip() == "---":
            return start, i, []
    end = start + 1
    while end < len(lines) and lines[end].strip() and not lines[end].startswith("#"):
        end += 1
    message = "the frontmatter opened here is never closed by a line of its own with ---"
    return start, end, [Defect("unclosed-frontmatter", Span(start + 1, 1, start + 1, 4), message)]


def _is_key(line: str, *keys: str) -> bool:
    return any(line.startswith(f"{key}:") for key in keys)


def read(lines: list[str], start: int, end: int) -> tuple[Frontmatter, list[Defect]]:
    """Read the lines between two fences (indexes into `lines`); what strict YAML rejects is read line by line."""
    block = lines[start + 1 : end]
    span = Span(start + 2, 1, end, len(lines[end - 1]) + 1 if end > start else 1)
    if not any(line.strip() and not line.lstrip().startswith("#") for line in block):
        return Frontmatter(span, ()), [Defect("empty-frontmatter", Span(start + 1, 1), "the frontmatter is empty")]
    text = "\n".join(block) + "\n"
    if len(text) > MAX_CHARACTERS:
        message = f"{len(text):,} characters of frontmatter: not read"
        return Frontmatter(span, (), valid=False), [Defect("too-deep", Span(start + 1, 1), message)]
    fields, defects, error = yaml_fields.load(text, start + 1)
    if error is None:
        return Frontmatter(span, fields), defects
    saved, traps = _quote_traps(block)
    if traps:
        fields, defects, again = yaml_fields.load("\n".join(saved) + "\n", start + 1)
        if again is None:
            fixed = {trap: _trap_field(block, trap, last, start + 2) for trap, last in traps.items()}
            fields = tuple(fixed.get(f.key_span.line - start - 2, f) for f in fields)
            return Frontmatter(span, fields, valid=False), defects + [_trap_defect(f) for f in fixed.values()]
    fields = tuple(_line_fields(block, start + 2))
    return Frontmatter(span, fields, valid=False), [*defects, yaml_errors.explain(error, block, start + 2)]


def _runs(block: list[str]) -> list[tuple[int, int]]:
    """Top-level entries as (first line, last line): a key at the margin and the indented lines below it."""
    runs: list[tuple[int, int]] = []
    for i, line in enumerate(block):
        if line[:1] not in ("", " ", "\t", "#", "-") and ":" in line:
            runs.append((i, i))
        elif runs and (line[:1] in (" ", "\t") and line.strip()):
            runs[-1] = (runs[-1][0], i)
    return runs


def _quote_traps(block: list[str]) -> tuple[list[str], dict[int, int]]:
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


def _trap_field(block: list[str], first: int, last: int, offset: int) -> Field:
    key, _, rest = block[first].partition(":")
    value = " ".join([rest.strip(), *(line.strip() for line in block[first + 1 : last + 1])]).strip()
    line, col = first + offset, len(block[first]) - len(rest.lstrip()) + 1
    span = Span(line, col, last + offset, len(block[last].rstrip()) + 1)
    return Field(key.strip(), value, Span(line, 1, line, len(key) + 1), span)


def _trap_defect(entry: Field) -> Defect:
    at = entry.value.find(": ")
    col = entry.span.col + at if at >= 0 and entry.span.line == entry.span.end_line else entry.span.col
    message = f"the value of '{entry.key}' holds an unquoted colon, so the frontmatter is not valid YAML"
    remedy = f"put the value of '{entry.key}' in quotes"
    return Defect("colon-trap", Span(entry.span.line, col, entry.span.line, col + 1), message, remedy)


def _line_fields(block: list[str], offset: int) -> list[Field]:
    fields = []
    for first, last in _runs(block):
        key = block[first].partition(":")[0]
        if key.strip() and len(key) <= 64:
            trapped = _trap_field(block, first, last, offset)
            fields.append(Field(trapped.key, trapped.value.strip("\"'"), trapped.key_span, trapped.span))
    return fields
