"""Judged scores in the record of a skill: read from the last judging of the run, and told in a line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace
from records_made import EFFECT, effect_line, effects_of, health_of, routing_of, skill_record

from skill_health.documents._record import convert_record
from skill_health.documents.effect_history import Effects, read_effects
from skill_health.documents.skill_record import JudgedEffect
from skill_health.status.judged import judged_line, read_judged
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.render import CollectionStatus
from skill_health.status.render import render_records_markdown as as_markdown
from skill_health.status.render import render_records_text as as_text
from skill_health.text.terminal import columns

UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]")
NASTY = "=x\x1b[31m\u202e<b>|`[l](http://x.y)\n# head @user \u200b wide"
RUN, JUDGING = "20260301T000000Z-0000abcd", "20260302T000000Z-1111abcd"


def figure(value: float | None, half: float | None = None, n: int = 8, **more: Any) -> dict[str, Any]:
    ends = {"low": None, "high": None} if value is None or half is None else {"low": value - half, "high": value + half}
    return {"value": value, **ends, "n": n, "clusters": n, "method": "", "note": "", **more}


def full(value: float | None, half: float | None = None) -> dict[str, Any]:
    return figure(value, half, p=None, p_adjusted=None)


def side(one: float | None, other: float | None) -> dict[str, Any]:
    delta = None if one is None or other is None else one - other
    return {"with_skill": figure(one, 0.1, 16), "without": figure(other, 0.1, 16), "delta": full(delta, 0.125)}


def scores(skill: str = "plums", model: str = "m", **more: Any) -> dict[str, Any]:
    return {
        "skill": skill, "model": model, "arm": "target", "against": "control", "trials": 30, "left_out": 2, "missing": 0.125,
        "goal": side(0.75, 0.5), "instruction": side(None, None), "weighted": side(0.75, 0.5), "verdict": "higher", **more,
    }  # fmt: skip


def report(*skills: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "version": 1, "kind": "judging-report", "run_id": JUDGING, "of_run": RUN, "created": "2026-03-02T00:00:00Z",
        "calibration": None, "judges": [{"judge": "one:j"}], "repeats": figure(0.1, 0.05, 20), "skills": list(skills or (scores(),)), **more,
    }  # fmt: skip


def write(root: Path, told: Any, name: str = JUDGING) -> None:
    folder = root / "effectiveness" / RUN / "judging" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(told if isinstance(told, str) else json.dumps(told), encoding="utf-8")


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    line = effect_line("plums", run_id=RUN, model="m")
    (tmp_path / "effectiveness-history.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    found = read_effects(tmp_path, lambda: {"plums": line["skill_digest"]})  # type: ignore[arg-type]
    assert found is not None and len(found.lines) == 1
    return found


def only(root: Path, effects: Effects) -> JudgedEffect:
    found = read_judged(str(root), effects)
    assert found.problems == ()
    (own,) = found.of("plums", iter(["m"]))
    return own


def test_the_last_judging_that_has_a_report_is_told(tmp_path: Path, effects: Effects) -> None:
    write(tmp_path, report(scores(missing=0.5), run_id="20260301T120000Z-0"), "20260301T120000Z-0")
    write(tmp_path, report(scores(), scores("pears"), scores(model="other")))
    (tmp_path / "effectiveness" / RUN / "judging" / "20260303T000000Z-2").mkdir()
    own = only(tmp_path, effects)
    assert (own.judging, own.run_id, own.scores.missing, own.judges) == (JUDGING, RUN, 0.125, ("one:j",))
    both = r" 75\.0 % with, 50\.0 % without, \+25\.0 points \[\+12\.5, \+37\.5\] n 8"
    assert re.fullmatch(
        rf"plums, m: weighted{both}, higher; goal{both}; 12\.5 %[^;]*; [^;]*one:j, not calibrated; \D*10\.0 % \[5\.0, 15\.0\] n 20",
        judged_line(own),
    )


def test_a_calibration_takes_the_place_of_not_calibrated(tmp_path: Path, effects: Effects) -> None:
    known = {"labels": 40, "accuracy": figure(0.9), "kappa": figure(0.8, 0.1, 40), "leniency": figure(0.05)}
    write(tmp_path, report(calibration=known))
    said = judged_line(only(tmp_path, effects))
    assert "kappa 0.80 [0.70, 0.90] against 40 " in said and "not calibrated" not in said
    write(tmp_path, report(calibration={**known, "judging": "J"}))
    said = judged_line(only(tmp_path, effects))
    assert " in J, by the same judges over other work; other " in said


def test_what_nobody_settled_has_no_score(tmp_path: Path, effects: Effects) -> None:
    nothing = {name: side(None, None) for name in ("goal", "instruction", "weighted")}
    write(tmp_path, report(scores(**nothing, missing=1.0, verdict="not_testable"), repeats=figure(None, n=0)))
    said = judged_line(only(tmp_path, effects))
    assert "plums, m: no score, not testable; 100.0 %" in said
    assert said.endswith(" not known")


def test_a_side_that_is_missing_is_a_dash(tmp_path: Path, effects: Effects) -> None:
    write(tmp_path, report(scores(weighted=side(0.5, None))))
    assert "weighted 50.0 % with, – without, higher" in judged_line(only(tmp_path, effects))


ANOTHER = "is that of another judging"


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("{", "is damaged"), ("[]", "is damaged"), ("{" * 100_000, "is damaged"), (report(kind="x"), "is damaged"),
        (report(of_run="20260301T000000Z-9999abcd"), ANOTHER),
        (report(run_id="20260302T000000Z-2222abcd"), ANOTHER),
        (report(scores(goal=side(1e300, 0.5))), "beyond all measure"),
        (report(scores(missing=7)), "is damaged"),
        (json.dumps(report()).replace("0.125", "NaN", 1), "is damaged"),
    ],
)  # fmt: skip
def test_a_report_that_cannot_be_believed_costs_one_note(tmp_path: Path, effects: Effects, told: Any, why: str) -> None:
    write(tmp_path, report(run_id="20260301T120000Z-0"), "20260301T120000Z-0")
    write(tmp_path, told)
    found = read_judged(str(tmp_path), effects)
    (problem,) = found.problems
    assert why in problem and f"judging/{JUDGING}/report.json" in problem and not found.found, (
        "nor is an older one shown"
    )


def test_nothing_judged_and_nothing_run_say_nothing(tmp_path: Path, effects: Effects) -> None:
    assert read_judged(str(tmp_path), effects).found == {} == read_judged(str(tmp_path), None).found
    write(tmp_path, report())
    other = replace(effects.lines[0], skill=None)
    assert read_judged(str(tmp_path), Effects((other,))).found == {}


def test_a_report_of_an_earlier_version_has_no_scores_of_skills(tmp_path: Path, effects: Effects) -> None:
    told = report()
    del told["skills"]
    write(tmp_path, told)
    assert read_judged(str(tmp_path), effects).found == {}


def test_the_record_holds_what_was_read(tmp_path: Path, effects: Effects) -> None:
    """It is one document's figures in another: the same type, unchanged."""
    write(tmp_path, report())
    own = only(tmp_path, effects)
    assert own.scores == convert_record(scores(), type(own.scores))
    assert own.changed is False and own.simulated is False


def test_no_name_of_a_judge_is_markup_or_control(tmp_path: Path, effects: Effects) -> None:
    evil = report(scores(NASTY, NASTY), judges=[{"judge": NASTY}])
    own = convert_record(
        {
            "run_id": RUN, "judging": JUDGING, "time": "2026-03-02T00:00:00Z", "judges": [NASTY], "calibration": None,
            "repeats": evil["repeats"], "simulated": True, "changed": True, "scores": evil["skills"][0],
        },
        JudgedEffect,
    )  # fmt: skip
    line = replace(EFFECT, model=NASTY, simulated=True)
    benefit = replace(effects_of("ok", (), (line,)), judged=(own,))
    made = skill_record(NASTY, health_of(), routing_of(), benefit)
    told = CollectionStatus((made,), None, Effects(()), CommandBuilder(), "0.1", "standard")
    text, page = as_text(told, 80), as_markdown(told)
    assert "Judged scores" in text and "not calibrated" in text and "SIMULATED" in " ".join(text.split())
    assert not UNSAFE.search(text) and not UNSAFE.search(page)
    assert max(columns(line) for line in text.splitlines() if "skill-health " not in line) <= 80
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(page)
    inner = [child for token in tokens for child in token.children or ()]
    assert not {token.type for token in (*tokens, *inner)} & {"html_block", "html_inline", "link_open", "image"}
