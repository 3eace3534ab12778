"""Score history: the mean of the collection from run to run, and the score of one skill."""

from __future__ import annotations

from skill_health.page.figures import count, score, text_cell
from skill_health.page.model import NumberTable, Page, Picture, anchor
from skill_health.page.pictures._history import MOST, At, lines, marks, spec, stretches, told

QUESTION, ORDER = 1, 1
_BROKEN = "The line is broken where runs are not comparable or days are missing."


def build(page: Page) -> tuple[Picture, ...]:
    """The mean score of the last daily runs; none where fewer than two have one."""
    found = [(line, line["summary"]["mean"]) for line in lines(page) if line.value["summary"]["mean"] is not None]
    if len(found) < 2:
        return ()
    drift = marks(page, found[0][0].value["time"])
    runs = stretches(found, drift)
    texts = told(drift)
    rows = tuple(
        (
            text_cell(at.time),
            score(at.score),
            score(at.line["summary"]["min"]),
            score(at.line["summary"]["max"]),
            count(at.line["summary"]["skills"]),
            text_cell(texts.get(at.time, "")),
        )
        for at in reversed(runs)
    )
    table = NumberTable(("Run", "Mean", "Lowest", "Highest", "Skills", "Mark"), rows, "Scores of the daily runs")
    first, last = runs[0], runs[-1]
    alt = (
        f"Line of the mean score over {len(runs)} daily runs: {score(first.score).text} on {first.time[:10]}, "
        f"{score(last.score).text} on {last.time[:10]}. The band goes from the lowest to the highest score of a skill."
    )
    if texts:
        alt += f" {len(texts)} mark{'s' * (len(texts) != 1)}, the last {list(texts.values())[-1].partition(': ')[2]}."
    note = f"{_BROKEN} {_marks(texts)}".strip()
    if len(page.history.value) > MOST:
        note += f" The last {len(runs)} runs over the same paths are shown."
    picture = spec(runs, drift, True, 340, 150)
    return (Picture("score-history", "Mean score of the collection", alt, picture, table, 1, note),)


def build_skill(page: Page, path: str) -> tuple[Picture, ...]:
    """The score of a skill over the last daily runs; none where fewer than two have one."""
    known = [line for line in lines(page) if path in line.value["skills"]]
    scored = ((line, line["skills"][path]["score"]) for line in known)
    found = [(line, own) for line, own in scored if own.value is not None]
    if len(found) < 2:
        return ()
    drift = marks(page, found[0][0].value["time"])
    runs = stretches(found, drift)
    texts = told([mark for mark in drift if mark.value["kind"] not in ("drop", "rise")])
    kept = [at for place, at in enumerate(runs) if _turns(runs, place)]
    rows = tuple((text_cell(at.time), score(at.score)) for at in reversed(kept))
    table = NumberTable(("Run", "Score"), rows, f"Scores of {len(runs)} daily runs, where they begin, end or change")
    first, last = runs[0], runs[-1]
    alt = (
        f"Line of the score over {len(runs)} daily runs: {score(first.score).text} on {first.time[:10]}, "
        f"{score(last.score).text} on {last.time[:10]}."
    )
    own = [mark for mark in drift if mark.value["kind"] not in ("drop", "rise")]
    picture = spec(kept, own, False, 340, 70)
    note = f"{_BROKEN} {_marks(texts)}".strip() if texts else ""
    return (Picture(f"{anchor(path)}-history", "Score", alt, picture, table, 1, note),)


def _turns(runs: list[At], place: int) -> bool:
    """Whether a run is needed to draw the line: where it begins, ends, changes or is broken."""
    if place in (0, len(runs) - 1):
        return True
    before, own, after = runs[place - 1 : place + 2]
    same = before.score.value == own.score.value == after.score.value
    return not (same and before.part == own.part == after.part)


def _marks(texts: dict[str, str]) -> str:
    """What the numbers of the marks mean, the last ones where there are many."""
    shown = list(texts.values())[-6:]
    more = f"{len(texts) - len(shown)} earlier marks are in the table. " if len(texts) > len(shown) else ""
    return more + " ".join(f"{each}." for each in shown)
