"""The page's part on live agents: what it shows, where it comes from, what is marked, and no markup in it."""

from __future__ import annotations

import dataclasses
import json
from itertools import cycle
from pathlib import Path

import pytest
from activation_page import SKILLS, activation_report, page_with
from filled_records import told_figures
from msgspec.structs import replace
from page_parsed import Element, Parsed

from skill_health.documents._record import encode_record, record_values
from skill_health.documents.activation_report import ActivationReport
from skill_health.documents.skill_grades import SkillGrade
from skill_health.page.data.gather import activation_reports
from skill_health.page.html import render
from skill_health.page.model import LIVE, Page, SkillVerdict, anchor
from skill_health.page.verdict.headline import FirstScreen, first_screen
from skill_health.text.numbers import with_interval

pytestmark = pytest.mark.usefixtures("undrawn")
NASTY = "</p><script>alert(1)</script><img src=x onerror=alert(2)>\u202e{{7*7}}\x1b[31m"


def inside(page: Page, tag: str = "") -> list[Element]:
    """The elements of the section."""
    seen = Parsed(render(page))
    section, found = seen.one(id="activation"), []
    for each in seen.all(tag):
        above = each.up
        while above is not None and above is not section:
            above = above.up
        found += [each] if above is section else []
    return found


def words(page: Page) -> str:
    return " ".join(Parsed(render(page)).one(id="activation").text.split())


@pytest.mark.slow
def test_figures_stand_with_their_intervals_and_the_ranking_beside_them() -> None:
    report = activation_report()
    (model,) = report.models
    seen = words(page_with(report))
    recall = model.metrics.recall
    assert recall.value is not None and recall.low is not None and recall.high is not None
    assert f"expected{100 * recall.value:.1f} [{100 * recall.low:.1f}, {100 * recall.high:.1f}] n 14" in seen
    fires = model.metrics.false_fire_none
    assert fires.high is not None and f"applies0.0 [0.0, {100 * fires.high:.1f}] n 3" in seen
    assert "lexical:tfidf ranks " in seen
    assert "17 of 17 requests known" in seen and "SIMULATED" not in seen


@pytest.mark.slow
def test_every_figure_is_what_stands_at_its_origin() -> None:
    page = page_with(activation_report())
    cells = [each for each in inside(page) if each.attrs.get("data-from")]
    assert len(cells) > 30
    for value, shown in told_figures(page, cells):
        assert (shown == "–") == (value is None)
        if value is not None:
            assert float(shown) in (pytest.approx(100 * value, abs=0.06), pytest.approx(value, abs=0.006))


def test_a_skill_leads_to_its_part_and_a_changed_description_is_marked() -> None:
    page = page_with(activation_report(), about={"bread": "Bakes something else."})
    links = [each.attrs["href"] for each in inside(page, "a")]
    assert links == [f"#{anchor(f'skills/{name}/SKILL.md')}" for name in SKILLS]
    marks = [each for each in inside(page, "span") if "mark" in str(each.attrs.get("class"))]
    assert [mark.text for mark in marks if mark.text == "stale"] == ["stale"]
    assert any("other descriptions by now: bread" in str(mark.attrs.get("title")) for mark in marks)


def test_what_is_simulated_is_marked_and_comes_last() -> None:
    real, made = activation_report(), activation_report("planted", simulated=True)
    page = page_with(made, real)
    heads = [each.text for each in inside(page, "h3")]
    assert heads[0].startswith("codex:some-model-1") and "SIMULATED" in heads[1]


def test_each_agent_stands_there_by_its_last_report() -> None:
    old, new = activation_report(), replace(activation_report(), run_id="20260401T000000Z-0123abcd")
    heads = [each for each in inside(page_with(new, old), "h3") if "codex:some-model-1" in each.text]
    assert len(heads) == 1
    assert "20260401T000000Z" in words(page_with(new, old)) and "20260301T000000Z" not in words(page_with(new, old))


def test_without_a_run_there_is_no_such_part() -> None:
    assert 'id="activation"' not in render(page_with())


def test_texts_of_others_stay_texts() -> None:
    report = activation_report(f"codex:{NASTY}")
    (model,) = report.models
    skills = tuple(replace(each, instead={NASTY: 1}) for each in model.skills)
    nasty = replace(model, unproved=NASTY, preliminary=(NASTY,), skills=skills)
    text = render(page_with(replace(report, models=(nasty,))))
    assert "<script>alert" not in text and "<img" not in text and "\x1b" not in text and "\u202e" not in text


def test_reports_are_found_by_the_history_and_damage_is_said(tmp_path: Path) -> None:
    from made_loads import made_manifest, made_results

    from skill_health.activation.history import record_activation
    from skill_health.activation.report import build_activation_report
    from skill_health.documents.router_manifest import Prompt

    prompts = [Prompt(f"{name}-1", f"do {name}", name) for name in SKILLS]
    manifest = made_manifest(prompts, SKILLS)
    report = build_activation_report(
        manifest, made_results(manifest, {each.prompt_id: [each.expected] for each in prompts})
    )
    assert activation_reports(str(tmp_path)) == ((), ())
    assert record_activation(str(tmp_path), manifest, report) == 8
    assert record_activation(str(tmp_path), manifest, report) == 0
    none, notes = activation_reports(str(tmp_path))
    assert none == () and [f"activation/{report.run_id}/report.json is not there" in note for note in notes] == [True]
    folder = tmp_path / "activation" / report.run_id
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(encode_record(report))
    assert activation_reports(str(tmp_path)) == ((report,), ())
    broken = record_values(report) | {"turns": -1}
    (folder / "report.json").write_text(json.dumps(broken))
    found, notes = activation_reports(str(tmp_path))
    assert found == () and report.run_id in notes[0]
    with (tmp_path / "activation-history.jsonl").open("a") as stream:
        stream.write('{"schema": "skill-health/activation-history/1", "run_id": 3}\n{"schema": "other"}\n')
    assert any("1 line of activation-history.jsonl is damaged" in note for note in activation_reports(str(tmp_path))[1])
    assert isinstance(report, ActivationReport)


def graded(*grades: SkillGrade, reports: tuple[ActivationReport, ...]) -> FirstScreen:
    """The first screen where live agents gave the skills these grades, as many as there are."""
    page = page_with(*reports)
    told = zip(page.status.skills, cycle(grades), strict=False)
    skills = tuple(replace(skill, activation=grade, grade=grade) for skill, grade in told)
    failing = SkillVerdict(SkillGrade.FAIL, "passed over", LIVE, "why", "do this, then", "ask again")
    verdicts = {skill.path: failing for skill in skills if skill.grade is SkillGrade.FAIL}
    return first_screen(dataclasses.replace(page, status=replace(page.status, skills=skills), verdicts=verdicts))


@pytest.mark.parametrize(
    ("grades", "word", "tone"),
    [
        ([SkillGrade.PASSING], "passing", "good"),
        ([SkillGrade.PASSING, SkillGrade.NOT_MEASURED], "needs work (partly known)", "warn"),
        ([SkillGrade.NEEDS_WORK, SkillGrade.PASSING], "needs work", "warn"),
        ([SkillGrade.PASSING, SkillGrade.FAIL], "fail (passed over)", "bad"),
    ],
)
def test_a_tile_says_whether_live_agents_load_the_skills(grades: list[SkillGrade], word: str, tone: str) -> None:
    report = activation_report()
    recall = report.models[0].metrics.recall
    seen = graded(*grades, reports=(report,))
    (tile,) = (each for each in seen.tiles if each.title == "Activation")
    assert (tile.word, tile.tone, tile.link) == (word, tone, "activation")
    said = f"{with_interval(recall, unit=' %')} of {recall.n} requests"
    assert tile.text.startswith("codex:some-model-1: ") and said in tile.text.partition(";")[0]
    assert ("Activation fails (passed over)" in seen.headline) == (tone == "bad") == bool(tile.command)


def test_agents_that_say_nothing_of_the_skills_as_they_are_have_no_tile() -> None:
    nothing = SkillGrade.NOT_MEASURED
    simulated = activation_report("planted", simulated=True)
    for seen in (
        graded(nothing, reports=(activation_report(),)), graded(nothing, reports=(simulated,)),
        graded(SkillGrade.PASSING, reports=(simulated,)), graded(nothing, reports=()),
    ):  # fmt: skip
        assert "Activation" not in {each.title for each in seen.tiles} and "Activation" not in seen.headline
