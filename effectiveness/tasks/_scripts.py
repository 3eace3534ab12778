"""Verifiers and oracles that were written for a container: its paths, and what must not run outside one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from skill_health.effectiveness.tasks._folder import MAX_TEXT, File
from skill_health.text.patterns import lazy

WORKSPACE, VERIFIER, ORACLE, REWARDS = "workspace", "verifier", "oracle", "rewards"
# Where containers keep what is not the task's; a script that needs one of them cannot run here.
_FOREIGN = ("/app", "/root", "/workspace", "/data", "/home", "/logs", "/tests", "/solution", "/oracle", "/verifier")
# What may stand around a whole path: `$dir/app`, `https://host/app` and `/app-old` hold none.
_BEFORE, _AFTER = r"(?<![\w./:~)}*-])", r"(?![\w-]|\.\w)"
# Variables that make a trial what it is, and that no task may set.
RESERVED = frozenset(("PATH", "HOME", "TMPDIR", "LD_PRELOAD", "LD_LIBRARY_PATH", "VERIFIER_DIR", "FINAL_MESSAGE"))
_MOST_TOLD = 5
_INSTALLS = lazy(
    r"(?:^|[;&|({`]|\b(?:then|do|else|exec|env|sudo)\s)[^\S\n]*(?P<command>(?:sudo\s+)?(?:"
    r"(?:apt|apt-get|apk|yum|dnf|brew|conda|mamba)\s+\S|(?:pip|pip3|pipx|uv)\s+\S|uvx\s|npx\s|(?:npm|yarn|pnpm|bun)\s+\S|"
    r"(?:cargo|gem|go)\s+install|(?:curl|wget)\s|git\s+clone|docker\s|(?:[\w./-]{0,99}/)?python3?\s+-m\s+pip\b)[^;&|]{0,40})",
    re.MULTILINE,
)
_VARIABLE = lazy(r"\$\{(?P<name>\w+)(?::?-(?P<default>[^}]*))?\}|\$(?P<bare>\w+)")


def default_value(text: str) -> str | None:
    """A value in which `${NAME:-default}` is replaced by the default; None where a variable has none."""
    missing = False

    def replace(match: re.Match[str]) -> str:
        nonlocal missing
        missing = missing or match["default"] is None
        return match["default"] or ""

    replaced = _VARIABLE.sub(replace, text)
    return None if missing else replaced


def replace_places(text: str, places: Sequence[tuple[str, str]]) -> str:
    """A text with paths of a container, whole ones only, replaced; of two that fit the longer one."""
    if not places:
        return text
    targets = dict(places)
    longest = "|".join(re.escape(path) for path in sorted(targets, key=len, reverse=True))
    return re.sub(rf"{_BEFORE}(?:{longest}){_AFTER}", lambda match: targets[match.group()], text)


def text_of(file: File) -> str | None:
    """The text of a file; None for other than UTF-8 text."""
    try:
        return None if b"\0" in file.data else file.data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def script_blockers(name: str, files: Iterable[File], places: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Why the scripts of a folder cannot run outside a container: at most a few lines, each with its place."""
    told = 0
    for file in files:
        text = text_of(file) if len(file.data) <= MAX_TEXT else None
        for line, reason in _reasons(file.path, text, places) if text else ():
            told += 1
            if told <= _MOST_TOLD:
                yield f"{name}/{file.path}:{line}: {reason}"


def names_place(text: str, path: str) -> int:
    """The line, from 1, in which a text names this path or one below it; 0 where it does not."""
    match = re.search(rf"{_BEFORE}{re.escape(path)}{_AFTER}", text)
    return text.count("\n", 0, match.start()) + 1 if match else 0


def _reasons(path: str, text: str, places: Sequence[tuple[str, str]]) -> Iterator[tuple[int, str]]:
    if path.endswith((".sh", ".bash")):
        for number, line in enumerate(text.split("\n"), 1):
            if not line.lstrip().startswith("#") and (match := _INSTALLS.search(line)):
                yield (
                    number,
                    f"{match['command'].strip()!r} installs or downloads, which is not done outside a container",
                )
    known = {place for place, _ in places}
    rest = replace_places(text, places)
    for foreign in _FOREIGN:
        if foreign not in known and (line_number := names_place(rest, foreign)):
            yield line_number, f"names {foreign}, a folder that only a container has"
