"""Candidates -> the one that is ahead on the prompts to select on -> whether the sealed prompts confirm it.

The k-th use of sealed prompts for a skill has to reach a one-sided level of 0.05 / (k (k + 1)). These levels add up to
0.05 over however many uses, so that whoever tries until something looks better is told so in at most one case of twenty
where nothing is (Bonferroni's inequality, with the level spent unequally).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from skill_health.bench.manifest import digest
from skill_health.core.errors import UsageError
from skill_health.core.files import here, read_each_line
from skill_health.core.history import append_history
from skill_health.documents._record import decode_record, record_values
from skill_health.documents.description_suggestion import (
    MeasuredCandidate,
    SealedConfirmation,
    SuggestionReport,
    SuggestionVerdict,
)
from skill_health.documents.sealed_use import SealedUse
from skill_health.drafts.material import DraftingCollection
from skill_health.drafts.store import drafts_folder, format_time, writing
from skill_health.drafts.suggest.candidates import DescriptionCandidate
from skill_health.drafts.suggest.measure import (
    Rights,
    SplitPrompts,
    cluster_differences,
    compare_rights,
    is_testable,
    keep_answered,
    mean_right,
    route_prompts,
)
from skill_health.router.listing import catalogue_digest
from skill_health.router.records import ListedSkill, Prompt
from skill_health.router.splits import TEST
from skill_health.stats.estimates import Estimate

if TYPE_CHECKING:
    from skill_health.drafts.suggest.by_models import ModelPanel


@dataclass(frozen=True, slots=True)
class SuggestionBench:
    """What candidates for one skill are measured on and by: by the `panel` of models where there is one."""

    collection: DraftingCollection
    skill: ListedSkill
    prompts: SplitPrompts
    routers: tuple[str, ...]
    seed: int
    panel: ModelPanel | None = None

    def on_train(self, description: str) -> Rights:
        """How a description routes the prompts that may be selected on."""
        return self.panel.route(description, sealed=False) if self.panel else self.free_on_train(description)

    def free_on_train(self, description: str) -> Rights:
        """The same by the free routers."""
        return self._route(description, self.prompts.train)

    def on_sealed(self, candidate: str) -> tuple[Rights, Rights]:
        """How today's description and a candidate route the sealed prompts."""
        today, sealed = self.skill.description, self.prompts.sealed
        if self.panel:
            return self.panel.route_sealed(today, candidate)
        return self._route(today, sealed), self._route(candidate, sealed)

    def name_measure(self) -> list[str]:
        """By what the sealed prompts are measured. Models that are asked anew are another measure: answers vary."""
        if self.panel is None:
            return list(self.routers)
        return [*self.panel.models, self.panel.begin(self.skill.description, sealed=True)]

    def missed(self) -> list[Prompt]:
        """The prompts about the skill that free routers lose today, of those that may be selected on."""
        today = self.free_on_train(self.skill.description)
        mine = (each for each in self.prompts.train if self.skill.name in (each.expected, *each.rejected))
        return [prompt for prompt in mine if today[prompt.prompt_id] < 1]

    def _route(self, description: str, prompts: Sequence[Prompt]) -> Rights:
        train = self.prompts.train
        return route_prompts(self.collection, self.skill, description, prompts, train, self.routers)


def suggest_description(
    bench: SuggestionBench, candidates: Sequence[DescriptionCandidate], time: datetime
) -> SuggestionReport:
    """Measure the candidates, and confirm the best once. Raises as `count_use` and what measures do."""
    panel, train = bench.panel, bench.prompts.train
    trial = _select(bench, candidates)
    testable = is_testable(trial.answered, train)
    best = None if trial.today is None or not testable else choose_best(trial.measured, trial.today)
    confirmation, better = (None, False) if best is None else _confirm(bench, best, time)
    verdict: SuggestionVerdict
    if all(each.fault for each in candidates):
        verdict = "no_candidate"
    elif not testable or (confirmation and confirmation.difference is None):
        verdict = "not_testable"
    elif best is None:
        verdict = "no_better"
    else:
        verdict = "better" if better else "not_confirmed"
    return SuggestionReport(
        schema="skill-health/description-suggestion/1",
        skill=bench.skill.name,
        verdict=verdict,
        measured_by=panel.models if panel else bench.routers,
        beside=bench.routers if panel else (),
        replications=panel.replications if panel else 1,
        cost_usd=panel.cost if panel else 0.0,
        runs=tuple(panel.runs) if panel else (),
        today=trial.today,
        today_beside=trial.beside,
        train=len(train),
        answered=len(trial.answered),
        train_clusters=len({prompt.cluster for prompt in trial.answered}),
        sealed=len(bench.prompts.sealed),
        candidates=trial.measured,
        best=None if best is None else best.number,
        confirmation=confirmation,
        notes=(*_notes(bench.prompts), *(panel.notes if panel else ())),
    )


@dataclass(frozen=True, slots=True)
class _Selection:
    """The candidates on the prompts to select on that were `answered` under every description."""

    answered: tuple[Prompt, ...]
    measured: tuple[MeasuredCandidate, ...]
    today: float | None
    beside: float | None


def _select(bench: SuggestionBench, candidates: Sequence[DescriptionCandidate]) -> _Selection:
    """Measure what has no fault. Without such a candidate nothing is measured, and no model asked."""
    train, texts = bench.prompts.train, [each.text for each in candidates if not each.fault]
    if not texts:
        return _Selection((), tuple(_unmeasured(*each) for each in enumerate(candidates, 1)), None, None)
    asked = (bench.skill.description, *texts)
    # What costs nothing comes first: a router that there is not is found out before models are asked.
    beside = {text: mean_right(bench.free_on_train(text), train) for text in asked} if bench.panel else {}
    rights = {text: bench.on_train(text) for text in asked}
    answered = keep_answered(train, tuple(rights.values()))
    today = rights[bench.skill.description]
    measured = []
    for number, each in enumerate(candidates, 1):
        one = _unmeasured(number, each)
        if not each.fault and answered:
            _, figure = compare_rights(cluster_differences(answered, today, rights[each.text]), bench.seed)
            one = replace(one, share=mean_right(rights[each.text], answered), difference=figure)
        measured.append(replace(one, beside=None if each.fault else beside.get(each.text)))
    share = mean_right(today, answered) if answered else None
    return _Selection(answered, tuple(measured), share, beside.get(bench.skill.description))


def _unmeasured(number: int, each: DescriptionCandidate) -> MeasuredCandidate:
    return MeasuredCandidate(
        number=number, source=each.source, description=each.text, fault=each.fault, share=None, difference=None
    )


def choose_best(measured: Sequence[MeasuredCandidate], today: float) -> MeasuredCandidate | None:
    """The candidate with the greatest share above today's; of equal ones the shortest, then the first. None if none."""
    ahead = [each for each in measured if each.share is not None and each.share > today]
    return min(ahead, key=lambda each: (-(each.share or 0.0), len(each.description), each.number), default=None)


def _confirm(bench: SuggestionBench, best: MeasuredCandidate, time: datetime) -> tuple[SealedConfirmation, bool]:
    sealed = bench.prompts.sealed
    measure = bench.name_measure()
    use = count_use(bench.collection, bench.skill, best.description, sealed, measure, bench.seed, time)
    before, after = bench.on_sealed(best.description)
    answered = keep_answered(sealed, (before, after))
    known = SealedConfirmation(
        answered=len(answered), today=None, candidate=None, difference=None, moved=0, use=use.number,
        level=spend_level(use.number),
    )  # fmt: skip
    if not is_testable(answered, sealed):
        return known, False
    rows = cluster_differences(answered, before, after)
    found, figure = compare_rights(rows, bench.seed)
    confirmation = replace(
        known, today=mean_right(before, answered), candidate=mean_right(after, answered), difference=figure,
        moved=sum(round(row[0], 9) != 0 for row in rows),
    )  # fmt: skip
    return confirmation, is_better(found, use.number)


def _notes(prompts: SplitPrompts) -> Iterator[str]:
    if prompts.unsplit:
        yield f"{prompts.unsplit} prompts have no split and are left out"
    if not any(prompt.target == "none" for prompt in prompts.train):
        yield "no prompt to select on expects that no skill fires: a description that fires too often is not found out"


USES = "sealed-uses.jsonl"
LEVEL = 0.05


def spend_level(use: int) -> float:
    """The one-sided level of the k-th use of sealed prompts."""
    return LEVEL / (use * (use + 1))


def is_better(found: Estimate, use: int) -> bool:
    """Whether a difference is shown to be above 0: by its test at the level of the use, and by its 95 % interval.

    Where all prompts differ by the same there is no interval, and where few differ no test reaches the level.
    """
    if found.value is None or found.p is None:
        return False
    return found.value > 0 and (found.low is None or found.low > 0) and found.p / 2 <= spend_level(use)


def count_use(
    collection: DraftingCollection,
    skill: ListedSkill,
    candidate: str,
    sealed: Sequence[Prompt],
    measure: Sequence[str],
    seed: int,
    time: datetime,
) -> SealedUse:
    """Write down that sealed prompts are used, and say which use it is; the very same comparison counts once.

    Raises UsageError where the file of uses cannot be read or written.
    """
    path = os.path.join(drafts_folder(collection.root), USES)
    ids = tuple(sorted(prompt.prompt_id for prompt in sealed))
    texts = digest(sorted([prompt.prompt_id, prompt.text, prompt.target or "", TEST] for prompt in sealed))
    with writing(collection.root):
        earlier = [use for use in _read_uses(path) if use.skill == skill.name and not set(ids).isdisjoint(use.prompts)]
        made = SealedUse(
            schema="skill-health/sealed-use/1",
            at=format_time(time),
            skill=skill.name,
            number=1 + len(earlier),
            before=digest(skill.description),
            after=digest(candidate),
            measure=digest([list(measure), catalogue_digest(collection.catalogue), texts]),
            prompts=ids,
            seed=seed,
        )
        for use in earlier:
            if (use.before, use.after, use.measure, use.seed) == (made.before, made.after, made.measure, made.seed):
                return use
        append_history(path, record_values(made))
    return made


def _read_uses(path: str) -> Iterator[SealedUse]:
    try:
        for number, line in enumerate(read_each_line(path), 1):
            try:
                yield decode_record(line, SealedUse)
            except ValueError as error:
                if line.endswith(b"\n"):
                    raise UsageError(
                        f"{here(path)}:{number} is no use of sealed prompts: {error}; restore it"
                    ) from None
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot read {here(path)}: {error.strerror or error}") from None
