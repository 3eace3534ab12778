"""After an edit of descriptions: which prompts can tell what it did, and what to compare their answers with.

Pure: what is listed now and was listed then, the prompts and the baseline's results are given. A prompt is affected by
a skill that its label names, and by one that the baseline confused it with. A sample of the others is the control: what
changes there, changes for another reason, or because an edited description takes what is not its own.
"""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from skill_health.bench.budget import Budget
from skill_health.bench.journal import RESULTS
from skill_health.bench.prices import price_table
from skill_health.bench.run_folder import is_reported, load_manifest_record, run_ids, runs_folder
from skill_health.core.errors import SkillHealthError, UsageError
from skill_health.core.files import blake2b
from skill_health.discovery.changes import Revision
from skill_health.documents.router_comparison import ComparedSkill
from skill_health.documents.router_manifest import AffectedPrompt, FrozenSelection, RouterManifest, SweepSelection
from skill_health.router.compare.comparable import COMPUTED_AT
from skill_health.router.instrument.check import DirectAsker
from skill_health.router.plan.opening import open_models
from skill_health.router.plan.plan import PlannedCall, Questions, RouterPlan, to_manifest
from skill_health.router.plan.retrieval import retrieve
from skill_health.router.records import Catalogue, ListedSkill, Prompt, RoutingResult
from skill_health.router.routers._load import PROVIDER, resolve
from skill_health.router.run.outcome import not_asked, to_result
from skill_health.router.runs import ROUTER, RouterRun, load_run
from skill_health.router.scores.judge import read_facts
from skill_health.router.template import load_template
from skill_health.text.near import list_some

if TYPE_CHECKING:
    from skill_health.router.inputs import RouterInputs
    from skill_health.router.plan.choices import RouterChoices

AFFECTED, CONTROLS = "affected", "controls"
SETTINGS = ("mode", "listing", "orders", "index", "seed")
"""What a baseline must have in common with a sweep, besides the template and the models."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The prompts of a sweep. `affected` gives each the reasons, in the prompts' order; `controls` are the others."""

    affected: Mapping[str, tuple[str, ...]]
    controls: tuple[str, ...]

    @property
    def prompt_ids(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.affected, *self.controls)

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Both parts by their name; one that is empty is left out."""
        parts = {AFFECTED: tuple(self.affected), CONTROLS: self.controls}
        return {name: prompts for name, prompts in parts.items() if prompts}


def select(
    prompts: Sequence[Prompt], changed: Collection[str], baseline: Iterable[RoutingResult], controls: int, seed: int
) -> Selection:
    """What to run again when the listed texts of these skills have changed.

    `baseline` are the results of before: a prompt is affected, too, where one of them put a changed skill first
    that was not expected. Controls are the first ones by a seeded hash of their id, so that a prompt that is added
    displaces at most one of them; prompts without a right answer to count control nothing.
    """
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    by_id = {prompt.prompt_id: prompt for prompt in prompts}
    for prompt in prompts:
        reasons[prompt.prompt_id] += _named(prompt, changed)
    for prompt_id, skill in sorted(_confusions(by_id, changed, baseline)):
        reasons[prompt_id].append(f"confused with {skill}")
    affected = {prompt.prompt_id: tuple(found) for prompt in prompts if (found := reasons[prompt.prompt_id])}
    free = [prompt.prompt_id for prompt in prompts if prompt.known and prompt.prompt_id not in affected]
    chosen = set(sorted(free, key=lambda prompt_id: (_mark(seed, prompt_id), prompt_id))[:controls])
    return Selection(affected, tuple(prompt_id for prompt_id in free if prompt_id in chosen))


def _named(prompt: Prompt, changed: Collection[str]) -> Iterator[str]:
    if prompt.known and prompt.expected in changed:
        yield f"expects {prompt.expected}"
    yield from (f"accepts {name}" for name in prompt.acceptable if name in changed)
    yield from (f"rejects {name}" for name in prompt.rejected if name in changed)


def _confusions(
    prompts: Mapping[str, Prompt], changed: Collection[str], results: Iterable[RoutingResult]
) -> set[tuple[str, str]]:
    found = set()
    for result in results:
        prompt = prompts.get(result.prompt_id)
        first = result.primary
        if prompt and prompt.known and first is not None and first in changed and first != prompt.expected:
            found.add((result.prompt_id, first))
    return found


def _mark(seed: int, prompt_id: str) -> bytes:
    return blake2b(f"control|{seed}|{prompt_id}".encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class SweepBasis:
    """What a sweep asks, as far as a baseline must agree with it. `template` is a digest."""

    choices: RouterChoices
    template: str
    selection: FrozenSelection


def mismatch(manifest: RouterManifest, asked: SweepBasis, models: Collection[str]) -> str:
    """Why a run cannot be the baseline of a sweep that asks so; "" where it can.

    `models` are specs that the run must have. A run over all prompts serves any sweep, one over some of them a sweep
    of the same filters; a sweep's own run serves none, since what it left out cannot be compared.
    """
    if manifest.imported:
        return "it was imported"
    selection = manifest.selection
    if selection.kind != "all" and msgspec.structs.replace(selection, of=asked.selection.of) != asked.selection:
        return "it asked other prompts"
    differing = [name for name in SETTINGS if getattr(manifest, name) != getattr(asked.choices, name)]
    if _stages(manifest) != _asked_stages(asked.choices):
        differing.append("retrieval")
    if manifest.template.digest != asked.template:
        differing.append("template")
    if differing:
        return f"other {' and '.join(differing)}"
    there = {model.spec for model in manifest.models}
    lacking = [spec for spec in models if spec not in there]
    return f"without {list_some(lacking)}" if lacking else ""


def _stages(manifest: RouterManifest) -> tuple[int, str]:
    return (manifest.retrieval.k, manifest.retrieval.router) if manifest.retrieval else (0, "")


def _asked_stages(choices: RouterChoices) -> tuple[int, str]:
    return (choices.retrieve, choices.retriever) if choices.retrieve else (0, "")


def agrees(then: Iterable[ListedSkill], seen: Iterable[ListedSkill], changed: Iterable[ComparedSkill]) -> bool:
    """Whether a run saw the changed skills as they were listed before the change."""
    texts, listed = ({skill.name: skill.text for skill in skills} for skills in (then, seen))
    return all(listed.get(skill.name) == texts.get(skill.name) for skill in changed)


def sweep_record(
    since: str, changed: Iterable[ComparedSkill], selection: Selection, prompts: Sequence[Prompt], none_allowed: bool
) -> SweepSelection:
    """What was selected from these prompts and why."""
    return SweepSelection(
        since=since,
        changed=tuple(skill.name for skill in changed),
        affected=tuple(AffectedPrompt(prompt_id=name, why=why) for name, why in selection.affected.items()),
        controls=selection.controls,
        of=len(prompts),
        testable=sum(prompt.known and (none_allowed or prompt.expected is not None) for prompt in prompts),
    )


_TOLD = 3


def last_run(reports: str, asked: SweepBasis, models: Collection[str], reasons: list[str]) -> RouterRun | None:
    """The last finished run that is comparable with what is asked, None where there is none.

    `reasons` is given one line for each of the latest runs that are not. Raises UsageError where there is none because
    a run is damaged or cannot be read: without a comparison every loss would pass.
    """
    return next(_comparable(reports, asked, models, reasons), None)


def _comparable(reports: str, asked: SweepBasis, models: Collection[str], reasons: list[str]) -> Iterator[RouterRun]:
    damaged, comparable = "", False
    for name in run_ids(reports, ROUTER):
        folder = os.path.join(runs_folder(reports, ROUTER), name)
        try:
            why = mismatch(load_manifest_record(folder, ROUTER, RouterManifest), asked, models)
            if not why:
                run = load_run(folder)
                if run.finished:
                    comparable = True
                    yield run
                    continue
                why = "it is not finished"
                if is_reported(folder):
                    raise UsageError(f"{os.path.join(folder, RESULTS)} has lost results")
        except SkillHealthError as error:
            why = "it cannot be read"
            damaged = damaged or str(error)
        if len(reasons) < _TOLD:
            reasons.append(f"{name}: {why}")
    if damaged and not comparable:
        raise UsageError(
            f"there is nothing left to compare with: {damaged}; restore it, or move its folder away to begin anew"
        )


def run_before(reports: str, inputs: RouterInputs, asked: SweepBasis) -> RouterRun:
    """The last comparable run. Raises UsageError, with what is wrong with the latest ones, where there is none."""
    reasons: list[str] = []
    found = last_run(reports, asked, asked.choices.models, reasons)
    if found is None:
        latest = f" ({'; '.join(reasons)})" if reasons else ""
        raise UsageError(
            f"no finished run in {reports} to compare with{latest}: run `skill-health router run` first, or say since "
            "when by --since REV"
        )
    return found


def run_at(
    reports: str,
    inputs: RouterInputs,
    asked: SweepBasis,
    old: Catalogue,
    changed: Sequence[ComparedSkill],
    train: tuple[Prompt, ...],
    revision: str,
) -> RouterRun:
    """The answers of before: computed over the old catalogue where that costs nothing, else those of a run that saw it.

    Raises UsageError where a provider's model has no such run.
    """
    routing = inputs.config.router
    kinds = {spec: resolve(spec, routing).kind for spec in asked.choices.models}
    paid = [spec for spec, kind in kinds.items() if kind == PROVIDER]
    free = [spec for spec in kinds if spec not in paid]
    if not paid:
        return _computed(inputs, asked, old, free, train, revision)
    reasons: list[str] = []
    runs = _comparable(reports, asked, paid, reasons)
    found = next((run for run in runs if agrees(old.shown, run.facts.shown.values(), changed)), None)
    if found is None:
        latest = f" ({'; '.join(reasons)})" if reasons else ""
        raise UsageError(
            f"no finished run in {reports} asked {list_some(paid)} when {list_some([skill.name for skill in changed])} "
            f"read as at {revision}{latest}: check {revision} out, run `skill-health router run --models "
            f"{','.join(paid)}` there with the same options and --out at these reports, and sweep again"
        )
    return _merged(found, paid, _computed(inputs, asked, old, free, train, revision)) if free else found


def _computed(
    inputs: RouterInputs,
    asked: SweepBasis,
    old: Catalogue,
    specs: Sequence[str],
    train: tuple[Prompt, ...],
    revision: str,
) -> RouterRun:
    """Routers that cost nothing over an old catalogue, asked in memory."""
    routing, choices = inputs.config.router, replace(asked.choices, models=tuple(specs))
    template, prices = load_template(choices.template), price_table(routing)
    models = open_models(choices, routing, old, template, train, prices)
    plan = RouterPlan(old, inputs.prompts, models, choices, template, retrieve(old, inputs.prompts, choices))
    results = asyncio.run(_ask(plan))
    whole, nowhere = FrozenSelection(kind="all"), Revision()
    manifest = to_manifest(plan, routing, prices, whole, nowhere, run_id=f"{COMPUTED_AT}{revision}")
    return RouterRun("", manifest, read_facts(manifest), tuple(results))


async def _ask(plan: RouterPlan) -> list[RoutingResult]:
    questions, direct = Questions(plan), DirectAsker(plan, Budget(None, None), lambda model, request: 0.0)
    try:
        return [await _result(questions, direct, call) for call in plan.calls()]
    finally:
        for model in plan.models:
            await model.router.close()


async def _result(questions: Questions, direct: DirectAsker, call: PlannedCall) -> RoutingResult:
    order = questions.order(call)
    names = questions.answers(call)
    attempts = await direct.ask(call.key, call.model, lambda number: questions.request(call, number), names)
    if attempts[-1].outcome == "model_unavailable":
        return not_asked(call.prompt, call.model.spec, call.replication, attempts[-1].reply.error)
    return to_result(call.prompt, call.model.spec, call.replication, order, attempts, questions.meant(call))


def _merged(run: RouterRun, paid: Collection[str], computed: RouterRun) -> RouterRun:
    """The run's own answers for what is paid, and the computed ones for the rest."""
    models = tuple(model for model in run.manifest.models if model.spec in paid)
    manifest = msgspec.structs.replace(run.manifest, models=(*models, *computed.manifest.models))
    results = [result for result in run.results if result.model in paid]
    return RouterRun(run.folder, manifest, read_facts(manifest), (*results, *computed.results), run.check)


def other_changes(run: RouterRun, now: Iterable[ListedSkill], changed: Iterable[ComparedSkill]) -> list[str]:
    """The skills beside the changed ones that the baseline saw otherwise than they are listed now."""
    from skill_health.router.compare.comparable import changed_skills

    known = {skill.name for skill in changed}
    return [skill.name for skill in changed_skills(run.facts.shown.values(), now) if skill.name not in known]
