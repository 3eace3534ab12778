"""The tasks 008 to 015 of fixtures/tasks: right ways pass, near misses fail, and the verifiers' knowledge is true."""

from __future__ import annotations

import contextlib
import csv
import filecmp
import io
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from skill_health.core.validation import problems

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parents[1] / "fixtures"
TASKS = {path.name[:3]: path for path in sorted(FIXTURES.glob("tasks/0[01]*")) if "008" <= path.name[:3] <= "015"}
SKILLS = {path.parent.name for path in FIXTURES.glob("skills/*/SKILL.md")}
CASES = [runpy.run_path(str(path)) for path in sorted((HERE / "cases_b").glob("*.py"))]
Edit = Callable[[Path], None]
RIGHT: list[tuple[str, Edit]] = [
    (task, edit) for cases in CASES for task, found in cases["RIGHT"].items() for edit in found
]
# Task, the share of the reward that has to suffer, and the edit of the oracle's workspace.
WRONG: list[tuple[str, str, Edit]] = [
    (task, *case) for cases in CASES for task, found in cases["WRONG"].items() for case in found
]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="verifiers are POSIX shell scripts")


class Verdict(NamedTuple):
    code: int
    files: dict[str, bytes]
    output: str

    @property
    def scores(self) -> dict[str, float]:
        scores: dict[str, float] = json.loads(self.files["reward.json"])
        assert all(isinstance(score, int | float) and 0 <= score <= 1 for score in scores.values())
        return scores


def snapshot(workspace: Path) -> dict[str, bytes | str]:
    return {
        path.relative_to(workspace).as_posix(): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in workspace.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def fresh(task: str, path: Path) -> Path:
    return Path(shutil.copytree(TASKS[task] / "starting", path))


def verify(task: str, workspace: Path, out: Path | None) -> Verdict:
    """Run the verifier as a run does: in the workspace, with an empty folder outside of it."""
    env = {name: value for name, value in os.environ.items() if name != "VERIFIER_DIR"}
    if out:
        out.mkdir()
        env |= {"VERIFIER_DIR": str(out), "FINAL_MESSAGE": os.devnull}
    command = ["bash", str(TASKS[task] / "verify.sh")]
    done = subprocess.run(command, cwd=workspace, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode in (0, 1) and done.stderr == "", done.stderr
    return Verdict(
        done.returncode, {path.name: path.read_bytes() for path in out.iterdir()} if out else {}, done.stdout
    )


def loaded(path: Path) -> dict[str, Any]:
    """The globals of a verifier's module, which imports what lies beside it."""
    before, sys.path = sys.path, [str(path.parent), *sys.path]
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    modules = set(sys.modules)
    try:
        return runpy.run_path(str(path), run_name="loaded")
    finally:
        sys.path, sys.dont_write_bytecode = before, written
        for name in set(sys.modules) - modules:
            del sys.modules[name]


def verify_here(task: str, workspace: Path, out: Path) -> Verdict:
    """Run the verifier in this process, which is quicker; the oracle shows that it does the same in its own."""
    out.mkdir()
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setenv("VERIFIER_DIR", str(out))
        patch.chdir(workspace)
        code = loaded(TASKS[task] / "verifier" / "check.py")["main"]()
    return Verdict(code, {path.name: path.read_bytes() for path in out.iterdir()}, printed.getvalue())


@pytest.fixture(scope="session")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The workspace as the oracle leaves it, made once for each task."""
    made: dict[str, Path] = {}

    def solve(task: str) -> Path:
        if task not in made:
            made[task] = fresh(task, tmp_path_factory.mktemp("solved") / "workspace")
            command = ["bash", str(TASKS[task] / "oracle" / "solve.sh")]
            subprocess.run(command, cwd=made[task], capture_output=True, timeout=600, check=True)
        return made[task]

    return solve


@pytest.fixture
def after_oracle(solved: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of the oracle's workspace."""
    return lambda task: Path(shutil.copytree(solved(task), tmp_path / "workspace"))


def name_of(value: Any) -> str:
    return value if isinstance(value, str) else str(value.__name__)


def test_each_task_has_cases() -> None:
    assert len(TASKS) == 8
    for task in TASKS:
        assert sum(name == task for name, _ in RIGHT) >= 2
        assert sum(name == task for name, _, _ in WRONG) >= 3


@pytest.mark.parametrize("task", TASKS)
def test_oracle_passes_the_same_way_three_times_and_leaves_no_trace(
    task: str, after_oracle: Callable[[str], Path], tmp_path: Path
) -> None:
    workspace = after_oracle(task)
    before = snapshot(workspace)
    verdicts = [verify(task, workspace, tmp_path / f"out-{number}") for number in range(3)]
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert verdicts[0].code == 0 and verdicts[0].scores["reward"] == 1, verdicts[0].output
    assert set(verdicts[0].files) == {"reward.json", "notes.txt"}
    assert verify(task, workspace, None).code == 0
    assert verify_here(task, workspace, tmp_path / "here") == verdicts[0]
    assert snapshot(workspace) == before


@pytest.mark.parametrize("task", TASKS)
def test_doing_nothing_fails(task: str, tmp_path: Path) -> None:
    workspace = fresh(task, tmp_path / "workspace")
    before = snapshot(workspace)
    verdict = verify(task, workspace, tmp_path / "out")
    assert verdict.code == 1 and verdict.scores["reward"] == 0
    assert snapshot(workspace) == before


@pytest.mark.parametrize(("task", "edit"), RIGHT, ids=name_of)
def test_other_right_ways_pass(task: str, edit: Edit, after_oracle: Callable[[str], Path], tmp_path: Path) -> None:
    workspace = after_oracle(task)
    before = snapshot(workspace)
    edit(workspace)
    assert snapshot(workspace) != before, "the case changes nothing"
    verdict = verify_here(task, workspace, tmp_path / "out")
    assert verdict.code == 0 and verdict.scores["reward"] == 1, verdict.output


@pytest.mark.parametrize(("task", "share", "edit"), WRONG, ids=name_of)
def test_near_misses_fail_for_their_reason(
    task: str, share: str, edit: Edit, after_oracle: Callable[[str], Path], tmp_path: Path
) -> None:
    workspace = after_oracle(task)
    edit(workspace)
    before = snapshot(workspace)
    verdict = verify_here(task, workspace, tmp_path / "out")
    assert verdict.code == 1 and verdict.scores["reward"] < 1, verdict.output
    assert verdict.scores[share] < 1, verdict.output
    assert snapshot(workspace) == before


HOSTILE = {
    "binary": b"\x00\xff\xfe" * 100,
    "nested": b"[" * 100_000,
    "list": b'[{"a": "b"}, 7, null]',
    "other shapes": b'{"models": {"amber": 7, "x": []}, "agreement": [], "01": [], "pass_rate": {"north": 1}}',
    "numbers": b'{"models": {"amber": {"difference": NaN, "p": 1e999, "low": true, "scored": "9", "tasks": 1e400}}}',
    "huge number": b'{"agreement": {"kappa": ' + b"9" * 400 + b', "items": ' + b"9" * 400 + b"}}",
    "lines": b'{"prompt_id": 7}\n[]\n"x"\nnull\n',
    "frontmatter": b'---\nname: [x\ndescription: "\\q"\n---\n' + b"## [2.0.0] - \n- x\n  - `\n```\n",
    "empty": b"",
}


def hostile(path: Path, all_texts: bool) -> Iterator[str]:
    """What may stand where a file is expected, one after another."""
    for name, raw in HOSTILE.items() if all_texts else ():
        path.write_bytes(raw)
        yield name
    with path.open("wb") as handle:
        handle.truncate(2**31)
    yield "very large"
    path.unlink()
    path.symlink_to("/dev/zero")
    yield "device"
    path.unlink()
    path.symlink_to(path.name)
    yield "loop"
    path.unlink()
    path.mkdir()
    yield "folder"
    path.rmdir()
    os.mkfifo(path)
    yield "pipe"


@pytest.mark.parametrize("task", TASKS)
def test_hostile_results_fail_quietly(task: str, after_oracle: Callable[[str], Path], tmp_path: Path) -> None:
    workspace = after_oracle(task)
    given = snapshot(TASKS[task] / "starting")
    produced = sorted(name for name, raw in snapshot(workspace).items() if given.get(name) != raw)
    assert produced
    for number, name in enumerate(produced[:2]):
        content = (workspace / name).read_bytes()
        for kind in hostile(workspace / name, all_texts=number == 0):
            run = verify_here if kind in HOSTILE else verify
            verdict = run(task, workspace, tmp_path / "out")
            assert verdict.code == 1 and verdict.scores["reward"] < 1, (name, kind)
            assert "Traceback" not in verdict.output
            shutil.rmtree(tmp_path / "out")
        (workspace / name).unlink()
        (workspace / name).write_bytes(content)


@pytest.mark.parametrize("task", TASKS)
def test_metadata_and_prompt(task: str) -> None:
    metadata = json.loads((TASKS[task] / "metadata.json").read_text(encoding="utf-8"))
    assert list(problems("task", metadata)) == []
    assert f"{metadata['id']}-{metadata['slug']}" == TASKS[task].name
    roles = [metadata[f"{role}_skill"] for role in ("target", "irrelevant", "related", "unrelated")]
    assert len(set(roles)) == 4 and set(roles) <= SKILLS
    prompt = (TASKS[task] / "task.md").read_text(encoding="utf-8").lower()
    assert not [name for name in SKILLS | {"verif", "oracle", "reward"} if name in prompt]
    assert sum(path.stat().st_size for path in (TASKS[task] / "starting").rglob("*") if path.is_file()) < 200_000


def test_each_of_eight_skills_has_its_task() -> None:
    targets = [
        json.loads((path / "metadata.json").read_text(encoding="utf-8"))["target_skill"] for path in TASKS.values()
    ]
    assert len(set(targets)) == 8


def test_shared_files_are_the_same_everywhere() -> None:
    for name in ("outcome.py", "running.py", "skill_head.py"):
        first, *others = sorted(FIXTURES.glob(f"tasks/*/verifier/{name}"))
        assert others and all(filecmp.cmp(first, other, shallow=False) for other in others)


def expected(task: str, name: str = "expected.json") -> Any:
    return json.loads((TASKS[task] / "verifier" / name).read_text(encoding="utf-8"))


def test_what_verifiers_know_is_what_agents_are_given() -> None:
    pairs = [
        ("008", "before.md", "CHANGELOG.md"),
        ("011", "requests.jsonl", "requests.jsonl"),
        ("011", "skills.json", "skills.json"),
    ]
    for task, known, given in pairs:
        assert filecmp.cmp(TASKS[task] / "verifier" / known, TASKS[task] / "starting" / given, shallow=False)
    catalogue = TASKS["014"] / "starting" / "catalogue"
    assert set(expected("014", "before.json")) == {path.name for path in catalogue.iterdir()}
    manual = (TASKS["015"] / "starting" / "meter-readings" / "skill.md").read_text(encoding="utf-8")
    assert all(f"| {' | '.join(row)} |" in manual for row in expected("015", "rows.json"))
    script = loaded(TASKS["015"] / "verifier" / "check.py")
    everything = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (TASKS["015"] / "starting" / "meter-readings").rglob("*")
        if path.is_file()
    )
    for patterns in ("ALWAYS", "SOMETIMES", "ELSEWHERE", "NEVER"):
        missing = [part for part in script[patterns] if not re.search(part, everything)]
        assert missing == []
    numbers = re.findall(r"(?m)^\[(\d\d)\]", (TASKS["012"] / "starting" / "brochure.md").read_text(encoding="utf-8"))
    assert numbers == list(expected("012"))
    for _, source, _ in expected("012").values():
        assert source is None or (TASKS["012"] / "starting" / "sources" / source).is_file()


def test_difference_of_the_release_is_complete(tmp_path: Path) -> None:
    """Taken back, the difference leaves the state of v1.6.2, which behaves as the changelog says."""
    workspace = fresh("008", tmp_path / "workspace")
    diff = workspace / "release" / "since-v1.6.2.diff"
    patch = ["git", "apply", "--reverse", "--unsafe-paths", "--directory", str(workspace), str(diff)]
    outcomes = []
    for _ in range(2):
        command = [sys.executable, "-B", "-m", "stowaway", "save", "--nonsense"]
        done = subprocess.run(command, cwd=workspace, capture_output=True, text=True, timeout=600, check=False)
        tar = "--tar" in (workspace / "stowaway" / "cli.py").read_text(encoding="utf-8")
        outcomes.append((done.returncode, tar, (workspace / "stowaway" / "walk.py").exists()))
        if len(outcomes) == 1:
            subprocess.run(patch, cwd=tmp_path, capture_output=True, timeout=600, check=True)
    assert outcomes == [(2, False, False), (1, True, True)]


def test_figures_of_the_verdicts_are_computed_twice() -> None:
    figures = next(cases for cases in CASES if "ranked" in cases)
    runs = figures["rows"](TASKS["009"] / "starting" / "runs.csv")
    for model, wanted in expected("009").items():
        mine = [run for run in runs if run["model"] == model]
        assert len(mine) == 144
        found = list(figures["gains"](mine).values())
        assert len(found) == wanted["tasks"]
        low, high = figures["by_t"](found)
        assert sum(found) / len(found) == pytest.approx(wanted["difference"], abs=1e-4)
        assert (low, high) == pytest.approx((wanted["low"], wanted["high"]), abs=1e-4)
        tests = {round(figures[name](found), 5) for name in ("flipped", "ranked", "signs")}
        assert tests == set(wanted["p"])
        # Whichever exact test is taken and however the models are counted, the verdict is the same.
        differing = sum(abs(value) > 1e-9 for value in found)
        if wanted["verdict"] in ("helps", "hurts"):
            assert max(tests) * 6 < 0.05 and (wanted["difference"] > 0) == (wanted["verdict"] == "helps")
        elif wanted["verdict"] == "not testable":
            assert 2.0 ** (1 - differing) > 0.05
        else:
            assert min(tests) * 3 > 0.05 and differing >= 8


def test_figures_of_the_judge_are_computed_twice() -> None:
    metrics = pytest.importorskip("statsmodels.stats.inter_rater")
    figures = next(cases for cases in CASES if "ranked" in cases)
    gold = figures["rows"](TASKS["010"] / "starting" / "gold.csv")
    table = [[0, 0], [0, 0]]
    for row in gold:
        if row["use"] == "held back" and row["judge"] != "error":
            table[row["agreed"] == "fail"][row["judge"] == "fail"] += 1
    wanted = expected("010")
    hit, rejected = table[0][0] / sum(table[0]), table[1][1] / sum(table[1])
    found = {
        "items": sum(map(sum, table)),
        "kappa": metrics.cohens_kappa(table, return_results=False),
        "sensitivity": hit,
        "specificity": rejected,
    }
    assert found == pytest.approx(wanted["agreement"], abs=1e-4)
    for rate in wanted["pass_rate"].values():
        # The rate of people that would make the judge pass as many as it did.
        assert rate["people"] * hit + (1 - rate["people"]) * (1 - rejected) == pytest.approx(rate["judge"], abs=1e-4)


def test_readings_are_told_as_they_are() -> None:
    with (TASKS["012"] / "starting" / "sources" / "readings.csv").open(encoding="utf-8", newline="") as handle:
        times = sorted(int(row["ms"]) for row in csv.DictReader(handle))
    assert len(times) == 400 and (times[199] + times[200]) / 2 == 38
    assert 55 <= sum(times) / 400 < 56.5 and sum(time < 150 for time in times) == 380


SCALARS = [
    "plain words",
    "plain words\n  over two lines",
    '"quoted: with a colon, \\"marks\\" and \u00fc" # comment',
    "'single: it''s one'",
    '"over\n  two lines"',
    ">-\n  folded: text\n  goes on",
    "|\n  literal # text\n  goes on",
    "colon: and a space",
    "ends with a colon:",
    "a colon:without a space",
    "word # comment",
    "word #comment # more",
    "a#b",
    "[train, taxi]",
    "{a: b}",
    "- item",
    "-item",
    "? key",
    "@at",
    "`tick`",
    "%percent",
    "*star",
    "&anchor word",
    "! tag",
    '"open',
    "'open",
    '"closed" and more',
    "",
]


@pytest.mark.parametrize("text", SCALARS)
def test_frontmatter_is_read_as_yaml_reads_it(text: str) -> None:
    module = loaded(TASKS["014"] / "verifier" / "skill_head.py")
    front = f"name: x\ndescription: {text}\nlicense: MIT"
    try:
        found = yaml.safe_load(front)["description"]
    except yaml.YAMLError:
        found = None
    try:
        ours: str | None = module["scalar"](module["entries"](front.split("\n"))["description"])
    except ValueError:
        ours = None
    if isinstance(found, str) and not text.startswith(("&", "!")):
        assert ours is not None and ours.split() == found.split()
    else:
        assert not ours


def test_the_skills_own_checks_agree_with_the_oracles(
    solved: Callable[[str], Path], after_oracle: Callable[[str], Path], tmp_path: Path
) -> None:
    """Who works as a skill says, and until its script has nothing to fix, has what the task asks for."""

    def script(skill: str, name: str, *arguments: str | Path) -> tuple[int, str]:
        command = [sys.executable, "-B", FIXTURES / "skills" / skill / "scripts" / name, *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, check=False)
        return done.returncode, done.stdout

    changelog = solved("008") / "CHANGELOG.md"
    assert script("changelog-entries", "next_version.py", changelog) == (0, "nothing unreleased\n")
    before = tmp_path / "unreleased.md"
    text = changelog.read_text(encoding="utf-8").replace(
        "## [Unreleased]\n\n## [2.0.0] - 2026-04-14", "## [Unreleased]"
    )
    before.write_text(text, encoding="utf-8")
    assert script("changelog-entries", "next_version.py", before) == (0, "2.0.0\n")
    assert script("skill-authoring", "measure_skill.py", solved("015") / "meter-readings")[0] == 0
    status, printed = script(
        "trigger-descriptions", "description_report.py", solved("014") / "catalogue", "--cut", "1024"
    )
    assert status == 0, printed
    status, printed = script("router-prompt-sets", "audit_prompts.py", solved("011") / "prompts.jsonl")
    assert (status, printed.strip()) == (0, "46 prompts, nothing to mend")
    note = next(cases for cases in CASES if "in_the_form_of_the_skill" in cases)
    workspace = after_oracle("013")
    note["in_the_form_of_the_skill"](workspace)
    checked = script("handoff-notes", "handoff.py", "check", workspace / "HANDOFF.md", "--root", workspace)
    assert checked == (0, "clean\n")


def test_the_log_of_the_catalogue_can_be_routed() -> None:
    """The log agrees with the held-out requests: what is shown of the descriptions misroutes both alike."""
    module = loaded(TASKS["014"] / "verifier" / "routing.py")
    front = loaded(TASKS["014"] / "verifier" / "skill_head.py")
    catalogue = {
        path.parent.name: front["scalar"](
            front["entries"](front["split"](path.read_text(encoding="utf-8"))[0])["description"]
        )
        for path in (TASKS["014"] / "starting" / "catalogue").glob("*/SKILL.md")
    }
    lines = (TASKS["014"] / "verifier" / "requests.tsv").read_text(encoding="utf-8").splitlines()
    held_out = [line.split("\t") for line in lines]
    with (TASKS["014"] / "starting" / "routing-log.csv").open(encoding="utf-8", newline="") as handle:
        logged = [(row["belongs_to"], row["request"]) for row in csv.DictReader(handle)]
    assert {request for _, request in logged}.isdisjoint(request for _, request in held_out)
    for requests in (held_out, logged):
        lost = [request for owner, request in requests if owner == "expense-claims"]
        assert not any(module["route"](request, catalogue) == "expense-claims" for request in lost)
