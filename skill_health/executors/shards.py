"""Parts of a work that machines do by themselves, such as the jobs of a CI matrix; somebody puts them together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from skill_health.core.errors import UsageError

_Item = TypeVar("_Item")
_MOST = 10_000


class Shard(NamedTuple):
    """One of `total` parts of a work, counted from 1."""

    number: int
    total: int

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    @property
    def suffix(self) -> str:
        """How the name of what holds this part ends."""
        return f"-{self.number}of{self.total}"

    def take(self, items: Sequence[_Item]) -> list[_Item]:
        """Every `total`-th of the items."""
        return list(items[self.number - 1 :: self.total])

    def take_keys(self, keys: Sequence[_Item], unit: Callable[[Any], Hashable]) -> frozenset[_Item]:
        """The keys of this part. Those of one unit are in one part, and units are dealt out in their order."""
        units: dict[Hashable, int] = {}
        return frozenset(key for key in keys if units.setdefault(unit(key), len(units)) % self.total == self.number - 1)

    def share_count(self, most: int) -> int:
        """What this part may have of so many; the shares of all parts are that in sum."""
        return most // self.total + (self.number <= most % self.total)

    def share_amount(self, most: float) -> float:
        """What this part may spend of such an amount."""
        return most / self.total


def read_shard_name(text: str) -> Shard:
    """The part that `K/N` names. Raises UsageError for anything else."""
    number, slash, count = text.partition("/")
    if slash and all(part.isascii() and part.isdigit() and len(part) < 6 for part in (number, count)):
        shard = Shard(int(number), int(count))
        if 1 <= shard.number <= shard.total <= _MOST:
            return shard
    raise UsageError(f"--shard takes K/N, the K-th of N parts, such as 2/8 (N up to {_MOST:,}), not {text[:40]!r}")


def refuse_incomplete(shards: Iterable[tuple[str, Shard]]) -> None:
    """Raise UsageError where parts, each with the name of what holds it, are not all parts of one work, each once."""
    found: dict[Shard, str] = {}
    for name, shard in shards:
        if shard in found:
            raise UsageError(f"{name} is shard {shard}, and so is another of these: {found[shard]}")
        found[shard] = name
        first = next(iter(found))
        if shard.total != first.total:
            raise UsageError(f"{name} is one of {shard.total} shards, and {found[first]} one of {first.total}")
    for shard in found:
        missing = sorted({*range(1, shard.total + 1)}.difference(each.number for each in found))
        if missing:
            raise UsageError(f"shard {missing[0]}/{shard.total} is missing: give all of them")
        return
