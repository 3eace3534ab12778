"""A cheap first look for figures; most skills need no more than this."""

from __future__ import annotations

from skill_health.text.patterns import lazy

# The last digit of a figure and the beginning of its unit: begins with a character set, so that a search is fast.
_HINT = lazy(
    r"[\d$€£](?:[kKMB]?\+?[\s-]?(?:%|percent|p[pt]\b|[xX×]|-?fold\b|times\b|tokens?\b|[mµn]?s\b|secs?\b|seconds?\b|mins?\b|"
    r"minutes?\b|hrs?\b|hours?\b|days?\b|weeks?\b|months?\b|years?\b)|\.\d|(?<=[$€£])\s?\d)"
)


def candidate_lines(text: str) -> list[int]:
    """The lines (from 1) of a text that may contain a figure, in order."""
    lines: list[int] = []
    line, at = 1, 0
    for match in _HINT.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        if not lines or lines[-1] != line:
            lines.append(line)
    return lines
