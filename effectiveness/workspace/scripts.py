"""A script of a task, oracle or verifier, in its sandbox: no network, and nothing of the user's in its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from skill_health.core.files import is_there
from skill_health.effectiveness.agents._api import Command, ProgramOutput
from skill_health.effectiveness.gateway.proxy import open_proxy, proxy_environment
from skill_health.effectiveness.sandbox._api import BackEnd, SandboxLimits, SandboxSession
from skill_health.effectiveness.sandbox._resources import task_limits
from skill_health.effectiveness.sandbox._run import run
from skill_health.effectiveness.tasks._api import Script, Task
from skill_health.effectiveness.tasks._scripts import WORKSPACE
from skill_health.effectiveness.workspace.folders import stage_script
from skill_health.effectiveness.workspace.process import MAX_OUTPUT, clean_environment
from skill_health.effectiveness.workspace.workspace import Workplace

# Much may be printed of what an agent has made large; that is no reason to stop, only not to keep it.
_READ = 8 << 20
_SITE, _PYTHON = "sitecustomize.py", "-python"
# These hold for every repository, whatever it says itself.
_GIT = (("core.fsmonitor", "false"), ("core.hooksPath", os.devnull), ("protocol.ext.allow", "never"))


@dataclass(frozen=True, slots=True)
class ScriptOptions:
    """Where scripts run, and how many at once."""

    sandbox: BackEnd
    image: str = ""
    at_once: int = 2


@dataclass(frozen=True, slots=True)
class ScriptSurroundings:
    """What a script has beside its workspace. Paths are the host's, which are the same inside.

    `folder` is an empty one for its files; `targets` says which folder each role of the task's places is, beside the
    workspace's; `readable` and `writable` are what it may read and write, `shown` what a container of the task's own
    image has at other paths, read-only; `variables` are of its environment. A script that `judges` an agent's work is
    kept from what programs would obey in it.
    """

    folder: str
    targets: Mapping[str, str]
    variables: Mapping[str, str]
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    shown: tuple[tuple[str, str], ...] = ()
    judges: bool = False


def skills_of_image(task: Task, at: Workplace) -> tuple[tuple[str, str], ...]:
    """The task's skills where its image would have them: it is made without, and its scripts may stand on them.

    They are the task's own files, the same in every arm. Where an agent left something else in their place, that stays.
    """
    recipe = task.recipe
    if recipe is None or at.own is None:
        return ()
    folders = ((at.places.workspace, at.own.workdir), *at.outputs)
    shown = [(os.path.join(recipe.context, path), place) for path, place in recipe.skill_places]
    return tuple((skills, place) for skills, place in shown if not any(_blocked(place, *each) for each in folders))


def _blocked(place: str, folder: str, inside: str) -> bool:
    """Whether something that is no folder stands on the way to a place, in a folder that has the path `inside`."""
    if not place.startswith(f"{inside}/"):
        return False
    parts = place[len(inside) + 1 :].split("/")
    above = (os.path.join(folder, *parts[:end]) for end in range(1, len(parts) + 1))
    return any(os.path.islink(each) or (is_there(each, links=False) and not os.path.isdir(each)) for each in above)


async def run_script(task: Task, script: Script, at: Workplace, around: ScriptSurroundings) -> ProgramOutput:
    """Stage a script of a task, which comes into being only now, and run it in its sandbox within its time limit.

    In what it printed, of which MAX_OUTPUT bytes are kept, the name of the trial's own folder, which is another one
    each time, is replaced. Raises OSError where it cannot be staged, and SandboxError where it cannot be started.
    """
    places, sandbox = at.places, at.sandbox
    guards = _guards(around.folder, dict(script.env)) if around.judges else {}
    staged = [f"{around.folder}{_PYTHON}"] if guards else []
    mounts = [*at.outputs]
    if at.own is None:
        argv = stage_script(script, around.folder, task.places, {WORKSPACE: at.inside.workspace, **around.targets})
    else:
        # Paths of a container are real in one.
        argv = stage_script(script, around.folder, (), {})
        mounts += [(around.targets[role], path) for path, role in task.places if role in around.targets]
        inside = next((path for folder, path in mounts if folder == around.folder), around.folder)
        argv = [
            f"{inside}{word.removeprefix(around.folder)}" if word.startswith(f"{around.folder}/") else word
            for word in argv
        ]
    box = SandboxSession(
        places.workspace, places.home, places.temporary, (around.folder, *around.readable, *staged), around.writable,
        hidden=at.hidden, image=at.image, own=at.own, mounts=tuple(mounts), shown=around.shown, proxy=at.proxy(task.network), scratch=at.scratch,
    )  # fmt: skip
    given = {**dict(at.own.env if at.own else ()), **(proxy_environment() if task.network else {})}
    more = {**given, **at.path(), **dict(task.env), **dict(script.env), **at.ceiling, **around.variables, **guards}
    command = Command(tuple(argv), clean_environment(at.inside.home, at.inside.temporary, more.items()))
    limits = task_limits(SandboxLimits(timeout_sec=script.timeout_sec, output_bytes=_READ), task.resources)
    async with open_proxy(task.network, box.proxy[0]) as passed:
        output = await run(sandbox, box, command, limits)
    output = replace(output, notes=(*output.notes, *passed.notes()))
    hidden = places.base.encode()
    out, err = (text[:MAX_OUTPUT].replace(hidden, b"<temporary>") for text in (output.stdout, output.stderr))
    return replace(output, stdout=out, stderr=err)


def _guards(folder: str, given: Mapping[str, str]) -> dict[str, str]:
    """What of the environment keeps Python and git from code in the work; stages what it needs beside the folder."""
    python = f"{folder}{_PYTHON}"
    os.mkdir(python, 0o700)
    with open(os.path.join(os.path.dirname(__file__), "python_guard.py"), "rb") as source:
        data = source.read()
    with open(os.path.join(python, _SITE), "xb") as target:
        target.write(data)
    settings = {
        f"GIT_CONFIG_{kind}_{nth}": value
        for nth, pair in enumerate(_GIT)
        for kind, value in zip(("KEY", "VALUE"), pair, strict=True)
    }
    paths = [python, *filter(None, [given.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths), "GIT_CONFIG_COUNT": str(len(_GIT)), **settings}


def last_line(output: ProgramOutput) -> str:
    """The last line that a program wrote, errors first; "" for none."""
    lines = (output.stderr.strip() or output.stdout.strip()).decode("utf-8", "replace").splitlines()
    return lines[-1].strip()[:200] if lines else ""
