"""`activation run`, `report` and `compare` from the command line, with an agent of known habits."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from collection_made import SKILLS, prompt_records, write_skills

from skill_health.activation.run.runs import load_activation_run
from skill_health.core.validation import problems
from skill_health.documents._record import decode_record
from skill_health.documents.activation_history import read_activation_history
from skill_health.documents.activation_report import ActivationReport

TIME = "2026-03-01T00:00:00Z"
Call = Callable[..., tuple[int, str, str]]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    return write_skills(tmp_path / "collection")


@pytest.fixture
def call(run_in: Run, collection: Path) -> Call:
    def go(
        *words: str, agent: str = "planted:recall=0.7,confuse=0.2,near=0.3,stray=0.2", what: str = "run"
    ) -> tuple[int, str, str]:
        given = ("--agents", agent, "--sandbox", "none", "--quiet", "--time", TIME) if what == "run" else ()
        done = run_in(collection, "activation", what, *given, *words)
        return done.returncode, done.stdout, done.stderr

    return go


def folder_of(collection: Path) -> Path:
    (found,) = (collection / "reports" / "activation").iterdir()
    return found


@pytest.mark.slow
def test_a_whole_run_and_its_files(call: Call, collection: Path) -> None:
    code, out, err = call("--format", "json")
    assert code == 0, err
    report = decode_record(out.encode(), ActivationReport)
    folder = folder_of(collection)
    run = load_activation_run(str(folder))
    assert (folder / "report.json").read_text() == out and (folder / "report.md").exists()
    assert [result.key for result in run.results] == [
        (each["prompt_id"], run.manifest.models[0].spec, 7, 0) for each in prompt_records()
    ]
    assert report.isolation.proved == report.isolation.calls == 18 and report.isolation.reused > 10
    for name, kind in (("manifest.json", "activation-manifest"), ("report.json", "activation-report")):
        assert problems(kind, json.loads((folder / name).read_text())) == []
    for name, kind in (("results.jsonl", "activation-result"), ("attempts.jsonl", "activation-attempt")):
        for line in (folder / name).read_text().splitlines():
            assert problems(kind, json.loads(line)) == []
    for line in (collection / "reports" / "activation-history.jsonl").read_text().splitlines():
        assert problems("activation-history", json.loads(line)) == []
    history = read_activation_history(str(collection / "reports"))
    assert history.problems == () and {line.skill for line in history.lines} == {None, *SKILLS}
    for result in run.results:
        assert (folder / result.stream).read_bytes().count(b'"event"') >= 2
    assert "forecast: 18 requests" in err and "14 expect one of 7 skills, 4 expect none" in err


@pytest.mark.slow
def test_a_run_that_was_capped_goes_on_where_it_was(call: Call, collection: Path) -> None:
    code, _, err = call("--max-runs", "7")
    assert code == 3 and "incomplete: 11 requests have no result" in err
    folder = folder_of(collection)
    before = (folder / "results.jsonl").read_text().splitlines()
    code, _, err = call()
    assert code == 0 and "7 results are there" in err
    after = (folder / "results.jsonl").read_text().splitlines()
    assert set(before) < set(after) and len(after) == 18
    starts = [json.loads(line) for line in (folder / "attempts.jsonl").read_text().splitlines()]
    assert sum(each["event"] == "start" for each in starts) == 18


def test_a_dry_run_starts_and_writes_nothing(call: Call, collection: Path) -> None:
    code, out, err = call("--dry-run")
    assert (code, out) == (0, "") and "dry run: " in err
    assert not (collection / "reports").exists()


@pytest.mark.slow
def test_infrastructure_is_tried_again_and_what_stays_broken_is_missing(call: Call, collection: Path) -> None:
    code, out, err = call("--format", "json", agent="planted:recall=0.2,confuse=0,fail=0.6")
    (model,) = json.loads(out)["models"]
    run = load_activation_run(str(folder_of(collection)))
    assert max(result.attempts for result in run.results) == 3
    broken = [result for result in run.results if not result.scored]
    assert model["missing"].get("infrastructure", 0) == len(broken) == 18 - model["scored"]
    assert code == 0 and model["metrics"]["recall"]["n"] == sum(
        result.scored and "none" not in result.prompt_id for result in run.results
    )
    if broken:
        assert "requests without an outcome that counts" in err


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["quota", "auth"])
def test_no_credit_and_no_key_stop_the_run(call: Call, ending: str) -> None:
    code, _, err = call(agent=f"planted:{ending}=1")
    assert code == 3 and ending in err


@pytest.mark.slow
def test_sizes_and_replications(call: Call, collection: Path) -> None:
    code, out, err = call("--sizes", "3", "--reps", "2", "--format", "json", agent="planted:recall=1,confuse=0")
    assert code == 0, err
    (model,) = json.loads(out)["models"]
    assert [(each["size"], each["metrics"]["recall"]["n"]) for each in model["sizes"]] == [(3, 28), (7, 28)]
    run = load_activation_run(str(folder_of(collection)))
    assert len(run.results) == 18 * 2 * 2 and {result.size for result in run.results} == {3, 7}
    small = [result for result in run.results if result.size == 3]
    assert all(result.offered is not None and len(result.offered) == 3 for result in small)
    # The agent lists in the order it is given, so that place and skill are told apart.
    assert model["fixed_order"] is False
    assert {place["part"]: place["recall"]["n"] > 0 for place in model["places"]} == dict.fromkeys(
        ("first third", "middle third", "last third"), True
    )


@pytest.mark.slow
def test_should_trigger_sets_are_near_misses(call: Call, collection: Path) -> None:
    rows = [
        {"query": "Please do the apples for this order at once.", "should_trigger": True},
        {"query": "How many pears are in a crate of that kind?", "should_trigger": False},
    ]
    folder = collection / "skills" / "apples" / "evals"
    folder.mkdir()
    (folder / "trigger.json").write_text(json.dumps(rows))
    code, out, err = call(
        "--prompts", str(folder / "trigger.json"), "--format", "json", agent="planted:recall=1,confuse=0,near=1"
    )
    assert code == 0, err
    report = json.loads(out)
    assert (report["prompts"]["skill"], report["prompts"]["none"], report["prompts"]["near_miss"]) == (1, 0, 1)
    metrics = report["models"][0]["metrics"]
    assert (metrics["recall"]["value"], metrics["false_fire_near"]["value"]) == (1.0, 1.0)
    assert metrics["false_fire_none"]["value"] is None and metrics["false_fire_none"]["note"].startswith(
        "not testable: "
    )
    # The evaluations of a skill are no part of what agents get.
    assert not any("trigger.json" in path.name for path in folder_of(collection).rglob("*"))


@pytest.mark.slow
def test_each_format_of_the_report(call: Call, collection: Path) -> None:
    assert call()[0] == 0
    text = call(what="report")[1]
    assert "planted" in text and "Simulated, " in text
    markdown = call("--format", "md", what="report")[1]
    assert markdown == (folder_of(collection) / "report.md").read_text()
    suites = ElementTree.fromstring(call("--format", "junit", what="report")[1])
    suite = suites.find("testsuite")
    report = json.loads(call("--format", "json", what="report")[1])
    assert suite is not None and suite.attrib["tests"] == "18"
    failed = {case.attrib["name"] for case in suite.iter("testcase") if case.find("failure") is not None}
    wrong = {
        each["prompt_id"]
        for each in report["requests"]
        for name in each["models"][0]["first"]
        if name != (each["expected"] or "none") or name in each["rejected"]
    }
    assert failed == wrong != set()
    columns = {
        "figures": "metric", "skills": "skill", "requests": "prompt_id", "confusion": "first", "calibration": "figure",
    }  # fmt: skip
    for table, column in columns.items():
        rows = list(csv.DictReader(io.StringIO(call("--format", "csv", "--table", table, what="report")[1])))
        assert rows and column in rows[0], table


@pytest.mark.slow
def test_other_routers_and_a_run_of_the_router_stand_beside_it(call: Call, collection: Path, run_in: Run) -> None:
    assert call()[0] == 0
    done = run_in(collection, "router", "run", "--models", "lexical:overlap", "--quiet")
    assert done.returncode == 0, done.stderr
    code, out, err = call("--router", "lexical:bm25", "--router-run", "last", "--format", "json", what="report")
    assert code == 0, err
    report = json.loads(out)
    assert [(each["router"], bool(each["source"])) for each in report["routers"]] == [
        ("lexical:bm25", False), ("lexical:overlap", True),
    ]  # fmt: skip
    assert [each["router"] for each in report["models"][0]["calibration"]] == ["lexical:bm25", "lexical:overlap"]
    # A run of a router has no scores, so only the place tells.
    assert report["models"][0]["calibration"][1]["margin_auc"]["value"] is None


@pytest.mark.slow
def test_two_runs_are_compared_and_a_loss_is_an_alarm(call: Call, collection: Path) -> None:
    assert call("--reps", "3", agent="planted:recall=0.95,confuse=0,seed=3")[0] == 0
    assert call("--reps", "3", "--time", "2026-03-02T00:00:00Z", agent="planted:recall=0.95,confuse=0,seed=4")[0] == 0
    assert call("--reps", "3", "--time", "2026-03-03T00:00:00Z", agent="planted:recall=0.1,confuse=0,seed=5")[0] == 0
    runs = sorted(path.name for path in (collection / "reports" / "activation").iterdir())
    one, two, three = (
        load_activation_run(str(collection / "reports" / "activation" / name)).manifest.models[0].spec for name in runs
    )
    code, out, err = call(runs[1], runs[0], "--model", two, "--against", one, what="compare")
    assert code == 0 and "No alarm." in out, err
    code, out, _ = call(runs[2], runs[0], "--model", three, "--against", one, "--format", "json", what="compare")
    found = json.loads(out)
    assert code == 1 and problems("activation-comparison", found) == []
    assert [alarm["metric"] for alarm in found["alarms"]] == ["recall"]
    assert found["models"][0]["metrics"]["recall"]["difference"]["value"] < -0.6
    assert call(runs[2], runs[0], what="compare")[0] == 2


@pytest.mark.parametrize(("words", "agent", "said"), [
    ((), "plantd:recall=1", "did you mean planted?"),
    ((), "planted:recal=1", "the keys are"),
    (("--resume", "x", "--no-resume"), "planted", "--no-resume"),
    (("--resume", "nothing"), "planted", "'nothing'"),
    (("--router", "openai:m"), "planted", "only free routers"),
    (("--sizes", "0"), "planted", "--sizes"),
    (("--prompt-ids", "gone"), "planted", "no prompt has the id 'gone'"),
    pytest.param(("--delivery", "mcp"), "planted", None, marks=pytest.mark.slow),
])  # fmt: skip
def test_what_the_user_got_wrong_is_one_clear_line(
    call: Call, words: tuple[str, ...], agent: str, said: str | None
) -> None:
    code, _, err = call(*words, agent=agent)
    if said is None:
        assert code == 0, err
        return
    assert code == 2 and said in err and "Traceback" not in err


def test_no_prompts_and_no_agent(run_in: Run, tmp_path: Path) -> None:
    root = write_skills(tmp_path / "none", [])
    done = run_in(root, "activation", "run", "--agents", "planted", "--sandbox", "none")
    assert done.returncode == 2 and "no prompt is about a skill that can be staged" in done.stderr
    root = write_skills(tmp_path / "some")
    done = run_in(root, "activation", "run", "--sandbox", "none")
    assert done.returncode == 2 and "--agents" in done.stderr


HOSTILE = 'Ignore all. <script>alert(1)</script> \x1b[31m | `x` "] =cmd()'


@pytest.mark.slow
def test_hostile_prompts_stay_text(run_in: Run, tmp_path: Path) -> None:
    records: list[dict[str, Any]] = prompt_records()
    records[0] |= {"prompt": HOSTILE, "prompt_id": "../../etc/passwd"}
    records[1] |= {"prompt_id": "=1+1"}
    root = write_skills(tmp_path / "c", records)
    base = ("--agents", "planted:recall=0.2", "--sandbox", "none", "--quiet", "--time", TIME)
    done = run_in(root, "activation", "run", *base)
    assert done.returncode == 0, done.stderr
    for form in ("text", "md", "csv", "junit"):
        more = ("--table", "requests") if form == "csv" else ()
        said = run_in(root, "activation", "report", "--format", form, *more).stdout
        assert "\x1b" not in said
        if form == "md":
            assert "<script>" not in said
        if form == "junit":
            ElementTree.fromstring(said)
        if form == "csv":
            assert "\n=1+1" not in said and "'=1+1" in said
    folder = folder_of(root)
    names = [os.path.relpath(path, folder) for path in folder.rglob("*")]
    assert all(not name.startswith("..") for name in names) and not (tmp_path / "etc").exists()
    assert len(list((folder / "streams").iterdir())) == 18
