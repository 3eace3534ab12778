"""What `--check-urls` learned, on disk: one JSON file, replaced as a whole."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from typing import Any

FORMAT = 1
DAY = 86_400
# An address that answered is asked again after a week, any other after a day.
FRESH_DAYS = {"ok": 7, "moved": 7, "gone": 1, "error": 1}


def load(path: str | None, now: float) -> dict[str, dict[str, Any]]:
    """The entries that are still fresh, by address; {} without a file or where it is damaged."""
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            blob = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(blob, dict) or blob.get("format") != FORMAT or not isinstance(blob.get("urls"), dict):
        return {}
    return {url: entry for url, entry in blob["urls"].items() if _is_fresh(entry, now)}


def save(path: str | None, entries: Mapping[str, Mapping[str, object]], now: float) -> None:
    """Add entries to the file. A cache that cannot be written is no reason to fail."""
    if path is None:
        return
    merged = load(path, now) | {url: {**entry, "at": now} for url, entry in entries.items()}
    blob = json.dumps({"format": FORMAT, "urls": dict(sorted(merged.items()))}, indent=1)
    folder = os.path.dirname(path) or "."
    try:
        os.makedirs(folder, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(blob + "\n")
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        return


def _is_fresh(entry: object, now: float) -> bool:
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in ("status", "final", "reason")):
        return False
    at, status = entry.get("at"), entry["status"]
    if not isinstance(at, (int, float)) or not isinstance(entry.get("code"), int):
        return False
    return 0 <= now - at < FRESH_DAYS.get(status, 0) * DAY
