"""Markers that follow from what a module is about."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        # Each starts a verifier as a process, many a time.
        if item.path.name.startswith("test_fixture_tasks_"):
            item.add_marker(pytest.mark.slow)
        # These skip their tests where there is no bubblewrap; `make test-real` runs them where there is.
        module, call = getattr(item, "module", None), getattr(item, "callspec", None)
        if {"needs_bubblewrap", "tried"} & vars(module).keys() and not (call and "none" in call.params.values()):
            item.add_marker(pytest.mark.bubblewrap)
