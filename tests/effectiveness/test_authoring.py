"""How skills are written, in manifests and reports: what is frozen, the figures beside scipy's, and where they show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effects_made import replace, task
from report_runs import run
from run_made import Made, make_up, only_read, write_collection
from scipy import stats

from skill_health.commands.effectiveness import command as group
from skill_health.documents._record import convert_record, encode_record
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_report import EffectReport
from skill_health.effectiveness.effects.authoring import gains_of_skills
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.plan.plan import OF_TRIALS, skills_digest
from skill_health.effectiveness.reports import markdown, text
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.quality.collection import quality_of_skill
from skill_health.skill.authoring import SIDES
from skill_health.skill.parse import parse_skill

GAINS = "Gains of skills that show a pattern"
TITLE = "How the skills are written, and what they add"


def written(n: int, **more: Any) -> dict[str, Any]:
    shown = [name for at, name in enumerate(SIDES) if (n >> at % 3) & 1 and at < 6]
    return {
        "name": f"skill-{n}", "digest": f"d{n}", "description": "", "authoring": {"points": n % 13, "patterns": shown},
    } | more  # fmt: skip


def made(count: int = 14, skills: Sequence[dict[str, Any]] | None = None, **more: Any) -> EffectRun:
    tasks = [task(f"{n:03}", f"skill-{n % count}") for n in range(count * 3)]
    frozen = [written(n) for n in range(count)] if skills is None else list(skills)
    return run("a", tasks=tasks, arms=("control", "target"), skills=frozen, **more)


def report_of(found: EffectRun) -> EffectReport:
    return build_report(found.manifest, found.results)


@pytest.mark.slow
def test_figures_are_those_of_scipy() -> None:
    report = report_of(made())
    found, gains = report.authoring, gains_of_skills(report.models)
    assert found is not None and found.skills == len(gains) == 14
    values = [gains[f"skill-{n}"] for n in range(14)]
    ranks = stats.spearmanr([n % 13 for n in range(14)], values).statistic
    assert found.correlation.value == pytest.approx(ranks, abs=1e-5)
    tested = 0
    for each in found.patterns:
        shows = [each.pattern in written(n)["authoring"]["patterns"] for n in range(14)]
        sides = [[value for value, there in zip(values, shows, strict=True) if there is side] for side in (True, False)]
        assert (each.showing, each.others, each.side) == (len(sides[0]), len(sides[1]), SIDES[each.pattern])
        if min(each.showing, each.others) < 6:
            assert each.difference.value is None and "6 skills" in each.difference.note
            continue
        tested += 1
        ends = stats.ttest_ind(*sides, equal_var=False).confidence_interval(0.95)
        assert each.difference.value == pytest.approx(np.mean(sides[0]) - np.mean(sides[1]), abs=1e-5)
        assert (each.difference.low, each.difference.high) == pytest.approx((ends.low, ends.high), abs=1e-5)
        assert each.difference.p_adjusted is not None and each.difference.p is not None
        assert each.difference.p_adjusted >= each.difference.p
    assert tested >= 4


@pytest.mark.slow
def test_reports_show_it_where_six_skills_are_known() -> None:
    for count in (5, 6):
        report = report_of(made(count))
        assert (report.authoring is not None) == (count == 6)
        for shown in (markdown.render(report), text.render(report)):
            assert (TITLE in shown) == (count == 6)
            assert ("not testable, with fewer than 6 skills" in " ".join(shown.split())) == (count == 6)
            assert GAINS not in shown
    report = report_of(made())
    for shown in (markdown.render(report), text.render(report)):
        assert GAINS in shown and "exact format" in shown


@pytest.mark.slow
def test_what_is_not_known_of_a_skill_counts_nowhere() -> None:
    unknown = report_of(made(8, [written(n, authoring=None) for n in range(3)] + [written(n) for n in range(3, 8)]))
    assert unknown.authoring is None
    twice = [*(written(n) for n in range(8)), written(0, authoring={"points": 9, "patterns": []}, task="000")]
    found = report_of(made(8, twice)).authoring
    assert found is not None and found.skills == 7
    alike = report_of(made(8, [*(written(n) for n in range(8)), written(0, digest="other", task="000")])).authoring
    assert alike is not None and alike.skills == 8


@pytest.mark.slow
def test_a_biased_model_has_no_gains() -> None:
    (model,) = report_of(made()).models
    assert gains_of_skills([replace(model, biased=("a reason",))]) == {}
    assert gains_of_skills([model, replace(model, biased=("a reason",))]) == gains_of_skills([model])


def test_a_run_begun_by_an_earlier_version_goes_on() -> None:
    known, unknown = (made(8, [written(n, **more) for n in range(8)]).manifest for more in ({}, {"authoring": None}))
    assert skills_digest(known.skills) == skills_digest(unknown.skills)
    covered = [OF_TRIALS.covered(json.loads(encode_record(each))) for each in (known, unknown)]
    assert covered[0] == covered[1]


@pytest.mark.slow
def test_a_manifest_says_how_targets_are_written_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_collection(tmp_path / "collection", 3, 0)
    monkeypatch.chdir(root)
    only_read(monkeypatch)
    make_up(monkeypatch, Made())
    asked = ("run", "tasks", "--agents", "scripted", "--sandbox", "none", "--arms", "target", "--reps", "1", "--quiet")
    assert group.main([*asked], standalone_mode=False) == 0
    (folder,) = Path("reports/effectiveness").iterdir()
    manifest = convert_record(json.loads((folder / "manifest.json").read_text("utf-8")), EffectManifest)
    targets = {name for each in manifest.tasks for name in each.target_skills or ()}
    assert targets and {each.name for each in manifest.skills if each.authoring} == targets
    for each in manifest.skills:
        place = next(Path("skills").rglob(f"{each.name}/SKILL.md"))
        files = tuple(
            sorted(str(p.relative_to(place.parent)) for p in place.parent.rglob("*") if p.is_file() and p != place)
        )
        quality = quality_of_skill(parse_skill(place.read_bytes(), f"{each.name}/SKILL.md", each.name, files))
        if each.authoring:
            assert each.authoring.points == quality.points
            assert each.authoring.patterns == tuple(place.pattern for place in quality.patterns)
