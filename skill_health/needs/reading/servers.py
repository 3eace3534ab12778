"""Tools of MCP servers that a text calls, and which servers stand for a service outside."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import is_negated
from skill_health.needs.reading.products import names_product
from skill_health.needs.reading.read import SkillReading, phrase, signs_of_phrase
from skill_health.text.patterns import lazy

REMOTE = frozenset(
    """
    asana notion linear slack github gitlab jira atlassian confluence figma sentry stripe hubspot zapier gmail google-drive
    google-calendar gdrive vercel supabase cloudflare intercom paypal salesforce airtable monday clickup datadog posthog
    amplitude mixpanel canva webflow wix box dropbox zendesk shopify square plaid netlify todoist trello discord telegram
    outlook microsoft ms365 teams sharepoint onedrive snowflake bigquery databricks neon planetscale firecrawl exa tavily brave
    perplexity context7 huggingface miro loom calendly hunter apollo gong granola fireflies pagerduty grafana newrelic
    """.split()
)
"""Servers that stand for a service outside."""
OPEN = frozenset("context7 exa tavily brave perplexity firecrawl huggingface microsoft-learn deepwiki".split())
"""Those of them that hold nothing of the user's."""
_TOOL = lazy(r"\bmcp__([a-z0-9][\w-]*?)__\w+|\bmcp_([a-z][\w-]{2,30}?)_[a-z]\w+", 2)
_SERVER_TOOL = lazy(r"^([A-Z][A-Za-z0-9]{1,30}|[a-z][a-z0-9-]{1,30}):([a-z][a-z0-9]*(?:[_-][a-z0-9]+)+)$")
_NEEDED = phrase(
    "mcp",
    r"\b(?:via|through|using|uses?|with|requires?|needs?|call|invoke|connect(?:ed)? to|configured?|install|add|enable)\b[^.\n]{0,40}?"
    r"\b([\w-]{2,30}) mcp(?: v?\d[\w.]*)?(?: server| tools?| connector| integration)?\b|"
    r"\bmcp (?:server|tools?) (?:`?[\w-]+`? )?(?:is |are |must be |be )?(?:required|connected|configured|available|installed)|"
    r"\brequires? (?:an? |the )?[^.\n]{0,30}\bmcp\b|\b([\w-]{2,30}) mcp (?:server|tools?|integration|operations)\b|\bvia mcp\b",
)
_BUILDS = lazy(
    r"\b(?:build|creat|develop|implement|author|design|scaffold|writ|evaluat|audit|scan|review|generat|convert)\w*\b[^.\n]{0,60}\bmcp\b|"
    r"\bmcp (?:server )?(?:development|builder|architect)"
)
_WITH = lazy(r"(?i)\b(?:with|via|through|using|use) the [\w-]+ mcp (?:server|tools?)\b")
_MANY = 4
_ARTICLES = frozenset(
    "the an a this that any your our its their official remote local each another other and or of to for no".split()
)


def server_signs(reading: SkillReading) -> Iterator[Sign]:
    """Tools called by name, tools allowed by name, and sentences that take a server for granted."""
    text = reading.skill.text.lower()
    if "mcp" not in text or _BUILDS.search(reading.about):
        return
    for name, line in reading.declared.tools:
        if match := _TOOL.match(name):
            yield reading.sign(0.7, EvidenceKind.DECLARED, match[1] or match[2], line, name)
    for statement in reading.statements_with(("mcp_",)):
        for match in _TOOL.finditer(statement.text):
            if not is_negated(statement.text, match.start(), match.end()):
                yield reading.sign(
                    statement.weight, EvidenceKind.SERVER, match[1] or match[2], statement.line, statement.shown
                )
    for block in reading.skill.body.blocks:
        if "mcp_" in block.text and (match := _TOOL.search(block.text)):
            line = block.line + block.fenced + block.text.count("\n", 0, match.start())
            yield reading.sign(max(reading.role(block.line).run, 0.3), EvidenceKind.SERVER, match[1] or match[2], line)
    for placed in reading.commands:
        if placed.command.program == "mcp" and placed.command.words and placed.command.words[0][:1].isalpha():
            yield reading.sign(
                placed.weight, EvidenceKind.SERVER, placed.command.words[0], placed.line, placed.command.text
            )
    servers: dict[str, set[str]] = {}
    spans = [
        (span, found)
        for span in reading.skill.body.codes
        if ":" in span.text and (found := _SERVER_TOOL.match(span.text.strip()))
    ]
    for _, match in spans:
        servers.setdefault(match[1], set()).add(match[2])
    for span, match in spans:
        if len(servers[match[1]]) >= 2 and f"{match[1].lower()} mcp" in text:
            yield reading.sign(1.0, EvidenceKind.SERVER, match[1].lower(), span.line)
    few = 0.6 if text.count("mcp") < _MANY else 0.8
    for sign in signs_of_phrase(reading, _NEEDED, 1.0, ""):
        subject = sign.evidence.subject
        named = subject not in _ARTICLES and _WITH.search(sign.evidence.text) is not None
        evidence = sign.evidence if subject not in _ARTICLES else sign.evidence._replace(subject="an MCP server")
        yield sign._replace(weight=sign.weight * (1.0 if named else few), evidence=evidence)


def remote_signs(reading: SkillReading, weight: float, own_content: bool) -> Iterator[Sign]:
    """The signs of servers that stand for a service outside; with `own_content` of those that hold a user's."""
    for sign in server_signs(reading):
        name = sign.evidence.subject.lower().removeprefix("claude_ai_").replace("_", "-")
        parts = {name, *name.split("-")}
        open_ = own_content and parts & OPEN
        if (parts & REMOTE and not open_) or (name == "an mcp server" and names_product(reading)):
            yield sign._replace(weight=sign.weight * weight)
