"""Templates -> folders of negative-control tasks, the same for the same seed."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache

from skill_health.bench.run_folder import TEMPORARY, growing_folder
from skill_health.core.errors import UsageError
from skill_health.core.files import is_there, kind_of
from skill_health.core.plugins import plugin_names
from skill_health.documents._targets import NO_SKILL
from skill_health.effectiveness import controls
from skill_health.effectiveness.controls._api import LEVELS, ControlDraft, Draw, Template

CATEGORY = "negative-control"
MOST = 2000
_OWN = ("generate",)
_VERIFY = """#!/bin/sh
# Are the lines of the answer those that were asked for?
exec python3 -B -E -S "$(dirname "$0")/verifier/check.py"
"""
_SOLVE = """#!/bin/sh
exec python3 -B -E -S "$(dirname "$0")/solve.py"
"""
_CHECK = '''"""Compares the lines of the answer with those that were to be found; blanks at their ends do not matter."""

import json
import os
import sys
from pathlib import Path

ANSWER = {answer}
LINES = {lines}


def main():
    path = Path(ANSWER)
    found = []
    if path.is_file() and not path.is_symlink() and path.stat().st_size < 200_000:
        text = path.read_text(encoding="utf-8", errors="replace")
        found = [line.strip() for line in text.splitlines() if line.strip()]
    right = sum(one == other for one, other in zip(found, LINES))
    print(f"{{right}} of {{len(LINES)}} lines are right; {{len(found)}} lines are there")
    passed = found == LINES
    if folder := os.environ.get("VERIFIER_DIR"):
        reward = 1.0 if passed else round(0.9 * right / max(len(LINES), len(found)), 4)
        Path(folder, "reward.json").write_text(json.dumps({{"reward": reward}}) + "\\n", encoding="utf-8")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
'''


@lru_cache(maxsize=1)
def templates() -> Mapping[str, Template]:
    """Every template by its name; a new one is a new module in this folder."""
    return {
        name.replace("_", "-"): importlib.import_module(f"{controls.__name__}.{name}").make
        for name in plugin_names(controls.__path__)
        if name not in _OWN
    }


def generate_controls(target: str, count: int, seed: int, irrelevant: Sequence[str]) -> list[str]:
    """Write so many tasks into a folder that is not there yet, or is empty; the ids of the tasks.

    Templates and levels alternate, and so do the names of `irrelevant` skills. It is all written at once or not at all.

    Raises UsageError for a folder that holds something or cannot be written, or a number out of range.
    """
    if not 1 <= count <= MOST:
        raise UsageError(f"--count is from 1 to {MOST}, not {count}")
    kind = kind_of(target)
    try:
        if is_there(target, links=False) and (kind != "folder" or os.listdir(target)):
            raise UsageError(f"{target} is there already and not empty: name another folder")
        with (_filled_folder if kind == "folder" else growing_folder)(target) as half:
            return [_write(half, number, seed, irrelevant) for number in range(1, count + 1)]
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror or error}") from error


@contextmanager
def _filled_folder(target: str) -> Iterator[str]:
    """A folder within an empty one, which stays what it is and gets what is put there in the end. Raises OSError."""
    half = tempfile.mkdtemp(prefix=TEMPORARY, dir=target)
    try:
        yield half
        for name in sorted(os.listdir(half)):
            os.rename(os.path.join(half, name), os.path.join(target, name))
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _write(folder: str, number: int, seed: int, irrelevant: Sequence[str]) -> str:
    names = list(templates())
    name = names[(number - 1) % len(names)]
    level = (number - 1) // len(names) % len(LEVELS)
    draft = templates()[name](Draw(f"{seed}/{number}/{name}"), level)
    task_id = f"nc{seed}-{number:04}"
    place = os.path.join(folder, f"{task_id}-{name}")
    metadata = {
        "id": task_id,
        "slug": name,
        "target_skill": NO_SKILL,
        "category": CATEGORY,
        "difficulty": LEVELS[level],
    }
    if irrelevant:
        metadata["irrelevant_skill"] = irrelevant[(number - 1) % len(irrelevant)]
    for path, text in _files(draft, metadata).items():
        full = os.path.join(place, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        if path.endswith(".sh"):
            os.chmod(full, 0o755)
    return task_id


def _files(draft: ControlDraft, metadata: Mapping[str, str]) -> dict[str, str]:
    lines = json.dumps(list(draft.expected), indent=4)
    return {
        "metadata.json": json.dumps(metadata, indent=2) + "\n",
        "task.md": f"# {draft.title}\n\n{draft.prompt}\n",
        **{f"starting/{path}": text for path, text in draft.starting.items()},
        "verify.sh": _VERIFY,
        "verifier/check.py": _CHECK.format(answer=json.dumps(draft.answer), lines=lines),
        "oracle/solve.sh": _SOLVE,
        "oracle/solve.py": draft.solve,
    }
