"""Content that an outside service must already hold."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.clients import client_content_signs, client_signs, session_signs
from skill_health.needs.reading.packages import named_clients
from skill_health.needs.reading.products import owned_signs, product_signs
from skill_health.needs.reading.programs import AMBIGUOUS, facts_of
from skill_health.needs.reading.read import SkillReading, phrase, signs_of_phrase
from skill_health.needs.reading.servers import remote_signs
from skill_health.needs.reading.variables import is_secret
from skill_health.text.patterns import lazy

ORDER = 15
TITLE = "Pre-populated external service state"
MEANING = (
    "A service outside must already hold certain content: tickets, pull requests, threads, a mailbox, a "
    "calendar, dashboards, deployed resources."
)

_SERVICE = (
    r"slack|discord|telegram|jira|linear|asana|trello|notion|confluence|github|gitlab|gmail|outlook|google "
    r"(?:drive|docs|sheets|calendar|ads|analytics)|hubspot|salesforce|zendesk|intercom|sentry|datadog|grafana|"
    r"pagerduty|stripe|shopify|airtable|figma|dropbox|onedrive|sharepoint|teams|monday|clickup|todoist|"
    r"spotify|twitter|linkedin|reddit|youtube|whatsapp|imap|caldav|todo(?:ist)?|posthog|amplitude|mixpanel|"
    r"azure|aws|gcp|kubernetes|vercel|cloudflare|netlify|wordpress|ghost|strava|fitbit|oura|whoop"
)
_CONTENT = (
    r"issues?|tickets?|pull requests?|prs?|threads?|messages?|channels?|inbox(?:es)?|mailbox(?:es)?|emails?|"
    r"calendars?|events?|dashboards?|boards?|pages?|workspaces?|projects?|tasks?|deals?|contacts?|runs?|"
    r"workflow runs?|deployments?|clusters?|"
    r"instances?|resources?|buckets?|repositor(?:y|ies)|notes?|playlists?|customers?|orders?|invoices?|"
    r"subscriptions?|campaigns?|alerts?|incidents?|errors?|traces?|logs?|files?|documents?|comments?|reviews?|"
    r"releases?|checks|posts?|feeds?"
)
_SAID = phrase(
    "slack|discord|jira|linear|asana|trello|notion|confluence|github|gitlab|gmail|outlook|google|hubspot|"
    "salesforce|zendesk|sentry|datadog|grafana|pagerduty|stripe|shopify|airtable|figma|inbox|mailbox|"
    "calendar|azure|aws|kubernetes|cluster|pull request|unread|teams|posthog|todoist|spotify|cloud",
    rf"\b(?:search|list|read|fetch|pull|get|triage|query|find|check|update|review|reply|archive|retrieve|"
    rf"summari[sz]e|manage|sync|monitor|look up|edit|delete|react|move|close|assign|"
    rf"comment)\w*\b[^.\n]{{0,40}}?\b((?:{_SERVICE}) (?:{_CONTENT}))\b|"
    rf"\b(?:search|list|read|fetch|pull|get|triage|query|find|check|retrieve|summari[sz]e|manage|"
    rf"monitor)\w*\b[^.\n]{{0,30}}?\b((?:{_CONTENT}) (?:in|from|on|across) (?:your |the )?(?:{_SERVICE}))\b|"
    rf"\b(?:your|user's|the) (inbox|mailbox|calendar)\b|\b(unread (?:emails?|messages?))\b|\b(failing "
    rf"(?:github )?(?:actions|checks|runs?))\b",
)
_READS = {
    "gh": ("pr", "issue", "run", "release", "workflow", "project", "search", "api"), "glab": ("mr", "issue", "ci"),
    "kubectl": ("get", "describe", "logs", "top", "exec", "rollout", "debug"), "aws": (), "gcloud": (), "az": (),
    "jira": (), "acli": (), "linear": (), "himalaya": (), "gog": (), "bird": (), "gws": (), "heroku": ("logs", "ps"),
    "terraform": ("import", "state"), "vercel": ("logs", "inspect", "ls"), "sentry-cli": (), "stripe": (),
}  # fmt: skip
_HELD = lazy(
    r"\b(?:manage|query|search|read|list|fetch|access|monitor|check|triage|review|"
    r"update)\w*\b[^.\n]{0,40}\b(tickets?|crm|inbox|emails?|meetings?|calendar|tasks|contacts|orders|invoices|"
    r"issues|"
    r"deployments?|clusters?|servers|workouts|bookmarks|transactions|vault|notes|recordings|deals|jobs|builds|workflows|executions|campaigns|"
    r"dashboards?|alerts|devices|library|accounts?)\b"
)
_WORD = lazy(r"(?<![\w./-])[a-z][\w-]{1,20}(?![\w./])")
_KEEPS = lazy(r"\b(?:sync|list|track|check|control|monitor|read|view|fetch|manag|quer|summari[sz])\w*\b")
_LISTS = lazy(r"\b(?:list|get|describe|show|view|logs|ls|search|read|inbox|status|checks|fetch|tail|events)\b")


def find(reading: SkillReading) -> Iterator[Sign]:
    """Commands that ask a service for what it holds, and sentences that read or change it."""
    for placed in reading.commands:
        command = placed.command
        kinds = _READS.get(command.program)
        if kinds is None:
            continue
        first = command.words[0] if command.words else ""
        text = " ".join(command.words[:6])
        if (kinds and first in kinds) or (not kinds and _LISTS.search(text)):
            reads = (
                _LISTS.search(text) is not None
                or first == "api"
                or any(word in text for word in ("comment", "edit", "merge", "close", "review"))
            )
            weight = 0.8 if reads else 0.3
            yield reading.sign(
                weight * placed.weight,
                EvidenceKind.COMMAND,
                f"{command.program} {first}".strip(),
                placed.line,
                command.text,
            )
    for script in reading.scripts:
        for use in script.uses:
            if use.kind == "program" and "service-state" in facts_of(use.name).tags:
                yield reading.sign(
                    0.6 if script.weight >= 0.7 else 0.2,
                    EvidenceKind.SCRIPT,
                    use.name,
                    use.line,
                    f"{script.file} runs {use.name}",
                    script.path,
                )
    for sign in owned_signs(reading, 0.7):
        yield sign
        yield from _reads(reading)
    yield from session_signs(reading, 0.3)
    yield from client_signs(reading, 0.3)
    yield from client_content_signs(reading, 0.5)
    yield from remote_signs(reading, 0.7, own_content=True)
    for sign in product_signs(reading, 0.7):
        yield sign
        yield from _reads(reading)
        if asks := next((each for each in reading.commands if "auth" in facts_of(each.command.program).tags), None):
            yield reading.sign(0.4, EvidenceKind.COMMAND, "commands of it", asks.line, asks.command.text)
    for word in dict.fromkeys(_WORD.findall(reading.about)):
        if "service-state" in facts_of(word).tags and word not in AMBIGUOUS:
            yield reading.sign(1.0, EvidenceKind.PROGRAM, word, reading.about_line, word)
    client = next(named_clients(reading), None)
    if client and (match := _KEEPS.search(reading.about)):
        yield reading.sign(0.5, EvidenceKind.IMPORT, client[0], client[1], f"imports {client[0]}", client[2])
        yield reading.sign(0.6, EvidenceKind.SENTENCE, "what it is for", reading.about_line, match[0])
    secret = any(is_secret(name) for name, _ in reading.declared.variables) or any(
        is_secret(name) for placed in reading.commands for name in placed.command.assigned
    )
    if secret and (match := _HELD.search(reading.about)):
        yield reading.sign(0.6, EvidenceKind.SENTENCE, "what it is for", reading.about_line, match[0])
        yield from _reads(reading)
    yield from signs_of_phrase(reading, _SAID, 0.6, "")


_READ_WORDS = frozenset(
    "list get search read show fetch inbox history home mentions recent unread messages events threads "
    "issues view today upcoming agenda tasks query status".split()
)


def _reads(reading: SkillReading) -> Iterator[Sign]:
    """Commands that by their words read what the service holds."""
    for placed in reading.commands:
        if placed.command.program == "curl" and "authorization:" in placed.command.text.lower():
            yield reading.sign(
                0.3 * placed.weight, EvidenceKind.COMMAND, "requests with a key", placed.line, placed.command.text
            )
        if _READ_WORDS.intersection(placed.command.words[:4]) and placed.command.program not in (
            "npm",
            "pip",
            "git",
            "brew",
        ):
            yield reading.sign(
                0.5 * placed.weight, EvidenceKind.COMMAND, "what it reads", placed.line, placed.command.text
            )
