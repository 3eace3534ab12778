"""Globs as git has them (gitignore(5), read 2026-11), as predicates over names and paths.

`*` and `?` stay within a name, `[...]` is a class of characters, `\\` takes the next character as it is, and `**`
between slashes stands for any number of folders. No glob, however hostile, takes exponential time.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from skill_health.text.patterns import lazy

_SPECIAL = lazy(r"[*?\[\\]")
_CLASS_NAMES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \\t", "digit": "0-9", "lower": "a-z", "space": "\\s",
    "upper": "A-Z", "punct": "!-/:-@\\[-`{-~", "xdigit": "0-9A-Fa-f", "graph": "!-~", "print": " -~",
    "cntrl": "\\x00-\\x1f\\x7f",
}  # fmt: skip


def glob_matcher(glob: str, by_path: bool) -> Callable[[str], object] | None:
    """A predicate over names or paths; plain ones, as most lines are, need no regular expression."""
    if not glob:
        return None
    if is_plain(glob):
        return glob.__eq__
    rest = glob[1:]
    if not by_path and glob[0] == "*" and is_plain(rest):
        return lambda name: name.endswith(rest)
    source = _path_regex(_segments(glob)) if by_path else _segment_regex(glob)
    return re.compile(source, re.DOTALL).fullmatch if source is not None else None


def is_plain(glob: str) -> bool:
    """Whether a glob is just a text, without wildcards or escapes."""
    return not _SPECIAL.search(glob)


def tail_matcher(glob: str) -> Callable[[str], object]:
    """A predicate that is true of every name that a path matched by this glob can end in."""
    tail = _segments(glob)[-1]
    return _anything if tail.startswith("**") else glob_matcher(tail, False) or _anything


def _anything(_: str) -> bool:
    return True


def _segments(glob: str) -> list[str]:
    """The parts of a glob between its slashes, save those inside a class."""
    parts = [""]
    at = 0
    while at < len(glob):
        end = at + 1
        if glob[at] == "[":
            end = _class_regex(glob, end)[1]
        elif glob[at] == "\\":
            end += 1
        if glob[at] == "/":
            parts.append("")
        else:
            parts[-1] += glob[at:end]
        at = end
    return parts


def _path_regex(segments: list[str]) -> str | None:
    """A regular expression for a path.

    The runs of segments between two `**` are atomic: the first place where one fits is as good as any later one,
    because `**` takes whole segments. So a failing match is given up at once and takes no exponential time.
    """
    runs: list[list[str]] = [[]]
    for segment in segments:
        if len(segment) > 1 and not segment.strip("*"):
            runs.append([])
            continue
        source = _segment_regex(segment)
        if source is None:
            return None
        runs[-1].append(source)
    parts = ["".join(source + "/" for source in runs[0])] if len(runs) > 1 else ["/".join(runs[0])]
    parts += [f"(?>(?:[^/]+/)*?{''.join(source + '/' for source in run)})" for run in runs[1:-1] if run]
    if len(runs) > 1:
        parts.append("(?:[^/]+/)*" + "/".join(runs[-1]) if runs[-1] else ".+")
    return "".join(parts)


def _segment_regex(glob: str) -> str | None:
    """A regular expression for a name; None where the glob is malformed and so matches nothing."""
    pieces = [""]
    at = 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "*":
            pieces.append("") if pieces[-1] or len(pieces) == 1 else None
        elif char == "?":
            pieces[-1] += "[^/]"
        elif char == "[":
            source, at = _class_regex(glob, at)
            if not source:
                return None
            pieces[-1] += source
        elif char == "\\":
            if at >= len(glob):
                return None
            pieces[-1] += re.escape(glob[at])
            at += 1
        else:
            pieces[-1] += re.escape(char)
    if len(pieces) == 1:
        return pieces[0]
    return pieces[0] + "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1]) + "[^/]*" + pieces[-1]


def _class_regex(glob: str, at: int) -> tuple[str, int]:
    """The regular expression of a `[...]` whose inside starts at `at`, and where it ends; ("", at) where malformed."""
    negated = glob[at : at + 1] in ("!", "^")
    at += negated
    source = ""
    first = True
    while at < len(glob) and (glob[at] != "]" or first):
        first = False
        if glob.startswith("[:", at) and (end := glob.find(":]", at)) >= 0:
            if glob[at + 2 : end] not in _CLASS_NAMES:
                return "", at
            source += _CLASS_NAMES[glob[at + 2 : end]]
            at = end + 2
            continue
        low, at = _class_char(glob, at)
        source += re.escape(low)
        if glob[at : at + 1] == "-" and glob[at + 1 : at + 2] not in ("", "]"):
            high, at = _class_char(glob, at + 1)
            source += f"-{re.escape(high)}" if low <= high else ""
    if at >= len(glob):
        return "", at
    return f"(?!/)[{'^' if negated else ''}{source}]", at + 1


def _class_char(glob: str, at: int) -> tuple[str, int]:
    """One character inside a class, unescaped, and where the next one starts."""
    if glob[at] == "\\" and at + 1 < len(glob):
        at += 1
    return glob[at], at + 1
