"""A walk through drafts in a terminal, or with decisions from a pipe; nothing in a draft can forge a line of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import unified_diff

from skill_health.core.errors import UsageError
from skill_health.documents._draft import Draft
from skill_health.drafts.desks._api import ReviewDesk, ShownDraft
from skill_health.text.terminal import clean, wrapped

QUESTION = "[a]ccept  [e]dit  [r]eject REASON  [s]kip  [q]uit > "
_HELP = "a accepts it, e opens it in $EDITOR, r REASON rejects it, s leaves it for later, q ends"
_WIDTH = 100
_MOST_LINES = 200
_NAME = 9
"""The columns that the name of a field has at least."""

AskPerson = Callable[[str], str | None]
"""Show a question and return the line that was typed; None at the end of the input."""
EditText = Callable[[str], str | None]
"""Have a person edit a text; None where nothing was saved. Raises UsageError where no editor can be started."""


@dataclass(slots=True)
class WalkTally:
    """What was decided on a walk; `left` were not reached or skipped, of them `failed` after a decision that failed."""

    accepted: int = 0
    rejected: int = 0
    left: int = 0
    failed: int = 0
    ended: bool = False


def walk_through(desk: ReviewDesk, ask: AskPerson, edit: EditText, say: Callable[[str], None]) -> WalkTally:
    """Show the drafts that wait one after the other, and carry out what is typed; `say` prints a safe line."""
    tally = WalkTally()
    drafts = desk.waiting()
    for number, draft in enumerate(drafts, 1):
        if not tally.ended:
            say("")
            for line in draft_lines(desk.show(draft), f"{number} of {len(drafts)}"):
                say(line)
            _decide(desk, draft, tally, ask, edit, say)
        else:
            tally.left += 1
    return tally


def draft_lines(shown: ShownDraft, place: str) -> Iterator[str]:
    """A draft as safe lines; every line of a foreign text is set off."""
    yield f"{place}  {clean(shown.title)}"
    width = max([_NAME, *(len(name) for name, _ in shown.fields)])
    for name, value in shown.fields:
        yield from field_lines(name, value, width)
    for note in shown.notes:
        yield from wrapped(f"  note: {note}", _WIDTH, "        ")


def field_lines(name: str, value: str, width: int = _NAME) -> Iterator[str]:
    """A name and a text of any origin beside it, as safe lines; the text begins in one column."""
    lines = value.split("\n")
    for at, line in enumerate(lines[:_MOST_LINES]):
        for part in wrapped(line, _WIDTH - width - 4):
            yield f"  {name if at == 0 else '':<{width}}| {part}"
            name = ""
    if len(lines) > _MOST_LINES:
        yield f"  {'':<{width}}| ({len(lines) - _MOST_LINES} more lines)"


def _decide(
    desk: ReviewDesk, draft: Draft, tally: WalkTally, ask: AskPerson, edit: EditText, say: Callable[[str], None]
) -> None:
    """Ask until a draft is decided on, skipped, or the walk ends."""
    text, failed = "", False
    while True:
        typed = ask(QUESTION)
        if typed is None or typed.strip() in ("q", "quit"):
            tally.ended, tally.left, tally.failed = True, tally.left + 1, tally.failed + failed
            return
        word, _, rest = typed.strip().partition(" ")
        try:
            if word in ("a", "accept") and not rest:
                desk.accept(draft)
                tally.accepted += 1
                return
            if word in ("r", "reject"):
                desk.reject(draft, rest or ask("why? > ") or "")
                tally.rejected += 1
                return
            if word in ("s", "skip") and not rest:
                tally.left, tally.failed = tally.left + 1, tally.failed + failed
                return
            if word in ("e", "edit") and not rest:
                text = edit(text or desk.write_out(draft)) or ""
                draft = _take(desk, draft, text, say)
                text = ""
            else:
                say(_HELP)
        except UsageError as error:
            say(clean(str(error)))
            failed = failed or word in ("a", "accept", "r", "reject")


def _take(desk: ReviewDesk, draft: Draft, text: str, say: Callable[[str], None]) -> Draft:
    """The draft as it was edited, with what has changed, and whether it keeps the rules."""
    if not text:
        say("nothing was changed")
        return draft
    before = desk.write_out(draft)
    edited = desk.edit(draft, text)
    for line in diff_lines(before, desk.write_out(edited)):
        say(line)
    if fault := desk.find_fault(edited):
        say(clean(f"it cannot be accepted like this: {fault}"))
    return edited


def diff_lines(before: str, after: str) -> Iterator[str]:
    """What an edit has changed, as safe lines."""
    found = list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1))
    changed = [line for line in found[2:] if not line.startswith("@@")]
    yield from (clean(f"  {line}") for line in changed) if changed else ("nothing was changed",)
