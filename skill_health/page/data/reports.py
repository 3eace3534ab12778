"""The reports of the runs that the record of the skills rests on, as far as they are there and keep to their schema."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from skill_health.page.data.fits import broken
from skill_health.page.data.loading import loads, read_file
from skill_health.page.origin import JsonNode, document
from skill_health.status.render import CollectionStatus

REPORT = "report.json"
_MOST_RUNS = 40
_MOST_WORDS = 200
_MOST_REPORT, _MOST_ALL = 48 << 20, 96 << 20
"""Bytes of one report and of all of a kind: read, they take ten times as many in memory."""


def router_reports(folder: str, status: CollectionStatus) -> tuple[tuple[JsonNode, ...], tuple[str, ...]]:
    """The reports of the router's runs that the status uses, the latest first, and what could not be read."""
    runs = ((each.time, each.run_id) for each in (status.routed.models if status.routed else ()))
    return _reports(folder, "router", runs)


def effect_reports(folder: str, status: CollectionStatus) -> tuple[tuple[JsonNode, ...], tuple[str, ...]]:
    """The reports of the effectiveness benchmark's runs, likewise."""
    runs = ((each.time, each.run_id) for each in (status.effects.lines if status.effects else ()))
    return _reports(folder, "effectiveness", runs)


def _reports(folder: str, kind: str, runs: Iterable[tuple[str, str]]) -> tuple[tuple[JsonNode, ...], tuple[str, ...]]:
    found: list[JsonNode] = []
    notes: list[str] = []
    latest = list(dict.fromkeys(run for _, run in sorted(runs, reverse=True)))
    room = _MOST_ALL
    for run in latest[:_MOST_RUNS]:
        size, report, problem = _report(os.path.join(folder, kind, run, REPORT), f"{kind}-report", room)
        room -= size
        if not problem and _run_id(report) != run:
            problem = "is that of another run"
        if problem:
            notes.append(f"{kind}/{run}/{REPORT} {problem}: its figures are not shown")
        else:
            found.append(document(f"{kind}/{run}", report))
    if len(latest) > _MOST_RUNS:
        notes.append(f"of {len(latest)} runs of {kind} the last {_MOST_RUNS} are shown in full")
    return tuple(found), tuple(notes)


def _run_id(report: Mapping[str, Any]) -> Any:
    """The run that a report is of; where its schema knows no object `run`, that may be anything."""
    inner = report.get("run")
    return (inner if isinstance(inner, dict) else report).get("run_id")


def _report(path: str, schema: str, room: int) -> tuple[int, dict[str, Any], str]:
    """The bytes of a report that were read, the report, and what is wrong with it ("" where nothing is)."""
    try:
        raw = read_file(path, min(_MOST_REPORT, room))
    except OSError as error:
        return 0, {}, "is not there" if isinstance(error, FileNotFoundError) else "cannot be read"
    if raw is None:
        return 0, {}, "is too large"
    try:
        report = loads(raw)
    except (ValueError, RecursionError):
        return len(raw), {}, "is damaged"
    if not isinstance(report, dict):
        return len(raw), {}, "is not an object"
    wrong = broken(schema, report)
    return (len(raw), report, "") if not wrong else (len(raw), {}, f"breaks its schema ({wrong[:_MOST_WORDS]})")
