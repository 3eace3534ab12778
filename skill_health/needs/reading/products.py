"""Services outside that a skill says it is for."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import is_negated
from skill_health.needs.reading.read import SkillReading
from skill_health.text.patterns import lazy

PRODUCTS = (
    r"slack|discord|telegram|jira|linear|asana|trello|notion|confluence|github|gitlab|gmail|outlook|google "
    r"(?:drive|docs|sheets|calendar|ads|analytics|workspace|search console)|hubspot|salesforce|"
    r"zendesk|intercom|sentry|datadog|grafana|pagerduty|stripe|shopify|airtable|figma|dropbox|onedrive|"
    r"sharepoint|microsoft (?:365|teams)|monday\\.com|clickup|todoist|spotify|twitter|linkedin|reddit|youtube|"
    r"whatsapp|imap|caldav|posthog|amplitude|mixpanel|cloudflare|netlify|vercel|wordpress|strava|fitbit|oura|"
    r"whoop|jenkins|azure devops|bitbucket|mailchimp|quickbooks|xero|calendly|zoom|bluesky|mastodon|instagram|"
    r"facebook|tiktok"
).replace("\\\\", "\\")
"""Services that hold what belongs to a user, as an alternation of a pattern."""
_WORKS_WITH = lazy(
    rf"\b(?:manage|mine|search|read|send|post|interact with|access|automat|control|quer(?:y|ies)|integrat\w* with|"
    rf"connect(?:s|ed)? to|list|creat|updat|fetch|pull|sync|monitor|triag|triage|work(?:s|ing)? with|review|"
    rf"summari[sz]e?)\w*\b"
    rf"[^.\n]{{0,60}}?\b(?<![-/])({PRODUCTS})\b(?!-| (?:style|markdown|like|ads? copy|posts? templates))|"
    rf"^\W*({PRODUCTS}) (?:api|cli|integration|client|automation|management|operations|tasks?|assistant)\b|"
    rf"^\W*({PRODUCTS}):"
)
PUBLIC = frozenset("github gitlab youtube reddit twitter linkedin wordpress bluesky mastodon".split())
"""Those of them that show much to anyone."""
_NAME = lazy(rf"\b(?:{PRODUCTS})\b")
_HOLDS = lazy(
    r"\b(?:manag(?:e|es|ing)\b|control|read|search|triag|monitor|interact|access|quer|min(?:e|es|ing)\b|list|sync)"
)
_WRITES = lazy(
    r"\b(?:copy|content|posts? (?:for|that)|strategy|caption|thread writ|growth|marketing|best practices|guide to|patterns?)\b"
)


def names_product(reading: SkillReading) -> bool:
    """Whether the description names such a service."""
    return _NAME.search(reading.about) is not None


def product_signs(reading: SkillReading, weight: float) -> Iterator[Sign]:
    """A sign where the description says that the skill works with what is in such a service."""
    match = _WORKS_WITH.search(reading.about)
    if match and not _WRITES.search(reading.about):
        name = match[1] or match[2] or match[3]
        held = name not in PUBLIC and _HOLDS.search(match[0]) is not None
        yield reading.sign(
            1.0 if held else weight, EvidenceKind.SENTENCE, f"{name} (what it is for)", reading.about_line, match[0]
        )
    several = dict.fromkeys(each[0] for each in _NAME.finditer(reading.about))
    if len(several) >= _SEVERAL and not _WRITES.search(reading.about):
        yield reading.sign(
            1.0, EvidenceKind.SENTENCE, "several services", reading.about_line, ", ".join(list(several)[:_SEVERAL])
        )


_SEVERAL = 3
_OWNED = lazy(
    r"\b(?:[Yy]our|[Mm]y|[Tt]heir|[Tt]he user's|[Uu]ser's) (?:\w+ )?([A-Z][A-Za-z0-9.]{2,30}(?: [A-Z][A-Za-z0-9.]{2,30})?) "
    r"(workspaces?|accounts?|inbox|mailbox|timeline|tenants?|organi[sz]ations?|orgs?|server|instance|boards?|feed|data|vehicles?|lists?|"
    r"groups?|channels?|portals?|stores?|shops?)\b|"
    r"\b[Tt]he ([A-Z][A-Za-z0-9.]{2,30}) (workspace|account|tenant|inbox|group|channel|organization)\b"
)
_NAMES_NOTHING = frozenset(
    "Claude Code Codex Cursor Python Node Docker Git MCP API CLI SDK JSON YAML SQL HTTP Markdown Windows Linux Next React Rust Xcode "
    "Swift Java Obsidian Local Example Public Private Optional New Test".split()
)


def owned_signs(reading: SkillReading, weight: float) -> Iterator[Sign]:
    """Sentences that speak of the user's workspace, account or library at a service with a name of its own."""
    first = [each.line for each in reading.skill.body.prose if each.kind == "paragraph"][:_FIRST]
    early = max((reading.about_line, *first))
    for statement in reading.statements_with(_OWNS):
        match = _OWNED.search(statement.shown)
        if match is None or statement.weight <= 0:
            continue
        name = (match[1] or match[3]).split()[0]
        if name in _NAMES_NOTHING or name.isupper() or is_negated(statement.text, match.start(), match.end()):
            continue
        strength = weight * (_AT_ONCE if statement.line <= early else 1.0)
        subject = f"{name} ({match[2] or match[4]})"
        yield reading.sign(strength * statement.weight, EvidenceKind.SENTENCE, subject, statement.line, statement.shown)


_AT_ONCE, _FIRST = 1.7, 3
_OWNS = tuple(
    "workspace account inbox mailbox timeline tenant organi orgs server instance board feed data vehicle list group channel portal store "
    "shop".split()
)
