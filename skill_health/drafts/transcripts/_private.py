"""What must not leave somebody's log: keys, addresses, numbers and folders of persons, each replaced by a made-up one.

Names of people and companies have no form that could be found: whoever accepts a draft has to read it. The rules of
leakage leave alone what is likely an example, so as not to warn in vain; in a log it may be somebody, and is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address

from skill_health.text.patterns import lazy
from skill_health.text.secrets import entropy
from skill_health.text.secrets import redact as redact_keys

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
_ENTROPY = 3.4
_FEWEST_DIGITS = 7
_NOBODY = frozenset(("user", "you", "username", "runner", "root", "ubuntu", "node", "shared", "public"))


def hide_private(text: str) -> str:
    """The text with what is private replaced. Applied twice it changes nothing more."""
    text = redact_keys(text)
    steps: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
        (_SIGNED, lambda match: "***"),
        (_LOGIN, lambda match: "***@"),
        (_BEARER, lambda match: f"{match['name']} ***"),
        (_NAMED, lambda match: f"{match['name']}{match['sign']}***"),
        (_ADDRESS, lambda match: "name@example.com"),
        (_UNIX, _folder),
        (_WINDOWS, _folder),
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
    return match.group() if match["name"].lower() in _NOBODY else f"{match['root']}user"


def _token(match: re.Match[str]) -> str:
    """A long run of letters and digits that nobody would type; words with hyphens and paths are left."""
    found = match.group()
    mixed = any(char.isdigit() for char in found) and any(char.isalpha() for char in found)
    worded = max((len(part) for part in re.split(r"[-_/+=]", found)), default=0) < 16
    return "***" if mixed and not worded and entropy(found) >= _ENTROPY else found


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
