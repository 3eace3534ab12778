"""Without the extra for statistics, each command that needs it says so under its own name, before anything is read."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from skill_health.commands.effectiveness import command
from skill_health.core import extras
from skill_health.core.errors import UsageError


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "results.json"), ("calibrate", "labels.csv"), ("compare", "one", "other"), ("configurations", "one"),
        ("judge", "last"), ("judges", "last"), ("run",),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_missing_extra_is_named(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    found = extras.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name in extras.STATISTICS else found(name))
    with pytest.raises(UsageError) as refused:
        CliRunner().invoke(command, words, standalone_mode=False, catch_exceptions=False)
    needed = extras.installation("bench")
    assert re.fullmatch(rf"effectiveness {words[0]} .* bench \(numpy, scipy\): {re.escape(needed)}", str(refused.value))
