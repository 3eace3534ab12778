"""Draw the README's pictures from the collection that `make demo` leaves, and photograph its page.

Needs chromium and the packages of tests/requirements-real.txt, as `make test-all` installs them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLLECTION = ROOT / "build" / "demo" / "collection"
OUT = ROOT / "docs" / "pictures"
DAY = "2026-12-21"
DRAWN = {"router-confusion": "confusion", "effect": "effect"}
QUIET = ("--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update")


def main() -> None:
    """Write each picture in the light and in the dark."""
    if not COLLECTION.is_dir():
        sys.exit("build/demo/collection is not there: run `make demo` first")
    OUT.mkdir(parents=True, exist_ok=True)
    for name, file in DRAWN.items():
        for dark in ([], ["--dark"]):
            target = OUT / f"{file}{'-dark' if dark else ''}.png"
            command = ["picture", name, ".", "--as-of", DAY, "--output", str(target), *dark]
            subprocess.run([sys.executable, "-m", "skill_health", *command], cwd=COLLECTION, check=True)
    for scheme in ("light", "dark"):
        photograph(OUT / f"page{'-dark' if scheme == 'dark' else ''}.png", scheme)


def photograph(target: Path, scheme: str) -> None:
    """The upper part of the page as a window of 1,280 by 1,000 pixels shows it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", *QUIET])
        page = browser.new_page(viewport={"width": 1280, "height": 1000}, color_scheme=scheme)
        page.goto((COLLECTION / "reports" / "index.html").as_uri())
        page.screenshot(path=target)
        browser.close()


if __name__ == "__main__":
    main()
