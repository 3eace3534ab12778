"""What a repository configures is not run, whoever unpacked it; and what has changed is what git says."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from thinned import EXHAUSTIVE, SLOW, thinned

from skill_health.core.errors import UsageError
from skill_health.core.git import GitRepository, open_repository
from skill_health.discovery.changes import list_changes, read_revision
from skill_health.discovery.roots import git_top
from tests.conftest import Run


def git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True).stdout


def commit_all(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one", "--allow-empty")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one skill, and nothing else."""
    made = tmp_path / "clone"
    (made / "skills/tidy").mkdir(parents=True)
    (made / "skills/tidy/SKILL.md").write_text(
        "---\nname: tidy\ndescription: Tidies lists. Use it for lists.\n---\n# Tidy\n"
    )
    git(made, "init", "-q")
    commit_all(made)
    return made


def trap(root: Path) -> str:
    """A program that leaves a mark when it is run."""
    place = root.parent / "trap"
    place.write_text(f"#!/bin/sh\ntouch {root.parent}/sprung\ncat\n")
    place.chmod(0o755)
    return str(place)


def configure(root: Path, **settings: str) -> None:
    """Write settings as whoever packed the archive did, without running git."""
    with (root / ".git/config").open("a") as file:
        for key, value in settings.items():
            section, name = key.split("__")
            head, _, sub = section.partition("_")
            of = f' "{sub}"' if sub else ""
            file.write(f"[{head}{of}]\n\t{name} = {value}\n")


def attack_monitor(root: Path) -> None:
    configure(root, core__fsmonitor=trap(root))


def attack_hooks(root: Path) -> None:
    for name in ("post-index-change", "pre-auto-gc", "reference-transaction", "pre-commit", "post-checkout"):
        (root / ".git/hooks").mkdir(exist_ok=True)
        (root / ".git/hooks" / name).write_bytes(Path(trap(root)).read_bytes())
        (root / ".git/hooks" / name).chmod(0o755)


def attack_hooks_path(root: Path) -> None:
    attack_hooks(root)
    (root / ".git/hooks").rename(root / "own-hooks")
    configure(root, core__hooksPath="own-hooks")


def attack_filter(root: Path) -> None:
    (root / ".gitattributes").write_text("* filter=x\n")
    configure(root, filter_x__clean=trap(root), filter_x__smudge=trap(root), filter_x__required="true")


def attack_process_filter(root: Path) -> None:
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text("* filter=x\n")
    configure(root, filter_x__process=trap(root), filter_x__required="true")


def attack_diff(root: Path) -> None:
    (root / ".gitattributes").write_text("* diff=x\n")
    configure(root, diff__external=trap(root), diff_x__textconv=trap(root), diff_x__command=trap(root))


def attack_pager(root: Path) -> None:
    configure(root, core__pager=trap(root), pager__diff=trap(root), pager__status=trap(root), core__editor=trap(root))


def attack_partial_clone(root: Path) -> None:
    """Objects are missing, and the server that has them is asked by a program."""
    oid = git(root, "rev-parse", "HEAD:skills/tidy/SKILL.md").decode().strip()
    (root / ".git/objects" / oid[:2] / oid[2:]).unlink()
    (root / ".git/config").write_text(
        "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tpartialClone = x\n"
        f'[remote "x"]\n\turl = {root.parent}\n\tpromisor = true\n\tuploadpack = {trap(root)}\n'
    )


def attack_partial_clone_ssh(root: Path) -> None:
    attack_partial_clone(root)
    with (root / ".git/config").open("a") as file:
        file.write(f'[remote "x"]\n\turl = ssh://host/path\n[core]\n\tsshCommand = {trap(root)}\n')


def attack_worktree(root: Path) -> None:
    """The work tree is said to be elsewhere."""
    configure(root, core__worktree=str(root.parent))
    attack_filter(root)


def attack_submodule(root: Path) -> None:
    """A repository within the repository, with a monitor of its own."""
    inner = root / "skills/other"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "a").write_text("a\n")
    commit_all(inner)
    git(root, "add", "skills/other")
    commit_all(root)
    configure(inner, core__fsmonitor=trap(root))
    (inner / "a").write_text("b\n")


def attack_alias(root: Path) -> None:
    configure(root, alias__status=f"!{trap(root)}", alias__diff=f"!{trap(root)}", gpg__program=trap(root))


def attack_bare(root: Path) -> None:
    """A clone that brings the files of a bare repository, which git takes for one where it is asked inside."""
    bare = root / "skills"
    git(root, "init", "-q", "--bare", "skills")
    with (bare / "config").open("a") as file:
        file.write(f"[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = {trap(root)}\n")
    (bare / "skill-health.toml").write_text("")


def attack_git_file(root: Path) -> None:
    """A `.git` that is a file and leads to a repository of the attacker's among the files."""
    attack_monitor(root)
    (root / ".git").rename(root / "skills/tidy/store")
    (root / ".git").write_text("gitdir: skills/tidy/store\n")


ATTACKS: dict[str, Callable[[Path], None]] = {
    name.removeprefix("attack_"): function for name, function in sorted(globals().items()) if name.startswith("attack_")
}
COMMANDS = (
    ("lint", "--changed", "HEAD", "."), ("lint", "--changed", "HEAD", "skills"), ("lint", "--new-since", "HEAD", "."),
    ("lint", "--staged"), ("lint", "."), ("daily", "."), ("daily", "skills"),
    ("router", "hook", "skills/tidy/SKILL.md"), ("router", "run", ".", "--models", "lexical:bm25"),
    ("init", "--dry-run", "."), ("report", "."),
)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_is_run(attack: str, root: Path) -> None:
    """By what is asked of git here. The traps are real: git itself falls into some of them."""
    ATTACKS[attack](root)
    os.utime(root / "skills/tidy/SKILL.md", (1, 1))
    read_revision(str(root), git_top(str(root)))
    assert not (root.parent / "sprung").exists()


@pytest.mark.parametrize("attack", ["monitor", "filter", "process_filter"])
def test_the_traps_are_real(attack: str, root: Path) -> None:
    ATTACKS[attack](root)
    os.utime(root / "skills/tidy/SKILL.md", (1, 1))
    subprocess.run(["git", "status"], cwd=root, check=False, capture_output=True)
    assert (root.parent / "sprung").exists()


@pytest.mark.parametrize(("attack", "command"), thinned(product(ATTACKS, COMMANDS), 4, SLOW, EXHAUSTIVE))
def test_no_command_runs_anything(attack: str, command: tuple[str, ...], root: Path, run: Run) -> None:
    ATTACKS[attack](root)
    for text in ("y\n", "---\nname: tidy\ndescription: Sorts lists. Use it for lists.\n---\n# Tidy\n"):
        (root / "skills/tidy/SKILL.md").write_text(text)
        done = run(*command, cwd=root)
        assert done.returncode in (0, 1, 2), done.stderr
        assert not (root.parent / "sprung").exists()


def test_somebody_elses_repository_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(UsageError, match="dubious ownership"):
        open_repository(str(root))
    revision = read_revision(str(root), str(root))
    assert revision.dirty is None and "dubious ownership" in revision.note
    assert f" {root.name}: " in revision.note


def test_a_hook_of_another_repository_is_no_obstacle(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a hook, git says which repository the commit is made in; that is not the one that is asked about."""
    other = root.parent / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert open_repository(str(root)).folder == str(root / ".git")


def test_a_machine_without_git_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root))
    with pytest.raises(UsageError, match="git is needed for this, and is not installed"):
        open_repository(str(root))
    assert read_revision(str(root), str(root)).dirty is None


def test_why_git_failed_is_its_own_word(root: Path) -> None:
    with pytest.raises(UsageError, match="not a git repository"):
        open_repository(str(root.parent))
    repository = open_repository(str(root))
    with pytest.raises(UsageError, match="'gone'"):
        repository.resolve_commit("gone")
    with pytest.raises(UsageError, match="'--help' is not a git revision"):
        repository.resolve_commit("--help")


def changes(root: Path) -> list[str]:
    return sorted(list_changes(open_repository(str(root)), "HEAD"))


def by_git(root: Path) -> list[str]:
    """What git says: the oracle, without mode changes."""
    found = git(root, "diff", "--name-only", "-z", "--no-renames", "--ignore-submodules", "HEAD")
    found += git(root, "ls-files", "-z", "--others", "--exclude-standard")
    return sorted({os.fsdecode(name) for name in found.split(b"\0") if name})


@pytest.mark.parametrize("seed", thinned(range(30), 5, SLOW, EXHAUSTIVE))
def test_what_has_changed_is_what_git_says(seed: int, tmp_path: Path) -> None:
    """Random trees and edits: staged or not, links, odd names, restored times, ignored files, a sparse checkout."""
    rng = random.Random(seed)
    root = tmp_path / "r"
    root.mkdir()
    git(root, "init", "-q", "--object-format", rng.choice(["sha1", "sha256"]))
    names = ["a", "b c", "d/é", "d/e\nf", 'g"h', "i/j/k", "i/j/l", "m*", "-n", "ü/o", "p\tq", ".gitignore"]
    git(root, "config", "core.fileMode", "false")
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"*.tmp\n" if name == ".gitignore" else rng.randbytes(rng.randrange(9)) + b"\n")
    (root / "link").symlink_to("a")
    commit_all(root)
    if seed % 3 == 0:
        git(root, "sparse-checkout", "set", "--no-cone", "/*", "!/i/")
    for _ in range(6):
        name = rng.choice([*names, "new", "d/new.tmp", "d/new", "link"])
        place = root / name
        match rng.randrange(7):
            case 0 if place.is_file() and not place.is_symlink():
                info, data = place.stat(), place.read_bytes()
                place.write_bytes(bytes(each ^ 1 for each in data))
                os.utime(place, ns=(info.st_atime_ns, info.st_mtime_ns))
            case 1 if place.exists() or place.is_symlink():
                place.unlink()
            case 2 if not place.is_dir():
                place.unlink(missing_ok=True)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(rng.choice(["a", "gone", "/etc/hostname"]))
            case 3 if place.exists():
                os.utime(place)
            case 4:
                git(root, "add", "-A")
            case 5 if place.exists() and not place.is_symlink():
                place.chmod(0o755)
            case _ if not place.is_symlink():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(rng.randbytes(4))
        assert changes(root) == by_git(root)


def test_line_ends_of_a_checkout_are_no_change(root: Path) -> None:
    place = root / "skills/tidy/SKILL.md"
    place.write_bytes(place.read_bytes().replace(b"\n", b"\r\n"))
    assert changes(root) == []
    place.write_bytes(b"x" + place.read_bytes())
    assert changes(root) == ["skills/tidy/SKILL.md"]


def test_a_file_that_lfs_keeps_elsewhere_has_not_changed(root: Path) -> None:
    """The commit holds a pointer; the file in the work tree is what it points to, until it is edited."""
    content = b"a large picture"
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(content).hexdigest()}\nsize 15\n"
    (root / "a.png").write_text(pointer)
    commit_all(root)
    (root / "a.png").write_bytes(content)
    assert changes(root) == []
    (root / "a.png").write_bytes(content + b".")
    assert changes(root) == ["a.png"]


@pytest.mark.slow
def test_what_is_wanted_is_all_that_is_said(root: Path) -> None:
    for name in ("b", "c"):
        (root / name).write_text(name)
    repository = open_repository(str(root))
    assert [*list_changes(repository, "HEAD", lambda path: path == "c")] == ["c"]
    assert [*repository.list_tracked_changes("HEAD")] == []
    git(root, "add", "b")
    assert [*repository.list_tracked_changes("HEAD")] == ["b"]
    assert sorted(list_changes(repository, "")) == ["b", "c", "skills/tidy/SKILL.md"]


@pytest.mark.slow
def test_a_revision_says_whether_what_is_not_our_own_has_changed(root: Path) -> None:
    own = str(root / "skills")
    assert read_revision(own, str(root)).dirty is False
    (root / "elsewhere").write_text("a")
    assert read_revision(own, str(root)).dirty is False and read_revision(str(root), str(root)).dirty is True
    (root / "skills/reports").mkdir()
    (root / "skills/reports/a").write_text("a")
    assert read_revision(own, str(root)).dirty is True
    assert read_revision(own, str(root), ("reports",)).dirty is False
    assert read_revision(own, None) == read_revision("/", None)


def test_nothing_is_written(root: Path) -> None:
    """Not even the index is refreshed, which git does while it compares."""
    os.utime(root / "skills/tidy/SKILL.md", (1, 1))
    before = {path: path.stat().st_mtime_ns for path in (root / ".git").rglob("*")}
    assert changes(root) == []
    assert {path: path.stat().st_mtime_ns for path in (root / ".git").rglob("*")} == before


def test_a_repository_is_a_place(root: Path) -> None:
    linked = root.parent / "linked"
    git(root, "worktree", "add", "-q", str(linked))
    assert open_repository(str(linked)) == GitRepository(str(linked), str(root / ".git/worktrees/linked"))
    (linked / "new").write_text("a")
    assert changes(linked) == ["new"] and changes(root) == []


@pytest.mark.slow
def test_a_repository_that_is_a_pipe_keeps_nobody_waiting(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skill_health.core.git._PATIENCE", 0.3)
    (root / ".git/index").unlink()
    os.mkfifo(root / ".git/index")
    revision = read_revision(str(root), str(root))
    assert revision.dirty is None and "git has not answered for 0.3 seconds" in revision.note


def damage(rng: random.Random, place: Path) -> None:
    """One thing that is not as git made it."""
    files = sorted(path for path in (place / ".git").rglob("*") if path.is_file() and not path.is_symlink())
    file = rng.choice(files)
    match rng.randrange(7):
        case 0:
            data = bytearray(file.read_bytes() or b"x")
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            file.chmod(0o644)
            file.write_bytes(data)
        case 1:
            file.chmod(0o644)
            file.write_bytes(file.read_bytes()[: rng.randrange(40)])
        case 2:
            file.unlink()
        case 3:
            file.unlink()
            file.symlink_to(rng.choice(["/etc/passwd", "gone", ".", "/dev/null"]))
        case 4:
            file.unlink()
            file.mkdir()
        case 5:
            file.chmod(0o644)
            file.write_bytes(rng.randbytes(rng.randrange(200)))
        case _:
            (place / ".git").rename(place / "moved")
            (place / ".git").write_text(rng.choice(["gitdir: moved\n", "gitdir: /\n", "gitdir: ../..\n", "", "\0\0"]))


@pytest.mark.parametrize("seed", thinned(range(60), 5, SLOW, EXHAUSTIVE))
def test_a_damaged_repository_is_a_clear_error_or_is_read(
    seed: int, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bits, files, links and folders where git expects others, with traps in its configuration."""
    rng = random.Random(seed)
    attack_filter(root)
    attack_hooks(root)
    attack_monitor(root)
    for _ in range(rng.randrange(1, 4)):
        if (root / ".git").is_dir():
            damage(rng, root)
    monkeypatch.setattr("skill_health.core.git._PATIENCE", 20.0)
    before = set(root.parent.iterdir())
    revision = read_revision(str(root), git_top(str(root)))
    assert revision.dirty in (None, True, False) and revision.note.isprintable()
    try:
        changes(root)
    except UsageError as error:
        assert str(error).isprintable() and len(str(error)) < 500
    assert not (root.parent / "sprung").exists() and set(root.parent.iterdir()) == before
