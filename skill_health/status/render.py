"""The joined records: in cells of a few characters, for a terminal, as Markdown, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import asdict, replace

from skill_health.core.strict_json import plain_values
from skill_health.documents._record import NotedFigure, record_values
from skill_health.documents.caveats import (
    Caveat,
    FoundCaveat,
    RoutingFacts,
    find_effect_caveats,
    find_routing_caveats,
    find_skill_caveats,
)
from skill_health.documents.effect_history import Effects, ModelEffect
from skill_health.documents.next_steps import SharedStep, StepKind
from skill_health.documents.router_history import ModelRouting
from skill_health.documents.skill_grades import SkillGrade, count_grades
from skill_health.documents.skill_record import (
    CollectionRisk,
    RouterRunRecord,
    SkillEffects,
    SkillHealth,
    SkillRecord,
    SkillRecords,
    SkillRouting,
    TopShare,
)
from skill_health.status.composed import all_pairs, pair_line, pairs_cell
from skill_health.status.judged import judged_line
from skill_health.status.loads import LoadedSkills, load_lines, loads_cell
from skill_health.status.next_steps import CommandBuilder, grouped, steps
from skill_health.status.records import RoutedSkills
from skill_health.status.risks import risk_lines
from skill_health.text.blocks import markdown_table
from skill_health.text.numbers import with_interval
from skill_health.text.terminal import (
    NARROWEST,
    ascii_values,
    clean,
    columns,
    cut,
    markdown_text,
    padded,
    paint,
    squeezed,
    to_ascii,
    wrapped,
)

HEAD = ("skill", "health", "recall %", "effect, points")
LOADED = "loaded %"
"""The column of live agents, which is there where some were asked."""
WITH_PAIRS = "with others"
"""The column of pairs of skills, which is there where some were tried."""
LOOK = "!"
_SIGNS = "; ".join(f"{each.value.sign} {each.value.meaning.partition(';')[0]}" for each in Caveat if each.value.sign)
MARKS = (
    f"health: the score, {LOOK} where it needs work. recall: of the requests that are for the skill, by the best "
    "model, with its 95 % interval and n calls. effect: success with the skill less that without, in percentage points, "
    f"with its 95 % interval and n tasks. {_SIGNS}; "
    f"{LOOK} most requests are lost."
)
LOAD_MARKS = (
    f"{LOADED}: of the requests that are for the skill, those in which a live agent opened it first, by the last run, with "
    "its 95 % interval and n requests."
)
PAIR_MARKS = (
    f"{WITH_PAIRS}: the verdicts on the skill beside each that it was tried with; of one the interaction in percentage points "
    "of success, zero where the effects add up, with its 95 % interval and n tasks."
)


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """All records of a collection, the models behind them, and what could not be read.

    `lost` says by the question (routing, effect, or verdict for all) what is damaged of what its answer rests on.
    """

    records: tuple[SkillRecord, ...]
    routed: RoutedSkills | None
    effects: Effects | None
    place: CommandBuilder
    version: str
    profile: str
    notes: tuple[str, ...] = ()
    risk: CollectionRisk | None = None
    loaded: LoadedSkills | None = None
    lost: Mapping[str, str] = field(default_factory=dict)


def health_cell(health: SkillHealth) -> str:
    """The score; what fails the skill where something does."""
    if health.state == "failed":
        counts = (("error", health.errors), ("warning", health.warnings), ("info", health.infos))
        word, n = next((each for each in counts if each[1]), ("finding", 0))
        return f"{n} {word}{'s' * (n != 1)}"
    score = "–" if health.score is None else f"{health.score:.2f}"
    return f"{score} {LOOK}" if health.grade is SkillGrade.NEEDS_WORK else score


def routing_cell(routing: SkillRouting) -> str:
    """Recall by the best model, or why there is none."""
    if routing.state == "fix first":
        return routing.state
    if not routing.models or routing.models[0].recall.value is None:
        return "no prompts" if not routing.prompts else "not measured"
    best = routing.models[0]
    signs = _signs(find_skill_caveats(best)) + (LOOK if routing.state == "failed" else "")
    return f"{with_interval(best.recall, '.0f')} n {best.recall.n}{signs}"


def effect_cell(effect: SkillEffects) -> str:
    """The verdict and the difference of the latest run, or why there is none."""
    if effect.state == "fix first":
        return effect.state
    if not effect.models:
        return "no tasks" if not effect.tasks else "not measured"
    last = effect.models[0]
    signs = _signs(find_effect_caveats(last))
    return f"{last.verdict} {with_interval(last.delta, '+.0f')} n {last.tasks}{signs}"


def _signs(caveats: Iterable[FoundCaveat]) -> str:
    return "".join(each.caveat.value.sign for each in caveats)


def routing_line(run: ModelRouting) -> str:
    """A model of the router as a whole."""
    known = with_interval(
        NotedFigure(value=run.top1, low=run.low, high=run.high, n=run.top1_n, clusters=0, note=""), ".0f"
    )
    facts = RoutingFacts(run.simulated, False, bool(run.changed), run.trusted, run.selection, (), run.retrieved)
    descriptions = f"{len(run.changed or ())} descriptions changed since"
    said = "".join(
        f", {descriptions if each.caveat is Caveat.STALE else each.caveat.phrase}"
        for each in find_routing_caveats(facts)
    )
    return f"{run.model}: top-1 {known} % of {run.top1_n} calls, {run.time[:10]}, run {run.run_id}{said}"


def effect_line(effect: ModelEffect) -> str:
    """An agent over the whole collection, or with a bundle."""
    biased = "".join(f"; biased: {why}" for why in effect.biased)
    said = "".join(
        f", {each.caveat.phrase}" for each in find_effect_caveats(effect) if each.caveat is not Caveat.BIASED
    )
    who = ", ".join(filter(None, (effect.model, effect.skill)))
    return (
        f"{who}: {effect.verdict} {with_interval(effect.delta, '+.0f')} points, {effect.tasks} tasks, {effect.scored} of "
        f"{effect.trials} trials, {effect.time[:10]}, run {effect.run_id}{said}{biased}"
    )


def table(status: CollectionStatus) -> list[tuple[str, ...]]:
    """The head, and one row for each skill; with columns of live agents and of pairs where some were tried."""
    live, paired = (any(each.loads for each in status.records), any(each.pairs for each in status.records))
    rows: list[tuple[str, ...]] = [(*HEAD[:3], *([LOADED] * live), *HEAD[3:], *([WITH_PAIRS] * paired))]
    for each in status.records:
        rows.append(
            (
                each.name, health_cell(each.health), routing_cell(each.routing), *([loads_cell(each)] if live else []),
                effect_cell(each.effect), *([pairs_cell(each.pairs)] if paired else []),
            )
        )  # fmt: skip
    return rows


def _marks(status: CollectionStatus) -> list[str]:
    """What the columns and the signs in them mean."""
    return [
        MARKS,
        *([LOAD_MARKS] if any(each.loads for each in status.records) else []),
        *([PAIR_MARKS] if any(each.pairs for each in status.records) else []),
    ]


def summary(status: CollectionStatus) -> str:
    """How many skills answer each question well."""
    n = len(status.records)
    topics = (
        ("lint", [each.health.grade for each in status.records]),
        ("routing", [each.routing.grade for each in status.records]),
        (
            "activation",
            [each.activation for each in status.records] if any(each.loads for each in status.records) else [],
        ),
        ("effect", [each.effect.grade for each in status.records]),
        ("composition", [each.composition for each in status.records]),
    )
    said = [f"{topic}: {told}" for topic, grades in topics if (told := count_grades(grades))]
    return "; ".join([f"{n} skill{'s' * (n != 1)}, profile {status.profile}", *said])


JUDGED_TITLE = "Judged scores"
RISK_TITLE = "Risk of losing requests"
_SKILL, _NAMES = 30, 6
_BAD = (StepKind.FIX_FIRST, StepKind.HARMFUL, StepKind.NOT_FOUND)


def render_records_text(
    status: CollectionStatus, width: int = 80, color: bool = False, ascii_only: bool = False
) -> str:
    """At most `width` columns, and 40 at least: where a row does not fit, each skill has several lines."""
    width = max(width, NARROWEST)
    lines = [*wrapped(summary(status), width), "", *_table(status, width, color, ascii_only)]
    lines += ["", *_models(status, width), *_next(status, width, color)]
    for text in (*status.notes, *_marks(status)):
        lines += wrapped(f"- {text}", width, "  ")
    page = "\n".join(lines).rstrip() + "\n"
    return to_ascii(page) if ascii_only else page


def _table(status: CollectionStatus, width: int, color: bool, ascii_only: bool) -> Iterator[str]:
    found = [tuple(ascii_values(list(row)) if ascii_only else row) for row in table(status)]
    cells = [[cut(cell, width) for cell in row] for row in found]
    head = cells[0]
    widths = [max(columns(row[at]) for row in cells) for at in range(len(head))]
    first = min(widths[0], _SKILL, width - sum(widths[1:]) - 2 * (len(head) - 1))
    if first < min(widths[0], 12):
        for name, *others in cells[1:]:
            yield paint(cut(name, width), "bold", color)
            for title, cell in zip(head[1:], others, strict=True):
                yield f"  {cut(f'{title}: {cell}', width - 2)}"
        return
    for number, row in enumerate(cells):
        left = [padded(squeezed(row[0], first), first), *(padded(row[at], widths[at]) for at in range(1, len(head)))]
        line = "  ".join(left).rstrip()
        yield paint(line, "bold", color) if number == 0 else line


def _models(status: CollectionStatus, width: int) -> Iterator[str]:
    parts: list[tuple[str, Iterable[str]]] = []
    if status.routed and status.routed.models:
        parts.append(("Routing by", map(routing_line, status.routed.models)))
    if status.loaded and (live := list(load_lines(status.loaded))):
        parts.append((LIVE_TITLE, live))
    if status.effects and (whole := status.effects.of(None)):
        parts.append(("Effect of the whole collection by", map(effect_line, whole)))
    if status.effects and (bundles := list(_bundles(status.effects))):
        parts.append((BUNDLES_TITLE, bundles))
    if pairs := list(_pairs(status)):
        parts.append((PAIRS_TITLE, pairs))
    if told := list(_judged(status)):
        parts.append((JUDGED_TITLE, told))
    if status.risk:
        parts.append((RISK_TITLE, risk_lines(status.risk, status.records)))
    for title, found in parts:
        yield title
        for text in found:
            yield from wrapped(f"  {text}", width, "    ")
        yield ""


LIVE_TITLE = "Activation by"
BUNDLES_TITLE = "Effect of skills together"
_BUNDLES = 12


def _bundles(effects: Effects) -> Iterator[str]:
    """A line for each model with a bundle."""
    found = effects.bundles()
    yield from map(effect_line, found[:_BUNDLES])
    if len(found) > _BUNDLES:
        yield f"and {len(found) - _BUNDLES} more, in the record of each of their skills"


PAIRS_TITLE = "Composition: two skills together"
_PAIRS = 40


def _pairs(status: CollectionStatus) -> Iterator[str]:
    """A line for each pair and model."""
    found = all_pairs(status.records)
    yield from (pair_line(each) for each in found[:_PAIRS])
    if len(found) > _PAIRS:
        yield f"and {len(found) - _PAIRS} more, in the records of their skills"


def _judged(status: CollectionStatus) -> Iterator[str]:
    """A line for each skill and model with judged scores."""
    for record in status.records:
        for each, model in ((each, model) for each in record.effect.judged for model in record.effect.models):
            if each.scores.model == model.model:
                marks = "".join(f", {found.caveat.phrase}" for found in find_effect_caveats(model))
                yield f"{judged_line(each)}{marks}"


def _next(status: CollectionStatus, width: int, color: bool) -> Iterator[str]:
    found = grouped(status.records, status.place)
    if not found:
        yield from (*wrapped("Next: nothing; every question is answered for every skill.", width), "")
        return
    yield paint("Next", "bold", color)
    for step, names in found:
        shown = ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")
        title, *rest = wrapped(f"{step.gap} ({len(names)}): {shown}: {step.advice}", width - 2, "  ")
        yield f"  {paint(title, 'yellow', color and step.gap in _BAD)}"
        yield from (f"  {line}" for line in rest)
        if step.command:
            # Never wrapped and never cut: it is there to be copied.
            yield f"    {step.command}"
    yield ""


_WIDEST = 400


def render_records_markdown(status: CollectionStatus) -> str:
    """One table of the skills, the models behind it, and what comes next."""
    return "\n".join(_lines(status)).rstrip() + "\n"


def _lines(status: CollectionStatus) -> Iterator[str]:
    yield from ("# Skill health: status", "", _text(summary(status)), "")
    head, *rows = table(status)
    yield from markdown_table(head, [[_text(cell) for cell in row] for row in rows])
    if status.routed and status.routed.models:
        yield from ("## Routing", "", *(f"- {_text(routing_line(run))}" for run in status.routed.models), "")
    if status.loaded and (live := list(load_lines(status.loaded))):
        yield from ("## Activation", "", *(f"- {_text(line)}" for line in live), "")
    if status.effects and (whole := status.effects.of(None)):
        yield from ("## Effect of the whole collection", "", *(f"- {_text(effect_line(each))}" for each in whole), "")
    if status.effects and (bundles := list(_bundles(status.effects))):
        yield from (f"## {BUNDLES_TITLE}", "", *(f"- {_text(line)}" for line in bundles), "")
    if pairs := list(_pairs(status)):
        yield from (f"## {PAIRS_TITLE}", "", *(f"- {_text(line)}" for line in pairs), "")
    if judged := list(_judged(status)):
        yield from (f"## {JUDGED_TITLE}", "", *(f"- {_text(line)}" for line in judged), "")
    if status.risk:
        told = risk_lines(status.risk, status.records)
        yield from (f"## {RISK_TITLE}", "", *(f"- {_text(line)}" for line in told), "")
    yield from ("## Next", "")
    found = grouped(status.records, status.place)
    for step, names in found:
        yield f"- **{_text(step.gap)}** ({len(names)}): {_text(', '.join(names))}: {_text(step.advice)}{_code(step.command)}"
    if not found:
        yield "Nothing: every question is answered for every skill."
    yield ""
    yield from (f"- {_text(note)}" for note in status.notes)
    yield from (f"- {markdown_text(text)}" for text in _marks(status))


def _code(command: str) -> str:
    """A command that can be copied; one with a backtick in it cannot be shown as code."""
    return "" if not command else f" {_text(command)}" if "`" in command else f" `{clean(command)}`"


def _text(text: str) -> str:
    return markdown_text(text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…")


def render_records_json(status: CollectionStatus) -> str:
    """The document as text: keys in a fixed order, ASCII only, no absolute path."""
    values = plain_values(record_values(build_status_record(status)))
    return json.dumps(values, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def build_status_record(status: CollectionStatus) -> SkillRecords:
    """The document."""
    routed, effects = status.routed, status.effects
    return SkillRecords(
        schema="skill-health/skill-record/1",
        version=status.version,
        profile=status.profile,
        skills=tuple(replace(each, next=steps(each, status.place)) for each in status.records),
        routing=tuple(map(_run, routed.models)) if routed else (),
        effect=effects.of(None) if effects else (),
        next=tuple(
            SharedStep(**asdict(step), skills=tuple(names)) for step, names in grouped(status.records, status.place)
        ),
        notes=status.notes,
        risk=status.risk,
    )


def _run(run: ModelRouting) -> RouterRunRecord:
    return RouterRunRecord(
        model=run.model, run_id=run.run_id, time=run.time, n=run.n, planned=run.planned, selection=run.selection,
        simulated=run.simulated, trusted=run.trusted, top1=TopShare(value=run.top1, low=run.low, high=run.high),
        changed=run.changed,
    )  # fmt: skip
