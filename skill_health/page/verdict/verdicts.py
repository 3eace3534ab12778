"""One verdict per skill: its grade, as the record has it, and the sentences that say why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from skill_health.core.strict_json import escape_surrogates
from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.next_steps import StepKind
from skill_health.documents.skill_grades import SkillGrade, grade_word, reaches
from skill_health.documents.skill_record import SkillHealth, SkillLoads, SkillRecord, SkillRouted, SkillRouting
from skill_health.lint.report import LintReport
from skill_health.page.figures import score_text
from skill_health.page.model import LIVE, SKILL_TOPICS, DueSkills, SkillVerdict
from skill_health.page.verdict.ranking import asking_again, effect_rank
from skill_health.rules._api import Finding, Severity
from skill_health.status.loads import counts_live
from skill_health.status.next_steps import CommandBuilder, grouped, steps
from skill_health.status.records import decides
from skill_health.status.render import CollectionStatus
from skill_health.text.numbers import Interval, count, with_interval

PRELIMINARY, OUTDATED = "preliminary: ", "out of date: "
"""What stands before a detail that is not to be taken as the last word."""
SO_FAR = "agents did worse with it so far: add tasks to be sure, then"
Standing = Literal["found", "lost", "few", "untrusted", "changed", "none"]
_STALE = "the skill has changed since"
_REWORDED = "its description has changed since"
ASK_AGAIN: dict[Standing, str] = {
    "few": "label more requests that it should answer, then",
    "untrusted": "see why the check failed in the report of the run, then ask again:",
}
_MEASURED = (SkillGrade.FAIL, SkillGrade.NEEDS_WORK, SkillGrade.PASSING)


def verdict(record: SkillRecord, place: CommandBuilder) -> SkillVerdict:
    """The verdict on a skill, with the next command: its grade, and what made it so. Pure.

    A simulated run answers nothing. A router that counts words fails no skill, and cannot say that a model finds it.
    """
    told = answers_of(record)
    said = _chosen(record.grade, told)
    others = [
        f"{SKILL_TOPICS[each.question]}: {_sentence(each)}" for each in told if each is not said and _counts(each, said)
    ]
    open_ = [SKILL_TOPICS[each.question] for each in told if each.grade is SkillGrade.NOT_MEASURED and not each.detail]
    if open_ and said.grade is SkillGrade.PASSING:
        others.append(f"not measured: {', '.join(open_)}")
    said = replace(said, reason="; ".join([said.reason, *others]))
    advice, command = _next(record, place, said)
    return replace(said, advice=advice, command=command)


def answers_of(record: SkillRecord) -> tuple[SkillVerdict, ...]:
    """What is known of a skill on each of the four questions, without what to do about it. Pure.

    What live agents do comes fifth, where some were asked.
    """
    live = (_loaded(record),) if record.loads else ()
    return _lint(record.health), _routed(record), _effect(record), _composed(record), *live


def _chosen(grade: SkillGrade, told: Sequence[SkillVerdict]) -> SkillVerdict:
    """The answer that decides: the first that is as bad as the grade, of a passing skill the last one."""
    found = [each for each in told if each.grade is grade]
    return found[-1] if grade is SkillGrade.PASSING else found[0]


def _counts(each: SkillVerdict, said: SkillVerdict) -> bool:
    """Whether another answer is to be told beside the one that decides: it is as bad, or has something to say."""
    return each.grade is said.grade or (bool(each.detail) and said.grade is not SkillGrade.FAIL)


def _sentence(each: SkillVerdict) -> str:
    return ", ".join(part for part in (each.detail, each.reason) if part)


def as_detail(word: str, preliminary: bool) -> str:
    """What was found, marked where it is preliminary."""
    return f"{PRELIMINARY}{word}" if preliminary else word


def standing(record: SkillRecord) -> Standing:
    """What models say of how a skill is found, as it is now and by the model that tells most.

    "found" and "lost" need the whole interval on one side of what is asked for; "few" is neither, for too few prompts.
    """
    match record.routing.grade:
        case SkillGrade.FAIL:
            return "lost"
        case SkillGrade.PASSING:
            return "found"
        case SkillGrade.NEEDS_WORK:
            return "few"
    known = _asked(record.routing)
    return "untrusted" if any(not each.changed for each in known) else "changed" if known else "none"


def _next(record: SkillRecord, place: CommandBuilder, said: SkillVerdict) -> tuple[str, str]:
    asked = next((each.model for each in _asked(record.routing)), "")
    agent = next((each.model for each in record.effect.models if not each.simulated), place.agent)
    place = replace(place, model=asked, agent=agent)
    if said.question == LIVE and said.advice:
        first = next((each.model for each in record.loads if not each.simulated), place.agent)
        return said.advice, replace(place, agent=first).activation()
    untrusted = _routed(record).advice if said.grade is SkillGrade.PASSING and said.question == 1 else ""
    if said.advice or untrusted:
        return said.advice or untrusted, place.router()
    # Harm that was measured comes before what is not measured yet, and what can be run before what cannot.
    ranked = sorted(steps(record, place), key=lambda each: (each.gap != "harmful", not each.command))
    step = next(iter(ranked), None)
    if said.question == 1 and said.grade is SkillGrade.NEEDS_WORK and not (step and step.gap == "harmful"):
        return "see what to fix:", place.step(StepKind.FIX_FIRST, record).command
    if step is None:
        return "", ""
    return SO_FAR if step.gap == "harmful" and _effect(record).preliminary else step.advice, step.command


def _lint(health: SkillHealth) -> SkillVerdict:
    """What lint says: the findings, the score, and why it is to be looked at."""
    score = "" if health.score is None else f"score {score_text(health.score)}"
    said = ", ".join(part for part in (findings(health), score) if part)
    flags = health.flags if health.grade is not SkillGrade.PASSING else ()
    return SkillVerdict(health.grade, "", 1, "; ".join([said or "no findings", *flags]))


def _effect(record: SkillRecord) -> SkillVerdict:
    """What the runs that asked a model say; the latest of those of the skill as it is now, else of what it was."""
    grade, every = record.effect.grade, record.effect.models
    real = [each for each in every if not each.simulated]
    if not real:
        why = "a script stood in for the agent" if every else "no agent was run"
        return SkillVerdict(grade, "", 3, why)
    current = [each for each in real if not each.changed]
    if not current:
        said = f"{_STALE}; then {_reason(real[0], real)}"
        return SkillVerdict(grade, f"{OUTDATED}{real[0].verdict}", 3, said)
    ranked = sorted(current, key=lambda one: effect_rank(False, False, one.verdict, bool(one.preliminary)))
    each = next((one for one in ranked if grade_word(one.verdict, bool(one.preliminary)) is grade), ranked[0])
    weak = bool(each.preliminary) and grade_word(each.verdict, False) in _MEASURED
    return SkillVerdict(
        grade, as_detail(each.verdict, weak), 3, _reason(each, current), effect=each.verdict, preliminary=weak
    )


def _reason(each: ModelEffect, every: Sequence[ModelEffect]) -> str:
    why = each.reason.removeprefix(f"{each.verdict}: ") if each.verdict in ("not testable", "cheaper") else ""
    marks = [*each.biased, *(f"preliminary: {reason}" for reason in each.preliminary)]
    others = [f"{other.model} says {other.verdict}" for other in every if other.verdict != each.verdict]
    return "; ".join(
        part for part in (f"{points(each.delta, each.delta.n)} with it ({each.model})", why, *marks, *others) if part
    )


def _routed(record: SkillRecord) -> SkillVerdict:
    routing, grade = record.routing, record.routing.grade
    if routing.state == "not listed":
        return SkillVerdict(grade, "", 2, "hosts do not offer it to the model")
    known = [each for each in routing.models if not each.simulated and each.recall.value is not None]
    deciding = [each for each in known if decides(each)]
    if grade is SkillGrade.FAIL:
        worst = min(deciding, key=lambda each: 1.0 if each.recall.high is None else each.recall.high)
        return SkillVerdict(grade, "lost", 2, f"most requests for it are lost: {recall(worst)}")
    if grade is SkillGrade.PASSING:
        return SkillVerdict(grade, "found", 2, recall(deciding[0]))
    if grade is SkillGrade.NEEDS_WORK:
        few = f"too few answers to say whether it is found: {recall(deciding[0])}"
        return SkillVerdict(grade, "unclear", 2, few, ASK_AGAIN["few"])
    current = [each for each in known if not each.changed]
    local = next((each for each in current if each.local), None)
    if local:
        why = "what models said does not hold any more" if _asked(routing) else "no model was asked"
        return SkillVerdict(grade, "word counts", 2, f"{why}; {recall(local)}, which counts words")
    if current:
        failed = f"the instrument check failed: {recall(current[0])}"
        return SkillVerdict(grade, "untrusted", 2, failed, ASK_AGAIN["untrusted"])
    if known:
        return SkillVerdict(grade, "out of date", 2, f"{_REWORDED}; then {recall(known[0])}")
    return SkillVerdict(grade, "", 2, "a script stood in for the model" if routing.models else "no model was asked")


def _loaded(record: SkillRecord) -> SkillVerdict:
    """What live agents do: the one that decides, else the latest."""
    grade = record.activation
    real = [each for each in record.loads if not each.simulated and each.recall.value is not None]
    if not real:
        why = (
            "a script stood in for the agent"
            if any(each.simulated for each in record.loads)
            else "no request was for it"
        )
        return SkillVerdict(grade, "", LIVE, why)
    current = [each for each in real if counts_live(each)]
    if not current:
        return SkillVerdict(grade, "out of date", LIVE, f"{_REWORDED}; then {loaded(real[0])}")
    if grade is SkillGrade.FAIL:
        worst = min(current, key=lambda each: 1.0 if each.recall.high is None else each.recall.high)
        said = f"a live agent does not load it for most of its requests: {loaded(worst)}"
        return SkillVerdict(grade, "passed over", LIVE, said, "reword its description, then")
    word = {SkillGrade.PASSING: "loaded", SkillGrade.NEEDS_WORK: "unclear"}.get(grade, "")
    return SkillVerdict(grade, word, LIVE, loaded(current[0]), preliminary=bool(current[0].preliminary))


def _composed(record: SkillRecord) -> SkillVerdict:
    """What its pairs say: the worst of them."""
    grade = record.composition
    real = [each for each in record.pairs if not (each.simulated or each.changed or each.biased)]
    worst = next((each for each in real if grade_word(each.verdict, bool(each.preliminary)) is grade), None)
    if worst is None or grade is SkillGrade.NOT_MEASURED:
        return SkillVerdict(grade, "", 4, "no pair with it was measured")
    other = worst.second if worst.first == record.name else worst.first
    said = f"beside {other}, {points(worst.interaction, worst.interaction.n)} of interaction ({worst.model})"
    weak = bool(worst.preliminary)
    return SkillVerdict(grade, as_detail(worst.verdict, weak), 4, said, preliminary=weak)


def findings(health: SkillHealth) -> str:
    """How many findings of which severity, in words."""
    counts = ((health.errors, "error"), (health.warnings, "warning"), (health.infos, "info"))
    return ", ".join(count(n, word) for n, word in counts if n)


def recall(each: SkillRouted) -> str:
    """How often a skill came first for its requests, by whom: "66.7 % [16.4, 95.3] of 3 calls (maker:model)"."""
    return f"{with_interval(each.recall, unit=' %')} of {each.recall.n} call{'s' * (each.recall.n != 1)} ({each.model})"


def loaded(each: SkillLoads) -> str:
    """How often an agent opened a skill first where it should: "66.7 % [16.4, 95.3] of 3 requests (agent:model)"."""
    n = each.recall.n
    return f"{with_interval(each.recall, unit=' %')} of {n} request{'s' * (n != 1)} ({each.model})"


def points(number: Interval, n: int) -> str:
    """A difference with its interval and the tasks behind it: "+20.0 points [+10.0, +30.0] over 12 tasks"."""
    said = with_interval(number, "+.1f", unit=" points")
    return said if number.value is None else f"{said} over {n} task{'s' * (n != 1)}"


def _asked(routing: SkillRouting) -> list[SkillRouted]:
    """What models said of the skill, the best first; neither scripts nor what counts words on this machine."""
    every = [each for each in routing.models if not each.simulated and not each.local]
    return [each for each in every if each.recall.value is not None]


def due_skills(status: CollectionStatus, report: LintReport) -> tuple[DueSkills, ...]:
    """Every step that is due, in the order of the questions. Pure.

    What lint finds is due by rule: a rule is fixed in all skills at once.
    """
    return (*_due_rules(status, report), *_due(status))


def _due_rules(status: CollectionStatus, report: LintReport) -> Iterator[DueSkills]:
    """A step for each rule whose findings fail a skill or mean work, the most severe first, then the most frequent."""
    names = {each.path: escape_surrogates(each.name) for each in status.records}
    found: dict[tuple[Severity, str], list[Finding]] = {}
    for each in report.everything():
        counts = {each.severity: 1}
        if {each.skill, *each.also} & names.keys() and (
            reaches(counts, report.fail_on) or reaches(counts, report.needs_work)
        ):
            found.setdefault((each.severity, each.code), []).append(each)
    paths = status.place.words(*(path for path in status.place.paths if path != "."))
    spread = {
        key: [
            names[path] for path in sorted({path for each in own for path in (each.skill, *each.also)} & names.keys())
        ]
        for key, own in found.items()
    }
    for (severity, code), own in sorted(
        found.items(), key=lambda item: (item[0][0].rank, -len(spread[item[0]]), item[0][1])
    ):
        fixable = sum(each.fixable for each in own)
        switch = (
            " --fix" if any(each.fixable and each.safe for each in own) else " --diff --unsafe-fixes" if fixable else ""
        )
        told = f"{count(len(own), severity.value)} of {own[0].rule}" + (f", {fixable:,} with a fix" if fixable else "")
        command = f"skill-health lint --select {code}{switch}{paths}"
        yield DueSkills(f"fix {code}", f"{told}:", command, tuple(spread[severity, code]))


def _due(status: CollectionStatus) -> Iterator[DueSkills]:
    by_name = {each.name: each for each in status.records}
    for step, names in grouped(status.records, asking_again(status)):
        if step.gap is StepKind.FIX_FIRST:
            continue
        weak = {name for name in names if step.gap is StepKind.HARMFUL and _effect(by_name[name]).preliminary}
        sure = tuple(escape_surrogates(name) for name in names if name not in weak)
        maybe = tuple(escape_surrogates(name) for name in names if name in weak)
        if sure:
            yield DueSkills(step.gap, step.advice, step.command, sure)
        if maybe:
            yield DueSkills(f"{PRELIMINARY}{step.gap}", SO_FAR, step.command, maybe)
