"""Parts of a work: every key is in one of them, compared keys are together, caps are shared out whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.errors import UsageError
from skill_health.executors.shards import Shard, read_shard_name, refuse_incomplete

KEYS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 3)), unique=True, max_size=40)


@given(KEYS, st.integers(1, 6))
def test_every_key_is_in_one_part_and_units_are_whole(keys: list[tuple[int, int]], total: int) -> None:
    parts = [Shard(number, total).take_keys(keys, lambda key: key[0]) for number in range(1, total + 1)]
    assert sorted(key for part in parts for key in part) == sorted(keys)
    for unit in {key[0] for key in keys}:
        assert sum(any(key[0] == unit for key in part) for part in parts) == 1
    counts = [len({key[0] for key in part}) for part in parts]
    assert max(counts) - min(counts) <= 1


@given(st.integers(0, 1000), st.floats(0, 1e6), st.integers(1, 50))
def test_the_shares_of_a_cap_are_the_cap(calls: int, usd: float, total: int) -> None:
    shards = [Shard(number, total) for number in range(1, total + 1)]
    assert sum(shard.share_count(calls) for shard in shards) == calls
    assert sum(shard.share_amount(usd) for shard in shards) == pytest.approx(usd)


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/0", "a/b", "1/2/3", "-1/2", "1/20000", "١/٢"])
def test_what_names_no_part_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--shard .*K/N"):
        read_shard_name(text)


@given(st.integers(1, 6), st.data())
def test_a_set_of_parts_is_whole_or_refused(total: int, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(1, total), max_size=8))
    shards = [(f"f{at}", Shard(number, total)) for at, number in enumerate(numbers)]
    whole = sorted(numbers) == list(range(1, total + 1))
    if whole or not numbers:
        refuse_incomplete(shards)
    else:
        with pytest.raises(UsageError, match=r"is missing|and so is another"):
            refuse_incomplete(shards)


def test_parts_of_two_sets_are_refused() -> None:
    with pytest.raises(UsageError, match="b is one of 3 shards, and a one of 2"):
        refuse_incomplete([("a", Shard(1, 2)), ("b", Shard(2, 3))])
