"""Whether a drift is more than the configuration allows."""

from __future__ import annotations

from skill_health.core.config import Daily
from skill_health.drift import Drift


def reasons(drift: Drift, mean_before: float | None, allowed: Daily, prefix: str = "") -> list[str]:
    """One line for each limit that is exceeded; [] where nothing is, on a first run above all.

    `mean_before` is the collection's, also where nothing else of the earlier run is known. A skill that is new, or was
    not scored, has not fallen; what cannot be compared exceeds no limit. `prefix` is put before paths.
    """
    found = []
    now = drift.after.summary.mean
    if mean_before is not None and now is not None and (fell := round(mean_before - now, 4)) > allowed.max_drop:
        found.append(
            f"the collection's score fell by {fell:.4f}, from {mean_before:.4f} to {now:.4f}: "
            f"more than {allowed.max_drop:g} (max-drop)"
        )
    for skill in drift.skills:
        by = skill.score.by
        if by is not None and -by > allowed.max_skill_drop:
            found.append(
                f"{prefix}{skill.path} fell by {-by:.4f}, from {skill.score.before:.4f} to {skill.score.after:.4f}: "
                f"more than {allowed.max_skill_drop:g} (max-skill-drop)"
            )
    errors = sum(new.n for new in drift.new if new.severity == "error")
    if errors > allowed.new_errors:
        found.append(f"{errors} new error{'s' * (errors != 1)}: more than {allowed.new_errors} (new-errors)")
    return found
