"""`skill-health rules`: every rule there is."""

from __future__ import annotations

import json

import click

from skill_health.rules._api import Rule
from skill_health.rules._load import all_rules
from skill_health.rules._select import check_selector, matches


@click.command(short_help="List the rules.")
@click.argument("selectors", nargs=-1, metavar="[CODE|FAMILY]...")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="text or json.")
def command(selectors: tuple[str, ...], format_: str) -> int:
    """List all rules, or those selected by code, prefix or family."""
    for selector in selectors:
        check_selector(all_rules(), selector)
    rules = [rule for rule in all_rules() if not selectors or matches(rule, selectors)]
    if format_ == "json":
        click.echo(json.dumps([_as_json(rule) for rule in rules], indent=1))
        return 0
    width = max(len(rule.name) for rule in rules)
    family = ""
    for rule in rules:
        if rule.family != family:
            family = rule.family
            click.echo(("\n" if rule is not rules[0] else "") + click.style(family, bold=True))
        on = "on " if rule.default else "off"
        click.echo(f"  {rule.code}  {rule.severity.value:7}  {on}  {rule.name:{width}}  {title(rule)}")
    click.echo(f"\n{len(rules)} rules, {sum(r.default for r in rules)} of them on by default")
    return 0


def title(rule: Rule) -> str:
    """The first line of the rule's documentation."""
    return rule.doc.split("\n", 1)[0].strip().rstrip(".")


def _as_json(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code, "name": rule.name, "family": rule.family, "severity": rule.severity.value,
        "default": rule.default, "since": rule.since, "title": title(rule),
    }  # fmt: skip
