"""The tables of how often rules are right follow from the verdicts that are kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_the_tables_follow_from_the_verdicts(checkout: Path) -> None:
    code = "import runpy, json; t = runpy.run_path('scripts/precision.py')['tables'](); print(json.dumps({str(k): v for k, v in t.items()}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=checkout, capture_output=True, text=True, check=True)
    for path, text in json.loads(done.stdout).items():
        assert Path(path).read_text("utf-8") == text, f"{path}: `python scripts/precision.py table` writes it anew"


def test_what_is_on_by_default_is_right_nine_times_in_ten(checkout: Path) -> None:
    verdicts = [json.loads(line) for line in (checkout / "docs/precision.jsonl").read_text("utf-8").splitlines()]
    assert len(verdicts) >= 200 and all(v["reason"] for v in verdicts)
    for kind in {(v["code"], v["severity"]) for v in verdicts if v["severity"] != "info"}:
        judged = [v["verdict"] for v in verdicts if (v["code"], v["severity"]) == kind]
        assert judged.count("right") >= 0.9 * len(judged), kind
    counts = json.loads((checkout / "docs/precision-found.json").read_text("utf-8"))
    assert counts["median_per_skill"] <= 3


def test_the_labelled_mentions_are_complete(checkout: Path) -> None:
    labels = [
        json.loads(line) for line in (checkout / "tests/rules/links/mentions.jsonl").read_text("utf-8").splitlines()
    ]
    assert len({(label["repository"], label["path"], label["mention"]) for label in labels}) == len(labels) > 300
    halves = {half: {label["repository"] for label in labels if label["half"] == half} for half in ("tuning", "sealed")}
    assert not halves["tuning"] & halves["sealed"]
    assert len(halves["tuning"] | halves["sealed"]) == 25
    assert {label["class"] for label in labels} == {
        "broken", "resolves", "created", "example", "template", "other-skill", "command", "url", "glob", "project", "token",
        "people",
    }  # fmt: skip
    assert all(label["reason"] and len(label["commit"]) == 40 for label in labels)
