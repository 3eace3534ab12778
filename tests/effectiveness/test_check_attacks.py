"""Scripts of hostile tasks that the check runs: in a sandbox they see nothing of ours and reach nobody."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_check import BOTH, META, POEMS, SKILL, TASK, write
from trial_bench import needs_bubblewrap

from skill_health.commands.effectiveness import command
from skill_health.core.errors import UsageError
from skill_health.effectiveness.sandbox import bubblewrap, docker, podman

KEY = "planted-13579246801357924680"
# Of what it finds a script prints what was planted: nobody's own environment is to stand in a report of tests.
SEARCH = """
import glob, os, socket
for path in ("/proc/%s/environ" % os.getppid(), *glob.glob("/proc/*/environ"), "@file@", *glob.glob("/proc/*/root@file@")):
    try:
        for text in open(path, "rb").read().split(b"\\0"):
            if b"planted" in text:
                print(text.decode().strip())
    except OSError:
        pass
try:
    with socket.create_connection(("127.0.0.1", @port@), 2) as there:
        there.sendall(b"reached")
except OSError as error:
    print("no way out:", error.strerror)
"""
SHELL = "cat /proc/$PPID/environ /proc/*/environ @file@ 2>/dev/null | tr '\\0' '\\n' | grep -a planted"
# The check in a process of its own, which has the key in its environment from the start, as that of a user has.
CHECKING = """
import json, sys
from skill_health.effectiveness.check.check import check_tasks
from skill_health.effectiveness.check.skills import collection
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.workspace.scripts import ScriptOptions
from skill_health.effectiveness.tasks._load import load_tasks
root, skills = collection((), None, sys.argv[1])
(checked,) = check_tasks(load_tasks([sys.argv[1] + "/tasks"], sys.argv[1]).tasks, skills, root, ScriptOptions(back_end(sys.argv[2])))
states = (checked.nothing_done, checked.solved)
outputs = [one.verified.output for state in states for one in state.tried] + [checked.solved.oracle]
print(json.dumps([[fault.message for fault in checked.faults], [(each.stdout + each.stderr).decode() for each in outputs]]))
"""


@dataclass
class Planted:
    """A secret in a file of ours, and a server that notes who comes."""

    file: Path
    port: int
    reached: list[bytes] = field(default_factory=list)

    def script(self) -> str:
        """The shell script that looks for all that is planted."""
        text = f"python3 - <<'END'\n{SEARCH}\nEND\n{SHELL}\n"
        return text.replace("@file@", str(self.file)).replace("@port@", str(self.port))


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[Planted]:
    file = tmp_path / "secret.txt"
    file.write_text(f"in a file: {KEY}\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        found, over = Planted(file, server.getsockname()[1]), threading.Event()

        def serve() -> None:
            while not over.is_set():
                try:
                    with server.accept()[0] as here:
                        here.settimeout(2)
                        found.reached.append(here.recv(100))
                except TimeoutError:
                    continue

        thread = threading.Thread(target=serve)
        thread.start()
        yield found
        over.set()
        thread.join()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A collection with two skills, and room for a task."""
    skills = {"skills/sum-sheets/SKILL.md": SKILL, "skills/poems/SKILL.md": POEMS}
    return write(tmp_path / "all", {"skill-health.toml": "", **skills})


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("script", ["verify.sh", "oracle/solve.sh"])
def test_a_script_that_looks_around(script: str, sandbox: str, place: Path, planted: Planted, checkout: Path) -> None:
    """Without a sandbox the same script finds everything, so it is the sandbox that hides it."""
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    write(place / "tasks/one", {**TASK, script: planted.script() + TASK[script]})
    environment = os.environ | {"PYTHONPATH": str(checkout), "MODEL_KEY": KEY}
    words = [sys.executable, "-c", CHECKING, str(place), sandbox]
    ran = subprocess.run(words, env=environment, capture_output=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    faults, said = json.loads(ran.stdout)
    hostile = said[6:] if script == "oracle/solve.sh" else said[:6]
    assert faults == [] and len(said) == 7
    if sandbox == "none":
        assert all(f"MODEL_KEY={KEY}" in each and f"in a file: {KEY}" in each for each in hostile)
        assert set(planted.reached) == {b"reached"} and len(planted.reached) >= len(hostile)
    else:
        assert not any("planted" in each for each in said) and planted.reached == []
        assert all(each.startswith("no way out: ") for each in hostile)


@pytest.mark.slow
def test_a_run_checks_in_its_own_sandbox(place: Path, planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found in one says nothing about another: the task is tried again there."""
    needs_bubblewrap()
    write(place / "tasks/one", {**TASK, "oracle/solve.sh": f"cat {planted.file} >&2 || echo hidden >&2\nexit 3\n"})
    monkeypatch.chdir(place)
    for sandbox, word in (("bubblewrap", "it said: hidden"), ("none", f"it said: in a file: {KEY}")):
        words = ["run", "tasks", "--agents", "scripted", "--quiet", "--sandbox", sandbox]
        with pytest.raises(UsageError, match=word):
            CliRunner().invoke(command, words, standalone_mode=False, catch_exceptions=False)


@pytest.mark.slow
def test_no_sandbox_must_be_asked_for(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(place / "tasks/one", {**TASK, "metadata.json": json.dumps(META)})
    monkeypatch.chdir(place)
    for module in (bubblewrap, docker, podman):
        monkeypatch.setattr(module, "found", lambda: "")
    monkeypatch.setattr(bubblewrap, "missing", lambda: "odd: install it")

    def call(*more: str) -> str:
        done = CliRunner().invoke(command, ["check", "tasks", *more], standalone_mode=False, catch_exceptions=False)
        return done.output

    with pytest.raises(UsageError, match=r"odd: install it; .* --sandbox none"):
        call()
    with pytest.raises(UsageError, match=r"bubblewrap .*: odd: install it$"):
        call("--sandbox", "bubblewrap")
    with pytest.raises(UsageError, match="did you mean none"):
        call("--sandbox", "non")
    assert "1 fit to use, 0 tried" in call("--static")
    assert "1 fit to use, 1 tried" in call("--sandbox", "none")
    (place / "skill-health.toml").write_text('[effectiveness]\nsandbox = "none"\n')
    with pytest.raises(UsageError, match=r"odd: install it; .* --sandbox none"):
        call()
    assert "1 fit to use, 1 tried" in call("--config", "skill-health.toml")
