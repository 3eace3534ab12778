"""The claims of a skill: passages of its body that assert a figure, each with its sources."""

from bisect import bisect_right
from typing import NamedTuple

from skill_health.rules._api import Context
from skill_health.rules.claims._hint import candidate_lines
from skill_health.skill.model import Document, Skill

_WHERE = {"cell": "table row", "heading": "section", "paragraph": "paragraph"}
_last: "tuple[Skill, list[Claim]] | None" = None


class Claim(NamedTuple):
    """One passage that asserts figures. `line` and `col` are those of the first figure, `figure` its text.

    `where` is the kind of passage in plain words; `quote` is the asserting sentence, shortened. `cited` says whether
    the passage has a link or a citation, `ids` lists its claim ids. `named` says that the text names the figure's
    source without linking it: a study or product by name, or a vendor's offer.
    """

    line: int
    col: int
    figure: str
    quote: str
    where: str
    cited: bool
    ids: tuple[str, ...]
    named: bool


def claims(skill: Skill, context: Context) -> list[Claim]:
    """The claims of a skill's body, one per paragraph, list item, table row or heading, in order.

    Several rules in a row ask about the same skill, so the last answer is kept.
    """
    global _last
    if _last is None or _last[0] is not skill:
        _last = (skill, _claims(skill, context))
    return _last[1]


def _claims(skill: Skill, context: Context) -> list[Claim]:
    lines = candidate_lines(skill.text)
    if not lines:
        return []
    # Imported here because their regular expressions take longer to compile than most skills take to check.
    from skill_health.rules.claims._places import place_quote, places

    body = skill.body
    first = {body.prose[place.nth].unit: place for place in reversed(list(places(skill, lines))) if place.asserted}
    if not first:
        return []
    from skill_health.rules.claims._known_by_name import attributed, is_tagline, offered
    from skill_health.rules.claims._passages import column, extent, sources

    known = sources(skill, context)
    found = []
    for place in reversed(first.values()):
        prose = body.prose[place.nth]
        whole, at, end = prose.plain[place.start : place.end], place.figure.start, place.figure.end
        named = (
            attributed(whole, at - place.start)
            or offered(whole, at - place.start, end - place.start)
            or is_tagline(whole, end - place.start, _title_above(body, prose.line), skill.name.partition("-")[0])
        )
        around = extent(body, place.nth)
        line, col = column(body, place.nth, place.figure.start)
        found.append(
            Claim(
                line, col, prose.text[place.figure.start : place.figure.end].strip(), place_quote(body, place),
                "list item" if prose.item and prose.kind == "paragraph" else _WHERE[prose.kind],
                known.cited(around), tuple(sorted(known.ids_in(around))), named,
            )
        )  # fmt: skip
    return found


def _title_above(body: Document, line: int) -> str:
    """The title of the nearest heading above a line, or ""."""
    nth = bisect_right(body.headings, line, key=lambda heading: heading.line)
    return body.headings[nth - 1].title if nth else ""
