"""A collection of one small skill, and a scripted author who writes proposals and tasks for it over HTTP."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loopback import Loopback, Reaction, Seen, answer

SKILL = """\
---
name: harbour-dues
description: Computes the dues of boats in a harbour. Use when berths are to be billed.
---

# Harbour dues

Bill every berth by its length in metres, and the winter months at half the rate.

- Amounts are whole cents, and the key is `dues_cents`.
- Boats are sorted by the name of the berth, never by the name of the boat.
- Never write the name of an owner into a bill.
"""
BOATS = "berth,boat,metres\nC3,Gull,9\nA1,Tern,7\nB2,Auk,11\n"
BILLS = [
    {"berth": "A1", "dues_cents": 8400}, {"berth": "B2", "dues_cents": 13200}, {"berth": "C3", "dues_cents": 10800},
]  # fmt: skip
PRICE = 12


def write_collection(root: Path, base_url: str = "", price: int = PRICE) -> Path:
    """A collection with the skill, and a configuration with the provider `scripted` at a known price."""
    (root / "skills/harbour-dues").mkdir(parents=True)
    (root / "skills/harbour-dues/SKILL.md").write_text(SKILL, "utf-8")
    (root / "skill-health.toml").write_text(
        f'[router.providers.scripted]\nprotocol = "openai"\nbase-url = "{base_url}"\n'
        f'[router.prices."scripted:author"]\ninput = {price}\noutput = {price}\n'
        '[router.prices."scripted:reader"]\ninput = 0\noutput = 0\n',
        "utf-8",
    )
    return root


def proposal(nth: int = 1, **changes: Any) -> dict[str, Any]:
    """A proposal as a model answers it."""
    subjects = ("the bills of May for three boats", "a letter about a late payment", "the list of free places")
    return {
        "title": f"Work {nth}", "situation": f"The office wants {subjects[nth - 1]}, number {nth}.",
        "inputs": ["boats.csv: berths, boats and metres"], "outcome": f"a file with {subjects[nth - 1]}",
        "hidden": f"what the house does in case {nth}", "needs": ["input-file"], **changes,
    }  # fmt: skip


def task(**changes: Any) -> dict[str, Any]:
    """A task as a model answers it, with nothing wrong in it."""
    bills = json.dumps(BILLS)
    at = [f'[?berth=="{each["berth"]}"]' for each in BILLS]
    there = {"kind": "file_exists", "path": "bills.json"}
    goal: list[dict[str, Any]] = [{"text": "There is a file with the bills.", "points": 10, "check": there}]
    goal += [
        {"text": f"Berth {each['berth']} is billed, point {part}.", "points": 10,
         "check": {"kind": "json_value", "path": "bills.json", "at": f"{place}.berth", "operator": "contains", "value": each["berth"]}}
        for part in (1, 2, 3) for place, each in zip(at, BILLS, strict=True)
    ]  # fmt: skip
    rules = [
        {"text": "Amounts stand under the name of the house.", "points": 10,
         "check": {"kind": "file_contains", "path": "bills.json", "text": "dues_cents"}},
        {"text": "The order is that of the pier.", "points": 10,
         "check": {"kind": "json_value", "path": "bills.json", "at": "$[0].berth", "operator": "equals", "value": "A1"}},
    ]  # fmt: skip
    rules += [{"text": f"The tone is that of the house in sentence {nth}.", "points": 10} for nth in range(8)]
    return {
        "instruction": "# Bills for May\n\n`boats.csv` lists our boats. Please write `bills.json`, a list with one object "
        "for each place, which has its `berth` and what is due for May at 12 euros a metre.\n",
        "files": [{"path": "boats.csv", "text": BOATS}], "goal": goal, "instruction_following": rules,
        "solution": [
            {"path": "solve.sh", "text": 'cp "$(dirname "$0")/bills.json" bills.json\n'},
            {"path": "bills.json", "text": f"{bills}\n"},
        ],
        "category": "billing", "minutes": 5, **changes,
    }  # fmt: skip


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The good task with one change."""
    made = copy.deepcopy(task())
    change(made)
    return made


def stage_of(seen: Seen) -> str:
    """Which question a request asks."""
    system = next(turn["content"] for turn in seen.body["messages"] if turn["role"] == "system")
    return {"You propose": "proposals", "You write a": "tasks", "You are giv": "clarity"}[system[:11]]


class Author:
    """Answers each question with what is given for its stage; `asked` counts them."""

    def __init__(self, proposals: Any, tasks: Any = None, clarity: Any = None) -> None:
        self.said = {"proposals": proposals, "tasks": tasks, "clarity": clarity}
        self.asked: list[str] = []

    def __call__(self, seen: Seen) -> Reaction:
        stage = stage_of(seen)
        self.asked.append(stage)
        said = self.said[stage]
        said = said(seen) if callable(said) else said
        if isinstance(said, Reaction):
            return said
        return answer(seen, said if isinstance(said, str) else json.dumps(said))


def serve(author: Author) -> Loopback:
    """A server for an author."""
    return Loopback(author)
