"""Every interval of a report once more, from the formulas of docs/statistics.md, with numpy and scipy alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from effects_made import fixture_like, manifest, reported, scripted
from scipy import stats

SEED = 1
pytestmark = pytest.mark.slow
AMOUNTS = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd", "duration_ms", "turns", "tool_calls")
Cells = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]


def wilson(sums: Sequence[float], calls: Sequence[int], binary: bool = True) -> tuple[float, float]:
    s, m = np.array(sums, dtype=float), np.array(calls, dtype=float)
    whole, clusters = m.sum(), len(m)
    p = s.sum() / whole
    if 0 < p < 1:
        moves = (s - p * m) / (whole - m)
        variance = (moves**2).sum() * (clusters - 1) / clusters
        rare = clusters * min(p, 1 - p)
        n = (rare + 0.125) / (rare * variance / (p * (1 - p)) + 0.125 / clusters)
    else:
        n = clusters
    n = min(n, whole) if binary else n
    z = stats.norm.ppf(0.975)
    half = np.sqrt(z**2 * (p * (1 - p) / n + z**2 / (4 * n**2)))
    low, high = ((p + z**2 / (2 * n) + sign * half) / (1 + z**2 / n) for sign in (-1, 1))
    return max(low, 0.0), min(high, 1.0)


def wider(d: Any) -> float:
    values, counts = np.unique(d.round(9), return_counts=True)
    if counts.max() == 1:
        return 1.0
    found = []
    for commonest in values[counts == counts.max()]:
        away = d[np.abs(d - commonest) > 1e-9] - commonest
        found.append(np.sqrt(1 + counts.max() / len(d) * (away**2).mean() / ((d - d.mean()) ** 2).sum()))
    return float(max(found))


def student(d: Any) -> tuple[float, float]:
    half = stats.t.ppf(0.975, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d)) * wider(d)
    return d.mean() - half, d.mean() + half


def bootstrap(d: Any, seed: int) -> tuple[float, float]:
    ordered, c = np.sort(d), len(d)
    u = (np.random.PCG64(seed).random_raw(10_000 * c) >> np.uint64(11)) / 2**53
    means = ordered[(u * c).astype(int)].reshape(10_000, c).mean(axis=1)
    tail = stats.norm.cdf(-stats.t.ppf(0.975, c - 1) * np.sqrt(c / (c - 1)))
    low, high = np.quantile(means, [tail, 1 - tail])
    return d.mean() + wider(d) * (low - d.mean()), d.mean() + wider(d) * (high - d.mean())


def hall(x: Any, level: float) -> float:
    """The standard deviations to the end."""
    c, g = len(x), stats.skew(x, bias=False)
    z = stats.t.ppf(level, c - 1) / np.sqrt(c)
    return float(z if abs(g) < 1e-6 else 3 / g * (np.cbrt(1 + g * (z - g / (6 * c))) - 1))


def amounts(x: Any) -> tuple[float, float]:
    return max(x.mean() - x.std(ddof=1) * hall(x, 0.975), 0.0), x.mean() - x.std(ddof=1) * hall(x, 0.025)


def one_sided(d: Any, side: int) -> float:
    """The half-width at 95 % on one side."""
    c, t = len(d), stats.t.ppf(0.95, len(d) - 1)
    differing = d[np.abs(d) > 1e-12]
    least = 1 - 0.05 ** (1 / c)
    if not len(differing):
        return float(least)
    further = side * np.sqrt((differing**2).mean())
    more = np.append(d, further)
    moved = abs(further - d.mean()) / (c + 1) + t * more.std(ddof=1) / np.sqrt(c + 1)
    return float(max(t * d.std(ddof=1) / np.sqrt(c), moved, least))


@pytest.fixture(scope="module", params=[18, 34])
def run(request: pytest.FixtureRequest) -> tuple[dict[str, Any], Cells]:
    """A report, and the trials that it was made from by task and arm."""
    tasks = fixture_like(request.param, 8, 2)
    made = manifest(tasks, ("control", "target", "placebo", "negative", "full", "aa", "forced"))
    results = scripted(made, "base=0.45,target=0.1,loading=0.3,invoke=0.7", 3)
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for result in results:
        if result.outcome in ("pass", "fail", "timeout", "refusal"):
            usage = result.usage
            cells.setdefault((result.task_id, result.arm), []).append({
                "pass": result.outcome == "pass", "reward": result.reward, "cost_usd": result.cost_usd, "turns": result.turns,
                "duration_ms": result.duration_ms, "tool_calls": result.tool_calls, "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens, "cached_tokens": usage.cached_tokens, "invoked": result.invoked,
                "opened": result.invoked == "yes",
            })  # fmt: skip
    return reported(made, results), cells


def mean(cell: Sequence[Mapping[str, Any]], what: str) -> float:
    return float(np.mean([each[what] for each in cell]))


def parts(report: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], list[str]]]:
    """Everything with arms and contrasts, and the tasks that it is over."""
    (model,) = report["models"]
    every = [task["task_id"] for task in model["tasks"] if task["skill"] != "none"]
    yield model, every
    yield from ((skill, skill["tasks"]) for skill in model["skills"])
    yield model["controls"], model["controls"]["tasks"]


def close(figure: Mapping[str, Any], ends: tuple[float, float]) -> None:
    assert (figure["low"], figure["high"]) == pytest.approx(ends, rel=1e-5, abs=1e-9)


def test_every_figure_of_every_arm(run: tuple[dict[str, Any], Cells]) -> None:
    report, cells = run
    for part, tasks in parts(report):
        for arm in part["arms"]:
            own = [cells[task, arm["arm"]] for task in tasks if (task, arm["arm"]) in cells]
            calls = list(map(len, own))
            close(arm["success"], wilson([sum(each["pass"] for each in cell) for cell in own], calls))
            rewards = [[each["reward"] for each in cell if each["reward"] is not None] for cell in own]
            rewards = [each for each in rewards if each]
            close(arm["reward"], wilson(list(map(sum, rewards)), list(map(len, rewards)), binary=False))
            opened = [sum(each["invoked"] == "yes" for each in cell) for cell in own]
            close(arm["invoked"]["rate"], wilson(opened, calls))
            for what in AMOUNTS:
                close(arm[what], amounts(np.array([mean(cell, what) for cell in own])))


def differences(cells: Cells, tasks: Sequence[str], one: str, other: str, what: str) -> Any:
    both = [(cells[t, one], cells[t, other]) for t in tasks if (t, one) in cells and (t, other) in cells]
    return np.array([mean(a, what) - mean(b, what) for a, b in both])


def test_every_contrast(run: tuple[dict[str, Any], Cells]) -> None:
    report, cells = run
    (model,) = report["models"]
    seen = 0
    for part, tasks in parts(report):
        if part is model["controls"]:
            continue
        for each in part["contrasts"]:
            d = differences(cells, tasks, each["arm"], each["against"], "pass")
            if each["delta"]["low"] is not None:
                low, high = bootstrap(d, SEED)
                close(each["delta"], (max(low, -1.0), min(high, 1.0)))
                if each["t"]:
                    low, high = student(d)
                    close(each["t"], (max(low, -1.0), min(high, 1.0)))
                seen += 1
            for what, figure in each["deltas"].items():
                if figure["low"] is not None:
                    d = differences(cells, tasks, each["arm"], each["against"], what)
                    ends = [d.mean() - d.std(ddof=1) * hall(d, level) for level in (0.975, 0.025)]
                    low, high = student(d)
                    close(figure, (min(low, ends[0]), max(high, ends[1])))
    assert seen > 5
    again = model["calibration"]
    tasks = next(tasks for _, tasks in parts(report))
    close(again["delta"], bootstrap(differences(cells, tasks, "aa", "target", "pass"), SEED))


def test_negative_controls(run: tuple[dict[str, Any], Cells]) -> None:
    report, cells = run
    (model,) = report["models"]
    assert len(model["controls"]["contrasts"]) == 3
    for each in model["controls"]["contrasts"]:
        tasks = (
            model["controls"]["tasks"] if each["over"] == "controls" else [task["task_id"] for task in model["tasks"]]
        )
        d = differences(cells, tasks, each["arm"], each["against"], "pass")
        low, high = d.mean() - one_sided(d, -1), d.mean() + one_sided(d, 1)
        close(each["ninety"], (max(low, -1.0), min(high, 1.0)))


def fieller(y: Any, d: Any) -> tuple[float, float]:
    c, t = len(y), stats.t.ppf(0.975, len(y) - 1)
    v_y = y.var(ddof=1) / c * wider(y) ** 2
    v_d, v_yd = d.var(ddof=1) / c, np.cov(y, d)[0, 1] / c
    found = np.roots([
        d.mean() ** 2 - t**2 * v_d, -2 * (y.mean() * d.mean() - t**2 * v_yd), y.mean() ** 2 - t**2 * v_y,
    ])  # fmt: skip
    return max(float(found.min()), -1.0), min(float(found.max()), 1.0)


def test_loading(run: tuple[dict[str, Any], Cells]) -> None:
    report, cells = run
    seen = 0
    for part, tasks in parts(report):
        found = part.get("loading")
        if not found:
            continue
        y = differences(cells, tasks, "target", "control", "pass")
        d = np.array([mean(cells[t, "target"], "opened") for t in tasks])
        f = differences(cells, tasks, "forced", "control", "pass")
        if found["complier"]["low"] is not None:
            assert found["complier"]["value"] == pytest.approx(min(y.mean() / d.mean(), 1.0), rel=1e-5)
            close(found["complier"], fieller(y, d))
            close(found["selection"], student(y - f.mean() * d - d.mean() * f + f.mean() * d.mean()))
            assert found["selection"]["value"] == pytest.approx(y.mean() - d.mean() * f.mean(), rel=1e-5)
            seen += 1
    assert seen >= 2


def test_efficiency(run: tuple[dict[str, Any], Cells]) -> None:
    report, cells = run
    for part, tasks in parts(report):
        if "efficiency" not in part:
            continue
        found = part["efficiency"]
        assert found["measure"] == "dollars"
        for arm, against, figure in (
            ("target", "control", found["ratio"]),
            *((each["arm"], each["against"], each["ratio"]) for each in found["against"]),
        ):
            logs = np.log([mean(cells[t, arm], "cost_usd") / mean(cells[t, against], "cost_usd") for t in tasks])
            low, high = student(logs)
            assert figure["value"] == pytest.approx(np.exp(logs.mean()), rel=1e-5)
            close(figure, (float(np.exp(low)), float(np.exp(high))))
        d = differences(cells, tasks, "target", "control", "pass")
        ends = [d.mean() - one_sided(d, -1), d.mean() - d.std(ddof=1) * hall(d, 0.95)]
        assert found["least"] == pytest.approx(max(min(ends), -1.0), rel=1e-5)


def test_no_other_kind_of_interval_is_in_a_report(run: tuple[dict[str, Any], Cells]) -> None:
    methods = {line.split('"')[3] for line in json.dumps(run[0], indent=0).splitlines() if line.startswith('"method"')}
    kinds = re.compile("Wilson|Student|bootstrap|Fieller|widened|skewness|logarithms")
    assert sorted(tuple(kinds.findall(method)) for method in methods) == [
        (), ("Fieller", "widened"), ("Student", "skewness"), ("Student", "widened"), ("Student", "widened", "logarithms"),
        ("Student", "widened", "skewness"), ("Wilson",), ("bootstrap", "widened"),
    ]  # fmt: skip
