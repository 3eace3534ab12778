"""One finding for what a file has many times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from skill_health.rules._api import Hit, Severity
from skill_health.text.patterns import lazy

_MOST, _LINES = 3, 8
_QUOTED = lazy(r'"[^"…]*["…]')


def fold(hits: Iterable[Hit]) -> Iterator[Hit]:
    """The hits; of more than three in one file that say the same the first alone, which counts the others."""
    groups: dict[tuple[str | None, str, Severity | None], list[Hit]] = {}
    for hit in hits:
        groups.setdefault((hit.path, _QUOTED.sub("", hit.message), hit.severity), []).append(hit)
    for same in groups.values():
        if len(same) <= _MOST:
            yield from same
            continue
        lines = sorted({hit.span.line for hit in same[1:]})
        more = ", ..." if len(lines) > _LINES else ""
        where = ", ".join(map(str, lines[:_LINES])) + more
        first = same[0]
        yield first._replace(message=f"{first.message}; so are {len(same) - 1} more (line {where})")
