"""The daily run: snapshot, history line, and the drift since the last comparable run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from skill_health.config.settings import Config, Daily
from skill_health.core.boundary import git_top
from skill_health.core.errors import UsageError
from skill_health.core.files import here, is_there, write_text
from skill_health.core.history import append_history, read_backwards
from skill_health.daily import drift_report
from skill_health.daily.drift import Drift, compare, rise
from skill_health.daily.drift_report import (
    DriftSection,
    build_drift_document,
    build_sections,
    effect_sections,
    mean_before,
    risk_sections,
    routing_sections,
)
from skill_health.daily.earlier import HISTORY, EarlierRuns, find_earlier
from skill_health.daily.risks import RiskRater, find_risk_changes, rate_today
from skill_health.daily.states import STATES, append_state, pack_run, read_states
from skill_health.daily.today import TodayRun, check_today
from skill_health.discovery.changes import read_revision
from skill_health.documents._record import record_values
from skill_health.documents.drift_report import RiskChange
from skill_health.documents.effect_history import Effects, read_effects
from skill_health.documents.router_history import RoutingHistory, read_routing
from skill_health.documents.skill_grades import SkillGrade, count_grades, grade_skills
from skill_health.formats._snapshot import render_snapshot
from skill_health.lint.baseline import without_known
from skill_health.lint.pipeline import lint
from skill_health.lint.readable import require_readable
from skill_health.rules._load import all_rules
from skill_health.status.join import digests_now, names_now, texts_now
from skill_health.status.records import summaries
from skill_health.status.risks import risk_key
from skill_health.text.terminal import clean, markdown_text, paint

_MOST = 8
_DETAILS = 6
_WIDEST = 300


def render_drift_text(
    head: Sequence[str], reasons: Sequence[str], collection: Sequence[str], parts: Sequence[DriftSection], color: bool
) -> str:
    """The run, the collection, the beginning of every section, and last the verdict, one line for each limit."""
    lines = [*map(_text, head), "", *(f"  {_text(line)}" for line in collection), ""]
    for section in parts:
        lines += _section(section, color)
    if reasons:
        lines += [f"{paint('drift:', 'red', color)} {_text(reason)}" for reason in reasons]
    else:
        lines.append(paint("no drift beyond the limits", "green", color))
    return "\n".join(lines) + "\n"


def _section(section: DriftSection, color: bool) -> Iterator[str]:
    title = f"{section.title} ({len(section.items)})"
    yield paint(_text(title), "yellow" if section.bad else "bold", color)
    for item in section.items[:_MOST]:
        yield f"  {_text(item.text)}"
        yield from (f"      {_text(detail)}" for detail in item.details[:_DETAILS])
        if len(item.details) > _DETAILS:
            yield f"      and {len(item.details) - _DETAILS} more"
    if len(section.items) > _MOST:
        yield f"  and {len(section.items) - _MOST} more"
    if section.note:
        yield f"  {_text(section.note)}"
    if section.command:
        yield f"  {section.command}"
    yield ""


def _text(text: str) -> str:
    return clean(text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…")


_MARKDOWN_MOST = 200
_MARKDOWN_WIDEST = 400


def render_drift_markdown(
    head: Sequence[str], reasons: Sequence[str], collection: Sequence[str], parts: Sequence[DriftSection]
) -> str:
    """A whole document: the run, the verdict, the collection, and every section. Each is given as plain text."""
    lines = ["# Skill health: drift", ""]
    for sentence in head:
        lines += [_markdown_text(sentence), ""]
    if reasons:
        lines += ["**Drift beyond the limits:**", "", *(f"- {_markdown_text(reason)}" for reason in reasons), ""]
    else:
        lines += ["No drift beyond the limits.", ""]
    lines += ["## Collection", "", *(f"- {_markdown_text(line)}" for line in collection), ""]
    for section in parts:
        lines += _markdown_section(section)
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown_section(section: DriftSection) -> Iterator[str]:
    yield f"## {_markdown_text(section.title)} ({len(section.items)})"
    yield ""
    for item in section.items[:_MARKDOWN_MOST]:
        yield f"- {_markdown_text(item.text)}"
        yield from (f"  - {_markdown_text(detail)}" for detail in item.details)
    if len(section.items) > _MARKDOWN_MOST:
        yield f"- and {len(section.items) - _MARKDOWN_MOST} more"
    yield ""
    if section.note:
        yield _markdown_text(section.note)
        yield ""
    if section.command:
        yield from ("```sh", section.command, "```", "")


def _markdown_text(text: str) -> str:
    shown = text if len(text) <= _MARKDOWN_WIDEST else text[: _MARKDOWN_WIDEST - 1] + "…"
    return markdown_text(shown).replace(" -&gt; ", " → ")


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
        by = rise(skill.score)
        if by is not None and -by > allowed.max_skill_drop:
            found.append(
                f"{prefix}{skill.path} fell by {-by:.4f}, from {skill.score.before:.4f} to {skill.score.after:.4f}: "
                f"more than {allowed.max_skill_drop:g} (max-skill-drop)"
            )
    errors = sum(new.n for new in drift.new if new.severity == "error")
    if errors > allowed.new_errors:
        found.append(f"{errors} new error{'s' * (errors != 1)}: more than {allowed.new_errors} (new-errors)")
    return found


SNAPSHOT, DRIFT = "skill-health.json", "skill-health-drift.md"


@dataclass(frozen=True, slots=True)
class DailyOutcome:
    """What a daily run found. `render_snapshot` is the text of its JSON report; `prefix` leads from here to the root.

    `grades` are the verdicts of lint, by path, without the findings that a baseline knows: so many are `known`. The
    history and the drift have these findings too. `notes` are for people: what could not be read on the way. `routing`
    is what the router's history says, `effects` what the history of the effectiveness benchmark does, `risk` how likely
    skills lose their requests.
    """

    today: TodayRun
    earlier: EarlierRuns
    drift: Drift
    reasons: list[str]
    snapshot: str
    prefix: str
    notes: tuple[str, ...]
    config: Config
    grades: Mapping[str, SkillGrade]
    known: int
    routing: RoutingHistory | None = None
    effects: Effects | None = None
    risk: RiskChange | None = None


def run_daily(
    paths: Sequence[str], root: str, config: Config, as_of: date, time: str, folder: str, jobs: int, use_cache: bool,
    rater: RiskRater | None = None,
) -> DailyOutcome:  # fmt: skip
    """Lint, score and compare with the history in `folder`; nothing is written.

    `time` is when, in UTC to the second. Without a `rater` no risk is told.

    Raises UsageError as `lint` does, for what cannot be read, and where damage left nothing to compare with: to pass
    then would accept whatever has happened since.
    """
    report, result = lint(paths, root, config, as_of, jobs, use_cache, score=True)
    require_readable(result.entries, result.unread)
    left = without_known(report, root, config)
    revision = read_revision(root, git_top(root), _own_files(root, folder))
    asked = [os.path.relpath(os.path.realpath(path), root).replace(os.sep, "/") for path in paths]
    today = check_today(report, result, config, as_of, time, asked, revision)
    earlier = find_earlier(
        read_backwards(os.path.join(folder, HISTORY)),
        lambda key: read_states(os.path.join(folder, STATES), [key]).get(key),
        today.line,
        config.daily.window,
    )
    if damage := _damage(folder, earlier):
        raise UsageError(
            f"there is nothing left to compare with in {here(folder)}: {damage}; restore {HISTORY} and {STATES}, or remove "
            "both to begin anew"
        )
    before, note = earlier.last or earlier.other, ""
    if rater and config.daily.risk:
        key = risk_key(root, config, report.version, result.entries, names_now(root, result.facts))
        line, note = rate_today(today.line, rater, config.router.listing, key, (before,))
        today = replace(today, line=line)
    # Skills that were not asked for then are not new now.
    before = before if before and before.paths == today.line.paths else None
    drift = Drift(None, today.line)
    if before:
        notes_of = {path: {part.name: part.note for part in score.parts} for path, score in today.scores.items()}
        drift = compare(before, today.line, earlier.last is not None, notes_of)
    risk = find_risk_changes(before, today.line, drift.added, drift.renamed, config.daily)
    if risk and not risk.compared and before and before.risk:
        note = f"risks are not compared: another version, model or listing gave those of {before.time[:10]}"
    why = reasons(drift, mean_before(earlier), config.daily)
    kept = render_snapshot(left, result)
    notes = (*report.warnings, *filter(None, [revision.note, note]))
    routing = read_routing(folder, texts_now(root, result.facts))
    names = {own.name for own in summaries(result.facts).values()}
    effects = read_effects(folder, lambda: digests_now(root, result.entries, result.facts), names)
    return DailyOutcome(
        today, earlier, drift, why, kept, report.prefix, notes, config, grade_skills(left), left.baselined, routing,
        effects, risk,
    )  # fmt: skip


def _damage(folder: str, earlier: EarlierRuns) -> str:
    """What has happened to the history where nothing can be compared, "" where there is none yet."""
    if earlier.damaged:
        return earlier.problems[0]
    if earlier.last or earlier.other or earlier.plan or not is_there(os.path.join(folder, HISTORY)):
        return ""
    lost = any(True for _ in read_backwards(os.path.join(folder, STATES)))
    return f"{HISTORY} has no line of a run, and {STATES} has" if lost else ""


def as_text(outcome: DailyOutcome, color: bool = False) -> str:
    """The short form for a terminal, with paths as seen from the current directory."""
    head, collection = _head(outcome), _collection(outcome)
    parts = _parts(outcome, outcome.prefix)
    before = mean_before(outcome.earlier)
    why = reasons(outcome.drift, before, outcome.config.daily, outcome.prefix)
    return render_drift_text(head, why, collection, parts, color)


def as_markdown(outcome: DailyOutcome) -> str:
    """The whole report, with paths as seen from the root."""
    return render_drift_markdown(_head(outcome), outcome.reasons, _collection(outcome), _parts(outcome))


def as_json(outcome: DailyOutcome) -> str:
    """The whole report for other programs."""
    record = build_drift_document(
        outcome.drift, outcome.today, outcome.earlier, outcome.reasons, outcome.routing, outcome.effects,
        outcome.risk,
    )  # fmt: skip
    return json.dumps(record_values(record), indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def write(outcome: DailyOutcome, folder: str) -> Iterator[str]:
    """Write the files and yield the path of each once it is there.

    The history is last: a run that is stopped before is as if it had not been, and its drift is found again.
    Raises UsageError where a file cannot be written.
    """
    for name, text in ((SNAPSHOT, outcome.snapshot), (DRIFT, as_markdown(outcome))):
        write_text(os.path.join(folder, name), text)
        yield os.path.join(folder, name)
    line, state = pack_run(outcome.today.line, outcome.earlier.state)
    if state:
        append_state(os.path.join(folder, STATES), state)
        yield os.path.join(folder, STATES)
    append_history(os.path.join(folder, HISTORY), record_values(line))
    yield os.path.join(folder, HISTORY)


def _parts(outcome: DailyOutcome, prefix: str = "") -> list[DriftSection]:
    parts = build_sections(outcome.drift, outcome.today, _rule_names(), prefix)
    risks = risk_sections(outcome.risk, prefix)
    return [*parts, *risks, *routing_sections(outcome.routing), *effect_sections(outcome.effects)]


def _head(outcome: DailyOutcome) -> list[str]:
    others = [note for part in (outcome.routing, outcome.effects) if part for note in part.problems]
    notes = [f"Note: {note}." for note in (*outcome.notes, *outcome.earlier.problems, *others)]
    return [drift_report.today_is(outcome.today.line), *drift_report.comparison(outcome.drift, outcome.earlier), *notes]


def _collection(outcome: DailyOutcome) -> list[str]:
    lines, known = list(drift_report.collection(outcome.drift, outcome.earlier)), outcome.known
    if outcome.grades:
        left_out = f", without the {known:,} finding{'s' * (known != 1)} in the baseline" if known else ""
        lines.append(f"lint: {count_grades(outcome.grades.values())}{left_out}")
    return lines


def _rule_names() -> dict[str, str]:
    return {rule.code: rule.name for rule in all_rules()}


def _own_files(root: str, folder: str) -> list[str]:
    """What a daily run itself changes, relative to the root: the folder of the reports, or its files in the root."""
    inside = os.path.relpath(os.path.realpath(folder), root).replace(os.sep, "/")
    if inside == ".":
        return [SNAPSHOT, STATES, HISTORY, DRIFT]
    return [] if inside.startswith("../") or inside == ".." else [inside]
