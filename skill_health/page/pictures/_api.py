"""What a picture of the page is: a module with a question, a place in the order, and a function that builds it.

A module of this folder whose name does not begin with an underscore is a picture. It has QUESTION (1 to 4, see
model.QUESTIONS), ORDER (pictures of a question are shown in this order) and `build(page) -> tuple[Picture, ...]`,
empty where there is nothing to show. A module may have `build_skill(page, path) -> tuple[Picture, ...]` as well or
instead: the pictures of one skill, by the path of its SKILL.md, for its own part of the page. Both are pure.
"""

from __future__ import annotations

from typing import Protocol

from skill_health.page.model import Page, Picture


class Drawer(Protocol):
    """A picture of the whole collection."""

    QUESTION: int
    ORDER: int

    def build(self, page: Page) -> tuple[Picture, ...]:
        """The pictures that the page's data allow."""
        ...  # pragma: no cover


class SkillDrawer(Protocol):
    """A picture of one skill."""

    QUESTION: int
    ORDER: int

    def build_skill(self, page: Page, path: str) -> tuple[Picture, ...]:
        """The pictures of a skill that the page's data allow."""
        ...  # pragma: no cover
