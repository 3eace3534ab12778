"""The published sweeps beside what follows from them: pages are read as they are, figures come from other code."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import fisher_exact
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from scripts import published_routing
from scripts.published_routing import AFTER, BEFORE, changes, page, read_sweep

FIRST = """# Results
_runs: 566 of 600 (94%)_

## Per-model leaderboard

| Model | Top-1 | 95% CI | Top-3 | 95% CI | Format Failures | Median ms |
| --- | --- | --- | --- | --- | --- | --- |
| `one` | 0.880 | [0.8, 0.9] | 0.930 | [0.9, 1.0] | 0 | 10 |
| `two` | 0.900 | [0.8, 0.9] | 0.950 | [0.9, 1.0] | 1 | 10 |

## Per-skill confusion (when expected is X, predicted is Y)

Rows are the truth.

| Expected \\ Predicted | `a` | `b` |
| --- | --- | --- |
| `a` (n=49) | **48** | 1 |
| `b` (n=47) | 5 | **42** |

## Hardest prompts (lowest top-1 across all models)

| Prompt | Expected | Top-1 Rate | Predicted Primaries |
| --- | --- | --- | --- |
| p1 | `a` | 0.25 | `b` |
"""
SECOND = (
    FIRST.replace("566", "600").replace("0.880", "0.920")
    + """
## Delta vs baseline

### Per-skill top-1 rate change

| Skill (expected) | Baseline | New | Delta |
| --- | --- | --- | --- |
| `a` | 48/49 = 0.980 | 47/59 = 0.797 | -0.183 <- regressed |
| `b` | 12/24 = 0.500 | 24/48 = 0.500 | 0.000 |

### Previously-hardest prompts

| Prompt | Expected | Baseline Top-1 Rate | New Top-1 Rate | Delta |
| --- | --- | --- | --- | --- |
| p1 | `a` | 0.25 | 0.50 | +0.250 |
| p2 | `a` | 0.50 | 0.25 | -0.250 |
"""
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / BEFORE).write_text(FIRST, "utf-8")
    (tmp_path / AFTER).write_text(SECOND, "utf-8")
    return tmp_path


def test_the_pages_are_read_as_they_are() -> None:
    sweep = read_sweep(FIRST)
    assert (sweep.calls, sweep.models["two"].failures, sweep.models["one"].top3) == (566, 1, 0.93)
    assert sweep.confusion == {("a", "a"): 48, ("a", "b"): 1, ("b", "a"): 5, ("b", "b"): 42}
    assert sweep.hardest == {"p1": ("a", 0.25)}
    skills, prompts = changes(SECOND)
    assert skills["a"] == (48, 49, 47, 59) and prompts["p2"] == ("a", 0.5, 0.25)
    with pytest.raises(ValueError, match="no table below 'Per-model leaderboard'"):
        read_sweep("# Nothing\n")


def test_the_figures_are_those_of_other_code(folder: Path) -> None:
    told = "\n".join(page(folder))
    low, high = proportion_confint(0.92 * 300, 300, method="wilson")
    assert f"| one | after | top-1 | 0.920 [0.8, 0.9] | [{low:.3f}, {high:.3f}] |" in told
    low, high = confint_proportions_2indep(0.92 * 50, 50, 0.88 * 50, 50, method="newcomb")
    assert "| one | top-1 | +0.040 |" in told and f"[{low:+.3f}, {high:+.3f}] |" in told
    p = fisher_exact([[48, 1], [47, 12]]).pvalue
    assert f"| a | 48/49 → 47/59 | -0.183 | 5 | {p:.3f} ({p:.3f}) | 1.000 |" in told
    assert "| b | 12/24" not in told, "nothing changed"
    assert "| b | a | 5 | 5 |" in told and "| a | b | 1 |" not in told
    assert "- 1 of 2 models went up in top-1: the same happens by chance with p = 1.000" in told


def test_only_what_is_between_the_marks_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "page.md"
    path.write_text(f"# Ours\n\n{published_routing.BEGIN}\nold\n{published_routing.END}\n\nKept.\n", "utf-8")
    monkeypatch.setattr(published_routing, "PAGE", path)
    published_routing.main([str(folder)])
    text = path.read_text("utf-8")
    assert (
        text.startswith("# Ours\n") and text.endswith("\n\nKept.\n") and "old" not in text and "## Confusions" in text
    )
