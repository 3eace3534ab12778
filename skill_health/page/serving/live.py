"""The page of a collection as a site: how it is built, and when it has to be built anew."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from skill_health.page.asked import PAGE, PageRequest, asked, page_of
from skill_health.page.html import render
from skill_health.page.serving.site import Site
from skill_health.page.serving.watch import mark


def site(paths: Sequence[str], options: Mapping[str, Any], day: Callable[[], date]) -> tuple[Site, str]:
    """The site of what the command line means, not built yet, and the folder of the reports.

    `day` gives the day as of which the page is built. Raises UsageError for paths and settings that are wrong now;
    once they become so, the site says it.
    """
    about = asked(paths, options)

    def build() -> str:
        nonlocal about
        # The folder of the reports stays that of the start: the raw files are served from it.
        fresh = asked(paths, options)
        about = PageRequest(fresh.paths, fresh.root, fresh.config, about.folder)
        last = os.path.join(about.folder, PAGE)
        return render(page_of(about, {**options, "as_of": day()}, about.folder, last), live=True)

    def marked() -> str:
        return mark(about.paths, about.config, about.folder, options["config_file"], (day().isoformat(),))

    return Site(build, marked), about.folder
