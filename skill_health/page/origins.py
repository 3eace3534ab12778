"""Where the figures of a page come from, written short: long names that return stand in one list at its end.

A figure's `data-from` is a Doc.origin. A part of it between two slashes that is long and frequent, such as the name
of a run or the path of a skill, is written as "~:N", its place in the JSON list with the id ORIGINS. No JSON pointer
holds "~:" (RFC 6901, section 3: "~" is followed by 0 or 1).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from html import unescape

ORIGINS = "skill-health-origins"
_FROM = re.compile(r' data-from="([^"]*)"')
_LONG, _MARK = 8, 5


def shortened(document: str) -> tuple[str, list[str]]:
    """The document with its origins written short, and the list of the parts that were taken out of them."""
    counts = Counter(part for origin in _FROM.findall(document) for part in origin.split("/") if len(part) >= _LONG)
    worth = [part for part, n in counts.items() if (len(part) - _MARK) * n > len(part)]
    worth.sort(key=lambda part: (-counts[part], part))
    marks = {part: f"~:{at}" for at, part in enumerate(worth)}

    def short(found: re.Match[str]) -> str:
        return f' data-from="{"/".join(marks.get(part, part) for part in found[1].split("/"))}"'

    return _FROM.sub(short, document), [unescape(part) for part in worth]


def whole(origin: str, parts: Sequence[str]) -> str:
    """An origin as it was before it was shortened."""
    return "/".join(parts[int(part[2:])] if part.startswith("~:") else part for part in origin.split("/"))
