"""What the tests of the page share: a browser of each kind, and pages whose pictures are not drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser_driver import BROWSERS, running

from skill_health.page.drawing import draw

# The gate drives the first with all cases, and the others with a smoke case each.
OTHERS = [pytest.param(name, marks=pytest.mark.exhaustive) for name in BROWSERS[1:]]


@pytest.fixture(scope="module", params=[BROWSERS[0], *OTHERS])
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    with running(request.param) as started:
        yield started


@pytest.fixture(scope="module")
def undrawn() -> Iterator[None]:
    """Pictures are not drawn, as the charting library takes its time; titles and numbers are there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw, "compile_all", lambda specs: dict.fromkeys(specs, ("400", "200", "")))
        yield
