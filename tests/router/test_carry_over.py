"""How far free routers speak for real models: the figures, where they are cited, and how they are made."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from made_runs import frozen, manifest, prompt, result, values
from repositories import commit
from statsmodels.stats.proportion import proportion_confint

from benchmarks import carry_over
from benchmarks._measure import Failed
from skill_health.router.compare.carry_over import describe_evidence, evidence_of, load_evidence
from skill_health.router.compare.compare import compare
from skill_health.router.compare.document import document
from skill_health.router.runs import RouterRun
from skill_health.router.scores.judge import read_facts
from skill_health.text.blocks import as_text


def test_the_shipped_figures_add_up() -> None:
    found = load_evidence()
    assert {(each.router, each.index) for each in found.edits} == {(each.router, each.index) for each in found.routers}
    for each in found.edits:
        assert each.won_by_models <= each.won and each.lost_by_models <= each.lost
    assert found.routers and len({(each.router, each.index) for each in found.routers}) == len(found.routers)
    for each in found.routers:
        assert each.found + each.lost == found.prompts
        assert each.found_by_models + each.lost_by_router_alone == found.found
        assert each.found_by_models <= each.found and each.lost_by_router_alone <= each.lost


@pytest.mark.parametrize("index", ["description", "content"])
def test_the_statement_has_the_figures_with_wilson_s_intervals(index: str) -> None:
    evidence = load_evidence()
    for each in evidence.routers:
        text = as_text(describe_evidence(evidence_of({each.router}, each.index)))
        for hits, n in (
            (evidence.found, evidence.prompts), (each.found_by_models, each.found), (each.lost_by_router_alone, each.lost),
        ):  # fmt: skip
            low, high = proportion_confint(hits, n, method="wilson")
            assert f"{hits} of the {n} [{low:.0%}, {high:.0%}]" in text
    for edit in evidence.edits:
        text = as_text(describe_evidence(evidence_of({edit.router}, edit.index)))
        assert (f"won {edit.won_by_models} of the {edit.won} [" in text) == (edit.won > 0)
        assert (f"lost {edit.lost_by_models} of the {edit.lost} [" in text) == (edit.lost > 0)
        assert "…" not in text
    assert {each.index for each in evidence_of({"lexical", "hybrid"}, index).routers} == {index}


def test_of_what_was_not_measured_nothing_is_claimed() -> None:
    for found in (evidence_of({"lexical:own"}, "description"), evidence_of({"lexical"}, "body"), evidence_of((), None)):
        assert found.routers == ()
        text = as_text(describe_evidence(found))
        assert "has not been measured" in text and "%" not in text


def run(models: list[dict[str, Any]], **more: Any) -> RouterRun:
    given = frozen(manifest([prompt(f"p{at}", "alpha") for at in range(3)], models, **more))
    results = [result(f"p{at}", ("alpha",), str(model["spec"])) for model in models for at in range(3)]
    return RouterRun("", given, read_facts(given), tuple(results))


FREE: dict[str, Any] = {"spec": "lexical", "kind": "local"}
REAL: dict[str, Any] = {"spec": "maker:one", "kind": "provider"}
COMPARED: list[tuple[list[dict[str, Any]], tuple[str, str] | None, bool]] = [
    ([FREE], None, True),
    ([FREE, {"spec": "embed:minilm", "kind": "local"}], None, True),
    ([FREE, REAL], None, False),
    ([REAL], None, False),
    ([{"spec": "scripted", "kind": "simulated"}], None, False),
    # One against the other: it is the model's answers that are compared.
    ([FREE, REAL], ("lexical", "maker:one"), False),
]


@pytest.mark.parametrize(("models", "met", "cited"), COMPARED)
def test_a_comparison_cites_them_where_no_model_was_asked(
    models: list[dict[str, Any]], met: tuple[str, str] | None, cited: bool
) -> None:
    found = compare(run(models), run(models), 0.02, models=met)
    assert (found.carry_over is not None) == cited == ("carry_over" in values(found))
    assert (as_text(document(found)) != as_text(document(msgspec.structs.replace(found, carry_over=None)))) == cited
    if found.carry_over:
        assert {each.router for each in found.carry_over.routers} == {str(model["spec"]) for model in models}


LABELS = (("p001", "charts", "Draw a chart."), ("p002", "charts", "Sort my rows."), ("p003", "tables", "Sort the tables."),
          ("p004", "tables", "Charts of colours."))  # fmt: skip
PROMPTS = "".join(
    json.dumps({"prompt_id": name, "prompt": text, "expected_primary_skill": skill}) + "\n"
    for name, skill, text in LABELS
)
RESULTS = """# Results

_run timestamp: 2026-01-02T03:04:05Z_
_fixture sha256-16: `{digest}` (unchanged)_
_models: one, two_

## Hardest prompts

| Prompt | Expected | Top-1 Rate | Predicted |
| --- | --- | --- | --- |
| p004 | `tables` | 0.17 | `charts` |
| p003 | `tables` | 0.50 | `charts`, `tables` |

| Skill | Baseline | New | Delta |
| --- | --- | --- | --- |
| `charts` | 5/12 = 0.417 | 12/12 = 1.000 | +0.583 |
| `tables` | 12/12 = 1.000 | 4/12 = 0.333 | -0.667 |
"""


EARLIER = """# Results

_run timestamp: 2026-01-01T03:04:05Z_
_fixture sha256-16: `{digest}`_
_models: one, two_

## Hardest prompts

| Prompt | Expected | Top-1 Rate | Predicted |
| --- | --- | --- | --- |
| p001 | `charts` | 0.00 | `tables` |
| p004 | `tables` | 0.08 | `charts` |
| p003 | `tables` | 0.50 | `charts`, `tables` |
"""
UNLISTED = "does not list every prompt"
SKILL = "---\nname: {0}\ndescription: {1}\n---\n\n{2}\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the authors published, in a repository whose last commit is the edit of a description."""
    root = tmp_path_factory.mktemp("repository")
    digest = hashlib.sha256(PROMPTS.encode()).hexdigest()[:16]
    files = {
        "skills/charts/SKILL.md": SKILL.format("charts", "Draws charts.", "Charts are drawn."),
        "skills/tables/SKILL.md": SKILL.format("tables", "Draw a chart.", "Draw a chart."),
        carry_over.PROMPTS: PROMPTS,
        carry_over.RESULTS: RESULTS.replace("{digest}", digest),
        carry_over.EARLIER: EARLIER.replace("{digest}", digest),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    commit(root)
    edited = SKILL.format("tables", "Sorts rows of tables.", "Tables are sorted.")
    (root / "skills/tables/SKILL.md").write_text(edited, "utf-8")
    commit(root)
    return root


@pytest.fixture(autouse=True)
def one_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carry_over, "BEFORE", "HEAD^")


@pytest.mark.slow
def test_figures_are_counted_from_what_was_published(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carry_over, "ROUTERS", ("lexical",))
    found = carry_over.measure(repository)
    assert (found.published, found.models, found.prompts, found.found, found.skills) == ("2026-01-02", 2, 4, 3, 2)
    # Both find p001 and p003 and lose p004; p002 sounds like the other skill, and only models find it.
    assert [
        (each.index, each.found, each.found_by_models, each.lost, each.lost_by_router_alone) for each in found.routers
    ] == [("description", 2, 2, 2, 1), ("content", 2, 2, 2, 1)]
    # By the edit, both won p001; by descriptions alone, the name of the skill was enough for the router before.
    assert found.edited == 1
    assert [(each.won, each.won_by_models, each.lost_by_models) for each in found.edits] == [(0, 0, 0), (1, 1, 0)]
    inputs, _ = carry_over.read(repository)
    now = carry_over.route(inputs.catalogue, inputs.prompts, "description")
    assert now["lexical"].skills == {"charts": 0.5, "tables": 0.5}


@pytest.mark.slow
def test_what_was_not_asked_before_is_neither_won_nor_lost(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carry_over, "ROUTERS", ("lexical",))
    monkeypatch.setattr(carry_over, "UNASKED", frozenset(("p001",)))
    assert {each.won for each in carry_over.measure(repository).edits} == {0}


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        (carry_over.RESULTS, "fixture sha256-16: `", "fixture sha256-16: `0", "is not about"),
        (carry_over.RESULTS, "_models: one, two_", "", "is not about"),
        (carry_over.RESULTS, "| 0.50 |", "| 0.42 |", UNLISTED),
        (carry_over.RESULTS, "| p004 | `tables` | 0.17 |", "| p004 | `tables` | 0.67 |", UNLISTED),
        (carry_over.RESULTS, "| `tables` | 12/12", "| `others` | 12/12", "other skills"),
        (carry_over.EARLIER, "| 0.50 |", "| 0.42 |", UNLISTED),
    ],
)
def test_what_does_not_fit_is_refused(
    repository: Path, tmp_path: Path, name: str, old: str, new: str, why: str
) -> None:
    path = shutil.copytree(repository, tmp_path, dirs_exist_ok=True) / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(Failed, match=why):
        carry_over.read(tmp_path)
