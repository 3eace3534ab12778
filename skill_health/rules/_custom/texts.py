"""The texts of a skill against the patterns, sections and limits of a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise

from skill_health.config.custom import LimitCheck, PatternCheck, SectionCheck
from skill_health.rules._api import Hit
from skill_health.rules._custom.subject import START, CheckedText, Subject
from skill_health.skill.measure import estimate_tokens
from skill_health.skill.model import Document, Span
from skill_health.text.regex_safety import cut_lines

_MOST_HITS, _MOST_MATCHES = 100, 2000


def check_pattern(check: PatternCheck, subject: Subject) -> Iterator[Hit]:
    """Report what must not be there, what must be and is not, and mentions of files that do not exist."""
    every = subject.texts(check.within, check.section, check.files, check.skip_code)
    texts = [each._replace(text=cut_lines(each.text)) for each in every]
    if check.require:
        yield from _missing(check, subject, texts)
        return
    left = _MOST_HITS
    for text in texts:
        for match in islice(_matches(check.forbid or check.find, check, subject, text), _MOST_MATCHES):
            span = text.place(match.start(), match.end())
            if check.forbid:
                said = match[0].strip().split("\n")[0][:60]
                yield Hit(span, f"{text.name} must not have this: {said}", path=text.path)
            else:
                wanted = [subject.path(subject.filled(each, match)) for each in check.exist]
                if any(map(subject.context.exists, wanted)):
                    continue
                yield Hit(span, f"{' or '.join(wanted)} does not exist", path=text.path)
            left -= 1
            if not left:
                return


def _matches(pattern: str, check: PatternCheck, subject: Subject, text: CheckedText) -> Iterator[re.Match[str]]:
    """Where a text has a pattern, without lines that are exempt."""
    exempt = subject.compiled(check.exempt) if check.exempt else None
    known: dict[int, bool] = {}
    for match in subject.compiled(pattern).finditer(text.text):
        if exempt is not None:
            start, end = text.line_around(match.start())
            if start not in known:
                known[start] = exempt.search(text.text[start:end]) is not None
            if known[start]:
                continue
        yield match


def _missing(check: PatternCheck, subject: Subject, texts: list[CheckedText]) -> Iterator[Hit]:
    # Each bundled file must have it; of the sections with one title, one.
    groups = [[text] for text in texts] if check.within == "bundled" else [texts]
    for group in groups:
        every = (match for text in group for match in _matches(check.require, check, subject, text))
        found = sum(1 for _ in islice(every, check.at_least))
        if found < check.at_least:
            where = group[0] if group else None
            name = where.name if where else _NAMES.get(check.within, check.within)
            times = f" at least {check.at_least:,} times, not {found:,}" if check.at_least > 1 else ""
            span = where.place(0, 0) if where else START
            yield Hit(span, f"{name} must have {check.require}{times}", path=where.path if where else None)


_NAMES = {
    "section": "a section", "frontmatter": "the frontmatter", "description": "the description",
    "repository": "a file of the repository",
}  # fmt: skip


def check_section(check: SectionCheck, subject: Subject) -> Iterator[Hit]:
    """Report a section that is missing, or there and must not be, and sections in another order than asked for."""
    documents: list[tuple[str | None, Document]] = [(None, subject.skill.body)]
    if check.files:
        documents = list(subject.documents(check.files))
    for path, document in documents:
        first = Span(max(1, document.first_line), 1)
        headings = [each for each in document.headings if not check.level or each.level == check.level]
        if check.title or check.pattern:
            named = [each for each in headings if _is_wanted(each.title.strip(), check, subject)]
            wanted = f'"{check.title}"' if check.title else f"that matches {check.pattern}"
            level = f" of level {check.level}" if check.level else ""
            if check.forbidden:
                for each in named:
                    yield Hit(Span(each.line, each.col), f"a section {wanted}{level} must not be there", path=path)
            elif not named:
                yield Hit(first, f"a section {wanted}{level} is missing", path=path)
        if check.order:
            order = [title.casefold() for title in check.order]
            there = [each for each in headings if each.title.strip().casefold() in order]
            for one, other in pairwise(there):
                if order.index(one.title.strip().casefold()) > order.index(other.title.strip().casefold()):
                    message = f'the section "{other.title}" must come before "{one.title}"'
                    yield Hit(Span(other.line, other.col), message, path=path)
                    break


def _is_wanted(title: str, check: SectionCheck, subject: Subject) -> bool:
    if check.title and title.casefold() != check.title.casefold():
        return False
    return not check.pattern or subject.compiled(check.pattern).fullmatch(title[:1000]) is not None


def check_limit(check: LimitCheck, subject: Subject) -> Iterator[Hit]:
    """Report each text that is too long or too short."""
    for each in subject.texts(check.within, check.section, check.files):
        counts = [
            ("lines", each.text.count("\n") + (each.text[-1:] not in ("", "\n")), check.min_lines, check.max_lines),
            ("words", len(each.text.split()), check.min_words, check.max_words),
            ("characters", len(each.text), check.min_chars, check.max_chars),
            ("tokens (estimated)", estimate_tokens(each.text) if check.max_tokens else 0, 0, check.max_tokens),
        ]
        for what, number, least, most in counts:
            if number < least or (most and number > most):
                bound = f"at least {least:,} are asked for" if number < least else f"at most {most:,} are allowed"
                yield Hit(each.place(0, 0), f"{each.name} has {number:,} {what}; {bound}", path=each.path)
