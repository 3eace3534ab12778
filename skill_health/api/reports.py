"""Files that our commands write -> values of their types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from typing import overload

from skill_health import documents
from skill_health.api.linting import PathText, named_paths
from skill_health.core.errors import UsageError
from skill_health.core.files import read_whole
from skill_health.core.plugins import plugin_names
from skill_health.documents._record import OpenRecord, Record, RecordType, decode_record

Document = Record | OpenRecord
_MOST = 1 << 30


@overload
def read_report(path: PathText) -> Document: ...
@overload
def read_report(path: PathText, kind: type[RecordType]) -> RecordType: ...
def read_report(path: PathText, kind: type[RecordType] | None = None) -> Document | RecordType:
    """Read a JSON document of ours: a report of `lint`, of the router, of effectiveness, records of `status` ...

    Its type is that of its "schema"; `kind` says which one is meant, for whoever cannot use another. The types are
    those of `skill_health.documents`, described in docs/schemas.md, and hold nothing that the file does not say.

    Raises UsageError, with the place in the file, for a file that cannot be read, is no document of ours, is one of a
    later version, or is another one than meant.
    """
    (name,) = named_paths((path,))
    try:
        raw = read_whole(name, _MOST)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from None
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not JSON: {error}") from None
    schema = values.get("schema") if isinstance(values, dict) else None
    found = next((each for each in _kinds() if isinstance(schema, str) and getattr(each, "ID", None) == schema), None)
    if found is None:
        raise UsageError(f"{name} is no document of ours: its schema is {str(schema)[:80]!r}")
    if kind is not None and found is not kind:
        raise UsageError(f"{name} is a {found.__name__}, not a {kind.__name__}")
    try:
        return decode_record(raw, found)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def _kinds() -> Iterator[type[Document]]:
    for name in plugin_names(documents.__path__):
        module = import_module(f"{documents.__name__}.{name}")
        for each in vars(module).values():
            if isinstance(each, type) and issubclass(each, Record | OpenRecord) and each.__module__ == module.__name__:
                yield each
