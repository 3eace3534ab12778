"""The router `lexical` with one more search: the cosine of sentence embeddings of the prompt and what is listed.

The model reads English. Its search counts for the share of the prompt's letters that are Latin, so a prompt in Chinese
is left to its characters.
"""

from __future__ import annotations

from importlib.metadata import version

from skill_health.router.lexicon import embedder
from skill_health.router.lexicon.search import DEFAULT, FieldSearch
from skill_health.router.routers._api import Router, Setup
from skill_health.router.routers._local import in_order, local_router, shared_words
from skill_health.text.stems import latin_share, stem_words

TITLE = "lexical and sentence embeddings, their standardised scores added"
KIND = "local"
EXTRA = "embed"
IMPORTS = embedder.IMPORTS


def open_router(setup: Setup) -> Router:
    """Index and embed the catalogue, and choose the threshold. Raises ModuleNotFoundError without the extra."""
    from skill_health.router.lexicon.vectors import open_vectors

    vectors = open_vectors()
    skills = in_order(setup.catalogue)
    names = [skill.name for skill in skills]
    search = FieldSearch(skills, setup.index)
    meanings = vectors.embed([field.listed for field in search.fields])
    vectors.save()

    def score(text: str) -> list[float]:
        return search.score(text, [(latin_share(text), vectors.cosines(meanings, text))])

    settings = {
        "library": f"snowballstemmer {version('snowballstemmer')}", "searches": [*search.names, "meaning"],
        "embedding": vectors.embedder.settings,
    }  # fmt: skip
    explain = shared_words(stem_words, search.words_of)
    return local_router(setup, names, score, settings, explain, slow=True, default=DEFAULT, at_end=vectors.save)
