"""Results survive being lines of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.errors import UsageError
from skill_health.documents._record import TokenUsage, record_values
from skill_health.router.records import RoutingResult, Status
from skill_health.router.runs import read_result, read_results

TEXTS = st.lists(st.text(max_size=5), max_size=3).map(tuple)
NUMBERS = st.none() | st.integers(1, 9)
RESULTS = st.builds(
    RoutingResult, prompt_id=st.text(), model=st.text(), replication=st.integers(0, 9), status=st.sampled_from(get_args(Status)),
    ranking=TEXTS, confidence=st.none() | st.floats(0, 1), kinds=TEXTS, notes=TEXTS, first_kinds=TEXTS,
    target_position=NUMBERS, picked_position=NUMBERS, cost_usd=st.none() | st.floats(0, 9),
    usage=st.builds(TokenUsage, input_tokens=NUMBERS, raw=st.none() | st.just({"a": [1]})),
)  # fmt: skip


@pytest.mark.slow
@given(RESULTS)
def test_there_and_back(result: RoutingResult) -> None:
    assert read_result(json.loads(json.dumps(record_values(result)))) == result


@pytest.mark.parametrize("record", [{}, {"prompt_id": "p"}, {"usage": 3}, {"usage": {"x": 1}}, {"ranking": 5}])
def test_other_objects_are_no_results(record: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_result(record)


def test_a_torn_last_line_is_left_out_and_any_other_bad_one_reported(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    line = json.dumps(record_values(RoutingResult("p", "m", 0, "finished", ("a",))))
    file.write_text(f"{line}\n{line[:20]}", encoding="utf-8")
    assert [result.ranking for result in read_results(str(file))] == [("a",)]
    file.write_text(f"{line}\n[]\n{line}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"results\.jsonl:2: this line is not a result"):
        read_results(str(file))
    with pytest.raises(UsageError, match="cannot read"):
        read_results(str(tmp_path / "missing.jsonl"))
