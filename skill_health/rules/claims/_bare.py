"""Figures that neither look like parameters nor have a source: what the opt-in rule reports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from skill_health.rules._api import Context
from skill_health.rules.claims._assertion import sentence, stated
from skill_health.rules.claims._claims import claims
from skill_health.rules.claims._figures import ClaimedFigure
from skill_health.rules.claims._hint import candidate_lines
from skill_health.rules.claims._passages import column, extent, sources
from skill_health.rules.claims._places import FigurePlace, place_quote, places
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

MAX_HITS = 200
_AS_OF = lazy(r"\bas of (?:[A-Z][a-z]{2,9} )?(?:19|20)\d\d\b", re.IGNORECASE)


def bare(skill: Skill, context: Context) -> Iterator[tuple[int, int, int, str]]:
    """(line, column, length, quotation) of the first bare figure of each passage, at most MAX_HITS."""
    body = skill.body
    asserted = {(claim.line, claim.col) for claim in claims(skill, context)}
    found: dict[int, FigurePlace] = {}
    for place in (*places(skill, candidate_lines(skill.text)), *_dates(skill)):
        prose = body.prose[place.nth]
        if prose.unit not in found and stated(prose.plain, place.figure):
            found[prose.unit] = place
    if not found:
        return
    known = sources(skill, context)
    for place in islice(found.values(), MAX_HITS):
        line, col = column(body, place.nth, place.figure.start)
        lines = extent(body, place.nth)
        if (line, col) not in asserted and not known.cited(lines) and not known.ids_in(lines):
            yield line, col, place.figure.end - place.figure.start, place_quote(body, place)


def _dates(skill: Skill) -> Iterator[FigurePlace]:
    for nth, prose in enumerate(skill.body.prose):
        for match in _AS_OF.finditer(prose.plain) if "s of" in prose.plain else ():
            yield FigurePlace(nth, ClaimedFigure("date", *match.span()), False, *sentence(prose.plain, *match.span()))
