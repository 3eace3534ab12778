"""Listing, claims, trends, marks and answers: each against a count of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import page_made
import pytest
from filled_records import filled
from records_made import daily_run, daily_skill

from skill_health.config.settings import Config
from skill_health.documents._record import record_values
from skill_health.documents.daily_run import DailyRun, DailySkill
from skill_health.documents.effect_report import EffectReport
from skill_health.documents.skill_grades import SkillGrade
from skill_health.page.data.histories import marks, trends
from skill_health.page.verdict.answers import composing
from skill_health.skill.measure import estimate_tokens
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.render import CollectionStatus

STATUS = CollectionStatus((), None, None, CommandBuilder((".",)), "0.1.0", "standard")
SKILLS = {"a": daily_skill("a", score=0.8), "b": daily_skill("b")}


def on(day: int, mean: float | None = 0.9, **more: Any) -> DailyRun:
    return daily_run(day, mean, **{"skills": SKILLS} | more)


LINE = on(20)


def scored(score: float | None) -> dict[str, DailySkill]:
    return {"a": daily_skill("a", score=score)}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], {"since": None, "before": None, "now": 0.8, "change": None}),
        (
            [on(17, skills=scored(0.5)), on(18, skills=scored(0.6)), on(19, skills=scored(0.7))],
            {"since": "2026-11-18T04:00:00Z", "before": 0.6, "now": 0.8, "change": 0.2},
        ),
        (
            [on(17, skills=scored(0.5)), on(18, configuration="x"), on(19, rules="x"), on(20)],
            {"since": "2026-11-17T04:00:00Z", "before": 0.5, "now": 0.8, "change": 0.3},
        ),
        ([on(17, paths=("b",)), on(20)], {"since": None, "before": None, "now": 0.8, "change": None}),
        ([on(17, skills=scored(None)), on(20)], {"since": None, "before": None, "now": 0.8, "change": None}),
        ([on(17, skills={}), on(20)], {"since": None, "before": None, "now": 0.8, "change": None}),
    ],
)
def test_trends(lines: list[DailyRun], expected: Mapping[str, Any]) -> None:
    found = trends(lines, LINE)
    assert record_values(found["a"]) == expected
    assert found["b"].now is found["b"].change is None


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], []),
        ([on(1, 0.9), on(2, 0.86)], []),
        ([on(1, 0.9), on(2, 0.84)], [(1, "drop")]),
        ([on(1, 0.9), on(2, 0.96)], [(1, "rise")]),
        ([on(1, 0.9), on(2, None), on(3, 0.5)], []),
        ([on(1), on(2, 0.2, rules="x"), on(3, 0.2, rules="x")], [(1, "rules")]),
        ([on(1), on(2, 0.2, version="9")], [(1, "rules")]),
        ([on(1), on(2, 0.2, configuration="x")], [(1, "configuration")]),
        ([on(1), on(2, 0.2, profile="x")], [(1, "configuration")]),
        ([on(1), on(2, 0.1, paths=("b",)), on(3, 0.8)], [(2, "drop")]),
        ([on(1), on(2), on(3), on(9), on(10)], [(3, "gap")]),
        ([on(1), on(2), on(3, 0.1), on(9, 0.9)], [(2, "drop"), (3, "rise"), (3, "gap")]),
        ([on(1), on(8), on(15), on(22)], []),
    ],
)
def test_marks(lines: list[DailyRun], expected: list[tuple[int, str]]) -> None:
    found = marks(lines, (".",), 0.05)
    assert [(each.line, each.kind) for each in found] == expected
    assert all(each.time == lines[each.line].time and each.text for each in found)


def test_the_listing_counts_every_skill_once(tmp_path: Path) -> None:
    root = page_made.make(tmp_path, days=0, effects=False, router=False)
    hidden = page_made.skill("skill-9", "figs").replace("license: MIT", "disable-model-invocation: true")
    for path in ("other/skills/skill-9", "other/skills/skill-8"):
        (root / path).mkdir(parents=True)
        name = path.rpartition("/")[2]
        (root / path / "SKILL.md").write_text(hidden if name == "skill-9" else page_made.skill(name, "figs"))
    (root / "skill-health.toml").write_text("[listing.small]\nbudget = 300\n[listing.none]\nskill-chars = 5\n")
    page = page_made.read(root)
    own = record_values(page.own.listing)
    assert {(each["group"], each["skills"]) for each in own["hosts"]} == {("skills", 5), ("other/skills", 1)}
    for each in own["hosts"]:
        assert each["full"] + each["truncated"] + each["name_only"] + each["omitted"] == each["skills"]
    small = next(each for each in own["hosts"] if each["key"] == "small" and each["group"] == "skills")
    assert (small["limit"], small["omitted"] > 0, small["used"] <= 300 < small["wanted"]) == (300, True, True)
    none = next(each for each in own["hosts"] if each["key"] == "none" and each["group"] == "skills")
    assert (none["limit"], none["truncated"]) == (None, 5)
    assert own["skills"]["other/skills/skill-9/SKILL.md"] is None
    text = (
        "- skill-0: Sorts plums by ripeness and size for market. Use when somebody asks to sort, grade or pack plums.\n"
    )
    assert own["skills"]["skills/skill-0/SKILL.md"] == estimate_tokens(text)


def test_the_age_of_claims(tmp_path: Path) -> None:
    root = page_made.make(tmp_path, days=0, effects=False, router=False)
    page = page_made.read(root, as_of=date(2026, 11, 20))
    told = record_values(page.own.claims)
    days = Config().volatility.high
    ages = {
        "skill-0": date(2026, 11, 1), "skill-1": date(2026, 6, 2), "skill-2": date(2026, 11, 3),
        "skill-3": date(2026, 6, 4),
    }  # fmt: skip
    for name, looked in ages.items():
        age = (date(2026, 11, 20) - looked).days
        assert told["skills"][f"skills/{name}/SKILL.md"] == {
            "claims": 1, "stale": int(age > days), "due": int(days - 14 <= age <= days), "oldest_days": age, "median_days": age,
        }  # fmt: skip
    assert told["skills"]["skills/zz-nasty/SKILL.md"]["oldest_days"] is None
    assert (told["claims"], told["stale"], told["oldest_days"]) == (4, 2, 171)
    (root / "registries/claims.jsonl").unlink()
    assert page_made.read(root).own.claims is None


def contrast(arm: str, low: float | None, high: float | None, p: float | None = 0.01, **more: Any) -> dict[str, Any]:
    value = None if low is None or high is None else (low + high) / 2
    return {
        "arm": arm, "against": "target", "testable": True, "p_adjusted": p,
        "delta": {"value": more.pop("value", value), "low": low, "high": high, "n": 15},
    } | more  # fmt: skip


def report(*contrasts: dict[str, Any], **more: Any) -> EffectReport:
    verdict = {"word": "helps", "preliminary": more.pop("preliminary", [])}
    model = {
        "model": "loop:m", "simulated": False, "biased": [], "contrasts": list(contrasts), "verdict": verdict,
    } | more  # fmt: skip
    return filled(EffectReport, {"margin": 0.1, "models": [model]})


ONE = "target_plus_one"


@pytest.mark.parametrize(
    ("reports", "word", "said"),
    [
        ([], "not measured", "no agent"),
        ([report(contrast(ONE, 0.1, 0.3), simulated=True)], "not measured", "simulated"),
        ([report(contrast(ONE, -0.3, -0.1), biased=["why"])], "not measured", "biased: why"),
        ([report(contrast(ONE, 0.1, 0.3), preliminary=["few"])], "needs work", "preliminary: few (loop:m)"),
        (
            [report(contrast(ONE, -0.3, -0.1), preliminary=["few"])],
            "needs work",
            "points [-30.0, -10.0] over 15 tasks (worse)",
        ),
        (
            [report(contrast(ONE, -0.3, -0.1), preliminary=["few"]), report(contrast(ONE, -0.3, -0.1), model="b")],
            "fail",
            "loop:m: with one more skill -20.0 points [-30.0, -10.0] over 15 tasks (worse); b: with",
        ),
        (
            [report(contrast(ONE, 0.1, 0.3), contrast("full", -0.4, -0.2))],
            "fail",
            "loop:m: with all skills -30.0 points [-40.0, -20.0] over 15 tasks (worse), with one more skill +20.0",
        ),
        ([report(), report(contrast(ONE, 0.1, 0.3))], "passing", "+20.0"),
        ([report(contrast(ONE, -0.3, -0.1, 0.2))], "not measured", "(unclear)"),
        ([report(contrast(ONE, -0.3, -0.1, testable=False))], "not measured", "(unclear)"),
        ([report(contrast(ONE, 0.1, 0.3))], "passing", "(better)"),
        ([report(contrast(ONE, -0.05, 0.05, 0.9))], "passing", "(as good)"),
        ([report(contrast(ONE, -0.2, 0.2, 0.9))], "not measured", "(unclear)"),
        ([report(contrast(ONE, None, None, None, value=0.0))], "not measured", "+0.0 points [–]"),
        ([report(contrast(ONE, None, None, None))], "not measured", "no agent"),
        ([report(contrast("placebo", -0.3, -0.1))], "not measured", "no agent"),
        ([report(contrast(ONE, -0.3, -0.1, against="control"))], "not measured", "no agent"),
        ([report(contrast(ONE, 0.1, 0.3)), report(contrast(ONE, -0.4, -0.2))], "passing", "+20.0"),
        (
            [report(contrast(ONE, 0.1, 0.3)), report(contrast(ONE, -0.4, -0.2), model="b")],
            "fail",
            "b: with one more skill -30.0",
        ),
    ],
)
def test_whether_skills_compose(reports: list[EffectReport], word: str, said: str) -> None:
    found = composing(STATUS, reports)
    assert (found.word, found.question) == (word, 4)
    assert said in found.reason
    assert bool(found.command) == (word != "passing")
    assert (found.tone == "bad") == (word == "fail")
    assert (found.tone == "good") == (word == "passing")


@pytest.mark.slow
def test_a_skill_that_has_changed_since_is_told(tmp_path: Path) -> None:
    root = page_made.make(tmp_path)
    (root / "skills/skill-0/notes.md").write_text("new")
    page = page_made.read(root)
    assert "1 skill changed since" in page.answers[3].reason
    assert "1 skill changed since (loop:maker:m)" in page.answers[4].reason
    told = page.verdicts["skills/skill-0/SKILL.md"]
    assert told.grade is SkillGrade.PASSING, "an effect that is out of date decides nothing"
    assert "Effect: out of date: helps," in told.reason


Change = Callable[[Path], None]


def simulated(root: Path) -> None:
    page_made.add_effects(root, models=("scripted",), targets=8)
    page_made.add_router(root, models=[{"spec": "scripted", "kind": "simulated"}])


def words(root: Path) -> None:
    page_made.add_router(root, models=[{"spec": "lexical:overlap", "kind": "local"}])


def distrusted(root: Path) -> None:
    failed = [{"model": "maker:one", "failed": True, "trusted": False, "findings": []}]
    page_made.add_router(root, models=["maker:one"], planted=failed)


def sound(root: Path) -> None:
    (root / "skills/zz-nasty/SKILL.md").unlink()
    page_made.add_router(root, models=["maker:one"], good=dict.fromkeys(page_made.SKILLS, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "answers", "said"),
    [
        (
            simulated,
            ["fail", "not measured", "not measured", "not measured"],
            ["", "simulated", "simulated", "simulated"],
        ),
        (words, ["fail", "not measured", "not measured", "not measured"], ["", "word counts", "no agent", "no agent"]),
        (distrusted, ["fail", "not measured", "not measured", "not measured"], ["", "check failed", "", ""]),
        (
            sound,
            ["passing", "passing", "not measured", "not measured"],
            ["of 4 skills 4 pass", "of 4 skills 4 pass", "", ""],
        ),
    ],
)
def test_the_answers(change: Change, answers: list[str], said: list[str], tmp_path: Path) -> None:
    root = page_made.make(tmp_path, days=0, effects=False, router=False)
    change(root)
    page = page_made.read(root)
    assert [page.answers[at].word for at in (1, 2, 3, 4)] == answers
    assert [
        page.answers[at + 1].reason for at, part in enumerate(said) if part not in page.answers[at + 1].reason
    ] == []
    assert all(each.question != 3 for each in page.verdicts.values())
    assert all(page.answers[at].command for at in (2, 3, 4) if page.answers[at].word == "not measured")


def test_findings_beside_the_skills_fail_the_gate(tmp_path: Path) -> None:
    root = page_made.make(tmp_path, days=0, effects=False, router=False)
    (root / "skills/zz-nasty/SKILL.md").unlink()
    assert page_made.read(root).answers[1].word == "passing"
    (root / "registries/claims.jsonl").write_text('{"claim_id": 1}\n')
    found = page_made.read(root).answers[1]
    assert (found.word, found.command) == ("fail", "skill-health lint")
    assert "findings beside the skills" in found.reason
    (root / "registries/claims.jsonl").write_text("")
    (root / "skill-health.toml").write_text("fail-under = 0.99\n")
    skill = root / "skills/skill-0/SKILL.md"
    skill.write_text(skill.read_text() + "\nSee [more](gone.md).\n")
    assert "below 0.99" in page_made.read(root).answers[1].reason
