"""`python -m skill_health.docs`: write the generated part of docs/; with --check, say whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from skill_health import commands
from skill_health.docs_cli import cli_page
from skill_health.docs_pages import configuration_page, schemas_page
from skill_health.docs_rules import rule_pages
from skill_health.root import root
from skill_health.rules._load import all_rules

DOCS = Path(__file__).resolve().parents[1] / "docs"
HINT = "`make docs` (or `python -m skill_health.docs`) writes them anew"


def pages() -> dict[str, str]:
    """Every generated page by its path below docs/; the same bytes on any machine and in any terminal."""
    own = {name: command for name in commands.own_names() if (command := commands.load_own(name)) is not None}
    return rule_pages(all_rules()) | {
        "cli.md": cli_page(root, own),
        "configuration.md": configuration_page(),
        "schemas.md": schemas_page(),
    }


def differing(folder: Path, wanted: dict[str, str]) -> list[str]:
    """The pages below `folder` that are missing, differ, or belong to no rule any more; sorted."""
    there = {path.relative_to(folder).as_posix() for path in (folder / "rules").glob("*")}
    changed = {name for name, text in wanted.items() if _read(folder / name) != text.encode("utf-8")}
    return sorted(changed | (there - wanted.keys()))


def write(folder: Path, wanted: dict[str, str]) -> list[str]:
    """Bring `folder` up to date; returns what was written or removed."""
    changed = differing(folder, wanted)
    for name in changed:
        path = folder / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wanted[name].encode("utf-8"))
        else:
            path.unlink()
    return changed


def main(arguments: Sequence[str], folder: Path = DOCS) -> int:
    """Write or check; the exit code is 1 where a check finds a difference, and 2 for anything but --check."""
    if list(arguments) not in ([], ["--check"]):
        print("usage: python -m skill_health.docs [--check]", file=sys.stderr)
        return 2
    if not (folder.parent / "pyproject.toml").is_file():
        print(f"{folder.parent} is no checkout of skill-health: there is no pyproject.toml", file=sys.stderr)
        return 2
    if arguments:
        changed = differing(folder, pages())
        for name in changed:
            print(f"docs/{name} is not what the code says", file=sys.stderr)
        if changed:
            print(HINT, file=sys.stderr)
        return 1 if changed else 0
    for name in write(folder, pages()):
        print(f"docs/{name}")
    return 0


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
