"""An environment of Harbor's kind on this machine: namespaces that stay, entered by each command.

It takes the lines WORKDIR, COPY and ENV of a Dockerfile seriously, and the programs of this machine for its base.
`FAULTS` in the environment names what goes wrong: "start", "stop" or "exec" (each third command is lost).
"""

import asyncio
import json
import os
import shlex
import shutil
import signal
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities

_ROOT = (
    "--unshare-all", "--uid", "0", "--gid", "0", "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev",
    "--tmpfs", "/tmp", "--tmpfs", "/run", "--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin",
)  # fmt: skip
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/passwd", "/etc/ssl/certs")


class LocalEnvironment(BaseEnvironment):
    NETWORK = True
    count = 0

    @staticmethod
    def type():
        return "local"

    @property
    def capabilities(self):
        return EnvironmentCapabilities(disable_internet=self.NETWORK)

    @classmethod
    def resource_capabilities(cls):
        return EnvironmentResourceCapabilities(memory_limit=True, fractional_cpus=True)

    def _validate_definition(self):
        assert shutil.which("bwrap")

    def _faults(self):
        return os.environ.get("FAULTS", "")

    def _log(self, line):
        if place := os.environ.get("LOCAL_LOG"):
            with open(place, "a") as stream:
                stream.write(f"{line} {self.session_id}\n")

    async def start(self, force_build):
        self._log("start")
        self._processes = []
        if "start" in self._faults():
            raise RuntimeError("no machine is free\nand more")
        links = [
            word for name in ("bin", "sbin", "lib", "lib64") if os.path.islink(f"/{name}")
            for word in ("--symlink", os.readlink(f"/{name}"), f"/{name}")
        ]  # fmt: skip
        shown = [word for path in _SETTINGS if os.path.exists(path) for word in ("--ro-bind", path, path)]
        reading, writing = os.pipe()
        self._holder = await asyncio.create_subprocess_exec(
            "bwrap", *_ROOT, *links, *shown, "--info-fd", str(writing), "sh", "-c", "echo ready; exec sleep infinity",
            pass_fds=(writing,), stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        os.close(writing)
        said = await asyncio.to_thread(Path(f"/proc/self/fd/{reading}").read_bytes)
        os.close(reading)
        await self._holder.stdout.readline()
        self._inside = json.loads(said)["child-pid"]
        self._log(f"pid {self._inside}")
        self._workdir, self._env = "/", {"IMAGE": "yes"}
        dockerfile = Path(self.environment_dir) / "Dockerfile"
        for line in dockerfile.read_text().splitlines() if dockerfile.exists() else ():
            name, _, rest = line.partition(" ")
            if name == "WORKDIR":
                self._workdir = rest
                await self.exec(f"mkdir -p {shlex.quote(rest)}", cwd="/")
            elif name == "ENV":
                self._env.update([rest.split("=", 1)])
            elif name == "COPY":
                await self._copy(*json.loads(rest) if rest.startswith("[") else rest.split())

    async def _copy(self, *words):
        *sources, target = words
        there = os.path.join(self._workdir, target)
        for source in sources:
            here = os.path.join(self.environment_dir, source)
            for above, _, names in os.walk(here) if os.path.isdir(here) else [(None, [], [source])]:
                for name in names:
                    inner = os.path.relpath(os.path.join(above, name), here) if above else os.path.basename(name)
                    full = os.path.normpath(os.path.join(there, inner))
                    await self.exec(f"mkdir -p {shlex.quote(os.path.dirname(full))}", cwd="/")
                    await self.upload_file(os.path.join(above, name) if above else here, full)

    def _enter(self, *words):
        return (
            "nsenter", "--preserve-credentials", "-U", "-m", "-n", "-p", "-i", "-u", "-r", "-w", "-t", str(self._inside),
            *words,
        )  # fmt: skip

    async def _run(self, words, data=b""):
        process = await asyncio.create_subprocess_exec(
            *self._enter(*words), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, env={**self._env, "PATH": "/usr/local/bin:/usr/bin:/bin"},
        )  # fmt: skip
        # Kept also where this is cancelled: dropped, it would be killed, and what runs inside be left without a
        # parent to wait for it; the namespaces could not end before somebody else does.
        self._processes.append(process)
        out, err = await process.communicate(data)
        return process.returncode, out, err

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        LocalEnvironment.count += 1
        lost = "exec" in self._faults() and " call " in command and LocalEnvironment.count % 3 == 0
        if lost and LocalEnvironment.count % 2:
            raise ConnectionError("the connection was reset")
        inner = f"cd {shlex.quote(cwd or self._workdir)} && {command}"
        code, out, err = await asyncio.wait_for(self._run(("/bin/sh", "-c", inner)), timeout_sec)
        if lost:
            raise ConnectionError("the answer was lost")
        return ExecResult(return_code=code, stdout=out.decode(), stderr=err.decode())

    async def upload_file(self, source_path, target_path):
        with open(source_path, "rb") as stream:
            code, _, err = await self._run(("/bin/sh", "-c", 'cat > "$1"', "sh", target_path), stream.read())
        if code:
            raise OSError(err.decode())

    async def download_file(self, source_path, target_path):
        code, out, err = await self._run(("cat", source_path))
        if code:
            raise OSError(err.decode())
        Path(target_path).write_bytes(out)

    async def upload_dir(self, source_dir, target_dir):
        raise NotImplementedError

    async def download_dir(self, source_dir, target_dir):
        raise NotImplementedError

    async def stop(self, delete):
        self._log(f"stop delete={delete}")
        if hasattr(self, "_holder") and self._holder.returncode is None:
            # The first process of the namespaces: all others end with it.
            os.kill(self._inside, signal.SIGKILL)
            await asyncio.gather(self._holder.wait(), *(process.wait() for process in self._processes))
        if "stop" in self._faults():
            raise RuntimeError("it cannot be deleted")


class OnlineEnvironment(LocalEnvironment):
    """One that cannot do without a network."""

    NETWORK = False


class LockedEnvironment(LocalEnvironment):
    """One whose key is missing."""

    @classmethod
    def preflight(cls):
        raise SystemExit("LOCAL_API_KEY is not set: get one, and set it")
