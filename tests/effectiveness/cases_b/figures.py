"""Tasks 009 and 010: figures computed in other right ways, and by the mistakes that people make."""

from __future__ import annotations

import csv
import json
import runpy
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

Edit = Callable[[Path], None]
Runs = list[dict[str, str]]
SKILLS = Path(__file__).resolve().parents[3] / "fixtures" / "skills"
LOST = {"rate_limited", "container_error"}
ALPHA = 0.05


def rows(path: Path) -> Runs:
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def gains(runs: Iterable[dict[str, str]], lost: set[str] = LOST) -> dict[str, float]:
    """Task -> difference of the success rates of one model."""
    cells: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if run["status"] not in lost:
            cells[run["task"]][run["arm"]].append(int(run["status"] == "passed"))
    return {
        task: statistics.fmean(arms["with"]) - statistics.fmean(arms["without"])
        for task, arms in cells.items()
        if len(arms) == 2
    }


def flipped(values: Iterable[float]) -> float:
    """The exact sign-flip test by enumeration."""
    sums = np.zeros(1)
    steps = [value for value in values if abs(value) > 1e-9]
    for step in steps:
        sums = np.concatenate([sums + step, sums - step])
    return float(np.mean(np.abs(sums) >= abs(sum(steps)) - 1e-9))


def ranked(values: Iterable[float]) -> float:
    """Wilcoxon's signed-rank test, exact also where ranks are tied."""
    steps = np.array([value for value in values if abs(value) > 1e-9])
    return flipped(np.sign(steps) * stats.rankdata(np.round(np.abs(steps), 9)))


def signs(values: Iterable[float]) -> float:
    steps = [value > 0 for value in values if abs(value) > 1e-9]
    return float(stats.binomtest(sum(steps), len(steps)).pvalue)


def by_t(values: list[float]) -> tuple[float, float]:
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return float(np.mean(values) - half), float(np.mean(values) + half)


def by_bootstrap(values: list[float]) -> tuple[float, float]:
    draws = np.random.default_rng(7).choice(values, (10_000, len(values))).mean(axis=1)
    low, high = np.percentile(draws, [2.5, 97.5])
    return float(low), float(high)


def corrected(entries: dict[str, dict[str, Any]], least: float = ALPHA) -> None:
    """Verdicts by Holm over the testable models."""
    tested = sorted((entry for entry in entries.values() if entry["p"] is not None), key=lambda entry: entry["p"])
    clear = True
    for rank, entry in enumerate(tested):
        clear = clear and entry["p"] * (len(tested) - rank) <= least
        entry["verdict"] = "no evidence" if not clear else "helps" if entry["difference"] > 0 else "hurts"


def verdicts(
    test: Callable[[Iterable[float]], float] = flipped,
    interval: Callable[[list[float]], tuple[float, float]] = by_t,
    lost: set[str] = LOST,
    keep_p: bool = False,
) -> Edit:
    """A whole analysis over tasks."""

    def write(workspace: Path) -> None:
        runs = rows(workspace / "runs.csv")
        entries: dict[str, dict[str, Any]] = {}
        for model in sorted({run["model"] for run in runs}):
            mine = [run for run in runs if run["model"] == model]
            found = list(gains(mine, lost).values())
            differing = sum(abs(value) > 1e-9 for value in found)
            low, high = interval(found)
            entries[model] = {
                "planned": len(mine),
                "scored": sum(run["status"] not in lost for run in mine),
                "tasks": len(found),
                "difference": statistics.fmean(found),
                "low": low,
                "high": high,
                "p": test(found) if 2.0 ** (1 - differing) < ALPHA else None,
            }
        corrected(entries)
        for model, entry in entries.items():
            if "verdict" not in entry:
                entry["verdict"] = "not_testable"
                entry["p"] = test(gains([run for run in runs if run["model"] == model]).values()) if keep_p else None
        (workspace / "verdicts.json").write_text(json.dumps({"models": entries}), encoding="utf-8")

    return write


def with_the_skill(workspace: Path) -> None:
    """The numbers as the bundled script of the skill prints them."""
    script = SKILLS / "eval-statistics" / "scripts" / "paired_stats.py"
    runs = rows(workspace / "runs.csv")
    entries: dict[str, dict[str, Any]] = {}
    for model in sorted({run["model"] for run in runs}):
        mine = [run for run in runs if run["model"] == model]
        table = workspace / "pairs.csv"
        means = gains(mine)
        table.write_text(
            "cluster,a,b\n" + "".join(f"{t},{round(v * 6)}/6,0\n" for t, v in means.items()), encoding="utf-8"
        )
        done = subprocess.run(
            [sys.executable, "-B", script, "compare", table], capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode in (0, 1), done.stderr
        found = json.loads(done.stdout)
        table.unlink()
        entries[model] = {
            "planned": 144,
            "scored": sum(run["status"] not in LOST for run in mine),
            "tasks": found["clusters"],
            "difference": found["mean_difference"],
            "low": found["low"],
            "high": found["high"],
            "p": found["p"],
        }
    corrected(entries)
    for entry in entries.values():
        entry.setdefault("verdict", "not testable")
    (workspace / "verdicts.json").write_text(json.dumps({"models": entries}), encoding="utf-8")


def over_runs(workspace: Path) -> None:
    """Each run counted on its own: Fisher's test and the interval of two proportions."""
    runs = rows(workspace / "runs.csv")
    entries: dict[str, dict[str, Any]] = {}
    for model in sorted({run["model"] for run in runs}):
        mine = [run for run in runs if run["model"] == model and run["status"] not in LOST]
        arms = {arm: [run["status"] == "passed" for run in mine if run["arm"] == arm] for arm in ("with", "without")}
        (a, n), (b, m) = ((sum(found), len(found)) for found in arms.values())
        half = 1.96 * (a / n * (1 - a / n) / n + b / m * (1 - b / m) / m) ** 0.5
        entries[model] = {
            "planned": 144,
            "scored": len(mine),
            "tasks": 24,
            "difference": a / n - b / m,
            "low": a / n - b / m - half,
            "high": a / n - b / m + half,
            "p": float(stats.fisher_exact([[a, n - a], [b, m - b]])[1]),
        }
    corrected(entries)
    (workspace / "verdicts.json").write_text(json.dumps({"models": entries}), encoding="utf-8")


def entry(model: str, **changes: object) -> Edit:
    def edit(workspace: Path) -> None:
        path = workspace / "verdicts.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        data["models"][model] |= changes
        path.write_text(json.dumps(data), encoding="utf-8")

    return edit


def further_model(workspace: Path) -> None:
    path = workspace / "verdicts.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["models"]["all"] = data["models"]["amber"]
    path.write_text(json.dumps(data), encoding="utf-8")


def judged(*keys: str, value: object) -> Edit:
    """The oracle's figures with one of them changed."""

    def edit(workspace: Path) -> None:
        path = workspace / "judge.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        inner = data
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        path.write_text(json.dumps(data), encoding="utf-8")

    return edit


def as_the_skill_says(workspace: Path) -> None:
    """Agreement, corrected rates and both orders by the bundled script of the skill."""
    script = runpy.run_path(str(SKILLS / "judge-calibration" / "scripts" / "judge_report.py"))
    gold = [r for r in rows(workspace / "gold.csv") if r["use"] == "held back" and r["judge"] != "error"]
    pairs = [(r["agreed"] == "pass", r["judge"] == "pass") for r in gold]
    hit = pairs.count((True, True)) / sum(person for person, _ in pairs)
    rejected = pairs.count((False, False)) / sum(not person for person, _ in pairs)
    rates = {}
    for name in ("north", "south"):
        grades = [
            r["judge"] for r in rows(workspace / "answers.csv") if r["assistant"] == name and r["judge"] != "error"
        ]
        share = grades.count("pass") / len(grades)
        rates[name] = {"judge": share, "people": script["corrected_rate"](share, round(hit, 3), round(rejected, 3))}
    orders: dict[str, dict[str, str]] = defaultdict(dict)
    for r in rows(workspace / "pairs.csv"):
        letters = {"north": ("A", "B"), "south": ("B", "A")}[r["shown_first"]]
        orders[r["question"]][r["shown_first"]] = dict(zip(("first", "second"), letters, strict=True)).get(
            r["verdict"], "tie"
        )
    table = workspace / "swap.csv"
    both = {question: found for question, found in orders.items() if len(found) == 2}
    lines = [f"{question},{found['north']},{found['south']}\n" for question, found in both.items()]
    table.write_text("item,a_first,b_first\n" + "".join(lines), encoding="utf-8")
    command = [
        sys.executable,
        "-B",
        str(SKILLS / "judge-calibration" / "scripts" / "judge_report.py"),
        "swap",
        str(table),
    ]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=600, check=False).stdout)
    table.unlink()
    first, second = found["followed_first_position"], found["followed_second_position"]
    report = {
        "agreement": {
            "items": len(pairs),
            "kappa": script["kappa"](pairs),
            "sensitivity": hit,
            "specificity": rejected,
        },
        "pass_rate": rates,
        "side_by_side": {
            "questions": found["items"],
            "consistent": found["consistency"],
            "prefers": "first" if first > second else "second",
            "north": found["consensus"]["A"],
            "south": found["consensus"]["B"],
            "tie": found["consensus"]["tie"],
        },
    }
    (workspace / "judge.json").write_text(json.dumps(report), encoding="utf-8")


def rounded_to_three_digits(workspace: Path) -> None:
    path = workspace / "judge.json"
    data = json.loads(path.read_text(encoding="utf-8"), parse_float=lambda text: round(float(text), 3))
    path.write_text(json.dumps(data), encoding="utf-8")


def agreement_on(use: set[str], person: str) -> Edit:
    """Agreement on other labels than those that were held back and agreed on."""

    def edit(workspace: Path) -> None:
        gold = [r for r in rows(workspace / "gold.csv") if r["use"] in use and r["judge"] != "error"]
        pairs = [(r[person] == "pass", r["judge"] == "pass") for r in gold]
        same = sum(a == b for a, b in pairs) / len(pairs)
        a, b = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
        chance = a * b + (1 - a) * (1 - b)
        path = workspace / "judge.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        data["agreement"] = {
            "items": len(pairs),
            "kappa": (same - chance) / (1 - chance),
            "sensitivity": pairs.count((True, True)) / sum(x for x, _ in pairs),
            "specificity": pairs.count((False, False)) / sum(not x for x, _ in pairs),
        }
        path.write_text(json.dumps(data), encoding="utf-8")

    return edit


def predicted_values(workspace: Path) -> None:
    """The rate of people from predictive values, which belong to the gold set and not to the traffic."""
    path = workspace / "judge.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    for rate in data["pass_rate"].values():
        rate["people"] = rate["judge"] * 33 / 44 + (1 - rate["judge"]) * 6 / 33
    path.write_text(json.dumps(data), encoding="utf-8")


def every_verdict_counts(workspace: Path) -> None:
    """Wins by counting verdicts, both orders or not."""
    wins = {"north": 0, "south": 0, "tie": 0}
    asked = set()
    for r in rows(workspace / "pairs.csv"):
        second = {"north": "south", "south": "north"}[r["shown_first"]]
        wins[{"first": r["shown_first"], "second": second}.get(r["verdict"], "tie")] += 1
        asked.add(r["question"])
    path = workspace / "judge.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["side_by_side"] |= wins | {"questions": len(asked)}
    path.write_text(json.dumps(data), encoding="utf-8")


RIGHT = {
    "009": [verdicts(ranked, by_bootstrap), verdicts(signs, by_t, keep_p=True), with_the_skill],
    "010": [as_the_skill_says, rounded_to_three_digits],
}
WRONG = {
    "009": [
        ("basalt", over_runs),
        ("cobalt", over_runs),
        ("dune", verdicts(lost=set())),
        ("flint", verdicts(lost=LOST | {"agent_timeout", "refused"})),
        ("flint", verdicts(lost=LOST | {"agent_timeout"})),
        ("ebony", entry("ebony", verdict="helps")),
        ("cobalt", entry("cobalt", verdict="helps", p=0.0218)),
        ("basalt", entry("basalt", p=0.0943)),
        ("amber", entry("amber", difference=31.94, low=16.15, high=47.74)),
        ("dune", entry("dune", tasks=24)),
        ("dune", entry("dune", difference=-0.0643)),
        ("only those", further_model),
    ],
    "010": [
        ("agreement", agreement_on({"held back", "rubric"}, "agreed")),
        ("agreement", agreement_on({"held back"}, "rater_1")),
        ("pass rate, people", predicted_values),
        ("pass rate, people", judged("pass_rate", "north", "people", value=0.62)),
        ("pass rate, judge", judged("pass_rate", "north", "judge", value=0.6065)),
        ("side_by_side", every_verdict_counts),
        ("side_by_side", judged("side_by_side", "prefers", value="neither")),
        ("side_by_side", judged("side_by_side", "north", value=28)),
    ],
}
