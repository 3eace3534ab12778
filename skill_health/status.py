"""From a collection and its reports to the joined records: a lint run of now, and the last lines of two histories."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from skill_health.core.config import Config
from skill_health.effect_history import read_effects
from skill_health.engine import LintResult
from skill_health.formats._api import Report
from skill_health.lint import lint
from skill_health.lint_run import BASELINE
from skill_health.profiles import COMPAT
from skill_health.record_cells import CollectionStatus
from skill_health.record_digest import digests_now
from skill_health.record_next import CommandBuilder
from skill_health.record_routing import read_skill_routing
from skill_health.router_names import names_now, texts_now
from skill_health.skill_record import build_records


@dataclass(frozen=True, slots=True)
class JoinedRecords:
    """The records, and the lint run that they rest on.

    `report` leaves out what a baseline knows, `whole` does not. `digests` are those of all skills as they would be
    staged now, by name.
    """

    status: CollectionStatus
    digests: Mapping[str, str | None]
    report: Report
    whole: Report
    result: LintResult


def read_status(
    paths: Sequence[str], root: str, config: Config, as_of: date, folder: str, jobs: int, use_cache: bool
) -> tuple[CollectionStatus, Mapping[str, str | None]]:
    """The records of the skills that `paths` name, and the digests of all skills as they would be staged now.

    `folder` holds the reports. Raises UsageError as `lint` does; whatever the histories hold costs a note at most.
    """
    joined = read_joined(paths, root, config, as_of, folder, jobs, use_cache)
    return joined.status, joined.digests


def read_joined(
    paths: Sequence[str], root: str, config: Config, as_of: date, folder: str, jobs: int, use_cache: bool
) -> JoinedRecords:
    """The same together with the lint run behind it, for whoever shows more of it than the records do."""
    whole, result = lint(paths, root, config, as_of, jobs, use_cache, score=True)
    report = whole
    if config.profile != COMPAT and (config.baseline or os.path.exists(os.path.join(root, BASELINE))):
        from skill_health.baseline import with_baseline

        report = with_baseline(report, root, config, None, False)
    routed = read_skill_routing(folder, texts_now(root, result.facts))
    digests = digests_now(root, result.entries, result.facts)
    effects = read_effects(folder, lambda: digests, tuple(digests))
    records = build_records(report, result, routed, effects, config.fail_on, names_now(root, result.facts))
    notes = (*report.warnings, *(routed.problems if routed else ()), *(effects.problems if effects else ()))
    place = CommandBuilder(tuple(paths), report.prefix)
    status = CollectionStatus(records, routed, effects, place, report.version, report.profile, notes)
    return JoinedRecords(status, digests, report, whole, result)
