"""What a manifest says that a report needs: the prompts, the models and the skills as they were listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from skill_health.discovery.hosts import FULL, OMITTED
from skill_health.router.records import NONE, ListedSkill, Prompt

LABEL_ONLY, NULL, UNKNOWN = "label_only", "null_not_allowed", "unknown_skill"
WHY = {
    LABEL_ONLY: "the label only says which skills must not fire",
    NULL: "no skill applies, which this template gives no way to answer; take --template none",
    UNKNOWN: "the collection does not have the skill that is expected",
}
"""Why a prompt has no right answer to count, as a report says it."""
_TUPLES = ("acceptable", "rejected", "tags")
_PROMPT = tuple(field.name for field in fields(Prompt))


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """One model of a run. `kind` is local, provider or simulated; `settings` what it said of itself."""

    spec: str
    kind: str
    replications: int
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RoutingRunFacts:
    """A manifest as values.

    `prompts` are in the run's order; `clusters` gives each prompt the number of what is resampled with it, families
    counting as one. `shown` are the skills as listed, `omitted` those that the host leaves out. `untested` maps
    a prompt that has no right answer to count to a key of WHY.
    """

    prompts: Mapping[str, Prompt]
    clusters: Mapping[str, int]
    models: tuple[ModelFacts, ...]
    shown: Mapping[str, ListedSkill]
    omitted: Mapping[str, ListedSkill]
    untested: Mapping[str, str]
    none_allowed: bool
    seed: int
    orders: str

    @property
    def tested(self) -> tuple[Prompt, ...]:
        """The prompts that have a right answer to count."""
        return tuple(prompt for name, prompt in self.prompts.items() if name not in self.untested)


def read_facts(manifest: Mapping[str, Any]) -> RoutingRunFacts:
    """The facts of a manifest. Raises KeyError or TypeError where it is none of ours."""
    prompts = {prompt.prompt_id: prompt for prompt in map(_prompt, manifest["prompts"])}
    shown = {skill.name: skill for skill in map(_listed, manifest["catalogue"])}
    left_out = (_listed(record, OMITTED) for record in manifest.get("omitted") or ())
    omitted = {skill.name: skill for skill in left_out}
    none_allowed = bool((manifest.get("template") or {}).get("none_allowed", True))
    known = {*shown, *omitted}
    numbers: dict[str, int] = {}
    for prompt in prompts.values():
        numbers.setdefault(prompt.cluster, len(numbers))
    return RoutingRunFacts(
        prompts=prompts,
        clusters={name: numbers[prompt.cluster] for name, prompt in prompts.items()},
        models=tuple(map(_model, manifest["models"])),
        shown=shown,
        omitted=omitted,
        untested={name: why for name, prompt in prompts.items() if (why := _untested(prompt, known, none_allowed))},
        none_allowed=none_allowed,
        seed=int(manifest.get("seed") or 0),
        orders=str(manifest.get("orders") or "cyclic"),
    )


def _untested(prompt: Prompt, known: set[str], none_allowed: bool) -> str:
    if prompt.target is None:
        return LABEL_ONLY
    if prompt.target == NONE:
        return "" if none_allowed else NULL
    return "" if prompt.target in known else UNKNOWN


def _prompt(record: Mapping[str, Any]) -> Prompt:
    values = {name: record[name] for name in _PROMPT if name in record}
    return Prompt(**values | {name: tuple(values.get(name) or ()) for name in _TUPLES})


def _listed(record: Mapping[str, Any], state: str = FULL) -> ListedSkill:
    name, text, description, path = (str(record.get(key) or "") for key in ("name", "text", "description", "path"))
    return ListedSkill(name, text, str(record.get("state") or state), description, path=path)


def _model(record: Mapping[str, Any]) -> ModelFacts:
    return ModelFacts(
        spec=str(record["spec"]),
        kind=str(record.get("kind") or ""),
        replications=int(record.get("replications") or 1),
        settings=record.get("settings") or {},
    )
