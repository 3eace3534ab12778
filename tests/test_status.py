"""`skill-health status`: one record per skill, earlier questions first, and a next command for each gap."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Run, Write
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt
from msgspec.structs import replace
from records_made import (
    EFFECT,
    FOUND,
    ROUTING,
    effect_line,
    effects_of,
    health_of,
    number,
    router_line,
    routing_of,
    skill_record,
)
from records_made import figure as share

from skill_health.core import validation
from skill_health.documents._record import NotedFigure
from skill_health.documents.effect_history import VERDICTS, Effects, ModelEffect
from skill_health.documents.router_history import ModelRouting
from skill_health.documents.skill_record import SkillEffects, SkillHealth, SkillRecord, SkillRouted, SkillRouting
from skill_health.status.next_steps import CommandBuilder, steps
from skill_health.status.records import RoutedSkills, _benefit, _route, read_skill_routing
from skill_health.status.render import CollectionStatus
from skill_health.status.render import render_records_markdown as as_markdown
from skill_health.status.render import render_records_text as as_text
from skill_health.text.terminal import columns

SKILL = "---\nname: {0}\ndescription: Sorts lists of {0}. Use when {0} are out of order.\n---\n# {0}\n\nSort them.\n"
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]")
NASTY = "=x\x1b[31m\u202e<b>|`[l](http://x.y)\n# head @user \u200b ｗｉｄｅ e\u0301\ufffe"
OK, FAILED = health_of(), health_of("failed", 0.5, flags=("a flag",), errors=2, warnings=1)
LISTED, HIDDEN = False, True


def ran(**more: Any) -> ModelRouting:
    return replace(ROUTING, **more)


def routed(recall: NotedFigure = FOUND.recall, **more: Any) -> SkillRouted:
    return replace(FOUND, recall=recall, **more)


def effect(**more: Any) -> ModelEffect:
    return replace(EFFECT, **{"model": "loop:maker:m"} | more)


LOST = share(0.2, 0.05, 0.45)
POOR = share(0.4, 0.2, 0.6)


@pytest.mark.parametrize(
    ("own", "health", "found", "state"),
    [
        (LISTED, OK, [routed()], "ok"),
        (LISTED, OK, [], "not measured"),
        (LISTED, OK, [routed(share(None))], "not testable"),
        (LISTED, OK, [routed(share(None), simulated=True)], "not measured"),
        (LISTED, OK, [routed(simulated=True)], "not measured"),
        (LISTED, OK, [routed(changed=True)], "stale"),
        (LISTED, OK, [routed(changed=True), routed(changed=False)], "ok"),
        (LISTED, OK, [routed(changed=None)], "ok"),
        (LISTED, OK, [routed(LOST)], "failed"),
        (LISTED, OK, [routed(POOR)], "ok"),
        (LISTED, OK, [routed(), routed(LOST)], "failed"),
        (LISTED, OK, [routed(LOST, local=True)], "ok"),
        (LISTED, OK, [routed(LOST, changed=True)], "stale"),
        (LISTED, OK, [routed(LOST, trusted=False)], "ok"),
        (LISTED, OK, [routed(share(0.0))], "ok"),
        (HIDDEN, OK, [routed(LOST)], "not listed"),
        (LISTED, FAILED, [routed()], "fix first"),
        (HIDDEN, FAILED, [], "fix first"),
    ],
)
def test_the_state_of_routing(own: bool, health: SkillHealth, found: list[SkillRouted], state: str) -> None:
    assert _route(own, 3, found, health).state == state


@pytest.mark.parametrize(
    ("health", "routing", "found", "state"),
    [
        (OK, "ok", [effect()], "ok"),
        (OK, "ok", [effect(verdict="no evidence")], "ok"),
        (OK, "ok", [], "not measured"),
        (OK, "ok", [effect(simulated=True)], "not measured"),
        (OK, "ok", [effect(verdict="harmful")], "failed"),
        (OK, "ok", [effect(), effect(verdict="harmful")], "failed"),
        (OK, "ok", [effect(verdict="harmful", simulated=True)], "not measured"),
        (OK, "ok", [effect(verdict="harmful", changed=True)], "stale"),
        (OK, "ok", [effect(verdict="not testable")], "not testable"),
        (OK, "ok", [effect(verdict="biased"), effect(verdict="not testable")], "not testable"),
        (OK, "ok", [effect(verdict="not testable"), effect()], "ok"),
        (OK, "ok", [effect(changed=True)], "stale"),
        (OK, "not measured", [effect(changed=None)], "ok"),
        (OK, "failed", [effect()], "fix first"),
        (FAILED, "fix first", [effect()], "fix first"),
        (OK, "not listed", [effect()], "ok"),
    ],
)
def test_the_state_of_the_effect(health: SkillHealth, routing: Any, found: list[ModelEffect], state: str) -> None:
    assert _benefit(("tasks/1",), found, health, routing_of(routing, 3)).state == state


def record(
    health: SkillHealth = OK,
    routing: SkillRouting | None = None,
    benefit: SkillEffects | None = None,
    name: str = "plums",
) -> SkillRecord:
    return skill_record(
        name, health, routing or routing_of(models=(routed(),)), benefit or effects_of(models=(effect(),))
    )


AGENTS = " --agents AGENT:MODEL"


@pytest.mark.parametrize(
    ("given_", "gaps"),
    [
        (record(), []),
        (record(FAILED), [("fix first", "skill-health lint skills/plums")]),
        (record(routing=routing_of("failed", 3, ())), [("not found", "skill-health router run")]),
        (record(routing=routing_of("not listed", 0)), [("not listed", "")]),
        (record(routing=routing_of("not measured", 0)), [("no prompts", "skill-health router run")]),
        (record(routing=routing_of("not measured", 3)), [("routing not measured", "skill-health router run")]),
        (record(routing=routing_of("stale", 3)), [("routing out of date", "skill-health router run")]),
        (record(benefit=effects_of("not measured", ())), [("no tasks", "skill-health effectiveness check TASKS")]),
        (
            record(benefit=effects_of("not measured", ("tasks/1", "tasks/2"))),
            [("effect not measured", f"skill-health effectiveness run tasks{AGENTS}")],
        ),
        (
            record(benefit=effects_of("stale", ("a b/1", "-c/2"))),
            [("effect out of date", f"skill-health effectiveness run ./-c 'a b'{AGENTS}")],
        ),
        (record(benefit=effects_of("failed", ("1",))), [("harmful", f"skill-health effectiveness run .{AGENTS}")]),
        (
            record(routing=routing_of("stale", 3), benefit=effects_of("not testable", ("tasks/1",))),
            [
                ("routing out of date", "skill-health router run"),
                ("effect not testable", f"skill-health effectiveness run tasks{AGENTS}"),
            ],
        ),
        (
            record(routing=routing_of("failed", 3), benefit=effects_of("not measured", ())),
            [("not found", "skill-health router run")],
        ),
    ],
)
def test_every_gap_has_its_next_command(given_: SkillRecord, gaps: list[tuple[str, str]]) -> None:
    assert [(step.gap, step.command) for step in steps(given_, CommandBuilder())] == gaps


def test_commands_name_what_was_asked_for() -> None:
    place = CommandBuilder(("my skills",), "my skills/")
    (step,) = steps(record(routing=routing_of("not measured", 3)), place)
    assert step.command == "skill-health router run 'my skills'"
    (step,) = steps(record(FAILED), place)
    assert step.command == "skill-health lint 'my skills/skills/plums'"


def status(*records: SkillRecord, **more: Any) -> CollectionStatus:
    effects = Effects((effect(skill=None, biased=("the control moved",)),))
    return CollectionStatus(records, RoutedSkills((ran(), ran(model="s", simulated=True, trusted=False, changed=("a", "b")),)), effects,
                  CommandBuilder(), "0.1", "standard", ("a note",), **more)  # fmt: skip


MANY = status(
    record(), record(FAILED, routing_of("fix first", 3), effects_of("fix first", ()), "pears"),
    record(routing=routing_of("ok", 3, (routed(POOR, local=True, changed=True),)),
      name="a-name-that-is-longer-than-most-of-them-are-and-wide-ｗｉｄｅ"),
    record(benefit=effects_of("not testable", ("t/1",), (effect(verdict="no evidence", simulated=True, changed=True, tasks=15,
                                                             delta=share(-0.25, -0.55, 0.05)),)), name="figs"),
    record(routing=routing_of("not measured", 0), benefit=effects_of("not measured", ()), name="dates"),
)  # fmt: skip


def test_the_table_says_it_in_one_row_each() -> None:
    page = as_text(MANY, 120).splitlines()
    assert page[:2] == [
        "5 skills, profile standard; lint: 1 fails, 4 pass; routing: 3 not measured, 2 pass; effect: 3 not measured, 2 pass;",
        "composition: 5 not measured",
    ]
    rows = {line.split("  ")[0]: re.sub(" +", " ", line.partition("  ")[2].strip()) for line in page[4:9]}
    assert rows == {
        "plums": "0.90 80 [60, 90] n 12 helps +20 [+10, +30] n 8",
        "pears": "2 errors fix first fix first",
        "a-name-that-is-…-wide-ｗｉｄｅ": "0.90 40 [20, 60] n 12^* helps +20 [+10, +30] n 8",
        "figs": "0.90 80 [60, 90] n 12 no evidence -25 [-55, +5] n 15~*",
        "dates": "0.90 no prompts no tasks",
    }
    text = " ".join(" ".join(page).split())
    assert "maker:m: top-1 80 [70, 90] % of 58 calls, 2026-11-20, run run-1" in text
    assert "s: top-1 80 [70, 90] % of 58 calls, 2026-11-20, run run-1, SIMULATED, 2 descriptions" in text
    assert (
        "loop:maker:m: helps +20 [+10, +30] points, 8 tasks, 47 of 48 trials, 2026-11-20, run run-1; biased: the control moved"
        in text
    )
    assert re.search(r"fix first \(1\): pears: [^:]* skill-health lint skills/pears", text)
    assert "- a note" in text


@pytest.mark.parametrize("width", [10, 40, 55, 72, 80, 100, 200])
def test_it_fits_the_terminal(width: int) -> None:
    for ascii_only in (False, True):
        page = as_text(MANY, width, ascii_only=ascii_only)
        commands = [line for line in page.splitlines() if "skill-health " in line]
        assert max(columns(line) for line in page.splitlines() if line not in commands) <= max(width, 40)
        assert page.isascii() or not ascii_only
        for name in ("plums", "pears", "figs", "dates"):
            assert name in page


def test_a_table_fits_80_columns() -> None:
    page = as_text(MANY, 80).splitlines()
    head = next(at for at, line in enumerate(page) if line.startswith("skill "))
    assert [line.split("  ")[0] for line in page[head + 1 : head + 6]] == [
        "plums", "pears", page[head + 3].split("  ")[0], "figs", "dates",
    ]  # fmt: skip
    assert max(columns(line) for line in page[head : head + 6]) <= 80


def test_where_nothing_is_missing_nothing_comes_next() -> None:
    assert "Next: nothing" in as_text(status(record()))
    assert "Nothing: every question is answered" in as_markdown(status(record()))


def test_no_name_is_markup_or_control() -> None:
    evil = status(
        record(FAILED, name=NASTY), record(name=f"b{NASTY}", routing=routing_of("ok", 3, (routed(model=NASTY, run_id=NASTY),)),
                                           benefit=effects_of("ok", (f"t{NASTY}/1",), (effect(model=NASTY, reason=NASTY, biased=(NASTY,)),))),
    )  # fmt: skip
    evil = dataclasses.replace(
        evil, notes=(NASTY,), profile=NASTY, effects=Effects((effect(skill=None, model=NASTY, biased=(NASTY,)),))
    )
    page = as_text(evil, 80)
    assert not UNSAFE.search(page)
    assert max(columns(line) for line in page.splitlines() if "skill-health " not in line) <= 80
    page = as_markdown(evil)
    assert not UNSAFE.search(page)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(page)
    inner = [child for token in tokens for child in token.children or ()]
    assert not {token.type for token in (*tokens, *inner)} & {"html_block", "html_inline", "link_open", "image"}
    titles = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    assert len(titles) == 4 and titles[1::2] == ["Routing", "Next"]


@given(st.text(max_size=30), st.sampled_from(VERDICTS), st.floats(-1, 1), st.integers(40, 120))
def test_any_text_fits_and_is_safe(name: str, verdict: str, value: float, width: int) -> None:
    found = effect(verdict=verdict, model=name or "m", delta=share(value, max(value - 0.1, -1), min(value + 0.1, 1)))
    page = as_text(status(record(name=name, benefit=effects_of("ok", ("t/1",), (found,)))), width)
    assert not UNSAFE.search(page)
    assert max(columns(line) for line in page.splitlines() if "skill-health " not in line) <= width


def report(skill: str = "plums", recall: Any = None, **more: Any) -> str:
    number = {"value": 0.75, "low": 0.4, "high": 0.9, "n": 4, "clusters": 4}
    own = {"name": skill, "models": [{"model": "lexical:bm25", "recall": recall or number, "precision": number}]}
    base = {
        "schema": "skill-health/router-report/1",
        "models": [{"model": "lexical:bm25", "kind": "local"}],
        "skills": [own],
    }
    return json.dumps(base | more)


def history(run_id: str = "run-1", **more: Any) -> str:
    return json.dumps(router_line(run_id=run_id, **more)) + "\n"


def manifest(**descriptions: str) -> str:
    return json.dumps({"catalogue": [{"name": name, "description": text} for name, text in descriptions.items()]})


def test_recall_of_a_skill_is_read_from_the_report_of_the_run(write: Write) -> None:
    root = write({
        "reports/router-history.jsonl": history(),
        "reports/router/run-1/report.json": report(),
        "reports/router/run-1/manifest.json": manifest(plums="Sorts.", pears="Sorts pears."),
    })  # fmt: skip
    found = read_skill_routing(str(root / "reports"), {"plums": "Sorts plums.", "pears": "Sorts pears."})
    assert found is not None
    (only,) = found.of("plums")
    assert (only.run_id, only.local, only.changed, only.recall.value, only.precision.n) == (
        "run-1", True, True, 0.75, 4,
    )  # fmt: skip
    assert (found.of("pears"), found.problems) == ((), ())


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", "[" * 100_000, '{"schema": "skill-health/router-report/2"}', report(models=[]), report(models=7),
     report(skills=[{"name": "plums"}]), report(skills=[7]), report(recall={"value": 7}), report(recall="high"),
     report(recall={"value": 0.5, "n": -1})],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_a_report_that_does_not_tell_costs_one_note(write: Write, text: str) -> None:
    root = write({"reports/router-history.jsonl": history(), "reports/router/run-1/report.json": text})
    found = read_skill_routing(str(root / "reports"), {"plums": "x"})
    assert found is not None
    assert [each.model for each in found.models] == ["lexical:bm25"]
    assert found.of("plums") == ()
    assert len(found.problems) == 1 and found.lost in found.problems[0] and "run-1 is damaged" in found.lost


def test_runs_over_another_collection_say_nothing_of_this_one(write: Write) -> None:
    root = write({
        "reports/router-history.jsonl": history("mine") + history("other"),
        "reports/router/mine/report.json": report(),
        "reports/router/mine/manifest.json": manifest(plums="x"),
        "reports/router/other/report.json": report("apples"),
        "reports/router/other/manifest.json": manifest(apples="x"),
    })  # fmt: skip
    found = read_skill_routing(str(root / "reports"), {"plums": "x"})
    assert found is not None
    assert [each.run_id for each in found.models] == ["mine"]
    assert [each.changed for each in found.of("plums")] == [False]


PLUGIN = {"fruit/.claude-plugin/plugin.json": '{"name": "fruit"}', "fruit/skills/plums/SKILL.md": SKILL.format("plums")}


@pytest.mark.parametrize("listed", ["fruit:plums", "plums"], ids=["as it is listed now", "as it was listed before"])
def test_a_skill_of_a_plugin_is_found_in_runs_by_either_name(run: Run, write: Write, listed: str) -> None:
    write(PLUGIN | {
        "skill-health.toml": "",
        "prompts.jsonl": '{"prompt_id": "p", "prompt": "Sort.", "expected_primary_skill": "fruit:plums"}\n'
        '{"prompt_id": "q", "prompt": "Sort plums.", "expected_primary_skill": "plums"}\n',
        "reports/router-history.jsonl": history(),
        "reports/router/run-1/report.json": report(listed),
        "reports/router/run-1/manifest.json": manifest(**{listed: "Sorts lists of plums. Use when plums are out of order."}),
    })  # fmt: skip
    (found,) = json.loads(run("status", "--format", "json").stdout)["skills"]
    assert (found["name"], found["routing"]["prompts"]) == ("plums", 2)
    (model,) = found["routing"]["models"]
    assert (model["listed"], model["changed"], model["recall"]["value"]) == (listed, False, 0.75)


def test_the_best_model_that_answered_for_real_comes_first(write: Write) -> None:
    top1 = number(0.99, 0.9, 1.0)
    lines = [
        history(model="good", top1=top1 | {"value": 0.7}), history(model="best"), history(model="none", top1=number(None)),
        history(model="fake", simulated=True, top1=top1), history(model="odd", trusted=False, top1=top1),
        history(model="swept", selection="sweep", top1=top1),
    ]  # fmt: skip
    root = write({"reports/router-history.jsonl": "".join(lines)})
    found = read_skill_routing(str(root / "reports"), {})
    assert found is not None
    assert [each.model for each in found.models] == ["best", "good", "none", "swept", "odd", "fake"]


@pytest.fixture
def collection(write: Write) -> Path:
    tasks = {
        f"benchmarks/effectiveness/tasks/{n}/{name}": text
        for n in ("1-sort", "2-sort")
        for name, text in (("task.md", "Sort."), ("metadata.json", json.dumps(task(n))))
    }
    bad = {"skills/figs/SKILL.md": "---\nname: Figs!\n---\n# figs\n"}
    return write({f"skills/{name}/SKILL.md": SKILL.format(name) for name in ("plums", "pears")} | tasks | bad)


def task(name: str) -> dict[str, Any]:
    return {
        "id": name, "slug": "sort", "target_skill": "plums", "irrelevant_skill": "pears", "category": "data", "difficulty": "easy",
    }  # fmt: skip


def shown(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    Draft202012Validator(validation.load_schema("skill-record")).validate(found)
    return found


def test_the_command_joins_what_there_is(collection: Path, run: Run, write: Write) -> None:
    done = run("status", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    found = {skill["name"]: skill for skill in shown(done)["skills"]}
    assert [found[name]["health"]["state"] for name in ("plums", "pears", "Figs!")] == ["ok", "ok", "failed"]
    assert found["Figs!"]["routing"]["state"] == found["Figs!"]["effect"]["state"] == "fix first"
    assert [step["gap"] for step in found["Figs!"]["next"]] == ["fix first"]
    assert found["plums"]["effect"]["tasks"] == [f"benchmarks/effectiveness/tasks/{n}" for n in ("1-sort", "2-sort")]
    assert [step["gap"] for step in found["plums"]["next"]] == ["no prompts", "effect not measured"]
    assert [step["gap"] for step in found["pears"]["next"]] == ["no prompts", "no tasks"]
    lines = (effect_line("plums", skill_digest=found["plums"]["digest"]), effect_line("pears", skill_digest="x"))
    write({
        "reports/effectiveness-history.jsonl": "".join(json.dumps(line) + "\n" for line in lines),
        "reports/router-history.jsonl": history(),
        "reports/router/run-1/report.json": report(),
    })  # fmt: skip
    found = {skill["name"]: skill for skill in shown(run("status", "--format", "json"))["skills"]}
    assert [found[name]["effect"]["state"] for name in ("plums", "pears")] == ["ok", "stale"]
    assert found["plums"]["effect"]["models"][0]["changed"] is False
    assert found["plums"]["routing"]["state"] == "ok"
    assert found["pears"]["routing"]["state"] == "not measured"
    page = run("status", env={"COLUMNS": "80"}).stdout
    assert max(map(len, page.splitlines())) <= 90
    row = next(line for line in page.splitlines() if line.startswith("plums"))
    assert "75 [40, 90] n 4^" in row and row.endswith("helps +20 [+5, +35] n 8")
    assert "| plums |" in run("status", "--format", "md").stdout
    (collection / "skills" / "plums" / "SKILL.md").write_text(SKILL.format("plums") + "\nMore.\n", encoding="utf-8")
    assert "helps +20 [+5, +35] n 8*" in run("status").stdout


def test_of_one_skill_only_that_one_is_shown(collection: Path, run: Run) -> None:
    found = shown(run("status", "skills/pears", "--format", "json", "--reports", "elsewhere"))
    assert [skill["name"] for skill in found["skills"]] == ["pears"]


def test_what_a_bundle_does_is_told_and_decides_no_skill(collection: Path, run: Run, write: Write) -> None:
    digests = {each["name"]: each["digest"] for each in shown(run("status", "--format", "json"))["skills"]}
    line = effect_line("pears + plums", skills=["pears", "plums"], verdict="harmful")
    line["skill_digest"] = f"{digests['pears']}+{digests['plums']}"
    write({"reports/effectiveness-history.jsonl": json.dumps(line) + "\n"})
    found = {skill["name"]: skill["effect"] for skill in shown(run("status", "--format", "json"))["skills"]}
    for name in ("pears", "plums"):
        assert (found[name]["state"], found[name]["models"]) == ("not measured", [])
        assert [(each["skill"], each["changed"]) for each in found[name]["bundles"]] == [("pears + plums", False)]
    assert "Effect of skills together" in run("status").stdout
    assert "pears + plums: harmful" in run("status", "--format", "md").stdout.replace("\\", "")
    alone = shown(run("status", "skills/pears", "--format", "json"))["skills"]
    assert [each["skill"] for each in alone[0]["effect"]["bundles"]] == ["pears + plums"]
