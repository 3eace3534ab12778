"""A caveat and a field of a report that are added as CONTRIBUTING.md says, in a copy of the package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import page_made
import pytest

BLOCK = re.compile(r"^## Add a caveat\n.*?^````python\n(.*?)^````$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def copy(checkout: Path, tmp_path: Path) -> Path:
    """A copy of the package that may be changed."""
    for package in ("skill_health", "router", "effectiveness"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(checkout / package, tmp_path / "copy" / package, symlinks=True, ignore=ignored)
    return tmp_path / "copy"


def run(copy: Path, folder: Path, *arguments: str) -> str:
    """What a command of the copy prints."""
    command = [sys.executable, "-m", "skill_health", *arguments, "--as-of", page_made.AS_OF.isoformat(), "--no-cache"]
    env = os.environ | {"PYTHONPATH": str(copy)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def change(path: Path, old: str, new: str) -> None:
    """Replace what stands once in a file."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (path.name, text.count(old))
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.slow
def test_a_caveat_is_one_member(checkout: Path, copy: Path, tmp_path: Path) -> None:
    (code,) = BLOCK.findall((checkout / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    end = "\n    @property\n    def phrase(self)"
    change(copy / "skill_health/documents/caveats.py", end, f"{code}{end}")
    folder = page_made.make(tmp_path / "collection")
    # One trial of each line is taken away: there is something to mind.
    history = folder / "reports/effectiveness-history.jsonl"
    lines = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    history.write_text("".join(json.dumps(line | {"trials": line["trials"] + 1}) + "\n" for line in lines), "utf-8")
    table = run(copy, folder, "status")
    assert "? some of the planned trials have no result" in " ".join(table.split())
    assert re.search(r" n \d+\?", table)
    assert ", unfinished" in run(copy, folder, "report", "--format", "md")
    run(copy, folder, "report", "--no-script", "--output", "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert '<span class="mark unfinished">unfinished</span></dt><dd>some of the planned trials have no result' in page
    assert page.count('<span class="mark unfinished">unfinished</span>') > 2


@pytest.mark.slow
def test_a_field_of_a_report_is_one_field_and_its_value(copy: Path, tmp_path: Path) -> None:
    record = copy / "skill_health/documents/skill_record.py"
    change(record, "    infos: Count\n", '    infos: Count\n    worst: str = ""\n    """The worst severity found."""\n')
    status = copy / "skill_health/status/records.py"
    change(status, "infos=", 'worst="error" if counts[path, Severity.ERROR] else "", infos=')
    folder = page_made.make(tmp_path / "collection")
    told = json.loads(run(copy, folder, "status", "--format", "json"))
    failed = [each["health"].get("worst") for each in told["skills"] if each["health"]["errors"]]
    assert failed and set(failed) == {"error"}
    schema = "from scripts.schemas import schema_files; print(next(t for p, t in schema_files() if p.name == 'skill-record.schema.json'))"
    env = os.environ | {"PYTHONPATH": f"{copy}{os.pathsep}{Path(__file__).parents[2]}"}
    done = subprocess.run([sys.executable, "-c", schema], env=env, cwd=copy, capture_output=True, text=True, check=True)
    assert (
        json.loads(done.stdout)["$defs"]["SkillHealth"]["properties"]["worst"]["description"]
        == "The worst severity found."
    )
