"""The published results beside what follows from them: tables are read as they are, figures come from other code."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from scripts import published_effects
from scripts.published_effects import WITH, WITHOUT, length_groups, page, read_registry, read_table, read_taxonomy
from skill_health.skill.parse import parse_skill

MODELS = ("OpenHands (GPT-5.5)", "OpenHands (Opus 4.7)", "Codex (GPT-5.5)", "OpenHands (Small)")
TASKS = [f"task-{n:02}" for n in range(24)]
PAPER = """Text before.

Table 2: Pass rates (%).

Harness\tModel\tNo Sk.\t\tCurated Skills\t
\t\tPass\tPass\tΔ (pp)\tg (%)
OpenHands\tGPT-5.5\t51.5\t67.3\t+15.8\t32.6
OpenHands\tClaude Opus 4.7\t42.1\t53.1\t+11.1\t19.1
Mean\t\t33.9\t50.5\t+16.6\t25.5

Figure 5: text.

Table 3: By domain.

Domain\tN\tNo Skills\tWith Skills\tΔ_{abs}
Even Things\t12\t42.0%\t70.8%\t+28.8
Odd Things\t12\t23.3%\t47.4%\t+24.1

Table 8: By number.

Skills Count\tN tasks\tNo Skills\tWith Skills\tΔ_{abs}
1\t23\t32.2%\t50.2%\t+18.0
2-3\t43\t34.4%\t53.4%\t+19.0

Table 9: By length.

Complexity\tN tasks\tNo Skills\tWith Skills\tΔ_{abs}
Compact\t22\t37.6%\t56.6%\t+19.0

Table 12: Outcomes.

Harness\tModel\tSolved\tPartial\tAttempted\tRuntime err.
OpenHands\tGPT-5.5\t55.2%\t6.5%\t38.2%\t0.1%

Table 13: Largest.

Task\tNo Skills\tWith Skills\tΔ
task-00\t1.9%\t94.4%\t+92.6 pp

Table 16: Overall.

Condition\tn\tSolved\tPartial\tAttempted\tRuntime err.
No Skills\t4,698\t31.3%\t5.4%\t62.7%\t0.6%

Table 19: Per-domain listing.

Task\tCapability\tDiff.
Even Things ($n = 12$). <i>Even.</i>
""" + "".join(f"{name}\tReasoning\tX\n" for name in TASKS[::2]) + "(continued on next page)\nOdd Things ($n = 12$). <i>Odd.</i>\n" + "".join(
    f"{name}\tTool Use\tE\n" for name in TASKS[1::2]
) + "\nN Experimental Protocol Details\nother\tnone\tX\n"  # fmt: skip


def rows(seed: int = 1) -> list[dict[str, Any]]:
    rng, found = random.Random(seed), []
    for name in TASKS:
        for model in MODELS:
            for condition in (WITHOUT, WITH):
                perfect = rng.randint(0, 2) + (condition == WITH and rng.random() < 0.6)
                part = rng.choice([0, 0, 1]) if perfect < 3 else 0
                found.append({
                    "task": name, "model": model, "condition": condition, "trials": 3, "passCount": perfect + part,
                    "perfectCount": perfect, "score": round(100 * (perfect + part / 2) / 3, 1),
                })  # fmt: skip
    return found


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def row_of(lines: list[str], title: str, first: str) -> list[str]:
    after = lines[lines.index(next(line for line in lines if line.startswith(f"## {title}"))) :]
    return next(cells(line) for line in after if line.startswith("| ") and cells(line)[0] == first)


def numbers(cell: str) -> list[float]:
    return [float(each) for each in re.findall(r"[-+]?\d+\.\d+", cell)]


@cache
def made() -> tuple[list[dict[str, Any]], list[str], dict[str, tuple[int, int]]]:
    found = rows()
    sizes = {name: (1 + n % 4, 1000 * (n + 1)) for n, name in enumerate(TASKS[:20])}
    skills = {
        name: [parse_skill(b"x" * (size // number), "SKILL.md", "a", ()) for _ in range(number)] for name, (number, size) in sizes.items()
    }  # fmt: skip
    return found, list(page(read_registry(found), PAPER, skills)), sizes


def reward(row: dict[str, Any]) -> float:
    """The mean reward; thirds were rounded where it is published."""
    return float(row["perfectCount"] / 3 if row["perfectCount"] == row["passCount"] else row["score"] / 100)


def rewards(found: list[dict[str, Any]], condition: str, **where: str) -> np.ndarray[Any, Any]:
    return np.array([
        reward(each) for each in found if each["condition"] == condition and all(each[k] == v for k, v in where.items())
    ])  # fmt: skip


def test_tables_and_taxonomy_are_read_as_they_stand() -> None:
    assert read_table(PAPER, 2)[-1] == ["Mean", "", "33.9", "50.5", "+16.6", "25.5"]
    assert len(read_table(PAPER, 3)) == 3 and read_table(PAPER, 16)[1][1] == "4,698"
    taxonomy = read_taxonomy(PAPER)
    assert len(taxonomy) == 24 and "other" not in taxonomy
    assert taxonomy["task-03"] == ("Odd Things", "E")
    with pytest.raises(ValueError, match="no table 7"):
        read_table(PAPER, 7)


@pytest.mark.slow
def test_the_table_of_configurations_is_that_of_numpy_and_scipy() -> None:
    found, lines, _ = made()
    for model, said in ((MODELS[0], "67.3"), (MODELS[1], "53.1"), (MODELS[2], "–")):
        row = row_of(lines, "Table 2", model)
        one, other = (rewards(found, c, model=model) for c in (WITH, WITHOUT))
        assert row[3] == said
        assert numbers(row[2])[0] == pytest.approx(100 * other.mean(), abs=0.051)
        assert numbers(row[4])[0] == pytest.approx(100 * one.mean(), abs=0.051)
        value, low, high = numbers(row[6])
        assert value == pytest.approx(100 * (one - other).mean(), abs=0.051)
        draws = stats.bootstrap((one - other,), np.mean, method="percentile", rng=np.random.default_rng(1))
        ends = draws.confidence_interval
        assert (low, high) == pytest.approx((100 * ends.low, 100 * ends.high), abs=3)
        gain = (one.mean() - other.mean()) / (1 - other.mean())
        assert numbers(row[8])[0] == pytest.approx(100 * gain, abs=0.051)
    every = row_of(lines, "Table 2", "mean of all")
    gains = [
        (rewards(found, WITH, model=m).mean() - rewards(found, WITHOUT, model=m).mean()) / (1 - rewards(found, WITHOUT, model=m).mean())
        for m in MODELS
    ]  # fmt: skip
    assert numbers(every[8])[0] == pytest.approx(100 * np.mean(gains), abs=0.051) and every[5] == "+16.6"


@pytest.mark.slow
def test_groups_of_tasks_and_their_tests() -> None:
    found, lines, sizes = made()
    even = np.array([rewards(found, WITH, task=t).mean() - rewards(found, WITHOUT, task=t).mean() for t in TASKS[::2]])
    odd = np.array([rewards(found, WITH, task=t).mean() - rewards(found, WITHOUT, task=t).mean() for t in TASKS[1::2]])
    row = row_of(lines, "Table 3", "Even Things")
    assert row[1:6] == ["12", "12", "42.0%", "70.8%", "+28.8"]
    assert numbers(row[8])[0] == pytest.approx(100 * even.mean(), abs=0.051)
    exact = stats.permutation_test((even, odd), lambda a, b: np.mean(a) - np.mean(b), rng=np.random.default_rng(1))
    assert float(row[9]) == pytest.approx(min(1, 2 * exact.pvalue), abs=0.03)
    assert row_of(lines, "Difficulty", "extended, 1 to 4 h")[1] == "12"
    assert row_of(lines, "Table 8: number of skills, 20 tasks", "2-3")[1] == "10"
    groups = length_groups(sizes, TASKS)
    assert [groups[name] for name in (TASKS[0], TASKS[6], TASKS[12], TASKS[19])] == [
        "Compact", "Standard", "Detailed", "Detailed",
    ]  # fmt: skip
    assert [published_effects.count_group(n) for n in (1, 2, 3, 4, 9)] == ["1", "2-3", "2-3", "≥ 4", "≥ 4"]


def test_patterns_of_skills_stand_beside_the_gains_of_their_tasks() -> None:
    found, skills = rows(), {}
    for n, name in enumerate(TASKS):
        text = "# A\n\nNo line may be longer: at most 80 letters.\n" if n % 2 else "# A\n\nSort.\n"
        skills[name] = [parse_skill(text.encode(), "SKILL.md", "a", ()), parse_skill(b"# B\n", "SKILL.md", "b", ())]
    lines = list(page(read_registry(found), PAPER, skills))
    gains = {t: rewards(found, WITH, task=t).mean() - rewards(found, WITHOUT, task=t).mean() for t in TASKS}
    row = row_of(lines, "Points and patterns", "invariant")
    expected = np.mean([gains[t] for t in TASKS[1::2]]) - np.mean([gains[t] for t in TASKS[::2]])
    assert row[2:4] == ["12", "12"] and numbers(row[4])[0] == pytest.approx(100 * expected, abs=0.051)
    assert row_of(lines, "Points and patterns", "exact format")[4] == "not testable"


@pytest.mark.slow
def test_outcomes_add_up() -> None:
    found, lines, _ = made()
    row = row_of(lines, "Tables 12 and 16", MODELS[0])
    own = [each for each in found if each["model"] == MODELS[0]]
    solved = sum(each["perfectCount"] for each in own) / 144
    part = sum(each["passCount"] - each["perfectCount"] for each in own) / 144
    assert row[1] == "144" and row[2] == "55.2%" and row[4] == "6.5%" and row[6] == "38.3%"
    assert numbers(row[3])[0] == pytest.approx(100 * solved, abs=0.051)
    assert numbers(row[5])[0] == pytest.approx(100 * part, abs=0.051)
    assert sum(numbers(row[at])[0] for at in (3, 5, 7)) == pytest.approx(100, abs=0.2)
    assert row_of(lines, "Tables 12 and 16", "all: No Skills")[2] == "31.3%"


def test_the_largest_gains_shrink_where_they_had_no_say() -> None:
    """With rewards that are nothing but noise the best tasks gain where they are chosen, and nothing elsewhere."""
    seen, again = [], []
    for seed in range(30):
        rng, found = random.Random(seed), []
        for each in rows(seed):
            passes = rng.randint(0, 3)
            found.append(each | {"passCount": passes, "perfectCount": passes, "score": round(100 * passes / 3, 1)})
        one, other = published_effects.chosen_apart(read_registry(found), 5)
        seen.append(one)
        again.append(other)
    assert np.mean(seen) > 20
    assert abs(np.mean(again)) < 3 * np.std(again) / np.sqrt(30) + 1


def test_a_registry_that_is_not_whole_is_refused() -> None:
    whole = rows()
    for found, said in (([*whole, whole[0]], "two rows for task-00"), (whole[1:], "1 rows are missing")):
        with pytest.raises(ValueError, match=said):
            read_registry(found)


@pytest.mark.slow
def test_the_page_is_written_between_its_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = tmp_path / "docs"
    (docs / "pictures").mkdir(parents=True)
    monkeypatch.setattr(published_effects, "DOCS", docs)
    monkeypatch.setattr(published_effects, "PAGE", docs / "page.md")
    (docs / "page.md").write_text(
        f"# Ours\n\n{published_effects.BEGIN}\nold\n{published_effects.END}\n\nKept.\n", "utf-8"
    )
    (tmp_path / "registry.json").write_text(json.dumps(rows()), "utf-8")
    (tmp_path / "paper.txt").write_text(PAPER, "utf-8")
    for name in ("one", "two"):
        folder = tmp_path / "tasks" / "task-01" / "environment" / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text("x" * 100, "utf-8")
    assert [len(own) for own in published_effects.read_skills(tmp_path / "tasks").values()] == [2]
    arguments = [str(tmp_path / "registry.json"), str(tmp_path / "paper.txt"), str(tmp_path / "tasks")]
    published_effects.main(arguments)
    first = (docs / "page.md").read_text("utf-8")
    assert "old" not in first and first.endswith("Kept.\n") and "## Table 13" in first
    pictures = {path.name: path.read_bytes() for path in (docs / "pictures").iterdir()}
    assert sorted(pictures) == ["effects-gain.svg", "effects-with.svg", "effects-without.svg"]
    published_effects.main(arguments)
    assert (docs / "page.md").read_text("utf-8") == first
    assert {path.name: path.read_bytes() for path in (docs / "pictures").iterdir()} == pictures
