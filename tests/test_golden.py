"""What every command prints and writes is what tests/golden/ has. After a change that is meant: `make golden`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import click
import pytest

from scripts.golden import find_commands, load_table, play, read_golden, show_difference, steps_of

TABLE = load_table()
KEPT = {part: read_golden(part) for part in TABLE}
Played = Callable[[str], Mapping[str, str]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Play a part once."""
    return cache(lambda part: play(TABLE[part], tmp_path_factory.mktemp(part)))


def marked(part: str, *values: str) -> Any:
    """A case; those of the part that runs trials are for the gate, which always runs them."""
    return pytest.param(part, *values, marks=[pytest.mark.slow, pytest.mark.smoke] if part == "days" else [])


@pytest.mark.parametrize(("part", "name"), [marked(part, name) for part, kept in KEPT.items() for name in kept])
def test_what_is_printed_and_written_is_what_it_was(played: Played, part: str, name: str) -> None:
    now = played(part).get(name, "")
    if now != KEPT[part][name]:
        pytest.fail(
            f"{show_difference(KEPT[part][name], now, f'{part}/{name}')}\nif so meant: make golden", pytrace=False
        )


@pytest.mark.parametrize("part", [marked(part) for part in TABLE])
def test_nothing_else_is_written(played: Played, part: str) -> None:
    assert sorted(played(part)) == sorted(KEPT[part])


NOT_PLAYED = {"dataset --format parquet"}
"""It needs an extra that no test may need."""


def test_every_command_is_played_in_every_format() -> None:
    lines = [step["run"].split() for part in TABLE.values() for step in steps_of(part) if "run" in step]
    played, wanted = set(), set()
    for names, command in find_commands():
        own = [line for line in lines if line[: len(names)] == list(names) and "--help" not in line]
        formats = [each for each in command.params if "--format" in each.opts and isinstance(each.type, click.Choice)]
        for option in formats:
            wanted |= {" ".join((*names, "--format", choice)) for choice in option.type.choices}
            given = [line[line.index("--format") + 1] if "--format" in line else str(option.default) for line in own]
            played |= {" ".join((*names, "--format", each)) for each in given}
        if not isinstance(command, click.Group):
            wanted.add(" ".join(names))
            played |= {" ".join(names)} if own else set()
    assert "\n".join(sorted(wanted - played - NOT_PLAYED)) == ""
