"""Claim ids in the body of a skill."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from skill_health.registries.records import Registries
from skill_health.skill.model import Document, Skill
from skill_health.text.patterns import lazy

MAX_IDS = 1000  # per skill; a file with more is data, and must not cost more
CLAIM_ID = lazy(r"(?<![\w/.-])claim-[a-z0-9][a-z0-9-]*[a-z0-9](?![\w/-])")


class Id(NamedTuple):
    """A cited claim id. `marked` is true if it cannot be an ordinary hyphenated word.

    An id in a comment also counts for the lines right beside the comment.
    """

    name: str
    line: int
    col: int
    marked: bool
    comment: bool = False


def claim_ids(skill: Skill) -> tuple[Id, ...]:
    """The claim ids in the body (the first MAX_IDS), outside code blocks, in order of position."""
    if "claim-" not in skill.text:
        return ()
    return tuple(sorted(islice(_ids(skill.body), MAX_IDS), key=lambda entry: (entry.line, entry.col)))


def known_ids(registries: Registries) -> frozenset[str] | None:
    """The ids of the claims registry, including those of broken lines; None if there is no registry."""
    if registries.claims is None:
        return None
    broken = {entry.record_id for entry in registries.bad if entry.kind == "claims" and entry.record_id}
    return frozenset({str(record.data["claim_id"]) for record in registries.claims} | broken)


def _ids(body: Document) -> Iterator[Id]:
    for prose in body.prose:
        if "claim-" in prose.plain:
            for match in CLAIM_ID.finditer(prose.plain):
                around = prose.plain[max(0, match.start() - 12) : match.start()].rstrip().lower()
                marked = around.endswith(("[", "(", "{", "claim_id:", "claim:", "claims:", "claim id", "claim_id"))
                line, col = body.position(prose, match.start())
                yield Id(match.group(), line, col, marked)
    for code in body.codes:
        if CLAIM_ID.fullmatch(name := code.text.strip(" []")):
            yield Id(name, code.line, code.col + code.text.find(name), True)
    for comment in body.comments:
        for match in CLAIM_ID.finditer(comment.text):
            before = comment.text[: match.start()]
            newline = before.rfind("\n")
            col = comment.col + 4 + match.start() if newline < 0 else match.start() - newline
            yield Id(match.group(), comment.line + before.count("\n"), col, True, True)
