"""What could not be looked at is not taken for absent: a look that fails loses nothing and turns no verdict."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import page_made
import pytest

from skill_health.bench.journal import MANIFEST, create
from skill_health.cli import main
from skill_health.core.errors import SkillHealthError
from skill_health.core.files import check, write_text
from skill_health.core.history import append_history
from skill_health.drafts.registry import drop_prompt, put_prompt
from skill_health.effectiveness.trial.rewards import NoReward, read_reward
from skill_health.lint.fixing.fixes import FixPlan, write_plan
from skill_health.router.records import Prompt

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
SKILL = "---\nname: {name}\ndescription: Sorts names. Use when a list of names is out of order.\n---\n# Tidy\n{body}\n"
LINK = "See [the guide](guide.md).\n"
LINE = '{"id": "a", "query": "Sort these names", "skill": "tidy", "should_trigger": true}\n'

Case = tuple[str, Callable[[], object], Callable[[], bool]]
"""The path that cannot be looked at, what is done meanwhile, and whether that was wrong."""


def changed(path: str, to: str = "") -> Callable[[], bool]:
    """Whether a file is not as it is now; with `to`, not even at its beginning."""
    before = Path(path).read_bytes()
    return lambda: not Path(path).read_bytes().startswith(before) if to else Path(path).read_bytes() != before


def lint(*words: str) -> int:
    return main(["lint", "--no-cache", "--fail-on", "warning", *words])


def history() -> Case:
    append_history("h.jsonl", {"a": 1})
    return "h.jsonl", lambda: append_history("h.jsonl", {"b": 2}), changed("h.jsonl", "and more")


def manifest() -> Case:
    with create("run", {"version": 1}, ("id",)):
        pass
    path = os.path.join("run", MANIFEST)
    return path, lambda: create("run", {"version": 2}, ("id",)).close(), changed(path)


def registry() -> Case:
    Path("prompts.jsonl").write_text(LINE)
    new = Prompt(prompt_id="b", text="Sort the others", expected=("tidy",))
    return (
        os.path.abspath("prompts.jsonl"),
        lambda: put_prompt(os.path.abspath("prompts.jsonl"), new),
        changed("prompts.jsonl", "more"),
    )


def dropped() -> Case:
    Path("prompts.jsonl").write_text(LINE)
    done: list[bool] = []

    def drop() -> None:
        drop_prompt(os.path.abspath("prompts.jsonl"), "a")
        done.append(True)

    return os.path.abspath("prompts.jsonl"), drop, lambda: bool(done) and bool(Path("prompts.jsonl").read_bytes())


def settings() -> Case:
    Path("skill-health.toml").write_text('select = ["FM"]\n')
    return os.path.abspath("skill-health.toml"), lambda: main(["init", "."]), changed("skill-health.toml")


def target_of_a_rename() -> Case:
    Path("skill.md").write_text("mine")
    Path("SKILL.MD").write_text("theirs")
    plan = FixPlan(renames=[("skill.md", "SKILL.MD")])
    return os.path.abspath("SKILL.MD"), lambda: write_plan(os.getcwd(), plan), changed("SKILL.MD")


def somebody_elses_file() -> Case:
    Path("out.svg").write_text("mine")

    def write() -> None:
        check("out.svg", b"<svg")
        write_text("out.svg", "<svg/>")

    return "out.svg", write, changed("out.svg")


def split() -> Case:
    Path("prompts.jsonl").write_text(LINE)
    Path("split.jsonl").write_text("mine")
    words = ["router", "prompts", "--prompts", "prompts.jsonl", "--write-split", "split.jsonl"]
    return "split.jsonl", lambda: main(words), changed("split.jsonl")


def with_baseline() -> str:
    Path("skills/tidy/SKILL.md").write_text(SKILL.format(name="tidy", body=LINK))
    Path("skills/neat").mkdir()
    Path("skills/neat/SKILL.md").write_text(SKILL.format(name="neat", body=LINK))
    assert lint("--write-baseline", "first") == 0
    return os.path.abspath("skill-health-baseline.json")


def baseline() -> Case:
    path = with_baseline()
    Path("skills/tidy/SKILL.md").write_text(SKILL.format(name="tidy", body=LINK + LINK.replace("guide", "other")))
    return path, lambda: lint("--write-baseline", "second"), lambda: "second" in Path(path).read_text()


def baseline_of_the_rest() -> Case:
    path = with_baseline()
    return os.path.abspath("skills/neat/SKILL.md"), lambda: lint("skills/tidy", "--write-baseline", "x"), changed(path)


def verdict(path: str, *words: str) -> Case:
    right, codes = lint(*words), []
    return path, lambda: codes.append(lint(*words)), lambda: bool({*codes} - {right, 2, 3})


def known_findings() -> Case:
    return verdict(with_baseline())


def configuration() -> Case:
    Path("skills/tidy/SKILL.md").write_text(SKILL.format(name="tidy", body=LINK))
    Path("skill-health.toml").write_text('select = ["FM"]\n')
    return verdict(os.path.abspath("skill-health.toml"))


def named_folder() -> Case:
    Path("skills/tidy/SKILL.md").write_text(SKILL.format(name="tidy", body=LINK))
    return verdict(os.path.abspath("skills"), "skills")


def reward() -> Case:
    Path("reward.json").write_text("{damaged")
    Path("reward.txt").write_text("1")
    read: list[object] = []
    return (
        os.path.abspath("reward.json"),
        lambda: read.append(read_reward(os.getcwd())),
        lambda: not isinstance(read[-1], NoReward),
    )


def linked_file() -> Case:
    Path("skills/tidy/SKILL.md").write_text(SKILL.format(name="tidy", body=LINK))
    Path("skills/tidy/guide.md").write_text("# Guide\n")
    return verdict(os.path.abspath("skills/tidy/guide.md"))


def skills_of_a_plugin() -> Case:
    Path(".claude-plugin").mkdir()
    Path(".claude-plugin/plugin.json").write_text('{"name": "tidiers", "version": "1.0.0", "description": "Tidies."}')
    return verdict(os.path.abspath("skills"))


CASES = [
    history, manifest, registry, dropped, settings, target_of_a_rename, somebody_elses_file, split, baseline,
    baseline_of_the_rest, known_findings, configuration, named_folder, reward,
    linked_file, skills_of_a_plugin,
]  # fmt: skip


class BadDisk:
    """Looks at one path; one of them fails, or that and all later ones."""

    def __init__(self, path: str, failing: int, once: bool, error: int = errno.EIO) -> None:
        self.path, self.looks, self.error = os.path.abspath(path), 0, error
        self.failing, self.once = failing, once

    def look(self, real: Callable[..., Any], place: Any, *rest: Any, **more: Any) -> Any:
        if not isinstance(place, int) and os.path.abspath(os.fsdecode(place)) == self.path:
            self.looks += 1
            if self.looks == self.failing or (self.looks > self.failing and not self.once):
                raise OSError(self.error, os.strerror(self.error), place)
        return real(place, *rest, **more)


@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("capsys")
def test_a_look_that_fails_loses_nothing(
    case: Callable[[], Case], once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = looks = 0
    while failing <= looks:
        root = tmp_path / str(failing)
        (root / "skills/tidy").mkdir(parents=True)
        (root / "skills/tidy/SKILL.md").write_text(SKILL.format(name="tidy", body=""))
        (root / ".git").mkdir()
        monkeypatch.chdir(root)
        path, act, is_wrong = case()
        disk = BadDisk(path, failing or 1_000, once)
        with suppress(SkillHealthError, OSError), monkeypatch.context() as patch:
            for name in ("stat", "lstat"):
                patch.setattr(os, name, partial(disk.look, getattr(os, name)))
            act()
        assert not is_wrong(), f"look {failing} of {looks}"
        looks = looks or disk.looks
        failing += 1
    assert looks


def plant(root: Path, *committed: str) -> None:
    """Two skills, prompts and a task in a repository of git, of which some is committed."""
    for name in ("tidy", "neat"):
        (root / "skills" / name).mkdir(parents=True)
        (root / "skills" / name / "SKILL.md").write_text(SKILL.format(name=name, body=""))
    (root / "prompts.jsonl").write_text(LINE.replace("tidy", "neat"))
    shutil.copytree(FIXTURES / "tasks/001-member-export", root / "tasks/one")
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=root, check=True)
    subprocess.run(["git", "add", "--force", *committed], cwd=root, check=True)
    subprocess.run(["git", "commit", "--quiet", "--message", "one"], cwd=root, check=True)


JUDGING = [
    "daily --reports reports", "report --reports reports --format md", "status", "badge --output badge.svg",
    "lint --changed", "lint --write-baseline first", "init --baseline", "needs", "census", "quality", "hosts",
    "router run --models lexical:overlap --prompts prompts.jsonl", "router risk", "draft prompts", "lint --new-since HEAD",
    "effectiveness check tasks --static", "dataset tasks --to set",
]  # fmt: skip


@pytest.mark.parametrize("words", JUDGING)
@pytest.mark.parametrize(
    ("place", "look"), [("skills/tidy", 1), ("skills/tidy/SKILL.md", 1), ("skills/tidy/SKILL.md", 2)]
)
def test_a_skill_that_cannot_be_read_is_not_taken_for_gone(
    words: str,
    place: str,
    look: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plant(tmp_path, "prompts.jsonl")
    monkeypatch.chdir(tmp_path)
    before = {path for path in tmp_path.rglob("*") if ".git" not in path.parts}
    disk = BadDisk(place, look, once=False)
    with monkeypatch.context() as patch:
        for name in ("open", "scandir"):
            patch.setattr(os, name, partial(disk.look, getattr(os, name)))
        code = main(words.split())
    # A digest that status does not know counts as unknown.
    if disk.looks < look or (words, look) == ("status", 2):
        return
    said = "".join(capsys.readouterr())
    assert code in (1, 2) and place in said, said
    left = {path for path in tmp_path.rglob("*") if ".git" not in path.parts}
    settings = ("skill-health.toml", ".pre-commit-config.yaml")
    assert [path for path in left - before if path.is_file() and path.name not in settings] == []


@pytest.mark.parametrize("words", [*JUDGING, "lint"])
@pytest.mark.parametrize("place", [".git/index", ".gitignore", ".git/info/exclude"])
def test_without_what_says_which_skills_there_are_nothing_is_judged(
    words: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The skill `tidy` is ignored and tracked all the same, `spare` is ignored."""
    (tmp_path / ".gitignore").write_text("skills/tidy/\nskills/spare/\n")
    plant(tmp_path, ".")
    (tmp_path / "skills/spare").mkdir()
    (tmp_path / "skills/spare/SKILL.md").write_text(SKILL.format(name="spare", body=""))
    monkeypatch.chdir(tmp_path)
    disk = BadDisk(place, 1, once=False)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", partial(disk.look, os.open))
        code = main(words.split())
    if disk.looks == 0 and words.startswith("lint --new"):  # git reads it
        return
    assert (code, place in "".join(capsys.readouterr())) == (2, True)
    assert not (tmp_path / "reports").exists() and not (tmp_path / "skill-health-baseline.json").exists()


@pytest.mark.usefixtures("capsys")
def test_a_changed_skill_is_judged_or_refused_whenever_its_folder_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, ".")
    (tmp_path / "skills/tidy/SKILL.md").write_text(SKILL.format(name="tidy", body=LINK))
    monkeypatch.chdir(tmp_path)
    for once in (True, False):
        failing, codes, looks = 0, list[int](), 1
        while failing <= looks:
            failing += 1
            disk = BadDisk("skills/tidy", failing, once)
            with monkeypatch.context() as patch:
                for name in ("scandir", "listdir"):
                    patch.setattr(os, name, partial(disk.look, getattr(os, name)))
                codes.append(lint("--changed"))
            looks = disk.looks
        assert len(codes) > 3 and {*codes[:-1]} <= {1, 2} and codes[-1] == 1


@pytest.mark.parametrize("to", ["nowhere", "loop", "../../..", "../neat", "SKILL.md"])
@pytest.mark.usefixtures("capsys")
def test_a_changed_link_stands_for_the_skill_that_it_is_in(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, ".")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "skills/tidy/loop").symlink_to(to)
    assert lint("--changed") == lint("skills/tidy")


@pytest.mark.usefixtures("capsys")
def test_a_change_of_what_a_link_leads_to_is_one_of_the_skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "prompts.jsonl")
    (tmp_path / "skills/tidy/guides").symlink_to("../../shared")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/guide.md").write_text("# Guide\n")
    (tmp_path / "skills/tidy/SKILL.md").write_text(SKILL.format(name="tidy", body="See [it](guides/guide.md).\n"))
    subprocess.run(["git", "add", "--all"], cwd=tmp_path, check=True)
    subprocess.run(["git", "commit", "--quiet", "--message", "two"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    assert lint("--changed") == 0
    (tmp_path / "shared/guide.md").rename(tmp_path / "shared/other.md")
    assert lint("--changed") == lint("skills/tidy") == 1


@pytest.mark.usefixtures("capsys")
def test_before_the_first_commit_all_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "skills/tidy").mkdir(parents=True)
    (tmp_path / "skills/tidy/SKILL.md").write_text(SKILL.format(name="tidy", body=LINK))
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    assert lint("--changed") == 1


@pytest.mark.parametrize("damage", ["reference", "object"])
@pytest.mark.usefixtures("capsys")
def test_a_commit_that_cannot_be_read_is_not_taken_for_none(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, ".")
    (tmp_path / "skills/tidy/SKILL.md").write_text(SKILL.format(name="tidy", body=LINK))
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    assert main(["lint", "--staged", "--fail-on", "warning"]) == 1
    reference = tmp_path / ".git/refs/heads/main"
    if damage == "reference":
        reference.write_text("garbage\n")
    else:
        commit = reference.read_text().strip()
        (tmp_path / ".git/objects" / commit[:2] / commit[2:]).unlink()
    assert main(["lint", "--staged", "--fail-on", "never"]) == 2


RECORDS = {
    "router-history.jsonl": ["badge --what routing", "badge --what verdict", "status", "report --format md", "delta HEAD"],
    f"router/{page_made.ROUTER_RUN}/manifest.json": ["badge --what routing", "status", "report --format md", "delta HEAD"],
    f"router/{page_made.ROUTER_RUN}/report.json": ["badge --what routing", "status"],
    "effectiveness-history.jsonl": ["badge --what effect", "badge --what verdict", "status", "delta HEAD"],
    "skill-health-history.jsonl": ["status", "report --format md"],
}  # fmt: skip
"""What each command reads of the reports of earlier runs."""
OLD = '<svg xmlns="http://www.w3.org/2000/svg"/>'


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with reports, in git."""
    root = page_made.make(tmp_path_factory.mktemp("reported"))
    (root / ".gitignore").write_text("reports/\n")
    for git in (["init", "--quiet"], ["add", "skills"], ["commit", "--quiet", "--message", "one"]):
        subprocess.run(["git", *git], cwd=root, check=True)
    with (root / "skills/skill-0/SKILL.md").open("a") as file:
        file.write("Sort them.\n")
    return root


def tell(words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The exit code of a command, what it says, and what it wrote to a file before which something stood there."""
    output = Path("out.svg")
    output.write_text(OLD)
    more = ["--output", str(output)] if words.startswith("badge") else []
    code = main([*words.split(), "--reports", "reports", *more])
    assert words.startswith("badge") or output.read_text() == OLD
    return code, "".join(capsys.readouterr()), output.read_text()


@pytest.mark.parametrize("error", [errno.EIO, errno.EACCES, errno.ESTALE, errno.ELOOP], ids=errno.errorcode.get)
@pytest.mark.parametrize(("file", "words"), [(file, words) for file, found in RECORDS.items() for words in found])
def test_a_record_that_cannot_be_read_is_not_taken_for_none(
    file: str,
    words: str,
    error: int,
    reported: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(reported)
    disk = BadDisk(f"reports/{file}", 1, once=False, error=error)
    with monkeypatch.context() as patch:
        for name in ("open", "stat", "lstat"):
            patch.setattr(os, name, partial(disk.look, getattr(os, name)))
        code, said, written = tell(words, capsys)
    assert code == 2 and f"reports/{file}" in said and os.strerror(error) in said and written == OLD, said


@pytest.mark.parametrize("damage", ["", "\x00garbage\n"], ids=["emptied", "garbage"])
@pytest.mark.parametrize(("file", "words"), [(file, words) for file, found in RECORDS.items() for words in found])
def test_a_record_that_is_damaged_is_told(
    file: str,
    words: str,
    damage: str,
    reported: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(reported)
    path = reported / "reports" / file
    before = path.read_bytes()
    path.write_text(damage)
    try:
        code, said, written = tell(words, capsys)
    finally:
        path.write_bytes(before)
    plain = " ".join(said.replace("\\", "").split())
    assert (Path(file).name if Path(file).name != "report.json" else f"report of {page_made.ROUTER_RUN}") in plain, said
    assert (code, written) == (2 if words.startswith("badge") else 0, OLD)


def test_a_badge_of_sound_records_is_made(
    reported: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(reported)
    for what in ("routing", "effect", "verdict"):
        code, _, written = tell(f"badge --what {what}", capsys)
        assert code == 0 and written != OLD


FLEET = '[[repository]]\nname = "fruit"\npath = "skills"\n'
LOOKS = [
    ("reports/router", "listdir", "router report", 2),
    ("reports/router", "listdir", "router sweep --changed --models lexical:overlap skills", 2),
    (f"reports/router/{page_made.ROUTER_RUN}/manifest.json", "open", "router report", 2),
    (f"reports/router/{page_made.ROUTER_RUN}/check.json", "stat", "router report", 2),
    ("reports", "stat", "daily skills", 2),
    ("skills", "stat", "fleet fleet.toml --reports ../fleet --no-page", 3),
]


@pytest.mark.parametrize(("place", "call", "words", "code"), LOOKS)
def test_a_look_that_failed_is_not_told_as_absence(
    place: str,
    call: str,
    words: str,
    code: int,
    reported: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = tmp_path / "root"
    shutil.copytree(reported, root)
    (root / "fleet.toml").write_text(FLEET)
    with (root / "skill-health.toml").open("a") as file:
        file.write("[daily]\nrisk = false\n")
    monkeypatch.chdir(root)
    disk = BadDisk(place, 1, once=False)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, partial(disk.look, getattr(os, call)))
        found = main(words.split())
    said = "".join(capsys.readouterr())
    assert found == code and f"cannot read {place}: {os.strerror(errno.EIO)}" in said.replace(f"{root}/", ""), said


def test_delta_tells_prompts_that_it_cannot_read(
    reported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "root"
    shutil.copytree(reported, root)
    monkeypatch.chdir(root)
    path = root / "skills/skill-0/SKILL.md"
    path.write_text(path.read_text().replace("Sorts plums", "Sorts all plums"))
    (root / "registries/prompts.jsonl").write_text("\x00garbage\n")
    assert main("delta HEAD --format md".split()) == 0
    assert "registries/prompts.jsonl" in capsys.readouterr().out
