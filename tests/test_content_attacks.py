"""What a repository's content can do to the commands that read it: a finding or one clear line, and nothing more.

Each attack is planted beside a sound skill. Whatever is run then comes to its end, names the attacked skill, judges the
sound one as ever, shows nothing of a file outside, and leaves what is outside as it was.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fixture_types import Run
from thinned import EXHAUSTIVE, SLOW, thinned

from skill_health import formats
from skill_health.discovery.listing import list_folder

SECRET = "swordfish-4711-of-somebody-else"
GOOD = "---\nname: good\ndescription: Sorts lists by size. Use when a list must be sorted.\n---\n\n# Good\n\nSort the list.\n"
HEAD = "---\nname: bad\ndescription: Sorts lists by size. Use when a list must be sorted.\n---\n\n# Bad\n\n"
CLAIM = '{"claim_id": "claim-x", "text": "' + SECRET + '"}\n'


class Attack(NamedTuple):
    """What is planted below a root, and what is said of it: the code, place and words of findings, or of one line.

    `line` is what the one line of a run that is refused says: no finding is made then.
    """

    plant: Callable[[Path], object]
    code: str = ""
    path: str = "skills/bad/SKILL.md"
    said: str = ""
    line: str = ""


def text(path: str, content: str) -> Callable[[Path], object]:
    def plant(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)

    return plant


def link(path: str, target: str) -> Callable[[Path], object]:
    def plant(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).unlink(missing_ok=True)
        (root / path).symlink_to(target)

    return plant


def pipe(path: str) -> Callable[[Path], object]:
    def plant(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(root / path)

    return plant


def drop(path: str) -> Callable[[Path], object]:
    return lambda root: (root / path).unlink()


def more(path: str, content: str) -> Callable[[Path], object]:
    def plant(root: Path) -> None:
        with (root / path).open("a") as file:
            file.write(content)

    return plant


def bound(path: str) -> Callable[[Path], object]:
    def plant(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        here = os.getcwd()
        os.chdir((root / path).parent)
        try:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(Path(path).name)
        finally:
            os.chdir(here)

    return plant


def both(*plants: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda root: [plant(root) for plant in plants]


def sparse(path: str, size: int) -> Callable[[Path], object]:
    def plant(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with open(root / path, "wb") as file:
            file.truncate(size)

    return plant


def settings(content: str) -> Callable[[Path], object]:
    return text("skill-health.toml", content)


def skill(content: str) -> Callable[[Path], object]:
    return text("skills/bad/SKILL.md", content)


BAD = skill(HEAD + "Sort.\n")
OUT, UNREAD, DEEP = "repository", "read", "nested"
PIPED, LINKED = "regular file", "symbolic"
ATTACKS = {
    "SKILL.md is a link to a file outside": Attack(link("skills/bad/SKILL.md", "../../../outside/secret.md"), "FM006", said=OUT),
    "SKILL.md is a link to nothing outside": Attack(link("skills/bad/SKILL.md", "../../../outside/gone.md"), "FM006", said=OUT),
    "SKILL.md is a link to /etc/passwd": Attack(link("skills/bad/SKILL.md", "/etc/passwd"), "FM006", said=OUT),
    "SKILL.md is the environment": Attack(link("skills/bad/SKILL.md", "/proc/self/environ"), "FM006", said=OUT),
    "SKILL.md is a device without end": Attack(link("skills/bad/SKILL.md", "/dev/zero"), "FM006", said=OUT),
    "SKILL.md is a chain of links outwards": Attack(
        both(link("skills/bad/SKILL.md", "a"), link("skills/bad/a", "b"), link("skills/bad/b", "../../../outside/secret.md")),
        "FM006", said=OUT,
    ),
    "SKILL.md is a pipe": Attack(pipe("skills/bad/SKILL.md"), "FM006", said=UNREAD),
    "SKILL.md is a socket": Attack(bound("skills/bad/SKILL.md"), "FM006", said=UNREAD),
    "SKILL.md is a link to a pipe": Attack(
        both(pipe("p"), link("skills/bad/SKILL.md", "../../p")), "FM006", said=UNREAD
    ),
    "SKILL.md of twenty gigabytes": Attack(sparse("skills/bad/SKILL.md", 20 << 30), "FM009", said="more than 1,048,576 bytes"),
    "lists in lists": Attack(skill("---\nname: bad\na:\n" + "- " * 40_000 + "\n---\n# Bad\n"), "FM002", said=DEEP),
    "brackets in brackets": Attack(skill("---\na: " + "[" * 40_000 + "\n---\n# Bad\n"), "FM002", said=DEEP),
    "mappings in mappings": Attack(skill("---\na: " + "{a: " * 20_000 + "\n---\n# Bad\n"), "FM002", said=DEEP),
    "keys that are keys": Attack(skill("---\n" + "? " * 20_000 + "\n---\n# Bad\n"), "FM002", said=DEEP),
    "blocks in blocks": Attack(
        skill("---\n" + "".join(f"{' ' * n}a:\n" for n in range(430)) + "---\n# Bad\n"), "FM002", said=DEEP
    ),
    "links in links": Attack(skill(HEAD + "![[]()" * 3_000 + "\n"), "FM009", said="nested more than 100 deep"),
    "quotes in quotes": Attack(skill(HEAD + "> " * 400_000 + "\n")),
    "items in items": Attack(skill(HEAD + "- " * 400_000 + "\n")),
    "a bundled link to a file outside": Attack(
        both(skill(HEAD + "Read [it](references/it.md).\n"), link("skills/bad/references/it.md", "../../../../outside/secret.md")),
        "LI017", said="references/it.md",
    ),
    "a bundled folder outside": Attack(
        both(skill(HEAD + "Read [it](references/secret.md).\n"), link("skills/bad/references", "../../../outside")),
        "LI017", said="references is",
    ),
    "a link in the text to a file outside": Attack(
        skill(HEAD + "Read [it](../../../outside/secret.md).\n"), "LI001", said=OUT
    ),
    "a link in the text to nothing outside": Attack(
        skill(HEAD + "Read [it](../../../outside/gone.md).\n"), "LI001", said=OUT
    ),
    "a link in the text to an impossible name": Attack(skill(HEAD + "Read [it](a%00b.md) [or](%FF.md).\n"), "LI001"),
    "a bundled file that is a pipe": Attack(
        both(skill(HEAD + "Read [it](references/it.md).\n"), pipe("skills/bad/references/it.md"))
    ),
    "a bundled file without end": Attack(both(BAD, link("skills/bad/references/it.md", "/dev/zero")), "LI017"),
    "a registry outside": Attack(
        both(BAD, settings('[sources]\nclaims = ["claims.jsonl"]\n'), link("claims.jsonl", "../outside/claims.jsonl")),
        "FX001", "claims.jsonl", OUT,
    ),
    "a registry that is named outside": Attack(
        both(BAD, settings('[sources]\nclaims = ["../outside/claims.jsonl"]\n')), line='"sources.claims"'
    ),
    "a registry in a folder outside": Attack(
        both(BAD, settings('[sources]\nclaims = ["data/*.jsonl"]\n'), link("data", "../outside")), "FX001", "data/*.jsonl", OUT
    ),
    "a registry that is a pipe": Attack(
        both(BAD, settings('[sources]\nclaims = ["claims.jsonl"]\n'), pipe("claims.jsonl")), "FX001", "claims.jsonl",
        PIPED,
    ),
    "deep JSON in a registry": Attack(
        both(BAD, settings('[sources]\nclaims = ["claims.jsonl"]\n'), text("claims.jsonl", '{"a": ' + "[" * 100_000 + "\n")),
        "FX001", "claims.jsonl", "nested deeper",
    ),
    "a baseline that is a pipe": Attack(both(BAD, pipe("skill-health-baseline.json")), line=PIPED),
    "a baseline outside": Attack(
        both(BAD, link("skill-health-baseline.json", "../outside/claims.jsonl")), line=LINKED
    ),
    "a baseline without end": Attack(both(BAD, link("skill-health-baseline.json", "/dev/zero")), line=LINKED),
    "a deep baseline": Attack(both(BAD, text("skill-health-baseline.json", "[" * 100_000)), line="is not a baseline"),
    "settings outside": Attack(
        both(BAD, link("skill-health.toml", "../outside/secret.md")), line="skill-health.toml is"
    ),
    "settings of twenty gigabytes": Attack(both(BAD, sparse("skill-health.toml", 20 << 30)), line="1 MiB"),
    "settings of many parts": Attack(
        both(BAD, settings("[" + "a." * 100_000 + "a]\n" + "".join(f"k{n} = 1\n" for n in range(50_000)))),
        line="a name of more than 64 parts",
    ),
    "deep settings": Attack(both(BAD, settings("a = " + "[" * 100_000)), line=DEEP),
    "a profile outside": Attack(
        both(BAD, settings('profile = "p.toml"\n'), link("p.toml", "../outside/secret.md")), line=OUT
    ),
    "a profile that is a pipe": Attack(both(BAD, settings('profile = "p.toml"\n'), pipe("p.toml")), line="regular file"),
    "an impossible name in the settings": Attack(
        both(BAD, settings('[daily]\nreports = "a\\u0000b"\n')), line="control character"
    ),
    "an ignore file that is a pipe": Attack(both(BAD, pipe(".gitignore"))),
    "an ignore file without end": Attack(both(BAD, link(".gitignore", "/dev/zero"))),
    "an ignore file of ours that is a pipe": Attack(both(BAD, pipe("skills/bad/.gitignore"))),
    "git's own ignore file that is a pipe": Attack(both(BAD, drop(".git/info/exclude"), pipe(".git/info/exclude"))),
    "an ignore file of the settings that is a pipe": Attack(
        both(BAD, pipe("p"), more(".git/config", "[core]\n\texcludesFile = p\n"))
    ),
    "a plugin's manifest that is a pipe": Attack(both(BAD, pipe(".claude-plugin/plugin.json"))),
    "a plugin's manifest outside": Attack(both(BAD, link(".claude-plugin/plugin.json", "../../outside/plugin.json"))),
    "a deep plugin's manifest": Attack(both(BAD, text(".claude-plugin/plugin.json", '{"name": ' + "[" * 100_000))),
    "a linked folder of skills": Attack(both(BAD, link("skills/more", "../../outside"))),
    "a link around and around": Attack(both(BAD, link("skills/bad/loop", "."), link("skills/around", ".."))),
    "a git folder that is a pipe": Attack(both(BAD, pipe("vendor/.git"))),
    "a name that moves the cursor": Attack(both(BAD, text("skills/bad/\x1b[2J\n\x07.md", "x\n"))),
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository with a sound skill, and a folder beside it that is none of its business."""
    subprocess.run(["git", "init", "-q", tmp_path / "repository"], check=True)
    for name, content in {
        "repository/skills/good/SKILL.md": GOOD,
        "outside/secret.md": f"---\nname: {SECRET}\ndescription: {SECRET}\n---\n# {SECRET}\n",
        "outside/SKILL.md": f"---\nname: {SECRET}\ndescription: {SECRET}\n---\n# {SECRET}\n",
        "outside/claims.jsonl": CLAIM,
        "outside/plugin.json": json.dumps({"name": SECRET}),
        "repository/asked.jsonl": ASKED,
    }.items():
        text(name, content)(tmp_path)
    return tmp_path / "repository"


def states(folder: Path) -> Iterator[tuple[str, Any]]:
    """What a folder holds, to the inode and the times."""
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        yield str(path), (state.st_ino, state.st_mode, state.st_mtime_ns, state.st_nlink, path.read_bytes())


# The other commands that read whole repositories. What `serve` shows is what `report` writes.
WHOLE = (
    ("fixtures",), ("status", "--format", "json"), ("router", "run", "--models", "lexical:bm25", "--prompts", "asked.jsonl"),
    ("router", "prompts", "--prompts", "asked.jsonl"), ("router", "hook"), ("effectiveness", "check", "--static"),
    ("report",), ("report", "--format", "md"), ("badge", "--output", "reports/badge.svg"),
)  # fmt: skip
ASKED = '{"prompt_id": "p1", "prompt": "Sort this list", "expected_primary_skill": "good", "family": "f"}\n'


class Attacked:
    """A repository with an attack in it, the commands that are run there, and what they say."""

    def __init__(self, attack: Attack, place: Path, run: Run) -> None:
        attack.plant(place)
        self.place, self.run = place, run
        self.outside = dict(states(place.parent / "outside"))
        self.said: list[str] = []

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command, which comes to one of its ends."""
        done = self.run(*words, cwd=self.place, env={"SKILL_HEALTH_SECRET": SECRET})
        self.said.extend((done.stdout, done.stderr))
        assert done.returncode in (0, 1, 2), done.stderr
        assert "internal error" not in done.stderr
        return done

    def hold(self) -> None:
        """Nothing outside was shown or touched, and nothing written or said moves a cursor."""
        written = (path for path in (self.place / "reports").rglob("*") if path.is_file() and not path.is_symlink())
        said = "".join([*self.said, *(path.read_text("utf-8", "replace") for path in written)])
        assert SECRET not in said
        assert "\x1b" not in said
        assert dict(states(self.place.parent / "outside")) == self.outside


@pytest.mark.parametrize("name", thinned(ATTACKS, 2))
def test_an_attack_is_a_finding_or_one_line(name: str, place: Path, run: Run) -> None:
    attack = ATTACKS[name]
    attacked = Attacked(attack, place, run)
    cold, warm, slow = (attacked.call("lint", "--format", "json", *more) for more in ((), (), ("--no-cache",)))
    assert cold.stdout == warm.stdout == slow.stdout
    assert cold.returncode == warm.returncode == slow.returncode
    if attack.line:
        assert cold.returncode == 2
        (line,) = cold.stderr.splitlines()
        assert attack.line in line
    else:
        findings = json.loads(cold.stdout)["findings"]
        assert not attack.code or [
            f for f in findings if (f["code"], f["path"]) == (attack.code, attack.path) and attack.said in f["message"]
        ]
        judged = [f for f in findings if f["skill"] == "skills/good/SKILL.md" and f["severity"] != "info"]
        assert judged == []
        assert {entry["path"] for entry in json.loads(cold.stdout)["skills"]} == {
            "skills/good/SKILL.md",
            "skills/bad/SKILL.md",
        }
    attacked.hold()


@pytest.mark.parametrize("name", thinned(ATTACKS, 4, SLOW, EXHAUSTIVE))
def test_every_command_comes_to_its_end(name: str, place: Path, run: Run) -> None:
    attacked = Attacked(ATTACKS[name], place, run)
    for form in formats.names():
        attacked.call("lint", "--format", form, "--score")
    attacked.call("lint", "--fix", "--unsafe-fixes")
    attacked.call("daily", "--format", "json", "--time", "2026-11-20T04:00:00Z")
    attacked.call("lint", "--profile", "plan-v2.3.0", "--score")
    for words in WHOLE:
        attacked.call(*words)
    attacked.hold()


@pytest.mark.slow
@pytest.mark.parametrize("words", WHOLE, ids=" ".join)
def test_the_other_commands_do_work_where_nothing_is_planted(words: tuple[str, ...], place: Path, run: Run) -> None:
    text("evals/tasks/t/metadata.json", "{}")(place)
    done = run(*words, cwd=place)
    # The task is none.
    assert done.returncode == (2 if words[0] == "effectiveness" else 0), done.stderr


def test_a_folder_of_skills_that_is_a_link_may_be_named(tmp_path: Path, run: Run) -> None:
    text("elsewhere/skills/good/SKILL.md", GOOD)(tmp_path)
    link("home/skills", "../elsewhere/skills")(tmp_path)
    done = run("lint", "skills", "--format", "json", cwd=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert [entry["path"].split("/")[-2:] for entry in json.loads(done.stdout)["skills"]] == [["good", "SKILL.md"]]


def test_a_folder_that_cannot_be_read_is_an_error(place: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text("skills/internal/SKILL.md", GOOD.replace("name: good", "name: internal"))(place)

    def refuse(directory: str, *rest: Any) -> Any:
        if directory.endswith("internal"):
            raise PermissionError(13, "Permission denied")
        return list_folder(directory, *rest)

    assert run("lint", cwd=place).returncode == 0
    with monkeypatch.context() as patched:
        patched.setattr("skill_health.discovery.corpus.list_folder", refuse)
        for form in formats.names():
            done = run("lint", "--format", form, cwd=place)
            assert done.returncode == 1
            assert "this folder cannot be searched: permission denied" in done.stdout
    done = run("lint", cwd=place)
    assert (done.returncode, "permission denied" in done.stdout) == (0, False)


@pytest.mark.parametrize("name", ["lint", "daily", "status"])
def test_a_search_that_comes_to_no_end_is_no_clean_one(
    name: str, place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skill_health.discovery.corpus.MAX_ENTRIES", 2)
    done = run(name, cwd=place)
    assert done.returncode == 3
    assert done.stderr.startswith("skill-health: error: stopped at ") and "nothing was judged" in done.stderr
