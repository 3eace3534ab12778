"""The prompts that routing got wrong: what was asked, what was expected, and what the models picked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skill_health.page.figures import count
from skill_health.page.model import PageCell
from skill_health.page.origin import JsonNode
from skill_health.page.skill.trial_text import TextExcerpt, cut, price

NO_SKILL, NO_ANSWER, NOT_KNOWN = "no skill", "no valid answer", "not known"
_AROUND, _PICK = 420, 260
"""Bytes of HTML around a prompt, and around a pick."""
_MOST_PICKS = 16
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Pick:
    """What a model picked, and how often. `rationale` is that of a wrong answer; `kinds` say what was wrong with it."""

    model: str
    simulated: bool
    picked: str
    calls: PageCell
    right: bool
    rationale: TextExcerpt
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MisroutedPrompt:
    """A prompt that went wrong. `hidden` is what the listing leaves out of the description of the expected skill."""

    id: str
    text: TextExcerpt
    expected: str
    acceptable: tuple[str, ...]
    source: str
    listing: str
    hidden: TextExcerpt
    picks: tuple[Pick, ...]
    more: int

    @property
    def wrong(self) -> int:
        """How many calls went wrong."""
        return sum(int(pick.calls.value or 0) for pick in self.picks if not pick.right)


def failed_prompt(prompt: JsonNode, models: Mapping[str, bool], only: str | None) -> MisroutedPrompt | None:
    """A prompt as these models (true: simulated) answered it; None where no pick is wrong.

    Where `only` is given, only the wrong picks of that skill.
    """
    told = prompt.value
    picks = [
        _pick(each.value["model"], models[each.value["model"]], pick)
        for each in prompt["models"]
        if each.value["model"] in models
        for pick in each["picks"]
        if only is None or (pick.value["picked"] == only and not pick.value["right"])
    ]
    if all(pick.right for pick in picks):
        return None
    listing = told["listing"] or {"state": "", "cut": ""}
    return MisroutedPrompt(
        told["prompt_id"], cut(told["text"], 400), named(told["expected"], NOT_KNOWN),
        tuple(told["acceptable"][:_MOST_NAMED]), told["source"], listing["state"], cut(listing["cut"], 240),
        tuple(picks[:_MOST_PICKS]), max(0, len(picks) - _MOST_PICKS),
    )  # fmt: skip


def _pick(model: str, simulated: bool, pick: JsonNode) -> Pick:
    told = pick.value
    kinds, rationale = tuple(told.get("kinds", ())), cut(told.get("rationale", ""), 240)
    return Pick(model, simulated, named(told["picked"]), count(pick["calls"]), told["right"], rationale, kinds)


def named(skill: str | None, missing: str = NO_ANSWER) -> str:
    """A class of the confusion matrix in words."""
    return missing if skill is None else NO_SKILL if skill == "none" else skill


def prompt_price(prompt: MisroutedPrompt) -> int:
    """How many bytes of HTML a prompt takes, about."""
    texts = [prompt.id, prompt.text.text, prompt.expected, prompt.source, prompt.hidden.text, *prompt.acceptable]
    said = [text for pick in prompt.picks for text in (pick.model, pick.picked, pick.rationale.text, *pick.kinds)]
    return _AROUND + _PICK * len(prompt.picks) + sum(map(price, texts + said))
