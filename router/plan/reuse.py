"""Answers of an earlier run that need not be paid for again: those to the very same questions, where the user says so.

A question is the same where model, template, mode, listing, order and prompt are, and the model is one that stays what
it is: its name has the date that the provider answered with. The answer to a replication stands for that replication
alone, so that no two of them rest on one call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from skill_health.documents._record import record_values
from skill_health.documents.router_manifest import FrozenRouter, Prompt, RouterManifest
from skill_health.documents.router_result import RoutingResult
from skill_health.router.plan.plan import Key, RouterPlan
from skill_health.router.runs import RouterRun
from skill_health.text.numbers import count
from skill_health.text.patterns import lazy

_DATED = lazy(r"(?<![0-9])20[0-9]{2}-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12][0-9]|3[01])(?![0-9])")


class ReusedAnswers(NamedTuple):
    """The answers by their keys, each with the run that paid for it, and what is to be said of them."""

    results: Mapping[Key, RoutingResult]
    lines: tuple[str, ...]


def find_reusable(donor: RouterRun, plan: RouterPlan, manifest: RouterManifest) -> ReusedAnswers:
    """The answers of a run that are answers to questions of this plan."""
    if why := _other_questions(donor.manifest, manifest):
        return ReusedAnswers({}, (f"nothing is taken over from {donor.run_id}: {why}",))
    models = {each.spec: _asked(each) for each in donor.manifest.models}
    same = {each.spec for each in manifest.models if models.get(each.spec) == _asked(each)}
    pinned = {
        model.spec: model.choice.model for model in plan.models if model.wired and _DATED.search(model.choice.model)
    }
    prompts = {prompt.prompt_id: _question(prompt) for prompt in donor.manifest.prompts}
    wanted = {prompt.prompt_id for prompt in plan.prompts if prompts.get(prompt.prompt_id) == _question(prompt)}
    replications = {model.spec: model.replications for model in plan.models}
    found = {
        result.key: replace(
            result,
            cost_usd=0.0,
            batch=UNSET,
            taken_from=donor.run_id if result.taken_from is UNSET else result.taken_from,
        )
        for result in donor.results
        if result.scored
        and result.model in same
        and result.resolved_model == pinned.get(result.model)
        and result.prompt_id in wanted
        and result.replication < replications[result.model]
    }
    undated = [model.spec for model in plan.models if model.wired and model.spec not in pinned]
    lines = [f"taken over from {donor.run_id}: {count(len(found), 'answer')} to the same questions"]
    if undated:
        lines.append(f"asked anew, as their names have no date: {', '.join(undated)}")
    return ReusedAnswers(found, tuple(lines))


def _other_questions(then: RouterManifest, now: RouterManifest) -> str:
    """Why no question of one run is one of the other; "" where some may be."""
    parts = (
        ("the skills as they are listed differ", then.hashes.get("catalogue"), now.hashes.get("catalogue")),
        ("the template differs", then.template.digest, now.template.digest),
        ("the mode differs", then.mode, now.mode),
        ("the orders differ", (then.orders, then.seed), (now.orders, now.seed)),
        ("what is retrieved differs", then.retrieval, now.retrieval),
    )
    return next((what for what, old, new in parts if old is None or old != new), "")


def _asked(model: FrozenRouter) -> object:
    """A model without what is no part of a question to it."""
    values = record_values(model)
    return {name: value for name, value in values.items() if name not in ("replications", "price", "list_price")}


def _question(prompt: Prompt) -> object:
    """A prompt with its label, without why it is as it is."""
    return record_values(replace(prompt, reason="", source=""))
