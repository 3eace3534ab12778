"""The fixes in SARIF, applied as the standard says, are those that --fix applies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from fixture_types import Run
from thinned import thinned

from tests.rules.test_cases import CASES, plant

HEAD = "---\nname: tidy\ndescription: Tidies lists. Use when a list is out of order.\n---\n# Tidy\n\n"


def replaced(data: bytes, replacements: list[dict[str, Any]]) -> bytes:
    """The bytes of a file after replacements whose columns count UTF-16 units, from 1."""
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    text = data[len(mark) :].decode()
    lines = text.splitlines(keepends=True) if text else [""]

    def offset(line: int, column: int) -> int:
        before = sum(len(each) for each in lines[: line - 1])
        if line > len(lines):
            return before
        units = lines[line - 1].encode("utf-16-le")[: (column - 1) * 2]
        return before + len(units.decode("utf-16-le"))

    for each in reversed(replacements):
        region = each["deletedRegion"]
        if "byteOffset" in region:
            assert (region["byteOffset"], region["byteLength"], each["insertedContent"]["text"]) == (0, 3, "")
            mark = b""
            continue
        start = offset(region["startLine"], region["startColumn"])
        end = offset(region["endLine"], region["endColumn"])
        text = text[:start] + each["insertedContent"]["text"] + text[end:]
    return mark + text.encode()


def results(run: Run, *arguments: str | Path) -> list[dict[str, Any]]:
    document = json.loads(run("lint", *arguments, "--format", "sarif").stdout)
    assert document["runs"][0]["columnKind"] == "utf16CodeUnits"
    found: list[dict[str, Any]] = document["runs"][0]["results"]
    return found


FIXED = [each for each in CASES if each.values[1].get("fixed") and "tree" in each.values[1]]


@pytest.mark.parametrize(("code", "case"), thinned(FIXED, 3))
def test_each_fix_leads_where_fix_leads(code: str, case: dict[str, Any], run: Run, tmp_path: Path) -> None:
    plant(tmp_path, case)
    for result in results(run, tmp_path, "--select", code, "--no-cache"):
        for fix in result.get("fixes", ()):
            (change,) = fix["artifactChanges"]
            path = tmp_path / unquote(change["artifactLocation"]["uri"])
            path.write_bytes(replaced(path.read_bytes(), change["replacements"]))
            again = [each["message"] for each in results(run, tmp_path, "--select", code, "--no-cache")]
            assert result["message"] not in again
            plant(tmp_path, case)


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        (HEAD + "🎉🎉 日本 a bell\x07 here 🎉\x07.\n", HEAD + "🎉🎉 日本 a bell here 🎉.\n"),
        ((HEAD + "A bell\x07.\n").replace("\n", "\r\n"), (HEAD + "A bell.\n").replace("\n", "\r\n")),
        ("\ufeff" + HEAD + "Sort it.\n", HEAD + "Sort it.\n"),
        (HEAD.replace("name: tidy\n", "") + "Sort it.", HEAD + "Sort it."),
    ],
)  # fmt: skip
def test_columns_line_ends_and_marks(text: str, fixed: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "skills" / "tidy" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())
    for options in ((), ("--no-cache",)):
        (fix,) = [fix for each in results(run, tmp_path, *options) for fix in each.get("fixes", ())]
        (change,) = fix["artifactChanges"]
        assert replaced(path.read_bytes(), change["replacements"]) == fixed.encode()


def test_places_count_as_fixes_do(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "skills" / "tidy" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(HEAD + "🎉 [gone](gone.md)\n")
    (result,) = results(run, tmp_path, "--select", "LI001")
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startColumn"], region["endColumn"]) == (4, 19)
    assert "fixes" not in result
