"""A program of a skill, run in the sandbox of verifiers: no network, nothing of the user's, everything limited."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from skill_health.drafts.tasks.model import SOLUTION
from skill_health.drafts.tasks.templates._api import RunScript, ScriptedRun
from skill_health.effectiveness.check.verifier_runs import begun
from skill_health.effectiveness.sandbox._run import SandboxError
from skill_health.effectiveness.tasks._api import Task, script, task_digest
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.workspace.scripts import ScriptOptions, ScriptSurroundings, run_script

SECONDS = 20.0


def run_in_sandbox(terms: ScriptOptions) -> RunScript:
    """A runner of bash texts on these terms, each in fresh folders."""

    def run(text: str, starting: Sequence[File], beside: Sequence[File]) -> ScriptedRun:
        return asyncio.run(_run(terms, text, starting, beside))

    return run


async def _run(terms: ScriptOptions, text: str, starting: Sequence[File], beside: Sequence[File]) -> ScriptedRun:
    files = (File(SOLUTION, text.encode()), *beside)
    task = Task(
        id="draft", slug="draft", path="draft", format="plan_directory", prompt="", target_skills=(),
        files=tuple(starting), digest=task_digest("", starting, (), SECONDS),
    )  # fmt: skip
    try:
        async with begun(task, terms) as at:
            folder = at.places.beside("oracle")
            around = ScriptSurroundings(folder, {}, {})
            output = await run_script(task, script(("bash", SOLUTION), files, SECONDS), at, around)
    except (OSError, SandboxError):
        return ScriptedRun(None, "")
    return ScriptedRun(output.exit_code, output.stdout.decode("utf-8", "replace"))
