"""Configurations as a document for people: one table for each question, subjects by their number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from skill_health.documents._record import FullFigure
from skill_health.documents.effect_configurations import (
    ConfigurationRow,
    CriterionDelta,
    DomainRow,
    EffectConfigurations,
    FailureRow,
    HarnessContrast,
    ScoreName,
    StratumRow,
    SubstitutionRow,
    TaskSubjectCell,
    TokenSaving,
)
from skill_health.effectiveness.reports._cells import SIMULATED
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock
from skill_health.text.numbers import (
    NOTHING,
    amount,
    count,
    p_value,
    percent,
    points,
    quantity,
    share,
    signed,
    with_interval,
)

_SCORES: Mapping[ScoreName, str] = {
    "goal": "goal", "instruction": "instruction", "weighted": "weighted", "success": "passed",
}  # fmt: skip
_WORDS: Mapping[ScoreName, str] = {
    "goal": "goal completion", "instruction": "instruction following", "weighted": "the weighted rubric score",
    "success": "the share of trials that pass",
}  # fmt: skip
_ACROSS = 7
"""Columns of the heat map beside each other."""
_LONGEST = 46
_MOST_CRITERIA, _MOST_LINES = 20, 30
_READING = (
    "Brackets are 95 % intervals over tasks; of a criterion they are over the trials of its one task.",
    "Differences are in percentage points, paired by task, with the skill less without it. Where fewer than six tasks "
    "differ there is neither an interval nor a test.",
    "p is a sign-flip test's, corrected for the number of tests: by Holm for the arm with the skill and for verdicts, "
    "else by Benjamini and Hochberg.",
    "* is preliminary: fewer than 3 replications or 30 tasks, no interval, or too many trials missing.",
)


class _Names:
    """Subjects by their numbers, with a star where they are preliminary."""

    def __init__(self, found: EffectConfigurations) -> None:
        self._at = {each.subject: str(at) for at, each in enumerate(found.subjects, 1)}

    def of(self, subject: str, preliminary: bool = False) -> str:
        """A subject in a table."""
        return _star(self._at.get(subject, subject), preliminary)


def _star(text: str, preliminary: bool) -> str:
    return f"{text} *" if preliminary else text


def document(found: EffectConfigurations) -> Iterator[Block]:
    """The whole document; a part without rows is left out."""
    names = _Names(found)
    yield TitleBlock(f"Configurations of {count(len(found.runs), 'run')}", 1)
    if any(subject.simulated for subject in found.subjects):
        yield Sentence(SIMULATED, strong=True)
    yield from _about(found)
    yield from _scores(found.configurations, names)
    yield from _differences(found, names)
    yield from _taken(found.configurations, names)
    yield from _means(found)
    yield from _criteria(found.criteria)
    yield from _domains(found.domains)
    yield from _strata("By the number of skills staged", found.by_number)
    yield from _strata("By the length of skills, bytes of SKILL.md", found.by_length)
    yield from _heat_map(found, names)
    yield from _substitutions(found, names)
    yield from _savings(found, names)
    yield from _harnesses(found.harnesses, names)
    yield from _failures(found.failures, names)
    yield from _unpaired(found, names)
    yield TitleBlock("Mind")
    yield Items([*found.notes, *_READING], most=_MOST_LINES)


def _about(found: EffectConfigurations) -> Iterator[Block]:
    for run in found.runs:
        judged = ""
        if run.judging:
            judged = f", judged by {run.judging}{'' if run.calibrated else ' (not calibrated)'}"
        yield Sentence(
            f"Run {run.run_id}: {run.scored:,} of {count(run.planned, 'trial')} scored, "
            f"{count(run.replications, 'replication')}{judged}."
        )
    yield Items([f"{at}: {each.subject}" for at, each in enumerate(found.subjects, 1)], most=_MOST_LINES)
    reasons = {each.subject: "; ".join(each.preliminary) for each in found.subjects if each.preliminary}
    for why in dict.fromkeys(reasons.values()):
        own = [str(at) for at, each in enumerate(found.subjects, 1) if reasons.get(each.subject) == why]
        yield Sentence(f"Preliminary ({', '.join(own)}): {why}.")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], most: int = 40, keep: int = 1) -> Table:
    """A table without the columns in which nothing stands, the first `keep` aside."""
    shown = [at for at in range(len(head)) if at < keep or any(row[at] != NOTHING for row in rows)]
    return Table([head[at] for at in shown], [[row[at] for at in shown] for row in rows], most)


def _name(row: ConfigurationRow, names: _Names) -> str:
    return f"{names.of(row.subject)} {_star(row.arm, row.preliminary)}"


def _scores(rows: Sequence[ConfigurationRow], names: _Names) -> Iterator[Block]:
    yield TitleBlock("Scores, per cent")
    head = ("configuration", "tasks", "trials", *_SCORES.values())
    yield _table(
        head,
        [
            (_name(row, names), str(row.tasks), str(row.trials), *(share(getattr(row, name)) for name in _SCORES))
            for row in rows
        ],
        keep=3,
    )


def _differences(found: EffectConfigurations, names: _Names) -> Iterator[Block]:
    rows = [(row, row.delta) for row in found.configurations if row.delta]
    if not rows:
        return
    yield TitleBlock("What the skill adds to the control, points")
    head = ("configuration", *_SCORES.values())
    yield _table(
        head, [(_name(row, names), *(points(getattr(delta, name)) for name in _SCORES)) for row, delta in rows]
    )
    yield Sentence(f"By {_WORDS[found.score]}; the normalised gain is the share of what was left to gain, per cent:")
    told = [(row, delta, getattr(delta, found.score)) for row, delta in rows]
    yield _table(
        ("configuration", "tasks", "p", "p corrected", "normalised gain"),
        [
            (_name(row, names), str(own.clusters), p_value(own.p), p_value(own.p_adjusted), share(delta.gain))
            for row, delta, own in told
        ],
    )
    why = [f"{_name(row, names)}: {note}" for row, delta, own in told for note in _notes_of(own, delta.gain)]
    yield Items(why, most=_MOST_LINES)


def _notes_of(delta: FullFigure, gain: FullFigure) -> Iterator[str]:
    if delta.note:
        yield delta.note
    if gain.note and gain.note != delta.note:
        yield f"normalised gain: {gain.note}"


def _taken(rows: Sequence[ConfigurationRow], names: _Names) -> Iterator[Block]:
    table = _table(
        ("configuration", "seconds", "US dollars", "k tokens read", "k written"),
        [
            (
                _name(row, names), with_interval(row.duration_ms, ".1f", 0.001), quantity(row.cost_usd),
                with_interval(row.input_tokens, ",.1f", 0.001), with_interval(row.output_tokens, ",.1f", 0.001),
            )
            for row in rows
        ],
    )  # fmt: skip
    if len(table.head) > 1:
        yield TitleBlock("What a trial takes")
        yield table


def _means(found: EffectConfigurations) -> Iterator[Block]:
    if not found.means:
        return
    yield TitleBlock(f"Mean over subjects, by {_WORDS[found.score]}")
    yield _table(
        ("arm", "subjects", "tasks", "control", "with", "difference", "mean gain"),
        [
            (
                _star(row.arm, row.preliminary), str(row.subjects), str(row.delta.clusters), percent(row.control.value),
                percent(row.score.value), points(row.delta), share(row.gain),
            )
            for row in found.means
        ],
    )  # fmt: skip


def _criteria(rows: Sequence[CriterionDelta]) -> Iterator[Block]:
    if not rows:
        return
    yield TitleBlock("Criteria, the largest change first")
    yield _table(
        ("criterion", "group", "with", "without", "difference", "p corrected"),
        [
            (
                _star(_cut(f"{row.task_id}: {row.text or row.criterion}"), row.preliminary), row.group,
                f"{row.met_with}/{row.of_with}", f"{row.met_without}/{row.of_without}", points(row.delta),
                p_value(row.delta.p_adjusted),
            )
            for row in rows
        ],
        most=_MOST_CRITERIA,
    )  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _domains(rows: Sequence[DomainRow]) -> Iterator[Block]:
    for of, group in groupby(rows, key=lambda row: row.of):
        own = list(group)
        yield TitleBlock(f"By domain of the {of}")
        yield _grouped(
            "domain",
            [
                ("macro mean" if row.domain is None else row.domain or "(none given)", row.preliminary, row)
                for row in own
            ],
        )
        yield from (Sentence(f"Macro mean: {row.delta.note}.") for row in own if row.domain is None and row.delta.note)


def _strata(title: str, rows: Sequence[StratumRow]) -> Iterator[Block]:
    if rows:
        yield TitleBlock(title)
        yield _grouped("stratum", [(row.stratum, row.preliminary, row) for row in rows])
        yield Items([f"{row.stratum}: {_range(row)}{', '.join(row.arms)}" for row in rows])


def _range(row: StratumRow) -> str:
    """What the name of a stratum does not say itself."""
    if row.stratum.partition(" ")[0].isdigit():
        return ""
    return f"from {row.least:,}, " if row.most is None else f"{row.least:,} to {row.most:,}, "


def _grouped(what: str, rows: Sequence[tuple[str, bool, DomainRow | StratumRow]]) -> Table:
    return _table(
        (what, "tasks", "subjects", "without", "with", "difference", "p corrected"),
        [
            (
                _star(name, preliminary), str(row.tasks), str(row.subjects), percent(row.score_without),
                percent(row.score_with), points(row.delta), p_value(row.delta.p_adjusted),
            )
            for name, preliminary, row in rows
        ],
    )  # fmt: skip


def _heat_map(found: EffectConfigurations, names: _Names) -> Iterator[Block]:
    if not found.cells:
        return
    yield TitleBlock("Task by subject, without > with")
    cells = {(cell.task_id, cell.subject): cell for cell in found.cells}
    tasks = list(dict.fromkeys(cell.task_id for cell in found.cells))
    subjects = [each.subject for each in found.subjects]
    for some in (subjects[at : at + _ACROSS] for at in range(0, len(subjects), _ACROSS)):
        yield Table(
            ("task", *(names.of(subject) for subject in some)),
            [(task, *(_cell(cells.get((task, subject)), found.score) for subject in some)) for task in tasks],
        )


def _cell(cell: TaskSubjectCell | None, score: ScoreName) -> str:
    if cell is None:
        return NOTHING
    sides = ((cell.score_without, cell.n_without), (cell.score_with, cell.n_with))
    if score == "success":
        return " > ".join(NOTHING if value is None else f"{round(value * n)}/{n}" for value, n in sides)
    return " > ".join(percent(value, 0) for value, _ in sides)


def _substitutions(found: EffectConfigurations, names: _Names) -> Iterator[Block]:
    rows = found.substitutions
    if not rows:
        return
    yield TitleBlock("Substitution: a cheaper model with the skill for a dearer one without")
    yield Sentence(
        f"It substitutes where it is shown both to be no worse by {100 * found.margin:g} points, by {_WORDS[found.score]}, "
        "and to cost less, for a typical task and in the whole; least is the end of a one-sided 95 % interval of the "
        "difference, most the upper end of the 95 % interval of the ratio of all dollars."
    )
    yield _table(
        ("pair", "tasks", "difference", "least", "US dollars", "most", "p corr.", "verdict"),
        [_substitution(row, names) for row in rows],
    )
    yield Items([f"{_pair(row, names)}: {row.reason}" for row in rows], most=_MOST_LINES)


def _pair(row: SubstitutionRow, names: _Names) -> str:
    return f"{names.of(row.small)} for {names.of(row.large, row.preliminary)}"


def _substitution(row: SubstitutionRow, names: _Names) -> tuple[str, ...]:
    costs = f"{_dollars(row.cost_small)} for {_dollars(row.cost_large)}"
    return (
        _pair(row, names), str(row.tasks), points(row.delta), signed(row.least), costs, _times(row.cost_ratio_most),
        p_value(row.p_adjusted), row.verdict,
    )  # fmt: skip


def _dollars(value: float | None) -> str:
    return NOTHING if value is None else f"{'-' if value < 0 else ''}{amount(abs(value))}"


def _times(value: float | None) -> str:
    return NOTHING if value is None else f"x {value:.2f}"


def _thousands(value: float | None, form: str = ",.1f") -> str:
    return NOTHING if value is None else f"{value / 1000:{form}}"


def _savings(found: EffectConfigurations, names: _Names) -> Iterator[Block]:
    rows = found.savings
    if not rows:
        return
    yield TitleBlock("Tokens saved at no loss of quality")
    yield Sentence(
        f"Saved where both are shown: fewer tokens, for a typical task and in the whole, and no loss of more than "
        f"{100 * found.margin:g} points, by {_WORDS[found.score]}. Most is the upper end of the 95 % interval of the "
        "ratio of all tokens."
    )
    yield _table(
        ("subject", "tasks", "without, k", "with, k", "most", "difference", "least", "p corr.", "verdict"),
        [_saving(row, names) for row in rows],
    )
    yield Items([f"{names.of(row.subject)}: {row.reason}" for row in rows], most=_MOST_LINES)


def _saving(row: TokenSaving, names: _Names) -> tuple[str, ...]:
    return (
        names.of(row.subject, row.preliminary), str(row.tasks), _thousands(row.tokens_without), _thousands(row.tokens_with),
        _times(row.tokens_ratio_most), points(row.delta), signed(row.least), p_value(row.p_adjusted), row.verdict,
    )  # fmt: skip


def _harnesses(rows: Sequence[HarnessContrast], names: _Names) -> Iterator[Block]:
    if not rows:
        return
    yield TitleBlock("One model in two agents")
    yield _table(
        ("pair", "model", "side", "tasks", "one", "other", "difference", "p corrected"),
        [
            (
                f"{names.of(row.one)} - {names.of(row.other, row.preliminary)}", row.model, row.side, str(row.tasks),
                percent(row.score_one), percent(row.score_other), points(row.delta), p_value(row.delta.p_adjusted),
            )
            for row in rows
        ],
    )  # fmt: skip


def _failures(rows: Sequence[FailureRow], names: _Names) -> Iterator[Block]:
    if not rows:
        return
    yield TitleBlock("Why trials did not pass")
    failed = [row for row in rows if not row.missing]
    missing = [row for row in rows if row.missing]
    for own, what in ((failed, "failures, of those scored"), (missing, "missing data, of those planned")):
        if own:
            yield _table(
                (what, "kind", "trials", "per cent"),
                [
                    (f"{names.of(row.subject)} {row.arm}", row.kind, f"{row.count} of {row.share.n}", share(row.share))
                    for row in own
                ],
                most=60,
            )
    if any(row.kind == "not known" for row in failed):
        yield Sentence("Not known: the results hold nothing that would tell.")


def _unpaired(found: EffectConfigurations, names: _Names) -> Iterator[Block]:
    if not found.unpaired:
        return
    yield TitleBlock("Tasks that a comparison is without")
    groups: dict[str, list[str]] = {}
    for each in found.unpaired:
        who = names.of(each.subject) + (f" and {names.of(each.other)}" if each.other else "")
        groups.setdefault(f"{who}: {each.reason}", []).append(each.task_id)
    yield Items([f"{what}: {_listed(tasks)}" for what, tasks in groups.items()], most=_MOST_LINES)


def _listed(tasks: Sequence[str], most: int = 12) -> str:
    names = list(dict.fromkeys(tasks))
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
