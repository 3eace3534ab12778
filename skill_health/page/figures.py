"""Figures as cells: one way of writing a share, a difference, a score and a count, each with its interval."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.page.model import JsonNode, PageCell, Tone
from skill_health.text.terminal import escape_character

MISSING = "–"


def text_cell(text: object) -> PageCell:
    """A text that is no figure."""
    return PageCell(str(text), str(text))


def count(number: JsonNode) -> PageCell:
    """A whole number with commas; a dash where it is null."""
    value = number.value
    return PageCell(MISSING if value is None else f"{value:,}", value, number.origin)


def score(number: JsonNode, tone: Tone | None = None) -> PageCell:
    """A score between 0 and 1 with two digits, not rounded up to 1.00."""
    value = number.value
    if value is None:
        return PageCell(MISSING, None, number.origin)
    text = f"{value:.2f}" if not 0.995 <= value < 1 else "0.99"
    return PageCell(text, value, number.origin, tone or "")


def share(estimate: JsonNode) -> PageCell:
    """An estimate of a share in per cent: "40.0 [28.4, 52.8] n 60"; without an interval "40.0 [–] n 3"."""
    return _estimate(estimate, 100.0, "")


def points(estimate: JsonNode) -> PageCell:
    """An estimate of a difference of shares in percentage points, signed: "+40.0 [+13.8, +63.8] n 15"."""
    return _estimate(estimate, 100.0, "+")


def amount(estimate: JsonNode, unit: float = 1.0, digits: int = 1, signed: bool = False) -> PageCell:
    """An estimate of anything else, divided by `unit` and with so many digits: tokens, dollars, seconds."""
    return _estimate(estimate, 1.0 / unit, "+" if signed else "", digits)


def _estimate(estimate: JsonNode, factor: float, sign: str, digits: int = 1) -> PageCell:
    told = estimate.value or {}
    value = told.get("value")
    if value is None:
        return PageCell(MISSING, None, estimate.origin)
    low, high = told.get("low"), told.get("high")
    form = f"{sign},.{digits}f"
    interval = f"[{MISSING}]"
    if low is not None and high is not None:
        interval = f"[{low * factor:{form}}, {high * factor:{form}}]"
    n = f" n {told['n']:,}" if "n" in told else ""
    return PageCell(f"{value * factor:{form}} {interval}{n}", value * factor, estimate.origin)


LEGEND = {
    "SIMULATED": "made by a script, no model was asked; it shows that the measurement works, not what skills do",
    "local": "a router on this machine that compares words or vectors; no model that agents use",
    "stale": "the skill or its description has changed since it was measured",
    "subset": "measured over a part of the prompts only",
    "untrusted": "the run failed its own checks: see its report",
    "preliminary": "too few tasks or too wide an interval for a conclusion",
    "biased": "something was not the same with and without the skill: see its tasks",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A word of the legend, and the reason where the report names one."""

    word: str
    reason: str = ""


def route_marks(run: Mapping[str, Any]) -> tuple[Mark, ...]:
    """The marks of a skill's numbers in a routing run (an item of `routing.models` or `routing` in the record)."""
    words = (
        ("SIMULATED", run.get("simulated")),
        ("local", run.get("local")),
        ("stale", run.get("changed")),
        ("subset", run.get("selection") not in (None, "all")),
        ("untrusted", run.get("trusted") is False),
    )
    return tuple(Mark(word) for word, holds in words if holds)


def effect_marks(line: Mapping[str, Any]) -> tuple[Mark, ...]:
    """The marks of a line of effects (an item of `effect.models` or `effect` in the record), with their reasons."""
    found = [Mark("SIMULATED")] if line.get("simulated") else []
    found += [Mark("stale")] if line.get("changed") else []
    for word in ("biased", "preliminary"):
        reasons = line.get(word) or ()
        found += [Mark(word, "; ".join(str(each) for each in reasons))] if reasons else []
    return tuple(found)


# What terminal.clean makes visible, and what only a browser would hide or refuse: soft hyphens, fillers, variation
# selectors that carry hidden bytes, and noncharacters. New lines and tabs are white space in HTML and stay.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


def escape_text(text: object, limit: int | None = None) -> str:
    r"""The text with control, bidi and invisible characters and halves of surrogate pairs as escapes (`\u{202e}`).

    It is text still, to be escaped for HTML. What is longer than `limit` characters is cut, and says by how much.
    """
    whole = str(text)
    if whole.isascii() and whole.isprintable():
        told = whole if limit is None else whole[:limit]
    else:
        whole = whole.replace("\r\n", "\n")
        told = _UNSAFE.sub(escape_character, whole if limit is None else whole[:limit])
    if limit is None or len(whole) <= limit:
        return told
    return f"{told}… (and {len(whole) - limit:,} more characters)"
