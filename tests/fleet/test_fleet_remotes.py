"""Repositories at addresses, served on loopback by git itself: honest, moving, unreachable and hostile ones."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skill_health.core.errors import AbortedError, SkillHealthError, UsageError
from skill_health.fleet.remotes import CopyLimits, check_address, copy_commit, read_remote_commit

Serve = Callable[[Path], str]
SKILL = """---
name: {name}
description: Sorts {name} by size and prints them in order. Use when {name} are out of order, not for tables of numbers.
---
# {name}

Sort the {name}, then check that none was lost on the way.
"""


def git(root: Path, *words: str, given: str = "") -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True, input=given)
    return done.stdout.strip()


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A work tree whose commits `push` brings to the bare repository beside it, served/fruit.git."""
    work, bare = tmp_path / "work", tmp_path / "served/fruit.git"
    place = work / "skills/plums/SKILL.md"
    place.parent.mkdir(parents=True)
    place.write_text(SKILL.format(name="plums"), encoding="utf-8")
    bare.parent.mkdir()
    git(work, "init", "--quiet", "--initial-branch=main")
    git(bare.parent, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    push(work)
    return work


def push(work: Path, branch: str = "main") -> str:
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--allow-empty", "--message", "x")
    git(work, "push", "--quiet", "--force", str(work.parent / "served/fruit.git"), f"HEAD:refs/heads/{branch}")
    return git(work, "rev-parse", "HEAD")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["git", "file"])
def test_a_repository_at_an_address(fleet: Any, origin: Path, serve: Serve, scheme: str) -> None:
    base = serve(origin.parent / "served") if scheme == "git" else (origin.parent / "served").as_uri() + "/"
    fleet.list("fruit", address=f"{base}fruit.git", owner="@fruit")
    done = fleet.run()
    assert done.returncode == 0, done.stdout
    assert fleet.of("fruit")["findings"]["commit"] == git(origin, "rev-parse", "HEAD")
    done = fleet.run(day=2)
    assert done.returncode == 0 and "linting" not in done.stderr
    assert fleet.of("fruit")["status"] == "unchanged"
    assert len(fleet.calls()) == 1 and "ls-remote" in fleet.calls()[0]
    with (origin / "skills/plums/SKILL.md").open("a", encoding="utf-8") as file:
        file.write("\nSee [the guide](gone.md).\n")
    commit = push(origin)
    assert fleet.run(day=3).stderr.startswith("linting fruit")
    found = fleet.of("fruit")["findings"]
    assert found["commit"] == commit and found["dirty"] is False
    assert [each["code"] for each in found["change"]["new"]] == ["LI001"]


@pytest.mark.slow
def test_a_branch_and_one_that_is_not_there(fleet: Any, origin: Path) -> None:
    address = (origin.parent / "served/fruit.git").as_uri()
    (origin / "skills/pears").mkdir()
    (origin / "skills/pears/SKILL.md").write_text(SKILL.format(name="pears"), encoding="utf-8")
    push(origin, "next/one")
    fleet.list("next", address=address, branch="next/one")
    fleet.list("main", address=address)
    fleet.list("none", address=address, branch="none")
    assert fleet.run().returncode == 3
    assert [fleet.of(name)["findings"]["skills"] for name in ("main", "next")] == [1, 2]
    assert "there is no branch none" in fleet.of("none")["error"]


@pytest.mark.slow
def test_history_that_was_rewritten_is_followed(tmp_path: Path, origin: Path) -> None:
    address, folder = (origin.parent / "served/fruit.git").as_uri(), tmp_path / "copy"
    folder.mkdir()
    copy_commit(address, "", str(folder))
    git(origin, "commit", "--quiet", "--amend", "--message", "y")
    (origin / "skills/plums/SKILL.md").unlink()
    commit = push(origin)
    assert copy_commit(address, "", str(folder)) == commit
    assert not (folder / "tree/skills/plums/SKILL.md").exists()
    assert git(folder / "tree", "rev-list", "--count", "HEAD") == "1"


@pytest.mark.slow
def test_a_copy_that_a_killed_run_left_is_made_anew(tmp_path: Path, origin: Path) -> None:
    address, folder = (origin.parent / "served/fruit.git").as_uri(), tmp_path / "copy"
    (folder / "tree/.git").mkdir(parents=True)
    (folder / "tree/.git/index.lock").write_text("", encoding="utf-8")
    (folder / "busy").write_text("", encoding="utf-8")
    copy_commit(address, "", str(folder))
    assert (folder / "tree/skills/plums/SKILL.md").is_file() and sorted(os.listdir(folder)) == ["tree"]


@pytest.mark.slow
def test_nothing_of_the_repository_is_run(tmp_path: Path, origin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "ran"
    hook = tmp_path / "template/hooks/post-checkout"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n", encoding="utf-8")
    hook.chmod(0o755)
    # A filter that the user has, such as that of git-lfs, would run over a stranger's files.
    settings = tmp_path / "gitconfig"
    settings.write_text(
        f'[init]\n templateDir = {tmp_path}/template\n[filter "lfs"]\n smudge = touch {marker}\n required = true\n'
        f"[core]\n hooksPath = {tmp_path}/template/hooks\n[submodule]\n recurse = true\n",
        encoding="utf-8",
    )
    (origin / ".gitattributes").write_text("* filter=lfs\n", encoding="utf-8")
    (origin / ".lfsconfig").write_text("[lfs]\n url = http://127.0.0.1:1/\n", encoding="utf-8")
    (origin / ".gitmodules").write_text(
        f'[submodule "x"]\n path = x\n url = {origin.parent}/served/fruit.git\n', encoding="utf-8"
    )
    git(origin, "update-index", "--add", "--cacheinfo", f"160000,{git(origin, 'rev-parse', 'HEAD')},x")
    push(origin)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    folder = tmp_path / "copy"
    folder.mkdir()
    copy_commit((origin.parent / "served/fruit.git").as_uri(), "", str(folder))
    assert (folder / "tree/skills/plums/SKILL.md").is_file() and not marker.exists()
    assert not list((folder / "tree").glob("x/*"))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no links here")
def test_links_out_of_the_copy_are_not_followed(fleet: Any, origin: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("---\nname: stolen\ndescription: the secret of the user\n---\n", encoding="utf-8")
    (origin / "skills/lure").mkdir()
    (origin / "skills/lure/SKILL.md").symlink_to(secret)
    (origin / "CODEOWNERS").symlink_to(secret)
    push(origin)
    fleet.list("fruit", address=(origin.parent / "served/fruit.git").as_uri())
    fleet.run("--fail-on=never")
    kept = b"".join(place.read_bytes() for place in fleet.reports.rglob("*") if place.is_file())
    assert b"the secret of the user" not in kept and b"stolen" not in kept


def bomb(bare: Path) -> None:
    """A commit of a few hundred bytes whose tree holds ten million files."""
    blob = git(bare, "hash-object", "-w", "--stdin", given="x")
    tree = git(bare, "mktree", given="".join(f"100644 blob {blob}\tf{at}\n" for at in range(10)))
    for _ in range(6):
        tree = git(bare, "mktree", given="".join(f"040000 tree {tree}\td{at}\n" for at in range(10)))
    commit = git(bare, "commit-tree", tree, "-m", "x")
    git(bare, "update-ref", "refs/heads/main", commit)


@pytest.mark.slow
def test_a_tree_that_unfolds_without_end_is_not_checked_out(tmp_path: Path, origin: Path) -> None:
    bare = origin.parent / "served/fruit.git"
    bomb(bare)
    folder = tmp_path / "copy"
    folder.mkdir()
    limits = CopyLimits(files=20_000)
    with pytest.raises(AbortedError, match=r"more than 20,000 files|too long"):
        copy_commit(bare.as_uri(), "", str(folder), limits)
    assert sum(1 for _ in (folder / "tree").rglob("*")) < 1000


@pytest.mark.slow
def test_a_pack_that_is_too_large_is_not_fetched_to_its_end(tmp_path: Path, origin: Path) -> None:
    (origin / "big.bin").write_bytes(os.urandom(3 << 20))
    push(origin)
    folder = tmp_path / "copy"
    folder.mkdir()
    address = (origin.parent / "served/fruit.git").as_uri()
    with pytest.raises(AbortedError, match="MiB"):
        copy_commit(address, "", str(folder), CopyLimits(content=1 << 20))
    # The next try finds a marker, and begins anew.
    assert copy_commit(address, "", str(folder)) == git(origin, "rev-parse", "HEAD")


@pytest.mark.parametrize("answer", [b"", b"0005", b"ffff" + b"x" * 70_000, b"<html>no</html>"])
def test_a_server_that_speaks_no_git_is_an_error_of_its_repository(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def once() -> None:
            with server.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(answer)

        thread = threading.Thread(target=once)
        thread.start()
        with pytest.raises(SkillHealthError, match=r"127\.0\.0\.1"):
            read_remote_commit(f"git://127.0.0.1:{server.getsockname()[1]}/x", "")
        thread.join()


@pytest.mark.slow
def test_a_server_that_says_nothing_is_given_up() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(AbortedError, match=r"has not answered for 0\.5 seconds"),
    ):
        read_remote_commit(f"git://127.0.0.1:{server.getsockname()[1]}/x", "", CopyLimits(seconds=0.5))


@pytest.mark.parametrize(
    "address",
    [
        "--upload-pack=touch /tmp/x", "-oProxyCommand=x", "ext::sh -c touch% /tmp/x", "ext::x", "fd::17", "ext://x/y",
        "file::/etc", "/etc", "../up", "repository", "https://", "https:///path", "file://host/path", "file:///",
        "ftp://host/x", "javascript://x/y", "ssh://-oProxyCommand=x/y", "git@-oProxyCommand=x:y", "host:-x",
        "https://host/a b", "https://host/a\nb", "https://host/\x1b[2J", "https://[/x", "C:\\repo", "transport::address:x",
        "https://user:hunter2@host/x", "https://hunter2@host/x", "ssh://user:hunter2@host/x", "https://u:hunter2@host/a b",
        "user:hunter2@host:x", "https://host/x?token=hunter2", "x?hunter2", "",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError) as told:
        check_address(address)
    assert "hunter2" not in str(told.value)


@pytest.mark.parametrize(
    "address",
    [
        "https://example.com/a/b", "https://example.com:8443/a/b.git", "ssh://git@example.com/a/b", "git@example.com:a/b.git",
        "example.com:a/b", "git://example.com/a", "http://127.0.0.1:80/a", "file:///srv/a.git",
    ],
)  # fmt: skip
def test_addresses(address: str) -> None:
    check_address(address)


@pytest.mark.slow
def test_no_other_protocol_is_spoken(tmp_path: Path, origin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that puts a file or a program in the place of an address is not followed."""
    for instead in ((origin.parent / "served/").as_uri() + "/", "ext::touch "):
        monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{instead}.insteadOf")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://example.invalid/")
        monkeypatch.setenv("GIT_CONFIG_KEY_1", "protocol.allow")
        monkeypatch.setenv("GIT_CONFIG_VALUE_1", "always")
        with pytest.raises(UsageError, match="not allowed"):
            read_remote_commit("https://example.invalid/fruit.git", "")


@pytest.mark.slow
def test_without_git_each_address_is_an_error(fleet: Any, origin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError

    fleet.list("fruit", address=(origin.parent / "served/fruit.git").as_uri())
    monkeypatch.setattr(subprocess, "Popen", missing)
    assert fleet.run().returncode == 3
    assert fleet.of("fruit")["error"].startswith("git ")


@pytest.mark.slow
def test_what_git_says_of_a_server_is_told(fleet: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    fleet.list("fruit", address=f"git://127.0.0.1:{port}/x")
    assert fleet.run().returncode == 3
    assert "refused" in fleet.of("fruit")["error"].lower()


@pytest.mark.slow
def test_a_folder_of_copies_that_others_may_write_to_is_not_used(
    fleet: Any, origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "shared"
    (cache / "fleet").mkdir(parents=True)
    (cache / "fleet").chmod(0o777)
    monkeypatch.setenv("SKILL_HEALTH_CACHE_DIR", str(cache))
    fleet.list("fruit", address=(origin.parent / "served/fruit.git").as_uri())
    assert fleet.run().returncode == 3
    assert "SKILL_HEALTH_CACHE_DIR" in fleet.of("fruit")["error"]
    shutil.rmtree(cache / "fleet")
    assert fleet.run(day=2).returncode == 0
