"""Whether output is coloured."""

from __future__ import annotations

import io

import pytest

from skill_health.text.terminal import wants_color


@pytest.mark.parametrize(
    ("environment", "choice", "wanted"),
    [
        ({}, "auto", False), ({"FORCE_COLOR": "1"}, "auto", True), ({"FORCE_COLOR": "0"}, "auto", False),
        ({"FORCE_COLOR": ""}, "auto", False), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "auto", False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, "auto", True), ({"FORCE_COLOR": "1"}, "never", False),
        ({"NO_COLOR": "1"}, "always", True),
    ],
)  # fmt: skip
def test_when_output_is_coloured(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], choice: str, wanted: bool
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_color(io.StringIO(), choice) is wanted
