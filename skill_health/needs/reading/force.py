"""How much a place counts: what a skill does in its normal course, or an option, an example, a warning, a neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from skill_health.skill.model import Document
from skill_health.text.patterns import lazy


class SectionUse(Enum):
    """What a section is for, with the weight of its sentences and of its commands."""

    REQUIRED = (1.0, 1.0)
    MAIN = (1.0, 1.0)
    WHEN = (0.5, 0.3)
    EXAMPLE = (0.2, 0.45)
    OPTIONAL = (0.35, 0.35)
    TROUBLE = (0.15, 0.15)
    LISTING = (0.0, 0.8)
    ASIDE = (0.0, 0.0)

    @property
    def says(self) -> float:
        """The weight of a sentence."""
        return self.value[0]

    @property
    def run(self) -> float:
        """The weight of a command."""
        return self.value[1]


# The first that fits a title decides; words of the field's headings, read 2026-11.
_TITLES = (
    (SectionUse.LISTING, lazy(r"^references?$|^(?:bundled )?resources?$|^(?:included )?(?:files|scripts)$|^supporting files$")),
    (SectionUse.ASIDE, lazy(
        r"when (?:not|never)\b|\b(?:do not|don'?t|not to) use\b|out of scope|\bnot (?:do|for|in scope)\b|does not (?:do|check|cover)|"
        r"doesn'?t do|what this (?:skill )?(?:is|does) not|boundar|anti-?pattern|rationaliz|rationalis|related (?:skill|agent|plugin|command)|"
        r"see also|further reading|learn more|reference (?:links|materials?)|additional resources|"
        r"^links$|external resources|^change ?log$|version history|^licen[sc]e|credits?$|acknowledg|attribution|comparison|"
        r"\bvs\.? |versus|alternatives? (?:tools?|skills?|compar)|^alternatives?$|^about\b|part of the|^author|knowledge reference|"
        r"^install(?:ing|ation)? (?:this|the|as a?)? ?skill|installation as|^uninstall|migrat(?:ing|ion) from|^contribut|"
        r"common (?:mistakes?|errors to avoid)|^bad\b|what not to|^don'?ts?$|success stories|roadmap|future (?:work|improvements|enhancements)|"
        r"tool integrations|^metrics|pricing|^cost"
    )),
    (SectionUse.TROUBLE, lazy(
        r"troubleshoot|common (?:issues|errors|problems|pitfalls|failures)|known (?:issues|limitations)|pitfall|gotcha|\bfaq\b|"
        r"error handling|errors?$|failure modes?|limitations?|edge cases|red flags|caveats?|warnings?$|if (?:something|it|things) "
        r"|when things go|^when\b.{0,40}\b(?:nothing|fails?|missing|empty|unavailable|not found|goes? wrong)\b|recovery|"
        r"security (?:considerations|notes?)|fallback|fix recipes?"
    )),
    (SectionUse.OPTIONAL, lazy(
        r"\boptional|alternative|advanced|\bbonus\b|nice to have|best practices?|other (?:platforms|tools|options)|"
        r"integrations?$|integration with|ci/?cd|github actions|production|deploy(?:ing|ment) options|customi[sz]|\bextend|\bextras?\b|"
        r"for (?:developers|maintainers|contributors)|^development$|variants?$|future"
    )),
    (SectionUse.REQUIRED, lazy(
        r"prerequisit|requirement|pre-?conditions?|^setup|set-?up$|setting up|dependenc|before (?:you )?(?:start|begin)|"
        r"installation|^install|environment variables?|authentication|credentials|api keys?|first[- ]time|preflight|pre-flight"
    )),
    (SectionUse.WHEN, lazy(
        r"when to|when (?:this|the user)|use cases?|use this|triggers?\b|trigger (?:phrases|conditions)|activation|^when$|applicab|"
        r"example (?:prompts?|requests?|questions?|queries)|^features?$|capabilit|philosophy|"
        r"core (?:concepts|principles)|concepts?$|principles|background|key (?:features|concepts)"
    )),
    (SectionUse.EXAMPLE, lazy(
        r"\bexamples?\b|sample|output (?:format|template|structure|artifacts?)|^outputs?$|templates?$|report(?:ing)? (?:format|template)|"
        r"response format|deliverable|demo\b|case stud|walkthrough|file (?:structure|tree)|(?:directory|project) (?:structure|layout)"
    )),
)  # fmt: skip


def role_of(title: str) -> SectionUse:
    """What a section is for, by its title."""
    plain = title.lower().strip(" #*_`:").lstrip("0123456789.-) ")
    for role, pattern in _TITLES:
        if pattern.search(plain[:200]):
            return role
    return SectionUse.MAIN


_DOES = lazy(r"\b(?:commands?|usage|workflow|how to use|steps?|procedure)\b")
_RANK = (
    SectionUse.ASIDE,
    SectionUse.LISTING,
    SectionUse.TROUBLE,
    SectionUse.OPTIONAL,
    SectionUse.EXAMPLE,
    SectionUse.REQUIRED,
    SectionUse.WHEN,
)


def roles_by_line(document: Document, lines: int) -> list[SectionUse]:
    """The role of each line, by the titles of all sections that it is in; that which counts least, wins."""
    roles = [SectionUse.MAIN] * (lines + 2)
    stack: list[tuple[int, SectionUse]] = []
    for section in document.sections:
        while stack and stack[-1][0] < section.line:
            stack.pop()
        # The document's own title names the skill, not a part of it.
        own = SectionUse.MAIN if section.heading.level == 1 and not stack else role_of(section.heading.title)
        passed = [above for _, above in stack]
        if own is SectionUse.MAIN and _DOES.search(section.heading.title.lower()):
            passed = [above for above in passed if above is not SectionUse.WHEN]
        role = _combined(passed, own)
        stack.append((section.end_line, role))
        for line in range(section.line, min(section.end_line, lines) + 1):
            roles[line] = role
    return roles


def _combined(above: Sequence[SectionUse], own: SectionUse) -> SectionUse:
    found = {own, *above[-1:]} - {SectionUse.MAIN}
    if found <= {SectionUse.WHEN, own} and own is not SectionUse.MAIN:
        return own
    return next((role for role in _RANK if role in found), SectionUse.MAIN)


_HEDGED = lazy(
    r"\boptional(?:ly)?\b|\balternatively\b|\bif (?:available|you (?:have|want|prefer|need|wish)|the user (?:wants|prefers|asks)|needed|"
    r"necessary|desired|installed|present|applicable|possible)\b|\b(?:e\.g\.|for example|for instance|such as)|\bcan also\b|\bmay also\b|"
    r"\bnice to have\b|\bor (?:use|via|with|any)\b|\bwhen available\b|\bwhere available\b|\bworks with\b|\bsupports?\b|\bfalls? ?back\b|"
    r"\brecommended\b|\bconsider\b|\bmight\b|\bcould\b|\bpreferably\b|\bas needed\b|\bcompatible with\b|\beither (?:one )?works\b|\bauto-?detects?\b",
)
_CONDITION = lazy(
    r"(?:^|[\s(*_:>-])(?:if|unless|when|whenever|in case|(?:in|for) (?:this|that|such|these|those) cases?|should)\b|\b(?:multiple|"
    r"several|no|ambiguous|unclear|"
    r"missing|otherwise|unsure|not found|fails?)\b[^.\n]{0,30}(?::|\u2192|->|,|\u2014)"
)
_NEGATED = lazy(
    r"\b(?:no|not|never|without|avoid|instead of|rather than|unlike|neither|nor|isn'?t|aren'?t|don'?t|doesn'?t|won'?t|can'?t|cannot|"
    r"needn'?t|no longer|outside|lacks?|replaces?|skip|zero|nothing)\b(?:[^.;:!?\n]|\.(?=\w)){0,48}$"
)
_NOT_NEEDED = lazy(
    r"^[^.;:\n]{0,30}\b(?:not|n'?t|never|un) ?(?:be )?(?:required|needed|necessary|supported|available|applicable)\b|^[^.;\n]{0,12}\boptional\b"
)
_BEFORE, _AFTER = 60, 60


def hedge(statement: str) -> float:
    """How much a statement in lower case counts by its own words: less where it speaks of an option."""
    return 0.4 if _HEDGED.search(statement) else 1.0


def is_conditional(statement: str, at: int) -> bool:
    """Whether a condition stands before a place of a statement."""
    return _CONDITION.search(statement, 0, at) is not None


def is_in_brackets(text: str, at: int) -> bool:
    """Whether a bracket is open at a place of a text: what stands there is said by the way."""
    return text.rfind("(", 0, at) > text.rfind(")", 0, at)


_FAILING = lazy(
    r"\b(?:if|unless|when|whenever)\b[^.;\n]{0,60}\b(?:not|isn't|aren't|n't|no|unclear|missing|ambiguous|absent|unsure|unknown|unspecified|"
    r"necessary|blocked|empty|fails?|failed|multiple|several)\b"
)


def is_only_in_need(statement: str, end: int) -> bool:
    """Whether what a statement in lower case says ends with the condition that something is missing or unclear."""
    return _FAILING.search(statement, end) is not None


def is_negated(statement: str, start: int, end: int) -> bool:
    """Whether the words around a part of a statement in lower case say that it is not so."""
    before = statement[max(0, start - _BEFORE) : start]
    return _NEGATED.search(before) is not None or _NOT_NEEDED.search(statement[end : end + _AFTER]) is not None
