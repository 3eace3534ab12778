"""The formats, read by the programs and schemas that they are written for."""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path

import jsonschema
import pytest
from fixture_types import Run
from junitparser import JUnitXml

pytestmark = pytest.mark.real
# The package whose content is the official SARIF 2.1.0 schema (OASIS, errata 01 is the same document).
SARIF_PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"


@pytest.fixture(scope="module")
def sarif_schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("npm")
    done = subprocess.run(
        ["npm", "pack", "--silent", SARIF_PACKAGE], cwd=folder, capture_output=True, text=True, check=True
    )
    with tarfile.open(folder / done.stdout.split()[-1]) as archive:
        member = archive.extractfile("package/lib/schemas/sarif-2.1.0-rtm.5.json")
        assert member is not None
        schema: dict[str, object] = json.load(member)
    return schema


@pytest.mark.parametrize("collection", ["fixtures", "fixtures/rotten"])
def test_sarif_is_valid_by_the_official_schema(
    run: Run, checkout: Path, sarif_schema: dict[str, object], collection: str
) -> None:
    done = run("lint", checkout / collection, "--format", "sarif", "--extend-select", "ALL", "--as-of", "2026-11-21")
    report = json.loads(done.stdout)
    jsonschema.Draft7Validator(sarif_schema).validate(report)
    assert len(report["runs"][0]["results"]) > (90 if collection.endswith("rotten") else -1)
    broken = dict(report, version="2.0")
    assert not jsonschema.Draft7Validator(sarif_schema).is_valid(broken)


def test_junit_is_read_by_a_junit_library(run: Run, checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "junit.xml"
    run("lint", checkout / "fixtures" / "rotten", "--format", "junit", "--output", out)
    text = json.loads(run("lint", checkout / "fixtures" / "rotten", "--format", "json").stdout)
    suites = JUnitXml.fromfile(str(out))
    failed = {f["skill"] or f["path"] for f in text["findings"] if f["severity"] != "info"}
    assert suites.failures == len(failed)
    assert suites.tests >= len(text["skills"])
