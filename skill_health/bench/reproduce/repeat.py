"""Repeating a run from its manifest: what that settles, and what keeps today's inputs from being those of the run."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from skill_health.bench.durable import to_json
from skill_health.bench.manifest import differences
from skill_health.bench.run_folder import Record
from skill_health.core.errors import UsageError
from skill_health.text.near import list_some
from skill_health.text.terminal import clean

_FILES = frozenset(("bodies", "catalogue", "prompts", "skills", "staged", "tasks"))
"""The hashes of what lies in the collection's repository."""


def refuse_settled(context: click.Context, open_: Iterable[str]) -> None:
    """Raise UsageError for options on the command line that the repeated run has settled: all but `open_` ones."""
    given = [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name not in open_
        and context.get_parameter_source(str(parameter.name)) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise UsageError(
            f"--from settles {list_some(given, 3)}: leave that out, or make a run of your own without --from"
        )


def refuse_other_inputs(stored: Record, now: Record) -> None:
    """Raise UsageError where what would be run now is not what a run was: what differs, and what brings it back.

    Prices may differ: they change no answer.
    """
    before, after = ({**json.loads(to_json(each)), "extends": []} for each in (stored, now))
    for each in (before, after):
        each["hashes"] = {name: value for name, value in each["hashes"].items() if name != "prices"}
    found = differences(before, after)
    if not found:
        return
    raise UsageError(clean(f"this is not the run {stored['run_id']}: {'; '.join(found)}{_way_back(before, after)}"))


def _way_back(stored: Record, now: Record) -> str:
    """How to get back to what a run was made with."""
    said = []
    if stored["tool_version"] != now["tool_version"]:
        said.append(f"it was made by version {stored['tool_version']}")
    then, today = stored["hashes"], now["hashes"]
    if any(name in _FILES and then[name] != today.get(name) for name in then):
        commit = stored.get("commit")
        if commit is None:
            said.append("no commit is known of it: it was made outside of git")
        else:
            also = ", with changes that were not committed" if stored.get("dirty") else ""
            said.append(
                f"it was made at commit {commit[:12]}{also}: `git worktree add ../then {commit[:12]}`, and repeat it there"
            )
    return f". {'; '.join(said).capitalize()}" if said else ""
