"""What a host shows a model of a collection: every name and description, within the host's budget.

The budgets and what happens beyond them are in the files of the hosts (`skill_health/hosts/`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from skill_health.hosts._load import all_hosts
from skill_health.skill.measure import estimate_tokens


class Host(NamedTuple):
    """How one host lists skills.

    The budget is `budget` where that is above 0, else `budget_percent` of `context_tokens`; it counts what
    `unit` says (characters, or tokens of `chars_per_token` bytes). `skill_chars` caps one description (0: no
    cap). `overflow` is what is given up beyond the budget: "names" (descriptions are dropped, names stay),
    "shorten" (all descriptions are cut alike, then entries left out) or "omit" (entries left out).
    `entry` and `bare` are the texts of an entry with and without its description.
    """

    key: str
    title: str = ""
    context_tokens: float = 0
    budget_percent: float = 0
    budget: float = 0
    unit: str = "characters"
    chars_per_token: float = 4
    skill_chars: float = 0
    overflow: str = "omit"
    entry: str = "- {name}: {description}\n"
    bare: str = "- {name}\n"
    source: str = ""

    @property
    def limit(self) -> int:
        """The budget in its unit."""
        if self.budget > 0:
            return int(self.budget)
        share = self.context_tokens * self.budget_percent / 100
        return int(share if self.unit == "tokens" else share * self.chars_per_token)


def hosts(overrides: Mapping[str, Mapping[str, float]] | None = None) -> tuple[Host, ...]:
    """The known hosts with a configuration's numbers in place of the table's, sorted by key.

    A key that the table does not have is a new host; without a budget of its own it shows everything. Unknown
    names of numbers are skipped, since the configuration reports them.
    """
    known = {each.key: Host(each.key, each.title, **cast(Any, each.listing)) for each in all_hosts() if each.listing}
    numbers = {name for name, kind in Host.__annotations__.items() if kind is float}
    for key, given in (overrides or {}).items():
        found = {name: float(value) for name, value in given.items() if name in numbers}
        if "budget_percent" in found or "context_tokens" in found:
            found.setdefault("budget", 0.0)
        known[key] = known.get(key, Host(key, key))._replace(**cast(Any, found))
    return tuple(known[key] for key in sorted(known))


FULL, TRUNCATED, NAME_ONLY, OMITTED = "full", "truncated", "name-only", "omitted"

# (name, description) pairs, and the indices of those shown with the characters of their descriptions.
Texts = Sequence[tuple[str, str]]
Lengths = dict[int, int]


class CatalogEntry(NamedTuple):
    """What is left of one skill: a state, and how many characters of its description are shown."""

    name: str
    state: str
    chars: int


class Catalog(NamedTuple):
    """A collection as one host lists it.

    `used` and `wanted` are what the listing takes and what it would take in full, in the unit of the
    host's budget. `tokens` is what every request pays: `used` where the host counts tokens, else an estimate.
    """

    host: Host
    skills: tuple[CatalogEntry, ...]
    used: int
    wanted: int
    tokens: int

    def count(self, state: str) -> int:
        """How many skills are in a state."""
        return sum(shown.state == state for shown in self.skills)


def simulate(descriptions: Texts, host: Host) -> Catalog:
    """List (name, description) pairs as `host` does; the answer is in the order of the pairs.

    Which descriptions Claude Code drops depends on use; without a record of it the later ones are dropped,
    so that the counts are right and the names are an example.
    """
    flat = [_flat(*pair) for pair in descriptions]
    cap = int(host.skill_chars) or None
    texts = [(name, text[:cap]) for name, text in flat] if cap else flat
    order = sorted(range(len(texts)), key=lambda at: (texts[at][0], at))
    wanted = sum(_cost(host, _entry(host, *text)) for text in texts)
    if host.limit <= 0 or wanted <= host.limit:
        lengths = {at: len(text) for at, (_, text) in enumerate(texts)}
    else:
        lengths = _OVERFLOW[host.overflow](texts, order, host)
    shown = tuple(_shown(name, lengths.get(at), len(text)) for at, (name, text) in enumerate(flat))
    kept = [_entry(host, texts[at][0], texts[at][1][: lengths[at]]) for at in order if at in lengths]
    used = sum(_cost(host, entry) for entry in kept)
    tokens = used if host.unit == "tokens" else estimate_tokens("".join(kept))
    return Catalog(host, shown, used, wanted, tokens)


def _flat(name: str, text: str) -> tuple[str, str]:
    """A description on one line; most are, and their own string is kept, as there may be 100,000 of them."""
    line = " ".join(text.split())
    return name, text if line == text else line


def _names(texts: Texts, order: Iterable[int], host: Host) -> Lengths:
    """Every name, and the descriptions that still fit."""
    left = host.limit - sum(_cost(host, _entry(host, name, "")) for name, _ in texts)
    lengths: Lengths = {}
    for at in order:
        name, text = texts[at]
        more = _cost(host, _entry(host, name, text)) - _cost(host, _entry(host, name, ""))
        lengths[at] = len(text) if more <= left else 0
        left -= more if more <= left else 0
    return lengths


def _omit(texts: Texts, order: Iterable[int], host: Host) -> Lengths:
    """Whole entries up to the first that does not fit."""
    left = host.limit
    lengths: Lengths = {}
    for at in order:
        left -= _cost(host, _entry(host, *texts[at]))
        if left < 0:
            break
        lengths[at] = len(texts[at][1])
    return lengths


def _shorten(texts: Texts, order: Iterable[int], host: Host) -> Lengths:
    """The longest common length at which every entry fits; failing that, the bare entries that fit."""

    def total(length: int) -> int:
        return sum(_cost(host, _entry(host, name, text[:length])) for name, text in texts)

    if total(0) <= host.limit:
        low, high = 0, max(len(text) for _, text in texts)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if total(middle) <= host.limit else (low, middle - 1)
        return {at: min(low, len(texts[at][1])) for at in order}
    left = host.limit
    lengths: Lengths = {}
    for at in order:
        cost = _cost(host, _entry(host, texts[at][0], ""))
        if cost <= left:
            lengths[at] = 0
            left -= cost
    return lengths


_OVERFLOW = {"names": _names, "shorten": _shorten, "omit": _omit}


def _entry(host: Host, name: str, text: str) -> str:
    before, _, after = (host.entry if text else host.bare).partition("{description}")
    return before.replace("{name}", name) + text + after.replace("{name}", name)


def _cost(host: Host, entry: str) -> int:
    if host.unit == "tokens":
        return -(-len(entry.encode("utf-8", "replace")) // max(1, int(host.chars_per_token)))
    return len(entry)


def _shown(name: str, length: int | None, whole: int) -> CatalogEntry:
    if length is None:
        return CatalogEntry(name, OMITTED, 0)
    if length >= whole:
        return CatalogEntry(name, FULL, length)
    return CatalogEntry(name, TRUNCATED if length else NAME_ONLY, length)
