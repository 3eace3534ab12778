"""Routing of a skill: how often models find it, what it is confused with, and the prompts behind that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, TypeVar

from skill_health.documents.caveats import FoundCaveat, find_skill_caveats
from skill_health.documents.router_report import ConfusionCell, PromptPick, PromptReport, RouterReport
from skill_health.documents.skill_grades import SkillGrade
from skill_health.documents.skill_record import SkillRecord, SkillRouted
from skill_health.page.figures import count, share, text_cell
from skill_health.page.model import NumberTable, Origins, PageCell
from skill_health.page.skill.budget import HtmlBudget, TextExcerpt, cut, price
from skill_health.trials.kept_files import FileLink, ReportFolders

NO_SKILL, NO_ANSWER, NOT_KNOWN = "no skill", "no valid answer", "not known"
_AROUND, _PICK = 420, 260
"""Bytes of HTML around a prompt, and around a pick."""
_MOST_PICKS = 16
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Pick:
    """What a model picked, and how often. `rationale` is that of a wrong answer; `kinds` say what was wrong with it."""

    model: str
    simulated: bool
    picked: str
    calls: PageCell
    right: bool
    rationale: TextExcerpt
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MisroutedPrompt:
    """A prompt that went wrong. `hidden` is what the listing leaves out of the description of the expected skill."""

    id: str
    text: TextExcerpt
    expected: str
    acceptable: tuple[str, ...]
    source: str
    listing: str
    hidden: TextExcerpt
    picks: tuple[Pick, ...]
    more: int

    @property
    def wrong(self) -> int:
        """How many calls went wrong."""
        return sum(int(pick.calls.value or 0) for pick in self.picks if not pick.right)


def failed_prompt(
    origins: Origins, prompt: PromptReport, models: Mapping[str, bool], only: str | None
) -> MisroutedPrompt | None:
    """A prompt as these models (true: simulated) answered it; None where no pick is wrong.

    Where `only` is given, only the wrong picks of that skill.
    """
    told = [
        (each.model, pick)
        for each in prompt.models
        if each.model in models
        for pick in each.picks
        if only is None or (pick.picked == only and not pick.right)
    ]
    if all(pick.right for _, pick in told):
        return None
    picks = tuple(_pick(origins, model, models[model], pick) for model, pick in told[:_MOST_PICKS])
    state, hidden = (prompt.listing.state, prompt.listing.cut) if prompt.listing else ("", "")
    return MisroutedPrompt(
        prompt.prompt_id, cut(prompt.text, 400), named(prompt.expected, NOT_KNOWN), prompt.acceptable[:_MOST_NAMED],
        prompt.source, state, cut(hidden, 240), picks, max(0, len(told) - _MOST_PICKS),
    )  # fmt: skip


def _pick(origins: Origins, model: str, simulated: bool, pick: PromptPick) -> Pick:
    calls, rationale = count(origins, pick, "calls"), cut(pick.rationale or "", 240)
    return Pick(model, simulated, named(pick.picked), calls, pick.right, rationale, pick.kinds)


def named(skill: str | None, missing: str = NO_ANSWER) -> str:
    """A class of the confusion matrix in words."""
    return missing if skill is None else NO_SKILL if skill == "none" else skill


def prompt_price(prompt: MisroutedPrompt) -> int:
    """How many bytes of HTML a prompt takes, about."""
    texts = [prompt.id, prompt.text.text, prompt.expected, prompt.source, prompt.hidden.text, *prompt.acceptable]
    said = [text for pick in prompt.picks for text in (pick.model, pick.picked, pick.rationale.text, *pick.kinds)]
    return _AROUND + _PICK * len(prompt.picks) + sum(map(price, texts + said))


MOST_PROMPTS = 8
"""How many prompts are shown of those that a skill loses, and of those that it takes."""
_MOST_ROWS = 20
_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Side:
    """Confusions of one direction: with which skills, as a table; the prompts behind them, of which `left` are cut."""

    table: NumberTable
    prompts: tuple[MisroutedPrompt, ...]
    left: int

    @property
    def others(self) -> dict[str, tuple[tuple[PageCell, ...], ...]]:
        """The rows of the table by the other skill, the one with the most calls of a model first."""
        found: dict[str, tuple[tuple[PageCell, ...], ...]] = {}
        for name, *row in self.table.rows:
            found[name.text] = (*found.get(name.text, ()), tuple(row))
        return found


@dataclass(frozen=True, slots=True)
class ModelConfusions:
    """How a model finds a skill, as its last run says; `note` is what to mind about the numbers."""

    model: str
    run: str
    marks: tuple[FoundCaveat, ...]
    recall: PageCell
    precision: PageCell
    note: str


@dataclass(frozen=True, slots=True)
class RoutingSection:
    """Routing of a skill. `lost` are its prompts that go elsewhere, `taken` those of others that come here.

    `runs` are those of the models, with links to what was kept of them.
    """

    grade: SkillGrade
    expecting: PageCell
    models: tuple[ModelConfusions, ...]
    runs: tuple[tuple[str, tuple[FileLink, ...]], ...]
    lost: Side
    taken: Side


_Place = Literal["expected", "picked"]
_Of = tuple[str, _Place, str | None]
Places = Mapping[tuple[str, str], tuple[int, ...]]
"""Places of prompts in a report, by run and name of the skill."""


@dataclass(frozen=True, slots=True)
class RouterReports:
    """The reports of the router by run, and for each name of a skill the places of the prompts that concern it.

    `cells` are those of the confusion matrices with their model, by run, "expected" or "picked", and name.
    """

    origins: Origins
    shelf: ReportFolders
    runs: Mapping[str, RouterReport]
    lost: Places
    taken: Places
    cells: Mapping[_Of, tuple[tuple[str, ConfusionCell], ...]]


def book(origins: Origins, shelf: ReportFolders, reports: Sequence[RouterReport]) -> RouterReports:
    """What each skill's routing is looked up in: read once, however many skills there are."""
    lost: dict[tuple[str, str], list[int]] = defaultdict(list)
    taken: dict[tuple[str, str], list[int]] = defaultdict(list)
    cells: dict[_Of, list[tuple[str, ConfusionCell]]] = defaultdict(list)
    runs = {str(report.run.run_id): report for report in reports}
    for run, report in runs.items():
        for at, prompt in enumerate(report.prompts):
            wrong = {pick.picked for each in prompt.models for pick in each.picks if not pick.right}
            if prompt.untested is None and wrong and prompt.expected not in (None, "none"):
                lost[run, prompt.expected].append(at)
            for picked in sorted(each for each in wrong if each not in (None, "none")):
                taken[run, picked].append(at)
        for model, cell in ((each.model, cell) for each in report.models for cell in each.confusion):
            if cell.expected != cell.picked:
                cells[run, "expected", cell.expected].append((model, cell))
                cells[run, "picked", cell.picked].append((model, cell))
    return RouterReports(origins, shelf, runs, _fixed(lost), _fixed(taken), _fixed(cells))


def routing(record: SkillRecord, library: RouterReports, purse: HtmlBudget) -> RoutingSection:
    """Routing of a skill, from its record and the reports that the record rests on. The purse pays for prompts."""
    told = record.routing
    models: dict[tuple[str, str], dict[str, bool]] = {}
    for each in told.models:
        models.setdefault((each.run_id, each.listed), {})[each.model] = each.simulated
    sides = [(run, name, own) for (run, name), own in models.items() if run in library.runs]
    return RoutingSection(
        told.grade,
        count(library.origins, told, "prompts"),
        tuple(_model(library.origins, each) for each in told.models),
        tuple((run, _kept(library.shelf, run)) for run in dict.fromkeys(run for run, _ in models)),
        _side(sides, library, "expected", purse),
        _side(sides, library, "picked", purse),
    )


def _kept(shelf: ReportFolders, run: str) -> tuple[FileLink, ...]:
    links = (shelf.link(("router", run, name), name) for name in ("report.json", "results.jsonl"))
    return tuple(link for link in links if link)


def _model(origins: Origins, each: SkillRouted) -> ModelConfusions:
    notes = [
        f"{key}: {told.note}" for key, told in (("recall", each.recall), ("precision", each.precision)) if told.note
    ]
    return ModelConfusions(
        each.model, each.run_id, find_skill_caveats(each), share(origins, each.recall), share(origins, each.precision),
        "; ".join(notes),
    )  # fmt: skip


def _side(
    sides: Sequence[tuple[str, str, Mapping[str, bool]]], library: RouterReports, key: _Place, purse: HtmlBudget
) -> Side:
    """One direction: `key` says what the skill is in it.

    `sides` are runs, the name by which each lists the skill, and their models that count.
    """
    picked, places = key == "picked", library.taken if key == "picked" else library.lost
    rows = [row for run, name, models in sides for row in _rows(library, (run, key, name), models)]
    rows.sort(key=lambda row: (-int(row[2].value or 0), row[0].text, row[1].text))
    every = [
        found
        for run, name, models in sides
        for at in places.get((run, name), ())
        if (found := failed_prompt(library.origins, library.runs[run].prompts[at], models, name if picked else None))
    ]
    every.sort(key=lambda prompt: -prompt.wrong)
    prompts = list(takewhile(lambda prompt: purse.pay(prompt_price(prompt)), every[:MOST_PROMPTS]))
    head = ("expected" if picked else "picked instead", "model", "calls", "prompts")
    return Side(NumberTable(head, tuple(rows[:_MOST_ROWS])), tuple(prompts), len(every) - len(prompts))


def _rows(library: RouterReports, of: _Of, models: Mapping[str, bool]) -> Iterator[tuple[PageCell, ...]]:
    """The cells of the confusion matrices that a skill is in, but not those in which it is right."""
    for model, cell in library.cells.get(of, ()):
        if model in models:
            counts = (count(library.origins, cell, name) for name in ("calls", "prompts"))
            told = f"{model} (SIMULATED)" if models[model] else model
            yield text_cell(named(cell.expected if of[1] == "picked" else cell.picked)), text_cell(told), *counts


def _fixed(found: Mapping[_Key, list[_Item]]) -> Mapping[_Key, tuple[_Item, ...]]:
    return {key: tuple(items) for key, items in found.items()}
