"""Finds rules by walking this package; a new rule needs no registration."""

from __future__ import annotations

import itertools
import os
from functools import cache
from importlib import import_module

from skill_health.config.settings import CustomRules
from skill_health.rules._api import Rule

_HERE = os.path.dirname(__file__)


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule of the package, sorted by code. Raises ValueError if two share a code."""
    rules = [_load(family, name) for family in families() for name in _modules(family)]
    rules.sort(key=lambda rule: rule.code)
    for one, two in itertools.pairwise(rules):
        if one.code == two.code:
            raise ValueError(f"{one.code} is both {one.family}/{one.name} and {two.family}/{two.name}")
    return tuple(rules)


@cache
def rules_with(custom: CustomRules) -> tuple[Rule, ...]:
    """Every rule of the package, then those of a configuration, each sorted by code.

    Raises UsageError for a custom rule that cannot be one.
    """
    if not custom.rules and not custom.code:
        return all_rules()
    from skill_health.rules._custom.build import build_rules

    return (*all_rules(), *sorted(build_rules(custom, all_rules()), key=lambda rule: rule.code))


def families() -> list[str]:
    """The folders of the package, sorted."""
    with os.scandir(_HERE) as entries:
        return sorted(e.name for e in entries if e.is_dir() and not e.name.startswith(("_", ".")))


def _modules(family: str) -> list[str]:
    with os.scandir(os.path.join(_HERE, family)) as entries:
        names = [e.name for e in entries]
    return sorted(n[:-3] for n in names if n.endswith(".py") and not n.startswith("_"))


def _load(family: str, name: str) -> Rule:
    module = import_module(f"skill_health.rules.{family}.{name}")
    return Rule(
        code=module.CODE,
        name=name.replace("_", "-"),
        family=family,
        severity=module.SEVERITY,
        since=module.SINCE,
        default=module.DEFAULT,
        doc=module.__doc__ or "",
        check=getattr(module, "check", None),
        check_corpus=getattr(module, "check_corpus", None),
        check_repository=getattr(module, "check_repository", None),
        collect=getattr(module, "collect", None),
        redact=getattr(module, "REDACT", False),
        faults=frozenset(getattr(module, "FAULTS", ())),
    )
