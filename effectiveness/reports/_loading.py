"""What the reports say of reaching a skill, offering and loading it; nothing in here escapes anything."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.documents.effect_loading import LoadingEffect
from skill_health.documents.effect_report import ArmContrast, ArmFigures, ModelEffectReport
from skill_health.effectiveness.records import CONTROL, FORCED, FORCED_PLACEBO, PLACEBO, TARGET
from skill_health.effectiveness.reports import _cells
from skill_health.text.numbers import count, percent, points, share

TITLE = "Reached, offered, loaded"
_DIFFERS = {
    "more": "Trials that load by themselves gain more than forced ones would: they are others, agents load where it helps, "
    "or the order itself does harm (forced_placebo - control shows that)",
    "less": "Trials that load by themselves gain less than forced ones would: they are others, agents load where it helps "
    "least, or the order itself helps (forced_placebo - control shows that)",
    "not shown": "Not shown to differ from forced loading",
}


def sentences(model: ModelEffectReport) -> Iterator[str]:
    """The three figures apart, how they compare, and what the last of them assumes; nothing without the first arm."""
    found = model.loading
    if found is None:
        return
    arms = {arm.arm: arm for arm in model.arms}
    contrasts = {(each.arm, each.against): each for each in model.contrasts}
    if arm := arms.get(found.arm):
        yield f"reached: {_reached(arm)}"
    if offered := contrasts.get((found.arm, CONTROL)):
        yield f"helped when offered ({_cells.label(offered)}, intention to treat): {_said(offered)}"
    yield from _forced(found, arms, contrasts)
    complier = found.complier
    shown = points(complier) if complier.value is not None else "no figure"
    why = f" ({complier.note})" if complier.note else ""
    yield (
        f"helped when loaded, in trials that load by themselves (complier effect, the offer as instrument): {shown} points, "
        f"{count(complier.clusters, 'task')}{why}"
    )
    yield from _selected(found)
    if complier.value is not None:
        yield f"the complier effect assumes {'; '.join(found.assumptions)}"
        placebo = contrasts.get((found.arm.replace(TARGET, PLACEBO), CONTROL))
        if placebo:
            yield f"exclusion, checked by a placebo, which should do nothing: {_cells.label(placebo)} is {_said(placebo)}"
        else:
            yield "exclusion is not checked: the run has no placebo"


def _reached(arm: ArmFigures) -> str:
    found = arm.invoked
    counts = f"yes {found.yes:,}, no {found.no:,}, cannot tell {found.not_observable:,}"
    whole = found.yes + found.no + found.not_observable
    if not found.yes + found.no:
        return f"cannot be told of any trial of {arm.arm} ({counts})"
    said = f"{share(found.rate)} % of the trials of {arm.arm} opened the skill ({counts})"
    if not found.not_observable:
        return said
    ends = (found.yes / whole, (found.yes + found.not_observable) / whole)
    return f"{said}; {percent(ends[0])} to {percent(ends[1])} % if none or all of those that cannot be told did"


def _said(contrast: ArmContrast) -> str:
    return (
        f"{points(contrast.delta)} points{_cells.student(contrast)}, {count(contrast.tasks, 'task')}, "
        f"{_cells.tested(contrast)}"
    )


def _forced(
    found: LoadingEffect, arms: dict[str, ArmFigures], contrasts: dict[tuple[str, str], ArmContrast]
) -> Iterator[str]:
    if found.forced is None or (own := contrasts.get((found.forced, CONTROL))) is None:
        return
    arm = arms.get(found.forced)
    obeyed = f"; {_reached(arm)}, and all count" if arm else ""
    yield f"helped when loaded by order ({_cells.label(own)}, randomised): {_said(own)}{obeyed}"
    if against := contrasts.get((found.forced, found.forced.replace(FORCED, FORCED_PLACEBO))):
        yield f"of that by its text, not by the order ({_cells.label(against)}): {_said(against)}"


def _selected(found: LoadingEffect) -> Iterator[str]:
    figure = found.selection
    if figure is None:
        return
    if found.differs is None:
        yield f"against forced loading: {figure.note or 'not testable'}"
        return
    yield (
        f"against forced loading: the offer gained {points(figure)} points more than its loading would have at the gain of "
        f"{found.forced}, {count(figure.clusters, 'task')}. {_DIFFERS[found.differs]}"
    )
