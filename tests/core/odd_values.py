"""What foreign documents may have in place of each of their values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ODD: tuple[Any, ...] = (None, True, 3, 0.5, "x", [], [None], ["x"], {}, {"x": 1}, [{"x": []}])


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each value in a document, that to the whole last."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from ((key, *rest) for rest in places(child))
    yield ()


def replaced(document: Any, path: tuple[Any, ...], by: Any) -> Any:
    """Return a copy of a document with another value at a path."""
    if not path:
        return by
    copy = document.copy()
    copy[path[0]] = replaced(document[path[0]], path[1:], by)
    return copy


def oddities(document: Any) -> Iterator[Any]:
    """Yield the document with each odd value in place of each of its values."""
    yield from (replaced(document, path, odd) for path in places(document) for odd in ODD)
