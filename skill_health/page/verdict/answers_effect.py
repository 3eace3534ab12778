"""Does each skill help? How many skills have which verdict, and what the whole collection does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from skill_health.documents.effect_history import ModelEffect
from skill_health.page.model import SkillVerdict, Tone
from skill_health.page.verdict.answered import answer, skills
from skill_health.page.verdict.verdicts import hedged, points
from skill_health.status.render import CollectionStatus


def effect(status: CollectionStatus, verdicts: Sequence[SkillVerdict]) -> SkillVerdict:
    """The answer to the third question. Pure."""
    lines = status.effects.lines if status.effects else ()
    real = [each for each in lines if not each.simulated]
    if not real:
        why = "the runs are simulated and say nothing of any model" if lines else "no agent was run"
        return answer("not known", "unknown", 3, why, status)
    asked = [each for each in status.records if each.effect.state != "fix first"]
    counts = Counter(each.word for each in verdicts if each.question == 3)
    told = [f"{n} {word}" for word, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    left = len(asked) - sum(counts.values())
    told += [f"{left} not measured"] * (left > 0)
    whole = [each for each in (status.effects.of(None) if status.effects else ()) if not each.simulated]
    reason = "; ".join([f"of {skills(len(asked))} {', '.join(told)}", *_whole(whole, real)])
    latest = max(real, key=lambda each: each.time)
    return answer(*_word(counts, len(asked), whole, real), 3, reason, status, latest.model)


def _word(
    counts: Counter[str], asked: int, whole: Sequence[ModelEffect], lines: Sequence[ModelEffect]
) -> tuple[str, Tone]:
    # A collection that does harm holds a skill that does, even where no single one has enough tasks to show it.
    harm = [each for each in whole if each.verdict == "harmful" and not _changed(each, lines)]
    if counts["harmful"] or any(not each.preliminary for each in harm):
        return "no", "bad"
    if harm or counts[hedged("harmful", "bad", True)[0]]:
        return hedged("no", "bad", True)
    if asked and counts["helps"] == asked:
        return "yes", "good"
    maybe = hedged("helps", "good", True)[0]
    if asked and counts["helps"] + counts[maybe] == asked:
        return hedged("yes", "good", True)
    known = counts["helps"] + counts[maybe] + counts["no evidence"] + counts["biased"]
    return ("partly known", "warn") if known else ("not known", "unknown")


def _whole(whole: Sequence[ModelEffect], lines: Sequence[ModelEffect]) -> Iterator[str]:
    """What is said of the whole collection: the latest in full, and who says something else."""
    for each in whole[:1]:
        changed = _changed(each, lines)
        marks = [
            *(f"biased: {why}" for why in each.biased),
            *([f"{skills(changed)} changed since"] if changed else []),
            *([f"preliminary ({', '.join(each.preliminary)})"] if each.preliminary else []),
        ]
        said = "".join(f", {mark}" for mark in marks)
        yield f"the whole collection: {each.verdict}, {points(each.delta)} ({each.model}){said}"
    for each in whole[1:]:
        if each.verdict != whole[0].verdict:
            mark = ", preliminary" if each.preliminary else ""
            yield f"{each.model} says {each.verdict}, {points(each.delta)}{mark}"


def _changed(each: ModelEffect, lines: Sequence[ModelEffect]) -> int:
    return sum(line.model == each.model and line.changed is True for line in lines)
