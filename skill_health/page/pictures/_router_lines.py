"""The lines of the router's history by model, in time, and which of them can be compared with the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skill_health.page.figures import Mark, route_marks
from skill_health.page.model import JsonNode

BASIS = {"prompts": "prompts", "template": "template", "settings": "settings", "catalogue": "descriptions"}
"""What must be the same in two lines that are compared, and what it is called."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a model with a figure. `kind` says what it is worth, `segment` numbers the lines that can be compared.

    `differs` names what is another than in the model's run before; empty where nothing is, or nothing went before.
    """

    own: JsonNode
    kind: str
    segment: int
    differs: tuple[str, ...] = ()

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What keeps the figure from being taken at its word."""
        return route_marks({**self.own.value, "local": self.own.value["kind"] == "local"})


KINDS = ("comparable with the run before", "first, or not comparable", "part of the prompts", "untrusted")


def by_model(history: JsonNode) -> dict[str, list[Line]]:
    """The lines of each model that say when and how well, oldest first; the models in the order of their names.

    Only runs over all prompts that passed the instrument check, or had none, are comparable with each other.
    """
    own: dict[str, list[JsonNode]] = {}
    for line in history:
        if line.value["time"] is not None and line.value["metrics"]["top1"]["value"] is not None:
            own.setdefault(line.value["model"], []).append(line)
    return {name: _judged(sorted(own[name], key=lambda each: str(each.value["time"]))) for name in sorted(own)}


def _judged(lines: Sequence[JsonNode]) -> list[Line]:
    found, segment = [], 0
    before: JsonNode | None = None
    for line in lines:
        if line.value["trusted"] is False or line.value["selection"] != "all":
            found.append(Line(line, KINDS[3] if line.value["trusted"] is False else KINDS[2], 0))
            continue
        differs = _differing(before, line)
        segment += before is None or bool(differs)
        found.append(Line(line, KINDS[1 if before is None or differs else 0], segment, differs))
        before = line
    return found


def _differing(before: JsonNode | None, line: JsonNode) -> tuple[str, ...]:
    """What of the basis is another, or not known in either."""
    if before is None:
        return ()
    return tuple(word for key, word in BASIS.items() if line.value[key] is None or line.value[key] != before.value[key])
