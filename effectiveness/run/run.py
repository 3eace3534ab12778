"""The run itself: each trial made within the caps, after those that another run has already were taken over."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator

from msgspec import UNSET, structs

from skill_health.bench.budget import Budget
from skill_health.bench.journal import Journal
from skill_health.bench.run.conduct import RunTerms
from skill_health.core.errors import AbortedError
from skill_health.documents._record import record_values
from skill_health.documents.effect_attempt import TrialAttempt
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.plan.extend import Extension
from skill_health.effectiveness.plan.plan import Planned, TrialPlan
from skill_health.effectiveness.run.probes import Probing
from skill_health.effectiveness.run.rescore import Rescored, replace_verdict, rescore
from skill_health.effectiveness.run.runner import AgentRunner
from skill_health.effectiveness.run.runs import folder_of, make_way
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.workspace.scripts import ScriptOptions

Trial = Callable[[TrialSpec, str], Awaitable[TrialResult]]
"""Runs the trial of a cell and keeps it in a folder, as `skill_health.effectiveness.trial.trial.run_trial` does."""


class TrialRunner(AgentRunner[Planned, TrialResult]):
    """One run of trials, or what is left of it; those of `extension` are taken over."""

    ATTEMPT = TrialAttempt
    FINE = ("pass", "fail")

    def __init__(
        self,
        plan: TrialPlan,
        journal: Journal,
        budget: Budget,
        trial: Trial,
        probing: Probing | None = None,
        extension: Extension | None = None,
    ) -> None:
        super().__init__(plan, journal, budget, probing)
        self.plan = plan
        self._trial, self._extension = trial, extension

    def wanted(self) -> Iterator[Planned]:
        """All trials in the order that they are made in."""
        return self.plan.trials()

    def reserved(self, planned: Planned) -> float:
        """The most dollars of one trial: of each agent that its arm starts."""
        return planned.model.reserved * planned.arm.agents

    def settled(self, result: TrialResult) -> bool:
        """Whether nothing is to be tried again."""
        return result.finished

    def where(self, result: TrialResult) -> str:
        """The trial for people."""
        return f"{result.model}, {result.arm}, task {result.task_id}"

    async def start(self, planned: Planned, cell: TrialSpec) -> TrialResult:
        """One trial, kept in its folder."""
        folder = folder_of(planned.key)
        place = os.path.join(self.journal.folder, folder)
        await asyncio.to_thread(make_way, place, cell.attempt - 1)
        return structs.replace(await self._trial(cell, place), attempts=cell.attempt, folder=folder)

    async def take_over(self, terms: RunTerms) -> None:
        """Take over every trial that has no result yet; its folder is copied first, so that a kill loses nothing.

        Those whose verifier has changed are verified again; one that cannot be is left to be made anew. Raises
        AbortedError where nothing can be run or written.
        """
        if (extension := self._extension) is None:
            return
        plan, journal = self.plan, self.journal
        waiting = [key for key in extension.trials if key not in journal.results]
        again = [extension.trials[key] for key in waiting if key in extension.verify_again]
        tasks = {task.id: task for task in plan.tasks}
        options = ScriptOptions(back_end(plan.sandbox.name), plan.sandbox.image, terms.concurrency)
        verified = await rescore(extension.donor.folder, again, tasks, options) if again else []
        judged = {each.before.key: each for each in verified if each.word in ("same", "changed")}
        for key in waiting:
            new = judged.get(key)
            if key in extension.verify_again and new is None:
                continue
            result = new.after if new else extension.trials[key]
            maker = extension.donor.run_id if result.taken_from is UNSET else result.taken_from
            await asyncio.to_thread(_copy_trial, extension.donor.folder, journal.folder, result.folder, new)
            await journal.add(record_values(structs.replace(result, taken_from=maker)))


def _copy_trial(donor: str, run: str, folder: str, new: Rescored | None) -> None:
    """Copy the folder of a trial, with its new verdict where there is one; it is there as a whole or not at all."""
    place = os.path.join(run, folder)
    above, name = os.path.split(place)
    half = os.path.join(above, f".{name[:80]}-taken")
    try:
        os.makedirs(above, exist_ok=True)
        shutil.rmtree(half, ignore_errors=True)
        shutil.copytree(os.path.join(donor, folder), half, symlinks=True)
        if new:
            replace_verdict(half, new)
        shutil.rmtree(place, ignore_errors=True)
        os.rename(half, place)
    except (OSError, shutil.Error) as error:
        raise AbortedError(f"cannot take over {folder}: {getattr(error, 'strerror', None) or error}") from error
