"""What reports say in words of judges: how far they can be relied on, and what became of votes without a verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.documents._record import Figure
from skill_health.documents.judge_calibration import CalibratedJudge, CalibratedPanel
from skill_health.effectiveness.judge.scores.agreement import SUBSTANTIAL, reliability
from skill_health.effectiveness.judge.scores.report import other_panel


def kappa(value: float | None, low: float | None = None, high: float | None = None, note: str = "") -> Figure:
    return Figure(value=value, low=low, high=high, n=40, clusters=10, method="", note=note)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (kappa(None, note="not testable: why"), "is not testable: why"),
        (kappa(None), "is not known."),
        (kappa(0.9, note="one task"), "is not known: kappa has no interval (one task)."),
        (kappa(0.08, -0.26, 0.41), "Unreliable: chance alone could agree"),
        (kappa(0.9, 0.0, 1.0), "Unreliable: chance"),
        (kappa(-0.5, -0.8, -0.2), "Unreliable: chance"),
        (kappa(0.4, 0.2, 0.59), "Unreliable: kappa is below 0.60 even at the upper end"),
        (kappa(0.88, 0.56, 0.97), "Not shown to be reliable: the interval of kappa reaches below 0.60"),
        (kappa(0.88, 0.60, 0.97), "Reliable as far as these labels go: kappa is at least 0.60"),
    ],
)  # fmt: skip
def test_the_interval_of_kappa_decides_what_is_said(given: Figure, said: str) -> None:
    assert said in reliability(given)


@given(st.tuples(*[st.floats(-1, 1)] * 3).map(sorted))
def test_no_judge_is_called_reliable_whose_interval_is_not(ends: list[float]) -> None:
    low, value, high = ends
    said = reliability(kappa(value, low, high))
    assert said.startswith("Reliable") == (low >= SUBSTANTIAL)
    assert said.startswith("Unreliable") == (low <= 0 or high < SUBSTANTIAL)


def panel(agent: str) -> CalibratedPanel:
    judge = CalibratedJudge(judge="x:m", protocol="openai", base_url="http://127.0.0.1", models=("m",), agent=agent)
    return CalibratedPanel(prompt="p", votes=1, judges=(judge,))


def test_a_calibration_of_a_model_does_not_hold_for_an_agent_over_it() -> None:
    assert other_panel(panel("loop 1"), panel("loop 1")) == ""
    assert other_panel(panel(""), panel("loop 1")) == "its judges were m, not loop 1 m, or on another server"
    assert other_panel(panel("loop 1"), panel("loop 2"))
