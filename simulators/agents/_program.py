"""The scripted agent's program in its sandbox: `python -I -S agent.py plan.json [list]`, run in the workspace.

It imports little, so it starts at once, and decides nothing: the plan says what to do. Skills are those on disk,
whatever was planned. Where there is no sandbox, and no oracle to be run, `act` is called without a program around it.
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
    """Carry out the plan that is named first; with a second word only list the skills."""
    with open(sys.argv[1], encoding="utf-8") as stream:
        plan = json.load(stream)
    return act(plan, os.curdir, write, time.sleep, only_list=len(sys.argv) > 2)


def act(
    plan: dict[str, Any], root: str, say: Callable[[bytes], None], wait: Callable[[float], None], only_list: bool
) -> int:
    """Carry out a plan in the workspace `root`; the exit code is 1 if the plan says that the agent crashes."""
    tools = Tools(plan, root, say)
    tools.say(event="start", agent="scripted", model="scripted", skills=tools.found_skills())
    if only_list:
        return 0
    if plan["open"]:
        path = f"{plan['skills']}/{plan['open']}/SKILL.md"
        if plan["served"]:
            tools.use("read_skill", {"name": plan["open"]}, lambda: "as the server gives it")
        else:
            tools.use("read", {"path": path}, lambda: tools.read(path))
    for _ in range(plan["lists"]):
        tools.use("list", {"path": "."}, tools.list_files)
    wait(plan["sleep"])
    failure, error = plan["failure"], f"it is scripted to end so ({plan['failure']})" if plan["failure"] else ""
    if failure == "timeout":
        wait(plan["hang"])
    if not failure:
        error = tools.use("run", {"command": plan["work"]}, tools.work)
        failure = "infrastructure" if error else ""
    tools.say(
        event="end", stop_reason=failure or "finished", final="" if failure else plan["final"], usage=plan["usage"],
        cost_usd=plan["cost_usd"], turns=plan["turns"], failure=failure, error=error,
    )  # fmt: skip
    return int(failure == "infrastructure")


def write(data: bytes) -> None:
    """Print it at once."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


class Tools:
    """What the agent can do with a workspace, all of it told as lines of the stream."""

    def __init__(self, plan: dict[str, Any], root: str, say: Callable[[bytes], None]) -> None:
        self._plan, self._root, self._say = plan, root, say

    def say(self, **event: object) -> None:
        """Print one line of the stream."""
        self._say(json.dumps(event).encode("ascii") + b"\n")

    def use(self, name: str, arguments: dict[str, str], tool: Callable[[], str]) -> str:
        """Call a tool and print its arguments and result; returns the error, or ""."""
        self.say(event="step", text="", calls=[{"id": "", "name": name, "arguments": arguments}])
        try:
            said, error = tool(), ""
        except OSError as problem:
            said = error = problem.strerror or "it cannot be done"
        self.say(event="result", index=0, text=said, failed=bool(error))
        return error

    def found_skills(self) -> list[str]:
        """The skills below the workspace and home, those of the plan first and in its order."""
        names: set[str] = set()
        skills, order = self._plan["skills"], self._plan["order"]
        for folder in (os.path.join(self._root, skills), os.path.join(self._plan["home"], skills)):
            try:
                inner = os.listdir(folder)
            except OSError:
                continue
            names.update(name for name in inner if os.path.isfile(os.path.join(folder, name, "SKILL.md")))
        return [name for name in order if name in names] + sorted(names - set(order))

    def list_files(self) -> str:
        """The first names in the workspace."""
        return ", ".join(sorted(os.listdir(self._root))[:20])

    def read(self, path: str) -> str:
        """Read the start of a text file."""
        with open(os.path.join(self._root, path), encoding="utf-8", errors="replace") as stream:
            return stream.read(_SHOWN)

    def work(self) -> str:
        """Do the task, or a useless part of it, or nothing."""
        plan = self._plan
        if plan["work"] == "draft":
            path = os.path.join(self._root, DRAFT)
            with open(path, "w", encoding="utf-8") as stream:
                stream.write("Begun, and not finished.\n")
            os.chmod(path, 0o644)
        elif plan["work"] == "write":
            for inner, text in plan["files"].items():
                path = os.path.join(self._root, inner)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as stream:
                    stream.write(text)
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
