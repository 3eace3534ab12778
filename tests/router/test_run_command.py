"""`router run` from the command line: what is refused, what is said, what is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from made_collection import SPLIT, write_collection
from nursery import rows

from skill_health.commands.router import command as group
from skill_health.core.errors import AbortedError, SkillHealthError

TIME = "2026-03-01T00:00:00Z"
KEY = "sk-test-0123456789"


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    return write_collection(tmp_path, SPLIT)


Call = Callable[..., int]


@pytest.fixture
def call(collection: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run `router run` in the collection; errors are raised as they are."""
    monkeypatch.chdir(collection)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*given: str, models: str = "scripted:skill=1") -> int:
        arguments = ["run", "--models", models, "--time", TIME, "--quiet", *given]
        code: int = group.main(arguments, standalone_mode=False)
        return code

    return run


def runs(collection: Path) -> list[Path]:
    folder = collection / "reports" / "router"
    return sorted(folder.iterdir()) if folder.exists() else []


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
    return found


def test_a_run_writes_everything_and_says_so(call: Call, collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(models="scripted:skill=1,lexical:tfidf") == 0
    (folder,) = runs(collection)
    assert sorted(path.name for path in folder.iterdir()) == [
        "attempts.jsonl", "check.json", "manifest.json", "report.json", "report.md", "results.jsonl",
    ]  # fmt: skip
    found = manifest(folder)
    assert (found["version"], found["kind"], found["created"], found["run_id"]) == (1, "router", TIME, folder.name)
    assert folder.name.startswith("20260301T000000Z-")
    assert [(model["spec"], model["replications"]) for model in found["models"]] == [
        ("scripted:skill=1", 3),
        ("lexical:tfidf", 1),
    ]
    assert set(found["hashes"]) == {"bodies", "catalogue", "config", "prices", "prompts", "template"}
    assert len(rows(folder / "results.jsonl")) == 24
    assert len(rows(collection / "reports" / "router-history.jsonl")) == 2
    out, err = capsys.readouterr()
    assert "forecast: 24 calls" in err
    assert "written: reports/router/" in err
    assert "scripted:skill=1" in out


@pytest.mark.parametrize(("format_", "start"), [("json", "{"), ("md", "# ")])
def test_formats(call: Call, capsys: pytest.CaptureFixture[str], format_: str, start: str) -> None:
    assert call("--format", format_) == 0
    out = capsys.readouterr().out
    assert out.startswith(start)
    assert format_ != "json" or json.loads(out)["counts"]["results"] == 18


def test_a_dry_run_needs_no_key_asks_nothing_and_writes_nothing(
    call: Call, collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(collection.rglob("*"))
    assert call("--dry-run", models="openai:gpt-5-mini,scripted:skill=1") == 0
    assert sorted(collection.rglob("*")) == before
    out, err = capsys.readouterr()
    assert out == ""
    assert "(p0, openai:gpt-5-mini)" in err
    assert "instrument check: 12 calls more" in err
    assert "dry run: " in err


REFUSED = {
    "no cap": (["--models", "openai:gpt-5-mini"], "--max-runs or --max-budget-usd"),
    "unknown template": (["--template", "plam"], "there is no template 'plam'"),
    "no such run": (["--resume", "x"], "there is no run 'x'"),
    "both": (["--resume", "x", "--no-resume"], "--resume and --no-resume"),
    "no amount": (["--max-budget-usd", "nan"], "nan"),
    "an amount without end": (["--max-budget-usd", "inf"], "inf"),
    "a path for a model": (["--models", "gemini:../x", "--max-runs", "9"], "gemini:../x"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_writes_nothing(
    call: Call, collection: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], message: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises((SkillHealthError, click.UsageError), match=message) as caught:
        call(*given, models="lexical:tfidf" if "--models" not in given else given[1])
    assert caught.value.exit_code == 2
    assert runs(collection) == []


def test_a_model_that_the_configuration_names_twice_is_asked_once(collection: Path, call: Call) -> None:
    (collection / "skill-health.toml").write_text('[router]\nmodels = ["lexical:tfidf", "lexical:tfidf"]\n', "utf-8")
    assert group.main(["run", "--time", TIME], standalone_mode=False) == 0
    assert len(rows(runs(collection)[0] / "results.jsonl")) == 6


def test_nobody_needs_to_read_the_report(collection: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when standard output and error were closed before we began."""
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("sys.stderr", None)
    assert call() == 0
    assert len(rows(runs(collection)[0] / "results.jsonl")) == 18


def test_a_live_run_without_its_key_is_refused(call: Call, collection: Path) -> None:
    with pytest.raises(SkillHealthError, match="OPENAI_API_KEY"):
        call("--max-runs", "5", models="openai:gpt-5-mini")
    assert runs(collection) == []


def test_bad_records_stop_a_run_unless_they_may_be_skipped(
    call: Call, collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open(collection / "prompts.jsonl", "a", encoding="utf-8") as file:
        file.write('{"prompt_id": "broken"\n{}\n')
    with pytest.raises(SkillHealthError, match=r"prompts.jsonl:7: .*\(and \d more\).*--skip-bad"):
        call()
    assert runs(collection) == []
    assert call("--skip-bad") == 0
    assert "prompts.jsonl:7" in capsys.readouterr().err


@pytest.mark.slow
def test_a_cap_ends_a_run_that_a_larger_one_goes_on_with(
    call: Call, collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(
        AbortedError, match=r"incomplete: 8 calls have no result \(the cap of 16 calls is reached\)"
    ) as caught:
        call("--max-runs", "16")
    assert "again with a larger cap to continue (or add --resume 20260301T000000Z-" in str(caught.value)
    assert "the cap of 16 calls is below the 18 of the forecast" in capsys.readouterr().err
    (folder,) = runs(collection)
    assert not (collection / "reports" / "router-history.jsonl").exists()
    assert call("--max-runs", "24") == 0
    assert runs(collection) == [folder]
    assert len(rows(folder / "results.jsonl")) == 18
    assert "10 results are there" in capsys.readouterr().err
    assert len(rows(collection / "reports" / "router-history.jsonl")) == 1
    assert call() == 0
    assert [path.name for path in runs(collection)] == [folder.name, folder.name.replace("Z-", "Z.2-")]


@pytest.mark.slow
def test_a_named_run_must_be_the_same_run(call: Call, collection: Path) -> None:
    with pytest.raises(AbortedError):
        call("--max-runs", "10")
    (folder,) = runs(collection)
    skill = collection / "skills" / "maps-work" / "SKILL.md"
    skill.write_text(skill.read_text("utf-8").replace("Sorts maps", "Sorts charts"), "utf-8")
    with pytest.raises(
        SkillHealthError, match=r"not the same run: the hash of catalogue differs \(changed: maps-work\)"
    ):
        call("--resume", folder.name)
    assert call() == 0
    assert len(runs(collection)) == 2


def test_an_unfinished_run_is_left_alone_where_a_new_one_is_asked_for(call: Call, collection: Path) -> None:
    with pytest.raises(AbortedError):
        call("--max-runs", "10")
    assert call("--no-resume") == 0
    first, second = runs(collection)
    assert (len(rows(first / "results.jsonl")), len(rows(second / "results.jsonl"))) == (4, 18)


def test_filters_are_part_of_a_run_and_thresholds_come_from_the_train_split(call: Call, collection: Path) -> None:
    assert call("--split", "test", models="lexical:tfidf") in (0, 1)
    found = manifest(runs(collection)[0])
    assert found["selection"] == {"kind": "filter", "of": 6, "split": ["test"]}
    assert [prompt["prompt_id"] for prompt in found["prompts"]] == ["p2", "p3", "p4", "p5"]
    assert call(models="lexical:tfidf") in (0, 1)
    other = manifest(runs(collection)[1])
    assert other["models"][0]["settings"] == found["models"][0]["settings"]


def test_an_untrusted_model_is_a_finding(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(models="scripted:skill=0,reject=0") == 1
    assert "instrument check: scripted:skill=0,reject=0: not to be trusted" in capsys.readouterr().err
