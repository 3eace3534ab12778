"""What namespaces alone do not part, what an agent can lock, and what it says of itself: attacks that once worked."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from effects_made import replace
from trial_bench import agent, cell, everything, needs_bubblewrap, record, run, skill, task, tried, verifier

from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import Rates, TieredPrice
from skill_health.effectiveness.agents._api import ProgramOutput, StreamReading
from skill_health.effectiveness.gateway._api import GatewayTrace
from skill_health.effectiveness.sandbox import _guard, _host
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.sandbox._run import Disk
from skill_health.effectiveness.trial.keep import pack
from skill_health.effectiveness.trial.outcome import ending, numbers
from skill_health.effectiveness.trial.redact import holds_secret, redact
from skill_health.effectiveness.trial.rewards import NoReward, read_reward
from skill_health.effectiveness.workspace import programs
from skill_health.effectiveness.workspace.tree import read_tree

pytestmark = pytest.mark.usefixtures("folder")

BOTH = pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
SECRET = "sk-live/Qz7+Xw9=Rt2"


# --- The supervisor --------------------------------------------------------------------------------------------------

CRASH = """
try:
    maps, memory = open("/proc/1/maps").read().splitlines(), open("/proc/1/mem", "r+b", 0)
    for line in maps:
        ends, rights = line.split()[:2]
        begin, end = (int(part, 16) for part in ends.split("-"))
        for at in range(begin, end, 4096) if "x" in rights and "/" in line else ():
            memory.seek(at)
            memory.write(b"\\xcc" * 4096)
except OSError as error:
    print("refused", error.strerror)
for what in ("environ", "fd/0", "mem", "cwd/"):
    try:
        os.open("/proc/1/" + what, os.O_RDONLY)
        print("opened", what)
    except OSError:
        pass
library = ctypes.CDLL(None)
print("ptrace", library.ptrace(16, 1, 0, 0))
os.kill(1, 9)
os.kill(1, 19)
"""


@pytest.mark.slow
def test_an_agent_cannot_end_or_steer_its_supervisor(tmp_path: Path) -> None:
    """Whoever could would turn each of its failures into one of the infrastructure, which does not count."""
    needs_bubblewrap()
    made = task(tmp_path, verifier("exit 1"))
    result, place = run(tmp_path, cell(made, agent(f"import ctypes, os{CRASH}", "python")))
    assert (result.outcome, result.error, result.exit_code) == ("fail", "", 0)
    assert (place / "stream.out").read_text() == "refused Permission denied\nptrace -1\n"


KEYRING = """
import ctypes, os, struct, subprocess, sys
keyctl, add = {"x86_64": (250, 248), "aarch64": (219, 217)}[os.uname().machine]
library = ctypes.CDLL(None, use_errno=True)
def call(*words):
    return library.syscall(*(ctypes.c_long(word) if isinstance(word, int) else word for word in words))
"""
READ_KEYS = """
buffer = ctypes.create_string_buffer(4096)
size = call(keyctl, 11, -3, buffer, 4096)
for (number,) in struct.iter_unpack("i", buffer.raw[: max(0, size)]):
    size = call(keyctl, 11, number, buffer, 4096)
    print(buffer.raw[: max(0, size)].decode("latin-1"))
print("end")
"""


@pytest.mark.slow
@BOTH
@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine not in _guard.MACHINES, reason="needs keyctl")
def test_keys_that_the_kernel_keeps_for_the_user(tmp_path: Path, sandbox: str) -> None:
    """A keyring belongs to the session, and every namespace sees it."""
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    here = Path(__file__).resolve()
    inner = KEYRING + READ_KEYS
    program = KEYRING + (
        'if call(keyctl, 1, b"mine") < 0 or call(add, b"user", b"token", b"in-the-keyring", 14, -3) < 0:\n'
        "    sys.exit(77)\n"
        f"{READ_KEYS}"
        "sys.path[:0] = sys.argv[1:3]\nfrom pathlib import Path\nfrom trial_bench import *\n"
        f"made = task(Path(sys.argv[3]), None)\nrun(Path(sys.argv[3]), cell(made, agent({inner!r}, 'python'), {sandbox!r}))\n"
    )
    words = [sys.executable, "-c", program, str(here.parents[2]), str(here.parent), str(tmp_path)]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "fresh")}
    ran = subprocess.run(words, capture_output=True, timeout=600, check=False, env=environment)
    if ran.returncode == 77:
        pytest.skip("the kernel keeps no keys")
    assert b"in-the-keyring" in ran.stdout, ran.stderr
    assert (tmp_path / "reports" / "trials" / "one" / "stream.out").read_text() == "end\n"


@pytest.mark.slow
def test_sockets_that_no_namespace_parts(tmp_path: Path) -> None:
    """Virtual machines reach their host by a family of their own; and io_uring opens sockets past any filter."""
    needs_bubblewrap()
    text = (
        "import ctypes, socket\n"
        "for family in (1, 2, 10, 16, 38, 40):\n"
        "    try:\n"
        "        socket.socket(family, socket.SOCK_RAW if family == 16 else socket.SOCK_STREAM).close()\n"
        "        print(family, 'made')\n"
        "    except OSError as error:\n"
        "        print(family, error.errno)\n"
        "print('uring', ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(200)))\n"
    )
    made = task(tmp_path, verifier("exit 0"))
    _, place = run(tmp_path, cell(made, agent(text, "python")))
    shown = (place / "stream.out").read_text().splitlines()
    assert shown[0] == "1 made" and shown[1] == "2 made" and shown[3] == "16 made"
    assert shown[-1] == "uring -1"
    if os.uname().machine in _guard.MACHINES:
        assert shown[4:6] == ["38 97", "40 97"]


@pytest.mark.parametrize("machine", _guard.MACHINES)
def test_what_the_filter_refuses(machine: str) -> None:
    architecture, socket, _, calls, fallocate = _guard.MACHINES[machine]
    program = _guard.forbidding(*_guard.MACHINES[machine])

    def judged(at: int, number: int, first: int) -> int:
        """What the kernel makes of a call."""
        given = {_guard.ARCHITECTURE: at, _guard.NUMBER: number, _guard.FIRST: first}
        value = step = 0
        while True:
            code, yes, no, operand = (
                int.from_bytes(program[step * 8 :][start:end], "little")
                for start, end in ((0, 2), (2, 3), (3, 4), (4, 8))
            )
            step += 1
            if code == _guard.LOAD:
                value = given[operand]
            elif code == _guard.RETURN:
                return operand
            else:
                step += yes if (value == operand if code == _guard.EQUAL else value >= operand) else no

    families = {family: judged(architecture, socket, family) for family in range(50)}
    assert {family for family, said in families.items() if said == _guard.ALLOW} == {1, 2, 10, 16}
    assert set(families.values()) == {_guard.ALLOW, _guard.REFUSE | _guard.NO_FAMILY}
    refused = {number for number in range(600) if judged(architecture, number, 1) != _guard.ALLOW}
    assert refused == {*calls, fallocate}
    assert judged(architecture, fallocate, 1) == _guard.REFUSE | _guard.NOT_SUPPORTED
    assert judged(architecture, socket | 0x40000000, 1) == judged(7, 0, 1) == _guard.REFUSE | _guard.NO_CALL


# --- What an agent locks ---------------------------------------------------------------------------------------------

WITHOUT_RIGHTS = """
import ctypes, os, sys
# Root passes every lock. Without its capabilities it is a user like any other, and so are the programs that it starts.
if os.geteuid() == 0:
    assert ctypes.CDLL(None).prctl(28, 1, 0, 0, 0) == 0
    assert ctypes.CDLL(None).syscall({"x86_64": 126, "aarch64": 91}[os.uname().machine],
        ctypes.create_string_buffer((0x20080522).to_bytes(4, "little") + bytes(4)), ctypes.create_string_buffer(24)) == 0
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
from skill_health.effectiveness.trial.verify import clear_for_verifier
from skill_health.effectiveness.workspace.tree import read_tree
import json
place = Path(sys.argv[3])
for name, text in json.loads(sys.argv[4]).items():
    work, aside = place / name / "workspace", place / name / "aside"
    (work / ".agents" / "skills" / "alpha").mkdir(parents=True)
    (work / ".agents" / "skills" / "alpha" / "SKILL.md").write_text("x")
    aside.mkdir()
    os.system(f"cd {work} && {text}")
    assert name != "special" or os.system(f"touch {work}/locked/x 2>/dev/null"), "nothing is locked here"
    os.chmod(work, 0o700)
    clear_for_verifier(str(work), read_tree(str(work)), ".agents/skills", str(aside))
    left = sorted(str(path.relative_to(work)) for path in work.rglob("*"))
    print(name, left, (aside / "skills").exists())
    os.system(f"chmod -R u+rwX {place}")
"""
LOCKED = {
    "runner": "mkdir -p .runner/x && echo 1 > .runner/x/y && chmod 000 .runner/x .runner",
    "inner": "mkdir -p .runner/x && echo 1 > .runner/x/y && chmod 500 .runner/x",
    "skills": "chmod 500 .agents/skills",
    "above": "chmod 000 .agents",
    "none": "chmod 000 .agents/skills",
    "special": "mkdir locked && mkfifo locked/pipe && chmod 500 locked",
    "workspace": "mkfifo pipe && chmod 500 .",
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine not in _guard.MACHINES, reason="needs capset")
def test_locked_folders_end_no_run(tmp_path: Path) -> None:
    here = Path(__file__).resolve()
    words = [sys.executable, "-c", WITHOUT_RIGHTS, str(here.parents[2]), str(here.parent), str(tmp_path / "locks")]
    ran = subprocess.run([*words, json.dumps(LOCKED)], capture_output=True, timeout=600, check=False, text=True)
    assert ran.returncode == 0, ran.stderr
    left = ["locked"]
    assert ran.stdout.splitlines() == [f"{name} {left if name == 'special' else []} True" for name in LOCKED]


def test_what_lies_in_a_locked_folder_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that the file system has lost, where a folder cannot be looked into; else only what is seen."""
    real, locked = os.scandir, tmp_path / "locked"
    locked.mkdir()
    free = [100 << 20]

    def scandir(place: str) -> Any:
        if place == str(locked):
            raise PermissionError(13, "Permission denied")
        return real(place)

    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=free[0], f_frsize=1, f_ffree=1000))
    disk = Disk([str(tmp_path)], SandboxLimits(disk_bytes=30 << 20))
    assert disk._look()[0] < 1 << 20
    free[0] -= 40 << 20
    assert disk._look()[0] < 1 << 20
    monkeypatch.setattr(os, "scandir", scandir)
    assert disk._look()[0] == 40 << 20


@pytest.mark.slow
@BOTH
def test_a_runner_that_the_work_of_an_agent_makes_a_link(tmp_path: Path, sandbox: str) -> None:
    """It is run by the verifier, after everything was looked through."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "notes.txt").write_text(f"PIN {SECRET}")
    (hidden / "score.json").write_text('{"score": 1}')
    text = f"echo 'rm -rf .runner; ln -s {hidden} .runner' > work.sh"
    result, place = tried(tmp_path, text, sandbox, "sh work.sh; exit 1")
    assert (result.outcome, result.reward, result.rewards) == ("fail", 0.0, {})
    assert SECRET.encode() not in everything(place)
    assert record(place, "verdict.json")["source"] == "exit"


def test_a_score_behind_a_link_is_none(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "score.json").write_text('{"score": 1}')
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / ".runner").symlink_to(tmp_path / "elsewhere")
    assert isinstance(read_reward(str(tmp_path / "none"), str(tmp_path / "workspace")), NoReward)


# --- What is shown ---------------------------------------------------------------------------------------------------


def test_programs_in_a_home_do_not_show_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "user"
    local = home / ".local"
    for inner in ("bin", "lib/node_modules/agent", "share/agent"):
        (local / inner).mkdir(parents=True)
    (local / "share/agent/auth.json").write_text(SECRET)
    for name, text in (("bin/node", "#!/bin/sh\n"), ("lib/node_modules/agent/cli.js", "#!/usr/bin/env node\n")):
        (local / name).write_text(text)
        (local / name).chmod(0o755)
    (local / "bin/agent").symlink_to("../lib/node_modules/agent/cli.js")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{local}/bin:{os.environ['PATH']}")
    programs._node.cache_clear()
    found = programs.needs([str(local / "bin/agent")], agent(""))
    programs._node.cache_clear()
    assert f"{local}/bin" in found.readable
    assert not any((local / "share").is_relative_to(path) for path in found.readable)
    assert _host.installation(str(home)) == () and _host.installation(str(tmp_path)) == ()
    assert _host.installation("/opt/python") == ("/opt/python",)
    assert _host.installation(str(home / "node-v24")) == (str(home / "node-v24"),)


# --- What is kept and counted ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("coded", [base64.b64encode, base64.urlsafe_b64encode], ids=["plain", "url"])
def test_a_secret_in_base64_is_one(before: int, coded: Any, tmp_path: Path) -> None:
    data = b"Authorization: Basic " + coded(b"u:abc"[:before] + SECRET.encode() + b"\nmore of it")
    shown = redact(data, (SECRET,))
    assert holds_secret(data, (SECRET,)) and b"***" in shown
    left = base64.b64decode(shown.partition(b"Basic ")[2].partition(b"***")[0] + b"====", altchars=b"-_")
    assert SECRET[:3].encode() not in left
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "x").write_bytes(data)
    assert pack(read_tree(str(tmp_path / "w")), (SECRET,)).redacted == 1


def test_other_ways_to_write_a_secret() -> None:
    odd = "k\udcffey-with-bytes"
    for text in (quote(SECRET, safe=""), json.dumps(SECRET)):
        assert redact(f"?key={text}&x".encode(), (SECRET,)).startswith((b"?key=***", b'?key="***'))
    assert redact(b"k\xffey-with-bytes", (odd,)) == b"***"
    assert redact(b"nothing of it", (SECRET, odd)) == b"nothing of it"


OUTAGE = GatewayTrace(requests=9, errors=9, trouble="host answered 500 Internal Server Error")


@pytest.mark.parametrize(("seen", "imposed"), [
    (OUTAGE, "infrastructure"), (replace(OUTAGE, answered=1), "timeout"), (GatewayTrace(requests=1), "timeout"), (None, "timeout"),
])  # fmt: skip
def test_an_outage_is_no_timeout_of_the_agent(tmp_path: Path, seen: GatewayTrace | None, imposed: str) -> None:
    end = ending(cell(task(tmp_path, None), agent("")), ProgramOutput(None, stopped="timeout"), StreamReading(), seen)
    assert end.imposed == imposed
    assert ("host answered 500" in end.error) == (imposed == "infrastructure")


def test_a_call_that_no_trial_may_make_is_noted(tmp_path: Path) -> None:
    seen = GatewayTrace(
        requests=3, answered=3, refused=1, barred="a tool of the kind 'web_search' is not allowed in a trial"
    )
    end = ending(cell(task(tmp_path, None), agent("")), ProgramOutput(0), StreamReading(), seen)
    assert (end.imposed, end.notes) == ("", (f"a call of a model was refused: {seen.barred}",))


@pytest.mark.parametrize(("said", "dollars", "tokens", "source"), [
    (Usage(input_tokens=1, output_tokens=1), 0.0, 90, "gateway"), (Usage(input_tokens=95), 0.05, 95, "agent"),
    (Usage(output_tokens=8), None, 90, "gateway"), (Usage(input_tokens=900, output_tokens=90), 0.7, 900, "agent"),
])  # fmt: skip
def test_who_says_less_than_was_metered_is_not_believed(
    tmp_path: Path, said: Usage, dollars: float | None, tokens: int, source: str
) -> None:
    seen = GatewayTrace(answered=2, unmetered=1, usage=Usage(input_tokens=90, output_tokens=9), cost_usd=0.1)
    counted = numbers(cell(task(tmp_path, None), agent("")), StreamReading(usage=said, cost_usd=dollars), seen)
    assert (counted.usage.input_tokens, counted.usage_source) == (tokens, source)
    assert counted.cost_usd == (dollars if dollars is not None and dollars >= 0.1 else None)
    price = TieredPrice((Rates(1.0, 1.0, 1.0, 1.0),))
    priced = numbers(replace(cell(task(tmp_path, None), agent("")), price=price), StreamReading(usage=said), seen)
    assert (priced.cost_source == "prices") == (source == "agent" and said.output_tokens is not None)


@pytest.mark.slow
def test_skills_are_looked_at_in_a_locked_workspace(tmp_path: Path) -> None:
    result, _ = tried(tmp_path, "chmod 000 .", "none", skills=[skill("alpha")])
    assert (result.outcome, result.notes) == ("pass", ())
