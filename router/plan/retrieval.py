"""The first of two stages: a free router leaves a few skills for each prompt, and models choose among these.

Ten thousand descriptions fit into no context. What is left is settled before the first call and kept in the manifest:
the same for every model and replication of a prompt, so that what the first stage loses can be told from what the
second does. The right skill is never put among them by its label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.documents.router_manifest import FrozenRetrieval
from skill_health.router.plan.orders import base_order
from skill_health.router.records import Catalogue, Prompt
from skill_health.router.routers._load import LOCAL, open_choice, resolve
from skill_health.router.routers._local import LocalRouter, ranked

if TYPE_CHECKING:
    from skill_health.router.plan.choices import RouterChoices

USUAL = 30
"""How many skills two stages would show, where a forecast says what they would cost."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a free router leaves of a catalogue: at most `k` names for each prompt, by its id, the best first."""

    k: int
    router: str
    index: str
    settings: Mapping[str, Any]
    shortlists: Mapping[str, tuple[str, ...]]

    def freeze(self, catalogue: Catalogue) -> FrozenRetrieval:
        """As a manifest holds it: places in the catalogue for names."""
        places = {name: at for at, name in enumerate(catalogue.names)}
        return FrozenRetrieval(
            k=self.k,
            router=self.router,
            index=cast(Any, self.index),
            settings=self.settings,
            shortlists={
                prompt: tuple(places[name] for name in names) for prompt, names in self.shortlists.items()
            },
        )  # fmt: skip


def retrieve(catalogue: Catalogue, prompts: Iterable[Prompt], choices: RouterChoices) -> Retrieval | None:
    """What the choices' retriever leaves for these prompts; None where they ask for one stage.

    Where it finds fewer skills than it may leave, others follow in the seeded order of presentation, so that every
    question is about as many. Raises UsageError for a router that is not free, or whose packages are missing.
    """
    if not choices.retrieve:
        return None
    router = open_retriever(choices, catalogue)
    filler = base_order(catalogue.names, choices.seed)
    by_text: dict[str, tuple[str, ...]] = {}
    shortlists: dict[str, tuple[str, ...]] = {}
    for prompt in prompts:
        if prompt.text not in by_text:
            by_text[prompt.text] = shortlist(router, prompt.text, choices.retrieve, filler)
        shortlists[prompt.prompt_id] = by_text[prompt.text]
    router.at_end()
    # A threshold would say when to be silent, which is the second stage's to say.
    settings = {name: value for name, value in router.settings.items() if name != "index"}
    return Retrieval(choices.retrieve, choices.retriever, choices.index, settings, shortlists)


def open_retriever(choices: RouterChoices, catalogue: Catalogue) -> LocalRouter:
    """The free router of the choices over a catalogue. Raises UsageError as `retrieve` does."""
    choice = resolve(choices.retriever, RouterSettings())
    if choice.kind != LOCAL:
        raise UsageError(
            f"--retriever {choices.retriever}: only a router that is computed here can look at every skill; take hybrid "
            "or lexical"
        )
    try:
        opened = open_choice(choice, catalogue, seed=choices.seed, index=choices.index)
    except UsageError as error:
        raise UsageError(f"--retrieve: {error}; --retriever lexical needs nothing") from None
    return cast(LocalRouter, opened)


def shortlist(router: LocalRouter, text: str, k: int, filler: Sequence[str]) -> tuple[str, ...]:
    """The first `k` skills that a router ranks for a text, and then of `filler`; all of them where there are fewer."""
    scores = router.score(text)
    spare = len(router.names) - len(filler)
    found = [name for name, _ in ranked(router.names, scores, k + spare)][:k]
    if len(found) < k:
        there = set(found)
        found += [name for name in filler if name not in there][: k - len(found)]
    return tuple(found)
