"""Effect of a skill: what each model's last run says, the tasks with their arms, and what was kept of the trials."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose

from skill_health.documents.caveats import FoundCaveat, find_effect_caveats
from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.effect_report import EffectReport, SkillEffectReport, TaskArmCounts, TaskReport
from skill_health.documents.skill_grades import SkillGrade
from skill_health.documents.skill_record import SkillRecord
from skill_health.page.figures import MISSING, points, score, share
from skill_health.page.model import Origins, PageCell
from skill_health.page.skill.budget import HtmlBudget, price
from skill_health.page.skill.trials import DEAREST, TrialView, trial_view
from skill_health.trials.find import KeptRuns
from skill_health.trials.kept_files import FileLink, ReportFolders
from skill_health.trials.results import (
    RESULTS,
    Trial,
    TrialLinks,
    kept,
    of_tasks,
    order,
    worst,
)

MOST_TRIALS, MOST_TASKS = 12, 40
"""How many trials have links, and how many tasks are shown, of a skill and model."""
_ARM_ORDER = (
    "control", "target", "negative", "full", "target_plus_one", "target_plus_unrelated", "placebo", "aa", "forced",
    "forced_placebo",
)  # fmt: skip
_MAIN, _FEW = 2, 3
_AROUND, _ARM = 260, 200
"""Bytes of HTML around a task or a trial, and of an arm."""


@dataclass(frozen=True, slots=True)
class TaskArm:
    """An arm of a task: "1 of 2" trials passed, and the mean reward where it says more than that."""

    name: str
    passes: PageCell
    reward: PageCell | None


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task. `flip` says what the skill changes: gained, lost, same, missing; "" where there is no target."""

    id: str
    slug: str
    kind: str
    flip: str
    arms: tuple[TaskArm, ...]

    @property
    def first(self) -> tuple[TaskArm, ...]:
        """The arms that decide whether the skill helps: all of them where there are few."""
        return self.arms if len(self.arms) <= _FEW else self.arms[:_MAIN]

    @property
    def others(self) -> tuple[TaskArm, ...]:
        """The arms that a reader unfolds."""
        return self.arms[len(self.first) :]


@dataclass(frozen=True, slots=True)
class SkillMeasurement:
    """What the last run of a model says of a skill. `left` tasks are not shown, and `unlinked` trials not linked.

    `reached` is the share of trials that opened it where it was offered, `loaded` what that does in these: the complier
    effect. None where there is no such figure.
    """

    line: ModelEffect
    marks: tuple[FoundCaveat, ...]
    notes: tuple[str, ...]
    delta: PageCell
    tasks: tuple[TaskView, ...] = ()
    left: int = 0
    files: tuple[FileLink, ...] = ()
    trials: tuple[TrialLinks, ...] = ()
    unlinked: int = 0
    failing: TrialView | None = None
    unseen: Trial | None = None
    reached: PageCell | None = None
    loaded: PageCell | None = None


@dataclass(frozen=True, slots=True)
class EffectSection:
    """Effect of a skill: the folders of the tasks that name it, and what each model's last run says."""

    grade: SkillGrade
    folders: tuple[str, ...]
    models: tuple[SkillMeasurement, ...]


_Of = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class EffectReports:
    """Skills and tasks of the benchmark's reports by run, model and name of the skill, and the trials of the runs."""

    origins: Origins
    runs: KeptRuns
    skills: Mapping[_Of, SkillEffectReport]
    tasks: Mapping[_Of, tuple[TaskReport, ...]]


@dataclass(frozen=True, slots=True)
class HtmlBudgets:
    """What the page may still spend on tasks, links to trials, and views of failing trials."""

    tasks: HtmlBudget
    links: HtmlBudget
    views: HtmlBudget


def bench(origins: Origins, runs: KeptRuns, reports: Sequence[EffectReport]) -> EffectReports:
    """Where the effect of each skill is looked up."""
    skills: dict[_Of, SkillEffectReport] = {}
    tasks: dict[_Of, list[TaskReport]] = defaultdict(list)
    for report in reports:
        for each in report.models:
            skills.update(((report.run_id, each.model, skill.skill), skill) for skill in each.skills)
            for task in each.tasks:
                tasks[report.run_id, each.model, str(task.skill)].append(task)
    return EffectReports(origins, runs, skills, {key: tuple(found) for key, found in tasks.items()})


def effect(record: SkillRecord, library: EffectReports, purses: HtmlBudgets) -> EffectSection:
    """Effect of a skill, from its record and what the runs that it rests on have left."""
    measured = (_measured(each, library, purses) for each in (*record.effect.models, *record.effect.bundles))
    return EffectSection(record.effect.grade, record.effect.tasks, tuple(measured))


def _measured(line: ModelEffect, library: EffectReports, purses: HtmlBudgets) -> SkillMeasurement:
    model, run, name = line.model, line.run_id, str(line.skill)
    skill, every = library.skills.get((run, model, name)), library.tasks.get((run, model, name), ())
    tasks = []
    for task in (_task(library.origins, each) for each in every[:MOST_TASKS]):
        if not purses.tasks.pay(_AROUND + _ARM * len(task.arms) + price(task.slug + task.id + task.kind)):
            break
        tasks.append(task)
    ran = of_tasks(library.runs.trials(run), model, {task.task_id for task in every})
    shelf = library.runs.shelf
    trials = _linked(shelf, ran, purses.links)
    chosen = worst(ran)
    view = _view(shelf, chosen, purses.views)
    files = [shelf.link(("effectiveness", run, each), each) for each in ("report.json", RESULTS)]
    return SkillMeasurement(
        line, find_effect_caveats(line), skill.verdict.notes if skill else (), points(library.origins, line.delta), tuple(tasks),
        len(every) - len(tasks), tuple(link for link in files if link), trials, len(ran) - len(trials), view,
        None if view else chosen, *_loading(library.origins, skill),
    )  # fmt: skip


def _loading(origins: Origins, skill: SkillEffectReport | None) -> tuple[PageCell | None, PageCell | None]:
    loading = skill.loading if skill else None
    if skill is None or loading is None:
        return None, None
    rate = next((arm.invoked.rate for arm in skill.arms if arm.arm == loading.arm), None)
    reached = share(origins, rate) if rate and rate.value is not None else None
    return reached, points(origins, loading.complier) if loading.testable else None


def _linked(shelf: ReportFolders, ran: Sequence[Trial], purse: HtmlBudget) -> tuple[TrialLinks, ...]:
    """The links of so many trials, the failing ones first: those are read."""
    found = []
    for trial in sorted(ran, key=lambda each: (not each.failed, *order(each)))[:MOST_TRIALS]:
        one = kept(shelf, trial)
        if not one.links or not purse.pay(_AROUND + sum(len(link.to) + len(link.text) + 20 for link in one.links)):
            break
        found.append(one)
    return tuple(found)


def _view(shelf: ReportFolders, trial: Trial | None, purse: HtmlBudget) -> TrialView | None:
    """The view of a trial, whose files are opened only where there is room for any view."""
    if trial is None or purse.left < DEAREST:
        return None
    view = trial_view(shelf, trial)
    return view if purse.pay(view.price) else None


def _task(origins: Origins, task: TaskReport) -> TaskView:
    kind = ", ".join(each for each in (task.category, task.difficulty) if each)
    rank = {name: at for at, name in enumerate(_ARM_ORDER)}
    arms = sorted(task.arms.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0]))
    return TaskView(task.task_id, task.slug, kind, task.flip or "", tuple(_arm(origins, *item) for item in arms))


def _arm(origins: Origins, name: str, arm: TaskArmCounts) -> TaskArm:
    text = f"{arm.passes:,} of {arm.n:,}" if arm.n else MISSING
    more = arm.reward is not None and not (arm.n and isclose(arm.reward, arm.passes / arm.n))
    passes = PageCell(text, arm.passes if arm.n else None, origins.of(arm, "passes"))
    return TaskArm(name, passes, score(origins, arm, "reward") if more else None)
