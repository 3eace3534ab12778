"""Skills -> proposals -> tasks, by a model or by templates, each held against the rules and kept with its reason.

What is kept is the state: whoever was killed and begins again finds what is there, and pays for nothing twice.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from msgspec import structs

from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.core.files import is_there
from skill_health.documents._draft import DraftOrigin, DraftState
from skill_health.documents._drafting import DraftFlaw
from skill_health.documents.proposal_draft import ProposalContent, ProposalDraft
from skill_health.documents.task_draft import TaskContent, TaskDraft
from skill_health.drafts.asking.plan import OpenWriter, forecast_lines
from skill_health.drafts.asking.run import DraftingOutcome, DraftingTerms
from skill_health.drafts.store import (
    add_drafts,
    digest_content,
    draft_path,
    format_time,
    name_draft,
    read_drafts,
    settle_draft,
    split_family,
)
from skill_health.drafts.tasks.answers import BadAnswer, read_proposals, read_task
from skill_health.drafts.tasks.folder import digest_task, load_folder, task_files, task_place, write_folder
from skill_health.drafts.tasks.model import DraftedTask, find_form_flaws, flaw, sort_flaws
from skill_health.drafts.tasks.programs import run_in_sandbox
from skill_health.drafts.tasks.questions import ask_clear, ask_proposals, ask_task, read_clear
from skill_health.drafts.tasks.stage import (
    SEED,
    StageAnswer,
    StageQuestion,
    ask_stage,
    prepare_stage,
    spent_after,
)
from skill_health.drafts.tasks.subject import NOT_HERE, DraftSubject
from skill_health.drafts.tasks.templates._api import task_templates
from skill_health.drafts.tasks.validate import (
    DraftSurroundings,
    KnownTask,
    find_near,
    find_static_flaws,
    try_tasks,
)
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.workspace.folders import remove_tree
from skill_health.effectiveness.workspace.scripts import ScriptOptions
from skill_health.text.numbers import count
from skill_health.text.similarity import terms as words


@dataclass(frozen=True, slots=True)
class DraftTerms:
    """How tasks are drafted.

    `most` proposals are made of each subject; with `straight` all that no program rejects are turned into tasks without
    waiting for a person. `writer` is the model that drafts, None for templates; `reviewer` may only reject. Scripts run
    on the terms `scripts`.
    """

    root: str
    reports: str
    time: datetime
    scripts: ScriptOptions
    most: int = 3
    straight: bool = False
    writer: OpenWriter | None = None
    reviewer: OpenWriter | None = None
    routing: RouterSettings = field(default_factory=RouterSettings)
    asking: DraftingTerms = field(default_factory=DraftingTerms)
    anew: bool = False


class DraftingStopped(Exception):
    """A run of questions that is not over: some have no answer, for the given reason."""

    def __init__(self, ended: DraftingOutcome) -> None:
        super().__init__(ended.reason)
        self.ended = ended


@dataclass(frozen=True, slots=True)
class _Made:
    """A task as it was drafted, or why there is none: its proposal, and the answer that it was read from."""

    proposal: ProposalDraft
    drafted: DraftedTask | None
    flaws: tuple[DraftFlaw, ...]
    origin: DraftOrigin
    answer: str = ""


class TaskDrafting:
    """One drafting over some subjects. Raises DraftingStopped where a run of questions is not over."""

    def __init__(self, subjects: Sequence[DraftSubject], around: DraftSurroundings, terms: DraftTerms) -> None:
        self.subjects, self.around, self.terms = tuple(subjects), around, terms
        self.unanswered: dict[tuple[str, ...], int] = {}
        self._asking = terms.asking
        self._templates: dict[str, DraftedTask] = {}

    def draft(self) -> None:
        """Propose, and make tasks of what is accepted already."""
        self.propose()
        self.make_tasks()

    def forecast(self) -> Iterator[str]:
        """What would be asked first and at most, for people; nothing is asked or written."""
        on = self.terms
        if on.writer is None:
            yield "no model is named: templates draft, and nothing is asked"
            return
        questions = [ask_proposals(subject, on.most, self._context()) for subject in self.subjects]
        prepared = prepare_stage(questions, on.writer, on.routing, on.reports, on.time, on.anew)
        if prepared.run is not None:
            yield from forecast_lines(prepared.run, on.asking.max_runs, on.asking.max_usd)
        asked = f", and as many to {on.reviewer.spec} about clarity" if on.reviewer else ""
        most = count(on.most * len(self.subjects), "call")
        yield f"then at most {most} for tasks{asked}; each stage shows its own forecast"

    def propose(self) -> None:
        """Write the proposals of every subject that this maker has not been asked for before."""
        made = self._proposed_by_model() if self.terms.writer else self._proposed_by_templates()
        for subject, found in made:
            if settled := list(self._settle_proposals(subject, found)):
                add_drafts(self.terms.root, settled)

    def _proposed_by_templates(self) -> Iterator[tuple[DraftSubject, list[tuple[ProposalContent, DraftOrigin]]]]:
        for subject in self.subjects:
            found: list[tuple[ProposalContent, DraftOrigin]] = []
            for name, template in task_templates().items():
                for each in template.draft(subject, run_in_sandbox(self.terms.scripts)):
                    found.append((each.proposal, DraftOrigin(by="template", template=name)))
                    self._templates[digest_content(each.proposal)] = each.task
            wanted = frozenset(words(subject.intent))
            found.sort(key=lambda one: -len(wanted.intersection(words(_said(one[0])))))
            yield subject, found[: self.terms.most]

    def _proposed_by_model(self) -> Iterator[tuple[DraftSubject, list[tuple[ProposalContent, DraftOrigin]]]]:
        questions = [ask_proposals(subject, self.terms.most, self._context()) for subject in self.subjects]
        answers = self._ask("proposals", questions, self.terms.writer)
        for subject, question in zip(self.subjects, questions, strict=True):
            answer = answers.get(question.name)
            if answer is None or answer.text is None:
                self._miss(subject)
                continue
            origin = self._origin(answer)
            try:
                found = read_proposals(answer.text, self.terms.most, subject.names)
            except BadAnswer as error:
                yield subject, []
                add_drafts(self.terms.root, [self._unread_proposal(subject, error.flaw, origin)])
                continue
            yield subject, [(each, origin) for each in found]

    def _origin(self, answer: StageAnswer) -> DraftOrigin:
        assert self.terms.writer is not None
        resolved = answer.answer.resolved_model or ""
        return DraftOrigin(by="model", model=self.terms.writer.spec, resolved=resolved, run=answer.run)

    def _context(self) -> int:
        """The tokens that question and answer of the model may have together; 0 where nothing says."""
        return self.terms.writer.provider.context if self.terms.writer else 0

    def _miss(self, subject: DraftSubject) -> None:
        self.unanswered[subject.names] = self.unanswered.get(subject.names, 0) + 1

    def _unread_proposal(self, subject: DraftSubject, why: DraftFlaw, origin: DraftOrigin) -> ProposalDraft:
        """What stands for an answer that held no proposal that could be read."""
        nothing = "none: the answer could not be read"
        content = ProposalContent(
            title=f"unread: {origin.run}",
            situation=nothing,
            inputs=(),
            outcome=nothing,
            hidden=nothing,
            skills=subject.names,
        )
        return self._rejected_proposal(subject, content, origin, (why,))

    def _settle_proposals(
        self, subject: DraftSubject, found: Sequence[tuple[ProposalContent, DraftOrigin]]
    ) -> Iterator[ProposalDraft]:
        seen = [KnownTask(each.id, _said(each.content), each.content.skills) for each in self._proposals(subject)]
        known = {each.name for each in seen}
        for content, origin in found:
            draft = self._new_proposal(subject, content, origin)
            if draft.id in known:
                continue
            flaws = [
                flaw("needs", f"it needs {NOT_HERE[each]}, which no task has here")
                for each in content.needs
                if each in NOT_HERE
            ]
            if near := find_near(_said(content), content.skills, seen):
                flaws.append(flaw("duplicate", f"it proposes nearly what {near} proposes"))
            if flaws:
                yield self._rejected_proposal(subject, content, origin, sort_flaws(flaws))
                continue
            seen.append(KnownTask(draft.id, _said(content), content.skills))
            yield draft

    def _new_proposal(self, subject: DraftSubject, content: ProposalContent, origin: DraftOrigin) -> ProposalDraft:
        name = name_draft(subject.label, content)
        return ProposalDraft(
            version=1, kind="proposal", id=name, state="proposed", skills=subject.freeze(), origin=origin,
            created=format_time(self.terms.time), generated=digest_content(content),
            split=split_family(name, SEED), content=content,
        )  # fmt: skip

    def _rejected_proposal(
        self, subject: DraftSubject, content: ProposalContent, origin: DraftOrigin, flaws: tuple[DraftFlaw, ...]
    ) -> ProposalDraft:
        draft = structs.replace(self._new_proposal(subject, content, origin), flaws=flaws)
        return settle_draft(draft, "rejected", "validation", self.terms.time, flaws[0].message, flaws[0].kind)

    def _proposals(self, subject: DraftSubject) -> list[ProposalDraft]:
        """The proposals of this maker for a subject as it is now, in the order of their ids."""
        frozen = subject.freeze()
        return [
            each
            for each in read_drafts(self.terms.root, ProposalDraft).drafts
            if each.skills == frozen and is_drafted_by(each.origin, self.terms.writer)
        ]

    def make_tasks(self) -> None:
        """Make a task of every proposal that is accepted, or not rejected where nobody is waited for."""
        states: tuple[DraftState, ...] = ("accepted", "proposed") if self.terms.straight else ("accepted",)
        wanted = [
            (subject, proposal)
            for subject in self.subjects
            for proposal in self._proposals(subject)
            if proposal.state in states
        ]
        there = {each.content.proposal for each in read_drafts(self.terms.root, TaskDraft).drafts}
        made = self._made_by_model(wanted) if self.terms.writer else self._made_by_templates(wanted)
        todo = [(subject, each) for subject, each in made if each.proposal.id not in there]
        self._settle_tasks(todo)

    def _made_by_templates(
        self, wanted: Sequence[tuple[DraftSubject, ProposalDraft]]
    ) -> list[tuple[DraftSubject, _Made]]:
        found = []
        for subject, proposal in wanted:
            drafted = self._templates.get(digest_content(proposal.content))
            # Somebody has edited the proposal, and no template can follow that.
            flaws = (
                ()
                if drafted
                else (flaw("no-answer", "no template gives this proposal: it was edited, or the skill has changed"),)
            )
            found.append((subject, _Made(proposal, drafted, flaws, proposal.origin)))
        return found

    def _made_by_model(self, wanted: Sequence[tuple[DraftSubject, ProposalDraft]]) -> list[tuple[DraftSubject, _Made]]:
        context = self._context()
        questions = [ask_task(subject, proposal.content, proposal.id, context) for subject, proposal in wanted]
        answers = self._ask("tasks", questions, self.terms.writer) if questions else {}
        found = []
        for subject, proposal in wanted:
            answer = answers.get(proposal.id)
            if answer is None or (answer.text is None and answer.answer.status != "refusal"):
                self._miss(subject)
                continue
            origin = self._origin(answer)
            try:
                if answer.text is None:
                    raise BadAnswer(flaw("no-answer", answer.answer.error or "the model refused to answer"))
                drafted = read_task(answer.text)
            except BadAnswer as error:
                found.append((subject, _Made(proposal, None, (error.flaw,), origin, (answer.text or "")[: 1 << 18])))
                continue
            found.append((subject, _Made(proposal, drafted, (), origin, answer.text)))
        return found

    def _settle_tasks(self, made: Sequence[tuple[DraftSubject, _Made]]) -> None:
        """Validate tasks and write them: first what each says by itself, then all together in the sandbox."""
        around = self.around
        ready: list[tuple[DraftSubject, _Made, Task, tuple[File, ...]]] = []
        with tempfile.TemporaryDirectory(prefix="skill-health-") as folder:
            for subject, each in made:
                drafted, flaws = each.drafted, list(each.flaws)
                if drafted is not None:
                    flaws += find_form_flaws(drafted)
                if drafted is None or flaws:
                    self._write(subject, each, None, sort_flaws(flaws), ())
                    continue
                name = each.proposal.id
                files = task_files(drafted, name, each.proposal.content.title, subject.targets)
                place = os.path.join(folder, name)
                try:
                    write_folder(files, place)
                    task = load_folder(place, folder)
                except UsageError as error:
                    self._write(subject, each, None, (flaw("wrong-form", str(error)),), ())
                    continue
                # A task may mean its skill by the name of its plugin; the rules know the skill's own.
                if static := find_static_flaws(replace(task, target_skills=subject.names), around):
                    self._write(subject, each, task, static, files)
                    continue
                around = replace(around, known=(*around.known, KnownTask(name, task.prompt, subject.names)))
                ready.append((subject, each, task, files))
            tried = (
                try_tasks(
                    [replace(task, target_skills=subject.names) for subject, _, task, _ in ready],
                    around,
                    self.terms.scripts,
                )
                if ready
                else {}
            )
            reviews = self._review([task for _, _, task, _ in ready if not tried[task.id]])
            for subject, each, task, files in ready:
                review, why = reviews.get(task.id, ("", ""))
                found = [*tried[task.id], *([flaw("ambiguous", f"the second model says: {why}")] if why else [])]
                self._write(subject, each, task, tuple(found), files, review)

    def _review(self, tasks: Sequence[Task]) -> dict[str, tuple[str, str]]:
        """What the second model says of each task: a word, and why it is ambiguous; it can only reject."""
        if self.terms.reviewer is None or not tasks:
            return {}
        questions = [ask_clear(task) for task in tasks]
        answers = self._ask("clarity", questions, self.terms.reviewer)
        found = {}
        for task in tasks:
            answer = answers.get(task.id)
            try:
                why = read_clear(answer.text) if answer and answer.text is not None else None
            except BadAnswer:
                why = None
            found[task.id] = ("unread", "") if why is None else ("ambiguous", why) if why else ("clear", "")
        return found

    def _write(
        self,
        subject: DraftSubject,
        made: _Made,
        task: Task | None,
        flaws: tuple[DraftFlaw, ...],
        files: tuple[File, ...],
        review: str = "",
    ) -> None:
        """Write a task's folder, and then its record, by which it counts."""
        name, drafted = made.proposal.id, made.drafted
        content = TaskContent(
            title=made.proposal.content.title,
            proposal=made.proposal.id,
            hidden=made.proposal.content.hidden,
            skills=subject.names,
            goal=len(drafted.items("goal")) if drafted else 0,
            instruction=len(drafted.items("instruction")) if drafted else 0,
            checked=sum(each.check is not None for each in drafted.criteria) if drafted else 0,
            digest=digest_task(task) if task else "",
        )
        draft = TaskDraft(
            version=1, kind="task", id=name, state="proposed", skills=subject.freeze(), origin=made.origin,
            created=format_time(self.terms.time), generated=digest_content(content), split=made.proposal.split,
            content=content, flaws=flaws, review=review, answer="" if task else made.answer[: 1 << 18],
            notes=_notes(made),
        )  # fmt: skip
        if flaws:
            draft = settle_draft(
                draft,
                "rejected",
                "model" if review == "ambiguous" else "validation",
                self.terms.time,
                flaws[0].message,
                flaws[0].kind,
            )
        place = task_place(self.terms.root, draft)
        if task is not None and not is_there(draft_path(self.terms.root, draft), links=False):
            # A folder without a record is what a killed process left.
            if is_there(place, links=False):
                remove_tree(place)
            write_folder(files, place)
        add_drafts(self.terms.root, [draft])

    def _ask(self, stage: str, questions: Sequence[StageQuestion], writer: OpenWriter | None) -> dict[str, StageAnswer]:
        """Ask a model what it has not answered yet. Raises DraftingStopped where some have no answer."""
        on = self.terms
        assert writer is not None
        prepared = prepare_stage(questions, writer, on.routing, on.reports, on.time, on.anew)
        answers, ended = ask_stage(prepared, self._asking, sys.stderr)
        self._asking = spent_after(ended, self._asking)
        if ended is not None and ended.left:
            raise DraftingStopped(ended)
        return answers


def is_drafted_by(origin: DraftOrigin, writer: OpenWriter | None) -> bool:
    """Whether a draft is this model's, or a template's where no model drafts."""
    return origin.by == "template" if writer is None else (origin.by, origin.model) == ("model", writer.spec)


def _said(content: ProposalContent) -> str:
    """What a proposal says, to be held against others."""
    return f"{content.title}\n{content.situation}\n{content.outcome}\n{content.hidden}"


def _notes(made: _Made) -> tuple[str, ...]:
    if made.origin.by != "template":
        return ()
    return ("made by a template of what the skill declares: weaker than what a person or a model thinks of",)
