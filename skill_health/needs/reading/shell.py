"""Shell text as commands: programs with their words, read and never run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from skill_health.text.patterns import lazy

_PROMPT = lazy(r"^\s*(?:\$|>|%|❯|➜|PS [^>]{0,40}>)\s+")
_ASSIGNMENT = lazy(r"^(?:export\s+|\$env:)?([A-Za-z_]\w*)\s*=")
_HEREDOC = lazy(r"<<-?\s*[\"'\\]?(\w+)")
_SPLIT = lazy(r"&&|\|\||[;|]|\$\(|`|\bdo\b|\bthen\b|\belse\b|(?<!&)&(?!&|>|\d)")
_WORD = lazy(r"\"(?:[^\"\\]|\\.){0,300}\"|'[^']{0,300}'|[^\s\"']+")
_NAME = lazy(r"[A-Za-z][\w.+-]{0,60}")
_PATH = lazy(r"(?:\.{1,2}/|/|~/|\$\{?\w+\}?/|\{\w+\}/|<[^>]{1,60}>/|[\w.-]+/)[\w./${}<>-]*")
_WRAPPERS = frozenset(
    "sudo time env nohup exec command if while until ! do then else nice caffeinate doas elif watch timeout xargs "
    "stdbuf eval builtin".split()
)
_FLOW = frozenset("for case in done fi esac function select { } ( ) [ [[ ]] ]".split())
_MOST_WORDS, _MOST_LINES, _LONGEST = 60, 40, 4_000


class ShellCommand(NamedTuple):
    """One command of a text: the program without its folder, the words after it, and the line, counted from 0.

    `is_path` says that it is named by a path, as a script is; `assigned` are variables that are set for it or by it.
    """

    program: str
    words: tuple[str, ...]
    line: int
    text: str
    is_path: bool = False
    assigned: tuple[str, ...] = ()


def read_commands(text: str) -> Iterator[ShellCommand]:
    """The commands of a shell text, in order. Comments, here-documents and output below prompts are passed over."""
    lines = text.split("\n")
    prompted = any(line.lstrip().startswith("$ ") for line in lines)
    ending, joined, start = "", "", 0
    for nth, line in enumerate(lines):
        if ending:
            ending = "" if line.strip() == ending else ending
            continue
        if not joined:
            start = nth
            if prompted and not line.lstrip().startswith("$ "):
                continue
        joined += line[:_LONGEST].rstrip()
        if joined.endswith("\\") and len(joined) < _LONGEST:
            joined = joined[:-1] + " "
            continue
        if _is_open(joined) and len(joined) < _LONGEST and nth - start < _MOST_LINES:
            joined += " "
            continue
        if found := _HEREDOC.search(joined):
            ending = found[1]
        yield from _commands(joined, start)
        joined = ""
    if joined:
        yield from _commands(joined, start)


def _is_open(text: str) -> bool:
    """Whether a quotation of a line goes on below."""
    if "'" not in text and '"' not in text:
        return False
    if text.lstrip().startswith("#"):
        return False
    return any(mark in _WORD.sub("", text.replace("\\'", "").replace('\\"', "")) for mark in "'\"")


def _commands(line: str, nth: int) -> Iterator[ShellCommand]:
    line = _PROMPT.sub("", line, count=1)
    if not line.strip() or line.lstrip().startswith(("#", "//", "REM ", "::", "<!--")):
        return
    for part in _parts(line):
        if found := _command(part, nth, line):
            yield found


def _parts(line: str) -> Iterator[str]:
    """The parts of a line between operators, those within quotation marks left alone."""
    masked = _WORD.sub(lambda word: word[0] if word[0][0] not in "\"'" else "_" * len(word[0]), line)
    cut = masked.find(" #")
    end = cut if cut >= 0 else len(line)
    at = 0
    for operator in _SPLIT.finditer(masked, 0, end):
        yield line[at : operator.start()]
        at = operator.end()
    yield line[at:end]


def _command(part: str, nth: int, line: str) -> ShellCommand | None:
    words = [word[0] for word, _ in zip(_WORD.finditer(part), range(_MOST_WORDS), strict=False)]
    assigned: list[str] = []
    while words:
        word = words[0]
        if given := _ASSIGNMENT.match(word):
            assigned.append(given[1])
        elif word in ("export", "set", "setx") and len(words) > 1:
            assigned += [each.partition("=")[0] for each in words[1:] if each[:1].isalpha() or each[:1] == "_"][:1]
            return ShellCommand(word, tuple(words[1:]), nth, line.strip(), False, tuple(assigned))
        elif word in _FLOW:
            return None
        elif word not in _WRAPPERS and not (word[:1] == "-" and len(words) < len(part)):
            break
        words = words[1:]
    if not words:
        return ShellCommand("", (), nth, line.strip(), False, tuple(assigned)) if assigned else None
    first = words[0].strip("\"'(){}")
    rest = tuple(words[1:])
    if _NAME.fullmatch(first) or (first[:1] == "@" and len(first) < 60):
        return ShellCommand(first, rest, nth, line.strip(), False, tuple(assigned))
    if _PATH.match(first):
        return ShellCommand(first, rest, nth, line.strip(), True, tuple(assigned))
    return None
