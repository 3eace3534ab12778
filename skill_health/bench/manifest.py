"""Compares manifests: digests of their parts, the identity of a run, and how two manifests differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from skill_health.core.files import blake2b
from skill_health.text.near import list_some

VOLATILE = ("commit", "created", "dirty", "gaps", "price_table", "python", "run_id")


_NAMES = ("name", "prompt_id", "task_id", "spec", "id")


# Hashes stand in for these, whatever the kind of run.
_COVERED = ("catalogue", "omitted", "prompts", "skills", "staged", "tasks")


_OF_THE_DAY = ("list_price", "max_usd", "price")


def digest(value: Any) -> str:
    """A hash of JSON-safe data, as 32 hexadecimal digits."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def identity(manifest: Mapping[str, Any]) -> str:
    """A hash that two runs share if one can continue where the other stopped, as 32 hexadecimal digits."""
    return digest(_fixed(manifest))


def _fixed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest without volatile parts, and with hashes in place of what they cover."""
    kept = {name: value for name, value in manifest.items() if name not in (*VOLATILE, *_COVERED)}
    return kept | {"models": [_timeless(model) for model in manifest.get("models", ())]}


def _timeless(model: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in model.items() if name not in _OF_THE_DAY} | {"price": None}


def differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """How the run described by `now` differs from the frozen one; [] if it is the same."""
    before, after = _fixed(stored), _fixed(now)
    found = [
        f"{name}: {_changes(before.get(name), after.get(name))}"
        for name in sorted({*before, *after})
        if name != "hashes" and before.get(name) != after.get(name)
    ]
    old, new = stored.get("hashes") or {}, now.get("hashes") or {}
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            what = stored.get(name), now.get(name)
            found.append(
                f"the hash of {name} differs ({_changes(*what if all(what) else (old.get(name), new.get(name)))})"
            )
    return found


def _changes(old: Any, new: Any) -> str:
    """How a value changed; for a mapping or a list of named records, which of its parts."""
    before, after = _by_name(old), _by_name(new)
    if before is None or after is None:
        return f"{_short(old)} then, {_short(new)} now"
    gone = [name for name in before if name not in after]
    come = [name for name in after if name not in before]
    changed = [name for name in before if name in after and _core(before[name]) != _core(after[name])]
    parts = (("no longer there:", gone), ("new:", come), ("changed:", changed))
    said = [f"{verb} {list_some(names)}" for verb, names in parts if names]
    if old == new and list(before) == list(after):
        return "the same names, but what they refer to has been edited"
    return ", ".join(said) or "in another order"


def _by_name(value: Any) -> dict[str, Any] | None:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value):
        pairs = [(next((each[name] for name in _NAMES if name in each), None), each) for each in value]
        return None if any(name is None for name, _ in pairs) else {str(name): each for name, each in pairs}
    return None


def _core(record: Any) -> Any:
    return json.dumps(
        {name: value for name, value in record.items() if name not in ("source", "reason", "path")}
        if isinstance(record, Mapping)
        else record,
        sort_keys=True,
        default=list,
    )


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=list)
    return text if len(text) <= 40 else text[:39] + "…"
