"""Neutral text in the place of a skill: the same listing, the same length, and nothing that helps.

Name and description stay, so that the agent is offered the same and opens it as often; the body becomes prose about
lighthouses, as long in bytes as the body was. Bundled files are left out: a script that does nothing would be a trap.
What a target gains over it is what its content is worth, beyond having something to read.
"""

from __future__ import annotations

from skill_health.core.files import blake2b
from skill_health.effectiveness.copies import SKILL, make_copy
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.tasks._folder import File
from skill_health.skill import frontmatter
from skill_health.skill.decode import decode

_SENTENCES = (
    "A lighthouse is a tower with a lamp at its top, and it stands where ships would otherwise lose their way.",
    "The oldest of them burned wood, later ones coal, and their keepers carried the fuel up by hand.",
    "Oil lamps were brighter and needed less room, but their glass had to be wiped every few hours.",
    "A lens made of many rings throws nearly all the light of a small flame towards the horizon.",
    "Such a lens can weigh several tons, and it used to float on a bath of mercury so that a finger could turn it.",
    "Each tower has its own rhythm of flashes and pauses, which sailors find in a printed list.",
    "By day a tower is known by its paint: bands, spirals, or one plain colour against the cliff.",
    "Fog hides light, so bells, guns and horns were added, and their sound was described in the same lists.",
    "The rooms inside are round, and furniture for them was often built on the spot.",
    "Stairs wind along the wall, and a weight on a chain once hung in the middle of them to drive the clockwork.",
    "Keepers wrote down the weather, the ships they saw and the hours at which the lamp was lit.",
    "On rocks far from the coast two or three keepers lived together for weeks, until the boat came.",
    "In storms the boat could not land, and the relief was late by a month more than once.",
    "Towers on sand stand on iron piles that were screwed into the ground.",
    "Towers on rock were built of stones that lock into each other like the pieces of a puzzle.",
    "Waves reach higher than one would think, and some lanterns have been broken by them forty metres up.",
    "Electric lamps made the keepers' work shorter, and automatic ones ended it.",
    "Many towers are now cared for by societies that paint them and show them to visitors.",
    "Some have become small hotels, where the guests climb the same stairs.",
    "Their light is still on at night, although ships carry other means to know where they are.",
)
_PARAGRAPH = 5


def placebo(skill: SkillCopy) -> SkillCopy:
    """The placebo of a skill; the same one each time."""
    whole = next((file.data for file in skill.files if file.path == SKILL), b"")
    head, body = _split(whole)
    start = blake2b(skill.name.encode()).digest()[0] % len(_SENTENCES)
    return make_copy(skill.name, skill.description, [File(SKILL, head + _prose(len(body), start))], placebo=True)


def _split(data: bytes) -> tuple[bytes, bytes]:
    """The frontmatter with its fences, and the rest; all is body where there is no frontmatter.

    Cut by position and not written anew: what agents are offered stays the same to the byte.
    """
    text, _, encoding, _ = decode(data)
    above = frontmatter.read(text).first - 1 if encoding == "utf-8" else 0
    lines = data.splitlines(keepends=True)
    return b"".join(lines[:above]), b"".join(lines[above:])


def _prose(size: int, start: int) -> bytes:
    """Prose of exactly so many bytes, cut at a word and filled with full stops."""
    parts: list[str] = []
    length, number = 0, 0
    while length < size:
        parts.append(_SENTENCES[(start + number) % len(_SENTENCES)])
        number += 1
        parts.append("\n\n" if number % _PARAGRAPH == 0 else " ")
        length += len(parts[-2]) + len(parts[-1])
    text = "".join(parts)[: max(size - 1, 0)]
    words = text[: text.rfind(" ")] if size < length and " " in text else text
    return (words.rstrip().ljust(max(size - 1, 0), ".") + "\n").encode("ascii")[:size]
