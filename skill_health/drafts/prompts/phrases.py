"""What a skill says that it does -> short actions in the infinitive, such as "merge several PDFs into one".

English only, by rules that would rather find nothing than something that nobody would say. Looked at are the
description, the headings, and the lists below headings on when to use the skill.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from skill_health.rules.leakage.quoted_prompt import LEAST
from skill_health.skill.model import Skill
from skill_health.skill.sections import governing, roles_of
from skill_health.text.fingerprints import words_of
from skill_health.text.patterns import lazy
from skill_health.text.similarity import STOP, terms
from skill_health.text.stems import stem_words

VerbForm = Literal["base", "third", "gerund"]
PhraseKind = Literal["quote", "action", "situation", "need"]

FEWEST_WORDS, MOST_WORDS = 2, 11
_MOST_TEXT = 12_000
_LINE = 400


@dataclass(frozen=True, slots=True)
class SkillPhrase:
    """A phrase for a request, and where it was found: in the description, a heading, or a list.

    It is a `quote` of what users say, an `action` ("rotate pages"), a `situation` that somebody is in ("a failing
    test"), or a `need` ("a second opinion").
    """

    kind: PhraseKind
    text: str
    place: Literal["description", "heading", "list"]


_ASIDE = lazy(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|<[^<>]*>")
_MARKUP = lazy(r"[*`]+|_{2,}")
# A hyphen within a word joins; what separates clauses has blanks around it.
_CLAUSE = lazy(r"(?<=[.!?])\s+|(?<!\s)\s+[–—-]{1,2}\s+|[;:]\s+|\n+|—")
_AGAINST = lazy(
    r"\b(?:not|never|n't|don't|avoid|skip|instead|rather than|without|unless|except|out of scope|no longer)\b",
    re.IGNORECASE,
)
_PART = lazy(r",\s*(?:and/or|and|or)?\s+|(?<!\s)\s+(?:and/or|and|or)\s+|/(?=[a-z]+ing\b)")
_LEAD = lazy(
    r"^(?:(?:also|then|always|please|must|should|can|to|use|used|useful|apply|trigger|triggers|invoke|activate|load|run|call|for|when"
    r"|whenever|while|if|this|these|the|skill|includes?|including|supports?|supporting|helps?|helping|covers?|covering|handles?|it|you|user"
    r"|users|someone|they|wants?|needs?|asks?|asked|requests?|mentions?|says|says|any|task|tasks|time|where|involves?"
    r"|involving|about|on|in|with|that|is|are|guides?|through|comprehensive|systematic|knowledge|guide|tool|toolkit|techniques?"
    r"|need|want|explicitly|automatically|proactively|before|after)\s+)+",
    re.IGNORECASE,
)
_WISH = lazy(
    r"\b(?:user|users|you|someone|they|people|developer|developers)\s+(?:\w+\s+)?(?:wants?|needs?|asks?|asked|requests?)"
    r"\s+(?:you\s+|claude\s+|for help\s+)?(?:to\s+|with\s+)?(?P<rest>.+)",
    re.IGNORECASE,
)
_MET = lazy(r"\b(?:you(?:'ve got| have)|facing|encountering|hitting|receiving|seeing)\s+(?P<rest>.+)", re.IGNORECASE)
_DURING = lazy(r"\A.*?\b(?:when|whenever|while|for)\s+(?=[a-z-]+ing\b)", re.IGNORECASE)
_CUT = lazy(
    r"(?<!\s)\s*(?:\b(?:when|whenever|if|before|after|because|so that|even|especially|such as|including|like|that|which|who|where|while"
    r"|whether|as well|as|rather|instead|via|through|regardless|until|unless|per|e\.g|i\.e|etc|until they|to make|to ensure|to avoid"
    r"|based on|following|according|leveraging|followed|for \d+)\b|[.!?](?=\s|$)|[;:\"“”<>|=(){}\[\]…→]).*$",
    re.IGNORECASE,
)
_QUOTE = lazy(r"(?<![\w])[\"“]([^\"“”\n]{4,140})[\"”]|(?<![\w])'([^'\n]{6,140})'(?![\w])")
_SAID = lazy(
    r"^(?:can|could|would|how|what|why|which|where|is|are|do|does|i|i'm|i've|we|my|our|help|please|let|let's|make|need|want)\b"
)
_PLACEHOLDER = lazy(r"\b[XYZN]\b|\.\.\.|…|[<>{}\[\]$|\\]|_{2,}|\bfoo\b|\bTODO\b")
_TALK = lazy(
    r"\b(?:users?|claude|codex|assistant|model|llms?|you|they|them|it|its|itself|this|these|those|he|she|we|us|skill must|above|below|etc"
    r"|previous|following|each other|one|anything|everything|something|such|same|other|others|their|own|whole|yes|no)\b",
    re.IGNORECASE,
)
_ANY = lazy(r"\b(?:any|every|each)\s+(?=[\w.](?P<next>\w*))", re.IGNORECASE)
_DETERMINED = lazy(r"(?:an?|the|my|our|this|new|existing|my|\d+)\b", re.IGNORECASE)
_EMPTY = frozenset(
    "content contents data tools files documents code output outputs results guidelines constraints tasks things issues example "
    "examples options steps changes templates scripts resources work text items information existing new".split()
)
_WORD = lazy(r"[A-Za-z][\w.+#'-]*")
_TAIL = frozenset(
    "a an the of to for in on with by from and or into as at is are be using via about its than your my our new".split()
)
_NUMBERED = lazy(
    r"^(?:(?:step|phase|option|part|task|pattern|example|stage)?\s*[\d.]+[a-z]?[.):]?\s*[-:]?\s*)", re.IGNORECASE
)
_NOT_AFTER = frozenset("of is are for to that as was has in on at be should can and or".split())
_TO = lazy(r"(?<!\s)\s+(?:to|for)\s+")
_NOUN = lazy(r".*(?:s|ing|ion|ment|ity|ness|ance|ence|ure|age|ist|er|or|phy|gy|try)$|.*[A-Z0-9.]")


def find_phrases(skill: Skill) -> tuple[SkillPhrase, ...]:
    """The phrases of a skill, those of the description first, each text once."""
    topic = frozenset(stem_words(f"{skill.name.replace('-', ' ')} {skill.description}"))
    found: dict[frozenset[str], SkillPhrase] = {}
    for phrase in (*_of_description(skill.description[:_MOST_TEXT]), *_of_body(skill, topic)):
        # So many words in a row would give away what says when to use the skill.
        if phrase.place == "heading" or len(words_of(phrase.text)) < LEAST:
            found.setdefault(frozenset(stem_words(phrase.text)), phrase)
    return tuple(found.values())


def _of_description(description: str) -> Iterator[SkillPhrase]:
    yield from (SkillPhrase("quote", text, "description") for text in _quotes(description))
    for text in _clauses(_QUOTE.sub(" ", description)):
        yield from (SkillPhrase(kind, phrase, "description") for kind, phrase in _read_clause(text))


def _of_body(skill: Skill, topic: frozenset[str]) -> Iterator[SkillPhrase]:
    body = skill.body
    sections = [(section, roles_of(section.heading.title)) for section in governing(body)]
    when = [
        (section.line, section.end_line) for section, roles in sections if roles & {"when_to_use"} == roles and roles
    ]
    for item in body.prose:
        if item.kind != "heading" and any(first <= item.line <= last for first, last in when):
            for line in item.text[:_LINE].split("\n"):
                if not _AGAINST.search(line):
                    yield from (SkillPhrase("quote", text, "list") for text in _quotes(line))
                    found = _read_clause(_QUOTE.sub(" ", line))
                    yield from (SkillPhrase(kind, phrase, "list") for kind, phrase in found)
    for heading in body.headings:
        title = _NUMBERED.sub("", _MARKUP.sub("", heading.title).strip())
        # Steps of a procedure ("Run the tests") are no requests; what names the skill's own things may be.
        if heading.level > 1 and ":" not in title and "?" not in title:
            for kind, phrase in _read_clause(title):
                if kind == "action" and _is_own(phrase, topic):
                    yield SkillPhrase(kind, _lowered(phrase), "heading")


def _clauses(description: str) -> Iterator[str]:
    """The clauses that say what a skill is for, without those that say what it is not for."""
    text = description
    for _ in range(3):
        text = _ASIDE.sub(" ", text)
    for clause in _CLAUSE.split(_MARKUP.sub("", text)):
        clause = " ".join(clause.split()).strip(" ,.")
        if clause and not _AGAINST.search(clause):
            yield clause


def _quotes(text: str) -> Iterator[str]:
    """What users are quoted with, if it is a request and no single word."""
    for match in _QUOTE.finditer(text):
        said = " ".join((match[1] or match[2]).split()).strip(" ,.;")
        words = said.split()
        if not 3 <= len(words) <= 25 or _PLACEHOLDER.search(said) or not said.isprintable() or "://" in said:
            continue
        first = words[0].lower().strip(",")
        if _SAID.match(said.lower()) or _is_base(first):
            yield said


def _is_base(word: str) -> bool:
    known = verb_forms().get(word)
    return known is not None and known[1] == "base"


def _read_clause(clause: str) -> Iterator[tuple[PhraseKind, str]]:
    """The actions that a clause lists, or what it says that somebody wants or has."""
    if met := _MET.search(clause):
        first = _TO.split(_PART.split(met["rest"])[0])[0]
        if situation := _noun_phrase(first):
            yield "situation", situation
        return
    wish = _WISH.search(clause)
    parts = _PART.split(wish["rest"] if wish else clause)
    if wish and not _verb_of(parts[0].strip(" ,."))[0]:
        if need := _noun_phrase(parts[0].removeprefix("for ")):
            yield "need", need
        return
    waiting: list[str] = []
    third = False
    for part in parts:
        verb, rest, form = _verb_of(part.strip(" ,."), third)
        third = third or form == "third"
        if not verb:
            waiting = []
        elif not rest:
            waiting.append(verb)
        else:
            for each in dict.fromkeys((*waiting, verb)):
                if each not in _CARRIERS and (action := _action(each, rest)):
                    yield "action", action
            waiting = []


def _verb_of(part: str, third: bool = False) -> tuple[str, str, str]:
    """The verb that a part of a clause begins with, after what leads up to it, the rest, and the form of the verb.

    It is "" where it has none. `third` says that an earlier part began with "creates", "reads" or the like.
    """
    for text in dict.fromkeys((_LEAD.sub("", part), part, _DURING.sub("", part, 1))):
        word, _, rest = text.partition(" ")
        known = verb_forms().get(word.strip(",").lower())
        if known and _begins(known[0], word, known[1], rest, third):
            return known[0], rest.strip(), known[1]
    return "", "", ""


def _begins(verb: str, word: str, form: VerbForm, rest: str, third: bool) -> bool:
    """Whether a word that may be a verb is one here: nouns in -ing and plurals are followed by other words."""
    after = rest.partition(" ")[0].lower().strip(",.")
    if after in _NOT_AFTER:
        return False
    if form == "third":
        return third or word[:1].isupper()
    return form == "gerund" or verb not in _NOUNISH or not rest or _DETERMINED.match(rest) is not None


def _action(verb: str, rest: str) -> str:
    """An action as it follows "to"; "" where it would not read well."""
    noun = _noun_phrase(rest)
    # Of one word it may be the first adjective of several.
    if not noun or (" " not in noun and not _NOUN.match(noun)):
        return ""
    found = f"{verb} {noun}"
    return found if FEWEST_WORDS <= len(found.split()) <= MOST_WORDS else ""


def _noun_phrase(text: str) -> str:
    """The object of an action, up to where another clause begins; "" where it says nothing or leans on its context."""
    text = _ANY.sub(_article, _CUT.sub("", f" {text}").strip(" ,-"))
    text = text.rstrip(".")
    text = re.sub(r"\b(?:the\s+)?users?['’]s?\b", "my", text, flags=re.IGNORECASE)
    text = re.sub(r"\byour\b", "my", text, flags=re.IGNORECASE)
    text = re.sub(r"(?<=[a-z])/(?=[a-z])", " or ", text)
    text = re.sub(r"^\s*(existing|codebase|repository|repo|project|pull request)\b", r"my \1", text)
    text = re.sub(r"(?<=\s)(\.[a-z0-9]{2,5})$", r"\1 file", text)
    words = text.split()
    while words and words[-1].lower().strip(",") in _TAIL:
        words.pop()
    text = " ".join(words).strip(" ,")
    if not text or len(words) > MOST_WORDS or _TALK.search(text) or _PLACEHOLDER.search(text) or not text.isprintable():
        return ""
    if not _WORD.match(text) and not text[0].isdigit() and text[0] != ".":
        return ""
    if " / " in text:
        return ""
    telling = [term for term in terms(text, STOP) if len(term) > 2 and not term.isdigit() and term not in _EMPTY]
    return text if telling or any(len(word) > 1 and word.isupper() for word in text.split()) else ""


def _article(match: re.Match[str]) -> str:
    """What stands for "any" before this word: an article, unless it is a plural."""
    word = match["next"]
    if word.endswith("s") and not word.endswith("ss"):
        return ""
    return "an " if match.string[match.end() : match.end() + 1].lower() in "aeiou" else "a "


def _is_own(phrase: str, topic: frozenset[str]) -> bool:
    """Whether an action of a heading is about what the skill is about, and in more than one word."""
    words = phrase.split()[1:]
    telling = [word for word in words if word.lower() not in STOP and word.lower() not in _EMPTY]
    return len(telling) > 1 and bool(set(stem_words(" ".join(telling))) & topic)


def _lowered(title: str) -> str:
    """A title as it stands within a sentence: names and abbreviations keep their letters."""
    return " ".join(word.lower() if word.istitle() or word.capitalize() == word else word for word in title.split())


# Read off the descriptions of public collections (2026-11): what begins one, or follows "use when".
_VERBS = """
accept activate adapt add address aggregate align analyse analyze animate annotate answer append apply approve archive
arrange assemble assess assign attach audit authenticate authorize automate balance batch benchmark bisect bootstrap
brainstorm brand build bump bundle cache calculate calibrate capture catch categorize change chart check choose chunk
clarify classify clean clone cluster code collect combine comment commit compare compile complete compose compress
compute configure connect consolidate construct contribute convert copy correct craft crawl create critique crop
curate customize cut debug decide decode decompile decompose decrypt deduplicate define delete deliver deploy
deprecate describe design detect determine develop diagnose diagram diff disassemble discover dispatch display
distribute document download draft draw edit eliminate embed emit encode encrypt enrich enroll enumerate estimate
evaluate examine execute expand explain explore export expose extend extract fetch fill filter find fit fix flag
flatten forecast fork formalize format formulate fuzz gather generate get grade groom handle harden highlight hunt
illustrate implement import improve increase index infer inline insert inspect install instrument integrate interpret
introduce inventory investigate isolate iterate join judge label launch limit link lint list load locate lock maintain
make manage manipulate map measure merge migrate minimize mock model moderate modernize modify monitor move navigate
normalize notarize obfuscate onboard open optimize orchestrate organize overcome overhaul package parallelize parse
patch personalize pin plan plot polish port post prepare present prevent price print prioritize process produce
profile program promote propose protect prototype prove provision publish pull push quantify query queue rank read
rebase rebuild recommend reconcile record recover redact redesign reduce refactor refine reformat refresh register
release remove rename render reorganize repair replace replicate report reproduce request research reset reshape
resize resolve respond restore restructure retrieve reverse revert review revise rework rewrite roll rotate route run
sample sanitize save scaffold scale scan schedule scope score scrape scroll search secure seed segment select separate
serialize set ship sign simplify simulate sketch sort source specify split standardize stream structure stub style
subset summarize swap sync synthesize tag tailor test tidy trace track train transcribe transfer transform translate
transpile triage trim troubleshoot tune turn uninstall update upgrade upload use validate vectorize verify version
view visualize wire work wrap write zip
""".split()  # fmt: skip
# In the infinitive these are nouns more often than not.
_NOUNISH = frozenset(
    "address batch benchmark brand build cache change chart check chunk cluster code comment commit copy cut design document draft "
    "draw edit embed filter fit fix flag format fork fuzz grade highlight hunt import increase index input install judge label "
    "launch limit link lint list load lock map measure merge mock model monitor move order package patch pin plan plot polish port "
    "post present price print process produce profile program prototype pull query queue rank record redesign report request research "
    "reset return review rework rewrite route run sample scale scan schedule scope score scroll search seed segment set ship sign "
    "sketch sort source split stream structure stub style swap sync tag test trace track train transfer triage trim tune turn update "
    "upgrade upload version view wire work wrap zip".split()
)
# They say nothing that a request would, but stand before what others in a list are about, too.
_CARRIERS = frozenset(("handle", "manipulate", "use"))
_VOWELS = "aeiou"
# Stressed on the last syllable, or of one: the last letter is doubled.
_DOUBLING = frozenset(
    "commit crop cut fit flag get map pin plan plot program reset run scan set ship split stub subset swap tag trim wrap "
    "zip".split()
)


@cache
def verb_forms() -> Mapping[str, tuple[str, VerbForm]]:
    """Every form of every verb, with the verb itself and which form it is."""
    found: dict[str, tuple[str, VerbForm]] = {}
    for verb in _VERBS:
        found.setdefault(_gerund(verb), (verb, "gerund"))
        found.setdefault(_third(verb), (verb, "third"))
    for verb in _VERBS:
        found[verb] = (verb, "base")
    return found


def _gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return f"{verb[:-1]}ing"
    return f"{verb}{verb[-1]}ing" if verb in _DOUBLING else f"{verb}ing"


def _third(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"
