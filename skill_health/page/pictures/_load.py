"""Pictures are found by walking this folder; a new one touches no list.

A module of this folder whose name does not begin with an underscore is a picture. It has QUESTION (1 to 4, see
model.QUESTIONS), ORDER (pictures of a question are shown in this order) and `build(page) -> tuple[Picture, ...]`,
empty where there is nothing to show. A module may have `build_skill(page, path) -> tuple[Picture, ...]` as well or
instead: the pictures of one skill, by the path of its SKILL.md, for its own part of the page. Both are pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from types import ModuleType

from skill_health.core.plugins import plugin_names
from skill_health.page import pictures as package
from skill_health.page.model import Page, Picture


@cache
def modules() -> tuple[ModuleType, ...]:
    """Every picture module, sorted by its question, its order and its name."""
    found = [import_module(f"{package.__name__}.{name}") for name in plugin_names(package.__path__)]
    return tuple(sorted(found, key=lambda module: (module.QUESTION, module.ORDER, module.__name__)))


def collection_pictures(page: Page) -> tuple[Picture, ...]:
    """The pictures of the whole collection, in the order in which they are shown.

    Raises ValueError where two share a name: a name leads to one picture.
    """
    return _named(picture for module in modules() if hasattr(module, "build") for picture in module.build(page))


def skill_pictures(page: Page, path: str) -> tuple[Picture, ...]:
    """The pictures of one skill, by the path of its SKILL.md, in the order in which they are shown."""
    own = (module for module in modules() if hasattr(module, "build_skill"))
    return _named(picture for module in own for picture in module.build_skill(page, path))


def _named(pictures: Iterable[Picture]) -> tuple[Picture, ...]:
    found: dict[str, Picture] = {}
    for picture in pictures:
        if picture.name in found:
            raise ValueError(f"two pictures are named {picture.name}")
        found[picture.name] = picture
    return tuple(found.values())
