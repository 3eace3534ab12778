"""Plays the command lines of tests/golden/commands.yaml and keeps all that they print and write, as plain text.

    python -m scripts.golden [PART...]                   rewrite tests/golden/, show what has changed (`make golden`)
    python -m scripts.golden record OUT COLLECTION...    play the part `days` over other collections, into OUT
    python -m scripts.golden compare BEFORE AFTER        say what differs between two such folders

Each part is played in a repository of its own. Dates are fixed and what depends on the machine is masked, so equal code
gives equal bytes. tests/test_golden.py plays the parts and compares.
"""

from __future__ import annotations

import difflib
import io
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import click
import yaml

import simulators  # noqa: F401  (the scripted router and agent, beside the real ones)
from skill_health import __version__
from skill_health.bench.http import client
from skill_health.cli import main
from skill_health.effectiveness.sandbox import _in_process, _run
from skill_health.page.drawing import draw
from skill_health.root import root as root_command

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
TABLE = GOLDEN / "commands.yaml"
HELP = "help"
# What no option fixes, and no reader of a difference wants to see: one list for all that is printed and written.
MASKS = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b|\b[0-9a-f]{32}\b", "<digest>"),
        (r"\b(20\d{6}T\d{6}Z(?:\.\d+)?-)[0-9a-f]{8}\b", r"\1<id>"),
        (r"--[0-9a-f]{8}\b", "--<id>"),
        (r"\b(127\.0\.0\.1|localhost):\d+", r"\1:<port>"),
        (r"genai-prices \d[\d.]*(?: \+ \d+ overrides [0-9a-f]+)?", "genai-prices <version>"),
        (r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "<now>"),
        (r'("python": ?)"[^"]+"', r'\1"<version>"'),
        (rf'((?:skill-health|version|scripted|planted|loop) +|ersion": ?"){re.escape(__version__)}\b', r"\1<version>"),
    )
)
# Whose names are not kept one by one, and what is not kept at all.
MANY = re.compile(r"(?<![\w-])(trials|streams|states|build/atif|\.git)/.*")
LEFT_OUT = re.compile(
    rf"{MANY.pattern}|(?:^|/)(?:skills|tasks|registries)/|\battempts\.jsonl$|\.(?:svg|eval|gz)$|/[^/]*\.html$|^shard-\d\.json$"
    r"|^build/[^d][^/]*/(?!README)"
)
# What no name of a file needs.
UNSAID = re.compile(r"--(?:time|as-of|reps|concurrency|sandbox|max-budget-usd)[ =]\S+|--quiet|--format|--fail-on never")
RUN = re.compile(r"(reports|shard-[12])/(router|effectiveness|activation)/([^/]+)/")
HEAD = re.compile(r"(?s)(\$ [^\n]*\n\[exit \d+\]\n)(.*)")
LONG, ROWS, SECONDS = 1000, 3, 0.25


def load_table() -> dict[str, Any]:
    """The parts by name, each with the steps `before` and `steps`; every command's help comes first."""
    parts = {HELP: {"before": [], "steps": [shlex.join([*names, "--help"]) for names, _ in find_commands()]}}
    return parts | yaml.safe_load(TABLE.read_text("utf-8"))


def find_commands(
    command: click.Command = root_command, names: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Each command and group with the words that call it."""
    yield names, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (child := command.get_command(context, name)) is not None:
                yield from find_commands(child, (*names, name))


def expand(line: str) -> Iterator[str]:
    """The command lines that one with (this|that) stands for."""
    pieces = re.split(r"\(([^()|]*(?:\|[^()|]*)+)\)", line)
    for chosen in itertools.product(*(piece.split("|") if at % 2 else [piece] for at, piece in enumerate(pieces))):
        yield " ".join("".join(chosen).split())


def steps_of(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps after what comes `before`; those that run a command have the `name` of its golden file."""
    taken = set()
    for step in part["steps"]:
        given = {"run": step} if isinstance(step, str) else step
        for line in expand(given["run"]) if "run" in given else [""]:
            if not line:
                yield given
                continue
            stem = re.sub(r"[^a-z0-9]+", "-", UNSAID.sub("", line).lower()).strip("-") or "nothing"
            name = stem = stem if len(stem) <= 100 else f"{stem[:70]}--{stem[-28:]}"
            for number in itertools.count(2):
                if name not in taken:
                    break
                name = f"{stem}-{number}"
            taken.add(name)
            yield {**given, "run": line, "name": f"{name}.txt"}


def play(part: Mapping[str, Any], place: Path, collection: Path | None = None) -> dict[str, str]:
    """Play a part in an empty folder: the text of each golden file by its name.

    With a collection, a copy of that takes the place of what comes `before`.
    """
    place = place.resolve()
    work = place / "collection"
    (place / "home").mkdir()
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(place / "home"), "COLUMNS": "100", "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
        "SKILL_HEALTH_CACHE_DIR": str(place / "cache"), "XDG_CONFIG_HOME": str(place / "home"), "TZ": "UTC",
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "g"), ("EMAIL", "g@example.com"), ("DATE", "2026-11-01T00:00:00Z"))},
    }  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, environment, clear=True))
        for module in (_in_process, _run):
            stack.enter_context(patch.object(module, "output_of", partial(_timed, module.output_of)))
        clock = SimpleNamespace(perf_counter=lambda: 0.0, monotonic=time.monotonic)
        stack.enter_context(patch.object(client, "time", clock))
        pictures: dict[str, None] = {}
        stack.enter_context(patch.object(draw, "compile_all", partial(_note_pictures, pictures)))
        if collection:
            ignored = shutil.ignore_patterns(".git", "reports", "__pycache__", "rotten")
            shutil.copytree(collection, work, ignore=ignored, symlinks=True)
        else:
            work.mkdir()
            for step in part["before"]:
                act(step, work)
        _git(work, "init", "--quiet", "--initial-branch=main")
        act({"commit": "as it is"}, work)
        before, made = set(_files(work)), {}
        if "config" in part:
            url = stack.enter_context(serve(part.get("answers", {})))
            (place / "home/skill-health").mkdir()
            (place / "home/skill-health/config.toml").write_text(part["config"].replace("{url}", url), "utf-8")
        for step in steps_of(part):
            if "name" in step:
                made[step["name"]] = _mask(run(step, work), place)
            else:
                act(step, work)
        written = sorted(_files(work) - before)
        made["written.txt"] = "".join(sorted({MANY.sub(r"\1/...", _mask(path, place)) + "\n" for path in written}))
        for path in _first_of_kind(written):
            # No file system refuses such a name.
            made[f"written/{re.sub('[<>]', '', _mask(path, place))}"] = _mask(_shorten(work / path), place)
        for number, spec in enumerate(pictures, 1):
            made[f"pictures/{number:02}.json"] = json.dumps(json.loads(spec), indent=1, ensure_ascii=False) + "\n"
    return _name_same(made)


def _note_pictures(noted: dict[str, None], specs: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """Keep what would be drawn: drawing takes long, and is tested elsewhere."""
    every = list(specs)
    noted |= dict.fromkeys(every)
    return dict.fromkeys(every, ("400", "200", ""))


def _first_of_kind(paths: Sequence[str]) -> Iterator[str]:
    """What is worth keeping: of runs the first of each kind."""
    first: dict[str, str] = {}
    for path in paths:
        _, kind, run_id = RUN.match(path).groups() if RUN.match(path) else ("", "", "")
        if not LEFT_OUT.search(path) and first.setdefault(kind, run_id) == run_id:
            yield path


def _shorten(path: Path) -> str:
    """The text of a file, but of the lines of records only the first ones."""
    text = path.read_bytes().decode("utf-8", "backslashreplace")
    if path.suffix == ".html":  # a tag a line, without what stands in files of its own
        text = re.sub(r"(?s)(<(style|script)\b[^>]*>).*?(</\2>)", r"\1\3", text)
        text = re.sub(r"\s*(<[^>]*>)\s*", r"\n\1\n", text).replace("\n\n", "\n")
    lines = io.StringIO(text, newline="").readlines()
    kept = lines[:ROWS] if path.suffix == ".jsonl" else lines
    return "".join(kept) + (f"... {len(lines) - len(kept)} more lines\n" if len(kept) < len(lines) else "")


def _name_same(made: Mapping[str, str]) -> dict[str, str]:
    """The same, but where a long text is there already its name stands in its place."""
    there: dict[str, str] = {}
    kept = {}
    for name, text in made.items():
        head, body = HEAD.match(text).groups() if HEAD.match(text) else ("", text)
        printed, mark, told = body.partition("--- stderr\n")
        same = there.setdefault(printed.rstrip("\n"), name) if len(printed) > LONG else name
        kept[name] = text if same == name else f"{head}(the same as {same})\n{mark}{told}"
    return kept


def _timed(make: Any, words: Any, watch: Any, _: float) -> Any:
    return make(words, watch, SECONDS)


def _files(work: Path) -> set[str]:
    return {path.relative_to(work).as_posix() for path in work.rglob("*") if path.is_file()}


def _mask(text: str, place: Path) -> str:
    for folder, to in ((str(place / "collection"), "<here>"), (str(place), "<place>"), (str(ROOT), "<checkout>")):
        text = text.replace(folder, to)
    for pattern, to in MASKS:
        text = pattern.sub(to, text)
    return text


def run(step: Mapping[str, Any], work: Path) -> str:
    """Run one command in this process: its line, exit code, and what it printed."""
    line = step["run"]
    if "{" in line:
        try:
            line = line.format(**_names_in(work))
        except IndexError:
            return f"$ skill-health {line}\n(there is no such run)\n"
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(step.get("stdin", "").encode()), encoding="utf-8")
    folder = os.getcwd()
    os.chdir(work / step.get("in", ""))
    try:
        with (
            redirect_stdout(out), redirect_stderr(err), patch.object(sys, "stdin", given),
            patch.dict(os.environ, step.get("env", {})),
        ):  # fmt: skip
            code = main(shlex.split(line))
    finally:
        os.chdir(folder)
    said = [stream.detach().getvalue().decode() for stream in (out, err) if stream.flush() is None]
    printed, told = (text if text.endswith("\n") or not text else f"{text}\n(no newline)\n" for text in said)
    return f"$ skill-health {line}\n[exit {code}]\n{printed}" + (f"--- stderr\n{told}" if told else "")


def _names_in(work: Path) -> dict[str, Any]:
    """What a command line may name: the first skill, the ids of runs of each kind, the folders of shards."""
    skills = (path.relative_to(work).as_posix() for path in work.rglob("SKILL.md") if ".git" not in path.parts)
    shards = (path.parent.relative_to(work).as_posix() for path in work.glob("shard-*/*/*/manifest.json"))
    runs = {
        kind: sorted(path.parent.name for path in work.glob(f"reports/{kind}/*/manifest.json"))
        for kind in ("router", "effectiveness", "activation")
    }
    return {"skill": min(skills, default="."), "shards": sorted(shards), **runs}


def act(step: Mapping[str, Any], work: Path) -> None:
    """Do what a step says that runs no command."""
    if "copy" in step:
        for source in step["copy"]:
            shutil.copytree(ROOT / "fixtures" / source, work / step.get("to", source), dirs_exist_ok=True)
    for path, text in step.get("write", {}).items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_bytes((text if isinstance(text, str) else json.dumps(text) + "\n").encode())
        if path.endswith(".sh"):
            (work / path).chmod(0o755)
    for source in step.get("rows", ()):
        here = {path.name for path in (work / "skills").iterdir()}
        absent = {path.name for path in (ROOT / "fixtures/skills").iterdir()} - here
        lines = (ROOT / "fixtures" / source).read_text("utf-8").splitlines()
        rows = [row for row in map(json.loads, lines) if not absent & set(map(str, row.values()))][
            :: step.get("every", 1)
        ]
        kept = [{key: [each for each in value if each not in absent] if isinstance(value, list) else value
                 for key, value in row.items()} for row in rows]  # fmt: skip
        (work / source).parent.mkdir(parents=True, exist_ok=True)
        (work / source).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), "utf-8")
    for path, (pattern, to) in step.get("edit", {}).items():
        for file in sorted(work.glob(path))[:1]:
            text = file.read_bytes().decode("utf-8", "surrogateescape")
            file.write_bytes(re.sub(pattern, to, text, count=1).encode("utf-8", "surrogateescape"))
    for path in step.get("remove", ()):
        target = work / path
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    if "commit" in step:
        _git(work, "add", "--all")
        _git(work, "commit", "--quiet", "--allow-empty", "--message", step["commit"])


def _git(work: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=work, check=True)


@contextmanager
def serve(answers: Mapping[str, Any]) -> Iterator[str]:
    """The address of a server with the models `judge`, `rank` (by words in common) and those that `answers` names."""
    from tests.effectiveness.judge_made import preference, reply
    from tests.router.loopback import Loopback, Reaction, Seen, answer, ranking

    def react(seen: Seen) -> Reaction:
        if seen.model == "judge":
            text = json.dumps(preference(seen.text)) if "A_diff" in seen.text else reply(seen.text)
        elif seen.model == "rank":
            listed = re.findall(r"(?m)^\d+\. (\S+)\n(.*)$", seen.text)
            asked = set(re.findall(r"\w{4,}", seen.text.partition("<<<REQUEST")[2].partition("REQUEST>>>")[0].lower()))
            shares = {name: len(asked & set(re.findall(r"\w{4,}", told.lower()))) for name, told in listed}
            best = sorted((-count, name) for name, count in shares.items() if count)
            text = ranking(*([name for _, name in best[:2]] or ["none"]))
        else:
            text = json.dumps(answers[seen.model])
        return answer(seen, text)

    with Loopback(react) as server:
        yield server.url


def read_golden(part: str) -> dict[str, str]:
    """What is kept of a part, by name."""
    folder = GOLDEN / part
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def show_difference(before: str, after: str, name: str) -> str:
    """The lines that differ, as in a patch."""
    lines = [text.splitlines() for text in (before, after)]
    return "\n".join(difflib.unified_diff(*lines, f"golden/{name}", f"now/{name}", lineterm="", n=2))


def write(folder: Path, made: Mapping[str, str]) -> None:
    """Make a folder hold these files and no others."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in made:
            path.unlink()
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode("utf-8"))


def rewrite(names: Sequence[str]) -> None:
    """Bring tests/golden/ up to date and show what has changed."""
    table, changed = load_table(), 0
    for name in names or table:
        with tempfile.TemporaryDirectory() as place:
            made = play(table[name], Path(place))
        kept = read_golden(name)
        for file in sorted({*made, *kept}):
            if made.get(file) != kept.get(file):
                changed += 1
                print(show_difference(kept.get(file, ""), made.get(file, ""), f"{name}/{file}"))
        write(GOLDEN / name, made)
    print(f"{changed} files have changed")


def record(out: Path, collections: Sequence[Path]) -> None:
    """Play the part `days` over collections, with a folder for each."""
    part = load_table()["days"]
    for number, collection in enumerate(collections):
        name = f"{number:02}-{collection.resolve().name}"
        with tempfile.TemporaryDirectory() as place:
            made = play(part, Path(place), collection)
        write(out / name, made)
        print(f"{name}: {len(made)} files", flush=True)


def compare(before: Path, after: Path) -> int:
    """Say which files differ; the exit code."""
    files = [{path.relative_to(each).as_posix(): path.read_bytes() for path in each.rglob("*") if path.is_file()}
             for each in (before, after)]  # fmt: skip
    names = sorted({*files[0], *files[1]})
    differing = [name for name in names if files[0].get(name) != files[1].get(name)]
    for name in differing:
        print(f"differs: {name}")
    print(f"{len(names)} files, {len(differing)} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record(Path(sys.argv[2]).resolve(), [Path(each).expanduser().resolve() for each in sys.argv[3:]])
    elif sys.argv[1:2] == ["compare"]:
        sys.exit(compare(Path(sys.argv[2]), Path(sys.argv[3])))
    else:
        rewrite(sys.argv[1:])
