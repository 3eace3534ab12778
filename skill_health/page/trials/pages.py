"""A trial on a page of its own, and two side by side: from the files that were kept, for a server or a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skill_health import __version__
from skill_health.page.drawing import palette
from skill_health.page.html import page_environment, policy, read_asset
from skill_health.page.sections._load import section_style
from skill_health.page.skill.trials import full_view
from skill_health.page.trials.address import FOLDER, link_trials
from skill_health.trials.find import SIGNS, every_trial, say_state, state_of
from skill_health.trials.kept_files import ReportFolders
from skill_health.trials.reading import WHOLE, read_trial
from skill_health.trials.results import Trial, partner
from skill_health.trials.side_by_side import LinePair, SideBySide, compare_trials
from skill_health.trials.text import facts_of

MOST_PAGES, MOST_BYTES = 2_000, 200 << 20
"""So many trials have pages in a folder of pages, and so many bytes they may have, failing trials first."""
_ROOM, _FRAME = 3_000_000, 20_000
_LINE = 2_000


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another trial of the same task by the same model: how it went, and what to compare it by ("" for itself)."""

    trial: Trial
    state: str
    said: str
    address: str
    beside: str


@dataclass(frozen=True, slots=True)
class TrialPages:
    """Makes the pages of the trials of `runs`; `base` is the folder that holds the folders of the runs' pages.

    `title` is that of the collection, `home` the way from such a page to its page.
    """

    folder: str
    base: str
    title: str
    home: str = "../../"
    ending: str = ""

    def page(self, run: str, trials: Sequence[Trial], name: str, known: Callable[[str], bool] | None = None) -> str:
        """The page of a trial of a run, "" where it has no such trial; what is not `known` is no link."""
        trial = next((each for each in trials if each.name == name), None)
        if trial is None:
            return ""
        shelf = self._shelf(run)
        html = self._render(
            "trial_page.html", run=run, view=full_view(shelf, trial), facts=list(facts_of(read_trial(shelf, trial, WHOLE))),
            state=state_of(trial), said=say_state(trial), neighbours=list(_neighbours(run, trials, trial)),
        )  # fmt: skip
        return link_trials(html, "../", self.ending, known)

    def pair(
        self, run: str, trials: Sequence[Trial], names: tuple[str, str], known: Callable[[str], bool] | None = None
    ) -> str:
        """The page of two trials of a run side by side, "" where one of them is not there."""
        found = {each.name: each for each in trials if each.name in names}
        if len(found) != 2:
            return ""
        shelf = self._shelf(run)
        left, right = (read_trial(shelf, found[name], WHOLE) for name in names)
        both = fitted_pair(compare_trials(shelf, left, right))
        facts = [(name, one, other) for (name, one), (_, other) in zip(facts_of(left), facts_of(right), strict=True)]
        html = self._render(
            "trial_pair.html", run=run, both=both, facts=facts, names=names, said=[say_state(found[name]) for name in names]
        )  # fmt: skip
        return link_trials(html, "../", self.ending, known)

    def _shelf(self, run: str) -> ReportFolders:
        return ReportFolders(self.folder, os.path.join(self.base, FOLDER, run) if self.base else "")

    def _render(self, template: str, **values: object) -> str:
        style = palette.style() + read_asset("page.css") + section_style("skills") + section_style("trials")
        script = read_asset("page.js")
        return (
            page_environment()
            .get_template(template)
            .render(
                title=self.title,
                home=self.home,
                style=style,
                script=script,
                policy=policy(style, script),
                version=__version__,
                signs=SIGNS,
                **values,
            )
        )


def _neighbours(run: str, trials: Iterable[Trial], trial: Trial) -> Iterator[Neighbour]:
    """All trials of its task by its model, itself included, by arm and replication."""
    line = trial.line
    same = [each for each in trials if (each.line.model, each.line.task_id) == (line.model, line.task_id)]
    for each in sorted(same, key=lambda one: (one.line.arm, one.line.replication, one.name)):
        own = each.name == trial.name
        beside = "" if own else f"{run}/{each.name}--{trial.name}"
        yield Neighbour(each, state_of(each), say_state(each), "" if own else f"{run}/{each.name}", beside)


def fitted_pair(found: SideBySide, room: int = _ROOM) -> SideBySide:
    """Two trials without what is beyond `room` characters of lines: later steps and files are counted, not shown."""
    steps, files = [], []
    for step in found.steps:
        room -= (
            _size(step.lines) + 200 + sum(len(each.text) for each in (step.left, step.right) if each and not step.lines)
        )
        if room < 0:
            break
        steps.append(step)
    for file in found.files:
        room -= _size(file.lines) + 200
        if room < 0:
            break
        files.append(file)
    return replace(
        found, steps=tuple(steps), left_steps=found.left_steps + len(found.steps) - len(steps), files=tuple(files),
        left_files=found.left_files + len(found.files) - len(files),
    )  # fmt: skip


def _size(lines: Iterable[LinePair]) -> int:
    return sum(min(len(line.left), _LINE) + min(len(line.right), _LINE) + 60 for line in lines)


def chosen_pages(shelf: ReportFolders, runs: Mapping[str, Sequence[Trial]]) -> frozenset[str]:
    """The addresses of the trials that have pages in a folder of pages: failing ones first, then by run and name."""
    every = sorted(
        ((not trial.failed, run, trial.name, trial) for run, some in runs.items() for trial in some), key=_rank
    )
    chosen, room = set(), MOST_BYTES
    for _, run, name, trial in every[:MOST_PAGES]:
        # A page of its own, and one beside its partner, of which both sides may be as long.
        room -= 3 * min(sum(shelf.files(trial.way).values()) if trial.way else 0, _ROOM) + _FRAME
        if room < 0:
            break
        chosen.add(f"{run}/{name}")
    return frozenset(chosen)


def _rank(one: tuple[bool, str, str, Trial]) -> tuple[bool, str, str]:
    return one[:3]


def write_pages(
    pages: TrialPages, runs: Mapping[str, Sequence[Trial]], chosen: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """The pages of the chosen trials, each beside its partner too: paths of files, with slashes, and their texts."""
    pairs = {
        f"{run}/{other.name}--{trial.name}": (run, other.name, trial.name)
        for run, trials in runs.items()
        for trial in trials
        if f"{run}/{trial.name}" in chosen and (other := partner(trial, _of_task(trials, trial)))
    }

    def known(address: str) -> bool:
        return address in chosen or address in pairs

    for run, trials in runs.items():
        for trial in trials:
            if f"{run}/{trial.name}" in chosen:
                yield f"{FOLDER}/{run}/{trial.name}.html", pages.page(run, trials, trial.name, known)
    for address, (run, *names) in sorted(pairs.items()):
        yield f"{FOLDER}/{address}.html", pages.pair(run, runs[run], (names[0], names[1]), known)


def _of_task(trials: Iterable[Trial], trial: Trial) -> list[Trial]:
    line = trial.line
    return [each for each in trials if (each.line.model, each.line.task_id) == (line.model, line.task_id)]


def flat_runs(runs: Mapping[str, Mapping[tuple[str, str], tuple[Trial, ...]]]) -> dict[str, list[Trial]]:
    """All trials of each run in a list."""
    return {run: every_trial(trials) for run, trials in runs.items()}
