"""The page of one rule: what `explain` prints and docs/rules/ contains."""

from __future__ import annotations

import json
import os
from functools import cache

from skill_health.rules._api import Rule


def page(rule: Rule) -> str:
    """The rule's documentation as Markdown, with its facts and its measured precision on top."""
    title, _, rest = rule.doc.strip().partition("\n")
    title = title.strip().rstrip(".")
    on = "on by default" if rule.default else f'off by default: `extend-select = ["{rule.code}"]` switches it on'
    facts = [f"- severity: {rule.severity.value}", f"- family: {rule.family}", f"- {on}", f"- since {rule.since}"]
    measured = precision().get(rule.code)
    if measured:
        facts.append(f"- precision on real skills: {precision_text(measured)}")
    return f"# {rule.code} {rule.name}\n\n{title}.\n\n" + "\n".join(facts) + "\n\n" + rest.strip() + "\n"


def precision_text(measured: dict[str, int]) -> str:
    """The judged sample in one line, with its n and a 95 % Wilson interval."""
    right, arguable, wrong = measured["right"], measured["arguable"], measured["wrong"]
    n = right + arguable + wrong
    if not n:
        return f"not testable: no finding in {measured['skills']} public skills"
    low, high = wilson(right, n)
    return (
        f"{right} of {n} sampled findings right ({right / n:.0%}, 95 % interval {low:.0%} to {high:.0%}), {arguable} "
        f"arguable, {wrong} wrong; {measured['found']} found in {measured['skills']} public skills"
    )


def wilson(successes: int, n: int) -> tuple[float, float]:
    """The 95 % score interval of a proportion (Wilson 1927, formula 5), as fractions; n must be positive."""
    z = 1.959963984540054
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)


@cache
def precision() -> dict[str, dict[str, int]]:
    """The counts of each rule's judged sample, by code (see docs/precision.md)."""
    path = os.path.join(os.path.dirname(__file__), "precision.json")
    try:
        with open(path, encoding="utf-8") as file:
            rules: dict[str, dict[str, int]] = json.load(file)["rules"]
    except FileNotFoundError:
        return {}
    return rules
