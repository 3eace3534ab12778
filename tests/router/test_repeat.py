"""`router run --from` and `router verify`: the same run again, or what differs; every figure computed anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_collection import SPLIT, write_collection
from repositories import commit

from skill_health import stats
from skill_health.commands.router import command as group
from skill_health.core import extras
from skill_health.core.errors import UsageError

Call = Callable[..., int]


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write_collection(tmp_path, SPLIT)
    (root / ".gitignore").write_text("reports/\n")
    commit(root)
    monkeypatch.chdir(root)
    return root


def call(*words: str) -> int:
    code: int = group.main([*words], standalone_mode=False)
    return code


def begin(*given: str, time: str = "2026-03-01T00:00:00Z") -> Path:
    """Make a run; its folder."""
    # A made-up router of bad answers fails the instrument check.
    assert call("run", "--time", time, "--quiet", *given) in (0, 1)
    (folder,) = Path("reports/router").glob(f"{time.replace('-', '').replace(':', '')}-*")
    return folder


def again(run: str | Path, *given: str) -> Path:
    return begin("--from", str(run), *given, time="2026-03-02T00:00:00Z")


def settled(folder: Path) -> Any:
    """The report without the name and the time of its run."""
    report = json.loads((folder / "report.json").read_text("utf-8"))
    report["run"] |= {"run_id": "", "created": ""}
    return report


@pytest.mark.parametrize(
    "given",
    [
        ("--models", "lexical:tfidf,scripted:noise=0.6", "--seed", "7", "--reps", "2", "--orders", "plan"),
        ("--models", "lexical:bm25", "--index", "body", "--split", "test", "--listing", "claude-code"),
        ("--models", "scripted:skill=0.5", "--prompt-ids", "p1,p3", "--mode", "json_schema", "--template", "plan"),
        ("--models", "scripted:skill=0.5", "--retrieve", "2", "--retriever", "lexical:tfidf", "--skills", "maps-work"),
    ],
)
@pytest.mark.slow
def test_a_repeated_run_has_the_same_bytes(collection: Path, given: tuple[str, ...]) -> None:
    first = begin(*given)
    second = again(first / "manifest.json")
    assert (first / "results.jsonl").read_bytes() == (second / "results.jsonl").read_bytes()
    assert settled(first) == settled(second)
    assert call("verify", first.name) == call("verify", str(second)) == 0


@pytest.mark.slow
def test_what_the_run_has_settled_cannot_be_given(collection: Path) -> None:
    first = begin("--models", "lexical:tfidf")
    with pytest.raises(UsageError, match="--from settles --seed, --reps"):
        again(first, "--seed", "3", "--reps", "2")


@pytest.mark.slow
def test_what_is_not_as_it_was_is_named_with_the_way_back(collection: Path) -> None:
    first = begin("--models", "lexical:tfidf", "--template", "none")
    commit = json.loads((first / "manifest.json").read_text("utf-8"))["commit"][:12]
    skill = collection / "skills/maps-work/SKILL.md"
    before = skill.read_text("utf-8")
    skill.write_text(before.replace("Sorts maps", "Draws maps"), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        again(first)
    said = str(caught.value)
    assert first.name in said and "catalogue differs (changed: maps-work)" in said
    assert f"../then {commit}`" in said
    skill.write_text(before, encoding="utf-8")
    assert settled(again(first)) == settled(first)


@pytest.mark.slow
def test_other_prices_do_not_keep_a_run_from_being_repeated(collection: Path) -> None:
    first = begin("--models", "lexical:tfidf")
    prices = '[router.prices."lexical:tfidf"]\ninput = 1.0\noutput = 1.0\n'
    (collection / "skill-health.toml").write_text(prices, encoding="utf-8")
    again(first)


@pytest.mark.slow
def test_a_run_outside_git_or_of_another_version_says_so(collection: Path) -> None:
    first = begin("--models", "lexical:tfidf")
    path = first / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(manifest | {"tool_version": "0.0.1"}), encoding="utf-8")
    with pytest.raises(UsageError, match=r"It was made by version 0\.0\.1"):
        again(first)
    path.write_text(json.dumps(manifest | {"commit": None, "dirty": None}), encoding="utf-8")
    (collection / "skills/maps-work/SKILL.md").write_text("---\nname: maps-work\ndescription: X.\n---\n", "utf-8")
    with pytest.raises(UsageError, match="made outside of git"):
        again(first)


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def drop_first_line(path: Path) -> None:
    path.write_bytes(path.read_bytes().partition(b"\n")[2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda run: changed(run / "manifest.json", "Sorts maps", "Draws maps"), "hashes/catalogue"),
        (lambda run: changed(run / "manifest.json", "sort my maps", "sort your maps"), "hashes/prompts"),
        (lambda run: changed(run / "manifest.json", '"seed":1', '"seed":2'), "run_id: its manifest has the hash"),
        (lambda run: drop_first_line(run / "results.jsonl"), "1 result planned, and not there: p0/lexical:tfidf/0"),
        (lambda run: changed(run / "report.md", "6 prompts", "7 prompts"), "report.md: "),
        (lambda run: (run / "report.json").unlink(), "report.json: 0 values, differs in 1 place\n  it is not there"),
        (lambda run: (run / "report.json").write_text("{"), "it is no JSON"),
        (lambda run: changed(run.parents[1] / "router-history.jsonl", '"coverage":1', '"coverage":0'), "lexical:tfidf/coverage: 0"),
        (lambda run: (run.parents[1] / "router-history.jsonl").write_text(""), "lexical:tfidf: there is no line"),
    ],
)  # fmt: skip
def test_verify_names_what_does_not_follow(
    collection: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], object], said: str
) -> None:
    run = begin("--models", "lexical:tfidf")
    assert call("verify") == 0
    damage(run)
    capsys.readouterr()
    assert call("verify") == 1
    assert said in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("models", ["lexical:tfidf", "lexical:tfidf,lexical:overlap"])
def test_a_run_made_without_statistics_is_verified_as_it_was_made(
    collection: Path, models: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stats.without():
        run = begin("--models", models)
    assert call("verify", run.name) == 0
    with_them = begin("--models", models, time="2026-03-02T00:00:00Z")
    assert call("verify", with_them.name) == 0
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name in extras.STATISTICS else True)
    assert call("verify", run.name) == 0
    with pytest.raises(UsageError, match="numpy, scipy"):
        call("verify", with_them.name)


@pytest.mark.slow
def test_results_are_what_was_answered(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = begin("--models", "scripted:skill=1")
    capsys.readouterr()
    assert call("verify") == 0 and "attempts.jsonl: 18 answers, as computed" in capsys.readouterr().out
    lines = [json.loads(line) for line in (run / "results.jsonl").read_text("utf-8").splitlines()]
    lines[0]["ranking"] = lines[0]["ranking"][::-1]
    (run / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert call("verify") == 1
    assert "p0/scripted:skill=1/0: finished (" in capsys.readouterr().out


@pytest.mark.slow
def test_every_figure_of_a_report_is_compared(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = begin("--models", "lexical:tfidf")
    path = run / "report.json"
    report = json.loads(path.read_text("utf-8"))
    metric = report["models"][0]["metrics"]["top1"]
    metric["value"] = 0.123
    path.write_text(json.dumps(report), encoding="utf-8")
    capsys.readouterr()
    assert call("verify", str(run)) == 1
    assert "/models/0/metrics/top1/value: 0.123, computed " in capsys.readouterr().out


@pytest.mark.slow
def test_a_published_run_is_read_back(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = begin("--models", "scripted:skill=1,lexical:tfidf")
    out = tmp_path_factory.mktemp("out") / "published"
    assert call("release", "last", str(out)) == 0
    assert call("verify", run.name, "--out", str(out)) == 0 == call("report", "last", "--out", str(out))
    # A copy under another name, and in no folder of reports, is the same run.
    copy = shutil.copytree(run, tmp_path_factory.mktemp("elsewhere") / "copy")
    assert call("release", str(copy), str(out / "again")) == 0 == call("verify", run.name, "--out", str(out / "again"))
    assert settled(again(out / "router" / run.name / "manifest.json")) == settled(run)
    (run / "report.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match="nothing is published of it"):
        call("release", run.name, str(out / "other"))


@pytest.mark.slow
def test_a_name_in_a_prompt_keeps_a_run_from_being_published(
    collection: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    prompts = collection / "prompts.jsonl"
    changed(prompts, "sort my maps", "sort /home/peterpetersen/maps")
    begin("--models", "lexical:tfidf")
    out = tmp_path_factory.mktemp("out")
    with pytest.raises(UsageError, match=r"masked \("):
        call("release", "last", str(out / "published"))
    assert not list(out.iterdir())
