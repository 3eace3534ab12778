"""What should make no difference: the place of a skill in the list, another asking, the length of a description."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from skill_health import stats
from skill_health.documents._record import Figure
from skill_health.documents.router_report import AnswerStability, PositionBias, PositionShare
from skill_health.router.plan.orders import presentation
from skill_health.router.records import NONE, RoutingResult
from skill_health.router.scores.judge import Judged, ModelScores, RoutingRunFacts, RunScores
from skill_health.router.scores.numbers import left_out, mean, not_testable, number, proportion

SINGLE = 12
"""So many listed skills have a place each; more share ten groups of places that are as even as can be."""
_GROUPS = 10
_NOBODY = "no right skill was listed there"
Tables = Sequence[Sequence[Sequence[int]]]


def places(listed: int, tables: Tables, rows: Sequence[Judged]) -> tuple[PositionShare, ...]:
    """The places from the top of the list down, one by one or in groups, `first` to `last`; () where none is listed.

    `picked` is the share of the first answers that stood there, `calls` how many those are, and `expected` the share if
    the orders of each prompt were exchanged among its calls: all over the calls of `tables` (see `position.positions`),
    so that they are null where no prompt has two calls with a pick. `right` is the share of right answers among those
    `rows` whose right skill stood there.
    """
    groups = listed if listed <= SINGLE else _GROUPS
    edges = [at * listed // groups for at in range(groups + 1)] if groups else []
    picked, expected = _picked(tables)
    calls = picked.total()
    found = []
    for before, last in pairwise(edges):
        here = range(before + 1, last + 1)
        there = [row for row in rows if row.result.target_position in here]
        n = sum(picked[place] for place in here)
        found.append(
            PositionShare(
                first=before + 1,
                last=last,
                calls=n,
                picked=n / calls if calls else None,
                expected=_expected(expected, here) / calls if calls else None,
                right=number(proportion(there, lambda row: row.right, _NOBODY)),
            )
        )
    return tuple(found)


def _picked(tables: Tables) -> tuple[Counter[int], Counter[tuple[int, int]]]:
    """How often each place was picked, and how often it stands in tables of each size."""
    picked: Counter[int] = Counter()
    expected: Counter[tuple[int, int]] = Counter()
    for table in tables:
        # As in the test of the distance: with one call there is no order to exchange.
        if len(table) > 1:
            picked.update(row[at] for at, row in enumerate(table))
            expected.update((len(table), place) for row in table for place in row)
    return picked, expected


def _expected(counts: Counter[tuple[int, int]], here: Iterable[int]) -> float:
    """How many picks of these places are expected: each of a table's columns weighs one of its calls."""
    sizes = sorted({size for size, _ in counts})
    among = list(here)
    return sum(sum(counts[size, place] for place in among) / size for size in sizes)


_LOCAL = "it is computed here, and does not depend on the order"


def positions(sheet: RunScores) -> dict[str, Tables]:
    """For each model and each prompt that it picked a skill for more than once: where each pick stood in each order.

    One table for a prompt, one row for a call, one column for the order of a call; places count from 1. The orders are
    made again from the manifest, those of one prompt together, since models mostly share them. A model is left out
    where they do not agree with the places in its results, as may be in a run of another program.
    """
    facts = sheet.facts
    tables: dict[str, list[list[list[int]]]] = {column.model.spec: [] for column in sheet.columns}
    picks: defaultdict[str, dict[str, list[RoutingResult]]] = defaultdict(dict)
    for column in sheet.columns:
        for row in column.scored:
            if row.picked in facts.shown and column.model.kind != "local":
                picks[row.prompt.prompt_id].setdefault(column.model.spec, []).append(row.result)
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
                    order = presentation(facts.asked(prompt_id), prompt_id, key[0], key[1], facts.seed, facts.orders)
                    places[key] = {name: at for at, name in enumerate(order, 1)}
            own.append([[places[key].get(result.ranking[0], 0) for key in keys] for result in results])
            if any(own[-1][at][at] != result.picked_position for at, result in enumerate(results)):
                del tables[spec]
    return dict(tables)


def position(column: ModelScores, facts: RoutingRunFacts, tables: Mapping[str, Tables]) -> PositionBias:
    """The distance of the places picked from those expected without bias, the slope of being right by place, and more.

    That is what both rest on, place by place (see `places`); nothing where the order does not matter.
    """
    if column.model.kind == "local":
        return PositionBias(tv=not_testable(_LOCAL), slope=not_testable(_LOCAL), places=())
    rows = column.tested(lambda row: row.prompt.target != NONE and row.result.target_position is not None)
    return PositionBias(
        tv=_distance(column, facts, tables),
        slope=_slope(rows),
        places=places(facts.listed, tables.get(column.model.spec, ()), rows),
    )


def _distance(column: ModelScores, facts: RoutingRunFacts, tables: Mapping[str, Tables]) -> Figure:
    if column.model.spec not in tables:
        return not_testable("its orders of presentation cannot be made again")
    if not stats.installed():
        return left_out()
    from skill_health.stats.position import tv_position_test

    return number(tv_position_test(tables[column.model.spec], facts.listed, seed=facts.seed))


def _slope(rows: Sequence[Judged]) -> Figure:
    """The change of the log odds of a right answer for each place further down, on prompts whose skill is listed."""
    if not stats.installed():
        return left_out()
    from skill_health.stats.position import clustered_slope

    down = [float(row.result.target_position or 0) for row in rows]
    return number(clustered_slope(down, [row.right for row in rows], [row.cluster for row in rows]))


_ONCE = "each prompt was asked once"


def stability(column: ModelScores) -> AnswerStability:
    """Modal share and flip rate of the first answer, over all prompts that were answered more than once.

    The modal share of a prompt is that of its most frequent first answer; the flip rate is the share of pairs of its
    replications whose first answers differ. Having no valid answer is an answer here. Both measure order and chance
    together. `changed` counts the prompts whose first answers are not all the same.
    """
    if column.model.replications < 2:
        once = not_testable(_ONCE)
        return AnswerStability(modal_share=once, flip_rate=once, prompts=0, changed=0)
    answers: defaultdict[str, list[str | None]] = defaultdict(list)
    clusters: dict[str, int] = {}
    for row in column.scored:
        answers[row.prompt.prompt_id].append(row.picked)
        clusters[row.prompt.prompt_id] = row.cluster
    modal: defaultdict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    flips: defaultdict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    repeated = {prompt: each for prompt, each in answers.items() if len(each) > 1}
    for prompt, each in repeated.items():
        counts = Counter(each)
        cluster = clusters[prompt]
        modal[cluster][0] += max(counts.values()) / len(each)
        modal[cluster][1] += 1
        pairs = len(each) * (len(each) - 1) / 2
        flips[cluster][0] += 1 - sum(n * (n - 1) / 2 for n in counts.values()) / pairs
        flips[cluster][1] += 1
    calls = sum(map(len, repeated.values()))
    return AnswerStability(
        modal_share=_mean(modal, calls),
        flip_rate=_mean(flips, calls),
        prompts=len(repeated),
        changed=sum(len(set(each)) > 1 for each in repeated.values()),
    )


def _mean(sums: Mapping[int, Sequence[float]], calls: int) -> Figure:
    return number(mean([sums[cluster] for cluster in sorted(sums)], calls, "no prompt was answered twice"))


PER = 100
LEAST = 10


def length_slope(rows: Iterable[Judged], facts: RoutingRunFacts) -> Figure:
    """The change of the log odds of a right first answer for each 100 characters more of the listed description.

    All prompts of a skill share its length, so that skills are the clusters: with a handful of them there is no
    telling, whatever the number of calls.
    """
    lengths, right, clusters = [], [], []
    for row in rows:
        skill = row.prompt.expected
        if row.tested and skill is not None and skill in facts.shown:
            lengths.append(len(facts.shown[skill].text) / PER)
            right.append(row.right)
            clusters.append(skill)
    tried = len(set(clusters))
    if tried < LEAST:
        return not_testable(f"{tried} skills with scored calls; at least {LEAST} are needed", len(right), tried)
    if len(set(lengths)) < 2:
        return not_testable("all descriptions are of one length", len(right), tried)
    if not stats.installed():
        return left_out()
    from skill_health.stats.position import clustered_slope

    return number(clustered_slope(lengths, right, clusters))
