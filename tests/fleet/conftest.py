"""A fleet of made repositories, and a git that counts its calls."""

from __future__ import annotations

import json
import os
import shutil
import socketserver
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from repositories import commit, git

GIT = shutil.which("git") or "git"
"""The one that does not count."""


@dataclass
class MadeFleet:
    """Repositories below a folder, the file that lists them, and the calls of git since `calls` was emptied."""

    root: Path
    run_in: Callable[..., subprocess.CompletedProcess[str]]
    bin: Path
    listed: list[str] = field(default_factory=list)

    def repository(self, name: str, files: Mapping[str, str], is_git: bool = True) -> Path:
        folder = self.root / name
        for path, text in files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", newline="")
        if is_git:
            git(folder, "init", "--quiet", "--initial-branch=main")
            commit(folder)
        # As if made long ago: what is young is read again.
        age(folder)
        return folder

    def list(self, name: str, **more: str) -> None:
        values = {"name": name, **({} if "path" in more or "address" in more else {"path": name}), **more}
        self.listed.append(
            "[[repository]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
        )

    def waive(self, **values: str) -> None:
        self.listed.append("[[waiver]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))

    def write(self, head: str = "") -> Path:
        file = self.root / "fleet.toml"
        file.write_text(head + "\n".join(self.listed), encoding="utf-8")
        return file

    def run(self, *words: str, day: int = 1, head: str = "", page: bool = False) -> subprocess.CompletedProcess[str]:
        self.write(head)
        (self.bin / "calls").unlink(missing_ok=True)
        more = () if page else ("--no-page",)
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        time = f"2026-11-{day:02}T04:00:00Z"
        return self.run_in(
            self.root, "fleet", "fleet.toml", "--jobs=1", f"--time={time}", *more, *words, env={"PATH": path}
        )

    def calls(self) -> list[str]:
        try:
            return (self.bin / "calls").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []

    @property
    def reports(self) -> Path:
        return self.root / "reports/fleet"

    def record(self) -> Any:
        return json.loads((self.reports / "skill-health-fleet.json").read_bytes())

    def of(self, name: str) -> Any:
        return next(each for each in self.record()["repositories"] if each["name"] == name)

    def history(self) -> list[Any]:
        lines = (self.reports / "skill-health-fleet-history.jsonl").read_text(encoding="utf-8").splitlines()
        return list(map(json.loads, lines))


def age(folder: Path) -> None:
    for place in [folder, *folder.rglob("*")]:
        if not place.is_symlink():
            os.utime(place, ns=(10**18, 10**18))


COUNTING = """#!/bin/sh
echo "$@" >> '{calls}'
exec '{git}' "$@"
"""


@pytest.fixture(scope="session")
def make_fleet(run_in: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[[Path], MadeFleet]:
    """An empty fleet below a folder."""

    def make(folder: Path) -> MadeFleet:
        program = folder / "bin/git"
        for each in (program.parent, folder / "fleet"):
            each.mkdir()
        program.write_text(COUNTING.format(calls=program.parent / "calls", git=GIT), encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return MadeFleet(folder / "fleet", run_in, program.parent)

    return make


@pytest.fixture
def fleet(tmp_path: Path, make_fleet: Callable[[Path], MadeFleet]) -> MadeFleet:
    return make_fleet(tmp_path)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Path], str]]:
    """Serve a folder of bare repositories by git's own protocol on loopback: the beginning of their addresses."""
    servers: list[socketserver.ThreadingTCPServer] = []

    def start(folder: Path) -> str:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                command = [GIT, "daemon", "--inetd", "--export-all", f"--base-path={folder}", str(folder)]
                with self.request.makefile("rwb", 0) as stream:
                    subprocess.run(command, stdin=stream, stdout=stream, stderr=subprocess.DEVNULL, check=False)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = False

        server = Server(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        return f"git://127.0.0.1:{server.server_address[1]}/"

    yield start
    for each in servers:
        each.shutdown()
        each.server_close()
