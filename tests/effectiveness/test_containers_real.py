"""Claude Code and Codex in a container that was built for the task: both arms, whole trials behind the gateway."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event

import pytest
from agent_server import Play
from agent_trials import Stage, kept, on_stage, probes_agree, program
from msgspec.structs import replace as replace_result
from thinned import EXHAUSTIVE, thinned
from trial_bench import skill

from skill_health.effectiveness.agents._api import Command
from skill_health.effectiveness.check.verifier_runs import nothing_done, solved
from skill_health.effectiveness.run.rescore import rescore
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.sandbox._quota import SLACK, mounts_below
from skill_health.effectiveness.sandbox._run import run
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.workspace import folders
from skill_health.effectiveness.workspace.folders import let_go, remove_tree
from skill_health.effectiveness.workspace.images import GATEWAY_ONLY, client_of, place_tasks
from skill_health.effectiveness.workspace.scripts import ScriptOptions
from skill_health.effectiveness.workspace.workspace import fresh, workplace

pytestmark = pytest.mark.real
SANDBOX, BASE = "podman", "ubuntu:24.04"
# The one thing that may be missing where all else is there: see tests/conftest.py.
ENGINE = "no container engine"
MAKER = Path(__file__).resolve().parents[2] / "scripts" / "base_images.sh"
SKILL, ABOUT = "money-rounding", "Use when amounts of money are added up: says how to round."
SKILLS = {SKILL: skill(SKILL, ABOUT)}
FILES: Mapping[str, str] = {
    "task.toml": 'version = "1.0"\n[metadata]\ncategory = "finance"\ndifficulty = "easy"\n[agent]\ntimeout_sec = 300\n',
    "instruction.md": "Add up the amounts of prices.txt, write the total to /srv/work/total.txt.\n",
    # Debian has it, and no machine of a developer or of CI has it by chance: `datamash` adds up columns.
    "environment/Dockerfile": f"FROM {BASE}\nRUN apt-get update && apt-get install -y --no-install-recommends datamash\n"
    "ENV ROUNDING=half-up\nWORKDIR /srv/work\nCOPY prices.txt .\nCOPY skills /root/.claude/skills\n"
    "COPY skills /root/.agents/skills\n",
    "environment/prices.txt": "1.25\n2.50\n3.75\n",
    f"environment/skills/{SKILL}/SKILL.md": f"---\nname: {SKILL}\ndescription: {ABOUT}\n---\n# Rounding\n\nAs $ROUNDING says.\n",
    "solution/solve.sh": f"#!/bin/bash\ncd /srv/work\ngrep -q ROUNDING /root/.claude/skills/{SKILL}/SKILL.md || exit 1\n"
    "datamash sum 1 < prices.txt > total.txt\n",
    "tests/test.sh": '#!/bin/bash\nif grep -qx "$(cat /tests/total.txt)" /srv/work/total.txt; then echo 1; else echo 0; fi'
    " > /logs/verifier/reward.txt\n",
    "tests/total.txt": "7.5\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def base() -> None:
    """The image that the tasks stand on, made where it can be."""
    if problem := back_end(SANDBOX).missing():
        pytest.skip(f"{ENGINE}: {problem}")
    if os.geteuid() == 0 and shutil.which("debootstrap"):
        subprocess.run(["bash", str(MAKER), BASE], check=True, timeout=900)


def placed(root: Path, files: Mapping[str, str]) -> Task:
    """A task in the format of SkillsBench, with its image."""
    for name, text in files.items():
        path = root / "price-total" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    loaded = load_tasks((str(root),), str(root))
    assert loaded.problems == ()
    there = place_tasks(loaded.tasks, SANDBOX, "", GATEWAY_ONLY)
    if any("a base image cannot be pulled" in said for said in there.failed.values()):
        pytest.skip(f"{ENGINE} with the image {BASE}: {there.failed}")
    return there.tasks[0]


@pytest.fixture(scope="module")
def task(base: None, tmp_path_factory: pytest.TempPathFactory) -> Task:
    found = placed(tmp_path_factory.mktemp("tasks"), FILES)
    assert found.blockers == ()
    assert found.target_skills == (SKILL,)
    return found


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("curl -sS http://nowhere.invalid/a.tar", "no address was found of nowhere.invalid"),
        ("apt-get update && apt-get install -y no-such-package-here", "Unable to locate package no-such-package-here"),
    ],
)
def test_an_image_that_cannot_be_built_says_what_was_missing(step: str, said: str, base: None, tmp_path: Path) -> None:
    (blocker,) = placed(tmp_path, {**FILES, "environment/Dockerfile": f"FROM {BASE}\nRUN {step}\n"}).blockers
    assert said in blocker


def test_nothing_fails_and_the_oracle_passes(task: Task) -> None:
    terms = ScriptOptions(back_end(SANDBOX))
    start, end = asyncio.run(nothing_done(task, terms)), asyncio.run(solved(task, terms))
    assert {one.verified.verdict.outcome for one in start.tried} == {"fail"}
    assert [one.verified.verdict.reward for one in end.tried] == [1.0] * 3
    assert end.answers == ("total.txt",)


# The answer lies beside the working directory. Whoever makes it also plants what programs obey, wherever that may be;
# `x` is empty, and keeps their names out of the oracle, which may have them made.
BESIDE = "/output/total.txt"
PLANTS = r"""#!/bin/bash
cd /srv/work
python=$(python3 -c 'import sys; print([path for path in sys.path if path.endswith("-packages")][0])')
for name in /usr/local/bin/python3 /usr/local/bin/grep /usr/local/bin/cat /root/.local/bin/env /root/.bashrc; do
  mkdir -p ${name%/*}; printf '#!/bin/sh\necho PLANTED\necho 1 > /logs/verifier/reward.txt\n' > $name; chmod 755 $name; done
for folder in $python /output /output/deep; do mkdir -p $folder; echo 'print("PLANTED")' > $folder/site${x}customize.py; done
echo 'print("PLANTED")' > /output/conf${x}test.py
ln -s /tests/total.txt /output/expected.txt; ln -s /output/total.txt /output/same.txt; mkfifo /output/wait
rm -rf /output/given.txt; ln -s ../srv/work/prices.txt /output/up.txt
datamash sum 1 < prices.txt > /output/total.txt
echo /output/evil.so > /etc/ld.so.preload
"""
LOOKS = r"""#!/bin/bash
find /output -mindepth 1 | sort; command -v python3 cat grep; ls /etc/ld.so.preload /root/.local/bin/env /root/.bashrc
python3 -c 'print("a sound python")'
if grep -qx "$(cat /tests/total.txt)" /output/total.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""


def test_an_answer_beside_the_working_directory_travels_and_nothing_else(base: None, tmp_path: Path) -> None:
    image = (
        FILES["environment/Dockerfile"] + "RUN mkdir /output && echo given > /output/given.txt; rm -f /root/.bashrc\n"
    )
    more = {"instruction.md": f"Write the total of prices.txt to {BESIDE}.\n", "environment/Dockerfile": image}
    task = placed(tmp_path, {**FILES, **more, "solution/solve.sh": PLANTS, "tests/test.sh": LOOKS})
    assert task.blockers == () and task.recipe and task.recipe.outputs == ("/output",)
    terms = ScriptOptions(back_end(SANDBOX))
    (start,), (end,) = (asyncio.run(state(task, terms, 1)).tried for state in (nothing_done, solved))
    assert start.verified.output.stdout.decode().startswith("/output/given.txt\n")
    assert (start.verified.verdict.reward, end.verified.verdict.reward) == (0, 1)
    seen = end.verified.output.stdout.decode().splitlines()
    assert seen[:3] == ["/output/deep", "/output/same.txt", BESIDE]
    assert seen[3:] == ["/usr/bin/python3", "/usr/bin/cat", "/usr/bin/grep", "a sound python"], end.verified.output


def test_a_trial_keeps_it_and_verifies_it_again(base: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = FILES["tests/test.sh"].replace("/srv/work/total.txt", BESIDE)
    more = {"instruction.md": f"Write the total of prices.txt to {BESIDE}.\n", "tests/test.sh": judge}
    solve = FILES["solution/solve.sh"].replace("> total.txt", f"> {BESIDE}")
    task = placed(tmp_path / "tasks", {**FILES, **more, "solution/solve.sh": solve})
    play = Play({SKILL: ABOUT}, ".claude/skills", work=f"datamash sum 1 < prices.txt > {BESIDE}", half="true")
    with on_stage(Stage, "claude-code", program("claude"), tmp_path, monkeypatch, SANDBOX, skills=SKILLS) as stage:
        result, place = stage.trial(task, "target", play)
    assert (result.outcome, result.error, result.changed) == ("pass", "", 1)
    files = dict(kept(place))
    assert files["outputs.tar.gz/output/total.txt"] == b"7.5\n"
    assert b"# outside the working directory, below /:\ndiff --git a/output/total.txt" in files["diff.patch"]
    there = replace_result(result, folder=f"trials/{place.parent.name}/{place.name}")
    shutil.copytree(place, tmp_path / "run" / there.folder)
    terms = ScriptOptions(back_end(SANDBOX))
    (again,) = asyncio.run(rescore(str(tmp_path / "run"), [there], {task.id: task}, terms))
    assert (again.word, again.after.outcome) == ("same", "pass"), again.reasons
    os.unlink(tmp_path / "run" / there.folder / "outputs.tar.gz")
    (again,) = asyncio.run(rescore(str(tmp_path / "run"), [there], {task.id: task}, terms))
    assert again.word == "skipped" and "was not kept" in again.reasons[0]


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_both_arms_end_to_end(agent: str, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = program(agent.partition("-")[0])
    folder = ".claude/skills" if agent == "claude-code" else ".agents/skills"
    looks = "{ pwd; echo $ROUNDING; ls -d /root/.claude/skills /root/.agents/skills /tests /solution; } > seen.txt 2>/dev/null"
    adds = "datamash sum 1 < prices.txt > total.txt"
    play = Play({SKILL: ABOUT}, folder, work=f"{looks}; {adds}", half=looks)
    with on_stage(Stage, agent, found, tmp_path, monkeypatch, SANDBOX, skills=SKILLS) as stage:
        for arm, helped in (("control", False), ("target", True)):
            result, place = stage.trial(task, arm, play)
            assert (result.outcome, result.error) == ("pass" if helped else "fail", "")
            assert stage.server.offered() == ({SKILL} if helped else set())
            assert result.invocations == ((SKILL,) if helped else ())
            assert result.reward == float(helped)
            files = dict(kept(place))
            # Where the task put it, with what its image sets, and without a skill that no arm has staged.
            assert files["workspace.tar.gz/seen.txt"].decode() == "/srv/work\nhalf-up\n"
            assert ("workspace.tar.gz/total.txt" in files) == helped


@pytest.mark.parametrize("delivery", ["mcp", "compiled"])
@pytest.mark.parametrize("agent", thinned(["loop", "codex", "claude-code", "opencode"], 4, others=EXHAUSTIVE))
def test_a_server_gives_the_skills_in_an_image_too(
    agent: str, delivery: str, task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The image has no Python packages of ours, and no skill lies anywhere in it."""
    found = program(agent.partition("-")[0]) if agent != "loop" else ""
    looks = "{ python3 -c 'import mcp' && echo foreign; find / -xdev -name SKILL.md; } > seen.txt 2>/dev/null"
    play = Play({SKILL: ABOUT}, ".agents/skills", work=f"{looks}; datamash sum 1 < prices.txt > total.txt", half="true")
    with on_stage(Stage, agent, found, tmp_path, monkeypatch, SANDBOX, skills=SKILLS) as stage:
        probes_agree(stage, task, own=True, arms=("control", f"target@{delivery}"))
        result, place = stage.trial(task, f"target@{delivery}", play)
    assert (result.outcome, result.error, result.invoked) == ("pass", "", "yes")
    assert result.skill_calls == {"list_skills": 1, "read_skill": 1, "search_skills": 0}
    assert dict(kept(place))["workspace.tar.gz/seen.txt"] == b""


@pytest.mark.smoke
def test_a_command_leaves_nothing(task: Task, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "skill_health", "effectiveness", "check", task.folder, "--sandbox", SANDBOX]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False, timeout=300)
    assert "1 fit to use, 1 tried" in done.stdout, done
    assert os.listdir(tmp_path) == []


FILL = """for n in $(seq 10); do for place in /srv/work /tmp /var /root; do
head -c 1073741824 /dev/zero > $place/f$n 2>/dev/null; done; done; echo filled"""
SMALL = "mkdir /srv/work/many /var/many; cd /var/many; for n in $(seq 9000); do : > $n; : > /srv/work/many/$n; done 2>/dev/null; echo made"


@pytest.mark.parametrize("sandbox", ["bubblewrap", SANDBOX])
@pytest.mark.parametrize("attack", [FILL, SMALL], ids=["gibibytes", "files"])
def test_ten_times_what_the_disk_may_take(attack: str, sandbox: str, task: Task, tmp_path: Path) -> None:
    """Not watched at all, so that only the quota holds: 1 GiB, and 4,000 files."""
    if os.geteuid() != 0:
        pytest.skip(f"{ENGINE} with a quota: only root may mount a file system")
    size, files = 1 << 30, 4_000
    held = fresh(replace(task, resources=None), back_end(sandbox), SandboxLimits(disk_bytes=size, files=files))
    try:
        assert held.quota
        work = task if sandbox == SANDBOX else replace(task, recipe=None)
        at = workplace(work, held, back_end(sandbox))
        assert os.statvfs(held.base).f_files <= files + 2_000
        before = shutil.disk_usage("/").free
        command = Command(("/bin/bash", "-c", attack), {"PATH": "/usr/bin:/bin"})
        box = at.box()
        output = asyncio.run(run(back_end(sandbox), box, command, SandboxLimits(300, 1 << 20, 0, 0)))
        assert output.exit_code == 0, output.stderr
        taken = shutil.disk_usage(held.base)
        assert taken.total <= size + SLACK and taken.used <= size + SLACK
        # It was tried.
        assert attack != FILL or taken.used > size // 2
        made = sum(len(names) for _, _, names in os.walk(held.base))
        assert made <= files + 2_000
        # What others do on this machine meanwhile is no part of it.
        assert before - shutil.disk_usage("/").free < 4 * (size + SLACK)
    finally:
        remove_tree(held.base)
        let_go(held.base)
    assert not os.path.exists(held.base) and mounts_below(held.base) == []


HOLDS = """
import asyncio, sys
from skill_health.effectiveness.agents._api import Command
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.sandbox._run import run
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.workspace.images import GATEWAY_ONLY, place_tasks
from skill_health.effectiveness.workspace.workspace import fresh, workplace
end = back_end("podman")
(task,) = place_tasks(load_tasks((sys.argv[1],)).tasks, "podman", "", GATEWAY_ONLY).tasks
at = workplace(task, fresh(task, end), end)
print(at.places.base, flush=True)
command = Command(("/bin/bash", "-c", "(setsid sleep 4321 &) ; sleep 4321"), {"PATH": "/usr/bin:/bin"})
asyncio.run(run(end, at.box(), command, SandboxLimits(600, 1 << 20, 0, 0)))
"""
KILLS = int(os.environ.get("SKILL_HEALTH_KILLS", "3"))


def sleeping() -> set[str]:
    """The processes of the program above."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == b"sleep\0004321\0":
                found.add(path.parent.name)
        except OSError:
            continue
    return found


def test_nothing_is_left_of_who_was_killed(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(1)
    root = str(Path(task.folder).parent)
    monkeypatch.setattr(folders, "_YOUNG", -1.0)
    bases = []
    for _ in range(KILLS):
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        with subprocess.Popen([sys.executable, "-c", HOLDS, root], stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            bases.append(process.stdout.readline().decode().strip())
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(random.uniform(0, 4))
            process.kill()
    client = client_of(back_end(SANDBOX))
    for _ in range(120):
        if not (sleeping() or client.sweep()):
            break
        Event().wait(0.5)
    folders.sweep.cache_clear()
    folders.sweep(str(tmp_path), folders.PREFIX)
    assert all(base.startswith(str(tmp_path)) for base in bases)
    assert sleeping() == set() and client.sweep() == 0
    assert mounts_below(str(tmp_path)) == [] and os.listdir(tmp_path) == []
