"""The models' part of the Markdown report: how often they are right, against each other, and where none applies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.router.reports import Report, _cells
from skill_health.text import numbers
from skill_health.text.blocks import rest, table, text
from skill_health.text.numbers import format_number, share

_PAIRS = 30
Model = Mapping[str, Any]


def models(report: Report) -> Iterator[str]:
    """The leaderboard, and what it rests on."""
    yield "## Leaderboard"
    yield ""
    yield from _leaderboard(report)
    yield from _preliminary(report)
    yield from _comparisons(report)
    yield from _splits(report)
    yield from _none(report)


def _name(model: Model) -> str:
    resolved = [name for name in model["resolved"] if name != model["model"].partition(":")[2]]
    return text(model["model"]) + (f" ({text(', '.join(resolved), 120)})" if resolved else "")


def _leaderboard(report: Report) -> Iterator[str]:
    yield "Per cent with 95 % intervals; MRR and nDCG@3 lie between 0 and 1."
    yield ""
    rows = []
    for model in report["models"]:
        metrics, coverage = model["metrics"], model["coverage"]
        rows.append([
            _name(model), *(share(metrics[key]) for key in ("top1", "top1_skill", "top3", "acceptable")),
            format_number(metrics["mrr"]), format_number(metrics["ndcg3"]), f"{metrics['top1']['n']} / {metrics['top1']['clusters']}",
            numbers.percent(coverage["share"]),
        ])  # fmt: skip
    head = (
        "model", "top-1", "top-1, a skill applies", "top-3", "acceptable", "MRR", "nDCG@3", "n / independent", "coverage",
    )  # fmt: skip
    yield from table(head, rows)


def _preliminary(report: Report) -> Iterator[str]:
    for reason, names in _cells.preliminary(report["models"]).items():
        yield f"- Preliminary ({text(', '.join(names))}): {text(reason)}."
    for least, names in _detectable(report["models"]).items():
        yield f"- {least}: {text(', '.join(names))}."
    if report["models"]:
        yield ""


def _detectable(models: Sequence[Model]) -> dict[str, list[str]]:
    """What a run could have found, each with the models of which it holds."""
    found: dict[str, list[str]] = {}
    for model in models:
        least = model["detectable"]
        said = (
            f"A difference of less than {numbers.percent(least['value'])} points would mostly be missed "
            f"({least['clusters']} independent prompts, {numbers.count(least['replications'], 'replication')}, at best)"
            if least["value"] is not None
            else "No difference can be detected, since no prompt has a right answer to count"
        )
        found.setdefault(said, []).append(model["model"])
    return found


def _comparisons(report: Report) -> Iterator[str]:
    pairs = sorted(report["comparisons"], key=lambda pair: -abs(pair["difference"]["value"] or 0))
    if pairs:
        yield "### Models against each other"
        yield ""
        yield "Top-1 of the first less that of the second, in percentage points, paired by prompt."
        yield ""
    yield from table(
        ("first", "second", "difference", "better / worse of independent", "p", "p (Holm)"),
        (
            [
                text(pair["first"]), text(pair["second"]), numbers.points(pair["difference"]),
                f"{pair['better']} / {pair['worse']} of {pair['difference']['clusters']}",
                numbers.p_value(pair["difference"].get("p")), numbers.p_value(pair["difference"].get("p_adjusted")),
            ]
            for pair in pairs[:_PAIRS]
        ),
    )  # fmt: skip
    yield from rest(_PAIRS, len(pairs), "pairs")
    if len(pairs) and report["agreement"]["value"] is not None:
        yield f"Agreement of the models (Fleiss' kappa of the first answer): {format_number(report['agreement'])}."
        yield ""


def _splits(report: Report) -> Iterator[str]:
    rows = [
        [
            text(model["model"]), text(split["split"] or "(none)"), str(split["prompts"]), share(split["top1"]),
            str(split["top1"]["n"]),
        ]
        for model in report["models"]
        for split in model["splits"]
    ]  # fmt: skip
    if rows:
        yield "### By split"
        yield ""
    yield from table(("model", "split", "prompts", "top-1", "n"), rows)


def _none(report: Report) -> Iterator[str]:
    yield "### Abstaining, rejected skills, steals"
    yield ""
    keys = (
        "abstention_precision", "abstention_recall", "abstention_f1", "false_fire", "false_abstention", "rejected_at_1",
        "rejected_at_3", "steals",
    )  # fmt: skip
    head = (
        "model", "abstention precision", "recall", "F1", "false fire", "false abstention", "rejected at 1", "rejected at 3",
        "steals",
    )  # fmt: skip
    rows = []
    for model in report["models"]:
        metrics = (model["metrics"][key] for key in keys)
        rows.append([_name(model), *(numbers.with_n(share(number), number) for number in metrics)])
    yield from table(head, rows)
