"""`skill-health fleet` over made repositories: what it lints, says, writes and exits with."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from skill_health.core import validation
from skill_health.core.files import MAX_BYTES
from skill_health.fleet import seen

Patch = pytest.MonkeyPatch
pytestmark = pytest.mark.slow


def skills(*names: str) -> dict[str, str]:
    return {f"skills/{name}/SKILL.md": SKILL.format(name=name) for name in names}


SKILL = """---
name: {name}
description: Sorts {name} by size and prints them in order. Use when {name} are out of order, not for tables of numbers.
---
# {name}

## Workflow

1. Read the list of {name} that was given, and count them.
2. Sort the {name} by size, then check that none was lost on the way.

## Verification

Run it twice; the second run changes nothing in the list of {name}.
"""
BROKEN = "\nSee [the guide](gone.md).\n"


def append(place: Path, text: str) -> None:
    with place.open("a", encoding="utf-8") as file:
        file.write(text)


def break_name(folder: Path, name: str) -> None:
    """Make an error: the description is gone."""
    place = folder / f"skills/{name}/SKILL.md"
    lines = place.read_text(encoding="utf-8").splitlines(keepends=True)
    place.write_text("".join(line for line in lines if not line.startswith("description:")), encoding="utf-8")


@pytest.fixture
def two(fleet: Any) -> Any:
    """Two repositories, which were checked on the first day."""
    fleet.repository("fruit", skills("plums", "pears"))
    fleet.repository("stones", skills("opals"))
    fleet.list("fruit", owner="@fruit")
    fleet.list("stones")
    done = fleet.run()
    assert done.returncode == 0, done.stderr
    return fleet


def test_a_first_run_checks_everything_and_compares_nothing(two: Any) -> None:
    record = two.record()
    assert [(each["name"], each["status"]) for each in record["repositories"]] == [
        ("fruit", "checked"), ("stones", "checked"),
    ]  # fmt: skip
    assert record["total"]["skills"] == 3 and record["total"]["compared"] == 0
    for each in record["repositories"]:
        assert each["findings"]["change"] is None and each["findings"]["incomparable"] == "it was not checked before"
    assert two.history()[0]["repositories"]["fruit"]["skills"] == 2


def test_what_is_written_fits_its_schemas(two: Any) -> None:
    checks = {"fleet": [two.record()], "fleet-line": two.history()}
    checks["fleet-state"] = [json.loads(each.read_bytes()) for each in (two.reports / "states").iterdir()]
    assert len(checks["fleet-state"]) == 2
    for name, documents in checks.items():
        validator = Draft202012Validator(validation.load_schema(name))
        for each in documents:
            validator.validate(each)


def test_an_unchanged_repository_costs_one_call_of_git_and_no_skill_is_linted(two: Any, monkeypatch: Patch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a repository was linted")

    monkeypatch.setattr("skill_health.fleet.run.check_repository", never)
    done = two.run(day=2)
    assert done.returncode == 0 and "linting" not in done.stderr
    assert len(two.calls()) == 2 and all("rev-parse" in call for call in two.calls())
    assert {each["status"] for each in two.record()["repositories"]} == {"unchanged"}
    assert two.of("fruit")["findings"]["change"] == {
        "since": "2026-11-01T04:00:00Z", "new": [], "fixed": [], "added": [], "removed": [],
    }  # fmt: skip


def test_only_what_was_edited_is_linted_and_its_findings_are_new_once(two: Any) -> None:
    append(two.root / "fruit/skills/plums/SKILL.md", BROKEN)
    done = two.run(day=2)
    assert (
        done.returncode == 0 and done.stderr.splitlines()[0] == "linting fruit" and "linting stones" not in done.stderr
    )
    found = two.of("fruit")["findings"]
    assert [(each["code"], each["skill"], each["n"]) for each in found["change"]["new"]] == [
        ("LI001", "skills/plums/SKILL.md", 1)
    ]
    assert found["dirty"] is True and found["change"]["new"][0]["owners"] == ["@fruit"]
    assert two.run(day=3).returncode == 0
    assert two.of("fruit")["findings"]["change"]["new"] == []
    (two.root / "fruit/skills/plums/SKILL.md").write_text(SKILL.format(name="plums"), encoding="utf-8")
    two.run(day=4)
    change = two.of("fruit")["findings"]["change"]
    assert [each["code"] for each in change["fixed"]] == ["LI001"] and not change["new"]


@pytest.mark.parametrize(
    ("gate", "edit", "code"),
    [
        ("new-errors", "error", 1), ("new-errors", "warning", 0), ("new-warnings", "warning", 1), ("errors", "error", 1),
        ("errors", "warning", 0), ("warnings", "warning", 1), ("never", "error", 0),
    ],
)  # fmt: skip
def test_the_gate_decides_on_the_exit_code(two: Any, gate: str, edit: str, code: int) -> None:
    if edit == "error":
        break_name(two.root / "fruit", "plums")
    else:
        append(two.root / "fruit/skills/plums/SKILL.md", BROKEN)
    done = two.run(f"--fail-on={gate}", "--format=json", day=2)
    assert done.returncode == code, done.stdout
    reasons = json.loads(done.stdout)["reasons"]
    assert bool(reasons) == bool(code)
    assert all(each.startswith("fruit: ") and gate in each for each in reasons)
    again = two.run(f"--fail-on={gate}", day=3)
    assert again.returncode == (0 if gate.startswith("new-") else code)


def test_an_unreachable_repository_is_an_error_of_its_own_and_never_zero(two: Any) -> None:
    break_name(two.root / "fruit", "plums")
    (two.root / "stones").rename(two.root / "elsewhere")
    done = two.run(day=2)
    assert done.returncode == 3 and "stones: there is no folder stones (last linted 2026-11-01)" in done.stdout
    stones = two.of("stones")
    assert stones["status"] == "failed" and stones["findings"] is None and stones["last"] == "2026-11-01T04:00:00Z"
    assert "errors" not in two.history()[1]["repositories"]["stones"]
    total = two.record()["total"]
    assert (total["failed"], total["skills"], total["new"]["error"]) == (1, 2, 1)
    two.waive(rule="ALL", repository="stones", reason="x", until="2027-01-01")
    two.waive(rule="XX", repository="fruit", reason="x", until="2027-01-01")
    two.run(day=2)
    assert [each["status"] for each in two.record()["waivers"]] == ["unknown", "unused"]
    del two.listed[-2:]
    (two.root / "elsewhere").rename(two.root / "stones")
    append(two.root / "stones/skills/opals/SKILL.md", BROKEN)
    two.run(day=3)
    change = two.of("stones")["findings"]["change"]
    # It is compared with what was known of it last, not with nothing.
    assert change["since"] == "2026-11-01T04:00:00Z" and len(change["new"]) == 1


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"README.md": "x"}, "SKILL.md"),
        ({"skill-health.toml": "selct = []\n", **skills("figs")}, "selct"),
        ({"skill-health.toml": "= 3", **skills("figs")}, "skill-health.toml"),
        ({"skill-health-baseline.json": "{", **skills("figs")}, "skill-health-baseline.json"),
    ],
)
def test_a_repository_that_cannot_be_linted_does_not_stop_the_others(
    two: Any, files: dict[str, str], said: str
) -> None:
    two.repository("odd", files)
    two.list("odd")
    done = two.run(day=2)
    assert done.returncode == 3 and said in two.of("odd")["error"]
    assert {each["status"] for each in two.record()["repositories"] if each["name"] != "odd"} == {"unchanged"}


def test_rules_that_found_as_much_stand_in_the_order_of_their_codes(two: Any) -> None:
    linked, misnamed = SKILL.format(name="figs") + BROKEN, SKILL.format(name="other")
    two.repository("strange", {"skills/figs/SKILL.md": linked, "skills/limes/SKILL.md": misnamed})
    two.list("strange")
    two.run(day=2)
    assert [each["code"] for each in two.of("strange")["findings"]["rules"]] == ["FM013", "LI001", "RT003"]


def test_its_own_configuration_counts_but_not_what_is_not_for_it_to_say(two: Any) -> None:
    quiet = 'ignore = ["broken-link"]\n[router.providers.x]\nprotocol = "openai"\nbase-url = "https://example.com"\n'
    text = SKILL.format(name="figs") + BROKEN
    two.repository("strange", {"skill-health.toml": quiet, "skills/figs/SKILL.md": text})
    two.list("strange")
    two.run(day=2)
    found = two.of("strange")["findings"]
    assert found["configured"] == "skill-health.toml" and "LI001" not in {each["code"] for each in found["rules"]}
    assert any("router.providers" in note and "is left out" in note for note in found["notes"])
    (two.root / "house.toml").write_text("", encoding="utf-8")
    two.listed[-1] = '[[repository]]\nname = "strange"\npath = "strange"\nconfig = "house.toml"\n'
    two.run(day=3)
    found = two.of("strange")["findings"]
    assert found["configured"] == "house.toml" and "LI001" in {each["code"] for each in found["rules"]}
    assert found["change"] is None and "settings" in found["incomparable"]


def test_a_folder_without_git_is_a_repository_too(fleet: Any) -> None:
    fleet.repository("plain", skills("figs"), is_git=False)
    fleet.list("plain")
    assert fleet.run().returncode == 0
    assert fleet.of("plain")["findings"]["commit"] is None
    fleet.run(day=2)
    assert fleet.of("plain")["status"] == "unchanged" and not fleet.calls()


def test_a_folder_of_a_repository_can_be_checked_alone(fleet: Any) -> None:
    fleet.repository("many", {**skills("figs"), "other/plums/SKILL.md": SKILL.format(name="plums")})
    fleet.list("many", folder="other")
    fleet.run()
    assert fleet.of("many")["findings"]["skills"] == 1


def test_reports_within_a_repository_do_not_change_it(fleet: Any) -> None:
    folder = fleet.repository("own", skills("figs"))
    fleet.list("own")
    where = f"--reports={folder}/reports"
    fleet.run(where)
    fleet.run(where, day=2)
    record = json.loads((folder / "reports/skill-health-fleet.json").read_bytes())
    assert record["repositories"][0]["status"] == "unchanged"


def test_a_file_that_changes_within_a_tick_is_noticed(fleet: Any, monkeypatch: Patch) -> None:
    """On a file system with coarse times a young file can change and keep size and times: its content tells."""
    folder = fleet.repository("quick", skills("figs"))
    fleet.list("quick")
    real = list(seen._files(str(folder), ""))
    monkeypatch.setattr(seen, "_files", lambda *_: iter(real))
    monkeypatch.setattr(seen, "SETTLED_NS", 10**19)
    fleet.run()
    fleet.run(day=2)
    assert fleet.of("quick")["status"] == "unchanged"
    place = folder / "skills/figs/SKILL.md"
    place.write_text(place.read_text(encoding="utf-8").replace("1. Read", "2. Read"), encoding="utf-8")
    fleet.run(day=3)
    assert fleet.of("quick")["status"] == "checked"


def test_files_that_are_no_longer_young_are_not_read_again(fleet: Any, monkeypatch: Patch) -> None:
    fleet.repository("quick", skills("figs"))
    fleet.list("quick")
    settled = seen.SETTLED_NS
    monkeypatch.setattr(seen, "SETTLED_NS", 10**19)
    fleet.run()

    def young() -> bool:
        return "young" in json.loads(next((fleet.reports / "states").iterdir()).read_bytes())["seen"]

    assert young()
    found = []
    content = seen._content
    monkeypatch.setattr(seen, "_content", lambda paths: found.append(len(paths)) or content(paths))
    monkeypatch.setattr(seen, "_is_young", lambda _, taken: taken == first)
    first = json.loads(next((fleet.reports / "states").iterdir()).read_bytes())["seen"]["taken"]
    monkeypatch.setattr(seen, "SETTLED_NS", settled)
    fleet.run(day=2)
    assert fleet.of("quick")["status"] == "unchanged" and not young() and len(found) == 1
    fleet.run(day=3)
    assert fleet.of("quick")["status"] == "unchanged" and len(found) == 1


def test_claims_are_judged_anew_each_day(fleet: Any) -> None:
    claim = {
        "claim_id": "claim-sort", "claim_text": "Sorting is 37% faster.", "owning_skill": "figs", "section": "Workflow",
        "source_url": "https://example.com/a", "retrieved_at": "2026-11-01", "evidence_strength": "primary",
        "volatility": "high", "last_reviewed": "2026-11-01",
    }  # fmt: skip
    fleet.repository("claims", {**skills("figs"), "registries/claims.jsonl": json.dumps(claim) + "\n"})
    fleet.list("claims")
    fleet.run()
    fleet.run()
    assert fleet.of("claims")["status"] == "unchanged"
    fleet.run(day=2)
    assert fleet.of("claims")["status"] == "checked"


def test_added_moved_and_removed_skills(two: Any) -> None:
    folder = two.root / "fruit/skills"
    (folder / "pears").rename(folder / "pears-2")
    (folder / "plums/SKILL.md").unlink()
    two.repository("fruit", skills("figs"), is_git=False)
    two.run(day=2)
    change = two.of("fruit")["findings"]["change"]
    assert (change["added"], change["removed"]) == (["skills/figs/SKILL.md"], ["skills/plums/SKILL.md"])


def test_two_runs_at_once_are_refused(two: Any) -> None:
    from skill_health.bench.durable import locked

    with locked(str(two.reports)):
        done = two.run(day=2)
    assert done.returncode == 2 and "in use by process" in done.stderr
    assert len(two.history()) == 1
    assert two.run(day=2).returncode == 0


KILLED = """
import os, signal, sys
import skill_health.fleet.run as run
from skill_health.cli import main
check, left = run.check_repository, int(sys.argv.pop(1))
def until_killed(task, found):
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return check(task, found)
run.check_repository = until_killed
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_a_killed_run_loses_nothing_that_it_had_finished(two: Any) -> None:
    for name in ("fruit", "stones"):
        for place in (two.root / name).rglob("SKILL.md"):
            append(place, BROKEN)
    words = ["fleet", "fleet.toml", "--jobs=1", "--no-page", "--time=2026-11-02T04:00:00Z"]
    done = subprocess.run([sys.executable, "-c", KILLED, "1", *words], cwd=two.root, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL and len(two.history()) == 1
    done = two.run(day=2)
    # The first was finished, is not linted again, and is compared with what was before the killed run.
    assert done.stderr.startswith("linting stones")
    assert len(two.of("fruit")["findings"]["change"]["new"]) == 2
    assert len(two.of("stones")["findings"]["change"]["new"]) == 1
    assert len(list((two.reports / "states").iterdir())) == 2


def test_the_same_run_elsewhere_writes_the_same_bytes(
    two: Any, tmp_path: Path, run_in: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    import shutil

    other = tmp_path / "other"
    shutil.copytree(two.root, other, ignore=shutil.ignore_patterns("reports"))
    run_in(other, "fleet", "fleet.toml", "--jobs=1", "--no-page", "--time=2026-11-01T04:00:00Z")
    for name in ("skill-health-fleet.json", "skill-health-fleet.md", "skill-health-fleet-history.jsonl"):
        assert (other / "reports/fleet" / name).read_bytes() == (two.reports / name).read_bytes()


def test_a_history_line_does_not_grow_with_the_skills(two: Any) -> None:
    before = len(json.dumps(two.history()[0]))
    for at in range(40):
        two.repository("fruit", skills(f"kind-{at}"), is_git=False)
    two.run(day=2)
    assert two.of("fruit")["findings"]["skills"] == 42
    assert len(json.dumps(two.history()[1])) < before + 100


HISTORY = "skill-health-fleet-history.jsonl"


def test_a_state_that_is_damaged_ends_the_run_and_one_that_is_removed_costs_the_comparison(two: Any) -> None:
    (place,) = (two.reports / "states").glob("fruit@*")
    damaged = place.read_bytes().replace(b"plums", b"plump")
    place.write_bytes(damaged)
    history = (two.reports / HISTORY).read_bytes()
    done = two.run(day=2)
    assert done.returncode == 2 and place.name in done.stderr and done.stderr.count("\n") == 1
    assert place.read_bytes() == damaged and (two.reports / HISTORY).read_bytes() == history
    place.unlink()
    done = two.run(day=2)
    assert done.returncode == 0
    found = two.of("fruit")["findings"]
    assert found["change"] is None and found["incomparable"]
    assert any(note.startswith("fruit: ") for note in two.record()["notes"])
    assert two.of("stones")["findings"]["change"] is not None


@pytest.mark.parametrize("damage", ["all of it", "emptied", "its last line"])
def test_a_history_that_is_damaged_until_nothing_can_be_compared_ends_the_run(two: Any, damage: str) -> None:
    two.repository("fruit", skills("pears"), is_git=False)
    two.run(day=2)
    history = two.reports / HISTORY
    lines = history.read_bytes().splitlines(keepends=True)
    torn = {"all of it": b"{", "emptied": b"", "its last line": b"".join(lines[:-1]) + lines[-1][:100] + b"\n"}[damage]
    history.write_bytes(torn)
    done = two.run(day=3)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert history.read_bytes() == torn


def state_of(two: Any) -> Path:
    return next((two.reports / "states").glob("fruit@*"))


def make_socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.path.relpath(place))


def make_device(place: Path) -> None:
    try:
        os.mknod(place, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")


NODES: dict[str, Callable[[Path], object]] = {
    "pipe": lambda place: os.mkfifo(place),
    "socket": make_socket,
    "device": make_device,
    "folder": lambda place: place.mkdir(),
    "dangling link": lambda place: place.symlink_to("gone"),
    "link to a file": lambda place: place.symlink_to("../../../fleet.toml"),
    "link to itself": lambda place: place.symlink_to(place.name),
}
UNREADABLE: dict[str, Callable[[Any], Path]] = {
    "a state": state_of,
    "the folder of the states": lambda two: two.reports / "states",
    "the history": lambda two: two.reports / HISTORY,
}


def looks(folder: Path) -> dict[str, tuple[int, int]]:
    """What is below a folder, as the file system tells: to write a file anew is to make another one."""
    places = [place for place in (folder, folder / "states") if os.path.isdir(place)]
    entries = [entry for place in places for entry in os.scandir(place) if entry.name != "states"]
    return {each.path: (each.inode(), each.stat(follow_symlinks=False).st_mtime_ns) for each in entries}


def refuses(two: Any, place: Path) -> None:
    """A worse fleet is not accepted, nothing is written, and one line names the file."""
    break_name(two.root / "fruit", "plums")
    before = looks(two.reports)
    done = two.run(day=2)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith(f"skill-health: error: cannot read {place}: ")
    assert looks(two.reports) == before


@pytest.mark.skipif(sys.platform != "linux", reason="nodes as Linux has them")
@pytest.mark.parametrize(
    ("what", "node"),
    [(what, node) for what in UNREADABLE for node in NODES if (what, node) != ("the folder of the states", "folder")],
)
def test_what_is_in_place_of_what_was_known_is_not_nothing(what: str, node: str, two: Any, monkeypatch: Patch) -> None:
    place = UNREADABLE[what](two)
    place.rename(two.root / "kept")
    monkeypatch.chdir(place.parent)
    NODES[node](place)
    refuses(two, place)
    place.rmdir() if node == "folder" else place.unlink()
    (two.root / "kept").rename(place)
    assert two.run(day=2).returncode == 1  # what was new before it failed is new still


class BadPlace:
    """One path cannot be looked at, opened, or read."""

    def __init__(self, place: Path, number: int) -> None:
        self.place, self.number, self.handles = str(place), number, set[int]()

    def fail(self, real: Callable[..., Any], place: Any, *rest: Any, **more: Any) -> Any:
        if place in (self.place, *self.handles):
            raise OSError(self.number, os.strerror(self.number), self.place)
        return real(place, *rest, **more)

    def open(self, real: Callable[..., int], place: Any, *rest: Any, **more: Any) -> int:
        handle = real(place, *rest, **more)
        (self.handles.add if place == self.place else self.handles.discard)(handle)
        return handle


FAILS = [
    ("a state", ["stat", "lstat"]), ("a state", ["open"]), ("a state", ["read"]),
    ("the folder of the states", ["listdir"]),
    ("the history", ["stat", "lstat"]), ("the history", ["open"]),
]  # fmt: skip


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
@pytest.mark.parametrize(("what", "calls"), FAILS)
def test_what_cannot_be_read_is_not_nothing(
    what: str, calls: list[str], number: int, two: Any, monkeypatch: Patch
) -> None:
    place = UNREADABLE[what](two)
    bad = BadPlace(place, number)
    with monkeypatch.context() as patch:
        if calls == ["read"]:
            patch.setattr(os, "open", partial(bad.open, os.open))
        for name in calls:
            patch.setattr(os, name, partial(bad.fail, getattr(os, name)))
        refuses(two, place)
    assert two.run(day=2).returncode == 1


def test_settings_of_the_user_that_cannot_be_read_are_no_others(two: Any, tmp_path: Path, monkeypatch: Patch) -> None:
    place = tmp_path / "settings/skill-health/config.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    place.mkdir(parents=True)
    refuses(two, place)


@pytest.mark.skipif(sys.platform != "linux", reason="nodes as Linux has them")
def test_what_is_no_state_of_ours_is_left_alone(two: Any, monkeypatch: Patch) -> None:
    folder = two.reports / "states"
    monkeypatch.chdir(folder)
    for number, make in enumerate(NODES.values()):
        for whose in ("fruit", "other"):
            make(folder / f"{whose}@{number:032}.json")
    before = {path: info for path, info in looks(folder).items() if "@000" in path}
    assert len(before) == 2 * len(NODES)
    old = next(each for each in folder.glob("fruit@*") if "@000" not in each.name)
    break_name(two.root / "fruit", "plums")
    assert two.run(day=2).returncode == 1
    assert {path: info for path, info in looks(folder).items() if "@000" in path} == before
    assert not old.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="nodes as Linux has them")
@pytest.mark.parametrize("node", NODES)
def test_a_state_takes_the_place_of_no_node(node: str, two: Any, monkeypatch: Patch) -> None:
    skill = two.root / "fruit/skills/plums/SKILL.md"
    before = skill.read_bytes()
    append(skill, BROKEN)
    two.run(day=2)
    place = state_of(two)
    skill.write_bytes(before)
    two.run(day=3)
    assert not place.exists()
    monkeypatch.chdir(place.parent)
    NODES[node](place)
    info = place.lstat()
    append(skill, BROKEN)
    done = two.run(day=2)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"cannot write {place}: " in done.stderr
    assert place.lstat() == info and len(two.history()) == 3


def test_a_torn_line_of_the_history_is_told_and_passed_over(two: Any) -> None:
    with (two.reports / "skill-health-fleet-history.jsonl").open("ab") as file:
        file.write(b'{"schema": "skill-health/fleet-line/1", "time"')
    two.run(day=2)
    assert any("damaged" in note for note in two.record()["notes"])
    assert two.of("fruit")["findings"]["change"] is not None


def test_trends_are_told_since_the_first_run_with_the_same_rules(two: Any) -> None:
    append(two.root / "fruit/skills/plums/SKILL.md", BROKEN)
    two.run(day=2)
    append(two.root / "fruit/skills/pears/SKILL.md", BROKEN)
    two.run(day=3)
    trend = two.of("fruit")["trend"]
    assert (trend["runs"], trend["since"]) == (2, "2026-11-01T04:00:00Z")
    assert trend["warnings"] == trend["warnings_before"] + 2


def test_a_large_skill_is_known_without_its_text(fleet: Any) -> None:
    big = SKILL.format(name="figs") + "word " * (MAX_BYTES // 4)
    fleet.repository("big", {"skills/figs/SKILL.md": big})
    fleet.list("big")
    assert fleet.run("--fail-on=never").returncode == 0
    state = json.loads(next((fleet.reports / "states").iterdir()).read_bytes())
    assert state["skills"]["skills/figs/SKILL.md"]["text"] is None
