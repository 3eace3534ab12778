"""The published router results of the plan, with intervals and tests that know how calls hang together.

    python -m scripts.published_routing FOLDER

FOLDER has the two pages that its authors published (2026-05-15.md and 2026-05-15-v2.md). Single calls were not
published, so that what depends on them is given for both ends: as if all calls were independent, and as if all calls of
a prompt were one. The part of docs/published-routing.md between its marks is written.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from math import hypot
from pathlib import Path
from typing import NamedTuple

from scipy.stats import binomtest, fisher_exact

from skill_health.stats.hypothesis_tests import sign_flip
from skill_health.stats.intervals import wilson_interval
from skill_health.stats.multiplicity import holm
from skill_health.text.blocks import markdown_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "published-routing.md"
BEGIN, END = "<!-- begin published routing -->", "<!-- end published routing -->"
BEFORE, AFTER = "2026-05-15.md", "2026-05-15-v2.md"
PROMPTS, REPS = 50, 3
_FEW = 3
"""So many calls make a confusion that is listed."""


class PublishedModel(NamedTuple):
    """A row of a leaderboard: shares of right answers with their published intervals, and calls without an answer."""

    top1: float
    top1_interval: str
    top3: float
    top3_interval: str
    failures: int


class PublishedSweep(NamedTuple):
    """One page: its leaderboard, its confusion of expected and predicted skills, the rates of its hardest prompts.

    `calls` are those that the models made, all of them together.
    """

    models: dict[str, PublishedModel]
    confusion: dict[tuple[str, str], int]
    hardest: dict[str, tuple[str, float]]
    calls: int


def read_sweep(text: str) -> PublishedSweep:
    """The tables of a page. Raises ValueError where one is missing."""
    models = {
        row[0]: PublishedModel(float(row[1]), row[2], float(row[3]), row[4], int(row[5]))
        for row in _table(text, "Per-model leaderboard")
    }
    head, *rows = _table(text, "Per-skill confusion", head=True)
    confusion = {
        (row[0].partition(" ")[0], name): int(cell)
        for row in rows
        for name, cell in zip(head[1:], row[1:], strict=True)
        if cell.isdigit()
    }
    hardest = {row[0]: (row[1], float(row[2])) for row in _table(text, "Hardest prompts")}
    made = re.search(r"_runs: (\d+) of \d+", text)
    return PublishedSweep(models, confusion, hardest, int(made[1]) if made else sum(confusion.values()))


def _table(text: str, title: str, head: bool = False) -> list[list[str]]:
    found = re.search(rf"(?ms)^##+ {re.escape(title)}.*?(?=^##|\Z)", text)
    rows = re.findall(r"(?m)^\|(.+)\|\s*$", found[0]) if found else []
    if len(rows) < 3:
        raise ValueError(f"there is no table below {title!r}")
    cells = [[cell.strip().replace("`", "").replace("**", "") for cell in row.split("|")] for row in rows]
    return cells if head else cells[2:]


def changes(text: str) -> tuple[dict[str, tuple[int, int, int, int]], dict[str, tuple[str, float, float]]]:
    """What the second page says of both: right and all calls of each skill, and rates of prompts with their skill."""
    skills = {}
    for row in _table(text, "Per-skill top-1 rate change"):
        (right, of), (now, of_now) = (map(int, re.findall(r"\d+", cell)[:2]) for cell in row[1:3])
        skills[row[0]] = right, of, now, of_now
    prompts = {row[0]: (row[1], float(row[2]), float(row[3])) for row in _table(text, "Previously-hardest prompts")}
    return skills, prompts


def leaderboard(before: PublishedSweep, after: PublishedSweep) -> Iterator[str]:
    """Both leaderboards, theirs beside the two ends of ours."""
    rows = []
    for sweep, when in ((before, "before"), (after, "after")):
        calls = sweep.calls / len(sweep.models)
        for name, model in sweep.models.items():
            for metric, share, theirs in (
                ("top-1", model.top1, model.top1_interval),
                ("top-3", model.top3, model.top3_interval),
            ):
                rows.append([
                    name, when, metric, f"{share:.3f} {theirs}", _interval(share, calls), _interval(share, PROMPTS),
                ])  # fmt: skip
    yield from markdown_table(
        ("model", "sweep", "metric", "published", "calls independent", "a prompt's calls one"), rows
    )


def _interval(share: float, n: float) -> str:
    low, high = wilson_interval(share * n, n)
    return f"[{low:.3f}, {high:.3f}]"


def differences(before: PublishedSweep, after: PublishedSweep) -> Iterator[str]:
    """Each model's change, with the interval of a difference of two samples (Newcombe, 1998, method 10)."""
    rows = []
    for name, new in after.models.items():
        old = before.models[name]
        for metric, was, now in (("top-1", old.top1, new.top1), ("top-3", old.top3, new.top3)):
            ends = [
                _difference(was, now, first, second)
                for first, second in (
                    (before.calls / len(before.models), after.calls / len(after.models)),
                    (PROMPTS, PROMPTS),
                )
            ]
            rows.append([name, metric, f"{now - was:+.3f}", *ends])
    yield from markdown_table(
        ("model", "metric", "published change", "calls independent", "a prompt's calls one"), rows
    )


def _difference(was: float, now: float, n: float, m: float) -> str:
    (low, high), (low_now, high_now) = wilson_interval(was * n, n), wilson_interval(now * m, m)
    change = now - was
    return f"[{change - hypot(now - low_now, high - was):+.3f}, {change + hypot(high_now - now, was - low):+.3f}]"


def by_skill(text: str) -> Iterator[str]:
    """Skills whose rate has changed: the test over calls, and over prompts, as far as their rates are known."""
    skills, prompts = changes(text)
    rows, tested = [], []
    for name, (right, of, now, of_now) in skills.items():
        if right * of_now == now * of:
            continue
        p = float(fisher_exact([[right, of - right], [now, of_now - now]]).pvalue)
        moved = [new - old for skill, old, new in prompts.values() if skill == name and new != old]
        count = round(max(of, of_now) / (REPS * 4))
        flipped = sign_flip(moved) if len(moved) > 1 else None
        tested.append(p)
        rows.append(
            [name, f"{right}/{of} → {now}/{of_now}", f"{now / of_now - right / of:+.3f}", str(count), p, _p(flipped)]
        )
    for row, p in zip(rows, holm(tested), strict=True):
        row[4] = f"{_p(row[4])} ({_p(p)})"
    head = (
        "skill",
        "right of calls",
        "published change",
        "prompts",
        "p, calls independent (Holm)",
        "p over prompts whose rate is known",
    )
    yield from markdown_table(head, rows)


def _p(value: float | None) -> str:
    if value is None:
        return "not testable"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def confusions(before: PublishedSweep, after: PublishedSweep) -> Iterator[str]:
    """Confusions of a few calls or more, in both sweeps."""
    counts = Counter({key: n for key, n in before.confusion.items() if key[0] != key[1]})
    later = Counter({key: n for key, n in after.confusion.items() if key[0] != key[1]})
    keys = sorted(
        {key for key in counts | later if max(counts[key], later[key]) >= _FEW}, key=lambda key: (-counts[key], key)
    )
    rows = [
        [expected, predicted, str(counts[expected, predicted]), str(later[expected, predicted])]
        for expected, predicted in keys
    ]
    yield from markdown_table(("expected", "picked", "calls before", "calls after"), rows)


def headline(before: PublishedSweep, after: PublishedSweep) -> Iterator[str]:
    """What the headlines claim, and whether chance does as much."""
    for metric in ("top1", "top3"):
        ups = sum(getattr(after.models[name], metric) > getattr(old, metric) for name, old in before.models.items())
        of = len(before.models)
        p = binomtest(ups, of).pvalue
        yield f"- {ups} of {of} models went up in {metric[:3]}-{metric[3]}: the same happens by chance with p = {p:.3f} (sign test over models)."


def page(folder: Path) -> Iterator[str]:
    """The part of the page that is made."""
    later = (folder / AFTER).read_text("utf-8")
    before, after = read_sweep((folder / BEFORE).read_text("utf-8")), read_sweep(later)
    parts = (
        ("Leaderboards", leaderboard(before, after)), ("Changes of models", differences(before, after)),
        ("Changes of skills", by_skill(later)), ("Confusions", confusions(before, after)), ("Headlines", headline(before, after)),
    )  # fmt: skip
    for title, lines in parts:
        yield from ("", f"## {title}", "", *lines)


def main(arguments: list[str]) -> None:
    """Write the page."""
    told = "\n".join([BEGIN, *page(Path(arguments[0])), "", END])
    text = PAGE.read_text("utf-8")
    PAGE.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: told, text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
