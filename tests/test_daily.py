"""`skill-health daily` on real folders and git repositories: what it writes, says and exits with."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Run, Write
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt

from skill_health.core import validation
from skill_health.daily.states import read_states, unpack_run
from skill_health.documents._record import decode_record, record_values
from skill_health.documents.daily_line import DailyLine

SKILL = """---
name: {name}
description: {description}
---
# {name}

## Workflow

1. Read the list.
2. Sort it, then check the result.

```sh
sort list.txt
```

```sh
sort -u list.txt
```

## Gotchas

- Blank lines sort first.
- Case matters.
- A locale changes the order.

## Verification

Run it twice; the second run changes nothing.
"""
CLAIM = {
    "claim_id": "claim-sort", "claim_text": "Sorting is 37% faster.", "owning_skill": "tidy", "section": "Workflow",
    "source_url": "https://example.com/a", "retrieved_at": "2026-11-01", "evidence_strength": "primary",
    "volatility": "high", "last_reviewed": "2026-11-01",
}  # fmt: skip
NAMES = ("skill-health-drift.md", "skill-health-history.jsonl", "skill-health.json", "skill-health-states.jsonl")
DAY_1, DAY_2 = "--time=2026-11-20T04:00:00Z", "--time=2026-11-21T04:00:00Z"


def text(name: str, description: str = "") -> str:
    does = description or f"Puts lists of {name} in order. Use when a list of {name} is out of order, not for tables."
    return SKILL.format(name=name, description=does)


def collection(*names: str) -> dict[str, str]:
    return {f"skills/{name}/SKILL.md": text(name) for name in names}


def edit(root: Path, name: str, old: str, new: str) -> None:
    path = root / "skills" / name / "SKILL.md"
    before = path.read_text(encoding="utf-8")
    assert old in before
    path.write_text(before.replace(old, new), encoding="utf-8", newline="")


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit_all(root: Path) -> str:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "x")
    return git(root, "rev-parse", "HEAD")


def history(root: Path, folder: str = "reports") -> list[dict[str, Any]]:
    """The runs of a history; its lines, those of the states and the runs are checked against the published schemas."""
    files = {"daily-line": root / folder / NAMES[1], "daily-state": root / folder / NAMES[3]}
    for schema, path in files.items():
        check = Draft202012Validator(validation.load_schema(schema))
        for line in path.read_text(encoding="utf-8").splitlines():
            check.validate(json.loads(line))
    lines = [decode_record(line, DailyLine) for line in files["daily-line"].read_bytes().splitlines()]
    states = read_states(str(files["daily-state"]), [line.state for line in lines])
    found = [json.loads(json.dumps(record_values(unpack_run(line, states[line.state])))) for line in lines]
    check = Draft202012Validator(validation.load_schema("history"))
    for run in found:
        check.validate(run)
    return found


def drift(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The drift that `--format json` printed, checked against the published schema."""
    found: dict[str, Any] = json.loads(done.stdout)
    Draft202012Validator(validation.load_schema("drift")).validate(found)
    return found


@pytest.fixture
def repository(write: Write) -> Path:
    root = write({**collection("tidy", "plums", "pears"), "registries/claims.jsonl": json.dumps(CLAIM) + "\n"})
    git(root, "init", "--quiet")
    return root


@pytest.mark.slow
def test_the_first_run(repository: Path, run: Run) -> None:
    commit = commit_all(repository)
    done = run("daily", DAY_1)
    assert done.returncode == 0
    (line,) = history(repository)
    assert (line["time"], line["as_of"], line["commit"], line["dirty"]) == (
        "2026-11-20T04:00:00Z", "2026-11-20", commit, False,
    )  # fmt: skip
    assert sorted(line["skills"]) == [f"skills/{name}/SKILL.md" for name in ("pears", "plums", "tidy")]
    assert line["claims"] == {"stale": [], "due": ["claim-sort"]}
    snapshot = json.loads((repository / "reports" / "skill-health.json").read_text(encoding="utf-8"))
    assert snapshot["schema"] == "skill-health/report/1"
    assert {s["path"]: s["score"] for s in snapshot["skills"]} == {p: s["score"] for p, s in line["skills"].items()}
    assert line["summary"]["mean"] == snapshot["summary"]["score"]
    assert not any(str(repository).encode() in (repository / "reports" / name).read_bytes() for name in NAMES)
    assert sorted(os.listdir(repository / "reports")) == sorted(NAMES)


@pytest.mark.slow
def test_two_runs_with_an_edit_between(repository: Path, run: Run) -> None:
    commit = commit_all(repository)
    assert run("daily", DAY_1).returncode == 0
    skills = repository / "skills"
    (skills / "kiwis").mkdir()
    (skills / "kiwis" / "SKILL.md").write_text(text("kiwis"), encoding="utf-8")
    tidy = (skills / "tidy" / "SKILL.md").read_text(encoding="utf-8")
    edit(repository, "tidy", tidy[tidy.index("## Gotchas") : tidy.index("## Verification")], "")
    edit(repository, "tidy", "Run it twice;", "See [more](missing.md). Run it twice;")
    edit(repository, "tidy", "name: tidy", "name: Tidy")
    edit(repository, "pears", "Puts lists", "Brings lists")
    (skills / "plums").rename(skills / "prunes")

    done = run("daily", "--time=2026-12-24T04:00:00Z", "--format=json")
    found = drift(done)
    assert done.returncode == 1
    assert found["basis"] == "findings"
    assert found["before"]["commit"] == commit and found["run"]["dirty"] is True
    assert (found["added"], found["removed"]) == (["skills/kiwis/SKILL.md"], [])
    assert found["renamed"] == [{"from": "skills/plums/SKILL.md", "to": "skills/prunes/SKILL.md"}]
    assert found["descriptions"] == ["skills/pears/SKILL.md", "skills/tidy/SKILL.md"]
    assert [claim["claim_id"] for claim in found["claims"]["stale"]] == ["claim-sort"]
    assert found["claims"]["stale"][0]["overdue"] == 23
    moved = {skill["path"]: skill for skill in found["skills"]}
    fell = moved["skills/tidy/SKILL.md"]
    assert fell["score"]["after"] < fell["score"]["before"]
    links = next(part for part in fell["components"] if part["name"] == "links")
    assert links["before"] == 1 and links["after"] < 1 and links["note"] == "LI001 broken-link"
    assert (links["evidence"]["before"], links["evidence"]["after"]) == ({}, {"findings": 1})
    broken = next(new for new in found["new"] if new["code"] == "LI001")
    assert broken["severity"] == "warning"
    assert [place["path"] for place in broken["places"]] == ["skills/tidy/SKILL.md"]
    place = broken["places"][0]
    line = (skills / "tidy" / "SKILL.md").read_text(encoding="utf-8").splitlines()[place["line"] - 1]
    assert line[place["col"] - 1 :].startswith(("[more](missing.md)", "missing.md"))
    assert "missing.md" in place["message"]
    assert {new["code"] for new in found["new"] if new["severity"] == "error"} == {"FM012"}
    assert {rule["code"]: rule["after"] for rule in fell["rules"]}["LI001"] == 1
    assert any(reason.startswith("skills/tidy/SKILL.md fell by") for reason in found["reasons"])
    assert any("new error" in reason for reason in found["reasons"])
    told = [line.removeprefix("drift: ") for line in done.stderr.splitlines() if line.startswith("drift: ")]
    assert told == found["reasons"]

    markdown = (repository / "reports" / "skill-health-drift.md").read_text(encoding="utf-8")
    for said in (
        "## Fell (", "links 1.00 → 0.89: findings none → 1; LI001 broken-link", "LI001 broken-link: 0 → 1", " stale (1)",
        f"skill-health router sweep --since {commit}\n", "skills/plums/SKILL.md is now skills/prunes/SKILL.md",
        "## Skills added (1)", "median",
    ):  # fmt: skip
        assert said in markdown, said
    assert len(history(repository)) == 2


@pytest.mark.slow
def test_the_limits_decide_the_exit_code(repository: Path, run: Run) -> None:
    assert run("daily", DAY_1).returncode == 0
    for name in ("tidy", "plums"):
        edit(repository, name, f"name: {name}", f"name: Other-{name}")
    edit(repository, "tidy", "Run it twice;", "See [more](missing.md). Run it twice;")
    loose = ["--max-drop=1", "--max-skill-drop=1", "--new-errors=2"]
    done = run("daily", DAY_2, "--no-write", *loose)
    assert done.returncode == 0 and done.stdout and "drift: " not in done.stdout
    for strict in ("--max-drop=0", "--max-skill-drop=0", "--new-errors=1"):
        done = run("daily", DAY_2, "--no-write", *loose, strict)
        assert done.returncode == 1
        last = [line for line in done.stdout.splitlines() if line.startswith("drift: ")][-1]
        assert last.endswith(f"({strict[2:-2]})")
    (repository / "skill-health.toml").write_text("[daily]\nmax-drop = 1.0\nmax-skill-drop = 1.0\nnew-errors = 2\n")
    assert run("daily", DAY_2).returncode == 0, "the limits are no reason not to compare"
    assert history(repository)[0]["configuration"] == history(repository)[1]["configuration"]


@pytest.mark.slow
def test_a_run_without_a_change_says_so(repository: Path, run: Run) -> None:
    commit_all(repository)
    run("daily", DAY_1)
    found = drift(run("daily", DAY_2, "--format=json"))
    keys = "skills added removed renamed new fixed rules descriptions reasons problems".split()
    assert {key: found[key] for key in keys if found[key]} == {}
    assert found["window"] == {
        "runs": 1, "since": "2026-11-20T04:00:00Z", "median": found["mean"]["after"], "above": 0, "equal": 1, "below": 0,
    }  # fmt: skip


@pytest.mark.slow
def test_a_line_that_is_moved_or_reworded_and_still_wrong_is_not_new(repository: Path, run: Run) -> None:
    edit(repository, "tidy", "Run it", "See [more](missing.md). Run it")
    run("daily", DAY_1)
    edit(repository, "tidy", "See [more](missing.md).", "## More\n\nFor the rest go to [the file](missing.md) first.")
    found = drift(run("daily", DAY_2, "--format=json"))
    assert (found["new"], found["fixed"], found["reasons"]) == ([], [], [])


@pytest.mark.slow
def test_other_settings_are_not_compared_and_that_is_said(repository: Path, run: Run) -> None:
    run("daily", DAY_1)
    (repository / "skill-health.toml").write_text("[limits]\nbody-lines = 400\n")
    (repository / "skills" / "plums" / "SKILL.md").unlink()
    done = run("daily", DAY_2)
    assert done.returncode == 0
    assert re.search(r"Not comparable .*2026-11-20T04:00:00Z [^:]*: ", done.stdout)
    assert "Skills removed (1)\n  skills/plums/SKILL.md" in done.stdout
    assert "Fell" not in done.stdout and "Fixed" not in done.stdout
    (repository / "skill-health.toml").unlink()
    found = drift(run("daily", "--time=2026-11-22T04:00:00Z", "--format=json"))
    assert (found["basis"], found["before"]["time"], found["passed"]) == ("findings", "2026-11-20T04:00:00Z", 1)


@pytest.mark.slow
def test_a_profile_of_the_users_own_counts_with_its_content(repository: Path, run: Run, checkout: Path) -> None:
    own = (checkout / "skill_health/profiles/standard.toml").read_text("utf-8").replace('"standard"', '"own"')
    (repository / "own.toml").write_text(own, encoding="utf-8")
    run("daily", DAY_1, "--profile=own.toml")
    (repository / "own.toml").write_text(own.replace("error = 0.5", "error = 0.6"), encoding="utf-8")
    done = run("daily", DAY_2, "--profile=own.toml", "--format=json", check=False)
    assert len(drift(done)["differences"]) == 1


@pytest.mark.slow
def test_other_paths_are_not_compared(repository: Path, run: Run) -> None:
    run("daily", DAY_1)
    done = run("daily", DAY_2, "skills/tidy")
    assert "skills/tidy. " not in done.stdout
    assert re.search(r": .* \. and .* skills/tidy\.\nNothing ", done.stdout)
    assert "removed" not in done.stdout
    assert history(repository)[1]["paths"] == ["skills/tidy"]


@pytest.mark.slow
def test_claims_that_are_due(repository: Path, run: Run) -> None:
    done = run("daily", DAY_1, "--no-write", "--due-days=11")
    assert "registries/claims.jsonl:1: claim-sort of tidy: due in 11 days, on 2026-12-01" in done.stdout
    assert "Claims due" not in run("daily", DAY_1, "--no-write", "--due-days=10").stdout
    assert "due today, on 2026-12-01" in run("daily", "--as-of=2026-12-01", "--no-write").stdout
    (repository / "registries" / "claims.jsonl").unlink()
    run("daily", DAY_1)
    assert history(repository)[0]["claims"] is None


def test_nothing_is_written_where_that_is_asked(repository: Path, run: Run) -> None:
    done = run("daily", "--no-write", "--format=markdown")
    assert done.returncode == 0
    assert re.match(r"# .*drift\n", done.stdout)
    assert not (repository / "reports").exists()


@pytest.mark.slow
def test_the_reports_may_lie_anywhere(repository: Path, run: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "deep"
    for arguments in ([DAY_1], [DAY_2]):
        assert run("daily", f"--reports={outside}", *arguments).returncode == 0
    assert len(history(outside, ".")) == 2
    assert not (repository / "reports").exists()
    (repository / "skill-health.toml").write_text('[daily]\nreports = "build/health"\n')
    assert run("daily", "skills", cwd=repository).returncode == 0
    assert (repository / "build" / "health" / "skill-health-drift.md").is_file()
    (repository / "file").write_text("")
    done = run("daily", "--reports=file")
    assert done.returncode == 2
    assert done.stderr.startswith("skill-health: error: cannot ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "dirty"),
    [
        ("", False), ("reports/skill-health-drift.md", False), ("reports/router-history.jsonl", False),
        ("skills/tidy/SKILL.md", True), ("skills/tidy/new.md", True), ("registries/claims.jsonl", True),
    ],
)  # fmt: skip
def test_dirty_is_about_the_collection(repository: Path, run: Run, change: str, dirty: bool) -> None:
    run("daily", DAY_1)
    commit_all(repository)
    if change:
        with open(repository / change, "a", encoding="utf-8") as file:
            file.write("\n")
    run("daily", DAY_2)
    assert history(repository)[1]["dirty"] is dirty


def test_changes_outside_the_root_are_not_the_collections(tmp_path: Path, run: Run) -> None:
    root = tmp_path / "part"
    for path, content in {**collection("tidy"), "skill-health.toml": ""}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, encoding="utf-8")
    git(tmp_path, "init", "--quiet")
    commit = commit_all(tmp_path)
    (tmp_path / "elsewhere.txt").write_text("x")
    done = run("daily", "part", DAY_1)
    assert "written: part/reports/skill-health.json" in done.stderr
    (line,) = history(root)
    assert (line["commit"], line["dirty"], line["paths"]) == (commit, False, ["."])


@pytest.mark.slow
def test_without_a_commit_and_without_git(repository: Path, run: Run, tmp_path: Path) -> None:
    run("daily", DAY_1)
    assert (history(repository)[0]["commit"], history(repository)[0]["dirty"]) == (None, True)
    done = run("daily", DAY_2, env={"PATH": str(tmp_path / "nothing")})
    assert done.returncode == 0
    assert "git" in done.stdout
    assert (history(repository)[1]["commit"], history(repository)[1]["dirty"]) == (None, None)
    shutil.rmtree(repository / ".git")
    assert "git" not in run("daily", DAY_2).stdout
    edit(repository, "tidy", "Puts lists", "Brings lists")
    done = run("daily", DAY_2)
    assert "Descriptions changed (1)" in done.stdout and "sweep --since" not in done.stdout


def test_git_runs_nothing_that_the_repository_configures(repository: Path, run: Run) -> None:
    commit_all(repository)
    hook = repository / ".git" / "monitor"
    hook.write_text(f"#!/bin/sh\ntouch {repository}/ran\n")
    hook.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(hook))
    before = (repository / ".git" / "index").read_bytes()
    assert run("daily", DAY_1).returncode == 0
    assert not (repository / "ran").exists()
    assert (repository / ".git" / "index").read_bytes() == before


@pytest.mark.slow
def test_the_plans_history_and_its_report(repository: Path, run: Run) -> None:
    summary = {"skill_count": 3, "corpus_score": 0.99, "min_score": 0.9, "max_score": 1.0, "flagged": 0}
    reports = repository / "reports"
    reports.mkdir()
    (reports / NAMES[1]).write_text(json.dumps({"ok": True, "summary": summary}) + "\n")
    done = run("daily", DAY_1, "--profile=plan-v2.3.0")
    assert "an undated run of the plan's own checker" in done.stdout
    assert "  mean 0.9900 -> " in done.stdout and "  flagged 0 -> 3 (+3)" in done.stdout
    assert "errors 0 ->" not in done.stdout, "it counts no findings, which is not none"
    assert done.returncode == 1 and "(max-drop)" in done.stdout
    snapshot = json.loads((reports / NAMES[2]).read_text("utf-8"))
    assert list(snapshot) == ["ok", "summary", "skills"]
    assert list(snapshot["summary"])[:5] == ["skill_count", "corpus_score", "min_score", "max_score", "flagged"]
    found = drift(run("daily", DAY_2, "--profile=plan-v2.3.0", "--format=json"))
    assert (found["basis"], found["window"]["runs"], found["window"]["since"]) == ("findings", 2, None)
    found = drift(run("daily", DAY_2, "--format=json", "--no-write"))
    (difference,) = found["differences"]
    assert "plan-v2.3.0" in difference and difference.endswith(" standard")
    assert "plan's own" in found["problems"][0]


@pytest.mark.slow
def test_a_torn_line_is_reported_and_survived(repository: Path, run: Run) -> None:
    run("daily", DAY_1)
    path = repository / "reports" / NAMES[1]
    line = path.read_bytes()
    path.write_bytes(line + b'{"foreign": 1}\n' + line[: len(line) // 2])
    done = run("daily", DAY_2)
    assert done.returncode == 0
    assert "Note: line 3 of" in done.stdout
    assert "1 line of" in done.stdout
    assert re.search(r"Compared with .*2026-11-20T04:00:00Z", done.stdout)
    lines = path.read_bytes().splitlines(keepends=True)
    assert lines[0] == line and lines[2] == line[: len(line) // 2] + b"\n" and lines[3].endswith(b"\n")
    assert json.loads(lines[3])["time"] == "2026-11-21T04:00:00Z"


HOSTILE = "<img src=x onerror=alert(1)> [go](https://evil.example) | `x` **b** @all \\e[31m \\u202E http://a.b"


@pytest.mark.slow
def test_nothing_of_a_skill_is_markup_or_control(tmp_path: Path, run: Run) -> None:
    folders = ["a|b <b>x [l](x)", "line\nbreak", "esc\x1b[31m\u202e", "`tick` ![i](http:x)"]
    for nth, folder in enumerate(folders):
        place = tmp_path / "skills" / folder
        place.mkdir(parents=True)
        hostile = HOSTILE.replace('"', "")
        (place / "SKILL.md").write_text(
            f'---\nname: "{hostile} {nth}"\ndescription: "{hostile} {nth}"\n---\n# x\n\n[{nth}](<missing {nth}|*a*.md>)\n',
            encoding="utf-8",
        )
    raw = os.fsencode(tmp_path) + b"/skills/byte\xff"
    os.mkdir(raw)
    with open(raw + b"/SKILL.md", "wb") as file:
        file.write(text("byte").encode().replace(b"name: byte", b'name: "half \\ud800"'))
    assert run("daily", DAY_1).returncode == 0
    assert len(history(tmp_path)) == 1
    for folder in folders:
        path = tmp_path / "skills" / folder / "SKILL.md"
        more = path.read_text("utf-8").replace("description: ", "description: 'now ").replace(f'"{HOSTILE}', HOSTILE)
        path.write_text(more.replace('"\n---', "'\n---") + "\n[b](<gone <i>|[x](y).md>)\n", encoding="utf-8")
    (tmp_path / "skills" / folders[0]).rename(tmp_path / "skills" / "<u>moved|")
    shutil.rmtree(tmp_path / "skills" / folders[1])
    done = run("daily", DAY_2, "--new-errors=1000", "--max-drop=1", "--max-skill-drop=1")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout and "\u202e" not in done.stdout
    markdown = (tmp_path / "reports" / NAMES[0]).read_text("utf-8")
    assert not any(character in markdown for character in "\x1b\u202e\r")
    rendered = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    kinds = {token.type for block in rendered for token in (block, *(block.children or ()))}
    assert not kinds & {"link_open", "image", "html_block", "html_inline", "code_inline", "em_open", "table_open"}
    assert all(
        line.startswith(("#", "- ", "  - ", "Run of", "Compared", "The ", "No ", "Note")) or not line
        for line in markdown.splitlines()
    )
    run("daily", DAY_2)
    assert len(history(tmp_path)) == 3


def copy_shuffled(source: Path, target: Path, seed: int) -> None:
    """Copy a tree so that no folder lists its entries in the same order."""
    files = [path for path in source.rglob("*") if path.is_file()]
    random.Random(seed).shuffle(files)
    for path in files:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)


@pytest.mark.slow
def test_shuffled_copies_give_the_same_bytes(tmp_path: Path, run: Run, checkout: Path) -> None:
    results = []
    for nth in range(2):
        root = tmp_path / f"somewhere-{nth}"
        copy_shuffled(checkout / "fixtures" / "skills", root / "skills", nth)
        copy_shuffled(checkout / "fixtures" / "registries", root / "registries", nth)
        jobs = f"--jobs={nth + 1}"
        assert run("daily", DAY_1, jobs, cwd=root).returncode == 0
        (root / "skills" / "log-triage").rename(root / "skills" / "triage")
        with open(root / "skills" / "csv-cleaning" / "SKILL.md", "a", encoding="utf-8") as file:
            file.write("\nIt is 40% faster. See [x](missing.md).\n")
        done = run("daily", "--time=2027-03-01T04:00:00Z", jobs, "--max-drop=0", "--format=json", cwd=root)
        assert done.returncode == 1
        results.append([done.stdout, *((root / "reports" / name).read_bytes() for name in NAMES)])
    assert results[0] == results[1]


def test_known_findings_of_a_baseline_stay_out_of_the_snapshot_alone(repository: Path, run: Run) -> None:
    edit(repository, "tidy", "name: tidy", "name: Untidy")
    (repository / "skill-health.toml").write_text('baseline = "known.json"\n')
    assert run("lint", "--baseline=known.json", "--write-baseline=old").returncode == 0
    run("daily", DAY_1)
    snapshot = json.loads((repository / "reports" / NAMES[2]).read_text("utf-8"))
    assert (snapshot["summary"]["error"], history(repository)[0]["summary"]["errors"]) == (0, 1)
    assert snapshot["summary"]["baselined"] >= 1


@pytest.mark.parametrize(
    "arguments",
    [["--time=yesterday"], ["--max-drop=2"], ["--max-drop=nan"], ["--max-skill-drop=-1"], ["--new-errors=-1"],
     ["--due-days=x"], ["--format=sarif"], ["--profile=none"], ["nowhere"]],
)  # fmt: skip
def test_mistakes(repository: Path, run: Run, arguments: list[str]) -> None:
    done = run("daily", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert not (repository / "reports").exists()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2026-11-20T05:30:00+01:30", "2026-11-20T04:00:00Z"),
        ("2026-11-20T04:00:00.9Z", "2026-11-20T04:00:00Z"),
        ("2026-11-20", "2026-11-20T00:00:00Z"),
    ],
)
def test_the_time_is_kept_in_utc_to_the_second(repository: Path, run: Run, given: str, kept: str) -> None:
    run("daily", f"--time={given}")
    assert history(repository)[0]["time"] == kept


def start(root: Path, day: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "skill_health", "daily", f"--time=2026-11-{day:02}T04:00:00Z", "--jobs=1"]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.slow
def test_the_verdict_stands_when_its_reader_has_gone(repository: Path, run: Run) -> None:
    run("daily", DAY_1)
    (repository / "skills/tidy/SKILL.md").write_text("---\nname: Bad Name!!\n---\n")
    command = [sys.executable, "-m", "skill_health", "daily", DAY_2]
    with subprocess.Popen(command, cwd=repository, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        process.stdout.readline()
        process.stdout.close()
    assert (process.returncode, len(history(repository))) == (1, 2)


@pytest.mark.slow
def test_kill_leaves_whole_files(repository: Path, run: Run) -> None:
    run("daily", DAY_1)
    for nth in range(8):
        process = start(repository, nth + 1)
        time.sleep(0.08 + nth / 100)
        process.send_signal(signal.SIGKILL)
        process.wait()
    lines = history(repository)
    assert (repository / "reports" / NAMES[1]).read_bytes().endswith(b"\n")
    json.loads((repository / "reports" / NAMES[2]).read_text("utf-8"))
    assert (repository / "reports" / NAMES[0]).read_text("utf-8").startswith("# ")
    assert run("daily", "--time=2026-11-29T04:00:00Z").returncode == 0
    assert len(history(repository)) == len(lines) + 1
