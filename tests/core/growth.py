"""Whether something takes time in proportion to its input, by counts that are the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any


def lines_run(call: Callable[[], object]) -> int:
    """How many lines of Python a call runs, an iteration of a loop on one line being one of them."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def is_linear(cost: Callable[[int], int], sizes: Sequence[int] = (16, 64, 256)) -> bool:
    """Whether each further piece costs the same, from one of the sizes on: what is bounded may need a larger one."""
    for size in sizes:
        first, second, third = (cost(size * times) for times in (1, 2, 3))
        if third - 2 * second + first <= 0.05 * first:
            return True
    return False
