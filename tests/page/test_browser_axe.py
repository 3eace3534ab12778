"""An accessibility checker finds nothing serious on the page, light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_driver import AXE, NARROW, WIDE, build, chromium, missing, open_all, visit

from benchmarks._made_page import Size, write_page

_LACKS = missing() or ("" if AXE.is_file() else "axe-core is missing: bash scripts/install_browser.sh")
pytestmark = [pytest.mark.real, pytest.mark.skipif(bool(_LACKS), reason=_LACKS)]
_RUN = """() => axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(
    ({ id, impact, help, nodes }) => ({ id, impact, help, nodes: nodes.slice(0, 3).map(
        (node) => `${node.html.slice(0, 200)} ${node.any.concat(node.all, node.none).map((each) => each.message).join("; ")}`) })))"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("site")
    write_page(root, Size(6, 12, 180, 3), seed=5)
    return build(root)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


def _violations(browser: Any, page: Path, **options: Any) -> list[dict[str, Any]]:
    # The page's own policy would keep the checker out.
    with visit(browser, page, may_fail=True, bypass_csp=True, **options) as seen:
        # The checker looks for what lies under a text by its place, and what was never laid out has none.
        seen.page.add_style_tag(content="* { content-visibility: visible !important; }")
        open_all(seen.page)
        seen.page.evaluate(AXE.read_text(encoding="utf-8"))
        found: list[dict[str, Any]] = seen.page.evaluate(_RUN)
    return found


@pytest.mark.parametrize("window", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("shade", ["light", "dark"])
def test_the_checker_finds_nothing_serious(shade: str, window: dict[str, int], page: Path, browser: Any) -> None:
    found = _violations(browser, page, color_scheme=shade, viewport=window)
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert not serious, "\n".join(f"{each['id']}: {node}" for each in serious for node in each["nodes"])


def test_the_checker_would_find_something(page: Path, browser: Any, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    worse = tmp_path / "worse.html"
    worse.write_text(
        text.replace('<html lang="en">', "<html>").replace("<main>", "<main><img src='data:,'>"), encoding="utf-8"
    )
    assert {"html-has-lang", "image-alt"} <= {each["id"] for each in _violations(browser, worse)}
