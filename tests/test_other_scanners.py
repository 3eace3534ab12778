"""SARIF files of other scanners are data from strangers: results are shown, or the file is refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skill_health.cli import main
from skill_health.commands._other_scanners import MOST_RESULTS, merge_sarif
from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.discovery.corpus import Entry
from skill_health.lint.report import LintReport

SKILL = {"skills/tool/SKILL.md": "---\nname: tool\ndescription: Sorts. Use when unsorted.\n---\n# Tool\n"}
REPORT = LintReport("", "standard", (Entry("skills/tool/SKILL.md", "skills/tool", "tool", "SKILL.md"),), ())


def result(**given: Any) -> dict[str, Any]:
    place = {"physicalLocation": {"artifactLocation": {"uri": "skills/tool/SKILL.md"}}}
    return {"ruleId": "R1", "level": "error", "message": {"text": "bad"}, "locations": [place], **given}


def sarif(*results: Any, name: Any = "other") -> str:
    return json.dumps({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": name}}, "results": list(results)}]})


NO_SARIF, OLD_SARIF = "no SARIF file", "no SARIF 2.1.0 file"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", NO_SARIF), (b"\xff\xfe", "not UTF-8"), (b"[]", "JSON object"), (b"{}", OLD_SARIF),
        (b'{"version": "1.0.0", "runs": []}', OLD_SARIF), (b'{"version": "2.1.0", "runs": {}}', "a list of"),
        (b'{"runs":' + b"[" * 100_000, "nested deeper"), (b'{"a": ' + b"9" * 10_000 + b"}", "digits"),
        (b" " * ((32 << 20) + 1), "larger than 32 MiB"), (b'{"version": "2.1.0", "runs": [NaN]}', NO_SARIF),
        (sarif(*[1] * (MOST_RESULTS + 1)).encode(), "more than 20,000 results"),
    ],
    ids=["empty", "bytes", "list", "object", "older", "no-list", "deep", "digits", "huge", "nan", "many"],
)  # fmt: skip
def test_what_is_no_sarif_is_refused_in_one_line(text: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.sarif").write_bytes(text)
    with pytest.raises(UsageError) as refused:
        merge_sarif(REPORT, str(tmp_path / "a.sarif"), str(tmp_path), Config())
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_a_missing_file_is_the_users_mistake(
    write: Callable[[Mapping[str, str]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(SKILL)
    assert main(["lint", str(root), "--merge-sarif", str(root / "gone.sarif")]) == 2
    assert "cannot read this SARIF file" in capsys.readouterr().err


@pytest.mark.parametrize("format_", ["text", "json", "sarif", "markdown", "github", "gitlab", "junit"])
def test_each_format_shows_the_origin_and_nothing_that_moves_the_cursor(
    format_: str, write: Callable[[Mapping[str, str]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = sarif(result(message={"text": "x\u001b[2Jy\u202e"}, ruleId="R\u001b1"), name="scanner\u001b]0;t\u0007")
    root = write(SKILL | {"other.sarif": text})
    arguments = ["lint", str(root), "--merge-sarif", str(root / "other.sarif"), "--select", "SA", "--format", format_]
    assert main(arguments) == 1
    shown = capsys.readouterr().out
    assert "SA010" in shown and "scanner?" in shown and not {"\u001b", "\u202e", "\u0007"} & set(shown)


def test_other_scanners_do_not_count_for_the_score(
    write: Callable[[Mapping[str, str]], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(SKILL | {"other.sarif": sarif(result())})
    scores = []
    for more in ([], ["--merge-sarif", str(root / "other.sarif")]):
        main(["lint", str(root), "--score", "--format", "json", *more])
        scores.append(json.loads(capsys.readouterr().out)["summary"]["score"])
    assert scores[0] == scores[1] and scores[0] > 0


def test_results_about_other_files_are_counted_by_tool(tmp_path: Path) -> None:
    elsewhere = [
        {"physicalLocation": {"artifactLocation": {"uri": uri}}} for uri in ("../../etc/passwd", "a\0b", "http://[", "")
    ]
    (tmp_path / "a.sarif").write_text(sarif(*(result(locations=[each]) for each in elsewhere)))
    report = merge_sarif(REPORT, str(tmp_path / "a.sarif"), str(tmp_path), Config())
    assert not report.findings
    (note,) = report.warnings
    assert note.partition(": ")[2].startswith("4 results of other ")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(result())), inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from([*sorted(result()), "kind", "suppressions", "ruleIndex", "rule"]), value=VALUES)
def test_a_value_of_any_kind_is_read_or_left_out(key: str, value: Any, tmp_path: Path) -> None:
    (tmp_path / "a.sarif").write_text(sarif(result(**{key: value})), "utf-8")
    report = merge_sarif(REPORT, str(tmp_path / "a.sarif"), str(tmp_path), Config())
    assert len(report.findings) + len(report.warnings) <= 1
    for finding in report.findings:
        assert finding.message.startswith("other, ") and finding.line >= 1
