"""The tables of how often rules are right follow from the verdicts that are kept."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from skill_health.commands.explain import command as explain
from skill_health.router.risk.assess import load_model
from skill_health.router.risk.related import risk_facts
from skill_health.rules._api import Finding, Severity
from skill_health.rules._load import all_rules
from skill_health.rules._page import precision, precision_lines, prediction, prediction_lines


@pytest.mark.slow
def test_the_tables_follow_from_the_verdicts(checkout: Path) -> None:
    code = "import runpy, json; t = runpy.run_path('scripts/precision.py')['tables'](); print(json.dumps({str(k): v for k, v in t.items()}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=checkout, capture_output=True, text=True, check=True)
    for path, text in json.loads(done.stdout).items():
        assert Path(path).read_text("utf-8") == text, f"{path}: `python -m scripts.precision table` writes it anew"


@pytest.fixture(scope="module")
def script(checkout: Path) -> dict[str, Any]:
    return runpy.run_path(str(checkout / "scripts/precision.py"))


def test_a_severity_is_earned_on_collections_that_were_not_tuned_on(script: dict[str, Any]) -> None:
    rules, below = precision(), set[str]()
    for code, measured in rules.items():
        for severity, judged in measured.items():
            bar = script["BAR"].get(severity, 0)
            if judged["n"] >= script["LEAST"] and judged["right"] < bar * judged["n"]:
                below.add(code)
    assert below - set(script["CHANGED"]) == set(script["BELOW"])
    assert not {one.name for one in script["HELD_OUT"]} & set(script["TUNED"])


def test_verdicts_have_reasons_and_name_no_place_of_a_secret(checkout: Path) -> None:
    verdicts = [json.loads(line) for line in (checkout / "docs/precision.jsonl").read_text("utf-8").splitlines()]
    assert len(verdicts) >= 200
    for verdict in verdicts:
        assert {verdict["first"], verdict["second"]} <= {"right", "arguable", "wrong"} and verdict["reason"]
        assert ("second_reason" in verdict) is (verdict["first"] != verdict["second"])
        assert bool(verdict["path"]) is (verdict["code"] != "LE001")


def test_nothing_on_five_kept_repositories_is_wrong(checkout: Path) -> None:
    rows = [json.loads(line) for line in (checkout / "docs/precision-five.jsonl").read_text("utf-8").splitlines()]
    assert len({row["repository"] for row in rows}) == 5
    assert all(row["wrong"] == 0 and row["right"] + row["arguable"] > 0 and row["reason"] for row in rows)


def test_the_figure_is_shown_with_its_interval_or_said_to_be_missing() -> None:
    lines = {rule.code: list(precision_lines(rule)) for rule in all_rules()}
    assert lines["FM001"][0].startswith(" as error: 12 of 12 findings right (100%, 95 % interval ")
    assert "too few collections" in lines["FM002"][0]
    (missing,) = lines["CL002"]
    assert missing.startswith(": not measured, ") and [missing] != lines["CL009"]
    assert lines["CL009"] == [": not measured, only what is on by default is"]


def test_few_findings_of_one_cluster_are_drawn_and_the_same_line_once(script: dict[str, Any]) -> None:
    def finding(path: str, line: int, text: str) -> Finding:
        return Finding("FM001", "x", "frontmatter", Severity.WARNING, path, line, 1, line, 1, text)

    many = [finding(f"skills/s{n:02}/SKILL.md", 1, f"fault {n}") for n in range(30)]
    clones = [finding(f"skills/c{n:02}/SKILL.md", 1, "the same") for n in range(30)]
    drawn = list(script["_draw"]("FM001 warning", {"a/many": many, "b/clones": clones}))
    assert [name for name, _ in drawn].count("a/many") == script["OF_CLUSTER"]
    assert [one.path for name, one in drawn if name == "b/clones"] == ["skills/c00/SKILL.md"]
    shuffled = {"b/clones": clones[::-1], "a/many": many[::-1]}
    assert list(script["_draw"]("FM001 warning", shuffled)) == drawn


def test_the_labelled_mentions_are_complete(checkout: Path) -> None:
    labels = [
        json.loads(line) for line in (checkout / "tests/rules/links/mentions.jsonl").read_text("utf-8").splitlines()
    ]
    assert len({(label["repository"], label["path"], label["mention"]) for label in labels}) == len(labels) > 800
    halves = {half: [label for label in labels if label["half"] == half] for half in ("tuning", "sealed")}
    sources = {half: {label["source"] for label in chosen} for half, chosen in halves.items()}
    assert not sources["tuning"] & sources["sealed"]
    assert len(halves["sealed"]) >= 400 and min(map(len, sources.values())) >= 150
    for chosen in halves.values():
        broken = Counter(label["source"] for label in chosen if label["class"] == "broken")
        assert broken.total() >= 60 and len(broken) >= 30
        drawn = Counter(label["source"] for label in chosen if label["class"] == "broken" and "form" in label)
        assert max(drawn.values()) <= 3
    assert {label["class"] for label in labels} == {
        "broken", "resolves", "installed", "created", "example", "template", "other-skill", "command", "url", "glob", "project",
        "host", "home", "token", "people",
    }  # fmt: skip
    assert all(label["reason"] and len(label["commit"]) == 40 for label in labels)


def test_the_drawing_knows_links_code_words_and_commands(checkout: Path) -> None:
    drawing = runpy.run_path(str(checkout / "scripts/mentions.py"))
    text = """
[a](a.md) and `scripts/b.py --all`, c/d.json, <https://example.com/e.md>, ![f](https://example.com/f.png)

```bash
$ python3 scripts/g.py h.json
echo i.txt
```

```python
open("j.txt")
```
"""
    found = [(mention, form) for _, mention, form in drawing["tokens_of"](text)]
    assert found == [("a.md", "link"), ("scripts/b.py", "code"), ("c/d.json", "words"), ("scripts/g.py", "command")]


def test_a_mention_is_looked_up_from_its_file_its_skill_and_all_folders_above(checkout: Path) -> None:
    drawing = runpy.run_path(str(checkout / "scripts/mentions.py"))
    files = ["s/a/SKILL.md", "s/a/refs/b.md", "s/a/refs/c.md", "s/d/e.md", "top.md"]
    known = frozenset([*files, "", "s", "s/a", "s/a/refs", "s/d"])
    names = {file.rpartition("/")[2]: [file] for file in files}
    for mention, where in {
        "c.md": "found", "refs/c.md#x": "found", "top.md": "found", "../d/e.md": "found", "{baseDir}/refs/b.md": "found",
        "a/refs/b.md": "found", "x/refs/b.md": "name", "d/none.md": "nowhere", "e.md": "elsewhere",
    }.items():  # fmt: skip
        assert drawing["look_up"](mention, "s/a/refs/b.md", "s/a", known, names) == where, mention


def test_a_finding_is_about_the_mention_that_it_names(script: dict[str, Any]) -> None:
    finding = Finding(
        "LI003", "x", "links", Severity.WARNING, "s/SKILL.md", 5, 1, 5, 1, "scripts/a.sh.template is not there"
    )
    for mention, hit in {
        "scripts/a.sh.template": True,
        "./scripts/a.sh.template": True,
        "scripts/a.sh": False,
        "a.sh": False,
    }.items():
        assert script["_is_about"](finding, {"path": "s/SKILL.md", "mention": mention, "line": 5}) is hit


def test_what_a_rule_says_of_lost_requests_is_what_was_measured() -> None:
    told = prediction()
    assert set(told) == {"RT010"} <= {rule.code for rule in all_rules()}
    for rule in all_rules():
        lines = list(prediction_lines(rule))
        assert len(lines) == (rule.code in told)
    own, (line,) = told["RT010"], prediction_lines(next(rule for rule in all_rules() if rule.code == "RT010"))
    assert own["low"] <= own["auc"] <= own["high"] and own["reported_lost"] <= min(own["reported"], own["lost"])
    others = own["skills"] - own["reported"]
    assert f"{own['reported_lost']} of {own['reported']} skills that it reports" in line
    assert f"and {own['lost'] - own['reported_lost']} of {others} that it does not; AUC {own['auc']:.2f}" in line


def test_rules_about_descriptions_say_how_far_to_trust_the_risk() -> None:
    known = load_model()
    said = {rule.code: list(risk_facts(rule)) for rule in all_rules()}
    assert {code for code, lines in said.items() if lines} == {"RT003", "RT005", "RT010"}
    done = CliRunner().invoke(explain, ["untold-words"], standalone_mode=False)
    for line in (*said["RT010"], *prediction_lines(next(rule for rule in all_rules() if rule.code == "RT010"))):
        assert f"- {line}\n" in done.output
    figure = f"AUC {known.auc:.2f}, 95 % interval {known.auc_low:.2f} to {known.auc_high:.2f} ({known.skills} skills"
    assert figure in done.output
