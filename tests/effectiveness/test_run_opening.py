"""Choices, agents, prices and the skills of tasks: what a run starts from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from effects_made import manifest, typed
from msgspec import structs
from run_made import SKILLS, write_collection

from skill_health.bench.prices import FREE, price_table
from skill_health.config.settings import Effectiveness, ModelPrice, Provider, RouterSettings, config_digest
from skill_health.config.values import Mistake, build
from skill_health.core.errors import UsageError
from skill_health.documents._record import convert_record
from skill_health.documents.effect_manifest import EffectManifest, digests_over, skills_of
from skill_health.effectiveness.agents._load import resolve
from skill_health.effectiveness.plan import opening
from skill_health.effectiveness.plan.choices import TrialChoices, choices
from skill_health.effectiveness.plan.extend import cell_digests
from skill_health.effectiveness.plan.inputs import load_inputs
from skill_health.effectiveness.plan.opening import open_models, price_of, server_of, version_of, with_terms_of
from skill_health.effectiveness.plan.plan import TrialPlan
from skill_health.effectiveness.plan.prepare import prepare
from skill_health.effectiveness.workspace.staging import parse_arms

ROUTING = RouterSettings(
    providers={
        "here": Provider("openai", base_url="http://127.0.0.1:9/v1", concurrency=2),
        "claude": Provider("anthropic", base_url="http://127.0.0.1:9", key_env="THE_KEY"),
    },
    prices={"here:m": ModelPrice(1.0, 2.0), "loop:here:n": ModelPrice(3.0, 4.0), "cursor:c": ModelPrice(5.0, 6.0)},
)


def test_the_command_line_speaks_before_the_configuration() -> None:
    configured = Effectiveness(
        agents=("a",), arms=("full",), hint="only", reps=9, seed=4, sandbox="docker", image="i", margin=0.3,
        acp_command=("x", "--acp"), acp_env={"A": "1"},
    )  # fmt: skip
    chosen = choices({}, configured)
    assert (chosen.agents, [arm.name for arm in chosen.arms]) == (("a",), ["control", "full+hint"])
    assert (chosen.reps, chosen.seed, chosen.sandbox, chosen.image, chosen.margin) == (9, 4, "docker", "i", 0.3)
    assert chosen.settings == {"acp-command": ("x", "--acp"), "acp-env": {"A": "1"}}
    options: dict[str, Any] = {
        "agents": ("b",), "arms": ("target",), "hint": "no", "reps": 1, "seed": 0, "sandbox": "none", "margin": 0.0,
        "timeout": 5.0, "max_usd_per_trial": 0.5,
    }  # fmt: skip
    chosen = choices(options, configured)
    assert (chosen.agents, [arm.name for arm in chosen.arms]) == (("b",), ["control", "target"])
    assert (chosen.reps, chosen.seed, chosen.sandbox, chosen.margin) == (1, 0, "none", 0.0)
    assert (chosen.timeout_sec, chosen.max_usd) == (5.0, 0.5)


@pytest.mark.parametrize(("settings", "message"), [
    ({"hint": "maybe"}, '"effectiveness.hint" must be one of no, also, only'),
    ({"reps": 0}, '"effectiveness.reps" must be'),
    ({"margin": 1.5}, '"effectiveness.margin" must be'),
    ({"arms": ["target", ""]}, '"effectiveness.arms" must be a list of non-empty strings'),
    ({"acp-env": {"A": 1}}, '"effectiveness.acp-env.A" must be a string under the name of an environment variable'),
    ({"acp-env": ["A"]}, '"effectiveness.acp-env" must be a table of strings'),
    ({"agent": ["scripted"]}, 'unknown key "effectiveness.agent"; did you mean "effectiveness.agents"?'),
])  # fmt: skip
def test_mistakes_in_the_configuration_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Mistake) as caught:
        build({"effectiveness": settings})
    assert message in str(caught.value)


def test_what_is_tried_is_no_setting_of_the_linter() -> None:
    found = build({"effectiveness": {"reps": 9, "acp-command": ["x"], "acp-env": {"A": "1"}}})
    assert (found.effectiveness.reps, found.effectiveness.acp_command, found.effectiveness.acp_env) == (
        9, ("x",), {"A": "1"},
    )  # fmt: skip
    assert config_digest(found) == config_digest(build({}))


@pytest.mark.parametrize(("spec", "server", "price"), [
    ("loop:here:m", "here", 1.0), ("loop:here:n", "here", 3.0), ("loop:here:other", "here", None),
    ("loop:openai:gpt-5-mini", "openai", 0.25), ("loop:no-such-model-of-theirs", "openai", None),
    ("claude-code:claude:m", "claude", None), ("claude-code:claude-sonnet-4-5", "anthropic", 3.0),
    ("cursor:c", "cursor", 5.0), ("cursor:d", "cursor", None), ("scripted:base=0.2", "scripted", 0.0),
])  # fmt: skip
def test_servers_and_prices_go_by_names(spec: str, server: str, price: float | None) -> None:
    choice = resolve(spec, ROUTING)
    found = price_of(choice, ROUTING, price_table(ROUTING))
    assert server_of(choice, ROUTING) == server
    assert (None if found is None else found.rates[0].input) == price


def test_agents_are_opened_once_and_with_the_key_of_their_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'Claude Code 9.8.7 (made)'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("THE_KEY", "sk-0123456789")
    chosen = choices({"agents": ("claude-code:claude:m", "loop:here:m", "claude-code:claude:m")}, Effectiveness())
    models = open_models(chosen, ROUTING, price_table(ROUTING))
    assert [model.spec for model in models] == ["claude-code:claude:m", "loop:here:m"]
    assert (models[0].program, models[0].version) == (str(program), "9.8.7")
    assert models[0].upstream is not None and models[0].upstream.endpoint.key == "sk-0123456789"
    assert (models[0].max_usd, models[1].max_usd) == (None, 2.12)
    assert (models[0].concurrency, models[1].concurrency) == (4, 2)
    assert opening.secrets_of(models) == ("sk-0123456789",)
    keyless = open_models(chosen, ROUTING, price_table(ROUTING), keyless=True)
    assert (keyless[0].version, keyless[0].upstream and keyless[0].upstream.endpoint.key) == (None, "")
    stored = typed(manifest(models=[model.spec for model in models]))
    frozen = [structs.replace(each, price=FREE.to_json(), max_usd=0.5) for each in stored.models]
    found = with_terms_of(models, frozen)
    assert [(model.free, model.max_usd) for model in found] == [(True, 0.5)] * 2
    for wrong in ([], [structs.replace(each, price={"rates": []}) for each in frozen]):
        with pytest.raises(UsageError, match="the manifest of the run to resume is damaged"):
            with_terms_of(models, wrong)


def test_a_program_that_is_missing_or_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="codex needs the program codex, which is not on PATH: install it"):
        opening.program_of("codex", resolve("codex:m", ROUTING).agent)
    for name, text in {"bad": "exit 3", "mute": "echo no version", "home": "echo $HOME.1.2"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    assert version_of(str(tmp_path / "bad")) is None is version_of(str(tmp_path / "mute"))
    assert "/root" not in str(version_of(str(tmp_path / "home")))


def test_tasks_bring_skills_of_their_own(tmp_path: Path) -> None:
    root = write_collection(tmp_path / "collection", 1, 0)
    folder = root / "tasks" / "bench"
    for path, text in {
        "task.md": "---\nschema_version: '1.3'\nmetadata:\n  target_skill: own-work\n---\nDo it.\n",
        "environment/skills/own-work/SKILL.md": "---\nname: own-work\ndescription: Own. Use when own.\n---\n# Own\n",
        "environment/skills/own-work/scripts/run.sh": "true\n",
        "verifier/test.sh": "exit 1\n",
        "oracle/solve.sh": "true\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    inputs = load_inputs([str(root / "tasks")])
    assert [task.id for task in inputs.tasks] == ["bench", "t00"]
    bench, plain = inputs.tasks
    assert list(inputs.copies_of(plain)) == list(SKILLS)
    assert list(inputs.copies_of(bench)) == list(inputs.everything) == sorted([*SKILLS, "own-work"])
    own = inputs.copies_of(bench)["own-work"]
    assert [file.path for file in own.files] == ["SKILL.md", "scripts/run.sh"]
    assert own.description == "Own. Use when own."
    (root / "skills" / "own-work").mkdir()
    (root / "skills" / "own-work" / "SKILL.md").write_text("---\nname: own-work\ndescription: Else.\n---\n", "utf-8")
    with pytest.raises(UsageError, match="'own-work': that of tasks/bench"):
        load_inputs([str(root / "tasks")])


def bring(root: Path, task: str, folder: str, name: str, body: str) -> None:
    """A task of SkillsBench with a skill in a folder that may be called otherwise."""
    for path, text in {
        "task.toml": 'version = "1.0"\n[metadata]\ncategory = "x"\n',
        "instruction.md": "Do it.\n",
        f"environment/skills/{folder}/SKILL.md": f"---\nname: {name}\ndescription: {body}\n---\n# {body}\n",
        "environment/Dockerfile": "FROM debian\n",
        "tests/test.sh": "echo 0 > /logs/verifier/reward.txt\n",
        "solution/solve.sh": "true\n",
    }.items():
        (root / task / path).parent.mkdir(parents=True, exist_ok=True)
        (root / task / path).write_text(text, "utf-8")


def of_bench(root: Path, arms: list[str]) -> tuple[EffectManifest, dict[str, str], TrialPlan]:
    """The manifest of a run of these tasks, with the digests of its cells, as far as no container has to run."""
    inputs = load_inputs([str(root)])
    chosen = TrialChoices(("loop:here:m",), parse_arms(arms), sandbox="none")
    ready = prepare(inputs, inputs.tasks, chosen, str(root / "reports"), datetime(2026, 1, 1, tzinfo=UTC), keyless=True)
    found = convert_record(ready.place.manifest, EffectManifest)
    marks = {f"{task} {arm}": mark for (task, _, arm, _), mark in cell_digests(found).items()}
    return found, marks, ready.plan


@pytest.mark.slow
def test_tasks_may_bring_different_skills_of_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As tasks of SkillsBench do: each is tried with its own, and what is edited in one concerns no other's trials."""
    monkeypatch.chdir(tmp_path)
    text = '[router.providers.here]\nprotocol = "openai"\nbase-url = "http://127.0.0.1:9/v1"\n'
    (tmp_path / "skill-health.toml").write_text(text, "utf-8")
    for task, body in (("one", "First"), ("two", "Second"), ("zoo", "First")):
        bring(tmp_path / "tasks", task, "pdf", "pdf", body)
        bring(tmp_path / "tasks", task, "sheets", "sheets", "Alike")
    first, marks, plan = of_bench(tmp_path / "tasks", ["target"])
    assert [(skill.name, skill.task) for skill in first.skills] == [
        ("pdf", "one"), ("pdf", "two"), ("pdf", "zoo"), ("sheets", ""),
    ]  # fmt: skip
    digests = {task: skills_of(first, task)["pdf"].digest for task in ("one", "two", "zoo")}
    assert digests["one"] == digests["zoo"] != digests["two"]
    assert digests_over(first, ("one", "zoo")).keys() == {"pdf", "sheets"}
    assert digests_over(first, ("one", "two")).keys() == {"sheets"}
    for planned in plan.trials():
        if planned.arm.name == "target":
            staged = {skill.name: skill.digest for skill in plan.cell(planned).skills}
            assert staged == {name: skill.digest for name, skill in skills_of(first, planned.task.id).items()}
    bring(tmp_path / "tasks", "two", "pdf", "pdf", "Third")
    _, again, _ = of_bench(tmp_path / "tasks", ["target"])
    assert [cell for cell in marks if marks[cell] != again[cell]] == ["two target"]
    (note,) = (line for line in load_inputs([str(tmp_path / "tasks")]).notes if "different skills" in line)
    assert "pdf (2 in 3 tasks)" in note and "sheets" not in note


def test_a_skill_is_staged_by_the_name_that_it_gives_itself(tmp_path: Path) -> None:
    bring(tmp_path / "tasks", "one", "d3_charts", "d3js charts", "Charts")
    bring(tmp_path / "tasks", "two", "other", "other", "Else")
    inputs = load_inputs([str(tmp_path / "tasks")])
    (one, _) = inputs.tasks
    assert one.target_skills == ("d3js charts",) and list(inputs.copies_of(one)) == ["d3js charts"]
    bring(tmp_path / "tasks", "one", "again", "d3js charts", "Charts")
    with pytest.raises(UsageError, match="one: two of its skills are called 'd3js charts'"):
        load_inputs([str(tmp_path / "tasks")])


@pytest.mark.parametrize("paths", [(), ("tasks",), ("tasks/t01", "tasks/t00"), ("tasks/t00", "tasks")])
def test_tasks_come_in_the_order_of_their_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: tuple[str, ...]
) -> None:
    monkeypatch.chdir(write_collection(tmp_path / "collection", 3, 0))
    found = [task.id for task in load_inputs(paths).tasks]
    assert found == (["t00", "t01"] if len(paths) == 2 and paths[1] == "tasks/t00" else ["t00", "t01", "t02"])


def test_nothing_to_try_is_said(write: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write({"skills/a/SKILL.md": "---\nname: a\n---\n", "skill-health.toml": ""}))
    with pytest.raises(UsageError, match=r"no task below .*: looked for tasks/"):
        load_inputs(())
