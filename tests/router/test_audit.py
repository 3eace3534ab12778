"""`skill-health router prompts`: the audit, and the file of splits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator
from made_collection import Write

from skill_health.bench.collection import read_skills
from skill_health.config.settings import Config, RuleLimits
from skill_health.core.errors import CLEAN, FINDINGS, UsageError
from skill_health.core.validation import load_schema
from skill_health.discovery.corpus import discover
from skill_health.documents.router_audit import PromptAudit
from skill_health.registries.records import BadRecord
from skill_health.router import splits as router_splits
from skill_health.router.audit import as_json, as_text, audit
from skill_health.router.commands.prompts import command
from skill_health.router.inputs import load_inputs
from skill_health.router.prompts._api import Known
from skill_health.router.prompts._load import load_prompts
from skill_health.router.records import Catalogue, ListedSkill, Prompt

SORTING = "Sorts lists by date or by name. Use when the rows of a table are out of order."
CATALOGUE = Catalogue(
    (
        ListedSkill("list-sorting", SORTING, description=SORTING, path="skills/list-sorting/SKILL.md"),
        ListedSkill("plotting", "Draws charts.", description="Draws charts.", path="skills/plotting/SKILL.md"),
    ),
    omitted=(ListedSkill("hidden", "", "hidden", path="skills/hidden/SKILL.md"),),
)


def found(*prompts: Prompt, limits: RuleLimits = RuleLimits(positives=0, negatives=0)) -> PromptAudit:  # noqa: B008 - a tuple
    return audit(prompts, CATALOGUE, limits)


def kinds(*prompts: Prompt) -> dict[str, str]:
    """The remarks about prompts, apart from that on the share of those that expect no skill."""
    return {each.kind: each.severity for each in found(*prompts).remarks if each.kind != "few-nulls"}


def both(text: str, other: str = "", **more: tuple[str, str]) -> tuple[Prompt, Prompt]:
    """Two prompts that no skill is for; `more` has what each has in a field."""
    one, two = ({name: each[at] for name, each in more.items()} for at in (0, 1))
    return Prompt("1", text, None, **one), Prompt("2", other or text, None, **two)


SALES = ("Draw monthly sales per region", "Draw monthly sales per region now")
CASES: dict[str, tuple[tuple[Prompt, ...], dict[str, str]]] = {
    "nothing": ((Prompt("1", "Order these rows.", "list-sorting"),), {}),
    "a torn family": (
        both("One.", "Two.", family=("f", "f"), split=("train", "test")),
        {"family-spans-splits": "error"},
    ),
    "a whole family": (both("One.", "Two.", family=("f", "f"), split=("test", "test")), {}),
    "twice": (both("Same text.", "same  text"), {"duplicate": "warning"}),
    "twice, once sealed": (both("Same text.", "same text", split=("train", "test")), {"duplicate": "error"}),
    "nearly twice": (both(*SALES), {"near-duplicate": "info"}),
    "nearly twice, one family": (both(*SALES, family=("f", "f")), {}),
    "nearly twice, once sealed": (both(*SALES, split=("test", "validation")), {"near-duplicate": "warning"}),
    "accepted and rejected": (
        (Prompt("1", "One.", None, acceptable=("plotting",), rejected=("plotting",)),),
        {"acceptable-rejected": "error", "acceptable-none": "warning"},
    ),
    "not listed": ((Prompt("1", "One.", "hidden"),), {"expected-not-listed": "warning"}),
    "its name": ((Prompt("1", "Use list-sorting for this.", "list-sorting"),), {"names-skill": "warning"}),
    "another's name": ((Prompt("1", "Use list-sorting for this.", "plotting"),), {}),
    "its name as a word": ((Prompt("1", "I want plotting done.", "plotting"),), {}),
    "its name, marked": ((Prompt("1", "Run /Plotting on it.", "plotting"),), {"names-skill": "warning"}),
    "its name in words": ((Prompt("1", "List Sorting is what I want.", "list-sorting"),), {}),
    "its description": (
        (Prompt("1", "The rows of a table are out of order!", "list-sorting"),),
        {"copies-description": "warning"},
    ),
    "words of no weight": ((Prompt("1", "By name. Use when the other is late.", "list-sorting"),), {}),
}


@pytest.mark.parametrize(("prompts", "wanted"), CASES.values(), ids=CASES)
def test_what_is_wrong_with_prompts(prompts: tuple[Prompt, ...], wanted: dict[str, str]) -> None:
    assert kinds(*prompts) == wanted


def test_a_share_of_prompts_must_expect_no_skill() -> None:
    some = [Prompt(str(n), f"Number {n}.", "plotting") for n in range(4)]
    unknown = Prompt("u", "Not this.", None, known=False, rejected=("plotting",))
    assert [each.kind for each in found(*some, unknown).remarks] == ["few-nulls"]
    assert found(*some, Prompt("n", "Nobody.", None), unknown).remarks == ()
    assert found(unknown).remarks == ()


def test_coverage() -> None:
    prompts = (
        Prompt("1", "One.", "plotting", acceptable=("list-sorting",), rejected=("hidden",)),
        Prompt("2", "Two.", None, rejected=("plotting", "list-sorting")),
        Prompt("3", "Three.", None, known=False, rejected=("plotting",)),
    )
    result = found(*prompts, limits=RuleLimits(positives=1, negatives=2))
    rows = [(row.skill, row.positives, row.acceptable, row.negatives) for row in result.skills]
    assert rows == [("hidden", 0, 0, 1), ("list-sorting", 0, 1, 1), ("plotting", 1, 0, 2)]
    assert (result.prompts, result.nulls, result.unknown, result.families) == (3, 1, 1, 3)
    assert {each.kind: re.findall(r'\d+|".*', each.message) for each in result.remarks} == {
        "few-positives": ["1", "2", "1", '"list-sorting"'],
        "few-near-misses": ["1", "2", "2", '"list-sorting"'],
    }
    assert not result.failed


def test_the_worst_comes_first() -> None:
    prompts = [prompt for case, _ in CASES.values() for prompt in case]
    severities = [each.severity for each in found(*prompts).remarks]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)


def test_text_and_json_hold_nothing_that_a_terminal_obeys() -> None:
    hostile = Prompt("1\x1b[2J", "Use list-sorting \x1b]0;x\x07", "list-sorting", family="\x1b[31m", split="\x1b[0m")
    other = Prompt("2", "Other.", None, family="\x1b[31m", split="test")
    result = audit([hostile, other], CATALOGUE, RuleLimits())
    problem = BadRecord("a\x1b[2J", 3, 1, "what\x1b[2J", "Do it.")
    text = as_text(result, [problem], ["a\x1b[2Jnote"])
    assert "\x1b" not in text
    assert "note: a\\x1b[2Jnote" in text
    data = json.loads(as_json(result, [problem], ["note"]))
    Draft202012Validator(load_schema("router-audit")).validate(data)
    assert data["problems"] == [{"path": "a\x1b[2J", "line": 3, "message": "what\x1b[2J", "help": "Do it."}]
    assert "\x1b" not in as_json(result, [problem], ["note"])


def test_many_remarks_of_one_kind_are_counted() -> None:
    prompts = [Prompt(f"p{n}", f"Use list-sorting for thing {n}.", "list-sorting") for n in range(30)]
    text = as_text(found(*prompts), [], [])
    assert text.count("[names-skill]") == 10
    assert "... and 20 more of the kind names-skill (--format json has all)" in text


SKILLS = {
    f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: {text}\n---\n# {name}\n"
    for name, text in (("sorting", "Sorts lists."), ("plotting", "Draws charts."))
}
TEXTS = {
    "sorting": ("Put these rows in order", "Which city is first by size", "A to Z please"),
    "plotting": ("Show this as bars", "A curve of it"),
}
ASKED = [(skill, text) for skill, texts in TEXTS.items() for text in texts]
PROMPTS = "".join(
    json.dumps({"prompt_id": f"p{n}", "prompt": text, "expected_primary_skill": skill}) + "\n"
    for n, (skill, text) in enumerate(ASKED)
)


def call(*args: object) -> Result:
    return CliRunner().invoke(command, [str(arg) for arg in args], standalone_mode=False)


def test_a_clean_set(write: Write) -> None:
    root = write(SKILLS | {"prompts.jsonl": PROMPTS})
    result = call(root)
    assert result.return_value == CLEAN
    assert "note: prompts.jsonl: router prompts, 5 read\n" in result.output
    assert result.output.endswith(
        "5 prompts in 5 families, 0 for no skill: 0 bad records, 0 errors, 1 warning, 2 remarks\n"
    )
    data = json.loads(call(root, "--format", "json").stdout)
    Draft202012Validator(load_schema("router-audit")).validate(data)
    assert data["splits"] == {"plotting": {"": 2}, "sorting": {"": 3}}


def test_bad_records_are_findings_unless_they_are_left_out(write: Write) -> None:
    root = write(SKILLS | {"prompts.jsonl": PROMPTS + "{}\n"})
    result = call(root)
    assert result.return_value == FINDINGS
    said = "error: prompts.jsonl:6: expected_primary_skill is missing; prompt is missing; prompt_id is missing"
    assert said in result.output
    result = call(root, "--skip-bad")
    assert result.return_value == CLEAN
    assert "note: 1 record left out: expected_primary_skill is missing" in result.output


def test_the_split_is_written_and_kept(write: Write) -> None:
    root = write(SKILLS | {"prompts.jsonl": PROMPTS})
    target = root / "split.jsonl"
    result = call(root, "--write-split", target, "--seed", "3")
    assert result.return_value == CLEAN
    assert f"written: {target} (5 prompts)" in result.stderr
    first = target.read_bytes()
    records = [json.loads(line) for line in first.splitlines()]
    assert [record["prompt_id"] for record in records] == [f"p{n}" for n in range(5)]
    assert all(record["family"] and record["split"] in ("train", "validation", "test") for record in records)
    for record in records:
        Draft202012Validator(load_schema("router-prompt")).validate(record)
    assert isinstance(call(root, "--write-split", target).exception, UsageError)
    assert target.read_bytes() == first
    assert call(root, "--prompts", target, "--write-split", target, "--force", "--seed", "9").return_value == CLEAN
    assert target.read_bytes() == first
    assert call(root, "--write-split", target, "--force", "--shares", "1,0,0").return_value == CLEAN
    assert {json.loads(line)["split"] for line in target.read_bytes().splitlines()} == {"train"}


def test_a_negative_without_an_answer_stays_one(write: Write) -> None:
    root = write(SKILLS | {"q.jsonl": '{"query": "Tidy up", "skill": "sorting", "should_trigger": false}\n'})
    target = root / "split.jsonl"
    assert call(root, "--prompts", root / "q.jsonl", "--write-split", target).return_value == CLEAN
    (prompt,) = load_inputs([str(root)], None, [str(target)]).prompts
    assert (prompt.known, prompt.expected, prompt.rejected) == (False, None, ("sorting",))


def test_nothing_is_written_over_a_torn_family_or_bad_records(write: Write) -> None:
    torn = "".join(
        json.dumps(json.loads(line) | {"family": "f", "split": split}) + "\n"
        for line, split in zip(PROMPTS.splitlines(), ("train", "test", "train", "test", "train"), strict=True)
    )
    root = write(SKILLS | {"torn.jsonl": torn, "bad.jsonl": PROMPTS + "{\n"})
    for name, why in (("torn", "a family is torn apart"), ("bad", "there are bad records")):
        result = call(root, "--prompts", root / f"{name}.jsonl", "--write-split", root / "out.jsonl")
        assert result.return_value == FINDINGS
        assert f"is not written: {why}" in result.stderr
        assert not (root / "out.jsonl").exists()
    skipping = call(root, "--prompts", root / "bad.jsonl", "--skip-bad", "--write-split", root / "out.jsonl")
    assert skipping.return_value == CLEAN
    before = (root / "bad.jsonl").read_bytes()
    words = ("--prompts", root / "bad.jsonl", "--skip-bad", "--write-split", root / "bad.jsonl", "--force")
    assert call(root, *words).return_value == FINDINGS
    assert (root / "bad.jsonl").read_bytes() == before


def test_a_registry_that_changes_meanwhile_is_not_written_over(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(SKILLS | {"prompts.jsonl": PROMPTS})
    more = PROMPTS + json.dumps(json.loads(PROMPTS.splitlines()[0]) | {"prompt_id": "new"}) + "\n"

    def assign(prompts: Any, seed: int, shares: Any) -> Any:
        (root / "prompts.jsonl").write_text(more)
        return splits(prompts, seed, shares)

    splits = router_splits.assign
    monkeypatch.setattr(router_splits, "assign", assign)
    assert isinstance(call(root, "--write-split", root / "prompts.jsonl", "--force").exception, UsageError)
    assert (root / "prompts.jsonl").read_text() == more


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        (("--write-split", "out.jsonl", "--split", "test"), "splits all prompts together"),
        (("--prompts", "gone.jsonl"), "gone.jsonl"),
        (("--shares", "1,2"), "'1,2'"),
        (("--shares", "a,b,c"), "'a,b,c'"),
        (("--shares", "0,0,0"), "'0,0,0'"),
        (("--shares", "nan,1,1"), "'nan,1,1'"),
    ],
)
def test_mistakes_in_the_call(write: Write, args: tuple[str, ...], wanted: str) -> None:
    root = write(SKILLS | {"prompts.jsonl": PROMPTS})
    result = call(root, *args)
    assert result.exception is not None
    assert wanted in (getattr(result.exception, "message", "") or str(result.exception))


def test_our_own_fixtures_are_sound(checkout: Path) -> None:
    result = call(checkout / "fixtures")
    assert result.return_value == CLEAN
    assert "60 prompts in 56 families, 14 for no skill: 0 bad records, 0 errors, 0 warnings, 0 remarks" in result.output


def test_our_rotten_fixtures_are_found_out(checkout: Path) -> None:
    rotten = checkout / "fixtures" / "rotten"
    assert "1 name of 2 skills, listed by the same name as hosts do" in call(rotten).output
    names = frozenset(skill.name for skill in read_skills(discover((str(rotten),), Config(), str(rotten))))
    loaded = load_prompts([str(rotten / "registries")], Known(names), str(rotten))
    assert len(loaded.prompts) == 11
    # The same lines that the linter finds: an unknown skill, broken JSON, labels at odds.
    assert [(problem.path, problem.line) for problem in loaded.problems] == [
        ("registries/activation-cases.jsonl", 2),
        ("registries/activation-cases.jsonl", 3),
        ("registries/prompts.jsonl", 5),
    ]
    remarks = audit(loaded.prompts, Catalogue(()), RuleLimits()).remarks
    assert next(each.kind for each in remarks if each.severity == "warning") == "duplicate"
