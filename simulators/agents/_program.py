"""The scripted agent's program in its sandbox: `python -I -S agent.py plan.json [list]`, run in the workspace.

It imports little, so it starts at once, and decides nothing: the plan says what to do. Skills are those on disk,
whatever was planned.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

DRAFT = "scripted-draft.txt"
_SHOWN = 20_000


def main() -> int:
    """Carry out the plan; the exit code is 1 if it says that the agent crashes."""
    with open(sys.argv[1], encoding="utf-8") as stream:
        plan = json.load(stream)
    say(event="start", agent="scripted", model="scripted", skills=found_skills(plan))
    if len(sys.argv) > 2:
        return 0
    if plan["open"]:
        path = f"{plan['skills']}/{plan['open']}/SKILL.md"
        use("read", {"path": path}, lambda: read(path))
    for _ in range(plan["lists"]):
        use("list", {"path": "."}, lambda: ", ".join(sorted(os.listdir("."))[:20]))
    time.sleep(plan["sleep"])
    failure, error = plan["failure"], f"it is scripted to end so ({plan['failure']})" if plan["failure"] else ""
    if failure == "timeout":
        time.sleep(plan["hang"])
    if not failure:
        error = use("run", {"command": plan["work"]}, lambda: work(plan))
        failure = "infrastructure" if error else ""
    say(
        event="end", stop_reason=failure or "finished", final="" if failure else plan["final"], usage=plan["usage"],
        cost_usd=plan["cost_usd"], turns=plan["turns"], failure=failure, error=error,
    )  # fmt: skip
    return int(failure == "infrastructure")


def say(**event: object) -> None:
    """Print one line of the stream."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def use(name: str, arguments: dict[str, str], tool: Callable[[], str]) -> str:
    """Call a tool and print its arguments and result; returns the error, or ""."""
    say(event="step", text="", calls=[{"id": "", "name": name, "arguments": arguments}])
    try:
        said, error = tool(), ""
    except OSError as problem:
        said = error = problem.strerror or "it cannot be done"
    say(event="result", index=0, text=said, failed=bool(error))
    return error


def found_skills(plan: dict[str, Any]) -> list[str]:
    """The skills below the workspace and home, those of the plan first and in its order."""
    names: set[str] = set()
    for folder in (plan["skills"], os.path.join(plan["home"], plan["skills"])):
        try:
            inner = os.listdir(folder)
        except OSError:
            continue
        names.update(name for name in inner if os.path.isfile(os.path.join(folder, name, "SKILL.md")))
    return [name for name in plan["order"] if name in names] + sorted(names - set(plan["order"]))


def read(path: str) -> str:
    """Read the start of a text file."""
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read(_SHOWN)


def work(plan: dict[str, Any]) -> str:
    """Do the task, or a useless part of it, or nothing."""
    if plan["work"] == "draft":
        with open(DRAFT, "w", encoding="utf-8") as stream:
            stream.write("Begun, and not finished.\n")
    elif plan["work"] == "oracle":
        if not plan["argv"]:
            raise OSError(0, "the task has no oracle, so it cannot be done by script")
        code = run(plan["argv"], {**os.environ, **plan["env"]}, plan["oracle_sec"])
        if code != 0:
            raise OSError(0, "the oracle took too long" if code is None else f"the oracle ended with {code}")
    return "done"


def run(argv: list[str], env: dict[str, str], seconds: float) -> int | None:
    """Run a program without input and output; returns its exit code, None if it takes too long."""
    quiet = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    quiet += [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    pid = os.posix_spawnp(argv[0], argv, env, file_actions=quiet, setpgroup=0)
    end, pause = time.monotonic() + seconds, 0.001
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.killpg(pid, 9)
            os.waitpid(pid, 0)
            return None
        time.sleep(pause)
        pause = min(0.02, pause * 1.5)


if __name__ == "__main__":
    sys.exit(main())
