"""Candidates -> the one that is ahead on the prompts to select on -> whether the sealed prompts confirm it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from skill_health.documents._record import Figure
from skill_health.documents.description_suggestion import (
    MeasuredCandidate,
    SealedConfirmation,
    SuggestionReport,
)
from skill_health.drafts.material import DraftingCollection
from skill_health.drafts.suggest.candidates import DescriptionCandidate
from skill_health.drafts.suggest.confirm import count_use, is_better, spend_level
from skill_health.drafts.suggest.measure import (
    Rights,
    SplitPrompts,
    cluster_differences,
    compare_rights,
    mean_right,
    route_prompts,
)
from skill_health.router.records import ListedSkill, Prompt
from skill_health.text.terminal import clean, lay_out_table, wrapped

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class SuggestionBench:
    """What candidates for one skill are measured on and by."""

    collection: DraftingCollection
    skill: ListedSkill
    prompts: SplitPrompts
    routers: tuple[str, ...]
    seed: int

    def on_train(self, description: str) -> Rights:
        """How a description routes the prompts that may be selected on."""
        return self._route(description, self.prompts.train)

    def on_sealed(self, description: str) -> Rights:
        """How a description routes the sealed prompts."""
        return self._route(description, self.prompts.sealed)

    def missed(self) -> list[Prompt]:
        """The prompts about the skill that today's description loses, of those that may be selected on."""
        today = self.on_train(self.skill.description)
        mine = (each for each in self.prompts.train if self.skill.name in (each.expected, *each.rejected))
        return [prompt for prompt in mine if today[prompt.prompt_id] < 1]

    def _route(self, description: str, prompts: Sequence[Prompt]) -> Rights:
        train = self.prompts.train
        return route_prompts(self.collection, self.skill, description, prompts, train, self.routers)


def suggest_description(
    bench: SuggestionBench, candidates: Sequence[DescriptionCandidate], time: datetime
) -> SuggestionReport:
    """Measure the candidates, and confirm the best once. Raises as `count_use` and `route_prompts` do."""
    today = bench.on_train(bench.skill.description)
    measured = [_measure(bench, number, each, today) for number, each in enumerate(candidates, 1)]
    best = choose_best(measured, mean_right(today))
    confirmation, better = (None, False) if best is None else _confirm(bench, best, time)
    usable = any(not each.fault for each in measured)
    return SuggestionReport(
        schema="skill-health/description-suggestion/1",
        skill=bench.skill.name,
        verdict=(
            "no_candidate" if not usable else "no_better" if best is None else "better" if better else "not_confirmed"
        ),
        measured_by=bench.routers,
        today=mean_right(today),
        train=len(bench.prompts.train),
        train_clusters=len({prompt.cluster for prompt in bench.prompts.train}),
        sealed=len(bench.prompts.sealed),
        candidates=tuple(measured),
        best=None if best is None else best.number,
        confirmation=confirmation,
        notes=tuple(_notes(bench.prompts)),
    )


def choose_best(measured: Sequence[MeasuredCandidate], today: float) -> MeasuredCandidate | None:
    """The candidate with the greatest share above today's; of equal ones the shortest, then the first. None if none."""
    ahead = [each for each in measured if each.share is not None and each.share > today]
    return min(ahead, key=lambda each: (-(each.share or 0.0), len(each.description), each.number), default=None)


def _measure(bench: SuggestionBench, number: int, each: DescriptionCandidate, today: Rights) -> MeasuredCandidate:
    if each.fault:
        return MeasuredCandidate(
            number=number, source=each.source, description=each.text, fault=each.fault, share=None, difference=None
        )
    rights = bench.on_train(each.text)
    _, figure = compare_rights(cluster_differences(bench.prompts.train, today, rights), bench.seed)
    return MeasuredCandidate(
        number=number, source=each.source, description=each.text, fault="", share=mean_right(rights), difference=figure
    )


def _confirm(bench: SuggestionBench, best: MeasuredCandidate, time: datetime) -> tuple[SealedConfirmation, bool]:
    sealed = bench.prompts.sealed
    use = count_use(bench.collection, bench.skill, best.description, sealed, bench.routers, bench.seed, time)
    before, after = bench.on_sealed(bench.skill.description), bench.on_sealed(best.description)
    rows = cluster_differences(sealed, before, after)
    found, figure = compare_rights(rows, bench.seed)
    confirmation = SealedConfirmation(
        today=mean_right(before),
        candidate=mean_right(after),
        difference=figure,
        moved=sum(round(row[0], 9) != 0 for row in rows),
        use=use.number,
        level=spend_level(use.number),
    )
    return confirmation, is_better(found, use.number)


def _notes(prompts: SplitPrompts) -> Iterator[str]:
    if prompts.unsplit:
        yield f"{prompts.unsplit} prompts have no split and are left out"
    if not any(prompt.target == "none" for prompt in prompts.train):
        yield "no prompt to select on expects that no skill fires: a description that fires too often is not found out"


def suggestion_text(report: SuggestionReport) -> str:
    """The report for a terminal."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: SuggestionReport) -> Iterator[str]:
    yield from (f"note: {note}" for note in report.notes)
    yield f"{clean(report.skill)}, measured by {', '.join(report.measured_by)}"
    rows = [("today", _percent(report.today), "")]
    rows += [(f"candidate {each.number}", _percent(each.share), _figure(each)) for each in report.candidates]
    counts = f"{report.train} prompts, {report.train_clusters} independent"
    yield from lay_out_table((f"to select on ({counts})", "right", "against today"), rows)
    for each in report.candidates:
        if each.fault:
            yield f"candidate {each.number} ({clean(each.source)}) was not measured: {each.fault}"
    yield ""
    yield from _verdict(report)


def _verdict(report: SuggestionReport) -> Iterator[str]:
    if report.verdict == "no_candidate":
        yield "No candidate could be measured; the sealed prompts were left alone."
        return
    sealed = report.confirmation
    if sealed is None or report.best is None:
        yield "No better: no candidate is ahead of today's description; the sealed prompts were left alone."
        return
    best = report.candidates[report.best - 1]
    again = "" if sealed.use == 1 else f" This is use {sealed.use} of the sealed prompts for this skill."
    yield (
        f"Candidate {best.number} on {report.sealed} sealed prompts: {_percent(sealed.candidate)} right, today "
        f"{_percent(sealed.today)}; difference {_points(sealed.difference)}, {sealed.moved} moved."
    )
    yield f"The one-sided p-value has to be at most {sealed.level:.4g}, and is {_half(sealed.difference.p)}.{again}"
    if report.verdict == "better":
        yield "Better: the sealed prompts confirm it."
        yield from wrapped(f"  {best.description}", _WIDTH, "  ")
    else:
        yield "No better: the sealed prompts do not confirm that it is."


def _figure(each: MeasuredCandidate) -> str:
    return "not measured" if each.difference is None else _points(each.difference)


def _points(figure: Figure) -> str:
    if figure.value is None:
        return figure.note or "-"
    known = figure.low is not None and figure.high is not None
    ends = f" [{100 * (figure.low or 0):+.1f}, {100 * (figure.high or 0):+.1f}]" if known else f" ({figure.note})"
    return f"{100 * figure.value:+.1f} points{ends}"


def _half(p: float | None) -> str:
    return "not known, as nothing moved" if p is None else f"{p / 2:.4g}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
