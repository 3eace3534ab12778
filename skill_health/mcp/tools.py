"""What an agent may ask for: tools over the skills below one folder. Every answer is text, cut to what agents take.

Nothing outside of the folder is read for an answer or written, and nothing in a skill is executed. Without the word of
whoever starts the server no file is changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from skill_health.api.linting import check_paths
from skill_health.api.routing import ROUTER, route
from skill_health.core.boundary import Boundary
from skill_health.core.errors import UsageError
from skill_health.core.files import is_there
from skill_health.discovery.corpus import discover
from skill_health.formats import text as text_format
from skill_health.lint.fixing.fixes import FixPlan, SkillFixer, diff_lines, write_plan
from skill_health.lint.pipeline import configure
from skill_health.text.terminal import clean

MOST = 20_000
"""Characters of an answer: agents cut longer ones, each at another length."""
_RANKED = 10


class ToolRefusal(Exception):
    """What cannot be done, in a sentence for the model."""


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool: what a model is told of it, and the function that answers."""

    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]
    answer: Callable[[Mapping[str, Any]], str]
    writes: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        properties = {name: dict(given) for name, given in self.properties.items()}
        return {
            "type": "object",
            "properties": properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


_PATH = {
    "type": "string",
    "description": "A skill's folder, a file in it, or a folder of skills, relative to the root (.).",
}
_UNSAFE = {"type": "boolean", "description": "Include fixes that may change what a skill means (false)."}


class SkillTools:
    """The tools over the skills below a folder; with `writing` also the one that applies fixes."""

    def __init__(self, folder: str, writing: bool = False) -> None:
        self.folder = os.path.realpath(folder)
        tools = {
            "lint": AgentTool(
                "Check Agent Skills (SKILL.md): is each well formed, honest about its numbers and free of leaks? Each finding "
                "has its place, its rule and what to do. No finding of a severity other than info means it is clean.",
                {
                    "path": _PATH,
                    "severity": {
                        "type": "string",
                        "enum": ["error", "warning", "info"],
                        "description": "Show findings of this severity or worse (info).",
                    },
                },
                (),
                self._lint,
            ),
            "explain_rule": AgentTool(
                "Explain a rule: what it reports, why, a bad and a good example, and how to fix it.",
                {"rule": {"type": "string", "description": "Its code or name, such as FM003 or broken-link."}},
                ("rule",),
                self._explain,
            ),
            "preview_fix": AgentTool(
                "Show what the automatic fixes would change, as a unified diff. Nothing is written.",
                {"path": _PATH, "unsafe": _UNSAFE},
                (),
                self._preview,
            ),
            "apply_fix": AgentTool(
                "Apply the automatic fixes that preview_fix shows. Writes files.",
                {"path": _PATH, "unsafe": _UNSAFE},
                (),
                self._apply,
                writes=True,
            ),
            "route_prompt": AgentTool(
                "Which skill does a request reach by the descriptions alone? A free router that is computed here ranks all "
                "skills; it is a floor: a model reads better than it does.",
                {"prompt": {"type": "string", "minLength": 1, "description": "What a user would say."}, "path": _PATH},
                ("prompt",),
                self._route,
            ),
            "status": AgentTool(
                "What is known of each skill: health now, routing and effect by the last measurements, and the next command.",
                {"path": _PATH},
                (),
                self._status,
            ),
        }
        self.tools = {name: tool for name, tool in tools.items() if writing or not tool.writes}

    def call(self, name: str, given: Mapping[str, Any]) -> str:
        """What a tool answers. Raises ToolRefusal, with a sentence for the model."""
        tool = self.tools.get(name)
        if tool is None:
            raise ToolRefusal(f"there is no tool {name[:60]!r}; there are {', '.join(self.tools)}")
        try:
            answer = tool.answer(given)
        except UsageError as error:
            raise ToolRefusal(clean(str(error))) from None
        if len(answer) <= MOST:
            return answer
        end = answer.rfind("\n", 0, MOST) + 1 or MOST
        left = answer[end:].count("\n") + (not answer.endswith("\n"))
        return f"{answer[:end]}({left} more lines are not shown: name a narrower path or severity)\n"

    def _place(self, given: Mapping[str, Any]) -> str:
        """The path that is meant, absolute and without links. Raises ToolRefusal for one outside of the folder."""
        named = str(given.get("path") or os.curdir)
        try:
            place = os.path.realpath(os.path.join(self.folder, named))
        except (OSError, ValueError):
            raise ToolRefusal(f"{clean(named[:200])!r} is no path") from None
        if not self._holds(place):
            raise ToolRefusal(f"{clean(named[:200])} is outside of the folder that this server was started for")
        return place

    def _holds(self, place: str) -> bool:
        return place == self.folder or place.startswith(self.folder.rstrip(os.sep) + os.sep)

    def _lint(self, given: Mapping[str, Any]) -> str:
        report, _ = check_paths((self._place(given),), None, {}, None, False, True, jobs=1)
        return text_format.render(report.at_least(str(given.get("severity") or "info")), False)

    def _explain(self, given: Mapping[str, Any]) -> str:
        from skill_health.rules._load import all_rules
        from skill_health.rules._page import page

        wanted = str(given["rule"]).strip()
        found = next((rule for rule in all_rules() if wanted.upper() == rule.code or wanted.lower() == rule.name), None)
        if found is None:
            raise ToolRefusal(f"no rule is called {clean(wanted[:80])!r}: codes are such as FM003")
        return page(found)

    def _plan(self, given: Mapping[str, Any]) -> tuple[str, FixPlan]:
        root, config = configure((self._place(given),), None, {})
        entries = [entry for entry in discover((self._place(given),), config, root).entries if entry.target]
        if not entries:
            raise ToolRefusal("there is no skill at that path")
        plan = SkillFixer(Boundary(root), config, bool(given.get("unsafe"))).plan(entries)
        # The collection may reach beyond the folder that the server was started for.
        plan.changes = {path: pair for path, pair in plan.changes.items() if self._is_ours(root, path)}
        plan.renames = [(path, name) for path, name in plan.renames if self._is_ours(root, path)]
        return root, plan

    def _is_ours(self, root: str, path: str) -> bool:
        place = os.path.realpath(os.path.join(root, path))
        return self._holds(place) and place != self.folder

    def _preview(self, given: Mapping[str, Any]) -> str:
        _, plan = self._plan(given)
        return "".join(f"{line}\n" for line in diff_lines(plan, False)) or "there is nothing to fix automatically\n"

    def _apply(self, given: Mapping[str, Any]) -> str:
        root, plan = self._plan(given)
        done = [f"fixed {message}" for message in plan.messages] if plan.changes or plan.renames else []
        notes = write_plan(root, plan)
        return "".join(f"{clean(line)}\n" for line in (*done, *notes)) or "there is nothing to fix automatically\n"

    def _route(self, given: Mapping[str, Any]) -> str:
        prompt = str(given["prompt"])
        (answer,) = route(prompt, self._place(given), router=ROUTER)
        head = f"picked: {answer.picked}" if answer.picked else "picked: no skill, as none fits well enough"
        shown = [f"{at}. {ranked.name}  {ranked.score:.3f}" for at, ranked in enumerate(answer.ranking[:_RANKED], 1)]
        foot = f"router {answer.router} over {answer.listed} listed skills; scores compare only within this answer"
        return "".join(f"{clean(line)}\n" for line in (head, *shown, foot))

    def _status(self, given: Mapping[str, Any]) -> str:
        from skill_health.daily.risks import read_last_rated
        from skill_health.discovery.roots import reports_folder
        from skill_health.status.join import read_status
        from skill_health.status.render import render_records_markdown

        place = self._place(given)
        root, config = configure((place,), None, {})
        folder = reports_folder(None, root, config)
        if not self._holds(os.path.realpath(folder)) and is_there(folder, links=False):
            raise ToolRefusal("the reports are outside of the folder that this server was started for")
        status = read_status((place,), root, config, date.today(), folder, 1, True, *read_last_rated(folder))
        return render_records_markdown(status)
