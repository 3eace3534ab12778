"""Drafts on a page: what waits for a decision, and the form that decides, for this machine and this server alone.

A decision comes with a word that only pages of this server hold, and with a hash of the draft as it was shown: another
site cannot make one, and nobody decides on something that has changed since.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hmac import compare_digest
from html import escape
from http import HTTPStatus

from skill_health.core.errors import SkillHealthError, UsageError
from skill_health.documents._draft import Draft
from skill_health.drafts.desks._api import ReviewDesk, open_desks
from skill_health.drafts.material import load_collection
from skill_health.drafts.store import digest_draft
from skill_health.text.terminal import clean

PATH = "/drafts"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
_MOST_SHOWN = 25
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "form{border:1px solid #8888;border-radius:.5rem;padding:1rem;margin:1rem 0}"
    "dt{font-weight:600}dd{margin:0 0 .5rem;white-space:pre-wrap;overflow-wrap:anywhere}"
    "textarea{width:100%;min-height:9rem;font:14px/1.4 ui-monospace,monospace}"
    "[role=alert]{border-left:4px solid #c60;padding-left:1rem}button{margin-right:.5rem}"
)


class DraftPages:
    """The drafts of a collection, as pages. All methods may be called from any thread."""

    def __init__(self, paths: Sequence[str], config_file: str | None = None) -> None:
        self._paths, self._config_file = tuple(paths), config_file
        self._word = secrets.token_urlsafe(32)
        self._lock = threading.Lock()

    def page(self, said: str = "") -> tuple[int, str]:
        """The status and the document; `said` is told first."""
        with self._lock:
            return self._page(said)

    def decide(self, fields: Mapping[str, str]) -> tuple[int, str]:
        """Carry out what a form says, and the page after it; nothing where it is not a form of ours."""
        if not compare_digest(fields.get("word", "").encode(), self._word.encode()):
            return HTTPStatus.FORBIDDEN, _document(["<p>This form is not of this server: reload the page.</p>"])
        with self._lock:
            try:
                said = self._decide(fields)
            except SkillHealthError as error:
                said = str(error)
            return self._page(said)

    def _page(self, said: str) -> tuple[int, str]:
        try:
            return HTTPStatus.OK, _document(self._parts(said))
        except SkillHealthError as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, _document([_alert(str(error))])

    def _desks(self) -> Iterator[ReviewDesk]:
        collection = load_collection(self._paths, self._config_file)
        return open_desks(collection, lambda: datetime.now(UTC))

    def _decide(self, fields: Mapping[str, str]) -> str:
        for desk in self._desks():
            draft = next((each for each in desk.waiting() if each.id == fields.get("id")), None)
            if desk.title == fields.get("kind") and draft is not None:
                if digest_draft(draft) != fields.get("shown"):
                    raise UsageError(f"{draft.id} was changed meanwhile: look at it again")
                return _carry_out(desk, draft, fields)
        raise UsageError("that draft does not wait for a decision any more")

    def _parts(self, said: str) -> Iterator[str]:
        yield "<h1>Drafts</h1>"
        yield "<p>Only what is accepted is written into the registries. Who decides is not kept.</p>"
        if said:
            yield _alert(said)
        for desk in self._desks():
            for problem in desk.problems():
                yield _alert(problem)
            waiting = desk.waiting()
            yield f"<h2>{len(waiting)} {escape(desk.title)} to decide on</h2>"
            for draft in waiting[:_MOST_SHOWN]:
                yield from self._form(desk, draft)
            if len(waiting) > _MOST_SHOWN:
                yield f"<p>{len(waiting) - _MOST_SHOWN} more follow when some of these are decided on.</p>"

    def _form(self, desk: ReviewDesk, draft: Draft) -> Iterator[str]:
        shown = desk.show(draft)
        hidden = {"word": self._word, "kind": desk.title, "id": draft.id, "shown": digest_draft(draft)}
        yield f'<form method="post" action="{PATH}" accept-charset="utf-8">'
        yield from (f'<input type="hidden" name="{name}" value="{escape(value)}">' for name, value in hidden.items())
        yield f"<h3>{_text(shown.title)}</h3><dl>"
        yield from (f"<dt>{_text(name)}</dt><dd>{_lines(value)}</dd>" for name, value in shown.fields)
        yield "</dl>"
        yield from (f"<p>Note: {_text(note)}</p>" for note in shown.notes)
        if fault := desk.find_fault(draft):
            yield _alert(f"It cannot be accepted as it is: {fault}")
        yield f'<label>Edit it<textarea name="text">\n{escape(desk.write_out(draft))}</textarea></label>'
        yield '<p><label>Why not? <input name="reason" size="50" maxlength="500"></label></p>'
        for value, label in (("accept", "Accept"), ("save", "Save the edit"), ("reject", "Reject")):
            yield f'<button name="do" value="{value}">{label}</button>'
        yield "</form>"


def _carry_out(desk: ReviewDesk, draft: Draft, fields: Mapping[str, str]) -> str:
    """Do what a form says; what was done, in a sentence."""
    wanted = fields.get("do")
    if wanted == "reject":
        desk.reject(draft, fields.get("reason", ""))
        return f"{draft.id} is rejected."
    if wanted not in ("accept", "save"):
        raise UsageError("the form says neither accept nor save nor reject")
    # Browsers send line ends of their own.
    text = fields.get("text", "").replace("\r\n", "\n")
    if text.strip() and text.strip() != desk.write_out(draft).strip():
        draft = desk.edit(draft, text)
    if wanted == "save":
        return f"{draft.id} is saved."
    desk.accept(draft)
    return f"{draft.id} is accepted."


def _document(parts: Sequence[str] | Iterator[str]) -> str:
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Drafts</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _alert(text: str) -> str:
    return f'<p role="alert">{_text(text)}</p>'


def _text(text: str) -> str:
    return escape(clean(text))


def _lines(text: str) -> str:
    return "\n".join(_text(line) for line in text.split("\n"))
