"""What each host makes of a skill: cases as data, hostile bytes, and the reference validator itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from skills_ref.parser import parse_frontmatter
from skills_ref.validator import validate_metadata

from skill_health.hosts._api import Fault, HostRules, Outcome
from skill_health.hosts._faults import find_faults
from skill_health.hosts._load import all_hosts, host, host_keys
from skill_health.hosts._verdict import judge_skill
from skill_health.skill.parse import parse_skill

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("verdicts.yaml").read_text(encoding="utf-8"))
PATH = "skills/tidy/SKILL.md"


def text_of(case: dict[str, Any]) -> str:
    """The file of a case; a number in braces stands for that many characters."""
    text = str(case.get("text") or f"---\n{case['head']}---\n# Tidy\n\nSort it.\n")
    return re.sub(r"\{(\d+)\}", lambda found: "x" * int(found[1]), text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
@pytest.mark.parametrize("key", host_keys())
def test_case(case: dict[str, Any], key: str) -> None:
    verdict = judge_skill(parse_skill(text_of(case).encode(), PATH), host(key))
    outcome, *faults = str(case.get(key, "loads")).split()
    assert verdict.outcome.value == outcome, verdict.reasons
    assert sorted({reason.fault.name for reason in verdict.reasons}) == sorted(faults)


def test_every_host_of_a_case_exists() -> None:
    assert {key for case in CASES for key in case} <= {"id", "text", "head", *host_keys()}


PLACES = [
    ("---\nname: tidy\ndescription: a\n---\n", []),
    ("--- \nname: tidy\ndescription: a\n---\n", ["SPACE_AFTER_OPENING_FENCE 1:4"]),
    ("---\t\t\nname: tidy\ndescription: a\n---\n", ["SPACE_AFTER_OPENING_FENCE 1:4"]),
    ("Words before.\n--- \nname: tidy\ndescription: a\n---\n", ["NO_FRONTMATTER 1:1"]),
    ("---\nname: tidy --- x\ndescription: a\n---\n", ["DASHES_IN_BLOCK 2:12", "OTHER_NAME 2:7"]),
    ("---\nname: tidy\ndescription: a --- b\n---\n--- c\n", ["DASHES_IN_BLOCK 3:16"]),
    ("---\nname: tidy\ndescription: a --- b --- c", ["UNCLOSED_FRONTMATTER 1:1", "DASHES_IN_BLOCK 3:16"]),
    ("---\nname: tidy\ndescription: >-\n  a\n  b --- c\nlicense: MIT\n---\n", ["DASHES_IN_BLOCK 5:5"]),
    ("---\nname: ti\x01dy\ndescription: a\n---\n", ["CONTROL_CHARACTER 2:1", "CONTROL_CHARACTER 2:9", "OTHER_NAME 2:7"]),
    ("---\nname: tidy\ndescription: a\x02\n---\n\x03\n", ["CONTROL_CHARACTER 2:1", "CONTROL_CHARACTER 3:15"]),
    ("---\nname: !!str tidy\ndescription: !x a\n---\n", ["TAG 2:1", "OTHER_TAG 3:1"]),
    ("---\n{name: tidy, description: a}\n---\n", ["FLOW_STYLE 2:1"]),
    ("---\n# c\n{name: tidy,\n description: a}\n---\n", ["FLOW_STYLE 2:1"]),
    ("---\nname: tidy\ndescription: a\nmetadata:\n  a: [b]\n  long: {c: d}\n---\n", ["FLOW_STYLE 5:6", "FLOW_STYLE 6:9"]),
    ("---\nname: tidy\ndescription: a\nmetadata: {a: b}\n---\n", ["FLOW_STYLE 4:11"]),
    ("---\nname: tidy\ndescription: a\nmetadata:\n  a: '[b]'\n  b: '{c}'\n  c:\n    d: e\n---\n", []),
    ("---\nname: tidy\ndescription: a\nallowed-tools:\n- Read\n---\n", []),
    ("---\nname: tidy\ndescription: a\nmetadata: {a: b}", ["UNCLOSED_FRONTMATTER 1:1", "FLOW_STYLE 4:11"]),
    ("---\nname: !x tidy\ndescription: [a\n---\n", ["BROKEN_YAML 3:14", "OTHER_NAME 2:7"]),
    ("---\n# {\nname: tidy\n# {\ndescription: a\n---\n", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "places"), PLACES)
def test_a_fault_is_named_with_its_place(text: str, places: list[str]) -> None:
    found = find_faults(parse_skill(text.encode(), PATH))
    assert [f"{one.fault.name} {one.span.line}:{one.span.col}" for one in found] == places


@pytest.mark.parametrize("rules", all_hosts(), ids=lambda rules: rules.key)
def test_a_host_is_complete_and_dated(rules: HostRules) -> None:
    assert rules.key in host_keys()
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", rules.read)
    assert re.search(r"\w\.\w+/", rules.source)
    assert rules.version
    assert not rules.skips.keys() & rules.loses.keys()
    assert all(words and words[0].islower() for words in (*rules.skips.values(), *rules.loses.values()))
    beyond = {
        Fault.LONG_NAME: rules.limits.name, Fault.LONG_DESCRIPTION: rules.limits.description,
        Fault.LONG_COMPATIBILITY: rules.limits.compatibility, Fault.NAME_CHARACTERS: rules.limits.name_pattern,
        Fault.LARGE_FILE: rules.limits.file_characters or rules.limits.file_bytes,
    }  # fmt: skip
    for fault, limit in beyond.items():
        assert (fault in rules.skips or fault in rules.loses) == bool(limit), fault


@pytest.mark.parametrize("key", host_keys())
@pytest.mark.parametrize("name", ["skill.md", "Skill.md"])
def test_the_case_of_the_file_name(key: str, name: str) -> None:
    data = b"---\nname: tidy\ndescription: Tidies lists.\n---\n"
    verdict = judge_skill(parse_skill(data, f"skills/tidy/{name}"), host(key))
    known = "SKILL.md" in host(key).file_names and name not in host(key).file_names
    assert (verdict.outcome is Outcome.SKIPPED) == (known and key not in ("cursor", "copilot-cowork"))


HOSTILE = [
    b"", b"\xff\xfe-\0-\0-\0\n\0", b"---\nname: \xff\xfe\ndescription: \x80\n---\n",
    b"---\nname: \x1b]0;title\x07\ndescription: a\0b\n---\n", b"---\n" + b"a: [" * 2000 + b"\n---\n",
    b"---\nname: tidy\ndescription: " + b"x" * 300_000 + b"\n---\n", b"---\r---\r\rname:\r",
    b"---\n? [a]\n: {b: !c d}\n---\n", b"---\n---\n", b"---\n- a\n---\n",
    b"--- \nname: !!int ''\ndescription: !!binary x\n--- \n",
    "---\nname: \u202etidy\ndescription: '\ud83d'\n---\n".encode("utf-8", "surrogatepass"),
]  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_bytes_have_a_verdict_everywhere(data: bytes) -> None:
    skill = parse_skill(data, PATH)
    for rules in all_hosts():
        verdict = judge_skill(skill, rules)
        assert (verdict.outcome is Outcome.LOADS) == (not verdict.reasons)
        for reason in verdict.reasons:
            assert 1 <= reason.span.line <= max(1, len(skill.lines) + 1)


@given(st.binary(max_size=200))
@example(b"---\nname: a\ndescription: b\n---\n")
def test_no_bytes_raise(data: bytes) -> None:
    skill = parse_skill(b"---\n" + data, PATH)
    found = find_faults(skill)
    for rules in all_hosts():
        assert judge_skill(skill, rules) == judge_skill(skill, rules, found)


LINES = st.sampled_from(
    [
        "name: tidy", "name: Tidy", "name: other", "name: 'tidy'", "name:", "name: 404", "name: a--b", "name: tidy ",
        "description: Tidies lists.", "description: Tidies: lists.", "description: >-\n  Tidies\n  lists.", "description:",
        "description: ''", "description: [a, b]", f"description: {'x' * 1025}", "description: '*' # x",
        "license: MIT", "license: [MIT]", "compatibility: Requires git", f"compatibility: {'x' * 501}",
        "metadata:\n  version: 1.0\n  tags: a", "metadata: {a: b}", "allowed-tools: Read Write", "allowed-tools:\n  - Read",
        "author: Ada", "version: 1", "argument-hint: [a]", "metadata:\n  a: &x b\n  c: *x",
    ]
)  # fmt: skip


@given(st.lists(LINES, min_size=1, max_size=6))
def test_the_specification_is_what_the_reference_validator_says(lines: list[str]) -> None:
    text = "---\n" + "\n".join(lines) + "\n---\n# Tidy\n"
    try:
        errors = validate_metadata(parse_frontmatter(text)[0], Path("skills/tidy"))
    except Exception as error:  # it raises what its parser raises
        errors = [str(error)]
    verdict = judge_skill(parse_skill(text.encode(), PATH), host("agentskills"))
    assert (verdict.outcome is Outcome.SKIPPED) == bool(errors), (errors, verdict.reasons)
