"""Do the descriptions route? How often models find the right skill, and which skills they certainly find or lose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from skill_health.documents.router_history import ModelRouting
from skill_health.page.model import SkillVerdict, Tone
from skill_health.page.verdict.answered import answer, skills
from skill_health.page.verdict.telling import naming
from skill_health.page.verdict.verdicts import ASK_AGAIN, OUTDATED, Standing, percent, standing
from skill_health.stats.estimates import Estimate
from skill_health.status.records import LOST
from skill_health.status.render import CollectionStatus

_STANDINGS: dict[Standing, str] = {
    "found": "certainly found",
    "lost": "lost",
    "few": "with too few prompts to say",
    "changed": "changed since",
    "untrusted": "asked in a run that failed its check",
    "none": "not asked for",
}


def routing(status: CollectionStatus) -> SkillVerdict:
    """The answer to the second question, by the best model that was really asked. Pure."""
    runs = [each for each in (status.routed.models if status.routed else ()) if each.top1 is not None]
    kinds = {row.run.model: row.local for each in status.records for row in each.routing.models}
    real = [each for each in runs if not each.simulated and kinds.get(each.model) is False]
    if not real:
        command = naming(status.place.router(), "") + " --models PROVIDER:MODEL"
        return SkillVerdict("not known", "unknown", 2, _unasked(runs, kinds), "ask a model:", command)
    best = next((each for each in real if each.trusted is not False), real[0])
    # A skill that fails the first question, or that hosts do not list, cannot be expected to be found.
    asked = [each for each in status.records if each.health.state != "failed" and each.routing.state != "not listed"]
    counts = Counter(standing(each) for each in asked)
    told = ", ".join(f"{counts[key]} {text}" for key, text in _STANDINGS.items() if counts[key])
    reason = f"{_best(best, len(real))}; of {skills(len(asked))} {told or 'none can be asked for'}{_marks(best)}"
    word, tone = _word(best, counts, len(asked))
    found = answer(word, tone, 2, reason, status, best.model)
    again = (
        (counts["untrusted"], ASK_AGAIN["untrusted"]),
        (counts["few"], "label more requests for each skill, then"),
        (best.selection != "all", "ask all requests:"),
    )
    advice = next((text for n, text in again if n), "")
    if found.command or not advice:
        return found
    return SkillVerdict(word, tone, 2, reason, advice, naming(status.place.router(), best.model))


def _word(best: ModelRouting, counts: Counter[Standing], asked: int) -> tuple[str, Tone]:
    if counts["lost"]:
        return "no", "bad"
    if best.trusted is False:
        return "unclear", "unknown"
    if asked and counts["changed"] == asked:
        return f"{OUTDATED}unclear", "unknown"
    if asked and counts["found"] == asked and best.selection == "all":
        return "yes", "good"
    known = counts["found"] or (counts["few"] and best.low is not None and best.low >= LOST)
    return ("partly known", "warn") if known else ("unclear", "unknown")


def _best(run: ModelRouting, models: int) -> str:
    lead = f"best of {models} models {run.model}" if models > 1 else run.model
    return f"{lead}: right skill for {_top1(run)}"


def _top1(run: ModelRouting) -> str:
    return f"{percent(Estimate(run.top1, run.low, run.high, run.top1_n))} of {run.top1_n} call{'s' * (run.top1_n != 1)}"


def _unasked(runs: Sequence[ModelRouting], kinds: dict[str, bool]) -> str:
    counted = next((each for each in runs if kinds.get(each.model) and not each.simulated), None)
    if counted:
        return f"no model was asked; by word counts alone, {_best(counted, 1)}{_marks(counted)}"
    real = next((each for each in runs if not each.simulated), None)
    if real:
        return f"{_best(real, 1)}{_marks(real)}; no report of that run is here to say what was asked, and of whom"
    return "no model was asked: the runs are simulated" if runs else "no model was asked"


def _marks(run: ModelRouting) -> str:
    changed = len(run.changed or ())
    marks = (
        ("; the instrument check failed", run.trusted is False),
        ("; some prompts only", run.selection != "all"),
        (f"; {changed} description{'s' * (changed != 1)} changed since", changed > 0),
    )
    return "".join(mark for mark, there in marks if there)
