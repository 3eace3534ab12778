"""Packages that are clients of services outside."""

from __future__ import annotations

from collections.abc import Iterator

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
