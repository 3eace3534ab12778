"""The complexity contract of a skill: what its author says it costs, where it applies, and what to do for less.

SkillsBench (Li et al., 2026, section 6) proposes it for the frontmatter. It stands below `metadata`, whose values are
text by the specification of skills:

    metadata:
      expected-tool-calls: "20"
      expected-tokens: "60000"
      applies-to: PDF forms of at most 50 pages
      fallback: Fill single fields with scripts/fill_one.py
"""

from __future__ import annotations

from typing import NamedTuple

from skill_health.skill.model import Field, Skill

CALLS, TOKENS, APPLIES, FALLBACK = "expected-tool-calls", "expected-tokens", "applies-to", "fallback"
CONTRACT = (CALLS, TOKENS, APPLIES, FALLBACK)
_MOST = 10**9


class ComplexityContract(NamedTuple):
    """The most calls of tools and tokens of ordinary work, and the rest; None or "" for what is not said."""

    tool_calls: int | None
    tokens: int | None
    applies_to: str
    fallback: str


class ContractProblem(NamedTuple):
    """The field to look at, and what is wrong."""

    field: Field
    message: str


def read_contract(skill: Skill) -> ComplexityContract | None:
    """The contract of a skill; None where it has none of its fields."""
    found = contract_fields(skill)
    if not found:
        return None
    return ComplexityContract(
        _whole(found.get(CALLS)), _whole(found.get(TOKENS)), _text(found.get(APPLIES)), _text(found.get(FALLBACK))
    )


def contract_fields(skill: Skill) -> dict[str, Field]:
    """The fields of the contract that are there."""
    metadata = skill.field("metadata")
    return {field.key: field for field in (metadata.fields if metadata else ()) if field.key in CONTRACT}


def find_contract_problems(skill: Skill) -> list[ContractProblem]:
    """What keeps a contract from being one, nothing where there is none."""
    found = contract_fields(skill)
    problems = [
        ContractProblem(found[key], f"{key} is no whole number above 0")
        for key in (CALLS, TOKENS)
        if key in found and _whole(found[key]) is None
    ]
    problems += [
        ContractProblem(found[key], f"{key} says nothing")
        for key in (APPLIES, FALLBACK)
        if key in found and not _text(found[key])
    ]
    missing = [key for key in CONTRACT if key not in found]
    if found and missing:
        problems.append(
            ContractProblem(next(iter(found.values())), f"the complexity contract lacks {', '.join(missing)}")
        )
    return problems


def _whole(field: Field | None) -> int | None:
    text = str(field.value).strip() if field and not isinstance(field.value, (bool, list, dict)) else ""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < len(str(_MOST)) else 0
    return number or None


def _text(field: Field | None) -> str:
    return field.value.strip() if field and isinstance(field.value, str) else ""
