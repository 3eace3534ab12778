"""A trial on a page of its own, and two side by side: from the files that were kept, for a server or a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from operator import itemgetter

from skill_health import __version__
from skill_health.page.drawing import palette
from skill_health.page.html import page_environment, policy, read_asset
from skill_health.page.sections._load import section_style
from skill_health.page.skill.trials import full_view
from skill_health.page.trials.address import FOLDER, link_trials
from skill_health.trials.find import SIGNS, KeptRuns, say_state, state_of
from skill_health.trials.kept_files import ReportFolders
from skill_health.trials.reading import WHOLE, read_trial
from skill_health.trials.results import Trial, partner, same_task
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
    """Makes the pages of trials of `runs`. `title` is that of the collection, `home` the way from them to its page.

    They stand in a folder for each run, below that of the page.
    """

    runs: KeptRuns
    title: str
    home: str = "../../"
    ending: str = ""

    def page(self, run: str, name: str, known: Callable[[str], bool] | None = None) -> str:
        """The page of a trial of a run, "" where it has no such trial; what is not `known` is no link."""
        trial = self.runs.named(run).get(name)
        if trial is None:
            return ""
        view = full_view(self._shelf(run), trial)
        html = _render(
            self, "trial_page.html", run=run, view=view, facts=list(facts_of(view.kept)), state=state_of(trial),
            said=say_state(trial), neighbours=list(_neighbours(run, trial, same_task(self.runs.trials(run), trial))),
        )  # fmt: skip
        return link_trials(html, "../", self.ending, known)

    def pair(self, run: str, names: tuple[str, str], known: Callable[[str], bool] | None = None) -> str:
        """The page of two trials of a run side by side, "" where one of them is not there."""
        named = self.runs.named(run)
        if names[0] == names[1] or not all(name in named for name in names):
            return ""
        shelf = self._shelf(run)
        left, right = (read_trial(shelf, named[name], WHOLE) for name in names)
        both = fitted_pair(compare_trials(shelf, left, right))
        facts = [(name, one, other) for (name, one), (_, other) in zip(facts_of(left), facts_of(right), strict=True)]
        html = _render(self, "trial_pair.html", run=run, both=both, facts=facts, names=names)
        return link_trials(html, "../", self.ending, known)

    def _shelf(self, run: str) -> ReportFolders:
        """The folder of the reports, with links as they lead there from the folder of the run's pages."""
        shelf = self.runs.shelf
        return ReportFolders(shelf.folder, os.path.join(shelf.base, FOLDER, run) if shelf.base else "")


def _render(pages: TrialPages, template: str, **values: object) -> str:
    style, script, allowed = _assets()
    html = page_environment().get_template(template)
    return html.render(
        title=pages.title, home=pages.home, style=style, script=script, policy=allowed, version=__version__, signs=SIGNS,
        **values,
    )  # fmt: skip


@cache
def _assets() -> tuple[str, str, str]:
    """The style sheet and the script of all these pages, and the policy that allows no others."""
    style = palette.style() + read_asset("page.css") + section_style("skills") + section_style("trials")
    script = read_asset("page.js")
    return style, script, policy(style, script)


def _neighbours(run: str, trial: Trial, same: Iterable[Trial]) -> Iterator[Neighbour]:
    """All trials of its task by its model, itself included, by arm and replication."""
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


def chosen_pages(kept: KeptRuns, runs: Iterable[str]) -> frozenset[str]:
    """The addresses of the trials that have pages in a folder of pages: failing ones first, then by run and name."""
    every = [(not trial.failed, run, name, trial) for run in runs for name, trial in kept.named(run).items()]
    chosen, room = set(), MOST_BYTES
    for _, run, name, trial in sorted(every, key=itemgetter(0, 1, 2))[:MOST_PAGES]:
        # A page of its own, and one beside its partner, of which both sides may be as long.
        room -= 3 * min(sum(kept.shelf.files(trial.way).values()) if trial.way else 0, _ROOM) + _FRAME
        if room < 0:
            break
        chosen.add(f"{run}/{name}")
    return frozenset(chosen)


def write_pages(pages: TrialPages, runs: Iterable[str], chosen: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The pages of the chosen trials, each beside its partner too: paths of files, with slashes, and their texts."""
    own = [(run, name) for run in runs for name in pages.runs.named(run) if f"{run}/{name}" in chosen]
    pairs = {}
    for run, name in own:
        trial = pages.runs.named(run)[name]
        if other := partner(trial, same_task(pages.runs.trials(run), trial)):
            pairs[f"{run}/{other.name}--{name}"] = run, (other.name, name)

    def known(address: str) -> bool:
        return address in chosen or address in pairs

    for run, name in own:
        yield f"{FOLDER}/{run}/{name}.html", pages.page(run, name, known)
    for address, (run, names) in sorted(pairs.items()):
        yield f"{FOLDER}/{address}.html", pages.pair(run, names, known)
