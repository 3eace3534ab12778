"""A judging in pairs as its folder holds it -> settled pairs -> win rates -> its report; the same from the same files.

What is not settled is missing, and no tie.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skill_health.bench.run_folder import load_manifest_record, load_result_records
from skill_health.core.files import write_text
from skill_health.documents._record import encode_record
from skill_health.documents.pairwise_manifest import FrozenPair, PairwiseManifest, TieRule
from skill_health.documents.pairwise_report import ModelWins, PairJudge, PairOutcome, PairwiseReport, SettledPair
from skill_health.documents.pairwise_result import PairwiseResult
from skill_health.effectiveness.effects.arms import full_figure
from skill_health.effectiveness.judge.carry import count_carried
from skill_health.effectiveness.judge.pairs.markdown import pairs_to_markdown
from skill_health.effectiveness.judge.pairs.plan import answer_key, votes_on_pair
from skill_health.effectiveness.judge.pairs.prepare import PAIRWISE
from skill_health.effectiveness.judge.plan import VoteKey
from skill_health.effectiveness.judge.run import WrittenReport
from skill_health.effectiveness.judge.scores.agreement import Verdicts, agree_on, share_of, to_figure
from skill_health.effectiveness.judge.scores.report import compare_scores, score_verdict, sum_dollars
from skill_health.stats.distributions import round_figure
from skill_health.stats.estimates import Estimate
from skill_health.stats.multiplicity import holm
from skill_health.stats.win_rates import length_adjusted

_OUTCOMES: Mapping[int, PairOutcome] = {1: "win", 0: "tie", -1: "loss"}
_SCORES: Mapping[PairOutcome, float] = {"win": 1.0, "tie": 0.5, "loss": 0.0}


@dataclass(frozen=True, slots=True)
class PairSheet:
    """All answers of a judging in pairs by their keys; `votes` is how often each judge votes on each pair."""

    pairs: tuple[FrozenPair, ...]
    judges: tuple[str, ...]
    votes: int
    results: Mapping[VoteKey, PairwiseResult]

    def answer(self, pair: FrozenPair, first: int, judge: str, vote: int) -> PairwiseResult | None:
        """The answer to a pair of which side `first` is A; None where none counts."""
        found = self.results.get(answer_key(pair, first, judge, vote))
        return found if found is not None and found.preference is not None and not found.void else None

    def value(self, pair: FrozenPair, first: int, judge: str, vote: int) -> int | None:
        """The same for the arm, wherever it was shown: 1 better, 0 a tie, -1 worse; None where that is not said."""
        found = self.answer(pair, first, judge, vote)
        if found is None or found.preference == "cannot_tell":
            return None
        if found.preference == "tie":
            return 0
        return 1 if (found.preference == "A") == (first == 0) else -1

    def orders(self, pair: FrozenPair, judge: str, vote: int) -> tuple[int, int] | None:
        """What a judge says in the two orders; None where it does not say both."""
        one, other = (self.value(pair, first, judge, vote) for first in (0, 1))
        return None if one is None or other is None else (one, other)


def read_answers(
    pairs: Iterable[FrozenPair], judges: Sequence[str], votes: int, results: Iterable[PairwiseResult]
) -> PairSheet:
    """Put every answer in its place."""
    return PairSheet(
        tuple(pairs), tuple(judges), votes, {(*each.trial, each.judge, each.vote): each for each in results}
    )


def agreed(orders: tuple[int, int]) -> int:
    """What a vote comes to: what both orders say, else a tie."""
    return orders[0] if orders[0] == orders[1] else 0


def settle_pair(sheet: PairSheet, pair: FrozenPair) -> SettledPair:
    """What the votes on a pair come to: what more than half of those that count say, else a tie."""
    found = [
        orders for judge in sheet.judges for vote in range(sheet.votes) if (orders := sheet.orders(pair, judge, vote))
    ]
    cast = [agreed(orders) for orders in found]
    outcome = next((side for side in _OUTCOMES if 2 * cast.count(side) > len(cast)), 0)
    return SettledPair(
        task_id=pair.task_id,
        model=pair.model,
        replication=pair.replication,
        outcome=_OUTCOMES[outcome] if cast else None,
        wins=cast.count(1),
        ties=cast.count(0),
        losses=cast.count(-1),
        flipped=sum(one != other for one, other in found),
        missing=len(sheet.judges) * sheet.votes - len(cast),
        longer_by=round(math.log2((1 + pair.sides[0].length) / (1 + pair.sides[1].length)), 9),
    )


def score_pair(pair: SettledPair, ties: TieRule) -> float | None:
    """1 for a win, 0 for a loss; a tie is one half, or by the rule goes to the side that is shorter."""
    if pair.outcome is None:
        return None
    if pair.outcome == "tie" and ties == "shorter" and pair.longer_by:
        return 0.0 if pair.longer_by > 0 else 1.0
    return _SCORES[pair.outcome]


def win_margin(pairs: Iterable[SettledPair], ties: TieRule, seed: int) -> Estimate:
    """Wins minus losses, as a share of pairs: the mean over tasks, with interval and test as differences of arms have.

    A task's own figure is the mean over its pairs; p is for "none".
    """
    found: dict[str, list[float]] = defaultdict(list)
    for pair in pairs:
        if (score := score_pair(pair, ties)) is not None:
            found[pair.task_id].append(2 * score - 1)
    return compare_scores([round(math.fsum(each) / len(each), 9) for _, each in sorted(found.items())], seed)


def to_win_rate(margin: Estimate) -> Estimate:
    """The win rate of a margin: 0 for losses alone, one half for as many wins, 1 for wins alone."""
    low, value, high = (
        None if each is None else round_figure((1 + each) / 2) for each in (margin.low, margin.value, margin.high)
    )
    return replace(margin, low=low, value=value, high=high)


def flip_share(sheet: PairSheet, judges: Iterable[str]) -> Estimate:
    """The share of pairs on which these judges say something else in the other order; `n` counts pairs and votes."""
    hits = [(task, one != other) for task, (one, other) in _both(sheet, judges)]
    return share_of(hits) if hits else Estimate(None, note="not testable: no pair was answered in both orders")


def first_share(sheet: PairSheet, judges: Iterable[str]) -> Estimate:
    """The share of preferences for the side shown first, over the pairs that were answered in both orders."""
    hits = [
        (task, value == wanted)
        for task, orders in _both(sheet, judges)
        for value, wanted in zip(orders, (1, -1), strict=True)
        if value
    ]
    return share_of(hits) if hits else Estimate(None, note="not testable: nothing was preferred")


def _both(sheet: PairSheet, judges: Iterable[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    for judge in judges:
        for pair in sheet.pairs:
            for vote in range(sheet.votes):
                if orders := sheet.orders(pair, judge, vote):
                    yield pair.task_id, orders


def repeat_share(sheet: PairSheet, judges: Iterable[str]) -> Estimate:
    """The share of answers that are others when the same question is asked once more; `n` counts such questions."""
    hits = [
        (pair.task_id, one.preference != other.preference)
        for judge in judges
        for pair in sheet.pairs
        if votes_on_pair(pair, sheet.votes) > 1
        for first in (0, 1)
        if (one := sheet.answer(pair, first, judge, 0)) and (other := sheet.answer(pair, first, judge, 1))
    ]
    return share_of(hits) if hits else Estimate(None, note="not testable: nothing was judged twice")


def said_of_pairs(sheet: PairSheet) -> Iterator[Verdicts]:
    """What each judge says of each pair by its first vote, for their agreement."""
    for pair in sheet.pairs:
        found = (sheet.orders(pair, judge, 0) for judge in sheet.judges)
        said = tuple(_OUTCOMES[agreed(orders)] if orders else None for orders in found)
        yield pair.task_id, "preference", said


_CLASSES = ("win", "tie", "loss")


@dataclass(frozen=True, slots=True)
class PairJudging:
    """A judging in pairs as its folder holds it."""

    folder: str
    manifest: PairwiseManifest
    results: tuple[PairwiseResult, ...]

    def sheet(self) -> PairSheet:
        """Its answers."""
        names = [judge.spec for judge in self.manifest.models]
        return read_answers(self.manifest.pairs, names, self.manifest.votes, self.results)


def load_pairs(folder: str) -> PairJudging:
    """A judging with its results, as many as there are. Raises UsageError where a file of it is missing or damaged."""
    manifest = load_manifest_record(folder, PAIRWISE, PairwiseManifest)
    return PairJudging(folder, manifest, load_result_records(folder, PairwiseResult))


def build_pair_report(judging: PairJudging) -> PairwiseReport:
    """The report of a judging in pairs."""
    manifest, sheet = judging.manifest, judging.sheet()
    pairs = tuple(settle_pair(sheet, pair) for pair in manifest.pairs)
    names = sheet.judges
    return PairwiseReport(
        version=1,
        kind="pairwise-report",
        run_id=manifest.run_id,
        of_run=manifest.of_run,
        created=manifest.created,
        arm=manifest.arm,
        against=manifest.against,
        ties=manifest.ties,
        answers_planned=2 * len(names) * sum(votes_on_pair(pair, manifest.votes) for pair in manifest.pairs),
        answers_read=sum(result.preference is not None for result in judging.results),
        models=tuple(_models(manifest, pairs)),
        judges=tuple(_judge(name, judging, sheet) for name in names),
        flips=to_figure(flip_share(sheet, names)),
        first_place=to_figure(first_share(sheet, names)),
        repeats=to_figure(repeat_share(sheet, names)),
        agreement=agree_on(said_of_pairs(sheet), len(names), _CLASSES, manifest.seed),
        pairs=pairs,
        left_out=manifest.left_out,
        cost_usd=sum_dollars(judging.results),
        skill_shown=sum(any(side.skill_shown for side in pair.sides) for pair in manifest.pairs),
        taken_over=count_carried(judging.results),
    )


def _models(manifest: PairwiseManifest, pairs: Sequence[SettledPair]) -> Iterator[ModelWins]:
    by_model = {name: [pair for pair in pairs if pair.model == name] for name in dict.fromkeys(p.model for p in pairs)}
    margins = [win_margin(own, manifest.ties, manifest.seed) for own in by_model.values()]
    adjusted = holm([margin.p for margin in margins])
    for (name, own), margin, p in zip(by_model.items(), margins, adjusted, strict=True):
        found = replace(margin, p_adjusted=p)
        known = [pair for pair in own if pair.outcome is not None]
        lengths = length_adjusted(
            [score_pair(pair, "half") or 0.0 for pair in known],
            [pair.longer_by for pair in known],
            [pair.task_id for pair in known],
        )
        decided = [
            (pair.task_id, (pair.outcome == "win") == (pair.longer_by > 0))
            for pair in known
            if pair.outcome != "tie" and pair.longer_by
        ]
        longer = share_of(decided) if decided else Estimate(None, note="not testable: no side of a won pair is longer")
        counts = {word: sum(pair.outcome == word for pair in own) for word in _CLASSES}
        yield ModelWins(
            model=name,
            wins=counts["win"],
            ties=counts["tie"],
            losses=counts["loss"],
            missing=len(own) - len(known),
            win_rate=full_figure(to_win_rate(found)),
            ties_half=full_figure(to_win_rate(win_margin(own, "half", manifest.seed))),
            shorter_wins=full_figure(to_win_rate(win_margin(own, "shorter", manifest.seed))),
            equal_length=to_figure(lengths.win_rate),
            length_slope=to_figure(lengths.slope),
            longer=to_figure(longer),
            verdict=score_verdict(found),
        )


def _judge(name: str, judging: PairJudging, sheet: PairSheet) -> PairJudge:
    own = [result for result in judging.results if result.judge == name]
    return PairJudge(
        judge=name,
        resolved=tuple(sorted({result.resolved_model for result in own if result.resolved_model})),
        asked=len(own),
        read=sum(result.preference is not None for result in own),
        void=sum(bool(result.void) for result in own),
        flips=to_figure(flip_share(sheet, [name])),
        first_place=to_figure(first_share(sheet, [name])),
        repeats=to_figure(repeat_share(sheet, [name])),
        cost_usd=sum_dollars(own),
    )


def write_pair_report(run_folder: str, folder: str) -> WrittenReport:
    """Write the report of a judging in pairs into its folder. Raises UsageError if that fails."""
    judging = load_pairs(folder)
    report = build_pair_report(judging)
    paths = (os.path.join(folder, "report.json"), os.path.join(folder, "report.md"))
    write_text(paths[0], encode_record(report))
    write_text(paths[1], pairs_to_markdown(report))
    return WrittenReport(report, paths, sum(not result.scored for result in judging.results))
