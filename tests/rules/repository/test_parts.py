"""What rules about a repository are made of, each by itself: lists of skills, and matchers of hooks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.lint.check import CorpusFiles
from skill_health.rules.repository import hook_matcher
from skill_health.rules.repository._catalogue import find_catalogues
from skill_health.rules.repository._repository import Repository

Open = Callable[..., Repository]
SIX = ("add", "find", "sort", "drop", "share", "print")
MANIFEST = ".claude-plugin/plugin.json"


@pytest.fixture
def opened(write: Callable[[Mapping[str, str]], Path]) -> Open:
    """The repository of some files and skills."""

    def make(files: Mapping[str, str], skills: tuple[str, ...] = ()) -> Repository:
        root = write(files)
        context = CorpusFiles(str(root), Config(), {}, date(2026, 11, 21), Boundary(str(root)))
        return Repository(tuple(sorted(files)), skills, context)

    return make


def items(*targets: str) -> str:
    """A list of links, each named like the last part of its target."""
    return "".join(f"- [{target.rpartition('/')[2]}]({target})\n" for target in targets)


def bold(*names: str) -> str:
    return "".join(f"- **{name}**: does\n" for name in names)


FOUR = bold(*SIX[:4])
LISTS: list[tuple[str, str, list[tuple[int, list[str]]]]] = [
    ("four links", items("skills/add", "skills/find", "skills/sort", "skills/drop"), [(4, ["add", "find", "sort", "drop"])]),
    ("three links", items("skills/add", "skills/find", "skills/sort"), []),
    ("three names and one twice", bold("add", "find", "sort", "add"), []),
    ("four names and one twice", FOUR + bold("add"), [(5, ["add", "find", "sort", "drop", "add"])]),
    ("links to a file", items(*(f"skills/{name}/SKILL.md" for name in SIX[:4])), [(4, ["add", "find", "sort", "drop"])]),
    ("a name that leads elsewhere", FOUR + items("docs/share"), [(5, ["add", "find", "sort", "drop", "share"])]),
    ("a skill that is gone", FOUR + items("skills/gone"), [(5, ["add", "find", "sort", "drop"])]),
    ("other words for a skill", FOUR + "- [Share it](skills/share)\n", [(5, ["add", "find", "sort", "drop", "share"])]),
    ("a part of a page", FOUR + "- [x](skills/share#usage)\n", [(5, ["add", "find", "sort", "drop", "share"])]),
    ("an encoded link", FOUR + "- [x](skills/sh%61re)\n", [(5, ["add", "find", "sort", "drop", "share"])]),
    *((f"a link that leads out: {to}", FOUR + f"- [share]({to})\n", [(4, ["add", "find", "sort", "drop"])])
      for to in ("https://x.org/share", "/skills/share", "mailto:share")),
    ("a link of code", FOUR + "- [`share`](docs/other)\n", [(5, ["add", "find", "sort", "drop", "share"])]),
    ("code after words", FOUR + "- also `share`\n", [(4, ["add", "find", "sort", "drop"])]),
    ("three names, one twice and one below", bold("add", "find", "sort", "add") + "\nAlso drop.\n", []),
    ("lines between", f"{FOUR}And\n{FOUR}", [(4, ["add", "find", "sort", "drop"])] * 2),
    ("a deep block", f"So:\n\n    - **share**\n\n{FOUR}", [(4, ["add", "find", "sort", "drop"])]),
    ("the end of a deep block", f"So:\n\n    x\n    - **share**\n\n{FOUR}", [(4, ["add", "find", "sort", "drop"])]),
    ("six of eight", bold(*SIX, "one", "two"), [(8, list(SIX))]),
    ("six of nine", bold(*SIX, "one", "two", "three"), []),
    ("a table of code", "".join(f"| {n} | `{name}` | does |\n" for n, name in enumerate(SIX)), [(6, list(SIX))]),
    ("numbers", "".join(f"{n}. **{name}**: does\n" for n, name in enumerate(SIX, 1)), [(6, list(SIX))]),
    ("words before", "".join(f"- also [{name}](skills/{name})\n" for name in SIX), []),
    ("in a block of code", f"```\n{FOUR}```\n", []),
    ("around a block of code", f"{FOUR}```\n- **share**\n```\n- **print**\n", [(4, ["add", "find", "sort", "drop"])]),
    ("blank lines between", FOUR.replace("\n", "\n\n"), [(4, ["add", "find", "sort", "drop"])]),
    ("deeper lines between", FOUR.replace("\n", "\n  more\n\tmore\n"), [(4, ["add", "find", "sort", "drop"])]),
    ("a paragraph between", f"{FOUR}\nAnd\n\n{FOUR}", [(4, ["add", "find", "sort", "drop"])] * 2),
    ("a paragraph in the midst", f"{bold('add', 'find')}\nAnd\n\n{bold('sort', 'drop')}", []),
]  # fmt: skip


def skills_of(repository: Repository) -> list[tuple[int, list[str]]]:
    """How many rows each list has, and the skills that they are about."""
    return [
        (len(each.rows), [skill.removeprefix("skills/") for skill in each.known])
        for each in find_catalogues(repository)
    ]


@pytest.mark.parametrize(("text", "found"), [case[1:] for case in LISTS], ids=[case[0] for case in LISTS])
def test_lists_of_skills(opened: Open, text: str, found: list[tuple[int, list[str]]]) -> None:
    skills = tuple(f"skills/{name}" for name in SIX)
    assert skills_of(opened({"README.md": text}, skills)) == found


@pytest.mark.parametrize(("place", "count", "lead", "found"), [
    ("README.md", 4, "skills/", 1), ("README.md", 3, "skills/", 0), ("skills/README.md", 4, "", 1),
    ("skills/add/README.md", 4, "../", 0), ("skills/add/docs/README.md", 4, "../../", 0), ("docs/README.md", 4, "../skills/", 0),
    ("OTHER.md", 4, "skills/", 0),
])  # fmt: skip
def test_a_list_is_in_a_readme_above_its_skills(opened: Open, place: str, count: int, lead: str, found: int) -> None:
    names = SIX[:count]
    repository = opened({place: items(*(f"{lead}{name}" for name in names))}, tuple(f"skills/{name}" for name in names))
    assert skills_of(repository) == [(count, list(names))] * found


@pytest.mark.parametrize(("place", "lead"), [("kit/README.md", "parts/"), ("kit/parts/README.md", "")])
def test_a_list_in_a_skill_is_its_own(opened: Open, place: str, lead: str) -> None:
    files = {place: items(*(f"{lead}{name}" for name in SIX))}
    inner = tuple(f"kit/parts/{name}" for name in SIX)
    assert len(find_catalogues(opened(files, inner))) == 1
    assert find_catalogues(opened(files, ("kit", *inner))) == ()


def test_rows_have_their_places(opened: Open) -> None:
    text = "# A\n\n" + items(*(f"skills/{name}" for name in SIX[:3])) + "-   **drop**\n| `share` | x |\n"
    (catalogue,) = find_catalogues(opened({"README.md": text}, tuple(f"skills/{name}" for name in SIX)))
    assert [(row.name, row.line, row.col, row.target) for row in catalogue.rows] == [
        ("add", 3, 3, "skills/add"), ("find", 4, 3, "skills/find"), ("sort", 5, 3, "skills/sort"), ("drop", 6, 7, ""),
        ("share", 7, 4, ""),
    ]  # fmt: skip


def flaws(opened: Open, hooks: Any) -> list[tuple[int, str]]:
    """The lines of hits and their severities; each group of hooks is on a line."""
    groups = ",\n".join(json.dumps({event: each})[1:-1] for event, each in hooks.items())
    text = '{ "hooks": {\n' + groups.replace("}, {", "},\n{") + "\n} }\n"
    repository = opened({MANIFEST: '{ "name": "notes" }\n', "hooks/hooks.json": text})
    return [
        (hit.span.line, (hit.severity or hook_matcher.SEVERITY).value)
        for hit in hook_matcher.check_repository(repository)
    ]


MATCHERS: list[tuple[object, str]] = [
    ("", ""), ("*", ""), ("**", "error"), ("Edit", ""), ("Edit|Write", ""), ("Edit|mcp__x__.*", ""), ("(", "error"),
    ("Edit|(Write", "error"), ("[a", "error"), ("(?<tool>Edit)", ""), ("(?<=x)Edit", ""), ("(?P<tool>Edit)", ""),
    ("(?<tool>Edit", "error"), ("bash|(", "error"), ("edit", "warning"), ("EDIT", "warning"), ("Edit|write", "warning"), ("Edit | Write", ""),
    (" Edit ", ""),
    ("Edit | write", "warning"), ("edit.*", ""), (" edit.* ", ""), ("custom", ""), ("Edit | Custom", ""),
    ("x{99999999999}", ""), ("(" + "x" * 999, "error"), ("(" + "x" * 1000, ""), (None, ""), (3, ""), (["("], ""),
]  # fmt: skip


@pytest.mark.parametrize(("matcher", "severity"), MATCHERS, ids=[str(case[0])[:20] for case in MATCHERS])
def test_a_matcher_is_a_pattern_of_tools_as_they_are_called(opened: Open, matcher: object, severity: str) -> None:
    found = flaws(opened, {"PreToolUse": [{"matcher": "Bash", "hooks": []}, {"matcher": matcher, "hooks": []}]})
    assert found == ([(3, severity)] if severity else [])


@pytest.mark.parametrize(
    "event", ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"]
)
def test_every_wrong_name_of_a_tool_is_told(opened: Open, event: str) -> None:
    groups = [{"matcher": "bash|Edit|write"}, {"matcher": "Read"}, {"matcher": "grep"}]
    assert flaws(opened, {event: groups}) == [(2, "warning"), (2, "warning"), (4, "warning")]


@pytest.mark.parametrize(("hooks", "found"), [
    ({"Notification": [{"matcher": "bash"}]}, []),
    ({"Notification": [{"matcher": "("}], "Stop": [{"matcher": ")"}]}, [(2, "error"), (3, "error")]),
    ({"PreToolUse": ["(", None, {"matcher": "("}, {"hooks": []}]}, [(2, "error")]),
    ({"PreToolUse": {"matcher": "("}}, []),
    ({"PreToolUse": "("}, []),
])  # fmt: skip
def test_only_events_of_tools_have_names_of_tools(opened: Open, hooks: Any, found: list[tuple[int, str]]) -> None:
    assert flaws(opened, hooks) == found
