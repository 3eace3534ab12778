"""The known frontmatter keys: the specification's, and the extensions of hosts.

Those of the hosts that `skill-health hosts` knows are in their files (`hosts/`), with source and date. The others were
read in November 2026: docs.openhands.dev/overview/skills and OpenHands/software-agent-sdk, skill.py;
support.claude.com, "How to create custom Skills" (dependencies); anthropics/claude-plugins-official, example-skill
(version). Not among the checked hosts: Hermes Agent, whose own skills have version, author and platforms.
"""

from __future__ import annotations

from skill_health.hosts._load import all_hosts
from skill_health.text.patterns import lazy

SPECIFICATION = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
HOSTS = {
    "OpenHands": ("triggers", "paths", "inputs", "mcp_tools"),
    "Claude": ("dependencies", "version"),
    **{each.title: each.keys for each in all_hosts() if each.keys or not each.specification},
}
# Words that skills also use for things of their own: a variant spelling of one is no typo.
_WORDS = frozenset(("triggers", "inputs", "dependencies", "version"))
KNOWN = frozenset(SPECIFICATION).union(*HOSTS.values())

_CAMEL = lazy(r"(?<=[a-z])(?=[A-Z])")
_FOLDED = {key.replace("_", "-"): key for key in KNOWN - _WORDS}
# Short words such as name, model or paths are one letter away from legitimate other keys (names, models, path).
_FUZZY = tuple(key for key in sorted(KNOWN - _WORDS) if len(key) >= 9 or key in ("license", "metadata"))
_LONGEST = 40


def meant(key: str) -> str | None:
    """The known key that an unknown one is a misspelling of, or None."""
    if len(key) > _LONGEST:
        return None
    folded = _CAMEL.sub("-", key.strip()).lower().replace("_", "-").replace(" ", "-")
    if folded in _FOLDED:
        return _FOLDED[folded]
    for known in _FUZZY:
        allowed = 2 if len(known) >= 9 else 1
        if folded[:1] == known[:1] and abs(len(folded) - len(known)) <= allowed and _distance(folded, known) <= allowed:
            return known
    return None


def _distance(left: str, right: str) -> int:
    """Edit distance with transpositions of neighbours (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, char in enumerate(left, 1):
        before, previous, row = row, before, [i] + [0] * len(right)
        for j, other in enumerate(right, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (char != other))
            if i > 1 and j > 1 and char == right[j - 2] and left[i - 2] == other:
                row[j] = min(row[j], previous[j - 2] + 1)
    return row[-1]
