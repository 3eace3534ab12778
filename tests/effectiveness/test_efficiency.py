"""The second endpoint: the same success for fewer tokens or dollars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from effects_made import manifest, task, trial, typed
from msgspec import structs

from skill_health.documents._record import TokenUsage, record_values
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.reports import load, names

ARMS = ("control", "target", "placebo", "negative")


def made(tasks: int, taken: dict[str, float], passes: dict[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """The first model of a report: what each arm takes of what the control takes, and its passes of three."""
    rng, results = np.random.default_rng(tasks), []
    for at in range(tasks):
        size = rng.lognormal(9.5, 0.6)
        for arm in taken:
            for replication in range(3):
                read = int(size * taken[arm] * rng.lognormal(0, 0.3))
                result = trial(f"{at:03}", arm, replication, replication < (passes or {}).get(arm, 3))
                changes: dict[str, Any] = {
                    "usage": TokenUsage(input_tokens=read, output_tokens=read // 10, cached_tokens=0)
                }
                changes |= {name: value(arm, read) for name, value in more.items()}
                results.append(structs.replace(result, **changes))
    planned = manifest([task(f"{at:03}", "one") for at in range(tasks)], tuple(taken))
    report = build_report(typed(planned), results)
    for name in names():
        if name != "csv":
            assert load(name).render(report)
    found: dict[str, Any] = record_values(report)["models"][0]
    return found


SAME = dict.fromkeys(ARMS, 1.0)
CASES: dict[str, tuple[int, dict[str, float], dict[str, int], str, str]] = {
    "half of it at the ceiling": (30, SAME | {"target": 0.5}, {}, "cheaper", "cheaper"),
    "half of it, too few tasks for the margin": (20, SAME | {"target": 0.5}, {}, "no evidence", "not testable"),
    "half of it for worse work": (30, SAME | {"target": 0.5}, {"target": 2}, "no evidence", "harmful"),
    "any text halves it": (30, SAME | {"target": 0.5, "placebo": 0.5, "negative": 0.5}, {}, "any text helps", "any text helps"),
    "no text to hold it against": (30, {"control": 1.0, "target": 0.5}, {}, "unexplained gain", "unexplained gain"),
    "twice as much": (30, SAME | {"target": 2.0}, {}, "dearer", "not testable"),
    "nothing differs": (30, SAME, {}, "no evidence", "not testable"),
    "better and cheaper": (30, SAME | {"target": 0.5}, {"control": 1, "placebo": 1, "negative": 1}, "cheaper", "helps"),
    "five tasks": (5, SAME | {"target": 0.5}, {}, "not testable", "not testable"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_word_of_each_endpoint(name: str) -> None:
    tasks, taken, passes, word, both = CASES[name]
    found = made(tasks, taken, passes)
    assert (found["efficiency"]["word"], found["verdict"]["word"]) == (word, both)
    assert found["skills"][0]["efficiency"] == found["efficiency"]


@pytest.mark.slow
def test_what_is_said_of_half_the_tokens() -> None:
    found = made(30, SAME | {"target": 0.5})
    said = found["verdict"]
    assert said["reason"] == "as good (success at least -9.5 pp), at 0.50 [0.46, 0.54] times the tokens over 30 tasks"
    (note,) = said["notes"]
    assert note.startswith("success alone: ") and "100.0 %" in note
    ratio = found["efficiency"]["ratio"]
    assert ratio["low"] < 0.5 < ratio["high"] and ratio["p"] < 0.001 and 0.04 < ratio["p_adjusted"] < 0.05


@pytest.mark.slow
def test_dollars_count_only_where_every_trial_has_a_price() -> None:
    taken = SAME | {"target": 0.5}
    priced = made(30, taken, cost_usd=lambda arm, read: 2.0 if arm == "target" else 1.0)["efficiency"]
    assert (priced["measure"], priced["word"], priced["ratio"]["value"]) == ("dollars", "dearer", 2.0)
    for cost in (lambda arm, read: None if arm == "placebo" else 1.0, lambda arm, read: 0.0):
        assert made(30, taken, cost_usd=cost)["efficiency"]["measure"] == "tokens"
    unknown = made(30, taken, usage=lambda arm, read: TokenUsage())["efficiency"]
    assert (unknown["word"], unknown["ratio"]["value"]) == ("not testable", None)


def test_a_report_without_it_still_loads() -> None:
    from skill_health.documents._record import convert_record
    from skill_health.documents.effect_report import EffectReport

    report = build_report(typed(manifest([task("000", "one")], ARMS)), [])
    values = record_values(report)
    for model in values["models"]:
        for each in (model, *model["skills"]):
            del each["efficiency"]
    assert convert_record(values, EffectReport).models[0].efficiency is None
