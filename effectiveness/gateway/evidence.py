"""Which skills an agent was offered, by what it sends to its model: the proof that needs no word of the agent."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

KEPT = 1 << 20
"""So many bytes of a request are kept."""
START = 60
"""Hosts cut descriptions, each at another length; none cuts them shorter than so many characters."""

_SPEAKS = ("messages", "input", "contents", "system", "instructions", "systemInstruction", "system_instruction")
_PLAIN = re.compile(rb"[A-Za-z0-9_-]+")


class Evidence:
    """Looks for watched names in bodies of requests. `found` is None before the first.

    Agents ask for a title of the session or check their quota before they begin, without any skill in it: so what
    counts is all that was offered in any request, and the request that is kept is the first that has tools, or the
    first at all as long as there is none.
    """

    def __init__(self, watch: Mapping[str, str]) -> None:
        self.found: tuple[str, ...] | None = None
        self.first = b""
        self._tools = False
        self._watch = dict(watch)
        self._missing = {name: (_word(name), _flat(text)[:START]) for name, text in watch.items()}

    def look(self, body: bytes, data: Mapping[str, Any]) -> None:
        """Take in one request: its bytes without any encoding of the content, and what they say."""
        tools = bool(data.get("tools"))
        if not tools and not any(data.get(key) for key in _SPEAKS):
            return
        if not self.first or (tools and not self._tools):
            self.first, self._tools = body[:KEPT], tools
        self.found = self.found or ()
        # Most requests of a trial hold no name that is still missing; to look for its bytes costs next to nothing.
        if any(_present(name, body) for name in self._missing):
            self._search("\n".join(_strings(data)))

    def _search(self, text: str) -> None:
        # Descriptions stand in XML as often as not; one that holds an entity itself is found as it is.
        forms = [_flat(text), *([_flat(html.unescape(text))] if "&" in text else [])]
        for name, (word, start) in list(self._missing.items()):
            if any(start in form and word.search(form) for form in forms):
                del self._missing[name]
        self.found = tuple(name for name in self._watch if name not in self._missing)


def _word(name: str) -> re.Pattern[str]:
    """The name as a whole: not as a part of a longer one."""
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")


def _flat(text: str) -> str:
    return " ".join(text.split())


def _present(name: str, body: bytes) -> bool:
    """Whether the name can stand in the body. One with characters that JSON may escape is always looked for."""
    raw = name.encode("utf-8", "replace")
    return raw in body if _PLAIN.fullmatch(raw) else True


def _strings(data: Any) -> list[str]:
    """Every text of a JSON value, names of members too, in their order."""
    found: list[str] = []
    stack = [data]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            for key, inner in reversed(value.items()):
                stack += (inner, key)
        elif isinstance(value, list):
            stack.extend(reversed(value))
    return found
