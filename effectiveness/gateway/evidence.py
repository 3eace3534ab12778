"""Which skills an agent was offered, by what it sends to its model: the proof that needs no word of the agent."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

KEPT = 1 << 20
"""So many bytes of a request are kept."""
START = 60
"""Hosts cut descriptions, each at another length; none cuts them shorter than so many characters."""
SEARCHED = 4 << 20
"""So many characters of a request are looked through: more than any model reads at once."""

_TALK = ("messages", "input", "contents")
_SPEAKS = (*_TALK, "system", "instructions", "systemInstruction", "system_instruction")
_PLAIN = re.compile(rb"[A-Za-z0-9_-]+")
_ANSWERS = ("assistant", "model", "tool", "function")
_CALLS = ("_call", "_call_output", "reasoning")
# Descriptions stand in XML as often as not.
_ENTITIES = {
    "'": ("&#39;", "&#x27;", "&apos;"),
    '"': ("&quot;", "&#34;"),
    "<": ("&lt;",),
    ">": ("&gt;",),
    "&": ("&amp;",),
}


class NameWatcher:
    """Looks for watched names in bodies of requests. `found` is None before the first.

    Agents ask for a title of the session or check their quota before they begin, without any skill in it: so what
    counts is all that was offered in any request, and the request that is kept is the first that has tools, or the
    first at all as long as there is none. Of a conversation only what stands before the model's first answer is an
    offer: what comes later may be a file that names other skills, read by the agent.
    """

    def __init__(self, watch: Mapping[str, str]) -> None:
        self.found: tuple[str, ...] | None = None
        self.first = b""
        self._tools = False
        self._watch = dict(watch)
        self._missing = {name: (_word(name), _start(text)) for name, text in watch.items()}

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
            self._search("\n".join(_strings(_offering(data))))

    def _search(self, text: str) -> None:
        for name, (word, start) in list(self._missing.items()):
            if name in text and word.search(text) and start.search(text):
                del self._missing[name]
        self.found = tuple(name for name in self._watch if name not in self._missing)


def _word(name: str) -> re.Pattern[str]:
    """The name as a whole: not as a part of a longer one."""
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")


def _start(text: str) -> re.Pattern[str]:
    """The start of a description, whatever white space is between its words and whether it stands in XML or not.

    One that holds an entity itself is found as it is, and as the sign that the entity is for.
    """
    begun = " ".join(text.split())[:START]
    forms = dict.fromkeys((begun, " ".join(html.unescape(text).split())[:START]))
    return re.compile("|".join("".join(map(_sign, form)) for form in forms))


def _sign(sign: str) -> str:
    if sign == " ":
        return r"\s+"
    entities = _ENTITIES.get(sign)
    return f"(?:{'|'.join((*entities, re.escape(sign)))})" if entities else re.escape(sign)


def _present(name: str, body: bytes) -> bool:
    """Whether the name can stand in the body. One with characters that JSON may escape is always looked for."""
    raw = name.encode("utf-8", "replace")
    return raw in body if _PLAIN.fullmatch(raw) else True


def _offering(data: Mapping[str, Any]) -> dict[str, Any]:
    """A request without what follows the first answer of its model."""
    return {
        key: list(_before_answer(value)) if key in _TALK and isinstance(value, list) else value
        for key, value in data.items()
    }


def _before_answer(talk: list[Any]) -> Iterator[Any]:
    for item in talk:
        if isinstance(item, dict) and (item.get("role") in _ANSWERS or str(item.get("type", "")).endswith(_CALLS)):
            return
        yield item


def _strings(data: Any) -> Iterator[str]:
    """Every text of a JSON value, names of members too, in their order; no more than SEARCHED characters."""
    stack, left = [data], SEARCHED
    while stack and left > 0:
        value = stack.pop()
        if isinstance(value, str):
            yield value[:left]
            left -= len(value)
        elif isinstance(value, dict):
            for key, inner in reversed(value.items()):
                stack += (inner, key)
        elif isinstance(value, list):
            stack.extend(reversed(value))
