"""Whether a drafted request is fit to be shown to a person: by rules that need no model, before anybody reads it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from skill_health.documents.prompt_draft import PromptContent
from skill_health.drafts.material import DraftingCollection
from skill_health.router.records import NONE, ListedSkill, Prompt
from skill_health.router.splits import NEAR
from skill_health.rules.fixtures._records import same_text
from skill_health.rules.leakage.prompt_names_skill import find_name
from skill_health.rules.leakage.quoted_prompt import find_quoted_run, holds_words, paragraphs_on_use
from skill_health.text import fingerprints
from skill_health.text.fingerprints import Words
from skill_health.text.patterns import lazy
from skill_health.text.secrets import find_secrets
from skill_health.text.similarity import STOP, terms
from skill_health.text.terminal import clean

SHORTEST, LONGEST = 8, 2_000
"""The characters that a request may have."""
_TELLING = 3
_FOREIGN, _OWN = 0.5, 0.05
_PLACEHOLDER = lazy(
    r"\{[^{}\n]{0,60}\}|<[a-z][a-z0-9 _-]{1,40}>|\[(?:your|insert|name|file|path|the)\b[^\]\n]{0,40}\]|\bTODO\b|\bXXX\b|lorem ipsum|\$\{?[A-Z_]{3,}"
)


@dataclass(frozen=True, slots=True)
class PromptFault:
    """Why a request is not fit: a stable word, and a sentence."""

    code: str
    message: str


class KnownPrompts:
    """The requests that are there already, of any skill: labelled, drafted or proposed.

    Two are nearly the same if the cosine of their telling words is NEAR or more. All words weigh the same: a request
    that was fit when it was proposed must not become unfit because others were proposed after it.
    """

    def __init__(self, prompts: Iterable[Prompt] = ()) -> None:
        self._texts: dict[str, str] = {}
        self._held: list[tuple[str, Counter[str]]] = []
        self._places: dict[str, list[int]] = {}
        for prompt in prompts:
            self.add(prompt.prompt_id, prompt.text)

    def add(self, prompt_id: str, text: str) -> None:
        """Take in one more."""
        self._texts.setdefault(same_text(text), prompt_id)
        words = Counter(terms(text, STOP))
        if len(words) >= _TELLING:
            for term in words:
                self._places.setdefault(term, []).append(len(self._held))
            self._held.append((prompt_id, words))

    def find_near(self, text: str) -> str:
        """The id of the first that is nearly the same; "" where none is."""
        if known := self._texts.get(same_text(text)):
            return known
        words = Counter(terms(text, STOP))
        if len(words) < _TELLING:
            return ""
        for place in sorted({place for term in words for place in self._places.get(term, ())}):
            prompt_id, others = self._held[place]
            if _cosine(words, others) >= NEAR:
                return prompt_id
        return ""


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(times * other[term] for term, times in one.items())
    return shared / math.sqrt(sum(n * n for n in one.values()) * sum(n * n for n in other.values()))


@dataclass(frozen=True)
class PromptRules:
    """What requests for one skill are held against. `known` are the requests that are there already, of any skill.

    `intent` is what the user wants to be tested, if anything was said.
    """

    collection: DraftingCollection
    skill: ListedSkill
    known: KnownPrompts
    intent: str = ""

    def find_fault(self, content: PromptContent, pasted: bool = False) -> PromptFault | None:
        """The first thing that is wrong with a request; None where nothing is.

        What people have `pasted` may hold what would be a placeholder elsewhere.
        """
        return next(self._faults(content, pasted), None)

    def _faults(self, content: PromptContent, pasted: bool) -> Iterator[PromptFault]:
        text = content.text
        if message := self._label_fault(content):
            yield PromptFault("label", message)
        flat = text.replace("\n", " ").replace("\t", " ")
        if clean(flat) != flat:
            yield PromptFault("unprintable", "it holds characters that cannot be seen")
        if len(text.strip()) < SHORTEST:
            yield PromptFault("too_short", f"it has fewer than {SHORTEST} characters")
        if len(text) > LONGEST:
            yield PromptFault("too_long", f"it has {len(text):,} characters, and {LONGEST:,} are allowed")
        if not pasted and (found := _PLACEHOLDER.search(text)):
            yield PromptFault("placeholder", f"it holds a placeholder: {found.group()}")
        if find_secrets(text):
            yield PromptFault("secret", "it holds what looks like a key or a token")
        for name in self._names(content):
            if words := find_name(text, name):
                yield PromptFault("names_skill", f"it names the skill that it tests: {words}")
        if quoted := self._quoted(content):
            yield PromptFault("quotes_description", f"what says when to use the skill holds it: {quoted}")
        if self._is_foreign(text):
            yield PromptFault("other_script", "it is written in another script than the skill")
        if near := self.known.find_near(text):
            yield PromptFault("near_duplicate", f"nearly the same request is there already: {near}")

    def notes(self, content: PromptContent) -> tuple[str, ...]:
        """What a reviewer should know: where the free router sends the request, if not where the label says."""
        if len(self.collection.catalogue.shown) < 2 or content.role == "none":
            return ()
        first = self.collection.router.first(content.text)
        wanted = content.expected or NONE
        if first == wanted or first in content.acceptable:
            return ()
        return (f"the free router finds {'no skill' if first == NONE else first}",)

    def _label_fault(self, content: PromptContent) -> str:
        names = self.collection.by_name
        own = self.skill.name
        for name in (*filter(None, [content.expected]), *content.acceptable, *content.rejected):
            if name not in names:
                return f"no listed skill is called {name}"
        if content.expected and content.expected in content.rejected:
            return "the same skill is expected and rejected"
        if content.role == "positive":
            return "" if content.expected == own else "a positive expects the skill itself"
        if own not in content.rejected:
            return "the skill that must not fire is not among those that are rejected"
        if content.role == "none":
            return "" if content.expected is None and not content.acceptable else "a request for none expects no skill"
        return "" if content.expected else "a near miss expects a sibling"

    def _names(self, content: PromptContent) -> Iterator[str]:
        """The names that the text must not hold: those of the skill itself, and of the one that is expected."""
        for skill in dict.fromkeys((self.skill, self.collection.by_name.get(content.expected or "", self.skill))):
            yield from dict.fromkeys((skill.name, *skill.aliases))

    def _quoted(self, content: PromptContent) -> str:
        """The words that a description, or what says when to use the skill, holds of the request; "" where none."""
        words = fingerprints.split(content.text)
        meaning = frozenset(terms(content.text, STOP))
        limit = self.collection.config.limits.containment
        for name in dict.fromkeys((self.skill.name, content.expected or self.skill.name)):
            known = self.collection.by_name.get(name)
            place, held = _read_description(known.description if known else "")
            on_use = paragraphs_on_use(self.collection.skills[known.path]) if known else ()
            for held_by in (place, *(fingerprints.split(text) for _, text in on_use)):
                if run := find_quoted_run(held_by, words):
                    return " ".join(content.text[words.starts[run.b] : words.ends[run.b + run.length - 1]].split())
            if holds_words(held, meaning, limit):
                return "nearly all of its words"
        return ""

    def _is_foreign(self, text: str) -> bool:
        own = f"{self.skill.description}\n{self.skill.body[:20_000]}\n{self.intent}"
        return _beyond_latin(text) > _FOREIGN and _beyond_latin(own) < _OWN


@lru_cache(maxsize=1024)
def _read_description(text: str) -> tuple[Words, frozenset[str]]:
    return fingerprints.split(text), frozenset(terms(text, STOP))


def _beyond_latin(text: str) -> float:
    """The share of letters that are not of the Latin script; 0 where there are none."""
    letters = [char for char in text if char.isalpha()]
    return sum(char > "\u024f" for char in letters) / len(letters) if letters else 0.0
