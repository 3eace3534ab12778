"""`--orders shared`: few orders, whose listing providers' caches serve; played by a server that caches as they do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from callers import KEY, KEY_ENV
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback, Reaction, Seen, answer, failure, ranking

from scripts import sweep_costs
from skill_health.bench.http.messages import Conversation, Turn
from skill_health.bench.prices import Rates, TieredPrice
from skill_health.bench.providers._load import load_provider
from skill_health.commands.router import command as group
from skill_health.router.plan.orders import SHARED, group_of, presentation, rotated
from skill_health.router.plan.savings import CachedCalls, Savings, find_savings
from skill_health.router.template import PLACEHOLDERS, load_template, render, shared_part

SKILLS, PROMPTS, REPS = 30, 25, 2


@given(
    st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=30, unique=True),
    st.integers(0, 5),
    st.integers(0, 3),
)
def test_shared_orders_are_few_rotations_of_the_base(names: list[str], seed: int, replication: int) -> None:
    orders = {presentation(names, f"p{n}", "m", replication, seed, "shared") for n in range(60)}
    base = rotated(names, "p", 0, seed)
    assert 1 <= len(orders) <= min(SHARED, len(names))
    assert all(sorted(order) == sorted(names) for order in orders)
    doubled = "\0".join((*base, *base))
    assert all("\0".join(order) in doubled for order in orders)
    by_group = {
        group_of(f"p{n}", seed): presentation(names, f"p{n}", "m", replication, seed, "shared") for n in range(60)
    }
    assert all(
        presentation(names, f"p{n}", "x", replication, seed, "shared") == by_group[group_of(f"p{n}", seed)]
        for n in range(60)
    )


def test_over_replications_places_spread() -> None:
    names = [f"s{n}" for n in range(24)]
    places = Counter(
        presentation(names, f"p{n}", "m", replication, 1, "shared").index("s7")
        for n in range(200)
        for replication in range(3)
    )
    assert len(places) == 3 * SHARED


@pytest.mark.parametrize("template", ["none", "plan"])
def test_what_is_shared_is_the_question_up_to_the_prompt(template: str) -> None:
    found = load_template(template)
    texts = [render(found, (), prompt) for prompt in ("sort {{SKILL_BLOCK}}", "", "x" * 500)]
    begin = shared_part(found, ())
    assert len({text[:begin] for text in texts}) == 1 and len({text[begin:] for text in texts}) == 3
    assert PLACEHOLDERS[2] not in texts[0][:begin]


def test_anthropic_is_told_what_to_cache_and_nobody_else_sees_a_difference() -> None:
    for shared, blocks in ((0, 1), (5, 2), (11, 1), (99, 1)):
        turn = Turn("user", "Hello world", shared=shared)
        body = load_provider("anthropic").build_request(Conversation("m", (turn,)), "https://x.example").body
        content = body["messages"][0]["content"]
        if blocks == 1:
            assert content == "Hello world"
        else:
            assert [block["text"] for block in content] == ["Hello", " world"]
            assert [block.get("cache_control") for block in content] == [{"type": "ephemeral"}, None]
        for name in ("openai", "openai-responses", "gemini"):
            bodies = [
                load_provider(name).build_request(Conversation("m", (one,)), "").body
                for one in (turn, Turn("user", "Hello world"))
            ]
            assert bodies[0] == bodies[1]


class CachingProvider:
    """A server that caches beginnings: of OpenAI what requests share, of Anthropic what is marked. 4 bytes a token."""

    def __init__(self) -> None:
        self.began: set[str] = set()
        self.refusals = 0

    def react(self, seen: Seen) -> Reaction:
        if self.refusals:
            self.refusals -= 1
            return failure(seen, "server_error")
        content = seen.body["messages"][-1]["content"]
        whole = content if isinstance(content, str) else "".join(block["text"] for block in content)
        blocks = content if isinstance(content, list) else []
        marked = next((block["text"] for block in blocks if "cache_control" in block), "")
        # What follows the listing is the request.
        begin = whole.partition("<<<REQUEST")[0] if seen.protocol == "openai" else marked
        tokens, known = len(begin) // 4, begin in self.began
        self.began.add(begin)
        total = len(whole) // 4
        if seen.protocol == "openai":
            details = {"cached_tokens": tokens if known else 0}
            usage = {"prompt_tokens": total, "completion_tokens": 30, "prompt_tokens_details": details}
        else:
            usage = dict.fromkeys(("cache_read_input_tokens", "cache_creation_input_tokens"), 0)
            usage |= {"input_tokens": total - tokens, "output_tokens": 30}
            usage["cache_read_input_tokens" if known else "cache_creation_input_tokens"] = tokens
        return answer(seen, ranking("s1-work"), extra={"usage": usage})


@pytest.fixture
def collection(write: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    text = "---\nname: s{0}-work\ndescription: Sorts s{0}. Use when s{0} are in a mess. {1}\n---\n# Work\n\nSort.\n"
    prompts = [
        {
            "prompt_id": f"p{n}", "prompt": f"sort my s{n % SKILLS} please, number {n}", "expected_primary_skill": f"s{n % SKILLS}-work",
            "acceptable_secondary_skills": [], "rejected_skills": [], "reason": "About them.",
        }
        for n in range(PROMPTS)
    ]  # fmt: skip
    root = write({
        **{f"skills/s{n}-work/SKILL.md": text.format(n, f"Word{n} " * 100) for n in range(SKILLS)},
        "prompts.jsonl": "".join(json.dumps(prompt) + "\n" for prompt in prompts),
    })  # fmt: skip
    monkeypatch.chdir(root)
    monkeypatch.setenv(KEY_ENV, KEY)
    return root


def call(collection: Path, url: str, protocol: str, *given: str) -> list[dict[str, Any]]:
    """Run over the server, eight at once; the results."""
    lines = ["[router.providers.here]", f'protocol = "{protocol}"', f'base-url = "{url}"', f'key-env = "{KEY_ENV}"', "concurrency = 8",
             '[router.prices."here:m"]', "input = 10.0", "output = 10.0", "cached = 1.0"]  # fmt: skip
    (collection / "skill-health.toml").write_text("\n".join(lines), "utf-8")
    words = f"run --config skill-health.toml --models here:m --reps {REPS} --quiet --max-runs 900 --despite-check"
    assert group.main([*words.split(), *given], standalone_mode=False) in (0, 1)
    run = max((collection / "reports/router").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    return [json.loads(line) for line in (run / "results.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_all_but_the_first_of_each_order_come_from_the_cache(collection: Path, protocol: str) -> None:
    with Loopback(CachingProvider().react) as server:
        shared = call(collection, server.url, protocol, "--orders", "shared")
    with Loopback(CachingProvider().react) as server:
        cyclic = call(collection, server.url, protocol)
    groups = {group_of(f"p{n}", 1) for n in range(PROMPTS)}
    assert len(shared) == len(cyclic) == PROMPTS * REPS and len(groups) == SHARED
    missed = [each for each in shared if not each["usage"]["cached_tokens"]]
    assert len(missed) == len(groups) * REPS
    spent = [sum(each["cost_usd"] for each in results) for results in (shared, cyclic)]
    assert spent[0] < 0.5 * spent[1]


@pytest.mark.slow
def test_a_first_call_that_fails_keeps_nobody_waiting(collection: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from skill_health.bench.http import pacing

    monkeypatch.setattr(pacing, "STEPS", tuple(step / 1000 for step in pacing.STEPS))
    provider = CachingProvider()
    provider.refusals = 40
    with Loopback(provider.react) as server:
        results = call(collection, server.url, "openai", "--orders", "shared")
    assert len(results) == PROMPTS * REPS


@pytest.mark.slow
def test_the_forecast_says_what_is_cheaper(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(models: str, *given: str) -> str:
        words = ["run", "--dry-run", "--models", models, "--reps", str(REPS), *given]
        assert group.main(words, standalone_mode=False) == 0
        return capsys.readouterr().err

    plain = told("openai:gpt-4o,anthropic:claude-sonnet-4-5")
    assert "with --orders shared, where providers' caches serve the listing" in plain
    assert "with --batch, within a day" in plain
    shared = told("openai:gpt-4o,anthropic:claude-sonnet-4-5", "--orders", "shared")
    assert "  caches: $" in shared and "with --orders shared" not in shared
    # Computed here, of a server of one's own, and of two stages nobody knows a cache.
    assert "cheaper" not in told("lexical:tfidf") and "caches:" not in told("lexical:tfidf")
    assert "orders shared" not in told("openai:gpt-4o", "--retrieve", "5", "--retriever", "lexical:tfidf")
    (collection / "skill-health.toml").write_text('[router.providers.mine]\nprotocol = "openai"\nbase-url = "http://127.0.0.1:1"\n'
        '[router.prices."mine:m"]\ninput = 10.0\noutput = 10.0\ncached = 1.0\n', "utf-8")  # fmt: skip
    assert "cheaper" not in told("mine:m", "--config", "skill-health.toml")


@given(st.integers(1, 500), st.integers(0, 5000), st.integers(0, 5000), st.data())
def test_what_caches_cost_is_the_sum_over_the_calls(calls: int, tokens: int, shared: int, data: st.DataObject) -> None:
    orders = data.draw(st.integers(1, calls))
    price = TieredPrice((Rates(3.0, 15.0, 0.3, 3.75),), request=0.001)
    common = min(shared, tokens)
    each = [(tokens - common) * 3.0 + common * rate + 100 * 15.0 for rate in [3.75] * orders + [0.3] * (calls - orders)]
    expected = sum(each) / 1e6 + 0.001 * calls
    assert CachedCalls(calls, orders, tokens, shared, 100).usd(price) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_the_published_table_is_of_what_the_forecast_says(tmp_path: Path) -> None:
    sweep_costs.made(tmp_path)
    prepared = sweep_costs.swept(tmp_path, ("anthropic:claude-haiku-4-5",))
    found = find_savings(prepared.plan, prepared.prices, {})
    assert found.plain is not None and found.cached is not None and found.batched is not None
    assert found.plain == prepared.forecast.usd_low
    assert found.cached < found.batched < found.plain and found.batched == pytest.approx(found.plain / 2)
    lines = list(sweep_costs.table({"a": found, "b": Savings(None, None, None)}, "x", 0.5))
    assert lines[-2] == "| all four | – | – | – | – |" and f"${found.plain:,.2f}" in lines[4]
