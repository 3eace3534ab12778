"""The result of a run -> scores: what each component needs is gathered from findings, facts and registries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from skill_health.config.settings import Config
from skill_health.discovery.plugins import without_plugin
from skill_health.lint.pipeline import LintResult
from skill_health.profiles import COMPAT, load_profile
from skill_health.registries.records import Registries, RegistryRecord
from skill_health.rules._api import Severity
from skill_health.score.scoring import Scores, SkillFacts, score_corpus, score_skill


def score_result(result: LintResult, config: Config) -> Scores:
    """Score every skill that was asked for by the configured profile. Raises UsageError for an unknown profile."""
    if config.profile == COMPAT:
        from skill_health.lint.compat import compat_scores

        scores = compat_scores(result)
    else:
        profile = load_profile(config.profile, result.root)
        registries = result.registries or Registries()
        errors = Counter((f.family, f.skill) for f in result.findings if f.severity is Severity.ERROR)
        scores = {}
        for entry in result.entries:
            if entry.target:
                facts = result.facts[entry.path]
                known = SkillFacts(
                    links=facts.get("LI001"),
                    claims=_counts(facts.get("CL001")),
                    activation=_activation(registries, facts["summary"]["name"], profile.name),
                    mechanisms=_mechanisms(registries.mechanisms, facts["summary"]["name"]),
                    leaks=errors["leakage", entry.path],
                    hazards=errors["safety", entry.path],
                )
                scores[entry.path] = score_skill(facts["measures"], known, profile, config.limits)
    return Scores(config.profile, scores, score_corpus(scores.values()))


def _counts(claims: Mapping[str, object] | None) -> Mapping[str, int] | None:
    return None if claims is None else {k: v for k, v in claims.items() if isinstance(v, int)}


def _activation(registries: Registries, name: str, profile: str) -> Mapping[str, int] | None:
    # The plan knows activation cases only; elsewhere a labelled router prompt is as good a case.
    kinds = (registries.activation,) if profile == "plan" else (registries.activation, registries.prompts)
    cases = [case for records in kinds if records is not None for case in records]
    if all(records is None for records in kinds):
        return None
    positive = sum(without_plugin(str(case.data.get("expected_primary_skill"))) == name for case in cases)
    negative = sum(name in map(without_plugin, case.data.get("rejected_skills") or ()) for case in cases)
    return {"positive": positive, "negative": negative}


def _mechanisms(records: Sequence[RegistryRecord] | None, name: str) -> Mapping[str, int] | None:
    if records is None:
        return None
    return Counter(str(r.data.get("status")) for r in records if r.data.get("owning_skill") == name)
