"""The hook: which prompts a change of descriptions loses, on real git repositories."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from repositories import commit, git
from thinned import thinned

from skill_health.cli import main
from skill_health.config.settings import RouterSettings
from skill_health.router.hook import Lost, effect, report
from skill_health.router.records import NONE, Catalogue, ListedSkill, Prompt

SORT = "Sorts lists by size. Use when a queue is jammed."
TREES = "Prunes trees in spring."
BODY = "\n# Title\n\nText.\n"


class Repository:
    """A git repository with skills and prompts."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *arguments: str) -> str:
        return git(self.root, *arguments)

    def put(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8", newline="")

    def skill(self, name: str, description: str, body: str = BODY) -> None:
        self.put(f"skills/{name}/SKILL.md", f"---\nname: {name}\ndescription: {json.dumps(description)}\n---\n{body}")

    def prompts(self, *labels: tuple[str, str | None], split: str = "") -> None:
        records = [
            {"prompt_id": f"p{n}", "prompt": text, "expected_primary_skill": expected, "split": split or "test"}
            for n, (text, expected) in enumerate(labels)
        ]
        self.put("prompts.jsonl", "".join(json.dumps(record) + "\n" for record in records))

    def commit(self) -> str:
        return commit(self.root)


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Repository(tmp_path_factory.mktemp("committed"))
    made.skill("sort-lists", SORT)
    made.skill("prune-trees", TREES)
    made.prompts(("The queue is jammed again", "sort-lists"), ("Prune the oaks in spring", "prune-trees"))
    made.commit()
    return made.root


@pytest.fixture
def repository(committed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.chdir(tmp_path)
    return Repository(shutil.copytree(committed, tmp_path, dirs_exist_ok=True))


@pytest.fixture
def hook(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["router", "hook", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


Hook = Callable[..., tuple[int, str, str]]


@pytest.mark.slow
def test_a_prompt_that_is_lost_fails_with_what_there_is_to_know(repository: Repository, hook: Hook) -> None:
    repository.skill("sort-lists", "Puts things in order.")
    repository.skill("prune-trees", f"{TREES} Also when a queue is jammed.")
    code, out, _ = hook("skills/sort-lists/SKILL.md", "skills/prune-trees/SKILL.md")
    assert code == 1
    assert out.splitlines() == [
        "2 listed skills changed since HEAD: prune-trees (edited), sort-lists (edited)",
        "lexical:tfidf: 2 of 2 prompts right before, 1 now; 1 lost, 0 gained",
        '  p0 "The queue is jammed again"',
        "    expected sort-lists; now prune-trees comes first (prompts.jsonl:1)",
        "    sort-lists no longer says: queue, jammed",
        "    prune-trees now says: queue, jammed",
        f"prune-trees was listed as: {TREES}",
        f"prune-trees is listed as:  {TREES} Also when a queue is jammed.",
        f"sort-lists was listed as: {SORT}",
        "sort-lists is listed as:  Puts things in order.",
    ]
    assert hook()[0] == 1
    assert hook("--max-lost", "1")[0] == 0
    repository.commit()
    assert hook() == (0, "", "")


@pytest.mark.slow
def test_a_new_skill_that_steals_fails_and_one_that_does_not_passes(repository: Repository, hook: Hook) -> None:
    repository.skill("paint-walls", "Paints walls.")
    code, out, _ = hook("skills/paint-walls/SKILL.md")
    assert code == 0 and "paint-walls (added)" in out and "0 lost, 0 gained" in out
    repository.skill("jam-queue", "Sort the jammed queue. The queue is jammed.")
    code, out, _ = hook("skills/jam-queue/SKILL.md")
    assert code == 1 and "expected sort-lists; now jam-queue comes first" in out
    assert "jam-queue now says: queue, jammed" in out and "jam-queue was listed as: (not listed)" in out


@pytest.mark.slow
def test_a_skill_that_is_gone_or_renamed_fails_while_prompts_expect_it(repository: Repository, hook: Hook) -> None:
    repository.git("mv", "skills/prune-trees", "skills/trim-trees")
    repository.skill("trim-trees", TREES)
    code, out, _ = hook()
    assert code == 1 and "expected prune-trees; now trim-trees comes first" in out
    repository.prompts(("The queue is jammed again", "sort-lists"), ("Prune the oaks in spring", "trim-trees"))
    assert hook()[0] == 0


def test_what_is_gained_passes_and_is_named(repository: Repository, hook: Hook) -> None:
    repository.prompts(("The heap is a mess", "sort-lists"), ("Prune the oaks in spring", "prune-trees"))
    repository.skill("sort-lists", f"{SORT} Or a heap is a mess.")
    code, out, _ = hook()
    assert code == 0 and "1 of 2 prompts right before, 2 now; 0 lost, 1 gained (p0)" in out
    assert "was listed" not in out


@pytest.mark.parametrize(
    "change",
    [
        lambda repository: None,
        lambda repository: repository.skill("sort-lists", SORT, f"{BODY}\nMore.\n"),
        lambda repository: repository.skill("sort-lists", SORT.replace(" ", "  ")),
        lambda repository: repository.put("skills/sort-lists/notes.md", "queue"),
        lambda repository: repository.put("README.md", "queue"),
        lambda repository: repository.put(".gitignore", "*.log\n"),
    ],
    ids=["nothing", "the body", "white space", "another file of the skill", "another file", "what is ignored"],
)
def test_where_nothing_else_is_listed_no_prompt_is_read(
    change: Callable[[Repository], None], repository: Repository, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("prompts were read")

    monkeypatch.setattr("skill_health.router.hook.prompts_of_both", refuse)
    change(repository)
    assert hook() == (0, "", "")


def test_before_the_first_commit_there_is_nothing_to_compare_with(
    tmp_path: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "--quiet")
    Repository(tmp_path).skill("sort-lists", SORT)
    assert hook("skills/sort-lists/SKILL.md") == (0, "nothing to compare with: there is no commit yet\n", "")


@pytest.mark.slow
def test_a_revision_may_be_named_and_a_branch_is_compared_with_where_it_began(
    repository: Repository, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "--quiet", "-b", "work")
    repository.skill("sort-lists", "Puts things in order.")
    repository.commit()
    repository.git("checkout", "--quiet", "-")
    repository.git("checkout", "--quiet", "-b", "other")
    repository.skill("prune-trees", "Nothing of the sort.")
    repository.commit()
    repository.git("checkout", "--quiet", "work")
    assert hook() == (0, "", "")
    code, out, _ = hook("--since", "other")
    assert code == 1 and out.startswith("1 listed skill changed since other: sort-lists (edited)")
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", first)
    assert hook()[0] == 1


BAD = [
    (("--since", "no-such"), "'no-such'"),
    (("--since=--all",), "'--all'"),
    (("--models", "openai:m"), "'openai:m' is not computed here, so a hook cannot use it"),
    (("--models", "scripted"), "'scripted' is not computed here"),
    (("--models", "lexical:tfidff"), "did you mean lexical:"),
    (("--prompts", "no-such.jsonl"), "no-such.jsonl"),
    (("--listing", "no-such"), "there is no listing 'no-such'"),
    (("no-such",), ": no-such"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(case[0]) for case in BAD])
def test_a_mistake_is_named(arguments: tuple[str, ...], message: str, repository: Repository, hook: Hook) -> None:
    repository.skill("sort-lists", "Puts things in order.")
    code, _, err = hook(*arguments)
    assert code == 2 and message in err


def test_without_git_or_with_a_broken_one_nothing_passes_silently(
    repository: Repository, hook: Hook, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repository.put(".git/HEAD", "garbage\n")
    code, _, err = hook()
    assert code == 2 and "git cannot read the repository: fatal: " in err
    (tmp_path / ".git").rename(tmp_path / "gone")
    code, _, err = hook()
    assert code == 2 and "in no git repository" in err
    (tmp_path / "gone").rename(tmp_path / ".git")
    monkeypatch.setenv("PATH", "")
    code, _, err = hook()
    assert code == 2 and "git is needed" in err


@pytest.mark.slow
@pytest.mark.parametrize("text", thinned([None, "", '{"other": 1}\n'], 3))
def test_without_prompts_there_is_nothing_to_check(text: str | None, repository: Repository, hook: Hook) -> None:
    (repository.root / "prompts.jsonl").unlink()
    if text:
        repository.put("prompts.jsonl", text)
    repository.skill("sort-lists", "Puts things in order.")
    assert hook() == (0, f"no labelled prompts for {repository.root}: nothing to check\n", "")
    repository.put("elsewhere.csv", "prompt,expected\nThe queue is jammed,sort-lists\n")
    code, out, _ = hook("--prompts", "elsewhere.csv")
    assert code == 1 and "1 lost" in out


def test_without_skills_there_is_nothing_to_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
    monkeypatch.chdir(tmp_path)
    made = Repository(tmp_path)
    made.put("README.md", "text")
    made.commit()
    made.put("pyproject.toml", "")
    assert hook() == (0, "", "")


@pytest.mark.slow
def test_the_last_skill_may_go_with_its_prompts_only(repository: Repository, hook: Hook) -> None:
    for name in ("sort-lists", "prune-trees"):
        (repository.root / "skills" / name / "SKILL.md").unlink()
    code, out, _ = hook()
    assert code == 1 and "expected sort-lists; now no skill" in out
    (repository.root / "prompts.jsonl").unlink()
    assert hook()[0] == 0


@pytest.mark.slow
def test_a_draft_that_git_does_not_know_is_in_no_commit(
    repository: Repository, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.skill("jam-queue", "Sort the jammed queue. The queue is jammed.")
    assert hook()[0] == 1
    monkeypatch.setenv("PRE_COMMIT", "1")
    assert hook() == (0, "", "")
    repository.git("rm", "--quiet", "-r", "skills/prune-trees")
    assert "expected prune-trees; now" in hook()[1]


@pytest.mark.slow
def test_a_state_that_could_not_be_listed_may_be_fixed(repository: Repository, hook: Hook) -> None:
    repository.put("more/sort-lists/SKILL.md", "---\nname: sort-lists\ndescription: Another.\n---\n")
    repository.put("skill-health.toml", '[router]\nnamesakes = "refuse"\n')
    code, _, err = hook()
    assert code == 2 and "'sort-lists'" in err
    repository.commit()
    repository.put("more/sort-lists/SKILL.md", "---\nname: other-lists\ndescription: Another.\n---\n")
    code, out, _ = hook()
    assert code == 0 and out.startswith("nothing to compare with: at HEAD, ") and "'sort-lists'" in out


def test_a_record_that_is_no_prompt_is_one_clear_line(repository: Repository, hook: Hook) -> None:
    repository.skill("sort-lists", "Sorts lists. A queue is jammed.")
    with (repository.root / "prompts.jsonl").open("a") as file:
        file.write("{broken\n[]\n")
    code, out, err = hook()
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("skill-health: error: prompts.jsonl:3: ") and "(and 1 more)" in err


@pytest.mark.slow
def test_what_a_host_would_cut_counts(repository: Repository, hook: Hook) -> None:
    repository.put("skill-health.toml", "[listing.tiny]\nbudget = 100000\nskill-chars = 60\n")
    long = f"{SORT} {'filler ' * 20}"
    repository.skill("sort-lists", long)
    repository.commit()
    repository.skill("sort-lists", f"Puts things in order, whatever they are and wherever they lie. {SORT}")
    assert hook()[0] == 0
    code, out, _ = hook("--listing", "tiny")
    assert code == 1 and "sort-lists no longer says: queue, jammed" in out


def test_hostile_text_is_shown_as_text(repository: Repository, hook: Hook) -> None:
    repository.prompts(("The queue is \x1b[31mjammed\u202e " + "so " * 500, "sort-lists"))
    repository.skill("sort-lists", "Puts \x1b[2J\u200b things in order.")
    repository.skill("prune-trees", f"{TREES} Also when a queue is jammed.")
    code, out, _ = hook()
    assert code == 1
    assert "\x1b" not in out and "\u202e" not in out and "\u200b" not in out and "\\x1b[31mjammed" in out
    assert max(map(len, out.splitlines())) < 500


@pytest.mark.slow
def test_the_process_is_light(repository: Repository) -> None:
    repository.skill("sort-lists", "Puts things in order.")
    code = """
import json, sys
from skill_health.cli import main
code = main(["router", "hook"])
print(json.dumps([code, sorted({"numpy", "scipy", "bm25s", "httpx", "asyncio", "genai_prices"} & set(sys.modules))]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repository.root, capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [1, []], done.stderr


OLD = Catalogue((ListedSkill("sort-lists", SORT), ListedSkill("prune-trees", TREES)))
NEW = Catalogue(
    (ListedSkill("sort-lists", SORT + " Or a chat on the weather of last week."), ListedSkill("prune-trees", TREES))
)
CHAT = Prompt("n1", "A chat on the weather of last week", None, split="train")
SPLIT = (
    Prompt("a1", "The queue is jammed", "sort-lists", split="train"),
    Prompt("a2", "Trees in spring", "prune-trees", split="train"),
    Prompt("n0", "How many legs does a spider have in spring", None, split="train"),
    CHAT,
)


def test_prompts_that_no_skill_is_for_are_tested_where_there_is_a_threshold() -> None:
    with_threshold = effect("lexical:tfidf", RouterSettings(), OLD, NEW, SPLIT)
    assert (with_threshold.testable, with_threshold.untested, with_threshold.before) == (4, 0, 4)
    assert with_threshold.lost == (Lost(CHAT, NONE, "sort-lists"),)
    without = effect("lexical:tfidf", RouterSettings(), OLD, NEW, (*SPLIT[:2], Prompt("n1", CHAT.text, None)))
    assert (without.testable, without.untested, without.lost) == (2, 1, ())
    lines = "\n".join(report((), (with_threshold, without), "HEAD"))
    assert "expected no skill; now sort-lists comes first" in lines
    assert "not tested: 1 prompt " in lines


def test_the_threshold_is_that_of_the_old_catalogue() -> None:
    quiet = Catalogue(
        (ListedSkill("sort-lists", "Sorts " + "many other things " * 3 + "queue"), ListedSkill("prune-trees", TREES))
    )
    found = effect("lexical:tfidf", RouterSettings(), OLD, quiet, SPLIT)
    assert [(lost.prompt.prompt_id, lost.now) for lost in found.lost] == [("a1", NONE)]
    assert "; now no skill " in "\n".join(report((), (found,), "HEAD"))


def test_labels_that_only_reject_are_not_counted() -> None:
    found = effect("lexical:tfidf", RouterSettings(), OLD, NEW, (Prompt("r", "queue", None, known=False),))
    assert (found.testable, found.untested, found.before, found.after) == (0, 0, 0, 0)


EMBEDDING = [pytest.param(name, marks=pytest.mark.slow) for name in ("embed:minilm", "hybrid")]


@pytest.mark.parametrize("spec", ["lexical:bm25", "lexical:overlap", *EMBEDDING])
def test_every_local_router_can_be_the_hooks(spec: str) -> None:
    gone = Catalogue(
        (ListedSkill("sort-lists", "Paints walls."), ListedSkill("prune-trees", TREES + " The queue is jammed."))
    )
    found = effect(spec, RouterSettings(), OLD, gone, SPLIT[:2])
    assert [lost.prompt.prompt_id for lost in found.lost] == ["a1"]
