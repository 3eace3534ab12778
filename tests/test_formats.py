"""Every format, read back by a parser or a schema, with input that tries to break out of it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from skill_health import formats
from skill_health.discovery.corpus import Entry
from skill_health.lint.report import LintReport
from skill_health.rules._api import Finding, Severity
from skill_health.score.scoring import Flag, Score, ScorePart, Scores, score_corpus
from skill_health.text.terminal import clean, markdown_text

NASTY = "a\x1b[31m|b\u202e<script>alert(1)</script> & \"q\" 's' %0A::error::x, y:z\n]]> `c` [l](https://x.y) \ud800"
ENTRY = Entry("skills/a/SKILL.md", copies=("skills/b/SKILL.md",))


def finding(**changes: object) -> Finding:
    base = Finding(
        "FM003", "unquoted-colon", "frontmatter", Severity.ERROR, ENTRY.path, 3, 5, 3, 9, "message", "help",
        "description: x", ENTRY.path, "0123456789abcdef", fixable=True,
    )  # fmt: skip
    return base._replace(**changes)


def report(*findings: Finding, scored: bool = False) -> LintReport:
    part = ScorePart("sections", 0.2, 1.0, 0.5, "missing: when to use", {"present": 1})
    left_out = ScorePart("claims", 0.1, 0.0, None, "none counted", {})
    scores = {ENTRY.path: Score(0.5, (part, left_out), (Flag("low-score", "score 0.5000 is below 0.60"),))}
    return LintReport(
        "1.2.3", "standard", (ENTRY,), findings, prefix="fixtures/", warnings=("a note",),
        scores=Scores("standard", scores, score_corpus(scores.values())) if scored else None,
    )  # fmt: skip


HOSTILE = report(
    finding(message=NASTY, help=NASTY, source=NASTY),
    finding(path=f"skills/{NASTY}/SKILL.md", skill=f"skills/{NASTY}/SKILL.md", severity=Severity.WARNING),
    finding(path="registries/claims.jsonl", skill="", severity=Severity.INFO, line=9, end_line=0, end_col=0),
    scored=True,
)


def schema(name: str) -> dict[str, object]:
    loaded: dict[str, object] = json.loads((files("skill_health.core") / "schemas" / name).read_text("utf-8"))
    return loaded


def render(name: str, given: LintReport = HOSTILE) -> str:
    text: str = formats.load(name).render(given, False)
    return text


@pytest.mark.parametrize("name", formats.names())
def test_no_format_lets_control_characters_through(name: str) -> None:
    text = render(name)
    raw = text if name != "json" else json.dumps(json.loads(text))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", raw)
    assert text.endswith("\n") or text == ""


@pytest.mark.parametrize("name", formats.names())
def test_no_findings(name: str) -> None:
    render(name, report())
    render(name, report(scored=True))


@pytest.mark.slow
def test_json_matches_its_schema() -> None:
    published = schema("report.schema.json")
    jsonschema.Draft202012Validator.check_schema(published)
    for given_report in (HOSTILE, report(), report(finding())):
        jsonschema.validate(json.loads(render("json", given_report)), published)
    document = json.loads(render("json"))
    assert document["summary"]["error"] == 1 and document["summary"]["score"] == 0.5
    assert document["skills"][0]["components"][1]["value"] is None


def test_sarif_has_what_code_scanning_reads() -> None:
    run = json.loads(render("sarif"))["runs"][0]
    codes = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert codes[result["ruleIndex"]] == result["ruleId"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] >= 1 and region["startColumn"] >= 1
    fingerprints = [r["partialFingerprints"]["skillHealthKey/v1"] for r in run["results"]]
    assert len(set(fingerprints)) == len(fingerprints)
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == (
        "fixtures/skills/a/SKILL.md"
    )


def unescape(text: str) -> str:
    for code, char in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, char)
    return text


def test_github_commands_read_back() -> None:
    lines = render("github").splitlines()
    assert len(lines) == 3
    for line, f in zip(lines, HOSTILE.findings, strict=True):
        level, properties, message = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line).groups()  # type: ignore[union-attr]
        fields = dict(part.split("=", 1) for part in properties.split(","))
        assert unescape(fields["file"]) == clean("fixtures/" + f.path)
        assert int(fields["line"]) == f.line
        assert unescape(message).startswith(clean(f.message))
        assert level == {"error": "error", "warning": "warning", "info": "notice"}[f.severity.value]


def test_gitlab_issues_have_the_required_fields() -> None:
    issues = json.loads(render("gitlab"))
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["location"]["lines"]["begin"] >= 1
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_junit_is_xml_with_the_right_counts() -> None:
    suite = ElementTree.fromstring(render("junit"))[0]
    cases = suite.findall("testcase")
    assert int(suite.get("tests", 0)) == len(cases) == 3
    assert int(suite.get("failures", 0)) == len(suite.findall("testcase/failure")) == 2
    assert "FM003" in (suite.findtext("testcase/failure") or "")


def test_markdown_shows_input_as_text() -> None:
    html = MarkdownIt("gfm-like", {"linkify": False}).render(render("markdown"))
    assert "<script" not in html and "<a " not in html and "<code>" not in html
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    assert all(row.count("<td") in (0, 3, 4) for row in rows)


def test_text_of_a_long_line_shows_the_place() -> None:
    source = "x" * 500 + "HERE" + "y" * 500
    lines = render("text", report(finding(source=source, col=501, end_col=505))).splitlines()
    assert lines[1][lines[2].index("^") :].startswith("HERE")
    assert len(lines[1]) < 130


def test_concise_is_one_line_for_each_finding() -> None:
    place = "fixtures/skills/a/SKILL.md"
    second = finding(line=4, severity=Severity.INFO, message="other\nline", help="", path="b\n:c/SKILL.md")
    lines = render("concise", report(finding(), second)).splitlines()
    assert lines == [f"{place}:3:5: FM003 error message", "fixtures/b\\x0a:c/SKILL.md:4:5: FM003 info other\\x0aline"]
    assert render("concise", report(scored=True)) == ""


@pytest.mark.parametrize("name", formats.names())
def test_only_what_is_severe_enough_is_shown(name: str) -> None:
    every = report(
        finding(message="the-error"),
        finding(message="the-warning", severity=Severity.WARNING),
        finding(message="the-info", severity=Severity.INFO),
    )
    for least, words in (
        ("error", ["error"]),
        ("warning", ["error", "warning"]),
        ("info", ["error", "warning", "info"]),
    ):
        text = render(name, every.at_least(least))
        assert [word for word in ("error", "warning", "info") if f"the-{word}" in text] == words
        hidden = 3 - len(words)
        if hidden and name in ("text", "markdown"):
            assert f"{hidden} less severe" in text
        if name == "json":
            assert json.loads(text)["summary"].get("hidden", 0) == hidden


def test_colour_is_only_there_when_asked_for() -> None:
    given_report = report(finding(), scored=True)
    assert "\x1b[" in formats.load("text").render(given_report, True)
    assert re.sub(r"\x1b\[\d+m", "", formats.load("text").render(given_report, True)) == render("text", given_report)


@given(st.text())
def test_clean_text_is_safe_and_plain_text_stays(text: str) -> None:
    cleaned = clean(text)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\ufeff]", cleaned)
    assert clean(cleaned) == cleaned
    if text.isascii() and text.isprintable():
        assert cleaned == text


@given(st.text(alphabet="ab <>&*_`[]()|\\!#~@:/.w\n-+1h"))
def test_markdown_text_is_only_text(text: str) -> None:
    html = (
        MarkdownIt("commonmark")
        .enable(["table", "strikethrough"])
        .render(f"| h |\n|---|\n| x{markdown_text(text)} |\n")
    )
    inside = html.split("<tbody>")[1]
    assert set(re.findall(r"</?(\w+)", inside)) == {"tr", "td", "tbody", "table"}
