"""What a drafting came to: generated, rejected by reason, fit for a person to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from skill_health.documents._drafting import FLAW_KINDS
from skill_health.documents.drafting_report import DraftCount, DraftedFor, DraftingReport
from skill_health.documents.proposal_draft import ProposalDraft
from skill_health.documents.task_draft import TaskDraft
from skill_health.drafts.store import read_drafts
from skill_health.drafts.tasks.draft import DraftTerms, is_drafted_by
from skill_health.drafts.tasks.subject import DraftSubject
from skill_health.drafts.tasks.templates._api import task_templates
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock, as_text
from skill_health.text.near import list_some
from skill_health.text.numbers import count


def build_drafting_report(
    subjects: Sequence[DraftSubject], terms: DraftTerms, unanswered: Mapping[tuple[str, ...], int]
) -> DraftingReport:
    """The drafts on disk that this maker has made of these skills as they are now."""
    proposals = read_drafts(terms.root, ProposalDraft).drafts
    tasks = read_drafts(terms.root, TaskDraft).drafts
    rows = []
    for subject in subjects:
        frozen = subject.freeze()
        mine = [each for each in proposals if each.skills == frozen and is_drafted_by(each.origin, terms.writer)]
        made = [each for each in tasks if each.skills == frozen and is_drafted_by(each.origin, terms.writer)]
        done = {each.content.proposal for each in made}
        rows.append(
            DraftedFor(
                skills=subject.names,
                proposals=_count(mine),
                tasks=_count(made),
                unanswered=unanswered.get(subject.names, 0),
                waiting=sum(each.state == "proposed" and each.id not in done for each in mine),
                nothing=() if mine or terms.writer else tuple(each.TITLE for each in task_templates().values()),
            )
        )
    return DraftingReport(
        schema="skill-health/drafting-report/1",
        by="model" if terms.writer else "template",
        model=terms.writer.spec if terms.writer else "",
        review=terms.reviewer.spec if terms.reviewer else "",
        skills=tuple(rows),
        total=_total(rows),
    )


def _count(drafts: Iterable[ProposalDraft | TaskDraft]) -> DraftCount:
    found = tuple(drafts)
    flawed = [each for each in found if each.flaws]
    reasons: Counter[str] = Counter(each.flaws[0].kind for each in flawed)
    return DraftCount(
        generated=len(found),
        rejected=len(flawed),
        fit=len(found) - len(flawed),
        reasons={kind: reasons[kind] for kind in FLAW_KINDS if kind in reasons},
    )


def _total(rows: Sequence[DraftedFor]) -> DraftedFor:
    return DraftedFor(
        skills=tuple(sorted({name for row in rows for name in row.skills})),
        proposals=_sum([row.proposals for row in rows]),
        tasks=_sum([row.tasks for row in rows]),
        unanswered=sum(row.unanswered for row in rows),
        waiting=sum(row.waiting for row in rows),
        nothing=(),
    )


def _sum(counts: Sequence[DraftCount]) -> DraftCount:
    reasons: Counter[str] = Counter()
    for each in counts:
        reasons.update(each.reasons)
    return DraftCount(
        generated=sum(each.generated for each in counts),
        rejected=sum(each.rejected for each in counts),
        fit=sum(each.fit for each in counts),
        reasons={kind: reasons[kind] for kind in FLAW_KINDS if kind in reasons},
    )


def drafting_text(report: DraftingReport) -> str:
    """The same for a terminal."""
    return as_text(_blocks(report))


def _blocks(report: DraftingReport) -> Iterable[Block]:
    whose = f"by {report.model}" if report.model else "by templates, which is weaker than a person or a good model"
    yield TitleBlock(f"Drafts of tasks, {whose}", 1)
    rows = [*report.skills, *([report.total] if len(report.skills) > 1 else [])]
    yield Table(
        ("skills", "proposals", "rejected", "tasks", "rejected", "fit"),
        [
            (
                "all together" if row is report.total else " + ".join(row.skills),
                str(row.proposals.generated),
                str(row.proposals.rejected),
                str(row.tasks.generated),
                str(row.tasks.rejected),
                str(row.tasks.fit),
            )
            for row in rows
        ],
    )
    total = report.total
    for what, found in (("proposals", total.proposals), ("tasks", total.tasks)):
        if found.rejected:
            yield Sentence(f"{what} rejected:")
            yield Items([f"{number} {kind}" for kind, number in found.reasons.items()])
    if nothing := [row for row in report.skills if row.nothing]:
        named = list_some([" + ".join(row.skills) for row in nothing], 12)
        yield Sentence(f"nothing to draft from in {named}:")
        yield Items([f"no {title}" for title in nothing[0].nothing])
    if total.unanswered:
        yield Sentence(f"{count(total.unanswered, 'question')} without an answer: run the same command again")
    if total.waiting:
        yield Sentence(
            f"{count(total.waiting, 'proposal')} to be accepted or rejected (`skill-health draft review`), then run the "
            "same command again; --straight makes tasks of them at once"
        )
    if total.tasks.fit:
        yield Sentence(f"{count(total.tasks.fit, 'task')} to be accepted or rejected: `skill-health draft review`")
