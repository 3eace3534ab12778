"""Asking models: when nothing more may be asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from skill_health.bench.run.questions import ModelRunner


@pytest.mark.parametrize(
    ("status", "stop", "why"),
    [("ok", "", ""), ("model_unavailable", "", "m: gone"), ("error", "no quota", "no quota: gone")],
)
def test_a_quota_a_key_or_a_model_that_is_gone_stops_a_run(status: str, stop: str, why: str) -> None:
    question, reply = SimpleNamespace(spec="m"), SimpleNamespace(status=status, stop=stop, error="gone")
    assert ModelRunner.reason_to_stop(cast(Any, None), cast(Any, question), cast(Any, reply)) == why
