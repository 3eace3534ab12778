"""A description quotes the prompts that test it

## What
Reports a router prompt or activation case if a description, or a section on when to use the skill, contains six or more
of its words in a row, or nearly all of its words (`limits.containment`, of at least eight meaningful ones). Runs of
everyday words are left alone, and so are runs that more than three skills share.

## Why
A description tuned on the test prompts scores well on them and no better on what users say: the routing figures then
measure memorisation.

## Bad
```markdown
description: ... Use when my agent keeps forgetting what we decided yesterday ...     (prompt p012, word for word)
```

## Good
```markdown
description: ... Use when state has to survive between sessions ...
```

## Fix
Reword the description, or retire the prompt and write a new one. There is no automatic fix.

## Source
evidence · the descriptions of a published router benchmark were tuned on the prompts that test them; read 2026-11.
"""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from skill_health.registries.records import RegistryRecord
from skill_health.rules._api import Context, Corpus, CorpusContext, Hit, Severity, SkillSummary
from skill_health.skill.model import Skill, Span
from skill_health.skill.sections import roles_of
from skill_health.text import fingerprints as prints
from skill_health.text.fingerprints import SharedWords, Words
from skill_health.text.similarity import STOP, containment, terms

CODE = "LE009"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

LEAST = 6
_TELLING = 3
_MOST_SKILLS = 3
_LEAST_TERMS = 8
_HELP = "Reword the passage, or retire the prompt and write a new one."


class ComparedText(NamedTuple):
    """A text of a skill that prompts are compared with. `line` is that of its first word; 0 for the description."""

    skill: SkillSummary
    line: int
    text: str
    words: Words
    terms: frozenset[str]


def collect(skill: Skill, context: Context) -> Any:
    """The paragraphs on when to use the skill as [[line, text], ...]; None if there are no prompts."""
    if not context.registries.prompts and not context.registries.activation:
        return None
    return [[line, text] for line, text in paragraphs_on_use(skill)]


def paragraphs_on_use(skill: Skill) -> Iterator[tuple[int, str]]:
    """The paragraphs and items of the sections on when to use a skill, with their lines."""
    body = skill.body
    ranges = [(s.line, s.end_line) for s in body.sections if "when_to_use" in roles_of(s.heading.title)]
    for prose in body.prose:
        if prose.kind != "heading" and any(first <= prose.line <= last for first, last in ranges):
            yield prose.line, prose.text


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each prompt at most once for each skill, at the longest passage."""
    records = [*(context.registries.prompts or ()), *(context.registries.activation or ())]
    if not records:
        return
    prompts = [prompt for record in records if isinstance(prompt := record.data.get("prompt"), str)]
    asked = {value for prompt in prompts for value in prints.grams(prints.words_of(prompt), LEAST)}
    places = [place for skill in corpus.wanted() for place in _places(skill)]
    if any(value in asked for place in places for value in prints.grams(place.words.words, LEAST)):
        places = [place for skill in corpus.skills for place in _places(skill)]
    grams: dict[int, list[int]] = {}
    for number, place in enumerate(places):
        for value in set(prints.grams(place.words.words, LEAST)):
            grams.setdefault(value, []).append(number)
    for record in records:
        prompt = record.data.get("prompt")
        if isinstance(prompt, str):
            yield from _judge(record, prompt, places, grams, context.config.limits.containment)


def _places(skill: SkillSummary) -> Iterator[ComparedText]:
    for line, text in [(0, skill.description), *(skill.facts.get(CODE) or ())]:
        yield ComparedText(skill, line, text, prints.split(text), frozenset(terms(text, STOP)))


def _judge(
    record: RegistryRecord, prompt: str, places: list[ComparedText], grams: dict[int, list[int]], limit: float
) -> Iterator[Hit]:
    words = prints.split(prompt)
    meaning = frozenset(terms(prompt, STOP))
    held: dict[str, tuple[int, Hit]] = {}
    near = {n: value for value in prints.grams(words.words, LEAST) for n in grams.get(value, ())}
    for number, place in enumerate(places):
        hit = None
        if number in near and len({places[n].skill.path for n in grams[near[number]]}) <= _MOST_SKILLS:
            hit = _quoted(record, prompt, words, place)
        if hit is None and place.line == 0 and holds_words(place.terms, meaning, limit):
            share = containment(meaning, place.terms)
            hit = (0, _hit(record, place, 0, f"{share:.0%} of the words", prompt))
        if hit is not None and hit[0] >= held.get(place.skill.path, (-1,))[0]:
            held[place.skill.path] = hit
    for _, found in sorted(held.items()):
        yield found[1]


def _quoted(record: RegistryRecord, prompt: str, words: Words, place: ComparedText) -> tuple[int, Hit] | None:
    run = find_quoted_run(place.words, words)
    if run is None:
        return None
    quoted = prompt[words.starts[run.b] : words.ends[run.b + run.length - 1]]
    return run.length, _hit(record, place, place.words.starts[run.a], f"{run.length} words", quoted)


def find_quoted_run(place: Words, prompt: Words) -> SharedWords | None:
    """The longest run of at least LEAST words, not only everyday ones, that a prompt shares with a text."""
    runs = prints.shared_runs(place.words, prompt.words, LEAST)
    runs = [run for run in runs if len(set(place.words[run.a : run.a + run.length]) - STOP) >= _TELLING]
    return max(runs, key=lambda run: (run.length, -run.a), default=None)


def holds_words(place: Collection[str], meaning: Collection[str], limit: float) -> bool:
    """Whether a text holds at least this share of the telling words of a prompt, if it has several of them."""
    return _LEAST_TERMS <= len(meaning) <= len(place) and containment(meaning, place) >= limit


def _hit(record: RegistryRecord, place: ComparedText, offset: int, much: str, quoted: str) -> Hit:
    name = record.data.get("prompt_id") or record.data.get("case_id")
    where = "description" if place.line == 0 else "section on when to use the skill"
    line = place.line + place.text.count("\n", 0, offset)
    span = Span(line, 1, line, 1) if place.line else place.skill.description_span
    shown = " ".join(quoted.split())[:160]
    message = f"the {where} holds {much} of prompt {name!r} ({record.path}:{record.line}): {shown!r}"
    return Hit(span, message, _HELP, place.skill.path)
