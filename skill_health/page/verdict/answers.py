"""The answers to the four questions about the whole collection: a tone, a sentence with figures, the next command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skill_health.config.settings import Config
from skill_health.lint.report import LintReport
from skill_health.lint.report import judge_report as gate
from skill_health.page.figures import score
from skill_health.page.model import QUESTIONS, SkillVerdict, Tone
from skill_health.page.origin import JsonNode
from skill_health.page.verdict.answered import answer, skills
from skill_health.page.verdict.answers_effect import effect
from skill_health.page.verdict.answers_routing import routing
from skill_health.page.verdict.composing import composing
from skill_health.rules._api import Severity
from skill_health.status.render import CollectionStatus


def answers(
    status: CollectionStatus,
    report: LintReport,
    config: Config,
    verdicts: Mapping[str, SkillVerdict],
    effects: Sequence[JsonNode],
) -> dict[int, SkillVerdict]:
    """The answer to each question, by its number. Pure.

    `report` is the scored lint run, `verdicts` are by path, `effects` the reports of the benchmark.
    """
    if not status.records:
        return {
            number: SkillVerdict("no skills", "unknown", number, "there is no skill to judge") for number in QUESTIONS
        }
    return {
        1: _gates(status, report, config),
        2: routing(status),
        3: effect(status, list(verdicts.values())),
        4: composing(status, effects),
    }


def _gates(status: CollectionStatus, report: LintReport, config: Config) -> SkillVerdict:
    n = len(status.records)
    failed = sum(each.health.state == "failed" for each in status.records)
    counts = ", ".join(f"{report.number(each)} {each.value}{'s' * (report.number(each) != 1)}" for each in Severity)
    mean = report.scores.corpus.mean if report.scores else None
    mark = "" if mean is None else f", mean score {score(JsonNode(mean, '')).text}"
    reason = f"{n - failed} of {skills(n)} pass{'es' * (n == 1)}{mark}; {counts}"
    if failed:
        return answer("no", "bad", 1, reason, status)
    if gate(report, config.fail_on, config.fail_under):
        low = mean is not None and mean < config.fail_under
        why = f"the collection scores below {config.fail_under:g}" if low else "findings beside the skills fail it"
        command = f"skill-health lint{status.place.words(*(path for path in status.place.paths if path != '.'))}"
        return SkillVerdict("no", "bad", 1, f"{reason}; {why}", "see what is wrong:", command)
    if config.fail_on == "never":
        tone: Tone = "warn" if report.number(Severity.ERROR) else "good"
        return answer("yes", tone, 1, f"{reason}; no finding can fail it (fail-on: never)", status)
    return answer("yes", "good", 1, reason, status)
