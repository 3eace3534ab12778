"""Browsers for the tests of the page, cut off from all but the page: Debian's Chromium and its Firefox."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from browser_firefox import FirefoxBrowser, firefox, open_page

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM, FIREFOX = shutil.which("chromium"), shutil.which("firefox-esr") or shutil.which("firefox")
BROWSERS = ("chromium", "firefox")
# The environment is read here, at import: tests run without variables of ours.
AXE = Path(os.environ.get("SKILL_HEALTH_BROWSER") or ROOT / "build/browser") / "node_modules/axe-core/axe.min.js"
AS_OF = "2026-11-20"
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 400, "height": 800}
_ARGUMENTS = (
    "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
)  # fmt: skip
_WATCH = """addEventListener("securitypolicyviolation", (event) => {
    console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});"""


def missing() -> str:
    """What is missing to drive a browser; "" where nothing is."""
    if not CHROMIUM:
        return "chromium is missing: bash scripts/install_browser.sh"
    return (
        "" if find_spec("playwright") else "playwright is missing: pip install --no-deps -r tests/requirements-real.txt"
    )


def lacks(name: str) -> str:
    """What is missing to drive a browser of BROWSERS; "" where nothing is."""
    if name == "chromium":
        return missing()
    if not FIREFOX:
        return "firefox is missing: bash scripts/install_browser.sh"
    known = find_spec("websockets")
    return "" if known else "websockets is missing: pip install --no-deps -r tests/requirements-real.txt"


@contextmanager
def running(name: str) -> Iterator[Any]:
    """A browser of BROWSERS with a fresh profile. The test is skipped where something for it is missing."""
    if why := lacks(name):
        pytest.skip(why)
    with chromium() if name == "chromium" else firefox(FIREFOX or "") as browser:
        yield browser


@dataclass
class Visit:
    """A page in the browser. `wrong` collects what must not happen: requests, errors, violations, dialogs."""

    page: Any
    wrong: list[str] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser with a fresh profile. Close it before other tests run: it keeps an event loop in this thread."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        sandbox = [*_ARGUMENTS[1:]] if hasattr(os, "getuid") and os.getuid() else [*_ARGUMENTS]
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(
    browser: Any, address: str | Path, hash_: str = "", may_fail: bool = False, **options: Any
) -> Iterator[Visit]:
    """Open a file, or an address of a server here, without a network; at the end nothing may have gone wrong.

    `options` are those of a context of Playwright's; Firefox knows `viewport`, `reduced_motion`, `color_scheme` and
    `java_script_enabled`.
    """
    url = address.as_uri() if isinstance(address, Path) else address
    given = {"viewport": WIDE, "reduced_motion": "reduce"} | options
    wrong: list[str] = []
    if isinstance(browser, FirefoxBrowser):
        with open_page(browser, url + hash_, wrong, given) as page:
            yield Visit(page, wrong)
    else:
        with _in_chromium(browser, url, hash_, wrong, {"offline": isinstance(address, Path)} | given) as page:
            yield Visit(page, wrong)
    assert may_fail or not wrong, wrong[:10]


@contextmanager
def _in_chromium(browser: Any, url: str, hash_: str, wrong: list[str], options: dict[str, Any]) -> Iterator[Any]:
    context = browser.new_context(**options)
    context.set_default_timeout(20_000)
    own = context.new_page()

    def route(handler: Any) -> None:
        asked = handler.request.url.partition("#")[0]
        if asked == url or (url.startswith("http:") and asked.startswith(url)) or asked.startswith("data:"):
            handler.continue_()
        else:
            wrong.append(f"request: {asked}")
            handler.abort()

    def dialog(shown: Any) -> None:
        wrong.append(f"dialog: {shown.message}")
        shown.dismiss()

    def said(message: Any) -> None:
        if message.type in ("error", "warning"):
            wrong.append(f"{message.type}: {message.text}")

    context.route("**/*", route)
    context.on("page", lambda page: wrong.append(f"window: {page.url}") if page != own else None)
    own.on("dialog", dialog)
    own.on("console", said)
    own.on("pageerror", lambda error: wrong.append(f"script: {error}"))
    if options.get("java_script_enabled", True):
        own.add_init_script(_WATCH)
    try:
        own.goto(url + hash_)
        yield own
    finally:
        context.close()


def build(root: Path, *options: str) -> Path:
    """Make the page of a collection as a user does, in a process of its own; the path of the page."""
    command = [sys.executable, "-m", "skill_health", "report", "--as-of", AS_OF, *options]
    done = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr
    return root / "reports" / "index.html"


def names_shown(page: Any) -> list[str]:
    """The names in the table of skills that are to be seen, in their order."""
    script = (
        "rows => rows.filter(r => !r.hidden && r.checkVisibility()).map(r => r.cells[1].querySelector('a').textContent)"
    )
    names: list[str] = page.locator("#table tbody tr").evaluate_all(script)
    return names


def open_all(page: Any) -> None:
    """Open every <details> of the page."""
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
