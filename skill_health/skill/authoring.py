"""What the authors of a skill have done that went with gain or with loss: eight patterns, read off its text.

The patterns are those of SkillsBench (Li et al., 2026): appendix F.4 found five in the ten tasks that gained most,
appendix F.3 three in tasks that lost. Each is decided from SKILL.md and the names of the files beside it; nothing is
run. docs/quality.md says how often that agrees with readers.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from operator import attrgetter

from skill_health.skill.measure import has_boundary, has_trigger
from skill_health.skill.model import Document, Skill, Span
from skill_health.skill.sections import is_procedure, is_step, roles_of
from skill_health.text.patterns import lazy

_SCRIPTS = tuple(".py .sh .bash .js .mjs .cjs .ts .ps1 .rb .pl .r .go .php .lua .bat".split())
_RUN = lazy(
    r"\b(?:python3?|uv|uvx|node|npx|tsx|bun|deno|bash|sh|zsh|pwsh|powershell|ruby|perl|Rscript|go run|php|make)\b"
    r"|\./|\bscripts?/|\{baseDir\}|\$\{?\w+\}?/"
)
_SOURCE = lazy(
    r"\b(?:sources? of truth|canonical|authoritative|ground truth)\b"
    r"|\bofficial (?:docs?|documentation|api|sources?|spec\w*|guide\w*|reference)\b"
    r"|\b(?:fetch|query|download|look up|base url|endpoint)\b[^\n]{0,60}https?://",
    re.IGNORECASE,
)
_CALL = lazy(
    r"\b(?:curl|wget|fetch|requests\.get|httpx\.get)\b[^\n]{0,80}https?://|\b(?:GET|POST) (?:https?://|/)\w"
    r"|_URL=\"?https?://"
)
_FORM = lazy(
    r"\b(?:formats?|templates?|schemas?|output|structure|frontmatter|report|response|deliverables?|layout|syntax"
    r"|signature)\b",
    re.IGNORECASE,
)
_INVARIANT = lazy(
    r"\bmust (?:always |never |all |both |only |exactly )?(?:equal|match|sum|add up|contain|include|start|begin|end|have"
    r"|exist|pass|be (?:unique|less|greater|more|at (?:least|most)|between|identical|non-?empty|the same|valid|one of"
    r"|exactly|under|below|before|after|in))\b"
    r"|\b(?:never|not|don't) exceed\b|\binvariants?\b|\bassert\b|[<>≤≥]=? ?\d"
    r"|\b(?:at (?:least|most)|no more than|no fewer than|exactly|max(?:imum)?(?: of)?|minimum(?: of)?) \d"
    r"|\b(?:verify|ensure|validate|confirm|check) (?:that )?(?:all|every|each|no|the|it|output)\b"
    r"|\*\*(?:always|never|must)\b|\b(?:always|never) (?:set|create|write|run|commit|pass|use|include|leave|change|delete"
    r"|overwrite|modify)\b",
    re.IGNORECASE,
)
_FAST = lazy(
    r"\bquick(?:est)? (?:mode|path|start|version)|\bfast(?:est)? path|\bshort-?cuts?\b|\blight-?weight\b|\btrivial\b"
    r"|\bminimal (?:mode|version|path)|\b(?:simple|small|minor|quick|single|short) (?:cases?|tasks?|changes?|requests?"
    r"|questions?|quer(?:y|ies)|projects?|edits?|fix(?:es)?)\b|\bskip (?:this|the|to|step|phase|if|when|it)\b"
    r"|\b(?:steps?|phases?) (?:is|are) optional\b|\(optional\)|\boptional(?:ly)?[ :]",
    re.IGNORECASE,
)
_BOUNDS = lazy(
    r"\b(?:do not|don't|never|not to|should not|shouldn't) (?:be )?(?:use|used|apply|trigger|activate|invoke)\b"
    r"|\bnot (?:for|suitable|applicable|appropriate|intended|meant|designed|covered|needed (?:for|when))\b"
    r"|\bout[- ]of[- ]scope\b|\bwhen not\b|\b(?:only (?:for|when|if|applies)|applies only|non-goals?|limitations?"
    r"|does(?: not|n't) (?:cover|apply|support|replace|handle)|outside (?:the |of )?scope)\b",
    re.IGNORECASE,
)
_TOOL = lazy(
    r"\b(?:must (?:use|run|call|be installed|have)|requires?|required|requirements?|always (?:use|run|call)|only use"
    r"|use only|exclusively|mandatory|prerequisites?|needs? to be installed|make sure \S+ is installed|depends on"
    r"|(?:npx?|pip3?|brew|docker|cargo|go|uv) \w+)\b",
    re.IGNORECASE,
)
_FALLBACK = lazy(
    r"\bif\b[^.\n]{0,60}\b(?:fail\w*|missing|not (?:installed|available|found|set|exist\w*|work\w*)|unavailable|errors?"
    r"|time(?:s|d)? ?out|isn't|doesn't|does not|cannot|can't|no)\b|\bfall ?back|\btroubleshoot|\balternativ|\bretry\b"
    r"|\bon (?:error|failure)\b|\berror handling\b|\bwhen\b[^.\n]{0,40}\bfails?\b|\bdebug"
    r"|\bcommon (?:errors|issues|problems)\b",
    re.IGNORECASE,
)
_THING = lazy(
    r"\.\w{2,5}\b|[\"“'`][^\"”'`\n]{2,60}[\"”'`]|/\w|\b[A-Z][A-Za-z]*[A-Z]\w*\b|\b[A-Z]{2,}\b"
    r"|(?<=[a-z,(] )[A-Z][a-z]{2,}\w*|\b\w+[-_.]\w+\b|\d"
)
_line = attrgetter("line")
_STEPS, _LONG, _NEAR, _APART = 6, 150, 6, 12
_SPANS, _ITEMS = 10, 10
_THINGS, _WORDS = 3, 8


def find_script(skill: Skill) -> Span | None:
    """A command in the text that runs a script of the skill."""
    names = {file.rpartition("/")[2] for file in skill.files if file.lower().endswith(_SCRIPTS)}
    if not names:
        return None
    texts = [(block.line + block.fenced, block.text) for block in skill.body.blocks]
    texts += [(code.line, code.text) for code in skill.body.codes]
    for start, text in texts:
        for offset, line in enumerate(text.splitlines()):
            if _RUN.search(line) and any(name in line for name in names):
                return Span(start + offset, 1)
    return None


def find_source(skill: Skill) -> Span | None:
    """An address, an endpoint or an authority that is named to look things up in."""
    if found := _first(skill.body, _SOURCE):
        return found
    called = next((block for block in skill.body.blocks if _CALL.search(block.text)), None)
    return Span(called.line, 1) if called else None


def find_invariant(skill: Skill) -> Span | None:
    """A condition that a result could be checked by."""
    return _first(skill.body, _INVARIANT)


def _first(body: Document, pattern: re.Pattern[str]) -> Span | None:
    for prose in body.prose:
        if found := pattern.search(prose.text):
            return Span(*body.position(prose, found.start()))
    return None


def find_format(skill: Skill) -> Span | None:
    """A block below words about a format, a template, a schema, an output."""
    body = skill.body
    for block in body.blocks:
        if not block.text.strip():
            continue
        above = bisect_left(body.headings, block.line, key=_line)
        title = body.headings[above - 1].title if above else ""
        start, end = (bisect_left(body.prose, line, key=_line) for line in (block.line - _NEAR, block.line))
        if _FORM.search(title) or any(_FORM.search(prose.text) for prose in body.prose[start:end]):
            return Span(block.line, 1)
    return None


def find_specifics(skill: Skill) -> Span | None:
    """The description, where it says when to use the skill or names a few particular things."""
    description, field = skill.description, skill.field("description")
    if field is None or len(description.split()) < _WORDS:
        return None
    named = len({found[0] for found in _THING.finditer(description)}) >= _THINGS
    return field.span if named or has_trigger(description) else None


def _steps(body: Document) -> tuple[int, Span | None]:
    """The steps of the longest procedure, and where it begins."""
    numbered = [heading for heading in body.headings if is_step(heading.title) or heading.title[:1].isdigit()]
    best, at = len(numbered), Span(numbered[0].line, numbered[0].col) if numbered else None
    first = last = count = 0
    for item in body.items:
        if item.ordered and item.depth == 1:
            first, count = (first, count + 1) if count and item.line <= last + _APART else (item.line, 1)
            last = item.line
            if count > best:
                best, at = count, Span(first, 1)
    return best, at


def find_heavy(skill: Skill) -> Span | None:
    """A procedure of six steps or more in a long text that nowhere shortens one."""
    count, at = _steps(skill.body)
    return at if count >= _STEPS and len(skill.lines) >= _LONG and _first(skill.body, _FAST) is None else None


def find_unbounded(skill: Skill) -> Span | None:
    """A general procedure, with hardly a name of anything in it, that never says what it is not for."""
    body = skill.body
    general = len(body.items) >= _ITEMS and len(body.codes) < _SPANS and is_procedure(body)
    return None if states_bounds(skill) or not general else Span(body.items[0].line, 1)


def states_bounds(skill: Skill) -> bool:
    """Whether the description or the text says what the skill is not for, or what alone it is for."""
    return has_boundary(skill.description) or _first(skill.body, _BOUNDS) is not None


def find_brittle(skill: Skill) -> Span | None:
    """A thing that is required, in a text that never says what to do without it."""
    if _first(skill.body, _FALLBACK) or any("gotchas" in roles_of(each.title) for each in skill.body.headings):
        return None
    field = skill.field("metadata")
    return _first(skill.body, _TOOL) or (field.span if field and "requires" in str(field.value) else None)


GAIN: Mapping[str, Callable[[Skill], Span | None]] = {
    "script_with_defaults": find_script,
    "canonical_source": find_source,
    "exact_format": find_format,
    "invariant": find_invariant,
    "specific_description": find_specifics,
}
"""The patterns of appendix F.4: where each shows in a skill, None where it does not."""
LOSS: Mapping[str, Callable[[Skill], Span | None]] = {
    "heavy_without_fast_path": find_heavy,
    "recipe_without_bounds": find_unbounded,
    "tool_without_fallback": find_brittle,
}
"""Those of appendix F.3."""
SIDES: Mapping[str, str] = {**dict.fromkeys(GAIN, "gain"), **dict.fromkeys(LOSS, "loss")}
"""What each pattern went with."""


def find_patterns(skill: Skill) -> dict[str, Span]:
    """The patterns that show in a skill, and where."""
    found = {name: find(skill) for name, find in (*GAIN.items(), *LOSS.items())}
    return {name: at for name, at in found.items() if at}
