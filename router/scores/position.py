"""Whether the place of a skill in the list decides: over the places that were picked, and over being right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from skill_health import stats
from skill_health.router.orders import Orders, presentation
from skill_health.router.records import NONE, RoutingResult
from skill_health.router.scores.facts import RoutingRunFacts
from skill_health.router.scores.judge import Judged, ModelScores, RunScores
from skill_health.router.scores.numbers import Number, left_out, not_testable, number
from skill_health.router.scores.places import Tables, places

LOCAL = "local"
_LOCAL = "it is computed here, and does not depend on the order"


def positions(sheet: RunScores) -> dict[str, Tables]:
    """For each model and each prompt that it picked a skill for more than once: where each pick stood in each order.

    One table for a prompt, one row for a call, one column for the order of a call; places count from 1. The orders are
    made again from the manifest, those of one prompt together, since models mostly share them. A model is left out
    where they do not agree with the places in its results, as may be in a run of another program.
    """
    facts = sheet.facts
    kinds: dict[str, Orders] = {"cyclic": "cyclic", "plan": "plan"}
    if facts.orders not in kinds:
        return {}
    tables: dict[str, list[list[list[int]]]] = {column.model.spec: [] for column in sheet.columns}
    picks: defaultdict[str, dict[str, list[RoutingResult]]] = defaultdict(dict)
    for column in sheet.columns:
        for row in column.scored:
            if row.picked in facts.shown and column.model.kind != LOCAL:
                picks[row.prompt.prompt_id].setdefault(column.model.spec, []).append(row.result)
    names = tuple(facts.shown)
    for prompt_id, by_model in picks.items():
        places: dict[tuple[str, int], Mapping[str, int]] = {}
        for spec, results in by_model.items():
            if len(results) < 2:
                continue
            own = tables.get(spec)
            if own is None:
                continue
            keys = [(spec if facts.orders == "plan" else "", result.replication) for result in results]
            for key in keys:
                if key not in places:
                    order = presentation(names, prompt_id, key[0], key[1], facts.seed, kinds[facts.orders])
                    places[key] = {name: at for at, name in enumerate(order, 1)}
            own.append([[places[key][result.ranking[0]] for key in keys] for result in results])
            if any(own[-1][at][at] != result.picked_position for at, result in enumerate(results)):
                del tables[spec]
    return dict(tables)


def position(column: ModelScores, facts: RoutingRunFacts, tables: Mapping[str, Tables]) -> dict[str, Any]:
    """The distance of the places picked from those expected without bias, the slope of being right by place, and more.

    That is what both rest on, place by place (see `places`); nothing where the order does not matter.
    """
    if column.model.kind == LOCAL:
        return {"tv": not_testable(_LOCAL), "slope": not_testable(_LOCAL), "places": []}
    rows = column.tested(lambda row: row.prompt.target != NONE and row.result.target_position is not None)
    return {
        "tv": _distance(column, facts, tables),
        "slope": _slope(rows),
        "places": places(len(facts.shown), tables.get(column.model.spec, ()), rows),
    }


def _distance(column: ModelScores, facts: RoutingRunFacts, tables: Mapping[str, Tables]) -> Number:
    if column.model.spec not in tables:
        return not_testable("its orders of presentation cannot be made again")
    if not stats.installed():
        return left_out()
    from skill_health.stats.position import tv_position_test

    return number(tv_position_test(tables[column.model.spec], len(facts.shown), seed=facts.seed))


def _slope(rows: Sequence[Judged]) -> Number:
    """The change of the log odds of a right answer for each place further down, on prompts whose skill is listed."""
    if not stats.installed():
        return left_out()
    from skill_health.stats.position import clustered_slope

    down = [float(row.result.target_position or 0) for row in rows]
    return number(clustered_slope(down, [row.right for row in rows], [row.cluster for row in rows]))
