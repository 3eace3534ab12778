"""What keeps two runs from being compared, what else differs between them, and what of the collection has changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from skill_health.documents.router_comparison import ComparedSkill
from skill_health.documents.router_manifest import FrozenTemplate, RouterManifest
from skill_health.router.records import ListedSkill, Prompt
from skill_health.router.runs import RouterRun
from skill_health.router.scores.judge import RoutingRunFacts
from skill_health.text.near import list_some

COMPUTED_AT = "computed-at-"
"""How the id of a baseline begins that is no run, but computed over the descriptions at a revision."""
_ASKED = ("text", "expected", "known")
_LABELS = (*_ASKED, "acceptable", "rejected")


def changed_skills(
    old: Iterable[ListedSkill], new: Iterable[ListedSkill], bodies: bool = False
) -> tuple[ComparedSkill, ...]:
    """The skills whose listed name or text differs between two listings, by name.

    Texts are "" where a skill is not listed; `cut` is whether only the cut of an unchanged description moved.
    With `bodies` a skill counts as edited where what only local routers read of it differs, too.
    """
    before, after = {skill.name: skill for skill in old}, {skill.name: skill for skill in new}
    found = []
    for name in sorted({*before, *after}):
        one, other = before.get(name), after.get(name)
        if one is None or other is None:
            old_text, new_text = one.text if one else "", other.text if other else ""
            kind: Literal["added", "removed"] = "added" if one is None else "removed"
            found.append(ComparedSkill(name=name, kind=kind, before=old_text, after=new_text, cut=False))
        elif one.text != other.text or (bodies and _unlisted(one) != _unlisted(other)):
            same = one.description == other.description and one.text != other.text
            found.append(ComparedSkill(name=name, kind="edited", before=one.text, after=other.text, cut=same))
    return tuple(found)


def _unlisted(skill: ListedSkill) -> tuple[str, ...]:
    return skill.body, skill.when, skill.references


def obstacles(run: RouterRun, baseline: RouterRun, models: tuple[str, str] | None = None) -> Iterator[str]:
    """Why the runs cannot be compared, and what to do about it; nothing where they can.

    `models` are the one of the run and the one of the baseline that are compared, by default those in common.
    """
    one, other = run.manifest, baseline.manifest
    for key, now, then in (("mode", one.mode, other.mode), ("listing", one.listing, other.listing)):
        if now != then:
            yield f"the {key} is {now} and was {then}: run one of them again with --{key} {then}"
    if _asked_by(one.template) != _asked_by(other.template):
        what = f"the template is {_shown(one.template)} and was {_shown(other.template)}"
        if other.imported or one.imported:
            yield f"{what}: what an imported run asked is not known, so it compares with imported runs only"
        else:
            yield f"{what}: run one of them again with --template {other.template.name}, from the same version of the file"
    both = [name for name in run.facts.prompts if name in baseline.facts.prompts]
    differing = [name for name in both if _label(run.facts, name) != _label(baseline.facts, name)]
    if not both:
        yield f"they have no prompt in common: run {run.run_id} again with the prompts of {baseline.run_id}"
    elif differing:
        yield (
            f"the text or the labels of {list_some(differing)} differ ({len(differing)} of {len(both)} common prompts): "
            "run the baseline's descriptions again with these prompts, or leave them out of both by --prompt-ids"
        )
    if models is not None:
        for side, spec in zip((run, baseline), models, strict=True):
            if spec not in _specs(side.facts):
                yield f"{side.run_id} did not ask {spec}, but {list_some(_specs(side.facts))}"
    elif not any(model.spec in _specs(baseline.facts) for model in run.facts.models):
        yield f"they have no model in common: run {list_some(_specs(baseline.facts))} again with --models"


def agreeing(facts: RoutingRunFacts, other: RoutingRunFacts) -> list[str]:
    """The prompts of both that ask and expect the same, in the first one's order.

    What a label accepts or rejects besides enters none of the figures that are compared.
    """
    both = (name for name in facts.prompts if name in other.prompts)
    return [name for name in both if _label(facts, name, _ASKED) == _label(other, name, _ASKED)]


def differences(run: RouterRun, baseline: RouterRun) -> Iterator[str]:
    """What else is not the same, besides the descriptions: it may be behind a change just as well."""
    one, other = run.manifest, baseline.manifest
    for what, name in _SETTINGS:
        now, then = getattr(one, name), getattr(other, name)
        if now != then:
            yield f"{what} {_plain(then)} -> {_plain(now)}"
    if (before := _stages(other)) != (after := _stages(one)):
        yield f"what models saw of the collection: {before} -> {after}"
    yield from _thresholds(run.facts, baseline.facts)
    if one.imported and other.imported:
        yield "the templates of imported runs are not known, and taken for the same"
    old, new = (side.hashes.get("bodies") for side in (other, one))
    if old and new and old != new and _described(run) == _described(baseline):
        yield "local routers may read more of a skill than its description, and that has changed"


def _stages(manifest: RouterManifest) -> str:
    frozen = manifest.retrieval
    return f"{frozen.k} skills that {frozen.router} ({frozen.index}) found" if frozen else "all of it"


def _thresholds(facts: RoutingRunFacts, other: RoutingRunFacts) -> Iterator[str]:
    """The local routers that abstain below another score now: it was chosen anew for the descriptions."""
    before = {model.spec: model.settings.get("threshold") for model in other.models}
    for model in facts.models:
        now, then = model.settings.get("threshold"), before.get(model.spec)
        if model.spec in before and now != then:
            yield f"{model.spec} abstains below another score: {_plain(then)} -> {_plain(now)}"


_SETTINGS = (
    ("the orders of presentation are others: seed", "seed"),
    ("the orders of presentation are others:", "orders"),
    ("replications", "replications"),
    ("local routers read", "index"),
    ("skill-health", "tool_version"),
)


def _described(run: RouterRun) -> dict[str, str]:
    return {skill.name: skill.description for skill in run.facts.shown.values()}


def _plain(value: Any) -> str:
    return "not known" if value is None else str(value)


def _specs(facts: RoutingRunFacts) -> Sequence[str]:
    return [model.spec for model in facts.models]


def _asked_by(template: FrozenTemplate) -> tuple[Any, ...]:
    return template.name, template.digest, template.none_allowed


def _shown(template: FrozenTemplate) -> str:
    digest = f"({template.digest[:8]})" if template.digest else None
    return " ".join(filter(None, (template.name or "one without a name", template.version, digest)))


def _label(facts: RoutingRunFacts, name: str, fields: Sequence[str] = _LABELS) -> tuple[Any, ...]:
    prompt: Prompt = facts.prompts[name]
    values = [getattr(prompt, field) for field in fields]
    return tuple(tuple(sorted(value)) if isinstance(value, tuple) else value for value in values)
