"""Where no description is better, one is said to be in at most one case of twenty, however often somebody tries."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import drafts_made
import pytest
from loopback import Loopback, answer

from skill_health.documents.description_suggestion import MeasuredCandidate
from skill_health.drafts.suggest.candidates import DescriptionCandidate, judge_candidates, read_descriptions
from skill_health.drafts.suggest.measure import compare_rights
from skill_health.drafts.suggest.suggest import choose_best, is_better, spend_level
from skill_health.router.records import Prompt

SEALED_WORDS = "zebra quagga okapi"
GOOD = (
    "Joins pictures of letters and turns them around. Use when somebody has photographs, snapshots or faxes of letters."
)
BAD = "Does all sorts of things."
ENV = {drafts_made.KEY_ENV: drafts_made.KEY}
THINGS = ("photographs", "snapshots", "faxes")
ROOMS = ("kitchen", "garage", "attic", "cellar", "office", "garden", "hall", "porch")
TIME = ("--time", "2026-11-25T08:00:00Z")


def measured(number: int, share: float, text: str = "") -> MeasuredCandidate:
    return MeasuredCandidate(
        number=number, source="", description=text or "x" * number, fault="", share=share, difference=None
    )


def prompts(root: Path, sealed: int = 24) -> None:
    """Prompts that share words with a good description and not with today's; the sealed ones hold marked words."""
    rows = []
    for number in range(12 + sealed):
        split = "train" if number < 12 else "test"
        mark = "" if split == "train" else f" {SEALED_WORDS.split()[number % 3]}{number}"
        text = f"{THINGS[number % 3]} of letters from the {ROOMS[number % 8]} {number}{mark}: compare both halves"
        text += ", they are scanned pages to rotate" * (number % 5 == 4)
        rows.append({
            "prompt_id": f"p{number}", "prompt": text, "expected_primary_skill": "merge-pages", "split": split,
            "acceptable_secondary_skills": [], "rejected_skills": [],
        })  # fmt: skip
    (root / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    drafts_made.collection(tmp_path)
    prompts(tmp_path)
    (tmp_path / "good.txt").write_text(GOOD, "utf-8")
    (tmp_path / "bad.txt").write_text(BAD, "utf-8")
    return tmp_path


def test_levels_of_all_uses_add_up_to_one_in_twenty() -> None:
    assert spend_level(1) == 0.025 and spend_level(2) == pytest.approx(0.05 / 6)
    assert (
        sum(map(spend_level, range(1, 100_000))) == pytest.approx(0.05, abs=1e-6)
        and sum(map(spend_level, range(1, 100))) < 0.05
    )


@pytest.mark.parametrize(
    ("shares", "today", "best"),
    [([], 0.5, None), ([0.5, 0.4], 0.5, None), ([0.6, 0.7], 0.5, 2), ([0.7, 0.7], 0.5, 1), ([None, 0.51], 0.5, 2)],
)
def test_the_best_is_ahead_of_today_and_of_equals_the_shortest(
    shares: Sequence[float | None], today: float, best: int | None
) -> None:
    found = choose_best([measured(n, share) for n, share in enumerate(shares, 1)], today)  # type: ignore[arg-type]
    assert (found and found.number) == best


def simulate(seed: int, uses: int, gain: float = 0.0, prompts: int = 30, candidates: int = 4) -> bool:
    """Whether anything is called better where each candidate has `gain` over today, prompt by prompt and at random."""
    rng = random.Random(seed)

    def rights(more: float) -> list[int]:
        return [rng.random() < 0.6 + more for _ in range(prompts)]

    today_train, today_sealed = sum(rights(0)), rights(0)
    for use in range(1, uses + 1):
        trained = [measured(n, sum(rights(gain)) / prompts) for n in range(1, candidates + 1)]
        if choose_best(trained, today_train / prompts) is None:
            continue
        rows = [[float(after - before), 1] for after, before in zip(rights(gain), today_sealed, strict=True)]
        if is_better(compare_rights(rows, seed)[0], use):
            return True
    return False


RUNS = 300
# More than this of RUNS at a rate of 1 in 20 has a probability below 0.1 %.
MOST = 28


@pytest.mark.parametrize(
    ("uses", "runs", "most"),
    [
        pytest.param(5, 60, 8, marks=pytest.mark.slow),
        *(pytest.param(uses, RUNS, MOST, marks=pytest.mark.exhaustive) for uses in (1, 5)),
    ],
)
def test_under_the_null_little_is_called_better(uses: int, runs: int, most: int) -> None:
    assert sum(simulate(seed, uses) for seed in range(runs)) <= most


@pytest.mark.slow
def test_a_gain_is_found() -> None:
    assert sum(simulate(seed, 1, gain=0.35, prompts=60) for seed in range(40)) >= 35


@pytest.mark.slow
def test_what_is_better_is_confirmed_once_and_nothing_sealed_is_shown(root: Path, run: Callable[..., Any]) -> None:
    done = run("suggest", "description", "merge-pages", "--candidate", "bad.txt", "--candidate", "good.txt", *TIME)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Better: the sealed prompts confirm it." in done.stdout and "Candidate 2 on 24 sealed prompts" in done.stdout
    same = run("suggest", "description", "merge-pages", "--candidate", "good.txt", "--format", "json", *TIME)
    report = json.loads(same.stdout)
    assert report["confirmation"]["use"] == 1, "the very same comparison is no further use"
    assert report["confirmation"]["difference"]["low"] > 0 and report["train"] == 12 and report["sealed"] == 24
    other = root / "other.txt"
    other.write_text(f"{GOOD} Prints them.", "utf-8")
    again = run("suggest", "description", "merge-pages", "--candidate", "other.txt", *TIME)
    assert "This is use 2 of the sealed prompts for this skill" in again.stdout and "0.008333" in again.stdout
    uses = (root / "drafts" / "sealed-uses.jsonl").read_text("utf-8")
    assert [json.loads(use)["number"] for use in uses.splitlines()] == [1, 2]
    shown = "".join((done.stdout, done.stderr, json.dumps(report), again.stdout, uses))
    assert not any(word in shown for word in SEALED_WORDS.split())


def test_what_is_not_ahead_leaves_the_sealed_prompts_alone(root: Path, run: Callable[..., Any]) -> None:
    done = run("suggest", "description", "merge-pages", "--candidate", "bad.txt", *TIME)
    assert done.returncode == 1
    assert not (root / "drafts" / "sealed-uses.jsonl").exists()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is empty"),
        ("x " * 600, "allowed"),
        ("Joins pages.\x1b[2J", "cannot be seen"),
        ("Joins <b>pages</b>.", "a tag"),
        ("Use when photographs of letters from the kitchen 0, compare both halves.", "quotes a labelled prompt"),
        ("today", "the same as today's"),
        (GOOD, ""),
    ],
)
def test_what_no_description_may_be(text: str, fault: str) -> None:
    labelled = [Prompt("p", "photographs of letters from the kitchen 0: compare both halves", "merge-pages")]
    (judged,) = judge_candidates([DescriptionCandidate(text.strip(), "f")], "today", labelled, 0.9)
    assert fault in judged.fault and bool(fault) == bool(judged.fault)


@pytest.mark.parametrize("text", ["", "no", '{"candidates": "x"}', '{"candidates": [{"description": 1}]}'])
def test_an_answer_of_another_form_is_none(text: str) -> None:
    assert isinstance(read_descriptions(text), str)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda rows: [row | {"split": "train"} for row in rows], "no sealed prompts"),
        (lambda rows: [row | {"split": "test"} for row in rows], "no prompts to select on"),
        (lambda rows: [row | {"family": "f"} for row in rows], "on both sides of the split"),
    ],
)
def test_without_two_sides_there_is_nothing_to_confirm(
    root: Path, run: Callable[..., Any], change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], told: str
) -> None:
    path = root / "prompts.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in change(rows)), "utf-8")
    done = run("suggest", "description", "merge-pages", "--candidate", "good.txt")
    assert done.returncode == 2 and told in done.stderr


@pytest.mark.slow
def test_a_model_sees_what_is_lost_and_nothing_sealed(tmp_path: Path, run: Callable[..., Any]) -> None:
    said = json.dumps({"candidates": [{"description": text, "why": "x"} for text in (BAD, GOOD)]})
    with Loopback(lambda seen: answer(seen, said)) as server:
        drafts_made.collection(tmp_path, server.url)
        prompts(tmp_path)
        more = ("--model", "writer:m", "--max-calls", "4", "--config", "skill-health.toml", "--quiet", *TIME)
        done = run("suggest", "description", "merge-pages", *more, env=ENV)
        assert done.returncode == 0, done.stdout + done.stderr
        (request,) = server.seen
    assert "photographs of letters from the kitchen 0" in request.text
    text = (
        request.raw.decode()
        + done.stdout
        + "".join(path.read_text("utf-8") for path in (tmp_path / "reports").rglob("*") if path.is_file())
    )
    assert not any(word in text for word in SEALED_WORDS.split())


def test_a_router_that_costs_money_measures_nothing(root: Path, run: Callable[..., Any]) -> None:
    done = run("suggest", "description", "merge-pages", "--candidate", "good.txt", "--routers", "openai:m")
    assert done.returncode == 2 and "not free" in done.stderr
    assert run("suggest", "description", "merge-pages").returncode == 2


def test_records_that_cannot_be_read_are_not_passed_over(root: Path, run: Callable[..., Any]) -> None:
    with (root / "prompts.jsonl").open("a") as file:
        file.write('{"prompt_id": "bad", "prompt": "x"}\n')
    done = run("suggest", "description", "merge-pages", "--candidate", "good.txt")
    assert done.returncode == 2 and "prompts.jsonl:37" in done.stderr
    assert "prompts.jsonl:37" in run("draft", "prompts", "merge-pages", "--dry-run").stderr
