"""Every figure in a skill's body outside examples, targets and table headers, with its place."""

from collections.abc import Iterator
from typing import NamedTuple

from skill_health.rules.claims._assertion import asserted, sentence, stated
from skill_health.rules.claims._figures import ClaimedFigure, benchmark, figures, score
from skill_health.rules.claims._words import NO_CLAIMS, pattern
from skill_health.skill.model import Document, Heading, Skill

MAX_FIGURES = 1000  # per skill; a file with more is data, and must not cost more


class FigurePlace(NamedTuple):
    """A figure in the body: prose number `nth`, whether it is asserted, and the bounds of its sentence."""

    nth: int
    figure: ClaimedFigure
    asserted: bool
    start: int
    end: int


def places(skill: Skill, lines: list[int]) -> Iterator[FigurePlace]:
    """Every figure outside examples, targets and table headers, with whether its sentence asserts it.

    `lines` are those that may contain a figure. A title (level 1) names the subject of the whole skill and excludes
    nothing.
    """
    body = skill.body
    count, nth, headings, above = 0, 0, iter(body.headings), list[Heading]()
    header_lines = {table.line for table in body.tables}
    header: list[str] = []
    row, cell = 0, 0
    for index, prose in enumerate(body.prose):
        if prose.kind == "heading":
            if (heading := next(headings, None)) is not None:
                above = [entry for entry in above if entry.level < heading.level]
                above.append(heading)
        elif prose.kind == "cell":
            row, cell = prose.line, cell + 1 if row == prose.line else 0
            if row in header_lines:
                header = [*header[:cell], prose.text]
                continue
        while nth < len(lines) and lines[nth] < prose.line:
            nth += 1
        if nth == len(lines):
            return
        if lines[nth] > prose.line + prose.plain.count("\n"):
            continue
        found = _figures(prose.plain)
        if not found or any(pattern(NO_CLAIMS).search(entry.title) for entry in above if entry.level > 1):
            continue
        if prose.kind == "cell" and cell < len(header) and pattern(NO_CLAIMS).search(header[cell]):
            continue
        for figure in found:
            count += 1
            if count > MAX_FIGURES:
                return
            bounds = asserted(prose.plain, figure)
            start, end = bounds or sentence(prose.plain, figure.start, figure.end)
            yield FigurePlace(
                index, figure, bounds is not None or _scored(body, index, figure, header[cell:]), start, end
            )


def _scored(body: Document, index: int, figure: ClaimedFigure, header: list[str]) -> bool:
    """Whether a cell with little more than a number is the result of a benchmark that its row or column names."""
    prose = body.prose[index]
    if prose.kind != "cell" or figure.kind not in ("percent", "score") or len(prose.text) > 24:
        return False
    around = [body.prose[row_start(body, index)].plain, *header[:1]]
    return any(benchmark(text) for text in around) and stated(prose.plain, figure)


def place_quote(body: Document, place: FigurePlace) -> str:
    """The sentence around a figure, shortened; in a table, after the first cell of its row."""
    prose = body.prose[place.nth]
    quote = quote_of(prose.text[place.start : place.end], place.figure.start - place.start)
    if prose.kind != "cell":
        return quote
    first = row_start(body, place.nth)
    return quote if first == place.nth else f"{quote_of(body.prose[first].text, 0, 32)}: {quote}"


def quote_of(text: str, at: int, width: int = 72) -> str:
    """The words of `text` around offset `at` on one line, without emphasis, cut at `width` characters."""
    words = " ".join(text.replace("**", "").split())
    if len(words) <= width:
        return words
    start = max(0, min(at - width // 2, len(words) - width))
    start = words.find(" ", start - 1) + 1 if start else 0
    cut = words[start : start + width]
    if start + width < len(words):
        cut = cut.rpartition(" ")[0] or cut
    return ("… " if start else "") + cut + (" …" if start + width < len(words) else "")


def _figures(plain: str) -> list[ClaimedFigure]:
    found = figures(plain)
    named = benchmark(plain) if not found and score(plain) else None
    if named is not None:
        start, end = sentence(plain, *named.span())
        if value := score(plain[start:end]):
            found = [ClaimedFigure("score", start + value.start(), start + value.end())]
    return found


def row_start(body: Document, index: int) -> int:
    """The number of the first cell in the row of prose number `index`."""
    line = body.prose[index].line
    while index and body.prose[index - 1].line == line and body.prose[index - 1].kind == "cell":
        index -= 1
    return index
