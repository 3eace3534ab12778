"""docs/rules: a page for each rule, and a table of all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from skill_health.docs_markdown import MARK, code, table
from skill_health.rule_page import page, precision
from skill_health.rules._api import Rule

_HEAD = """# Rules

{count} rules, {on} of them on by default. `skill-health explain CODE` shows the page of one on the terminal, and
[configuration](../configuration.md) says how to switch rules on and off, one by one, by prefix or by family.
"""
_PRECISION = """
Precision is the share of sampled findings on public skills that were judged not wrong, with their number;
[docs/precision.md](../precision.md) has the method and every judgement.
"""
_COLUMNS = ("code", "name", "severity", "default", "reports that", "precision")


def rule_pages(rules: Sequence[Rule]) -> dict[str, str]:
    """The pages by their path below docs/."""
    pages = {f"rules/{rule.code}.md": MARK + page(rule) for rule in rules}
    parts = [MARK + _HEAD.format(count=len(rules), on=sum(rule.default for rule in rules))]
    parts += [_PRECISION] if precision() else []
    for family, group in groupby(sorted(rules, key=lambda rule: (rule.family, rule.code)), lambda rule: rule.family):
        parts.append(f"\n## {family}\n\n{table(_COLUMNS, map(_row, group))}")
    pages["rules/README.md"] = "".join(parts)
    return pages


def _row(rule: Rule) -> tuple[str, ...]:
    title = rule.doc.split("\n", 1)[0].strip().rstrip(".")
    measured = precision().get(rule.code)
    n = sum(measured[key] for key in ("right", "arguable", "wrong")) if measured else 0
    share = f"{(n - measured['wrong']) / n:.0%} of {n}" if measured and n else ""
    link = f"[{rule.code}]({rule.code}.md)"
    return link, code(rule.name), rule.severity.value, "on" if rule.default else "off", title, share
