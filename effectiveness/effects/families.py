"""All contrasts of a run, corrected for how many are tested together.

Four families. The primary contrast of all models, and that of all pairs of model and skill, are each corrected by
Holm's method: they decide verdicts, and the chance of any false one is to be 5 %. All other contrasts of models and,
apart from these, all others of skills and categories are corrected by Benjamini and Hochberg's: of those found, 5 % are
false on average. What is not testable is in no family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from skill_health.effectiveness.effects.contrasts import Contrast, compare
from skill_health.effectiveness.effects.facts import TaskFacts, TrialRunFacts
from skill_health.effectiveness.effects.pairs import ArmPair, pairs
from skill_health.effectiveness.effects.sheet import ModelTrials, RunTrials
from skill_health.stats.multiplicity import benjamini_hochberg, holm

HOLM, FALSE_SHARE = "holm", "benjamini-hochberg"
_METHODS: Mapping[str, Callable[[Sequence[float | None]], list[float | None]]] = {
    HOLM: holm,
    FALSE_SHARE: benjamini_hochberg,
}


@dataclass(frozen=True, slots=True)
class Scope:
    """What a contrast is over: all tasks with a target ("", ""), those of a skill or those of a category."""

    kind: str = ""
    name: str = ""


ALL = Scope()
Table = dict[tuple[str, Scope], tuple[Contrast, ...]]
"""The contrasts of each model in each scope."""


@dataclass(frozen=True, slots=True)
class Families:
    """All contrasts, and how many primary ones were tested together: of models, and of models with skills."""

    table: Table
    models: int
    skills: int

    def primary(self, spec: str, scope: Scope) -> Contrast | None:
        """The contrast that decides the verdict; None where the run has no such arms."""
        return next((each for each in self.table[spec, scope] if each.pair.kind == "primary"), None)

    def find(self, spec: str, scope: Scope, arm: str, against: str) -> Contrast | None:
        """The contrast of these two arms, if there is one."""
        found = self.table[spec, scope]
        return next((each for each in found if (each.pair.arm, each.pair.against) == (arm, against)), None)


def scopes(facts: TrialRunFacts) -> dict[Scope, tuple[TaskFacts, ...]]:
    """The tasks of every scope, in the order of its name; a task that names no skill is in none of a skill."""
    found: dict[Scope, tuple[TaskFacts, ...]] = {ALL: facts.targets}
    for skill in sorted({task.skill for task in facts.targets if task.skill is not None}):
        found[Scope("skill", skill)] = tuple(task for task in facts.targets if task.skill == skill)
    for category in sorted({task.category for task in facts.targets}):
        found[Scope("category", category)] = tuple(task for task in facts.targets if task.category == category)
    return found


def families(sheet: RunTrials) -> Families:
    """Every contrast of every model over all tasks with a target, each skill's, and each category's."""
    facts = sheet.facts
    wanted = pairs(facts.arms)
    table: Table = {}
    for scope, tasks in scopes(facts).items():
        asked = [pair for pair in wanted if pair.kind == "primary"] if scope.kind == "category" else wanted
        for column in sheet.columns:
            table[column.spec, scope] = tuple(_all(asked, tasks, column, facts.seed))
    sizes = {}
    for kinds, primary in ((("",), True), (("skill",), True), (("",), False), (("skill", "category"), False)):
        sizes[kinds, primary] = _correct(table, kinds, primary)
    return Families(table, sizes[("",), True], sizes[("skill",), True])


def _all(wanted: Iterable[ArmPair], tasks: Sequence[TaskFacts], column: ModelTrials, seed: int) -> Iterable[Contrast]:
    return (found for pair in wanted if (found := compare(pair, tasks, column.cells, seed)))


def _correct(table: Table, kinds: Sequence[str], primary: bool) -> int:
    """Adjust one family in place; how many of it are testable."""
    places = [
        (key, at)
        for key, found in table.items()
        for at, each in enumerate(found)
        if key[1].kind in kinds and (each.pair.kind == "primary" and key[1].kind != "category") == primary
    ]
    ps = [table[key][at].delta.p for key, at in places]
    method = HOLM if primary else FALSE_SHARE
    for (key, at), adjusted in zip(places, _METHODS[method](ps), strict=True):
        found = list(table[key])
        found[at] = found[at].corrected(adjusted, method)
        table[key] = tuple(found)
    return sum(p is not None for p in ps)
