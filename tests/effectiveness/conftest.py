"""The suites over our own tasks start hundreds of verifiers as processes: they run with the real parts."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name.startswith("test_fixture_tasks_"):
            item.add_marker(pytest.mark.real)
