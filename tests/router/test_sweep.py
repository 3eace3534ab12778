"""After an edit of descriptions: the right prompts are asked again, nothing else, and compared with what was before."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from made_collection import Write
from made_runs import frozen, manifest, prompt, put_run, replace, result, values
from repositories import commit

from skill_health.bench.run_folder import REPORTS
from skill_health.cli import main
from skill_health.core.errors import UsageError
from skill_health.core.validation import load_schema, problems
from skill_health.documents._record import convert_record
from skill_health.documents.router_manifest import FrozenSelection
from skill_health.router.compare.comparable import changed_skills
from skill_health.router.compare.sweep import SweepBasis, agrees, last_run, mismatch, run_at, run_before, select
from skill_health.router.inputs import catalogue_at, load_inputs
from skill_health.router.plan.choices import RouterChoices
from skill_health.router.records import ListedSkill
from skill_health.router.runs import RouterRun, load_run
from skill_health.router.scores.judge import read_facts
from skill_health.router.template import load_template

Skill = Callable[..., "subprocess.CompletedProcess[str]"]

DESCRIPTIONS = {
    "plum-jam": "Cooks plum jam: weighs sugar, boils fruit, fills jars. Use when plums have to keep over winter.",
    "bike-repair": "Fixes bicycles: punctures, brakes, chains. Use when a bicycle squeaks, slips or has a flat tyre.",
    "tax-forms": "Fills in tax forms from receipts and invoices. Use when a tax return is due or a receipt is unclear.",
    "star-charts": "Draws star charts for a place and a night. Use when somebody asks which constellation is visible.",
}
LABELS = [
    ("jam-1", "How much sugar do I weigh for jam from plums?", "plum-jam", [], []),
    ("jam-2", "Boil the fruit and fill the jars for winter.", "plum-jam", [], []),
    ("bike-1", "My bicycle chain slips and the brakes squeak.", "bike-repair", [], []),
    ("bike-2", "A flat tyre on the bicycle.", "bike-repair", [], ["plum-jam"]),
    ("tax-1", "Which receipt belongs on the tax return?", "tax-forms", [], []),
    ("tax-2", "Fill in the tax forms from these invoices.", "tax-forms", [], []),
    ("star-1", "Which constellation is visible tonight?", "star-charts", [], []),
    ("star-2", "Draw a chart of the stars for this place.", "star-charts", ["tax-forms"], []),
    ("none-1", "Write me a poem about the sea.", None, [], []),
    ("none-2", "What is the boiling point of sugar in jars of plums?", None, [], []),
]


def text(name: str, description: str) -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n# {name}\n\nDo it well.\n"


@pytest.fixture
def repository(write: Write) -> Path:
    labels = [
        {
            "prompt_id": name, "prompt": words, "expected_primary_skill": expected,
            "acceptable_secondary_skills": acceptable, "rejected_skills": rejected,
        }
        for name, words, expected, acceptable, rejected in LABELS
    ]  # fmt: skip
    skills = {f"skills/{name}/SKILL.md": text(name, words) for name, words in DESCRIPTIONS.items()}
    files = {"registries/prompts.jsonl": "".join(json.dumps(each) + "\n" for each in labels), "skill-health.toml": ""}
    root = write(skills | files)
    (root / ".gitignore").write_text("reports/\n", "utf-8")
    commit(root)
    return root


def edit(root: Path, name: str, description: str) -> None:
    (root / "skills" / name / "SKILL.md").write_text(text(name, description), encoding="utf-8")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Skill:
    """`skill-health` in this process, which spares starting Python thirty times."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        code = main(arguments)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    return call


def with_models(call: Skill, *options: str, command: str = "sweep") -> subprocess.CompletedProcess[str]:
    """A sweep, or a run, with two lexical models; two controls, the comparison as JSON."""
    shared = ("--models", "lexical:bm25,lexical:tfidf", "--quiet")
    extra = ("--controls", "2", "--format", "json") if command == "sweep" else ()
    return call("router", command, *shared, *extra, *options)


@pytest.fixture
def sweep(here: Skill) -> Skill:
    return partial(with_models, here)


def comparison(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What a sweep printed, checked against the published schema."""
    found: dict[str, Any] = json.loads(done.stdout)
    Draft202012Validator(load_schema("router-comparison")).validate(found)
    return found


def runs(root: Path) -> list[Path]:
    return sorted((root / "reports" / "router").iterdir())


WORSE = "Handles matters of the pantry. Use when the pantry is empty."


@pytest.mark.slow
def test_since_a_revision(repository: Path, run: Skill) -> None:
    """The whole way: a commit, an edit, and only what the edit affects is asked, beside the controls."""
    edit(repository, "plum-jam", WORSE)
    commit(repository)
    done = with_models(run, "--since", "HEAD~1")
    assert done.returncode == 0, done.stderr
    found = comparison(done)
    assert found["sweep"]["since"] == "HEAD~1"
    assert found["sweep"]["changed"] == ["plum-jam"]
    assert found["sweep"]["affected"] == [
        {"prompt_id": "jam-1", "why": ["expects plum-jam"]},
        {"prompt_id": "jam-2", "why": ["expects plum-jam"]},
        {"prompt_id": "bike-2", "why": ["rejects plum-jam"]},
        {"prompt_id": "none-2", "why": ["confused with plum-jam"]},
    ]
    asked = {each["prompt_id"] for each in found["sweep"]["affected"]} | set(found["sweep"]["controls"])
    (folder,) = runs(repository)
    held = load_run(str(folder))
    assert problems("router-manifest", values(held.manifest)) == []
    assert set(held.facts.prompts) == asked
    assert {each.prompt_id for each in held.results} == asked
    assert len(held.results) == len(asked) * 2
    assert held.manifest.selection.kind == "sweep"
    assert [skill["name"] for skill in found["skills"]] == ["plum-jam"]
    assert (found["skills"][0]["before"], found["skills"][0]["after"]) == (DESCRIPTIONS["plum-jam"], WORSE)
    by_model = {model["model"]: {group["group"]: group for group in model["groups"]} for model in found["models"]}
    assert list(by_model) == ["lexical:bm25", "lexical:tfidf"]
    for groups in by_model.values():
        affected, controls = groups["affected"], groups["controls"]
        assert (affected["prompts"], controls["prompts"]) == (4, 2)
        assert {flip["prompt_id"]: flip["kind"] for flip in affected["flips"]} == {"jam-2": "lost", "none-2": "won"}
        assert (affected["better"], affected["worse"], affected["metrics"]["top1"]["moved"]) == (1, 1, 2)
        assert (controls["flips"], controls["metrics"]["top1"]["moved"]) == ([], 0)
    assert json.loads((folder / "comparison.json").read_text(encoding="utf-8")) == found
    assert (folder / "comparison.md").read_text(encoding="utf-8").startswith("# Router: ")


@pytest.mark.slow
def test_nothing_changed_is_one_line(repository: Path, sweep: Skill) -> None:
    path = repository / "skills" / "plum-jam" / "SKILL.md"
    path.write_text(path.read_text(encoding="utf-8") + "\nMore of the body.\n", encoding="utf-8")
    done = sweep("--since", "HEAD")
    assert (done.returncode, done.stdout) == (
        0, "no listed name or description has changed since HEAD: nothing to ask\n",
    )  # fmt: skip
    assert not (repository / "reports").exists()
    body = sweep("--since", "HEAD", "--index", "body")
    assert comparison(body)["sweep"]["changed"] == ["plum-jam"]


@pytest.mark.slow
def test_added_and_removed_skills_are_changes(repository: Path, sweep: Skill) -> None:
    edit_path = repository / "skills" / "sea-poems"
    edit_path.mkdir()
    edit(repository, "sea-poems", "Writes a poem about the sea. Use when a poem is wanted.")
    done = sweep("--since", "HEAD")
    found = comparison(done)
    assert [(skill["name"], skill["kind"]) for skill in found["skills"]] == [("sea-poems", "added")]
    assert found["sweep"]["affected"] == []
    assert [group["group"] for group in found["models"][0]["groups"]] == ["controls"]
    text_ = sweep("--since", "HEAD", "--format", "text").stdout
    assert "No prompt names a changed skill or was confused with one" in text_


@pytest.mark.slow
def test_since_the_last_run(repository: Path, sweep: Skill) -> None:
    none = sweep("--changed")
    assert (none.returncode, none.stdout) == (2, "")
    assert "no finished run in" in none.stderr
    assert "run `skill-health router run` first" in none.stderr
    assert sweep(command="run").returncode == 0
    (first,) = runs(repository)
    same = sweep("--changed")
    assert same.returncode == 0 and same.stdout.count("\n") == 1 and first.name in same.stdout
    edit(repository, "plum-jam", WORSE)
    found = comparison(sweep("--changed"))
    assert (found["sweep"]["since"], found["baseline"]["run_id"]) == (first.name, first.name)
    assert [each["prompt_id"] for each in found["sweep"]["affected"]] == ["jam-1", "jam-2", "bike-2", "none-2"]
    # The sweep's own run is no baseline: the next edit is compared with the last whole run, both edits together.
    edit(repository, "tax-forms", "Adds up numbers.")
    again = comparison(sweep("--changed"))
    assert again["baseline"]["run_id"] == first.name
    assert again["sweep"]["changed"] == ["plum-jam", "tax-forms"]
    other = sweep("--changed", "--seed", "7")
    assert other.returncode == 2
    assert f"{first.name}: other seed" in other.stderr


@pytest.mark.slow
def test_a_scheduled_sweep_asks_everything(repository: Path, sweep: Skill) -> None:
    first = sweep()
    assert first.returncode == 0
    assert "this one is the first" in first.stderr
    edit(repository, "plum-jam", WORSE)
    found = comparison(sweep("--max-loss", "0"))
    assert "sweep" not in found
    assert found["models"][0]["groups"][0]["prompts"] == len(LABELS)
    assert [load_run(str(run)).manifest.selection.kind for run in runs(repository)] == ["all", "all"]


@pytest.mark.slow
def test_a_significant_loss_fails(repository: Path, here: Skill) -> None:
    words = ["boils fruit", "fills jars", "weighs sugar", "boils the sugar", "keep over winter", "winter jars"]
    words += ["fruit, sugar", "boils sugar with fruit", "jars of fruit"]
    labels = [
        {"prompt_id": f"more-{n}", "prompt": f"It {each}.", "expected_primary_skill": "plum-jam"}
        for n, each in enumerate(words)
    ]
    (repository / "more.jsonl").write_text("".join(json.dumps(each) + "\n" for each in labels), encoding="utf-8")
    edit(repository, "plum-jam", WORSE)
    options = ("--models", "lexical:tfidf", "--quiet", "--prompts", "more.jsonl", "--since", "HEAD", "--format", "json")
    done = here("router", "sweep", *options)
    assert done.returncode == 1, done.stderr
    found = comparison(done)
    (lost,) = found["lost"]
    assert (lost["model"], lost["group"]) == ("lexical:tfidf", "affected")
    top1 = found["models"][0]["groups"][0]["metrics"]["top1"]
    assert lost["by"] == pytest.approx(top1["before"] - top1["after"])
    assert top1["difference"]["p_adjusted"] <= 0.05
    assert here("router", "sweep", *options, "--max-loss", "1").returncode == 0


@pytest.mark.slow
def test_a_skill_that_its_prompts_no_longer_find_fails_without_a_test(repository: Path, sweep: Skill) -> None:
    """Two prompts for a skill are no sample; but a router that is computed has lost them for certain."""
    edit(repository, "star-charts", "Adds up numbers.")
    done = sweep("--since", "HEAD")
    assert done.returncode == 1, done.stderr
    found = comparison(done)
    assert found["sweep"]["testable"] == found["sweep"]["of"] == len(LABELS)
    assert [(lost["model"], lost["how"], lost["lost"], lost["won"], lost["of"]) for lost in found["lost"]] == [
        (model, "computed", 2, 0, len(LABELS)) for model in ("lexical:bm25", "lexical:tfidf")
    ]
    assert sweep("--since", "HEAD", "--max-loss", "0.2").returncode == 0
    text_ = sweep("--since", "HEAD", "--format", "text").stdout.partition("Verdict")[2]
    assert re.search(r"Loss: lexical:tfidf .*\(2 lost, 0 won\), 0\.200 of the 10 ", text_)


@pytest.mark.slow
def test_an_instrument_that_is_not_to_be_trusted_passes_no_gate(repository: Path, here: Skill) -> None:
    edit(repository, "tax-forms", "Adds up numbers.")
    options = ("--models", "scripted:error=1", "--quiet", "--since", "HEAD", "--format")
    done = here("router", "sweep", *options, "json")
    assert done.returncode == 1, done.stderr
    assert (comparison(done)["untrusted"], comparison(done)["lost"]) == (["scripted:error=1"], [])
    shown = here("router", "sweep", *options, "text").stdout.partition("Verdict")[2]
    assert "Not to be trusted: scripted:error=1 failed the instrument check in this run." in shown


@pytest.mark.slow
def test_a_renamed_skill_is_said_to_have_nothing_to_be_compared_with(repository: Path, sweep: Skill) -> None:
    (repository / "skills" / "tax-forms").rename(repository / "skills" / "tax-returns")
    edit(repository, "tax-returns", DESCRIPTIONS["tax-forms"])
    labels = repository / "registries" / "prompts.jsonl"
    labels.write_text(labels.read_text(encoding="utf-8").replace('"tax-forms"', '"tax-returns"'), encoding="utf-8")
    found = comparison(sweep("--since", "HEAD"))
    assert [(skill["name"], skill["kind"]) for skill in found["skills"]] == [
        ("tax-forms", "removed"), ("tax-returns", "added"),
    ]  # fmt: skip
    (said,) = found["cautions"]
    assert said.startswith("2 prompts (tax-1, tax-2) expect tax-returns, which the baseline does not have")
    assert found["lost"] == []


@pytest.mark.slow
def test_every_file_of_a_run_is_as_published(repository: Path, here: Skill) -> None:
    done = here("router", "run", "--models", "scripted,lexical:bm25", "--reps", "2", "--quiet")
    assert done.returncode in (0, 1), done.stderr
    (folder,) = runs(repository)
    files = {"attempt": folder / "attempts.jsonl", "result": folder / "results.jsonl"}
    files |= {"manifest": folder / "manifest.json", "history": repository / "reports" / "router-history.jsonl"}
    for name, path in files.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines
        check = Draft202012Validator(load_schema(f"router-{name}"))
        for line in lines:
            check.validate(json.loads(line))
            assert set(json.loads(line)) <= set(load_schema(f"router-{name}")["properties"])


@pytest.mark.slow
def test_a_dry_run_says_what_would_be_asked(repository: Path, sweep: Skill) -> None:
    edit(repository, "plum-jam", WORSE)
    done = sweep("--since", "HEAD", "--dry-run")
    assert (done.returncode, done.stdout) == (0, "")
    assert "jam-1: expects plum-jam\n" in done.stderr
    assert "controls: " in done.stderr
    assert not (repository / "reports").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--since", "HEAD", "--changed"), "--since and --changed"),
        (("--since", "nowhere"), "'nowhere'"),
        (("--since", "--upload-pack=x"), "--upload-pack=x"),
        (("--since", "HEAD", "--controls", "-1"), "controls"),
        (("--since", "HEAD", "--max-loss", "2"), "max-loss"),
    ],
)
def test_mistakes(repository: Path, sweep: Skill, options: tuple[str, ...], said: str) -> None:
    done = sweep(*options)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.slow
def test_bodies_cannot_be_had_from_a_run(repository: Path, sweep: Skill) -> None:
    assert sweep("--index", "body", command="run").returncode == 0
    assert sweep("--index", "body", "--changed").stdout.count("\n") == 1
    path = repository / "skills" / "plum-jam" / "SKILL.md"
    path.write_text(path.read_text(encoding="utf-8") + "\nMore of the body.\n", encoding="utf-8")
    done = sweep("--index", "body", "--changed")
    assert done.returncode == 2
    assert "with --index body give --since REV" in done.stderr


# Which prompts, in values.


def test_reasons() -> None:
    asked = [
        prompt("expects", "alpha"),
        prompt("accepts", "beta", acceptable=("alpha",)),
        prompt("rejects", "beta", rejected=("alpha", "gamma")),
        prompt("confused", "beta"),
        prompt("right", "beta"),
        prompt("none", None),
        prompt("label-only", None, known=False, rejected=("gamma",)),
        prompt("label-alpha", None, known=False, rejected=("alpha",)),
        prompt("free", "delta"),
    ]
    baseline = [result("confused", ["alpha", "beta"], replication=1), result("confused", ["beta"])]
    baseline += [result("right", ["beta", "alpha"]), result("free", [])]
    baseline += [result(name, ["alpha"]) for name in ("none", "expects", "label-only", "gone")]
    found = select(asked, ["alpha"], baseline, 10, 1)
    assert found.affected == {
        "expects": ("expects alpha",), "accepts": ("accepts alpha",), "rejects": ("rejects alpha",),
        "confused": ("confused with alpha",), "none": ("confused with alpha",), "label-alpha": ("rejects alpha",),
    }  # fmt: skip
    assert set(found.controls) == {"right", "free"}
    assert found.groups() == {"affected": tuple(found.affected), "controls": found.controls}
    assert select(asked, ["zeta"], baseline, 0, 1).groups() == {}


@given(
    ids=st.sets(st.text("abcdef", min_size=1, max_size=4), min_size=3, max_size=40),
    seed=st.integers(0, 5),
    wanted=st.integers(0, 12),
    data=st.data(),
)
def test_controls_stay_when_prompts_come_and_go(ids: set[str], seed: int, wanted: int, data: st.DataObject) -> None:
    names = data.draw(st.permutations(sorted(ids)))
    few, new = names[:-1], names[-1]
    before = set(select([prompt(each, "beta") for each in few], [], [], wanted, seed).controls)
    after = set(select([prompt(each, "beta") for each in names], [], [], wanted, seed).controls)
    assert len(before) == min(wanted, len(few))
    assert after - before <= {new}
    assert len(before - after) <= 1
    shuffled = select([prompt(each, "beta") for each in reversed(names)], [], [], wanted, seed).controls
    assert set(shuffled) == after


OTHERS = "it asked other prompts"


def asked_as(template: str = "d", selection: Any = None, **more: Any) -> SweepBasis:
    chosen = RouterChoices(("maker:one",), 1, 1, "text", "full", "none", "description", "cyclic")
    return SweepBasis(replace(chosen, **more), template, convert_record(selection or {"kind": "all"}, FrozenSelection))


@pytest.mark.parametrize(
    ("run", "asked", "why"),
    [
        ({}, {}, ""),
        ({"selection": {"kind": "filter", "split": ["test"]}}, {}, OTHERS),
        ({"selection": {"kind": "filter", "split": ["test"], "of": 50}}, {"selection": {"kind": "filter", "split": ["test"], "of": 60}}, ""),
        ({"selection": {"kind": "filter", "split": ["train"]}}, {"selection": {"kind": "filter", "split": ["test"]}}, OTHERS),
        ({}, {"selection": {"kind": "filter", "split": ["test"]}}, ""),
        ({"selection": {"kind": "sweep"}}, {}, OTHERS),
        ({"imported": True}, {}, "it was imported"),
        ({"mode": "json_schema", "seed": 2}, {}, "other mode and seed"),
        ({}, {"listing": "codex", "template": "e"}, "other listing and template"),
        ({"models": manifest([], ["maker:two"])["models"]}, {}, "without maker:one"),
    ],
    ids=str,
)  # fmt: skip
def test_what_can_be_a_baseline(run: dict[str, Any], asked: dict[str, Any], why: str) -> None:
    assert mismatch(frozen(manifest([prompt("a", "alpha")]) | run), asked_as(**asked), ["maker:one"]) == why


def test_a_run_agrees_where_it_saw_the_changed_skills_as_they_were() -> None:
    then = [ListedSkill("a", "Old a."), ListedSkill("b", "Old b."), ListedSkill("c", "C.")]
    now = [ListedSkill("a", "New a."), ListedSkill("c", "C."), ListedSkill("d", "D.")]
    changed = changed_skills(then, now)
    assert [(each.name, each.kind) for each in changed] == [("a", "edited"), ("b", "removed"), ("d", "added")]
    assert agrees(then, [*then[:2], ListedSkill("c", "Another.")], changed)
    assert not agrees(then, [*then, ListedSkill("d", "D.")], changed)
    assert not agrees(then, then[:1], changed)
    assert not agrees(then, now, changed)


# Which run, from folders.


def put(reports: Path, name: str, **more: Any) -> dict[str, Any]:
    """A finished run of one provider's model in a folder of reports."""
    found = manifest([prompt("jam-1", "plum-jam", text=LABELS[0][1])], ["openai:gpt-x"], tuple(DESCRIPTIONS))
    for skill in found["catalogue"]:
        skill["text"] = skill["description"] = DESCRIPTIONS[skill["name"]]
    found |= {"run_id": name} | more
    found["template"]["digest"] = load_template("none").digest
    put_run(reports, found, [result("jam-1", ["plum-jam"], "openai:gpt-x")])
    return found


def asked(*models: str) -> SweepBasis:
    chosen = RouterChoices(models, 1, 1, "text", "full", "none", "description", "cyclic")
    return SweepBasis(chosen, load_template("none").digest, FrozenSelection(kind="all"))


@pytest.mark.parametrize(
    ("file", "damage"),
    [("manifest.json", b"\0"), ("manifest.json", b""), ("results.jsonl", b"\0"), ("results.jsonl", b"")],
)
def test_a_damaged_run_is_not_taken_for_none(tmp_path: Path, file: str, damage: bytes) -> None:
    put(tmp_path, "20260101T000000Z-a")
    folder = tmp_path / "router" / "20260101T000000Z-a"
    for name in REPORTS:
        (folder / name).touch()
    (folder / file).write_bytes(damage)
    with pytest.raises(UsageError, match=file):
        last_run(str(tmp_path), asked("openai:gpt-x"), ["openai:gpt-x"], [])


def test_the_last_comparable_finished_run(tmp_path: Path) -> None:
    put(tmp_path, "20260101T000000Z-a")
    put(tmp_path, "20260102T000000Z-b")
    put(tmp_path, "20260103T000000Z-c", mode="json_schema")
    put(tmp_path, "20260104T000000Z-d")
    (tmp_path / "router" / "20260104T000000Z-d" / "results.jsonl").unlink()
    put(tmp_path, "20260105T000000Z-e")
    (tmp_path / "router" / "20260105T000000Z-e" / "manifest.json").write_text("{", encoding="utf-8")
    put(tmp_path, "20260106T000000Z-f")
    (tmp_path / "router" / "20260106T000000Z-f" / "results.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    reasons: list[str] = []
    found = last_run(str(tmp_path), asked("openai:gpt-x"), ["openai:gpt-x"], reasons)
    assert found is not None
    assert found.run_id == "20260102T000000Z-b"
    assert reasons == [
        "20260106T000000Z-f: it cannot be read",
        "20260105T000000Z-e: it cannot be read",
        "20260104T000000Z-d: it is not finished",
    ]


def test_finished_means_every_planned_call(tmp_path: Path) -> None:
    given = manifest([prompt("a", "alpha"), prompt("b", "beta")], replications=2)
    whole = [result(name, ["alpha"], replication=at) for name in "ab" for at in range(2)]
    run = RouterRun("", frozen(given), read_facts(frozen(given)), tuple(whole))
    assert run.finished
    assert not replace(run, results=tuple(whole[1:])).finished
    assert not replace(run, results=(*whole[1:], whole[1])).finished


@pytest.mark.slow
def test_a_providers_model_needs_a_run_that_saw_the_old_descriptions(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    edit(repository, "plum-jam", WORSE)
    inputs = load_inputs(["."])
    old = catalogue_at(inputs.root, inputs.config, "HEAD", "full", inputs.paths)
    changed = changed_skills(old.shown, inputs.catalogue.shown)
    reports = repository / "reports"

    def before(*models: str) -> RouterRun:
        return run_at(str(reports), inputs, asked(*models), old, changed, (), "HEAD")

    with pytest.raises(
        UsageError, match=r"asked openai:gpt-x when plum-jam read as at HEAD: check HEAD out, run `skill"
    ):
        before("openai:gpt-x")
    stale = put(reports, "20260101T000000Z-a")
    stale["catalogue"][0]["text"] = "Another text."
    (reports / "router" / "20260101T000000Z-a" / "manifest.json").write_text(json.dumps(stale), encoding="utf-8")
    with pytest.raises(UsageError, match="read as at HEAD"):
        before("openai:gpt-x")
    put(reports, "20260102T000000Z-b")
    assert before("openai:gpt-x").run_id == "20260102T000000Z-b"
    both = before("lexical:bm25", "openai:gpt-x")
    assert [model.spec for model in both.facts.models] == ["openai:gpt-x", "lexical:bm25"]
    assert {each.model for each in both.results} == {"openai:gpt-x", "lexical:bm25"}
    assert sum(each.model == "lexical:bm25" for each in both.results) == len(LABELS)
    alone = before("lexical:bm25")
    assert (alone.run_id, {each.model for each in alone.results}) == ("computed-at-HEAD", {"lexical:bm25"})
    assert alone.facts.shown["plum-jam"].text == DESCRIPTIONS["plum-jam"]
    with pytest.raises(UsageError, match="without lexical:bm25"):
        run_before(str(reports), inputs, asked("openai:gpt-x", "lexical:bm25"))
