"""`skill-health rules`: every rule there is."""

from __future__ import annotations

import json
import os

import click

from skill_health.commands.lint import add_options
from skill_health.rules._api import Rule
from skill_health.rules._load import rules_with
from skill_health.rules._select import check_selector, matches


@click.command(short_help="List the rules.")
@click.argument("selectors", nargs=-1, metavar="[CODE|FAMILY]...")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="text or json.")
@add_options("config_file", "allow_code")
def command(selectors: tuple[str, ...], format_: str, config_file: str | None, allow_code: bool) -> int:
    """List all rules, those of the configuration here included, or those selected by code, prefix or family."""
    every = rules_here(config_file, allow_code)
    for selector in selectors:
        check_selector(every, selector)
    rules = [rule for rule in every if not selectors or matches(rule, selectors)]
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


def rules_here(config_file: str | None, allow_code: bool) -> tuple[Rule, ...]:
    """Every rule, with those that the configuration of the current directory adds."""
    from skill_health.lint.pipeline import configure, unrun_code

    root, config = configure((os.curdir,), config_file, {"allow_code": allow_code})
    for note in unrun_code(config, root):
        click.echo(f"skill-health: {note}", err=True)
    return rules_with(config.custom)


def title(rule: Rule) -> str:
    """The first line of the rule's documentation."""
    return rule.doc.split("\n", 1)[0].strip().rstrip(".")


def _as_json(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code, "name": rule.name, "family": rule.family, "severity": rule.severity.value,
        "default": rule.default, "since": rule.since, "title": title(rule),
    }  # fmt: skip
