"""A caveat and a field of a report that are added as CONTRIBUTING.md says, in one copy of the package."""

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


PART = """
import io, json, sys
from contextlib import redirect_stdout
from skill_health.cli import main
from scripts.schemas import schema_files

told = []
for words in json.load(sys.stdin):
    with redirect_stdout(io.StringIO()) as printed:
        assert main([*words, "--as-of", sys.argv[1], "--no-cache"]) == 0
    told.append(printed.getvalue())
schema = next(text for path, text in schema_files() if path.name == "skill-record.schema.json")
print(json.dumps([*told, schema]))
"""
COMMANDS = [["status"], ["report", "--format", "md"], ["report", "--no-script", "--output", "page.html"], ["status", "--format", "json"]]  # fmt: skip


def change(path: Path, old: str, new: str) -> None:
    """Replace what stands once in a file."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (path.name, text.count(old))
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.slow
def test_a_caveat_is_one_member_and_a_field_of_a_report_is_one_field_and_its_value(
    checkout: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    for package in ("skill_health", "router", "effectiveness"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(checkout / package, copy / package, symlinks=True, ignore=ignored)
    (code,) = BLOCK.findall((checkout / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    end = "\n    @property\n    def phrase(self)"
    change(copy / "skill_health/documents/caveats.py", end, f"{code}{end}")
    record = copy / "skill_health/documents/skill_record.py"
    change(record, "    infos: Count\n", '    infos: Count\n    worst: str = ""\n    """The worst severity found."""\n')
    status = copy / "skill_health/status/records.py"
    change(status, "infos=", 'worst="error" if counts[path, Severity.ERROR] else "", infos=')

    folder = page_made.make(tmp_path / "collection")
    # One trial of each line is taken away: there is something to mind.
    history = folder / "reports/effectiveness-history.jsonl"
    lines = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    history.write_text("".join(json.dumps(line | {"trials": line["trials"] + 1}) + "\n" for line in lines), "utf-8")

    env = os.environ | {"PYTHONPATH": f"{copy}{os.pathsep}{checkout}"}
    command = [sys.executable, "-c", PART, page_made.AS_OF.isoformat()]
    done = subprocess.run(
        command, cwd=folder, env=env, input=json.dumps(COMMANDS), capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    table, markdown, _, records, schema = json.loads(done.stdout)

    assert "? some of the planned trials have no result" in " ".join(table.split())
    assert re.search(r" n \d+\?", table)
    assert ", unfinished" in markdown
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert '<span class="mark unfinished">unfinished</span></dt><dd>some of the planned trials have no result' in page
    assert page.count('<span class="mark unfinished">unfinished</span>') > 2

    health = [each["health"] for each in json.loads(records)["skills"]]
    failed = [each["worst"] for each in health if each["errors"]]
    assert failed and set(failed) == {"error"}
    fields = json.loads(schema)["$defs"]["SkillHealth"]["properties"]
    assert fields["worst"]["description"] == "The worst severity found."
