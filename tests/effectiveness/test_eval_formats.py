"""Formats of evaluations: what of a file becomes a check, what waits for a judge, and what is said to be left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.documents._targets import NO_SKILL
from skill_health.effectiveness.checks._api import check_kinds
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._evals import safe_name
from skill_health.effectiveness.tasks._load import LoadedTasks, eval_formats, load_tasks
from skill_health.effectiveness.tasks.vally import seconds
from skill_health.effectiveness.tasks.waza import read_assertion

SKILL = "---\nname: sums\ndescription: Adds.\n---\n# Sums\n"


def load(root: Path, files: dict[str, str], where: str = "") -> LoadedTasks:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return load_tasks([str(root / where)], str(root))


def kinds(task: Task) -> list[str]:
    assert task.rubric
    return [each.check.kind if each.check else "judged" for each in task.rubric.criteria]


def given_to(task: Task, nth: int) -> dict[str, str]:
    check = task.rubric.criteria[nth].check if task.rubric else None
    assert check
    return dict(check.given)


NVIDIA = json.dumps(
    [
        {"id": "a", "question": "Add up.", "expected_skill": "sums", "expected_script": "scripts/add.py", "ground_truth": "3",
         "expected_behavior": ["Reads the file.", "Adds."], "must_not": ["guess"]},
        {"id": "b", "question": "Write a poem.", "expected_skill": None, "expected_behavior": []},
        {"id": "c", "question": "Add.", "expected_skill": "sums", "assertions": [
            {"type": "contains_phrase", "phrase": "Three", "text": "says three"},
            {"type": "not_contains_pattern", "pattern": "fo+ur", "text": "never four"}, {"name": "n", "text": "Is polite."}]},
    ]
)  # fmt: skip
DOTNET = """scenarios:
  - name: "Add two"
    prompt: Add up.
    timeout: 30
    setup:
      copy_test_files: true
      files: [{path: more.txt, content: "1"}]
      commands: ["dotnet build"]
    assertions:
      - {type: output_contains, value: Three}
      - {type: output_not_matches, pattern: "fo+ur"}
      - {type: file_exists, path: "*.csv"}
      - {type: file_not_contains, path: out.csv, value: x}
      - {type: exit_success}
      - {type: clairvoyance, value: x}
    expect_tools: [bash]
    reject_tools: [web]
    max_turns: 5
    rubric: ["It is polite."]
"""
VALLY = """name: sums
config: {timeout: 2m}
environment:
  commands: [npm install]
stimuli:
  - name: add
    prompt: Add up.
    graders:
      - {type: output-contains, config: {substring: three}}
      - {type: file-not-matches, config: {path: out.txt, pattern: "4+"}}
      - {type: run-command, config: {command: "test -f out.txt"}}
      - {type: skill-invocation, config: {required: [sums], forbidden: [poems]}}
      - {type: prompt, config: {prompt: "Is it polite?"}}
      - {type: error-count, config: {max: 1}}
    constraints: {max_turns: 10, max_tokens: 5000}
"""
WAZA = """name: sums-eval
skill: sums
config: {trials_per_task: 3, timeout_seconds: 30}
graders:
  - {type: code, name: some, config: {assertions: ["len(output) > 9", "open('/etc/passwd')", "'x' in output or 'y' in output"]}}
tasks: ["tasks/*.yaml"]
"""
WAZA_TASK = """id: add-1
inputs:
  prompt: Add up.
  files: [{path: in.txt}]
expected:
  output_contains: [three]
  output_contains_any: [a, b]
  behavior: {max_tool_calls: 5, max_response_time_ms: 3000}
  outcomes: [{type: task_completed}]
graders:
  - {type: text, name: t, config: {regex_match: ["thr+ee"], not_contains: [four]}}
  - {type: file, name: f, config: {must_exist: [out.txt], content_patterns: [{path: out.txt, must_match: ["3"]}]}}
  - {type: action_sequence, name: s, config: {matching_mode: in_order_match, expected_actions: [view, edit]}}
  - {type: skill_invocation, name: i, config: {required_skills: [sums], mode: any_order}}
  - {type: json_schema, name: j, config: {schema: {type: object, minProperties: 1}}}
  - {type: program, name: p, config: {command: grep, args: ["a b"]}}
  - {type: prompt, name: q, config: {prompt: "Is it polite?"}}
  - {type: human, name: h}
"""
UIPATH = """task_id: flow-one
description: d
tags: [sums, smoke]
initial_prompt: Add up.
run_limits: {task_timeout: 90}
pre_run: [{command: "python seed.py"}]
sandbox: {template_sources: [{type: template_dir, path: ../_shared/template}]}
success_criteria:
  - {type: run_command, description: runs, command: "python3 $TASK_DIR/check.py", expected_exit_code: 0, weight: 3.0}
  - {type: command_executed, description: called, tool_name: Bash, command_pattern: 'add\\s+up', min_count: 2}
  - {type: command_not_executed, description: not, command_pattern: 'rm', exclude_pattern: '--help'}
  - {type: file_contains, description: both, path: a.txt, includes: [x, y], excludes: [z], weight: 3.0}
  - {type: json_check, description: j, path: a.json, assertions: [{expression: "length(P)", operator: gte, expected: 2}]}
  - {type: json_check, description: jm, path: a.json, assertions: [{expression: "P | [0]", operator: gte, expected: 2}]}
  - {type: file_matches_regex, description: no, path: a.txt, pattern: x, must_match: false}
  - {type: cli_called, description: cli, tool: uip, verb: or folders list, flags: {version: "13"}}
  - {type: skill_triggered, description: s, skill_name: sums, expected_skill: sums}
  - {type: llm_judge, description: l, prompt: "Is it polite?"}
  - {type: file_exists, description: advisory, path: q, pass_threshold: 0}
"""
ROWS = """task_id: activation
dataset: {paths: [rows.jsonl]}
initial_prompt: "${row.prompt}"
success_criteria:
  - {type: skill_triggered, description: s, skill_name: sums, expected_skill: "${row.expected_skill}"}
"""
PROMPTFOO = """prompts: ["Do this: {{ask}}"]
defaultTest:
  assert: [{type: not-icontains, value: sorry}]
tests:
  - vars: {ask: Add up., name: Ann}
    assert:
      - {type: contains-all, value: [three, "{{name}}"]}
      - {type: equals, value: "3."}
      - {type: is-json, value: {type: object}}
      - {type: javascript, value: "process.exit()"}
      - {type: llm-rubric, value: Is polite}
      - {type: skill-used, value: sums}
      - {type: latency, threshold: 2000}
  - vars: {}
    assert: [{type: contains, value: x}]
"""


def test_evals_of_nvidia(tmp_path: Path) -> None:
    loaded = load(tmp_path, {"s/sums/SKILL.md": SKILL, "s/sums/evals/evals.json": NVIDIA})
    assert loaded.problems == ()
    one, two, three = loaded.tasks
    assert [one.id, two.id] == ["sums-eval-a", "sums-eval-b"] and two.target_name == NO_SKILL
    assert kinds(one) == ["judged", "judged", "judged", "tool_called", "judged"]
    assert kinds(two) == ["skill_used"] and given_to(two, 0) == {"skill": "sums", "absent": "yes"}
    assert kinds(three) == ["output_contains", "output_matches", "judged"]
    assert given_to(three, 1) == {"pattern": "fo+ur", "absent": "yes"}


def test_evals_beside_the_skills_and_triggers(tmp_path: Path) -> None:
    triggers = (
        '[{"query": "Add.", "should_trigger": true}, {"query": "Sing.", "should_trigger": false}, {"query": "?"}]'
    )
    evals = '{"skill_name": "sums", "evals": [{"id": 1, "prompt": "Add.", "expectations": ["Is 3."], "cats": 1}]}'
    files = {"evals/sums/evals.json": evals, "evals/sums/trigger_eval.json": triggers, "skills/sums/SKILL.md": SKILL}
    loaded = load(tmp_path, files)
    assert [(task.target_name, task.runnable) for task in loaded.tasks] == [
        ("sums", True), ("sums", True), (NO_SKILL, True), (NO_SKILL, False),
    ]  # fmt: skip
    assert loaded.tasks[0].unsupported[0] == "evals.json:1: cats: not known here"
    assert given_to(loaded.tasks[2], 0) == {"skill": "sums", "absent": "yes"}


def test_scenarios(tmp_path: Path) -> None:
    (task,) = load(tmp_path, {"tests/sums/eval.yaml": DOTNET, "tests/sums/in.csv": "1\n"}).tasks
    assert kinds(task) == [
        "output_contains", "output_matches", "file_exists", "file_contains", "output_length", "tool_called", "tool_called",
        "figure", "judged",
    ]  # fmt: skip
    assert given_to(task, 1) == {"pattern": "(?i)fo+ur", "absent": "yes"}
    assert given_to(task, 6) == {"tool": "web", "most": "0"}
    assert [file.path for file in task.files] == ["in.csv", "more.txt"]
    assert (task.agent_timeout_sec, task.target_name) == (30, "sums")
    assert "eval.yaml:15: an assertion of the type 'clairvoyance' is not known here" in task.unsupported
    assert [(each.command, each.required) for each in task.preparation] == [("dotnet build", False)]


def test_stimuli_of_several_turns_and_other_skills(tmp_path: Path) -> None:
    text = (
        "# scenarios: none\nname: x\ntags: {skill: sums}\ndefaults: {timeout: 20m}\nstimuli:\n"
        "  - {name: a, turns: [Add up.], graders: [{type: completed}]}\n"
        "  - {name: b, turns: [Add up., Go on.], graders: [{type: completed}]}\n"
        "  - {name: c, prompt: Sing., tags: {skill: songs}, config: {timeout: 5m}, graders: [{type: completed}]}\n"
    )
    loaded = load(tmp_path, {"evals/some/eval.yaml": text})
    assert [(each.prompt, each.target_name, each.agent_timeout_sec) for each in loaded.tasks] == [
        ("Add up.", "sums", 1200.0),
        ("Sing.", "songs", 300.0),
    ]
    assert "2 turns: an agent is told one thing here" in loaded.problems[0].message and loaded.problems[0].line == 7


def test_one_evaluation_alone_and_a_copied_file(tmp_path: Path) -> None:
    alone = {"id": "a", "question": "Add up.", "ground_truth": "Three."}
    both = [{"id": each, "prompt": "Add up.", "expectations": ["Is 3."]} for each in "ab"]
    files = {
        "sums/SKILL.md": SKILL, "sums/evals/evals.json": json.dumps(alone), "x/songs/evals.json": json.dumps(both),
        "y/songs/evals.json": json.dumps(both),
    }  # fmt: skip
    loaded = load(tmp_path, files)
    assert [each.prompt for each in loaded.tasks] == ["Add up."] * 3
    (copy,) = loaded.problems
    assert copy.message == "2 evaluations of it stand in x/songs/evals.json, too, and count once"


def test_stimuli(tmp_path: Path) -> None:
    (task,) = load(tmp_path, {"sums/SKILL.md": SKILL, "sums/evals/eval.yaml": VALLY}).tasks
    assert kinds(task) == [
        "output_contains", "file_matches", "command", "skill_used", "skill_used", "judged", "figure", "figure",
    ]  # fmt: skip
    assert (task.target_name, task.agent_timeout_sec) == ("sums", 120)
    assert any("'error-count' is not known here" in line for line in task.unsupported)
    assert [seconds(text) for text in ("300s", "30000ms", "1h", "", "x")] == [300, 30, 3600, 600, 600]


def test_waza(tmp_path: Path) -> None:
    (task,) = load(tmp_path, {"e/eval.yaml": WAZA, "e/tasks/one.yaml": WAZA_TASK, "e/fixtures/in.txt": "1\n"}).tasks
    assert kinds(task) == [
        "output_length", "output_contains", "output_contains", "output_matches", "file_exists", "file_matches", "tool_order",
        "skill_used", "json_value", "command", "judged", "output_contains", "output_contains", "figure", "figure",
    ]  # fmt: skip
    assert [file.path for file in task.files] == ["in.txt"] and task.agent_timeout_sec == 30
    assert json.loads(given_to(task, 8)["schema"])["minProperties"] == 1
    assert [line for line in task.unsupported if "not run" in line or "human" in line] == [
        "tasks/one.yaml:5: code is not run: open('/etc/passwd')",
        "tasks/one.yaml:18: a grader of the type 'human' is not known here",
    ]


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("len(output) > 10", ("output_length", {"least": 11.0})),
        ("len(tool_calls) <= 3", ("figure", {"of": "tool_calls", "most": 3.0})),
        ("duration_ms <= 3000", ("figure", {"of": "seconds", "most": 3.0})),
        ("'a' not in output.lower()", ("output_contains", {"text": "a", "ignore_case": True, "absent": True})),
        ("'2' in output or 'two' in output.lower()", ("output_matches", {"pattern": "2|(?i:two)"})),
        ("'A' in output.lower()", None),
        ("__import__('os').system('x')", None),
        ("'a' in output and x", None),
        ("(" * 5_000, None),
    ],
)
def test_assertions_in_python_are_read_and_never_run(text: str, check: object) -> None:
    assert read_assertion(text) == check


def test_uipath(tmp_path: Path) -> None:
    files = {
        "t/area/one/one.yaml": UIPATH, "t/area/one/check.py": "import sys", "t/area/_shared/template/in.txt": "1",
        "t/area/_shared/help.py": "", "t/area/other/no.py": "",
    }  # fmt: skip
    (task,) = load(tmp_path, files).tasks
    assert kinds(task) == [
        "command", "tool_called", "tool_called", "file_contains", "file_contains", "file_contains", "json_value", "file_matches",
        "tool_called", "skill_used", "judged",
    ]  # fmt: skip
    assert task.rubric
    points = [each.points for each in task.rubric.criteria[:5]]
    assert [each / points[1] for each in points] == pytest.approx([3, 1, 1, 1, 1])
    assert [file.path for file in task.files] == ["in.txt"] and task.agent_timeout_sec == 90
    assert task.checking and dict(task.checking.env)["TASK_DIR"] == "t/area/one"
    assert [file.path for file in task.checking.files] == [
        "t/area/_shared/help.py", "t/area/_shared/template/in.txt", "t/area/one/check.py", "t/area/one/one.yaml",
    ]  # fmt: skip
    for said in ("'P | [0]' is not understood", "'advisory' is reported only"):
        assert any(said in line for line in task.unsupported), said


def test_a_task_for_each_row(tmp_path: Path) -> None:
    rows = '{"id": "a", "prompt": "Add.", "expected_skill": "sums"}\n{"id": "b", "prompt": "Sing.", "expected_skill": ""}\n'
    one, two = load(tmp_path, {"a/activation.yaml": ROWS, "a/rows.jsonl": rows}).tasks
    assert (one.id, one.prompt, one.target_name) == ("activation-a", "Add.", "sums")
    assert given_to(one, 0) == {"skill": "sums"}
    assert (two.target_name, given_to(two, 0)) == (NO_SKILL, {"skill": "sums", "absent": "yes"})


def test_promptfoo(tmp_path: Path) -> None:
    loaded = load(tmp_path, {"sums/promptfooconfig.yaml": PROMPTFOO})
    (task,) = loaded.tasks
    assert (task.prompt, task.target_name) == ("Do this: Add up.", "sums")
    assert kinds(task) == [
        "output_contains", "output_contains", "output_matches", "json_value", "judged", "skill_used", "figure",
    ]  # fmt: skip
    assert task.rubric and task.rubric.criteria[1].check
    assert [value for key, value in task.rubric.criteria[1].check.given if key == "text"] == ["three", "Ann"]
    assert any("no code is run" in line for line in task.unsupported)
    (problem,) = loaded.problems
    assert problem.message == "the prompt names the variable 'ask', which has no text"


def test_samples_of_inspect(tmp_path: Path) -> None:
    lines = [
        {"input": "1+2?", "target": "3", "id": 1, "files": {"a.txt": "x", "b.txt": "given.txt"}, "metadata": {"skill": "sums"}},
        {"input": [{"role": "user", "content": "Which?"}], "target": ["B", "A"], "choices": ["x", "y"]},
        {"input": "Explain.", "target": "word " * 20, "sandbox": "docker"},
    ]  # fmt: skip
    files = {"sums/data.jsonl": "\n".join(map(json.dumps, lines)), "sums/given.txt": "kept"}
    one, two, three = load(tmp_path, files).tasks
    assert [(file.path, file.data) for file in one.files] == [("a.txt", b"x"), ("b.txt", b"kept")]
    assert [kinds(task) for task in (one, two, three)] == [["output_contains"], ["output_choice"], ["judged"]]
    assert "A) x\nB) y" in two.prompt and three.unsupported[0] == "data.jsonl:3: sandbox: not known here"


def test_lists_of_what_is_expected(tmp_path: Path) -> None:
    one = "skill: skills/sums\ninput: Add up.\ntemplate: empty\nexpect:\n  - Is 3.\n  - Is polite.\n"
    two = "name: t\nskill: sums\nfixture: d/in.txt\ninput_query: Add.\nmust_find:\n  - {id: a, description: A sum, threshold: 2}\n"
    files = {"tasks/one.yaml": one, "templates/empty/x.txt": "1", "tasks/two.yaml": two, "d/in.txt": "2"}
    first, second = load(tmp_path, files).tasks
    assert (kinds(first), [file.path for file in first.files]) == (["judged", "judged"], ["x.txt"])
    assert second.rubric and second.rubric.criteria[0].text == "A sum (at least 2)"
    assert [file.path for file in second.files] == ["in.txt"]


STAGING = "stimuli: [{prompt: x, environment: {files: [{%s}]}}]\n"
BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{above}'] * 9)}]\n" for above, name in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        pytest.param("eval.yaml", BOMB + "scenarios: *h\n", "more than 1,000,000 values", marks=pytest.mark.slow),
        ("eval.yaml", "scenarios:\n  - !!python/object/apply:os.system [x]\n", "without a prompt"),
        ("eval.yaml", "scenarios:\n  - prompt: x\n    prompt: y\n", "stands twice"),
        ("eval.yaml", STAGING % "src: ../../x, dest: y", "does not lie in its folder"),
        ("eval.yaml", STAGING % "content: x, dest: ../y", "does not lie in the workspace"),
        ("eval.yaml", "graders: []\ntasks: [../../*.yaml]\n", "no task file is called"),
        ("evals.json", '[{"prompt": "x", "prompt": "y"}]', "stands twice"),
        ("evals.json", "[" * 9_000, "nested deeper than"),
        ("evals.json", '{"evals": [{"prompt": "x", "files": ["/etc/passwd"]}]}', "/etc/passwd"),
        ("t.yaml", ROWS.replace("rows.jsonl", "../../../rows.jsonl"), "not in this repository"),
        ("data.jsonl", '{"input": "x", "target": "y"}\n{"input"\n', ""),
    ],
    ids=range(11),
)
def test_what_is_wrong_is_one_line_each(tmp_path: Path, name: str, text: str, said: str) -> None:
    loaded = load(tmp_path, {f"f/sums/{name}": text}, "f")
    assert loaded.problems
    for problem in loaded.problems:
        assert said in problem.message and "\n" not in problem.message


def test_nothing_outside_what_was_named_is_staged(tmp_path: Path) -> None:
    uipath = UIPATH.replace("../_shared/template", "../../../secret")
    uipath = uipath.replace("$TASK_DIR", "$SKILLS_REPO_PATH/../secret")
    files = {"secret/in.txt": "S", "named/a/one.yaml": uipath}
    files["named/b/x.yaml"] = "skill: s\ninput: x\nfixture: ../../secret/in.txt\nexpect: [y]\n"
    for task in load(tmp_path, files, "named").tasks:
        assert task.files == () and any("secret" in line for line in task.blockers)
        assert task.checking is None or task.checking.files == ()


def test_a_link_is_no_starting_file(tmp_path: Path) -> None:
    (tmp_path / "sums/evals/files").mkdir(parents=True)
    (tmp_path / "sums/evals/files/in.txt").symlink_to("/etc/passwd")
    evals = json.dumps({"skill_name": "sums", "evals": [{"id": 1, "prompt": "x", "files": ["evals/files/in.txt"]}]})
    loaded = load(tmp_path, {"sums/SKILL.md": SKILL, "sums/evals/evals.json": evals})
    assert loaded.tasks == () and "symbolic link" in loaded.problems[0].message


def test_criteria_keep_their_ids(tmp_path: Path) -> None:
    def ids(where: str, *texts: str) -> list[str]:
        evals = json.dumps({"skill_name": "sums", "evals": [{"id": 1, "prompt": "x", "assertions": list(texts)}]})
        (task,) = load(tmp_path / where, {"evals/evals.json": evals}).tasks
        assert task.rubric
        return [each.id for each in task.rubric.criteria]

    one, two, three = ids("1", "One.", "Two.", "One.")
    assert len({one, two, three}) == 3 and ids("2", "Two.", "One.") == [two, one]


@given(st.lists(st.text(max_size=20) | st.integers(), max_size=4))
def test_any_words_make_an_id(words: list[object]) -> None:
    from skill_health.effectiveness.tasks._api import is_safe_id

    assert is_safe_id(safe_name(words))


WORDS = """evals tests scenarios stimuli tasks graders assert vars prompt type files config task_id success_criteria
    initial_prompt assertions input target should_trigger sandbox expected setup value environment expect skill dataset""".split()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.sampled_from(["x", "type", "contains"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=25,
)


@pytest.mark.parametrize(
    "name", ["eval.yaml", "evals.json", "promptfooconfig.yaml", "x.yaml", "data.jsonl", "trigger-eval.json"]
)
@given(data=VALUES)
def test_no_reader_raises(name: str, data: object, tmp_path_factory: pytest.TempPathFactory) -> None:
    from skill_health.effectiveness.tasks._folder import Folder, RefusedFile

    place = tmp_path_factory.mktemp("f")
    (place / name).write_text(json.dumps(data))
    for _, form in eval_formats():
        try:
            found = list(form.load(Folder(str(place), "f"), name))
        except RefusedFile:
            continue
        for task in found:
            assert not isinstance(task, Task) or task.rubric is None or {*kinds(task)} <= {*check_kinds(), "judged"}
