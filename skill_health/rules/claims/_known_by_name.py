"""Figures whose source the text names without linking it: a study or product by name, or a vendor's published offer."""

from __future__ import annotations

import re

from skill_health.rules.claims._words import pattern
from skill_health.text.patterns import lazy

# A name has a capital or digit after its first letter (SRFT, OpenAI, GPT-4), or is several capitalised words; a plain
# capitalised word may be no more than the beginning of a sentence ("Customers report").
_NAME = r"(?:[A-Za-z][\w-]{0,30}?[A-Z0-9][\w.-]{0,30}|[A-Z][a-z]{2,30}(?:\s(?:[A-Z][\w-]{1,30}|et al\.?|and|&)){1,4})"
_REPORTS = lazy(
    rf"(?<![\w-]){_NAME}(?:['\u2019]s\s(?:\w{{1,30}}\s){{1,3}}|\s(?:\([^()\n]{{1,40}}\)\s)?)"
    r"(?:reports?|reported|finds|found|measure[sd]|publish(?:es|ed)|showed|claims|claimed|benchmarked)\b"
)
_ACCORDING = lazy(rf"\b[Aa]ccording to\s(?:the\s)?(?:{_NAME}|[A-Z]\w{{2,30}})")
_UP_TO = r"\bup\s+to\s+[~*_]*$"
_OFFER = r"\+?[*_]*\s+(?:savings?|discounts?|off|cheaper|less\s+than\s+on-demand)\b"
_TIMES = r"\+?[*_]*\s+(?:faster|cheaper|smaller|lighter|quicker)\b"


def attributed(sentence: str, at: int) -> bool:
    """Whether the figure at this offset of its sentence follows the name of the study, paper or product it is from."""
    before = sentence[:at]
    return _REPORTS.search(before) is not None or _ACCORDING.search(before) is not None


def offered(sentence: str, at: int, end: int) -> bool:
    """Whether a figure is a vendor's published ceiling: "up to 57 % savings"."""
    before, after = sentence[max(0, at - 16) : at], sentence[end : end + 40]
    return pattern(_UP_TO).search(before) is not None and pattern(_OFFER).match(after) is not None


def is_tagline(sentence: str, end: int, heading: str, product: str) -> bool:
    """Whether a multiple is the tagline of the product that the skill is about.

    For example, below a heading "What is uv?" or "uv vs other tools" in a skill called uv-...
    """
    if not product or pattern(_TIMES).match(sentence[end : end + 40]) is None:
        return False
    name = re.escape(product)
    pitch = rf"\b(?:what\s+is|why|about|introducing)\s+(?:use\s+)?{name}\b|\b{name}\s+(?:vs\b|versus\b|compared\b)"
    return re.search(pitch, heading, re.IGNORECASE) is not None
