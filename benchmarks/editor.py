"""How much does the server do for one key, against starting Python?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count

from benchmarks._measure import Command, Options, Sample, environment, measure, python
from benchmarks._table import Ratio, absolutes, ratios
from benchmarks._trees import prepare
from skill_health.server.session import EditorSession

TITLE = "A key in the editor"
ROUNDS = 21
BASE = '`python -c "pass"`'
FIRST = "opened, everything in the cache"
BODY = "a key in the text"
DESCRIPTION = "a key in the description"
SAVED = "saved: the disk is looked at anew"


def run(options: Options) -> Iterator[str]:
    """Type into one skill of a collection, in this process: what a check takes, without the pipe to the editor."""
    tree = prepare(options)
    env = environment(options.scratch)
    (tree.root / "skill-health.toml").touch()
    paths = (os.path.realpath(tree.root / skill) for skill in tree.skills)
    path, text = next((path, text) for path in paths if "\ndescription: " in (text := _read(path)))
    keys = count(1)
    session = EditorSession()

    def check(texts: Mapping[str, str]) -> Callable[[], object]:
        return lambda: session.check(texts)

    def saved() -> object:
        session.forget()
        return session.check({path: text})

    with _cache_in(env["SKILL_HEALTH_CACHE_DIR"]):
        EditorSession().check({path: text})
        session.check({path: text})
        samples: dict[str, list[Sample]] = {name: [] for name in (BASE, FIRST, BODY, DESCRIPTION, SAVED)}
        for _ in range(options.rounds):
            samples[BASE].append(measure(Command(python("-c", "pass"), tree.root, env)))
            samples[FIRST].append(_timed(lambda: EditorSession().check({path: text})))
            samples[BODY].append(_timed(check({path: f"{text}\nOne more word {next(keys)}"})))
            other = text.replace("\ndescription: ", f"\ndescription: Word{next(keys)} ", 1)
            samples[DESCRIPTION].append(_timed(check({path: other})))
            samples[SAVED].append(_timed(saved))
    yield (
        f"{tree.name}, of which one is open. Each check is that of a running server with an unsaved text, and takes in "
        "what the rules find between all skills. An editor's keys that come while one is at work wait for the next, together."
    )
    yield ratios(samples, [Ratio(name, BASE) for name in (BODY, DESCRIPTION, SAVED, FIRST)])
    yield absolutes({name: runs for name, runs in samples.items() if name == BASE})


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return file.read()


class _cache_in:
    """The cache in a folder of its own for a while."""

    def __init__(self, folder: str) -> None:
        self.folder, self.before = folder, os.environ.get("SKILL_HEALTH_CACHE_DIR")

    def __enter__(self) -> None:
        os.environ["SKILL_HEALTH_CACHE_DIR"] = self.folder

    def __exit__(self, *_: object) -> None:
        del os.environ["SKILL_HEALTH_CACHE_DIR"]
        if self.before is not None:
            os.environ["SKILL_HEALTH_CACHE_DIR"] = self.before


def _timed(function: Callable[[], object]) -> Sample:
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return Sample(time.perf_counter() - wall, time.process_time() - cpu, 0)
