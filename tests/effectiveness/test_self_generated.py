"""The arm self_generated: an agent writes itself a skill from the task's text alone, and does the task with it."""

from __future__ import annotations

import csv
import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trial_bench as bench
from effects_made import replace
from msgspec import UNSET
from run_made import a_plan, go, only_read, write_collection

from simulators.agents.scripted import draw, parse_plan
from skill_health.bench.report_formats import RenderOptions
from skill_health.commands.effectiveness import command as group
from skill_health.documents.effect_result import SkillCreation, TrialResult
from skill_health.effectiveness.agents._api import Command, Job
from skill_health.effectiveness.creation.written import FOLDER, MOST_BYTES, read_written
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.reports import csv_
from skill_health.effectiveness.run.runs import EffectRun, load_run
from skill_health.effectiveness.workspace.staging import parse_arm

HEAD = "---\nname: counting\ndescription: Counts. Use when something has to be counted.\n---\n# Steps\n\nCount twice.\n"
CREATE = "mkdir -p new-skills/counting; printf '%s' \"$TEXT\" > new-skills/counting/SKILL.md; ls -A . ; env"
SOLVE = "cat .agents/skills/counting/SKILL.md > out.txt 2>/dev/null; echo @listed counting; ls -A"


def tried(tmp_path: Path, create: str = CREATE, solve: str = SOLVE, **more: Any) -> tuple[TrialResult, Path]:
    """A trial of an agent that is one script as the creator, and another as the solver."""

    def command(job: Job) -> Command:
        creator = "Write a skill for another agent" in job.prompt
        return Command(("bash", "-c", create if creator else solve), {"TEXT": HEAD})

    bench.needs_bubblewrap()
    task = bench.task(tmp_path, bench.verifier("grep -q 'Count twice' out.txt"), env=(("OF_TASK", "hidden-word"),))
    cell = bench.cell(task, bench.agent("", command=command), **more)
    return bench.run(tmp_path, replace(cell, arm=parse_arm("self_generated")))


@pytest.mark.slow
def test_what_is_written_from_the_text_alone_is_staged_kept_and_paid_for(tmp_path: Path) -> None:
    result, place = tried(tmp_path)
    assert (result.outcome, [name for name, _ in result.skills]) == ("pass", ["counting"]), result
    made = result.creation
    assert isinstance(made, SkillCreation) and (made.outcome, made.refused) == ("written", ())
    assert (result.usage.input_tokens, made.usage.input_tokens) == (14, 7), "both count, and the creator's apart"
    assert result.duration_ms is not None and made.duration_ms is not None and result.duration_ms > made.duration_ms > 0
    seen = (place / "creation/final.txt").read_text()
    assert "new-skills" in seen.splitlines() and "in.txt" not in seen and "hidden-word" not in seen
    assert "do it" in bench.record(place, "creation/creation.json")["prompt"]
    with tarfile.open(place / f"creation/{FOLDER}.tar.gz") as archive:
        kept = archive.extractfile("counting/SKILL.md")
        assert kept is not None and kept.read().decode() == HEAD
    assert not list(place.rglob("SKILL.md")), "it would be taken for a skill of the collection"
    trial = bench.record(place, "trial.json")
    assert (trial["arm"], trial["prompt"], trial["skills"][0]["name"]) == ("self_generated", "do it", "counting")
    assert "in.txt" in (place / "final.txt").read_text(), "the solver has the task's files"


ENDS: dict[str, tuple[str, str, str, bool]] = {
    "nothing written": ("true", "nothing", "fail", True),
    "no frontmatter": ("mkdir -p new-skills/a; echo '# Steps' > new-skills/a/SKILL.md", "unusable", "fail", True),
    "a crash after writing": (f"{CREATE}; exit 3", "written", "pass", True),
    "time is up after writing": (f"{CREATE}; sleep 60", "written", "pass", True),
    "a failure of its server": ("echo @failure infrastructure", "broken", "infrastructure", False),
    "no money": ("echo @failure quota", "broken", "quota", False),
    "skills of others": ("echo @listed of-the-run", "broken", "infrastructure", False),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDS)
def test_a_creator_that_ends_so(tmp_path: Path, name: str) -> None:
    create, outcome, trial, solved = ENDS[name]
    limits = bench.SandboxLimits(timeout_sec=4.0, output_bytes=1 << 20, disk_bytes=64 << 20)
    result, place = tried(tmp_path, create, collection={"of-the-run": "An odd one."}, limits=limits)
    assert isinstance(result.creation, SkillCreation)
    assert (result.creation.outcome, result.outcome) == (outcome, trial)
    assert (place / "final.txt").exists() == solved
    assert bool(result.error) == (not solved)
    assert isinstance(result.disagreement, str) == (name == "skills of others")


@pytest.mark.slow
def test_a_skill_that_its_agent_does_not_list_ends_no_run(tmp_path: Path) -> None:
    result, _ = tried(tmp_path, solve="echo @listed; echo 'Count twice' > out.txt")
    assert (result.outcome, result.disagreement) == ("pass", UNSET)
    assert "the agent does not list counting, which it wrote for itself" in result.notes


AT = f"{FOLDER}/counting"


def _write(files: dict[str, str | bytes], link: str = "", to: str = "") -> Callable[[Path], None]:
    """Make these files, and a link that leads to one of the folders beside it, or anywhere."""

    def make(root: Path) -> None:
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(text if isinstance(text, bytes) else text.encode())
        if link:
            (root / link).parent.mkdir(exist_ok=True)
            (root / link).symlink_to(root / to)

    return make


def _fifo(root: Path) -> None:
    _write({f"{AT}/SKILL.md": HEAD})(root)
    os.mkfifo(root / AT / "pipe")


LEFT: dict[str, tuple[Callable[[Path], None], int, str]] = {
    "nothing": (lambda root: None, 0, ""),
    "a good one": (_write({f"{AT}/SKILL.md": HEAD, f"{AT}/scripts/run.sh": "echo 1\n"}), 1, ""),
    "another name": (_write({f"{FOLDER}/other/SKILL.md": HEAD}), 0, "not its folder's"),
    "a name for a shell": (_write({f"{FOLDER}/a;b/SKILL.md": HEAD}), 0, "'s name"),
    "terminal codes": (_write({f"{FOLDER}/\x1b[31m/SKILL.md": HEAD}), 0, "'s name"),
    "no SKILL.md": (_write({f"{AT}/skill.txt": HEAD}), 0, "it has no SKILL.md"),
    "a file in its place": (_write({AT: HEAD}), 0, "no folder"),
    "bad yaml": (_write({f"{AT}/SKILL.md": "---\nname: [\n---\n"}), 0, "SKILL.md: "),
    "no description": (_write({f"{AT}/SKILL.md": "---\nname: counting\n---\n# S\n"}), 0, "its description"),
    "a long description": (_write({f"{AT}/SKILL.md": HEAD.replace("Counts.", "x" * 1025)}), 0, "its description"),
    "bytes": (_write({f"{AT}/SKILL.md": HEAD, f"{AT}/x.bin": b"\xff\xfe\0"}), 0, "no text"),
    "too much": (_write({f"{AT}/SKILL.md": HEAD, f"{AT}/x.txt": "x" * MOST_BYTES}), 0, "KiB"),
    "too many files": (_write({f"{AT}/{n}.txt": "x" for n in range(40)} | {f"{AT}/SKILL.md": HEAD}), 0, "30 files"),
    "a linked skill": (_write({"outside/SKILL.md": HEAD}, AT, "outside"), 0, "no folder"),
    "a link inside": (_write({f"{AT}/SKILL.md": HEAD}, f"{AT}/data.txt", "/etc/passwd"), 0, "no plain file"),
    "all of it a link": (_write({"elsewhere/counting/SKILL.md": HEAD}, FOLDER, "elsewhere"), 0, "no folder"),
    "a pipe": (_fifo, 0, "no plain file"),
    "four": (
        _write({f"{FOLDER}/n{n}/SKILL.md": HEAD.replace("counting", f"n{n}", 1) for n in range(4)}), 3, "1 more than",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_can_be_staged_of_what_was_left(tmp_path: Path, name: str) -> None:
    make, skills, said = LEFT[name]
    make(tmp_path)
    found = read_written(str(tmp_path), ())
    assert len(found.skills) == skills
    assert said in "; ".join(found.refused) and bool(said) == bool(found.refused)
    assert "\x1b" not in json.dumps(found.refused, ensure_ascii=False) or name == "terminal codes"


def test_a_secret_in_a_written_skill_is_taken_out(tmp_path: Path) -> None:
    _write({f"{AT}/SKILL.md": f"{HEAD}\nsk-stand-in-0123456789\n"})(tmp_path)
    (skill,) = read_written(str(tmp_path), ("sk-stand-in-0123456789",)).skills
    assert b"sk-stand-in" not in skill.files[0].data


@pytest.fixture
def run_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., EffectRun]:
    """A run of real trials of the scripted agent."""
    root = write_collection(tmp_path / "collection", 3, 1)
    monkeypatch.chdir(root)
    only_read(monkeypatch)

    def run(agents: str, out: str, *more: str) -> EffectRun:
        words = ["run", "tasks", "--quiet", "--sandbox", "none", "--arms", "target,self_generated", "--out", out]
        assert group.main([*words, "--agents", agents, "--reps", "2", *more], standalone_mode=False) == 0
        (folder,) = (tmp_path / "collection" / out / "effectiveness").iterdir()
        return load_run(str(folder))

    return run


@pytest.mark.slow
def test_a_run_shows_what_was_written_and_what_it_took(
    run_of: Callable[..., EffectRun], capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of("scripted:base=0,target=1,create=0.6", "one")
    own = [result for result in run.results if result.arm == "self_generated"]
    assert len(own) == 3 * 2, "a negative control has no such arm"
    plan = parse_plan("scripted:base=0,target=1,create=0.6")
    for result in own:
        assert isinstance(result.creation, SkillCreation)
        drawn = draw(plan, result.task_id, None, parse_arm("self_generated"), result.replication)
        assert result.usage.input_tokens == 2 * (drawn.usage.input_tokens or 0)
        assert bool(result.skills) == (result.creation.outcome == "written")
    words = {result.creation.outcome for result in own if isinstance(result.creation, SkillCreation)}
    assert words == {"written", "nothing"}
    report = json.loads((Path(run.folder) / "report.json").read_text())
    (arm,) = (arm for arm in report["models"][0]["arms"] if arm["arm"] == "self_generated")
    assert arm["creation"]["written"] + arm["creation"]["nothing"] == 6
    assert arm["creation"]["input_tokens"]["value"] == pytest.approx(arm["input_tokens"]["value"] / 2, rel=1e-4)
    table = csv_.render(build_report(run.manifest, run.results), RenderOptions(table="arms"))
    rows = (each for each in csv.DictReader(io.StringIO(table)) if each["part"] == "collection")
    (row,) = (each for each in rows if each["measure"] == "writing_input_tokens")
    assert float(row["value"]) == pytest.approx(arm["creation"]["input_tokens"]["value"])
    assert (row["arm"], int(row["written"])) == ("self_generated", arm["creation"]["written"])
    names = [contrast["name"] for contrast in report["models"][0]["contrasts"]]
    assert names == ["target-control", "target-self_generated", "self_generated-control"]
    shown = capsys.readouterr()
    assert f"skills written in {arm['creation']['written']} of 6 trials" in " ".join(shown.out.split())
    assert "forecast: 18 trials" in shown.err
    again = run_of("scripted:base=0,target=1,create=0.6", "two")
    assert [(each.key, each.outcome, each.skills) for each in again.results] == [
        (each.key, each.outcome, each.skills) for each in run.results
    ]


def test_such_a_trial_may_spend_twice_and_that_is_held_back(tmp_path: Path) -> None:
    from run_made import PRICE, Made, a_model, events

    made = Made(usd=0.5)
    plan = a_plan(a_model(price=PRICE, cap=1.0), arms=("self_generated",), reps=1)
    go(tmp_path, plan, made, usd=50.0)
    held = {(event["key"][2], event["reserved_usd"]) for event in events(tmp_path, "start")}
    assert held == {("control", 1.0), ("self_generated", 2.0)}
