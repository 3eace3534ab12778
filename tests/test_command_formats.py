"""Each command prints the format that it is asked for, and nothing else beside it."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import click
import drafts_made
import pytest
from fixture_types import Run
from judge_runs import RUN_ID, make_run, rubrics, settings
from judge_runs import judge as judged
from loopback import Loopback, answer
from published_made import put, rows
from report_runs import kept, run
from run_made import SKILLS, write_collection, write_task
from task_drafts import Author, proposal
from task_drafts import write_collection as write_subject
from test_suggest import GOOD
from test_suggest import prompts as write_prompts

from skill_health.effectiveness.commands import judge as judge_command
from skill_health.root import root as root_command

TIME = ("--time", "2026-11-25T08:00:00Z")
LEXICAL = ("--models", "lexical:bm25,lexical:tfidf")
PLANTED = ("--agents", "planted:recall=0.7,planted:recall=0.2", "--sandbox", "none", "--quiet")
TRIALS = ("tasks", "--agents", "scripted:base=0.5", "--arms", "target", "--reps", "1", "--sandbox", "none", "--quiet")
JUDGE = ("--judges", "one:m", "--family", "one:m=qwen", "--config", "s.toml", "--max-runs", "99", "--quiet")
OWN = ("--config", "skill-health.toml")
ENV = {drafts_made.KEY_ENV: drafts_made.KEY, "FORCE_COLOR": "1"}
OTHER_ID = "20261121T050000Z-aaaaaaaa"
NAMES = {"markdown": "md", "svg": "xml", "junit": "xml"}


class Printed(NamedTuple):
    """A command that prints a format: what else it is given, in which folder, and whether its text is coloured.

    A word with a star stands for the paths that it fits, and "{}" for the name of the format.
    """

    command: str
    more: tuple[str, ...] = ()
    folder: str = "main"
    color: bool = False


QUICK = (
    Printed("census"),
    Printed("draft report"),
    Printed("effectiveness check", ("tasks", "--static")),
    Printed("hosts"),
    Printed("needs"),
    Printed("quality"),
    Printed("router check", LEXICAL),
    Printed("router curve", ("--models", "lexical:bm25", "--sizes", "4")),
    Printed("router models"),
    Printed("router prompts", color=True),
    Printed("router risk"),
    Printed("rules"),
    Printed("status", color=True),
)
SLOW = (
    Printed("activation compare", ("last", "--model", "planted:recall=0.2", "--against", "planted:recall=0.7")),
    Printed("activation report"),
    Printed("activation run", PLANTED),
    Printed("badge"),
    Printed("daily", color=True),
    Printed("delta", ("HEAD",)),
    Printed("draft leaks", ("tasks", "--model", "writer:m", "--max-calls", "6", "--quiet", *OWN, *TIME), "drafts"),
    Printed("draft tasks", ("--model", "scripted:author", "--max-budget-usd", "9", "--sandbox", "none", *OWN, *TIME), "subject"),
    Printed("effectiveness agents"),
    Printed("effectiveness audit", ("published.json",)),
    Printed("effectiveness calibrate", ("labels.jsonl", "--run", RUN_ID)),
    Printed("effectiveness compare", (OTHER_ID, OTHER_ID)),
    Printed("effectiveness configurations", (OTHER_ID,)),
    Printed("effectiveness judge", (RUN_ID, "--no-resume", *JUDGE)),
    Printed("effectiveness judges", (RUN_ID,)),
    Printed("effectiveness merge", ("trials?/effectiveness/*", "--out", "trials-{}"), color=True),
    Printed("effectiveness report", (OTHER_ID,), color=True),
    Printed("effectiveness rescore", ("last", "--sandbox", "none")),
    Printed("effectiveness review", ("tasks", "--static")),
    Printed("effectiveness run", (*TRIALS, "--out", "run-{}"), color=True),
    Printed("effectiveness validate", (OTHER_ID,)),
    Printed("fleet", ("fleet.toml", "--no-page"), "fleet"),
    Printed("report"),
    Printed("router compare", ("last", "--model", "lexical:bm25", "--against", "lexical:tfidf")),
    Printed("router merge", ("part?/router/*", "--out", "part-{}"), color=True),
    Printed("router report", color=True),
    Printed("router run", LEXICAL, color=True),
    Printed("router sweep", LEXICAL),
    Printed("suggest description", ("merge-pages", "--candidate", "good.txt", *TIME), "letters"),
)  # fmt: skip
ELSEWHERE = {
    "lint": "every format of linting has tests of its own", "merge": "as lint", "fixtures": "as lint",
    "dataset": "writes files", "effectiveness export": "writes files",
}  # fmt: skip


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a collection: skills, prompts and tasks, kept in git."""
    above = tmp_path_factory.mktemp("formats")
    main = write_collection(above / "main", 2, 1)
    prompts = [
        {"prompt_id": f"{name}-{nth}", "prompt": f"Do {name} number {nth}.", "expected_primary_skill": name,
         "acceptable_secondary_skills": [], "rejected_skills": [], "reason": "so"}
        for name in SKILLS for nth in range(2)
    ]  # fmt: skip
    put(main, "registries/prompts.jsonl", "".join(json.dumps(each) + "\n" for each in prompts))
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "x")):
        subprocess.run(["git", *words], cwd=main, check=True)
    return above


@pytest.fixture(scope="module")
def runs(collection: Path, run_in: Run) -> Iterator[Path]:
    """Beside it what some commands begin with: finished runs, shards, servers of models."""
    main = collection / "main"
    sharded = [
        (*words, "--shard", f"{part}/2", "--out", f"{folder}{part}")
        for words, folder in ((("router", "run", *LEXICAL), "part"), (("effectiveness", "run", *TRIALS), "trials"))
        for part in (1, 2)
    ]  # fmt: skip
    began = (
        ("router", "run", *LEXICAL),
        ("activation", "run", *PLANTED),
        ("effectiveness", "run", *TRIALS, "--time", "2026-12-01"),
    )
    for words in (*began, *sharded):
        done = run_in(main, *words, *(() if "--time" in words else TIME))
        assert done.returncode == 0, done.stderr
    kept(main / "reports", run(OTHER_ID, arms=("control", "target", "aa"), replications=1))
    trial = next((make_run(main / "reports") / "trials").iterdir())
    put(main, "labels.jsonl", {"trial": f"trials/{trial.name}", "criterion": "a", "verdict": "met"})
    put(main, "published.json", rows())
    put(collection, "fleet/fleet.toml", '[[repository]]\nname = "main"\npath = "../main"\n')
    drafts_made.collection(collection / "letters")
    write_prompts(collection / "letters")
    put(collection, "letters/good.txt", GOOD)
    with (
        Loopback(judged) as judge,
        Loopback(lambda seen: answer(seen, '{"leaks": []}')) as auditor,
        Loopback(Author({"proposals": [proposal()]})) as author,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(judge_command, "load_tasks_of", lambda *_: ())
        patch.setattr(judge_command, "rubrics_of", lambda _: rubrics())
        put(main, "s.toml", settings(judge.url, "one"))
        done = run_in(main, "effectiveness", "judge", RUN_ID, *JUDGE)
        assert done.returncode == 0, done.stderr
        drafts_made.collection(collection / "drafts", auditor.url)
        write_task(collection / "drafts" / "tasks" / "t01", 1, "merge-pages")
        write_subject(collection / "subject", author.url)
        yield collection


def formats() -> Iterator[tuple[str, tuple[str, ...]]]:
    """All commands with an option for it, and the formats that it has."""

    def walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
        if isinstance(command, click.Group):
            for name in command.list_commands(click.Context(command)):
                found = command.get_command(click.Context(command), name)
                assert found is not None
                yield from walk(found, (*path, name))
        for option in command.params:
            if "--format" in option.opts:
                yield " ".join(path), tuple(getattr(option.type, "choices", ()))

    return walk(root_command, ())


FORMATS = dict(formats())


def form_of(text: str) -> str:
    """What a text is, by its form alone."""
    if text.startswith("<!doctype html"):
        return "html"
    if text.startswith("<"):
        ElementTree.fromstring(text)
        return "xml"
    try:
        json.loads(text)
    except ValueError:
        pass
    else:
        return "json"
    if re.search(r"(?m)^(#+ \S|\|[-:| ]+\|$)", text):
        return "md"
    head, *lines = csv.reader(io.StringIO(text))
    is_table = len(head) > 2 and all(map(str.isidentifier, head)) and {len(line) for line in lines} == {len(head)}
    return "csv" if is_table else "text"


def params(cases: tuple[Printed, ...]) -> list[Any]:
    """Each case with each format that is printed."""
    return [
        pytest.param(case, name, id=f"{case.command}-{name}")
        for case in cases
        for name in FORMATS[case.command]
        # The page goes into a file.
        if name != "html"
    ]


def check(case: Printed, name: str, folder: Path, run_in: Run) -> None:
    words = [word.replace("{}", name) for word in case.more]
    given = [path for word in words for path in (sorted(map(str, folder.glob(word))) if "*" in word else [word])]
    done = run_in(folder, *case.command.split(), *given, "--format", name, env=ENV)
    assert done.returncode in (0, 1), done.stderr
    assert ("\x1b[" in done.stdout) == (case.color and name == "text")
    plain = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    assert form_of(plain) == NAMES.get(name, name), plain[:2000]
    assert name == "text" or not re.search(r"(?m)^written: ", plain)


def test_every_command_with_a_format_has_a_case() -> None:
    assert {*(case.command for case in (*QUICK, *SLOW)), *ELSEWHERE} == set(FORMATS)


@pytest.mark.parametrize(("case", "name"), params(QUICK))
def test_a_quick_command_prints_the_format_that_it_is_asked_for(
    case: Printed, name: str, collection: Path, run_in: Run
) -> None:
    check(case, name, collection / case.folder, run_in)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "name"), params(SLOW))
def test_a_command_prints_the_format_that_it_is_asked_for(case: Printed, name: str, runs: Path, run_in: Run) -> None:
    check(case, name, runs / case.folder, run_in)
