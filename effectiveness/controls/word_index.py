"""An index of a text: lines of each word, then of words that are asked for, then with ranges and stems."""

from __future__ import annotations

from skill_health.effectiveness.controls._api import PLACES, WORDS, ControlDraft, Draw

_SOLVE = """import re

LEVEL = {level}
pages = {{}}
for number, line in enumerate(open("text.txt", encoding="utf-8"), 1):
    for word in re.findall("[a-z]+", line.lower()):
        if LEVEL == 2 and word.endswith("s") and word[:-1] in open("words.txt").read().split():
            word = word[:-1]
        pages.setdefault(word, []).append(number)
out = []
for word in open("words.txt").read().split():
    lines = sorted(set(pages.get(word, [])))
    if LEVEL == 0:
        out.append(f"{{word}} {{len(pages.get(word, []))}}")
        continue
    parts, at = [], 0
    while at < len(lines):
        end = at
        while LEVEL == 2 and end + 1 < len(lines) and lines[end + 1] == lines[end] + 1:
            end += 1
        if end - at >= 2:
            parts.append(f"{{lines[at]}}-{{lines[end]}}")
        else:
            parts += map(str, lines[at : end + 1])
        at = end + 1
    out.append(f"{{word}}: {{', '.join(parts) or 'none'}}")
open("index.txt", "w", encoding="utf-8").write("\\n".join(out) + "\\n")
"""
_RULES = (
    "the word, one space, and how often it stands in the text, in capitals or not",
    "the word, a colon, one space, and the numbers of the lines that it stands in, in capitals or not, from 1 on, each once, with "
    "a comma and a space between them, or `none`",
    "the word, a colon, one space, and the numbers of the lines that it or its plural with `s` stands in, in capitals or not, from 1 "
    "on, each once, with a comma and a space between them, or `none`. Three or more lines in a row are written as the first and "
    "the last with a hyphen between them, as in `4-7`",
)


def make(draw: Draw, level: int) -> ControlDraft:
    """A text of unconnected words, to be looked through."""
    count = (8, 20, 45)[level]
    wanted = draw.some(WORDS, 4 + 3 * level)
    lines: list[list[tuple[str, str]]] = []
    for _ in range(count):
        line = []
        for _ in range(draw.whole(4, 8)):
            word = draw.pick(wanted) if draw.chance(0.3) else draw.pick((*WORDS, *(place.lower() for place in PLACES)))
            shown = f"{word}s" if level == 2 and draw.chance(0.3) else word
            line.append((word if level == 2 else shown, shown.capitalize() if draw.chance(0.2) else shown))
        lines.append(line)
    return ControlDraft(
        title="An index",
        prompt=(
            "Please write an index of `text.txt` to the file `index.txt`: one line for each word of `words.txt`, in that order, "
            f"with {_RULES[level]}."
        ),
        starting={
            "text.txt": "".join(f"{' '.join(shown for _, shown in line)}.\n" for line in lines),
            "words.txt": "".join(f"{word}\n" for word in wanted),
        },
        answer="index.txt",
        expected=[_entry(word, lines, level) for word in wanted],
        solve=_SOLVE.format(level=level),
    )


def _entry(word: str, lines: list[list[tuple[str, str]]], level: int) -> str:
    if not level:
        return f"{word} {sum(each == word for line in lines for each, _ in line)}"
    found = [number for number, line in enumerate(lines, 1) if any(each == word for each, _ in line)]
    groups: list[list[int]] = []
    for number in found:
        if level == 2 and groups and groups[-1][-1] == number - 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    said = [f"{each[0]}-{each[-1]}" if len(each) > 2 else ", ".join(map(str, each)) for each in groups]
    return f"{word}: {', '.join(said) or 'none'}"
