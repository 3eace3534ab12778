"""The first screen: a headline of the worst facts, tiles of what is known, and what to measure first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skill_health.documents.page_data import HostListing
from skill_health.documents.skill_grades import SkillGrade, count_grades, grade_all
from skill_health.page.figures import score_text
from skill_health.page.model import GRADE_TONES, LIVE, SKILL_TOPICS, TOPICS, Page, SkillVerdict, Tone
from skill_health.page.pictures._activation import last_activations
from skill_health.page.verdict.rules import RuleCount, count_rules
from skill_health.text.numbers import count, with_interval

_TILES, _RULES = 4, 3


@dataclass(frozen=True, slots=True)
class PageTile:
    """A tile: what it is about, what is known in a few words and in a sentence, the place to read on, what to do."""

    title: str
    word: str
    tone: Tone
    text: str
    link: str
    advice: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """What is read first. `unmeasured` are topics that nothing is known of, and `start` is what measures the first."""

    headline: str
    tiles: tuple[PageTile, ...]
    unmeasured: tuple[str, ...]
    start: SkillVerdict | None


def first_screen(page: Page) -> FirstScreen:
    """The first screen of a page. Pure."""
    rules = count_rules(page)
    known = {number: each for number, each in page.answers.items() if each.grade is not SkillGrade.NOT_MEASURED}
    open_ = {number: each for number, each in page.answers.items() if number not in known}
    tiles = [_graded(page, number, answer) for number, answer in sorted(known.items())]
    live = _live(page)
    if live:
        tiles.append(_tile(live, "activation"))
    for more in (_listing(page), _rule(page, rules), _fixes(page, rules), _claims(page), _score(page)):
        if more and len(tiles) < _TILES:
            tiles.append(more)
    start = next((each for _, each in sorted(open_.items()) if each.command), None)
    return FirstScreen(
        "; ".join(_facts(page, rules, live)), tuple(tiles), tuple(TOPICS[number] for number in sorted(open_)), start
    )


def _facts(page: Page, rules: Sequence[RuleCount], live: SkillVerdict | None) -> Iterator[str]:
    """The worst facts, the worst first."""
    total = len(page.status.skills)
    grades = Counter(each.grade for each in page.verdicts.values())
    bad = count_grades(each.grade for each in page.verdicts.values() if each.grade in _BAD)
    yield _of(total, bad) if bad else f"{count(total, 'skill')}: {count_grades(grades.elements())}"
    for number, answer in sorted(page.answers.items()):
        if number > 1 and answer.grade is SkillGrade.FAIL:
            yield f"{TOPICS[number]} fails{f' ({answer.detail})' if answer.detail else ''}"
    if live and live.grade is SkillGrade.FAIL:
        yield f"{SKILL_TOPICS[LIVE]} fails ({live.detail})"
    if (worst := _shortest(page)) and worst.full < worst.skills:
        yield _short_text(page, worst)
    top = [each for each in rules if each.severity != "info" and each.skills][:_RULES]
    if top:
        spread = [f"{each.code} in {count(len(each.skills), 'skill')}" for each in top]
        yield f"top rules: {', '.join(spread)}"


def _of(total: int, bad: str) -> str:
    """Who is in need: "1 of 17 skills fails, 2 need work"."""
    number, _, rest = bad.partition(" ")
    return f"{number} of {count(total, 'skill')} {rest}"


_BAD = (SkillGrade.FAIL, SkillGrade.NEEDS_WORK)


def _shortest(page: Page) -> HostListing | None:
    """The listing that leaves out most of what it should show."""

    def lost(each: HostListing) -> tuple[int, int, str, str]:
        return -(each.omitted + each.name_only), -each.truncated, each.key, each.group

    return min(page.own.listing.hosts, key=lost, default=None)


def _short_text(page: Page, each: HostListing) -> str:
    """What a host does to a listing; where there are several folders of skills, of which."""
    parts = (
        (each.omitted, "leaves out {} of {}"), (each.name_only, "lists {} of {} by name only"),
        (each.truncated, "cuts the descriptions of {} of {}"),
    )  # fmt: skip
    told = [form.format(f"{n:,}", f"{each.skills:,}") for n, form in parts if n]
    where = f" in {each.group}" if len({one.group for one in page.own.listing.hosts}) > 1 else ""
    return f"{each.title} {', '.join(told)}{where}"


def _graded(page: Page, number: int, answer: SkillVerdict) -> PageTile:
    return _tile(answer, "rules" if number == 1 else f"question-{number}")


def _tile(answer: SkillVerdict, link: str) -> PageTile:
    word = f"{answer.grade} ({answer.detail})" if answer.detail else answer.grade.value
    return PageTile(
        SKILL_TOPICS[answer.question], word, answer.tone, answer.reason, link, answer.advice, answer.command
    )


def _live(page: Page) -> SkillVerdict | None:
    """What live agents do with the skills as they are now; None where none that is real was asked.

    It passes where all skills do, as the four questions do.
    """
    grades = [each.activation for each in page.status.skills]
    grade = grade_all(grades)
    agents = [each for each in last_activations(page) if not each.model.simulated]
    if grade is SkillGrade.NOT_MEASURED or not agents:
        return None
    detail = "passed over" if grade is SkillGrade.FAIL else ""
    if grade is SkillGrade.PASSING and SkillGrade.NOT_MEASURED in grades:
        grade, detail = SkillGrade.NEEDS_WORK, "partly known"
    recall = agents[0].model.metrics.recall
    marks = "".join(f", {mark.caveat.phrase}" for mark in agents[0].marks)
    latest = f"latest of {len(agents)} agents " if len(agents) > 1 else ""
    said = f"{latest}{agents[0].subject}: the right skill first in {with_interval(recall, unit=' %')} of {count(recall.n, 'request')}{marks}"
    next_ = next((each for each in page.verdicts.values() if each.question == LIVE and each.command), None)
    return SkillVerdict(
        grade, detail, LIVE, f"{said}; of {count(len(grades), 'skill')} {count_grades(grades)}",
        next_.advice if next_ else "", next_.command if next_ else "",
    )  # fmt: skip


def _listing(page: Page) -> PageTile | None:
    worst = _shortest(page)
    if worst is None:
        return None
    full = worst.full == worst.skills
    text = f"every host lists all {worst.skills:,} in full" if full else _short_text(page, worst)
    return PageTile(
        "Listing", "in full" if full else f"{worst.full:,} of {worst.skills:,} in full", "good" if full else "warn",
        text, "question-2",
    )  # fmt: skip


def _rule(page: Page, rules: Sequence[RuleCount]) -> PageTile | None:
    top = next((each for each in rules if each.skills), None)
    if top is None:
        return None
    tone: Tone = "bad" if top.severity == "error" else "warn" if top.severity == "warning" else "unknown"
    text = f"{top.title}; {count(len(rules), 'rule')} found something"
    return PageTile("Rules", f"{top.code} in {count(len(top.skills), 'skill')}", tone, text, "rules")


def _fixes(page: Page, rules: Sequence[RuleCount]) -> PageTile | None:
    fixable, every = sum(each.fixable for each in rules), sum(each.findings for each in rules)
    if not fixable:
        return None
    text = f"{fixable:,} of {count(every, 'finding')} can be fixed by the command"
    return PageTile(
        "Fixes", f"{fixable:,} with a fix", "unknown", text, "next", "see them:", "skill-health lint --diff"
    )


def _claims(page: Page) -> PageTile | None:
    own = page.own.claims
    if own is None or not own.claims:
        return None
    tone: Tone = GRADE_TONES[SkillGrade.NEEDS_WORK] if own.stale else GRADE_TONES[SkillGrade.PASSING]
    text = f"{own.stale:,} of {count(own.claims, 'claim')} should have been looked at again"
    return PageTile("Claims", f"{own.stale:,} stale", tone, text, "overview")


def _score(page: Page) -> PageTile | None:
    mean = page.lint.summary.score
    if mean is None:
        return None
    return PageTile("Score", score_text(mean), "unknown", "the mean score of lint over all skills", "question-1")
