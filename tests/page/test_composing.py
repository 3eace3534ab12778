"""The answer to the fourth question where pairs of skills were tried: what is known of how many, by whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pairs_made import FIRST, SECOND
from pairs_page import CONFLICT, NOTHING, SYNERGY, pair_report, records_of, with_words

from skill_health.documents._record import convert_record
from skill_health.documents.effect_report import EffectReport
from skill_health.page.model import SkillVerdict
from skill_health.page.verdict.composing import composing
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.render import CollectionStatus

REAL: Mapping[str, Any] = {"simulated": False, "model": "loop:m"}
SAME = {"digests": {FIRST: "a", SECOND: "b"}, "staged": {FIRST: "a", SECOND: "b"}}


def told(folder: Path, *reports: dict[str, Any], **more: Any) -> SkillVerdict:
    records = records_of(folder, *reports, **more)
    records = tuple(replace(each, effect=replace(each.effect, tasks=(f"tasks/{each.name}/1",))) for each in records)
    status = CollectionStatus(records, None, None, CommandBuilder((".",)), "0.1.0", "standard")
    return composing(status, [convert_record(each, EffectReport) for each in reports])


def settled(*words: Mapping[str, Any], rows: Sequence[Sequence[int]] = SYNERGY, **more: Any) -> dict[str, Any]:
    """A real run of pairs that are not preliminary, by default; they differ in the second skill."""
    every = [{"preliminary": [], "second": f"skill-{at}"} | dict(word) for at, word in enumerate(words)]
    return with_words(pair_report(rows, **{**REAL, **more}), *every)


CASES: dict[str, tuple[Callable[[], dict[str, Any]], str, str, str]] = {
    "synergistic": (
        lambda: settled({"word": "synergistic"}), "", "good",
        "loop:m: csv with skill-0 synergistic, interaction +66.7 [–] points, 16 tasks",
    ),
    "conflicting": (lambda: settled({"word": "conflicting"}), "conflicting", "bad", "loop:m: csv with skill-0 conflicting, interaction"),
    "additive": (lambda: settled({"word": "additive"}), "", "good", "csv with skill-0 additive"),
    "redundant": (lambda: settled({"word": "redundant"}), "redundant", "warn", "csv with skill-0 redundant"),
    "nothing shown": (lambda: settled({"word": "inconclusive"}), "inconclusive", "unknown", "csv with skill-0 inconclusive, interaction +66.7"),
    "not testable": (lambda: settled({"word": "not testable"}), "inconclusive", "unknown", "csv with skill-0 not testable"),
    "some known, some not": (
        lambda: settled({"word": "inconclusive"}, {"word": "synergistic"}, {"word": "not testable"}), "partly known", "warn",
        "loop:m: of 3 pairs of skills 1 synergistic, 1 inconclusive, 1 not testable: csv with skill-1 synergistic, ",
    ),
    "one of many in conflict": (
        lambda: settled({"word": "synergistic"}, {"word": "conflicting"}, {"word": "inconclusive"}), "conflicting", "bad",
        "of 3 pairs of skills 1 conflicting, 1 synergistic, 1 inconclusive: csv with skill-1 conflicting, ",
    ),
    "all of them known": (
        lambda: settled({"word": "synergistic"}, {"word": "additive"}), "", "good", "of 2 pairs of skills 1 synergistic, 1 additive: ",
    ),
    "preliminary": (
        lambda: settled({"word": "synergistic", "preliminary": ["few"]}), "preliminary: composes", "warn", "preliminary: few (loop:m)",
    ),
    "some preliminary": (
        lambda: settled({"word": "synergistic", "preliminary": ["few"]}, {"word": "additive"}), "preliminary: composes", "warn",
        "; 1 pair preliminary: few (loop:m)",
    ),
    "a sure conflict beside preliminary ones": (
        lambda: settled({"word": "conflicting"}, {"word": "conflicting", "preliminary": ["few"]}), "conflicting", "bad", "2 conflicting",
    ),
    # The verdict of such a run on the collection says nothing: it did not try any single skill.
    "a run of pairs alone": (
        lambda: settled({"word": "synergistic"}, verdict=pair_report(SYNERGY)["models"][0]["verdict"] | {"preliminary": ["why"]}),
        "", "good", "synergistic",
    ),
    "weaker proof": (lambda: settled({"word": "additive"}, unproved="nobody saw"), "", "good", "weaker proof (loop:m)"),
    "many": (lambda: settled(*[{"word": "synergistic"}] * 9), "", "good", ", and 5 more"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_pairs_say(name: str, tmp_path: Path) -> None:
    made, word, tone, said = CASES[name]
    found = told(tmp_path, made())
    assert (found.detail, found.tone, found.question) == (word, tone, 4)
    assert said in found.reason
    assert bool(found.command) == bool(found.advice) == (tone != "good")
    assert found.preliminary == word.startswith("preliminary")


def test_the_command_names_the_pairs_that_are_open_and_the_tasks_of_their_skills(tmp_path: Path) -> None:
    found = told(tmp_path, settled({"word": "inconclusive"}, {"word": "synergistic"}))
    assert found.command == (
        "skill-health effectiveness run tasks/csv tasks/skill-0 --agents loop:m --pairs csv+skill-0"
    )
    found = told(tmp_path, settled({"word": "inconclusive"}, {"word": "conflicting"}))
    assert found.command.endswith("tasks/csv tasks/skill-1 --agents loop:m --pairs csv+skill-1")


@pytest.mark.parametrize(
    ("rows", "word", "said"),
    [
        (SYNERGY, "preliminary: composes", "csv with sql synergistic"),
        (CONFLICT, "preliminary: conflicting", "csv with sql conflicting"),
        (NOTHING, "inconclusive", "csv with sql not testable, interaction +0.0 [–] points, 8 tasks"),
    ],
)
def test_figures_are_those_of_the_run(rows: Sequence[Sequence[int]], word: str, said: str, tmp_path: Path) -> None:
    found = told(tmp_path, pair_report(rows, **REAL), **SAME)
    assert found.detail == word and said in found.reason


def test_skills_that_have_changed_since_are_told(tmp_path: Path) -> None:
    made = settled({"word": "conflicting", "second": SECOND})
    found = told(tmp_path, made, **SAME | {"digests": {FIRST: "a", SECOND: "new"}})
    assert found.detail == "preliminary: conflicting" and "1 pair with a skill that " in found.reason
    assert told(tmp_path, made, **SAME).detail == "conflicting"


@pytest.mark.parametrize(
    ("more", "said"), [({"simulated": True}, "simulated"), ({**REAL, "biased": ["why"]}, "of loop:m are biased: why")]
)
def test_a_script_and_a_biased_run_answer_nothing(more: dict[str, Any], said: str, tmp_path: Path) -> None:
    found = told(tmp_path, pair_report(SYNERGY, **more))
    assert found.word == "not measured" and said in found.reason


def test_each_pair_is_told_by_the_last_run_that_tried_it(tmp_path: Path) -> None:
    earlier = settled({"word": "conflicting"}, {"word": "additive"}, day=20)
    found = told(tmp_path, settled({"word": "synergistic"}), earlier)
    assert found.word == "passing" and "of 2 pairs of skills 1 synergistic, 1 additive" in found.reason


def test_two_models_are_told_apart(tmp_path: Path) -> None:
    other = settled({"word": "conflicting"}, day=20, model="loop:other")
    found = told(tmp_path, settled({"word": "synergistic"}), other)
    assert found.word == "fail"
    assert found.reason.index("loop:other: csv with skill-0 conflicting") < found.reason.index("loop:m: csv")
