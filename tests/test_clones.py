"""The same fault in the same file at several places is one finding, in every format."""

from __future__ import annotations

import json
import random

from fixture_types import Run, Write

from skill_health.core.boundary import Boundary
from skill_health.lint.report import LintReport, fold_clones
from skill_health.rules._api import Finding, Severity


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: Sorts {name}. Use when {name} are out of order.\n---\nRead [it](references/a.md).\n"


NAMES = ("apples", "books", "cards", "dates")
TREE = {f"skills/{name}/SKILL.md": skill(name) for name in NAMES}
TREE |= {f"skills/{name}/references/a.md": "See [x](none.md).\n" for name in NAMES}
TREE["skills/dates/references/a.md"] += "One more line.\n"


def test_one_finding_names_the_others_and_another_file_stays_apart(run: Run, write: Write) -> None:
    write(TREE)
    text = run("lint", "--select", "LI005").stdout
    assert text.count("warning LI005") == 2
    assert "so in 2 copies of the file: skills/books/references/a.md, skills/cards/references/a.md" in text
    assert "4 skills checked: 0 errors, 2 warnings, 0 info (2 more in copies of the same files)" in text
    document = json.loads(run("lint", "--select", "LI005", "--format", "json").stdout)
    assert [(f["path"], f.get("clones", [])) for f in document["findings"]] == [
        ("skills/apples/references/a.md", ["skills/books/references/a.md", "skills/cards/references/a.md"]),
        ("skills/dates/references/a.md", []),
    ]
    assert [one["findings"]["warning"] for one in document["skills"]] == [1, 1, 1, 1]
    (result, _) = json.loads(run("lint", "--select", "LI005", "--format", "sarif").stdout)["runs"][0]["results"]
    related = [place["physicalLocation"]["artifactLocation"]["uri"] for place in result["relatedLocations"]]
    assert related == ["skills/books/references/a.md", "skills/cards/references/a.md"]
    assert run("lint", "--select", "LI005", "--format", "junit").stdout.count("<failure") == 4


def found(path: str, **changes: object) -> Finding:
    base = Finding("FM001", "x", "f", Severity.ERROR, path, 1, 1, 1, 2, "fault", "", "source", path, path)
    return base._replace(**changes)  # type: ignore[arg-type]


def test_what_is_not_the_same_stays(write: Write) -> None:
    root = write({"a/S.md": "x", "b/S.md": "x", "c/S.md": "y", "d/T.md": "x"})
    for other in (
        found("c/S.md"), found("d/T.md"), found("b/S.md", line=2), found("b/S.md", message="another"),
        found("b/S.md", severity=Severity.INFO), found("b/S.md", also=("c/S.md",)), found("gone/S.md"),
    ):  # fmt: skip
        findings = (found("a/S.md"), other)
        assert fold_clones(LintReport("1", "standard", (), findings), Boundary(str(root))).findings == findings


def test_the_first_path_holds_it_in_any_number(write: Write) -> None:
    root = write({f"{name}/S.md": "x" for name in "abcdef"})
    findings = tuple(found(f"{name}/S.md") for name in "abcdef")
    report = fold_clones(LintReport("1", "standard", (), findings), Boundary(str(root)))
    assert report.findings == findings[:1] and report.clones == {findings[0]: findings[1:]}
    assert report.copies(findings[0]) == "; so in 5 copies of the file: b/S.md, c/S.md, d/S.md and 2 more"
    assert set(report.everything()) == set(findings)
    shuffled = tuple(random.Random(1).sample(findings, 6))
    assert len(fold_clones(LintReport("1", "standard", (), shuffled), Boundary(str(root))).findings) == 1
