"""What a browser may do with the page: nothing but show it, with the one style sheet and the one script in it."""

from __future__ import annotations

import base64
import hashlib


def source(text: str) -> str:
    """The source expression that allows an inlined style sheet or script of exactly this text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def policy(style: str, script: str, live: bool = False) -> str:
    """The Content-Security-Policy of a page with this style sheet and this script.

    A `live` page may ask the server that it came from whether it was rebuilt; any other reaches nothing at all.
    """
    parts = (
        "default-src 'none'",
        f"style-src {source(style)}",
        f"script-src {source(script)}",
        "img-src data:",
        *(("connect-src 'self'",) if live else ()),
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(parts)
