"""A comparison of two runs as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.activation.scores.rows import METRICS
from skill_health.documents._record import encode_record
from skill_health.documents.activation_comparison import (
    ActivationChange,
    ActivationComparison,
    ActivationFlip,
    ComparedActivationRun,
    ComparedAgent,
)
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock, as_markdown, as_text
from skill_health.text.near import list_some
from skill_health.text.numbers import NOTHING, count, p_value, percent, points

_HEAD = ("", "before", "after", "difference, points", "changed of independent", "p", "p corrected")
_KINDS = {"lost": "Right before, and not now", "won": "Right now, and not before", "moved": "Another wrong one"}
_MOST = 40


def render_comparison(found: ActivationComparison, format_: str) -> str:
    """A comparison in one of the formats."""
    if format_ == "json":
        return encode_record(found)
    return (as_text if format_ == "text" else as_markdown)(_document(found))


def _document(found: ActivationComparison) -> Iterator[Block]:
    yield TitleBlock(f"Activation: {found.run.run_id} against {found.baseline.run_id}", 1)
    yield Sentence(f"Run: {_run(found.run)}. Baseline: {_run(found.baseline)}.")
    unit = "skills with all their prompts" if found.clustering == "skill" else "prompts"
    yield Sentence(
        f"{count(found.prompts, 'prompt')} in common, paired; {unit} are taken as independent. An alarm is a loss of more than "
        f"{percent(found.max_loss)} points with a p of at most 0.05, corrected over all agents and the first three metrics."
    )
    if found.only_run:
        yield Sentence(
            f"Not in the baseline, or there with another text or label: {list_some(list(found.only_run), 12)}."
        )
    if found.differences:
        yield Sentence("What else is not the same, and may be behind a change just as well:")
        yield Items(found.differences)
    if found.cautions:
        yield Sentence("Careful:", strong=True)
        yield Items(found.cautions)
    for alarm in found.alarms:
        worse = f"{100 * alarm.by:+.1f} points, p {p_value(alarm.p_adjusted)}"
        yield Sentence(f"Alarm: {alarm.model}: {METRICS[alarm.metric].title} {worse}.", strong=True)
    if not found.alarms:
        yield Sentence("No alarm.")
    for agent in found.models:
        yield from _agent(agent)


def _agent(agent: ComparedAgent) -> Iterator[Block]:
    against = f" against {agent.against}" if agent.against != agent.model else ""
    yield TitleBlock(f"{agent.model}{against}: {count(agent.paired, 'prompt')}")
    if not agent.paired:
        yield Sentence("Not testable: of no prompt is it known in both runs what was opened.")
        return
    yield Table(_HEAD, [_row(METRICS[name].title, each) for name, each in agent.metrics.items()])
    skills = [(name, each) for name, each in agent.skills.items() if each.moved]
    if skills:
        yield Sentence("Recall by the expected skill, where it changed (p corrected over all of them):")
        yield Table(_HEAD, [_row(f"{name} (n = {each.difference.n})", each) for name, each in skills])
    for kind, words in _KINDS.items():
        flips = [flip for flip in agent.flips if flip.kind == kind]
        if flips:
            yield Sentence(f"{words} ({len(flips)}):")
            yield Items([_flip(flip) for flip in flips], most=_MOST)


def _row(name: str, each: ActivationChange) -> list[str]:
    found = each.difference
    return [
        name, percent(each.before), percent(each.after), points(found),
        f"{each.moved} of {found.clusters}" if found.clusters else found.note or NOTHING,
        p_value(found.p), p_value(found.p_adjusted),
    ]  # fmt: skip


def _flip(flip: ActivationFlip) -> str:
    return f"{flip.prompt_id}: {flip.before} -> {flip.after}" + (f", expected {flip.expected}" if flip.expected else "")


def _run(run: ComparedActivationRun) -> str:
    commit = f", commit {run.commit[:12]}{' with uncommitted changes' if run.dirty else ''}" if run.commit else ""
    return f"{run.run_id} of {run.created}{commit}"
