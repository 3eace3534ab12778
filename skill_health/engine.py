"""Corpus and rules -> findings: pure, independent of order, cached per skill."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from skill_health.core.config import Config
from skill_health.core.corpus import Discovery, Entry
from skill_health.finish import finish
from skill_health.rules._api import Finding
from skill_health.session import LintSession

if TYPE_CHECKING:
    from skill_health.core.registries import Registries


# The facts that scores and reports are made of; the others are for the collection-wide rules alone.
_KEPT = ("summary", "LI001", "CL001")


class LintResult(NamedTuple):
    """The findings of the skills asked for, sorted, and what else is known of the collection.

    `facts` maps the path of each SKILL.md to what was measured in it (empty unless asked for); `ignored`
    counts the findings that inline comments silenced; `copies` maps a skill to its unchecked copies.
    """

    root: str
    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    facts: dict[str, dict[str, Any]]
    ignored: int
    warnings: tuple[str, ...]
    registries: "Registries | None" = None


def run(
    discovery: Discovery,
    config: Config,
    as_of: date,
    jobs: int = 0,
    use_cache: bool = True,
    facts: bool = False,
    paths: Sequence[str] = (),
) -> LintResult:
    """Check every skill of the collection and report on those that were asked for.

    `jobs` is the number of worker processes (0: one for each processor when there is enough to do);
    `facts` asks for the facts of all skills; `paths` are files outside any skill, relative to the root,
    whose findings are wanted too. Raises UsageError for a selector that names no rule.
    """
    session = LintSession.open(discovery, config, use_cache)
    session.check(jobs)
    corpus_findings = session.check_corpus(as_of)
    if use_cache:
        session.close()
    findings, ignored = finish(session, corpus_findings, set(paths))
    every = {}
    if facts:
        import json

        for entry in discovery.entries:
            record = session.records[entry.path]
            known = json.loads(record["facts"])
            every[entry.path] = {key: known[key] for key in _KEPT if key in known} | {
                "measures": json.loads(record["measures"])
            }
    return LintResult(
        discovery.root, discovery.entries, tuple(findings), every, ignored, discovery.warnings,
        session.registries() if facts else None,
    )  # fmt: skip
