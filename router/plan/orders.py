"""In which order the skills are presented: seeded, the same on every machine, balanced over places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Literal

from skill_health.core.files import blake2b

Orders = Literal["cyclic", "shared", "plan"]
ORDERS: tuple[Orders, ...] = ("cyclic", "shared", "plan")
SHARED = 4
"""In so many orders all prompts of a replication are asked where orders are shared."""

_MASK = 0xFFFFFFFF


def presentation(
    names: Sequence[str], prompt_id: str, model: str, replication: int, seed: int, orders: Orders = "cyclic"
) -> tuple[str, ...]:
    """The names in presentation order for one call. `replication` counts from 0; `model` matters to `plan` only."""
    if orders == "plan":
        return shuffled(names, plan_seed(prompt_id, model, replication, seed))
    return rotate(base_order(names, seed), prompt_id, replication, seed, orders)


def rotated(names: Sequence[str], prompt_id: str, replication: int, seed: int) -> tuple[str, ...]:
    """The names in an order of this prompt and replication, balanced over places: see `rotate`."""
    return rotate(base_order(names, seed), prompt_id, replication, seed)


def base_order(names: Sequence[str], seed: int) -> tuple[str, ...]:
    """The names in an order that only the seed and they decide."""
    return tuple(sorted(names, key=lambda name: blake2b(f"{seed}|{name}".encode("utf-8", "surrogatepass")).digest()))


def rotate(
    base: tuple[str, ...], prompt_id: str, replication: int, seed: int, orders: Orders = "cyclic"
) -> tuple[str, ...]:
    """The base order of the seed, rotated for this prompt and replication.

    The replications of a prompt walk the circle by the golden ratio's share of it, made coprime to its length: any few
    of them lie far apart, and as many replications as there are skills give every skill every position once. Where
    orders are shared, prompts begin at one of SHARED places, which lie as far apart as they can.
    """
    size = len(base)
    if size < 2:
        return base
    begin = _mark(prompt_id, seed)
    if orders == "shared":
        begin = group_of(prompt_id, seed) * size // SHARED
    shift = (begin + replication * _step(size)) % size
    return base[shift:] + base[:shift]


def group_of(prompt_id: str, seed: int) -> int:
    """Which of the SHARED groups a prompt is in: those of one group see the same order."""
    return _mark(prompt_id, seed) % SHARED


def _mark(prompt_id: str, seed: int) -> int:
    mark = blake2b(f"{seed}|{prompt_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(mark, "big")


def _step(size: int) -> int:
    from math import gcd

    near = round(size * 0.6180339887498949)
    return next(step for away in range(size) for step in (near - away, near + away) if gcd(step, size) == 1)


def plan_seed(prompt_id: str, model: str, replication: int, seed: int) -> int:
    """The 32-bit shuffle seed of a run of the plan."""
    key = f"{prompt_id}|{model}|{replication}|{seed}"
    return int.from_bytes(sha256(key.encode("utf-8", "surrogatepass")).digest()[:4], "big")


def shuffled(names: Sequence[str], seed: int) -> tuple[str, ...]:
    """Fisher-Yates from the end over `names`, driven by mulberry32 (Tommy Ettinger, 2017, public domain)."""
    order = list(names)
    draw = _mulberry32(seed)
    for last in range(len(order) - 1, 0, -1):
        other = int(next(draw) * (last + 1))
        order[last], order[other] = order[other], order[last]
    return tuple(order)


def _mulberry32(state: int) -> Iterator[float]:
    multiply: Callable[[int, int], int] = lambda a, b: (a * b) & _MASK  # noqa: E731
    while True:
        state = (state + 0x6D2B79F5) & _MASK
        mixed = multiply(state ^ (state >> 15), state | 1)
        mixed ^= (mixed + multiply(mixed ^ (mixed >> 7), mixed | 61)) & _MASK
        yield ((mixed ^ (mixed >> 14)) & _MASK) / 4294967296
