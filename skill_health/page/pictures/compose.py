"""Whether skills compose: the target with one more, with an unrelated one and among all, less the target alone."""

from __future__ import annotations

from collections.abc import Sequence

from skill_health.page.model import Page, Picture
from skill_health.page.pictures import _effects as effects
from skill_health.page.pictures._caveats import caveated_picture

QUESTION, ORDER = 4, 1
CONTRASTS = ("target_plus_one-target", "target_plus_unrelated-target", "full-target")
_MOST = 12
"""So many skills are drawn below each contrast: those that lose most."""
_HOW = (
    "Left of the line agents do worse than with the target skill alone: skills get in each other's way. An open point "
    "is not testable: fewer than six tasks differ."
)
_CUT = f"Of each contrast {_MOST} are drawn, the testable ones and those that lose most, all are in the table."
_CAPTION = "Success with further skills beside the target less with the target alone, paired by task"


def build(page: Page) -> tuple[Picture, ...]:
    """The interactions over the collection, and those of the skills."""
    found = (
        _picture(page, effects.collection_effects(page), "compose", "More skills beside the target", whole=True),
        _picture(
            page,
            effects.effects_by_skill(page),
            "compose-skills",
            "More skills beside the target, by skill",
            whole=False,
        ),
    )
    return tuple(picture for picture in found if picture is not None)


def _picture(
    page: Page, measured: Sequence[effects.EffectMeasurement], name: str, title: str, whole: bool
) -> Picture | None:
    known = [pair for pair in effects.all_contrasts(measured) if effects.has_value(pair[1])]
    by_contrast = [[pair for pair in known if pair[1].name == wanted] for wanted in CONTRASTS]
    every = [pair for own in by_contrast for pair in own]
    if not every:
        return None
    used = [each for each in measured if any(each is own for own, _ in every)]
    drawn = every if whole else [pair for own in by_contrast for pair in sorted(own, key=_rank)[:_MOST]]
    several = len({each.model for each in used}) > 1
    names = [each.model_label if whole else each.name for each, _ in drawn]
    groups = [effects.describe_contrast(contrast) for _, contrast in drawn]
    if several and not whole:
        groups = [f"{group}, {each.model_label}" for group, (each, _) in zip(groups, drawn, strict=True)]
    table = effects.contrast_table(
        page.origins, every, ("Contrast", "Model") if whole else ("Contrast", "Skill", "Model"), _CAPTION
    )
    alt, left = f"Forest plot of interactions: {_summary(every, whole)}.", _CUT if len(drawn) < len(every) else ""
    return caveated_picture(name, title, alt, effects.forest(drawn, names, groups), table, 4, used, _HOW, left)


def _rank(pair: effects.Pair) -> tuple[bool, float, str, str]:
    """What can be tested first, then what loses most."""
    each, contrast = pair
    return not contrast.testable, contrast.delta.value or 0.0, each.path, each.model


def _summary(every: Sequence[effects.Pair], whole: bool) -> str:
    """The figures of the collection, or the skill that loses most."""
    words = [f"{effects.describe_contrast(contrast)}, {each.model}" for each, contrast in every]
    words = [f"{lead} {effects.describe_difference(pair[1])}" for lead, pair in zip(words, every, strict=True)]
    if whole:
        return "; ".join(words[:6])
    lowest = min(range(len(every)), key=lambda at: (every[at][1].delta.value or 0.0, every[at][0].path))
    tested = sum(contrast.testable for _, contrast in every)
    return f"{len(every)} of skills, {tested} of them testable; lowest {every[lowest][0].name}, {words[lowest]}"
