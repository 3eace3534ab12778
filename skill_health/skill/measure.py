"""What can be counted in one skill: the numbers behind the score, the limits and the history."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from skill_health.skill.model import Skill
from skill_health.skill.sections import entries, governing, is_procedure, outermost, roles_of
from skill_health.text.patterns import lazy

# 2026-11, from 13,551 public descriptions and the skills of Anthropic, OpenAI and Microsoft.
_CLAUSE = lazy(
    r"\bwhen(?:ever)?\b|\bwherever\b|\btrigger|\bactivat|\binvo(?:ke|ca)|\bonce\b|\bprior to\b|\bif\b"
    r"|\bbefore\b|\bafter\b"
    r"|\buse (?:this|it|for|to|in|on|as|during|while|at|by|only|proactively|after|before|immediately|cases?)\b"
    r"|\b(?:used|useful|ideal|intended|designed|suited|suitable|meant|made|built|best|great|perfect|helpful|needed"
    r"|required) (?:for|to|in|with|by|as|on)\b"
    r"|\bhelps?\b|\bfor (?:tasks?|requests?|questions?|work|users?|anyone|people|teams?|projects?)\b"
    r"|\b(?:apply|applies|load|loads|run|call|consult|reach|relevant|appropriate|works?|working|assists?)"
    r" (?:for|to|this|it|in|with|on|during|while|as)\b"
    # The same in other languages in Latin script.
    r"|\bcuando\b|\bquando\b|\blorsqu|\bquand\b|\bwenn\b|\bfalls\b|\bwanneer\b|\bgdy\b|\bkiedy\b|\bnär\b|\bkun\b|\bkhi\b"
    r"|\bketika\b|\bsaat\b",
    re.IGNORECASE,
)
_BOUNDARY = lazy(
    r"\bnot (?:for|to be used|intended|when)\b|\b(?:do not|don't|never) (?:use|trigger|activate|invoke|apply)\b"
    r"|\b(?:instead|unless|except|rather than|out of scope)\b",
    re.IGNORECASE,
)


@lru_cache(1)
def has_trigger(description: str) -> bool:
    """Whether a description says when to use the skill; also True if its script is not Latin (not judged)."""
    if _CLAUSE.search(description):
        return True
    if description.isascii():
        return False
    letters = sum(char.isalpha() for char in description)
    return sum(char.isalpha() and char > "\u024f" for char in description) * 5 > letters


def has_boundary(description: str) -> bool:
    """Whether a description says when not to use the skill ("not for ...", "use X instead")."""
    return _BOUNDARY.search(description) is not None


_PUNCTUATION = bytes(range(33, 48)) + bytes(range(58, 65)) + bytes(range(91, 97)) + bytes(range(123, 127))
_ASCII = bytes(range(128))
# Ideographs, kana and hangul. A pattern of them would take longer to compile than most skills to check.
_WIDE = ((0x1100, 0x11FF), (0x2E80, 0xD7FF), (0xF900, 0xFAFF), (0xFF00, 0xFFEF), (0x20000, 0x3FFFF))
_FIRST_PERSON = lazy(r"\b(?:I can|Use me|You can use this)\b")
_NAME = lazy(r"[^\W_]+(?:-[^\W_]+)*")


class Measures(NamedTuple):
    """The counts of one skill. Every field is JSON-safe.

    `line_count` counts the whole file, frontmatter included, as hosts and the specification do; `body_tokens` is an
    estimate (see `estimate_tokens`). `titles` are the level-2 headings verbatim; `roles` those of all sections, plus
    those that the description or the shape of the text fills instead. `gotchas` maps the title of each gotchas section
    to its entries. `code_examples` counts fenced blocks that are closed and not empty, `example_entries` the entries in
    example sections, `bundled` the files below scripts/, assets/, templates/ and examples/. `issues` are defects of the
    frontmatter, as stable words.
    """

    line_count: int = 0
    body_tokens: int = 0
    description_chars: int = 0
    states_when: bool = False
    issues: tuple[str, ...] = ()
    heading_count: int = 0
    titles: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    gotchas: Mapping[str, int] = {}
    gotcha_count: int = 0
    code_examples: int = 0
    example_entries: int = 0
    bundled: int = 0
    link_count: int = 0
    image_count: int = 0
    external_link_count: int = 0


def measures_from(data: Mapping[str, Any]) -> Measures:
    """Measures restored from a mapping (`_asdict` or JSON); keys of other versions are ignored."""
    known = Measures._fields
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known}
    return Measures(**values)


@lru_cache(1)
def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a language model reads in a text, without a tokenizer.

    One per 5 ASCII letters, digits and blanks, 0.6 per ASCII punctuation mark (which makes code and tables expensive),
    one per ideograph, kana or hangul syllable, 0.5 per other character. Fitted in November 2026 to the mean of four
    tokenizers (cl100k, o200k, Claude 2, DeepSeek) over 1,892 public Markdown files in English: against any one of the
    four, 90 % of the files are within 14 % and half within 6 %. Chinese, Japanese and Korean are within 28 %, other
    European languages within 30 %; Arabic and Devanagari may be off by half. Newer vocabularies are not covered.
    """
    data = text.encode("utf-8", "replace")
    marks = len(data) - len(data.translate(None, _PUNCTUATION))
    other = data.translate(None, _ASCII).decode("utf-8", "replace") if len(data) != len(text) else ""
    counts = Counter(other).items() if other else ()
    wide = sum(times for char, times in counts if any(first <= ord(char) <= last for first, last in _WIDE))
    beyond = len(other)
    plain = len(text) - marks - beyond
    return round(0.2 * plain + 0.6 * marks + wide + 0.5 * (beyond - wide))


def measure(skill: Skill) -> Measures:
    """Measure a skill. Pure; needs nothing but the parsed skill."""
    body = skill.body
    description = skill.description
    states_when = has_trigger(description)
    tagged = [(section, roles_of(section.heading.title)) for section in governing(body)]
    roles = {role for _, found in tagged for role in found}
    if states_when:
        roles.add("when_to_use")
    if has_boundary(description):
        roles.add("boundaries")
    if "workflow" not in roles and is_procedure(body):
        roles.add("workflow")
    gotchas: dict[str, int] = {}
    for section in outermost(tagged, "gotchas"):
        title = section.heading.title
        gotchas[title] = gotchas.get(title, 0) + entries(body, section)
    links = [link for link in body.links if link.kind != "image"]
    return Measures(
        line_count=len(skill.lines),
        body_tokens=estimate_tokens("\n".join(skill.lines[body.first_line - 1 :])),
        description_chars=len(description),
        states_when=states_when,
        issues=tuple(frontmatter_issues(skill, states_when)),
        heading_count=len(body.headings),
        titles=tuple(h.title for h in body.headings if h.level == 2),
        roles=tuple(sorted(roles)),
        gotchas=gotchas,
        gotcha_count=sum(gotchas.values()),
        code_examples=sum(1 for b in body.blocks if b.fenced and b.closed and b.text.strip()),
        example_entries=sum(entries(body, s) for s in outermost(tagged, "examples")),
        bundled=sum(1 for f in skill.files if f.startswith(("scripts/", "assets/", "templates/", "examples/"))),
        link_count=len(links),
        image_count=len(body.links) - len(links),
        external_link_count=sum(1 for link in links if link.target.startswith(("https://", "http://"))),
    )


def frontmatter_issues(skill: Skill, states_when: bool) -> Iterator[str]:
    """What is wrong with the frontmatter, as stable words; `states_when` is whether the description has a trigger.

    These are the checks that the plan describes (name, description, length, person), applied to what a YAML parser
    reads.
    """
    if skill.frontmatter is None:
        yield "no-frontmatter"
        return
    if not skill.frontmatter.valid:
        yield "invalid-yaml"
    name = (skill.text_of("name") or "").strip()
    if not name:
        yield "name-missing"
    else:
        if not _NAME.fullmatch(name) or name != name.lower() or len(name) > 64:
            yield "name-invalid"
        if name != skill.folder_name:
            yield "name-differs"
    description = skill.description.strip()
    if not description:
        yield "description-missing"
    elif len(description) > 1024:
        yield "description-long"
    if _FIRST_PERSON.search(description):
        yield "description-first-person"
    if description and not states_when:
        yield "description-without-trigger"
