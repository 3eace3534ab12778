"""Pages over runs that tried pairs of skills, as the reports of these runs lie on a disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from effects_made import reported
from filled_records import page_over
from msgspec.structs import replace
from pairs_made import counted, pair_manifest
from records_made import effects_of, health_of, routing_of, skill_record

from skill_health.documents._record import record_values
from skill_health.documents.effect_history import Effects, PairRun
from skill_health.documents.skill_record import SkillRecord
from skill_health.page.model import Page
from skill_health.status.composed import read_composed

SYNERGY, CONFLICT, NOTHING = [(1, 1, 1, 3), (0, 1, 0, 3)] * 8, [(1, 3, 2, 0), (0, 2, 3, 0)] * 8, [(1, 1, 1, 1)] * 8


def pair_report(rows: Sequence[Sequence[int]], day: int = 21, **more: Any) -> dict[str, Any]:
    """The report of one pair of a run of that day; `more` replaces values of its model."""
    found = json.loads(_reported(tuple(map(tuple, rows))))
    found["models"] = [each | more for each in found["models"]]
    return found | {"run_id": f"202611{day}T050000Z-ab12cd34"}


@cache
def _reported(rows: tuple[tuple[int, ...], ...]) -> str:
    return json.dumps(reported(pair_manifest(len(rows)), counted(rows)))


def with_words(report: dict[str, Any], *words: Mapping[str, Any]) -> dict[str, Any]:
    """The report with as many pairs, each with other values of its verdict or its own, such as `first`."""
    (pair,) = report["models"][0]["composition"]
    made = []
    for word in words:
        verdict = {name: each for name, each in word.items() if name in pair["verdict"]}
        made.append(pair | {"verdict": pair["verdict"] | verdict} | {n: e for n, e in word.items() if n in pair})
    report["models"][0]["composition"] = made
    return report


def records_of(
    folder: Path,
    *reports: dict[str, Any],
    digests: Mapping[str, str] | None = None,
    staged: Mapping[str, str] | None = None,
) -> tuple[SkillRecord, ...]:
    """The records of the skills of these reports, which are written and read again; the latest report comes first."""
    runs, names = [], set()
    for report in reports:
        place = folder / "effectiveness" / report["run_id"]
        place.mkdir(parents=True, exist_ok=True)
        (place / "report.json").write_text(json.dumps(report), encoding="utf-8")
        skills = [{"name": name, "digest": each} for name, each in (staged or {}).items()]
        (place / "manifest.json").write_text(
            json.dumps({"run_id": report["run_id"], "skills": skills}), encoding="utf-8"
        )
        for model in report["models"]:
            time = report["run_id"]
            runs.append(PairRun(f"{time[:4]}-{time[4:6]}-{time[6:11]}:00:00Z", report["run_id"], model["model"]))
            names |= {pair[side] for pair in model["composition"] for side in ("first", "second")}
    found = read_composed(str(folder), Effects(composed=tuple(sorted(runs, reverse=True))), digests or {})
    assert found.problems == ()
    empty = [skill_record(name, health_of(), routing_of(), effects_of()) for name in sorted(names)]
    return tuple(replace(each, pairs=found.of(each.name)) for each in empty)


def pairs_page(folder: Path, *reports: dict[str, Any], **more: Any) -> Page:
    """The page over these reports and the records of their skills."""
    records = records_of(folder, *reports, **more)
    return page_over({"skills": [record_values(each) for each in records]}, effects=reports)
