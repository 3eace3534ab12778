"""Services outside that a skill says it is for."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
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
    r"\W*(?:manag(?:e|es|ing)\b|control|read|search|triag|monitor|interact|access|quer|min(?:e|es|ing)\b|list|sync)"
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
        held = name not in PUBLIC and _HOLDS.match(match[0]) is not None
        yield reading.sign(
            1.0 if held else weight, EvidenceKind.SENTENCE, f"{name} (what it is for)", reading.about_line, match[0]
        )
