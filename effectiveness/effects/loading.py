"""What loading a skill does, beside what its offer does: the complier effect, and forced loading against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from skill_health.documents.effect_loading import LoadingEffect
from skill_health.effectiveness.effects.arms import count_invocations, full_figure
from skill_health.effectiveness.effects.contrasts import LEAST, ArmPair, difference_of, paired_cells, within
from skill_health.effectiveness.effects.sheet import Cells, CellTrials, TaskFacts, TrialRunFacts
from skill_health.effectiveness.records import FORCED, PROMPT
from skill_health.stats.estimates import Estimate
from skill_health.stats.resampling import complier_effect, paired_t

ASSUMPTIONS = (
    "exclusion: the offer changes nothing unless the skill is loaded",
    "monotonicity: no trial loads it that would not if it were offered, which holds here: the control has none to load",
    "loading is seen in every trial",
)


def measure_loading(
    pair: ArmPair | None, tasks: Sequence[TaskFacts], facts: TrialRunFacts, cells: Cells
) -> LoadingEffect | None:
    """What loading does over these tasks; `pair` is the primary contrast.

    None where there is none, where the skills stand in the prompt, and where none of the tasks has both arms at all.
    """
    if pair is None or facts.arms[pair.arm].delivery == PROMPT:
        return None
    if not any({pair.arm, pair.against} <= set(task.arms) for task in tasks):
        return None
    name = replace(facts.arms[pair.arm], condition=FORCED, hint=False).name
    forced = name if name in facts.arms else None
    both = paired_cells(pair.arm, pair.against, tasks, cells)
    counts = count_invocations(one for one, _ in both)
    complier = _complier(both, counts.not_observable, pair.arm)
    selection = _selection(forced, pair, tasks, cells) if forced else None
    if selection and counts.not_observable:
        selection = Estimate(None, note=complier.note)
    return LoadingEffect(
        arm=pair.arm,
        forced=forced,
        unknown=counts.not_observable,
        complier=full_figure(complier),
        testable=complier.low is not None,
        assumptions=ASSUMPTIONS,
        selection=full_figure(selection) if selection else None,
        differs=_differs(selection),
    )


def _complier(both: Sequence[tuple[CellTrials, CellTrials]], unknown: int, arm: str) -> Estimate:
    if not both:
        return Estimate(None, note="not testable: no task has a scored trial in both arms")
    plain = Estimate(None, n=len(both), clusters=len(both))
    if unknown:
        trials = sum(len(one.trials) for one, _ in both)
        return replace(
            plain,
            note=f"not testable: of {unknown} of {trials} trials of {arm} it cannot be told whether they loaded it",
        )
    loaded = [loaded_share(one) for one, _ in both]
    if not any(loaded):
        return replace(plain, note=f"not testable: no trial of {arm} loaded the skill")
    found = within(complier_effect([difference_of(*each) for each in both], loaded), 1.0)
    # Noise, or an offer that acts by itself, can take the ratio to where no difference of shares is.
    return found if found.value is None else replace(found, value=min(max(found.value, -1.0), 1.0))


def loaded_share(cell: CellTrials) -> float:
    """The share of a task's trials in an arm that opened a skill."""
    return sum(trial.invoked == "yes" for trial in cell.trials) / len(cell.trials)


def _selection(forced: str, pair: ArmPair, tasks: Sequence[TaskFacts], cells: Cells) -> Estimate:
    """What the offer gained less what its loading would have at the gain of forced trials, over tasks with all arms.

    A product of means: the values are those of its linearisation (the delta method), one for each task.
    """
    own = [task for task in tasks if all(cells.get((task.id, arm)) for arm in (pair.arm, pair.against, forced))]
    offered = [difference_of(*each) for each in paired_cells(pair.arm, pair.against, own, cells)]
    ordered = [difference_of(*each) for each in paired_cells(forced, pair.against, own, cells)]
    loaded = [loaded_share(cells[task.id, pair.arm]) for task in own]
    plain = Estimate(None, n=len(own), clusters=len(own))
    if not own:
        return replace(
            plain, note=f"not testable: no task has a scored trial in {pair.arm}, {forced} and {pair.against}"
        )
    differing = min(sum(each != 0 for each in values) for values in (offered, ordered))
    if differing < LEAST:
        return replace(plain, note=f"not testable: {differing} of {len(own)} tasks differ, {LEAST} are needed")
    gain, share = sum(ordered) / len(own), sum(loaded) / len(own)
    values = [y - gain * d - share * f + gain * share for y, d, f in zip(offered, loaded, ordered, strict=True)]
    return within(paired_t(values), 2.0)


def _differs(selection: Estimate | None) -> Literal["more", "less", "not shown"] | None:
    if selection is None or selection.low is None or selection.high is None:
        return None
    return "more" if selection.low > 0 else "less" if selection.high < 0 else "not shown"
