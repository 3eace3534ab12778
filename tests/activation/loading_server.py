"""A model server on loopback that does with each prompt what it was told to: opens a skill, another, two, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

from agent_play import Asked, Call, Play, _open, _run
from agent_server import WIRES, AgentServer, Request, _aside

from skill_health.effectiveness.sandbox._host import WORKSPACE

Way = Literal["skill", "file", "shell", "words", "list", "grep"]
"""How a skill is opened: by what the host has for it, a tool for files, or a shell; the last three open nothing."""
SEARCH = 'grep -rhoE \'CANARY-[A-Za-z0-9]+\' . "$HOME" "$TMPDIR" 2>/dev/null | sort -u; true'


@dataclass(frozen=True)
class Habit:
    """What the model does with one prompt. `opens` are skills in order, each in a call of its own, by the `way`.

    `first` are commands that it runs before; `idle` so many more after all that, before it answers.
    """

    opens: tuple[str, ...] = ()
    way: Way = "skill"
    first: tuple[str, ...] = ()
    idle: int = 0
    final: str = "All done."
    refuses: bool = False


class LoadingServer(AgentServer):
    """Plays a model of known habits: those of the prompt whose text stands in the request."""

    def __init__(self, prompts: Mapping[str, str], habits: Mapping[str, Habit], folder: str) -> None:
        super().__init__(Play(folder=folder))
        self.prompts = {prompt_id: " ".join(text.split()) for prompt_id, text in prompts.items()}
        self.habits = dict(habits)
        self.calls: dict[str, int] = {}
        """How many requests with tools each prompt made."""
        self.texts: dict[str, list[str]] = {}
        """The texts of those."""
        self._counting = Lock()

    def take(self, request: Request) -> tuple[int, Any]:
        path = request.path.partition("?")[0]
        wire = next((WIRES[end] for end in WIRES if path.endswith(end)), None)
        with self._lock:
            self.requests.append(request)
            if wire is not None:
                self.answered += 1
            nth = self.answered
        if wire is None:
            return _aside(path)
        try:
            asked = wire.asked(request.body, request.path)
            prompt = self._prompt(asked.text)
            if asked.tools and not asked.wants_json:
                with self._counting:
                    self.calls[prompt] = self.calls.get(prompt, 0) + 1
                    self.texts.setdefault(prompt, []).append(asked.text)
            habit = self.habits.get(prompt, Habit())
            play = Play(folder=self.play.folder, refuses=habit.refuses)
            return 200, wire.answer(self._move(habit, play, asked), asked, play, nth)
        except Exception as error:  # shown by the test: a thread of a server cannot fail it
            self.faults.append(f"{path}: {error!r}")
            return 500, {"error": {"message": repr(error)}}

    def _prompt(self, text: str) -> str:
        flat = " ".join(text.split())
        found = [prompt_id for prompt_id, own in self.prompts.items() if own in flat]
        return max(found, key=lambda prompt_id: len(self.prompts[prompt_id]), default="")

    def _move(self, habit: Habit, play: Play, asked: Asked) -> Call | str:
        if asked.wants_json:
            return "{}"
        if not asked.tools:
            return "ok"
        calls = [_run(asked, command) for command in habit.first]
        calls += [self._opening(habit.way, name, play, asked) for name in habit.opens if habit.way != "words"]
        calls += [_run(asked, f"echo step {number}") for number in range(habit.idle)]
        if asked.answered >= len(calls):
            return f"I would use the skill {', '.join(habit.opens)}." if habit.way == "words" else habit.final
        name, arguments = calls[asked.answered]
        return Call(name, arguments, f"call_{asked.answered + 1}")

    def _opening(self, way: Way, name: str, play: Play, asked: Asked) -> tuple[str, dict[str, Any]]:
        if way == "list":
            return _run(asked, f"ls {play.folder}/{name}")
        if way == "grep":
            return _run(asked, f"find {play.folder} -name SKILL.md")
        served = next((tool for tool in asked.tools if tool.endswith("read_skill")), None)
        if served and way == "skill":
            return served, {"name": name}
        # Some tools for files take whole paths only.
        folder = f"{WORKSPACE}/{play.folder}" if way == "file" else play.folder
        return _open(Play(folder=folder, reader=way), asked, name)
