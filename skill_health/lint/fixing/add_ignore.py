"""Comments that silence findings, written where they stand: before the block of a finding, else for the whole file."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date

from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.discovery.corpus import Discovery, Entry
from skill_health.lint.check import load_skill
from skill_health.lint.fixing.edits import edit_bytes
from skill_health.lint.fixing.fixes import FixPlan
from skill_health.lint.overlay import Overlay
from skill_health.lint.pipeline import run
from skill_health.lint.readable import read_entry
from skill_health.rules._api import Edit, Finding
from skill_health.rules.ignores._comments import UNSILENCED, list_blocks, read_ignores
from skill_health.skill.model import Skill, Span
from skill_health.skill.parse import parse_skill

_OWN = "ignores"


def can_ignore(finding: Finding, path: str) -> bool:
    """Whether a comment in the SKILL.md at this path can silence a finding: not one of `safety`, nor about comments."""
    return finding.path == path and finding.family not in (UNSILENCED, _OWN)


def ignore_edits(skill: Skill, data: bytes, findings: Iterable[Finding], whole_file: bool = False) -> list[Edit]:
    """The comments, each on a line of its own, that silence these findings of a SKILL.md with these bytes.

    One stands before the block that a finding is in. Where none can, as in the frontmatter, and with `whole_file`, it
    is one for the whole file, at the top of the body.
    """
    wanted = sorted(findings, key=lambda finding: (finding.line, finding.code))
    blocks = sorted(list_blocks(skill.body))
    places: defaultdict[int, set[str]] = defaultdict(set)
    rest: set[str] = set()
    for finding in wanted:
        start = next((first for first, last in blocks if first <= finding.line <= last), 0)
        if whole_file or start <= 1:
            rest.add(finding.code)
        else:
            places[start].add(finding.code)
    edits = _comments(skill, places, rest)
    if places:
        ignores = read_ignores(parse_skill(edit_bytes(data, edits), skill.path, skill.folder_name, skill.files))
        for finding in wanted:
            line = finding.line + sum(edit.span.line <= finding.line for edit in edits)
            if not any(i.first <= line <= i.last and finding.code in i.codes for i in ignores):
                return ignore_edits(skill, data, wanted, whole_file=True)
    return edits


def _comments(skill: Skill, places: dict[int, set[str]], rest: set[str]) -> list[Edit]:
    edits = [_comment(skill, line, "ignore", codes) for line, codes in sorted(places.items())]
    if rest:
        edits.insert(0, _comment(skill, skill.body.first_line, "ignore-file", rest))
    return edits


def _comment(skill: Skill, line: int, word: str, codes: Iterable[str]) -> Edit:
    text = f"<!-- skill-health: {word} {' '.join(sorted(codes))} -->"
    # What follows the last line begins with a line break, unless that line has one.
    is_after = line > len(skill.lines)
    return Edit(Span(line, 1, line, 1), f"\n{text}\n" if is_after else f"{text}\n")


def plan_ignores(
    discovery: Discovery, config: Config, as_of: date, findings: Sequence[Finding]
) -> tuple[FixPlan, tuple[Finding, ...]]:
    """The files with comments for these findings, and the findings that no comment can silence.

    What is written is checked as it will be: a file in which the comments would silence less than they say is left
    alone. A file that several skills have by links gets the comments of all, where these hold for each.
    """
    plan = FixPlan()
    boundary = Boundary(discovery.root)
    entries = {entry.path: entry for entry in discovery.entries if not entry.problem}
    first_of: dict[str, str] = {}
    groups: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.path in entries and can_ignore(finding, finding.path):
            place = os.path.realpath(os.path.join(discovery.root, finding.path))
            groups[first_of.setdefault(place, finding.path)].append(finding)
    waiting = sorted(groups)
    old = {_word(finding) for finding in findings if finding.family == _OWN}
    for whole_file in (False, True):
        tried = {}
        for path in waiting:
            data, new = _commented(boundary, entries[path], groups[path], whole_file)
            if new != data:
                tried[path] = (data, new)
        fine = _hold(discovery, config, as_of, groups, {path: new for path, (_, new) in tried.items()}, old)
        plan.changes.update({path: tried[path] for path in fine})
        waiting = [path for path in tried if path not in fine]
    silenced = {id(finding) for path in plan.changes for finding in groups[path]}
    return plan, tuple(finding for finding in findings if id(finding) not in silenced)


def _commented(boundary: Boundary, entry: Entry, findings: list[Finding], whole_file: bool) -> tuple[bytes, bytes]:
    data, problem = read_entry(boundary, entry)
    small = boundary.read_small(entry.path)
    if problem or small is None:
        return data, data
    skill = load_skill(entry, small, "")
    return small, edit_bytes(small, ignore_edits(skill, small, findings, whole_file))


def _hold(
    discovery: Discovery, config: Config, as_of: date, groups: dict[str, list[Finding]], texts: dict[str, bytes],
    old: set[tuple[str, str]],
) -> set[str]:  # fmt: skip
    """The files in which nothing that was to be silenced is left, and no comment is found that is worth nothing."""
    if not texts:
        return set()
    root = discovery.root
    places = {os.path.realpath(os.path.join(root, path)): path for path in texts}
    file_of = {entry.path: places.get(os.path.realpath(os.path.join(root, entry.path))) for entry in discovery.entries}
    entries = tuple(entry._replace(target=file_of[entry.path] is not None) for entry in discovery.entries)
    overlay = Overlay(root, {place: texts[path] for place, path in places.items()})
    result = run(discovery._replace(entries=entries), config, as_of, 0, boundary=overlay)
    known = {_word(finding) for path in texts for finding in groups[path]}
    left = (f for f in result.findings if (_word(f) not in old if f.family == _OWN else _word(f) in known))
    return set(texts) - {file_of.get(finding.path) for finding in left}


def _word(finding: Finding) -> tuple[str, str]:
    return finding.path, finding.message
