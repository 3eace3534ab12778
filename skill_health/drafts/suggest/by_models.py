"""A description -> how models route labelled prompts with it: one run of the router for each description and split.

A run asks what `router run` asks, with one description exchanged. It lies below reports/suggesting, has no report, and
leaves no line in the history, so that no candidate is ever taken for the state of the collection.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TextIO

from skill_health.bench.budget import beyond_caps
from skill_health.bench.progress import write_progress
from skill_health.bench.run.schedule import INTERRUPTED
from skill_health.bench.run_folder import load_result_records, runs_folder
from skill_health.core.errors import AbortedError, GateError, UsageError
from skill_health.documents.router_manifest import FrozenSelection
from skill_health.drafts.material import DraftingCollection
from skill_health.drafts.suggest.measure import (
    Rights,
    SplitPrompts,
    exchange_description,
    is_testable,
    keep_answered,
)
from skill_health.router.inputs import RouterInputs
from skill_health.router.listing import FULL
from skill_health.router.plan.choices import RouterChoices, RouterOptions, choices
from skill_health.router.plan.forecast import Load, forecast
from skill_health.router.plan.opening import refuse_uncapped
from skill_health.router.plan.prepare import PreparedSweep, prepare
from skill_health.router.records import ListedSkill, Prompt, RoutingResult
from skill_health.router.routers._load import LOCAL, resolve
from skill_health.router.run.conduct import AnsweredRun, RouterRunOptions, answer_prompts
from skill_health.router.runs import ROUTER
from skill_health.router.template import load_template

FOLDER = "suggesting"
"""The folder of these runs in that of the reports."""


@dataclass(frozen=True, slots=True)
class PanelTerms:
    """How models are asked: the time of new runs, whether earlier ones are passed over, limits, and who is told."""

    time: datetime
    anew: bool
    limits: RouterRunOptions
    uncapped: bool = False
    keyless: bool = False
    stream: TextIO | None = None


class ModelPanel:
    """The models that measure descriptions of one skill.

    `runs` are the ids of the runs so far, `notes` what somebody should know of them, and `cost` the dollars of all of
    their answers, None where the cost of one is not known.
    """

    def __init__(
        self,
        collection: DraftingCollection,
        skill: ListedSkill,
        prompts: SplitPrompts,
        chosen: RouterChoices,
        reports: str,
        terms: PanelTerms,
    ) -> None:
        """Raises UsageError for a free router, and for a template by which prompts cannot be answered."""
        for spec in chosen.models:
            if resolve(spec, collection.config.router).kind == LOCAL:
                raise UsageError(f"{spec} is no model: free routers are named by --routers")
        if not load_template(chosen.template).none_allowed:
            unanswerable = sum(each.expected is None for each in (*prompts.train, *prompts.sealed))
            if unanswerable:
                raise UsageError(
                    f"the template {chosen.template} does not let a model say that no skill applies, which is right for "
                    f"{unanswerable} prompts: take another by `template` under [router]"
                )
        self.runs: list[str] = []
        self.notes: list[str] = []
        self.cost: float | None = 0.0
        self._collection, self._skill, self._prompts, self._choices = collection, skill, prompts, chosen
        self._reports, self._terms = os.path.join(reports, FOLDER), terms
        self._spent = terms.limits.before
        self._checked = False
        self._begun: dict[tuple[str, bool], str] = {}

    @property
    def models(self) -> tuple[str, ...]:
        """Their names, as they were given."""
        return self._choices.models

    @property
    def replications(self) -> int:
        """How often each prompt is asked."""
        return self._choices.reps

    def charge(self, spent: tuple[int, float]) -> None:
        """Count attempts and dollars that something else has taken of the caps."""
        self._spent = (self._spent[0] + spent[0], self._spent[1] + spent[1])

    def forecast_lines(self, candidates: Sequence[str]) -> Iterator[str]:
        """What it takes to measure these candidates and to confirm the dearest of them, and which caps are below that.

        Raises UsageError for a missing key or package, for questions that do not fit into a model, and where paid
        models would be asked without a cap.
        """
        today, limits = self._skill.description, self._terms.limits
        selecting = [self._prepare(text, sealed=False) for text in (today, *candidates)]
        confirming = [
            self._prepare(today, sealed=True),
            max((self._prepare(text, sealed=True) for text in candidates), key=_count_bytes),
        ]
        prepared, first = [*selecting, *confirming], selecting[0]
        if not self._terms.uncapped and not self._terms.keyless:
            capped = limits.max_runs is not None or limits.max_usd is not None
            refuse_uncapped(first.plan.models, capped, first.prices)
        parts = zip(*([told.load for told in each.forecast.models] for each in prepared), strict=True)
        sealed = sum(each.forecast.calls for each in confirming)
        notes = [
            *first.forecast.notes,
            f"{sealed:,} of the calls at most confirm a candidate, and none if no one is ahead",
        ]
        told = forecast([_add_loads(loads) for loads in parts], first.prices.version, notes)
        if told.calls:
            yield from told.lines()
        if done := sum(len(each.place.done) for each in prepared):
            left = "" if told.calls else ", and nothing is left to ask"
            yield f"{done:,} answers are there already (--no-resume asks anew){left}; caps count them"
        yield from beyond_caps(told.calls, told.usd_low, limits.max_runs, limits.max_usd)

    def begin(self, description: str, *, sealed: bool) -> str:
        """The id of the run that asks with this description; its folder is there afterwards, and nothing is asked."""
        key = (description, sealed)
        if key not in self._begun:
            prepared = self._prepare(description, sealed=sealed)
            if prepared.place.stored is None:
                with prepared.place.open(prepared.keys):
                    pass
            self._begun[key] = os.path.basename(prepared.place.folder)
        return self._begun[key]

    def route(self, description: str, *, sealed: bool) -> Rights:
        """How the models route the prompts that each of them has answered; the others are missing.

        Raises AbortedError where calls are left, by a cap or because a model is down, GateError where the instrument
        check fails, and KeyboardInterrupt where the user interrupts it. What is answered is kept.
        """
        run = self.begin(description, sealed=sealed)
        prepared = self._prepare(description, sealed=sealed)
        limits = replace(self._terms.limits, before=self._spent, checked=self._checked)
        if not limits.quiet:
            what = "sealed prompts" if sealed else "prompts to select on"
            write_progress(self._terms.stream, f"{run}: {len(prepared.plan.prompts)} {what}\n")
        ended = answer_prompts(prepared, limits, self._terms.stream)
        self.charge(ended.spent)
        if ended.left:
            _refuse_incomplete(ended)
        self._trust(ended)
        return self._take(run, ended.results, prepared.plan.prompts)

    def route_sealed(self, before: str, after: str) -> tuple[Rights, Rights]:
        """How the models route the sealed prompts with each of two descriptions; raises as `route` does.

        Where the answers were enough once, what was missing stays so: asking for it would be a second look.
        """
        sealed, texts = self._prompts.sealed, (before, after)
        stored = [self._complete(text) for text in texts]
        rights = [read_rights(results, sealed, self.models) for results in stored]
        if not is_testable(keep_answered(sealed, rights), sealed):
            return self.route(before, sealed=True), self.route(after, sealed=True)
        for text, results in zip(texts, stored, strict=True):
            self._take(self.begin(text, sealed=True), results, sealed)
        return rights[0], rights[1]

    def _complete(self, description: str) -> tuple[RoutingResult, ...]:
        """The results of the run on the sealed prompts where each call has one, if only an error; else none."""
        run = self.begin(description, sealed=True)
        prepared = self._prepare(description, sealed=True)
        results = load_result_records(os.path.join(runs_folder(self._reports, ROUTER), run), RoutingResult)
        return results if {result.key for result in results}.issuperset(prepared.plan.keys()) else ()

    def _take(self, run: str, results: Sequence[RoutingResult], prompts: Sequence[Prompt]) -> Rights:
        self.runs.append(run)
        costs = [result.cost_usd for result in results]
        known = self.cost is not None and None not in costs
        self.cost = math.fsum([self.cost or 0.0, *(cost or 0.0 for cost in costs)]) if known else None
        return read_rights(results, prompts, self.models)

    def _prepare(self, description: str, *, sealed: bool) -> PreparedSweep:
        collection, terms = self._collection, self._terms
        inputs = RouterInputs(
            root=collection.root,
            paths=(),
            config=collection.config,
            catalogue=exchange_description(collection.catalogue, self._skill, description),
            prompts=self._prompts.sealed if sealed else self._prompts.train,
            total=len(collection.prompts),
        )
        return prepare(
            inputs,
            self._choices,
            self._reports,
            terms.time,
            train=self._prompts.train,
            selection=FrozenSelection(kind="all"),
            named=self._begun.get((description, sealed), ""),
            anew=terms.anew,
            keyless=terms.keyless,
            concurrency=terms.limits.concurrency,
        )

    def _trust(self, ended: AnsweredRun) -> None:
        """Take note of the instrument check, which the first run makes."""
        if self._checked:
            return
        self._checked = True
        failed = ", ".join(verdict.model for verdict in ended.verdicts if verdict.failed)
        if failed and not self._terms.limits.despite_check:
            raise GateError(
                f"the instrument check failed for {failed}, so no candidate was measured: --despite-check goes on"
            )
        if failed:
            self.notes.append(f"the instrument check failed for {failed}: these figures are not to be trusted")


def _refuse_incomplete(ended: AnsweredRun) -> None:
    if ended.reason == INTERRUPTED:
        raise KeyboardInterrupt
    larger = " with a larger cap" if ended.capped else ""
    raise AbortedError(
        f"incomplete: {ended.left} calls have no result ({ended.reason}); run the same command again{larger} to continue"
    )


def choose_panel(models: tuple[str, ...], reps: int | None, seed: int, collection: DraftingCollection) -> RouterChoices:
    """What the models are asked: as `router run` asks it, with every description listed whole."""
    return choices(RouterOptions(models=models, reps=reps, seed=seed, listing=FULL), collection.config.router)


def read_rights(results: Sequence[RoutingResult], prompts: Sequence[Prompt], models: Sequence[str]) -> Rights:
    """By prompt, the mean over models of the share of answers that put the right skill first.

    An answer of a wrong form is a wrong answer, as in every run of the router. A call without an answer counts for
    nothing; a prompt is missing where a model has no answer to it.
    """
    answers: dict[tuple[str, str], list[str | None]] = {}
    for result in results:
        if result.scored:
            answers.setdefault((result.prompt_id, result.model), []).append(result.primary)
    found: dict[str, float] = {}
    for prompt in prompts:
        mine = [answers.get((prompt.prompt_id, model), []) for model in models]
        if all(mine):
            shares = [sum(pick == prompt.target for pick in picks) / len(picks) for picks in mine]
            found[prompt.prompt_id] = math.fsum(shares) / len(shares)
    return found


def _count_bytes(prepared: PreparedSweep) -> int:
    """How much a run has left to send."""
    return sum(told.load.input_bytes for told in prepared.forecast.models)


def _add_loads(loads: Sequence[Load]) -> Load:
    """The load of one model in several runs."""
    return replace(
        loads[0],
        calls=sum(load.calls for load in loads),
        input_bytes=sum(load.input_bytes for load in loads),
        repeated=sum(load.repeated for load in loads),
    )
