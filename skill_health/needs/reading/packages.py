"""Packages that are clients of services outside."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.reading.read import SkillReading
from skill_health.text.patterns import lazy

_CLIENTS = (
    "openai|anthropic|elevenlabs|requests|httpx|aiohttp|boto3|stripe|twilio|tweepy|slack_sdk|@slack/web-api|googleapiclient|"
    "google.generativeai|google.genai|replicate|tavily|exa_py|firecrawl|notion_client|@notionhq/client|github|octokit|@octokit/rest|"
    "huggingface_hub|azure|yfinance|discord|telegram|web3|ethers|solana|supabase|@supabase/supabase-js|pinecone|cohere|groq|"
    "langchain_openai|langchain_anthropic|praw|spotipy|serpapi|fal_client|ccxt|alpaca|sendgrid|resend|feedparser|"
    "@anthropic-ai/sdk|@google/genai|@ai-sdk/openai|axios|google.cloud|google|modal|wandb|apify_client|yt_dlp|datasets"
).split("|")
PACKAGES = frozenset(_CLIENTS)
"""Packages that are clients of services outside."""


def client_imports(text: str) -> Iterator[str]:
    """The clients of services outside that code imports."""
    for match in _IMPORT.finditer(text):
        name = match[1] or match[2]
        for each in (name, name.partition(".")[0]):
            if each in PACKAGES and each not in ("google", "azure", "github", "datasets"):
                yield each
                break


_IMPORT = lazy(r"(?m)^[ \t]*(?:from|import)\s+([A-Za-z_][\w.]*)|\bfrom\s+[\"']([@\w./-]+)[\"']")


_GENERAL = frozenset(
    "python tools utils image video audio parser server client agent agents skill skills report".split()
)
_SHORTEST = 5


def named_clients(reading: SkillReading) -> Iterator[tuple[str, int, str]]:
    """Packages that share a word with the skill's own name, as a client of a service does: name, line and path.

    Only where the text speaks of a login or key: a library of the same name needs neither.
    """
    if not any(each.weight > 0 for each in reading.statements_with(_LOGIN)):
        return
    words = {
        word
        for word in reading.skill.name.lower().replace("_", "-").split("-")
        if len(word) >= _SHORTEST and word not in _GENERAL
    }
    for script in reading.scripts:
        for use in script.uses:
            if use.kind == "package" and any(word in use.name.lower() for word in words):
                yield use.name, use.line, script.path


_LOGIN = ("oauth", "api key", "api token", "access token", "log in", "login", "password", "credentials", "authenticat")
