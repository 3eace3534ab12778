"""The two collections below fixtures/: the healthy one is healthy, and the rotten one shows what every rule finds.

fixtures/rotten/EXPECTED.txt is a snapshot: whoever changes a rule sees here what else changes. Where that is meant:

    .venv/bin/python tests/test_fixtures.py
"""

from __future__ import annotations

import difflib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from skill_health.registries.records import SCHEMA_OF
from skill_health.rules._load import all_rules, families

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures"
ROTTEN = FIXTURES / "rotten"
EXPECTED = ROTTEN / "EXPECTED.txt"
DAY = "2026-11-21"
SCRIPTS = sorted(FIXTURES.glob("skills/*/scripts/*.py"))
REGISTRIES = {
    "claims": "claims.jsonl", "mechanisms": "mechanisms.jsonl", "activation": "activation-cases.jsonl",
    "prompts": "prompts.jsonl",
}  # fmt: skip
# What no file of the rotten collection can show. Each of these rules has failing cases below tests/rules.
NOT_SHOWN = {
    "LI017": "git checks out no link that leads out of the repository for everybody alike",
    "SA010": "it has what another scanner found, from a file named on the command line",
    "ST003": "only a profile with required headings makes it speak, and a collection has one profile",
    "ST016": "git keeps no folder that cannot be read",
} | {
    rule.code: "it is a collection, and no plugin; tests/rules/repository/planted.yml has one of each"
    for rule in all_rules()
    if rule.family == "repository"
}


def lint(*arguments: str) -> dict[str, Any]:
    """The JSON report of one run over paths relative to the checkout."""
    options = ["--as-of", DAY, "--format", "json", "--no-cache"]
    command = [sys.executable, "-m", "skill_health", "lint", *arguments, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=600, check=False)
    assert done.returncode in (0, 1), done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def snapshot(report: dict[str, Any]) -> str:
    return "".join("{path}:{line}:{col}: {severity} {code}\n".format_map(finding) for finding in report["findings"])


def lines_of(registry: str) -> list[dict[str, Any]]:
    text = (FIXTURES / "registries" / registry).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def rotten() -> dict[str, Any]:
    return lint("fixtures/rotten", "--extend-select", "ALL")


@pytest.fixture(scope="module")
def healthy() -> dict[str, Any]:
    return lint("fixtures", "--score")


@pytest.mark.slow
def test_rotten_findings_are_the_expected_ones(rotten: dict[str, Any]) -> None:
    expected = EXPECTED.read_text(encoding="utf-8").splitlines(keepends=True)
    diff = difflib.unified_diff(expected, snapshot(rotten).splitlines(keepends=True), "expected", "found", n=0)
    assert "".join(diff) == "", "where the change is meant: .venv/bin/python tests/test_fixtures.py"


@pytest.mark.slow
def test_rotten_shows_every_rule_of_every_family(rotten: dict[str, Any]) -> None:
    shown = {finding["code"] for finding in rotten["findings"]}
    rules = all_rules()
    assert {rule.code for rule in rules} - shown == set(NOT_SHOWN)
    assert {rule.family for rule in rules if rule.code in shown} == set(families()) - {"repository"}


@pytest.mark.parametrize("code", NOT_SHOWN)
def test_what_rotten_cannot_show_has_failing_cases(code: str) -> None:
    (path,) = (ROOT / "tests" / "rules").glob(f"*/{code}.yaml")
    cases = yaml.safe_load(path.read_text(encoding="utf-8"))["cases"]
    assert "fail" in {case["kind"] for case in cases}


def test_rotten_is_checked_out_byte_for_byte() -> None:
    raw = (ROTTEN / "skills" / "unseen-characters" / "SKILL.md").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf---\r\n")
    assert (raw.count(b"\r\n"), raw.count(b"\n")) == (5, 14)
    assert (ROTTEN / "skills" / "empty-file" / "SKILL.md").read_bytes() == b""


@pytest.mark.slow
def test_healthy_has_nothing_to_fix(healthy: dict[str, Any]) -> None:
    assert healthy["profile"] == "standard"
    assert [finding for finding in healthy["findings"] if finding["severity"] != "info"] == []
    assert healthy["summary"]["ignored"] == healthy["summary"]["baselined"] == 0


@pytest.mark.slow
def test_healthy_scores_high(healthy: dict[str, Any]) -> None:
    names = {path.name for path in (FIXTURES / "skills").iterdir()}
    assert {skill["path"] for skill in healthy["skills"]} == {f"skills/{name}/SKILL.md" for name in names}
    assert len(names) == 12
    assert {skill["path"]: skill["score"] for skill in healthy["skills"] if skill["score"] < 0.95} == {}
    assert not any(skill["flagged"] for skill in healthy["skills"])


def test_prompts_cover_every_skill_and_none() -> None:
    prompts = lines_of(REGISTRIES["prompts"])
    expected = Counter(prompt["expected_primary_skill"] for prompt in prompts)
    assert len(prompts) == 60
    assert expected[None] >= 60 / 5
    assert {path.name for path in (FIXTURES / "skills").iterdir()} == expected.keys() - {None}


@pytest.mark.parametrize("kind", REGISTRIES)
def test_registry_lines_are_valid_by_their_schema(kind: str) -> None:
    path = ROOT / "skill_health" / "core" / "schemas" / f"{SCHEMA_OF[kind]}.schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    validator = jsonschema.Draft202012Validator(schema, format_checker=checker)
    records = lines_of(REGISTRIES[kind])
    assert records
    assert [error.message for record in records for error in validator.iter_errors(record)] == []


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_explains_itself(script: Path, tmp_path: Path) -> None:
    # -S leaves out installed packages: the scripts promise to need the standard library only.
    command = [sys.executable, "-S", "-B", "-W", "error", str(script), "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")
    assert list(tmp_path.iterdir()) == []


def test_every_skill_has_a_script() -> None:
    assert {path.parents[1].name for path in SCRIPTS} == {path.name for path in (FIXTURES / "skills").iterdir()}


@pytest.mark.exhaustive
def test_demo_runs_again_and_says_the_same() -> None:
    """All but how long a simulated trial took is the same. That it runs at all is seen by the gate's `make demo`."""
    command = [sys.executable, "-m", "scripts.demo"]
    first, second = (
        subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=600, check=False)
        for _ in range(2)
    )
    assert first.returncode == 0
    assert "error" not in first.stderr
    said = [re.sub(r"^  ms .*\n", "", each.stdout, flags=re.MULTILINE) for each in (first, second)]
    assert said[0] == said[1]
    assert first.stderr == second.stderr
    assert "stale (1)" in first.stdout
    assert "unexplained gain" in first.stdout
    assert "SIMULATED" in first.stdout
    assert "12 skills, profile standard" in first.stdout
    names, _, page = first.stdout.partition("== Written ==")[2].partition("\nOpen this in a browser: ")
    written = names.split()
    assert sorted({Path(path).name for path in written}) == [
        "comparison.md", "effectiveness-history.jsonl", "index.state.json", "report.md", "router-history.jsonl", "skill-health-drift.md",
        "skill-health-history.jsonl", "skill-health-states.jsonl", "skill-health.json",
    ]  # fmt: skip
    assert page.strip().endswith("/index.html")
    assert all((ROOT / path).is_file() for path in [*written, page.strip()])


if __name__ == "__main__":
    EXPECTED.write_text(snapshot(lint("fixtures/rotten", "--extend-select", "ALL")), encoding="utf-8", newline="\n")
