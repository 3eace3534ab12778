"""`python -m benchmarks._route_once ROUTER INDEX SKILLS PROMPTS SEED`: open a free router and ask it, once."""

from __future__ import annotations

import asyncio
import random
import sys
from typing import cast

from benchmarks._generate import read_source
from skill_health.config.settings import RouterSettings
from skill_health.router.records import Catalogue, ListedSkill, Prompt, RoutingRequest
from skill_health.router.routers._load import open_choice, resolve
from skill_health.router.routers._local import LocalRouter

BODY = 1_200
"""Words of a generated SKILL.md: about the median of public ones."""


def make_collection(skills: int, prompts: int, seed: int, bodies: bool = False) -> tuple[Catalogue, list[Prompt]]:
    """Skills with descriptions of 20 to 60 words, and prompts of 8 to 30, all of the words of our fixtures."""
    words, rng = read_source().words, random.Random(seed)
    names = [f"{'-'.join(rng.sample(words, 2))}-{n}" for n in range(skills)]
    listed = tuple(
        ListedSkill(
            name,
            " ".join(rng.choices(words, k=rng.randint(20, 60))),
            body=" ".join(rng.choices(words, k=BODY)) if bodies else "",
        )
        for name in names
    )
    asked = [
        Prompt(f"p{n}", " ".join(rng.choices(words, k=rng.randint(8, 30))), rng.choice(names)) for n in range(prompts)
    ]
    return Catalogue(listed), asked


async def answer(router: LocalRouter, catalogue: Catalogue, prompts: list[Prompt]) -> None:
    """Ask a router one prompt after another, as a run does."""
    for prompt in prompts:
        reply = await router.ask(RoutingRequest(prompt, 0, catalogue.shown, ""))
        assert reply.text
    await router.close()


def main(spec: str, index: str, skills: int, prompts: int, seed: int) -> None:
    """Make a collection, and route its prompts."""
    catalogue, asked = make_collection(skills, prompts, seed, index != "description")
    router = cast(LocalRouter, open_choice(resolve(spec, RouterSettings()), catalogue, index=index))
    asyncio.run(answer(router, catalogue, asked))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
