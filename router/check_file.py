"""check.json of a run: the verdicts of the instrument check, written whole or not at all, and read back."""

from __future__ import annotations

import os
from collections.abc import Sequence

from skill_health.bench import durable
from skill_health.bench.redact import redacted
from skill_health.router.instrument import ModelVerdict, from_json, to_record
from skill_health.router.runs import CHECK, read_check


def stored_verdicts(folder: str) -> tuple[ModelVerdict, ...]:
    """The verdicts on what was planted that an earlier process wrote down; () where there is no sound record."""
    try:
        return tuple(from_json(record) for record in (read_check(folder) or {}).get("planted", ()))
    except (KeyError, TypeError):
        return ()


def write_check(
    folder: str, planted: Sequence[ModelVerdict], finished: Sequence[ModelVerdict], keys: Sequence[str]
) -> str:
    """Write the record, without the keys; its path. Raises OSError. Only for a folder that is locked."""
    path = os.path.join(folder, CHECK)
    text = redacted(durable.to_json(to_record(planted, finished)), keys) + "\n"
    durable.replace(path, text.encode("utf-8", "backslashreplace"))
    return path
