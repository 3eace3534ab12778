"""Large families of cases, of which every so manieth runs in the fast suite and the others in the slow one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def thinned(cases: Iterable[Any], one_in: int) -> list[Any]:
    """The cases as parameters: the first of each `one_in` is fast, the others are slow.

    A case is a value, a tuple of the values of several parameters, or what `pytest.param` made.
    """
    return [_marked(case, at % one_in > 0) for at, case in enumerate(cases)]


def repeated(few: int, many: int) -> list[Any]:
    """How often something is repeated: `few` times for the gate, `many` times at night."""
    return [pytest.param(few, marks=pytest.mark.slow), pytest.param(many, marks=pytest.mark.exhaustive)]


def _marked(case: Any, slow: bool) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    whole = case if hasattr(case, "marks") else pytest.param(*values)
    return pytest.param(*whole.values, marks=(*whole.marks, *([pytest.mark.slow] * slow)), id=whole.id)
