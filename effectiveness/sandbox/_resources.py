"""Memory, tasks and processors of one program with all that it starts, limited by the kernel's control groups.

Version 2 is taken where a group can be made beside ours, as in a session of systemd or as root, else version 1, else
nothing: then limits hold for each process alone, and the record of a trial says so. A group is removed with its
program; one that a killed process of ours has left is removed by the next.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache

from skill_health.effectiveness.sandbox._api import BackEnd, SandboxLimits
from skill_health.effectiveness.sandbox._quota import SLACK
from skill_health.effectiveness.tasks._image import NetworkGrant, TaskResources

MEMORY, TASKS, CPU = "memory", "pids", "cpu"
_PREFIX = "skill-health-"
_PERIOD = 100_000
# So long is waited for the last of a group to be gone.
_PATIENCE, _STEP = 2.0, 0.01
# A group is entered by whoever becomes the program, so that nothing of it is ever outside.
_ENTER = 'for group in $1; do echo $$ > "$group/cgroup.procs" || exit 125; done; shift; exec "$@"'


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """The group of one program: a folder for each hierarchy, and what it limits."""

    version: int
    folders: tuple[str, ...]
    covers: frozenset[str]

    def entered(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The command that enters the group and becomes the program."""
        return ("/bin/sh", "-c", _ENTER, "sh", " ".join(self.folders), *argv)

    def memory_kills(self) -> int:
        """How many processes the kernel has ended since they took too much memory."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                for line in _read(os.path.join(folder, name)).splitlines():
                    if line.startswith("oom_kill ") and line.split()[1].isdigit():
                        return int(line.split()[1])
        return 0

    def remove(self) -> None:
        """Remove the group once its processes are gone; what stays is left to the next run."""
        until = time.monotonic() + _PATIENCE
        for folder in self.folders:
            while True:
                with suppress(OSError):
                    os.rmdir(folder)
                if not os.path.isdir(folder) or time.monotonic() > until:
                    break
                time.sleep(_STEP)


def open_group(
    limits: SandboxLimits, nonce: str, tasks: int, parents: Mapping[str, str] | None = None
) -> ResourceGroup | None:
    """A new group with these limits, None where none can be made; `tasks` are threads, too.

    `parents` are folders in which groups can be made, by controller; "" is the one of version 2.
    """
    found = _parents() if parents is None else parents
    name = f"{_PREFIX}{os.getpid()}-{nonce}"
    folders: list[str] = []
    covers: set[str] = set()
    for controller, parent in found.items():
        folder = os.path.join(parent, name)
        try:
            if folder not in folders:
                os.mkdir(folder)
                folders.append(folder)
        except OSError:
            continue
        for each in (MEMORY, TASKS, CPU) if not controller else (controller,):
            if _limit(folder, each, limits, tasks, 1 if controller else 2):
                covers.add(each)
    if covers:
        return ResourceGroup(1 if MEMORY in found else 2, tuple(folders), frozenset(covers))
    for folder in folders:
        with suppress(OSError):
            os.rmdir(folder)
    return None


def _limit(folder: str, controller: str, limits: SandboxLimits, tasks: int, version: int) -> bool:
    """Set one limit; whether it holds. A limit of 0 is none."""
    if controller == TASKS:
        return bool(tasks) and _write(folder, "pids.max", str(tasks))
    if controller == CPU:
        quota = round(limits.cpus * _PERIOD)
        if version == 2:
            return quota > 0 and _write(folder, "cpu.max", f"{quota} {_PERIOD}")
        return (
            quota > 0
            and _write(folder, "cpu.cfs_period_us", str(_PERIOD))
            and _write(folder, "cpu.cfs_quota_us", str(quota))
        )
    most = str(limits.memory_bytes)
    if not limits.memory_bytes:
        return False
    if version == 2:
        # Where there is no swap, there is no such file.
        _write(folder, "memory.swap.max", "0")
        return _write(folder, "memory.max", most)
    held = _write(folder, "memory.limit_in_bytes", most)
    _write(folder, "memory.memsw.limit_in_bytes", most)
    return held


@cache
def _parents() -> dict[str, str]:
    """The folders in which groups can be made here; groups of dead processes of ours in them are removed."""
    own = dict(_own_paths(_read("/proc/self/cgroup")))
    mounts = dict(_mounts(_read("/proc/self/mountinfo")))
    found: dict[str, str] = {}
    if "" in mounts and (place := _delegated(mounts[""], own.get("", "/"))):
        found = {"": place}
    else:
        for name in (MEMORY, TASKS, CPU):
            place = os.path.join(mounts.get(name, ""), own.get(name, "/").lstrip("/")).rstrip("/")
            if name in mounts and os.access(place, os.W_OK):
                found[name] = place
    for place in found.values():
        _sweep(place)
    return found


def _delegated(mount: str, path: str) -> str:
    """The nearest folder above ours whose groups have memory and tasks limited, and in which we may make some."""
    while True:
        place = os.path.join(mount, path.strip("/")).rstrip("/")
        given = _read(os.path.join(place, "cgroup.subtree_control")).split()
        if {MEMORY, TASKS} <= set(given) and os.access(place, os.W_OK) and os.access(f"{place}/cgroup.procs", os.W_OK):
            return place
        if not path.strip("/"):
            return ""
        path = os.path.dirname(path.rstrip("/"))


def _own_paths(text: str) -> Iterator[tuple[str, str]]:
    """Our own group in each hierarchy, by controller."""
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        yield from ((name, path) for name in names.split(","))


def _mounts(text: str) -> Iterator[tuple[str, str]]:
    """Where the hierarchies are mounted, by controller."""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(), after.split()
        if len(fields) > 4 and kinds[:1] == ["cgroup2"]:
            yield "", fields[4]
        elif len(fields) > 4 and kinds[:1] == ["cgroup"]:
            yield from ((name, fields[4]) for name in kinds[-1].split(",") if name in (MEMORY, TASKS, CPU))


def _sweep(place: str) -> None:
    with suppress(OSError):
        for name in os.listdir(place):
            owner = name.removeprefix(_PREFIX).partition("-")[0]
            if name.startswith(_PREFIX) and owner.isdigit() and not os.path.isdir(f"/proc/{owner}"):
                with suppress(OSError):
                    os.rmdir(os.path.join(place, name))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def _write(folder: str, name: str, value: str) -> bool:
    try:
        with open(os.path.join(folder, name), "w", encoding="ascii") as stream:
            stream.write(value)
    except OSError:
        return False
    return True


MOST = SandboxLimits(memory_bytes=64 << 30, disk_bytes=64 << 30)
"""What no task gets more of, whatever it asks for; of processors there are as many as the machine has."""


def task_limits(limits: SandboxLimits, asked: TaskResources | None) -> SandboxLimits:
    """The limits of a program of a task that asks for some resources itself; None for one that does not."""
    if asked is None:
        return limits
    return replace(
        limits,
        cpus=min(asked.cpus or limits.cpus, float(os.cpu_count() or 1)),
        memory_bytes=min(asked.memory_bytes or limits.memory_bytes, MOST.memory_bytes),
        disk_bytes=min(asked.storage_bytes or limits.disk_bytes, MOST.disk_bytes),
    )


_GROUP = "by a control group (version {}) for all processes together"
_ALONE = "by rlimit for each process alone: not enforced for all together"
_NOT = "not enforced"


def how_enforced(
    back_end: BackEnd, limits: SandboxLimits, quota: bool = False, layer: bool = True, grant: NetworkGrant | None = None
) -> dict[str, str]:
    """How each limit of an agent is held here, in words for the record of a trial; what is not begins with a "not".

    With a `quota` its folders are on a file system of a fixed size, and with `layer` so is all that it changes in its
    container; `grant` is what of a network it has beside the gateway.
    """
    if enforced := getattr(back_end, "enforced", None):
        held: dict[str, str] = enforced(limits)
        return held if grant is None else {**held, "network": f"{held['network']}; and {_network(grant)}"}
    if getattr(back_end, "NEEDS_IMAGE", False):
        group, covers = "by the container engine", {MEMORY, TASKS, CPU}
    else:
        group, covers = _GROUP.format(2 if "" in _parents() else 1), set(_covered(limits))
    apart = "processes" in back_end.ISOLATES
    counted = "counted inside, five times a second"
    return {
        "memory": _NOT if not limits.memory_bytes else group if MEMORY in covers else _ALONE,
        "cpu": _NOT if not limits.cpus else group if CPU in covers else _NOT,
        "processes": f"{group}, and {counted}" if TASKS in covers else f"by rlimit, and {counted}" if apart else counted,
        "file_size": "by rlimit" if limits.disk_bytes else _NOT,
        "disk": _disk(limits, quota, layer, apart),
        "network": _network(grant) if "network" in back_end.ISOLATES else _NOT,
        "stdout": "a socket that only the agent's own program can print to",
        "clock": "cannot be set" if apart else "as the user's own rights are",
    }  # fmt: skip


def _disk(limits: SandboxLimits, quota: bool, layer: bool, apart: bool) -> str:
    if not limits.disk_bytes:
        return _NOT
    looked = "looked at several times a second"
    if not quota:
        return f"not enforced by a quota: {looked}{', and no room is given without writing' if apart else ''}"
    room = f"by a file system of its own, with {SLACK >> 20} MiB more than the limit, and {looked}"
    return room if layer else f"{room}; not enforced for what is written elsewhere in the container"


def _network(grant: NetworkGrant | None) -> str:
    if grant is None:
        return "no network but the gateway"
    hosts = "any public host" if grant.hosts is None else ", ".join(grant.hosts)
    return f"no network but the gateway and, through a proxy, {hosts}"


def _covered(limits: SandboxLimits) -> frozenset[str]:
    """What a group can limit here, by making one."""
    return _tried(limits.memory_bytes, limits.cpus)


@cache
def _tried(memory: int, cpus: float) -> frozenset[str]:
    group = open_group(SandboxLimits(memory_bytes=memory, cpus=cpus), "try", 100)
    if group is None:
        return frozenset()
    group.remove()
    return group.covers
