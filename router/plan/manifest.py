"""The manifest of a run: what was asked, frozen before the first call, and what makes two runs the same run.

What may differ between the beginning of a run and its resumption is in VOLATILE: everything else must be the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from skill_health.bench.manifest import digest
from skill_health.config.settings import RouterSettings
from skill_health.documents.router_manifest import CatalogueSkill
from skill_health.router.records import Catalogue, ListedSkill, Prompt

# Where a label stands, and why it is right, changes nothing about a run.
_HASHED = tuple(name for name in Prompt.__struct_fields__ if name not in ("source", "reason"))


def bodies_digest(catalogue: Catalogue) -> str:
    """A hash of what only local routers read of the skills."""
    return digest(
        [
            [skill.name, skill.description, skill.when, skill.body, *filter(None, [skill.references])]
            for skill in catalogue.shown
        ]
    )


def prompts_digest(prompts: Iterable[Prompt]) -> str:
    """A hash of the prompts and their labels."""
    return digest([[getattr(prompt, name) for name in _HASHED] for prompt in prompts])


def config_digest(routing: RouterSettings, providers: Iterable[str]) -> str:
    """A hash of the settings that answers can depend on: who is asked, and how long an answer may be.

    How fast is not among them, so that a run can be resumed at another pace.
    """
    used = {name: routing.providers[name] for name in sorted(set(providers)) if name in routing.providers}
    return digest({
        name: [each.protocol, each.base_url, each.max_output_tokens, *([True] if each.think_tags else [])]
        for name, each in used.items()
    })  # fmt: skip


def freeze_listing(skills: Iterable[ListedSkill]) -> tuple[CatalogueSkill, ...]:
    """Listed skills as a manifest holds them."""
    return tuple(
        CatalogueSkill(
            name=skill.name,
            text=skill.text,
            state=skill.state,
            description=skill.description,
            path=skill.path,
            shared=skill.shared,
        )
        for skill in skills
    )
