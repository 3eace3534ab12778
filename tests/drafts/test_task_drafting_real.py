"""A small real model drafts: nearly all that it writes is rejected, and each of it is counted and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import local_model
import pytest
from task_drafts import write_collection
from trial_bench import needs_bubblewrap

from skill_health.cli import main

pytestmark = pytest.mark.real


@pytest.mark.exhaustive
def test_what_a_small_model_writes_is_counted_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs_bubblewrap()
    if not local_model.available():
        pytest.skip(local_model.MISSING)
    with local_model.serve() as address:
        root = write_collection(tmp_path / "c", address, price=0)
        config = root / "skill-health.toml"
        small = "concurrency = 2\ntimeout = 900\nidle-timeout = 900\ncontext = 1536\n"
        config.write_text(config.read_text("utf-8").replace('"openai"\n', f'"openai"\n{small}'), "utf-8")
        words = ["draft", "tasks", "--collection", str(root), "--config", str(config), "--model", "scripted:author"]
        assert main([*words, "--straight", "--sandbox", "bubblewrap", "--quiet", "--format", "json"]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)["total"]
    for kind in ("proposals", "tasks"):
        records = [json.loads(path.read_text("utf-8")) for path in (root / "drafts" / kind).glob("*.json")]
        found = report[kind]
        assert found["generated"] == len(records) == found["rejected"] + found["fit"]
        assert sum(found["reasons"].values()) == found["rejected"]
        assert all(each["flaws"] for each in records if each["state"] == "rejected")
    assert report["proposals"]["generated"] + report["unanswered"] >= 1
    assert {path.name for path in tmp_path.iterdir()} == {"c"}
