"""Running the collection-wide rules over the summaries of all skills."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

from skill_health.check import FileContext, as_findings
from skill_health.core.config import Config
from skill_health.core.registries import Registries
from skill_health.core.skill import Span
from skill_health.rules._api import Corpus, Finding, SkillSummary
from skill_health.rules._load import all_rules
from skill_health.select import selected
from skill_health.session import LintSession


class CorpusFiles(FileContext):
    """The context of collection-wide rules: files, and the day that claims are judged at."""

    def __init__(self, root: str, config: Config, registries: Registries, as_of: date) -> None:
        super().__init__(root, config, registries)
        self.as_of = as_of


def check_corpus(session: LintSession, as_of: date) -> tuple[list[Finding], dict[str, str]]:
    """The findings of the collection-wide rules, and the files that they depend on (see `inputs`)."""
    context = CorpusFiles(session.discovery.root, session.config, session.registries(), as_of)
    summaries = (_summary(path, json.loads(record["facts"])) for path, record in sorted(session.records.items()))
    corpus = Corpus(tuple(summaries))
    findings: list[Finding] = []
    for rule in selected(all_rules(), session.config):
        if rule.check_corpus is not None:
            findings += as_findings(rule, rule.check_corpus(corpus, context), None, context)
    return findings, context.inputs


def _summary(path: str, facts: dict[str, Any]) -> SkillSummary:
    own = facts["summary"]
    return SkillSummary(
        path, path.rpartition("/")[0], own["name"], own["description"], Span(*own["name_span"]),
        Span(*own["description_span"]), own["digest"], own["hidden"], facts,
    )  # fmt: skip
