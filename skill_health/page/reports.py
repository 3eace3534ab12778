"""The reports of the runs that the record of the skills rests on, as far as they are there and keep to their schema."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from skill_health.core.files import read_bytes
from skill_health.page.fits import broken
from skill_health.page.origin import Doc, document
from skill_health.record_cells import Status

REPORT = "report.json"
_MOST_RUNS = 40
_MOST_REPORT = 64 << 20


def router_reports(folder: str, status: Status) -> tuple[tuple[Doc, ...], tuple[str, ...]]:
    """The reports of the router's runs that the status uses, the latest first, and what could not be read."""
    runs = ((each.time, each.run_id) for each in (status.routed.models if status.routed else ()))
    return _reports(folder, "router", runs)


def effect_reports(folder: str, status: Status) -> tuple[tuple[Doc, ...], tuple[str, ...]]:
    """The reports of the effectiveness benchmark's runs, likewise."""
    runs = ((each.time, each.run_id) for each in (status.effects.lines if status.effects else ()))
    return _reports(folder, "effectiveness", runs)


def _reports(folder: str, kind: str, runs: Iterable[tuple[str, str]]) -> tuple[tuple[Doc, ...], tuple[str, ...]]:
    found: list[Doc] = []
    notes: list[str] = []
    latest = list(dict.fromkeys(run for _, run in sorted(runs, reverse=True)))
    for run in latest[:_MOST_RUNS]:
        report, problem = _report(os.path.join(folder, kind, run, REPORT), f"{kind}-report")
        if not problem and report.get("run", report).get("run_id") != run:
            problem = "is that of another run"
        if problem:
            notes.append(f"{kind}/{run}/{REPORT} {problem}: its figures are not shown")
        else:
            found.append(document(f"{kind}/{run}", report))
    if len(latest) > _MOST_RUNS:
        notes.append(f"of {len(latest)} runs of {kind} the last {_MOST_RUNS} are shown in full")
    return tuple(found), tuple(notes)


def _report(path: str, schema: str) -> tuple[dict[str, Any], str]:
    """A report, and what is wrong with it ("" where nothing is)."""
    try:
        if os.path.getsize(path) > _MOST_REPORT:
            return {}, "is too large"
        raw, unreadable = read_bytes(path)
        if unreadable:
            return {}, "cannot be read"
        report = json.loads(raw, parse_constant=_refuse)
        json.dumps(report, ensure_ascii=False).encode("utf-8")
        if not isinstance(report, dict):
            return {}, "is not an object"
        wrong = broken(schema, report)
    except OSError:
        return {}, "is not there"
    except (ValueError, RecursionError):
        return {}, "is damaged"
    return (report, "") if not wrong else ({}, f"breaks its schema ({wrong})")


def _refuse(word: str) -> Any:
    raise ValueError(word)
