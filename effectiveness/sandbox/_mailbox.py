"""One program in a sandbox that is reached by single commands only, and whose network nobody outside can enter.

`python3 -I -S _mailbox.py serve FOLDER` puts the files that came with it where they belong, starts the program, and
keeps all that it says, and all that it sends to sockets of ours, in one stream; it stays when the command ends.
`... call FOLDER DATA` is one exchange: it brings a piece of the stream that goes in, and takes one of the stream that
comes out, of which it waits for the first byte. Pieces carry their position, so that a command that failed can be given
again. Base library only: it runs on the interpreter that is uploaded with it.

Both streams are made of frames: the number of a channel and of bytes, and these. A frame without bytes is the end of
its channel. Inwards, INPUT is the program's; outwards, OUTPUT and ERRORS are its own, and ENDED says that all is over.
Others are connections, which the program opens; their first frame outwards names the socket, by its place in the plan.
"""

import base64
import contextlib
import json
import os
import queue
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tarfile
import threading
import time
from typing import Any

INPUT, ENDED, OUTPUT, ERRORS, FIRST = 0, 0, 1, 2, 16
FRAME, ASKED, ANSWERED = struct.Struct(">II"), struct.Struct(">QQ?"), struct.Struct(">Q")
MARK = ("<<<", ">>>")
PLAN, WORK, LEFT, MAIL = "plan.json", "work.tar.gz", "left.tar.gz", "mail"
# The most that an exchange brings back, and that waits to be taken.
PIECE, WAITING = 192 << 10, 4 << 20
PATIENCE = 10.0
_PART, _LOOK = 1 << 16, 2.0


class Frames:
    """Bytes, as they come -> frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The frames that are complete now, each with its channel."""
        self._data += data
        found = []
        while len(self._data) >= FRAME.size:
            channel, length = FRAME.unpack_from(self._data)
            if len(self._data) < FRAME.size + length:
                break
            found.append((channel, bytes(self._data[FRAME.size : FRAME.size + length])))
            del self._data[: FRAME.size + length]
        return found


class Outbox:
    """The stream that goes out. Who puts something in waits as long as too much lies there."""

    def __init__(self) -> None:
        self._data, self._start = bytearray(), 0
        self._changed = threading.Condition()

    def put(self, channel: int, data: bytes) -> None:
        """Add a frame."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._data) < WAITING)
            self._data += FRAME.pack(channel, len(data)) + data
            self._changed.notify_all()

    def take(self, at: int) -> bytes:
        """What there is from a position on; all before it has arrived, and is dropped."""
        with self._changed:
            drop = min(max(0, at - self._start), len(self._data))
            del self._data[:drop]
            self._start += drop
            self._changed.notify_all()
            self._changed.wait_for(lambda: bool(self._data), PATIENCE)
            return bytes(self._data[:PIECE])


class Program:
    """The program with its sockets, both streams, and a look at what it writes."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        with open(os.path.join(folder, PLAN), encoding="utf-8") as stream:
            self.plan = json.load(stream)
        self.outbox, self._frames, self._received = Outbox(), Frames(), 0
        self._taking = threading.Lock()
        self._inputs: dict[int, queue.Queue[bytes]] = {INPUT: queue.Queue()}
        self._next = FIRST
        place_files(self.plan["places"], os.path.join(folder, WORK))
        for target, link in self.plan["links"]:
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(target, link)
        self._listeners = [listener(path) for path in self.plan["sockets"]]
        self._process = subprocess.Popen(
            self.plan["argv"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=self.plan["cwd"], start_new_session=True,
        )  # fmt: skip

    def conduct(self) -> None:
        """Carry everything until the program has ended, and keep what it left."""
        process = self._process
        for nth, one in enumerate(self._listeners):
            begin(self._accept, nth, one)
        begin(self._feed)
        if self.plan["disk_bytes"] or self.plan["files"]:
            begin(self._look)
        pumps = [
            begin(self._pump, channel, pipe) for channel, pipe in ((OUTPUT, process.stdout), (ERRORS, process.stderr))
        ]
        code = process.wait()
        for pump in pumps:
            # Whoever got away may hold a pipe open for ever.
            pump.join(PATIENCE)
        said = {"code": code, "problem": "", "too_much": too_much(self.plan)}
        try:
            if not said["too_much"]:
                pack(self.plan, os.path.join(self.folder, LEFT))
        except (OSError, ValueError, tarfile.TarError) as error:
            said["problem"] = f"what it left cannot be packed: {error}"[:300]
        self.outbox.put(ENDED, json.dumps(said).encode())

    def receive(self, at: int, data: bytes) -> None:
        """Take a piece of the stream that comes in; what was taken before is passed over."""
        with self._taking:
            if at > self._received:
                raise ValueError("a piece is missing")
            fresh = data[self._received - at :]
            self._received += len(fresh)
            for channel, payload in self._frames.feed(fresh):
                waiting = self._inputs.get(channel)
                if waiting is not None:
                    waiting.put(payload)

    def _feed(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        with contextlib.suppress(OSError, ValueError):
            while data := self._inputs[INPUT].get():
                pipe.write(data)
                pipe.flush()
        with contextlib.suppress(OSError, ValueError):
            pipe.close()

    def _pump(self, channel: int, pipe: Any) -> None:
        while data := os.read(pipe.fileno(), _PART):
            self.outbox.put(channel, data)

    def _accept(self, nth: int, one: socket.socket) -> None:
        while True:
            here = one.accept()[0]
            with self._taking:
                channel, self._next = self._next, self._next + 1
                waiting = self._inputs[channel] = queue.Queue()
            self.outbox.put(channel, b"%d" % nth)
            begin(self._send, here, waiting)
            begin(self._read, here, channel)

    def _read(self, here: socket.socket, channel: int) -> None:
        with contextlib.suppress(OSError):
            while data := here.recv(_PART):
                self.outbox.put(channel, data)
        self.outbox.put(channel, b"")

    def _send(self, here: socket.socket, waiting: "queue.Queue[bytes]") -> None:
        with contextlib.suppress(OSError):
            while data := waiting.get():
                here.sendall(data)
            here.shutdown(socket.SHUT_WR)

    def _look(self) -> None:
        """End the program when more is written than it may."""
        while self._process.poll() is None:
            begun = time.monotonic()
            if too_much(self.plan):
                self._inputs[INPUT].put(b"")
                return
            time.sleep(max(_LOOK, 20 * (time.monotonic() - begun)))


def begin(work: Any, *given: Any) -> threading.Thread:
    """Do something in a thread of its own."""
    thread = threading.Thread(target=work, args=given, daemon=True)
    thread.start()
    return thread


def listener(path: str) -> socket.socket:
    """A socket at a path, whose folder is made."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    found = socket.socket(socket.AF_UNIX)
    found.bind(path)
    found.listen(64)
    return found


def place_files(places: "list[dict[str, Any]]", archive: str) -> None:
    """Put what was uploaded where it belongs: each place is what it is outside, and holds nothing else."""
    for place in places:
        target = str(place["inside"])
        if place["folder"]:
            os.makedirs(target, exist_ok=True)
            if place["whole"]:
                empty(target)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
    with tarfile.open(archive) as packed:
        for member in packed:
            nth, _, inner = member.name.partition("/")
            target = str(places[int(nth)]["inside"])
            member.name = target if not inner else os.path.join(target, inner)
            # These come from our own side, and links among them lead wherever they lead there.
            packed.extract(member, os.sep, set_attrs=True, filter="fully_trusted")


def empty(folder: str) -> None:
    """Remove what a folder holds, but not itself."""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)


def written(plan: "dict[str, Any]") -> "list[tuple[int, str, list[str]]]":
    """The places that can be written: number, path, and the paths in it that are places or sockets themselves."""
    others = [*(str(place["inside"]) for place in plan["places"]), *plan["sockets"]]
    others += [link for _, link in plan["links"]]
    return [
        (nth, top, [path for path in others if path.startswith(f"{top}/")])
        for nth, place in enumerate(plan["places"])
        for top in [str(place["inside"])]
        if place["back"]
    ]


def entries(top: str, without: "list[str]") -> "list[tuple[str, os.stat_result]]":
    """What lies below a folder, parents first; what cannot be looked at is passed over."""
    found, waiting = [], [top]
    while waiting:
        folder = waiting.pop()
        try:
            listed = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            if entry.path in without:
                continue
            try:
                state = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            found.append((entry.path, state))
            if stat.S_ISDIR(state.st_mode):
                waiting.append(entry.path)
    return found


def too_much(plan: "dict[str, Any]") -> bool:
    """Whether more is written than may be."""
    size = count = 0
    for _, top, without in written(plan):
        found = entries(top, without)
        count += len(found)
        # A file with holes is carried with all that it seems to hold.
        size += sum(max(state.st_blocks * 512, state.st_size) for _, state in found)
    return bool((plan["disk_bytes"] and size > plan["disk_bytes"]) or (plan["files"] and count > plan["files"]))


def pack(plan: "dict[str, Any]", archive: str) -> None:
    """An archive of what lies in all places that can be written; sockets and devices are left out."""
    with tarfile.open(archive, "w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as packed:
        for nth, top, without in written(plan):
            for path, state in entries(top, without):
                with contextlib.suppress(FileNotFoundError):
                    pack_one(packed, path, f"{nth}{path.removeprefix(top)}", state)


def pack_one(packed: tarfile.TarFile, path: str, name: str, state: os.stat_result) -> None:
    """Add a file, a folder or a link; one of several names of a file is a file of its own."""
    if stat.S_ISDIR(state.st_mode) or stat.S_ISLNK(state.st_mode):
        packed.add(path, name, recursive=False)
    elif stat.S_ISREG(state.st_mode):
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            member = packed.gettarinfo(arcname=name, fileobj=stream)
            if member.islnk():
                member.type, member.linkname, member.size = tarfile.REGTYPE, "", os.fstat(stream.fileno()).st_size
            packed.addfile(member, stream)


def serve(folder: str) -> None:
    """Start everything in a process that stays, and answer exchanges until the sandbox is gone."""
    heard, say = os.pipe()
    if os.fork():
        os.close(say)
        with open(heard, "rb") as stream:
            problem = stream.read().decode("utf-8", "replace")
        sys.exit(problem or None)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(nothing, handle)
    try:
        program = Program(folder)
        mail = listener(os.path.join(folder, MAIL))
    except Exception as error:
        os.write(say, f"{type(error).__name__}: {error}"[:500].encode("utf-8", "replace"))
        os._exit(1)
    os.close(say)
    begin(program.conduct)
    while True:
        begin(answer, program, mail.accept()[0])


def answer(program: Program, here: socket.socket) -> None:
    """One exchange."""
    with here, contextlib.suppress(OSError, ValueError, struct.error):
        asked = read_all(here)
        take_at, give_at, take = ASKED.unpack_from(asked)
        program.receive(give_at, asked[ASKED.size :])
        here.sendall(ANSWERED.pack(take_at) + (program.outbox.take(take_at) if take else b""))


def read_all(here: socket.socket) -> bytes:
    """Everything until the end."""
    found = bytearray()
    while data := here.recv(_PART):
        found += data
    return bytes(found)


def call(folder: str, data: str) -> None:
    """Pass on what was brought, and print what is given for it."""
    there = socket.socket(socket.AF_UNIX)
    there.connect(os.path.join(folder, MAIL))
    there.sendall(base64.b64decode(data))
    there.shutdown(socket.SHUT_WR)
    found = read_all(there)
    if len(found) < ANSWERED.size:
        sys.exit("the exchange was refused")
    # In lines: not everybody carries one of any length.
    print(f"{MARK[0]}{base64.encodebytes(found).decode('ascii')}{MARK[1]}")


def print_image(workdir: str) -> None:
    """Print what the image says of itself: where it starts, and with which variables."""
    said = json.dumps({"workdir": workdir or os.getcwd(), "env": dict(os.environ)})
    print(f"{MARK[0]}{base64.encodebytes(said.encode('utf-8', 'replace')).decode('ascii')}{MARK[1]}")


if __name__ == "__main__":
    deeds: dict[str, Any] = {"serve": serve, "call": call, "image": print_image}
    deeds[sys.argv[1]](*sys.argv[2:])
