"""The tasks 008 to 015 of fixtures/tasks: what their verifiers know is true."""

from __future__ import annotations

import csv
import filecmp
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fixture_verifiers import CASES, FIXTURES, TASKS, fresh, loaded

pytestmark = pytest.mark.skipif(os.name == "nt", reason="verifiers are POSIX shell scripts")

Solved = Callable[[str], Path]


def expected(task: str, name: str = "expected.json") -> Any:
    return json.loads((TASKS[task] / "verifier" / name).read_text(encoding="utf-8"))


def test_what_verifiers_know_is_what_agents_are_given() -> None:
    pairs = [
        ("008", "before.md", "CHANGELOG.md"),
        ("011", "requests.jsonl", "requests.jsonl"),
        ("011", "skills.json", "skills.json"),
    ]
    for task, known, given in pairs:
        assert filecmp.cmp(TASKS[task] / "verifier" / known, TASKS[task] / "starting" / given, shallow=False)
    catalogue = TASKS["014"] / "starting" / "catalogue"
    assert set(expected("014", "before.json")) == {path.name for path in catalogue.iterdir()}
    manual = (TASKS["015"] / "starting" / "meter-readings" / "skill.md").read_text(encoding="utf-8")
    assert all(f"| {' | '.join(row)} |" in manual for row in expected("015", "rows.json"))
    script = loaded(TASKS["015"] / "verifier" / "check.py")
    files = (path for path in (TASKS["015"] / "starting" / "meter-readings").rglob("*") if path.is_file())
    everything = "\n".join(path.read_text(encoding="utf-8") for path in files)
    for patterns in ("ALWAYS", "SOMETIMES", "ELSEWHERE", "NEVER"):
        missing = [part for part in script[patterns] if not re.search(part, everything)]
        assert missing == []
    numbers = re.findall(r"(?m)^\[(\d\d)\]", (TASKS["012"] / "starting" / "brochure.md").read_text(encoding="utf-8"))
    assert numbers == list(expected("012"))
    for _, source, _ in expected("012").values():
        assert source is None or (TASKS["012"] / "starting" / "sources" / source).is_file()


def test_difference_of_the_release_is_complete(tmp_path: Path) -> None:
    """Taken back, the difference leaves the state of v1.6.2, which behaves as the changelog says."""
    workspace = fresh("008", tmp_path / "workspace")
    diff = workspace / "release" / "since-v1.6.2.diff"
    patch = ["git", "apply", "--reverse", "--unsafe-paths", "--directory", str(workspace), str(diff)]
    outcomes = []
    for _ in range(2):
        command = [sys.executable, "-B", "-m", "stowaway", "save", "--nonsense"]
        done = subprocess.run(command, cwd=workspace, capture_output=True, text=True, timeout=600, check=False)
        tar = "--tar" in (workspace / "stowaway" / "cli.py").read_text(encoding="utf-8")
        outcomes.append((done.returncode, tar, (workspace / "stowaway" / "walk.py").exists()))
        if len(outcomes) == 1:
            subprocess.run(patch, cwd=tmp_path, capture_output=True, timeout=600, check=True)
    assert outcomes == [(2, False, False), (1, True, True)]


def test_figures_of_the_verdicts_are_computed_twice() -> None:
    figures = next(cases for cases in CASES if "ranked" in cases)
    runs = figures["rows"](TASKS["009"] / "starting" / "runs.csv")
    for model, wanted in expected("009").items():
        mine = [run for run in runs if run["model"] == model]
        assert len(mine) == 144
        found = list(figures["gains"](mine).values())
        assert len(found) == wanted["tasks"]
        low, high = figures["by_t"](found)
        assert sum(found) / len(found) == pytest.approx(wanted["difference"], abs=1e-4)
        assert (low, high) == pytest.approx((wanted["low"], wanted["high"]), abs=1e-4)
        tests = {round(figures[name](found), 5) for name in ("flipped", "ranked", "signs")}
        assert tests == set(wanted["p"])
        # Whichever exact test is taken and however the models are counted, the verdict is the same.
        differing = sum(abs(value) > 1e-9 for value in found)
        if wanted["verdict"] in ("helps", "hurts"):
            assert max(tests) * 6 < 0.05 and (wanted["difference"] > 0) == (wanted["verdict"] == "helps")
        elif wanted["verdict"] == "not testable":
            assert 2.0 ** (1 - differing) > 0.05
        else:
            assert min(tests) * 3 > 0.05 and differing >= 8


def test_figures_of_the_judge_are_computed_twice() -> None:
    metrics = pytest.importorskip("statsmodels.stats.inter_rater")
    figures = next(cases for cases in CASES if "ranked" in cases)
    gold = figures["rows"](TASKS["010"] / "starting" / "gold.csv")
    table = [[0, 0], [0, 0]]
    for row in gold:
        if row["use"] == "held back" and row["judge"] != "error":
            table[row["agreed"] == "fail"][row["judge"] == "fail"] += 1
    wanted = expected("010")
    hit, rejected = table[0][0] / sum(table[0]), table[1][1] / sum(table[1])
    found = {
        "items": sum(map(sum, table)), "kappa": metrics.cohens_kappa(table, return_results=False), "sensitivity": hit,
        "specificity": rejected,
    }  # fmt: skip
    assert found == pytest.approx(wanted["agreement"], abs=1e-4)
    for rate in wanted["pass_rate"].values():
        # The rate of people that would make the judge pass as many as it did.
        assert rate["people"] * hit + (1 - rate["people"]) * (1 - rejected) == pytest.approx(rate["judge"], abs=1e-4)


def test_readings_are_told_as_they_are() -> None:
    with (TASKS["012"] / "starting" / "sources" / "readings.csv").open(encoding="utf-8", newline="") as handle:
        times = sorted(int(row["ms"]) for row in csv.DictReader(handle))
    assert len(times) == 400 and (times[199] + times[200]) / 2 == 38
    assert 55 <= sum(times) / 400 < 56.5 and sum(time < 150 for time in times) == 380


SCALARS = [
    "plain words", "plain words\n  over two lines", '"quoted: with a colon, \\"marks\\" and \u00fc" # comment',
    "'single: it''s one'", '"over\n  two lines"', ">-\n  folded: text\n  goes on", "|\n  literal # text\n  goes on",
    "colon: and a space", "ends with a colon:", "a colon:without a space", "word # comment", "word #comment # more",
    "a#b", "[train, taxi]", "{a: b}", "- item", "-item", "? key", "@at", "`tick`", "%percent", "*star", "&anchor word",
    "! tag", '"open', "'open", '"closed" and more', "",
]  # fmt: skip


@pytest.mark.parametrize("text", SCALARS)
def test_frontmatter_is_read_as_yaml_reads_it(text: str) -> None:
    module = loaded(TASKS["014"] / "verifier" / "skill_head.py")
    front = f"name: x\ndescription: {text}\nlicense: MIT"
    try:
        found = yaml.safe_load(front)["description"]
    except yaml.YAMLError:
        found = None
    try:
        ours: str | None = module["scalar"](module["entries"](front.split("\n"))["description"])
    except ValueError:
        ours = None
    if isinstance(found, str) and not text.startswith(("&", "!")):
        assert ours is not None and ours.split() == found.split()
    else:
        assert not ours


def test_the_skills_own_checks_agree_with_the_oracles(solved: Solved, after_oracle: Solved, tmp_path: Path) -> None:
    """Who works as a skill says, and until its script has nothing to fix, has what the task asks for."""

    def script(skill: str, name: str, *arguments: str | Path) -> tuple[int, str]:
        command = [sys.executable, "-B", FIXTURES / "skills" / skill / "scripts" / name, *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, check=False)
        return done.returncode, done.stdout

    changelog = solved("008") / "CHANGELOG.md"
    assert script("changelog-entries", "next_version.py", changelog) == (0, "nothing unreleased\n")
    before = tmp_path / "unreleased.md"
    text = changelog.read_text(encoding="utf-8").replace(
        "## [Unreleased]\n\n## [2.0.0] - 2026-04-14", "## [Unreleased]"
    )
    before.write_text(text, encoding="utf-8")
    assert script("changelog-entries", "next_version.py", before) == (0, "2.0.0\n")
    assert script("skill-authoring", "measure_skill.py", solved("015") / "meter-readings")[0] == 0
    catalogue = solved("014") / "catalogue"
    status, printed = script("trigger-descriptions", "description_report.py", catalogue, "--cut", "1024")
    assert status == 0, printed
    status, printed = script("router-prompt-sets", "audit_prompts.py", solved("011") / "prompts.jsonl")
    assert (status, printed.strip()) == (0, "46 prompts, nothing to mend")
    note = next(cases for cases in CASES if "in_the_form_of_the_skill" in cases)
    workspace = after_oracle("013")
    note["in_the_form_of_the_skill"](workspace)
    checked = script("handoff-notes", "handoff.py", "check", workspace / "HANDOFF.md", "--root", workspace)
    assert checked == (0, "clean\n")


def test_the_log_of_the_catalogue_can_be_routed() -> None:
    """The log agrees with the held-out requests: what is shown of the descriptions misroutes both alike."""
    module = loaded(TASKS["014"] / "verifier" / "routing.py")
    front = loaded(TASKS["014"] / "verifier" / "skill_head.py")
    catalogue = {
        path.parent.name: front["scalar"](
            front["entries"](front["split"](path.read_text(encoding="utf-8"))[0])["description"]
        )
        for path in (TASKS["014"] / "starting" / "catalogue").glob("*/SKILL.md")
    }
    lines = (TASKS["014"] / "verifier" / "requests.tsv").read_text(encoding="utf-8").splitlines()
    held_out = [line.split("\t") for line in lines]
    with (TASKS["014"] / "starting" / "routing-log.csv").open(encoding="utf-8", newline="") as handle:
        logged = [(row["belongs_to"], row["request"]) for row in csv.DictReader(handle)]
    assert {request for _, request in logged}.isdisjoint(request for _, request in held_out)
    for requests in (held_out, logged):
        lost = [request for owner, request in requests if owner == "expense-claims"]
        assert not any(module["route"](request, catalogue) == "expense-claims" for request in lost)
