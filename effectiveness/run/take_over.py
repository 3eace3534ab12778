"""What an extended run takes over: the results of another run with the folders of their trials, without any agent."""

from __future__ import annotations

import asyncio
import os
import shutil

from msgspec import UNSET, structs

from skill_health.bench.journal import Journal
from skill_health.core.errors import AbortedError
from skill_health.documents._record import record_values
from skill_health.effectiveness.plan.extend import Extension
from skill_health.effectiveness.plan.plan import TrialPlan
from skill_health.effectiveness.run.rescore import Rescored, replace_verdict, rescore
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.workspace.scripts import ScriptOptions


async def take_over(extension: Extension, plan: TrialPlan, journal: Journal, at_once: int) -> None:
    """Take over every trial that has no result yet; its folder is copied first, so that a kill loses nothing.

    Those whose verifier has changed are verified again; one that cannot be is left to be made anew. Raises AbortedError
    where nothing can be run or written.
    """
    waiting = [key for key in extension.trials if key not in journal.results]
    again = [extension.trials[key] for key in waiting if key in extension.verify_again]
    tasks = {task.id: task for task in plan.tasks}
    terms = ScriptOptions(back_end(plan.sandbox.name), plan.sandbox.image, at_once)
    verified = await rescore(extension.donor.folder, again, tasks, terms) if again else []
    judged = {each.before.key: each for each in verified if each.word in ("same", "changed")}
    for key in waiting:
        new = judged.get(key)
        if key in extension.verify_again and new is None:
            continue
        result = new.after if new else extension.trials[key]
        maker = extension.donor.run_id if result.taken_from is UNSET else result.taken_from
        await asyncio.to_thread(_copy, extension.donor.folder, journal.folder, result.folder, new)
        await journal.add(record_values(structs.replace(result, taken_from=maker)))


def _copy(donor: str, run: str, folder: str, new: Rescored | None) -> None:
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
