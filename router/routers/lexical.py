"""Words, stems and pieces of words of all that a skill says, each field searched by itself; no extra, no network.

See skill_health.router.lexicon. A skill's score is how well the best one fits, divided by 1 more than the distance from
it in standard deviations; how well any fits is the cosine with what is listed or, with the index "content", with that
and SKILL.md.
"""

from __future__ import annotations

from importlib.metadata import version

from skill_health.router.lexicon.search import DEFAULT, FieldSearch
from skill_health.router.routers._api import Router, Setup
from skill_health.router.routers._local import in_order, local_router, shared_words
from skill_health.text.stems import stem_words

TITLE = "Stemmed words and pieces of words of the prompt and the skill's fields"
KIND = "local"
EXTRA = ""
IMPORTS = ()


def open_router(setup: Setup) -> Router:
    """Index the fields of the catalogue, and choose the threshold."""
    skills = in_order(setup.catalogue)
    names = [skill.name for skill in skills]
    search = FieldSearch(skills, setup.index)
    settings = {"library": f"snowballstemmer {version('snowballstemmer')}", "searches": list(search.names)}
    explain = shared_words(stem_words, search.words_of)
    return local_router(setup, names, search.score, settings, explain, default=DEFAULT)
