"""Runs whose calls go in batches to real HTTP servers of three vendors' protocols, honest and hostile."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from batch_server import Batch, BatchProvider, Call, Lines, shuffled
from callers import KEY, KEY_ENV
from loopback import PROTOCOLS, Loopback, Reaction, Seen, ranking

from skill_health.bench.http import pacing
from skill_health.bench.journal import read_past
from skill_health.bench.run import batches as engine
from skill_health.commands.router import command as group
from skill_health.core.errors import AbortedError, SkillHealthError, UsageError
from skill_health.core.validation import problems
from skill_health.router.instrument.planted import NAME
from skill_health.router.runs import FIELDS

TOPICS = ("invoices", "maps", "recipes")
EACH = 9
SPOILT = "this is no ranking"


def right(call: Call) -> str:
    """The answer that any sensible model gives."""
    request = call.text.rpartition("<<<REQUEST")[2]
    found = [f"{topic}-work" for topic in TOPICS if topic in request]
    return ranking(*(found or ([NAME] if "quaffle" in request else ["none"])), rationale=f"Because of {KEY}.")


@pytest.fixture
def provider() -> BatchProvider:
    return BatchProvider(right)


@pytest.fixture
def server(provider: BatchProvider) -> Iterator[Loopback]:
    with Loopback(provider.react) as running:
        yield running


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting takes no time to speak of."""
    monkeypatch.setattr(pacing, "STEPS", tuple(step / 1000 for step in pacing.STEPS))
    monkeypatch.setattr(engine, "LOOKS", (0.01,))
    monkeypatch.setattr(engine, "TICK", 0.01)
    monkeypatch.setattr(engine, "SETTLE", 0.1)


@pytest.fixture
def collection(write: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    text = "---\nname: {0}-work\ndescription: Sorts {0}. Use when {0} are in a mess.\n---\n# Work\n\nSort.\n"
    prompts = [
        {
            "prompt_id": f"p{n}", "prompt": f"sort my {TOPICS[n % 3]} please, number {n}" if n < 8 else "hello",
            "expected_primary_skill": f"{TOPICS[n % 3]}-work" if n < 8 else None, "acceptable_secondary_skills": [],
            "rejected_skills": [], "reason": "About them.",
        }
        for n in range(EACH)
    ]  # fmt: skip
    root = write({
        **{f"skills/{topic}-work/SKILL.md": text.format(topic) for topic in TOPICS},
        "prompts.jsonl": "".join(json.dumps(prompt) + "\n" for prompt in prompts),
    })  # fmt: skip
    monkeypatch.chdir(root)
    monkeypatch.setenv(KEY_ENV, KEY)
    return root


def settings(url: str, share: str = "batch = 0.5", env: str = KEY_ENV) -> str:
    lines = []
    for name in PROTOCOLS:
        lines += [f"[router.providers.{name}]", f'protocol = "{name}"', f'base-url = "{url}"', f'key-env = "{env}"']
        lines += [f'[router.prices."{name}:m"]', "input = 10.0", "output = 10.0", share]
    return "\n".join(lines)


@pytest.fixture
def call(collection: Path, server: Loopback) -> Callable[..., int]:
    """Run `router run --batch` over the server."""

    def run(*given: str, models: str = "openai:m", reps: int = 2, caps: tuple[str, ...] = ("--max-runs", "900")) -> int:
        (collection / "skill-health.toml").write_text(settings(server.url), "utf-8")
        code: int = group.main(
            ["run", "--batch", "--config", "skill-health.toml", "--models", models, "--reps", str(reps), *caps, *given],
            standalone_mode=False,
        )
        return code

    return run


def the_run(collection: Path) -> Path:
    (folder,) = (collection / "reports" / "router").iterdir()
    return folder


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def results(collection: Path) -> list[dict[str, Any]]:
    return lines(the_run(collection) / "results.jsonl")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_all_calls_go_in_one_batch_at_half_the_price(
    protocol: str, call: Callable[..., int], provider: BatchProvider, collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(models=f"{protocol}:m") == 0
    found = results(collection)
    assert Counter(row["status"] for row in found) == {"finished": 2 * EACH}
    assert {row["cost_usd"] for row in found} == {150 * 10 / 1e6 / 2}
    (batch,) = provider.batches
    assert len(batch.calls) == len(set(provider.texts())) == 2 * EACH
    names = {row["batch"] for row in found}
    events = lines(the_run(collection) / "batches.jsonl")
    assert [event["event"] for event in events] == ["sending", "submitted", "ended"]
    assert {event["batch"] for event in events} == names
    assert events[1]["provider_id"] == batch.batch_id
    assert batch.name in (*names, "")
    manifest = json.loads((the_run(collection) / "manifest.json").read_text("utf-8"))
    assert manifest["batch"] is True
    assert manifest["models"][0]["price"]["rates"][0]["input"] == 5
    assert manifest["models"][0]["list_price"]["rates"][0]["input"] == 10
    past = read_past(str(the_run(collection)), FIELDS)
    assert past.batches == {} and past.lost == 0
    # The instrument check was made by itself, at the whole price.
    assert provider.alone == 6
    assert past.usd == pytest.approx((6 + EACH) * 150 * 10 / 1e6)
    assert problems("router-manifest", manifest) == []
    for name, schema in (("attempts", "router-attempt"), ("results", "router-result"), ("batches", "model-batch")):
        for row in lines(the_run(collection) / f"{name}.jsonl"):
            assert problems(schema, row) == []
    out = capsys.readouterr()
    for text in (*(path.read_text("utf-8", "replace") for path in collection.rglob("*") if path.is_file()), *out):
        assert KEY not in text


_ = (Batch, Lines, AbortedError, SkillHealthError, UsageError, Reaction, Seen, shuffled, SPOILT)
