"""Several words in a sentence."""

from __future__ import annotations

import pytest

from skill_health.text.near import list_some


@pytest.mark.parametrize(
    ("names", "most", "said"),
    [
        ([], 3, ""), (["a", "b", "c"], 3, "a, b, c"), (["a", "b", "c", "d", "e"], 3, "a, b, c and 2 more"),
        (["a", "b"], 1, "a and 1 more"),
    ],
)  # fmt: skip
def test_the_first_few_names_and_how_many_more_there_are(names: list[str], most: int, said: str) -> None:
    assert list_some(names, most) == said
