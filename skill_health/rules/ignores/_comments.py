"""`<!-- skill-health: ignore CODE reason -->` for the next block, `ignore-file` for the whole file."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from skill_health.rules._api import Finding, named_by
from skill_health.text.patterns import lazy

if TYPE_CHECKING:
    from skill_health.skill.model import Comment, Document, Skill

_MARK = lazy(r"\s*skill-health:\s*(ignore(?:-file)?)\b\s*(.*)", re.DOTALL)
_CODE = lazy(r"(?<![\w-])(?:[A-Z]{2}\d{0,3}|[A-Z]{3,8}\d{3}|[a-z]+(?:-[a-z]+)+)\b")


# Whoever writes a skill that harms its user writes its comments too: only a configuration can except it.
UNSILENCED = "safety"


class Ignore(NamedTuple):
    """One inline comment: the codes it silences on lines `first` to `last`, its reason and its position."""

    codes: tuple[str, ...]
    first: int
    last: int
    reason: str
    path: str
    line: int
    col: int


def read_ignores(skill: "Skill") -> tuple[Ignore, ...]:
    """The inline comments of a skill that address the linter."""
    return tuple(
        ignore
        for comment in skill.body.comments
        if "skill-health" in comment.text and (ignore := _read(comment, skill)) is not None
    )


def _read(comment: "Comment", skill: "Skill") -> Ignore | None:
    match = _MARK.match(comment.text)
    if not match:
        return None
    words = match[2].replace(",", " ").split()
    codes = []
    while words and _CODE.fullmatch(words[0]):
        codes.append(words.pop(0))
    first, last = (1, len(skill.lines)) if match[1] == "ignore-file" else _next_block(skill.body, comment)
    return Ignore(tuple(codes), first, last, " ".join(words), skill.path, comment.line, comment.col)


def _next_block(body: "Document", comment: "Comment") -> tuple[int, int]:
    """From the comment to the end of the block after it; a comment inside a paragraph covers that paragraph."""
    for start, end in _paragraphs(body):
        if start <= comment.line <= end:
            return start, end
    after = [(start, -end) for start, end in list_blocks(body) if start > comment.end_line]
    if not after:
        return comment.line, comment.end_line
    return comment.line, -min(after)[1]


def _paragraphs(body: "Document") -> list[tuple[int, int]]:
    return [(p.line, p.line + p.text.count("\n")) for p in body.prose if p.kind != "cell"]


def list_blocks(body: "Document") -> list[tuple[int, int]]:
    """The first and last line of everything that a comment may stand before; a list is one block."""
    blocks = _paragraphs(body)
    blocks += [(b.line, b.end_line) for b in body.blocks]
    blocks += [(t.line, t.end_line) for t in body.tables]
    items = sorted((i.line, i.end_line) for i in body.items if i.depth == 1)
    for n, (start, end) in enumerate(items):
        follows = n > 0 and start <= items[n - 1][1] + 1
        items[n] = (items[n - 1][0] if follows else start, end)
    last_of: dict[int, int] = {}
    for start, end in items:
        last_of[start] = max(end, last_of.get(start, 0))
    return [*blocks, *last_of.items()]


def apply(findings: Sequence[Finding], ignores: Sequence[Ignore]) -> tuple[list[Finding], list[tuple[Ignore, str]]]:
    """Drop ignored findings: return those left and the (ignore, code) pairs that silenced nothing."""
    if not ignores:
        return list(findings), []
    used: set[tuple[Ignore, str]] = set()
    left = []
    for finding in findings:
        silencers = [
            (ignore, code)
            for ignore in ignores
            if finding.family != UNSILENCED
            and ignore.path == finding.path
            and ignore.first <= finding.line <= ignore.last
            for code in ignore.codes
            if named_by(code, finding.code, finding.rule)
        ]
        used.update(silencers)
        if not silencers:
            left.append(finding)
    return left, [(ignore, code) for ignore in ignores for code in ignore.codes if (ignore, code) not in used]


def report(
    comments: Sequence[Ignore],
    unused: Sequence[tuple[Ignore, str]],
    ran: Sequence[tuple[str, str]],
    known: Sequence[tuple[str, str]],
) -> list[Finding]:
    """The findings of the rule about these comments; `ran` and `known` are (code, name) pairs of rules."""
    from skill_health.rules.ignores import unused_ignore as rule

    if not comments or not any(code == rule.CODE for code, _ in ran):
        return []
    return [
        Finding(
            rule.CODE, "unused-ignore", "ignores", rule.SEVERITY, ignore.path, ignore.line, ignore.col, 0, 0,
            message, "Name the rule, or remove it from the comment.", "", ignore.path, f"{ignore.path}:{message}",
        )
        for ignore, message in rule.check_ignores(comments, unused, ran, known)
    ]  # fmt: skip
