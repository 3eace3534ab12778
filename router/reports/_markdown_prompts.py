"""The prompts' part of the Markdown report: what went wrong, one prompt at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.router.reports import Report, _cells
from skill_health.text import numbers
from skill_health.text.blocks import rest, text

_PROMPTS, _PICKS, _TEXT, _RATIONALE = 40, 12, 300, 200
_STATES = {"truncated": "cuts its description", "name-only": "shows only its name"}


def prompts(report: Report) -> Iterator[str]:
    """The prompts that failed, the worst first."""
    found = _cells.failing(report)
    if not found:
        return
    yield "## Prompts that failed"
    yield ""
    for prompt in found[:_PROMPTS]:
        yield from _prompt(prompt)
    yield from rest(_PROMPTS, len(found), "prompts")


def _prompt(prompt: Mapping[str, Any]) -> Iterator[str]:
    right = "" if prompt["right"] is None else f", {numbers.percent(prompt['right'], 0)} % right"
    yield f"### {text(prompt['prompt_id'], 100)}{right}"
    yield ""
    yield text(prompt["text"], _TEXT)
    yield ""
    parts = [f"expected {prompt['expected']}" if prompt["expected"] else "no expected answer"]
    parts += [f"{name} {', '.join(prompt[name])}" for name in ("acceptable", "rejected") if prompt[name]]
    parts += [f"{name} {prompt[name]}" for name in ("family", "split") if prompt[name]]
    yield f"- {text('; '.join(parts))}"
    if prompt["reason"]:
        yield f"- why: {text(prompt['reason'], _TEXT)}"
    listing = prompt["listing"]
    if listing and listing["state"] != "full":
        state = _STATES.get(listing["state"], f"does not list it ({listing['state']})")
        yield f"- the host {text(state)}" + (f": {text(listing['cut'])}" if listing["cut"] else "")
    wrong = [
        (model["model"], pick) for model in prompt["models"] for pick in model["picks"] if "rationale" in pick
    ]  # fmt: skip
    for name, pick in wrong[:_PICKS]:
        kinds = f" ({', '.join(pick['kinds'])})" if pick.get("kinds") else ""
        said = f": {text(pick['rationale'], _RATIONALE)}" if pick["rationale"] else ""
        yield f"- {text(name)} picked {text(_cells.picked(pick['picked']) + kinds)} {pick['calls']}x{said}"
    if len(wrong) > _PICKS:
        yield f"- and {len(wrong) - _PICKS} more wrong answers"
    yield ""
