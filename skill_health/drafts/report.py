"""How many drafts are in each state, how many were accepted as they were proposed, and why others were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from skill_health.documents._draft import Draft, DraftMaker
from skill_health.documents.draft_report import DraftCounts, DraftReport, RejectedDrafts
from skill_health.drafts.store import is_edited
from skill_health.text.terminal import clean, lay_out_table

_MAKERS: tuple[DraftMaker, ...] = ("model", "template", "transcript")
_BY = {"validation": "our rules", "model": "the second model", "person": "a person"}


def count_drafts(drafts: Sequence[Draft], made_by: str) -> DraftCounts:
    """The drafts in each state."""
    accepted = [draft for draft in drafts if draft.state == "accepted"]
    edited = sum(map(is_edited, accepted))
    return DraftCounts(
        made_by=made_by,
        proposed=sum(draft.state == "proposed" for draft in drafts),
        unchanged=len(accepted) - edited,
        edited=edited,
        rejected_by_validation=_rejected(drafts, "validation"),
        rejected_by_model=_rejected(drafts, "model"),
        rejected_by_person=_rejected(drafts, "person"),
    )


def build_draft_report(drafts: Sequence[Draft], problems: Sequence[str] = ()) -> DraftReport:
    """The report on drafts of any kind. Their split is not in it: what is sealed must not be told from what is not."""
    makers = [maker for maker in _MAKERS if any(draft.origin.by == maker for draft in drafts)]
    rows = [count_drafts([draft for draft in drafts if draft.origin.by == maker], maker) for maker in makers]
    reasons: Counter[tuple[str, str]] = Counter()
    for draft in drafts:
        if draft.state == "rejected" and draft.verdict:
            reasons[draft.verdict.by, draft.verdict.code or draft.verdict.reason] += 1
    ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return DraftReport(
        schema="skill-health/draft-report/1",
        makers=tuple(rows),
        all=count_drafts(drafts, "all"),
        reasons=tuple(
            RejectedDrafts(by=by, reason=reason, drafts=count)  # type: ignore[arg-type]
            for (by, reason), count in ordered
        ),
        problems=tuple(problems),
    )


def report_text(report: DraftReport) -> str:
    """The report for a terminal."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: DraftReport) -> Iterator[str]:
    yield from (f"note: {problem}" for problem in report.problems)
    whole = report.all
    total = _total(whole)
    if not total:
        yield "There are no drafts: `skill-health draft prompts` makes some."
        return
    rows = [_row(each) for each in (*report.makers, *([whole] if len(report.makers) > 1 else []))]
    yield from lay_out_table(("made by", "drafts", "proposed", "unchanged", "edited", "rejected"), rows)
    yield ""
    decided = whole.unchanged + whole.edited + whole.rejected_by_person
    if decided:
        yield (
            f"Of {_counted(decided)} that a person decided on, {whole.unchanged} were accepted unchanged and "
            f"{whole.edited} edited."
        )
    else:
        yield "No person has decided on any yet."
    for each in report.reasons:
        yield f"  {each.drafts} rejected by {_BY[each.by]}: {clean(each.reason)}"
    if whole.proposed:
        yield f"{_counted(whole.proposed)} wait{'s' * (whole.proposed == 1)} for you: `skill-health draft review` walks through them."


def _row(counts: DraftCounts) -> tuple[str, ...]:
    made = "template (weaker)" if counts.made_by == "template" else counts.made_by
    rejected = counts.rejected_by_validation + counts.rejected_by_model + counts.rejected_by_person
    return (
        made, str(_total(counts)), str(counts.proposed), str(counts.unchanged), str(counts.edited), str(rejected),
    )  # fmt: skip


def _counted(drafts: int) -> str:
    return f"{drafts} draft{'s' * (drafts != 1)}"


def _total(counts: DraftCounts) -> int:
    return (
        counts.proposed
        + counts.unchanged
        + counts.edited
        + counts.rejected_by_validation
        + counts.rejected_by_model
        + counts.rejected_by_person
    )


def _rejected(drafts: Sequence[Draft], by: str) -> int:
    return sum(draft.state == "rejected" and draft.verdict is not None and draft.verdict.by == by for draft in drafts)
