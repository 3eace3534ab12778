"""Large families of cases, of which every so manieth runs in the fast suite and the others in the slow one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

SLOW, EXHAUSTIVE = pytest.mark.slow, pytest.mark.exhaustive


def thinned(cases: Iterable[Any], one_in: int, first: Any = None, others: Any = SLOW) -> list[Any]:
    """The cases as parameters: the `first` of each `one_in` has that mark, by default none, and the others have theirs.

    A case is a value, a tuple of the values of several parameters, or what `pytest.param` made.
    """
    return [_marked(case, others if at % one_in else first) for at, case in enumerate(cases)]


def repeated(few: int, many: int) -> list[Any]:
    """How often something is repeated: `few` times for the gate, `many` times at night."""
    return [pytest.param(few, marks=SLOW), pytest.param(many, marks=EXHAUSTIVE)]


def _marked(case: Any, mark: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    whole = case if hasattr(case, "marks") else pytest.param(*values)
    return pytest.param(*whole.values, marks=(*whole.marks, *([mark] if mark else [])), id=whole.id)
