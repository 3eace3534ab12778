"""`make site`: the documentation as a site below build/site. A link that leads nowhere fails it.

The front page is the README, so links are turned to where the pages are on the site; a rule's page is at rules/CODE/.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build" / "pages"
BESIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
}
"""The pages that lie beside docs/, and their names on the site."""
_LINK = re.compile(r"(\]\(|(?:src|srcset)=\")(?![a-z]+:|#|<|/)([^)\s\"#]+)")
_CODE = re.compile(r"(^(?P<fence>```+|~~~+).*?^(?P=fence)|`[^`\n]+`)", re.DOTALL | re.MULTILINE)


def lay_out(folder: Path = PAGES, root: Path = ROOT) -> None:
    """Copy every page and picture below `folder`, with links as the site has them."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in sorted((root / "docs").rglob("*")):
        if path.is_file() and path.suffix in (".md", ".png", ".svg"):
            place = folder / path.relative_to(root / "docs")
            place.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".md":
                place.write_text(turned(path.read_text("utf-8"), path.relative_to(root).as_posix(), root), "utf-8")
            else:
                shutil.copyfile(path, place)
    for name, page in BESIDE.items():
        (folder / page).write_text(turned((root / name).read_text("utf-8"), name, root), "utf-8")


def turned(text: str, name: str, root: Path) -> str:
    """The text of a page whose path is `name`, with links to pages and pictures as they are on the site.

    What is linked to and is in the repository alone keeps its words, and leads to the top of its page.
    """
    here = on_site(name) or ""

    def link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[2]))
        page = on_site(target)
        if page is None and (root / target).exists():
            return f"{match[1]}#"
        if page is None:
            return match[0]
        # Markup of ours is not turned by the builder, which gives every page but an index a folder of its own.
        deeper = "../" if match[1].endswith('"') and not here.endswith(("index.md", "README.md")) else ""
        return match[1] + deeper + posixpath.relpath(page, posixpath.dirname(here) or ".")

    # What follows the language of a fence (a file's name) would keep the builder from seeing a fence.
    text = re.sub(r"(?m)^(```+\w+) [^`\n]+$", r"\1", text)
    parts = _CODE.split(text)
    # The pattern has two groups: text, code, fence, text, ...
    return "".join(_LINK.sub(link, part) if at % 3 == 0 else part for at, part in enumerate(parts) if at % 3 != 2)


def on_site(path: str) -> str | None:
    """Where a file of the repository is on the site; None where it is not."""
    if path in BESIDE:
        return BESIDE[path]
    return path.removeprefix("docs/") if path.startswith("docs/") and path.endswith((".md", ".png", ".svg")) else None


def add_reports(folder: Path = PAGES) -> None:
    """The page of our own histories, below docs/our-reports.md."""
    page = folder / "our-reports" / "page.html"
    page.parent.mkdir()
    command = [sys.executable, "-m", "simulators", "report", "--reports", str(ROOT / "reports"), "--output", str(page)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=ROOT / "fixtures", env=env, check=True, stdout=subprocess.DEVNULL)
    with (folder / "our-reports.md").open("a", encoding="utf-8") as file:
        file.write("\n[The page of these histories](our-reports/page.html).\n")


def main() -> int:
    """Lay out the pages and build the site; the exit code is that of the builder."""
    lay_out()
    add_reports()
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--quiet"]
    return subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
