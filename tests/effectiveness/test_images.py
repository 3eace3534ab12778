"""Images of tasks: what is read of a Dockerfile, what is asked of an engine, and what of a network is passed on."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.effectiveness.agents._api import Command
from skill_health.effectiveness.gateway import proxy
from skill_health.effectiveness.gateway.proxy import open_proxy
from skill_health.effectiveness.sandbox import _container, docker, podman
from skill_health.effectiveness.sandbox._api import OwnImage, SandboxLimits, SandboxSession
from skill_health.effectiveness.sandbox._quota import limit_folder, mounts_below
from skill_health.effectiveness.sandbox._resources import how_enforced, task_limits
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._image import NetworkGrant, TaskResources, read_resources, without_skills
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.workspace import images
from skill_health.effectiveness.workspace.folders import make_places, remove_tree
from skill_health.effectiveness.workspace.images import GATEWAY_ONLY, NetworkChoice, place_tasks
from skill_health.effectiveness.workspace.process import ProcessResult
from skill_health.effectiveness.workspace.scripts import skills_of_image
from skill_health.effectiveness.workspace.workspace import workplace

TASK = {
    "task.toml": 'version = "1.0"\n[metadata]\ntarget_skill = "none"\n[environment]\ncpus = 2\nmemory_mb = 512\nstorage = "2G"\n'
    "build_timeout_sec = 90.0\nallow_internet = false\n",
    "instruction.md": "Write /srv/out.txt.\n",
    "environment/Dockerfile": "FROM debian\nRUN make\nWORKDIR /srv\nCOPY skills /root/.claude/skills\nCOPY in.txt .\n",
    "environment/in.txt": "1\n",
    "environment/skills/x/SKILL.md": "---\nname: x\ndescription: y\n---\n",
    "tests/test.sh": "apt-get install x\necho 1 > /logs/verifier/reward.txt\n",
    "solution/solve.sh": "cp /solution/a /srv/out.txt\n",
}
AT_SKILLS = "works in a skill"


def task_of(folder: Path, **changed: str | None) -> Task:
    names = {name.replace("/", "_").replace(".", "_"): name for name in TASK}
    files = {**TASK, **{names[key]: text for key, text in changed.items()}}
    for name, text in files.items():
        if text is not None:
            path = folder / "t1" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    loaded = load_tasks((str(folder),))
    assert loaded.problems == ()
    return loaded.tasks[0]


# --- Recipes ---------------------------------------------------------------------------------------------------------


def test_a_task_in_a_container_keeps_its_paths_and_loses_its_blockers(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    assert not task.runnable and "--sandbox podman" in task.blockers[-1]
    own = task.in_container()
    assert own.runnable and own.recipe is not None and own.resources is not None and own.verifier is not None
    assert own.prompt == TASK["instruction.md"] and own.files == ()
    assert own.resources == TaskResources(2.0, 512 << 20, 2 << 30, "none")
    assert own.recipe.build_timeout_sec == 90 and "\n# COPY skills" in own.recipe.dockerfile
    assert own.digest != task.digest and own.in_container() is own
    limits = task_limits(SandboxLimits(), own.resources)
    assert (limits.memory_bytes, limits.disk_bytes) == (512 << 20, 2 << 30) and limits.cpus <= 2
    assert task_limits(SandboxLimits(), None) == SandboxLimits()


@pytest.mark.parametrize(("changed", "same"), [
    ({"environment_in_txt": "2\n"}, False),
    ({"environment_Dockerfile": TASK["environment/Dockerfile"] + "RUN x\n"}, False),
    ({"environment_skills_x_SKILL_md": "---\nname: x\ndescription: other\n---\n"}, True),
    ({"tests_test_sh": "echo 0 > /logs/verifier/reward.txt\n"}, True),
])  # fmt: skip
def test_a_recipe_has_the_digest_of_what_goes_into_the_image(
    tmp_path: Path, changed: dict[str, str], same: bool
) -> None:
    one, other = task_of(tmp_path / "a").contained, task_of(tmp_path / "b", **changed).contained
    assert one and other and (one.recipe.digest == other.recipe.digest) == same


def test_an_image_that_is_given_is_a_recipe_too(tmp_path: Path) -> None:
    text = 'version = "1.0"\n[metadata]\ntarget_skill = "none"\n[environment]\ndocker_image = "ours/x:1"\n'
    own = task_of(tmp_path, task_toml=text, environment_Dockerfile=None).in_container()
    assert own.recipe is not None and (own.recipe.dockerfile, own.recipe.context) == ("FROM ours/x:1\n", "")


def test_a_link_in_the_context_is_refused(tmp_path: Path) -> None:
    task_of(tmp_path)
    (tmp_path / "t1/environment/way").symlink_to("/etc")
    (problem,) = load_tasks((str(tmp_path),)).problems
    assert problem.path.endswith("environment/way")


@pytest.mark.parametrize(("line", "left"), [
    ("COPY skills /root/.claude/skills", "# COPY skills /root/.claude/skills"),
    ("copy --chown=a ./skills/ /x", "# copy --chown=a ./skills/ /x"),
    ("ADD skills/one /x/", "# ADD skills/one /x/"),
    ("COPY skill[s] /tmp/", "# COPY skill[s] /tmp/"),
    ('COPY ["skills", "/x"]', '# COPY ["skills", "/x"]'),
    ("COPY a skills b /x/", 'COPY ["a", "b", "/x/"]'),
    ("COPY \\\n  skills \\\n  /x", "# COPY \\\n#   skills \\\n#   /x"),
    ("COPY --from=base skills /x", "COPY --from=base skills /x"),
    ("COPY skillset /x", "COPY skillset /x"),
    ("COPY . /app", "COPY . /app"),
    ("RUN cp skills /x", "RUN cp skills /x"),
    ("# COPY skills /x", "# COPY skills /x"),
])  # fmt: skip
def test_skills_are_taken_out_of_a_dockerfile(line: str, left: str) -> None:
    assert without_skills(f"FROM x\n{line}\nRUN y", "skills") == f"FROM x\n{left}\nRUN y"


@pytest.mark.parametrize(("step", "stays"), [
    ("RUN cd /root/.claude/skills/mail && npm install", False),
    ("run ln -s /auth \\\n  /root/.codex/skills/mail/auth", False),
    ("RUN for a in x y; do touch /root/.$a/skills/mail/t; done", False),
    ("RUN pip install -r /opt/verifier-skills/mail/requirements.txt", False),
    ("RUN mkdir -p /root/.claude/skills && apt-get install -y git", True),
    ("RUN if [ -d /tmp/skills ]; then cp -r /tmp/skills/* /root/.claude/skills/; fi", True),
    ("RUN wget https://host/bench-skills/mail-server.zip", True),
    ("ENV PYTHONPATH=/root/.claude/skills/mail/scripts", True),
    ("# RUN cd /root/.claude/skills/mail", True),
])  # fmt: skip
def test_steps_that_work_in_a_skill_are_left_out(step: str, stays: bool, tmp_path: Path) -> None:
    done = without_skills(f"FROM x\n{step}\nCOPY a /b", "skills", ("mail", "pdf"))
    commented = "\n".join(f"# {line}" for line in step.split("\n"))
    assert done == f"FROM x\n{step if stays else commented}\nCOPY a /b"
    own = task_of(tmp_path, environment_Dockerfile=f"FROM x\nWORKDIR /srv\n{step}\n").in_container()
    assert own.recipe and not any(AT_SKILLS in line for line in own.unsupported)
    named = tmp_path / "t1/environment/skills/mail/SKILL.md"
    named.parent.mkdir()
    named.write_text("---\nname: mail\ndescription: y\n---\n")
    (told,) = load_tasks((str(tmp_path),)).tasks
    assert any(AT_SKILLS in line for line in told.in_container().unsupported) != stays


def test_scripts_see_the_skills_that_the_image_is_made_without(tmp_path: Path) -> None:
    file = "FROM debian\nWORKDIR /srv\nCOPY skills /root/.claude/skills\nCOPY skills/x /srv/tools/x\n"
    task = task_of(tmp_path, environment_Dockerfile=file).in_container()
    places = make_places("", "job-")
    at = replace(workplace(replace(task, recipe=None), places, podman), own=OwnImage("x", "/srv"))
    skills = os.path.realpath(tmp_path / "t1/environment/skills")
    both = ((skills, "/root/.claude/skills"), (f"{skills}/x", "/srv/tools/x"))
    assert skills_of_image(task, at) == both
    assert skills_of_image(task, replace(at, own=None)) == ()
    # An agent cannot keep its verifier from starting by what it puts there.
    Path(places.workspace, "tools").symlink_to("/etc")
    assert skills_of_image(task, at) == both[:1]
    os.unlink(f"{places.workspace}/tools")
    Path(places.workspace, "tools").write_text("x")
    assert skills_of_image(task, at) == both[:1]
    remove_tree(places.base)


@given(st.text(st.sampled_from("COPY ADD skills\\\n#[]\"'/ab."), max_size=80))
def test_any_text_of_a_dockerfile_is_read(text: str) -> None:
    done = without_skills(text, "skills")
    assert without_skills(done, "skills") == done and done.count("\n") <= text.count("\n")


@pytest.mark.parametrize(("settings", "resources"), [
    ({}, TaskResources()),
    ({"memory": "1.5 GiB", "storage": "10G"}, TaskResources(memory_bytes=3 << 29, storage_bytes=10 << 30)),
    ({"memory": "much"}, TaskResources()),
    ({"network_mode": "allowlist", "allowed_hosts": ["a.org"]}, TaskResources(network="allowlist", hosts=("a.org",))),
    ({"network_mode": "no-network", "allow_internet": True}, TaskResources(network="none")),
])  # fmt: skip
def test_resources(settings: dict[str, object], resources: TaskResources) -> None:
    assert read_resources(settings) == resources


def test_a_task_without_an_image_is_blocked_in_a_container(tmp_path: Path) -> None:
    task = replace(task_of(tmp_path), contained=None, blockers=())
    (placed,) = place_tasks([task], "docker", "", GATEWAY_ONLY, build=False).tasks
    assert "describes no image" in placed.blockers[0]
    assert place_tasks([task], "docker", "image:1", GATEWAY_ONLY, build=False).tasks[0].runnable
    assert place_tasks([task], "bubblewrap", "", GATEWAY_ONLY).tasks == (task,)


# --- Engines ---------------------------------------------------------------------------------------------------------


def a_box(tmp_path: Path, own: OwnImage, **more: object) -> SandboxSession:
    box = SandboxSession(*(str(tmp_path / name) for name in ("w", "h", "t")), own=own, mounts=(("/x/v", "/tests"),))
    return replace(box, **more)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_container_of_a_tasks_own_image(tmp_path: Path) -> None:
    box = a_box(tmp_path, OwnImage("skill-health-task:1", "/srv"), proxy=("/x/proxy", 8182))
    for module in (podman, docker):
        words = list(module.wrap(box, Command(("python3", "-I"))).argv)
        mounts = [words[at + 1] for at, word in enumerate(words) if word == "--mount"]
        for source, target in ((f"{tmp_path}/w", "/srv"), ("/x/v", "/tests"), ("/x/proxy", "/x/proxy")):
            assert f"type=bind,source={source},target={target}" in mounts
        assert "--read-only" not in words and words[words.index("--cap-drop") + 1] == "ALL"
        added = {word.partition("=")[2] for word in words if word.startswith("--cap-add")}
        assert added and not added & {"SYS_ADMIN", "SYS_PTRACE", "NET_ADMIN", "NET_RAW", "MKNOD", "DAC_READ_SEARCH"}
        assert words[words.index("--network") + 1] == "none" and "skill-health-task:1" in words
        assert any(word.startswith(f"skill-health.owner={os.getpid()}-") for word in words)
    words = list(podman.wrap(replace(box, root="/x/root"), Command(("python3",))).argv)
    assert words[words.index("--rootfs") + 1] == "/x/root" and "skill-health-task:1" not in words


@pytest.mark.slow
def test_what_an_engine_makes_for_others_is_removed_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As without root's rights: folders for mounts in the root of a container are those of its users, and not ours."""
    asked: list[tuple[str, ...]] = []
    remove = shutil.rmtree

    def refused(path: str, ignore_errors: bool = False, **more: Any) -> None:
        if not os.path.isdir(os.path.join(path, "var")):
            remove(path, ignore_errors, **more)
        elif not ignore_errors:
            raise PermissionError(1, "Operation not permitted", os.path.join(path, "var"))

    def engine(words: Sequence[str], *more: Any) -> ProcessResult:
        asked.append(tuple(words))
        if "--rootfs" in words:
            os.mkdir(os.path.join(words[words.index("--rootfs") + 1], "var"))
            (place,) = (word for word in words if word.endswith("target=/workspace"))
            Path(place.split(",")[1].removeprefix("source="), "ran").touch()
        elif "unshare" in words:
            remove(words[-1])
        return ProcessResult(0, "4.3.1", "")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(shutil, "rmtree", refused)
    monkeypatch.setattr(_container, "run_process", engine)
    monkeypatch.setattr(_container, "_runtime", lambda client: ())
    assert _container.ran.__wrapped__(podman.CLIENT, "") == ""
    assert [words[1:5] for words in asked if "unshare" in words] == [("unshare", "rm", "-rf", "--")]
    assert list(tmp_path.iterdir()) == []


def test_the_record_says_what_holds() -> None:
    limits = SandboxLimits()
    assert how_enforced(podman, limits)["disk"].startswith("not enforced by a quota")
    assert how_enforced(podman, limits, quota=True)["disk"].startswith("by a file system of its own")
    assert "not enforced for what is written elsewhere" in how_enforced(podman, limits, quota=True, layer=False)["disk"]
    assert how_enforced(podman, limits)["network"] == "no network but the gateway"
    assert how_enforced(podman, limits, grant=NetworkGrant(("a.org",)))["network"].endswith("through a proxy, a.org")
    assert how_enforced(podman, limits, grant=NetworkGrant(None))["network"].endswith("any public host")


def test_no_file_system_where_none_can_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    from skill_health.effectiveness.sandbox import _quota

    _quota._may_mount.cache_clear()
    try:
        assert not limit_folder(str(tmp_path), 1 << 30, 100)
        assert mounts_below(str(tmp_path)) == [] and list(tmp_path.parent.glob("*.disk")) == []
    finally:
        _quota._may_mount.cache_clear()


PLAIN = "FROM debian\nRUN make\n"
UNKNOWN = "curl: (6) Could not resolve host: b.org\nwget: unable to resolve host address 'a.org'\n"


@pytest.mark.parametrize(("text", "said"), [
    ("make: nothing to do\nmake: *** no rule\n\n  \n", "make: *** no rule"),
    ("Error: one\nwords after\n", "Error: one"),
    ("no such image x\nError: one\n", "Error: one"),
    ("error: one\nwords\nE: two\nwords\n", "error: one: E: two"),
    ("Error: one\nERROR: two\nerror: three\n", "ERROR: two: error: three"),
    ("Errors: 3\nE:4\nlast\n", "last"),
    ("  Error: \t much   room \nlast\n", "Error: much room"),
    ("\x1b[31mError:\x1b[0m in \x1b[1;4mred\x1b[0m\nlast\n", "Error: in red"),
    ("x" * 400 + "\n", "x" * 400),
    ("x" * 401 + "\n", "x" * 400),
    ("E: " + "x" * 397 + "\n", "E: " + "x" * 397),
    ("E: " + "x" * 398 + "\n", "E: " + "x" * 397),
    ("E: " + "x" * 300 + "\nE: " + "y" * 300 + "\n", "E: " + "x" * 300 + ": E: " + "y" * 92),
])  # fmt: skip
def test_the_reason_of_an_engine_is_its_last_errors_else_its_last_line(text: str, said: str) -> None:
    assert images._reason(text, PLAIN) == said


def test_an_engine_that_is_silent_has_a_reason_too() -> None:
    assert images._reason("", PLAIN) == images._reason(" \n\n", PLAIN) != ""


@pytest.mark.parametrize(("text", "hosts"), [
    (UNKNOWN + UNKNOWN + "Error: make failed\n", "a.org, b.org"),
    ("Failed to resolve 'pypi.example.org'\nlast\n", "pypi.example.org"),
    ("getaddrinfo ENOTFOUND npm.example.org\nlast\n", "npm.example.org"),
    ("could not resolve the question of a.org\nlast\n", ""),
    ("could not resolve host: localhost\nlast\n", ""),
])  # fmt: skip
def test_hosts_without_an_address_are_named_once(text: str, hosts: str) -> None:
    found = images._reason(text, PLAIN)
    last = text.splitlines()[-1]
    assert found.endswith(last) and (f" {hosts}: {last}" in found if hosts else found == last)


@pytest.mark.parametrize("said", [
    'Error: short-name "x" did not resolve to an alias', "Error: initializing source docker://x:1: no route",
    "ERROR: pull access denied for x", "ERROR: failed to resolve source metadata for x: not found",
    "Error: pinging container registry x: no route", "Error: reading manifest 1 in x: manifest unknown",
    "Error: no such image x", "Error: x: image not known",
])  # fmt: skip
@pytest.mark.parametrize(("dockerfile", "bases"), [
    (PLAIN, "debian"), ("from  --platform=linux/arm64 a:1 AS b\n  FROM c\n# FROM d\nRUN x FROM e\n", "a:1, c"),
    ("FROM --platform=x\n", ""),
])  # fmt: skip
def test_bases_that_cannot_be_pulled_are_named(said: str, dockerfile: str, bases: str) -> None:
    found = images._reason(f"{said}\nwords\n", dockerfile)
    assert f"({bases})" in found and found.endswith(said)


# --- The network -----------------------------------------------------------------------------------------------------


PUBLIC, LISTED, NONE = (
    TaskResources(), TaskResources(network="allowlist", hosts=("*.A.org",)), TaskResources(network="none"),
)  # fmt: skip


@pytest.mark.parametrize(("choice", "resources", "grant"), [
    (GATEWAY_ONLY, PUBLIC, None),
    (NetworkChoice("scripts"), PUBLIC, NetworkGrant(None)),
    (NetworkChoice("all"), PUBLIC, NetworkGrant(None, agent=True)),
    (NetworkChoice("scripts", ("b.org",)), PUBLIC, NetworkGrant(("b.org",))),
    (NetworkChoice("all"), LISTED, NetworkGrant(("a.org",), agent=True)),
    (NetworkChoice("all", ("b.org",)), LISTED, NetworkGrant(("a.org", "b.org"), agent=True)),
    (NetworkChoice("all"), NONE, None),
    (NetworkChoice("all"), None, None),
    (NetworkChoice("all", ("b.org",)), None, NetworkGrant(("b.org",), agent=True)),
])  # fmt: skip
def test_what_is_granted(tmp_path: Path, choice: NetworkChoice, resources: Any, grant: NetworkGrant | None) -> None:
    assert choice.grant(replace(task_of(tmp_path), resources=resources)) == grant


@pytest.mark.parametrize(("host", "permitted"), [
    ("a.org", True), ("x.a.org", True), ("A.ORG.", True), ("ba.org", False), ("a.org.evil", False), ("", False),
])  # fmt: skip
def test_hosts(host: str, permitted: bool) -> None:
    assert NetworkGrant(("a.org",)).permits(host) == permitted
    assert NetworkGrant(None).permits(host) == bool(host)


@pytest.mark.parametrize(("address", "own"), [
    ("127.0.0.1", True), ("10.1.2.3", True), ("169.254.169.254", True), ("192.168.1.1", True), ("172.31.0.1", True),
    ("0.0.0.0", True), ("::1", True), ("::ffff:127.0.0.1", True), ("fe80::1%eth0", True), ("fd00::1", True),
    ("224.0.0.1", True), ("255.255.255.255", True), ("93.184.216.34", False), ("2606:2800:220:1::1", False),
])  # fmt: skip
def test_addresses_of_this_network(address: str, own: bool) -> None:
    assert proxy._is_own(address) == own


def through_proxy(tmp_path: Path, grant: NetworkGrant, request: bytes) -> tuple[bytes, bytes, tuple[str, ...]]:
    """What the proxy answers, what a server behind it got, and what is noted."""

    async def go() -> tuple[bytes, bytes, tuple[str, ...]]:
        got = b""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal got
            got = await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        real = asyncio.open_connection

        async def there(host: str, port: int) -> object:
            assert (host, port) == ("93.184.216.34", 80)
            return await real(*server.sockets[0].getsockname()[:2])

        async def names(*_: object, **__: object) -> list[tuple[object, ...]]:
            return [(0, 0, 0, "", ("93.184.216.34", 80))]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(proxy.asyncio, "open_connection", there)
            patch.setattr(asyncio.get_running_loop(), "getaddrinfo", names)
            async with open_proxy(grant, str(tmp_path / "s")) as trace:
                reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
                writer.write(request)
                said = await reader.read()
                writer.close()
        server.close()
        return said, got, trace.notes()

    return asyncio.run(go())


def test_a_request_is_passed_on_once_and_to_the_host_that_it_names(tmp_path: Path) -> None:
    request = b"GET http://a.org/x?y HTTP/1.1\r\nHost: b.org\r\nProxy-Authorization: z\r\nAccept: */*\r\n\r\n"
    said, got, notes = through_proxy(tmp_path, NetworkGrant(("a.org",)), request)
    assert said.endswith(b"hi")
    assert got == b"GET /x?y HTTP/1.1\r\nHost: a.org\r\nConnection: close\r\nAccept: */*\r\n\r\n"
    assert notes == ("through the proxy: a.org",)


@pytest.mark.parametrize(("request_", "status", "noted"), [
    (b"GET http://b.org/ HTTP/1.1\r\n\r\n", b"403", "b.org (not permitted)"),
    (b"CONNECT a.org:22 HTTP/1.1\r\n\r\n", b"403", "a.org (port 22)"),
    (b"GET ftp://a.org/ HTTP/1.1\r\n\r\n", b"403", ""),
    (b"nonsense\r\n\r\n", b"502", ""),
    (b"CONNECT \xff HTTP/1.1\r\n\r\n", b"502", ""),
    (b"x" * 70_000, b"502", ""),
])  # fmt: skip
def test_all_else_is_refused(tmp_path: Path, request_: bytes, status: bytes, noted: str) -> None:
    said, got, notes = through_proxy(tmp_path, NetworkGrant(("a.org",)), request_)
    assert said.split(b" ")[1] == status and got == b""
    assert notes == ((f"refused by the proxy: {noted}",) if noted else ())


def test_a_name_that_leads_into_this_network_is_refused(tmp_path: Path) -> None:
    async def go() -> tuple[bytes, tuple[str, ...]]:
        async with open_proxy(NetworkGrant(None), str(tmp_path / "s")) as trace:
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
            writer.write(b"CONNECT localhost:443 HTTP/1.1\r\n\r\n")
            said = await reader.read()
            writer.close()
        return said, trace.notes()

    said, notes = asyncio.run(go())
    (note,) = notes
    assert b" 403 " in said and note.endswith(": localhost (an address of this network)")
