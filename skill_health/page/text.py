"""Text that others wrote, so that it shows as what it is: nothing in it hides, reorders or is lost."""

from __future__ import annotations

import re

# What console.clean makes visible, and what only a browser would hide or refuse: soft hyphens, fillers, variation
# selectors that carry hidden bytes, and noncharacters. New lines and tabs are white space in HTML and stay.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


def escape_text(text: object, limit: int | None = None) -> str:
    r"""The text with control, bidi and invisible characters and halves of surrogate pairs as escapes (`\u{202e}`).

    It is text still, to be escaped for HTML. What is longer than `limit` characters is cut, and says by how much.
    """
    whole = str(text)
    if whole.isascii() and whole.isprintable():
        told = whole if limit is None else whole[:limit]
    else:
        whole = whole.replace("\r\n", "\n")
        told = _UNSAFE.sub(_escape, whole if limit is None else whole[:limit])
    if limit is None or len(whole) <= limit:
        return told
    return f"{told}… (and {len(whole) - limit:,} more characters)"


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{{{code:04x}}}"
