"""One run for each library, and the curve that their results come to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TextIO

from msgspec import UNSET

from skill_health import __version__
from skill_health.core.errors import AbortedError, UsageError
from skill_health.discovery.hosts import OMITTED, Host, hosts
from skill_health.documents._record import Figure, map_values
from skill_health.documents.router_curve import SCHEMA, CurvePoint, ModelCurve, RouterCurve
from skill_health.documents.router_manifest import FrozenSelection
from skill_health.router.inputs import RouterInputs
from skill_health.router.listing import relist
from skill_health.router.plan.choices import RouterChoices
from skill_health.router.plan.forecast import BYTES_PER_TOKEN
from skill_health.router.plan.orders import base_order
from skill_health.router.plan.plan import RouterPlan, question_sizes
from skill_health.router.plan.prepare import PreparedSweep, prepare
from skill_health.router.records import NONE, Catalogue, ListedSkill, Prompt, RoutingResult
from skill_health.router.report import settle
from skill_health.router.run.conduct import AnsweredRun, RouterRunOptions, answer_prompts
from skill_health.router.runs import load_manifest
from skill_health.router.scores.judge import ModelScores, RoutingRunFacts, judge, read_facts
from skill_health.router.scores.metrics import measure, quantile, usage
from skill_health.router.scores.stages import stages

USUAL = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
"""The sizes where none are given: those between the skills that prompts are about and the whole library."""


def nested_libraries(
    catalogue: Catalogue, prompts: Iterable[Prompt], sizes: Sequence[int], seed: int, hosts: Sequence[Host] = ()
) -> list[Catalogue]:
    """One catalogue for each size, the smallest first; each holds all skills of the one before.

    All hold the skills that the prompts expect, accept or reject. The others follow in an order that the seed and their
    names decide, whatever order the files were found in. Each is listed as its host would list a library of that size.
    Without `sizes` they are the usual ones, from the skills of the prompts alone to all.

    Raises UsageError for a size that is smaller than the skills of the prompts, or larger than the library.
    """
    pool = _pool(catalogue)
    wanted = {name for prompt in prompts for name in (prompt.expected, *prompt.acceptable, *prompt.rejected)}
    kept = [skill.name for skill in pool if skill.name in wanted]
    others = base_order([skill.name for skill in pool if skill.name not in wanted], seed)
    chosen = _sizes(sizes, len(kept), len(pool))
    return [relist(catalogue, {*kept, *others[: size - len(kept)]}, hosts) for size in chosen]


def _pool(catalogue: Catalogue) -> list[ListedSkill]:
    """The skills that a listing of all would show, if its host had the room."""
    return [*catalogue.shown, *(skill for skill in catalogue.omitted if skill.state == OMITTED)]


def _sizes(sizes: Sequence[int], least: int, most: int) -> list[int]:
    if not sizes:
        return sorted({max(least, 1), *(size for size in USUAL if least < size < most), most})
    for size in sizes:
        if not least <= size <= most:
            raise UsageError(
                f"a library of {size:,} skills cannot be made: prompts are about {least:,}, which all of them hold, and "
                f"there are {most:,}"
            )
    return sorted(set(sizes))


FOLDER = "router-curve"
"""Where the runs of a curve are, below the folder of the reports: apart from those of the whole collection."""


@dataclass(frozen=True, slots=True)
class PreparedCurve:
    """A run for each library, the smallest first."""

    inputs: RouterInputs
    choices: RouterChoices
    runs: tuple[PreparedSweep, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many skills each library has."""
        return tuple(len(run.plan.catalogue.shown) + len(run.plan.catalogue.omitted) for run in self.runs)

    def forecast(self) -> list[str]:
        """What people read before the first call."""
        lines: list[str] = []
        for size, run in zip(self.sizes, self.runs, strict=True):
            lines += [f"a library of {size:,} skills:", *(f"  {line}" for line in run.forecast.lines())]
        calls = sum(run.forecast.calls for run in self.runs)
        return [*lines, f"in all: {calls:,} calls over {len(self.runs)} libraries"]


def prepare_curve(
    inputs: RouterInputs,
    choices: RouterChoices,
    reports: str,
    time: datetime,
    *,
    sizes: Sequence[int],
    train: tuple[Prompt, ...],
    selection: FrozenSelection,
    keyless: bool = False,
    concurrency: int | None = None,
) -> PreparedCurve:
    """Freeze a run for each library. Raises UsageError as `nested_libraries` and `prepare` do; nothing is written."""
    known = hosts(inputs.config.listing)
    place = os.path.join(reports, FOLDER)
    runs = [
        prepare(
            replace(inputs, catalogue=library), choices, place, time,
            train=train, selection=selection, keyless=keyless, concurrency=concurrency,
        )
        for library in nested_libraries(inputs.catalogue, inputs.prompts, sizes, choices.seed, known)
    ]  # fmt: skip
    return PreparedCurve(inputs, choices, tuple(runs))


def measure_curve(curve: PreparedCurve, terms: RouterRunOptions, stream: TextIO | None, time: datetime) -> RouterCurve:
    """Make the calls of each library that have no result yet, within caps over all of them, and put them side by side.

    Raises AbortedError where calls are left, and as `answer_prompts` does; what is done is kept, and the same curve
    goes on there.
    """
    points: dict[str, list[CurvePoint]] = {}
    for size, run in zip(curve.sizes, curve.runs, strict=True):
        ended = answer_prompts(run, terms, stream)
        attempts, usd = ended.spent
        terms = replace(terms, before=(terms.before[0] + attempts, terms.before[1] + usd))
        if ended.left:
            raise AbortedError(
                f"{ended.left} calls are left of the library of {size:,} skills ({ended.reason or 'stopped'}): give the "
                "same command again to go on"
            )
        for spec, point in _points(run, ended, size):
            points.setdefault(spec, []).append(point)
    return _curve(curve, points, time)


def _points(run: PreparedSweep, ended: AnsweredRun, size: int) -> Iterator[tuple[str, CurvePoint]]:
    manifest = load_manifest(run.place.folder)
    facts = read_facts(manifest)
    trusted = {verdict.model: verdict.trusted for verdict in ended.verdicts if verdict.tested}
    question = _questions(run.plan, facts)
    for column in judge(facts, ended.results).columns:
        metrics, own, used = measure(column, facts), stages(column, facts), usage(column, facts)
        spec = column.model.spec
        yield (
            spec,
            CurvePoint(
                size=size,
                run_id=manifest.run_id,
                top1=metrics.top1,
                top1_skill=metrics.top1_skill,
                false_fire=metrics.false_fire,
                question_tokens=question,
                input_tokens=_read(column, facts, lambda result: result.usage.input_tokens),
                cost_usd=used.cost_usd.median,
                spent_usd=used.cost_usd.total,
                retrieved=own.retrieved if own else UNSET,
                ranked=own.ranked if own else UNSET,
                trusted=trusted.get(spec),
            ),
        )


def _questions(plan: RouterPlan, facts: RoutingRunFacts) -> Figure:
    sizes = question_sizes(plan)
    return quantile([(size / BYTES_PER_TOKEN, facts.clusters[prompt]) for prompt, size in sizes.items()], 0.5)


def _read(column: ModelScores, facts: RoutingRunFacts, of: Callable[[RoutingResult], int | None]) -> Figure:
    found = [
        (float(value), facts.clusters[each.prompt_id])
        for each in column.results
        if each.scored and (value := of(each)) is not None
    ]
    return quantile(found, 0.5)


def _curve(curve: PreparedCurve, points: Mapping[str, Sequence[CurvePoint]], time: datetime) -> RouterCurve:
    first, last = curve.runs[0], curve.runs[-1]
    choices, commit = curve.choices, first.place.manifest
    names = {skill.name for skill in (*last.plan.catalogue.shown, *last.plan.catalogue.omitted)}
    about = {
        name for prompt in curve.inputs.prompts for name in (prompt.expected, *prompt.acceptable, *prompt.rejected)
    }
    tested = [prompt for prompt in curve.inputs.prompts if prompt.target in names or prompt.target == NONE]
    kinds = {model.spec: model.choice.kind for model in first.plan.models}
    record = RouterCurve(
        schema=SCHEMA,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        tool_version=__version__,
        commit=commit.get("commit"),
        dirty=commit.get("dirty"),
        seed=choices.seed,
        mode=choices.mode,
        listing=choices.listing,
        template=choices.template,
        index=choices.index,
        retrieve=choices.retrieve,
        retriever=choices.retriever if choices.retrieve else "",
        prompts=len(tested),
        null=sum(prompt.target == NONE for prompt in tested),
        kept=len(about & names),
        sizes=curve.sizes,
        models=tuple(ModelCurve(model=spec, kind=kinds[spec], points=tuple(own)) for spec, own in points.items()),
        notes=tuple(_notes(kinds)),
    )
    settled: Any = map_values(record, settle)
    return settled  # type: ignore[no-any-return]


def _notes(kinds: Mapping[str, str]) -> Iterator[str]:
    yield (
        "Each library holds the one before and all skills that prompts are about. The others were drawn once, by the seed: "
        "intervals are over prompts, and say nothing about other draws."
    )
    yield (
        "Prompts were labelled within a part of the library. A skill that was added may be as good an answer, and counts as "
        "wrong: figures at large sizes are lower bounds."
    )
    if simulated := [spec for spec, kind in kinds.items() if kind == "simulated"]:
        yield f"Simulated, no model of anybody's: {', '.join(simulated)}. Such figures say something about this tool only."
