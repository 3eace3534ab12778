"""What does judging cost besides its judges: wall clock against the ideal, and our own processor time?"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks._made_trials import made_task, run_manifest
from benchmarks._measure import Failed, Options
from benchmarks._table import say_met
from benchmarks.calls import LATENCY, slow_server
from skill_health.bench.budget import Budget
from skill_health.bench.run.conduct import AT_ONCE, RunTerms, carry_out
from skill_health.config.settings import Provider, RouterSettings
from skill_health.documents._record import record_values
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.judge.pairs.prepare import PairChoice, prepare_pairs
from skill_health.effectiveness.judge.pairs.report import write_pair_report
from skill_health.effectiveness.judge.prepare import JudgeChoices, PreparedJudging, prepare_judging
from skill_health.effectiveness.judge.run import JudgeRunner, write_judged
from skill_health.effectiveness.rubric.model import Criterion, make_rubric
from skill_health.effectiveness.run.runs import load_run

TITLE = "1,000 kept trials and a judge that takes 200 ms"
ROUNDS = 3
TASKS, REPLICATIONS, ARMS = 50, 10, ("control", "target")
MAX_RATIO, MAX_CPU_MS = 1.3, 10.0
_CRITERIA = 4
_STEPS, _LINES = 30, 60
"""Steps of a transcript and lines of a diff: some 20 KB of evidence for each trial."""


class Judged(NamedTuple):
    """One round: calls, seconds of wall clock and of processor time while asking, and seconds before and after."""

    calls: int
    wall: float
    cpu: float
    prepared: float
    reported: float


def run(options: Options) -> Iterator[str]:
    """Judge the same made-up run by criteria and in pairs, by a server in another process."""
    folder = options.scratch / "reports" / "effectiveness" / "20260101T000000Z-0000abcd"
    trials = _write_run(folder, options.seed)
    yield (
        f"Ideal: calls x {LATENCY * 1e3:.0f} ms / {AT_ONCE} at once. {trials:,} trials of {TASKS} tasks with some 20 KB of evidence "
        f"each and {_CRITERIA} criteria, n = {options.rounds} rounds. Reading the evidence, the journal and its results are in it; "
        "reading and freezing everything before the first call, and the report after the last one, stand beside it."
    )
    lines = [
        "| judged | calls | wall / ideal | min - max | target | met | CPU for each call | target | met | before, s | after, s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, text in (("by criteria", _verdicts()), ("in pairs", _tie())):
        with slow_server(options, text) as url:
            # The first round does the lazy imports.
            rounds = [_round(folder, url, name, nth, options.seed) for nth in range(options.rounds + 1)][1:]
        lines.append(_line(name, rounds))
    yield "\n".join(lines)


def _line(name: str, rounds: list[Judged]) -> str:
    ratios = [each.wall / (each.calls * LATENCY / AT_ONCE) for each in rounds]
    ratio, cpu = median(ratios), median(each.cpu / each.calls * 1e3 for each in rounds)
    cells = [
        name,
        f"{rounds[0].calls:,}",
        f"**{ratio:.2f}**",
        f"{min(ratios):.2f} - {max(ratios):.2f}",
        f"<= {MAX_RATIO:g}",
        say_met(ratio <= MAX_RATIO),
        f"**{cpu:.2f} ms**",
        f"<= {MAX_CPU_MS:g} ms",
        say_met(cpu <= MAX_CPU_MS),
        f"{median(each.prepared for each in rounds):.1f}",
        f"{median(each.reported for each in rounds):.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def _round(folder: Path, url: str, name: str, nth: int, seed: int) -> Judged:
    begun = time.perf_counter()
    prepared = _prepared(folder, url, name, nth, seed)
    ready = time.perf_counter()
    gc.collect()
    with prepared.place.open(()) as journal:
        runner = JudgeRunner(prepared.plan, journal, Budget(None, None))
        calls = runner.left()
        wall, cpu = time.perf_counter(), time.process_time()
        carry_out(runner, RunTerms(quiet=True), None)
        asked = time.perf_counter() - wall, time.process_time() - cpu
        words = {str(record["status"]) for record in journal.results.values()}
        if len(journal.results) != calls or words != {"finished"}:
            raise Failed(f"{len(journal.results)} of {calls} calls came to {', '.join(sorted(words))}")
        before = time.perf_counter()
        write = write_judged if name == "by criteria" else write_pair_report
        write(str(folder), journal.folder)
    return Judged(calls, *asked, ready - begun, time.perf_counter() - before)


def _prepared(folder: Path, url: str, name: str, nth: int, seed: int) -> PreparedJudging[Any, Any]:
    found = load_run(str(folder))
    rubric = make_rubric(Criterion(f"c{at}", f"The work has point {at}.", 0) for at in range(_CRITERIA))
    rubrics = {task.id: rubric for task in found.manifest.tasks}
    routing = RouterSettings(providers={"slow": Provider("openai", base_url=url, concurrency=AT_ONCE)})
    choices = JudgeChoices(judges=("slow:m",), families=("slow:m=qwen",), seed=seed)
    time_ = datetime(2026, 1, 1, 0, 0, nth, tzinfo=UTC)
    if name == "by criteria":
        return prepare_judging(found, rubrics, choices, routing, time_, anew=True)
    return prepare_pairs(found, rubrics, PairChoice("target", "control"), choices, routing, time_, anew=True)


def _verdicts() -> str:
    said = [{"id": f"c{at}", "verdict": "not_met", "points": 0, "evidence": []} for at in range(_CRITERIA)]
    return json.dumps({"criteria": said})


def _tie() -> str:
    return json.dumps({"verdict": "tie", "evidence": {"A": ["I have looked at everything."], "B": []}})


def _write_run(folder: Path, seed: int) -> int:
    """Write a finished run with what was kept of each trial; returns how many trials."""
    tasks = [made_task(number) for number in range(TASKS)]
    folder.mkdir(parents=True)
    manifest = run_manifest(folder.name, tasks, ["maker:model-0"], ARMS, REPLICATIONS, seed)
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    steps = [
        {
            "source": "agent",
            "message": f"I look at part {at} of the list and put it in order.",
            "tool_calls": [{"function_name": "shell", "arguments": {"command": f"sed -n {at}p list.txt | sort"}}],
            "observation": {"results": [{"content": f"line {at} of the list has crates and ropes\n" * 8}]},
        }
        for at in range(_STEPS)
    ]
    results = []
    for task in tasks:
        for arm in ARMS:
            for replication in range(REPLICATIONS):
                place = folder / "trials" / f"{task['id']}--{arm}--r{replication}"
                place.mkdir(parents=True)
                own = f"{task['id']} {arm} {replication}"
                for name, text in {
                    "trial.json": json.dumps({"prompt": f"Sort the crates of {task['id']}.", "arm": arm}),
                    "final.txt": f"I have looked at everything. Done: {own}.\n",
                    "diff.patch": "".join(
                        f"+line {at} of {own}, with crates and ropes and sails\n" for at in range(_LINES)
                    ),
                    "trajectory.json": json.dumps({"steps": steps}),
                }.items():
                    (place / name).write_text(text, "utf-8")
                kept = f"trials/{place.name}"
                results.append(TrialResult(task["id"], "maker:model-0", arm, replication, outcome="pass", folder=kept))
    (folder / "results.jsonl").write_text("".join(json.dumps(record_values(each)) + "\n" for each in results), "utf-8")
    return len(results)
