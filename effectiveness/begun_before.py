"""What a new run repeats or leaves behind, which may have cost money: said before anything is spent again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from skill_health.bench.durable import read_objects
from skill_health.bench.journal import RESULTS
from skill_health.bench.manifest import differences
from skill_health.bench.run_folder import RunLocation, earlier_runs
from skill_health.core.errors import AbortedError
from skill_health.effectiveness.manifest import OF_TRIALS, keys
from skill_health.effectiveness.runs import KIND
from skill_health.text.numbers import count

_LOOK = 20
_CHANGES = 2


def said_of_earlier(place: RunLocation, reports: str) -> Iterator[str]:
    """One line where the latest run with the same agents is finished and the same, or unfinished and another.

    Nothing for a run that goes on, and nothing where no earlier run is like it.
    """
    if place.stored is not None:
        return
    specs = {model["spec"] for model in place.manifest["models"]}
    for folder, manifest in islice(earlier_runs(reports, KIND), _LOOK):
        if {model["spec"] for model in manifest["models"]} != specs:
            continue
        name, lacking = manifest["run_id"], _lacking(folder, manifest)
        found = differences(manifest, place.manifest)
        if not found and not lacking:
            yield f"note: {name} was this same run and is finished (`effectiveness report {name}`): this begins another one"
        if found and lacking:
            more = f" and {len(found) - _CHANGES} more" if len(found) > _CHANGES else ""
            yield (
                f"note: {name} is unfinished ({count(lacking, 'trial')} without a result) and cannot go on, since it is not the "
                f"same run: {'; '.join(found[:_CHANGES])}{more}: this begins another one"
            )
        return


def _lacking(folder: str, manifest: dict[str, object]) -> int:
    """How many trials of a run have no result."""
    try:
        records = list(read_objects(os.path.join(folder, RESULTS), []))
    except AbortedError:
        return 0
    there = {
        tuple(record.get(name) for name in OF_TRIALS.fields) for record in records if not OF_TRIALS.missing(record)
    }
    return sum(key not in there for key in keys(manifest))
