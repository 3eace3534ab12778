"""Credentials are found by format, samples are not, and what is printed holds no more than four characters."""

from __future__ import annotations

import random
import string

import pytest
from counted import Counted
from growth import is_linear, lines_run
from hypothesis import given
from hypothesis import strategies as st

from skill_health.text import secrets
from skill_health.text.secrets import entropy, find_secrets, redact

BASE62 = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
CHANCE = random.Random(20261121)


def some(alphabet: str, length: int) -> str:
    return "".join(CHANCE.choice(alphabet) for _ in range(length))


# Put together at run time, so that this file holds nothing that looks like a credential.
KINDS = {
    "AWS access key id": lambda: "AK" + "IA" + some(string.ascii_uppercase + "234567", 16),
    "GitHub token": lambda: "gh" + "p_" + some(BASE62, 36),
    "GitLab token": lambda: "gl" + "pat-" + some(BASE62, 20),
    "Slack token": lambda: (
        "xo" + "xb-" + some(string.digits, 12) + "-" + some(string.digits, 12) + "-" + some(BASE62, 24)
    ),
    "Slack webhook": lambda: (
        "hooks.slack" + f".com/services/T{some('ABC123', 9)}/B{some('ABC123', 9)}/{some(BASE62, 24)}"
    ),
    "Stripe live key": lambda: "sk_" + "live_" + some(BASE62, 24),
    "OpenAI key": lambda: "sk-" + "proj-" + some(BASE62 + "_-", 70) + "A",
    "Anthropic key": lambda: "sk-" + "ant-api03-" + some(BASE62 + "_-", 94) + "A",
    "OpenRouter key": lambda: "sk-" + "or-v1-" + some(HEX, 64),
    "Google API key": lambda: "AI" + "za" + some(BASE62 + "_-", 35),
    "Google OAuth secret": lambda: "GOC" + "SPX-" + some(BASE62, 28),
    "npm token": lambda: "np" + "m_" + some(BASE62, 36),
    "PyPI token": lambda: "py" + "pi-AgE" + some(BASE62 + "_-", 150),
    "Hugging Face token": lambda: "h" + "f_" + some(string.ascii_letters, 34),
    "SendGrid key": lambda: "S" + "G." + some(BASE62 + "_-", 22) + "." + some(BASE62, 43),
    "Telegram bot token": lambda: some("123456789", 10) + ":A" + "A" + some(BASE62, 33),
    "DigitalOcean token": lambda: "do" + "p_v1_" + some(HEX, 64),
    "Shopify token": lambda: "shp" + "at_" + some(HEX, 32),
    "Azure storage key": lambda: "Account" + "Key=" + some(BASE62 + "+/", 86) + "==",
    "Vault token": lambda: "hv" + "s." + some(BASE62, 90),
    "Databricks token": lambda: "da" + "pi" + some(HEX, 32),
    "Groq key": lambda: "gs" + "k_" + some(BASE62, 52),
    "Linear key": lambda: "lin_" + "api_" + some(BASE62, 40),
    "age secret key": lambda: "AGE-SECRET" + "-KEY-1" + some(string.ascii_uppercase + string.digits, 58),
    "private key": lambda: "-----BEGIN " + "PRIVATE KEY-----\n" + some(BASE62 + "+/", 64),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_is_found_and_cut(kind: str) -> None:
    for _ in range(50):
        value = KINDS[kind]()
        text = f"Set it: KEY={value} and go on."
        [secret] = find_secrets(text)
        assert (secret.kind, text[secret.start : secret.end]) == (kind, value)
        assert value not in redact(text)
        assert redact(text) == f"Set it: KEY={value[:4]}*** and go on."


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_" + "x" * 36,
        "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789",
        "ghp_your_token_here_0000000000000000000",
        "sk-proj-...",
        "sk-ant-api03-" + "A" * 95,
        "AI" + "zaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe",
        "npm_translate_lock",
        "hf_hub_download(repo_id)",
        "-----BEGIN PRIVATE KEY-----\\n...\\n-----END PRIVATE KEY-----",
        "-----BEGIN PUBLIC KEY-----\n" + "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA1234",
        "task-" + "f" * 60,
        "sha256:" + "0123456789abcdef" * 4,
        "",
    ],
)
def test_samples_and_look_alikes_are_left(text: str) -> None:
    assert find_secrets(text) == []
    assert redact(text) == text


def test_two_on_one_line_are_both_cut() -> None:
    one, two = KINDS["GitHub token"](), KINDS["AWS access key id"]()
    assert redact(f"{one},{two}") == f"{one[:4]}***,{two[:4]}***"


@given(st.text())
def test_any_text_is_survived_and_cut_once(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@given(st.text("ab", max_size=40))
def test_entropy_is_between_nothing_and_one_bit_for_two_letters(text: str) -> None:
    assert 0 <= entropy(text) <= 1
    assert (entropy(text) == 0) == (len(set(text)) < 2)


@pytest.mark.parametrize(
    "piece",
    [
        "xoxb-1111111111-", "-----BEGIN A ", "-----BEGIN PRIVATE KEY-----\n", "sk-proj-", "SG.a.", "hvs.",
        "1234567890:AA",
    ],
)  # fmt: skip
def test_repeats_take_linear_time(piece: str) -> None:
    assert is_linear(lambda times: lines_run(lambda: find_secrets(piece * times + "a" * 40)))
    for kind, _, pattern, _ in secrets._FORMATS:
        counted = Counted(pattern.pattern, pattern.flags)

        def steps(times: int, counted: Counted = counted) -> int:
            counted.steps = 0
            list(counted.finditer(piece * times + "a" * 40))
            return counted.steps

        assert is_linear(steps), kind
