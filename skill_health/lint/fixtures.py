"""The registries and tasks beside the skills: how many records they hold, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from skill_health import __version__
from skill_health.config.settings import Config, config_with
from skill_health.discovery.corpus import discover
from skill_health.lint.named import registry_paths
from skill_health.lint.pipeline import run
from skill_health.lint.report import LintReport
from skill_health.registries.records import Registries
from skill_health.registries.sources import KINDS

NOUNS = {
    "claims": ("claim", "claims"),
    "mechanisms": ("mechanism", "mechanisms"),
    "activation": ("activation case", "activation cases"),
    "prompts": ("router prompt", "router prompts"),
    "tasks": ("task", "tasks"),
}


def check_fixtures(root: str, config: Config, as_of: date, jobs: int = 0, use_cache: bool = True) -> LintReport:
    """What the collection-wide rules find in the registries and tasks below `root`, and nowhere else.

    The default rules run, those of `extend_select`, and none that `ignore` names; `select` does not narrow them.
    """
    from skill_health.rules._load import rules_with
    from skill_health.rules._select import selected

    every = selected(rules_with(config.custom), config_with(config, select=()))
    rules = [rule.code for rule in every if rule.check_corpus]
    narrowed = config_with(config, select=tuple(rules), extend_select=(), ignore=())
    discovery = discover((root,), config, root)
    result = run(discovery, narrowed, as_of, jobs, use_cache)
    in_registries = registry_paths(discovery.root, config.sources)
    findings = tuple(finding for finding in result.findings if in_registries(finding.path))
    return LintReport(__version__, config.profile, (), findings, warnings=result.warnings)


def count(registries: Registries) -> str:
    """How many records of which kind were read, bad ones included, such as "2 claims, 1 router prompt"; or ""."""
    bad = [entry.kind for entry in registries.bad]
    parts = []
    for kind in KINDS:
        group: Sequence[object] | None = getattr(registries, kind)
        if group is not None:
            number = len(group) + bad.count(kind)
            parts.append(f"{number} {NOUNS[kind][number != 1]}")
    return ", ".join(parts)
