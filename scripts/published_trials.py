"""Runtime errors and agent time in single trials of SkillsBench that are published: table 17 and figure 15, elsewhere.

    python -m scripts.published_trials TRIALS JOB ATTEMPTS

TRIALS is a folder of Harbor's trials, with and without skills. JOB is the result.json of a whole job, and ATTEMPTS how
many trials of each task it made, which its config.json says. The part of docs/published-effects.md between its marks
is written.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from scripts.published_effects import PAGE, show_percent, show_points
from skill_health.effectiveness.published._load import SidedTrial, load_published
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import clustered_mean
from skill_health.stats.resampling import paired_bootstrap
from skill_health.text.blocks import markdown_table

BEGIN, END = "<!-- begin published trials -->", "<!-- end published trials -->"
TIMEOUT = "AgentTimeoutError"
"""What was done until then is scored all the same."""
SIDES = (("without", "control"), ("with", "target"))


def errors_of_job(job: Mapping[str, object], attempts: int) -> Iterator[str]:
    """How many trials of a job raised each kind of error, with intervals over its tasks.

    Raises ValueError where the job is no whole number of attempts at tasks.
    """
    total = int(str(job["n_total_trials"]))
    tasks, rest = divmod(total, attempts)
    if rest:
        raise ValueError(f"{total} trials are no {attempts} for each task")
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for found in job["stats"]["evals"].values():  # type: ignore[index]
        for kind, names in found["exception_stats"].items():
            kinds[kind].update(name.rpartition("__")[0] for name in names)
    rows = []
    ordered = sorted(kinds.items(), key=lambda item: (-item[1].total(), item[0]))
    others = sum((by_task for kind, by_task in ordered if kind != TIMEOUT), Counter())
    for kind, by_task in (*ordered, (f"any but {TIMEOUT}", others)):
        counts = [*by_task.values(), *[0] * (tasks - len(by_task))]
        share = clustered_mean(counts, [attempts] * tasks)
        rows.append([kind, f"{by_task.total()} of {total}", str(len(by_task)), show_percent(share)])
    yield from markdown_table(("error", "trials", f"tasks, of {tasks}", "share, % of trials"), rows)


def errors_by_side(trials: Sequence[SidedTrial]) -> Iterator[str]:
    """Trials without a result, by configuration and condition."""
    rows = []
    for model in sorted({each.trial.model for each in trials}):
        for name, side in SIDES:
            own = [each.trial for each in trials if each.trial.model == model and each.side == side]
            broken = Counter(trial.error for trial in own if trial.reward is None)
            kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(broken.items())) or "–"
            tasks = len({trial.task for trial in own})
            rows.append([model, name, f"{broken.total()} of {len(own)}", str(tasks), kinds])
    yield from markdown_table(("configuration", "skills", "trials without a result", "tasks", "errors"), rows)


def time_and_reward(trials: Sequence[SidedTrial]) -> Iterator[str]:
    """Minutes of the agent and reward, over the tasks that have both in both conditions."""
    rows = []
    for model in sorted({each.trial.model for each in trials}):
        by_task: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
        for each in trials:
            took, reward = each.trial.duration_ms, each.trial.reward
            if each.trial.model == model and took is not None and reward is not None:
                by_task[each.trial.task][each.side].append((took / 60_000, reward))
        both = [sides for sides in by_task.values() if len(sides) == len(SIDES)]
        means = [
            [[fmean(value[at] for value in sides[side]) for sides in both] for _, side in SIDES] for at in range(2)
        ]
        used = sum(len(own) for sides in both for own in sides.values())
        minutes, rewards = ((one, other, _difference(one, other)) for one, other in means)
        rows.append([
            model, str(len(both)), str(used), f"{fmean(minutes[0]):.1f}", f"{fmean(minutes[1]):.1f}",
            _minutes(minutes[2]), f"{100 * fmean(rewards[0]):.1f}", f"{100 * fmean(rewards[1]):.1f}",
            show_points(rewards[2]),
        ])  # fmt: skip
    head = (
        "configuration", "tasks", "trials", "minutes without", "minutes with", "difference, minutes", "reward without, %",
        "reward with, %", "gain, points",
    )  # fmt: skip
    yield from markdown_table(head, rows)


def _difference(without: Sequence[float], with_: Sequence[float]) -> Estimate:
    return paired_bootstrap([one - other for one, other in zip(with_, without, strict=True)])


def _minutes(figure: Estimate) -> str:
    ends = "–" if figure.low is None or figure.high is None else f"{figure.low:+.1f}, {figure.high:+.1f}"
    return "not testable" if figure.value is None else f"{figure.value:+.1f} [{ends}]"


def page(trials: Sequence[SidedTrial], job: Mapping[str, object], attempts: int) -> Iterator[str]:
    """The part of the page that is made."""
    parts = (
        ("One job of 2026-01: errors by kind", errors_of_job(job, attempts)),
        ("Single trials of 2026-01: no result, by condition", errors_by_side(trials)),
        ("Single trials of 2026-01: time and reward", time_and_reward(trials)),
    )
    yield ""
    for title, lines in parts:
        yield from (f"### {title}", "", *lines)


def main(arguments: list[str]) -> None:
    """Write the part of the page."""
    folder, job, attempts = arguments
    (group,) = load_published([folder]).groups
    told = "\n".join([BEGIN, *page(group.trials, json.loads(Path(job).read_text("utf-8")), int(attempts)), END])
    text = PAGE.read_text("utf-8")
    PAGE.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: told, text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
