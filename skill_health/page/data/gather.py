"""From a collection and its reports to everything that the page shows: read and joined here, drawn elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from typing import Any

from skill_health.config.settings import Config
from skill_health.core.git import Revision
from skill_health.core.strict_json import escape_surrogates, plain_values
from skill_health.daily.history import HistoryLine
from skill_health.daily.today import check_today
from skill_health.formats.json import document as lint_document
from skill_health.page.data.changes import changes, read_state, with_basis
from skill_health.page.data.claims_age import claims
from skill_health.page.data.histories import daily_history, effect_history, router_history
from skill_health.page.data.listing import listing
from skill_health.page.data.reports import effect_reports, router_reports
from skill_health.page.data.state import state
from skill_health.page.data.trends import marks, trends
from skill_health.page.model import Page, SkillVerdict
from skill_health.page.origin import JsonNode, document
from skill_health.page.verdict.answers import answers as answer_all
from skill_health.page.verdict.verdicts import verdict
from skill_health.status.join import JoinedRecords, read_joined
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.render import document as status_document

SCHEMA = "skill-health/page/1"
TITLE = "Skill health"
_MOST_STATE = 4 << 20


def read_page(
    paths: Sequence[str],
    root: str,
    config: Config,
    as_of: date,
    folder: str,
    jobs: int,
    use_cache: bool,
    base: str = "",
    last: str = "",
    title: str = TITLE,
) -> Page:
    """Everything that is known of the skills that `paths` name.

    `folder` holds the reports, `base` is the folder that the page is written to, and `last` the page that is to be
    replaced, from which the state to compare with is read ("" for none). Raises UsageError as `lint` does; whatever
    the histories, the reports and the last page hold costs a note at most.
    """
    asked = [os.path.relpath(os.path.realpath(path), root).replace(os.sep, "/") for path in paths]
    joined = read_joined(paths, root, config, as_of, folder, jobs, use_cache)
    # Seen from the root, commands are the same on any machine and from any folder that the page is made in.
    status = replace(joined.status, place=CommandBuilder(tuple(asked)))
    histories = (daily_history(folder), router_history(folder), effect_history(folder))
    (history, _), (routes, _), (helped, _) = histories
    reports = (router_reports(folder, status), effect_reports(folder, status))
    (router, _), (effects, _) = reports
    old, wrong = _last_state(last) if last else (None, ())
    verdicts = {escape_surrogates(each.path): verdict(each, status.place) for each in status.records}
    answers = answer_all(status, joined.report, config, verdicts, effects)
    own = _own(joined, asked, config, as_of, history, verdicts, answers, title, old)
    further = [note for _, some in (*histories, *reports) for note in some]
    return Page(
        title=title,
        version=status.version,
        as_of=as_of.isoformat(),
        status=document("status", plain_values(status_document(status, joined.digests))),
        lint=document("lint", plain_values(lint_document(joined.report))),
        history=history,
        router_history=routes,
        effect_history=helped,
        router=router,
        effects=effects,
        own=document("page", own),
        verdicts=verdicts,
        answers=answers,
        notes=tuple(dict.fromkeys(escape_surrogates(note) for note in (*status.notes, *further, *wrong))),
        folder=os.path.abspath(folder) if folder else "",
        base=os.path.abspath(base) if base else "",
    )


def _last_state(last: str) -> tuple[Mapping[str, Any] | None, tuple[str, ...]]:
    """The state that the last page keeps. What it holds goes into this page again, so it may not be of any length."""
    old, wrong = read_state(last)
    if old is None or len(json.dumps(old)) <= _MOST_STATE:
        return old, wrong
    return None, ("the state in the last page is too long: what has changed since is not known",)


def _own(
    joined: JoinedRecords,
    asked: Sequence[str],
    config: Config,
    as_of: date,
    history: JsonNode,
    verdicts: Mapping[str, SkillVerdict],
    answers: Mapping[int, SkillVerdict],
    title: str,
    old: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """What only the page knows (core/schemas/page.schema.json)."""
    records = {escape_surrogates(each.path): each for each in joined.status.records}
    skills = [each.path for each in joined.status.records]
    now = _line(joined, asked, config, as_of)
    listed = listing(joined.result, skills, config)
    aged = claims(joined.result, skills, config, as_of)
    day, version = as_of.isoformat(), joined.status.version
    kept = with_basis(state(records, verdicts, listed["skills"], aged, day, version), old)
    return {
        "schema": SCHEMA,
        "version": version,
        "title": title,
        "as_of": day,
        "descriptions": {
            escape_surrogates(path): escape_surrogates(str(joined.result.facts[path]["summary"]["description"]))
            for path in skills
        },
        "listing": listed,
        "claims": aged,
        "trends": trends(history, now),
        "marks": marks(history, now.paths, config.daily.max_drop),
        "verdicts": {path: _verdict(each) for path, each in verdicts.items()},
        "answers": {str(question): _verdict(each) for question, each in answers.items()},
        "changes": changes(kept),
        "state": kept,
    }


def _line(joined: JoinedRecords, asked: Sequence[str], config: Config, as_of: date) -> HistoryLine:
    """The line that a daily run of now would write; findings that a baseline knows are among it there too."""
    time = f"{as_of.isoformat()}T00:00:00Z"
    return check_today(joined.whole, joined.result, config, as_of, time, asked, Revision()).line


def _verdict(each: SkillVerdict) -> dict[str, Any]:
    return plain_values(asdict(each))  # type: ignore[no-any-return]
