"""Twelve points, eight patterns and contracts: made skills, hostile text, other programs' figures, and the commands."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from effects_made import task
from hypothesis import given
from hypothesis import strategies as st
from report_runs import kept, run
from scipy import stats

from skill_health.cli import main
from skill_health.core.validation import problems
from skill_health.documents._record import encode_record
from skill_health.documents.quality_report import QualityOfSkill
from skill_health.drafts.commands.contract import draft_contracts
from skill_health.effectiveness.effects.authoring import gains_of_skills
from skill_health.effectiveness.effects.build import build_report
from skill_health.quality.association import associate, costs_of_runs
from skill_health.quality.collection import quality_of_skill, quality_report
from skill_health.quality.render import quality_blocks
from skill_health.skill.authoring import SIDES
from skill_health.skill.contract import CONTRACT
from skill_health.skill.parse import parse_skill
from skill_health.skill.rubric import DIMENSIONS, MOST
from skill_health.text.blocks import as_markdown, as_text

HEAD = "---\nname: {0}\ndescription: Sorts .txt lists. Use when a list is in a mess.\n{1}---\n"
PLAIN = "# Sort\n\nBe careful with lists.\n"
RICH = """# Sort

## Workflow
1. Read `words.txt`.
2. Run `scripts/sort.py --unique words.txt`.
3. Verify that every word is there.

```bash
python scripts/sort.py words.txt
cat out.json
rm words.tmp
```

## Output format
```json
{
  "words": ["a", "b"]
}
```

```json
{
  "words": []
}
```

```text
a
b
c
```

## Pitfalls
- Not for numbers: `10` sorts before `9`.
"""


def quality(body: str, name: str = "sort", more: str = "", files: tuple[str, ...] = ()) -> QualityOfSkill:
    text = (HEAD.format(name, more) + body).encode()
    return quality_of_skill(parse_skill(text, f"skills/{name}/SKILL.md", name, files))


def points(found: QualityOfSkill) -> dict[str, int]:
    return {each.dimension: each.points for each in found.dimensions}


def test_points_follow_from_signs() -> None:
    plain, rich = quality(PLAIN), quality(RICH, files=("scripts/sort.py",))
    assert points(plain) == {"completeness": 0, "clarity": 1, "specificity": 0, "examples": 0}
    assert points(rich) == {"completeness": 3, "clarity": 3, "specificity": 1, "examples": 3}
    assert {place.pattern for place in rich.patterns} == {
        "script_with_defaults", "exact_format", "invariant", "specific_description",
    }  # fmt: skip
    assert (rich.patterns[0].pattern, rich.patterns[0].line) == ("script_with_defaults", 13)
    missing = [sign.title for each in plain.dimensions for sign in each.signs if not sign.there]
    assert [each for each in missing if "headings" in each] and [each for each in missing if "code" in each]


@given(st.text(max_size=400))
def test_any_text_has_points_within_bounds(body: str) -> None:
    found = quality(body)
    assert [each.dimension for each in found.dimensions] == list(DIMENSIONS)
    assert found.points == sum(each.points for each in found.dimensions)
    assert all(0 <= each.points <= MOST for each in found.dimensions)
    lines = len((HEAD.format("sort", "") + body).splitlines()) + 1
    assert all(1 <= place.line <= lines for place in found.patterns)
    assert found == quality(body)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    ["a.b" * 25_000, "/" * 50_000, "```\n" * 10_000, "1. x\n" * 10_000, "# h\n" * 10_000, "if " * 15_000, "`a" * 15_000,
     "A_" * 25_000],
    ids=["dots", "slashes", "fences", "items", "headings", "ifs", "ticks", "underscores"],
)  # fmt: skip
def test_hostile_text_ends(body: str) -> None:
    assert 0 <= quality(body).points <= 12


CONTRACTED = 'metadata:\n  expected-tool-calls: "3"\n  expected-tokens: "900000"\n  applies-to: lists\n  fallback: sort by hand\n'


def test_a_contract_is_read_with_what_is_wrong() -> None:
    whole = quality(PLAIN, more=CONTRACTED).contract
    assert whole and (whole.tool_calls, whole.tokens, whole.problems) == (3, 900_000, ())
    assert whole.fallback == "sort by hand"
    half = quality(PLAIN, more='metadata:\n  expected-tokens: "many"\n').contract
    assert half and half.tokens is None
    wrong, lacking = half.problems
    assert wrong.startswith("expected-tokens ") and lacking.endswith(" expected-tool-calls, applies-to, fallback")
    assert quality(PLAIN, more="metadata:\n  author: me\n").contract is None
    assert quality(PLAIN, more="metadata: text\n").contract is None


def collection(count: int, seed: int = 1) -> tuple[list[QualityOfSkill], dict[str, float]]:
    rng = random.Random(seed)
    skills = [
        quality(RICH if n % 3 else PLAIN, f"skill-{n}", files=("scripts/sort.py",) if n % 2 else ())
        for n in range(count)
    ]
    return skills, {skill.name: rng.uniform(-0.2, 0.6) for skill in skills}


@pytest.mark.slow
def test_associations_are_those_of_scipy() -> None:
    skills, gains = collection(24)
    found = associate(skills, gains, ["a"])
    values = [gains[each.name] for each in skills]
    assert found.skills == 24
    expected = stats.spearmanr([each.points for each in skills], values).statistic
    assert found.correlation.value == pytest.approx(expected, abs=1e-5)
    for each in found.patterns:
        shown = [any(place.pattern == each.pattern for place in skill.patterns) for skill in skills]
        one, other = ([v for v, there in zip(values, shown, strict=True) if there is side] for side in (True, False))
        assert (each.showing, each.others) == (len(one), len(other))
        if min(len(one), len(other)) < 6:
            assert each.difference.value is None and "6 skills " in each.difference.note
            continue
        test = stats.ttest_ind(one, other, equal_var=False)
        ends = test.confidence_interval(0.95)
        assert each.difference.value == pytest.approx(np.mean(one) - np.mean(other), abs=1e-5)
        assert each.difference.low == pytest.approx(ends.low, abs=1e-5)
        assert each.difference.high == pytest.approx(ends.high, abs=1e-5)
        exact = stats.permutation_test(
            (one, other), lambda a, b: np.mean(a) - np.mean(b), n_resamples=20_000, rng=np.random.default_rng(1)
        )
        assert each.difference.p == pytest.approx(exact.pvalue, abs=0.02)
        assert each.difference.p_adjusted is not None and each.difference.p_adjusted >= (each.difference.p or 0)
    assert {each.pattern for each in found.patterns} == set(SIDES)


def test_a_name_of_two_skills_is_nobodys_gain() -> None:
    skills, gains = collection(8)
    found = associate([*skills, quality(PLAIN, "skill-0")], gains, [])
    assert found.skills == 7


def run_of(skills: int = 8) -> Any:
    tasks = [task(f"{n:03}", f"skill-{n % skills}") for n in range(skills * 3)]
    return run("20261121T050000Z-aaaaaaaa", tasks=tasks, arms=("control", "target"))


def test_gains_and_costs_are_those_of_the_report() -> None:
    made = run_of()
    report = build_report(made.manifest, made.results)
    gains, costs = gains_of_skills([*report.models, *report.models]), costs_of_runs([report])
    assert set(gains) == {f"skill-{n}" for n in range(8)}
    for own in report.models[0].skills:
        deltas = []
        for name in own.tasks:
            rates = {
                arm: np.mean(
                    [each.outcome == "pass" for each in made.results if (each.task_id, each.arm) == (name, arm)]
                )
                for arm in ("control", "target")
            }
            deltas.append(rates["target"] - rates["control"])
        assert gains[own.skill] == pytest.approx(np.mean(deltas), abs=1e-5)
    first = next(each for each in costs if each.skill == "skill-0" and each.measure == "tokens")
    own_trials = [each for each in made.results if each.arm == "target" and each.task_id in ("000", "008", "016")]
    expected = np.mean([(each.usage.input_tokens or 0) + (each.usage.output_tokens or 0) for each in own_trials])
    assert first.mean.value == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_a_contract_is_kept_exceeded_or_open() -> None:
    skills = [quality(PLAIN, f"skill-{n}", CONTRACTED) for n in range(8)]
    made = run_of()
    report = build_report(made.manifest, made.results)
    checks = associate(skills, gains_of_skills(report.models), [made.run_id], costs_of_runs([report])).contracts
    assert len(checks) == 16 and {each.measure for each in checks} == {"tool calls", "tokens"}
    for each in checks:
        low, high = each.measured.low, each.measured.high
        if low is None or high is None:
            assert each.verdict == "open"
        else:
            assert each.verdict == ("exceeded" if low > each.said else "kept" if high <= each.said else "open")


def write(root: Path, count: int = 8, more: str = "") -> None:
    for n in range(count):
        folder = root / "skills" / f"skill-{n}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(HEAD.format(f"skill-{n}", more) + (RICH if n % 2 else PLAIN), "utf-8")


@pytest.mark.slow
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, more=CONTRACTED)
    kept(tmp_path / "reports", run_of())
    assert main(["quality", "--format", "json", "--effects", "last"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert problems("quality", found) == []
    assert found["effects"]["runs"] == ["20261121T050000Z-aaaaaaaa"] and found["effects"]["skills"] == 8
    assert found["effects"]["simulated"] is True
    assert main(["quality", "--effects", "last"]) == 0
    assert "Simulated: " in capsys.readouterr().out
    assert main(["quality", "skills/skill-1"]) == 0
    text = capsys.readouterr().out
    assert "completeness 3 of 3" in text and "contract: at most 3 calls and 900000 tokens" in text
    assert main(["quality", "--format", "markdown"]) == 0
    assert "| skills/skill-0/SKILL.md |" in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    assert main(["quality", "empty"]) == 2
    assert "no skill below empty" in capsys.readouterr().err
    assert main(["quality", "--effects", "nobody"]) == 2


def test_drafted_contracts_hold_for_nine_of_ten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = run_of(skills=2)
    lines = list(draft_contracts(made))
    drafted = [line.split('"')[1] for line in lines if "expected-tool-calls" in line]
    for skill, said in zip(("skill-0", "skill-1"), drafted, strict=True):
        tasks = {each.id for each in made.manifest.tasks if each.target_skills == (skill,)}
        calls = [
            each.tool_calls for each in made.results if each.arm == "target" and each.scored and each.task_id in tasks
        ]
        assert np.mean([each <= int(said) for each in calls]) >= 0.9
        assert int(said) in calls
    few = list(draft_contracts(run("b", tasks=[task("000", "skill-0")], arms=("control", "target"))))
    assert few[0].startswith("# ") and "simulated" in few[0]
    (untested,) = few[1:]
    assert untested.startswith("# skill-0: not testable, 3 trials ") and ", 5 " in untested
    kept(tmp_path / "reports", made)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(_draft(), ["contract", "last"])
    assert result.exit_code == 0 and result.output.splitlines()[0] == lines[0]
    assert all(key in result.output for key in CONTRACT)


def _draft() -> Any:
    from skill_health.commands.draft import command

    return command


def test_text_cannot_forge_the_terminal_or_a_table() -> None:
    found = quality_report([quality(PLAIN, "a\x1b[2Jb|c<b>")])
    assert "\x1b" not in as_text(quality_blocks(found)) + as_markdown(quality_blocks(found))
    assert "<b>" not in as_markdown(quality_blocks(found))
    assert encode_record(found) == encode_record(quality_report([quality(PLAIN, "a\x1b[2Jb|c<b>")]))
