"""Text that was read in the wrong encoding and saved again, turned back: `donâ€™t` was `don’t`."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.text.patterns import lazy

# What the bytes 0x80 to 0x9F are where browsers and editors read them as Windows-1252 (WHATWG, "windows-1252"). The
# five bytes that it leaves open stay what they are, as in ISO 8859-1.
_WINDOWS = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ"
_BYTES = {ord(char): 0x80 + at for at, char in enumerate(_WINDOWS)}
_TRAIL = rf"[\x80-\xbf{_WINDOWS}]"
_RUN = lazy(rf"[\x80-\xff{_WINDOWS}]+")
# A character of two to four bytes in UTF-8, of which each byte was read as one of Windows-1252 or ISO 8859-1.
_MISREAD = lazy(rf"[\xc2-\xdf]{_TRAIL}|[\xe0-\xef]{_TRAIL}{{2}}|[\xf0-\xf4]{_TRAIL}{{3}}")
# Quotes, the bullet and dashes of Windows-1252, read as ISO 8859-1: nobody means these control characters.
_LONE = lazy(r"[\x91-\x97]")
# What may well follow an accented letter: `é——` is no Chinese.
_PUNCTUATION = frozenset("‘’“”–—…•›")
_MOST_TIMES = 4


def misread_spans(line: str) -> list[tuple[int, int, str]]:
    """The parts of a line that were read in the wrong encoding: (start, end, what they were).

    What was misread twice or more often is turned back as often.
    """
    found = []
    for run in _RUN.finditer(line):
        was = _turn_back(run.group())
        if was != run.group():
            found.append((run.start(), run.end(), was))
    return found


def _turn_back(text: str) -> str:
    for _ in range(_MOST_TIMES):
        # Somewhere in it a letter must be followed by what no letter is followed by.
        is_certain = any(_PUNCTUATION.isdisjoint(found) for found in _pairs(text))
        now = _MISREAD.sub(lambda match: _read_as_utf8(match.group()), text) if is_certain else text
        if now == text:
            break
        text = now
    return _LONE.sub(lambda match: _WINDOWS[ord(match.group()) - 0x80], text)


def _pairs(text: str) -> Iterator[str]:
    """Of each character that may have been misread, the one of its bytes after the first that is most telling."""
    for match in _MISREAD.finditer(text):
        yield next((char for char in match.group()[1:] if char not in _PUNCTUATION), match.group()[1])


def _read_as_utf8(text: str) -> str:
    try:
        was = bytes(_BYTES.get(ord(char), ord(char)) for char in text).decode("utf-8")
    except UnicodeDecodeError:
        return text
    # Of two bytes, `É”` at the end of a quotation would be a letter that hardly any language has.
    if was in _WINDOWS:
        return was
    return text if "\u0180" <= was <= "\u036f" or "\u0530" <= was <= "\u058f" or "\u0700" <= was < "\u0800" else was
