"""Caps hold whatever the order in which calls begin and end."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench.budget import Budget

DOLLARS = st.floats(0, 5, allow_nan=False)


def test_without_caps_everything_is_let_through_and_counted() -> None:
    budget = Budget(None, None)
    assert all(budget.reserve(1000.0) for _ in range(5))
    assert (budget.attempts, budget.spent, budget.reserved, budget.reached) == (5, 0.0, 5000.0, "")
    budget.charge(1000.0, 0.25)
    budget.charge(1000.0, None)
    assert (budget.spent, budget.reserved) == (1000.25, 3000.0)


def test_the_cap_on_calls_counts_attempts() -> None:
    budget = Budget(2, None, attempts=1)
    assert budget.reserve(0.0)
    budget.charge(0.0, 0.0)
    assert not budget.reserve(0.0)
    assert budget.attempts == 2
    assert budget.reached == "the cap of 2 calls is reached"
    assert not Budget(0, None).reserve(0.0)


def test_the_cap_on_dollars_counts_calls_under_way() -> None:
    budget = Budget(None, 1.0, spent=0.4)
    assert budget.reserve(0.3)
    assert budget.reserve(0.3)
    assert not budget.reserve(1e-9)
    assert "$1.0000" in budget.reached and "$0.4000 spent and $0.6000 held back" in budget.reached
    budget.charge(0.3, 0.1)
    assert budget.reserve(0.2)
    assert budget.attempts == 3


def test_a_free_call_is_let_through_when_all_is_spent() -> None:
    budget = Budget(None, 0.5, spent=0.5)
    assert budget.reserve(0.0)
    assert not budget.reserve(0.0000000001)
    assert Budget(None, 0.0).reserve(0.0)


def test_ten_tenths_fit_into_one() -> None:
    budget = Budget(None, 1.0)
    assert all(budget.reserve(0.1) for _ in range(10))
    for _ in range(10):
        budget.charge(0.1, 0.1)
    assert budget.spent == 1.0
    assert not budget.reserve(0.1)


@given(
    st.lists(st.tuples(DOLLARS, st.floats(0, 1), st.booleans()), max_size=60), DOLLARS, st.integers(0, 40), st.randoms()
)
def test_no_cap_is_ever_overrun(
    calls: list[tuple[float, float, bool]], cap: float, most: int, order: random.Random
) -> None:
    budget = Budget(most, cap)
    under_way: list[tuple[float, float | None]] = []
    made, exact = 0, []
    for usd, share, reported in calls:
        if budget.reserve(usd):
            made += 1
            under_way.append((usd, usd * share if reported else None))
        assert budget.spent + budget.reserved <= cap + 1e-9
        if under_way and order.random() < 0.5:
            held, actual = under_way.pop(order.randrange(len(under_way)))
            budget.charge(held, actual)
            exact.append(held if actual is None else actual)
    for held, actual in under_way:
        budget.charge(held, actual)
        exact.append(held if actual is None else actual)
    assert budget.attempts == made <= most
    assert budget.reserved == 0.0
    assert budget.spent <= cap
    assert math.isclose(budget.spent, math.fsum(exact), abs_tol=1e-9 * (len(exact) + 1))


@given(st.lists(DOLLARS, max_size=30), st.randoms())
def test_the_order_in_which_calls_end_changes_no_digit(costs: list[float], order: random.Random) -> None:
    def spent(given: list[float]) -> float:
        budget = Budget(None, None)
        for usd in given:
            budget.reserve(usd)
        for usd in given:
            budget.charge(usd, usd)
        return budget.spent

    shuffled = list(costs)
    order.shuffle(shuffled)
    assert spent(costs) == spent(shuffled)


NO_AMOUNT = "not an amount in dollars"


@pytest.mark.parametrize("amount", [-0.01, math.nan, math.inf])
def test_what_is_no_amount_is_refused(amount: float) -> None:
    budget = Budget(None, None)
    with pytest.raises(ValueError, match=NO_AMOUNT):
        budget.reserve(amount)
    with pytest.raises(ValueError, match=NO_AMOUNT):
        Budget(None, amount)
    budget.reserve(1.0)
    with pytest.raises(ValueError, match=NO_AMOUNT):
        budget.charge(1.0, amount)
    assert (budget.reserved, budget.spent) == (1.0, 0.0)


def test_what_was_not_reserved_is_not_charged() -> None:
    budget = Budget(None, None)
    budget.reserve(0.5)
    with pytest.raises(ValueError, match="more is charged than was reserved"):
        budget.charge(0.6, 0.1)
    with pytest.raises(ValueError, match="counts from 0"):
        Budget(-1, None)
    with pytest.raises(ValueError, match="counts from 0"):
        Budget(None, None, attempts=-1)


@given(st.lists(st.tuples(DOLLARS, st.booleans()), max_size=20), DOLLARS)
def test_what_is_in_batches_is_held_and_what_was_never_made_is_given_back(
    calls: list[tuple[float, bool]], cap: float
) -> None:
    budget = Budget(None, cap, attempts=len(calls))
    for usd, _ in calls:
        budget.hold(usd)
    held = sum(usd for usd, _ in calls)
    assert budget.reserved == pytest.approx(held, abs=1e-7) and budget.spent == 0
    assert budget.reserve(cap + 1.0) is False
    for usd, made in calls:
        if made:
            budget.charge(usd, None)
        else:
            budget.release(usd)
    assert budget.attempts == sum(made for _, made in calls)
    assert budget.reserved == 0
    assert budget.spent == pytest.approx(sum(usd for usd, made in calls if made), abs=1e-7)
    with pytest.raises(ValueError):
        budget.release(0.5)
