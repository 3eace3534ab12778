"""Families of models: read from names, named by the user where they are not known, never both judge and candidate."""

from __future__ import annotations

import pytest

from skill_health.core.errors import UsageError
from skill_health.effectiveness.judge.families import families_of, parse_families, refuse_own_family, settle_families


@pytest.mark.parametrize(
    ("model", "families"),
    [
        ("claude-sonnet-4-5", {"claude"}), ("us.anthropic.claude-3-haiku-20240307-v1:0", {"claude"}),
        ("anthropic/Claude-Opus-4", {"claude"}), ("opus", {"claude"}), ("gpt-5-mini", {"gpt"}),
        ("openai/gpt-oss-20b", {"gpt"}), ("o3-mini", {"gpt"}), ("models/gemini-2.5-pro", {"gemini"}),
        ("google/gemma-3-27b-it", {"gemini"}), ("meta-llama/Llama-3.1-8B-Instruct", {"llama"}),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", {"deepseek", "qwen"}), ("mistralai/Mixtral-8x7B", {"mistral"}),
        ("phi-4", {"phi"}), ("command-r-plus", {"command"}), ("m", set()), ("", set()), ("o30", set()),
        ("philosopher-7b", set()),
    ],
)  # fmt: skip
def test_a_name_says_its_families(model: str, families: set[str]) -> None:
    assert families_of(model) == families


def test_a_user_names_what_is_not_known_and_goes_before_the_name() -> None:
    told = parse_families(["here:m=Qwen", "alias=llama", "alias=mistral"])
    assert settle_families(["m"], "here:m", told) == {"qwen"}
    assert settle_families(["alias"], "loop:alias", told) == {"llama", "mistral"}
    assert settle_families(["m", "gpt-5"], "there:m", {}) == {"gpt"}


def test_an_unknown_family_is_asked_for() -> None:
    with pytest.raises(UsageError, match="which family of models 'here:m' is of"):
        settle_families(["m"], "here:m", {})


@pytest.mark.parametrize("text", ["m", "=llama", "m=", "m=two words", "m=\x1b[2J", "m=" + "x" * 99])
def test_a_family_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write MODEL=FAMILY"):
        parse_families([text])


def test_no_judge_is_of_the_family_of_a_candidate() -> None:
    refuse_own_family("a", frozenset({"gpt"}), "b", frozenset({"claude"}))
    with pytest.raises(UsageError) as refused:
        refuse_own_family("openai:gpt-5", frozenset({"gpt"}), "codex:gpt-5", frozenset({"gpt", "llama"}))
    said = "'openai:gpt-5' may not judge 'codex:gpt-5': both are of the family gpt; take a judge of another family"
    assert str(refused.value) == said
