"""The addresses of the pages of trials: RUN/NAME, and RUN/NAME--NAME for two side by side.

Where a page may link to one it has an `a` with the address in `data-trial`, which is a link only where there are pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable

FOLDER = "trials"
"""Where the pages of trials stand beside the page."""
ADDRESS = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,127})/(trial-[0-9a-f]{16})(?:--(trial-[0-9a-f]{16}))?\Z")
_PLACE = re.compile(r'<a data-trial="([^"]*)"')


def link_trials(html: str, lead: str, ending: str = "", known: Callable[[str], bool] | None = None) -> str:
    """The HTML with links to the pages of trials, which begin with `lead`; those that are not `known` stay none."""

    def link(found: re.Match[str]) -> str:
        if ADDRESS.match(found[1]) is None or (known is not None and not known(found[1])):
            return found[0]
        return f'<a href="{lead}{found[1]}{ending}" data-trial="{found[1]}"'

    return _PLACE.sub(link, html)
