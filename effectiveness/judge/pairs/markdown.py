"""The report of a judging in pairs for people, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.documents.pairwise_report import PairwiseReport, SettledPair
from skill_health.effectiveness.judge.carry import carried_lines
from skill_health.effectiveness.judge.scores.markdown import (
    blindness_lines,
    number_text,
    p_text,
    share_text,
    table_lines,
    usd_text,
)
from skill_health.text.terminal import markdown_text

_RULES = {"half": "a tie is half a win", "shorter": "a tie goes to the shorter side"}


def pairs_to_markdown(report: PairwiseReport) -> str:
    """All of a report; the same report gives the same bytes."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: PairwiseReport) -> Iterator[str]:
    yield f"# {markdown_text(report.arm)} against {markdown_text(report.against)} in {markdown_text(report.of_run)}"
    yield ""
    yield (
        f"How often judges prefer the work of {markdown_text(report.arm)}, each pair asked in both orders without names; "
        f"{_RULES[report.ties]}. One half is no difference."
    )
    yield ""
    yield from table_lines(("model", "wins", "ties", "losses", "missing", "win rate", "p", "p, corrected", "verdict"), [
        (each.model, str(each.wins), str(each.ties), str(each.losses), str(each.missing), share_text(each.win_rate),
         p_text(each.win_rate.p), p_text(each.win_rate.p_adjusted), each.verdict.replace("_", " "))
        for each in report.models
    ])  # fmt: skip
    yield ""
    yield f"- answers: {report.answers_read} of {report.answers_planned} could be read; the others are missing"
    yield f"- position: another answer when both change places, and so a tie: {share_text(report.flips)}"
    yield f"- position: preferences that go to the side shown first, one half without a bias: {share_text(report.first_place)}"
    yield f"- another answer when the same judge is asked the same again: {share_text(report.repeats)}"
    if report.agreement.kind:
        kind = "Cohen's kappa" if report.agreement.kind == "cohen" else "Fleiss' kappa"
        yield f"- judges agree on pairs: {share_text(report.agreement.raw)}; {kind} {number_text(report.agreement.kappa)}"
    yield from blindness_lines(report.skill_shown, len(report.pairs), "pairs")
    for line in carried_lines(report.taken_over, "answer"):
        yield f"- {line}"
    if report.left_out:
        first = report.left_out[0]
        yield f"- not judged: {len(report.left_out)} pairs, such as {first.task_id}: {markdown_text(first.reason)}"
    yield ""
    yield "## Length"
    yield ""
    yield "A judge may prefer what is longer, or longer work may be better: these figures cannot tell the two apart."
    yield ""
    yield from table_lines(
        ("model", "ties as half", "ties to the shorter", "at equal length", "log odds for each doubling", "wins of the longer"),
        [
            (each.model, share_text(each.ties_half), share_text(each.shorter_wins), share_text(each.equal_length),
             number_text(each.length_slope), share_text(each.longer))
            for each in report.models
        ],
    )  # fmt: skip
    yield ""
    yield "## Judges"
    yield ""
    head = (
        "judge",
        "answers read",
        "void",
        "other answer in the other order",
        "first preferred",
        "other answer when asked again",
        "cost",
    )
    yield from table_lines(head, [
        (each.judge, f"{each.read} of {each.asked}", str(each.void), share_text(each.flips), share_text(each.first_place),
         share_text(each.repeats), usd_text(each.cost_usd))
        for each in report.judges
    ])  # fmt: skip
    yield ""
    yield "## Pairs"
    yield ""
    columns = ("task", "model", "replication", "outcome", "votes", "disagreeing orders", "missing votes")
    yield from table_lines(columns, map(_pair, report.pairs))


def _pair(pair: SettledPair) -> tuple[str, ...]:
    votes = f"{pair.wins} : {pair.ties} : {pair.losses}"
    return (
        pair.task_id,
        pair.model,
        str(pair.replication),
        pair.outcome or "missing",
        votes,
        str(pair.flipped),
        str(pair.missing),
    )
