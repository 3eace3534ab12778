"""Calibration of the cheap ranking: how often live agents load a skill, by the place at which a router puts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skill_health.documents.activation_report import ActivationCalibration, CalibrationStep
from skill_health.documents.caveats import FoundCaveat
from skill_health.page.drawing.theme import MUTED
from skill_health.page.figures import count, estimate_text, share, text_cell
from skill_health.page.model import NumberTable, Origins, Page, PageCell, Picture
from skill_health.page.pictures import _specs as vl
from skill_health.page.pictures._activation import AgentActivation, last_activations
from skill_health.page.pictures._caveats import caveated_picture, mark_words

QUESTION, ORDER = 2, 70
NAME = "activation-calibration"
MOST = 6
_HEAD = (
    "Agent", "Router", "Place of the expected skill", "Loaded first, % [95 % interval], n requests", "Independent", "Marks",
)  # fmt: skip
_NOTE = (
    "A point is the share of requests in which the agent loads the expected skill first, the rule its 95 % interval, n the "
    "number of requests. Where the ranking tells what agents load, the share falls from place to place."
)


@dataclass(frozen=True, slots=True)
class CalibratedAgent:
    """One agent beside one router."""

    agent: AgentActivation
    calibration: ActivationCalibration

    @property
    def subject(self) -> str:
        """The agent and the router."""
        return f"{self.agent.subject} by {self.calibration.router}"

    @property
    def marks(self) -> tuple[FoundCaveat, ...]:
        """Those of the agent."""
        return self.agent.marks

    @property
    def steps(self) -> list[CalibrationStep]:
        """The places of which something is known."""
        return [step for step in self.calibration.steps if step.recall.value is not None]


def build(page: Page) -> tuple[Picture, ...]:
    """One picture of the last runs; none where no agent was asked, or nothing stands beside it."""
    every = [CalibratedAgent(agent, each) for agent in last_activations(page) for each in agent.model.calibration]
    agents = [each for each in every if each.steps]
    drawn = agents[:MOST]
    if not drawn:
        return ()
    rows = tuple(row for each in agents for row in _rows(page.origins, each))
    table = NumberTable(_HEAD, rows, "Loads of live agents by the place in a router's ranking")
    said = "; ".join(
        f"{each.subject}: " + ", ".join(f"{_place(step)} {estimate_text(step.recall)}" for step in each.steps)
        for each in drawn[:2]
    )
    alt = (
        f"How often agents load the expected skill first, in per cent, by the place at which a router puts it. {said}."
    )
    rest = f"{len(agents) - MOST} more are in the table only." if len(agents) > MOST else ""
    title = "Does the ranking tell what agents load?"
    return (caveated_picture(NAME, title, alt, _spec(drawn), table, 0, drawn, _NOTE, rest),)


def _place(step: CalibrationStep) -> str:
    return step.place if step.place == "not ranked" else f"place {step.place}"


def _rows(origins: Origins, each: CalibratedAgent) -> list[tuple[PageCell, ...]]:
    return [
        (
            text_cell(each.agent.subject), text_cell(each.calibration.router), text_cell(step.place),
            share(origins, step.recall), count(origins, step.recall, "clusters"), text_cell(mark_words(each)),
        )
        for step in each.calibration.steps
    ]  # fmt: skip


def _spec(agents: Sequence[CalibratedAgent]) -> vl.Spec:
    values = []
    names = vl.labels([each.subject for each in agents], width=60)
    for each, name in zip(agents, names, strict=True):
        for step in each.steps:
            own = {"group": name, "name": _place(step), "figure": estimate_text(step.recall)}
            values.append({**vl.estimate_values(step.recall), **own})
    along = vl.percent_axis("loaded first, % of requests", grid=False)
    layers = [
        vl.layer("rule", vl.interval("x", along), yOffset=5),
        vl.layer("point", {"x": vl.channel("value", **along)}, size=80, yOffset=5, filled=True),
        vl.text("figure", vl.WIDTH, align="right", dy=-11, color=MUTED),
    ]
    return vl.facets(values, vl.layered({"step": 36}, layers, y=vl.row_heads()), apart=True)
