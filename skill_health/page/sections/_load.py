"""Sections are found by walking this folder; a new one touches no list.

A module of this folder whose name does not begin with an underscore is a section. It has ORDER (a section with a
smaller one stands above), TITLE (what the navigation calls it) and `build(page, drawn)`, which gives the variables of
its template, or None where there is nothing to show; `drawn` are the pictures of the page. The template is NAME.html.j2
beside it, and holds an element whose id is the name of the module; NAME.css, if there is one, joins the style sheet. A
section with several places to jump to has PLACES: their ids and what the navigation calls them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from skill_health.core.plugins import plugin_names
from skill_health.page import sections as package
from skill_health.page.drawing.drawn import Drawn
from skill_health.page.model import Page

if TYPE_CHECKING:
    from jinja2 import Environment


PageMode = Literal["script", "plain", "site"]
"""How a page shows the skills: rows and parts made by its script, all of them in its HTML, or parts in files beside it.

A template has it as `mode`.
"""


@dataclass(frozen=True, slots=True)
class RenderedSection:
    """A section as HTML, its style sheet ("" for none), what the navigation calls the ids in it, and its variables."""

    name: str
    text: str
    style: str
    links: tuple[tuple[str, str], ...]
    context: Mapping[str, Any]


def build_sections(page: Page, drawn: Drawn, environment: Environment, mode: PageMode) -> tuple[RenderedSection, ...]:
    """The sections that have something to show, in their order."""
    modules = ((name, import_module(f"{package.__name__}.{name}")) for name in plugin_names(package.__path__))
    found = []
    for name, module in sorted(modules, key=lambda item: (item[1].ORDER, item[0])):
        context = module.build(page, drawn)
        if context is not None:
            text = environment.get_template(f"{name}.html.j2").render({**context, "mode": mode})
            found.append(
                RenderedSection(
                    name, text, section_style(name), getattr(module, "PLACES", ((name, module.TITLE),)), context
                )
            )
    return tuple(found)


def section_style(name: str) -> str:
    """The style sheet of a section, "" for none."""
    for folder in package.__path__:
        path = os.path.join(folder, f"{name}.css")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as stream:
                return stream.read()
    return ""
