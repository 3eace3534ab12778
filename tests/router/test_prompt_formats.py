"""What others call their labelled prompts: YAML, comments, other keys, `--map`, and folders without telling names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from odd_values import oddities

from skill_health.core.errors import UsageError
from skill_health.core.strict_json import JsonProblem
from skill_health.registries import strict_yaml
from skill_health.registries.records import problem_line
from skill_health.registries.strict_yaml import read_yaml
from skill_health.router.prompts._api import Known, PromptFile
from skill_health.router.prompts._load import count_reasons, load_prompts, read_prompts
from skill_health.router.prompts._mapped import parse_map
from skill_health.router.records import NONE

# What is named in the line on a record without a skill, and in that on a file that holds no labels.
UNNAMED, UNLIKE = "`skill`", "--map prompt=FIELD,skill=FIELD"
KNOWN = Known(frozenset(("sorting", "plotting", "tools:csv")), {"csv": ("tools:csv",)}, {"skills/sorting": "sorting"})


def read(raw: str | bytes, fields: str = "", skill: str = "", path: str = "f") -> Any:
    raw = raw.encode() if isinstance(raw, str) else raw
    return read_prompts([PromptFile(path, raw, skill)], KNOWN, parse_map(fields) if fields else None)


def labels(raw: str | bytes, fields: str = "", skill: str = "") -> list[Any]:
    """(request, target, acceptable, rejected) of each prompt; target "?" where the right answer is not known."""
    loaded = read(raw, fields, skill)
    assert [problem_line(problem) for problem in loaded.problems] == []
    return [(p.text, p.target if p.known else "?", p.acceptable, p.rejected) for p in loaded.prompts]


def complaints(raw: str | bytes, fields: str = "") -> list[str]:
    return [problem_line(problem) for problem in read(raw, fields).problems]


# --- Keys that others use ---

NULL = ("a", NONE, (), ())
ROWS: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "empty text for nobody": ({"prompt": "a", "expected_skill": ""}, NULL),
    "expect": ({"prompt": "a", "expect": "sorting", "why": "It sorts."}, ("a", "sorting", (), ())),
    "expect nobody": ({"prompt": "a", "expect": None}, NULL),
    "owner": ({"prompt": "a", "skill": "sorting", "expected_owner": "plotting"}, ("a", "plotting", (), ("sorting",))),
    "a route": ({"prompt": "a", "should_fire": False, "route_to": "plotting"}, ("a", "plotting", (), ())),
    "its own owner": ({"prompt": "a", "skill": "sorting", "expected_owner": "sorting"}, ("a", "sorting", (), ())),
    "one of a list": (
        {"user_prompt": "a", "expected_skills": ["csv"], "should_activate": True}, ("a", "tools:csv", (), ()),
    ),
    "two of a list": (
        {"user_prompt": "a", "expected_skills": ["csv", "sorting"], "should_activate": True},
        ("a", "tools:csv", ("sorting",), ()),
    ),
    "an empty list": ({"user_prompt": "a", "expected_skills": [], "should_activate": False}, NULL),
    "a list for one": ({"prompt": "a", "expected_skill": ["plotting"]}, ("a", "plotting", (), ())),
    "acceptable and rejected": (
        {"prompt": "a", "expected": "sorting", "acceptable": ["plotting"], "rejected": "csv"},
        ("a", "sorting", ("plotting",), ("tools:csv",)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", ["lines", "list", "cases"])
@pytest.mark.parametrize("name", ROWS)
def test_other_names_for_the_same(name: str, shape: str) -> None:
    row, wanted = ROWS[name]
    raw = {"lines": json.dumps(row), "list": json.dumps([row]), "cases": json.dumps({"cases": [row]}, indent=1)}[shape]
    assert labels(raw) == [wanted]


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ({"prompt": "a", "expected_skills": ["sorting"], "should_activate": False}, UNNAMED),
        ({"prompt": "a", "expected_skills": [], "should_activate": True}, UNNAMED),
        ({"prompt": "a", "expected_skills": [3]}, '"[3]"'),
        ({"prompt": "a", "expect": "sorting the list"}, '"sorting the list"'),
    ],
)
def test_labels_that_say_nothing_clear(row: dict[str, Any], wanted: str) -> None:
    (line,) = complaints(json.dumps(row))
    assert wanted in line


def test_what_a_task_of_an_eval_set_expects_is_no_skill() -> None:
    raw = json.dumps({"skill_name": "sorting", "evals": [{"prompt": "a", "expect": "A sorted list."}]})
    assert labels(raw) == [("a", "sorting", (), ())]


def test_lines_may_be_comments() -> None:
    raw = '// Routing: "prompt", "expect".\n\n{"prompt": "a", "expect": "sorting"}\n  // more\n{"prompt": "b", "expect": null}\n'
    loaded = read(raw)
    assert [(prompt.target, prompt.source) for prompt in loaded.prompts] == [("sorting", "f:3"), (NONE, "f:5")]
    assert labels('{"prompt": "a // b", "expect": "sorting"}') == [("a // b", "sorting", (), ())]


# --- YAML ---

WAZA = """# Trigger tests
skill: sorting
should_trigger_prompts:
  - prompt: "Sort: this"
    reason: It sorts.
    confidence: high
  - Order these
should_not_trigger_prompts:
  - prompt: Draw a chart
"""
PROMPTFOO = """
prompts: ['{{request}}']
tests:
  - vars: {request: Sort this}
    assert:
      - type: skill-used
        value: sorting
      - type: regex
        value: 'x+'
  - vars: {prompt: Read it, language: French}
    assert:
      - {type: skill-used, value: {name: 'tools:csv'}}
      - {type: not-skill-used, value: [sorting, plotting]}
  - vars: {prompt: Hello}
    assert:
      - {type: not-skill-used, value: sorting}
"""


def test_wazas_trigger_tests() -> None:
    wanted = [("Sort: this", "sorting", (), ()), ("Order these", "sorting", (), ())]
    assert labels(WAZA) == [*wanted, ("Draw a chart", "?", (), ("sorting",))]
    assert [prompt.source for prompt in read(WAZA).prompts] == ["f:4", "f:7", "f:9"]
    assert labels(WAZA.replace("skill: sorting\n", ""), skill="sorting") == labels(WAZA)


def test_promptfoos_tests() -> None:
    wanted = [
        ("Sort this", "sorting", (), ()),
        ("Read it", "tools:csv", (), ("sorting", "plotting")),
        ("Hello", "?", (), ("sorting",)),
    ]
    assert labels(PROMPTFOO) == wanted
    alone = "- vars: {prompt: Sort this}\n  assert:\n    - {type: skill-used, value: sorting}\n"
    assert labels(alone) == wanted[:1]
    shared = "defaultTest:\n  assert:\n    - {type: skill-used, value: sorting}\ntests:\n  - vars: {prompt: Sort this}\n    assert: []\n"
    assert labels(shared) == wanted[:1]


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("skill: sorting\nshould_trigger_prompts: yes\n", "f:1: should_trigger_prompts must be a list"),
        (
            "skill: sorting\nshould_trigger_prompts:\n  - prompt: a\n    prompt: b\n",
            'f:4: the key "prompt" stands twice',
        ),
        ("skill: sorting\nshould_trigger_prompts:\n  - [a]\n", "f:3: not an object but a list"),
        ("skill: sorting\nshould_trigger_prompts:\n  - prompt: [\n", "not YAML"),
        ("skill: nobody\nshould_trigger_prompts:\n  - a\n", "f:3: no skill of this collection"),
        ("should_trigger_prompts:\n  - a\n", UNNAMED),
        ("tests: file://x\ndefaultTest:\n  vars: {a: b}\n  assert: []\n", "the tests are in other files"),
        ("tests:\n  - vars: {a: b, c: d}\n    assert: []\n", "not to be found among the variables"),
        (
            "tests:\n  - vars: {a: b}\n    assert:\n      - type: javascript\n        value: x\n",
            "f:2: no assertion skill-used",
        ),
        ("title: Some\nsteps:\n  - run: this\n", UNLIKE),
    ],
)
def test_a_bad_yaml_file_is_one_clear_line(raw: str, wanted: str) -> None:
    (line,) = complaints(raw)
    assert wanted in line


def test_tags_of_yaml_make_nothing() -> None:
    raw = WAZA.replace("skill: sorting", 'skill: !!python/object/apply:os.getcwd ["sorting"]\nskill-is: sorting')
    assert UNNAMED in complaints(raw)[0]
    assert labels(WAZA.replace("skill: sorting", "skill: !ours sorting")) == labels(WAZA)


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30))


def test_aliases_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert strict_yaml._MOST == 1_000_000
    with monkeypatch.context() as patch:
        patch.setattr(strict_yaml, "_MOST", 20_000)
        with pytest.raises(JsonProblem, match="more than 20,000 values"):
            read_yaml(BOMB.encode())
    with pytest.raises(JsonProblem, match=r"nested deeper|not YAML"):
        read_yaml(b"a: &a [*a]")
    assert read_yaml(b"a: &x [1, true, null, 'yes']\nb: *x") == {key: ["1", True, None, "yes"] for key in "ab"}


@pytest.mark.parametrize(
    "document",
    [
        yaml.safe_load(WAZA),
        yaml.safe_load(PROMPTFOO),
        yaml.safe_load(PROMPTFOO)["tests"],
        *(row for row, _ in ROWS.values()),
    ],
    ids=["waza", "promptfoo", "promptfoo tests", *ROWS],
)
def test_whatever_stands_in_place_of_a_value_is_read_or_a_bad_record(document: Any) -> None:
    for made in oddities(document):
        for raw in (json.dumps(made), yaml.safe_dump(made)):
            assert all(problem_line(problem).isprintable() for problem in read(raw).problems)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_of_yaml_raise_anything_else(raw: bytes) -> None:
    for before in (b"", b"skill: sorting\nshould_trigger_prompts:\n  - ", b"tests:\n  - vars: {a: b}\n    assert: "):
        loaded = read(before + raw)
        assert all(problem_line(problem).isprintable() for problem in loaded.problems)


# --- --map ---

MAP = "prompt=question,skill=target"
RECORDS = [{"question": "a", "target": "sorting", "n": 1}, {"question": "b", "target": None}]
MAPPED = {
    "list": json.dumps(RECORDS),
    "lines": "\n".join(map(json.dumps, RECORDS)),
    "lines with comments": "// about\n" + "\n".join(map(json.dumps, RECORDS)),
    "object with a list": json.dumps({"version": 1, "notes": ["x"], "data": RECORDS}, indent=2),
    "yaml list": "- question: a\n  target: sorting\n- question: b\n  target: null\n",
    "yaml object": "version: 1\ndata:\n  - {question: a, target: sorting}\n  - {question: b, target: ''}\n",
    "csv": "question,target\na,sorting\nb,\n",
    "csv with semicolons": "n;target;question\n1;sorting;a\n2;none;b\n",
    "csv with tabs": "question\ttarget\r\na\tsorting\r\nb\t\r\n",
}


@pytest.mark.parametrize("name", MAPPED)
def test_any_file_can_be_mapped(name: str) -> None:
    assert labels(MAPPED[name], MAP) == [("a", "sorting", (), ()), ("b", NONE, (), ())]


def test_an_object_of_yaml_can_be_mapped() -> None:
    raw = "skill: sorting\ninput: |\n  Sort this\nexpect:\n  - a sorted list\n"
    assert labels(raw, "prompt=input,skill=skill") == [("Sort this\n", "sorting", (), ())]


def test_paths_lists_and_triggers_can_be_mapped() -> None:
    raw = json.dumps([{"in": {"text": "a"}, "want": ["sorting", "csv"], "number": "n1"}])
    assert labels(raw, "prompt=in.text,skill=want,id=number") == [("a", "sorting", ("tools:csv",), ())]
    rows = [{"q": "a", "s": "sorting", "f": True}, {"q": "b", "s": "sorting", "f": False}]
    wanted = [("a", "sorting", (), ()), ("b", "?", (), ("sorting",))]
    assert labels(json.dumps(rows), "prompt=q,skill=s,should_trigger=f") == wanted
    assert labels("q,s,f\na,sorting,TRUE\nb,sorting,false\n", "prompt=q,skill=s,should_trigger=f") == wanted


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ('[{"q": "a"}]', 'f:1: no record has "question", which --map takes for the prompt; there are "q"'),
        ('[{"question": "a"}]', 'no record has "target"'),
        ('[{"question": 3, "target": "sorting"}]', 'f:1: no text in "question"'),
        ('[{"question": "a", "target": "sorted"}]', "did you mean" ),
        ('[\n3,\n{"question": "a", "target": "sorting"}]', "f:2: not an object but a number"),
        ('{"a": [{"question": "x"}], "b": [{"question": "y"}]}', 'several lists hold such records: "a", "b"'),
        ("just words", "neither JSON"),
        ("question,target\na,sorting,more\n", "f:2: 3 cells"),
        ('{"question": "a", "target": "sorting"}\n{"question": \n', "not JSON"),
        ('[{"question": "a", "target": "sorting", "target": "plotting"}]', "stands twice"),
        ("- question: a\n  target: sorting\n- question: b\n", 'f:3: there is no "target"'),
    ],
)  # fmt: skip
def test_a_mapped_record_that_is_none_is_one_clear_line(raw: str, wanted: str) -> None:
    line = complaints(raw, MAP)[0]
    if "did you mean" in wanted:
        assert '"sorted"' in line
    else:
        assert wanted in line


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("prompt", "maps nothing; write prompt=FIELD"),
        ("prompt=a", "--map needs skill"),
        ("promt=a,skill=b", "did you mean prompt=?"),
        ("prompt=,skill=b", "maps nothing"),
        ("prompt=a,skill=b,prompt=c", "stands twice"),
    ],
)
def test_a_map_that_says_nothing_clear(text: str, wanted: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_map(text)
    assert wanted in str(caught.value)


@given(st.binary(max_size=100), st.sampled_from(list(MAPPED.values())), st.integers(0, 60))
def test_no_bytes_under_a_map_raise(raw: bytes, good: str, at: int) -> None:
    for text in (raw, good.encode()[:at] + raw + good.encode()[at:]):
        read(text, MAP)


# --- Folders and reasons ---


def test_a_folder_without_telling_names_is_looked_through(tmp_path: Path) -> None:
    for name in ("sorting", "plotting"):
        row = {"id": f"{name}-1", "prompt": f"do {name}", "expected_skill": name}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row), "utf-8")
    (tmp_path / "negative.jsonl").write_text('{"id": "n", "prompt": "hello", "expected_skill": ""}\n', "utf-8")
    (tmp_path / "suite.yaml").write_text("task: routes\ndataset:\n  paths: [sorting.jsonl]\n", "utf-8")
    (tmp_path / "README.md").write_text("query, skill, should_trigger\n", "utf-8")
    loaded = load_prompts([str(tmp_path)], KNOWN)
    assert [prompt.target for prompt in loaded.prompts] == [NONE, "plotting", "sorting"]
    assert any(note.startswith("suite.yaml: ") for note in loaded.notes)
    (tmp_path / "trigger_tests.yaml").write_text(WAZA, "utf-8")
    assert {prompt.source.partition(":")[0] for prompt in load_prompts([str(tmp_path)], KNOWN).prompts} == {
        "trigger_tests.yaml"
    }


def test_a_glob_names_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, folder in enumerate(("a/evals", "a/b/evals", "c", "evals", ".git/evals")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x.jsonl").write_text(f'{{"prompt": "p{number}", "expect": "sorting"}}', "utf-8")
    (tmp_path / "[x].jsonl").write_text('{"prompt": "q", "expect": "sorting"}', "utf-8")
    (tmp_path / "c" / "loop").symlink_to(tmp_path)

    def texts(*paths: str) -> list[str]:
        return sorted(prompt.text for prompt in load_prompts(paths, KNOWN).prompts)

    assert texts(f"{tmp_path}/**/evals/*.jsonl") == ["p0", "p1", "p3"]
    monkeypatch.chdir(tmp_path)
    assert texts("a/**/x.jsonl", "a/evals/x.jsonl") == ["p0", "p1"]
    assert texts("*/x.jsonl", "./c/?.jsonl") == ["p2", "p3"]
    assert texts("[x].jsonl") == ["q"]
    with pytest.raises(UsageError, match="z/"):
        texts("z/*.json")


def test_what_is_left_out_is_counted_by_reason() -> None:
    rows = [{"prompt": f"p{n}", "expect": f"nobody-{n}"} for n in range(3)]
    raw = "\n".join(map(json.dumps, [*rows, {"prompt": "x"}, {"prompt": "y", "expect": "sorting"}]))
    unknown, unlabelled = count_reasons(read(raw).problems)
    assert unknown.startswith("3 records left out: ") and unknown.endswith(' "…"')
    assert unlabelled == "1 record left out: the label is missing"
    rows = [{"id": "i", "prompt": f"p {n}", "expect": "sorting"} for n in range(4)]
    assert list(count_reasons(read("\n".join(map(json.dumps, rows))).problems)) == [
        '3 records left out: the id "…" is taken by another record'
    ]


# --- Scenarios of evals ---

GRADED = """
stimuli:
  - prompt: Sort this
    graders:
      - {type: skill-invocation, config: {required: [sorting], disallowed: [plotting]}}
      - {type: output-matches, config: {required: [plotting]}}
  - prompt: Draw this
    graders:
      - {type: skill-invocation, config: {disallowed: [sorting]}}
  - prompt: Read it and sort it
    graders:
      - {type: skill-invocation, config: {required: csv}}
      - {type: skill-invocation, config: {required: [sorting]}}
"""


def test_a_scenario_is_a_task_for_the_skill_of_its_folder() -> None:
    raw = "scenarios:\n  - name: x\n    prompt: Sort this\n  - prompt: Draw this\n    expect_activation: false\n"
    assert labels(raw, skill="sorting") == [
        ("Sort this", "sorting", (), ()), ("Draw this", "?", (), ("sorting",)),
    ]  # fmt: skip
    assert [prompt.source for prompt in read(raw, skill="sorting").prompts] == ["f:2", "f:4"]
    assert UNNAMED in complaints(raw)[0]


def test_a_grader_says_which_skill_is_right() -> None:
    assert labels(GRADED, skill="plotting") == [
        ("Sort this", "sorting", (), ("plotting",)),
        ("Draw this", "?", (), ("sorting",)),
        ("Read it and sort it", "tools:csv", ("sorting",), ()),
    ]


@pytest.mark.parametrize(
    ("item", "wanted"),
    [
        ("prompt: a", "no grader skill-invocation names a skill"),
        ("{prompt: a, graders: none}", "no grader skill-invocation names a skill"),
        ("{prompt: a, graders: [3, {type: skill-invocation, config: []}]}", "no grader skill-invocation names a skill"),
        ("turns: [{prompt: a}, {prompt: b}]", "a conversation, not one request"),
        ("a", "not an object but text"),
        ("{graders: [{type: skill-invocation, config: {required: sorting}}]}", "prompt"),
    ],
)
def test_a_stimulus_that_says_nothing_clear(item: str, wanted: str) -> None:
    loaded = read(f"stimuli:\n  - {item}\n" + GRADED.partition("stimuli:\n")[2])
    (line,) = map(problem_line, loaded.problems)
    assert wanted in line
    assert len(loaded.prompts) == 3


def test_scenarios_that_are_no_list() -> None:
    assert "scenarios must be a list" in complaints("scenarios:\n  prompt: a\n")[0]


# --- Tests in JavaScript ---


def code(*parts: str) -> str:
    """A file of tests for the skill sorting."""
    return 'const SKILL_NAME: string = "sorting";\ndescribe("x", () => {\n' + "\n".join(parts) + "\n});\n"


def each(name: str, fires: bool) -> str:
    said = f"expect(matcher.shouldTrigger(prompt).triggered).toBe({str(fires).lower()})"
    return f"test.each({name})('%s', (prompt) => {{ {said}; }});"


SORT, DRAW = ("Sort this", "sorting", (), ()), ("Draw this", "?", (), ("sorting",))
CODE = {
    "whatever the list is called": code("const some: string[] = ['Sort this'];", each("some", True)),
    "a list without a name": code(each("['Sort this',]", True), each("['Draw this']", False)),
    "lists first, tests afterwards": code(
        "const yes = ['Sort this'], no = 3;", "let wrong = ['Draw this'];", each("yes", True), each("wrong", False)
    ),
    "one name in two blocks": code(
        "const p = ['Sort this'];", each("p", True), "describe('y', () => {", "const p = ['Draw this'];", each("p", False), "});"
    ),
    "loops": code(
        "const p = ['Sort this'];", "for (const one of p) { it(`x ${one}`, () => {",
        "expect(isTriggered(one)).toBeTruthy() }) }", "['Draw this'].forEach(q => expect(triggers(q)).not.toEqual(true));",
    ),
    "names that say it": code("const shouldTriggerPrompts = ['Sort this'];", "const nonTriggerQueries = ['Draw this'];"),
    "an assertion about something else first": code(
        "const p = ['Sort this'];", "expect(p.length > 2).toBe(false);", each("p", True)
    ),
    "comments and expressions": code(
        "// const q = ['not this'];", "/* ['nor', 'this'] */ const words = text.split(/['\"[/]/);", "const half = 4 / 2 / 1;",
        "const p = ['Sort' + ' this'];", each("p", True),
    ),
    "lists of something else": code(
        "const words: ReadonlyArray<string> = ['a', 'b'];", "expect(keywords['csv']).toEqual(['x']);",
        each("['Sort this']", True), "expect(words[0]).toBe('a');",
    ),
    "the skill is loaded": code(each("['Sort this']", True)).replace("SKILL_NAME: string =", "x =").replace(
        "test.each", "const s = loadSkill('sorting'); test.each"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CODE)
def test_lists_of_prompts_in_code(name: str) -> None:
    found = labels(CODE[name])
    assert found in ([SORT], [SORT, DRAW])
    assert (DRAW in found) == ("Draw this" in CODE[name])


def test_two_skills_in_one_file_and_none() -> None:
    two = code(each("['Sort this']", True), 'const otherSkill = "plotting";', each("['Draw this']", True))
    assert labels(two) == [SORT, ("Draw this", "plotting", (), ())]
    none = code(each("['Sort this']", True)).replace("SKILL_NAME", "NAME")
    assert labels(none, skill="sorting") == [SORT]
    assert UNNAMED in complaints(none)[0]


ITEM = "an item of a list of prompts is no plain text"


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ("`for ${x}`, 'Sort this'", ITEM), ("...others, 'Sort this'", ITEM), ("'Sort this', 'a'.repeat(3)", ITEM),
        ("'Sort this', 'a' + b", ITEM), ("'Sort this', ['a']", ITEM), ("'Sort this', {prompt: 'a'}", ITEM),
        ("'Sort this', ''", "query"),
    ],
)  # fmt: skip
def test_what_is_no_plain_text_is_one_clear_line(items: str, wanted: str) -> None:
    loaded = read(code(f"const p = [{items}];", each("p", True)))
    assert [prompt.text for prompt in loaded.prompts] == ["Sort this"]
    assert [wanted in problem_line(problem) for problem in loaded.problems] == [True]
    assert loaded.problems[0].line == 3


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        (
            ["const prompts = ['a'];", "expect(triggers(x)).toBe(maybe);"],
            'nothing says whether "prompts" should trigger',
        ),
        (["const prompts = ['a'];", "describe('y', f);", "expect(triggers(x)).toBe(true);"], '"prompts"'),
        (["const notTriggerPrompts = ['a'];", each("notTriggerPrompts", True)], "to trigger and not to trigger"),
        (["const p = ['a'];", each("p", True), each("p", False)], '"p" is said'),
    ],
)
def test_lists_without_a_clear_label(parts: list[str], wanted: str) -> None:
    (line,) = complaints(code(*parts, each("['Sort this']", True)))
    assert wanted in line


def test_code_that_is_not_closed_gives_what_was_closed() -> None:
    whole = code(each("['Sort this']", True))
    for rest in ("const p = ['a", 'const p = ["a", "b"', "`", "/*", "const r = /[", "[" * 500, "x = [('a', {"):
        assert labels(whole + rest) == [SORT]
    assert "more than 4 MiB" in complaints(whole + " " * (4 << 20))[0]


def test_code_about_something_else_and_yaml_with_code_in_it() -> None:
    assert UNLIKE in complaints("describe('x', () => { test.each(['a'])('b', f); });")[0]
    quoted = "\n".join(f"      {line}" for line in code(each("['a']", True)).splitlines())
    assert labels(f"scenarios:\n  - prompt: |\n{quoted}\n", skill="sorting")[0][1] == "sorting"


def test_tests_in_code_are_found_below_a_folder(tmp_path: Path) -> None:
    (tmp_path / "sorting").mkdir()
    raw = CODE["names that say it"].replace("SKILL_NAME", "NAME")
    (tmp_path / "sorting" / "triggers.test.ts").write_text(raw, "utf-8")
    (tmp_path / "sorting" / "database-trigger.test.js").write_text(
        "test('a', () => { createTrigger(['b']); });", "utf-8"
    )
    loaded = load_prompts([str(tmp_path)], KNOWN)
    assert [(prompt.target, prompt.known) for prompt in loaded.prompts] == [("sorting", True), (None, False)]
    assert loaded.problems == ()


@given(
    st.lists(
        st.text(min_size=1).filter(str.strip), min_size=1, unique_by=lambda text: " ".join(text.casefold().split())
    )
)
def test_any_literal_says_what_it_says(texts: list[str]) -> None:
    loaded = read(code(f"const p = {json.dumps(texts)};", each("p", True)))
    assert loaded.problems == ()
    assert [prompt.text for prompt in loaded.prompts] == texts


@given(st.binary(max_size=200), st.sampled_from(sorted(CODE)), st.integers(0, 300))
def test_no_bytes_in_code_raise(raw: bytes, name: str, at: int) -> None:
    whole = CODE[name].encode()
    read(whole[:at] + raw + whole[at:])


@given(st.text("'\"`[](){}/\\*=,\nax ", max_size=300))
def test_no_marks_in_code_raise(marks: str) -> None:
    read(code(marks, each("['Sort this']", True)))


@pytest.mark.parametrize("key", ["queries", "triggers", "cases"])
def test_a_set_without_labels_is_something_else(key: str) -> None:
    for records in ([{"prompt": "a", "class": "normal"}], [{"name": "a", "expected": "b"}], [], ["a"]):
        (line,) = complaints(json.dumps({"skill": "sorting", key: records}))
        assert UNLIKE in line
