"""A listing -> the risk of each skill, as a document and as text.

The model is in `coefficients.json`, which `python -m benchmarks.risk FOLDER` writes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from skill_health.core.files import read_small
from skill_health.discovery.hosts import FULL, Host, simulate
from skill_health.documents._record import Record, decode_record
from skill_health.documents.router_risk import AlikeShare, HostCut, RatedRisk, RiskReport, RiskValidation
from skill_health.router.lexicon.routability import RiskFeatures, read_features
from skill_health.router.records import Catalogue
from skill_health.text.terminal import clean, lay_out_table

ALONE = "there is no other skill to lose requests to"
SILENT = "its body has no prose to ask with"

_MOST = 20
_DIGITS = 3
COEFFICIENTS = os.path.join(os.path.dirname(__file__), "coefficients.json")


class AlikeSkills(Record, frozen=True, kw_only=True):
    """Skills of collections that the model had not seen, which it gave a probability from `least` to the next bin's.

    `lost` of `skills` were; `low` and `high` are the 95 % interval of that share (Wilson).
    """

    least: float
    skills: int
    lost: int
    low: float
    high: float


class RiskModel(Record, frozen=True, kw_only=True):
    """A logistic model of the features, in their order.

    It was trained on `skills` skills of `collections`, which list `smallest` to `largest` skills each; `lost` of those
    find fewer than half of their requests. `auc` is how often it puts a lost skill above one of the same collection
    that is not lost, where that collection was left out of training, with its 95 % interval. `bins` are in the order of
    their probabilities.
    """

    intercept: float
    weights: tuple[float, ...]
    collections: int
    smallest: int
    largest: int
    skills: int
    lost: int
    auc: float
    auc_low: float
    auc_high: float
    bins: tuple[AlikeSkills, ...]

    def probability(self, values: Sequence[float]) -> float:
        """The probability, 0 to 1, that fewer than half of the requests find a skill with these features."""
        return logistic(self.intercept + math.fsum(w * v for w, v in zip(self.weights, values, strict=True)))

    def alike(self, probability: float) -> AlikeSkills:
        """The bin of a probability; the first also holds what is below it."""
        return next((each for each in reversed(self.bins) if probability >= each.least), self.bins[0])


def logistic(x: float) -> float:
    """1 / (1 + exp(-x)), for any finite x."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


@cache
def load_model() -> RiskModel:
    """The shipped model. Raises OSError or ValueError where the installation is damaged."""
    return decode_record(read_small(COEFFICIENTS) or b"", RiskModel)


def assess_risk(catalogue: Catalogue, hosts: Sequence[Host] = (), notes: Sequence[str] = ()) -> RiskReport:
    """The risk of each skill that is shown. `hosts` are those that may cut descriptions."""
    model = load_model()
    cuts = _cuts(catalogue, hosts)
    alone = len(catalogue.shown) == 1
    rated = [_rate(each, alone, cuts.get(each.skill.path, ())) for each in read_features(catalogue.shown)]
    return RiskReport(
        schema="skill-health/router-risk/1",
        listing=catalogue.listing,
        validation=RiskValidation(
            collections=model.collections, skills=model.skills, lost=model.lost,
            auc=model.auc, low=model.auc_low, high=model.auc_high,
        ),
        skills=tuple(sorted(rated, key=_by_risk)),
        notes=(*notes, *_beyond(len(catalogue.shown))),
    )  # fmt: skip


def _beyond(size: int) -> Iterator[str]:
    model = load_model()
    if size > 1 and not model.smallest <= size <= model.largest:
        yield (
            f"the model was trained on collections of {model.smallest} to {model.largest} skills, and this one has {size:,}: "
            "trust the order of risks, not the numbers"
        )


def _by_risk(rated: RatedRisk) -> tuple[bool, float, str, str]:
    return (rated.probability is None, -(rated.probability or 0.0), rated.skill, rated.path)


def _rate(found: RiskFeatures, alone: bool, cuts: tuple[HostCut, ...]) -> RatedRisk:
    note = ALONE if alone else "" if found.passages else SILENT
    model = load_model()
    probability = None if note else round(model.probability(found.values), _DIGITS)
    alike = None
    if probability is not None:
        others = model.alike(probability)
        alike = AlikeShare(skills=others.skills, lost=others.lost, low=others.low, high=others.high)
    return RatedRisk(
        skill=found.skill.name,
        path=found.skill.path,
        probability=probability,
        alike=alike,
        passages=found.passages,
        lost=0 if alone else found.lost,
        thief=found.thief,
        taken=found.taken,
        nearest=found.nearest,
        similarity=round(found.sibling, _DIGITS),
        missing_words=round(found.missing, _DIGITS),
        words=found.words,
        trigger=found.trigger,
        cuts=cuts,
        note=note,
    )


def _cuts(catalogue: Catalogue, hosts: Sequence[Host]) -> Mapping[str, tuple[HostCut, ...]]:
    """By the path of a skill, the hosts that cut what it says, in their order."""
    pairs = [(skill.name, skill.description) for skill in catalogue.shown]
    found: dict[str, tuple[HostCut, ...]] = {}
    for host in hosts:
        for skill, shown in zip(catalogue.shown, simulate(pairs, host).skills, strict=True):
            if shown.state != FULL:
                found[skill.path] = (*found.get(skill.path, ()), HostCut(host=host.key, state=shown.state))
    return found


def risk_text(report: RiskReport, whole: bool = False) -> str:
    """The report for a terminal: the twenty likeliest losers with what to do about each, or all of them if `whole`."""
    checked = report.validation
    lines = [f"note: {clean(note)}" for note in report.notes]
    shown = report.skills if whole else report.skills[:_MOST]
    rows = [_row(each) for each in shown]
    lines += [*lay_out_table(("skill", "risk", "lost alike", "lost passages", "missing words"), rows), ""]
    for each in shown:
        if said := list(_advice(each)):
            lines += [f"{clean(each.skill)} ({clean(each.path)})", *(f"  {clean(line)}" for line in said)]
    if len(shown) < len(report.skills):
        lines.append(f"... and {len(report.skills) - len(shown)} more (--all shows them)")
    lines += [
        "",
        "risk: the probability that fewer than half of a skill's requests find it, from its words and its siblings' alone.",
        f"On {checked.skills} skills of {checked.collections} public collections a lost skill had the higher risk in "
        f"{checked.auc:.0%} [{checked.low:.0%}, {checked.high:.0%}] of pairs, each collection rated by a model of the others.",
        "Their requests were routed by words, not by a model: `skill-health router run` measures yours.",
    ]
    return "\n".join(lines) + "\n"


def _row(rated: RatedRisk) -> tuple[str, ...]:
    if rated.probability is None or rated.alike is None:
        return (clean(rated.skill), "-", "-", "-", "-")
    return (
        clean(rated.skill),
        f"{rated.probability:.0%}",
        f"{rated.alike.lost} of {rated.alike.skills}",
        f"{rated.lost} of {rated.passages}",
        f"{rated.missing_words:.0%}",
    )


def _advice(rated: RatedRisk) -> Iterator[str]:
    if rated.note:
        yield f"not rated: {rated.note}"
    if rated.thief:
        yield f"likely thief: {rated.thief}, whose description answers {rated.taken} of {rated.passages} passages of the body"
    if rated.nearest and rated.nearest != rated.thief:
        yield f"most like it: {rated.nearest} (cosine {rated.similarity:.2f})"
    if rated.words:
        yield f"telling words that the description lacks: {', '.join(rated.words)}; add those that users say"
    if not rated.trigger:
        yield 'the description does not say when to use the skill: add "Use when ..."'
    if rated.cuts:
        yield f"not shown in full by {', '.join(f'{cut.host} ({cut.state})' for cut in rated.cuts)}"
