"""The published results of SkillsBench, with intervals over tasks beside each figure, and what of its findings stands.

    python -m scripts.published_effects REGISTRY PAPER TASKS

REGISTRY is the results registry of its authors: one row for each task, configuration and condition. PAPER is the text
of the paper, whose tables 2, 3, 8, 9, 12, 13 and 16 are read, and table 19 for the domain and difficulty of each task.
TASKS is a checkout with tasks as folders, for the number, the length, the points and the patterns of their skills. The
part of docs/published-effects.md between its marks and the pictures of figures 11 to 13 are written.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from skill_health.page.drawing.draw import svg_file
from skill_health.page.drawing.theme import BAD, GROUND, SERIES
from skill_health.page.model import NumberTable, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.quality.association import associate
from skill_health.quality.collection import quality_of_skill
from skill_health.skill.model import Skill
from skill_health.skill.parse import parse_skill
from skill_health.stats.estimates import Estimate
from skill_health.stats.hypothesis_tests import group_permutation_test, sign_flip
from skill_health.stats.intervals import clustered_mean
from skill_health.stats.multiplicity import holm
from skill_health.stats.resampling import normalised_gain, paired_bootstrap
from skill_health.text.blocks import markdown_table

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "published-effects.md"
BEGIN, END = "<!-- begin published effects -->", "<!-- end published effects -->"
WITHOUT, WITH = "No Skills", "With Skills"
LENGTHS = (0.25, 0.5, 0.95)
"""Where the paper cuts the total length of SKILL.md into compact, standard, detailed and comprehensive."""


class ScoredCell(NamedTuple):
    """The three trials of a task by a configuration in a condition: mean reward, passes (any reward), full passes."""

    reward: float
    trials: int
    passes: int
    perfect: int


class PublishedTask(NamedTuple):
    """What the paper says of a task: its domain, and C, X or E for its difficulty."""

    domain: str
    difficulty: str


class Results(NamedTuple):
    """All cells by task, configuration and condition, and the two orders in which tables go."""

    cells: dict[tuple[str, str, str], ScoredCell]
    tasks: tuple[str, ...]
    models: tuple[str, ...]

    def rewards(self, model: str, condition: str, tasks: Iterable[str] | None = None) -> list[float]:
        """The mean rewards of a configuration over tasks."""
        return [self.cells[task, model, condition].reward for task in (self.tasks if tasks is None else tasks)]

    def mean(self, task: str, condition: str, models: Iterable[str] | None = None) -> float:
        """The mean reward of a task over configurations."""
        return fmean(self.cells[task, model, condition].reward for model in (models or self.models))

    def gain(self, task: str, models: Iterable[str] | None = None) -> float:
        """What the skills add to a task, the mean over configurations."""
        return self.mean(task, WITH, models) - self.mean(task, WITHOUT, models)


def read_registry(rows: Sequence[dict[str, object]]) -> Results:
    """The rows as cells. Raises ValueError where a cell is there twice or lacks."""
    cells: dict[tuple[str, str, str], ScoredCell] = {}
    for row in rows:
        key = str(row["task"]), str(row["model"]), str(row["condition"])
        if key in cells:
            raise ValueError(f"there are two rows for {', '.join(key)}")
        score, trials, passes, perfect = (
            float(str(row[name])) for name in ("score", "trials", "passCount", "perfectCount")
        )
        # A score has one decimal; without a partial pass the mean is known exactly.
        reward = perfect / trials if passes == perfect else score / 100
        cells[key] = ScoredCell(reward, int(trials), int(passes), int(perfect))
    tasks, models = (tuple(sorted({key[at] for key in cells})) for at in (0, 1))
    missing = [
        key for task in tasks for model in models for c in (WITHOUT, WITH) if (key := (task, model, c)) not in cells
    ]
    if missing:
        raise ValueError(f"{len(missing)} rows are missing, such as {', '.join(missing[0])}")
    found = Results(cells, tasks, models)
    order = sorted(models, key=lambda model: (-fmean(found.rewards(model, WITH)), model))
    return found._replace(models=tuple(order))


def read_table(paper: str, number: int) -> list[list[str]]:
    """The rows of a table of the paper, whose cells are parted by tabs, its head among them."""
    start = re.search(rf"(?m)^Table {number}: ", paper)
    if start is None:
        raise ValueError(f"the paper has no table {number}")
    rows: list[list[str]] = []
    for line in paper[start.end() :].splitlines()[1:]:
        if "\t" in line:
            rows.append([cell.strip() for cell in line.split("\t")])
        elif line.strip() and rows:
            break
    return rows


def read_taxonomy(paper: str) -> dict[str, PublishedTask]:
    """Domain and difficulty of each task, of table 19."""
    lines = paper[paper.index("\nTable 19: ") :].splitlines()[1:]
    found, domain = {}, ""
    for line in lines:
        if title := re.match(r"([A-Z][^($]+?) \(\$n = \d+\$\)", line):
            domain = title[1]
        elif domain and (row := re.fullmatch(r"([\w.-]+)\t[^\t]+\t([CXE])\s*", line)):
            found[row[1]] = PublishedTask(domain, row[2])
        elif found and re.match(r"N Experimental", line):
            break
    return found


def read_skills(folder: Path) -> dict[str, list[Skill]]:
    """The skills of each task below a checkout."""
    found: dict[str, list[Skill]] = defaultdict(list)
    for file in sorted(folder.rglob("environment/skills/**/SKILL.md")):
        parts, own = file.relative_to(folder).parts, file.parent
        files = tuple(sorted(str(each.relative_to(own)) for each in own.rglob("*") if each.is_file() and each != file))
        path = str(file.relative_to(folder))
        found[parts[parts.index("environment") - 1]].append(parse_skill(file.read_bytes(), path, own.name, files))
    return dict(found)


def configurations(results: Results, paper: str) -> Iterator[str]:
    """Table 2: pass rates, absolute and normalised gain of each configuration."""
    theirs = {_bare(f"{row[0]} ({row[1]})"): row for row in read_table(paper, 2)[2:] if len(row) >= 6}
    rows, ps = [], []
    for model in results.models:
        own, other = results.rewards(model, WITH), results.rewards(model, WITHOUT)
        paper_row = theirs.get(_bare(model), ["", "", "–", "–", "–", "–"])
        rows.append([
            model, paper_row[2], show_percent(_mean(other)), paper_row[3], show_percent(_mean(own)), paper_row[4],
            show_points(_difference(own, other)), paper_row[5], show_percent(normalised_gain([(own, other)])),
        ])  # fmt: skip
        ps.append(sign_flip([one - two for one, two in zip(own, other, strict=True)]))
    for row, p in zip(rows, holm(ps), strict=True):
        row.append(_p(p))
    sides = [
        [[results.cells[task, model, c].reward for task in results.tasks] for model in results.models]
        for c in (WITH, WITHOUT)
    ]
    means = [[results.mean(task, c) for task in results.tasks] for c in (WITH, WITHOUT)]
    last = next((row for row in read_table(paper, 2) if row[0] == "Mean"), [])
    said = [cell for cell in last[1:] if cell] or ["–"] * 4
    rows.append([
        "mean of all", said[0], show_percent(_mean(means[1])), said[1], show_percent(_mean(means[0])), said[2],
        show_points(_difference(*means)), said[3], show_percent(normalised_gain(list(zip(*sides, strict=True)))),
        _p(sign_flip([one - two for one, two in zip(*means, strict=True)])),
    ])  # fmt: skip
    head = (
        "configuration", "without, paper", "without, ours", "with, paper", "with, ours", "gain, paper", "gain, ours, points",
        "normalised, paper", "normalised, ours", "p (Holm)",
    )  # fmt: skip
    yield from markdown_table(head, rows)


def by_group(
    results: Results, group_of: Callable[[str], str | None], said: dict[str, list[str]], order: Sequence[str], what: str
) -> Iterator[str]:
    """Tables 3 and 8, and their like: gain by group of tasks, and whether a group differs from the others."""
    groups: dict[str, list[str]] = defaultdict(list)
    for task in results.tasks:
        if (name := group_of(task)) is not None:
            groups[name].append(task)
    known = [task for own in groups.values() for task in own]
    gains = {task: results.gain(task) for task in known}
    tests = group_permutation_test([gains[task] for task in known], [group_of(task) for task in known])
    names = [name for name in order if name in groups]
    adjusted = dict(zip(names, holm([tests[name] for name in names]), strict=True))
    rows = []
    for name in names:
        own = groups[name]
        one, other = ([results.mean(task, c) for task in own] for c in (WITH, WITHOUT))
        rows.append([
            name, str(len(own)), *said.get(name, ["–", "–", "–", "–"])[:4], show_percent(_mean(other)), show_percent(_mean(one)),
            show_points(_difference(one, other)), _p(adjusted[name]),
        ])  # fmt: skip
    head = (
        what, "tasks", "tasks, paper", "without, paper", "with, paper", "gain, paper", "without, ours", "with, ours",
        "gain, ours, points", "p against the others (Holm)",
    )  # fmt: skip
    yield from markdown_table(head, rows)


def outcomes(results: Results, paper: str) -> Iterator[str]:
    """Tables 12 and 16: solved in full, in part, or not."""
    theirs = {_bare(f"{row[0]} ({row[1]})"): row[2:] for row in read_table(paper, 12)[1:]}
    rows = []
    subjects: list[tuple[str, list[str], tuple[str, ...], list[str]]] = [
        (model, [model], (WITHOUT, WITH), theirs.get(_bare(model), [])) for model in results.models
    ]
    overall = {row[0]: row[2:] for row in read_table(paper, 16)[1:]}
    for name, conditions in (("No Skills", (WITHOUT,)), ("Curated Skills", (WITH,)), ("Overall", (WITHOUT, WITH))):
        subjects.append((f"all: {name}", list(results.models), conditions, overall.get(name, [])))
    for name, models, conditions, said in subjects:
        by_task = [[results.cells[task, model, c] for model in models for c in conditions] for task in results.tasks]
        totals = [sum(cell.trials for cell in own) for own in by_task]
        solved = [sum(cell.perfect for cell in own) for own in by_task]
        part = [sum(cell.passes - cell.perfect for cell in own) for own in by_task]
        rest = [total - one - two for total, one, two in zip(totals, solved, part, strict=True)]
        failed = f"{sum(float(cell.rstrip('%')) for cell in said[2:4]):.1f}%" if len(said) >= 4 else "–"
        cells = [said[0], said[1], failed] if len(said) >= 4 else ["–"] * 3
        shown = [
            cell
            for pair in zip(
                cells, (show_percent(clustered_mean(own, totals)) for own in (solved, part, rest)), strict=True
            )
            for cell in pair
        ]
        rows.append([name, f"{sum(totals):,}", *shown])
    head = (
        "configuration", "trials", "solved, paper", "solved, ours", "partial, paper", "partial, ours",
        "attempted or error, paper", "neither, ours",
    )  # fmt: skip
    yield from markdown_table(head, rows)


def largest(results: Results, paper: str) -> Iterator[str]:
    """Table 13: the tasks that gain most; chosen by one half of the configurations and measured by the other, too."""
    said = {row[0]: row[1:] for row in read_table(paper, 13)[1:]}
    ranked = sorted(results.tasks, key=lambda task: (-results.gain(task), task))[:10]
    rows = []
    for task in ranked:
        one, other = ([results.cells[task, model, c].reward for model in results.models] for c in (WITH, WITHOUT))
        rows.append([
            task, *said.get(task, ["not listed", "–", "–"])[:3], f"{100 * fmean(other):.1f}", f"{100 * fmean(one):.1f}",
            show_points(_difference(one, other)),
        ])  # fmt: skip
    head = (
        "task",
        "without, paper",
        "with, paper",
        "gain, paper",
        "without, ours",
        "with, ours",
        "gain over configurations, ours",
    )
    yield from markdown_table(head, rows)
    seen, again = chosen_apart(results, 10)
    yield ""
    yield (
        f"The ten gain {100 * fmean(map(results.gain, ranked)):+.1f} points where they were chosen. Chosen by every other configuration, ten gain "
        f"{seen:+.1f} points there and {again:+.1f} points with the configurations that had no say in the choice (mean of both halves)."
    )


def chosen_apart(results: Results, count: int) -> tuple[float, float]:
    """The mean gain, in points, of the best tasks by one half of the configurations: in that half, and in the other."""
    halves = results.models[::2], results.models[1::2]
    seen, again = [], []
    for own, other in (halves, halves[::-1]):
        best = sorted(results.tasks, key=lambda task: (-results.gain(task, own), task))[:count]
        seen.append(fmean(results.gain(task, own) for task in best))
        again.append(fmean(results.gain(task, other) for task in best))
    return 100 * fmean(seen), 100 * fmean(again)


def associations(results: Results, skills: dict[str, list[Skill]]) -> Iterator[str]:
    """Points and patterns of the skills of a task, beside its gain: a pattern counts where one of them shows it."""
    rated = []
    for task in results.tasks:
        own = [quality_of_skill(skill) for skill in skills.get(task, ())]
        if own:
            patterns = {place.pattern: place for each in own for place in each.patterns}
            points = round(fmean(each.points for each in own))
            rated.append(replace(own[0], name=task, points=points, patterns=tuple(patterns.values())))
    found = associate(rated, {task: results.gain(task) for task in results.tasks}, ["SkillsBench"])
    least = min((each.points for each in rated), default=0)
    yield (
        f"{found.skills} tasks. Points of their skills ({least} to {max((each.points for each in rated), default=0)} of 12) and gain, "
        f"rank correlation: {_plain(found.correlation)}."
    )
    yield ""
    rows = [
        [
            each.pattern.replace("_", " "), each.side, str(each.showing), str(each.others), show_points(each.difference),
            _p(each.difference.p_adjusted),
        ]
        for each in found.patterns
    ]  # fmt: skip
    head = ("pattern", "went with", "tasks that show it", "others", "difference of gains, points", "p (Holm)")
    yield from markdown_table(head, rows)


def harmed(results: Results) -> Iterator[str]:
    """The tasks whose rate falls with skills, each with the test of its own over configurations."""
    falling = sorted(
        (task for task in results.tasks if results.gain(task) < -1e-9), key=lambda task: (results.gain(task), task)
    )
    pairs = {
        task: [
            results.cells[task, model, WITH].reward - results.cells[task, model, WITHOUT].reward
            for model in results.models
        ]
        for task in falling
    }
    ps = holm([sign_flip(own) for own in pairs.values()])
    rows = []
    for (task, own), p in zip(pairs.items(), ps, strict=True):
        rows.append([task, show_points(paired_bootstrap(own)), str(sum(abs(each) > 1e-9 for each in own)), _p(p)])
    yield from markdown_table(
        ("task", "gain over configurations, points", "configurations that differ", "p (Holm)"), rows
    )


def heat_map(results: Results, name: str, title: str, value: Callable[[str, str], float], signed: bool) -> Picture:
    """Figures 11 to 13: tasks from the easiest with skills down, configurations from the best to the right."""
    tasks = sorted(results.tasks, key=lambda task: (-results.mean(task, WITH), task))
    values = [
        {"task": task, "model": model, "value": round(100 * value(task, model), 1)}
        for task in tasks
        for model in results.models
    ]
    scale = {"domain": [-100, 0, 100] if signed else [0, 50, 100], "range": [BAD, GROUND, SERIES[0]]}
    fill = vl.channel("value", scale=scale, legend=None)
    cells = vl.layer("rect", {"fill": fill, "stroke": {"value": GROUND}})
    axis = {"orient": "top", "labelAngle": -90}
    spec = vl.plot(
        values, {"step": 13}, [cells], 20 * len(results.models),
        x=vl.category("model", title=None, axis=axis), y=vl.category("task", title=None, axis={"labelFontSize": 10}),
    )  # fmt: skip
    alt = f"{title}: {len(tasks)} tasks by {len(results.models)} configurations."
    return Picture(name=name, title=title, alt=alt, spec=spec, table=NumberTable((), (), ""))


def heat_maps(results: Results) -> Iterator[Picture]:
    """The three figures."""
    for name, title, condition in (
        ("effects-with", "Pass rate with skills (figure 11)", WITH),
        ("effects-without", "Pass rate without skills (figure 12)", WITHOUT),
    ):
        yield heat_map(
            results, name, title, lambda task, model, c=condition: results.cells[task, model, c].reward, False
        )  # type: ignore[misc]
    yield heat_map(
        results, "effects-gain", "Gain with skills (figure 13)",
        lambda task, model: results.cells[task, model, WITH].reward - results.cells[task, model, WITHOUT].reward, True,
    )  # fmt: skip


def _bare(name: str) -> str:
    """A configuration as it is told apart: the paper writes Claude Opus where the registry has Opus."""
    return name.replace("Claude Opus", "Opus").replace("Claude Sonnet", "Sonnet").lower()


def _mean(rewards: Sequence[float]) -> Estimate:
    return clustered_mean(rewards, [1] * len(rewards))


def _difference(one: Sequence[float], other: Sequence[float]) -> Estimate:
    return paired_bootstrap([a - b for a, b in zip(one, other, strict=True)])


class Interval(Protocol):
    """A figure with its ends."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def _plain(figure: Interval) -> str:
    if figure.value is None or figure.low is None or figure.high is None:
        return "not testable"
    return f"{figure.value:+.2f} [{figure.low:+.2f}, {figure.high:+.2f}]"


def show_percent(estimate: Interval) -> str:
    """A share as a percentage, with its ends."""
    return _shown(estimate, "")


def show_points(estimate: Interval) -> str:
    """A difference of shares in percentage points, with its ends."""
    return _shown(estimate, "+")


def _shown(estimate: Interval, sign: str) -> str:
    if estimate.value is None:
        return "not testable"
    ends = (
        "–"
        if estimate.low is None or estimate.high is None
        else f"{100 * estimate.low:{sign}.1f}, {100 * estimate.high:{sign}.1f}"
    )
    return f"{100 * estimate.value:{sign}.1f} [{ends}]"


def _p(value: float | None) -> str:
    if value is None:
        return "not testable"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


DIFFICULTIES = {"C": "core, below 1 h", "X": "extended, 1 to 4 h", "E": "extreme, above 4 h"}
COUNTS = ("1", "2-3", "≥ 4")
SIZES = ("Compact", "Standard", "Detailed", "Comprehensive")


def count_group(skills: int) -> str:
    """The group of table 8 that a number of skills is in."""
    return COUNTS[0] if skills == 1 else COUNTS[1] if skills <= 3 else COUNTS[2]


def length_groups(sizes: dict[str, tuple[int, int]], tasks: Iterable[str]) -> dict[str, str]:
    """The group of table 9 of each task, by the quantiles over the tasks that are known."""
    own = {task: sizes[task][1] for task in tasks if task in sizes}
    ordered = sorted(own.values())
    cuts = [ordered[min(int(share * len(ordered)), len(ordered) - 1)] for share in LENGTHS] if ordered else []
    return {task: SIZES[sum(size > cut for cut in cuts)] for task, size in own.items()}


def page(results: Results, paper: str, skills: dict[str, list[Skill]]) -> Iterator[str]:
    """The part of the page that is made."""
    taxonomy = read_taxonomy(paper)
    domains = {row[0]: row[1:] for row in read_table(paper, 3)[1:]}
    sizes = {task: (len(own), sum(len(each.text.encode()) for each in own)) for task, own in skills.items()}
    known = [task for task in results.tasks if task in sizes]
    counts = {row[0]: row[1:] for row in read_table(paper, 8)[1:]}
    lengths, told = length_groups(sizes, results.tasks), {row[0]: row[1:] for row in read_table(paper, 9)[1:]}
    trials = sum(cell.trials for cell in results.cells.values())
    yield from ("", f"{len(results.tasks)} tasks, {len(results.models)} configurations, {trials:,} trials.")
    strata = {task: DIFFICULTIES[each.difficulty] for task, each in taxonomy.items()}

    def domain_of(task: str) -> str | None:
        return taxonomy[task].domain if task in taxonomy else None

    def number_of(task: str) -> str | None:
        return count_group(sizes[task][0]) if task in sizes else None

    parts = (
        ("Table 2: configurations", configurations(results, paper)),
        ("Table 3: domains", by_group(results, domain_of, domains, list(domains), "domain")),
        ("Difficulty", by_group(results, strata.get, {}, list(DIFFICULTIES.values()), "difficulty")),
        (f"Table 8: number of skills, {len(known)} tasks", by_group(results, number_of, counts, COUNTS, "skills")),
        (f"Table 9: length of SKILL.md, {len(known)} tasks", by_group(results, lengths.get, told, SIZES, "length")),
        ("Points and patterns", associations(results, skills)),
        ("Tables 12 and 16: outcomes", outcomes(results, paper)),
        ("Table 13: the ten largest gains", largest(results, paper)),
        ("Tasks that lose", harmed(results)),
    )  # fmt: skip
    for title, lines in parts:
        yield from ("", f"## {title}", "", *lines)


def main(arguments: list[str]) -> None:
    """Write the page and its pictures."""
    registry, paper, tasks = map(Path, arguments)
    results = read_registry(json.loads(registry.read_text("utf-8")))
    told = "\n".join([BEGIN, *page(results, paper.read_text("utf-8"), read_skills(tasks)), "", END])
    text = PAGE.read_text("utf-8")
    PAGE.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: told, text, flags=re.DOTALL), encoding="utf-8")
    for picture in heat_maps(results):
        (DOCS / "pictures" / f"{picture.name}.svg").write_text(svg_file(picture), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
