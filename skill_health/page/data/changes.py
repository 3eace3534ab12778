"""What has changed since the page that is about to be overwritten: its state is read back, from it or from beside it.

The page holds its state itself. A page that is not kept, as in a scheduled job, leaves it in a small file of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Final

import msgspec

from skill_health.core.files import is_there, read_if_there, read_limited
from skill_health.core.strict_json import escape_surrogates
from skill_health.documents import page_data as data
from skill_health.documents._foreign import read_record
from skill_health.documents._record import record_values
from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.skill_record import SkillRecord, SkillRouted
from skill_health.page.model import SkillVerdict
from skill_health.page.verdict.ranking import effect_rank, route_rank

STATE: Final = "skill-health/page-state/1"
HEAD = f'{{"schema": "{STATE}",'
MARKER = 'id="skill-health-state"'
FOREIGN = "what stands in the place of the last page is no page of skill-health: what has changed is not known"
_MOST = 64 << 20
FIELDS: tuple[data.StateField, ...] = (
    "verdict", "score", "recall_model", "recall", "effect_verdict", "effect", "tokens", "stale_claims", "name",
)  # fmt: skip


def read_page_file(path: str) -> str | None:
    """The text of a page of ours, damaged or not; "" where there is none yet, None where something else is there."""
    if not is_there(path, links=False):
        return ""
    try:
        raw = read_limited(path, _MOST)
    except OSError:
        return None
    text = None if raw is None else raw.decode("utf-8", "replace")
    return text if text is not None and (not text.strip() or MARKER in text) else None


def state_file(path: str) -> str:
    """Where the state of a page stands once more: index.state.json for index.html."""
    return f"{os.path.splitext(path)[0]}.state.json"


def state_text(state: data.PageState) -> str:
    """The content of that file."""
    values = record_values(state)
    values.pop("schema")
    return f"{HEAD}{json.dumps(values, sort_keys=True, indent=1)[1:]}\n"


def read_state(path: str) -> tuple[data.PageState | None, tuple[str, ...]]:
    """The state of a page, None where there is none, and a note where it is damaged.

    Raises UsageError for a state beside the page that cannot be read: the next one would be written over it.
    """
    text = read_page_file(path)
    if text is None:
        return None, (FOREIGN,)
    if text.strip():
        start = text.find(">", text.index(MARKER)) + 1
        end = text.find("</script", start)
        told = text[start:end] if start and end >= 0 else ""
    else:
        raw = read_if_there(state_file(path), _MOST)
        if raw is None:
            return None, ()
        told = raw.decode("utf-8", "replace")
    try:
        return read_record(told.encode(), data.PageState), ()
    except ValueError:
        return None, ("the state in the last page is damaged: what has changed since is not known",)


def with_basis(now: data.PageState, old: data.PageState | None) -> data.PageState:
    """The state to keep in the page: that of now, and as `previous` the one that it is compared with.

    Where nothing has changed since the last page, what that was compared with stays: the same input makes the same
    page again.
    """
    basis: data.PageState | data.PreviousState | None = old
    if old is not None and old.skills == now.skills:
        basis = old.previous
    previous = basis and data.PreviousState(as_of=basis.as_of, version=basis.version, skills=basis.skills)
    return msgspec.structs.replace(now, previous=previous)


def changes(state: data.PageState) -> data.PageChanges | None:
    """What has changed since the page that a state is compared with; None where there is none."""
    before = state.previous
    if before is None:
        return None
    old, new = before.skills, state.skills
    both = [path for path in sorted(new) if path in old]
    skills = (data.MovedSkill(path=path, name=new[path].name, what=_what(old[path], new[path])) for path in both)
    return data.PageChanges(
        since=data.PageBefore(as_of=before.as_of, version=before.version),
        added=tuple(data.NamedSkill(path=path, name=new[path].name) for path in sorted(new.keys() - old.keys())),
        removed=tuple(data.NamedSkill(path=path, name=old[path].name) for path in sorted(old.keys() - new.keys())),
        skills=tuple(each for each in skills if each.what),
    )


def _what(old: data.StateOfSkill, new: data.StateOfSkill) -> tuple[data.StateMove, ...]:
    pairs = ((field, getattr(old, field), getattr(new, field)) for field in FIELDS)
    return tuple(data.StateMove(field=field, before=was, after=now) for field, was, now in pairs if was != now)


def state(
    records: Mapping[str, SkillRecord],
    verdicts: Mapping[str, SkillVerdict],
    tokens: Mapping[str, int | None],
    claims: data.ClaimAges | None,
    as_of: str,
    version: str,
) -> data.PageState:
    """The state of now, without what it is compared with. All mappings are by path. Simulated runs are left out."""
    skills = {}
    for path, record in sorted(records.items()):
        best, last = _best(record), _last(record)
        skills[path] = data.StateOfSkill(
            name=escape_surrogates(record.name),
            verdict=verdicts[path].word,
            score=record.health.score,
            recall=best.recall.value if best else None,
            recall_model=escape_surrogates(best.model) if best else None,
            effect=last.delta.value if last else None,
            effect_verdict=last.verdict if last else None,
            tokens=tokens[path],
            stale_claims=claims.skills[path].stale if claims else None,
        )
    return data.PageState(schema=STATE, as_of=as_of, version=version, skills=skills, previous=None)


def _best(record: SkillRecord) -> SkillRouted | None:
    every = [each for each in record.routing.models if not each.simulated and each.recall.value is not None]
    return min(every, key=lambda one: route_rank(False, True, one.local, one.changed, one.trusted), default=None)


def _last(record: SkillRecord) -> ModelEffect | None:
    every = [each for each in record.effect.models if not each.simulated]
    return min(every, key=lambda one: effect_rank(False, one.changed, one.verdict, bool(one.preliminary)), default=None)
