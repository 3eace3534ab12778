"""The tasks 001 to 007 of fixtures/tasks: right ways pass, near misses fail, and the verifiers' knowledge is true."""

from __future__ import annotations

import csv
import filecmp
import io
import json
import math
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.validation import problems

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parents[1] / "fixtures"
TASKS = {path.name[:3]: path for path in sorted(FIXTURES.glob("tasks/00[1-7]-*"))}
SKILLS = {path.parent.name for path in FIXTURES.glob("skills/*/SKILL.md")}
CASES = [runpy.run_path(str(HERE / "cases_a" / f"{name}.py")) for name in ("tables", "logs", "schemas")]
RIGHT = [(task, case) for cases in CASES for task, found in cases["RIGHT"].items() for case in found]
WRONG = [(task, case) for cases in CASES for task, found in cases["WRONG"].items() for case in found]
Case = Callable[["Workspace"], None]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="verifiers are POSIX shell scripts")


class Verdict(NamedTuple):
    """What a verifier said."""

    code: int
    reward: float
    files: dict[str, bytes]
    output: str


class Workspace:
    """A workspace of one task, with what cases need to change it."""

    def __init__(self, task: str, path: Path) -> None:
        self.task, self.path = TASKS[task], path
        if not path.exists():
            shutil.copytree(self.task / "starting", path)

    def text(self, name: str) -> str:
        return (self.path / name).read_bytes().decode("utf-8")

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_bytes(text.encode("utf-8"))

    def json(self, name: str) -> Any:
        return json.loads(self.text(name))

    def write_json(self, name: str, value: Any) -> None:
        self.write(name, json.dumps(value, ensure_ascii=False))

    def rows(self, name: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(self.text(name), newline="")))

    def write_rows(self, name: str, rows: list[list[str]], **form: Any) -> None:
        stream = io.StringIO(newline="")
        csv.writer(stream, **{"lineterminator": "\n", **form}).writerows(rows)
        self.write(name, stream.getvalue())

    def commits(self) -> dict[str, str]:
        """The hashes of a bundled history, by subject."""
        clone = self.path.with_name("clone")
        call("git", "clone", "--quiet", self.path / "history.bundle", clone, cwd=self.path)
        log = call("git", "log", "--format=%H %s", cwd=clone).stdout
        return {subject: commit for commit, _, subject in (line.partition(" ") for line in log.splitlines())}

    def snapshot(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.path)): path.read_bytes() for path in self.path.rglob("*") if path.is_file()}

    def verify(self, out: Path | None) -> Verdict:
        """Run the verifier, as a run does: in the workspace, with a fresh folder outside of it."""
        env = {name: value for name, value in os.environ.items() if name != "VERIFIER_DIR"}
        if out:
            out.mkdir()
            env |= {"VERIFIER_DIR": str(out), "FINAL_MESSAGE": os.devnull}
        done = subprocess.run(
            ["bash", self.task / "verify.sh"],
            cwd=self.path,
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode in (0, 1) and done.stderr == "", done.stderr
        files = {path.name: path.read_bytes() for path in out.iterdir()} if out else {}
        reward = json.loads(files["reward.json"])["reward"] if out else math.nan
        return Verdict(done.returncode, reward, files, done.stdout)


def call(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=600, check=True)


def name_of(value: Any) -> str:
    return value if isinstance(value, str) else str(value.__name__)


@pytest.fixture(scope="session")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The workspace as the oracle leaves it, made once for each task."""
    made: dict[str, Path] = {}

    def solve(task: str) -> Path:
        if task not in made:
            workspace = Workspace(task, tmp_path_factory.mktemp("solved") / "workspace")
            call("bash", TASKS[task] / "oracle" / "solve.sh", cwd=workspace.path)
            made[task] = workspace.path
        return made[task]

    return solve


@pytest.fixture
def after_oracle(solved: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Workspace]:
    """A copy of the oracle's workspace."""

    def copied(task: str) -> Workspace:
        return Workspace(task, Path(shutil.copytree(solved(task), tmp_path / "workspace")))

    return copied


def test_there_are_seven_and_each_has_cases() -> None:
    assert len(TASKS) == 7
    for task in TASKS:
        assert sum(name == task for name, _ in RIGHT) >= 2
        assert sum(name == task for name, _ in WRONG) >= 3


@pytest.mark.parametrize("task", TASKS)
def test_oracle_passes_the_same_way_three_times_and_leaves_no_trace(
    task: str, after_oracle: Callable[[str], Workspace], tmp_path: Path
) -> None:
    workspace = after_oracle(task)
    before = workspace.snapshot()
    verdicts = [workspace.verify(tmp_path / f"out-{n}") for n in range(3)]
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert verdicts[0].code == 0 and verdicts[0].reward == 1.0, verdicts[0].output
    assert set(verdicts[0].files) == {"reward.json", "notes.txt"}
    assert workspace.verify(None).code == 0
    assert workspace.snapshot() == before
    given_files = {
        str(p.relative_to(TASKS[task] / "starting")) for p in (TASKS[task] / "starting").rglob("*") if p.is_file()
    }
    changed = {name for name in given_files if before[name] != (TASKS[task] / "starting" / name).read_bytes()}
    assert changed == set(), "the oracle changes what it was given"


@pytest.mark.parametrize("task", TASKS)
def test_doing_nothing_fails_with_nothing(task: str, tmp_path: Path) -> None:
    workspace = Workspace(task, tmp_path / "workspace")
    before = workspace.snapshot()
    verdict = workspace.verify(tmp_path / "out")
    assert (verdict.code, verdict.reward) == (1, 0.0)
    assert workspace.snapshot() == before


@pytest.mark.parametrize(("task", "case"), RIGHT, ids=name_of)
def test_other_right_ways_pass(task: str, case: Case, after_oracle: Callable[[str], Workspace], tmp_path: Path) -> None:
    workspace = after_oracle(task)
    before = workspace.snapshot()
    case(workspace)
    assert workspace.snapshot() != before, "the case changes nothing"
    verdict = workspace.verify(tmp_path / "out")
    assert verdict.code == 0 and verdict.reward == 1.0, verdict.output


@pytest.mark.parametrize(("task", "case"), WRONG, ids=name_of)
def test_near_misses_fail(task: str, case: Case, after_oracle: Callable[[str], Workspace], tmp_path: Path) -> None:
    workspace = after_oracle(task)
    case(workspace)
    before = workspace.snapshot()
    verdict = workspace.verify(tmp_path / "out")
    assert verdict.code == 1 and 0 <= verdict.reward < 1, verdict.output
    scores = json.loads(verdict.files["reward.json"])
    assert all(isinstance(value, int | float) and math.isfinite(value) for value in scores.values())
    assert workspace.snapshot() == before


def hostile(path: Path) -> Iterator[None]:
    """What may stand where a file is expected, one after another."""
    path.write_bytes(b"\x00\xff\xfe" * 100)
    yield
    path.write_text("[" * 100_000, encoding="utf-8")
    yield
    path.write_text('[{"a": "b\n"}, 7, null]', encoding="utf-8")
    yield
    path.write_text(
        '{"commit": {"x": []}, "first_cause": [], "trace": [3, {}], "allOf": 5, "$ref": 7}', encoding="utf-8"
    )
    yield
    path.write_text("", encoding="utf-8")
    yield
    with path.open("wb") as handle:
        handle.truncate(2**31)
    yield
    path.unlink()
    path.symlink_to("/dev/zero")
    yield
    path.unlink()
    path.mkdir()
    yield


@pytest.mark.parametrize("task", TASKS)
def test_hostile_results_fail_quietly(task: str, after_oracle: Callable[[str], Workspace], tmp_path: Path) -> None:
    workspace = after_oracle(task)
    given_files = set(Workspace(task, tmp_path / "fresh").snapshot())
    produced = sorted(set(workspace.snapshot()) - given_files - {"findings.md"})
    assert produced
    for number, _ in enumerate(hostile(workspace.path / produced[0])):
        verdict = workspace.verify(tmp_path / f"out-{number}")
        assert verdict.code == 1 and verdict.reward < 1
        assert "Traceback" not in verdict.output


@pytest.mark.parametrize("task", TASKS)
def test_metadata_and_prompt(task: str) -> None:
    metadata = json.loads((TASKS[task] / "metadata.json").read_text(encoding="utf-8"))
    assert list(problems("task", metadata)) == []
    assert f"{metadata['id']}-{metadata['slug']}" == TASKS[task].name
    roles = [metadata[f"{role}_skill"] for role in ("target", "irrelevant", "related", "unrelated")]
    assert len(set(roles)) == 4 and set(roles) <= SKILLS
    prompt = (TASKS[task] / "task.md").read_text(encoding="utf-8").lower()
    assert not [name for name in SKILLS | {"skill", "verif", "oracle", "reward"} if name in prompt]
    assert sum(p.stat().st_size for p in (TASKS[task] / "starting").rglob("*") if p.is_file()) < 200_000


def test_shared_files_are_the_same_everywhere() -> None:
    for pattern in ("verifier/outcome.py", "verifier/schema2020.py"):
        first, *others = sorted(path / pattern for path in TASKS.values() if (path / pattern).is_file())
        assert others and all(filecmp.cmp(first, other, shallow=False) for other in others)


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
    workspace = Workspace("007", tmp_path / "workspace")
    commits = workspace.commits()
    expected = json.loads((TASKS["007"] / "verifier" / "expected.json").read_text(encoding="utf-8"))
    clone = workspace.path.with_name("clone")
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
def small() -> ModuleType:
    """The validator of the verifiers."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("schema2020", TASKS["005"] / "verifier" / "schema2020.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def events() -> dict[str, Any]:
    knowledge: dict[str, Any] = json.loads((TASKS["005"] / "verifier" / "events.json").read_text(encoding="utf-8"))
    return knowledge


def test_examples_are_among_the_right_events() -> None:
    for path in (TASKS["005"] / "starting" / "examples").iterdir():
        assert json.loads(path.read_text(encoding="utf-8")) == events()["valid"][path.stem]


@pytest.mark.parametrize("task", ["005", "006"])
def test_a_real_validator_agrees_about_the_oracle(task: str, solved: Callable[[str], Path], small: ModuleType) -> None:
    if task == "005":
        sys_path, sys.path = sys.path, [str(TASKS["005"] / "verifier"), *sys.path]
        try:
            check = runpy.run_path(str(TASKS["005"] / "verifier" / "check.py"))
        finally:
            sys.path = sys_path
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
    small: ModuleType, schema: Any, one: dict[str, Any], two: dict[str, Any], instances: list[Any]
) -> None:
    document = {"allOf": [schema], "$defs": {"one": one, "two": {**two, "$anchor": "two"}}}
    real, ours = jsonschema.Draft202012Validator(document), small.Schema(document)
    for value in instances:
        assert ours.accepts(value) == real.is_valid(value)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^\d$", "٣", False),
        (r"^a$", "a\n", False),
        (r"[$]", "5$", True),
        (r"^\$$", "$", True),
        (r"b", "abc", True),
        (r"^[a$]$", "$", True),
        (r"^\p{L}+$", "Oğuz", True),
    ],
)
def test_patterns_are_read_as_in_javascript(small: ModuleType, pattern: str, text: str, found: bool) -> None:
    assert small.Schema({"pattern": pattern}).accepts(text) is found


@pytest.mark.parametrize(
    "document",
    [
        7,
        {"properties": {"a": 7}},
        {"$id": "#money"},
        {"items": [{}, {}]},
        {"required": True},
        {"$ref": "#/$defs/none"},
        {"$ref": "https://elsewhere.example/schema"},
        {"type": "text"},
        {"pattern": "["},
    ],
    ids=json.dumps,
)
def test_schemas_that_cannot_be_used_are_refused(small: ModuleType, document: Any) -> None:
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
