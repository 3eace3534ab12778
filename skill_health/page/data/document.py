"""What only the page knows, as JSON (core/schemas/page.schema.json), for other programs."""

from __future__ import annotations

import json

from skill_health.page.model import Page


def render(page: Page) -> str:
    """The document as text: keys in a fixed order, ASCII only, no absolute path."""
    return json.dumps(page.own.value, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
