"""A marketplace without a finding, into which each case puts one defect: it must be named, at its place."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from skill_health.config.settings import config_with, load_config
from skill_health.discovery.corpus import discover
from skill_health.lint.pipeline import run

PLANTED = yaml.load(
    (Path(__file__).parent / "planted.yml").read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
)
DAY = date(2026, 11, 21)


def plant(root: Path, case: dict[str, Any]) -> None:
    tree = dict(PLANTED["base"]) | case.get("add", {})
    for path, (old, new) in case.get("swap", {}).items():
        assert tree[path].count(old) == 1, f"{path} has no single {old}"
        tree[path] = tree[path].replace(old, new)
    for path, text in tree.items():
        if path not in case.get("remove", ()):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text.encode())
    for path in set(PLANTED["executable"]) - set(case.get("plain", ())):
        (root / path).chmod(0o755)


def lint(root: Path, **settings: Any) -> list[tuple[str, str]]:
    config = config_with(load_config(str(root)), **({"select": ("repository",)} | settings))
    result = run(discover([str(root)], config, str(root)), config, DAY, jobs=1, use_cache=False)
    return [(f"{f.code} {f.path}:{f.line}", f.message) for f in result.findings]


def test_the_marketplace_has_no_finding(tmp_path: Path) -> None:
    plant(tmp_path, {})
    assert lint(tmp_path) == []


@pytest.mark.parametrize("case", PLANTED["cases"], ids=lambda case: str(case["id"]))
def test_planted(case: dict[str, Any], tmp_path: Path) -> None:
    if "plain" in case and os.name == "nt":
        pytest.skip("files have no modes there")
    plant(tmp_path, case)
    found = lint(tmp_path)
    assert case["expect"] in [place for place, _ in found], found
