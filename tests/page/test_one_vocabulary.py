"""Fail, needs work, passing, not measured: all show the same verdict, and its sentences bear it out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from records_made import EFFECT, FOUND, figure, health_of, skill_record

from skill_health.api.linting import check_paths
from skill_health.config.settings import Config
from skill_health.daily.run import as_text as daily_text
from skill_health.daily.run import run_daily
from skill_health.documents._record import NotedFigure
from skill_health.documents.effect_history import VERDICTS, ModelEffect
from skill_health.documents.skill_grades import (
    SkillGrade,
    count_grades,
    grade_all,
    grade_lint,
    grade_share,
    grade_skills,
    grade_word,
    reaches,
)
from skill_health.documents.skill_record import SkillLoads, SkillRecord, SkillRouted
from skill_health.lint.baseline import rewrite_baseline
from skill_health.lint.pipeline import lint
from skill_health.lint.report import BASELINE, LintReport
from skill_health.page.data.gather import read_page
from skill_health.page.verdict.verdicts import answers_of, verdict
from skill_health.rules._api import Finding, Severity
from skill_health.status.join import read_joined
from skill_health.status.loads import activation_grade
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.records import _benefit, _route

PLACE = CommandBuilder((".",))
FAIL, WORK, NOTHING, PASSING = SkillGrade
SHARES = st.floats(0, 1).flatmap(
    lambda value: st.tuples(
        st.just(value), st.one_of(st.none(), st.floats(0, value)), st.one_of(st.none(), st.floats(value, 1))
    )
)
ROUTES = st.builds(
    lambda share, local, simulated, changed, trusted: replace(
        FOUND, recall=figure(*share), local=local, simulated=simulated, changed=changed, trusted=trusted
    ),
    SHARES, st.booleans(), st.booleans(), st.sampled_from([True, False, None]), st.sampled_from([True, False, None]),
)  # fmt: skip
EFFECTS = st.builds(
    lambda word, changed, simulated, few: replace(
        EFFECT, verdict=word, changed=changed, simulated=simulated, preliminary=few
    ),
    st.sampled_from(VERDICTS), st.booleans(), st.booleans(), st.sampled_from([(), ("few",)]),
)  # fmt: skip
HEALTHS = st.builds(
    lambda errors, warnings, infos, flags: health_of(
        "failed" if errors else "ok", 0.5, errors=errors, warnings=warnings, infos=infos, flags=flags
    ),
    st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.sampled_from([(), ("score 0.5000 is below 0.60",)]),
)  # fmt: skip


def made(health: Any, routes: list[SkillRouted], effects: list[ModelEffect], hidden: bool) -> SkillRecord:
    route = _route(hidden, 3, routes, health)
    return skill_record("plums", health, route, _benefit(("tasks/1",), effects, health, route))


@given(HEALTHS, st.lists(ROUTES, max_size=3), st.lists(EFFECTS, max_size=3), st.booleans())
def test_a_verdict_and_its_sentences_agree(
    health: Any, routes: list[SkillRouted], effects: list[ModelEffect], hidden: bool
) -> None:
    record = made(health, routes, effects, hidden)
    said, (own, routed, effect, beside) = verdict(record, PLACE), answers_of(record)
    assert said.grade is record.grade is grade_all((own.grade, routed.grade, effect.grade, beside.grade))
    assert (own.grade, routed.grade, effect.grade) == (health.grade, record.routing.grade, record.effect.grade)
    # Whatever names a reason to look, a finding or a figure on the wrong side does not pass, and the other way round.
    assert (own.grade is PASSING) == (not health.flags and not health.errors and not health.warnings)
    assert all(flag in own.reason for flag in health.flags)
    assert (routed.grade is FAIL) == routed.reason.startswith("most requests for it are lost: ")
    if routed.grade is FAIL:
        figures = [each for each in routes if each.recall.high is not None and each.recall.high < 0.5]
        assert any(
            f"{100 * each.recall.value:.1f} %" in routed.reason for each in figures if each.recall.value is not None
        )
    if routed.grade is NOTHING:
        assert routed.detail in ("", "word counts", "untrusted", "out of date")
    if effect.grade is NOTHING:
        real = [each for each in effects if not each.simulated and not each.changed]
        assert {each.verdict for each in real} <= {"biased", "not testable"}
        assert "points" not in effect.reason or effect.detail, "a figure that decides nothing says why"
    else:
        assert effect.detail.removeprefix("preliminary: ") in VERDICTS
    # What is as bad as the verdict is told, and a passing skill says what nobody has measured.
    for each in (own, routed, effect):
        assert each.grade is not said.grade or each.reason in said.reason
    if said.grade is PASSING:
        told = said.reason.partition("not measured: ")[2]
        assert all(
            topic in told
            for topic, each in (("Effect", effect), ("Routing", routed))
            if each.grade is NOTHING and not each.detail
        )


LOADS = st.builds(
    lambda share, simulated, changed, few: SkillLoads(
        model="agent:model", run_id="20261120T040000Z-0123abcd", time="2026-11-20T04:00:00Z", simulated=simulated,
        changed=changed, preliminary=few, precision=UNKNOWN, false_fire_near=UNKNOWN,
        recall=NotedFigure(value=share[0], low=share[1], high=share[2], n=9, clusters=9, note=""),
    ),
    SHARES, st.booleans(), st.sampled_from([True, False, None]), st.sampled_from([(), ("few",)]),
)  # fmt: skip
UNKNOWN = NotedFigure(value=None, low=None, high=None, n=0, clusters=0, note="not asked")


@given(HEALTHS, st.lists(LOADS, min_size=1, max_size=3))
def test_what_live_agents_do_decides_as_it_says(health: Any, loads: list[SkillLoads]) -> None:
    record = made(health, [], [], False)
    live = activation_grade(loads, 0.5)
    record = replace(record, activation=live, loads=tuple(loads), grade=grade_all((record.grade, live)))
    said, answers = verdict(record, PLACE), answers_of(record)
    assert said.grade is record.grade is grade_all(each.grade for each in answers)
    assert answers[-1].grade is live
    # A figure that fails it, or passes it, is one of an agent that was asked about what the skill says now.
    real = [each for each in loads if not each.simulated and not each.changed and not each.preliminary]
    assert live is not FAIL or any(each.recall.high is not None and each.recall.high < 0.5 for each in real)
    assert live is not PASSING or any(each.recall.low is not None and each.recall.low >= 0.5 for each in real)
    assert (live is FAIL) == answers[-1].reason.startswith("a live agent does not load it for most of its requests: ")
    assert live is not FAIL or "Activation: " in said.reason or said.question == answers[-1].question


@given(SHARES, st.floats(0, 1))
def test_a_share_decides_where_its_interval_lies_on_one_side(share: tuple[float, Any, Any], found: float) -> None:
    value, low, high = share
    grade = grade_share(value, low, high, found)
    assert (grade is FAIL) == (high is not None and high < found)
    assert grade is not PASSING or (low is not None and low >= found)
    assert grade is not NOTHING


def test_what_was_not_measured_is_no_grade() -> None:
    assert (
        grade_share(None, None, None, 0.5) is NOTHING is grade_word("not testable", False) is grade_word("biased", True)
    )
    assert grade_all(()) is NOTHING is grade_all((NOTHING, NOTHING))
    assert grade_all((PASSING, NOTHING)) is PASSING and grade_all((PASSING, WORK, FAIL)) is FAIL


@given(
    st.dictionaries(st.sampled_from(Severity), st.integers(0, 3)),
    st.booleans(),
    *[st.sampled_from(["error", "warning", "info", "never"])] * 2,
)
def test_lint_is_graded_by_what_the_configuration_says(
    counts: Any, flagged: bool, fail_on: str, needs_work: str
) -> None:
    grade = grade_lint(counts, flagged, fail_on, needs_work)
    assert (grade is FAIL) == reaches(counts, fail_on)
    assert (grade is PASSING) == (not flagged and not reaches(counts, fail_on) and not reaches(counts, needs_work))


def write_skills(root: Path) -> None:
    """One skill without a finding, one with a warning, one with errors."""
    for name, text, more in (("good", "", ""), ("long", "[x](gone.md)\n", ""), ("bad", "", "plums " * 300)):
        head = f"---\nname: {name}\ndescription: Sorts plums by size. Use when plums are to be sorted. {more}\n---\n"
        (root / name).mkdir()
        (root / name / "SKILL.md").write_text(f"{head}# Plums\n\nSort them.\n{text}", encoding="utf-8")


@pytest.mark.parametrize(("fail_on", "needs_work", "expected"), [
    ("error", "warning", {"good": PASSING, "long": WORK, "bad": FAIL}),
    ("never", "never", {"good": PASSING, "long": WORK, "bad": WORK}),
    ("warning", "never", {"good": PASSING, "long": FAIL, "bad": FAIL}),
])  # fmt: skip
def test_lint_and_status_show_the_same(
    fail_on: str, needs_work: str, expected: dict[str, SkillGrade], tmp_path: Path
) -> None:
    write_skills(tmp_path)
    config = Config(fail_on=fail_on, needs_work=needs_work)
    report, _ = lint((str(tmp_path),), str(tmp_path), config, date(2026, 11, 20), 1, False, score=True)
    grades = grade_skills(report)
    assert {path.split("/")[0]: grade for path, grade in grades.items()} == expected
    joined = read_joined((str(tmp_path),), str(tmp_path), config, date(2026, 11, 20), "", 1, False)
    assert {each.path: each.health.grade for each in joined.status.records} == grades
    assert count_grades(grades.values()) == count_grades(each.grade for each in joined.status.records)
    assert grade_skills(report.at_least("error")) in ({}, grades), "what is hidden is not graded"


DAY = date(2026, 11, 20)


@pytest.fixture(scope="module")
def plums(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Finding, ...]]:
    """A collection, and all that lint finds in it."""
    root = tmp_path_factory.mktemp("plums")
    write_skills(root)
    report, _ = lint((str(root),), str(root), Config(), DAY, 1, False)
    return root, report.findings


def check_baseline(root: Path, known: Sequence[Finding], config: Config) -> LintReport:
    """Everybody shows the grades of what such a baseline leaves; scores and the history know nothing of it."""
    asked, where = (str(root),), str(root)
    for name in (BASELINE, "known.json"):
        (root / name).unlink(missing_ok=True)
    whole, _ = lint(asked, where, config, DAY, 1, False, score=True)
    bare = config._replace(baseline="")
    before = run_daily(asked, where, bare, DAY, "2026-11-20T04:00:00Z", where, 1, False)
    rewrite_baseline(whole._replace(findings=tuple(known)), where, config, "accepted", True)
    left, _ = check_paths(asked, None, config._asdict(), DAY, True, False, 1)
    grades = grade_skills(left)
    assert left.baselined == len(known) and len(left.findings) == len(whole.findings) - len(known)
    joined = read_joined(asked, where, config, DAY, "", 1, False)
    assert {each.path: each.health.grade for each in joined.status.records} == grades
    page = read_page(asked, where, config, DAY, "", 1, False)
    assert {path: answers_of(each)[0].grade for path, each in zip(grades, page.status.skills, strict=True)} == grades
    assert page.answers[1].grade is grade_all(grades.values())
    assert count_grades(grades.values()) in page.answers[1].reason
    today = run_daily(asked, where, config, DAY, "2026-11-20T04:00:00Z", where, 1, False)
    assert today.grades == grades and today.known == len(known)
    said = next(line.strip() for line in daily_text(today).splitlines() if line.strip().startswith("lint: "))
    assert said.partition(", without")[0] == f"lint: {count_grades(grades.values())}"
    assert (", without the " in said) == bool(known)
    assert today.today.line == before.today.line, "the score, the history and the drift are of all findings"
    assert {path: each["grade"] for path, each in snapshot_skills(today.snapshot).items()} == grades
    return left


def snapshot_skills(text: str) -> dict[str, Any]:
    return {each["path"]: each for each in json.loads(text)["skills"]}


@pytest.mark.parametrize("name", ["", "known.json"], ids=["where it is looked for", "where the configuration says"])
def test_what_a_baseline_knows_fails_nothing_anywhere(name: str, plums: tuple[Path, tuple[Finding, ...]]) -> None:
    root, found = plums
    assert any(each.severity is Severity.ERROR for each in found)
    left = check_baseline(root, found, Config(baseline=name))
    assert not left.findings and {*grade_skills(left).values()} == {PASSING}
    assert any(each.flagged for each in left.scores.skills.values()) if left.scores else False


def test_a_host_that_skips_a_skill_only_now_is_no_part_of_the_baseline(tmp_path: Path) -> None:
    write_skills(tmp_path)
    asked, where = (str(tmp_path),), str(tmp_path)

    def record(grow: bool) -> None:
        whole, _ = lint(asked, where, Config(), DAY, 1, False, score=True)
        rewrite_baseline(whole, where, Config(), "accepted", grow)

    def grades() -> dict[str, SkillGrade]:
        report, _ = check_paths(asked, None, {}, DAY, True, False, 1)
        assert all(each.severity is Severity.INFO for each in report.findings)
        return {path.partition("/")[0]: grade for path, grade in grade_skills(report).items()}

    record(False)
    assert grades() == {"good": PASSING, "long": PASSING, "bad": PASSING}
    good = tmp_path / "good" / "SKILL.md"
    # More than the 20,000 characters that one of the hosts reads; of length lint has information, and no warning.
    good.write_text(
        good.read_text("utf-8") + "\n" + f"{'Sort the plums by size and put them aside. ' * 10}\n" * 47, "utf-8"
    )
    assert grades() == {"good": WORK, "long": PASSING, "bad": PASSING}
    record(False)
    assert grades()["good"] is WORK, "the list only shrinks"
    record(True)
    assert grades()["good"] is PASSING


@pytest.mark.slow
@given(st.data(), *[st.sampled_from(["error", "warning", "info", "never"])] * 2, st.sampled_from(["", "known.json"]))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_baseline_knows_all_show_the_same(
    plums: tuple[Path, tuple[Finding, ...]], data: Any, fail_on: str, needs_work: str, name: str
) -> None:
    root, found = plums
    known = data.draw(st.lists(st.sampled_from(found), unique=True))
    left = check_baseline(root, known, Config(fail_on=fail_on, needs_work=needs_work, baseline=name))
    for path, grade in grade_skills(left).items():
        failing = {each.severity: 1 for each in left.findings if each.skill == path}
        assert (grade is FAIL) == reaches(failing, fail_on)
        assert failing or grade is PASSING
