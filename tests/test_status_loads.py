"""What live agents load, in `status` and on the page: one grade, the same figures, and what counts for nothing."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest
from made_loads import AGENT, made_manifest, made_results
from msgspec.structs import replace

from skill_health.activation.history import record_activation
from skill_health.activation.report import build_activation_report
from skill_health.config.settings import Config
from skill_health.core.validation import problems
from skill_health.documents._record import encode_record
from skill_health.documents.router_manifest import Prompt
from skill_health.documents.skill_grades import SkillGrade
from skill_health.documents.skill_record import SkillRecord
from skill_health.page.data.gather import read_page
from skill_health.page.verdict.verdicts import answers_of
from skill_health.status.join import read_joined
from skill_health.status.render import render_records_json, render_records_markdown, render_records_text

FAIL, WORK, NOTHING, PASSING = (
    SkillGrade.FAIL, SkillGrade.NEEDS_WORK, SkillGrade.NOT_MEASURED, SkillGrade.PASSING,
)  # fmt: skip
DAY, N = date(2026, 11, 20), 12
LOADED = {"apples": 0, "bread": N, "cider": N // 2}
"""How many of its requests each skill is opened first for."""


def write_collection(root: Path, *, simulated: bool = False, reworded: str = "") -> None:
    """Three skills, and the activation run of one agent over them."""
    for name in LOADED:
        told = f"Does {name}. Use when {name} {'are' if name == reworded else 'is'} needed."
        (root / name).mkdir()
        (root / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {told}\n---\n# {name}\n\nDo {name}.\n")
    prompts = [Prompt(f"{name}-{nth}", f"please do {name} {nth}", name) for name in LOADED for nth in range(N)]
    manifest = made_manifest(prompts, LOADED)
    manifest = replace(manifest, models=tuple(replace(each, simulated=simulated) for each in manifest.models))
    firsts = {f"{name}-{nth}": [name if nth < often else None] for name, often in LOADED.items() for nth in range(N)}
    report = replace(build_activation_report(manifest, made_results(manifest, firsts)), run_id=manifest.run_id)
    # What is about the run as a whole is tested where it is reckoned; here each skill speaks for itself.
    report = replace(report, models=tuple(replace(each, preliminary=()) for each in report.models))
    folder = root / "reports" / "activation" / manifest.run_id
    folder.mkdir(parents=True)
    (folder / "report.json").write_text(encode_record(report), "utf-8")
    record_activation(str(root / "reports"), manifest, report)


def records_of(root: Path) -> dict[str, SkillRecord]:
    joined = read_joined((str(root),), str(root), Config(), DAY, str(root / "reports"), 1, False)
    return {each.name: each for each in joined.status.records}


def test_status_and_page_grade_what_a_live_agent_loads(tmp_path: Path) -> None:
    write_collection(tmp_path)
    asked, where, reports = (str(tmp_path),), str(tmp_path), str(tmp_path / "reports")
    status = read_joined(asked, where, Config(), DAY, reports, 1, False).status
    found = {each.name: each for each in status.records}
    assert {name: each.activation for name, each in found.items()} == {"apples": FAIL, "bread": PASSING, "cider": WORK}
    assert {name: each.grade for name, each in found.items()} == {"apples": FAIL, "bread": PASSING, "cider": WORK}
    text = render_records_text(status, 120)
    assert "activation: 1 fails, 1 needs work, 1 passes" in " ".join(text.split())
    assert (
        "loaded %" in text
        and f"100 [76, 100] n {N}" in text
        and re.search(rf"Activation by\n{re.escape(AGENT)}: [a-z ]* 50 \[", text)
    )
    assert "## Activation" in render_records_markdown(status)
    assert problems("skill-record", json.loads(render_records_json(status))) == []
    page = read_page(asked, where, Config(), DAY, reports, 1, False)
    for each, shown in zip(status.records, page.status.skills, strict=True):
        assert (shown.activation, shown.loads) == (each.activation, each.loads)
        live, said = answers_of(each)[-1], page.verdicts[each.path]
        assert live.grade is each.activation and said.grade is each.grade
        assert live.reason in said.reason
        assert f"{100 * LOADED[each.name] / N:.1f} % [" in live.reason
    lost = page.verdicts["apples/SKILL.md"]
    assert lost.detail == "passed over" and lost.command.startswith("skill-health activation run")
    assert AGENT in lost.command


@pytest.mark.parametrize(("simulated", "reworded", "sign"), [(True, "", "~"), (False, "bread", "*")])
def test_what_counts_for_nothing_is_marked(simulated: bool, reworded: str, sign: str, tmp_path: Path) -> None:
    write_collection(tmp_path, simulated=simulated, reworded=reworded)
    found = records_of(tmp_path)
    assert found["bread"].activation is NOTHING and found["bread"].grade is PASSING, "lint alone counts"
    assert found["apples"].activation is (NOTHING if simulated else FAIL)
    status = read_joined((str(tmp_path),), str(tmp_path), Config(), DAY, str(tmp_path / "reports"), 1, False).status
    (row,) = [line for line in render_records_text(status, 120).splitlines() if line.startswith("bread ")]
    assert f"100 [76, 100] n {N}{sign}" in row


def test_without_a_live_agent_there_is_no_column(tmp_path: Path) -> None:
    write_collection(tmp_path)
    (tmp_path / "reports" / "activation-history.jsonl").unlink()
    status = read_joined((str(tmp_path),), str(tmp_path), Config(), DAY, str(tmp_path / "reports"), 1, False).status
    text = render_records_text(status, 120)
    assert "loaded" not in text and "activation" not in text and len(answers_of(status.records[0])) == 4


@pytest.mark.parametrize("text", ["", "{}", "null", '{"schema": "skill-health/activation-report/1"}', "[" * 5_000])
def test_a_damaged_report_costs_a_note(text: str, tmp_path: Path) -> None:
    write_collection(tmp_path)
    (file,) = (tmp_path / "reports" / "activation").rglob("report.json")
    file.write_text(text)
    status = read_joined((str(tmp_path),), str(tmp_path), Config(), DAY, str(tmp_path / "reports"), 1, False).status
    assert not any(each.loads for each in status.records)
    assert [note for note in status.notes if file.parent.name in note]
