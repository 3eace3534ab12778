"""The pages of rules for an editor: as a hover, and as files that it can open."""

from __future__ import annotations

import os
import re
from tempfile import TemporaryDirectory

from skill_health.core.files import write_text
from skill_health.rules._api import Rule
from skill_health.rules._load import all_rules
from skill_health.rules._page import page

_WORD = re.compile(r"[A-Za-z][\w-]*")


class RulePages:
    """The page of each rule in a folder of its own, which is gone when the server is; written when one is asked for."""

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        self._paths: dict[str, str] = {}

    def path(self, code: str) -> str:
        """The file with the page of a rule; "" where there is no such rule, or it cannot be written."""
        if code not in self._paths:
            rule = rule_named(code)
            self._paths[code] = self._write(rule) if rule else ""
        return self._paths[code]

    def _write(self, rule: Rule) -> str:
        try:
            self._folder = self._folder or TemporaryDirectory(prefix="skill-health-rules-")
            path = os.path.join(self._folder.name, f"{rule.code}.md")
            write_text(path, page(rule))
        except OSError:
            return ""
        return path

    def close(self) -> None:
        """Remove the folder."""
        if self._folder is not None:
            self._folder.cleanup()


def rule_named(word: str) -> Rule | None:
    """The rule of a code or a name."""
    return next((rule for rule in all_rules() if word in (rule.code, rule.name)), None)


def rule_at(line: str, col: int) -> tuple[Rule, int, int] | None:
    """The rule whose code or name stands at a column of a line, counted from 1, and from where to where."""
    for word in _WORD.finditer(line):
        if word.start() < col <= word.end() + 1 and (rule := rule_named(word.group())):
            return rule, word.start() + 1, word.end() + 1
    return None
