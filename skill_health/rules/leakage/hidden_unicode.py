"""The text holds characters that nobody sees

## What
Reports, in SKILL.md and in the text files beside it:

- tag characters (U+E0000 to U+E007F), which spell a hidden message, shown in the finding; error;
- bidirectional overrides and embeddings, which show text in another order than it is read; error;
- two or more variation selectors in a row, which can carry any bytes; error;
- zero-width and filler characters (U+200B, U+2060, U+FEFF inside the text, Hangul fillers ...); warning.

Left alone: joiners inside emoji, flags, joiners and zero-width spaces in the scripts that need them (Persian, Indic
scripts, Thai ...), isolates and embeddings on a line of Hebrew or Arabic, a single variation selector, and the
byte-order mark at the start.

## Why
A person reviews what is shown; the model reads what is there. Hidden instructions are smuggled into skills that
way, and even a stray zero-width space breaks a command that is copied.

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

from collections.abc import Iterator

from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.leakage._bundled import all_texts
from skill_health.rules.leakage._invisible import OVERRIDE, SELECTORS, TAG, ZERO_WIDTH, invisible, may_hide, tag_text
from skill_health.skill.model import Skill, Span

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
                in_code = path is not None or any(first <= number <= last for first, last in code)
                yield _hit(number, line, kind, runs, path, safe=not in_code)


def _hit(number: int, line: str, kind: str, runs: list[tuple[int, int]], path: str | None, *, safe: bool) -> Hit:
    count = sum(end - start for start, end in runs)
    hidden = "".join(tag_text(line[start:end]) for start, end in runs) if kind == TAG else ""
    says = f", which spell {hidden[:60]!r}" if hidden else f" (U+{ord(line[runs[0][0]]):04X})"
    message = f"{count} {_SAYS[kind]}{says}"
    edits = tuple(Edit(Span(number, start + 1, number, end + 1), "") for start, end in runs)
    first = edits[0].span
    fix = Fix("remove the invisible characters", edits, safe)
    return Hit(first, message, _HELP, path, fix, Severity.WARNING if kind == ZERO_WIDTH else None)
