"""Requests without a model: sentences that people write, filled with what a skill says of itself.

They are weaker than what people or models write: they share the words of the description, so that a router which
compares words finds them too easily. Each is labelled so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from skill_health.core.files import blake2b
from skill_health.documents._draft import DraftOrigin
from skill_health.documents.prompt_draft import PromptContent
from skill_health.drafts.material import DraftingCollection
from skill_health.drafts.prompts.phrases import PhraseKind, SkillPhrase, find_phrases
from skill_health.drafts.prompts.propose import ProposedPrompt
from skill_health.router.records import ListedSkill
from skill_health.text.patterns import lazy
from skill_health.text.similarity import STOP
from skill_health.text.stems import stem_words

_SENTENCES: dict[PhraseKind, tuple[tuple[str, str], ...]] = {
    "action": (
        ("can-you", "Can you {}?"),
        ("need-to", "I need to {} today."),
        ("help-me", "help me {}, first time for me"),
        ("by-friday", "We have to {} by Friday."),
        ("quickest", "what's the quickest way to {}?"),
        ("asked-to", "My boss asked me to {}, how does that work?"),
        ("please", "please {} for me"),
        ("trying", "been trying to {} since this morning, can you do it"),
    ),
    "quote": (("said", "{}"),),
    "situation": (
        ("what-now", "I have {}. What now?"),
        ("got", "just got {}, how should I deal with it?"),
        ("stuck", "there's {} here and I'm stuck, please help"),
    ),
    "need": (
        ("get-me", "I'd like {}, can you do that?"),
        ("we-need", "We need {} by tomorrow."),
    ),
}  # fmt: skip
# Requests of any day; whether a collection has a skill for one of them is for the reviewer to see.
_EVERYDAY = (
    "thanks, that's all for today",
    "What is 15 percent of 240?",
    "how many days are there until new year's eve",
    "Good morning! Did you sleep well?",
    "give me three names for a rabbit",
    "What's the capital of Mongolia?",
    "is it spelled accommodate or accomodate",
    "My tea always gets cold. Which mug keeps it warm longest?",
    "tell me a joke about cats",
    "How long do I boil an egg so that the yolk stays soft?",
    "which is further from the sun, mars or jupiter",
    "What should I cook with two leeks and some rice?",
    "whats the time difference between lisbon and tokyo",
    "Recommend me a novel that is set on an island.",
    "How tall is the Eiffel Tower?",
    "why do onions make you cry",
)
_SHORT = lazy(r"(?<![\w.-])[A-Z]{3,5}s?(?![\w-])")
_ENDING = lazy(r"(?<![\w/])\.[a-z0-9]{2,5}(?![\w.])")
# Shouted, not abbreviated.
_SHOUTED = frozenset(
    "ALL ALSO ANY BEFORE BUT CAN DO EACH EVEN EVER EVERY FIRST FOR FROM HOW IF LAST MUST NEVER NOT NOW OFF ONLY OUT OWN SKIP THE THEN "
    "THIS TODO TRUE USE WHAT WHEN WHO WHY WITH YES YOU YOUR AND ARE GET HAS NEW NOTE STOP RUN SET TOP".split()
)
_PLURAL = lazy(r"^(?:an?|the|my|our|this|one)\b", re.IGNORECASE)


AnyItem = TypeVar("AnyItem")
_SPARE = 4


@dataclass(frozen=True, slots=True)
class FilledTemplate:
    """A request with the name of its template, and what the requests of the same phrase share."""

    content: PromptContent
    template: str
    family: str


def propose_from_templates(collection: DraftingCollection, skill: ListedSkill, most: int) -> list[ProposedPrompt]:
    """Requests of each role, filled with what the skill and its siblings say: more than the `most` that are wanted."""
    many = _SPARE * most
    own = find_phrases(collection.skills[skill.path])
    siblings = [(other, find_phrases(collection.skills[other.path])) for other in collection.siblings(skill)]
    filled: list[FilledTemplate] = [
        *fill_positives(skill, own, many),
        *fill_near_misses(skill, siblings, many),
        *fill_none(skill, many),
    ]
    return [
        ProposedPrompt(skill, each.content, DraftOrigin(by="template", template=each.template), each.family, spare=True)
        for each in filled
    ]


def fill_positives(skill: ListedSkill, phrases: Sequence[SkillPhrase], most: int) -> list[FilledTemplate]:
    """Requests that must find the skill: one for each phrase, then others for the same phrases, at most so many."""
    return [
        FilledTemplate(
            PromptContent(text=text, role="positive", expected=skill.name, reason=_reason(skill.name, phrase)),
            name,
            _family(skill.name, phrase.text),
        )
        for phrase, name, text in _filled(skill.name, phrases, most)
    ]


def fill_near_misses(
    skill: ListedSkill, others: Sequence[tuple[ListedSkill, Sequence[SkillPhrase]]], most: int
) -> list[FilledTemplate]:
    """Requests that must find a sibling and not the skill; the siblings take turns.

    Only what a sibling says that the skill does not is asked for, what shares a word with the skill first.
    """
    own = frozenset(stem_words(f"{skill.name.replace('-', ' ')} {skill.description}"))
    columns: list[list[FilledTemplate]] = []
    for other, phrases in others:
        apart = [phrase for phrase in phrases if _telling(phrase.text) - own]
        apart.sort(key=lambda phrase: not (_telling(phrase.text) & own))
        columns.append([
            FilledTemplate(
                PromptContent(
                    text=text, role="near_miss", expected=other.name, rejected=(skill.name,),
                    reason=_reason(other.name, phrase),
                ),
                name,
                _family(other.name, phrase.text),
            )
            for phrase, name, text in _filled(f"{skill.name}|{other.name}", apart, most)
        ])  # fmt: skip
    turns = (column[at] for at in range(most) for column in columns if at < len(column))
    return list(turns)[:most]


def fill_none(skill: ListedSkill, most: int) -> list[FilledTemplate]:
    """Requests that must find no skill: what its abbreviations mean, what opens its files, and everyday ones."""
    found = [*_about_words(skill), *(("everyday", text) for text in _in_turn(f"none|{skill.name}", _EVERYDAY))]
    return [
        FilledTemplate(
            PromptContent(text=text, role="none", expected=None, rejected=(skill.name,), reason=_WHY[name]),
            name,
            _family("none", text),
        )
        for name, text in found[:most]
    ]


_WHY = {
    "stands-for": "General knowledge about a word of the skill; nothing is to be done.",
    "opens": "General knowledge about a kind of file of the skill; nothing is to be done.",
    "everyday": "An everyday request that has nothing to do with the skill.",
}


def _about_words(skill: ListedSkill) -> Iterator[tuple[str, str]]:
    said = set(skill.body.split()) | set(skill.description.split())
    shorts = dict.fromkeys(word.rstrip("s") for word in _SHORT.findall(skill.description))
    known = [word for word in shorts if word not in _SHOUTED and word.lower() not in said]
    if known:
        yield "stands-for", f"what does {known[0]} stand for?"
    if endings := list(dict.fromkeys(_ENDING.findall(skill.description))):
        yield "opens", f"Which program opens {endings[0]} files on a Mac?"


def _filled(seed: str, phrases: Sequence[SkillPhrase], most: int) -> Iterator[tuple[SkillPhrase, str, str]]:
    """Each phrase in its next template, then again in another one, as long as there are any: at most so many."""
    given = 0
    turns = {kind: _in_turn(f"{seed}|{kind}", sentences) for kind, sentences in _SENTENCES.items()}
    for again in range(2):
        at = dict.fromkeys(_SENTENCES, again)
        for phrase in phrases:
            sentences = turns[phrase.kind]
            if again >= len(sentences):
                continue
            name, sentence = sentences[at[phrase.kind] % len(sentences)]
            at[phrase.kind] += 1
            if given == most:
                return
            given += 1
            yield phrase, name, _fit(sentence, phrase.text)


def _fit(sentence: str, phrase: str) -> str:
    if sentence.startswith("there's {}") and not _PLURAL.match(phrase):
        sentence = "I've got {} here and I'm stuck, please help"
    if sentence.startswith("We "):
        phrase = re.sub(r"\bmy\b", "our", phrase)
    return sentence.format(phrase)


def _in_turn(seed: str, items: Sequence[AnyItem]) -> list[AnyItem]:
    """The items from a seeded start on, so that skills do not all begin with the same."""
    start = int.from_bytes(blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "big") % len(items)
    return [*items[start:], *items[:start]]


def _telling(text: str) -> set[str]:
    return {stem for word in text.split() if word.lower() not in STOP for stem in stem_words(word)}


def _reason(name: str, phrase: SkillPhrase) -> str:
    where = {"description": "The description", "heading": "A heading", "list": "A list"}[phrase.place]
    return f"{where} of {name} says: {phrase.text}."


def _family(name: str, phrase: str) -> str:
    """What phrases of the same stems share, whichever skill a request is drafted for."""
    mark = blake2b(" ".join(sorted(set(stem_words(phrase)))).encode(), digest_size=5).hexdigest()
    return f"{name}/{mark}"
