"""The tables of the text report: arms, what they cost, tasks that flipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skill_health.effectiveness.reports import EffectRenderOptions, _cells
from skill_health.effectiveness.reports._cells import NOTHING, share
from skill_health.text.terminal import cut, paint, table, wrapped

_FLIPS = 20
_SHOWN = ("input_tokens", "output_tokens", "cost_usd", "duration_ms", "turns")
Part = Mapping[str, Any]


def arms(model: Part, look: EffectRenderOptions, width: int) -> Iterator[str]:
    """How often each arm succeeded, on how many trials of how many tasks, and how often it opened a skill."""
    rows = [
        [arm["arm"], share(arm["success"]), f"{arm['trials']:,}/{arm['tasks']:,}", _cells.invoked(arm), f"{arm['missing']:,}"]
        for arm in model["arms"]
    ]  # fmt: skip
    yield from _titled("Arms", ("arm", "success %", "n/tasks", "opened a skill %", "missing"), rows, look, width)
    flagged = [(arm["arm"], flag) for arm in model["arms"] for flag in arm["flags"]]
    for flag in sorted({flag for _, flag in flagged}):
        yield from wrapped(f"At the {flag}: {', '.join(arm for arm, found in flagged if found == flag)}", width, "  ")
    if flagged:
        yield ""


def costs(model: Part, look: EffectRenderOptions, width: int) -> Iterator[str]:
    """What each arm of a contrast costs more, per trial; those of the headline alone where the terminal is narrow."""
    found = [each for each in model["contrasts"] if any(_known(each["deltas"].get(name)) for name in _SHOWN)]
    rows = [
        [_cells.name_of(each), *(_cells.change(each["deltas"].get(name)) for name in _SHOWN), f"{each['tasks']:,}"]
        for each in found
    ]  # fmt: skip
    head = ("per trial", *(_cells.MEASURES[name] for name in _SHOWN), "tasks")
    if rows and _wide(head, rows) > width:
        yield from _down(found, look, width)
    else:
        yield from _titled("Cost of the arms", head, rows, look, width)


def _down(found: Sequence[Part], look: EffectRenderOptions, width: int) -> Iterator[str]:
    """The same with a line for each measure, of the headline only."""
    each = _cells.headline(found) or found[0]
    rows = [
        [_cells.MEASURES[name], _cells.change(each["deltas"][name]), str(each["deltas"][name]["n"])]
        for name in _SHOWN
        if _known(each["deltas"].get(name))
    ]
    yield from _titled(f"Cost, {_cells.name_of(each)}", ("per trial", "difference", "n"), rows, look, width)


def _known(number: Part | None) -> bool:
    return number is not None and number["value"] is not None


def _wide(head: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return sum(widths) + 2 * (len(widths) - 1)


def tasks(model: Part, look: EffectRenderOptions, width: int) -> Iterator[str]:
    """The tasks whose success differs between target and control."""
    found = _cells.flips(model)
    if not found:
        return
    yield paint(cut("Tasks that the skill lost or gained", width), "bold", look.color)
    for task in found[:_FLIPS]:
        yield f"  {cut(_flip(task, _cells.sides(model)), width - 2)}"
    if len(found) > _FLIPS:
        yield f"  and {len(found) - _FLIPS:,} more"
    yield ""


def _flip(task: Part, sides: Sequence[str]) -> str:
    shown = ", ".join(f"{arm} {_cells.passes(task, arm)}" for arm in sides)
    return f"{task['flip']:<6}  {shown}  {task['task_id']} ({task['skill'] or NOTHING})"


def _titled(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], look: EffectRenderOptions, width: int
) -> Iterator[str]:
    if not rows:
        return
    yield paint(cut(title, width), "bold", look.color)
    yield from (f"  {line}" for line in table(head, rows, width - 2, fewest=3, least=22))
    yield ""
