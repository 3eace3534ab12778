"""The risks that the last daily run kept, beside the skills as they are now. Nothing is rated here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from skill_health.config.settings import Config
from skill_health.core.boundary import Boundary
from skill_health.core.files import blake2b
from skill_health.core.strict_json import escape_surrogates
from skill_health.discovery.corpus import Entry
from skill_health.documents.daily_run import DailyAlike, DailyRisk, DailyRun, RiskBasis
from skill_health.documents.router_risk import AlikeShare, RiskValidation
from skill_health.documents.skill_record import CollectionRisk, RiskBin, SkillRecord, SkillRisk
from skill_health.lint.readable import read_entry

_WORDS = 6


def risk_key(
    root: str, config: Config, version: str, entries: Iterable[Entry], names: Mapping[str, Sequence[str]]
) -> str:
    """A hash of all that the risks of a collection depend on but for the model: 32 hexadecimal digits.

    `names` are those that hosts list each skill by (see `names_now`), which may come from a plugin's manifest.
    """
    settings = [
        version,
        config.router.listing,
        config.router.namesakes,
        {k: dict(v) for k, v in config.listing.items()},
    ]
    total = blake2b(json.dumps(settings, sort_keys=True, ensure_ascii=True).encode("ascii"), digest_size=16)
    boundary = Boundary(root)
    for entry in sorted(entries, key=lambda entry: entry.path):
        data, problem = read_entry(boundary, entry)
        told = (entry.path, *names.get(entry.path, ()), problem or "")
        parts = [text.encode("utf-8", "surrogatepass") for text in told]
        for part in (b"%d" % len(parts), *parts, data):
            total.update(b"%d:" % len(part) + part)
    return str(total.hexdigest())


def validation_of(basis: RiskBasis) -> RiskValidation:
    """What the probabilities rest on."""
    return RiskValidation(
        collections=basis.collections, skills=basis.skills, lost=basis.lost, auc=basis.auc, low=basis.low,
        high=basis.high,
    )  # fmt: skip


def with_risks(
    records: Sequence[SkillRecord], rated: DailyRun | None, key: str
) -> tuple[tuple[SkillRecord, ...], CollectionRisk | None]:
    """The records with the risks of a daily run, and these as a whole; `key` is the `risk_key` of now."""
    if rated is None or rated.risk is None:
        return tuple(records), None
    kept = {path: skill.risk for path, skill in rated.skills.items() if skill.risk is not None}
    named = ((each, kept.get(escape_surrogates(each.path))) for each in records)
    found = tuple(replace(each, risk=_risk(risk)) if risk else each for each, risk in named)
    rank = sorted(
        ((each.risk.probability, each.name, each.path) for each in found if each.risk),
        key=lambda told: (-told[0], *told[1:]),
    )
    whole = CollectionRisk(
        time=rated.time,
        changed=rated.risk.key != key,
        validation=validation_of(rated.risk),
        rated=len(rank),
        riskiest=rank[0][2] if rank else None,
        bins=tuple(_bins([each.risk for each in found if each.risk])),
        notes=rated.risk.notes,
    )
    return found, whole


def _risk(kept: DailyRisk) -> SkillRisk:
    return SkillRisk(
        listed=kept.listed,
        probability=kept.probability, alike=_alike(kept.alike), passages=kept.passages, lost=kept.lost, thief=kept.thief,
        words=kept.words,
    )  # fmt: skip


def _alike(kept: DailyAlike) -> AlikeShare:
    return AlikeShare(skills=kept.skills, lost=kept.lost, low=kept.low, high=kept.high)


def _bins(risks: Sequence[SkillRisk]) -> Iterator[RiskBin]:
    """The skills by those that fared alike. A bin of the model is a range of risks, so that these do not overlap."""
    groups: dict[AlikeShare, list[float]] = {}
    for each in risks:
        groups.setdefault(each.alike, []).append(each.probability)
    for alike, found in sorted(groups.items(), key=lambda item: min(item[1])):
        yield RiskBin(skills=len(found), least=min(found), most=max(found), alike=alike)


def risk_lines(risk: CollectionRisk, skills: Sequence[SkillRecord]) -> Iterator[str]:
    """The risks in a few sentences: their day, the skills by risk, the riskiest of them, and how far to trust it."""
    since = "; skills have changed since" if risk.changed else ""
    yield f"{risk.rated} of {len(skills)} skills rated by the daily run of {risk.time[:10]}{since}"
    if risk.bins:
        yield "; ".join(
            f"{each.skills} at {span_text(each.least, each.most)} (of {each.alike.skills} alike {each.alike.lost} were lost)"
            for each in risk.bins
        )
    for each in skills:
        if each.path == risk.riskiest and each.risk:
            yield f"riskiest: {each.risk.listed}, {100 * each.risk.probability:.0f} %{''.join(f'; {part}' for part in advice(each.risk))}"
    yield trust_text(risk.validation)
    yield from risk.notes


def span_text(least: float, most: float) -> str:
    """`12 %`, or `12 to 24 %`."""
    low, high = f"{100 * least:.0f}", f"{100 * most:.0f}"
    return f"{high} %" if low == high else f"{low} to {high} %"


def advice(risk: SkillRisk) -> Iterator[str]:
    """The likely thief, and the words to add, where there are any."""
    if risk.thief:
        yield f"likely thief {risk.thief}"
    if risk.words:
        yield f"its description lacks {', '.join(risk.words[:_WORDS])}"


def trust_text(known: RiskValidation | RiskBasis) -> str:
    """How far to trust a risk, with n and interval."""
    return (
        f"told from words alone: AUC {known.auc:.2f} [{known.low:.2f}, {known.high:.2f}] on {known.skills} skills "
        f"({known.lost} lost) of {known.collections} public collections, each rated by a model of the others"
    )
