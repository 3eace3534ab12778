"""What every reader of a stream must bear: wrong shapes, damaged lines, cuts anywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from hypothesis import strategies as st

from skill_health.bench.http.messages import Usage
from skill_health.core.validation import problems
from skill_health.effectiveness.agents._api import Job, ProgramOutput, StreamReading
from skill_health.effectiveness.trial.files import to_atif

Read = Callable[[ProgramOutput, Job], StreamReading]


def events(*words: str, **kinds: dict[str, st.SearchStrategy[str]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Streams of objects whose keys and texts are an agent's own words, in wrong places more often than not.

    With `kinds` some have this key, with any value, beside what is told of the others.
    """
    word = st.sampled_from(words)
    value = st.recursive(
        st.none() | st.booleans() | st.integers(-5, 10**12) | st.floats() | word,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=4),
        max_leaves=10,
    )
    event = st.dictionaries(word, value, max_size=6)
    for key, others in kinds.items():
        event |= st.fixed_dictionaries({**others, key: value})
    return st.lists(event, max_size=5)


def lines(made: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in made)


def cut(whole: bytes, at: int, junk: bytes) -> bytes:
    """A stream with a few bytes of it replaced."""
    at = min(at, len(whole))
    return whole[:at] + junk + whole[at + len(junk) :]


def borne(read: Read, job: Job, raw: bytes, stopped: str = "", code: int | None = 1) -> StreamReading:
    """The reading of any bytes, of which everything can be written down, and in which no number is made up."""
    reading = read(ProgramOutput(None if stopped else code, raw, raw[:200], stopped), job)
    assert problems("trajectory", to_atif(reading, "agent", "model")) == []
    json.dumps([to_atif(reading, "agent", "model"), reading.listed], ensure_ascii=False).encode()
    counts = [getattr(reading.usage, each.name) for each in fields(Usage) if each.name != "raw"]
    assert all(value is None or 0 <= value <= 10**13 for value in [*counts, reading.turns])
    read_again, all_read = reading.usage.cached_tokens, reading.usage.input_tokens
    assert read_again is None or all_read is None or read_again <= all_read
    assert set(reading.invocations) <= {skill.name for skill in job.skills}
    assert len(reading.invocations) == len(reading.evidence)
    assert "\n" not in reading.error and "\x1b" not in reading.error
    assert reading.steps[0].source == "user" and reading.steps[0].message == job.prompt
    return reading
