"""What a task is held to, and what follows where it is not met: appendix B of SkillsBench, as far as facts decide it.

The weights are those of its life cycle (B.9): what is critical there rejects a task here, what is major asks for
changes, and the rest is a caveat. What was looked at and stays open is a caveat, too. Where nothing was run that could
tell, nothing is decided, and what only a person can say is left to one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from skill_health.documents.effect_check import CheckedTask, FaultKind
from skill_health.documents.task_review import (
    CriterionAnswer,
    CriterionCode,
    CriterionWeight,
    Recommendation,
    ReviewCriterion,
    ReviewedArm,
    ReviewedMetadata,
    ReviewedOracle,
    SkillsImpact,
)
from skill_health.effectiveness.records import CONTROL
from skill_health.effectiveness.tasks._api import TaskAbout
from skill_health.stats.intervals import wilson_interval
from skill_health.text.near import list_some
from skill_health.text.numbers import count, points, signed

CATEGORIES = (
    "cybersecurity", "finance-economics", "industrial-physical-systems", "mathematics-or", "media-content-production",
    "natural-science", "office-white-collar", "software-engineering",
)  # fmt: skip
"""The domains of SkillsBench (appendix M.9)."""
DIFFICULTIES = ("easy", "medium", "hard")
FEWEST_SKILLS, MOST_SKILLS, MOST_TESTS = 3, 6, 9
SOLVED = 0.5
"""A task whose control passes more often than this, whatever its luck, is solved without a skill."""
_ORACLE: tuple[FaultKind, ...] = ("no-oracle", "oracle-error", "oracle-fails", "oracle-reward")
_UNSOUND: tuple[FaultKind, ...] = (
    "reward", "skills", "not-runnable", "verifier-bought", "verifier-changes", "verifier-error", "verifier-varies",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReviewFacts:
    """What a task is judged by.

    `skill_errors` counts the errors that lint finds in each of its skills, as far as they were found; `categories` are
    the words that its category may be, none where it may be any.
    """

    metadata: ReviewedMetadata
    about: TaskAbout
    check: CheckedTask
    oracle: ReviewedOracle
    agents: Sequence[ReviewedArm]
    impact: Sequence[SkillsImpact]
    skill_errors: Mapping[str, int]
    categories: Collection[str]

    def faults(self, kinds: Sequence[FaultKind]) -> list[str]:
        """What the check says of these kinds."""
        return [each.message for each in self.check.problems if each.kind in kinds]


def judge_task(facts: ReviewFacts) -> tuple[ReviewCriterion, ...]:
    """All criteria, in the order of the manual."""
    return tuple(
        ReviewCriterion(code=code, answer=answer, weight=weight, said=said)
        for code, answer, weight, said in _all(facts)
    )


def recommend(criteria: Sequence[ReviewCriterion]) -> Recommendation:
    """What follows from the criteria: the weightiest that is not met decides."""
    missed = {each.weight for each in criteria if each.answer == "not met"}
    unknown = {each.weight for each in criteria if each.answer == "not known"}
    if "reject" in missed:
        return "reject"
    if "major" in missed:
        return "major changes needed"
    if unknown - {"caveat"}:
        return "not decided"
    open_ = missed or unknown or any(each.answer == "not shown" for each in criteria)
    return "approve with caveats" if open_ else "approve"


_Said = tuple[CriterionCode, CriterionAnswer, CriterionWeight, str]


def _all(facts: ReviewFacts) -> Iterator[_Said]:
    yield _from_faults("oracle-passes", facts, _ORACLE, "the oracle passes")
    yield _from_faults("no-op-fails", facts, ("no-op-passes",), "doing nothing fails")
    yield _from_faults("verifier-sound", facts, _UNSOUND, "the verifier says the same each time and cannot be bought")
    leaks, named = facts.faults(("leak", "visible")), facts.faults(("skill-named",))
    yield "no-leak", "not met" if leaks else "met", "reject", "; ".join(leaks) or "what agents get gives nothing away"
    said = "; ".join(named) or "the instruction names no skill that should help"
    yield "no-skill-named", "not met" if named else "met", "major", said
    yield _programs(facts.metadata)
    yield _skills(facts)
    yield _number_of_skills(facts)
    yield _number_of_tests(facts)
    yield _closed_words(facts)
    yield _writer(facts.metadata)
    yield from _measured(facts)
    yield (
        "realistic",
        "for a person",
        "reject",
        "whether somebody would do this at work, with data like these, no program can say",
    )


def _from_faults(code: CriterionCode, facts: ReviewFacts, kinds: Sequence[FaultKind], good: str) -> _Said:
    found = facts.faults(kinds)
    if found:
        return code, "not met", "major", "; ".join(found)
    if facts.check.nothing_done is None:
        return code, "not known", "major", "it was not run here"
    return code, "met", "major", good


def _programs(metadata: ReviewedMetadata) -> _Said:
    if metadata.judged:
        said = f"a judge decides {metadata.judged:,} of its {metadata.criteria:,} criteria"
        return "programs-decide", "not met", "caveat", said
    return "programs-decide", "met", "caveat", "programs decide the outcome, and no judge"


def _skills(facts: ReviewFacts) -> _Said:
    wrong = [f"{name} ({count(n, 'error')})" for name, n in sorted(facts.skill_errors.items()) if n]
    if wrong:
        return "skills-sound", "not met", "major", f"lint finds errors in {list_some(wrong, 3)}"
    if not facts.skill_errors:
        none = facts.metadata.skills == ()
        return (
            "skills-sound",
            "met" if none else "not known",
            "major",
            "no skill should help" if none else "its skills were not found",
        )
    return "skills-sound", "met", "major", f"lint finds no error in {count(len(facts.skill_errors), 'skill')}"


def _number_of_skills(facts: ReviewFacts) -> _Said:
    skills = facts.metadata.skills
    if skills is None:
        return "skill-count", "not known", "caveat", "nothing says which skills should help"
    n, reason = len(skills), facts.about.skills_reason
    if n == 0:
        return "skill-count", "met", "caveat", "a negative control: no skill should help"
    said = f"{count(n, 'skill')} should help"
    if FEWEST_SKILLS <= n <= MOST_SKILLS:
        return "skill-count", "met", "caveat", said
    return _unusual("skill-count", f"{said}, where {FEWEST_SKILLS} to {MOST_SKILLS} are wanted", reason)


def _number_of_tests(facts: ReviewFacts) -> _Said:
    n, reason = facts.metadata.tests, facts.about.tests_reason
    n = n if n is not None else facts.metadata.criteria or None
    if n is None:
        return "test-count", "not known", "caveat", "the verifier is no pytest: its tests cannot be counted"
    if n <= MOST_TESTS:
        return "test-count", "met", "caveat", count(n, "test")
    return _unusual("test-count", f"{count(n, 'test')}, where fewer than {MOST_TESTS + 1} are wanted", reason)


def _unusual(code: CriterionCode, said: str, reason: str) -> _Said:
    """A number that is not as it should be, which a reason excuses."""
    if reason:
        return code, "met", "caveat", f"{said}; the reason given: {reason}"
    return code, "not met", "caveat", said


def _closed_words(facts: ReviewFacts) -> _Said:
    asked = (
        ("category", facts.metadata.category, facts.categories),
        ("difficulty", facts.metadata.difficulty, DIFFICULTIES),
    )
    wrong = [
        f"{key} {word!r} is none of {len(words)} known ({list_some(sorted(words), 3)})" if word else f"no {key}"
        for key, word, words in asked
        if words and word not in words
    ]  # fmt: skip
    return (
        "closed-words",
        "not met" if wrong else "met",
        "caveat",
        "; ".join(wrong) or f"{' and '.join(key for key, _, words in asked if words)} from the closed vocabulary",
    )


def _writer(metadata: ReviewedMetadata) -> _Said:
    code: CriterionCode = "human-instruction"
    match metadata.instruction_by:
        case None:
            return code, "not shown", "caveat", "the metadata do not say who wrote the instruction (instruction_by)"
        case "human":
            return code, "met", "reject", "a person wrote the instruction, as the author declares"
        case "mixed":
            return code, "not shown", "caveat", "a person and a model wrote the instruction, as the author declares"
    return code, "not met", "reject", "a model wrote the instruction, as the author declares"


def _measured(facts: ReviewFacts) -> Iterator[_Said]:
    """Whether skills help at the task, and whether they harm: by trials of agents that are not simulated."""
    if facts.metadata.skills == ():
        yield "skill-dependent", "met", "reject", "a negative control: no skill should help"
        return
    real = [each for each in facts.impact if not each.simulated and each.delta.value is not None]
    controls = [each for each in facts.agents if not each.simulated and each.arm == CONTROL and each.passed.n]
    if not real:
        simulated = " (simulated trials say nothing about a model)" if facts.impact else ""
        said = f"no agent did it both with its skills and without{simulated}"
        yield "skill-dependent", "not known", "reject", said
        yield "no-harm", "not known", "major", said
        return
    delta = real[-1].delta
    told = f"{points(delta)} points over {count(delta.n, 'trial')}"
    n = sum(each.passed.n for each in controls)
    passed = sum(round((each.passed.value or 0) * each.passed.n) for each in controls)
    low = wilson_interval(passed, n)[0] if n else 0.0
    if delta.low is not None and delta.low > 0:
        yield "skill-dependent", "met", "reject", f"its skills help: {told}"
    elif low > SOLVED:
        said = f"without its skills {passed:,} of {count(n, 'trial')} pass, and with them no more are shown to: {told}"
        yield "skill-dependent", "not met", "reject", said
    else:
        yield "skill-dependent", "not shown", "reject", f"that its skills help is not shown: {told}"
    harmed = delta.high is not None and delta.high < 0
    yield (
        "no-harm", "not met" if harmed else "met", "major",
        f"its skills harm: {told}" if harmed else f"no harm is shown: {signed(delta.value)} points",
    )  # fmt: skip
