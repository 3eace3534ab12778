"""The names of agents, models and providers, right and wrong."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.config.settings import Provider, RouterSettings
from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents._load import available, resolve

NAMELESS = "is no name of a model"
ROUTING = RouterSettings(
    providers={
        "mine": Provider("anthropic", "http://127.0.0.1:1"),
        "responses-here": Provider("openai-responses", "http://127.0.0.1:2"),
        "anthropic": Provider("anthropic", "http://127.0.0.1:3"),
        "odd": Provider("smoke-signals"),
    }
)


@pytest.mark.parametrize(
    ("spec", "name", "model", "protocol", "provider"),
    [
        ("claude-code:claude-sonnet-4-5", "claude-code", "claude-sonnet-4-5", "anthropic", None),
        ("codex:gpt-5.1-codex", "codex", "gpt-5.1-codex", "openai-responses", None),
        ("codex:ft:gpt-5:org::id", "codex", "ft:gpt-5:org::id", "openai-responses", None),
        ("codex:openai-responses:gpt-5", "codex", "gpt-5", "openai-responses", None),
        ("claude-code:mine:some/model:free", "claude-code", "some/model:free", "anthropic", "mine"),
        ("claude-code:anthropic:m", "claude-code", "m", "anthropic", "anthropic"),
        ("codex:responses-here:m", "codex", "m", "openai-responses", "responses-here"),
        ("scripted", "scripted", "", "", None),
        ("scripted:base=0.5,target=0.2", "scripted", "base=0.5,target=0.2", "", None),
    ],
)
def test_a_name_says_agent_model_protocol_and_provider(
    spec: str, name: str, model: str, protocol: str, provider: str | None
) -> None:
    choice = resolve(spec, ROUTING)
    assert (choice.spec, choice.name, choice.model, choice.protocol) == (spec, name, model, protocol)
    assert choice.provider == (ROUTING.providers[provider] if provider else None)
    assert protocol in choice.agent.PROTOCOLS or not choice.agent.PROTOCOLS


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("claude:m", "did you mean claude-code?"), ("claude_code:m", "did you mean claude-code?"),
        ("_load:m", "'_load'"), ("", "agent ''"),
        ("codex", " codex:MODEL"), ("codex:", " codex:MODEL"), ("codex:  ", " codex:MODEL"),
        ("codex:responses-here:", " codex:responses-here:MODEL"), ("codex:responses-here", " codex:responses-here:MODEL"),
        ("codex:response-here:m", "'response-here'; did you mean responses-here?"),
        ("claude-code:antropic:m", "there is no provider 'antropic'; did you mean anthropic?"),
        ("codex:mine:m", "codex speaks openai-responses, and mine speaks 'anthropic'"),
        ("codex:openai:m", "and openai speaks 'openai'"), ("codex:odd:m", "odd speaks 'smoke-signals'"),
        ("codex:--help", f"'--help' {NAMELESS}"), ("codex:a\nb", NAMELESS), ("claude-code:../m", NAMELESS),
        ("codex:" + "m" * 300, NAMELESS),
    ],
)  # fmt: skip
def test_a_wrong_name_has_one_clear_line(spec: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(spec, ROUTING)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


@given(st.text(max_size=60))
def test_whatever_is_written_is_a_choice_or_a_mistake_of_the_user(spec: str) -> None:
    with suppress(UsageError):
        assert resolve(f"codex:{spec}", ROUTING).model in spec


def test_every_agent_says_what_it_must() -> None:
    found = {info.name: info for info in available()}
    assert {"claude-code", "codex", "scripted"} <= set(found)
    for name, info in found.items():
        agent = info.agent
        assert agent.TITLE and "\n" not in agent.TITLE and "_" not in name
        assert isinstance(agent.ORDERED, bool) and isinstance(agent.SIMULATED, bool)
        assert all(isinstance(protocol, str) for protocol in agent.PROTOCOLS)
        assert not agent.SKILLS.startswith("/") and ".." not in agent.SKILLS
        assert all(callable(getattr(agent, part)) for part in ("command", "probe", "listed", "read"))
    assert [info.agent.SIMULATED for info in available()] == sorted(info.agent.SIMULATED for info in available())
