"""Task 008: changelogs that tell users what they need, and ones that nearly do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

Edit = Callable[[Path], None]


def change(*pairs: tuple[str, str], name: str = "CHANGELOG.md") -> Edit:
    """Replace passages of the oracle's file, each of which has to be there."""

    def edit(workspace: Path) -> None:
        path = workspace / name
        text = path.read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")

    return edit


def entry(start: str) -> str:
    """The bullet of the oracle's file that begins like this, with its line break."""
    oracle = Path(__file__).resolve().parents[3] / "fixtures" / "tasks" / "008-stowaway-release" / "oracle" / "solve.py"
    text = oracle.read_text(encoding="utf-8")
    match = re.search(rf"(?ms)^- {re.escape(start)}.*?(?=^- |^$|^\"\"\")", text)
    assert match, start
    return match[0]


def other_words(workspace: Path) -> None:
    """Another author: stars, one line each, Python among what was removed, no entry of its own for the new option."""
    path = workspace / "CHANGELOG.md"
    text = path.read_text(encoding="utf-8")
    start, end = text.index("## [2.0.0]"), text.index("## [1.6.2]")
    section = """## [2.0.0] - 2026-04-14

### Added

* `stowaway list --json` for scripts: name and size of every copy.

### Changed

* BREAKING: usage errors (an unknown option, a missing argument) now return 2, as the README says, not 1. If a script treats 1 as
  a mistyped command line, let it look for 2.
* BREAKING: without a `keep` in stowaway.toml the fourteen newest copies are kept and older ones are deleted; until now nothing was
  deleted. Write `keep = 0` into the file to go on like that.

### Deprecated

* `--all`: say `--include-hidden` instead. Still understood until 3.0.

### Removed

* Python 3.9 and 3.10; 3.11 is the oldest version that works.
* `--tar` (deprecated in 1.6.0); copies are zip files.

### Fixed

* Bringing back the copy of a folder with no files in it crashed.

### Security

* STOW-2026-02: restoring a manipulated copy could overwrite files elsewhere, e.g. your `.profile`. Update before you restore
  copies that you did not make; 2.0.0 is the first safe version.

"""
    path.write_text(text[:start] + section + text[end:], encoding="utf-8")


def two_entries_for_one_effect(workspace: Path) -> None:
    change(
        ("Stay on 1.6.2 with an older one. (#155)\n", "Stay on 1.6.2 with an older one. (#155)\n- `tomli` is not needed any more. (#155)\n"),
    )(workspace)  # fmt: skip


LIST = entry("`list --json`")
KEEP = entry("**Breaking:** `keep`")
EXIT = entry("**Breaking:** wrong options")
PYTHON = entry("**Breaking:** Python")
FIXED = entry("`restore` no longer")
RIGHT = {"008": [other_words, two_entries_for_one_effect]}
WRONG = {
    "008": [
        ("number and day", change(("2.0.0", "1.7.0"))),
        ("number and day", change(("2.0.0", "1.6.3"))),
        ("number and day", change(("2.0.0] - 2026-04-14", "2.0.0] - 14/04/2026"))),
        ("number and day", change(("2.0.0", "1.6.2"), name="stowaway/__init__.py")),
        ("ready for what comes", change(("## [Unreleased]\n\n", ""))),
        ("form", change(("### Removed", "### Dropped"))),
        ("form", change((LIST, LIST + PYTHON), ("### Changed\n\n", f"### Changed\n\n{LIST}"))),
        ("links", change(("v2.0.0...HEAD", "v1.6.2...HEAD"))),
        ("links", change(("[2.0.0]: https://git.example/stowaway/compare/v1.6.2...v2.0.0\n", ""))),
        ("earlier releases", change(("It goes in the next major version.", "It went in 2.0.0."))),
        ("nothing that nobody notices", change((FIXED, FIXED + "- The walker is a function now. (#150)\n"))),
        ("nothing that nobody notices", change((LIST, LIST + "- `save --jobs` copies with several workers. (#149)\n"))),
        ("default of keep", change((KEEP, ""))),
        ("default of keep", change((KEEP, KEEP.replace("**Breaking:** ", "")))),
        ("exit status", change((EXIT, ""), (FIXED, EXIT.replace("**Breaking:** ", "") + FIXED))),
        ("Python", change((PYTHON, PYTHON.replace("**Breaking:** ", "")))),
        ("--tar", change(("- `save --tar`, deprecated since 1.6.0.", "- `save --tar`."))),
        ("--all", change(("### Deprecated\n\n" + entry("`save --all`") + "\n", ""))),
        ("STOW-2026-02", change((" (STOW-2026-02)", ""))),
    ]
}
