"""Labelled prompts: every accepted format, and one clear line for each record that is none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from made_runs import replace

from skill_health.core.errors import UsageError
from skill_health.core.strict_json import JsonProblem, item_lines
from skill_health.core.validation import load_schema
from skill_health.registries.records import problem_line
from skill_health.router.audit import prompt_line
from skill_health.router.prompts._api import MAX_TEXT, Known, PromptFile, known_skills
from skill_health.router.prompts._load import content_id, formats, load_prompts, read_prompts
from skill_health.router.prompts._look import look_at, read_list
from skill_health.router.records import NONE, Catalogue, ListedSkill, Prompt

KNOWN = Known(
    frozenset(("sorting", "plotting", "csv-tools")),
    {"old-sorting": ("sorting",)},
    {"skills/sorting": "sorting", "skills/plotting": "plotting", "skills/csv-tools": "csv-tools"},
)
PLAN = {"prompt_id": "p1", "prompt": "Sort this list.", "expected_primary_skill": "sorting"}
CASE = {"case_id": "c1", "prompt": "Sort this list.", "expected_primary_skill": "sorting"}
ROW = {"query": "Sort this list.", "skill": "sorting", "should_trigger": True}
NOT = ROW | {"should_trigger": False}


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def read(raw: bytes | str, path: str = "prompts.jsonl", skill: str = "") -> Any:
    return read_prompts([PromptFile(path, raw.encode() if isinstance(raw, str) else raw, skill)], KNOWN)


def one(raw: bytes | str, path: str = "prompts.jsonl", skill: str = "") -> Prompt:
    loaded = read(raw, path, skill)
    assert [problem_line(problem) for problem in loaded.problems] == []
    assert len(loaded.prompts) == 1
    prompt: Prompt = loaded.prompts[0]
    return prompt


def complaint(raw: bytes | str, path: str = "prompts.jsonl", skill: str = "") -> str:
    loaded = read(raw, path, skill)
    assert len(loaded.problems) == 1
    return problem_line(loaded.problems[0])


FORMS = {
    "plan_prompts": lines(PLAN),
    "activation_cases": lines(CASE),
    "labelled_lines": lines(ROW),
    "trigger_queries": json.dumps([ROW]).encode(),
    "eval_sets": json.dumps({"skill_name": "sorting", "evals": [{"id": 1, "prompt": "Sort this list."}]}).encode(),
    "labelled_csv": b"query,skill,should_trigger\nSort this list.,sorting,true\n",
    "waza_triggers": b"# Trigger tests\nskill: sorting\n\nshould_trigger_prompts:\n  - prompt: Sort this list.\n    confidence: high\n",
    "promptfoo_tests": (
        b"description: routes\nproviders:\n  - id: agent\ntests:\n  - description: sorts\n    vars:\n"
        b"      prompt: Sort this list.\n    assert:\n      - type: skill-used\n        value: sorting\n"
    ),
    "scenario_evals": (
        b"stimuli:\n  - name: sorts\n    prompt: Sort this list.\n    graders:\n      - type: skill-invocation\n"
        b"        config:\n          required: [sorting]\n"
    ),
    "trigger_test_code": (
        b"// Triggers\nimport { shouldTrigger } from './triggers';\nconst SKILL = 'sorting';\n"
        b"describe('triggers', () => {\n  test.each(['Sort this list.'])('%s', (prompt) => {\n"
        b"    expect(shouldTrigger(SKILL, prompt)).toBe(true);\n  });\n});\n"
    ),
}


def test_a_format_is_a_file_and_each_has_a_sample_here() -> None:
    assert {form.__name__.rpartition(".")[2] for form in formats()} == set(FORMS)  # type: ignore[attr-defined]
    assert len({form.TITLE for form in formats()}) == len(FORMS)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_every_format_is_known_by_its_content_alone(name: str, bom: bytes, newline: bytes) -> None:
    raw = bom + FORMS[name].replace(b"\n", newline)
    fitting = [form.__name__.rpartition(".")[2] for form in formats() if form.fits(look_at(raw))]  # type: ignore[attr-defined]
    assert fitting == [name]
    prompt = one(raw, "whatever.bin")
    assert (prompt.text, prompt.target, prompt.known) == ("Sort this list.", "sorting", True)
    assert prompt.source.startswith("whatever.bin:")


@pytest.mark.parametrize("name", ["eval_sets", "trigger_queries", "labelled_lines"])
def test_json_may_be_indented(name: str) -> None:
    raw = json.dumps(json.loads(FORMS[name]), indent=4).encode()
    assert one(raw).target == "sorting"


def test_the_labels_of_the_plans_records_are_kept() -> None:
    text: dict[str, Any] = {"reason": "why", "family": "f", "split": "test"}
    named = {"acceptable_secondary_skills": ["plotting"], "rejected_skills": ["csv-tools"]}
    lists: dict[str, Any] = {"acceptable": ("plotting",), "rejected": ("csv-tools",), "tags": ("a", "b")}
    assert one(lines(PLAN | text | named | {"tags": ["a", "b"]})) == Prompt(
        "p1", "Sort this list.", "sorting", source="prompts.jsonl:1", **text, **lists
    )


ROWS: dict[str, tuple[Mapping[str, Any], str, tuple[str | None, bool, tuple[str, ...]]]] = {
    "true": (ROW, "", ("sorting", True, ())),
    "false says only who must not fire": (NOT, "", (None, False, ("sorting",))),
    "false for nobody": ({"query": "x", "skill": None, "should_trigger": False}, "", (None, True, ())),
    "false for none": ({"query": "x", "skill": "none", "should_trigger": False}, "", (None, True, ())),
    "false, another expected": (NOT | {"expected": "plotting"}, "", ("plotting", True, ("sorting",))),
    "false, nobody expected": (NOT | {"expected": None}, "", (None, True, ("sorting",))),
    "false, a remark": (NOT | {"expected": "plotting (if it must be)"}, "", (None, False, ("sorting",))),
    "true, a remark": (ROW | {"expected": "sorting (primary), plotting (secondary)"}, "", ("sorting", True, ())),
    "the skill of the folder": ({"query": "x", "should_trigger": True}, "plotting", ("plotting", True, ())),
    "not the folder's skill": ({"query": "x", "should_trigger": False}, "plotting", (None, False, ("plotting",))),
    "only an expected one": (
        {"question": "x", "expected_skill": "sorting"},
        "plotting",
        ("sorting", True, ("plotting",)),
    ),
    "only nobody expected": ({"question": "x", "expected_skill": None}, "plotting", (None, True, ("plotting",))),
    "named by its folder": ({"query": "x", "skill": "old-sorting", "should_trigger": True}, "", ("sorting", True, ())),
    "spaces around a name": ({"query": "x", "skill": " sorting ", "should_trigger": True}, "", ("sorting", True, ())),
}


@pytest.mark.parametrize(("row", "skill", "wanted"), ROWS.values(), ids=ROWS)
def test_what_a_record_about_one_skill_says(row: Mapping[str, Any], skill: str, wanted: Any) -> None:
    for raw in (lines(row), json.dumps([row]).encode()):
        prompt = one(raw, skill=skill)
        assert (prompt.expected, prompt.known, prompt.rejected) == wanted


def test_the_tasks_of_an_eval_set_are_meant_for_its_skill() -> None:
    data = {
        "skill_name": "sorting",
        "evals": [
            {"id": 1, "prompt": "Sort a."},
            {"id": "sorting.neg", "prompt": "Write a poem.", "expected_skill": "None"},
            {"id": 3, "prompt": "Plot b.", "should_trigger": False},
        ],
    }
    prompts = read(json.dumps(data, indent=1), skill="plotting").prompts
    assert [(p.prompt_id, p.target, p.rejected) for p in prompts] == [
        ("sorting:1", "sorting", ()),
        ("sorting.neg", NONE, ("sorting",)),
        ("sorting:3", None, ("sorting",)),
    ]
    assert [prompt.source for prompt in prompts] == ["prompts.jsonl:4", "prompts.jsonl:8", "prompts.jsonl:13"]


CSV: dict[str, tuple[str, list[tuple[str, str | None, tuple[str, ...]]]]] = {
    "commas": ("query,skill,should_trigger\na,sorting,yes\nb,plotting,0\n", [("a", "sorting", ()), ("b", None, ("plotting",))]),
    "semicolons": ("prompt;expected\na;sorting\nb;none\n", [("a", "sorting", ()), ("b", NONE, ())]),
    "tabs, odd headings": ("Query\tSkill\tShould Trigger\na\tsorting\tTRUE\n", [("a", "sorting", ())]),
    "a new line in quotes": ('query,skill,should_trigger\r\n"a\r\nb",sorting,true\r\n', [("a\nb", "sorting", ())]),
    "quotes in quotes": ('query,skill,should_trigger\n"say ""a"", b",sorting,true\n', [('say "a", b', "sorting", ())]),
    "an empty skill": ("query,skill,should_trigger\na,,false\n", [("a", NONE, ())]),
    "blank rows": ("query,skill,should_trigger\n\n,,\na,sorting,true\n\n", [("a", "sorting", ())]),
    "another expected": ("query,skill,should_trigger,expected\na,sorting,false,plotting\n", [("a", "plotting", ("sorting",))]),
    "other line ends within": ("query,skill,should_trigger\n\"a\x0bb\u2028c\",sorting,true\n", [("a\x0bb\u2028c", "sorting", ())]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), CSV.values(), ids=CSV)
def test_csv(text: str, wanted: Any) -> None:
    loaded = read(text, "labels.csv")
    assert loaded.problems == ()
    assert [(p.text, p.target, p.rejected) for p in loaded.prompts] == wanted


def test_csv_holds_families_tags_splits_and_ids() -> None:
    prompt = one('id,query,skill,should_trigger,family,tags,split\n7,a,sorting,true,f,"x; y,z",test\n')
    assert (prompt.prompt_id, prompt.family, prompt.tags, prompt.split) == ("7", "f", ("x", "y", "z"), "test")


UNNAMED, UNLIKE = "no skill is named", "nothing in it looks like labelled prompts"
AT_ODDS = "expected and rejected"
# What is wrong, as the file holds it -> what the one line about it must say.
BAD: dict[str, tuple[bytes | str, str]] = {
    "an empty file": ("", "x:1: the file is empty; name another file"),
    "blank": (" \n\r\n", "x:1: the file is empty"),
    "utf-16": ("{}".encode("utf-16"), "x:1: the file is UTF-16; save it as UTF-8"),
    "no prompts at all": ("hello\n", f"x:1: {UNLIKE}; what"),
    "a list of something else": ('[{"a": 1}]', UNLIKE),
    "a missing key": (lines({"prompt_id": "p", "prompt": "x"}), "x:1: expected_primary_skill is missing"),
    "a misspelled key": (lines(PLAN | {"tag": ["a"]}), '; did you mean "tags"?'),
    "an empty prompt": (lines(PLAN | {"prompt": " \t"}), "x:1: prompt is blank"),
    "no query": (lines({"skill": "sorting", "should_trigger": True, "prompt": None}), "prompt must be text, not null"),
    "broken JSON": (lines(PLAN)[:-5], "not JSON"),
    "not UTF-8": (lines(PLAN).replace(b"Sort", b"S\xff"), "x:1: bytes"),
    "not UTF-8 in a list": (FORMS["trigger_queries"].replace(b"Sort", b"S\xff"), "x:1: bytes"),
    "not UTF-8 in CSV": (FORMS["labelled_csv"].replace(b"Sort", b"S\xff"), "x:2: bytes"),
    "half a surrogate": (lines(PLAN).replace(b"Sort", b"\\ud800"), "x:1: half of a surrogate pair"),
    "deep nesting": (lines(PLAN).replace(b'"p1"', b"[" * 50_000 + b"]" * 50_000), "x:1: nested deeper than 32 levels"),
    "deep nesting in a list": (b'[{"query": ' + b"[" * 50_000 + b"]" * 50_000 + b"}]", "x:1: nested deeper than 32"),
    "a key twice": ('{"prompt_id": "a", "prompt_id": "b", "prompt": "x"}', 'the key "prompt_id" stands twice'),
    "5 MB": (lines(PLAN | {"prompt": "a" * 5_000_000}), "the request has 5,000,000 characters; 100,000 are allowed"),
    "5 MB in CSV": (f"query,skill,should_trigger\n{'a' * 5_000_000},sorting,true\n", "x:2: not CSV: field larger than"),
    "an unknown skill": (
        lines(PLAN | {"expected_primary_skill": "sortin"}),
        'called "sortin"; correct the name (did you mean "sorting"?), or remove',
    ),
    "none in words": (lines(PLAN | {"expected_primary_skill": "None"}), 'the expected skill is "None"; write null where'),
    "expected and rejected": (lines(PLAN | {"rejected_skills": ["sorting"]}), f'"sorting" is {AT_ODDS}'),
    "expected and rejected by its folder": (lines(PLAN | {"rejected_skills": ["old-sorting"]}), AT_ODDS),
    "an id that cannot be printed": (lines(PLAN | {"prompt_id": "a\x1b[2J"}), "is unusable; take up to 200 characters"),
    "an endless id": (lines(PLAN | {"prompt_id": "a" * 300}), "is unusable"),
    "no label": (lines({"query": "x", "skill": "sorting"}), "x:1: the label"),
    "no skill": (lines({"query": "x", "should_trigger": False}), f"x:1: {UNNAMED}"),
    "true for nobody": (lines({"query": "x", "skill": None, "should_trigger": True}), f"x:1: {UNNAMED}"),
    "true, another expected": (lines(ROW | {"expected": "plotting"}), 'true for "sorting", but "plotting" is expected'),
    "true, nobody expected": (lines(ROW | {"expected": None}), "but no skill is expected"),
    "false, the same expected": (lines(ROW | {"should_trigger": False, "expected": "sorting"}), "it is the one expected"),
    "text for true": (lines(ROW | {"should_trigger": "true"}), "should_trigger must be true or false, not text"),
    "nobody of ours": (lines(ROW | {"skill": "other", "should_trigger": False}), "must not fire is not in this collection"),
    "a number in a list": ("[1, {\"query\": \"x\", \"skill\": \"sorting\", \"should_trigger\": true}]", "x:1: not an object but a number"),
    "a list that does not end": ('[\n{"query": "x"},\n', "x:2: not JSON: the file does not end with the bracket"),
    "two lists": ('[{"query": "x"}], "a": [1]', "x:1: not JSON: something follows the end of the list"),
    "evals that are no list": ('{"evals": {"prompt": "x"}}', "evals must be a list, not an object"),
    "a quote that does not close": ('query,skill,should_trigger\na,sorting,true\n"b,sorting,true\nc,sorting,true\n', "x:3: not CSV"),
    "too many cells": ("query,skill,should_trigger\na, and b,sorting,true\n", "x:2: 4 cells, but the header names 3 columns"),
    "neither yes nor no": ("query,skill,should_trigger\na,sorting,maybe\n", 'x:2: should_trigger is "maybe"'),
    "tags that are no list": (lines(CASE | {"tags": "a"}), "x:1: tags must be a list of text"),
    "a split that is no text": (lines(CASE | {"split": 1}), "x:1: split must be text"),
    "known and not known": (lines(PLAN | {"expected_known": False}), "but expected_primary_skill names a skill"),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "wanted"), BAD.values(), ids=BAD)
def test_a_bad_record_is_one_clear_line(raw: bytes | str, wanted: str) -> None:
    line = complaint(raw, "x")
    assert wanted in line
    assert line.isprintable()
    assert len(line) < 500


def test_what_is_good_beside_a_bad_record_is_read() -> None:
    two, three = PLAN | {"prompt_id": "p2", "prompt": "Plot."}, PLAN | {"prompt_id": "p3", "prompt": "c"}
    loaded = read(lines(PLAN, two) + b"garbage\n" + lines(three))
    assert [prompt.prompt_id for prompt in loaded.prompts] == ["p1", "p2", "p3"]
    assert [problem.line for problem in loaded.problems] == [3]
    csv = read('query,skill,should_trigger\n"a"b,sorting,true\nc,sorting,true\n')
    assert [prompt.text for prompt in csv.prompts] == ["c"]
    assert [problem.line for problem in csv.problems] == [2]


def test_a_broken_first_line_does_not_hide_the_format() -> None:
    for first in (b"{broken\n", b"garbage\n", b"[1]\n"):
        loaded = read(first + lines(PLAN)) if first[:1] != b"[" else read(lines(PLAN) + first)
        assert len(loaded.prompts) == 1
        assert len(loaded.problems) == 1


CLASHES: dict[str, tuple[list[Mapping[str, Any]], str]] = {
    "an id twice": ([PLAN, PLAN | {"prompt": "Other."}], 'x:2: the id "p1" is taken by x:1; give this record an id of its own'),
    "two answers": (
        [PLAN, {"prompt_id": "p2", "prompt": "sort  this list", "expected_primary_skill": "plotting"}],
        'x:2: the same request expects "plotting" here and "sorting" in x:1; decide which label is right',
    ),
    "an answer and none": ([PLAN, PLAN | {"prompt_id": "p2", "expected_primary_skill": None}], "expects no skill here"),
    "accepted and rejected": (
        [PLAN | {"acceptable_secondary_skills": ["plotting"]}, PLAN | {"prompt_id": "p2", "rejected_skills": ["plotting"]}],
        'for the same request "plotting" is rejected here and accepted in x:1',
    ),
    "fires and fires not": ([ROW, ROW | {"should_trigger": False}], '"sorting" is rejected here and accepted in x:1'),
    "fires for two": ([ROW, ROW | {"skill": "plotting"}], 'expects "plotting" here and "sorting" in x:1'),
    "two splits": ([ROW | {"split": "test"}, ROW | {"split": "train"}], 'in the split "train" here and in "test"'),
}  # fmt: skip


@pytest.mark.parametrize(("records", "wanted"), CLASHES.values(), ids=CLASHES)
def test_records_at_odds(records: list[Mapping[str, Any]], wanted: str) -> None:
    loaded = read(lines(*records), "x")
    assert len(loaded.prompts) == 1
    assert [wanted in problem_line(problem) for problem in loaded.problems] == [True]


def test_what_several_records_say_of_one_request_is_joined() -> None:
    other = ROW | {"skill": "plotting", "should_trigger": False}
    for order in permutations([ROW, other, ROW | {"skill": "csv-tools", "should_trigger": False}]):
        loaded = read(lines(*order))
        assert loaded.problems == ()
        (prompt,) = loaded.prompts
        assert prompt.target == "sorting"
        assert set(prompt.rejected) == {"plotting", "csv-tools"}
        assert prompt.prompt_id == content_id("Sort this list.")
        assert any("the labels are joined" in note for note in loaded.notes)


def test_labels_that_name_nobody_are_noted_and_passed_over() -> None:
    loaded = read(lines(PLAN | {"acceptable_secondary_skills": ["gone", "plotting"], "rejected_skills": ["lost"]}))
    assert (loaded.prompts[0].acceptable, loaded.prompts[0].rejected) == (("plotting",), ())
    assert 'no skill is called "gone", "lost"' in loaded.notes[-1]


def test_the_prompts_of_another_collection_are_one_problem() -> None:
    records = [PLAN | {"prompt_id": f"p{n}", "expected_primary_skill": f"foreign-{n}"} for n in range(30)]
    assert complaint(lines(*records), "x").startswith("x:1: none of the 30 skills that are named here")


def test_many_bad_records_are_counted() -> None:
    loaded = read(lines(*[PLAN | {"prompt_id": f"p{n}", "prompt": ""} for n in range(250)]))
    assert len(loaded.problems) == 100
    assert problem_line(loaded.problems[-1]).startswith("prompts.jsonl:100: prompt is blank (and 150 more bad records")


def test_the_order_of_the_files_does_not_matter() -> None:
    files = [
        PromptFile("b.jsonl", lines(PLAN)),
        PromptFile("a.json", FORMS["trigger_queries"]),
        PromptFile("c.csv", b"query,skill,should_trigger\nSort this list!,plotting,true\nz,sorting,true\n"),
    ]
    results = {read_prompts(order, KNOWN) for order in permutations(files)}
    assert len(results) == 1


def test_files_and_folders_are_found(tmp_path: Path) -> None:
    skill = tmp_path / "skills" / "sorting"
    (skill / "evals").mkdir(parents=True)
    (skill / "evals" / "trigger-queries.json").write_bytes(b'[{"query": "a", "should_trigger": true}]')
    (skill / "evals" / "evals.json").write_bytes(b'{"cases": []}')
    (tmp_path / "evals" / "plotting").mkdir(parents=True)
    (tmp_path / "evals" / "plotting" / "eval_set.json").write_bytes(b'[{"query": "b", "should_trigger": false}]')
    (tmp_path / "notes.json").write_bytes(b"[]")
    loaded = load_prompts([str(tmp_path), str(skill / "evals" / "trigger-queries.json")], KNOWN, str(tmp_path))
    assert [(p.text, p.target, p.rejected, p.source) for p in loaded.prompts] == [
        ("b", None, ("plotting",), "evals/plotting/eval_set.json:1"),
        ("a", "sorting", (), "skills/sorting/evals/trigger-queries.json:1"),
    ]
    assert loaded.problems == ()
    assert "skills/sorting/evals/evals.json: passed over, because it holds no labelled prompts" in loaded.notes
    (problem,) = load_prompts([str(skill / "evals" / "evals.json")], KNOWN).problems
    assert problem_line(problem).startswith("evals.json:1: ")


def test_a_path_that_is_not_there_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape("gone.jsonl")):
        load_prompts([str(tmp_path / "gone.jsonl")], KNOWN)
    with pytest.raises(UsageError, match="no file of prompts below"):
        load_prompts([str(tmp_path)], KNOWN)


def test_many_files_are_counted_and_not_named() -> None:
    row = b'[{"query": "q%d", "skill": "sorting", "should_trigger": true}]'
    files = [PromptFile(f"{n}.json", row % n) for n in range(9)]
    assert read_prompts(files, KNOWN).notes == ("9 files: trigger queries, 9 read",)


def test_skills_are_known_by_their_folder_where_that_is_nobodys_name() -> None:
    def listed(name: str, folder: str) -> ListedSkill:
        return ListedSkill(name, "", path=f"{folder}/SKILL.md")

    shown = (listed("a", "x/first"), listed("b", "x/a"), listed("c", "x/twice"), listed("d", "y/twice"))
    known = known_skills(Catalogue(shown, omitted=(listed("e", "hidden"),)))
    assert known.name_of("first") == "a"
    assert known.name_of("a") == "a"
    assert known.name_of("twice") is None
    assert known.name_of("e") == known.name_of("hidden") == "e"
    assert known.owner("x/first/evals/q.json", "/r/x/first/evals/q.json") == "a"
    assert known.owner("x/a/q.json", "/r/x/a/q.json") == "b"
    assert known.owner("q.json", "/r/q.json") == ""
    assert known.owner(None, "/elsewhere/evals/d/q.json") == "d"


def test_lines_of_items() -> None:
    text, items = read_list(b'[ {"a": "]["},\n\n [1,\n2], 3\n , "x\\n"]')
    assert list(item_lines(text, 0)) == [1, 3, 4, 5]
    assert len(items) == 4
    with pytest.raises(JsonProblem, match="stands twice"):
        read_list(b'[{"a": 1, "a": 2}]')


WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(str.strip)
NAMES = st.sampled_from(sorted(KNOWN.names))


@given(st.binary(max_size=200))
def test_no_bytes_raise(raw: bytes) -> None:
    begun = (b'{"prompt_id": "', b"query,skill,should_trigger\n", b'[{"query":"a","skill":"sorting"')
    for start in (b"", b"[", b"{", *begun):
        loaded = read(start + raw)
        assert all("\n" not in problem_line(problem) for problem in loaded.problems)


@given(st.sampled_from(sorted(FORMS)), st.data())
def test_no_mutation_raises(name: str, data: st.DataObject) -> None:
    raw = bytearray(FORMS[name] * 2 if name == "labelled_lines" else FORMS[name])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        raw = raw or bytearray(b" ")
    loaded = read(bytes(raw))
    assert loaded.prompts or loaded.problems or not raw.strip() or loaded.notes


@st.composite
def prompts(draw: st.DrawFn) -> Prompt:
    known = draw(st.booleans())
    expected = draw(st.none() | NAMES) if known else None
    others = sorted(KNOWN.names - {expected})
    rejected = draw(st.lists(st.sampled_from(others), unique=True, min_size=0 if known else 1))
    acceptable = draw(st.lists(st.sampled_from(others), unique=True))
    return Prompt(
        prompt_id=draw(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)),
        text=draw(WORDS),
        expected=expected,
        known=known,
        acceptable=tuple(acceptable),
        rejected=tuple(rejected),
        family=draw(st.just("") | WORDS),
        tags=tuple(draw(st.lists(WORDS, unique=True, max_size=3))),
        split=draw(st.sampled_from(["", "train", "test"])),
        reason=draw(st.just("") | WORDS),
        source="prompts.jsonl:1",
    )


@given(prompts())
def test_a_written_prompt_is_read_back(prompt: Prompt) -> None:
    line = prompt_line(prompt)
    assert line.count("\n") == 1
    assert one(line) == prompt
    Draft202012Validator(load_schema("router-prompt")).validate(json.loads(line))


@pytest.mark.slow
@given(st.lists(prompts(), max_size=8, unique_by=lambda prompt: prompt.prompt_id))
def test_every_record_becomes_a_prompt_or_a_problem(found: list[Prompt]) -> None:
    loaded = read("".join(map(prompt_line, found)) or " ")
    if found:
        assert len(loaded.prompts) + len(loaded.problems) == len(found)
        kept = {prompt.prompt_id: prompt for prompt in found}
        assert all(replace(kept[p.prompt_id], source=p.source) == p for p in loaded.prompts)


def test_the_longest_request_that_is_allowed_is_read() -> None:
    assert len(one(lines(PLAN | {"prompt": "a" * MAX_TEXT})).text) == MAX_TEXT


def test_the_published_schema_of_labelled_queries_says_what_is_read() -> None:
    schema = load_schema("labelled-query")
    Draft202012Validator.check_schema(schema)
    for row, _, _ in ROWS.values():
        Draft202012Validator(schema).validate(row)
