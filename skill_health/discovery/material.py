"""Skills that no host loads: the test data, templates, overlays and backups of a repository.

The folders are those of public collections in which no SKILL.md was meant to be loaded (read 2026-11).
"""

from __future__ import annotations

from collections.abc import Iterable

from skill_health.discovery.ignores import Patterns, ignored_within

_FOLDERS = frozenset(
    "testdata test-data test_data __tests__ __fixtures__ __mocks__ fixture fixtures tests test template templates overlay "
    "overlays skill-flavors backups".split()
)
_EXAMPLES = frozenset("example examples sample samples".split())
_BAD = frozenset("bad broken invalid malformed wrong".split())
# What stands in these is named for what it is about: skills/tests is a skill, plugins/templates a plugin.
_NAMED = frozenset(("skills", "plugins"))


def material_folder(folder: str) -> str:
    """The outermost folder above a skill's folder that holds no live skills; "" where none does.

    The skill's own folder counts where it is called `template`; one of another name is named for what it is about.
    """
    parts = folder.lower().split("/")
    for n, name in enumerate(parts):
        above = parts[n - 1] if n else ""
        own = n == len(parts) - 1
        kind = (name in _FOLDERS and above not in _NAMED) or (name in _BAD and above in _EXAMPLES)
        if name == "template" if own else kind:
            return folder[: len("/".join(parts[: n + 1]))]
    return ""


def is_included(folder: str, include: Patterns | None) -> bool:
    """Whether the configured `include` brings a folder, relative to the root, back."""
    return include is not None and ignored_within((include,), folder, True)


def is_live(path: str, named: Iterable[str], include: Patterns | None) -> bool:
    """Whether a file is none of test data and the like; what is below such a folder that was `named` is live."""
    material = material_folder(path)
    if not material or any(folder.startswith(material) for folder in named):
        return True
    return is_included(path.rpartition("/")[0], include)
