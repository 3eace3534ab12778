"""The tools of the agent. Whatever a model asks for, a call ends in time and gives a text of bounded length."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.bench.http.messages import Tool, ToolCall, ToolResult
from skill_health.core.files import is_there

LARGEST = 8 << 20
MOST_ENTRIES = 500


class RefusedToolCall(Exception):
    """What a tool does not do, in a sentence for the model."""


def place(workspace: str, path: str) -> str:
    """The real place of a path, which lies in the workspace. Raises Refused."""
    root = os.path.realpath(workspace)
    try:
        real = os.path.realpath(os.path.join(root, path))
        real.encode()
    except ValueError:
        raise RefusedToolCall("the path holds characters that no path can have") from None
    except OSError as error:
        raise RefusedToolCall(f"{path[:200]}: {error.strerror or 'cannot be found'}") from None
    if os.path.commonpath((root, real)) != root:
        raise RefusedToolCall(f"{path[:200]} leads out of the workspace")
    return real


def read_bytes(workspace: str, path: str) -> bytes:
    """What a regular file holds, of a large one the first LARGEST bytes. Raises Refused."""
    try:
        # Not blocking: a pipe that nobody writes to would keep us waiting.
        handle = os.open(place(workspace, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise RefusedToolCall(f"{path[:200]} is not a file")
            return stream.read(LARGEST)
    except OSError as error:
        raise RefusedToolCall(f"{path[:200]}: {error.strerror or 'cannot be read'}") from None


def write_bytes(workspace: str, path: str, data: bytes) -> None:
    """Write a whole file, with the folders that it needs. Raises Refused."""
    real = place(workspace, path)
    if len(data) > LARGEST:
        raise RefusedToolCall(f"more than {LARGEST:,} bytes are not written at once")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        if is_there(real, links=False) and not os.path.isfile(real):
            raise RefusedToolCall(f"{path[:200]} is not a file")
        os.makedirs(os.path.dirname(real), exist_ok=True)
        with os.fdopen(os.open(real, flags, 0o644), "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise RefusedToolCall(f"{path[:200]}: {error.strerror or 'cannot be written'}") from None


def entries(workspace: str, path: str) -> str:
    """What is in a folder, one entry a line: folders end with a slash, links say where they lead. Raises Refused."""
    try:
        with os.scandir(place(workspace, path)) as found:
            lines = sorted(_line(entry) for entry in found)
    except OSError as error:
        raise RefusedToolCall(f"{path[:200]}: {error.strerror or 'cannot be listed'}") from None
    more = [f"... and {len(lines) - MOST_ENTRIES:,} more"] if len(lines) > MOST_ENTRIES else []
    return "\n".join([*lines[:MOST_ENTRIES], *more]) or "(empty)"


def _line(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"{entry.name} -> {os.readlink(entry.path)}"
    if entry.is_dir(follow_symlinks=False):
        return f"{entry.name}/"
    return f"{entry.name} ({entry.stat(follow_symlinks=False).st_size:,} bytes)"


MOST_TEXT = 30_000
MOST_LINES = 2_000
MOST_SECONDS = 300.0
_SECONDS = 120.0

_PATH = {"type": "string", "description": "A path relative to the workspace."}


def _tool(name: str, description: str, required: tuple[str, ...], **properties: Mapping[str, Any]) -> Tool:
    return Tool(name, description, {"type": "object", "properties": properties, "required": list(required)})


TOOLS = (
    _tool(
        "list",
        "List what is in a folder of the workspace.",
        (),
        path={**_PATH, "description": "The folder, relative to the workspace; the workspace itself if left out."},
    ),
    _tool(
        "read",
        f"Read a text file of the workspace, at most {MOST_LINES:,} lines at once.",
        ("path",),
        path=_PATH,
        offset={"type": "integer", "description": "The first line to read, counted from 1."},
        limit={"type": "integer", "description": "How many lines to read."},
    ),
    _tool(
        "write",
        "Write a text file of the workspace. What it held before is replaced; folders are made as needed.",
        ("path", "content"),
        path=_PATH,
        content={"type": "string", "description": "All that the file shall hold."},
    ),
    _tool(
        "run",
        "Run a command of the shell in the workspace. It has no input, and all that it started ends with it.",
        ("command",),
        command={"type": "string"},
        timeout_sec={"type": "number", "description": f"Time limit in seconds; {_SECONDS:g} if left out."},
    ),
)


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools, in one workspace. `left` says how many seconds there are for a command at most."""

    workspace: str
    left: Callable[[], float]

    def call(self, call: ToolCall) -> ToolResult:
        """Do what the model asks for. Never raises for what it asks."""
        tools = {"list": self._list, "read": self._read, "write": self._write, "run": self._run}
        try:
            if call.name not in tools:
                raise RefusedToolCall(f"there is no tool {call.name[:60]!r}; the tools are {', '.join(tools)}")
            if call.arguments is None:
                raise RefusedToolCall("the arguments are not a JSON object")
            said, failed = tools[call.name](call.arguments)
        except RefusedToolCall as refused:
            said, failed = str(refused), True
        except OSError as error:
            said, failed = error.strerror or "it cannot be done", True
        return ToolResult(call.call_id, call.name, _bounded(said), failed)

    def _list(self, given: Mapping[str, Any]) -> tuple[str, bool]:
        return entries(self.workspace, _text(given, "path", ".") or "."), False

    def _read(self, given: Mapping[str, Any]) -> tuple[str, bool]:
        path = _text(given, "path")
        data = read_bytes(self.workspace, path)
        if b"\0" in data:
            raise RefusedToolCall(f"{path[:200]} is not a text file ({len(data):,} bytes)")
        lines = data.decode("utf-8", "replace").split("\n")
        first = max(1, int(_number(given, "offset", 1)))
        count = max(1, min(MOST_LINES, int(_number(given, "limit", MOST_LINES))))
        text = "\n".join(lines[first - 1 : first - 1 + count])
        rest = len(lines) - (first - 1 + count)
        # A text that is cut short has fewer lines than were asked for: where to read on, only its reader can tell.
        cut = f"\n... {rest:,} more lines; read on with offset {first + count}" if rest > 0 else ""
        return _bounded(text, MOST_TEXT - len(cut)) + cut, False

    def _write(self, given: Mapping[str, Any]) -> tuple[str, bool]:
        path, content = _text(given, "path"), _text(given, "content").encode("utf-8", "replace")
        write_bytes(self.workspace, path, content)
        return f"wrote {len(content):,} bytes to {path[:200]}", False

    def _run(self, given: Mapping[str, Any]) -> tuple[str, bool]:
        from skill_health.effectiveness.workspace.process import run_process

        command = _text(given, "command")
        if "\0" in command:
            raise RefusedToolCall("the command holds a null character")
        seconds = max(0.1, min(_number(given, "timeout_sec", _SECONDS), MOST_SECONDS, self.left()))
        shell = shutil.which("bash") or "/bin/sh"
        words = [shell, "-c", command.encode("utf-8", "replace").decode()]
        ran = run_process(words, self.workspace, os.environ, seconds)
        how = f"stopped after {seconds:g} s" if ran.exit_code is None else f"exit code {ran.exit_code}"
        half = MOST_TEXT // 2 - 50
        parts = [how, _bounded(ran.stdout, half).rstrip("\n"), _bounded(ran.stderr, half).rstrip("\n")]
        return "\n".join(filter(None, parts)), ran.exit_code != 0


def _text(given: Mapping[str, Any], name: str, missing: str | None = None) -> str:
    value = given.get(name, missing)
    if not isinstance(value, str):
        raise RefusedToolCall(f"{name} is missing" if value is None else f"{name} must be a text")
    return value


def _number(given: Mapping[str, Any], name: str, missing: float) -> float:
    value = given.get(name)
    if value is None:
        return missing
    try:
        number = float(value) if isinstance(value, int | float | str) else missing
    except (ValueError, OverflowError):
        number = float("nan")
    if not -1e9 < number < 1e9:
        raise RefusedToolCall(f"{name} must be a number")
    return number


def _bounded(text: str, most: int = MOST_TEXT) -> str:
    """The text, or its beginning and its end with a word on what is left out between them."""
    if len(text) <= most:
        return text
    keep = most // 2 - 40
    return f"{text[:keep]}\n... ({len(text) - 2 * keep:,} characters left out) ...\n{text[-keep:]}"
