"""One stage of a drafting of tasks: its questions are a run, without those that an earlier run has answered."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TextIO

from skill_health.bench.command_line import print_lines
from skill_health.bench.manifest import digest
from skill_health.bench.run_folder import earlier_runs, load_result_records
from skill_health.config.settings import RouterSettings
from skill_health.documents._record import convert_record
from skill_health.documents.draft_answer import DraftAnswer
from skill_health.documents.draft_manifest import DraftManifest
from skill_health.drafts.asking.plan import (
    DRAFTING,
    DraftingPlan,
    DraftQuestion,
    OpenWriter,
    PlannedQuestion,
    PreparedDrafting,
    forecast_lines,
    prepare_drafting,
)
from skill_health.drafts.asking.run import DraftingOutcome, DraftingTerms, conduct_drafting

SEED = 1
"""The seed of retries, and of the split of drafted tasks."""


@dataclass(frozen=True, slots=True)
class StageQuestion:
    """A question by its name. `form` says what is wrong with the form of an answer, "" for nothing."""

    name: str
    posed: DraftQuestion
    max_output: int
    form: Callable[[str], str]

    @property
    def recipe(self) -> str:
        """What stands for it in a manifest."""
        return f"{self.posed.system}\0{self.posed.text}"


@dataclass(frozen=True, slots=True)
class StageAnswer:
    """What came of a question, and in which run."""

    answer: DraftAnswer
    run: str

    @property
    def text(self) -> str | None:
        """The answer, readable or not; None where the model gave none."""
        return self.answer.text if self.answer.status in ("finished", "format_failure", "truncated") else None


@dataclass(frozen=True, slots=True)
class PreparedStage:
    """A stage that can begin: what is known, and the run of what is left; None where nothing is."""

    known: Mapping[str, StageAnswer]
    run: PreparedDrafting | None


def prepare_stage(
    questions: Sequence[StageQuestion],
    writer: OpenWriter,
    routing: RouterSettings,
    reports: str,
    time: datetime,
    anew: bool = False,
) -> PreparedStage:
    """Look up what this model was asked before, unless `anew`, and prepare the rest; nothing is asked or written.

    Raises UsageError for everything that the user can fix.
    """
    known = {} if anew else _earlier_answers(questions, writer, reports)
    left = [question for question in questions if question.name not in known]
    plan = DraftingPlan("tasks", SEED, tuple(_plan(question, writer) for question in left))
    return PreparedStage(known, prepare_drafting(plan, routing, reports, time, anew=anew) if left else None)


def _plan(question: StageQuestion, writer: OpenWriter) -> PlannedQuestion:
    return PlannedQuestion(
        question.name,
        writer,
        lambda answers: question.posed,
        question.form,
        question.recipe,
        question.posed.size,
        question.max_output,
        question.max_output // 2,
    )


def _earlier_answers(questions: Sequence[StageQuestion], writer: OpenWriter, reports: str) -> dict[str, StageAnswer]:
    """What this model answered to the same questions in runs that are over, the latest first."""
    wanted = {(question.name, digest(question.recipe)): question.name for question in questions}
    found: dict[str, StageAnswer] = {}
    for folder, values in earlier_runs(reports, DRAFTING):
        manifest = convert_record(values, DraftManifest)
        asked = [each for each in manifest.questions if (each.question, each.digest) in wanted]
        same = any((each.spec, each.base_url) == (writer.spec, writer.where) for each in manifest.models)
        if not asked or not same:
            continue
        answers = {each.question: each for each in load_result_records(folder, DraftAnswer)}
        if len(answers) < len(manifest.questions):
            continue
        for each in asked:
            if each.model == writer.spec and answers[each.question].scored:
                found.setdefault(each.question, StageAnswer(answers[each.question], os.path.basename(folder)))
    return found


def ask_stage(
    prepared: PreparedStage, terms: DraftingTerms, stream: TextIO | None
) -> tuple[dict[str, StageAnswer], DraftingOutcome | None]:
    """All answers by their questions, and how the run ended, None where nothing was left. Raises as a drafting."""
    if prepared.run is None:
        return dict(prepared.known), None
    print_lines(forecast_lines(prepared.run, terms.max_runs, terms.max_usd))
    ended = conduct_drafting(prepared.run, terms, stream)
    return {**prepared.known, **{each.question: StageAnswer(each, ended.run_id) for each in ended.answers}}, ended


def spent_after(ended: DraftingOutcome | None, terms: DraftingTerms) -> DraftingTerms:
    """The terms of the next stage: what has been spent counts for its caps."""
    return terms if ended is None else replace(terms, before=ended.spent)
