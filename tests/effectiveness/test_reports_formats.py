"""A report in every format: what it says, in how much room, and that nothing is lost or made up."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from effects_made import CONDITIONS, reported, scripted
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml
from pairs_made import counted, pair_manifest
from report_made import contrast, est, made, typed_report
from report_runs import forced, frozen, kept, run, tasks

from skill_health.bench.report_formats import RenderOptions
from skill_health.commands.effectiveness import command
from skill_health.core.validation import problems
from skill_health.documents._record import FullFigure, convert_record, record_values
from skill_health.documents.effect_report import EffectVerdict
from skill_health.effectiveness import reports
from skill_health.effectiveness.reports import _cells, csv_, junit, markdown, text
from skill_health.effectiveness.reports._forest import EffectRow, forest
from skill_health.text.numbers import points
from skill_health.text.terminal import columns

ARMS = (*CONDITIONS, "aa", "placebo")
NOT_KNOWN = "cost not known"


@cache
def made_up() -> dict[str, Any]:
    return made()


@cache
def real() -> dict[str, Any]:
    return reported(found := frozen(arms=ARMS), scripted(found, "target=0.4", 3))


def lines(report: dict[str, Any], width: int = 100, **look: Any) -> list[str]:
    return text.render(typed_report(report), RenderOptions(width=width, **look)).splitlines()


def section(page: list[str], title: str) -> list[str]:
    start = next(at for at, line in enumerate(page) if line.startswith(title))
    end = next((at for at in range(start + 1, len(page)) if not page[at]), len(page))
    return page[start + 1 : end]


def rows(table: str, report: dict[str, Any]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_.render(typed_report(report), RenderOptions(table=table)))))


@pytest.mark.slow
def test_what_is_made_up_here_has_the_published_form() -> None:
    assert problems("effectiveness-report", made_up()) == []
    assert problems("effectiveness-report", real()) == []
    assert problems("effectiveness-manifest", frozen()) == []


@pytest.mark.slow
def test_every_format_is_found_by_its_name_and_renders_a_real_report() -> None:
    assert reports.names() == ["csv", "json", "junit", "markdown", "md", "text"]
    for name in reports.names():
        module = reports.load(name)
        assert module.EXTENSION.startswith(".")
        assert module.render(typed_report(real())) == module.render(typed_report(json.loads(json.dumps(real()))))
    with pytest.raises(ModuleNotFoundError):
        reports.load("pdf")


@pytest.mark.slow
@pytest.mark.parametrize("report", [made_up, real])
def test_a_page_is_never_wider_than_the_terminal(report: Callable[[], dict[str, Any]]) -> None:
    for width in (10, 41, 72, 120):
        page = lines(report(), width)
        assert max(map(columns, page)) <= max(width, 40), width
        assert not any(line != line.rstrip() for line in page)
        assert width > 72 or text.render(typed_report(report()), RenderOptions(width=width, ascii=True)).isascii()


@pytest.mark.slow
def test_ascii_takes_no_more_room() -> None:
    plain, safe = lines(real(), 80), lines(real(), 80, ascii=True)
    assert [len(line) for line in plain] == [len(line) for line in safe]
    assert not any(char in "\n".join(safe) for char in "─●│–…")


def test_the_head_says_what_the_run_was() -> None:
    page = " ".join(lines(made(simulated=True, biased=["x is biased"], sandbox="none")))
    for said in (
        "effectiveness run 20261121T050000Z-ab12cd34", "*** SIMULATED: ", "*** NOT ISOLATED", "*** BIASED: x is biased",
        "17 tasks, 3 replications, sandbox none, seed 1; 700 of 720 trials scored; 25 ",
        "preliminary: agent-0:maker:model-0, agent-1:maker:model-1: only 12 tasks",
    ):  # fmt: skip
        assert said in page
    calm = " ".join(lines(made_up()))
    assert not any(word in calm for word in ("SIMULATED", "BIASED", "NOT ISOLATED"))


@pytest.mark.parametrize(("models", "said"), [
    ([(False, 2.0, 9), (False, 0.5, 9)], "2.5"),
    ([(False, 2.0, 9), (False, None, 9)], "at least 2"),
    ([(False, 2.0, 9), (False, None, 0)], "2"),
    ([(False, None, 9)], NOT_KNOWN),
    ([(True, 3.0, 9)], "3 simulated"),
    ([(True, 3.0, 9), (False, 2.0, 9)], "2"),
    ([(True, 3.0, 9), (False, None, 9)], NOT_KNOWN),
])  # fmt: skip
def test_money_that_was_not_spent_or_is_not_known(models: list[tuple[bool, float | None, int]], said: str) -> None:
    report = made(models=len(models))
    for model, (fake, usd, n) in zip(report["models"], models, strict=True):
        model |= {"simulated": fake, "cost_usd": usd, "scored": n}
    found = typed_report(report)
    assert _cells.spent(found).removesuffix(" US dollars") == said
    assert len(models) > 1 or _cells.spent(found.models[0]) == _cells.spent(found)


def test_a_reason_does_not_repeat_its_verdict() -> None:
    def said(word: Any, reason: str) -> str:
        return _cells.why(EffectVerdict(word=word, reason=reason, preliminary=()))

    assert said("not testable", "not testable: why") == "why"
    assert said("biased", "not testable: why") == "not testable: why"
    assert said("helps", "") == ""


def test_reasons_of_several_models_stand_there_once() -> None:
    report = made()
    for model, more in zip(report["models"], ([], ["only one"]), strict=True):
        model["verdict"]["preliminary"] = ["no interval", *more]
    found = [line for line in lines(report, 200) if "preliminary: " in line]
    assert found == [
        "- preliminary: agent-0:maker:model-0, agent-1:maker:model-1: no interval",
        "- preliminary: agent-1:maker:model-1: only one",
    ]


def test_the_headline_has_its_interval_its_n_and_its_verdict() -> None:
    page = " ".join(" ".join(lines(real())).split())
    primary = real()["models"][0]["contrasts"][0]
    value, low, high = (f"{100 * primary['delta'][key]:+.1f}" for key in ("value", "low", "high"))
    assert f" control: {value} [{low}, {high}] points" in page
    assert "15 tasks, p < 0.001 (holm)" in page
    assert "collection: helps" in page


def test_every_contrast_and_skill_has_a_row_with_interval_and_n() -> None:
    page = lines(real())
    (model,) = real()["models"]
    plotted = [line for line in section(page, "Effect") if " n " in line]
    for line, each in zip(plotted, model["contrasts"], strict=True):
        assert line.split("  ")[1].strip() == f"{each['arm']} - {each['against']}"
        assert line.endswith(f"{points(convert_record(each['delta'], FullFigure))} n {each['tasks']}")
    skills = [line for line in section(page, "Skills, target") if " n " in line]
    assert {line.split()[0] for line in skills} == {skill["skill"] for skill in model["skills"]}
    assert all(line.endswith("not testable") for line in skills)
    arms = section(page, "Arms")[1:]
    assert [line.split()[0] for line in arms] == list(ARMS)
    assert all(re.search(r"\d [\[–].* 45/15 .* n 45 ", line) for line in arms)


@pytest.mark.slow
def test_missing_trials_are_told_apart_from_failures() -> None:
    made_ = frozen()
    results = forced(scripted(made_, "target=0.4", 3), "infrastructure", arm="target", task_id=("000", "001"))
    report = reported(made_, results)
    page = " ".join(lines(report))
    assert "6 of 315 trials missing: infrastructure 6" in page
    half = reported(made_, results[: len(results) // 2])
    assert "not run" in " ".join(lines(half))
    cases = [case for suite in JUnitXml.fromstring(junit.render(typed_report(report)).encode()) for case in suite]
    skipped = [case for case in cases if any(type(each).__name__ == "Skipped" for each in case.result)]
    assert {(case.name, case.classname) for case in skipped} == {("000", "scripted.target"), ("001", "scripted.target")}


@pytest.mark.slow
def test_no_model_no_trial_no_task() -> None:
    empty = reported(frozen(), [])
    for report in (empty, made(models=0)):
        for name in reports.names():
            assert reports.load(name).render(typed_report(report))
    page = " ".join(lines(empty))
    assert "not testable" in page
    assert "0 of 315 trials scored" in page


BARS = st.tuples(*[st.floats(-1, 1, allow_nan=False)] * 3, st.booleans(), st.booleans())


@given(st.lists(BARS, min_size=1, max_size=6), st.integers(40, 200))
def test_a_bar_shows_the_side_that_it_is_on(found: list[tuple[float, float, float, bool, bool]], width: int) -> None:
    rows = []
    for one, two, three, sure, known in found:
        low, value, high = sorted((one, two, three))
        number = est(value, None) | ({"low": low, "high": high} if known else {})
        rows.append(EffectRow("x", convert_record(number, FullFigure), 15, sure))
    page = [line for line in forest(rows, RenderOptions(), width) if "●" in line or "○" in line]
    assert len(page) == len(rows)
    axis = next(
        line for line in forest(rows, RenderOptions(), width) if "0" in line and "●" not in line and " n " not in line
    )
    zero = axis.index("0", axis.index("-") + 1 + len(str(axis.split()[0])) - 1)
    for row, line in zip(rows, page, strict=True):
        at = line.index("●" if row.tested else "○")
        value = row.delta.value or 0.0
        assert (at > zero) == (value > 1e-9) and (at < zero) == (value < -1e-9)
        if row.delta.low is not None:
            ends = [place for place in range(len(line)) if line[place] in "├┤─┼●○"]
            assert (min(ends) < zero) == (row.delta.low < -1e-9)
            assert columns(line) <= width


def test_csv_has_a_row_for_every_contrast_and_numbers_that_stay_numbers() -> None:
    found = rows("contrasts", real())
    (model,) = real()["models"]
    parts = [model, *model["skills"], *model["categories"], model["controls"]]
    loaded = [row for row in found if row["kind"] == "complier"]
    assert len(loaded) == 1 + len(model["skills"])
    assert len(found) == sum(len(part["contrasts"]) for part in parts) + 1 + len(loaded)
    first = found[0]
    assert (first["model"], first["part"], first["name"], first["simulated"]) == (
        "scripted", "collection", "target-control", "1",
    )  # fmt: skip
    assert float(first["value"]) == model["contrasts"][0]["delta"]["value"]
    assert float(first["low"]) < float(first["value"]) < float(first["high"])
    assert (first["n"], first["verdict"], first["correction"]) == ("15", "helps", "holm")
    of_skills = sum(len(skill["contrasts"]) + 1 for skill in model["skills"])
    assert [row["part"] for row in found].count("skill") == of_skills
    untestable = [row for row in found if row["testable"] == "0"]
    assert untestable and all(row["sign_flip_p"] == "" and row["note"] for row in untestable)


def test_the_other_tables() -> None:
    arms = rows("arms", real())
    assert {row["measure"] for row in arms} >= {"success", "reward", "invoked_rate", "input_tokens", "cost_usd"}
    success = [row for row in arms if row["measure"] == "success" and row["part"] == "collection"]
    assert [row["arm"] for row in success] == list(ARMS)
    tasks = rows("tasks", real())
    assert len(tasks) == 15 * len(ARMS) + 5 * 3
    assert {row["arm"] for row in tasks if row["skill"] == "none"} == {"control", "full", "negative"}


def test_trials_are_one_row_each_in_the_order_of_their_keys() -> None:
    results = run().results
    found = list(csv.DictReader(io.StringIO(csv_.trials(reversed(results)))))
    assert [(row["task_id"], row["arm"], int(row["replication"])) for row in found] == [
        (each.task_id, each.arm, each.replication) for each in sorted(results, key=lambda each: each.key)
    ]
    assert {row["success"] for row in found} == {"1.0", "0.0"}
    missing = csv_.trials(forced(results, "quota"))
    assert {row["success"] for row in csv.DictReader(io.StringIO(missing))} == {""}


def test_junit_counts_what_it_holds() -> None:
    root = ElementTree.fromstring(junit.render(typed_report(made_up())))
    for suite, model in zip(root, made_up()["models"], strict=True):
        cases = suite.findall("testcase")
        pairs = [(task["task_id"], f"{model['model']}.{arm}") for task in model["tasks"] for arm in task["arms"]]
        assert [(case.get("name"), case.get("classname")) for case in cases] == pairs
        counted = {word: sum(case.find(word) is not None for case in cases) for word in ("failure", "skipped", "error")}
        assert (suite.get("tests"), suite.get("errors")) == (str(len(cases)), "0")
        told = {"failure": suite.get("failures"), "skipped": suite.get("skipped"), "error": "0"}
        assert told == {word: str(count) for word, count in counted.items()}
        for case, arm in zip(cases, (arm for task in model["tasks"] for arm in task["arms"].values()), strict=True):
            assert (case.find("skipped") is not None) == (arm["n"] == 0)
            assert (case.find("failure") is not None) == (arm["n"] > arm["passes"])


def test_markdown_holds_every_part() -> None:
    page = markdown.render(typed_report(real()))
    for title in ("Contrasts", "Skills", "Arms", "Calibration: aa against target", "Tasks"):
        assert f"\n### {title}\n" in page
    assert Counter(re.findall("^#+ ", page, re.MULTILINE)) == {"# ": 1, "## ": 3, "### ": 12}
    assert "> **SIMULATED: " in page
    assert page.count("```") == 2
    for skill in real()["models"][0]["skills"]:
        assert f"| {skill['skill']} | not testable |" in page
    # A comment on a pull request has at most 65,536 characters.
    assert len(page) < 40_000


def test_no_p_value_stands_beside_what_is_not_testable() -> None:
    few = contrast(random.Random(1), "target", "control", 3, "primary")
    assert not few["testable"]
    few |= {"sign_flip_p": 0.01, "wilcoxon_p": 0.01, "p_adjusted": 0.01}
    report = made(models=1)
    report["models"][0]["contrasts"] = [few]
    assert "p 0.01" not in " ".join(lines(report))
    table = markdown.render(typed_report(report)).split("### Contrasts")[1].split("###")[0]
    assert "0.010" not in table


def call(*arguments: str) -> Any:
    done = CliRunner().invoke(command, list(arguments), standalone_mode=False)
    if done.exception:
        raise done.exception
    return done


@pytest.mark.slow
def test_the_command_rebuilds_a_run_from_its_manifest_and_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small: dict[str, Any] = {"tasks": tasks(6, 1, 2), "arms": ("control", "target"), "replications": 2}
    kept(tmp_path / "reports", run("20261121T050000Z-aaaaaaaa", "target=0.4", **small))
    kept(tmp_path / "reports", last := run("20261122T050000Z-bbbbbbbb", "target=0", **small))
    assert "run 20261122T050000Z-bbbbbbbb" in call("report").stdout
    assert "run 20261121T050000Z-aaaaaaaa" in call("report", "20261121T050000Z-aaaaaaaa").stdout
    built = reported(record_values(last.manifest), last.results)
    assert json.loads(call("report", "last", "--format", "json").stdout) == built
    assert call("report", "--format", "md").stdout == markdown.render(typed_report(built))
    assert call("report", "--format", "csv", "--what", "trials").stdout == csv_.trials(last.results)
    arms = csv_.render(typed_report(built), RenderOptions(table="arms"))
    assert call("report", "--format", "csv", "--what", "arms").stdout == arms
    assert call("report", "--format", "junit").stdout == junit.render(typed_report(built))
    with pytest.raises(Exception, match="'nowhere'"):
        call("report", "nowhere")


def test_pairs_are_in_every_format() -> None:
    made_of = reported(pair_manifest(16), counted([(1, 1, 1, 3), (0, 1, 0, 3)] * 8))
    report = typed_report(made_of)
    (pair,) = report.models[0].composition
    (row,) = (each for each in rows("composition", made_of) if each["measure"] == "interaction")
    assert (row["verdict"], float(row["value"]), row["preliminary"]) == (
        "synergistic", pair.interaction.value, "; ".join(pair.verdict.preliminary),
    )  # fmt: skip
    assert len(pair.verdict.preliminary) == 2 and "(16)" in pair.verdict.preliminary[0]
    assert float(row["verdict_p_adjusted"]) == pair.p_adjusted and row["equivalence_margin"] == "0.1"
    assert "csv + sql: synergistic, interaction +66.7 [–] points, 16 tasks" in junit.render(report)
    for render in (text.render, markdown.render):
        assert "+66.7" in render(report) and "synergistic" in render(report)
