"""A manifest or README gives a wrong number of skills, commands or subagents

## What
Numbers of skills, subagents, slash commands and plugins in the `description` of a manifest and of its entry in a
marketplace (they must be the plugin's), and in the headings and first paragraphs of the README.md of a repository or
plugin, where the number clearly means all of them ("42 skills", "all 42 skills"). It is right if any folder or plugin
within has that many, if the entries of the marketplace are that many, or where a "+" follows and there are as many or
more. Numbers in the texts of skills are judged by CL008, which is opt-in.

## Why
It is the first number to go wrong, and the one that every reader can check.

## Bad
```json
{ "name": "notes", "description": "12 skills for notes" }          (there are 14)
```

## Good
```json
{ "name": "notes", "description": "Skills for notes" }
```

## Fix
Correct the number, or leave it out. There is no automatic fix.

## Source
evidence · counts in the READMEs of public collections, read 2026-11.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Repository, above, text_of
from skill_health.skill.model import Span
from skill_health.text.patterns import lazy

CODE = "RP031"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True


_COUNT = lazy(
    r"(?<![\w.,/#$~<>≥≤=-])(?P<number>\d{1,4})(?P<more>\+?)\s+(?:(?!or\b|of\b|to\b|and\b|for\b|with\b|in\b|on\b|by\b|from\b|that\b|are\b|as\b|new\b|more\b|other\b|core\b|per\b)[A-Za-z-]{1,20}\s+){0,2}?"
    r"(?P<what>skills|agents|subagents|sub-agents|commands|slash commands|plugins)\b(?!-)",
    re.I,
)
_PART = lazy(r"\s*(?:across|in|from|and|of|for)\s+(?:[\w ]{1,40} )?\d")
_HEAD = 40
_KINDS = {"skills": "skills", "plugins": "plugins", "commands": "commands", "slash commands": "commands"}


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each number that fits nothing."""
    for plugin in repository.plugins:
        for file, lead, data in plugin.records:
            description = text_of(data.get("description"))
            for number, more, what, words in _counts(description):
                right = _count(repository, plugin.folder, what)
                if right and not any(_fits(number, more, each) for each in right):
                    message = f'"{words}", but the plugin has {max(right)}'
                    yield Hit(file.span(*lead, "description"), message, _HELP, file.path)
    for path in repository.named("README.md"):
        folder = above(path, 1)
        if folder == "" or any(plugin.folder == folder for plugin in repository.plugins):
            yield from _in_readme(repository, path, folder)


_HELP = "correct the number, or leave it out"


def _in_readme(repository: Repository, path: str, folder: str) -> Iterator[Hit]:
    text = repository.context.read(path)
    if not text or not _COUNT.search(text[:6000]):
        return
    seen = set()
    for nth, line in enumerate(text.split("\n")[:_HEAD], 1):
        plain = line.strip().lstrip("#>*_- ")
        for number, more, what, words in _counts(plain):
            at = plain.find(words)
            if _PART.match(plain[at + len(words) :]):
                continue
            leads = at < 4 or plain[:at].rstrip(" *_").lower().endswith(
                ("all", "of", "with", "contains", "has", "includes", ":", "—", "-")
            )
            if not leads or words in seen or number < 4:
                continue
            seen.add(words)
            if what == "plugins" and folder:
                # Those of a plugin are what it looks for, or works with.
                continue
            right = _every_count(repository, folder, what)
            if right and not any(_fits(number, more, each) for each in right):
                message = f'"{words}", but there are {max(right)}'
                yield Hit(Span(nth, max(1, line.find(words) + 1)), message, _HELP, path)


def _counts(text: str) -> Iterator[tuple[int, bool, str, str]]:
    for match in _COUNT.finditer(text[:6000]):
        what = " ".join(match["what"].lower().split())
        yield int(match["number"]), bool(match["more"]), _KINDS.get(what, "agents"), " ".join(match[0].split())


def _fits(number: int, more: bool, right: int) -> bool:
    return right >= number if more else right == number


def _count(repository: Repository, folder: str, what: str) -> set[int]:
    """How many of a kind a plugin has; nothing where it has none."""
    lead = f"{folder}/" if folder else ""
    if what == "skills":
        found = [skill for skill in repository.skills if skill == folder or skill.startswith(lead)]
        # A skill that leads to the others is often not counted.
        router = any(skill.rpartition("/")[2].startswith("using-") for skill in found)
        return {len(found), len(found) - router} - {0}
    if what == "plugins":
        return set()
    prompts = [p for p in repository.prompts if p.kind == what and p.plugin and p.plugin.folder == folder]
    return {len(prompts)} if prompts else set()


def _every_count(repository: Repository, folder: str, what: str) -> set[int]:
    """Every number of a kind that some folder below has, or a marketplace there lists."""
    lead = f"{folder}/" if folder else ""
    if what == "plugins":
        listed = {len(market.entries) for market in repository.marketplaces}
        return (listed or {len([plugin for plugin in repository.plugins if plugin.manifest])}) - {0}
    if what == "skills":
        places = [skill for skill in repository.skills if skill.startswith(lead)]
    else:
        places = [prompt.path for prompt in repository.prompts if prompt.kind == what and prompt.path.startswith(lead)]
    counts: Counter[str] = Counter()
    for place in places:
        while place:
            place = above(place, 1)
            counts[place] += 1
    if what == "skills" and any(place.rpartition("/")[2].startswith("using-") for place in places):
        return {count - one for count in counts.values() for one in (0, 1)}
    return set(counts.values())
