"""Finds credentials by their format alone, and takes them and what else is private out of a text.

Formats as published by their issuers, read 2026-11. A format is listed only if its prefix and length leave no doubt; a
password or a signed web token (mostly a sample in documentation) has no such format.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple

from skill_health.text.patterns import lazy


class Secret(NamedTuple):
    """A credential in a text: characters `start` to `end`, and what it is."""

    start: int
    end: int
    kind: str


# Most formats contain a run of at least this many letters, digits, "_" and "-". Looking for such runs first, and for
# the prefixes only in them, is several times faster than looking for thirty prefixes in the whole text. What precedes a
# run belongs to a format only across one of `_JOINTS`; "?" replaces each non-ASCII character.
_RUN = b"a" * 24
_RUN_TABLE = bytes(97 if chr(c).isascii() and (chr(c).isalnum() or chr(c) in "_-") else 32 for c in range(256))
_BEFORE = 80
_JOINTS = b"./:?"

# (what it is, literals of which one must occur, the whole format, whether it contains such a run)
_FORMATS = tuple(
    (kind, tuple(literals.encode().split()), lazy(pattern), run)
    for kind, run, literals, pattern in (
        ("AWS access key id", False, "AKIA ASIA", r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b"),
        ("Azure storage key", False, "AccountKey=", r"\bAccountKey=[A-Za-z0-9+/]{86}=="),
        (
            "private key", False, "PRIVATE",
            r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\\n|\s){1,40}[A-Za-z0-9+/=]{40,}+",
        ),
        ("GitLab token", True, "glpat-", r"\bglpat-[\w-]{20,64}"),
        ("Slack webhook", True, "hooks.slack.com/", r"hooks\.slack\.com/services/T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/\w{24}\b"),
        ("Stripe live key", True, "_live_", r"\b[sr]k_live_[A-Za-z0-9]{24,247}\b"),
        ("Vault token", True, "hvs.", r"\bhvs\.[\w-]{24,140}"),
        ("GitHub token", True, "ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
        ("GitHub token", True, "github_pat_", r"\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b"),
        ("Slack token", True, "xox", r"\bxox[abeprs]-(?:\d{9,14}-){1,3}[A-Za-z0-9]{20,64}\b"),
        ("Slack app token", True, "xapp-", r"\bxapp-\d-[A-Z0-9]{9,14}-\d{9,14}-[a-z0-9]{32,80}\b"),
        ("OpenAI key", True, "sk-", r"\bsk-(?:proj|svcacct|admin)-[\w-]{40,200}"),
        ("OpenAI key", True, "T3BlbkFJ", r"\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b"),
        ("Anthropic key", True, "sk-ant-", r"\bsk-ant-[a-z]{3,5}\d\d-[\w-]{80,120}"),
        ("OpenRouter key", True, "sk-or-v1-", r"\bsk-or-v1-[0-9a-f]{64}\b"),
        ("Google API key", True, "AIza", r"\bAIza[\w-]{35}(?![\w-])"),
        ("Google OAuth secret", True, "GOCSPX-", r"\bGOCSPX-[\w-]{28}(?![\w-])"),
        ("npm token", True, "npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
        ("PyPI token", True, "pypi-AgE", r"\bpypi-AgE[\w-]{60,250}"),
        ("Hugging Face token", True, "hf_", r"\bhf_[A-Za-z]{34}\b"),
        ("SendGrid key", True, "SG.", r"\bSG\.[\w-]{22}\.[\w-]{43}(?![\w-])"),
        ("Telegram bot token", True, ":AA", r"\b\d{8,10}:AA[\w-]{33}(?![\w-])"),
        ("DigitalOcean token", True, "_v1_", r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
        ("Shopify token", True, "shp", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
        ("Databricks token", True, "dapi", r"\bdapi[0-9a-f]{32}\b"),
        ("Groq key", True, "gsk_", r"\bgsk_[A-Za-z0-9]{52}\b"),
        ("Linear key", True, "lin_api_", r"\blin_api_[A-Za-z0-9]{40}\b"),
        ("age secret key", True, "AGE-SECRET-KEY-1", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    )
)  # fmt: skip
_ANY_LITERAL = lazy(b"|".join(re.escape(one) for _, literals, _, run in _FORMATS if run for one in literals))
_EVERYDAY = lazy(
    r"example|sample|dummy|fake|placeholder|redacted|your|changeme|secret|token|x{4}|0{6}|\*{3}|12345678|b2c3d4|1a2b3c|abc123|abcdefg|01234567|87654321"
)
# What follows the prefix in the sample keys of the issuers' own documentation.
_DOCUMENTED = ("SyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe", "SyA-9tSrke72PouQMnMX-a7eZSW0jkFMBWY")
# Fewer than one in a thousand random AWS ids (the shortest format) is below this, and no key of 32 hexadecimal digits.
_ENTROPY = 2.8


def find_secrets(text: str) -> list[Secret]:
    """Every credential of a text in order; samples and placeholders are left out."""
    found = [secret for secret in _candidates(text) if not _placeholder(text[secret.start : secret.end])]
    return sorted(found, key=lambda secret: (secret.start, secret.end)) if found else found


def redact(text: str) -> str:
    """The text with every credential cut to its first four characters."""
    at, parts = 0, []
    for secret in find_secrets(text):
        if secret.start >= at:
            parts += [text[at : secret.start + 4], "***"]
            at = secret.end
    return "".join(parts) + text[at:] if parts else text


def entropy(text: str) -> float:
    """Shannon entropy in bits per character; 0 for an empty text."""
    total = len(text)
    return -sum(n / total * math.log2(n / total) for n in Counter(text).values()) if total else 0.0


def _candidates(text: str) -> Iterator[Secret]:
    # One byte for each character, so that offsets are those of the text.
    raw = text.encode("ascii", "replace")
    for kind, literals, pattern, run in _FORMATS:
        if not run and any(literal in raw for literal in literals):
            yield from _found(kind, pattern, text, 0, len(text))
    marks = raw.translate(_RUN_TABLE)
    at, done = marks.find(_RUN), 0
    while at >= 0:
        end = marks.find(b" ", at)
        end = len(text) if end < 0 else end
        start = max(done, at - _BEFORE) if at and raw[at - 1] in _JOINTS else at
        # The rules of tables and sections are runs of one mark.
        if (start < at or raw[at:end].strip(b"-_")) and _ANY_LITERAL.search(raw, start, end):
            for kind, literals, pattern, run in _FORMATS:
                if run and any(literal in raw[start:end] for literal in literals):
                    yield from _found(kind, pattern, text, start, end)
        at, done = marks.find(_RUN, end), end


def _found(kind: str, pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[Secret]:
    for match in pattern.finditer(text, start, end):
        yield Secret(match.start(), match.end(), kind)


def _placeholder(value: str) -> bool:
    """Whether a person typed it: words, counting, one repeated letter."""
    body = value.rpartition("\n" if "\n" in value else "-----")[2]
    tail = body[8:] if len(body) > 24 else body[4:]
    return value.endswith(_DOCUMENTED) or bool(_EVERYDAY.search(tail.lower())) or entropy(tail) < _ENTROPY


# --- What must not leave somebody's log ---

_SIGNED = lazy(
    r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}-----|$)",
    re.DOTALL,
)
_LOGIN = lazy(r"(?<=://)[^\s/@:]{1,100}(?::[^\s/@]{0,200})?@")
_NAMED = lazy(
    r"(?<![\w-])(?P<name>(?:[\w-]{0,60}(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key)[\w-]*|pwd))"
    r"(?P<sign>[\"']?\s*(?::|=|\bis\b)\s*[\"']?|\s+(?=[A-Za-z0-9+/_=-]{16,}))(?P<value>[^\s\"',;]{4,})",
    re.IGNORECASE,
)
_BEARER = lazy(r"\b(?P<name>bearer|basic)\s+(?=[^\s]*[\d+/=_-])[A-Za-z0-9+/_=.~-]{8,}", re.IGNORECASE)
_LONG = lazy(r"(?<![\w/.-])[A-Za-z0-9_+/=-]{28,}(?![\w-])")
_ADDRESS = lazy(r"[\w.+%-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}\b")
_UNIX = lazy(r"(?<![\w.])(?P<root>/(?:home|Users)/)(?P<name>[^/\s\"'`:;,)<>]{1,64})")
_WINDOWS = lazy(r"(?P<root>[A-Za-z]:\\{1,2}Users\\{1,2})(?P<name>[^\\\s\"'`:;,)<>]{1,64})")
_NUMBER_WITH_COUNTRY = lazy(r"(?<![\w])(?:\+|\b00)\d[\d ()/.-]{6,22}\d\b")
_NUMBER = lazy(r"(?<![\w.,:/#-])\(?\d{2,5}\)?[ ./-]?(?:\d{2,5}[ ./-]){1,5}\d{2,8}(?![\w.-]\d|\w)")
_DATE = lazy(r"(?:19|20)\d\d[-./ ]\d{1,2}[-./ ]\d{1,2}|\d{1,2}[-./ ]\d{1,2}[-./ ](?:19|20)?\d\d")
_BANK = lazy(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")
_CARD = lazy(r"(?<![\w.-])(?:\d[ -]?){13,19}(?![\w-])")
_FOUR = lazy(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")
_SIX = lazy(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])")
_RANDOM = 3.4
_FEWEST_DIGITS = 7
_ACCOUNTS = frozenset(("user", "you", "username", "runner", "root", "ubuntu", "node", "shared", "public"))


_Steps = tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]


def hide_named(text: str) -> str:
    """The text without credentials in a form of their own, addresses of e-mail, and names of home folders.

    Hashes, numbers and times stay, so that what was measured can still be computed. Applied twice it changes nothing
    more.
    """
    steps: _Steps = (
        (_SIGNED, lambda match: "***"),
        (_LOGIN, lambda match: "***@"),
        (_BEARER, lambda match: f"{match['name']} ***"),
        (_ADDRESS, lambda match: "name@example.com"),
        (_UNIX, _folder),
        (_WINDOWS, _folder),
    )
    text = redact(text)
    for pattern, made in steps:
        text = pattern.sub(made, text)
    return text


def hide_private(text: str) -> str:
    """The same without passwords, long tokens and numbers of persons, too. Applied twice it changes nothing more.

    Names of people and companies have no form that could be found: whoever accepts a draft has to read it. The rules
    of leakage leave alone what is likely an example, so as not to warn in vain; in a log it may be somebody.
    """
    text = hide_named(text)
    steps: _Steps = (
        (_NAMED, lambda match: f"{match['name']}{match['sign']}***"),
        (_LONG, _token),
        (_BANK, lambda match: "***"),
        (_FOUR, lambda match: _host(match.group())),
        (_SIX, lambda match: _host(match.group())),
        (_NUMBER_WITH_COUNTRY, lambda match: "555-0100"),
        (_CARD, lambda match: "***"),
        (_NUMBER, _number),
    )
    for pattern, made in steps:
        text = pattern.sub(made, text)
    return text


def _folder(match: re.Match[str]) -> str:
    return match.group() if match["name"].lower() in _ACCOUNTS else f"{match['root']}user"


def _token(match: re.Match[str]) -> str:
    """A long run of letters and digits that nobody would type; words with hyphens and paths are left."""
    found = match.group()
    mixed = any(char.isdigit() for char in found) and any(char.isalpha() for char in found)
    worded = max((len(part) for part in re.split(r"[-_/+=]", found)), default=0) < 16
    return "***" if mixed and not worded and entropy(found) >= _RANDOM else found


def _host(found: str) -> str:
    try:
        address = ip_address(found)
    except ValueError:
        return found
    if (
        address.is_loopback
        or address.is_unspecified
        or address in (IPv4Address("192.0.2.1"), IPv6Address("2001:db8::1"))
    ):
        return found
    return "192.0.2.1" if address.version == 4 else "2001:db8::1"


def _number(match: re.Match[str]) -> str:
    found = match.group()
    digits = sum(char.isdigit() for char in found)
    return found if digits < _FEWEST_DIGITS or _DATE.fullmatch(found.strip()) or found == "555-0100" else "555-0100"
