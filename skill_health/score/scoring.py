"""Measurements and a profile -> the score of a skill, with what went into it and what was left out.

Pure: the same numbers give the same score in any order. docs/scoring.md explains every component.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import Any, NamedTuple

from skill_health.config.settings import RuleLimits
from skill_health.profiles import Profile
from skill_health.score.defects import DefectScore, Loss
from skill_health.score.population import Population
from skill_health.skill.measure import Measures


@dataclass(frozen=True, slots=True)
class SkillFacts:
    """What is known of a skill beyond its own text. None means not known or not kept: it is left out, not zero.

    `links`: total and broken; `claims`: total, sourced and with_id; `activation`: positive and negative cases
    of the registries that expect or reject the skill; `mechanisms`: its entries by status. `leaks` counts
    error-level findings of the leakage family, `hazards` those of the safety family.
    """

    links: Mapping[str, int] | None = None
    claims: Mapping[str, int] | None = None
    activation: Mapping[str, int] | None = None
    mechanisms: Mapping[str, int] | None = None
    leaks: int = 0
    hazards: int = 0


@dataclass(frozen=True, slots=True)
class Grade:
    """The value of a component, None where it does not apply; a note for people; the counts behind it."""

    value: float | None
    note: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)


Settings = Mapping[str, Any]


def missing_sections(measures: Measures, settings: Settings) -> list[str]:
    """The headings (by exact title) and roles that the profile asks for and the skill lacks, in its order."""
    titles = [title for title in settings.get("headings", ()) if title not in measures.titles]
    return titles + [role.replace("_", " ") for role in settings.get("roles", ()) if role not in measures.roles]


def sections(measures: Measures, _facts: SkillFacts, settings: Settings) -> Grade:
    """The share of the expected sections that are there."""
    wanted = len(settings.get("headings", ())) + len(settings.get("roles", ()))
    if not wanted:
        return Grade(None, "the profile expects no sections")
    missing = missing_sections(measures, settings)
    note = "missing: " + ", ".join(missing) if missing else ""
    return Grade((wanted - len(missing)) / wanted, note, {"present": wanted - len(missing), "expected": wanted})


def gotchas(measures: Measures, _facts: SkillFacts, settings: Settings) -> Grade:
    """Entries of the sections of gotchas against a target; of one section where the profile names its heading."""
    heading = settings.get("heading")
    count = measures.gotchas.get(heading, 0) if heading else measures.gotcha_count
    return _against(count, settings.get("target", 3), "gotchas")


def examples(measures: Measures, _facts: SkillFacts, settings: Settings) -> Grade:
    """Examples of every counted form against a target."""
    counts = {name: getattr(measures, name) for name in settings.get("counted", ("code_examples",))}
    grade = _against(sum(counts.values()), settings.get("target", 2), "examples")
    return Grade(grade.value, grade.note, {**grade.evidence, **counts})


def links(_measures: Measures, facts: SkillFacts, settings: Settings) -> Grade:
    """The share of links inside the repository that resolve."""
    if facts.links is None:
        return Grade(None, "links were not checked")
    total, broken = facts.links.get("total", 0), facts.links.get("broken", 0)
    if not total:
        return Grade(settings.get("none"), "no links inside the repository", {"total": 0, "broken": 0})
    kept = max(0, total - broken)
    return Grade(min(1.0, kept / total), f"{broken} broken" if broken else "", {"total": total, "broken": broken})


def claims(_measures: Measures, facts: SkillFacts, settings: Settings) -> Grade:
    """The share of numeric claims that name their source."""
    if facts.claims is None:
        return Grade(None, "claims were not checked")
    counted = settings.get("counted", "sourced")
    total, sourced = facts.claims.get("total", 0), facts.claims.get(counted, 0)
    evidence = {"total": total, counted: sourced}
    if not total:
        return Grade(settings.get("none"), "no numeric claims", evidence)
    open_claims = max(0, total - sourced)
    return Grade(min(1.0, sourced / total), f"{open_claims} without a source" if open_claims else "", evidence)


def activation(_measures: Measures, facts: SkillFacts, settings: Settings) -> Grade:
    """Cases that should and should not activate the skill, each against its target."""
    if facts.activation is None:
        return Grade(None, "no registry of activation cases or router prompts")
    wanted = {"positive": settings.get("positives", 1), "negative": settings.get("negatives", 0)}
    have = {kind: facts.activation.get(kind, 0) for kind in wanted}
    target = sum(wanted.values())
    if not target:
        return Grade(None, "the profile asks for no cases", have)
    value = sum(min(have[kind], wanted[kind]) for kind in wanted) / target
    short = [f"{have[kind]} of {wanted[kind]} {kind}" for kind in wanted if have[kind] < wanted[kind]]
    return Grade(value, ", ".join(short), have)


def mechanisms(_measures: Measures, facts: SkillFacts, settings: Settings) -> Grade:
    """Registered mechanisms of the skill, each credited by its status, against a target."""
    if facts.mechanisms is None:
        return Grade(None, "no registry of mechanisms")
    credit = settings.get("credit", {"accepted": 1.0})
    worth = sum(credit.get(status, 0.0) * facts.mechanisms[status] for status in sorted(facts.mechanisms))
    grade = _against(worth, settings.get("target", 1), "mechanisms")
    return Grade(grade.value, grade.note, dict(sorted(facts.mechanisms.items())))


def frontmatter(measures: Measures, _facts: SkillFacts, settings: Settings) -> Grade:
    """0 where the frontmatter is invalid, else 1 less the deductions for minor issues."""
    invalid = [issue for issue in measures.issues if issue in settings.get("invalid", ())]
    deduct = settings.get("deduct", {})
    lesser = [issue for issue in measures.issues if issue in deduct]
    value = 0.0 if invalid else max(0.0, 1.0 - sum(deduct[issue] for issue in lesser))
    note = ", ".join(issue.replace("-", " ") for issue in invalid + lesser)
    return Grade(value, note, {"issues": len(invalid) + len(lesser)})


def _against(count: float, target: int, what: str) -> Grade:
    if target < 1:
        return Grade(None, f"the profile asks for no {what}")
    note = f"{count:g} of {target}" if count < target else ""
    return Grade(min(1.0, count / target), note, {"count": count, "target": target})


COMPONENTS: dict[str, Callable[[Measures, SkillFacts, Settings], Grade]] = {
    "sections": sections,
    "gotchas": gotchas,
    "examples": examples,
    "links": links,
    "activation": activation,
    "claims": claims,
    "mechanisms": mechanisms,
    "frontmatter": frontmatter,
}


_DIGITS = 4


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One component of a score.

    `weight` is the profile's; `share` is what it comes to once the components that do not apply are left
    out (0 for those). `value` is between 0 and 1; None means that it does not apply, and `note` says why.
    `evidence` are the counts it was computed from. A part that `multiplies` is no part of the mean: the score is
    multiplied by its value.
    """

    name: str
    weight: float
    share: float
    value: float | None
    note: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    multiplies: bool = False


@dataclass(frozen=True, slots=True)
class Flag:
    """A reason to look at a skill whatever its score: a stable word and a line for people."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one skill, to 4 decimals: the weighted mean of its parts, times those that multiply.

    `losses` are what took points by findings, the most first; None where the profile counts no findings.
    """

    value: float
    parts: tuple[ScorePart, ...]
    flags: tuple[Flag, ...]
    losses: tuple[Loss, ...] | None = None

    @property
    def flagged(self) -> bool:
        """Whether there is any reason to look at the skill."""
        return bool(self.flags)


@dataclass(frozen=True, slots=True)
class CorpusScore:
    """The plain mean of the scores with its extremes; None where there is no skill to score."""

    n: int
    mean: float | None
    min: float | None
    max: float | None
    flagged: int


def score_skill(
    measures: Measures,
    facts: SkillFacts,
    profile: Profile,
    limits: RuleLimits | None = None,
    found: DefectScore | None = None,
) -> Score:
    """Score one skill by a profile. `limits` give the line limit where the profile has none of its own.

    `found` is what defects leave and take, for a profile that counts them.
    """
    graded = [(part, COMPONENTS[part.name](measures, facts, part.settings)) for part in profile.components]
    whole = fsum(component.weight for component, grade in graded if grade.value is not None)
    parts = tuple(
        ScorePart(
            component.name, component.weight, 0.0 if grade.value is None else round(component.weight / whole, _DIGITS),
            None if grade.value is None else round(grade.value, _DIGITS), grade.note, grade.evidence,
        )
        for component, grade in graded
    )  # fmt: skip
    total = fsum(component.weight * grade.value for component, grade in graded if grade.value is not None)
    mean = min(1.0, total / whole) if graded else 1.0
    # What is well written and harms its user is worth nothing: no part of the score makes up for it.
    left = 0.0 if profile.hazards and facts.hazards and not found else found.value if found else 1.0
    value = round(mean * left, _DIGITS)
    flags: list[Flag] = []
    if graded:
        flags += _flags(value, measures, facts, profile, profile.lines or (limits or RuleLimits()).body_lines)
    if found:
        parts += tuple(_factor(name, kept, found.losses) for name, kept in found.components.items())
        flags += (Flag("defect", loss.message) for loss in found.losses)
    return Score(value, parts, tuple(flags), found.losses if found else None)


def _factor(name: str, value: float | None, losses: Iterable[Loss]) -> ScorePart:
    """A part that multiplies, from what defects leave of a component."""
    own = [loss for loss in losses if loss.component == name]
    if value is None:
        return ScorePart(name, 1.0, 0.0, None, "not judged: SKILL.md cannot be read", multiplies=True)
    evidence = {"findings": float(sum(loss.findings for loss in own))} if own else {}
    note = ", ".join(f"{loss.code} {loss.rule}" for loss in own)
    return ScorePart(name, 1.0, 1.0, round(value, _DIGITS), note, evidence, multiplies=True)


def _flags(value: float, measures: Measures, facts: SkillFacts, profile: Profile, lines: int) -> Iterable[Flag]:
    if value < profile.below:
        yield Flag("low-score", f"score {value:.4f} is below {profile.below:.2f}")
    if measures.line_count > lines:
        yield Flag("too-long", f"{measures.line_count} lines, over {lines}")
    if profile.missing_sections:
        for title in missing_sections(measures, _settings(profile, "sections")):
            yield Flag("missing-section", f"no section '{title}'")
    invalid = _settings(profile, "frontmatter").get("invalid", ())
    for issue in measures.issues:
        if issue in invalid:
            yield Flag("invalid-frontmatter", f"invalid frontmatter: {issue.replace('-', ' ')}")
    if profile.leaks and facts.leaks:
        yield Flag("leak", f"{facts.leaks} leak{'s' if facts.leaks > 1 else ''} of evaluation material or secrets")
    if profile.hazards and facts.hazards and not profile.defects:
        yield Flag(
            "hazard",
            f"{facts.hazards} hazard{'s' if facts.hazards > 1 else ''} to its user: the score is 0 until fixed",
        )


def _settings(profile: Profile, name: str) -> Mapping[str, Any]:
    return next((c.settings for c in profile.components if c.name == name), {})


def score_corpus(scores: Iterable[Score]) -> CorpusScore:
    """The mean, the extremes and the number of flagged skills of a collection, whatever their order."""
    every = list(scores)
    if not every:
        return CorpusScore(0, None, None, None, 0)
    values = [score.value for score in every]
    mean = round(fsum(values) / len(values), _DIGITS)
    return CorpusScore(len(every), mean, min(values), max(values), sum(score.flagged for score in every))


class Scores(NamedTuple):
    """The scores of the skills asked for, by the path of their SKILL.md, and of them all together.

    `population` are the public skills that they can be held against; None where there is none for the profile.
    """

    profile: str
    skills: Mapping[str, Score]
    corpus: CorpusScore
    population: Population | None = None
