"""Which findings are new: a finding is old if the earlier state has one that it can be paired with."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from skill_health.lint.gate.moves import Moves
from skill_health.rules._api import Finding
from skill_health.text.patterns import lazy

_DIGITS = lazy(r"\d+")
_WORD = lazy(r"[^\s,;:()'\"]+(?:[,:][^\s,;:()'\"]+)*")
_COUNT = lazy(r"\d[\d,]*")
_LINKS = "links"


class PlacedFinding(NamedTuple):
    """A finding and the text that it points at: its line, or the marked part where the line must not be shown."""

    finding: Finding
    text: str
    secret: bool = False


def list_new(old: Sequence[PlacedFinding], new: Sequence[PlacedFinding], moves: Moves) -> list[Finding]:
    """The findings of the later state that the earlier one has not, or has as less severe, in their order.

    Each finding of before excuses one of now: first one that says the same of the same line, then one that says it of
    another line of the same file, since a line may have been edited. A reference that led nowhere may do so in another
    way. Last, as the words of a finding about several things change with each of them, one of the same rule about
    mostly the same skills, or one that named no fewer things in the same file.
    """
    left = [(each, _read(each, moves)) for each in old]
    waiting = [(at, each, _read(each, None)) for at, each in enumerate(new)]
    worse: list[tuple[int, Finding]] = []
    for level in (_same, _edited, _still_broken):
        known: dict[Hashable, list[PlacedFinding]] = {}
        for each, words in left:
            if (key := level(words)) is not None:
                known.setdefault(key, []).append(each)
        paired: set[int] = set()
        still = []
        for at, each, words in waiting:
            found = known.get(level(words))
            if not found:
                still.append((at, each, words))
                continue
            # The least severe last: the others are as bad as what is left.
            found.sort(key=lambda one: one.finding.severity.rank)
            earlier = found.pop(0)
            paired.add(id(earlier))
            if each.finding.severity.rank < earlier.finding.severity.rank:
                worse.append((at, each.finding))
        left = [(each, words) for each, words in left if id(each) not in paired]
        waiting = still
    worse += _unlike(left, waiting)
    return [finding for _, finding in sorted(worse, key=lambda found: found[0])]


class _Words(NamedTuple):
    """What findings of two states are compared by."""

    code: str
    path: str
    message: str
    text: str
    secret: bool
    reference: str
    skills: frozenset[str]
    several: bool
    named: frozenset[str]
    counts: tuple[int, ...]


def _read(placed: PlacedFinding, moves: Moves | None) -> _Words:
    finding, reword = placed.finding, (moves.reword if moves else str)
    follow: Callable[[str], str] = moves.follow if moves else str
    message = reword(finding.message)
    if finding.family != _LINKS:
        # Sizes and counts vary; in the name of a file a digit says which file it is.
        message = _DIGITS.sub("#", message)
    about = frozenset(map(follow, (finding.skill or finding.path, *finding.also)))
    place = f"{finding.col}-{finding.end_col}" if is_broken_reference(finding) else ""
    path, several = follow(finding.path), bool(finding.also)
    listed = _WORD.findall(reword(f"{finding.message} {finding.help}") if moves else finding.message)
    counts = tuple(int(word.replace(",", "")) for word in _WORD.findall(finding.message) if _COUNT.fullmatch(word))
    named = frozenset(word.rstrip(".") for word in listed if not _COUNT.fullmatch(word))
    return _Words(finding.code, path, message, placed.text, placed.secret, place, about, several, named, counts)


def _same(words: _Words) -> Hashable:
    return words.code, words.path, words.message, words.text


def _edited(words: _Words) -> Hashable:
    return None if words.secret else (words.code, words.path, words.message)


def _still_broken(words: _Words) -> Hashable:
    return (words.path, words.text, words.reference, words.counts) if words.reference else None


def is_broken_reference(finding: Finding) -> bool:
    """Whether a finding is that a link, path, anchor or name leads nowhere."""
    return finding.family == _LINKS and finding.rule.startswith(("broken-", "missing-"))


def _unlike(
    left: Iterable[tuple[PlacedFinding, _Words]], waiting: Iterable[tuple[int, PlacedFinding, _Words]]
) -> Iterator[tuple[int, Finding]]:
    """What is left of the later state but findings that one left of the earlier state is about, too."""
    kept = list(left)
    for at, each, words in waiting:
        pair = next((one for one in kept if _overlap(one[1], words) or _shrunk(one[1], words)), None)
        if pair is None or each.finding.severity.rank < pair[0].finding.severity.rank:
            yield at, each.finding
        if pair is not None:
            kept.remove(pair)


def _overlap(one: _Words, other: _Words) -> bool:
    """Whether both are about several skills, most of them the same."""
    if one.code != other.code or not one.several or not other.several or other.path not in one.skills:
        return False
    return 2 * len(one.skills & other.skills) > len(one.skills | other.skills)


def _shrunk(one: _Words, other: _Words) -> bool:
    """Whether the later of two findings names nothing that the earlier does not name, and counts no more."""
    if (one.code, one.path) != (other.code, other.path) or one.secret or other.secret:
        return False
    grown = len(one.counts) == len(other.counts) and any(map(int.__lt__, one.counts, other.counts))
    return other.named <= one.named and not grown


def marked_text(finding: Finding, lines: Sequence[str]) -> PlacedFinding:
    """A finding with the text that it points at, of the lines of its file."""
    line = lines[finding.line - 1] if 0 < finding.line <= len(lines) else ""
    if finding.source or not line.strip():
        return PlacedFinding(finding, finding.source.strip())
    end = finding.end_col - 1 if finding.end_line in (0, finding.line) and finding.end_col > finding.col else None
    return PlacedFinding(finding, line[finding.col - 1 : end], secret=True)


def mentions(text: str, name: str) -> bool:
    """Whether a text has a name that is no part of a longer one."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None
