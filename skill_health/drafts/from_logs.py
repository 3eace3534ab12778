"""Logs of agents -> requests beside the skill that was loaded for them, without what is private."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skill_health.core.errors import UsageError
from skill_health.core.files import here
from skill_health.documents._draft import DraftOrigin
from skill_health.documents.prompt_draft import PromptContent, PromptDraft
from skill_health.drafts.material import DraftingCollection
from skill_health.drafts.prompts.propose import ProposedPrompt
from skill_health.drafts.transcripts._api import TranscriptFormat, TranscriptTurn, transcript_formats
from skill_health.drafts.walk import field_lines
from skill_health.router.records import ListedSkill
from skill_health.text.secrets import hide_private
from skill_health.text.terminal import clean

_MOST_LOGS = 20_000
_MOST_TURNS = 200_000
_MOST_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class FoundLog:
    """A log and the format that it has."""

    path: Path
    form: TranscriptFormat


@dataclass(frozen=True, slots=True)
class LoggedRequests:
    """The requests of logs; `notes` say what was read, and what could not be."""

    proposed: tuple[ProposedPrompt, ...]
    notes: tuple[str, ...]


def find_logs(paths: Sequence[str], home: Path | None = None, env: Mapping[str, str] | None = None) -> list[FoundLog]:
    """The logs that are named or lie below named folders; without any, those at the usual places of each agent.

    Links to folders are not followed. Raises UsageError where a named path holds no log, and where there is none.
    """
    forms = list(transcript_formats())
    home, env = home or Path.home(), os.environ if env is None else env
    usual = [place for form in forms for place in form.usual_places(home, env)]
    found: dict[str, FoundLog] = {}
    for place in map(Path, paths) if paths else usual:
        logs = list(_below(place, forms))
        if paths and not logs:
            raise UsageError(f"no log of {', '.join(form.TITLE for form in forms)} at {place}")
        for log in logs:
            found.setdefault(os.path.realpath(log.path), log)
    if not found:
        raise UsageError(f"no log of an agent: looked at {', '.join(here(str(place)) for place in usual)}; name a path")
    return list(found.values())


def propose_from_logs(
    collection: DraftingCollection, skills: Sequence[ListedSkill], logs: Sequence[FoundLog]
) -> LoggedRequests:
    """The requests for which one of these skills was loaded, what is private in them replaced.

    The skill that was loaded first is expected; others of the collection that were loaded then may fire, too.
    """
    wanted = {skill.name: skill for skill in skills}
    proposed: list[ProposedPrompt] = []
    notes: list[str] = []
    turns: Counter[str] = Counter()
    for log in logs:
        try:
            for turn in log.form.read_log(log.path):
                turns[log.form.TITLE] += 1
                if (each := _propose(collection, wanted, turn, log.form.TITLE)) is not None:
                    proposed.append(each)
                if turns.total() >= _MOST_TURNS:
                    break
        except OSError as error:
            notes.append(f"{clean(here(str(log.path)))} cannot be read: {clean(error.strerror or 'unknown error')}")
    counted = Counter(log.form.TITLE for log in logs)
    notes += [f"{title}: {counted[title]} logs, {turns[title]} requests" for title in sorted(counted)]
    return LoggedRequests(tuple(proposed), tuple(notes))


def _propose(
    collection: DraftingCollection, wanted: Mapping[str, ListedSkill], turn: TranscriptTurn, title: str
) -> ProposedPrompt | None:
    loaded = list(dict.fromkeys(filter(None, map(collection.known.name_of, turn.skills))))
    if not loaded or loaded[0] not in wanted or not turn.request.strip():
        return None
    text = hide_private(turn.request[:_MOST_TEXT]).strip()
    content = PromptContent(
        text=text,
        role="positive",
        expected=loaded[0],
        acceptable=tuple(loaded[1:]),
        reason=f"{title} loaded {loaded[0]} for it.",
    )
    return ProposedPrompt(wanted[loaded[0]], content, DraftOrigin(by="transcript", resolved=title))


def shown_lines(kept: Sequence[PromptDraft], made: Sequence[PromptDraft]) -> Iterator[str]:
    """What would be written, and how many requests are left out for which reason."""
    for number, draft in enumerate(kept, 1):
        yield ""
        yield f"{number} of {len(kept)}  {clean(draft.content.expected or '')} ({clean(draft.origin.resolved)})"
        yield from field_lines("request", draft.content.text)
    left = Counter(draft.verdict.code for draft in made if draft.verdict)
    yield ""
    if left:
        reasons = ", ".join(
            f"{count} {code}" for code, count in sorted(left.items(), key=lambda pair: (-pair[1], pair[0]))
        )
        yield f"{left.total()} requests are left out: {reasons}"
    if kept:
        yield "Keys, e-mail addresses, numbers and home folders are replaced. Names of people and firms are not: read each."


def _below(place: Path, forms: Sequence[TranscriptFormat]) -> Iterator[FoundLog]:
    """The logs at a place, in the order of their paths."""
    if place.is_file():
        yield from (FoundLog(place, form) for form in forms if form.fits(place))
        return
    count = 0
    for folder, folders, files in os.walk(place):
        folders.sort()
        for name in sorted(files):
            path = Path(folder, name)
            for form in forms:
                if form.fits(path):
                    count += 1
                    yield FoundLog(path, form)
                    break
        if count >= _MOST_LOGS:
            return
