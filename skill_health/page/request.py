"""What a command that shows the page, or a part of it, was asked for: the page, and the skill that is meant."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.core.strict_json import escape_surrogates
from skill_health.discovery.roots import reports_folder
from skill_health.lint.pipeline import configure
from skill_health.needs.collection import KeptNeeds
from skill_health.page.data.gather import TITLE, read_page
from skill_health.page.figures import escape_text
from skill_health.page.model import Page
from skill_health.text.near import nearest

PAGE = "index.html"
"""Where the page stands among the reports."""


@dataclass(frozen=True, slots=True)
class PageOptions:
    """The options of every command that reads a page. `reports` and `title` are None if not given."""

    no_cache: bool
    jobs: int
    as_of: date
    profile: str | None
    config_file: str | None
    reports: str | None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A collection and its reports: the root, its configuration and the folder of the reports, absolute."""

    paths: tuple[str, ...]
    root: str
    config: Config
    folder: str


def asked(paths: Sequence[str], options: PageOptions) -> PageRequest:
    """What the command line means. Raises UsageError as `configure` does."""
    named = tuple(paths) or (".",)
    overrides = {"profile": options.profile} if options.profile else {}
    root, config = configure(named, options.config_file, overrides)
    folder = reports_folder(options.reports, root, config)
    return PageRequest(named, root, config, folder)


def page_of(
    about: PageRequest, options: PageOptions, base: str = "", last: str = "", kept: KeptNeeds | None = None
) -> Page:
    """The page's data as of now. Raises UsageError as `read_page` does."""
    title = escape_surrogates(" ".join((options.title or "").split())) or TITLE
    return read_page(
        about.paths, about.root, about.config, options.as_of, about.folder, options.jobs,
        not options.no_cache, base, last,
        title, kept,
    )  # fmt: skip


def skill_path(page: Page, name: str) -> str:
    """The path of the SKILL.md of the skill that a name, a folder or a path means.

    Raises UsageError where there is none, with the nearest name, and where several skills have the name.
    """
    skills = page.status.skills
    place = name.replace(os.sep, "/").removeprefix("./").rstrip("/")
    exact = [each.path for each in skills if place in (each.path, each.path.rpartition("/")[0])]
    found = exact or [each.path for each in skills if each.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(escape_text(path) for path in found[:3])
        raise UsageError(
            f"{len(found)} skills are named {escape_text(name, 80)}: name one by its path, such as {listed}"
        )
    near = nearest(name, {each.name for each in skills})
    hint = f"; did you mean {escape_text(near)}?" if near else f"; there are {len(skills):,}, see `skill-health status`"
    raise UsageError(f"there is no skill {escape_text(name, 80)}{hint}")
