"""What hosts spend on listing the collection: budgets by host, and tokens by skill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skill_health.config.settings import Config
from skill_health.core.strict_json import escape_surrogates
from skill_health.discovery.hosts import FULL, NAME_ONLY, OMITTED, TRUNCATED, Catalog, hosts, simulate
from skill_health.lint.pipeline import LintResult
from skill_health.skill.measure import estimate_tokens


def listing(result: LintResult, paths: Sequence[str], config: Config) -> dict[str, Any]:
    """The part `listing` of the page's document, about the skills at `paths` and those that stand beside them.

    A host loads the skills of one folder together, so that there is one entry for each host and folder.
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for path in sorted(result.facts):
        groups.setdefault(_group(path), []).append(result.facts[path]["summary"])
    asked = {_group(path) for path in paths}
    shown = []
    for group, skills in sorted(groups.items()):
        pairs = [
            (escape_surrogates(own["name"]), escape_surrogates(own["description"]))
            for own in skills
            if not own["hidden"]
        ]
        if group in asked and pairs:
            shown += [_entry(simulate(pairs, host), group) for host in hosts(config.hosts)]
    return {
        "hosts": shown,
        "skills": {escape_surrogates(path): _tokens(result.facts[path]["summary"]) for path in paths},
    }


def _group(path: str) -> str:
    """The folder that holds the skill's folder."""
    return escape_surrogates(path.rpartition("/")[0].rpartition("/")[0] or ".")


def _entry(catalog: Catalog, group: str) -> dict[str, Any]:
    host = catalog.host
    return {
        "key": host.key,
        "title": host.title,
        "group": group,
        "unit": host.unit,
        "limit": host.limit if host.limit > 0 else None,
        "wanted": catalog.wanted,
        "used": catalog.used,
        "shown_tokens": catalog.tokens,
        "skills": len(catalog.skills),
        "full": catalog.count(FULL),
        "truncated": catalog.count(TRUNCATED),
        "name_only": catalog.count(NAME_ONLY),
        "omitted": catalog.count(OMITTED),
    }


def _tokens(own: Mapping[str, Any]) -> int | None:
    if own["hidden"]:
        return None
    return estimate_tokens(f"- {own['name']}: {' '.join(own['description'].split())}\n")
