"""What a YAML error means in plain words, and its remedy."""

from __future__ import annotations

from typing import Any

from skill_health.core.skill import Defect, Span

# (part of PyYAML's or libyaml's text, what it means, remedy); the first that matches speaks.
_MEANINGS = (
    (
        "mapping values are not allowed",
        "a colon followed by a space inside an unquoted value",
        "put the value in quotes",
    ),
    ("cannot start any token", "a value starts with a character that YAML reserves", "put the value in quotes"),
    (
        "unexpected end of stream",
        "a quote that is opened and never closed",
        "close the quote, or double the ones inside",
    ),
    (
        "unexpected document indicator",
        "a quote that is opened and never closed",
        "close the quote, or double the ones inside",
    ),
    (
        "could not find expected ':'",
        "a line that is neither `key: value` nor an indented continuation",
        "indent the line below its key, or put the value in quotes",
    ),
    (
        "did not find expected key",
        "text after a closing quote, or a line with the wrong indentation",
        "quote the whole value and align the keys",
    ),
    (
        "expected <block end>",
        "text after a closing quote, or a line with the wrong indentation",
        "quote the whole value and align the keys",
    ),
    ("did not find expected '-'", "a list whose items are not aligned", "align the items of the list"),
    (
        "expected ',' or",
        "a list or mapping in brackets that is never closed, or text after it",
        "close the bracket, or put the value in quotes",
    ),
    ("undefined alias", "a value that starts with * is an alias in YAML", "put the value in quotes"),
    (
        "alphabetic or numeric character",
        "a value that starts with & or * is an anchor or alias in YAML",
        "put the value in quotes",
    ),
    ("unknown escape", "a backslash inside double quotes", "double the backslash, or use single quotes"),
    ("control characters", "a control character", "delete the character"),
    ("special characters", "a control character", "delete the character"),
    ("expected a single document", "a second YAML document starts inside the frontmatter", "remove the extra `---`"),
    ("indentation", "wrong indentation of a block value", "indent the lines below the key by two spaces"),
)
# Where something is opened and never closed, the place to mend is where it opens.
_OPENED_EARLIER = ("unexpected end of stream", "unexpected document indicator", "expected ',' or")


def explain(error: Any, block: list[str], offset: int) -> Defect:
    """Turn PyYAML's exception into a defect. `block` are the lines read, `offset` the file line of the first."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if any(part in str(error) for part in _OPENED_EARLIER):
        mark = getattr(error, "context_mark", None) or mark
    index = min(mark.line, len(block) - 1) if mark else 0
    col = mark.column + 1 if mark and mark.line < len(block) else 1
    text = f"{getattr(error, 'problem', '') or ''} {getattr(error, 'context', '') or ''} {error}"
    line = block[index] if block else ""
    if line[: len(line) - len(line.lstrip())].count("\t") or "'\\t'" in text:
        span = Span(index + offset, 1, index + offset, 2)
        return Defect("tab-indent", span, "YAML does not allow tabs for indentation", "indent with spaces")
    meaning, remedy = next(((m, r) for part, m, r in _MEANINGS if part in text), ("not valid YAML", "mend the line"))
    span = Span(index + offset, col, index + offset, col + 1)
    return Defect("yaml-error", span, f"the frontmatter is not valid YAML: {meaning}", remedy)
