"""The states beside the daily history: packed and read back, torn, merged by git, killed, and beside early lines."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Run, Write
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from records_made import daily_run, daily_skill

from skill_health.daily.states import STATES, RunState, append_state, decode_line, pack_run, read_states, unpack_run
from skill_health.documents._record import record_values
from skill_health.documents.daily_line import DailyLine
from skill_health.documents.daily_run import DailyClaims, DailyRun, DailySkill
from skill_health.page.data.histories import daily_history

KEYS = ("error:LI001:0000000000000001", "info:ST001:0000000000000002")
NAMES = ("a", "b", "c", "d", '","state":"' + "0" * 32 + '"', "é\u2028")

skills = st.builds(
    daily_skill,
    name=st.sampled_from("ab"),
    score=st.sampled_from([None, 0.0, 0.5, 1.0, 1]),
    components=st.dictionaries(st.sampled_from(["links", "gotchas"]), st.sampled_from([None, 1, 0.25]), max_size=2),
    evidence=st.dictionaries(st.just("links"), st.just({"total": 3, "share": 0.5})),
    findings=st.sampled_from([(), KEYS, (KEYS[0], KEYS[0])]),
)
claims = st.one_of(
    st.none(),
    st.builds(
        lambda due: DailyClaims(
            stale=tuple(sorted(name for name, late in due.items() if late)),
            due=tuple(sorted(name for name, late in due.items() if not late)),
        ),
        st.dictionaries(st.sampled_from(["claim-a", "claim-b"]), st.booleans()),
    ),
)
runs = st.builds(
    lambda day, found, other, due: replace(
        daily_run(day), skills=dict(sorted(found.items())), other=tuple(sorted(other)), claims=due
    ),
    st.integers(1, 28), st.dictionaries(st.sampled_from(NAMES), skills), st.lists(st.sampled_from(KEYS), max_size=3),
    claims,
)  # fmt: skip


def written(run: DailyRun) -> Any:
    """A run as JSON has it: whole numbers and others are told apart there as types tell them."""
    return json.loads(json.dumps(record_values(run)))


def many(n: int, **more: Any) -> DailyRun:
    """A run over n skills like real ones in size."""
    own = {f"skills/a-skill-of-a-usual-name-{at}/SKILL.md": usual_skill(at, **more) for at in range(n)}
    return replace(daily_run(1), skills=own)


def usual_skill(at: int, score: float = 0.75) -> DailySkill:
    parts = ("claims", "frontmatter", "gotchas", "links", "structure", "verification")
    return daily_skill(
        f"a-skill-{at}", score=score, flagged=False, components=dict.fromkeys(parts, 0.5),
        evidence={part: {"count": 3, "total": 7} for part in parts}, findings=KEYS * 4, description="d" * 32,
    )  # fmt: skip


class Folder:
    """A history and its states, run by run."""

    def __init__(self, path: Path) -> None:
        self.states = path / "states.jsonl"
        self.lines: list[DailyLine] = []
        self.sizes: list[int] = []

    def add(self, run: DailyRun, base: int | None = -1) -> None:
        """Keep a run, on top of an earlier one."""
        below = self.read(self.lines[base].state) if self.lines and base is not None else None
        line, state = pack_run(run, below)
        append_state(str(self.states), state)
        self.lines.append(line)
        self.sizes.append(len(state))

    def read(self, key: str) -> RunState | None:
        return read_states(str(self.states), [key]).get(key)

    def runs(self) -> list[DailyRun | None]:
        found = read_states(str(self.states), [line.state for line in self.lines])
        return [unpack_run(line, found[line.state]) if line.state in found else None for line in self.lines]


@pytest.mark.slow
@given(given=st.lists(runs, max_size=7), seed=st.integers(0, 99))
def test_every_run_is_read_back(given: list[DailyRun], seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng, folder = random.Random(seed), Folder(tmp_path_factory.mktemp("s"))
    for at, run in enumerate(given):
        folder.add(run, rng.randrange(at) if at else None)
    assert [written(run) if run else None for run in folder.runs()] == list(map(written, given))
    for line, run in zip(folder.lines, given, strict=True):
        assert decode_line(json.dumps(record_values(line)).encode()) == line
        state = folder.read(line.state)
        assert state is not None and written(unpack_run(line, state)) == written(run)


@given(given=st.lists(runs, min_size=2, max_size=5), cut=st.integers(0, 10**6), junk=st.binary(max_size=9))
def test_what_is_damaged_is_missing_and_never_wrong(
    given: list[DailyRun], cut: int, junk: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = Folder(tmp_path_factory.mktemp("s"))
    for run in given:
        folder.add(run)
    data = folder.states.read_bytes() if folder.states.exists() else b""
    at = cut % (len(data) + 1)
    folder.states.write_bytes(data[:at] + junk + data[at + len(junk) :])
    for told, run in zip(folder.runs(), given, strict=True):
        assert told is None or written(told) == written(run)


def test_only_what_changes_is_written() -> None:
    before = many(50)
    line, first = pack_run(before, None)
    state = RunState(line.state, 0, before.skills, {}, {})
    assert len(first) == 50 and pack_run(before, state) == (line, ())
    path = next(iter(before.skills))
    left = {name: skill for name, skill in before.skills.items() if name != path}
    for more in ({path: usual_skill(0, 0.5)}, {}, {"new/SKILL.md": usual_skill(1)}):
        change = {**before.skills, **more} if more else left
        after, lines = pack_run(replace(before, skills=change), state)
        assert len(lines) == 1 and json.loads(lines[0])["base"] == line.state != after.state


@pytest.mark.parametrize("n", [1, 2_000])
def test_a_line_of_the_history_is_as_short_for_many_skills(n: int) -> None:
    late = DailyClaims(stale=tuple(f"claim-{at}" for at in range(2 * n)), due=())
    line, state = pack_run(replace(many(n), claims=late, other=KEYS * n), None)
    assert len(json.dumps(record_values(line))) < 1_000
    assert len(state) == n + 2 * n + 2 and max(map(len, state)) < 2_000


def test_a_day_that_changes_everything_starts_anew(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for score in (0.5, 0.6, 0.6, 0.7):
        folder.add(many(40, score=score))
    assert folder.sizes == [40, 40, 0, 40]
    assert {json.loads(line)["base"] for line in folder.states.read_bytes().splitlines()} == {None}


@pytest.mark.slow
def test_no_state_rests_on_more_lines_than_it_would_take_itself(tmp_path: Path) -> None:
    folder, run = Folder(tmp_path), many(40)
    for day in range(40):
        path = f"skills/a-skill-of-a-usual-name-{day % 40}/SKILL.md"
        run = replace(run, skills={**run.skills, path: usual_skill(day, day / 100), "more/SKILL.md": usual_skill(day)})
        folder.add(run)
        state = folder.read(folder.lines[-1].state)
        assert state is not None and state.depth <= len(run.skills)
    assert folder.sizes.count(41) == 2 and sum(folder.sizes) < 41 * 2 + 40 * 2


@pytest.mark.slow
def test_a_state_is_read_from_the_end_no_further_than_needed(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for score in (0.5, 0.6):
        folder.add(many(40, score=score))
    data = folder.states.read_bytes().splitlines(keepends=True)
    folder.states.write_bytes(b"x" * (65 << 20) + b"\n" + b"".join(data[40:]))
    assert folder.read(folder.lines[1].state) is not None
    assert folder.read(folder.lines[0].state) is None


def fact(**more: Any) -> bytes:
    known = {
        "schema": "skill-health/daily-state/1", "state": "0" * 32, "base": None, "kind": "skill", "name": "a",
        "value": None,
    }  # fmt: skip
    return json.dumps(known | more, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "skill", "value": 3}, {"kind": "claim", "value": {"name": "a"}}, {"kind": "claim", "value": "soon"},
        {"kind": "finding", "value": 1, "name": "no-key"}, {"kind": "finding", "value": 10**12, "name": KEYS[0]},
        {"kind": "finding", "value": 0, "name": KEYS[0]}, {"base": "x"}, {"schema": "skill-health/daily-state/2"},
    ],
)  # fmt: skip
def test_a_line_that_is_none_makes_its_state_unknown(change: dict[str, Any], tmp_path: Path) -> None:
    from skill_health.core.files import blake2b

    line = fact(**change)
    key = blake2b(line, digest_size=16).hexdigest()
    path = tmp_path / "states.jsonl"
    path.write_bytes(line.replace(b"0" * 32, key.encode()) + b"\n")
    assert read_states(str(path), [key]) == {}
    good = fact(kind="finding", value=2, name=KEYS[0])
    key = blake2b(good, digest_size=16).hexdigest()
    path.write_bytes(good.replace(b"0" * 32, key.encode()) + b"\r\n")
    assert read_states(str(path), [key])[key].findings == {KEYS[0]: 2}


SKILL = "---\nname: {0}\ndescription: Sorts {0}. Use when {0} are out of order.\n---\n# {0}\n\n1. Sort the {0}.\n"
FILES = {
    "skill-health.toml": "",
    **{f"skills/{name}/SKILL.md": SKILL.format(name) for name in ("plums", "pears", "figs")},
}


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=True)


def reported(root: Path) -> list[DailyRun]:
    """The runs as the page reads them, which must all be whole."""
    found, notes = daily_history(str(root / "reports"))
    assert notes == ()
    return list(found)


def day(run: Run, root: Path, number: int, **more: Any) -> dict[str, Any]:
    done = run("daily", f"--time=2026-11-{number:02}T04:00:00Z", "--format=json", "--new-errors=100", cwd=root, **more)
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_two_branches_that_git_merges_keep_both_runs_of_a_day(write: Write, run: Run) -> None:
    root = write({**FILES, ".gitattributes": "reports/*.jsonl merge=union\n", ".gitignore": "reports/*[!l]\n"})
    git(root, "init", "--quiet", "--initial-branch=main")
    pears = root / "skills/pears/SKILL.md"

    def commit() -> None:
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message=x")

    day(run, root, 1)
    commit()
    git(root, "branch", "other")
    pears.write_text(pears.read_text() + "\n[one](gone-1.md)\n")
    day(run, root, 2)
    commit()
    git(root, "checkout", "--quiet", "other")
    plums = root / "skills/plums/SKILL.md"
    plums.write_text(plums.read_text() + "\n[two](gone-2.md)\n")
    day(run, root, 2)
    commit()
    day(run, root, 3)
    commit()
    git(root, "checkout", "--quiet", "main")
    git(root, "merge", "--quiet", "other", "--message=x")
    runs = reported(root)
    assert [each.time[8:10] for each in runs] == ["01", "02", "02", "03"]
    hurt = [sorted(path for path, skill in each.skills.items() if "LI001" in skill.counts) for each in runs]
    assert hurt == [[], ["skills/pears/SKILL.md"], ["skills/plums/SKILL.md"], ["skills/plums/SKILL.md"]]
    found = day(run, root, 4)
    assert found["before"]["time"].startswith("2026-11-03") and found["problems"] == []
    assert [new["skill"] for new in found["new"]] == ["skills/pears/SKILL.md"]


def test_a_history_of_early_lines_goes_on(write: Write, run: Run) -> None:
    """Whole snapshots in the lines, then short ones, then a whole one again, as a branch of before brings."""
    root = write(FILES)
    for number in (1, 2):
        day(run, root, number)
    path = root / "reports/skill-health-history.jsonl"
    early = [json.dumps(written(each), sort_keys=True) + "\n" for each in reported(root)]
    wanted = day(run, root, 3)
    path.write_text("".join(early))
    (root / "reports" / STATES).unlink()
    assert day(run, root, 3) == wanted, "the same as after short lines"
    pears = root / "skills/pears/SKILL.md"
    pears.write_text(pears.read_text() + "\n[one](gone-1.md)\n")
    assert [new["code"] for new in day(run, root, 4)["new"]] == ["LI001"]
    with path.open("a") as file:
        file.write(early[1])
    found = day(run, root, 5)
    assert found["before"]["time"].startswith("2026-11-02") and [new["code"] for new in found["new"]] == ["LI001"]
    assert [len(each.skills) for each in reported(root)] == [3] * 6
    assert path.read_text().startswith("".join(early)), "early lines stay as they are"


@pytest.mark.slow
@pytest.mark.parametrize("text", ["{\n", ""])
@pytest.mark.parametrize("name", [STATES, "skill-health-history.jsonl"])
def test_where_damage_leaves_nothing_to_compare_with_the_run_ends_and_writes_nothing(
    write: Write, run: Run, name: str, text: str
) -> None:
    root = write(FILES)
    for number in (1, 2, 3, 4, 5):
        day(run, root, number)
    (root / "reports" / name).write_text(text)
    before = {path.name: path.read_bytes() for path in (root / "reports").iterdir()}
    done = run("daily", "--time=2026-11-06T04:00:00Z", cwd=root)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and name in done.stderr
    assert {path.name: path.read_bytes() for path in (root / "reports").iterdir()} == before
    for each in (STATES, "skill-health-history.jsonl"):
        (root / "reports" / each).unlink()
    assert run("daily", cwd=root).returncode == 0


def test_states_that_are_a_link_are_refused(write: Write, run: Run) -> None:
    root = write(FILES)
    day(run, root, 1)
    (root / "reports" / STATES).unlink()
    (root / "reports" / STATES).symlink_to(root / "skill-health.toml")
    done = run("daily", "--profile=plan", cwd=root)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and STATES in done.stderr
    assert (root / "skill-health.toml").read_text() == ""


@pytest.mark.slow
def test_an_early_line_of_more_than_64_mib_stops_no_run(write: Write, run: Run) -> None:
    root = write(FILES)
    (root / "reports").mkdir()
    (root / "reports/skill-health-history.jsonl").write_bytes(b'{"skills":{' + b" " * (65 << 20) + b"}}\n")
    found = day(run, root, 1)
    assert found["problems"] == ["a line of the history is too long: it and what stands before it are left out"]
    assert day(run, root, 2)["before"]["time"].startswith("2026-11-01")


# Each run is a process that dies at the nth line of code that writes; the last line is how many runs came to their end.
KILLER = """
import os, signal, sys
from datetime import date
from pathlib import Path
from skill_health.daily.run import run_daily, write
from skill_health.lint.pipeline import configure

def run(number, step):
    found, config = configure((".",), None, {})
    when = f"2026-11-20T04:{number // 60:02}:{number % 60:02}Z"
    outcome = run_daily((".",), found, config, date(2026, 11, 20), when, os.path.abspath("reports"), 1, False)
    seen = 0
    def trace(*_):
        nonlocal seen
        seen += 1
        if seen == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace
    sys.settrace(trace)
    list(write(outcome, os.path.abspath("reports")))
    sys.settrace(None)
    print(number, seen, flush=True)
    os._exit(0)

def start(number, step):
    child = os.fork()
    if not child:
        run(number, step)
    return os.waitpid(child, 0)[1] == 0

start(0, 0)
for number in range(1, int(sys.argv[1]) + 1):
    if number % 3 == 0:
        path = Path("skills/plums/SKILL.md")
        path.write_text(path.read_text() + f"\\n[more](gone-{number}.md)\\n")
    start(number, number * int(sys.argv[2]) // int(sys.argv[1]))
"""


def killed(root: Path, kills: int, lines: int) -> list[list[int]]:
    """The runs that came to their end, by number, and how many lines of code each took."""
    command = [sys.executable, "-c", KILLER, str(kills), str(lines)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return [list(map(int, line.split())) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("kills", "few"),
    [
        pytest.param(6, range(2, 5), marks=pytest.mark.slow),
        pytest.param(110, range(6, 30), marks=pytest.mark.exhaustive),
    ],
)
def test_kills_lose_nothing_and_double_nothing(kills: int, few: range, write: Write, run: Run) -> None:
    root = write(FILES)
    # A run that has something to compare with, and something new, takes more lines than the first.
    lines = max(number for _, number in killed(root, 3, 10**9))
    shutil.rmtree(root)
    ended = killed(write(FILES), kills, lines + lines // 4)
    assert len(ended) in few, "the others were killed"
    runs = reported(root)
    times = [int(each.time[14:16]) * 60 + int(each.time[17:19]) for each in runs]
    assert times == sorted(set(times)) and {number for number, _ in ended} <= set(times)
    for number, each in zip(times, runs, strict=True):
        assert each.skills["skills/plums/SKILL.md"].counts.get("LI001", 0) == number // 3
    states = (root / "reports" / STATES).read_bytes().splitlines()
    assert len(set(states)) == len(states)
    json.loads((root / "reports/skill-health.json").read_bytes())
    found = day(run, root, 21)
    assert found["problems"] == [] and found["before"]["time"] == runs[-1].time


@pytest.mark.slow
def test_two_runs_at_once_keep_both_states(write: Write) -> None:
    root = write(FILES)
    command = [sys.executable, "-m", "skill_health", "daily", "--jobs=1", "--time"]
    running = [
        subprocess.Popen([*command, f"2026-11-{n:02}"], cwd=root, stdout=subprocess.DEVNULL) for n in range(1, 5)
    ]
    assert [process.wait(600) for process in running] == [0] * 4
    assert sorted((each.time[8:10], len(each.skills)) for each in reported(root)) == [(f"0{n}", 3) for n in range(1, 5)]
    json.loads((root / "reports/skill-health.json").read_bytes())
