"""The pure comparison of two lines, the choice of the line to compare with, and the limits."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from records_made import DAY as BASE
from records_made import daily_run as line
from records_made import daily_skill

from skill_health.config.settings import Daily
from skill_health.daily.drift import Drift, compare, renames, rise
from skill_health.daily.earlier import EarlierRuns, find_earlier
from skill_health.daily.run import reasons
from skill_health.documents._record import convert_record, decode_record, record_values
from skill_health.documents.daily_run import DailyClaims, DailyRun, DailySkill, PlanCheckerRun

ERROR, WARNING, INFO = (f"{word}:LI00{n}:{n:016x}" for n, word in enumerate(("error", "warning", "info"), 1))

keys = st.lists(st.sampled_from([ERROR, WARNING, INFO, ERROR.replace("1:0", "9:0")]), max_size=5).map(sorted).map(tuple)
shares = st.one_of(st.none(), st.integers(0, 10_000).map(lambda n: n / 10_000))


@st.composite
def skills(draw: st.DrawFn) -> DailySkill:
    found = draw(keys)
    score = draw(shares)
    return daily_skill(
        name=draw(st.sampled_from("abcd")),
        score=score,
        flagged=None if score is None else draw(st.booleans()),
        components=draw(st.dictionaries(st.sampled_from(["gotchas", "links"]), shares)),
        evidence=draw(st.dictionaries(st.sampled_from(["gotchas", "links"]), st.just({"count": 1}))),
        counts=dict(Counter(key.split(":")[1] for key in found)),
        description=draw(st.sampled_from([None, "x", "y", "z"])),
        listed=draw(st.booleans()),
        findings=found,
    )


@st.composite
def lines(draw: st.DrawFn) -> DailyRun:
    found = draw(st.dictionaries(st.sampled_from([f"skills/{name}/SKILL.md" for name in "abcde"]), skills()))
    stale = draw(st.one_of(st.none(), st.sets(st.sampled_from(["claim-a", "claim-b"])).map(sorted).map(tuple)))
    claims = None if stale is None else DailyClaims(stale=stale, due=())
    return replace(line(mean=draw(shares)), skills=found, other=draw(keys), claims=claims)


def differences(drift: Drift) -> list[Any]:
    def has_moved(s: Any) -> bool:
        figures = any(each.before != each.after for each in (s.flagged, s.score))
        return bool(s.path != s.was or s.components or s.rules or figures)

    groups = (
        drift.relisted, drift.added, drift.removed, drift.renamed, drift.new, drift.fixed, drift.rules, drift.stale,
        drift.reviewed,
    )  # fmt: skip
    return [*filter(has_moved, drift.skills), *(entry for group in groups for entry in group)]


@given(lines(), st.booleans())
def test_a_line_does_not_differ_from_itself(line: DailyRun, full: bool) -> None:
    assert differences(compare(line, line, full)) == []


@pytest.mark.slow
@given(lines(), lines())
def test_swapping_the_lines_swaps_the_differences(one: DailyRun, two: DailyRun) -> None:
    there, back = compare(one, two), compare(two, one)
    assert (there.new, there.fixed) == (back.fixed, back.new)
    assert (there.added, there.removed) == (back.removed, back.added)
    assert sorted((each.from_, each.to) for each in there.renamed) == sorted(
        (each.to, each.from_) for each in back.renamed
    )
    assert (there.stale, there.reviewed) == (back.reviewed, back.stale)
    assert [(c.code, c.before, c.after) for c in there.rules] == [(c.code, c.after, c.before) for c in back.rules]
    assert {(s.was, s.path, s.score.before, s.score.after) for s in there.skills} == {
        (s.path, s.was, s.score.after, s.score.before) for s in back.skills
    }


@pytest.mark.slow
@given(lines(), lines())
def test_the_totals_add_up(before: DailyRun, after: DailyRun) -> None:
    drift = compare(before, after)

    def total(line: DailyRun) -> Counter[str]:
        found = [*line.other, *(key for skill in line.skills.values() for key in skill.findings)]
        return Counter(key.split(":")[1] for key in found)

    net: Counter[str] = Counter()
    for found in drift.new:
        net[found.code] += found.n
    for found in drift.fixed:
        net[found.code] -= found.n
    codes = total(before).keys() | total(after).keys()
    assert {code: total(after)[code] - total(before)[code] for code in codes} == {code: net[code] for code in codes}
    assert {change.code: rise(change) for change in drift.rules} == {code: n for code, n in net.items() if n}
    assert len(after.skills) - len(before.skills) == len(drift.added) - len(drift.removed)
    paired = {skill.path for skill in drift.skills}
    assert paired | set(drift.added) == set(after.skills) and not paired & set(drift.added)


@given(lines())
def test_a_line_survives_the_file(line: DailyRun) -> None:
    text = json.dumps(record_values(line), sort_keys=True)
    again = decode_record(text.encode(), DailyRun)
    assert json.dumps(record_values(again), sort_keys=True) == text
    assert differences(compare(line, again)) == []


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)


@given(lines(), st.lists(st.integers(0, 10**6), min_size=1, max_size=4), JSON)
def test_any_damage_to_a_line_is_survived(line: DailyRun, way: list[int], value: Any) -> None:
    record = json.loads(json.dumps(record_values(line)))
    place, at = record, sorted(record)[way[0] % len(record)]
    for step in way[1:]:
        inner = place[at]
        if not isinstance(inner, dict) or not inner:
            break
        place, at = inner, sorted(inner)[step % len(inner)]
    place[at] = value
    today = replace(BASE, time="2026-11-21T04:00:00Z")
    earlier = earlier_than(history(record), today, 7)
    if earlier.last or earlier.other:
        compare(earlier.last or earlier.other or today, today)
    else:
        assert earlier.problems


def skill(name: str = "a", description: str | None = "x", **more: Any) -> DailySkill:
    return daily_skill(name, description=description, **more)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({"one": skill()}, {"two": skill()}, (("one", "two"),), id="moved"),
        pytest.param({"one": skill()}, {"two": skill("b")}, (("one", "two"),), id="other-name-same-description"),
        pytest.param({"one": skill()}, {"two": skill("a", "y")}, (("one", "two"),), id="same-name-other-description"),
        pytest.param({"one": skill("a", None)}, {"two": skill("b", None)}, (), id="both-without-description"),
        pytest.param({"one": skill()}, {"two": skill("b", "y")}, (), id="another-skill"),
        pytest.param({"one": skill()}, {"one": skill("b", "y"), "two": skill()}, (), id="copied-away-but-still-there"),
        pytest.param({"one": skill()}, {"two": skill("b"), "three": skill("c")}, (), id="two-candidates"),
        pytest.param(
            {"one": skill(), "two": skill("b")}, {"three": skill("b"), "four": skill()},
            (("one", "four"), ("two", "three")), id="name-decides-between-equal-descriptions",
        ),
    ],
)  # fmt: skip
def test_renames(before: dict[str, DailySkill], after: dict[str, DailySkill], expected: tuple[Any, ...]) -> None:
    assert sorted(renames(before, after)) == sorted(expected)
    assert sorted(renames(after, before)) == sorted((new, old) for old, new in expected)


def test_a_renamed_skill_keeps_its_findings() -> None:
    found: dict[str, Any] = {"counts": {"LI001": 2}, "findings": (ERROR, ERROR)}
    drift = compare(replace(BASE, skills={"one": skill(**found)}), replace(BASE, skills={"two": skill(**found)}))
    assert (drift.new, drift.fixed, drift.rules) == ((), (), ())
    assert [(each.from_, each.to) for each in drift.renamed] == [("one", "two")]


def earlier_than(lines: Iterable[tuple[int, bytes]], today: DailyRun, span: int) -> EarlierRuns:
    """What a history without states beside it gives."""
    return find_earlier(lines, lambda _: None, today, span)


def history(*found: DailyRun | dict[str, Any]) -> list[tuple[int, bytes]]:
    records = (record_values(entry) if isinstance(entry, DailyRun) else entry for entry in found)
    return list(enumerate((json.dumps(record).encode() for record in records), 1))[::-1]


PLAN = {
    "ok": True,
    "summary": {"skill_count": 3, "corpus_score": 0.8, "min_score": 0.7, "max_score": 1.0, "flagged": 1},
}


def test_the_last_comparable_line_is_taken() -> None:
    found = earlier_than(history(line(1), line(2), line(3, configuration="other")), line(4), 7)
    assert found.last is not None and found.last.time[:10] == "2026-11-02"
    assert (found.passed, found.other, found.differences) == (1, None, ())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"profile": "plan", "configuration": "x"}, "the profile was plan and is standard"),
        ({"configuration": "x"}, "the configuration or its profile has changed since 2026-11-01"),
        ({"version": "0.0.9", "rules": "x"}, "skill-health was 0.0.9 and is 0.1.0"),
        ({"rules": "x"}, "other rules ran on 2026-11-01"),
        ({"paths": ("skills/a",)}, "the paths were skills/a and are ."),
    ],
)
def test_what_keeps_a_line_from_being_compared_is_said(change: dict[str, Any], said: str) -> None:
    found = earlier_than(history(line(1, **change)), line(2), 7)
    assert found.last is None and found.window is None
    assert found.differences == (said,)


def test_the_window_has_its_size_and_leaves_missing_means_out() -> None:
    means = [0.1, 0.5, None, 0.9, 0.9, 1.0]
    found = earlier_than(history(*(line(n, mean) for n, mean in enumerate(means, 1))), line(7, 0.9), 5)
    window = found.window
    assert window is not None
    assert (window.n, window.median, window.above, window.equal, window.below) == (4, 0.9, 1, 2, 1)
    assert window.since[:10] == "2026-11-02"
    assert earlier_than(history(line(1)), line(2, None), 7).window is None


def test_the_plans_own_lines_count_under_its_profile_only() -> None:
    own = {"profile": "plan-v2.3.0"}
    found = earlier_than(history(PLAN, PLAN), line(2, 0.7, **own), 7)
    assert (found.last, found.plan) == (None, convert_record(PLAN, PlanCheckerRun).summary)
    assert found.window is not None and (found.window.n, found.window.since) == (2, "")
    assert reasons(Drift(None, line(2, 0.7, **own)), 0.8, Daily()) == [
        "the collection's score fell by 0.1000, from 0.8000 to 0.7000: more than 0.05 (max-drop)"
    ]
    found = earlier_than(history(PLAN, line(1, 0.9, **own)), line(2, 0.7, **own), 7)
    assert found.last is not None and found.plan is None
    assert found.window is not None and found.window.n == 2
    found = earlier_than(history(PLAN), line(2), 7)
    assert (found.last, found.plan, found.window) == (None, None, None)
    assert "plan-v2.3.0" in found.problems[0]


@pytest.mark.parametrize("damage", [{"ok": 1}, {"summary": 3}, {"summary": {}}, {"schema": "x"}])
def test_what_is_no_line_of_the_plan(damage: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        convert_record(PLAN | damage, PlanCheckerRun)


@pytest.mark.parametrize(
    ("key", "value"),
    [("corpus_score", None), ("corpus_score", -1), ("max_score", 10**400), ("skill_count", 0), ("flagged", True)],
)
def test_a_damaged_summary_is_no_line_of_the_plan(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=key):
        convert_record({"ok": True, "summary": PLAN["summary"] | {key: value}}, PlanCheckerRun)  # type: ignore[operator]


def test_lines_of_no_known_form_are_counted() -> None:
    newer = {**record_values(line(1)), "schema": "skill-health/history/2"}
    found = earlier_than([(5, b'{"a"'), (3, b"[]"), *history({"a": 1}, newer)], line(2), 7)
    assert found.problems == (
        *(f"line {number} of the history is torn, or no JSON object, and left out" for number in (3, 5)),
        "2 lines of the history are of another form and left out",
    )


def test_no_more_of_a_history_is_read_than_needed() -> None:
    def endless() -> Iterator[tuple[int, bytes]]:
        for _ in range(10):
            yield from history(line(1))
        raise AssertionError("read too far")

    found = earlier_than(endless(), line(2), 7)
    assert found.window is not None and found.window.n == 7


def test_other_lines_are_passed_over_without_being_parsed() -> None:
    after = history(line(1), line(2, configuration="z"), line(3, configuration="z"))
    torn = (2, b"{torn")
    found = earlier_than([after[0], torn, after[1], after[2]], replace(line(4), configuration="c", rules="r"), 7)
    assert found.last is not None and (found.passed, found.problems) == (3, ())


def test_a_line_with_damaged_skills_is_passed_over_and_counted() -> None:
    bad = {**record_values(line(2)), "skills": {"skills/a/SKILL.md": {"score": "high"}}}
    found = earlier_than(history(line(1), bad), line(3), 7)
    assert found.last is not None and found.last.time[:10] == "2026-11-01"
    (problem,) = found.problems
    assert problem.startswith("1 line of")
    found = earlier_than(history(bad), line(3), 7)
    assert (found.last, found.other) == (None, None) and len(found.problems) == 1


def drift_of(before: float | None, after: float | None, errors: int = 0) -> Drift:
    old = {"a": skill(score=before, flagged=False)}
    new = {"a": skill(score=after, flagged=False, findings=(ERROR,) * errors)}
    return compare(line(1, before, skills=old), line(2, after, skills=new))


@pytest.mark.parametrize(
    ("before", "after", "errors", "limits", "n"),
    [
        pytest.param(0.9, 0.9, 0, {}, 0, id="nothing"),
        pytest.param(0.9, 0.85, 0, {}, 0, id="exactly-the-limit"),
        pytest.param(0.9, 0.8499, 0, {}, 1, id="over-the-limit-of-the-collection"),
        pytest.param(0.9, 0.7, 0, {}, 2, id="over-both"),
        pytest.param(0.9, 0.7, 0, {"max_drop": 1.0}, 1, id="over-that-of-a-skill"),
        pytest.param(0.9, 0.7, 0, {"max_drop": 1.0, "max_skill_drop": 0.2}, 0, id="allowed"),
        pytest.param(0.1, 0.9, 0, {"max_drop": 0.0, "max_skill_drop": 0.0}, 0, id="rose"),
        pytest.param(0.9, 0.9, 1, {}, 1, id="new-error"),
        pytest.param(0.9, 0.9, 1, {"new_errors": 1}, 0, id="new-error-allowed"),
        pytest.param(0.9, None, 0, {}, 0, id="missing-is-not-zero"),
        pytest.param(None, 0.1, 0, {}, 0, id="was-missing"),
    ],
)
def test_limits(before: float | None, after: float | None, errors: int, limits: dict[str, Any], n: int) -> None:
    assert len(reasons(drift_of(before, after, errors), before, Daily(**limits))) == n


def test_what_could_not_be_compared_exceeds_no_limit() -> None:
    one, two = (
        line(1, 0.9, skills={"a": skill(score=1.0)}),
        line(2, 0.1, skills={"a": skill(score=0.1, findings=(ERROR,))}),
    )
    drift = compare(one, two, full=False)
    assert reasons(drift, None, Daily()) == []
    assert (drift.new, drift.fixed, drift.rules) == ((), (), ())
