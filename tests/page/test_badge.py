"""Badges: what they say, that no number is more than it is, and that hostile names stay text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from browser_look import contrast
from filled_records import page_over
from hypothesis import given
from hypothesis import strategies as st
from records_made import judged_as

from skill_health.cli import main
from skill_health.documents.skill_grades import SkillGrade, grade_all, grade_share
from skill_health.page.badge import COLORS, GROUND, TEXT, Badge, badge, endpoint, svg
from skill_health.page.model import Page, SkillVerdict

Write = Callable[[Mapping[str, str]], Path]
SVG = "{http://www.w3.org/2000/svg}"
PATH = "skills/plums/SKILL.md"
NASTY = "</text><script>alert(1)</script>&\u202e\x1b[31m\x00\ufffe\ud800 {{ color }} 漢字 e\u0301"
SKILL = "---\nname: {0}\ndescription: Sorts {0} by size. Use when {0} are out of order.\n---\n# {0}\n\nSort them.\n"


def estimate(value: float | None, low: float | None = None, high: float | None = None, n: int = 12) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "n": n, "clusters": n, "note": ""}


def routed(model: str, top1: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    told = {"simulated": False, "trusted": True, "selection": "all", "changed": [], "n": 60}
    return {"model": model, "top1": top1, **told} | more


def effect(verdict: str, **more: Any) -> dict[str, Any]:
    told = {"simulated": False, "changed": False, "preliminary": [], "biased": [], "delta": estimate(0.2, 0.1, 0.3, 8)}
    return {"model": "loop:maker:m", "verdict": verdict, **told} | more


def made(
    routing: list[dict[str, Any]] | None = None, effects: list[dict[str, Any]] | None = None, score: float | None = 0.914,
    flagged: int = 0, states: tuple[str, ...] = ("ok", "ok"), verdicts: Mapping[str, SkillVerdict] | None = None,
    name: str = "plums", word_counters: tuple[str, ...] = (),
) -> Page:  # fmt: skip
    skills = [
        {
            "name": name if not at else f"pears-{at}", "path": PATH if not at else f"skills/pears-{at}/SKILL.md",
            "health": {"state": state, "score": score, "flags": ["a flag"] * flagged, "grade": lint_grade(state, flagged)},
            "routing": {
                "state": "ok", "models": [routed_by(each, word_counters) for each in routing or []],
                "grade": routing_graded(routing or [], word_counters),
            },
            "effect": {"state": "ok", "models": effects or []},
        }
        for at, state in enumerate(states)
    ]  # fmt: skip
    status = {"skills": skills, "routing": routing or [], "effect": effects or []}
    lint = {"summary": {"score": score, "flagged": flagged}}
    answers = {
        1: SkillVerdict(grade_all(lint_grade(state, flagged) for state in states), "", 1, ""),
        2: SkillVerdict(routing_graded(routing or [], word_counters), "", 2, ""),
    }
    return page_over(status, lint, verdicts=verdicts or {}, answers=answers)


def lint_grade(state: str, flagged: int) -> SkillGrade:
    return SkillGrade.FAIL if state == "failed" else SkillGrade.NEEDS_WORK if flagged else SkillGrade.PASSING


def routing_graded(runs: list[dict[str, Any]], word_counters: tuple[str, ...]) -> SkillGrade:
    """By the first run of a model that counts, as the records have it."""
    real = [each for each in runs if not each["simulated"] and each["model"] not in word_counters and each["trusted"]]
    known = [each["top1"] for each in real if not each["changed"]]
    share = next(iter(known), {"value": None, "low": None, "high": None})
    return grade_share(share["value"], share["low"], share["high"], 0.5)


def routed_by(run: Mapping[str, Any], word_counters: tuple[str, ...]) -> dict[str, Any]:
    told = {key: run[key] for key in ("model", "simulated", "trusted", "selection")}
    local = run["model"] in word_counters
    return told | {"local": local, "changed": bool(run["changed"]), "recall": {**run["top1"], "n": 4}}


@pytest.mark.parametrize(
    ("page", "message", "tone"),
    [
        (made(), "passing, 0.91", "good"),
        (made(flagged=1), "2 of 2 need work, 0.91", "warn"),
        (made(score=0.9999), "passing, 0.99", "good"),
        (made(states=("ok", "failed", "failed")), "2 of 3 fail", "bad"),
        (made(score=None), "passing", "good"),
    ],
)
def test_health(page: Page, message: str, tone: str) -> None:
    assert badge(page, "health") == Badge("skill health", message, tone)  # type: ignore[arg-type]


def top1(value: float | None, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    """As the joined record gives it for a whole run, whose n stands beside it."""
    return {"value": value, "low": low, "high": high}


FOUND, LOST, UNCLEAR = top1(0.9, 0.8, 0.95), top1(0.3, 0.2, 0.4), top1(0.5, 0.4, 0.6)


@pytest.mark.parametrize(
    ("page", "message", "tone"),
    [
        (made(), "not measured", "unknown"),
        (made([routed("m:a", top1(None))]), "not measured", "unknown"),
        (made([routed("m:a", FOUND)]), "passing, 90.0 % [80.0, 95.0] n 60, m:a", "good"),
        (made([routed("m:a", LOST)]), "fail, 30.0 % [20.0, 40.0] n 60, m:a", "bad"),
        (made([routed("m:a", UNCLEAR)]), "needs work, 50.0 % [40.0, 60.0] n 60, m:a", "warn"),
        (made([routed("m:a", top1(0.9))]), "needs work, 90.0 % [–] n 60, m:a", "warn"),
        (made([routed("sim", FOUND, simulated=True)]), "simulated: 90.0 % [80.0, 95.0] n 60, sim", "unknown"),
        (made([routed("sim", FOUND, simulated=True), routed("m:a", LOST)]), "fail, 30.0 % [20.0, 40.0] n 60, m:a", "bad"),
        (made([routed("m:a", FOUND, trusted=False)]), "90.0 % [80.0, 95.0] n 60, m:a, not to be trusted", "unknown"),
        (made([routed("m:a", FOUND, selection="sweep")]), "90.0 % [80.0, 95.0] n 60, m:a, some prompts only", "unknown"),
        (made([routed("m:a", FOUND, changed=["x"])]), "90.0 % [80.0, 95.0] n 60, m:a, out of date", "unknown"),
        (made([routed("lexical:a", FOUND)], word_counters=("lexical:a",)), "90.0 % [80.0, 95.0] n 60, lexical:a", "unknown"),
        (
            made([routed("lexical:a", FOUND), routed("m:a", LOST)], word_counters=("lexical:a",)),
            "fail, 30.0 % [20.0, 40.0] n 60, m:a", "bad",
        ),
    ],
)  # fmt: skip
def test_routing(page: Page, message: str, tone: str) -> None:
    assert badge(page, "routing") == Badge("skill routing", message, tone)  # type: ignore[arg-type]
    if page.status.routing and tone != "unknown":
        own = badge(page, "routing", PATH)
        assert own.tone == tone and own.label == "plums routing" and " n 4, " in own.message


@pytest.mark.parametrize(
    ("page", "message", "tone"),
    [
        (made(), "not measured", "unknown"),
        (made(effects=[effect("helps")]), "helps +20.0 points [+10.0, +30.0] n 8", "good"),
        (made(effects=[effect("harmful")]), "harmful +20.0 points [+10.0, +30.0] n 8", "bad"),
        (made(effects=[effect("no evidence")]), "no evidence +20.0 points [+10.0, +30.0] n 8", "warn"),
        (made(effects=[effect("biased")]), "biased +20.0 points [+10.0, +30.0] n 8", "unknown"),
        (made(effects=[effect("not testable")]), "not testable", "unknown"),
        (made(effects=[effect("helps", preliminary=["few"])]), "helps +20.0 points [+10.0, +30.0] n 8, preliminary", "warn"),
        (made(effects=[effect("helps"), effect("harmful")]), "harmful +20.0 points [+10.0, +30.0] n 8", "bad"),
        (made(effects=[effect("harmful", changed=True), effect("helps")]), "helps +20.0 points [+10.0, +30.0] n 8", "good"),
        (made(effects=[effect("helps", changed=True)]), "helps +20.0 points [+10.0, +30.0] n 8, out of date", "unknown"),
        (made(effects=[effect("helps", simulated=True)]), "simulated: helps +20.0 points [+10.0, +30.0] n 8", "unknown"),
        (made(effects=[effect("helps", simulated=True), effect("harmful")]), "harmful +20.0 points [+10.0, +30.0] n 8", "bad"),
    ],
)  # fmt: skip
def test_effect(page: Page, message: str, tone: str) -> None:
    assert badge(page, "effect") == Badge("skill effect", message, tone)  # type: ignore[arg-type]
    assert badge(page, "effect", PATH) == Badge("plums effect", message, tone)  # type: ignore[arg-type]


def test_verdict() -> None:
    verdicts = {
        PATH: judged_as("found", "good", 2, ""), "b": judged_as("fix first", "bad", 1, ""),
        "c": judged_as("found", "good", 2, ""), "d": judged_as("sound", "unknown", 1, ""),
    }  # fmt: skip
    assert badge(made(verdicts=verdicts), "verdict") == Badge("skills", "1 fails, 1 not measured, 2 pass", "bad")
    assert badge(made(verdicts=verdicts), "verdict", PATH) == Badge("plums", "passing", "good")
    assert badge(made(), "verdict") == Badge("skills", "not measured", "unknown")
    assert badge(made(), "verdict", PATH).tone == "unknown"
    with pytest.raises(KeyError):
        badge(made(), "health", "nowhere")


@pytest.mark.slow
@given(st.text(max_size=200) | st.just(NASTY), st.sampled_from(["health", "routing", "effect", "verdict"]))
def test_any_name_stays_text(name: str, what: Any) -> None:
    page = made([routed(name or "m", FOUND)], [effect("helps")], name=name)
    found = badge(page, what, PATH)
    root = ElementTree.fromstring(svg(found))
    assert {each.tag for each in root.iter()} == {SVG + tag for tag in ("svg", "title", "rect", "path", "g", "text")}
    assert [each.text or "" for each in root.iter(f"{SVG}text")] == [found.label, found.message]
    told = json.loads(endpoint(found))
    assert (told["label"], told["message"]) == (found.label, found.message)
    assert len(found.label) <= 40 and len(found.message) <= 120


def test_the_svg_is_for_everybody() -> None:
    found = Badge("skill health", "0.91", "good")
    root = ElementTree.fromstring(svg(found))
    assert root.get("role") == "img" and root.get("aria-label") == "skill health: 0.91"
    assert root.findtext(f"{SVG}title") == "skill health: 0.91"
    assert not any("id" in each.attrib or "style" in each.attrib for each in root.iter())
    assert svg(found) == svg(found)
    texts = [(int(each.get("x", "")), int(each.get("textLength", ""))) for each in root.iter(f"{SVG}text")]
    assert all(x >= 0 and x + length <= int(root.get("width", "")) for x, length in texts)
    assert texts[0][0] + texts[0][1] < texts[1][0]


@pytest.mark.parametrize("ground", [GROUND, *COLORS.values()])
def test_the_text_can_be_read(ground: str) -> None:
    assert contrast(TEXT, ground) >= 4.5


@pytest.mark.slow
def test_the_command(write: Write, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = write({"skills/plums/SKILL.md": SKILL.format("plums"), "skills/pears/SKILL.md": SKILL.format("pears")})
    assert main(["badge", str(root / "skills"), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schemaVersion"] == 1 and told["label"] == "skill health" and told["message"] == "passing, 1.00"
    assert re.fullmatch("[0-9a-f]{6}", told["color"])
    file = tmp_path / "badge.svg"
    arguments = ["badge", str(root / "skills"), "--what", "routing", "--skill", "plums", "--output", str(file)]
    assert main(arguments) == 0
    first = file.read_bytes()
    assert b"not measured" in first and b"plums routing" in first
    assert main(arguments) == 0 and file.read_bytes() == first
    capsys.readouterr()
    assert main(["badge", str(root / "skills"), "--skill", "plum"]) == 2
    assert "did you mean plums?" in capsys.readouterr().err
    assert main(["badge", str(root / "skills"), "--what", "nonsense"]) == 2


def test_two_skills_of_one_name_are_told_apart(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    other = SKILL.format("plums").replace("by size", "by age")
    root = write({"skills/plums/SKILL.md": SKILL.format("plums"), "skills/b/SKILL.md": other})
    assert main(["badge", str(root), "--skill", "plums"]) == 2
    assert "2 skills are named plums" in capsys.readouterr().err
    assert main(["badge", str(root), "--skill", "skills/plums", "--format", "json"]) == 0
    assert "plums health" in capsys.readouterr().out
