"""What to be careful about in a comparison of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MISSING = 0.05
"""More missing trials than this share are said."""


def cautions(models: Sequence[Mapping[str, Any]], reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Simulated agents, other models behind a name, missing trials, bias; `reports`: the baseline's, the run's."""
    for model in models:
        spec = model["model"]
        if any(model["simulated"].values()):
            yield f"{spec} is simulated: a script stood in for the agent, and nothing here says anything about a model"
        old, new = model["resolved"]["before"], model["resolved"]["after"]
        if old and new and old != new:
            yield f"{spec} is another model now: {', '.join(old)} -> {', '.join(new)}"
        for side, report in zip(("before", "after"), reports, strict=True):
            found = model["coverage"][side]
            absent = found["planned"] - found["scored"]
            if found["planned"] and absent / found["planned"] > MISSING:
                yield f"{spec} in {report['run_id']}: {absent} of {found['planned']} trials are missing"
    for report in reports:
        yield from (f"{report['run_id']} is biased: {why}" for why in report["biased"])
    if reports[0]["run_id"] == reports[1]["run_id"]:
        yield "a run is compared with itself"
