"""What an agent asks for, by its path: a call of a model, a count of tokens, a list of models, or nothing of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from skill_health.router.routers.openai import below_version
from skill_health.text.patterns import lazy

Kind = Literal["call", "count", "models"]
_LONGEST = 4000
_MODEL = r"[\w.@:~+-]+(?:/[\w.@:~+-]+)*"
# Agents put the version into their base URL or leave it to their library: both are the same path to us.
_V1, _ANY = r"(?P<version>/v1)?", r"(?P<version>/v1[a-z0-9]*)?"
_LIST: tuple[str, Kind, str] = ("GET", "models", rf"{_V1}(?P<path>/models(?:/{_MODEL})?)")
_GOOGLE = rf"{_ANY}(?P<path>/(?:models|tunedModels)/[\w.@-]+:"
_PATHS: Mapping[str, tuple[tuple[str, Kind, str], ...]] = {
    "anthropic": (
        ("POST", "call", rf"{_V1}(?P<path>/messages)"),
        ("POST", "count", rf"{_V1}(?P<path>/messages/count_tokens)"),
        _LIST,
    ),
    "openai": (("POST", "call", rf"{_V1}(?P<path>/chat/completions)"), _LIST),
    "openai-responses": (("POST", "call", rf"{_V1}(?P<path>/responses)"), _LIST),
    "gemini": (
        ("POST", "call", rf"{_GOOGLE}(?:generate|streamGenerate)Content)"),
        ("POST", "count", rf"{_GOOGLE}countTokens)"),
        ("GET", "models", rf"{_ANY}(?P<path>/models(?:/[\w.@-]+)?)"),
    ),
}
_VERSIONED = lazy(r"/v[0-9]+[a-z0-9]*(?:/|$)")
# What libraries put behind a path. Others carry keys, or leave the tokens out of an answer, or give it another form.
_PARAMETERS = lazy(
    r"(?:beta|limit|after|after_id|before_id|order|pageSize|pageToken|api-version)=[A-Za-z0-9_.:~-]*|alt=(?:sse|json)"
)
_LOCAL = lazy(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GatewayRoute:
    """A request that may pass. `path` is below the server's base URL, with the query that may go along."""

    kind: Kind
    path: str


def find(protocol: str, base_url: str, method: str, target: str) -> GatewayRoute | None:
    """Where a request goes, None where it is none that may pass. HEAD is allowed where GET is.

    `target` is that of the request's first line. Only a path that a pattern covers wholly passes, so no encoding, no
    other host and no parent folder gets through, and of the parameters only those that are known to be harmless.
    """
    path, _, query = target.partition("?")
    if len(target) > _LONGEST or {".", ".."} & set(path.split("/")):
        return None
    for wanted, kind, pattern in _PATHS[protocol]:
        found = re.fullmatch(pattern, path, re.ASCII)
        if found and method in ((wanted, "HEAD") if wanted == "GET" else (wanted,)):
            whole = _below(protocol, base_url, found["version"] or "", found["path"])
            kept = _query(query)
            return GatewayRoute(kind, f"{whole}?{kept}" if kept else whole)
    return None


def _below(protocol: str, base_url: str, version: str, path: str) -> str:
    if protocol != "gemini":
        return below_version(base_url, path)
    return path if _VERSIONED.search(urlsplit(base_url).path) else f"{version or '/v1beta'}{path}"


def _query(raw: str) -> str:
    return "&".join(part for part in raw.split("&") if _PARAMETERS.fullmatch(part))


def addressed(host: str, target: str) -> bool:
    """Whether a request means us: a path of ours, not a whole URL of somebody else, and no foreign name in Host."""
    return target.startswith("/") and not target.startswith("//") and _LOCAL.fullmatch(host) is not None


def shows_key(protocol: str, headers: Mapping[str, str], target: str, key: str) -> bool:
    """Whether the request shows the stand-in key where its protocol has the key. Names of headers in lower case."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    bearer = bearer.strip() if scheme.lower() == "bearer" else ""
    given = [bearer]
    if protocol == "anthropic":
        # Its libraries send a "token" as a bearer instead, if that is what they were given.
        given.append(headers.get("x-api-key", ""))
    elif protocol == "gemini":
        given = [headers.get("x-goog-api-key", ""), *parse_qs(target.partition("?")[2][:_LONGEST]).get("key", [])[:1]]
    return any(compare_digest(each.encode(), key.encode()) for each in given)
