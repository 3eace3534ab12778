"""The page in short, as Markdown for a pull request or a job summary: four answers, who needs what, what has changed.

A comment holds 65,536 characters, so each part has its share of the bytes; what does not fit is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from skill_health.documents._record import NotedFigure
from skill_health.documents.caveats import FoundCaveat, find_effect_caveats, find_skill_caveats
from skill_health.documents.page_data import StateField, StateMove
from skill_health.documents.skill_grades import SkillGrade, count_grades
from skill_health.documents.skill_record import SkillRecord
from skill_health.page.figures import MISSING, escape_text, estimate_text, score_text
from skill_health.page.model import TOPICS, Page, SkillVerdict
from skill_health.page.verdict.ranking import effect_first, routed_first
from skill_health.text.terminal import clean, markdown_text

MAX_BYTES = 60_000
MAX_ROWS = 20
HEAD = ("skill", "verdict", "why", "health", "recall %", "effect, points", "next")
_TABLE, _PART, _CHANGES, _NEXT, _NOTES = 26_000, 8_000, 10_000, 10_000, 4_000
_NAME, _TEXT, _REASON, _COMMAND, _NAMES = 60, 200, 600, 300, 6


def render(page: Page) -> str:
    """The summary, at most 60,000 bytes of UTF-8; whatever comes from files shows as text. Pure."""
    parts = (
        [f"# {_text(page.title, 120)}", ""],
        _answers(page),
        _skills(page),
        _changes(page),
        _next(page),
        _notes(page),
    )
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def _answers(page: Page) -> Iterator[str]:
    n = len(page.status.skills)
    yield f"{n:,} skill{'s' * (n != 1)}, {_text(page.as_of, 10)}, skill-health {_text(page.version, 20)}"
    yield ""
    lines = [_answer(number, page.answers[number]) for number in sorted(page.answers)]
    yield from _fitting(lines, _PART, len(lines))[0]
    yield ""


def _answer(number: int, answer: SkillVerdict) -> str:
    advice = " ".join(each for each in (_text(answer.advice), _code(answer.command)) if each)
    question = f"{TOPICS[number]}: **{answer.grade}**"
    reason = _text("; ".join(part for part in (answer.detail, answer.reason) if part), _REASON)
    return f"- {question}: {reason}{f'. Next: {advice}' if advice else ''}"


def _skills(page: Page) -> Iterator[str]:
    """The skills that something is wrong with, most in need first; a line says what is true of the others."""
    wanting = [each for each in page.status.skills if _wants(page.verdicts.get(each.path))]
    wanting.sort(key=lambda each: _need(each, page.verdicts[each.path]))
    yield from ("## Skills that need something", "")
    if not wanting:
        yield from ("None.", "", *_others(page, 0))
        return
    rows, left = _fitting([_row(each, page.verdicts[each.path]) for each in wanting], _TABLE, MAX_ROWS)
    yield f"| {' | '.join(HEAD)} |"
    yield f"|{' --- |' * len(HEAD)}"
    yield from rows
    yield from ("", *_more(left, "skill"), *_others(page, len(wanting)))
    yield from (
        "recall: of the requests that are for the skill, with its 95 % interval. effect: success with the skill less that "
        "without, with its 95 % interval over n tasks. SIMULATED: no model was asked.",
        "",
    )


def _wants(verdict: SkillVerdict | None) -> bool:
    """Whether a verdict is a complaint. What is not measured yet is none: it stands under what comes next."""
    return verdict is not None and verdict.grade in (SkillGrade.FAIL, SkillGrade.NEEDS_WORK)


def _others(page: Page, wanting: int) -> tuple[str, ...]:
    """What is true of the skills that stand in no row."""
    rest = count_grades(each.grade for each in page.verdicts.values() if not _wants(each))
    warned = sum(bool(each.health.warnings) for each in page.status.skills)
    return (f"{'Others' if wanting else 'Skills'}: {rest}. With warnings, of all: {warned:,}.", "") if rest else ()


def _need(skill: SkillRecord, verdict: SkillVerdict) -> tuple[int, float, str]:
    known = skill.health.score
    return verdict.need, 1.0 if known is None else known, skill.path


def _row(skill: SkillRecord, verdict: SkillVerdict) -> str:
    step = _code(verdict.command) or _text(verdict.advice)
    cells = (
        _text(skill.name, _NAME), verdict.grade.value, _why(verdict), score_text(skill.health.score),
        _routed(skill), _measured(skill), step.replace("|", "\\|") if step.startswith("`") else step,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _why(verdict: SkillVerdict) -> str:
    return _text("; ".join(part for part in (verdict.detail, verdict.reason) if part))


def _routed(skill: SkillRecord) -> str:
    """The routing figure that tells most, and what to mind about it."""
    if (best := routed_first(skill.routing.models)) is None:
        return MISSING
    return _marked(best.recall, "", best.model, find_skill_caveats(best))


def _measured(skill: SkillRecord) -> str:
    """The effect that tells most, likewise."""
    if (last := effect_first(skill.effect.models)) is None:
        return MISSING
    return _marked(last.delta, "+", last.model, find_effect_caveats(last))


def _marked(number: NotedFigure, sign: str, model: str, caveats: Iterable[FoundCaveat]) -> str:
    figure = _text(estimate_text(number, f"{sign},.1f"))
    return ", ".join([figure, _text(model, 30), *(each.caveat.phrase for each in caveats)])


def _changes(page: Page) -> Iterator[str]:
    """What has changed since the last page."""
    found = page.own.changes
    yield from ("## Since the last page", "")
    if found is None:
        yield from ("There is no last page to compare with.", "")
        return
    lines = [
        *(f"- {_text(each.name, _NAME)}: new on the page" for each in found.added),
        *(f"- {_text(each.name, _NAME)}: no longer on the page" for each in found.removed),
        *(f"- {_text(each.name, _NAME)}: {'; '.join(map(_change, each.what))}" for each in found.skills),
    ]
    shown_lines, left = _fitting(lines, _CHANGES, MAX_ROWS)
    yield f"Compared with {_text(found.since.as_of, 10)}: {'nothing has changed.' if not lines else ''}".rstrip()
    if (version := found.since.version) != page.version:
        yield from ("", f"That page was made by skill-health {_text(version, 20)}, which may judge otherwise.")
    yield from ("", *shown_lines, "", *_more(left, "skill"))


def _change(each: StateMove) -> str:
    before, after = (_value(each.field, value) for value in (each.before, each.after))
    if before == after:
        # What differs must not look the same.
        before, after = (_text(value, _NAME) for value in (each.before, each.after))
    return f"{_text(each.field.replace('_', ' '), 30)} {before} → {after}"


def _value(field: StateField, value: str | float | None) -> str:
    if value is None:
        return MISSING
    if not isinstance(value, float):
        return _text(value, _NAME)
    if field == "effect":
        return _text(f"{100 * value:+.1f} points")
    return _text(f"{100 * value:.1f} %" if field == "recall" else score_text(value))


def _next(page: Page) -> Iterator[str]:
    yield from ("## Next", "")
    lines = []
    for step in page.due:
        names = [_text(name, _NAME) for name in step.skills[:_NAMES]]
        beyond = len(step.skills) - _NAMES
        listed = ", ".join(names) + (f" and {beyond:,} more" if beyond > 0 else "")
        told = f"- **{_text(step.gap, _NAME)}** ({len(step.skills):,}): {listed}: {_text(step.advice)}"
        lines.append(f"{told} {_code(step.command)}".rstrip())
    steps, left = _fitting(lines, _NEXT, MAX_ROWS)
    yield from steps or ["Nothing: every question is answered for every skill."]
    yield from ("", *_more(left, "step"))


def _notes(page: Page) -> Iterator[str]:
    lines, left = _fitting((f"- {_text(note)}" for note in page.notes), _NOTES, MAX_ROWS)
    yield from (*lines, *(["", *_more(left, "note")] if left else ()))


def _fitting(lines: Iterable[str], most_bytes: int, most: int) -> tuple[list[str], int]:
    """The lines from the first on that are at most so many and fit in so many bytes, and how many are left."""
    kept: list[str] = []
    every = list(lines)
    used = 0
    for line in every[:most]:
        used += len(line.encode("utf-8")) + 1
        if used > most_bytes:
            break
        kept.append(line)
    return kept, len(every) - len(kept)


def _more(left: int, what: str) -> tuple[str, ...]:
    return (f"… and {left:,} more {what}{'s' * (left != 1)}; the page has them all.", "") if left else ()


def _text(text: object, most: int = _TEXT) -> str:
    told = " ".join(escape_text(str(text)[: most + 1]).split())
    # A dollar sign may begin a formula.
    return markdown_text(told if len(told) <= most else told[: most - 1] + "…").replace("$", "&#36;")


def _code(command: str) -> str:
    """A command that can be copied; one with a backtick cannot be shown as code, and a long one is not cut but left."""
    if not command or len(command) > _COMMAND:
        return ""
    return _text(command, _COMMAND) if "`" in command or "\n" in command else f"`{clean(command)}`"
