"""Helpers of the family under generated and hostile input: quoting is lossless, nothing crashes, nothing hangs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import yaml
from growth import is_linear, lines_run
from hypothesis import given
from hypothesis import strategies as st

from skill_health.config.settings import Config
from skill_health.rules._api import Hit
from skill_health.rules._load import all_rules
from skill_health.rules.frontmatter._keys import KNOWN, meant
from skill_health.rules.frontmatter._names import problems, suggestion
from skill_health.rules.frontmatter._shared import quote
from skill_health.skill.parse import parse_skill

CONTEXT = SimpleNamespace(config=Config(), exists=lambda path: False)

RULES = [rule for rule in all_rules() if rule.family == "frontmatter"]
HOSTILE = {
    "quotes": "\"'", "opening quotes": "“«`", "angle brackets": "<a", "exclamation tags": "<!",
    "sentences": "I. You. We. ", "pronouns": "I ", "prepositions": "use use for used made ", "parentheses": "(",
    "escapes": "\\x1b[", "spaces": " ",
}  # fmt: skip
KEYS = ("name", "description", "allowed-tools", "compatibility")


def hits_of(data: bytes, path: str = "skills/tidy/SKILL.md") -> list[Hit]:
    skill = parse_skill(data, path)
    return [hit for rule in RULES if rule.check for hit in rule.check(skill, CONTEXT)]  # type: ignore[arg-type]


@given(st.text())
def test_quoting_keeps_every_character(text: str) -> None:
    assert yaml.safe_load(f"key: {quote(text)}") == {"key": text}


@given(st.text(max_size=100))
def test_a_suggested_name_is_valid(text: str) -> None:
    better = suggestion(text)
    assert not better or problems(better) == []


@given(st.text(max_size=60))
def test_a_key_means_a_known_one_or_none(text: str) -> None:
    assert meant(text) in {*KNOWN, None}


@given(st.binary(max_size=400))
def test_no_bytes_crash_a_rule(data: bytes) -> None:
    hits_of(data)
    hits_of(b"---\n" + data + b"\n---\n")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from([*sorted(KNOWN), "allowed_tools", "Name", "version"]), VALUES, max_size=6))
def test_no_value_of_a_known_key_crashes_a_rule(matter: dict[str, object]) -> None:
    text = yaml.safe_dump(matter, sort_keys=False, allow_unicode=True)
    for hit in hits_of(f"---\n{text}---\n".encode("utf-8", "surrogatepass")):
        assert hit.message and hit.help and hit.span.line >= 1


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_time_grows_with_the_length_only(text: str) -> None:
    def lines(times: int) -> int:
        matters = [f"---\n{key}: {quote(text * times)}\n---\n".encode() for key in KEYS]
        return lines_run(lambda: [hits_of(matter) for matter in matters])

    assert is_linear(lines)
