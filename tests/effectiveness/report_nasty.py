"""Text as an attacker would put it into names, ids and errors, and what must never come out again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

NASTY = (
    "=cmd()|'/c calc'!A0 \x1b[31mred\x1b[0m \u202eevil\u2066 <script>alert(1)</script> & | ** `x` ```\n~~~\n[l](https://x.y) "
    "![i](//x) \r\n# head\n| a | b |\n\x00 @user www.x.org \u200b {{x}} \ufffe\uffff ]]> \" ' \u2028 ｗｉｄｅ e\u0301"
)
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")
_WORDS = "kind correction flip over word flags schema verdict before after bias differs".split()
"""Keys whose values are chosen by us from a few words."""


def everywhere(value: Any, change: Callable[[str], str], key: str = "") -> Any:
    """JSON values in which every text that is not ours to choose is changed, names of arms and outcomes too."""
    if isinstance(value, str):
        return value if key in _WORDS else change(value)
    if isinstance(value, dict):
        named = key in ("arms", "outcomes")
        return {change(own) if named else own: everywhere(each, change, own) for own, each in value.items()}
    if isinstance(value, list):
        return [everywhere(each, change, key if key == "flags" else "") for each in value]
    return value
