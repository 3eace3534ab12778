"""The result of a run -> scores: what each component needs is gathered from findings, facts and registries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.discovery.corpus import Discovery, discover
from skill_health.discovery.plugins import without_plugin
from skill_health.hosts._api import Proof
from skill_health.hosts._choice import hosts_to_score
from skill_health.lint.pipeline import LintResult, run
from skill_health.profiles import COMPAT, Defects, Profile, load_profile
from skill_health.registries.records import Registries, RegistryRecord
from skill_health.rules._api import Finding, Severity
from skill_health.rules._load import all_rules
from skill_health.rules._page import precision, wilson
from skill_health.score.defects import DefectScore, Loading, RulePrecision, ScoredFinding, score_defects
from skill_health.score.population import Population, load_population
from skill_health.score.scoring import Scores, SkillFacts, score_corpus, score_skill


class ScoringRun(NamedTuple):
    """How a collection was checked, so that it can be checked again without what its configuration says of rules.

    `boundary` is as in `run`.
    """

    paths: Sequence[str]
    discovery: Discovery
    config: Config
    as_of: date
    jobs: int = 0
    use_cache: bool = True
    paranoid: bool = False
    boundary: Boundary | None = None


def score_result(result: LintResult, checked: ScoringRun) -> Scores:
    """Score every skill that was asked for by the configured profile. Raises UsageError for an unknown profile."""
    config = checked.config
    population = None
    if config.profile == COMPAT:
        from skill_health.lint.compat import compat_scores

        scores = compat_scores(result)
    else:
        profile = load_profile(config.profile, result.root)
        registries = result.registries or Registries()
        errors = Counter((f.family, f.skill) for f in result.findings if f.severity is Severity.ERROR)
        found = judge_defects(result, checked, profile.defects) if profile.defects else {}
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
                scores[entry.path] = score_skill(
                    facts["measures"], known, profile, config.limits, found.get(entry.path)
                )
        population = _population(profile, config)
    return Scores(config.profile, scores, score_corpus(scores.values()), population)


def _population(profile: Profile, config: Config) -> Population | None:
    """The public skills that were scored in the same way: by this profile, for all programs."""
    known = load_population()
    alike = profile.name == known.profile and profile == load_profile(known.profile)
    return known if alike and not config.hosts else None


def judge_defects(result: LintResult, checked: ScoringRun, costs: Defects) -> dict[str, DefectScore]:
    """What defects leave of each skill, whatever the configuration selects, ignores, excepts or allows."""
    own = checked.config
    plain = Config()
    found = result.everything
    whole = _with_all_files(checked)
    if (own.select, own.ignore, own.limits) != (plain.select, plain.ignore, plain.limits) or whole != checked.discovery:
        neutral = own._replace(
            profile=plain.profile, select=(), extend_select=(), ignore=(), per_path=(), severity={}, limits=plain.limits
        )
        again = run(
            whole, neutral, checked.as_of, checked.jobs, checked.use_cache, True, paranoid=checked.paranoid,
            boundary=checked.boundary,
        )  # fmt: skip
        found = again.everything
    shown = {_place(each) for each in result.findings}
    by_skill: defaultdict[str, list[ScoredFinding]] = defaultdict(list)
    for owner, defect in _defects(found, shown, costs):
        by_skill[owner].append(defect)
    weights = {each.title: 1.0 if each.proof is Proof.RUN else costs.unmeasured for each in hosts_to_score(own)}
    return {
        entry.path: score_defects(
            by_skill[entry.path], Loading(weights, result.facts[entry.path]["FM029"]), costs, bool(entry.problem)
        )
        for entry in result.entries
        if entry.target
    }


def _with_all_files(checked: ScoringRun) -> Discovery:
    """The same skills, each with the files that `exclude` leaves out of it: what is excluded runs all the same."""
    found = checked.discovery
    if not checked.config.exclude:
        return found
    bare = discover(checked.paths, checked.config._replace(exclude=()), found.root)
    files = {entry.path: entry.files for entry in bare.entries}
    return found._replace(
        entries=tuple(entry._replace(files=files.get(entry.path, entry.files)) for entry in found.entries)
    )


def _defects(
    findings: Sequence[Finding], shown: set[tuple[str, int, int, str, str]], costs: Defects
) -> Iterator[tuple[str, ScoredFinding]]:
    """The findings that count, with the SKILL.md that they belong to."""
    rules = {rule.code: rule for rule in all_rules()}
    for each in findings:
        rule = rules.get(each.code)
        if rule is None or not rule.default or each.family not in costs.families or each.code in costs.left_out:
            continue
        # What hosts skip is an error where these are chosen: that is counted by hosts, and here by what the rule says.
        severity = rule.severity if each.hosts and rule.severity.rank > each.severity.rank else each.severity
        if severity is not Severity.INFO and each.skill:
            inside = each.path.removeprefix(each.skill.rpartition("/")[0] + "/")
            place = f"{inside}:{each.line}:{each.col}"
            yield (
                each.skill,
                ScoredFinding(
                    each.family, each.code, each.rule, "error" if severity is Severity.ERROR else "warning", place, _precision(each.code, severity),
                    _place(each) not in shown,
                ),
            )  # fmt: skip


def _place(finding: Finding) -> tuple[str, int, int, str, str]:
    return finding.path, finding.line, finding.col, finding.code, finding.message


def _precision(code: str, severity: Severity) -> RulePrecision:
    """How often the rule is right at this severity, else at the other one that is not information.

    The bound is that of docs/precision.md, over clusters; where these are too few for one, as if each were one finding.
    """
    known = precision().get(code, {})
    measured = known.get(severity.value) or known.get("warning") or known.get("error")
    if measured is None:
        return RulePrecision()
    right, n, clusters, low = measured["right"], measured["n"], measured["clusters"], measured["low"]
    return RulePrecision(right, n, low if low is not None else wilson(clusters * right / n, clusters)[0])


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
