"""Scores for the terminal: one line a skill with its weakest parts, and the collection."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.console import clean, paint
from skill_health.formats._api import Report

_BAR = 20


def score_lines(report: Report, color: bool) -> Iterator[str]:
    """A bar, a number and the parts that cost most for each skill; the mean with its range below."""
    if report.scores is None:
        return
    scores = sorted(report.scores.skills.items(), key=lambda item: (item[1].value, item[0]))
    width = min(44, max((len(_name(path)) for path, _ in scores), default=0))
    for path, score in scores:
        filled = round(score.value * _BAR)
        bar = paint("█" * filled, "red" if score.flagged else "green", color) + "·" * (_BAR - filled)
        lost = sorted(
            (
                (part.share * (1 - part.value), part)
                for part in score.parts
                if part.value is not None and part.value < 1
            ),
            key=lambda item: (-item[0], item[1].name),
        )
        weak = ", ".join(f"{part.name} {part.value:.2f}" for _, part in lost[:3])
        line = f"{clean(_name(path))[:width]:{width}}  {bar}  {score.value:.4f}  {weak}"
        yield line.rstrip() + ("  " + paint("flagged", "red", color) if score.flagged else "")
    corpus = report.scores.corpus
    left_out = sorted(
        {part.name for score in report.scores.skills.values() for part in score.parts if part.value is None}
    )
    if corpus.mean is not None:
        yield ""
        yield (
            f"collection {corpus.mean:.4f} (mean of {corpus.n}; {corpus.min:.4f} to {corpus.max:.4f}, "
            f"{corpus.flagged} flagged), profile {report.scores.profile}"
        )
        if left_out:
            yield f"left out where they do not apply, weights renormalised: {', '.join(left_out)}"
    yield ""


def _name(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2] or path
