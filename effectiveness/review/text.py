"""A review in six parts, as text for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.documents.task_review import (
    ReviewCriterion,
    ReviewedMetadata,
    ReviewedOracle,
    TaskReview,
    TaskReviewReport,
    TestFailure,
)
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock
from skill_health.text.near import list_some
from skill_health.text.numbers import NOTHING, amount, count, p_value, points, share

_SIGNS = {"met": "yes", "not met": "NO", "not shown": "open", "not known": "?", "for a person": "person"}
_AUTHORS = {
    "human": "by a person", "model": "by a model", "mixed": "by a person and a model", None: "who wrote it is not said",
}  # fmt: skip


def review_blocks(report: TaskReviewReport) -> Iterator[Block]:
    """All reviews, each with a title of its own, and what is no task."""
    for each in report.bad:
        yield Sentence(f"{each.path}:{each.line}: {each.message} {each.help}".strip())
    for review in report.tasks:
        yield from _review(review)


def _review(review: TaskReview) -> Iterator[Block]:
    yield TitleBlock(f"{review.metadata.path}: {review.recommendation.upper()}", 1)
    yield Items([*_reasons(review.criteria)] or ["nothing speaks against it"])
    yield TitleBlock("1. Metadata")
    yield Items([f"{name}: {value}" for name, value in _metadata(review.metadata)])
    yield TitleBlock("2. Oracle")
    yield Sentence(_oracle(review.oracle))
    yield TitleBlock("3. Agents")
    yield from _agents(review)
    yield TitleBlock("4. Impact of the skills")
    yield from _impact(review)
    yield TitleBlock("5. What failed")
    yield from _failures(review.failures)
    yield TitleBlock("6. Criteria")
    yield Items([f"{_SIGNS[each.answer]:<6} {each.code}: {each.said}" for each in review.criteria], most=100)


def _reasons(criteria: Sequence[ReviewCriterion]) -> Iterator[str]:
    """Why not more: what is not met, the weightiest first, then what is open; criteria of one reason on a line."""
    found: dict[tuple[str, str], list[str]] = {}
    for weight in ("reject", "major", "caveat"):
        for each in criteria:
            if each.answer == "not met" and each.weight == weight:
                found.setdefault((weight, each.said), []).append(each.code)
    for answer in ("not known", "not shown"):
        for each in criteria:
            if each.answer == answer:
                found.setdefault((answer, each.said), []).append(each.code)
    for (why, said), codes in found.items():
        yield f"{why}: {', '.join(codes)}: {said}"


def _metadata(about: ReviewedMetadata) -> Iterator[tuple[str, str]]:
    yield "category", about.category or NOTHING
    yield "difficulty", about.difficulty or NOTHING
    yield "tags", ", ".join(about.tags) or NOTHING
    yield (
        "instruction",
        f"{count(about.instruction_words, 'word')}, {_AUTHORS[about.instruction_by]}",
    )
    yield "skills", NOTHING if about.skills is None else ", ".join(about.skills) or "none: a negative control"
    yield "tests", NOTHING if about.tests is None else f"{about.tests:,}"
    if about.criteria:
        yield "criteria", f"{about.criteria:,}, {about.judged:,} of them judged"
    yield "needs", ", ".join(about.requirements)


def _oracle(oracle: ReviewedOracle) -> str:
    if oracle.state in ("none", "not run"):
        return "There is no oracle." if oracle.state == "none" else "The oracle was not run here."
    tests = f", {oracle.tests.passed:,} of {count(oracle.tests.counted, 'test')}" if oracle.tests else ""
    took = f", in {amount(oracle.seconds)} s" if oracle.seconds is not None else ""
    reward = NOTHING if oracle.reward is None else f"{oracle.reward:g}"
    return f"The oracle {oracle.state} with a reward of {reward}{tests}{took}."


def _agents(review: TaskReview) -> Iterator[Block]:
    if not review.agents:
        yield Sentence("No run has trials of the task as it is now.")
        return
    head = ("run", "model", "arm", "passed % (95 % interval)", "n", "missing", "s", "tokens")
    rows = [
        (each.run, f"{each.model}{' (simulated)' if each.simulated else ''}", each.arm, share(each.passed), f"{each.passed.n:,}",
         f"{each.missing:,}", amount(each.seconds), amount(each.tokens))
        for each in review.agents
    ]  # fmt: skip
    yield Table(head, rows)


def _impact(review: TaskReview) -> Iterator[Block]:
    if not review.impact:
        yield Sentence("Not known: no run has the task both with its skills and without.")
        return
    head = ("run", "model", "target - control (95 % interval)", "n", "p")
    rows = [
        (each.run or "all", f"{each.model or 'all'}{' (simulated)' if each.simulated else ''}", points(each.delta), f"{each.delta.n:,}",
         p_value(each.delta.p))
        for each in review.impact
    ]  # fmt: skip
    yield Table(head, rows)


def _failures(failures: tuple[TestFailure, ...]) -> Iterator[Block]:
    if not failures:
        yield Sentence("Nothing, as far as trials were run.")
    for each in failures:
        arms = ", ".join(f"{arm.arm} {arm.failed:,} of {arm.of:,}" for arm in each.failed)
        seen = each.example
        yield Sentence(f"{list_some(each.names, 4) or 'The task as a whole'}: {each.cause}; {arms}.")
        opened = f"; it opened {', '.join(seen.opened)}" if seen.opened else ""
        shown = [f"said: {each.said}"] if each.said else []
        last = [f"at last: {seen.last}"] if seen.last else []
        yield Items([*shown, f"see skill-health effectiveness show {seen.run} {seen.trial}{opened}", *last])
