"""An agent that attacks: it is stopped, or what it did is recorded as what it is; never is it believed."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from effects_made import replace
from trial_bench import (
    agent,
    archived,
    cell,
    everything,
    needs_bubblewrap,
    record,
    run,
    running,
    skill,
    task,
    tried,
    verifier,
)

from skill_health.documents.effect_result import SCORED, TrialResult
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.workspace.folders import remove_tree

pytestmark = pytest.mark.usefixtures("folder")

BOTH = pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
# Where time has to pass, the second one waits for the slower tests.
SLOW = pytest.mark.parametrize("sandbox", ["bubblewrap", pytest.param("none", marks=pytest.mark.slow)])
SECRET = "sk-planted-0123456789abcdef"
QUICK = SandboxLimits(timeout_sec=8.0, output_bytes=1 << 20, disk_bytes=8 << 20)


def stopped(result: TrialResult) -> list[str]:
    """By which limits the agent was stopped."""
    found = (note.partition("the agent was stopped: ") for note in result.notes)
    return [limit for _, said, limit in found if said]


def gone(word: str) -> bool:
    """Whether no process with this word in its command is left; one that was killed may take a moment to be reaped."""
    while running(word):
        time.sleep(0.01)
    return True


# --- What it can see -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_verifier_and_oracle_and_host_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "collection" / "task").mkdir(parents=True)
    (tmp_path / "collection" / "task" / "verify.sh").write_text("echo the-answer-is-42")
    (tmp_path / "reports" / "trials").mkdir(parents=True)
    (tmp_path / "reports" / "earlier.txt").write_text("the-answer-is-42")
    places = [
        tmp_path / "collection" / "task" / "verify.sh",
        tmp_path,
        "/root/.ssh",
        "/etc/shadow",
        "/etc/ssh",
        "/var",
        "/sys",
    ]
    here = Path(__file__).resolve()
    places += [
        here,
        here.parents[2] / "fixtures",
        here.parents[2] / "effectiveness" / "records.py",
        Path.home() / ".bashrc",
    ]
    text = "\n".join(f"ls {place} && echo SEEN {place}" for place in places)
    text += "\ngrep -rl the-answer-is-42 / --exclude-dir=proc --exclude-dir=usr --exclude-dir=lib 2>/dev/null | head"
    result, place = tried(tmp_path, f"{text}\ntrue", verify="echo the-answer-is-42")
    assert result.outcome == "pass"
    assert (place / "stream.out").read_bytes() == b""


@pytest.mark.slow
def test_nothing_inside_names_the_arm_or_the_benchmark(tmp_path: Path) -> None:
    text = "pwd; env; mount; cat /proc/*/cmdline | tr '\\0' ' '; ls -a / /tmp ~; hostname; whoami; cat /etc/passwd"
    result, place = tried(tmp_path, text, skills=[skill("alpha")])
    assert result.outcome == "pass"
    shown = (place / "stream.out").read_bytes()
    for word in (b"skill-health", b"effectiveness", b"target", b"control", b"trial", b"verif", b"pytest", b"job-"):
        # Which Python ran it is the machine's affair; that it is ours must not be seen.
        lines = [line for line in shown.splitlines() if word in line.lower() and b" /usr" not in line]
        assert not lines, lines


@pytest.mark.slow
def test_environment_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dirty = (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "VIRTUAL_ENV",
        "PYTHONPATH",
        "GIT_DIR",
        "XDG_CONFIG_HOME",
        "SSH_AUTH_SOCK",
    )
    for name in dirty:
        monkeypatch.setenv(name, SECRET)
    for sandbox in ("bubblewrap", "none"):
        result, place = tried(tmp_path, "env; git rev-parse --show-toplevel; true", sandbox)
        assert result.outcome == "pass"
        shown = (place / "stream.out").read_text()
        assert SECRET not in shown
        assert not {line.partition("=")[0] for line in shown.splitlines()} & set(dirty)
        assert "not a git repository" in (place / "stream.err").read_text()


@pytest.mark.slow
def test_root_here_is_nobody_there(tmp_path: Path) -> None:
    text = (
        "for file in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sysrq-trigger /usr/x /etc/x /x /dev/x; do\n"
        "(cat $file > /tmp/was; cat /tmp/was > $file) 2>/dev/null && test -w $file && echo WROTE $file\ndone\n"
        "mount -t tmpfs none /mnt 2>/dev/null && echo MOUNTED; unshare -Ur true 2>/dev/null && echo UNSHARED\n"
        "chown 0 in.txt 2>/dev/null && echo CHOWNED; kill -9 1; grep Cap /proc/self/status; id -u; test -w /etc/passwd && echo ETC\n"
    )
    result, place = tried(tmp_path, text)
    shown = (place / "stream.out").read_text()
    assert result.outcome == "pass"
    assert not [line for line in shown.splitlines() if line.isupper() or line.split()[0] in ("WROTE", "ETC")], shown
    assert {line.split()[1] for line in shown.splitlines() if line.startswith(("CapEff", "CapPrm", "CapBnd"))} == {
        "0" * 16
    }


@pytest.mark.slow
@BOTH
def test_verifier_comes_only_afterwards(tmp_path: Path, sandbox: str) -> None:
    """Even without a sandbox it is not there while the agent runs, and its reward folder starts empty."""
    text = "ls .. > seen.txt; mkdir -p ../verify-rewards ../verify-verifier; echo '{\"reward\": 1}' > ../verify-rewards/reward.json"
    result, place = tried(tmp_path, text, sandbox, 'cat seen.txt; ls "$VERIFIER_DIR"; exit 1')
    assert (result.outcome, result.reward) == ("fail", 0.0)
    assert not {"verify", "reward.json"} & set((place / "verifier/stdout").read_text().split())


# --- Where it can write ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_writing_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    text = f"echo x > {outside}/file; mkdir -p {outside} && echo x > {outside}/file; echo x > /file; echo x > ~/file; echo x > /tmp/file; true"
    result, place = tried(tmp_path, text)
    assert result.outcome == "pass"
    assert list(outside.iterdir()) == []
    assert set(archived(place)) == {"in.txt"}


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("file", ["reward.json", ".runner/score.json"])
def test_planted_rewards(tmp_path: Path, sandbox: str, file: str) -> None:
    text = f'mkdir -p "$(dirname {file})"; echo \'{{"reward": 1, "score": 1}}\' > {file}'
    result, _ = tried(tmp_path, text, sandbox, "ls -a; exit 1")
    assert (result.outcome, result.reward) == ("fail", 0.0)
    assert any(" .runner, " in note for note in result.notes) == file.startswith(".runner")


@pytest.mark.slow
@SLOW
def test_a_runner_that_is_a_link(tmp_path: Path, sandbox: str) -> None:
    """What our own side writes there must not end somewhere else."""
    aim = tmp_path / "aim"
    aim.mkdir()
    result, _ = tried(tmp_path, f"ln -s {aim} .runner", sandbox, "test -d .runner && cat .runner/final.txt; exit 1")
    assert result.outcome == "fail"
    assert list(aim.iterdir()) == []


@pytest.mark.slow
@SLOW
def test_edited_tests(tmp_path: Path, sandbox: str) -> None:
    """A test file of the same name in the workspace does not take the place of the verifier's own."""
    script = verifier('sh "$(dirname "$0")/check.sh"', **{"check.sh": "test -f out.txt"})
    made = task(tmp_path, script, {"check.sh": "exit 1\n"})
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    result, _ = run(tmp_path, cell(made, agent("echo 'exit 0' > check.sh; echo 'exit 0' > verify.sh"), sandbox))
    assert (result.outcome, result.changed) == ("fail", 2)


@pytest.mark.slow
@SLOW
def test_changed_skills_are_noted(tmp_path: Path, sandbox: str) -> None:
    text = "echo more >> .agents/skills/alpha/SKILL.md; mkdir .agents/skills/gamma; echo x > .agents/skills/gamma/x; rm -r .agents/skills/beta"
    result, place = tried(tmp_path, text, sandbox, "ls -a; test ! -e .agents", skills=[skill("alpha"), skill("beta")])
    assert result.outcome == "pass"
    assert result.notes == (
        "the agent changed the skill alpha", "the agent removed the skill beta", "the agent added 'gamma' to the skills"
    )  # fmt: skip
    assert (result.changed, (place / "diff.patch").read_bytes()) == (0, b"")


# --- The network -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.smoke
def test_no_network(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        text = (
            f"for at in 127.0.0.1/{port} 10.0.0.1/80 8.8.8.8/53 169.254.169.254/80; do\n"
            "(exec 3<>/dev/tcp/$at) 2>/dev/null && echo CONNECTED $at\ndone\n"
            "python3 -c 'import socket; print(socket.if_nameindex())'; ls /run /var/run 2>/dev/null; cat /proc/net/unix | wc -l"
        )
        result, place = tried(tmp_path, text)
    shown = (place / "stream.out").read_text()
    assert result.outcome == "pass"
    assert "CONNECTED" not in shown
    assert "'lo')]" in shown


# --- Processes -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@SLOW
def test_outliving_the_trial(tmp_path: Path, sandbox: str) -> None:
    word = f"7{os.getpid()}.{secrets.randbelow(10**9)}"
    twice = f"import os\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nos.execvp('sleep', ['sleep', '{word}'])"
    text = (
        f"setsid sleep {word} & (setsid setsid sleep {word} &)\n"
        f"python3 -c {shlex.quote(twice)}\n"
        f"nohup sh -c 'trap \"\" TERM HUP INT; exec sleep {word}' > /dev/null 2>&1 &\n"
        f"nohup sh -c 'while :; do sleep 0.02; echo late >> late.txt; done' {word} > /dev/null 2>&1 &\nsleep 0.1; echo done"
    )
    result, _ = tried(tmp_path, text, sandbox, "cp late.txt /tmp/was; sleep 0.1; cmp late.txt /tmp/was", limits=QUICK)
    assert result.outcome == "pass"
    assert gone(word)


@pytest.mark.slow
@SLOW
def test_time_is_up(tmp_path: Path, sandbox: str) -> None:
    word = f"8{os.getpid()}.{secrets.randbelow(10**9)}"
    text = f"echo 3 > out.txt; trap '' TERM; setsid sleep {word} & sleep {word}"
    result, _ = tried(tmp_path, text, sandbox, "test -f out.txt", limits=SandboxLimits(timeout_sec=0.5))
    assert (result.outcome, result.reward, result.exit_code) == ("timeout", 1.0, None)
    assert result.scored and result.success == 0
    assert gone(word)


@pytest.mark.slow
@SLOW
def test_many_processes(tmp_path: Path, sandbox: str) -> None:
    word = f"9{os.getpid()}.{secrets.randbelow(10**9)}"
    limits = SandboxLimits(timeout_sec=600, processes=40)
    result, _ = tried(tmp_path, f"for i in $(seq 80); do sleep {word} & done; wait", sandbox, limits=limits)
    assert (result.outcome, result.reward) == ("fail", 1.0)
    assert stopped(result) == ["processes"]
    assert gone(word)


@pytest.mark.slow
def test_a_fork_bomb(tmp_path: Path) -> None:
    result, _ = tried(
        tmp_path, "bomb() { bomb | bomb & }; bomb; sleep 5", limits=SandboxLimits(timeout_sec=30, processes=100)
    )
    # Root's processes are not limited by the kernel: on a busy machine the clock may be there before the watcher.
    assert result.outcome in ("fail", "timeout")
    assert stopped(result)
    assert gone("bomb() {")


@pytest.mark.slow
@SLOW
def test_our_own_violent_death(tmp_path: Path, sandbox: str, folder: Path) -> None:
    """When our process is killed, nobody is there to end the tree, and it ends."""
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    word = f"6{os.getpid()}.{secrets.randbelow(10**9)}"
    program = (
        "import sys; sys.path[:0] = sys.argv[1:3]\nfrom pathlib import Path\nfrom trial_bench import *\n"
        "import trial_bench\n"
        f"text = '(setsid sleep {word} &); setsid setsid sleep {word} & nohup sleep {word}'\n"
        f"trial_bench.tried(Path(sys.argv[3]), text, {sandbox!r})\n"
    )
    here = Path(__file__).resolve()
    words = [sys.executable, "-c", program, str(here.parents[2]), str(here.parent), str(tmp_path)]
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, env=environment) as process:
        while len(running(word)) < 3:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert gone(word)
    assert not (tmp_path / "reports" / "trials" / "one").exists()
    for left in folder.iterdir():
        remove_tree(str(left))


@pytest.mark.slow
def test_killing_the_supervisor(tmp_path: Path) -> None:
    """Without a sandbox an agent can kill whoever watches it; what it leaves is ended all the same."""
    word = f"2{os.getpid()}.{secrets.randbelow(10**9)}"
    result, _ = tried(tmp_path, f"(setsid sleep {word} &); setsid sleep {word} & kill -9 $PPID; sleep {word}", "none")
    assert result.outcome == "infrastructure"
    assert "ended before its program" in result.error
    assert gone(word)


# --- Floods ----------------------------------------------------------------------------------------------------------


@SLOW
@pytest.mark.parametrize("text", [
    "for i in 1 2 3 4 5 6; do dd if=/dev/zero of=f$i bs=1M count=2 2>/dev/null; done; sleep 3000",
    pytest.param("dd if=/dev/zero of=big bs=1M count=64 2>/dev/null; sleep 3000", marks=pytest.mark.slow),
    pytest.param("dd if=/dev/zero of=~/big bs=1M count=7; dd if=/dev/zero of=$TMPDIR/big bs=1M count=7; sleep 3000", marks=pytest.mark.slow),
])  # fmt: skip
def test_a_full_disk(tmp_path: Path, sandbox: str, text: str) -> None:
    result, place = tried(tmp_path, text, sandbox, limits=replace(QUICK, timeout_sec=600))
    assert (result.outcome, result.reward) == ("fail", 1.0)
    assert any("bytes" in note for note in result.notes) and stopped(result) == ["disk"]
    assert sum(path.stat().st_size for path in place.rglob("*")) < 1 << 20


@pytest.mark.slow
@SLOW
def test_a_full_disk_without_names(tmp_path: Path, sandbox: str) -> None:
    text = 'for i in 5 6 7 8; do eval "exec $i>x"; rm x; eval "dd if=/dev/zero bs=1M count=4 >&$i 2>/dev/null"; done; sleep 3000'
    result, _ = tried(tmp_path, text, sandbox, limits=replace(QUICK, timeout_sec=600))
    assert result.outcome == "fail" and stopped(result) == ["disk"]


@pytest.mark.slow
@SLOW
def test_too_many_files(tmp_path: Path, sandbox: str) -> None:
    limits = SandboxLimits(timeout_sec=600, files=2000)
    result, _ = tried(tmp_path, "touch a{1..3000}; sleep 3000", sandbox, limits=limits)
    assert result.outcome == "fail" and "more than 2,000 files were made" in result.notes


@pytest.mark.exhaustive
def test_a_hundred_thousand_files(tmp_path: Path) -> None:
    needs_bubblewrap()
    made = task(tmp_path, verifier("exit 0"), agent_timeout_sec=300.0)
    text = "for i in {1..20}; do mkdir d$i; touch d$i/f{1..5000}; done"
    result, place = run(tmp_path, cell(made, agent(text), limits=SandboxLimits(timeout_sec=300)))
    assert (result.outcome, result.changed) == ("pass", 100_000)
    assert any("is not kept" in note for note in result.notes)
    assert not (place / "workspace.tar.gz").exists()
    assert (place / "diff.patch").stat().st_size <= (1 << 20) + 100


@SLOW
@pytest.mark.parametrize("stream", ["stdout", pytest.param("stderr", marks=pytest.mark.slow)])
def test_floods_of_output(tmp_path: Path, sandbox: str, stream: str) -> None:
    limits = SandboxLimits(timeout_sec=8, output_bytes=50_000)
    result, place = tried(
        tmp_path, f"echo begin >&2; exec yes {'>&2' if stream == 'stderr' else ''}", sandbox, limits=limits
    )
    assert result.outcome == "fail" and stopped(result) == ["output"]
    name = "stream.err" if stream == "stderr" else "stream.out"
    assert (place / name).stat().st_size == 50_000


@pytest.mark.slow
def test_more_output_than_is_kept(tmp_path: Path) -> None:
    limits = SandboxLimits(timeout_sec=8, output_bytes=1000)
    result, place = tried(
        tmp_path, "head -c 3000 /dev/zero | tr '\\0' x; echo '@opened alpha'", limits=limits, skills=[skill("alpha")]
    )
    assert (result.outcome, result.invoked) == ("pass", "not_observable")
    assert "stdout had 3,014 bytes, of which the first and the last 500 were kept" in result.notes
    assert (place / "stream.out").stat().st_size == 1000


# --- What it leaves for us -------------------------------------------------------------------------------------------


@pytest.mark.slow
@BOTH
def test_links_to_secrets_are_not_followed(tmp_path: Path, sandbox: str) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "key.txt").write_text(SECRET)
    text = f"ln -s {hidden}/key.txt link; ln -s {hidden} folder; rm in.txt; ln -s {hidden}/key.txt in.txt; ln -s loop loop; ln -s / root"
    check = "cat link folder/key.txt in.txt 2>/dev/null | wc -c; exit 0" if sandbox == "bubblewrap" else "exit 0"
    result, place = tried(tmp_path, text, sandbox, check)
    assert (result.outcome, result.changed) == ("pass", 5)
    members = archived(place)
    assert all(members[name].issym() for name in ("link", "folder", "in.txt", "loop", "root"))
    assert SECRET.encode() not in everything(place)
    assert f"+{hidden}/key.txt".encode() in (place / "diff.patch").read_bytes()
    if sandbox == "bubblewrap":
        assert (place / "verifier/stdout").read_text() == "0\n"


@pytest.mark.slow
@SLOW
def test_skills_folder_that_is_a_link(tmp_path: Path, sandbox: str) -> None:
    hidden = tmp_path / "hidden"
    (hidden / "skills" / "alpha").mkdir(parents=True)
    (hidden / "skills" / "alpha" / "SKILL.md").write_text(SECRET)
    text = f"rm -r .agents; ln -s {hidden} .agents"
    result, place = tried(tmp_path, text, sandbox, skills=[skill("alpha")])
    assert result.outcome == "pass"
    assert any("skill" in note for note in result.notes)
    assert (hidden / "skills" / "alpha" / "SKILL.md").read_text() == SECRET
    assert SECRET.encode() not in everything(place)


@pytest.mark.slow
@BOTH
def test_secrets_are_in_no_file(tmp_path: Path, sandbox: str) -> None:
    odd = 'sk-"quoted"\\and-ünusual'
    text = (
        f"echo {SECRET}; echo {SECRET} >&2; echo {SECRET} > out.txt; echo {SECRET} >> in.txt; printf '\\0\\1{SECRET}' > bin\n"
        f"ln -s {SECRET} link; echo x > {SECRET}.txt; mkdir .agents/skills/{SECRET}\n"
        f"echo {shlex.quote(odd)}; echo {shlex.quote(json.dumps(odd))}; echo {shlex.quote(json.dumps([odd]))} > j"
    )
    check = "cat *.txt; echo $(cat out.txt) >&2; mkdir -p .runner; cp out.txt .runner/notes.txt"
    result, place = tried(tmp_path, text, sandbox, check, secrets=(SECRET, odd), skills=[skill("alpha")])
    assert result.outcome == "pass"
    kept = everything(place)
    assert SECRET.encode() not in kept and SECRET not in repr(result)
    assert b"unusual" not in kept and "ünusual".encode() not in kept
    assert any("held a secret" in note for note in result.notes)
    assert b"***" in (place / "stream.out").read_bytes() and b"***" in (place / "diff.patch").read_bytes()


@pytest.mark.slow
@SLOW
def test_special_files_keep_nobody_waiting(tmp_path: Path, sandbox: str) -> None:
    bind = "import socket; socket.socket(socket.AF_UNIX).bind('sock')"
    text = f"mkfifo pipe out.txt; rm in.txt; mkfifo in.txt; python3 -c {shlex.quote(bind)}; mknod dev c 1 3 2>/dev/null; true"
    result, place = tried(tmp_path, text, sandbox, "cat pipe out.txt in.txt sock; exit 1", limits=QUICK)
    assert result.outcome == "fail"
    assert "3 special files of the kind fifo were removed" in result.notes
    assert "# a special file, not opened: fifo" in (place / "diff.patch").read_text()
    assert set(archived(place)) == set()


@pytest.mark.slow
@SLOW
def test_strange_names(tmp_path: Path, sandbox: str) -> None:
    python = (
        "import os\n"
        r"names = [b'new\nline', b'esc\x1b[2Jape', b'\xff\xfe', b'quo\"te', b'back\\slash', b'-rf', b' ', b'a' * 255]"
        "\nnames.append('\\u202egnp'.encode())\nfor name in names:\n open(name, 'wb').write(b'\\x1b[31mred\\n')\n"
        " os.mkdir(b'd' + name[:200])\n open(b'd' + name[:200] + b'/f', 'wb').write(b'x')"
    )
    made = task(tmp_path, verifier("ls -A | wc -l"))
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    result, place = run(tmp_path, cell(made, agent(python, "python"), sandbox))
    assert (result.outcome, result.changed) == ("pass", 18)
    patch = (place / "diff.patch").read_bytes()
    assert b'"b/new\\nline"' in patch and b"\\377\\376" in patch and b"esc\x1b" not in patch
    # What files hold is kept as it is; names are not.
    assert b"\x1b[31mred" in patch
    assert len(archived(place)) == 28


@pytest.mark.slow
@SLOW
def test_hard_links_and_rights(tmp_path: Path, sandbox: str) -> None:
    text = "ln in.txt again; echo x > run; chmod 6777 run; mkdir locked; echo y > locked/f; chmod 000 locked/f locked; chmod 500 ."
    result, place = tried(tmp_path, text, sandbox)
    assert result.outcome == "pass"
    if (place / "workspace.tar.gz").exists():
        members = archived(place)
        assert members["again"].isreg() and members["run"].mode == 0o755
        assert not any(member.mode & 0o7000 for member in members.values())
    else:
        assert any("is not kept" in note for note in result.notes)


@SLOW
@pytest.mark.parametrize("levels", [300, pytest.param(1500, marks=pytest.mark.slow)])
def test_deep_folders(tmp_path: Path, sandbox: str, levels: int) -> None:
    text = (
        f"import os\nfor _ in range({levels}):\n os.mkdir('d' * 20)\n os.chdir('d' * 20)\nopen('deep', 'w').write('x')"
    )
    made = task(tmp_path, verifier("exit 0"))
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    result, place = run(tmp_path, cell(made, agent(text, "python"), sandbox))
    assert result.outcome in ("pass", "fail")
    assert any("deep" in note for note in result.notes)
    assert not (place / "workspace.tar.gz").exists()


@pytest.mark.slow
@SLOW
def test_huge_and_sparse_files(tmp_path: Path, sandbox: str) -> None:
    limits = SandboxLimits(timeout_sec=8, disk_bytes=1 << 30)
    result, place = tried(tmp_path, "truncate -s 900M hole; truncate -s 900M in.txt", sandbox, limits=limits)
    assert result.outcome == "pass"
    assert any("is not kept" in note for note in result.notes)
    assert f"{900 << 20} bytes".encode() in (place / "diff.patch").read_bytes()
    assert (place / "diff.patch").stat().st_size < 1000


@pytest.mark.slow
@SLOW
def test_texts_that_keep_a_comparison_busy(tmp_path: Path, sandbox: str) -> None:
    lines = "".join(f"{number % 7}\n" for number in range(50_000))
    files = {"in.txt": lines}
    result, place = tried(
        tmp_path, "rev in.txt | tac > x; shuf --random-source=in.txt in.txt > y; mv y in.txt", sandbox, files=files
    )
    assert result.scored
    assert (place / "diff.patch").stat().st_size < 1 << 20


@pytest.mark.slow
def test_a_verifier_that_attacks_is_held_too(tmp_path: Path) -> None:
    """It runs what an agent left: a repository with hooks, a module with the name of one of Python's."""
    word = f"5{os.getpid()}.{secrets.randbelow(10**9)}"
    check = (
        f"(setsid sleep {word} &); (exec 3<>/dev/tcp/127.0.0.1/22) 2>/dev/null && echo NET\n"
        f"ls {tmp_path}/reports 2>/dev/null; echo x > /x; exit 0"
    )
    result, place = tried(tmp_path, "true", verify=check)
    assert result.outcome == "pass"
    assert (place / "verifier/stdout").read_bytes() == b""
    assert gone(word)


@pytest.mark.slow
def test_every_attack_is_scored_or_missing(tmp_path: Path) -> None:
    """An agent that ends by a signal, or with any code, is judged by its work alone."""
    for text, code in (("kill -9 $$", -9), ("exit 77", 77), ("kill -11 $$", -11)):
        result, place = tried(tmp_path, f"echo 3 > out.txt; {text}", verify="test -f out.txt")
        assert (result.outcome, result.exit_code) == ("pass", code)
        assert result.outcome in SCORED and record(place, "verdict.json")["outcome"] == "pass"
