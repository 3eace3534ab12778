"""Asks git about a repository without running anything that the repository configures.

Only commands are used that read objects, refs, the index and the names of files. Which files differ from a commit is
found here, by comparing them with its blobs: git itself would run the filters that a repository names. See
docs/security.md.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import is_there, open_regular, read_head, read_whole, refuse_failing

if TYPE_CHECKING:
    from subprocess import Popen

try:
    # Loading OpenSSL takes longer than all that is hashed here.
    from _sha1 import sha1  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    from hashlib import sha1

# A bare repository inside a clone may be a trap: its configuration is the work of whoever wrote the clone. The server
# of a partial clone would be asked for what is missing by a command that the clone names.
_SAFE = (
    "--no-optional-locks", "--no-pager", "--no-replace-objects", "-c", "safe.bareRepository=explicit",
    "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", f"core.hooksPath={os.devnull}",
    "-c", "protocol.allow=never", "-c", "submodule.recurse=false",
)  # fmt: skip
_ENVIRONMENT = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
# Which repository it is, is said by us: in a hook, these speak of the one that the commit is made in.
_OTHER = ("GIT_DIR", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE")
_LINK, _MODULE = b"120000", b"160000"
_SKIPPED = b"S"
# The ids of an empty file, which is what `git add -N` puts into the index.
_EMPTY = {sha1(b"blob 0\0", usedforsecurity=False).hexdigest().encode("ascii"),
          b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"}  # fmt: skip
_ENTRY = re.compile(
    rb"(?P<tag>.) (?P<mode>\d+) (?P<oid>[0-9a-f]+) (?P<stage>\d)\t(?P<path>[^\0]+)\0"
    rb"(?:  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n  uid: \d+\tgid: \d+\n  size: (\d+)\t[^\n]*\n)?"
)
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:[^\n]*\n)*?oid sha256:([0-9a-f]{64})\n")
_POINTER_BYTES = 1024
_CHUNK, _MOST_REFS = 1 << 20, 1 << 28
_NO_GIT = "git is needed for this, and is not installed"
_TICK = 0.2
_PATIENCE = 300.0
"""Seconds. In an unpacked archive, what git reads may be a pipe that nobody writes to."""


class GitOutput(NamedTuple):
    """What git printed: its exit code, its output, and the line that says why it failed ("" where it did not)."""

    code: int
    output: bytes
    reason: str = ""


class StoredFile(NamedTuple):
    """A file of a commit or of the index: its mode, and the id of its content."""

    mode: bytes
    oid: bytes

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link, whose content is where it leads."""
        return self.mode == _LINK

    @property
    def is_executable(self) -> bool:
        """Whether it may be run by its name."""
        return self.mode == b"100755"

    @property
    def is_module(self) -> bool:
        """Whether it is a submodule, whose files are another repository's."""
        return self.mode == _MODULE


class _Tracked(NamedTuple):
    """What a commit or the index says of a path; `state` is that of the file when git looked at it last, if known."""

    mode: bytes
    oid: bytes
    tag: bytes = b""
    state: tuple[int, ...] = ()


class GitRepository(NamedTuple):
    """A work tree and its git folder, both absolute."""

    top: str
    folder: str

    def run(self, *arguments: str, given: bytes = b"") -> GitOutput:
        """Run a command of git that reads only, at the top, with `given` as its input."""
        return _run(f"--git-dir={self.folder}", f"--work-tree={self.top}", "-C", self.top, *arguments, given=given)

    def ask(self, *arguments: str, missing: int = 0, given: bytes = b"") -> bytes:
        """What git prints; nothing if it ends with the exit code `missing`. Raises UsageError for another failure."""
        done = self.run(*arguments, given=given)
        if done.code not in (0, missing):
            raise UsageError(f"git {arguments[0]}: {done.reason}")
        return b"" if done.code else done.output

    def find_commit(self, revision: str) -> str:
        """The id of the commit that a revision names, "" if there is none."""
        if revision.startswith("-"):
            return ""
        done = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        return "" if done.code else done.output.decode("ascii", "replace").strip()

    def find_head(self) -> str:
        """The id of the last commit, "" before the first one. Raises UsageError where there is one git cannot read."""
        if head := self.find_commit("HEAD"):
            return head
        branch = self.ask("symbolic-ref", "--quiet", "HEAD", missing=1).rstrip(b"\n")
        if not branch or self._is_named(branch):
            raise UsageError("git cannot read the last commit: look after the disk (`git fsck`), or try again")
        return ""

    def _is_named(self, branch: bytes) -> bool:
        """Whether a branch has a commit, or may have one: git itself takes a file that it cannot read for none."""
        found = self.ask("rev-parse", "--git-path", os.fsdecode(branch), "--git-path", "packed-refs").splitlines()
        own, packed = (os.path.join(self.top, os.fsdecode(place)) for place in found)
        try:
            return is_there(own) or b" %s\n" % branch in read_whole(packed, _MOST_REFS)
        except FileNotFoundError:
            return False
        except OSError:
            return True

    def resolve_commit(self, revision: str) -> str:
        """The same, but raises UsageError if git does not know the revision."""
        if revision.startswith("-"):
            raise UsageError(f"{revision!r} is not a git revision")
        if commit := self.find_commit(revision):
            return commit
        raise UsageError(f"git does not know the revision {revision!r}")

    def list_tracked_changes(self, commit: str, wanted: Callable[[str], bool] = lambda path: True) -> Iterator[str]:
        """The paths, relative to the top, of a commit ("": of none) or the index whose files differ from the commit.

        What is the same but for line ends, and a file whose content git-lfs keeps elsewhere, has not changed; nor has a
        submodule or a file that a sparse checkout leaves out. A mode alone is no change. Raises UsageError where git
        fails.
        """
        old, index = self._tree(commit) if commit else {}, self._index()
        unsure: dict[str, bytes] = {}
        for path in sorted({*old, *index}):
            then, now = old.get(path), index.get(path)
            if not wanted(path) or _MODULE in (then and then.mode, now and now.mode):
                continue
            if then is None:
                yield path
            elif (now is None or now.tag != _SKIPPED) and not self._holds(path, then, now):
                unsure[path] = then.oid
        yield from self._unlike_pointers(unsure)

    def list_staged(self, commit: str) -> Iterator[tuple[str, StoredFile | None, StoredFile | None]]:
        """The paths, relative to the top, that the index has otherwise than a commit, and what both have there.

        The work tree is not looked at, and what is only to be added later (`git add -N`) is not there yet. Raises
        UsageError where git fails.
        """
        how = ("--raw", "-z", "--no-renames", "--no-abbrev", "--no-relative", "--ignore-submodules=none",
               "--ita-invisible-in-index")  # fmt: skip
        parts = self.ask("diff-index", "--cached", *how, commit, "--").split(b"\0")
        for head, path in zip(parts[::2], parts[1::2], strict=False):
            old_mode, mode, old_oid, oid, _ = head.removeprefix(b":").split()
            old = StoredFile(old_mode, old_oid) if old_oid.strip(b"0") else None
            yield os.fsdecode(path), old, StoredFile(mode, oid) if oid.strip(b"0") else None

    def list_index(self) -> dict[str, StoredFile]:
        """The files of the index by their paths, relative to the top; not those that are only to be added later."""
        found = dict(_entries(self.ask("ls-files", "-s", "-z"), 1))
        if any(file.oid in _EMPTY for file in found.values()) and self._may_add_later():
            later = self.ask("diff-files", "--name-only", "-z", "--diff-filter=A", "--no-relative")
            for path in later.split(b"\0"):
                found.pop(os.fsdecode(path), None)
        return found

    def _may_add_later(self) -> bool:
        """Whether the index can hold such files: its second version has no room to say so (gitformat-index(5))."""
        try:
            return read_head(self._index_file(), 8) != b"DIRC\0\0\0\2"
        except OSError:
            return True

    def _index_file(self) -> str:
        return os.path.join(self.top, os.environ.get("GIT_INDEX_FILE") or os.path.join(self.folder, "index"))

    def list_tree(self, commit: str) -> dict[str, StoredFile]:
        """The files of a commit by their paths, relative to the top."""
        return dict(_entries(self.ask("ls-tree", "-r", "-z", "--full-tree", commit), 2))

    def read_blobs(self, oids: Sequence[bytes], most: int) -> Iterator[bytes | None]:
        """The contents of these ids, in their order; None where there are more than `most` bytes.

        Raises UsageError where git lacks one of them, as it does in a partial clone.
        """
        asked = self.run("cat-file", "--batch-check=%(objecttype) %(objectsize)", given=b"\n".join([*oids, b""]))
        sizes = [int(line[5:]) if line.startswith(b"blob ") else -1 for line in asked.output.splitlines()]
        if len(sizes) != len(oids) or -1 in sizes:
            raise UsageError("git lacks the contents of a file (in a partial clone?): fetch them first")
        small = [oid for oid, size in zip(oids, sizes, strict=True) if size <= most]
        output, at = self.ask("cat-file", "--batch", given=b"\n".join([*small, b""])) if small else b"", 0
        for size in sizes:
            if size <= most:
                start = output.index(b"\n", at) + 1
                at = start + size + 1
            yield output[start : at - 1] if size <= most else None

    def _tree(self, commit: str) -> dict[str, _Tracked]:
        return {path: _Tracked(*file) for path, file in self.list_tree(commit).items()}

    def _index(self) -> dict[str, _Tracked]:
        """The index, with the state that each file had; not where it may have changed right after git looked."""
        try:
            written = os.stat(self._index_file()).st_mtime_ns
        except OSError:
            written = 0
        tracked = {}
        for found in _ENTRY.finditer(self.ask("ls-files", "-s", "-t", "-z", "--debug")):
            numbers = [int(each) for each in found.groups()[5:] if each is not None]
            state: tuple[int, ...] = ()
            if len(numbers) == 6:
                seconds, nanoseconds, changed, fraction, inode, size = numbers
                state = (seconds * 10**9 + nanoseconds, changed * 10**9 + fraction, inode & 0xFFFFFFFF, size)
                state = state if size and state[1] < written else ()
            tracked[os.fsdecode(found["path"])] = _Tracked(found["mode"], found["oid"], found["tag"], state)
        return tracked

    def _holds(self, path: str, then: _Tracked, now: _Tracked | None) -> bool:
        """Whether the file in the work tree is that of the commit."""
        place = os.path.join(self.top, path)
        try:
            info = os.lstat(place)
            if stat.S_ISLNK(info.st_mode):
                target = os.fsencode(os.readlink(place))
                return then.mode == _LINK and _digest(then.oid, [target], len(target)) == then.oid
            if not stat.S_ISREG(info.st_mode):
                return False
            if now and now.state == (info.st_ctime_ns, info.st_mtime_ns, info.st_ino & 0xFFFFFFFF, info.st_size):
                return now.oid == then.oid
            if _digest(then.oid, _chunks(place), info.st_size) == then.oid:
                return True
            # A checkout on Windows has other line ends than what was committed.
            unix = b"".join(_chunks(place)).replace(b"\r\n", b"\n")
            return len(unix) != info.st_size and _digest(then.oid, [unix], len(unix)) == then.oid
        except OSError as error:
            refuse_failing(path, error)
            return False

    def _unlike_pointers(self, unsure: dict[str, bytes]) -> Iterator[str]:
        """Those of the paths whose blob is no pointer of git-lfs to what the file holds."""
        sizes = self.run("cat-file", "--batch-check=%(objectsize)", given=b"\n".join(unsure.values()) + b"\n")
        for (path, oid), size in zip(unsure.items(), sizes.output.split(b"\n"), strict=False):
            small = size.isdigit() and int(size) <= _POINTER_BYTES and os.path.isfile(os.path.join(self.top, path))
            pointer = _POINTER.match(self.run("cat-file", "blob", oid.decode("ascii")).output) if small else None
            if pointer is None or _sha256(os.path.join(self.top, path)) != pointer[1].decode("ascii"):
                yield path


def _entries(output: bytes, oid: int) -> Iterator[tuple[str, StoredFile]]:
    """The files that git lists with -z: mode, further fields, of which one is the id, and the path after a tab."""
    for entry in output.split(b"\0"):
        head, _, path = entry.partition(b"\t")
        if path:
            fields = head.split()
            yield os.fsdecode(path), StoredFile(fields[0], fields[oid])


def open_repository(top: str) -> GitRepository:
    """The repository whose work tree begins at the folder `top`, which holds `.git`.

    Raises UsageError where git is not installed, and with git's own word where it finds no repository there or refuses
    it, as it does where somebody else owns it.
    """
    done = _run("-C", top, "rev-parse", "--absolute-git-dir")
    if done.code:
        raise UsageError(f"git cannot read the repository: {done.reason}")
    return GitRepository(top, os.fsdecode(done.output.rstrip(b"\n")))


def read_head_commit(top: str) -> str:
    """The id of the commit that is checked out in the work tree which begins at `top`, "" before the first one.

    That is one call of git. Raises UsageError, as `open_repository`.
    """
    done = _run("-C", top, "rev-parse", "--absolute-git-dir", "HEAD^{commit}")
    folder, _, rest = done.output.partition(b"\n")
    if not folder:
        raise UsageError(f"git cannot read the repository: {done.reason}")
    return "" if done.code else rest.decode("ascii", "replace").strip()


def run_watched(
    arguments: Sequence[str], variables: Mapping[str, str], seconds: float, most: int, complain: Callable[[], str]
) -> GitOutput:
    """Run git with these variables on top of ours, and end it, with all that it has started, where it goes too far.

    That is after so many seconds, with more than `most` bytes of output, or when `complain`, which is asked again and
    again, says something. Raises AbortedError then, UsageError where git is not installed.
    """
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                ["git", *_SAFE, *arguments],
                env={**_environment(), **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        except OSError:
            raise UsageError(_NO_GIT) from None
        end = time.monotonic() + seconds
        try:
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_TICK)
                why = complain()
                if max(os.fstat(each.fileno()).st_size for each in (output, errors)) > most:
                    why = "git's answer is too long"
                elif process.poll() is None and time.monotonic() > end:
                    why = f"git has not answered for {seconds:g} seconds"
                if why:
                    raise AbortedError(why)
        finally:
            _end(process)
        for each in (output, errors):
            each.seek(0)
        code = process.returncode
        return GitOutput(code, output.read(most), _reason(errors.read(most)) if code else "")


def _end(process: Popen[bytes]) -> None:
    """End a call and what it has started; nothing where it has ended by itself."""
    if process.poll() is None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
        process.wait()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OTHER} | _ENVIRONMENT


def _run(*arguments: str, given: bytes = b"") -> GitOutput:
    import subprocess

    try:
        done = subprocess.run(
            ["git", *_SAFE, *arguments],
            input=given,
            capture_output=True,
            check=False,
            env=_environment(),
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"git has not answered for {_PATIENCE:g} seconds: is the repository damaged?") from None
    except OSError:
        raise UsageError(_NO_GIT) from None
    if not done.returncode:
        return GitOutput(0, done.stdout)
    return GitOutput(done.returncode, done.stdout, _reason(done.stderr))


def _reason(said: bytes) -> str:
    """Why git failed, by what it said: its first complaint, with the next line where it goes on there."""
    lines = said.decode("utf-8", "replace").strip().splitlines()
    told = next((at for at, line in enumerate(lines) if line.startswith(("fatal:", "error:"))), len(lines) - 1)
    if told < 0:
        return "no reason given"
    return " ".join(lines[told : told + 2]) if lines[told].rstrip().endswith(":") else lines[told]


def blob_id(like: bytes, data: bytes) -> bytes:
    """The id that git gives to these bytes as a file, by the algorithm of another id."""
    return _digest(like, [data], len(data))


def _digest(like: bytes, parts: Iterable[bytes], size: int) -> bytes:
    """The id of a blob of so many bytes, in parts, by the algorithm of another id."""
    if len(like) == 64:
        from hashlib import sha256

        found = sha256(b"blob %d\0" % size)
    else:
        found = sha1(b"blob %d\0" % size, usedforsecurity=False)
    for part in parts:
        found.update(part)
    return found.hexdigest().encode("ascii")


def _sha256(path: str) -> str:
    from hashlib import file_digest

    with os.fdopen(open_regular(path, links=False), "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _chunks(path: str) -> Iterator[bytes]:
    with os.fdopen(open_regular(path, links=False), "rb") as file:
        while part := file.read(_CHUNK):
            yield part
