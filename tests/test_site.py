"""The site of the documentation: every page is built, every rule has its address, and no link in it leads nowhere."""

from __future__ import annotations

import posixpath
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from scripts import site
from skill_health.rules._load import all_rules


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("README.md", "[a](docs/guide.md#x)", "[a](guide.md#x)"),
        ("README.md", '<img src="docs/pictures/page.png">', '<img src="pictures/page.png">'),
        ("docs/tutorials/hook.md", "[a](../cli.md) [b](../../README.md)", "[a](../cli.md) [b](../index.md)"),
        ("docs/guide.md", "[a](../SECURITY.md)", "[a](reporting.md)"),
        ("docs/guide.md", "[a](https://example.com/docs/x.md) [b](#c)", "[a](https://example.com/docs/x.md) [b](#c)"),
        ("README.md", "```\n[a](docs/guide.md)\n```\n`[b](docs/c.md)` [d](docs/e.md)", "```\n[a](docs/guide.md)\n```\n`[b](docs/c.md)` [d](e.md)"),
        ("docs/guide.md", '<source srcset="pictures/page.png">', '<source srcset="../pictures/page.png">'),
        ("docs/ci.md", "[a](../action.yml)", "[a](#)"),
        ("docs/ci.md", "[a](gone.md)", "[a](gone.md)"),
    ],
)  # fmt: skip
def test_links_are_those_of_the_site(checkout: Path, name: str, text: str, wanted: str) -> None:
    assert site.turned(text, name, checkout) == wanted


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given.get("id", ""), given.get("name", "")}
        self.targets += [given[name] for name in ("href", "src") if name in given and tag in ("a", "img")]


def dead(built: Path) -> Iterator[str]:
    pages = {}
    for path in built.rglob("*.html"):
        pages[path] = Links()
        pages[path].feed(path.read_text("utf-8"))
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or target.startswith("javascript"):
                continue
            place = path if not parts.path else Path(posixpath.normpath(str(path.parent / unquote(parts.path))))
            place = place / "index.html" if place.is_dir() else place
            if not place.is_file() or (
                parts.fragment and place in pages and unquote(parts.fragment) not in pages[place].anchors
            ):
                yield f"{path.relative_to(built)}: {target}"


@pytest.mark.slow
def test_every_page_is_built_and_no_link_is_dead(checkout: Path, tmp_path: Path) -> None:
    for name in ("mkdocs.yml", *site.BESIDE):
        shutil.copyfile(checkout / name, tmp_path / name)
    shutil.copytree(checkout / "docs", tmp_path / "docs")
    for name in ("action.yml", "benchmarks", "fixtures", "examples", "reports", "scripts", "skills"):
        (tmp_path / name).symlink_to(checkout / name)
    site.lay_out(tmp_path / "build" / "pages", tmp_path)
    site.add_reports(tmp_path / "build" / "pages")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    built = tmp_path / "build" / "site"
    assert all((built / "rules" / rule.code / "index.html").is_file() for rule in all_rules())
    front = (built / "index.html").read_text("utf-8")
    assert "lints, fixes and measures collections of Agent Skills" in front
    assert 'href="page.html"' in (built / "our-reports" / "index.html").read_text("utf-8")
    # The page has tests of its own, in a browser.
    assert [each for each in dead(built) if not each.startswith("our-reports/page.html")] == []
