"""Everything that a page rests on is joined from one lint run, three histories and the reports beside them."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import page_made
import pytest
from filled_records import documents, resolve
from msgspec.structs import replace

from skill_health.cli import main
from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.core.validation import problems
from skill_health.daily.states import STATES, pack_run
from skill_health.documents._record import OpenRecord, Record, record_values
from skill_health.page.data.gather import effect_reports, router_reports
from skill_health.page.data.histories import MOST_LINES, daily_history, effect_history, router_history
from skill_health.page.model import QUESTIONS
from skill_health.status import join


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A copy of a collection with reports, which a test may change."""
    return Path(shutil.copytree(page_made.page().folder.removesuffix("/reports"), tmp_path / "c"))


def records(value: Any) -> Iterator[Record | OpenRecord]:
    """The records in a document."""
    if isinstance(value, Record | OpenRecord):
        yield value
        for name in value.__struct_fields__:
            yield from records(getattr(value, name))
    elif isinstance(value, Mapping | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from records(each)


@pytest.mark.slow
def test_every_document_keeps_to_its_schema_and_every_origin_leads_back() -> None:
    page = page_made.page()
    told = documents(page)
    assert page.notes == ()
    names = {"status": "skill-record", "lint": "report", "page": "page"}
    names |= {f"router/{each.run.run_id}": "router-report" for each in page.router}
    names |= {f"effectiveness/{each.run_id}": "effectiveness-report" for each in page.effects}
    for name, schema in names.items():
        assert problems(schema, told[name]) == []
    for name in ("history", "router-history", "effectiveness-history"):
        assert told[name]
        assert [problems(name, line) for line in told[name]] == [[]] * len(told[name])
    parts = (page.own, page.status, page.lint, page.effects, page.router, page.router_history, page.history)
    every = [each for part in parts for each in records(part)]
    assert len(every) > 1000
    for each in every:
        assert resolve(told, page.origins.of(each)) == json.loads(json.dumps(record_values(each)))
    # In another order, so that it is not the first question that makes the rest known.
    again = dataclasses.replace(page)
    assert [again.origins.of(each) for each in reversed(every)] == [page.origins.of(each) for each in reversed(every)]


def test_keys_are_escaped_and_what_is_in_no_document_has_no_origin() -> None:
    page = page_made.page()
    assert page.origins.of(page.own.listing, "skills", "a/b~c") == "page#/listing/skills/a~1b~0c"
    with pytest.raises(KeyError):
        page.origins.of(replace(page.own, title="another"))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["status", "--format", "json"], "status"),
        (["lint", "--score", "--format", "json"], "lint"),
        (["report", "--format", "json"], "page"),
    ],
)
def test_a_document_is_what_its_command_prints(
    arguments: list[str], name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = page_made.page()
    monkeypatch.chdir(os.path.dirname(page.folder))
    assert main([*arguments, "--no-cache", "--as-of", page.as_of]) in (0, 1)
    assert json.loads(capsys.readouterr().out) == documents(page)[name]


def test_skills_are_checked_once(monkeypatch: pytest.MonkeyPatch, whole: Path) -> None:
    real, calls = join.lint, []
    monkeypatch.setattr(join, "lint", lambda *given, **more: calls.append(1) or real(*given, **more))
    page_made.read(whole)
    assert calls == [1]


def test_each_skill_has_a_verdict_and_each_question_an_answer() -> None:
    page = page_made.page()
    words = {path.split("/")[1]: (each.detail, each.tone, each.question) for path, each in page.verdicts.items()}
    assert words == {
        "skill-0": ("preliminary: helps", "warn", 3), "skill-1": ("unclear", "warn", 2),
        "skill-2": ("preliminary: harmful", "warn", 3), "skill-3": ("lost", "bad", 2), "zz-nasty": ("", "bad", 1),
    }  # fmt: skip
    assert [(each.word, each.detail) for _, each in sorted(page.answers.items())] == [
        ("fail", ""), ("fail", ""), ("needs work", "preliminary: harmful"), ("needs work", "preliminary: partly known"),
    ]  # fmt: skip
    assert [each.question for _, each in sorted(page.answers.items())] == list(QUESTIONS)
    assert list(page.verdicts) == [each.path for each in page.status.skills]
    for each in page.status.skills:
        steps = [step.command.partition(" --")[0] for step in each.next] or ["", "skill-health router run"]
        assert page.verdicts[each.path].command.partition(" --")[0] in steps


def test_a_collection_of_which_nothing_was_measured() -> None:
    page = page_made.bare()
    assert (page.history, page.router, page.effects, page.notes) == ((), (), (), ())
    assert [each.word for _, each in sorted(page.answers.items())] == [
        "fail", "not measured", "not measured", "not measured",
    ]  # fmt: skip
    assert {each.word for each in page.verdicts.values()} == {"passing", "fail"}
    assert all(each.since is None for each in page.own.trends.values())


@pytest.mark.slow
def test_the_same_collection_makes_the_same_page_anywhere(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = page_made.page()
    monkeypatch.chdir(whole / "skills")
    again = page_made.read(whole, base=str(whole / "reports"))
    for name in ("title", "version", "as_of", "status", "lint", "history", "own", "verdicts", "answers", "notes"):
        assert getattr(again, name) == getattr(first, name)
    assert str(whole) not in json.dumps(documents(again))


TORN: dict[str, bytes] = {
    "torn": b'{"schema": "skill-health/history/1", "ti', "no object": b"[]", "no text": b"\xff\xfe\x00",
    "another form": b'{"schema": "skill-health/history/9", "version": 9, "kind": "effectiveness"}',
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("skill-health-history.jsonl", daily_history),
        ("router-history.jsonl", router_history),
        ("effectiveness-history.jsonl", effect_history),
    ],
)
def test_a_damaged_line_costs_a_note(name: str, read: Callable[[str], Any], tmp_path: Path) -> None:
    folder = shutil.copytree(page_made.page().folder, tmp_path / "reports")
    before, _ = read(str(folder))
    good = (folder / name).read_bytes().splitlines()
    for what, damage in TORN.items():
        (folder / name).write_bytes(b"\n".join([damage, good[0], damage, *good[1:], damage]))
        lines, notes = read(str(folder))
        assert lines == before and len(lines) == len(good), what
        assert notes == (f"3 lines of {name} are damaged or of another form, and left out",), what


def early_line() -> dict[str, Any]:
    """A line of the daily history as early versions wrote it, with all skills."""
    line: dict[str, Any] = json.loads(json.dumps(record_values(page_made.page().history[0])))
    return line


def test_a_line_with_an_impossible_day_is_left_out(tmp_path: Path) -> None:
    line = early_line()
    text = "".join(
        json.dumps(line | more) + "\n" for more in ({}, {"as_of": "2026-02-31"}, {"time": "2026-13-01T00:00:00Z"})
    )
    (tmp_path / "skill-health-history.jsonl").write_text(text)
    lines, notes = daily_history(str(tmp_path))
    assert ([each.as_of for each in lines], len(notes)) == ([line["as_of"]], 1)


def test_an_imported_run_may_have_no_time(tmp_path: Path) -> None:
    line = json.loads((Path(page_made.page().folder) / "router-history.jsonl").read_bytes().splitlines()[0])
    (tmp_path / "router-history.jsonl").write_text(json.dumps(line | {"time": None, "imported": True}) + "\n")
    lines, notes = router_history(str(tmp_path))
    assert ([each.time for each in lines], notes) == ([None], ())


def test_a_score_above_one_is_shown(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile plan-v2.3.0 does not clamp its ratio of claims."""
    real = join.lint

    def lint(*given: Any, **more: Any) -> Any:
        report, result = real(*given, **more)
        scores = {path: dataclasses.replace(score, value=1.25) for path, score in report.scores.skills.items()}
        corpus = dataclasses.replace(report.scores.corpus, mean=1.25, max=1.25)
        return report._replace(scores=report.scores._replace(skills=scores, corpus=corpus)), result

    monkeypatch.setattr(join, "lint", lint)
    page = page_made.read(whole)
    assert {each.health.score for each in page.status.skills} == {1.25} == {page.lint.summary.score}


def test_a_long_history_is_read_from_its_end(tmp_path: Path) -> None:
    line = early_line() | {"skills": {}}
    with (tmp_path / "skill-health-history.jsonl").open("w") as file:
        for n in range(MOST_LINES + 5):
            file.write(json.dumps(line | {"version": str(n)}) + "\n")
    lines, notes = daily_history(str(tmp_path))
    assert [each.version for each in lines] == [str(n) for n in range(5, MOST_LINES + 5)]
    assert notes == (f"skill-health-history.jsonl is long: its last {MOST_LINES} lines are shown",)


def test_a_history_in_both_forms_is_one(whole: Path) -> None:
    path, before = whole / "reports" / "skill-health-history.jsonl", page_made.page().history
    _, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(json.dumps(early_line()).encode() + b"\n" + b"".join(rest))
    assert daily_history(str(path.parent)) == (before, ())
    assert before[0].skills.keys() == before[-1].skills.keys() != set()


def test_skills_whose_states_are_lost_cost_a_note(whole: Path) -> None:
    (whole / "reports" / STATES).write_text("")
    page = page_made.read(whole)
    assert page.notes == (f"the skills of {len(page.history)} runs cannot be read from {STATES}",)
    assert [run.summary for run in page.history] == [run.summary for run in page_made.page().history]
    assert {len(run.skills) for run in page.history} == {0}
    (whole / "reports" / STATES).unlink()
    (whole / "reports" / STATES).mkdir()
    with pytest.raises(UsageError, match=STATES):
        daily_history(str(whole / "reports"))


@pytest.mark.parametrize(("each", "kept"), [(1, MOST_LINES), (5_000, 200)])
def test_a_history_over_many_skills_takes_no_more_memory_than_there_is(each: int, kept: int, tmp_path: Path) -> None:
    line, _ = pack_run(page_made.page().history[0], None)
    with (tmp_path / "skill-health-history.jsonl").open("w") as file:
        for n in range(MOST_LINES + 5):
            other = replace(line, state=f"{n:032x}", summary=replace(line.summary, skills=each))
            file.write(json.dumps(record_values(other)) + "\n")
    assert len(daily_history(str(tmp_path))[0]) == pytest.approx(kept, abs=10)


HISTORIES = ("skill-health-history.jsonl", "router-history.jsonl", "effectiveness-history.jsonl")


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_that_cannot_be_read_is_not_taken_for_none(name: str, whole: Path) -> None:
    (whole / "reports" / name).unlink()
    (whole / "reports" / name).mkdir()
    with pytest.raises(UsageError, match=name):
        page_made.read(whole)


def test_an_emptied_history_costs_a_note(whole: Path) -> None:
    for name in HISTORIES:
        (whole / "reports" / name).write_text("\n")
    page = page_made.read(whole)
    assert (page.history, page.router_history, page.effect_history) == ((), (), ())
    assert all(name in "".join(page.notes) for name in HISTORIES) and len(page.notes) == 3


BROKEN: dict[str, tuple[bytes | None, str]] = {
    "absent": (None, "is not there"),
    "damaged": (b'{"run', "is damaged or breaks its schema"),
    "no object": (b"[]", "xpected object, got array"),
}


@pytest.mark.parametrize(("data", "why"), BROKEN.values(), ids=BROKEN)
def test_a_broken_report_costs_a_note(data: bytes | None, why: str, whole: Path) -> None:
    for kind, run in (("router", page_made.ROUTER_RUN), ("effectiveness", page_made.EFFECT_RUN)):
        file = whole / "reports" / kind / run / "report.json"
        file.unlink()
        if data is not None:
            file.write_bytes(data)
    found = page_made.read(whole)
    assert (found.router, found.effects) == ((), ())
    assert [why in note for note in found.notes if "figures are not shown" in note] == [True, True]
    assert list(found.verdicts) == list(page_made.page().verdicts)


@pytest.mark.parametrize("kind", ["router", "effectiveness"])
def test_the_report_of_another_run_is_not_shown(kind: str, whole: Path) -> None:
    run = page_made.ROUTER_RUN if kind == "router" else page_made.EFFECT_RUN
    file = whole / "reports" / kind / run / "report.json"
    file.write_text(file.read_text().replace(run, run[:-1] + "0"))
    found, config = join.read_joined, Config()
    joined = found((str(whole),), str(whole), config, page_made.AS_OF, str(whole / "reports"), 1, False)
    reports, notes = (router_reports if kind == "router" else effect_reports)(str(whole / "reports"), joined.status)
    assert reports == ()
    assert len(notes) == 1 and notes[0].startswith(f"{kind}/{run}/report.json ")


@pytest.mark.slow
def test_reports_come_with_the_latest_first(whole: Path) -> None:
    page_made.add_router(whole, "20261119T050000Z-cccccccc", ["maker:two"])
    page_made.add_effects(whole, "20261120T050000Z-dddddddd", ("loop:maker:n",), targets=4)
    page = page_made.read(whole)
    assert [each.run.run_id for each in page.router] == ["20261119T050000Z-cccccccc", page_made.ROUTER_RUN]
    assert [each.run_id for each in page.effects] == ["20261120T050000Z-dddddddd", page_made.EFFECT_RUN]


@pytest.mark.slow
def test_text_that_utf_8_cannot_hold_is_made_visible(whole: Path) -> None:
    folder = os.fsencode(whole / "skills") + b"/na\xefve"
    os.mkdir(folder)
    with open(folder + b"/SKILL.md", "w") as file:
        file.write('---\nname: "a\\ud800b"\ndescription: Sorts. Use when sorting.\n---\n# a\n')
    page = page_made.read(whole)
    json.dumps(documents(page), ensure_ascii=False).encode("utf-8")
    paths = [each.path for each in page.status.skills]
    assert "skills/na\\xefve/SKILL.md" in paths or "skills/na\\udcefve/SKILL.md" in paths
    assert paths == [each.path for each in page.lint.skills] == list(page.verdicts)
    assert set(paths) == set(page.own.trends) == set(page.own.listing.skills)
