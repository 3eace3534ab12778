"""Runs whose calls go in batches to real HTTP servers of three vendors' protocols, honest and hostile."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_server import Batch, BatchProvider, Call, shuffled
from callers import KEY, KEY_ENV
from hypothesis import given
from hypothesis import strategies as st
from loopback import PROTOCOLS, Loopback, Reaction, Seen
from made_collection import NULL, TOPICS, answer_rightly, labelled, the_run, write_collection
from nursery import rows
from thinned import thinned

from skill_health.bench.http import pacing
from skill_health.bench.http.failures import Failure
from skill_health.bench.http.messages import Completion
from skill_health.bench.journal import Past, read_past
from skill_health.bench.providers._batch import BatchAnswer, BatchState
from skill_health.bench.providers._load import load_provider
from skill_health.bench.run import desk as engine
from skill_health.bench.run.batches import custom_id
from skill_health.commands.router import command as group
from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.validation import problems
from skill_health.router.runs import FIELDS

EACH = 9
SPOILT = "this is no ranking"


def led_by(protocol: str) -> list[Any]:
    """All protocols as cases, of which this one is fast."""
    return thinned(sorted(PROTOCOLS, key=lambda each: each != protocol), len(PROTOCOLS))


def right(call: Call) -> str:
    return answer_rightly(call.text, rationale=f"Because of {KEY}.")


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
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(KEY_ENV, KEY)
    return write_collection(tmp_path, [*labelled(8), NULL])


def settings(url: str, share: str = "batch = 0.5", env: str = KEY_ENV) -> str:
    lines = []
    for name in PROTOCOLS:
        lines += [f"[router.providers.{name}]", f'protocol = "{name}"', f'base-url = "{url}"', f'key-env = "{env}"']
        lines += [f'[router.prices."{name}:m"]', "input = 10.0", "output = 10.0", share]
    return "\n".join(lines)


class Batches:
    """`router run --batch` in a collection, the provider that it asks, and what the only run has left."""

    def __init__(self, root: Path, server: Loopback, provider: BatchProvider) -> None:
        self.root, self.server, self.provider = root, server, provider

    def __call__(
        self, *given: str, models: str = "openai:m", reps: int = 2, caps: tuple[str, ...] = ("--max-runs", "900")
    ) -> int:
        (self.root / "skill-health.toml").write_text(settings(self.server.url), "utf-8")
        words = ["run", "--batch", "--config", "skill-health.toml", "--models", models, "--reps", str(reps)]
        code: int = group.main([*words, *caps, *given], standalone_mode=False)
        return code

    @property
    def folder(self) -> Path:
        return the_run(self.root / "reports")

    def rows(self, name: str) -> list[dict[str, Any]]:
        return rows(self.folder / f"{name}.jsonl")

    def statuses(self) -> Counter[str]:
        return Counter(row["status"] for row in self.rows("results"))

    def past(self) -> Past:
        return read_past(str(self.folder), FIELDS)


@pytest.fixture
def call(collection: Path, server: Loopback, provider: BatchProvider) -> Batches:
    return Batches(collection, server, provider)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", led_by("openai"))
def test_all_calls_go_in_one_batch_at_half_the_price(
    protocol: str, call: Batches, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(models=f"{protocol}:m") == 0
    found = call.rows("results")
    assert Counter(row["status"] for row in found) == {"finished": 2 * EACH}
    assert {row["cost_usd"] for row in found} == {150 * 10 / 1e6 / 2}
    (batch,) = call.provider.batches
    assert len(batch.calls) == len(set(call.provider.texts())) == 2 * EACH
    names = {row["batch"] for row in found}
    events = call.rows("batches")
    assert [event["event"] for event in events] == ["sending", "submitted", "ended"]
    assert {event["batch"] for event in events} == names
    assert events[1]["provider_id"] == batch.batch_id
    assert batch.name in (*names, "")
    manifest = json.loads((call.folder / "manifest.json").read_text("utf-8"))
    assert manifest["batch"] is True
    assert manifest["models"][0]["price"]["rates"][0]["input"] == 5
    assert manifest["models"][0]["list_price"]["rates"][0]["input"] == 10
    past = call.past()
    assert past.batches == {} and past.lost == 0
    # The instrument check was made by itself, at the whole price.
    assert call.provider.alone == 6
    assert past.usd == pytest.approx((6 + EACH) * 150 * 10 / 1e6)
    assert problems("router-manifest", manifest) == []
    for name, schema in (("attempts", "router-attempt"), ("results", "router-result"), ("batches", "model-batch")):
        for row in rows(call.folder / f"{name}.jsonl"):
            assert problems(schema, row) == []
    out = capsys.readouterr()
    for text in (*(path.read_text("utf-8", "replace") for path in call.root.rglob("*") if path.is_file()), *out):
        assert KEY not in text


# --- What comes back ---


def rightly(call: Batches) -> None:
    """Every answer stands with the prompt that it was given to."""
    for row in call.rows("results"):
        number = int(row["prompt_id"][1:])
        wanted = f"{TOPICS[number % 3]}-work" if number < 8 else "none"
        assert row["status"] != "finished" or row["ranking"] == [wanted], row


@pytest.mark.slow
@pytest.mark.parametrize("protocol", led_by("anthropic"))
def test_answers_come_in_any_order_and_twice_and_among_others(protocol: str, call: Batches) -> None:
    def spoil(batch: Batch, found: list[bytes]) -> list[bytes]:
        foreign = found[0].replace(batch.lines[0][0].custom_id.encode(), b"somebody-elses")
        return [*shuffled(found), foreign, found[3], *found[:2], foreign]

    call.provider.spoil = spoil
    assert call(models=f"{protocol}:m") == 0
    assert call.statuses() == {"finished": 2 * EACH}
    rightly(call)
    assert len(call.provider.batches) == 1


def damage(kind: str, batch: Batch, found: list[bytes]) -> list[bytes]:
    """The lines, with the first of them damaged, or that of the first call."""
    first, *rest = found
    other = json.loads(rest[0])
    own = json.loads(first)
    if kind == "missing":
        return rest
    if kind == "no JSON":
        return [first[:-3] + b"!", *rest] if batch.protocol != "gemini" else rest
    if kind == "too long":
        return [first[:-1] + b',"x":"' + b"x" * (9 << 20) + b'"}', *rest] if batch.protocol != "gemini" else rest
    if kind == "no object":
        return [b"[1]", *rest]
    if kind == "two answers":
        # The answer to another call under the id of this one, beside its own.
        for name in ("custom_id", "metadata"):
            if name in own:
                other[name] = own[name]
        return [first, json.dumps(other).encode(), *rest]
    if kind == "no id":
        nameless = {name: value for name, value in own.items() if name not in ("custom_id", "metadata")}
        return [json.dumps(nameless).encode(), *rest]
    if kind == "id is no text":
        return [json.dumps(own | {"custom_id": 7, "metadata": {"key": ["x"]}}).encode(), *rest]
    raise AssertionError(kind)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "kind", ["missing", "no JSON", "too long", "no object", "two answers", "no id", "id is no text"]
)
def test_a_call_whose_answer_is_damaged_is_made_again_and_its_first_one_counts_as_paid(
    kind: str, protocol: str, call: Batches
) -> None:
    call.provider.spoil = lambda batch, found: (
        damage(kind, batch, found) if batch is call.provider.batches[0] else found
    )
    assert call(models=f"{protocol}:m") == 0
    assert call.statuses() == {"finished": 2 * EACH}
    rightly(call)
    assert [len(batch.calls) for batch in call.provider.batches] == [2 * EACH, 1]
    attempts = call.rows("attempts")
    (lost,) = [row for row in attempts if row["event"] == "end" and row.get("status") == "provider_error"]
    assert lost["cost_usd"] is None
    (held,) = {
        row["reserved_usd"]
        for row in attempts
        if row["event"] == "start" and row["key"] == lost["key"] and row["batch"] == lost["batch"]
    }
    each = 150 * 10 / 1e6
    assert call.past().usd == pytest.approx((6 + EACH) * each + held)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("word", ["errored", "expired"])
def test_what_failed_or_was_not_reached_costs_nothing_and_is_made_again(
    word: str, protocol: str, call: Batches
) -> None:
    call.provider.done = lambda batch, one: (
        word if batch is call.provider.batches[0] and "please, number" in one.text else right(one)
    )
    call.provider.outcome = lambda batch: (
        word if word == "expired" and batch is call.provider.batches[0] else "completed"
    )
    assert call(models=f"{protocol}:m") == 0
    assert call.statuses() == {"finished": 2 * EACH}
    rightly(call)
    again = 2 * EACH if protocol == "gemini" and word == "expired" else 2 * EACH - 2
    assert [len(batch.calls) for batch in call.provider.batches] == [2 * EACH, again]
    assert call.past().usd == pytest.approx((6 + EACH) * 150 * 10 / 1e6)


@pytest.mark.slow
def test_a_call_that_always_fails_is_missing_data_after_three_batches(call: Batches) -> None:
    call.provider.done = lambda batch, one: "errored" if "please, number 4" in one.text else right(one)
    assert call(models="anthropic:m", reps=1) in (0, 1)
    assert call.statuses() == {"finished": EACH - 1, "provider_error": 1}
    assert [len(batch.calls) for batch in call.provider.batches] == [EACH, 1, 1]
    (row,) = [row for row in call.rows("results") if row["status"] == "provider_error"]
    assert row["cost_usd"] == 0 and "500" in row["error"]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_in_the_wrong_form_is_asked_for_once_more_in_a_following_batch(protocol: str, call: Batches) -> None:
    call.provider.done = lambda batch, one: SPOILT if "please, number 4" in one.text else right(one)
    assert call(models=f"{protocol}:m") == 0
    assert call.statuses() == {"finished": 2 * EACH - 2, "format_failure": 2}
    assert [len(batch.calls) for batch in call.provider.batches] == [2 * EACH, 2]
    assert {row["attempts"] for row in call.rows("results") if row["prompt_id"] == "p4"} == {2}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_of_another_model_is_none(protocol: str, call: Batches) -> None:
    def named(one: Call) -> str:
        first = len(call.provider.batches) == 1
        return "another-model" if first and "please, number 4" in one.text else "m-2026-01-01"

    call.provider.model = named
    assert call(models=f"{protocol}:m") == 0
    assert call.statuses() == {"finished": 2 * EACH}
    assert {row["resolved_model"] for row in call.rows("results")} == {"m-2026-01-01"}
    assert [len(batch.calls) for batch in call.provider.batches] == [2 * EACH, 2]


@pytest.mark.slow
def test_a_transfer_that_is_cut_is_made_again_before_anything_counts_as_lost(call: Batches) -> None:
    cut = []

    def reply(seen: Seen, reaction: Reaction) -> Reaction:
        if "/content" in seen.path and len(cut) < 2:
            cut.append(seen.path)
            # One that says how long it is, and one that looks whole.
            return reaction.but(cut=40) if len(cut) == 1 else reaction.but(body=reaction.body[:-40])
        return reaction

    call.provider.reply = reply
    assert call() == 0
    assert len(cut) == 2 and len(call.provider.batches) == 1
    assert call.statuses() == {"finished": 2 * EACH}


# --- Handing in ---


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_batches_are_split_by_number_and_by_size(protocol: str, call: Batches, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type(load_provider(protocol).batches)
    monkeypatch.setattr(kind, "most_requests", 5)
    assert call(models=f"{protocol}:m") == 0
    assert [len(batch.calls) for batch in call.provider.batches] == [5, 5, 5, 3]
    monkeypatch.setattr(kind, "most_requests", 1000)
    monkeypatch.setattr(kind, "most_bytes", 4096 + 4000)
    sizes = []
    call.provider.taken = lambda seen: (
        sizes.append(len(seen.raw)) if seen.method == "POST" and not seen.protocol else None
    )
    del call.provider.batches[:]
    assert call("--no-resume", models=f"{protocol}:m") == 0
    assert sum(len(batch.calls) for batch in call.provider.batches) == 2 * EACH == len(set(call.provider.texts()))
    assert len(call.provider.batches) > 3
    assert max(sizes) <= 4096 + 4000


@pytest.mark.slow
def test_a_server_that_takes_no_more_for_now_gets_smaller_batches_one_after_the_other(call: Batches) -> None:
    most = 5

    def taken(seen: Seen) -> Reaction | None:
        if seen.method == "POST" and seen.path.endswith("/messages/batches"):
            under_way = sum(len(batch.calls) for batch in call.provider.batches if not batch.over)
            if under_way + len(seen.body["requests"]) > most:
                error = {"type": "rate_limit_error", "message": "too many requests are queued"}
                return Reaction(status=429, body=json.dumps({"type": "error", "error": error}).encode())
        return None

    call.provider.taken = taken
    assert call(models="anthropic:m") == 0
    assert call.statuses() == {"finished": 2 * EACH}
    assert max(len(batch.calls) for batch in call.provider.batches) <= most
    assert Counter(call.provider.texts()).most_common(1)[0][1] == 1


@pytest.mark.slow
def test_the_limit_of_what_may_be_queued_fails_a_batch_after_it_was_taken(call: Batches) -> None:
    call.provider.outcome = lambda batch: "failed" if len(batch.calls) > 5 else "completed"

    def reply(seen: Seen, reaction: Reaction) -> Reaction:
        return reaction.but(body=reaction.body.replace(b"invalid_json_line", b"token_limit_exceeded"))

    call.provider.reply = reply
    assert call() == 0
    assert call.statuses() == {"finished": 2 * EACH}
    done = [len(batch.calls) for batch in call.provider.batches if batch.over == "completed"]
    assert sum(done) == 2 * EACH and max(done) <= 5
    # What failed as a whole was never begun, and counts nowhere.
    past = call.past()
    assert past.attempts == 6 + 2 * EACH
    assert past.usd == pytest.approx((6 + EACH) * 150 * 10 / 1e6)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", led_by("gemini"))
def test_a_batch_that_fails_as_a_whole_ends_the_run_with_its_reason(protocol: str, call: Batches) -> None:
    if protocol == "anthropic":
        pytest.skip("has no such end")
    call.provider.outcome = lambda batch: "failed"
    with pytest.raises(AbortedError, match=r"18 calls have no result.*(not parseable|Invalid request)"):
        call(models=f"{protocol}:m")
    assert len(call.provider.batches) == 1
    past = call.past()
    assert (past.attempts, past.lost, past.batches) == (6, 0, {})
    # Another day it works, and nothing is as if it had been asked.
    call.provider.outcome = lambda batch: "completed"
    assert call(models=f"{protocol}:m", caps=("--max-runs", "24")) == 0
    assert call.statuses() == {"finished": 2 * EACH}


NOT_TAKEN = {
    "no batches": (404, {"message": "Not Found"}, "without --batch"),
    "no credit": (402, {"message": "Your credit balance is too low"}, "credit"),
    "no access": (403, {"type": "permission_error", "message": "Your key may not"}, "may not"),
    "bad request": (400, {"type": "invalid_request_error", "message": "max_tokens: too large"}, "too large"),
}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("why", NOT_TAKEN)
def test_a_server_that_takes_no_batches_ends_the_run_in_one_line(why: str, protocol: str, call: Batches) -> None:
    status, error, said = NOT_TAKEN[why]
    body = json.dumps({"error": error}).encode()
    call.provider.taken = lambda seen: None if seen.protocol else Reaction(status=status, body=body)
    with pytest.raises(AbortedError, match=f"18 calls have no result.*{said}") as raised:
        call(models=f"{protocol}:m")
    assert "\n" not in str(raised.value)
    assert call.provider.batches == []
    assert call.past().attempts == 6


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("fault", ["cut", "no answer at all", "500", "no JSON", "no batch in it"])
def test_a_batch_that_was_taken_although_nobody_said_so_is_found_and_not_handed_in_again(
    fault: str, protocol: str, call: Batches
) -> None:
    broken = []

    def reply(seen: Seen, reaction: Reaction) -> Reaction:
        creates = seen.path.endswith(("/batches", ":batchGenerateContent")) and seen.method == "POST"
        if not creates or broken:
            return reaction
        broken.append(seen.path)
        return {
            "cut": reaction.but(cut=10),
            "no answer at all": Reaction(raw=b"", cut=0),
            "500": Reaction(status=502, body=b"<html>bad gateway</html>", content_type="text/html"),
            "no JSON": Reaction(body=b'{"id": "batch_'),
            "no batch in it": Reaction(body=b'{"hello": 1}'),
        }[fault]

    call.provider.reply = reply
    # Others have batches there too: older ones, and one of as many calls.
    call.provider.batches += [
        Batch(
            f"other_{n}", protocol, f"other-{n}", [Call("x" * 32, None, protocol, "m", "")] * (n if n < 5 else 2 * EACH)
        )
        for n in range(1, 6)
    ]
    for each in call.provider.batches:
        each.over, each.lines = "completed", [(one, right(one)) for one in each.calls]
    assert call(models=f"{protocol}:m") == 0
    assert call.statuses() == {"finished": 2 * EACH}
    rightly(call)
    assert broken and len(call.provider.batches) == 5 + 1
    assert call.past().attempts == 6 + 2 * EACH


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_batch_that_was_never_taken_is_handed_in_again_and_counts_once(protocol: str, call: Batches) -> None:
    broken = []

    def taken(seen: Seen) -> Reaction | None:
        creates = seen.path.endswith(("/batches", ":batchGenerateContent")) and seen.method == "POST"
        if not creates or broken:
            return None
        broken.append(seen.path)
        return Reaction(status=503, body=b'{"error": {"message": "Overloaded"}}')

    call.provider.taken = taken
    assert call(models=f"{protocol}:m", caps=("--max-runs", str(6 + 2 * EACH))) == 0
    assert call.statuses() == {"finished": 2 * EACH}
    assert [len(batch.calls) for batch in call.provider.batches] == [2 * EACH]
    assert call.past().attempts == 6 + 2 * EACH
    assert [event["event"] for event in call.rows("batches")] == [
        "sending", "void", "sending", "submitted", "ended",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("protocol", led_by("openai-responses"))
def test_a_server_that_is_down_for_a_while_loses_nothing(protocol: str, call: Batches) -> None:
    numbers: list[int] = []

    def reply(seen: Seen, reaction: Reaction) -> Reaction:
        numbers.append(seen.number)
        asks = seen.method == "GET"
        if asks and len(numbers) % 2:
            return Reaction(status=(429, 500, 503)[len(numbers) % 3], body=b'{"error": {"message": "later"}}')
        return reaction

    call.provider.reply = reply
    assert call(models=f"{protocol}:m") == 0
    assert call.statuses() == {"finished": 2 * EACH}
    assert len(call.provider.batches) == 1


# --- Money ---


@pytest.mark.slow
def test_caps_hold_before_a_batch_is_handed_in(call: Batches) -> None:
    with pytest.raises(AbortedError, match=r"\$0\.0250"):
        call(caps=("--max-budget-usd", "0.025"))
    past = call.past()
    assert past.usd <= 0.025
    there = call.rows("results")
    assert 0 < len(there) < 2 * EACH
    # What came back for less than it might have cost left room for more, in another batch.
    assert len(call.provider.batches) > 1
    assert sum(len(batch.calls) for batch in call.provider.batches) == len(there)
    assert call(caps=("--max-budget-usd", "9")) == 0
    assert len(set(call.provider.texts())) == len(call.provider.texts()) == 2 * EACH


def test_so_many_calls_and_no_more(call: Batches) -> None:
    with pytest.raises(AbortedError, match="cap of 15 calls is reached"):
        call(caps=("--max-runs", "15"))
    assert [len(batch.calls) for batch in call.provider.batches] == [9]


def test_a_server_of_ones_own_costs_the_whole_price_unless_the_table_says_a_share(
    collection: Path, server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    (collection / "skill-health.toml").write_text(settings(server.url, ""), "utf-8")
    arguments = ["run", "--batch", "--dry-run", "--config", "skill-health.toml", "--models", "openai:m"]
    assert group.main(arguments, standalone_mode=False) == 0
    assert "openai:m is asked in batches at 100 % of the price" in capsys.readouterr().err
    (collection / "skill-health.toml").write_text("[router]\n", "utf-8")
    assert group.main([*arguments[:-1], "openai:gpt-5-mini"], standalone_mode=False) == 0
    said = capsys.readouterr().err
    assert "openai:gpt-5-mini is asked in batches at 50 % of the price" in said
    assert "time: up to a day" in said
    assert not (collection / "reports").exists() and server.seen == []


# --- What cannot be ---


def test_models_without_batches_are_refused_in_one_line(
    collection: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    (collection / "skill-health.toml").write_text(settings(server.url), "utf-8")
    arguments = ["run", "--batch", "--config", "skill-health.toml", "--max-runs", "9", "--models"]
    with pytest.raises(UsageError, match="--batch needs a model of a provider"):
        group.main([*arguments, "lexical"], standalone_mode=False)
    with pytest.raises(UsageError, match="no batches of it to cancel"):
        group.main([*arguments, "openai:m", "--cancel-batches"], standalone_mode=False)
    monkeypatch.setattr(type(load_provider("openai")), "batches", None)
    with pytest.raises(UsageError, match="openai:m cannot be asked in batches"):
        group.main([*arguments, "openai:m"], standalone_mode=False)
    assert server.seen == []


@pytest.mark.slow
def test_what_is_computed_here_takes_part_as_always(call: Batches) -> None:
    assert call(models="openai:m,lexical:tfidf,anthropic:m") in (0, 1)
    found = Counter((row["model"], "batch" in row) for row in call.rows("results"))
    assert found == {("openai:m", True): 18, ("anthropic:m", True): 18, ("lexical:tfidf", False): EACH}
    assert [batch.protocol for batch in call.provider.batches] == ["openai", "anthropic"]


@pytest.mark.slow
def test_a_run_in_batches_is_another_run(call: Batches) -> None:
    assert call(reps=1) == 0
    code = group.main(
        ["run", "--config", "skill-health.toml", "--models", "openai:m", "--reps", "1", "--max-runs", "99"],
        standalone_mode=False,
    )
    assert code == 0
    first, second = sorted((call.root / "reports" / "router").iterdir())
    assert first.name[-8:] != second.name[-8:]
    alone = next(folder for folder in (first, second) if not (folder / "batches.jsonl").exists())
    assert all("batch" not in row for row in rows(alone / "results.jsonl"))
    assert "batch" not in json.loads((alone / "manifest.json").read_text("utf-8"))
    assert group.main(["compare", first.name, second.name, "--config", "skill-health.toml"], standalone_mode=False) == 0


# --- Servers that answer anything ---

WORDS = ("id", "status", "processing_status", "name", "metadata", "state", "done", "error", "data", "operations", "response",
         "custom_id", "result", "type", "body", "status_code", "output_file_id", "request_counts", "inlinedResponses", "key",
         "displayName", "has_more", "errors", "created_at", "batchStats", "requestCount", "message", "code")  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=12)
TELLING = st.sampled_from(
    ("ended", "completed", "batches/x", "BATCH_STATE_SUCCEEDED", "failed", "succeeded", "x", "..", "errored")
)
ANYTHING = st.recursive(
    LEAVES | TELLING,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=25,
)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(data=ANYTHING)
def test_whatever_is_read_is_a_value_of_ours_and_its_paths_stay_below_the_server(protocol: str, data: Any) -> None:
    provider = load_provider(protocol)
    kind = provider.batches
    assert kind is not None
    states = [kind.read_state(provider, "http://h", data), *kind.read_page(provider, "http://h", data)[0]]
    for state in states:
        if isinstance(state, Failure):
            continue
        assert isinstance(state, BatchState) and state.batch_id
        paths = [request.path for request in state.results]
        paths += [
            kind.look(provider, "http://h", state.batch_id).path,
            kind.cancel(provider, "http://h", state.batch_id).path,
        ]
        for path in paths:
            assert (
                path.startswith(provider.version) and ".." not in path.split("/") and "?" not in path and path.isascii()
            )
    assert isinstance(kind.read_page(provider, "http://h", data)[1], str)
    raw = json.dumps(data).encode()
    for found in kind.read_results(provider, raw + b"\n" + raw[:-1] + b"\n\xff\n"):
        assert isinstance(found, Failure) or (
            isinstance(found, BatchAnswer)
            and isinstance(found.custom_id, str)
            and isinstance(found.found, Failure | Completion)
        )


def test_ids_are_what_every_provider_takes_and_no_two_alike() -> None:
    keys: list[tuple[str | int, ...]] = [("p", "m", 0), ("p", "m", 1), ("p|m", 0), ("p", "m|0")]
    keys += [("\ud800é" * 500, "m", 0), ('p"', "m", 0)]
    ids = {custom_id(name, key, number) for name in ("a", "b") for key in keys for number in (1, 2)}
    assert len(ids) == 2 * len(keys) * 2
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", led_by("anthropic"))
def test_a_batch_of_which_nobody_may_ask_any_more_waits_for_who_may(protocol: str, call: Batches) -> None:
    refuses = [True]

    def reply(seen: Seen, reaction: Reaction) -> Reaction:
        if seen.method == "GET" and refuses[0]:
            return Reaction(status=401, body=b'{"error": {"message": "your key was revoked"}}')
        return reaction

    call.provider.reply = reply
    with pytest.raises(AbortedError, match=r"18 calls have no result.*revoked"):
        call(models=f"{protocol}:m")
    refuses[0] = False
    assert call(models=f"{protocol}:m", caps=("--max-runs", str(6 + 2 * EACH))) == 0
    assert len(call.provider.batches) == 1
    assert call.statuses() == {"finished": 2 * EACH}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", led_by("gemini"))
def test_a_batch_that_is_gone_leaves_its_calls_missing_and_paid(protocol: str, call: Batches) -> None:
    gone = b'{"error": {"message": "no such batch"}}'
    call.provider.reply = lambda seen, reaction: Reaction(status=404, body=gone) if seen.method == "GET" else reaction
    assert call(models=f"{protocol}:m") in (0, 1)
    assert call.statuses() == {"provider_error": 2 * EACH}
    assert all(row["cost_usd"] is None and "gone" in row["error"] for row in call.rows("results"))
    past = call.past()
    held = sum(row["reserved_usd"] for row in call.rows("attempts") if row.get("batch") and row["event"] == "start")
    assert past.usd == pytest.approx(6 * 150 * 10 / 1e6 + held)


@pytest.mark.slow
def test_an_old_copy_of_a_journal_without_its_batches_counts_them_as_never_handed_in(call: Batches) -> None:
    assert call() == 0
    folder = call.folder
    starts = [row for row in rows(folder / "attempts.jsonl") if row["event"] == "start"]
    (folder / "attempts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in starts), "utf-8")
    past = call.past()
    (batch,) = past.batches.values()
    assert len(batch.open) == 2 * EACH and past.attempts == 6 + 2 * EACH and past.lost == 6
    (folder / "batches.jsonl").unlink()
    past = call.past()
    assert past.batches == {} and past.attempts == past.lost == 6
