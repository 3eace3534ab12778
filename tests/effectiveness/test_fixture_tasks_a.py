"""The tasks 001 to 007 of fixtures/tasks: what their verifiers know is true."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from fixture_verifiers import HERE, TASKS, call, fresh, loaded
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.skipif(os.name == "nt", reason="verifiers are POSIX shell scripts")

Solved = Callable[[str], Path]


@pytest.mark.parametrize("task", ["003", "004"])
def test_logs_are_what_their_script_writes(task: str, tmp_path: Path) -> None:
    script = runpy.run_path(str(HERE / "cases_a" / f"logs_{task}.py"))
    knowledge = script["dump"](script["write"](tmp_path / "logs"))
    assert knowledge == (TASKS[task] / "verifier" / "expected.json").read_text(encoding="utf-8")
    for written in (path for path in (tmp_path / "logs").rglob("*.log")):
        kept = TASKS[task] / "starting" / written.relative_to(tmp_path)
        assert written.read_bytes() == kept.read_bytes(), kept


def test_history_is_what_its_script_writes(tmp_path: Path) -> None:
    script = runpy.run_path(str(HERE / "cases_a" / "history_007.py"))
    script["write"](tmp_path / "till.git")
    bundle = TASKS["007"] / "starting" / "history.bundle"
    heads = call("git", "bundle", "list-heads", bundle, cwd=tmp_path).stdout.splitlines()
    refs = call("git", "show-ref", "--head", cwd=tmp_path / "till.git").stdout.splitlines()
    assert sorted(heads) == sorted(refs) and len(heads) == 9


def test_every_commit_of_the_history_behaves_as_told(tmp_path: Path) -> None:
    """The mistake shows from the culprit on and never before, whatever else is wrong with a commit."""
    workspace = fresh("007", tmp_path / "workspace")
    commits = workspace.commits()
    expected = json.loads((TASKS["007"] / "verifier" / "expected.json").read_text(encoding="utf-8"))
    clone = workspace.with_name("clone")
    (tmp_path / "probe.csv").write_text("2026-06-01;Probe;sale;2.00\n2026-06-02;Probe;refund;-0.50\n", encoding="utf-8")
    seen = {}
    for subject, commit in commits.items():
        if subject.startswith("Notes"):
            continue
        tree = tmp_path / commit
        call("git", "worktree", "add", "--quiet", "--detach", tree, commit, cwd=clone)
        for arguments in (["sums", str(tmp_path / "probe.csv")], [str(tmp_path / "probe.csv")]):
            command = [sys.executable, "-B", "-m", "till", *arguments]
            done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=600, check=False)
            if done.returncode == 0:
                seen[commit] = done.stdout.strip().removeprefix("Probe").strip(" =")
                break
    broken = {"Sums by customer", "Reader: fields of their own", "Tidy the reader"}
    assert {subject for subject, commit in commits.items() if commit not in seen and subject[:5] != "Notes"} == broken
    later = call("git", "rev-list", f"{expected['commit']}^..main", cwd=clone).stdout.split()
    culprit_line = call("git", "rev-list", "--ancestry-path", f"{expected['commit']}..main", cwd=clone).stdout.split()
    assert expected["commit"] in later
    wrong = {commit for commit, total in seen.items() if total == "2.50"}
    assert wrong == (set(culprit_line) | {expected["commit"]}) & set(seen)
    assert {total for commit, total in seen.items() if commit not in wrong} == {"1.50"}
    parents = call("git", "log", "-1", "--format=%P", expected["commit"], cwd=clone).stdout.split()
    assert parents == [expected["last_good"]]


@pytest.fixture(scope="module")
def small() -> SimpleNamespace:
    """The validator of the verifiers."""
    return SimpleNamespace(**loaded(TASKS["005"] / "verifier" / "schema2020.py"))


def events() -> dict[str, Any]:
    knowledge: dict[str, Any] = json.loads((TASKS["005"] / "verifier" / "events.json").read_text(encoding="utf-8"))
    return knowledge


def test_examples_are_among_the_right_events() -> None:
    for path in (TASKS["005"] / "starting" / "examples").iterdir():
        assert json.loads(path.read_text(encoding="utf-8")) == events()["valid"][path.stem]


@pytest.mark.parametrize("task", ["005", "006"])
def test_a_real_validator_agrees_about_the_oracle(task: str, solved: Solved, small: SimpleNamespace) -> None:
    if task == "005":
        check = loaded(TASKS["005"] / "verifier" / "check.py")
        cases = [(event, True) for event in events()["valid"].values()]
        cases += [(check["changed"](case), False) for case in events()["invalid"]]
        schema = json.loads((solved("005") / "schema.json").read_text(encoding="utf-8"))
    else:
        orders = json.loads((TASKS["006"] / "verifier" / "orders.json").read_text(encoding="utf-8"))
        cases = [(order["order"], order["passes"]) for order in orders]
        schema = json.loads((solved("006") / "order.2020.schema.json").read_text(encoding="utf-8"))
        old = json.loads((TASKS["006"] / "starting" / "order.schema.json").read_text(encoding="utf-8"))
        today = jsonschema.Draft7Validator(old)
        assert [today.is_valid(value) for value, _ in cases] == [passes for _, passes in cases]
    jsonschema.Draft202012Validator.check_schema(schema)
    real, ours = jsonschema.Draft202012Validator(schema), small.Schema(schema)
    for value, passes in cases:
        assert real.is_valid(value) == ours.accepts(value) == passes, value


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "C1": lambda s: s["properties"].update(gift={"type": "boolean"}),
    "C2": lambda s: s["definitions"]["line"]["properties"]["quantity"].update(maximum=999),
    "C3": lambda s: s["definitions"]["money"]["properties"]["currency"]["enum"].append("SEK"),
    "C4": lambda s: s["definitions"]["address"]["required"].remove("town"),
    "C5": lambda s: s["properties"].update(note={"anyOf": [{"type": "null"}, s["properties"]["note"]]}),
    "C6": lambda s: s["properties"].update(due_date=s["properties"].pop("due")),
    "C7": lambda s: s["properties"]["total"].update(description="What the customer pays, with tax"),
    "C8": lambda s: s["properties"]["note"].update(maxLength=120),
    "C9": lambda s: None,
    "C10": lambda s: s["properties"].pop("fax"),
    "C11": lambda s: s["properties"].update(order_no={"type": "string", "pattern": "^P-[0-9]{6}$"}),
    "C12": lambda s: (s["required"].append("channel"), s["properties"].update(channel={"type": "string"})),
}


@pytest.mark.parametrize("change", CHANGES)
def test_answers_about_compatibility_have_witnesses(change: str) -> None:
    """Each no has an order that shows it, and no order contradicts a yes."""
    folder = TASKS["006"]
    text = (folder / "starting" / "order.schema.json").read_text(encoding="utf-8")
    answer = json.loads((folder / "verifier" / "compat.json").read_text(encoding="utf-8"))[change]
    orders = [order["order"] for order in json.loads((folder / "verifier" / "orders.json").read_text(encoding="utf-8"))]
    plain = orders[0]
    orders += [{**plain, **more} for more in ({"due_date": "2026-12-01"}, {"channel": "web"}, {"due": "2026-12-01"})]
    old = jsonschema.Draft7Validator(json.loads(text))
    changed = json.loads(text)
    CHANGES[change](changed)
    checker = jsonschema.FormatChecker() if change == "C9" else None
    new = jsonschema.Draft7Validator(changed, format_checker=checker)
    pairs = {(old.is_valid(order), new.is_valid(order)) for order in orders}
    assert answer["old_orders_pass"] is ((True, False) not in pairs)
    assert answer["new_orders_pass"] is ((False, True) not in pairs)


names = st.sampled_from(["a", "b", "c"])
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([1.0, 0.5]), st.sampled_from(["", "x", "ab"])
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
kinds = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def schema_objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    listed = st.lists(inner, min_size=1, max_size=2)
    named = st.dictionaries(names, inner, max_size=2)
    words: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), listed),
        **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), named),
        **dict.fromkeys(
            ("items", "contains", "not", "if", "then", "else", "additionalProperties", "unevaluatedProperties",
             "unevaluatedItems", "propertyNames"), inner,
        ),
        "type": kinds | st.lists(kinds, min_size=1, max_size=2, unique=True),
        "const": values,
        "enum": st.lists(leaves, min_size=1, max_size=3),
        "required": st.lists(names, max_size=2, unique=True),
        "dependentRequired": st.dictionaries(names, st.lists(names, max_size=1), max_size=1),
        **dict.fromkeys(("minimum", "exclusiveMaximum"), st.integers(-2, 2)),
        **dict.fromkeys(("minLength", "maxItems", "minProperties"), st.integers(0, 2)),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "uniqueItems": st.booleans(),
        "pattern": st.sampled_from(["^a", "b$", "^$"]),
        "$ref": st.sampled_from(["#/$defs/one", "#two"]),
    }  # fmt: skip
    return st.lists(st.sampled_from(sorted(words)), max_size=4, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({word: words[word] for word in chosen})
    )


schemas = st.recursive(st.booleans() | schema_objects(st.booleans()), schema_objects, max_leaves=6)
definitions = schema_objects(st.booleans()).map(lambda s: {word: sub for word, sub in s.items() if word != "$ref"})


@given(schemas, definitions, definitions, st.lists(values, min_size=1, max_size=4))
def test_the_small_validator_says_what_a_real_one_says(
    small: SimpleNamespace, schema: Any, one: dict[str, Any], two: dict[str, Any], instances: list[Any]
) -> None:
    document = {"allOf": [schema], "$defs": {"one": one, "two": {**two, "$anchor": "two"}}}
    real, ours = jsonschema.Draft202012Validator(document), small.Schema(document)
    for value in instances:
        assert ours.accepts(value) == real.is_valid(value)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^\d$", "٣", False), (r"^a$", "a\n", False), (r"[$]", "5$", True), (r"^\$$", "$", True), (r"b", "abc", True),
        (r"^[a$]$", "$", True), (r"^\p{L}+$", "Oğuz", True),
    ],
)  # fmt: skip
def test_patterns_are_read_as_in_javascript(small: SimpleNamespace, pattern: str, text: str, found: bool) -> None:
    assert small.Schema({"pattern": pattern}).accepts(text) is found


@pytest.mark.parametrize(
    "document",
    [
        7, {"properties": {"a": 7}}, {"$id": "#money"}, {"items": [{}, {}]}, {"required": True},
        {"$ref": "#/$defs/none"}, {"$ref": "https://elsewhere.example/schema"}, {"type": "text"}, {"pattern": "["},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_schemas_that_cannot_be_used_are_refused(small: SimpleNamespace, document: Any) -> None:
    with pytest.raises(small.BadSchema):
        small.Schema(document).accepts("a")


def test_starting_bytes_are_as_they_were_meant() -> None:
    """What an editor or git might fix: Windows-1252, CRLF, a byte-order mark, decomposed accents."""
    members, shop, till = (
        (TASKS[task] / "starting" / name).read_bytes()
        for task, name in (("001", "members.csv"), ("002", "shop.csv"), ("002", "till.csv"))
    )
    for data in (members, till):
        assert data.count(b"\r\n") == data.count(b"\n") > 20
        with pytest.raises(UnicodeDecodeError):
            data.decode("utf-8")
        assert data.decode("cp1252").encode("cp1252") == data
    assert shop.startswith(b"\xef\xbb\xbf") and "e\u0308".encode() in shop and b"\r" not in shop
