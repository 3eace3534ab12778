"""The part of the page about a skill: its figures are those of the reports, and all that others wrote is text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import page_made
import pytest
from filled_records import documents as page_documents
from filled_records import filled, resolve
from msgspec import structs
from page_parsed import Parsed
from trial_made import HOSTILE, RUN, line, trajectory, write_run, write_trial

from skill_health.documents.lint_report import LintDocument
from skill_health.documents.skill_grades import SkillGrade
from skill_health.documents.skill_record import SkillRecord
from skill_health.page.model import Origins, Page
from skill_health.page.sections import skills
from skill_health.page.sections.skills import SkillPart, parts
from skill_health.page.skill.budget import HtmlBudget
from skill_health.page.skill.effects import SkillMeasurement
from skill_health.page.skill.health import by_skill, health
from skill_health.page.skill.routing import prompt_price
from skill_health.page.skill.trials import trial_view
from skill_health.trials.kept_files import ReportFolders
from skill_health.trials.results import read_trials

ACTIVE = {"script", "img", "svg", "iframe", "object", "embed", "style", "form", "link", "base", "meta"}


@cache
def made() -> tuple[SkillPart, ...]:
    return tuple(parts(page_made.page()))


def named(name: str) -> SkillPart:
    return next(part for part in made() if part.name == name)


def render_plain(part: SkillPart) -> str:
    from skill_health.page.html import page_environment

    return page_environment().get_template("skill_part.html").render(part=part, pictures=())


def documents(page: Page) -> dict[str, Any]:
    found = page_documents(page)
    for path in Path(page.folder, "effectiveness").glob("*/results.jsonl"):
        lines = path.read_bytes().splitlines()
        found[f"results/{path.parent.name}"] = [json.loads(each) for each in lines]
    return found


@pytest.mark.slow
def test_there_is_a_part_for_each_skill_in_the_order_of_the_paths() -> None:
    assert [part.path for part in made()] == [each.path for each in page_made.page().status.skills]
    assert len({part.anchor for part in made()}) == len(made())


@pytest.mark.slow
def test_every_figure_equals_the_report_that_it_names() -> None:
    told = documents(page_made.page())
    seen: set[str] = set()
    for part in made():
        for each in Parsed(render_plain(part)).elements:
            if not (origin := each.attrs.get("data-from")):
                continue
            value, text, raw = resolve(told, origin), each.text, each.attrs.get("data-value") or each.text
            seen.add(origin.partition("#")[0].partition("/")[0])
            if isinstance(value, dict):
                low, high = (value.get(key) for key in ("low", "high"))
                numbers = [float(each) for each in re.findall(r"[+-]?\d+\.\d+", text)]
                expected = [100 * end for end in (value["value"], low, high) if end is not None]
                assert numbers == pytest.approx(expected, abs=0.051), origin
                assert text == "–" or text.endswith(f" n {value['n']:,}")
            elif value is None:
                assert text == "–", origin
            else:
                assert float(raw.replace(",", "")) == pytest.approx(value, rel=1e-9), origin
    assert seen == {"status", "lint", "router", "effectiveness", "results"}


@pytest.mark.slow
def test_verdicts_next_steps_and_descriptions_are_those_of_the_page() -> None:
    page = page_made.page()
    for part, told in zip(made(), page.status.skills, strict=True):
        assert part.verdict == page.verdicts[part.path]
        assert [(each.gap, each.command) for each in part.steps] == [(each.gap, each.command) for each in told.next]
        assert part.description.text and part.description.left == 0


def test_confusions_go_by_the_name_under_which_the_run_lists_the_skill() -> None:
    page = page_made.page()
    renamed = tuple(structs.replace(each, name=f"plain-{each.name}") for each in page.status.skills)
    other = replace(page, status=structs.replace(page.status, skills=renamed))
    for part, same in zip(made(), parts(other), strict=True):
        assert same.name == f"plain-{part.name}" and same.routing == part.routing
    assert any(part.routing.lost.prompts for part in made())


def test_confusions_are_those_of_the_prompts() -> None:
    (report,) = page_made.page().router
    for part in made():
        wrong = [
            (each, pick.picked)
            for each in report.prompts for model in each.models for pick in model.picks if not pick.right
        ]  # fmt: skip
        lost = {each.prompt_id for each, _ in wrong if each.expected == part.name and each.untested is None}
        taken = {each.prompt_id for each, picked in wrong if picked == part.name}
        for side, expected in ((part.routing.lost, lost), (part.routing.taken, taken)):
            shown = {prompt.id for prompt in side.prompts}
            assert shown <= expected and len(shown) + side.left == len(expected)
            times = [prompt.wrong for prompt in side.prompts]
            assert times == sorted(times, reverse=True) and all(times)
            grouped = [(other, *row) for other, rows in side.others.items() for row in rows]
            assert sorted(grouped, key=str) == sorted(((row[0].text, *row[1:]) for row in side.table.rows), key=str)
        for prompt in part.routing.taken.prompts:
            assert {pick.picked for pick in prompt.picks} == {part.name} and prompt.expected != part.name
    assert named("skill-3").routing.lost.prompts


def test_simulated_models_say_so_wherever_their_figures_stand() -> None:
    for part in made():
        for side in (part.routing.lost, part.routing.taken):
            assert {row[1].text for row in side.table.rows} <= {"scripted (SIMULATED)", "maker:one", "lexical:overlap"}
            for pick in (pick for prompt in side.prompts for pick in prompt.picks):
                assert pick.simulated == (pick.model == "scripted")
        for each in (*part.routing.models, *part.effect.models):
            model = each.line.model if isinstance(each, SkillMeasurement) else each.model
            assert (model == "scripted") == any(mark.word == "SIMULATED" for mark in each.marks)


def test_how_often_a_skill_is_reached_and_what_loading_does_stand_beside_its_effect() -> None:
    page = page_made.page()
    (report,) = page.effects
    own = {(model.model, skill.skill): skill for model in report.models for skill in model.skills}

    def testable(each: Any) -> Any:
        return structs.replace(each, loading=each.loading and structs.replace(each.loading, testable=True))

    models = [structs.replace(each, skills=tuple(map(testable, each.skills))) for each in report.models]
    sure = structs.replace(report, models=tuple(models))
    seen = 0
    for part, other in zip(parts(page), parts(replace(page, effects=(sure,))), strict=True):
        for each, told in zip(part.effect.models, other.effect.models, strict=True):
            skill = own[each.line.model, part.name]
            assert skill.loading is not None
            (rate,) = (arm.invoked.rate for arm in skill.arms if arm.arm == "target")
            assert each.reached is not None and rate.value is not None
            assert each.reached.value == pytest.approx(100 * rate.value) and each.reached == told.reached
            assert (each.loaded is None) == (not skill.loading.testable)
            assert told.loaded is not None and told.loaded.text.startswith(("+", "-", "–"))
            seen += 1
    assert seen


def test_tasks_and_trials_of_a_skill_are_its_own() -> None:
    (report,) = page_made.page().effects
    views = 0
    for part in made():
        for each in part.effect.models:
            of_model = next(one for one in report.models if one.model == each.line.model)
            tasks = {one.task_id: one for one in of_model.tasks if one.skill == part.name}
            assert len(each.tasks) + each.left == len(tasks)
            for task in each.tasks:
                assert task.flip == tasks[task.id].flip
                arms = tasks[task.id].arms
                assert {arm.name: arm.passes.value for arm in task.arms} == {
                    name: arm.passes for name, arm in arms.items()
                }
                assert task.first + task.others == task.arms and len(task.others) != 1
                # A mean reward is shown where it is another number than the share of passes.
                assert {arm.name for arm in task.arms if arm.reward} == {
                    name for name, arm in arms.items() if arm.reward not in (None, arm.n and arm.passes / arm.n)
                }
            if each.failing:
                views += 1
                assert each.failing.trial.line.task_id in tasks and each.failing.trial.failed
    assert views > 0


@pytest.mark.slow
def test_links_lead_to_files_of_the_trial() -> None:
    page = page_made.page()
    found = 0
    for part in made():
        for each in Parsed(render_plain(part)).all("a"):
            # A rule stands on the page itself, and a trial has no page of its own here.
            if "data-trial" not in each.attrs and not str(each.attrs["href"]).startswith("#rule-"):
                found += 1
                target = Path(page.base, str(each.attrs["href"]))
                assert target.is_file() and target.resolve().is_relative_to(page.folder)
    assert found > 4


@pytest.mark.slow
def test_all_that_others_wrote_is_text() -> None:
    whole = "".join(render_plain(part) for part in made())
    elements = Parsed(whole).elements
    assert ACTIVE.isdisjoint(each.tag for each in elements)
    assert not [name for each in elements for name in each.attrs if name.startswith("on") or name == "style"]
    assert "alert(1)" in unescape(whole), "the hostile texts are shown"
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", whole)


HARMFUL = {
    "trajectory.json": trajectory(
        {
            "source": HOSTILE, "message": HOSTILE, "reasoning_content": HOSTILE,
            "tool_calls": [{"function_name": HOSTILE, "arguments": {HOSTILE: HOSTILE}}],
            "observation": {"results": [{"content": HOSTILE}]},
        },
    ),
    "diff.patch": b"+<script>alert(1)</script>\xff\x00\x1b[2J\r\n-</pre><img src=x>",
    "verifier/stdout": b"</pre><script>alert(1)</script>\xed\xa0\x80\x1b[31m",
    "verifier/stderr": b"<!--",
    "final.txt": "\u202e</details>\u2066".encode(),
}  # fmt: skip


def with_trial(reports: Path, files: dict[str, bytes], **more: Any) -> SkillPart:
    """A part whose only run has one failing trial."""
    told = line(**more)
    write_trial(write_run(reports, [told]), line(), files)
    shelf = ReportFolders(str(reports), str(reports))
    ((trial,),) = read_trials(shelf, RUN).values()
    part = next(part for part in made() if part.effect.models)
    measured = replace(part.effect.models[0], failing=trial_view(shelf, trial), trials=(), unseen=None)
    return replace(part, effect=replace(part.effect, models=(measured,)))


def test_a_hostile_transcript_is_text(tmp_path: Path) -> None:
    # A line with half of a pair is damaged.
    text = HOSTILE.replace("\ud800", "")
    given = {"notes": [text], "error": text, "outcome": "fail", "folder": line()["folder"]}
    whole = render_plain(with_trial(tmp_path, HARMFUL, task_id=text, arm=text, model=text, **given))
    assert ACTIVE.isdisjoint(each.tag for each in Parsed(whole).elements)
    assert whole.count("<details") == whole.count("</details>") and whole.count("<pre") == whole.count("</pre>")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", whole)
    for seen in ("alert(1)", r"\x1b[31m", r"\u{202e}", r"\x00", r"\u{d800}", r"\u{dcff}"):
        assert seen in whole, seen


@pytest.mark.parametrize("message", ["<&>\u202e" * 300, "plain " * 200, "ü" * 900, "x"])
def test_a_view_takes_no_more_than_its_price(tmp_path: Path, message: str) -> None:
    steps = [{"source": "agent", "message": message, "tool_calls": [{"function_name": "f"}]} for _ in range(60)]
    raw = message.encode() * 20
    files = {"trajectory.json": trajectory(*steps), "diff.patch": b"+" + raw + b"\n+x" * 300, "verifier/stdout": raw}
    part = with_trial(tmp_path, files | {"verifier/stderr": raw, "final.txt": raw}, notes=[message] * 3)
    view = part.effect.models[0].failing
    start, end = '<details class="trial">', "</details>"
    whole = render_plain(part)
    shown = whole[whole.index(start) : whole.index(end, whole.index(start))]
    assert view is not None and len(shown.encode()) <= view.price


def finding(**more: Any) -> dict[str, Any]:
    return {
        "code": "FM001", "rule": "r", "severity": "error", "path": "a/SKILL.md", "line": 3, "col": 7, "end_line": 3,
        "end_col": 10, "message": "wrong", "help": "fix", "source": "name: bad<b>", "skill": "a/SKILL.md", "key": "k",
        "fixable": False, "also": [],
    } | more  # fmt: skip


def of(*findings: dict[str, Any], purse: int = 100_000) -> Any:
    counts = {"error": 1, "warning": 0, "info": 0}
    own = {"path": "a/SKILL.md", "findings": counts, "score": 0.5, "flags": [], "components": []}
    lint = filled(LintDocument, {"skills": [own], "findings": list(findings)})
    record = filled(SkillRecord, {"path": "a/SKILL.md", "health": {"state": "failed", "flags": []}})
    return health(Origins({"lint": lint}), record, lint.skills[0], by_skill(lint), HtmlBudget(purse))


@pytest.mark.parametrize(
    ("value", "level", "reasons"),
    [(1.0, 10, 0), (0.999, 9, 1), (0.75, 8, 1), (0.001, 1, 1), (0.0, 0, 1), (None, -1, 1)],
)
def test_a_part_of_the_score_has_its_bar_and_what_it_lost_by(value: float | None, level: int, reasons: int) -> None:
    part = {"name": "links", "value": value, "weight": 0.1, "share": 0.1, "evidence": {"not_found": 2}, "note": ""}
    lint = filled(LintDocument, {"skills": [{"path": "a", "score": 0.5, "components": [part]}]})
    (shown,) = health(Origins({"lint": lint}), filled(SkillRecord, {}), lint.skills[0], {}, HtmlBudget(0)).components
    assert (shown.level, len(shown.evidence)) == (level, reasons)
    assert all(name == "not found" for name, _ in shown.evidence)


def excerpts(found: Any) -> Iterator[tuple[str, str, str] | None]:
    for each in (each for file in found.files for each in file.findings):
        told = each.excerpt
        yield (told.before, told.marked, told.after) if told else None


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ("name: ", "bad", "<b>")),
        ({"source": "", "line": 1}, None),
        ({"source": "  \t "}, None),
        ({"col": 1, "end_col": 1}, ("", "n", "ame: bad<b>")),
        ({"col": 13, "end_col": 13}, ("name: bad<b>", "", "")),
        ({"col": 7, "end_line": 9, "end_col": 1}, ("name: ", "b", "ad<b>")),
        ({"source": "a\u202eb\x1bc", "col": 2, "end_col": 3}, ("a", r"\u{202e}", r"b\x1bc")),
        ({"source": "   indented", "col": 4, "end_col": 12}, ("", "indented", "")),
    ],
)
def test_the_place_of_a_finding_is_marked_in_its_line(more: dict[str, Any], expected: Any) -> None:
    assert list(excerpts(of(finding(**more)))) == [expected]


def test_findings_are_grouped_by_file_and_those_about_several_skills_stand_at_each() -> None:
    found = of(
        finding(path="b.md"), finding(), finding(path="b.md", line=9), finding(skill="z", also=["a/SKILL.md"], path="z"),
        finding(skill="z", path="z"),
    )  # fmt: skip
    assert [(file.path, [each.elsewhere for each in file.findings]) for file in found.files] == [
        ("b.md", [False, False]), ("a/SKILL.md", [False]), ("z", [True]),
    ]  # fmt: skip
    assert found.files[0].findings[0].title, "the rule's title is shown"


@pytest.mark.parametrize(("n", "purse"), [(3, 100_000), (100, 100_000), (30, 2_000), (3, 0)])
def test_findings_that_are_not_shown_are_counted(n: int, purse: int) -> None:
    found = of(*(finding(line=at + 1) for at in range(n)), purse=purse)
    assert sum(len(file.findings) for file in found.files) + found.left == n


@pytest.mark.slow
def test_those_most_in_need_are_served_first(monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_made.page()
    good = {path: replace(verdict, grade=SkillGrade.PASSING) for path, verdict in page.verdicts.items()}
    losing = [part for part in made() if part.routing.lost.prompts]
    assert len(losing) > 1
    for part in losing:
        monkeypatch.setattr(skills, "PROMPTS", prompt_price(part.routing.lost.prompts[0]))
        verdicts = good | {part.path: replace(page.verdicts[part.path], grade=SkillGrade.FAIL)}
        served = {each.path: each.routing for each in parts(replace(page, verdicts=verdicts))}
        assert [path for path, routing in served.items() if routing.lost.prompts] == [part.path]
        assert [path for path, routing in served.items() if routing.taken.prompts] == []


def test_a_page_without_reports_or_folder_has_its_parts() -> None:
    page = replace(page_made.bare(), folder="", base="")
    for part in parts(page):
        assert part.routing.models == () and part.effect.models == ()
        assert "<details" in render_plain(part)


def test_reports_that_are_gone_leave_the_record() -> None:
    page = replace(page_made.page(), router=(), effects=(), folder="")
    for part, whole in zip(parts(page), made(), strict=True):
        assert part.routing.models == whole.routing.models and not part.routing.lost.prompts
        assert [each.line for each in part.effect.models] == [each.line for each in whole.effect.models]
        assert all(not each.tasks and each.failing is None for each in part.effect.models)


def test_a_skill_that_the_lint_report_lacks_is_shown_without_a_score() -> None:
    page = page_made.page()
    lint = structs.replace(page.lint, skills=())
    assert {part.health.score.text for part in parts(replace(page, lint=lint))} == {"–"}
