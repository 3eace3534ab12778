"""The skills' part of the Markdown report: recall and precision, confusions, thieves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.router.records import NONE
from skill_health.router.reports import Report, _cells
from skill_health.router.scores.skills import FEW
from skill_health.text import numbers
from skill_health.text.blocks import rest, table, text
from skill_health.text.numbers import NOTHING, format_number, share

_SKILLS, _PAIRS, _THIEVES, _MODELS = 60, 30, 15, 6
_DENSE = 20
"""A matrix of more classes than this is unreadable; the pairs say it better."""


def skills(report: Report) -> Iterator[str]:
    """Every table that has a row for each skill or pair of skills."""
    yield from _skills(report)
    yield from _by_model(report)
    yield from _pairs(report)
    yield from _matrix(report)
    yield from _thieves(report)
    yield from _gaps(report)
    yield "Length of the description against a right answer, all models: " + (
        f"{format_number(report['length'])} log odds for each 100 characters."
        if report["length"]["value"] is not None
        else text(report["length"].get("note", "not testable")) + "."
    )
    yield ""


def _skills(report: Report) -> Iterator[str]:
    ranked = _cells.rank_skills(report)
    yield "## Skills"
    yield ""
    yield "The lowest recall first, over all models. p: does its recall differ from that of all other skills?"
    yield f"Fewer than {FEW} independent prompts are far from a verdict on one skill."
    yield ""
    rows = [
        [
            text(skill["name"]), share(skill["recall"]), f"{skill['recall']['n']} / {skill['recall']['clusters']}",
            _breakdown(skill), numbers.p_value(skill["recall"].get("p_adjusted")), share(skill["precision"]),
            f"{skill['picked_right']} of {skill['picked']}",
        ]
        for skill in ranked[:_SKILLS]
    ]  # fmt: skip
    head = (
        "skill", "recall", "n / independent", "right + other + abstained + no answer (missing)", "p (BH)", "precision",
        "right when picked",
    )  # fmt: skip
    yield from table(head, rows)
    yield from rest(_SKILLS, len(ranked), "skills")
    untested = [skill["name"] for skill in report["skills"] if skill["recall"]["value"] is None]
    if untested:
        more = f" and {len(untested) - 20} more" if len(untested) > 20 else ""
        yield f"Recall not testable (no prompt expects it, or no call is scored): {text(', '.join(untested[:20]))}{more}."
        yield ""


def _by_model(report: Report) -> Iterator[str]:
    """Recall of each skill by each model, where there are few enough models to read it."""
    models = [model["model"] for model in report["models"]]
    if not 1 < len(models) <= _MODELS:
        return
    yield "### Recall by model"
    yield ""
    rows = []
    for skill in _cells.rank_skills(report)[:_SKILLS]:
        by_model = {part["model"]: part["recall"] for part in skill["models"]}
        found = [by_model.get(model) for model in models]
        rows.append(
            [
                text(skill["name"]),
                *(numbers.with_n(share(each), each) if each else NOTHING for each in found),
            ]
        )
    yield from table(["skill", *map(text, models)], rows)


def _breakdown(skill: Mapping[str, Any]) -> str:
    parts = " + ".join(str(skill[name]) for name in ("right", "other_skill", "abstained", "no_answer"))
    return f"{parts} ({skill['missing']})"


def _pairs(report: Report) -> Iterator[str]:
    if report["pairs"]:
        yield "## Confusions"
        yield ""
    rows = [
        [
            text(pair["expected"]), text(pair["picked"]), f"{pair['calls']} of {pair['rate']['n']}", str(pair["prompts"]), share(pair["rate"]),
            NOTHING if pair["similarity"] is None else f"{pair['similarity']:.2f}", text(", ".join(pair["shared_words"])) or NOTHING,
        ]
        for pair in report["pairs"][:_PAIRS]
    ]  # fmt: skip
    head = ("expected", "picked", "calls", "prompts", "share of its calls", "similarity", "words in both")
    yield from table(head, rows)
    yield from rest(_PAIRS, len(report["pairs"]), "pairs")


def _matrix(report: Report) -> Iterator[str]:
    """The matrix over all models, where it fits."""
    cells = {(cell["expected"], cell["picked"]): cell["calls"] for cell in report["confusion"]}
    expected = sorted({each for each, _ in cells}, key=lambda name: (name == NONE, name))
    picked = sorted({each for _, each in cells}, key=lambda name: (name is None, name == NONE, name or ""))
    if not cells or max(len(expected), len(picked)) > _DENSE:
        return
    yield "### Matrix of all calls"
    yield ""
    yield "Rows are expected, columns picked."
    yield ""
    head = ["", *(text(_cells.picked(name)) for name in picked)]
    rows = []
    for row in expected:
        numbers = [(name, cells.get((row, name), 0)) for name in picked]
        rows.append([text(row), *(NOTHING if not n else f"**{n}**" if name == row else str(n) for name, n in numbers)])
    yield from table(head, rows)


def _thieves(report: Report) -> Iterator[str]:
    found = report["steals"]["thieves"]
    if found:
        yield "### Steals"
        yield ""
        yield "Skills that came first though they are neither expected nor acceptable, over the calls that are not theirs."
        yield ""
    rows = [
        [
            text(thief["skill"]), f"{thief['calls']} of {thief['rate']['n']}", str(thief["prompts"]), share(thief["rate"]),
            text(", ".join(f"{each['expected']} {each['calls']}" for each in thief["from"])),
        ]
        for thief in found[:_THIEVES]
    ]  # fmt: skip
    yield from table(("skill", "calls", "prompts", "rate", "from"), rows)
    yield from rest(_THIEVES, report["steals"]["skills"], "skills")


def _gaps(report: Report) -> Iterator[str]:
    if report["gaps"]:
        yield "### Description gap"
        yield ""
        yield "Found by the whole SKILL.md and missed by its description, in a search for words."
        yield ""
    rows = [
        [
            text(gap["skill"]), f"{gap['by_description']} of {gap['prompts']}", f"{gap['by_body']} of {gap['prompts']}",
            text(", ".join(missed["prompt_id"] for missed in gap["missed"])), text(", ".join(gap["words"])) or NOTHING,
        ]
        for gap in report["gaps"][:_SKILLS]
    ]  # fmt: skip
    head = ("skill", "found by description", "by the whole file", "prompts missed", "words that the description lacks")
    yield from table(head, rows)
    yield from rest(_SKILLS, len(report["gaps"]), "skills")
