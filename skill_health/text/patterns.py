"""Regular expressions that are compiled on first use.

A hook checks one skill and needs few of the two hundred patterns; compiling all of them would take longer than
everything else.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def lazy(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like `re.compile`, but the pattern is compiled, and a mistake in it found, only on first use."""
    return cast("re.Pattern[AnyStr]", Lazy(text, flags))


class Lazy:
    """A proxy of a compiled pattern."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self.pattern, self.flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self.flags)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
