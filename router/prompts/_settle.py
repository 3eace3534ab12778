"""Prompts as their files spell them -> prompts whose names, ids and labels can be relied on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from skill_health.core.files import blake2b
from skill_health.core.strict_json import quote
from skill_health.registries.records import BadRecord
from skill_health.router.prompts._api import MAX_ID, MAX_TEXT, Found, Known
from skill_health.router.records import NONE, Prompt
from skill_health.rules.fixtures._records import same_text
from skill_health.text.near import either, nearest

_CLASH = "Decide which label is right and remove the other."
_FOREIGN = 3  # so many unknown names and no known one: the file belongs to another collection


def content_id(text: str) -> str:
    """The id of a request that has none: a hash of its text."""
    return "q-" + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@dataclass(slots=True)
class SettledPrompts:
    """What has been read so far, over all files. `texts` finds a prompt by its text, however it is spelled."""

    prompts: dict[str, Prompt] = field(default_factory=dict)
    problems: list[BadRecord] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    texts: dict[str, Prompt] = field(default_factory=dict)

    def add(self, path: str, found: Iterable[Found], known: Known) -> int:
        """Take in the records of one file; returns how many of them are prompts."""
        records = list(found)
        if foreign := _foreign(path, records, known):
            self.problems.append(foreign)
            return 0
        unknown: dict[str, None] = {}
        count = 0
        for record in records:
            one = record if isinstance(record, BadRecord) else self._settle(record, known, unknown)
            if isinstance(one, BadRecord):
                self.problems.append(one)
            else:
                self.prompts[one.prompt_id] = one
                text = same_text(one.text)
                if self.texts.setdefault(text, one).prompt_id == one.prompt_id:
                    self.texts[text] = one
                count += 1
        if unknown:
            more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
            shown = ", ".join(quote(name) for name in list(unknown)[:3])
            self.notes.append(
                f"{path}: no skill is called {shown}{more}; labels that accept or reject it are passed over"
            )
        return count

    def _settle(self, prompt: Prompt, known: Known, unknown: dict[str, None]) -> Found:
        if fault := _fault(prompt, known):
            return _bad(prompt, *fault)
        prompt = _resolved(prompt, known, unknown)
        if not prompt.known and not prompt.rejected:
            return _bad(prompt, "the skill that must not fire is not in this collection", "Correct its name.")
        own = prompt.prompt_id
        prompt = prompt if own else replace(prompt, prompt_id=content_id(prompt.text))
        earlier = self.prompts.get(prompt.prompt_id)
        if earlier and (own or earlier.text != prompt.text):
            message = f"the id {quote(prompt.prompt_id)} is taken by {earlier.source}"
            return _bad(prompt, message, "Give this record an id of its own.")
        earlier = earlier or self.texts.get(same_text(prompt.text))
        if earlier and (fault := _at_odds(earlier, prompt)):
            return _bad(prompt, *fault)
        return _merged(earlier, prompt) if earlier and earlier.prompt_id == prompt.prompt_id else prompt


def _foreign(path: str, records: list[Found], known: Known) -> BadRecord | None:
    """One problem for a file that names several skills, none of which is in the collection."""
    prompts = [record for record in records if isinstance(record, Prompt)]
    names = {name for prompt in prompts for name in _labels(prompt)}
    if len(names) < _FOREIGN or any(known.name_of(name) or known.several(name) for name in names):
        return None
    message = f"none of the {len(names)} skills that are named here is in this collection"
    line = int(prompts[0].source.rpartition(":")[2])
    return BadRecord(path, line, 1, message, "Name the folder of their collection, or another file.", "prompts")


def _labels(prompt: Prompt) -> Iterator[str]:
    yield from (prompt.expected,) if prompt.expected is not None else ()
    yield from prompt.acceptable
    yield from prompt.rejected


def _fault(prompt: Prompt, known: Known) -> tuple[str, str] | None:
    """What is wrong with a prompt by itself, and what to do."""
    if len(prompt.text) > MAX_TEXT:
        return f"the request has {len(prompt.text):,} characters; {MAX_TEXT:,} are allowed", "Shorten it."
    if len(prompt.prompt_id) > MAX_ID or not (prompt.prompt_id or "-").isprintable():
        return f"the id {quote(prompt.prompt_id)} is unusable", f"Take up to {MAX_ID} characters that can be printed."
    for label in _labels(prompt):
        if several := known.several(label):
            return f"{quote(label)} may be {either(several)}", "Say which of them is meant."
    expected = prompt.expected
    if expected is not None and known.name_of(expected) is None:
        if expected.strip().casefold() == NONE:
            return f"the expected skill is {quote(expected)}", "Write null where no skill applies."
        near = nearest(expected, known.names)
        hint = f" (did you mean {quote(near)}?)" if near else ""
        message = f"no skill of this collection is called {quote(expected)}"
        return message, f"Correct the name{hint}, or remove the record."
    name = known.name_of(expected)
    if name and name in map(known.name_of, prompt.rejected):
        return f"{quote(name)} is expected and rejected", _CLASH
    return None


def _resolved(prompt: Prompt, known: Known, unknown: dict[str, None]) -> Prompt:
    """The prompt with every label as the name of a skill; those that name nobody are left out and noted."""
    groups: list[tuple[str, ...]] = []
    for labels in (prompt.acceptable, prompt.rejected):
        names = {label: known.name_of(label) for label in labels}
        unknown.update(dict.fromkeys(label for label, name in names.items() if name is None))
        groups.append(tuple(dict.fromkeys(name for name in names.values() if name is not None)))
    expected = known.name_of(prompt.expected)
    accepted = tuple(name for name in groups[0] if name != expected)
    return replace(prompt, expected=expected, acceptable=accepted, rejected=groups[1])


def _at_odds(earlier: Prompt, prompt: Prompt) -> tuple[str, str] | None:
    """Where the same request has been labelled otherwise before."""
    where = earlier.source
    if earlier.known and prompt.known and earlier.expected != prompt.expected:
        return f"the same request expects {_name(prompt)} here and {_name(earlier)} in {where}", _CLASH
    for one, two, verbs in ((prompt, earlier, ("accepted", "rejected")), (earlier, prompt, ("rejected", "accepted"))):
        accepted = {*one.acceptable, *([one.expected] if one.expected else [])}
        if both := sorted(accepted & set(two.rejected)):
            here, there = verbs
            return f"for the same request {quote(both[0])} is {here} here and {there} in {where}", _CLASH
    if earlier.prompt_id == prompt.prompt_id and earlier.split and prompt.split and earlier.split != prompt.split:
        return (
            f"the same request is in the split {quote(prompt.split)} here and in {quote(earlier.split)} in {where}",
            _CLASH,
        )
    return None


def _merged(earlier: Prompt, later: Prompt) -> Prompt:
    """What two records of one request say together, which each speak of one skill."""
    known = earlier if earlier.known else later
    return replace(
        earlier,
        expected=known.expected,
        known=known.known,
        acceptable=tuple(dict.fromkeys((*earlier.acceptable, *later.acceptable))),
        rejected=tuple(dict.fromkeys((*earlier.rejected, *later.rejected))),
        family=earlier.family or later.family,
        tags=tuple(dict.fromkeys((*earlier.tags, *later.tags))),
        split=earlier.split or later.split,
        reason=earlier.reason or later.reason,
    )


def _name(prompt: Prompt) -> str:
    return "no skill" if prompt.expected is None else quote(prompt.expected)


def _bad(prompt: Prompt, message: str, advice: str) -> BadRecord:
    path, _, line = prompt.source.rpartition(":")
    return BadRecord(path, int(line), 1, message, advice, "prompts", prompt.prompt_id)
