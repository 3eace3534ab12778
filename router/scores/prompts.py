"""Every prompt by itself: which model chose what, how often and why, and what the host had cut of the right skill."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from skill_health.discovery.hosts import FULL, TRUNCATED
from skill_health.documents.router_report import ListedLength, PromptModelPicks, PromptPick, PromptReport
from skill_health.router.records import ListedSkill, Prompt
from skill_health.router.scores.judge import Judged, RoutingRunFacts, RunScores

TEXT, RATIONALE, CUT = 400, 240, 240
"""How many characters of a prompt, of a rationale and of the hidden part of a description a report quotes."""


def prompts(sheet: RunScores) -> tuple[PromptReport, ...]:
    """All prompts in the run's order. `failing` marks those that some call got wrong; `right` is a share."""
    by_prompt: defaultdict[str, dict[str, list[Judged]]] = defaultdict(dict)
    for column in sheet.columns:
        for row in column.scored:
            by_prompt[row.prompt.prompt_id].setdefault(column.model.spec, []).append(row)
    return tuple(_prompt(prompt, by_prompt.get(name, {}), sheet) for name, prompt in sheet.facts.prompts.items())


def _prompt(prompt: Prompt, answers: Mapping[str, Sequence[Judged]], sheet: RunScores) -> PromptReport:
    facts = sheet.facts
    untested = facts.untested.get(prompt.prompt_id)
    rows = [row for each in answers.values() for row in each]
    bad = sum(_bad(row) for row in rows)
    return PromptReport(
        prompt_id=prompt.prompt_id,
        text=bounded(prompt.text, TEXT),
        expected=prompt.target,
        acceptable=prompt.acceptable,
        rejected=prompt.rejected,
        family=prompt.family,
        tags=prompt.tags,
        split=prompt.split,
        reason=bounded(prompt.reason, TEXT),
        source=prompt.source,
        untested=untested,
        failing=bad > 0,
        right=None if untested or not rows else sum(row.right for row in rows) / len(rows),
        listing=_listing(prompt, facts),
        models=tuple(
            PromptModelPicks(
                model=column.model.spec,
                missing=column.model.replications - len(answers.get(column.model.spec, ())),
                picks=_picks(answers.get(column.model.spec, ())),
            )
            for column in sheet.columns
        ),
    )


def _bad(row: Judged) -> bool:
    """Whether a call failed: the wrong answer, or, where the label says no more, a skill that must not fire."""
    return not row.right if row.tested else row.picked in row.prompt.rejected


def _picks(rows: Sequence[Judged]) -> tuple[PromptPick, ...]:
    """What came first how often, the most frequent first, with the first rationale of each wrong pick."""
    found: defaultdict[str | None, list[Judged]] = defaultdict(list)
    for row in rows:
        found[row.picked].append(row)
    order = sorted(found, key=lambda name: (-len(found[name]), name is None, name or ""))
    return tuple(_pick(name, found[name]) for name in order)


def _pick(name: str | None, rows: Sequence[Judged]) -> PromptPick:
    rationale: str | None = None
    kinds: tuple[str, ...] = ()
    if _bad(rows[0]):
        rationale = next((bounded(row.result.rationale, RATIONALE) for row in rows if row.result.rationale), "")
        if name is None:
            kinds = tuple(sorted({kind for row in rows for kind in (row.result.kinds or (row.result.status,))}))
    return PromptPick(picked=name, calls=len(rows), right=rows[0].right, rationale=rationale, kinds=kinds)


def _listing(prompt: Prompt, facts: RoutingRunFacts) -> ListedLength | None:
    """How the host lists the expected skill, and the part of its description that it does not show."""
    if prompt.expected is None:
        return None
    skill = facts.shown.get(prompt.expected) or facts.omitted.get(prompt.expected)
    if skill is None:
        return None
    return ListedLength(state=skill.state, cut=bounded(hidden(skill), CUT))


def hidden(skill: ListedSkill) -> str:
    """What a listing leaves out of a description: nothing, what follows the part that is shown, or all of it."""
    whole, shown = (" ".join(text.split()) for text in (skill.description, skill.text))
    return whole.removeprefix(shown).strip() if skill.state == TRUNCATED else "" if skill.state == FULL else whole


def bounded(text: str, most: int) -> str:
    """A text that is cut to so many characters, the last being an ellipsis where it is."""
    return text if len(text) <= most else text[: most - 1] + "…"
