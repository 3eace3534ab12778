"""The text contains invisible characters

## What
Reports, in SKILL.md and in the text files beside it:

- tag characters (U+E0000 to U+E007F), which spell a hidden message, shown in the finding; error;
- bidirectional overrides and embeddings, which display text in a different order from the one it is read in; error;
- two or more variation selectors in a row, which can carry any bytes; error;
- zero-width and filler characters (U+200B, U+2060, U+FEFF inside the text, Hangul fillers ...): a warning where there
  are eight or more in a row, which can spell something, else information, and in Markdown and plain text only.

Left alone: joiners inside emoji, flags, joiners and zero-width spaces in the scripts that need them (Persian, Indic
scripts, Thai ...), one before the marks of a code fence or alone between quotation marks, isolates and embeddings on
a line of Hebrew or Arabic, a single variation selector, and the byte-order mark at the start.

## Why
A person reviews what is shown; the model reads what is there. That is how hidden instructions are smuggled into skills,
and even a stray zero-width space breaks a copied command.

## Bad
```markdown
Run the tests.(here: 60 tag characters that spell an instruction)
```

## Good
```markdown
Run the tests.
```

## Fix
`--fix` removes the characters; in code, where they may be the point of an example, only `--unsafe-fixes` does.

## Source
MUST · Unicode Technical Standard 55, "Source code handling", and CVE-2021-42574; read 2026-11.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.leakage._bundled import all_texts
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

TAG, OVERRIDE, SELECTORS, ZERO_WIDTH = "tag", "override", "selectors", "zero-width"

# Bidirectional controls, zero-width and filler characters, variation selectors, the Tags block (Unicode 16).
# A selector on its own chooses an emoji or a glyph; two in a row choose nothing.
_HIDDEN = lazy(
    "[\u202a-\u202e\u2066-\u2069]+"
    "|[\u200b-\u200d\u2060-\u2064\u206a-\u206f\u180e\ufeff\u115f\u1160\u3164\uffa0\u034f]+"
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"
    "|[\U000e0000-\U000e007f]+"
)
_ASCII = bytes(range(128))
_FLAG = lazy("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
_OVERRIDES = frozenset("\u202d\u202e")
# Scripts whose spelling or line breaking needs joiners or zero-width spaces, by the names of their letters.
_JOINING = (
    "ARABIC", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA",
    "MONGOLIAN", "SYRIAC", "TIBETAN", "NKO", "MEETEI", "THAI", "LAO", "KHMER", "MYANMAR", "BALINESE", "JAVANESE",
)  # fmt: skip
_EMOJI = frozenset(("So", "Sk"))


def may_hide(text: str) -> bool:
    """Whether a text contains any hidden run: a quick test, which looks at non-ASCII characters only."""
    if text.isascii():
        return False
    rest = text.encode("utf-8", "replace").translate(None, _ASCII).decode("utf-8", "replace")
    return _HIDDEN.search(rest) is not None


def invisible(line: str) -> list[tuple[int, int, str]]:
    """The hidden runs of one line as (start, end, kind), without those that its script or emoji need."""
    if line.isascii():
        return []
    flags = [match.span() for match in _FLAG.finditer(line)]
    found = []
    for match in _HIDDEN.finditer(line):
        start, end = match.span()
        first = match.group()[0]
        if first >= "\U000e0000" and first < "\U000e0100":
            if any(a < start < b for a, b in flags):
                continue
            found.append((start, end, TAG))
        elif first in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069":
            if _OVERRIDES.isdisjoint(match.group()) and _right_to_left(line):
                continue
            found.append((start, end, OVERRIDE))
        elif "\ufe00" <= first <= "\ufe0f" or first >= "\U000e0100":
            found.append((start, end, SELECTORS))
        elif end - start > 1 or not (
            _needed(first, line[start - 1 : start], line[end : end + 1]) or _meant(line, start)
        ):
            found.append((start, end, ZERO_WIDTH))
    return found


def tag_text(run: str) -> str:
    """What a run of tag characters spells in ASCII."""
    return "".join(chr(ord(char) - 0xE0000) for char in run if "\U000e0020" <= char <= "\U000e007e")


def _needed(char: str, before: str, after: str) -> bool:
    if not before or not after:
        return False
    if char == "\u200d" and (_emoji(before) and _emoji(after)):
        return True
    return char in "\u200b\u200c\u200d\u2060\u034f\u180e" and (_joins(before) or _joins(after))


def _meant(line: str, at: int) -> bool:
    """Whether the author put it there to be seen: it keeps a fence from being one, or is quoted."""
    before, after = line[:at], line[at + 1 :]
    fence = not before.strip() and after.startswith(("```", "~~~"))
    return fence or (bool(before) and before[-1] in "\"'`" and after.startswith(before[-1]))


def _emoji(char: str) -> bool:
    return char in "\ufe0f\u2640\u2642" or unicodedata.category(char) in _EMOJI


def _joins(char: str) -> bool:
    return unicodedata.name(char, "").startswith(_JOINING)


def _right_to_left(line: str) -> bool:
    return any(unicodedata.bidirectional(char) in ("R", "AL") for char in line)


CODE = "LE005"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True

_SAYS = {
    TAG: "hidden tag characters",
    OVERRIDE: "bidirectional control characters, which reorder what is shown",
    SELECTORS: "variation selectors in a row, which can carry hidden data",
    ZERO_WIDTH: "zero-width or filler characters",
}
_HELP = "Remove them; --fix does it."
_SPELLING = 8  # as many as the bits of a letter


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report one finding per line and kind, at the first run of that kind."""
    code = [(block.line, block.end_line) for block in skill.body.blocks]
    for path, text in all_texts(skill, context):
        if not may_hide(text):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            found = invisible(line)
            for kind in sorted({run[2] for run in found}):
                runs = [(start, end) for start, end, what in found if what == kind]
                if _grade(kind, runs) is Severity.INFO and path is not None and not path.endswith((".md", ".txt")):
                    continue
                in_code = path is not None or any(first <= number <= last for first, last in code)
                yield _hit(number, line, kind, runs, path, safe=not in_code)


def _grade(kind: str, runs: list[tuple[int, int]]) -> Severity | None:
    if kind != ZERO_WIDTH:
        return None
    return Severity.WARNING if max(end - start for start, end in runs) >= _SPELLING else Severity.INFO


def _hit(number: int, line: str, kind: str, runs: list[tuple[int, int]], path: str | None, *, safe: bool) -> Hit:
    count = sum(end - start for start, end in runs)
    hidden = "".join(tag_text(line[start:end]) for start, end in runs) if kind == TAG else ""
    says = f", which spell {hidden[:60]!r}" if hidden else f" (U+{ord(line[runs[0][0]]):04X})"
    message = f"{count} {_SAYS[kind]}{says}"
    edits = tuple(Edit(Span(number, start + 1, number, end + 1), "") for start, end in runs)
    first = edits[0].span
    fix = Fix("remove the invisible characters", edits, safe)
    return Hit(first, message, _HELP, path, fix, _grade(kind, runs))
