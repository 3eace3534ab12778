"""A scored lint run -> its line of the history, and what only today's run can say about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from skill_health.config.settings import Config, Daily, config_digest, config_with
from skill_health.core.files import blake2b
from skill_health.core.strict_json import escape_surrogates
from skill_health.daily.drift import NO_SKILL
from skill_health.discovery.changes import Revision
from skill_health.discovery.corpus import Entry
from skill_health.documents.daily_run import DailyClaims, DailyRun, DailySkill, DailySummary
from skill_health.lint.pipeline import LintResult
from skill_health.lint.report import LintReport
from skill_health.profiles import COMPAT, load_profile
from skill_health.registries.records import Registries, Review, due_claims, reviews
from skill_health.rules._api import Finding, Severity
from skill_health.rules._load import rules_with
from skill_health.rules._page import precision
from skill_health.rules._select import selected
from skill_health.score.scoring import CorpusScore, Score
from skill_health.skill.measure import Measures
from skill_health.status.records import KnownSkill, summaries
from skill_health.text.patterns import lazy

_DIGITS = lazy(r"\d+")
_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class TodayRun:
    """A run: its `line`, and what is behind it.

    `findings` are keyed by the skill ("" for none) and then by their content; `reviews` are the claims that are stale
    or due soon, by id.
    """

    line: DailyRun
    findings: Mapping[str, Mapping[str, Sequence[Finding]]]
    scores: Mapping[str, Score]
    reviews: Mapping[str, Review]


def check_today(
    report: LintReport,
    result: LintResult,
    config: Config,
    as_of: date,
    time: str,
    paths: Sequence[str],
    revision: Revision,
) -> TodayRun:
    """The line of a scored run. `paths` are what was asked for, relative to the root; `time` is UTC, to the second."""
    registries = result.registries or Registries()
    scores = report.scores.skills if report.scores else {}
    corpus = report.scores.corpus if report.scores else CorpusScore(0, None, None, None, 0)
    findings, known = _by_skill(report), summaries(result.facts)
    overdue = {r.claim_id: r for r in reviews(registries, config.volatility, as_of) if r.overdue > 0}
    due = {r.claim_id: r for r in due_claims(registries, config.volatility, as_of, config.daily.due_days)}
    line = DailyRun(
        schema="skill-health/history/1",
        time=time,
        as_of=as_of.isoformat(),
        version=report.version,
        profile=config.profile,
        configuration=_settings_digest(config, result.root),
        rules=_digest(report.version, *(rule.code for rule in selected(rules_with(config.custom), config))),
        paths=tuple(sorted({escape_surrogates(path) for path in paths})),
        commit=revision.commit,
        dirty=revision.dirty,
        summary=DailySummary(
            skills=len(report.skills), mean=corpus.mean, min=corpus.min, max=corpus.max,
            flagged=corpus.flagged if corpus.n else None, errors=report.number(Severity.ERROR),
            warnings=report.number(Severity.WARNING), infos=report.number(Severity.INFO),
        ),
        skills={
            escape_surrogates(entry.path): _skill(
                entry, known[entry.path], result.facts[entry.path]["measures"], scores.get(entry.path),
                findings.get(escape_surrogates(entry.path), {}),
            )
            for entry in report.skills
        },
        other=_keys(findings.get(NO_SKILL, {})),
        claims=DailyClaims(stale=tuple(sorted(overdue)), due=tuple(sorted(due)))
        if registries.claims is not None
        else None,
    )  # fmt: skip
    named = {escape_surrogates(path): score for path, score in scores.items()}
    return TodayRun(line, findings, named, due | overdue)


def content_key(finding: Finding, folder: str) -> str:
    """What identifies a finding within its skill: the rule, its severity, the file and what is said of it.

    Neither the position, nor the wording of the line that it points at, nor a number in the message: a line that is
    moved or reworded and is still wrong is no new finding. `folder` is the skill's; a renamed skill keeps its keys.
    """
    inside = finding.path.removeprefix(f"{folder}/") if folder else finding.path
    text = _digest(finding.code, inside, _DIGITS.sub("#", finding.message))
    return f"{finding.severity.value}:{finding.code}:{text[:16]}"


def _by_skill(report: LintReport) -> dict[str, dict[str, list[Finding]]]:
    folders = {entry.path: entry.folder for entry in report.skills}
    found: dict[str, dict[str, list[Finding]]] = {}
    for finding in report.findings:
        owner = finding.skill if finding.skill in folders else NO_SKILL
        key = content_key(finding, folders.get(owner, ""))
        found.setdefault(escape_surrogates(owner), {}).setdefault(key, []).append(finding)
    return found


def _skill(
    entry: Entry,
    own: KnownSkill,
    measures: Measures,
    score: Score | None,
    findings: Mapping[str, Sequence[Finding]],
) -> DailySkill:
    keys = _keys(findings)
    return DailySkill(
        name=escape_surrogates(own.name)[:_NAME_CHARS],
        score=score.value if score else None,
        flagged=score.flagged if score else None,
        components={part.name: part.value for part in score.parts} if score else {},
        evidence={part.name: dict(part.evidence) for part in score.parts if part.evidence} if score else {},
        counts=dict(Counter(key.split(":")[1] for key in keys)),
        description=_digest(own.description) if own.description else None,
        listed=not own.hidden,
        tokens=None if entry.problem else measures.body_tokens,
        lines=None if entry.problem else measures.line_count,
        findings=keys,
    )


def _keys(findings: Mapping[str, Sequence[Finding]]) -> tuple[str, ...]:
    return tuple(sorted(key for key, found in findings.items() for _ in found))


def _settings_digest(config: Config, root: str) -> str:
    """The settings that scores and findings depend on: what merely judges or places them is left out.

    A profile counts with its content, and one that counts defects with the precision of the rules.
    """
    told = config_with(config, daily=Daily(), fail_on="error", needs_work="warning", fail_under=0.0, baseline="")
    if config.profile == COMPAT:
        return _digest(config_digest(told), COMPAT)
    profile = load_profile(config.profile, root)
    return _digest(config_digest(told), repr(profile), *([repr(precision())] if profile.defects else []))


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()
