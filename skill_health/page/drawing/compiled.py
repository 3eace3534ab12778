"""From Vega-Lite to SVG: the only place that calls the charting library, in as many processes as pay off."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Mapping, Sequence

from skill_health.lint.workers import processors
from skill_health.page.drawing import theme
from skill_health.page.drawing.shrink import shrunk

Compiled = tuple[str, str, str]
"""Width, height and inner elements of a picture."""
_PAIR = re.compile(r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")
_MANY, _CHUNK = 40, 8
"""From so many pictures on, starting the library in several processes costs less than it saves."""
_KEPT = 1024
_kept: dict[tuple[str, str], Compiled | str] = {}
_started = False


def compiled(name: str, spec: str) -> Compiled:
    """A picture from its specification, as JSON. Raises ValueError, naming the picture, where it cannot be drawn."""
    found = prepare({name: spec})[name]
    if isinstance(found, str):
        raise ValueError(f"the picture {name} cannot be drawn: {found}")
    return found


def prepare(specs: Mapping[str, str]) -> dict[str, Compiled | str]:
    """Many pictures by name, or why one cannot be drawn. What this process has seen before is not drawn again."""
    new = [(name, spec) for name, spec in specs.items() if (name, spec) not in _kept]
    for key, drawn in zip(new, _several(new) if _may_fork(len(new)) else map(_one, new), strict=True):
        _kept[key] = drawn
    found = {name: _kept[name, spec] for name, spec in specs.items()}
    while len(_kept) > max(_KEPT, len(specs)):
        del _kept[next(iter(_kept))]
    return found


def _may_fork(pictures: int) -> bool:
    """Whether other processes may draw: not where threads run or the library does, which a fork would cut in two."""
    alone = threading.active_count() == 1 and not _started and hasattr(os, "fork")
    return pictures >= _MANY and alone and processors() > 1


def _several(new: Sequence[tuple[str, str]]) -> list[Compiled | str]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    try:
        with ProcessPoolExecutor(min(processors(), 4), get_context("fork"), initializer=_begin) as pool:
            return list(pool.map(_one, new, chunksize=_CHUNK))
    except BrokenProcessPool:
        # For lack of memory, perhaps: one process needs the least.
        return list(map(_one, new))


def _begin() -> None:
    # An interrupt is the parent's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _one(item: tuple[str, str]) -> Compiled | str:
    global _started
    import vl_convert

    name, spec = item
    _started = True
    try:
        try:
            svg = vl_convert.vegalite_to_svg(spec, config=theme.config(), allowed_base_urls=[])
        except ValueError:
            # A label that is too long is cut in the middle of a surrogate pair, which the library then refuses.
            if not _PAIR.search(spec):
                raise
            svg = vl_convert.vegalite_to_svg(_PAIR.sub(_apart, spec), config=theme.config(), allowed_base_urls=[])
        return shrunk(svg, name, theme.FONT)
    except ValueError as error:
        return str(error) or "no reason given"


def _apart(pair: re.Match[str]) -> str:
    """A surrogate pair of JSON text as the number of its character, so that different texts stay different."""
    character = json.loads('"' + pair.group() + '"')
    return f"\\\\u{{{ord(character):x}}}"
