"""Each command prints the format that it is asked for, and text alone is coloured.

The golden files have what every command prints in every format, if without colours.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from fixture_types import Run
from published_made import put
from run_made import SKILLS, write_collection

from scripts.golden import find_commands

TIME = ("--time", "2026-11-25T08:00:00Z")
LEXICAL = ("--models", "lexical:bm25,lexical:tfidf")
TRIALS = ("tasks", "--agents", "scripted:base=0.5", "--arms", "target", "--reps", "1", "--sandbox", "none", "--quiet")
NAMES = {"markdown": "md", "svg": "xml", "junit": "xml"}


class Printed(NamedTuple):
    """A command that prints a format: what else it is given, and whether its text is coloured.

    A word with a star stands for the paths that it fits, and "{}" for the name of the format.
    """

    command: str
    more: tuple[str, ...] = ()
    color: bool = False


QUICK = (
    *map(Printed, ("census", "draft report", "hosts", "needs", "quality", "router models", "router risk", "rules")),
    Printed("effectiveness check", ("tasks", "--static")),
    Printed("router check", LEXICAL),
    Printed("router curve", ("--models", "lexical:bm25", "--sizes", "4")),
    Printed("router prompts", color=True),
    Printed("status", color=True),
)
SLOW = (
    Printed("daily", color=True),
    Printed("effectiveness merge", ("trials?/effectiveness/*", "--out", "trials-{}"), color=True),
    Printed("effectiveness report", color=True),
    Printed("effectiveness run", (*TRIALS, "--out", "run-{}"), color=True),
    Printed("router merge", ("part?/router/*", "--out", "part-{}"), color=True),
    Printed("router report", color=True),
    Printed("router run", LEXICAL, color=True),
)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection: skills, prompts and tasks."""
    main = write_collection(tmp_path_factory.mktemp("formats"), 2, 1)
    prompts = [
        {"prompt_id": f"{name}-{nth}", "prompt": f"Do {name} number {nth}.", "expected_primary_skill": name,
         "acceptable_secondary_skills": [], "rejected_skills": [], "reason": "so"}
        for name in SKILLS for nth in range(2)
    ]  # fmt: skip
    put(main, "registries/prompts.jsonl", "".join(json.dumps(each) + "\n" for each in prompts))
    return main


@pytest.fixture(scope="module")
def runs(collection: Path, run_in: Run) -> Path:
    """What some commands begin with: finished runs, and shards of them."""
    for words, folder in ((("router", "run", *LEXICAL), "part"), (("effectiveness", "run", *TRIALS), "trials")):
        for shard in ((), *(("--shard", f"{part}/2", "--out", f"{folder}{part}") for part in (1, 2))):
            done = run_in(collection, *words, *TIME, *shard)
            assert done.returncode == 0, done.stderr
    return collection


FORMATS = {
    " ".join(names): tuple(getattr(option.type, "choices", ()))
    for names, command in find_commands()
    for option in command.params
    if "--format" in option.opts
}


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
    done = run_in(folder, *case.command.split(), *given, "--format", name, env={"FORCE_COLOR": "1"})
    assert done.returncode in (0, 1), done.stderr
    assert ("\x1b[" in done.stdout) == (case.color and name == "text")
    plain = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    assert form_of(plain) == NAMES.get(name, name), plain[:2000]
    assert name == "text" or not re.search(r"(?m)^written: ", plain)


@pytest.mark.parametrize(("case", "name"), params(QUICK))
def test_a_quick_command_prints_the_format_that_it_is_asked_for(
    case: Printed, name: str, collection: Path, run_in: Run
) -> None:
    check(case, name, collection, run_in)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "name"), params(SLOW))
def test_a_command_prints_the_format_that_it_is_asked_for(case: Printed, name: str, runs: Path, run_in: Run) -> None:
    check(case, name, runs, run_in)
