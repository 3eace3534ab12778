"""The supervisor inside a sandbox: `python3 -I -S _inside.py`, told on its input what to start; base library only.

It limits and starts one program, waits for it, ends everything that it left, and says how it ended in the last bytes of
stderr. Its input stays open as long as somebody wants the program to run: when it closes, because we were killed or
because time is up, everything is ended. It imports next to nothing, since it is started with every trial.
"""

import _thread
import os
import sys
import time

KILL, RESERVE = 9, 3.0
FIELDS = 15


class SupervisorState:
    """Why everything was ended ("" as long as nobody asked for it), and the program's process."""

    reason = ""
    child = 0


def main() -> None:
    """Do what the input says, and end with an exit code that means nothing: the last words do."""
    raw = read_exactly(int(read_exactly(12)))
    texts = raw.split(b"\0")
    (
        nonce,
        cwd,
        socket_path,
        proxy_path,
        port,
        proxy_port,
        size,
        files,
        tasks,
        memory,
        most,
        length,
        words,
        channel,
        _,
    ) = texts[:FIELDS]
    argv, env = texts[FIELDS : FIELDS + int(words)], texts[FIELDS + int(words) :]
    environment = dict(entry.split(b"=", 1) for entry in env if entry)
    given = stage_input(read_exactly(int(length)), environment.get(b"TMPDIR", cwd))
    beside("_guard").shut()
    ways = ((port, socket_path), (proxy_port, proxy_path))
    forwards = [beside("_forward").connect(int(number), path) for number, path in ways if int(number) and path]
    out, printed = own_channel() if int(channel) else (-1, None)
    said, say = os.pipe()
    ready, go = os.pipe()
    SupervisorState.child = os.fork()
    if not SupervisorState.child:
        # A program that starts others without end leaves no room for our threads, so these are there first.
        os.close(go)
        if not os.read(ready, 1):
            os._exit(127)
        start(argv, environment, cwd, given, (int(size), int(files), int(tasks), int(memory)), say, out)
    os.close(say)
    os.close(given)
    _thread.start_new_thread(watch_input, ())
    if int(most) or int(size):
        _thread.start_new_thread(beside("_watch").watch, (processes, int(most), int(size), end))
    if printed is not None:
        os.close(out)
    for forward in forwards:
        _thread.start_new_thread(forward, ())
    os.write(go, b"-")
    error = os.read(said, 1 << 12)
    status = wait_for(SupervisorState.child)
    kill_all()
    reap()
    if printed is not None:
        # All who could print are dead, so this is what was under way.
        printed.acquire(timeout=RESERVE)
    code = os.waitstatus_to_exitcode(status)
    last = b"\0%s %d %s %s\n" % (nonce, code, SupervisorState.reason.encode() or b"-", error)
    while last:
        last = last[os.write(2, last) :]
    os._exit(0)


def read_exactly(size: int) -> bytes:
    """So many bytes of the input; ends the program where it closes before."""
    data = b""
    while len(data) < size:
        more = os.read(0, min(1 << 16, size - len(data)))
        if not more:
            os._exit(0)
        data += more
    return data


def stage_input(data: bytes, folder: bytes) -> int:
    """An open file without a name that holds the program's input."""
    if not data:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    path = os.path.join(folder, b".input")
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.unlink(path)
    while data:
        data = data[os.write(handle, data) :]
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def own_channel() -> "tuple[int, _thread.LockType]":
    """A handle for the program's stdout, and a lock that is free when all that came through it was printed.

    A pipe can be opened by everybody of the same user, as /proc/PID/fd/1, so that what an agent starts could print in
    the agent's name; a socket cannot.
    """
    import _socket

    here, there = (end.detach() for end in _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM, 0))
    done = _thread.allocate_lock()
    done.acquire()

    def copy() -> None:
        try:
            while data := os.read(here, 1 << 16):
                while data:
                    data = data[os.write(1, data) :]
        except OSError:
            pass
        done.release()

    _thread.start_new_thread(copy, ())
    return there, done


def start(
    argv: list[bytes],
    environment: dict[bytes, bytes],
    cwd: bytes,
    given: int,
    limits: tuple[int, int, int, int],
    say: int,
    out: int,
) -> None:
    """Become the program; never returns. What keeps it from starting is written to `say`."""
    import resource

    try:
        os.setsid()
        os.dup2(given, 0)
        if out >= 0:
            os.dup2(out, 1)
        os.chdir(cwd)
        os.umask(0o022)
        kinds = (
            resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, getattr(resource, "RLIMIT_NPROC", None), resource.RLIMIT_DATA
        )  # fmt: skip
        for kind, most in (*zip(kinds, limits, strict=True), (resource.RLIMIT_CORE, -1)):
            if kind is not None and most:
                hard = resource.getrlimit(kind)[1]
                wanted = max(0, most) if hard == resource.RLIM_INFINITY else min(hard, max(0, most))
                resource.setrlimit(kind, (wanted, wanted))
        os.execvpe(argv[0], argv, environment)
    except (OSError, ValueError) as error:
        os.write(say, (getattr(error, "strerror", None) or str(error)).encode())
    finally:
        os._exit(127)


def wait_for(child: int) -> int:
    """The status of a process; orphans are reaped on the way."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return status


def reap() -> None:
    """Wait until nothing is left, killing what still comes into being, but not for ever."""
    until = time.monotonic() + RESERVE
    try:
        while time.monotonic() < until:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.002)
                kill_all()
    except ChildProcessError:
        return


def kill_all() -> None:
    """Kill everything that the program started, however often it left its group."""
    if os.getpid() == 1:
        kill(-1)
        return
    kill(-SupervisorState.child)
    for pid in below(os.getpid()):
        kill(pid)


def kill(pid: int) -> None:
    """Kill a process, or a group by its negative number; it may be gone already."""
    try:  # noqa: SIM105 - contextlib takes longer to import than all of this
        os.kill(pid, KILL)
    except OSError:
        pass


def below(top: int) -> list[int]:
    """All processes below one, parents first."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stream:
                    parent = int(stream.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    found = [top]
    for pid in found:
        found += children.get(pid, ())
    return found[1:]


def end(reason: str) -> None:
    """Kill everything, again and again until the main thread sees the program's end and leaves."""
    SupervisorState.reason = SupervisorState.reason or reason
    while True:
        kill_all()
        time.sleep(0.01)


def watch_input() -> None:
    """End everything when the input closes."""
    while os.read(0, 1 << 12):
        pass
    end("asked")


def processes() -> list[int]:
    """All that run, without us."""
    if os.getpid() == 1:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
    return below(os.getpid())


def beside(name: str):  # type: ignore[no-untyped-def]
    """A module that lies beside this file, which an isolated interpreter does not find by itself."""
    folder = os.path.dirname(os.path.abspath(__file__))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return __import__(name)


if __name__ == "__main__":
    main()
