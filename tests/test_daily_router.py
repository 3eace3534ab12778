"""`skill-health daily` beside a history of the router: what it shows, and that nothing in there can stop it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Run, Write
from jsonschema import Draft202012Validator
from records_made import number
from records_made import router_line as line

from skill_health.core import validation
from skill_health.daily.drift_report import ROUTER_TITLE
from skill_health.documents.router_history import HISTORY, RoutingHistory, read_routing
from skill_health.status.join import names_now, texts_now

MANIFEST = "reports/router/run-1/manifest.json"
DAY = "--time=2026-11-21T04:00:00Z"
SKILL = "---\nname: {0}\ndescription: Sorts lists of {0}. Use when {0} are out of order.\n---\n# {0}\n\nSort them.\n"


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def manifest(**descriptions: str) -> str:
    skills = [{"name": name, "description": text} for name, text in descriptions.items()]
    return json.dumps({"catalogue": skills, "omitted": []})


@pytest.fixture
def collection(write: Write) -> Path:
    return write({f"skills/{name}/SKILL.md": SKILL.format(name) for name in ("plums", "pears")})


def routed(done: subprocess.CompletedProcess[str]) -> dict[str, Any] | None:
    found: dict[str, Any] = json.loads(done.stdout)
    Draft202012Validator(validation.load_schema("drift")).validate(found)
    router: dict[str, Any] | None = found["router"]
    return router


def put(root: Path, text: str | bytes) -> None:
    path = root / "reports" / HISTORY
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def read(root: Path, now: Mapping[str, str] | None = None) -> RoutingHistory:
    found = read_routing(str(root / "reports"), now or {})
    assert found is not None
    return found


def test_without_a_history_nothing_is_said(collection: Path, run: Run) -> None:
    assert ROUTER_TITLE not in run("daily", DAY).stdout
    assert routed(run("daily", DAY, "--format", "json", "--no-write")) is None


def test_the_last_line_of_each_model_in_every_format(collection: Path, run: Run, write: Write) -> None:
    old = line(run_id="run-0", time="2026-11-01T05:00:00Z", top1=number(0.1, 0, 0.3))
    put(collection, lines(old, line(), line("scripted", simulated=True, trusted=False, selection="filter")))
    told = manifest(plums="Sorts plums.", pears="Sorts lists of pears. Use when pears are out of order.")
    write({MANIFEST: told})
    done = run("daily", DAY)
    assert done.returncode == 0
    assert f"{ROUTER_TITLE} (2)\n" in done.stdout
    for said in (
        "  lexical:bm25: top-1 0.780 [0.650, 0.880] (n 120), 147 of 150 calls scored (coverage 98.0%), 2026-11-20, run run-1\n",
        "simulated: no model was asked", "not to be trusted: the instrument check failed", "a part",
        "live agent",
    ):  # fmt: skip
        assert said in done.stdout
    assert re.search(r", run run-1\n {6}\D+: plums\n", done.stdout)
    markdown = (collection / "reports" / "skill-health-drift.md").read_text(encoding="utf-8")
    assert f"## {ROUTER_TITLE} (2)" in markdown
    assert "lexical:bm25: top-1 0.780 \\[0.650, 0.880\\]" in markdown
    router = routed(run("daily", DAY, "--format", "json", "--no-write"))
    assert router is not None
    assert [(each["model"], each["run_id"], each["changed"]) for each in router["models"]] == [
        ("lexical:bm25", "run-1", ["plums"]),
        ("scripted", "run-1", ["plums"]),
    ]
    assert router["models"][0]["coverage"] == 147 / 150
    assert router["problems"] == []


def test_a_sweep_stands_in_only_where_there_is_no_other_run(tmp_path: Path) -> None:
    put(tmp_path, lines(line("a", run_id="whole"), line("a", selection="sweep"), line("b", selection="sweep")))
    found = read(tmp_path)
    assert [(each.model, each.run_id, each.selection) for each in found.models] == [
        ("a", "whole", "all"),
        ("b", "run-1", "sweep"),
    ]


@pytest.mark.parametrize(
    "damaged",
    [
        "{", "[]", '{"schema": ', "\x00\x01", '"text"', "[" * 100_000,
        line(n=151), line(planned=10**400), line(top1=number(0.5, n=10**400)), line(top1=number(10**400)),
        line(n=-1), line(n=True), line(n="many"), line(planned=None), line(time="yesterday"), line(time=7),
        line(run_id="../../../etc"), line(run_id=".."), line(run_id=""), line(model=None), line(model="  "),
        line(metrics=None), line(metrics={}), line(top1=[1]), line(top1=number(7.0)), line(top1=number(0.5, -0.1, 1)), line(time=None),
        line(top1={"value": "high"}), line(selection=[]),
    ],
    ids=str,
)  # fmt: skip
def test_a_damaged_line_costs_one_note(tmp_path: Path, damaged: Any) -> None:
    text = damaged if isinstance(damaged, str) else json.dumps(damaged)
    put(tmp_path, lines(line("a")) + text + "\n" + lines(line("b")) + text[:40])
    found = read(tmp_path)
    assert [each.model for each in found.models] == ["a", "b"]
    assert found.problems == ("2 lines of router-history.jsonl are damaged and left out",)


@pytest.mark.parametrize(
    "foreign",
    [{"schema": "skill-health/router-history/2"}, {"timestamp": "2026-05-15T14:08:51Z", "repo_sha": "358c36b"}],
)
def test_lines_of_other_kinds_are_passed_over(tmp_path: Path, foreign: dict[str, Any]) -> None:
    put(tmp_path, lines(foreign, line("a"), foreign))
    found = read(tmp_path)
    assert ([each.model for each in found.models], found.problems) == (["a"], ())


@pytest.mark.parametrize("value", [None, 0.5])
def test_what_is_not_known_is_not_made_up(tmp_path: Path, value: float | None) -> None:
    put(tmp_path, lines(line(n=0, planned=0, trusted=None, top1=number(value))))
    found = read(tmp_path)
    (only,) = found.models
    assert (only.top1, only.coverage, only.trusted, only.changed) == (value, None, None, None)


def test_a_history_that_cannot_be_read_is_not_taken_for_none(collection: Path, run: Run) -> None:
    (collection / "reports" / HISTORY).mkdir(parents=True)
    done = run("daily", DAY, "--format", "json")
    assert (done.returncode, done.stdout) == (2, "") and HISTORY in done.stderr
    assert len(list((collection / "reports").iterdir())) == 1


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"catalogue": 7}', '{"catalogue": [7]}', '{"catalogue": [{"name": "a"}]}',
     '{"catalogue": [{"name": [], "description": ""}]}', '{"catalogue": [{"name": "a", "description": null}]}',
     "[" * 100_000],
)  # fmt: skip
def test_a_model_whose_manifest_is_damaged_is_not_taken_for_current(tmp_path: Path, write: Write, text: str) -> None:
    put(tmp_path, lines(line(run_id="older"), line()))
    write({MANIFEST: text})
    found = read(tmp_path, {"a": "Sorts."})
    assert (found.models, found.problems) == ((), (found.lost,)) and MANIFEST.removeprefix("reports/") in found.lost


def facts(texts: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """What a lint run knows of skills: name and description by folder."""
    rows = {folder: {"name": name, "description": text, "hidden": False} for folder, (name, text) in texts.items()}
    return {f"{folder}/SKILL.md": {"summary": row} for folder, row in rows.items()}


def test_skills_of_plugins_go_by_the_names_that_runs_list_them_by(tmp_path: Path) -> None:
    for name in ("discord", "imessage"):
        (tmp_path / name / ".claude-plugin").mkdir(parents=True)
        (tmp_path / name / "skills").mkdir()
        (tmp_path / name / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": name}))
    texts = {
        "discord/skills/access": ("access", "D."), "imessage/skills/access": ("access", "I."), "access": ("access", "A."),
        "imessage/skills/pair": ("pair", "P."),
    }  # fmt: skip
    found = {path.removesuffix("/SKILL.md"): names for path, names in names_now(str(tmp_path), facts(texts)).items()}
    assert found == {
        "discord/skills/access": ("discord:access",), "imessage/skills/access": ("imessage:access",),
        "access": ("access",), "imessage/skills/pair": ("imessage:pair", "pair"),
    }  # fmt: skip
    assert texts_now(str(tmp_path), facts(texts)) == {
        "discord:access": "D.", "imessage:access": "I.", "access": "A.", "imessage:pair": "P.", "pair": "P.",
    }  # fmt: skip


def test_names_that_several_skills_share_are_not_compared(tmp_path: Path, write: Write) -> None:
    put(tmp_path, lines(line()))
    skills = [{"name": "twice", "description": "One."}, {"name": "twice", "description": "Two."}]
    skills += [{"name": "spaced", "description": "Two\n words."}, {"name": "gone", "description": "x"}]
    write({MANIFEST: json.dumps({"catalogue": skills})})
    texts = {"a": ("twice", "Three."), "b": ("again", "x"), "c": ("again", "y"), "d": ("spaced", "Two words.")}
    now = texts_now(str(tmp_path), facts(texts))
    assert now == {"twice": "Three.", "spaced": "Two words."}
    found = read(tmp_path, now)
    assert [each.changed for each in found.models] == [()]


def test_nothing_of_the_history_is_markup_or_control(collection: Path, run: Run) -> None:
    put(collection, lines(line("evil\x1b[31m`<b>](http://x.example)\n# head")))
    done = run("daily", DAY)
    assert "\x1b" not in done.stdout
    assert "\n# head" not in done.stdout
    markdown = (collection / "reports" / "skill-health-drift.md").read_text(encoding="utf-8")
    assert "\x1b" not in markdown
    assert "<b>" not in markdown
    assert "\n# head" not in markdown
    assert "](http" not in markdown
