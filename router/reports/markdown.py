"""The report for a repository or a job summary; everything from skills, prompts and answers is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from skill_health.bench.report_formats import PLAIN, RenderOptions
from skill_health.documents._record import Figure
from skill_health.documents.router_manifest import FrozenTemplate
from skill_health.documents.router_report import (
    ModelRoutingReport,
    PromptReport,
    RecallAt,
    RouterReport,
    SkillRoutingReport,
)
from skill_health.router.records import NONE
from skill_health.router.reports import _cells
from skill_health.router.scores.skills import FEW
from skill_health.text import numbers
from skill_health.text.blocks import markdown_table, rest, text
from skill_health.text.numbers import NOTHING, format_number, share

_PAIRS = 30


def models(report: RouterReport) -> Iterator[str]:
    """The leaderboard, and what it rests on."""
    yield "## Leaderboard"
    yield ""
    yield from _leaderboard(report)
    yield from _preliminary(report)
    yield from _comparisons(report)
    yield from _splits(report)
    yield from _none(report)
    yield from _two_stages(report)
    yield from _ambiguous(report)


def _name(model: ModelRoutingReport) -> str:
    resolved = [name for name in model.resolved if name != model.model.partition(":")[2]]
    return text(model.model) + (f" ({text(', '.join(resolved), 120)})" if resolved else "")


def _leaderboard(report: RouterReport) -> Iterator[str]:
    yield "Per cent with 95 % intervals; MRR and nDCG@3 lie between 0 and 1."
    yield ""
    rows = []
    for model in report.models:
        metrics, coverage = model.metrics, model.coverage
        rows.append([
            _name(model), *map(share, (metrics.top1, metrics.top1_skill, metrics.top3, metrics.acceptable)),
            format_number(metrics.mrr), format_number(metrics.ndcg3), f"{metrics.top1.n} / {metrics.top1.clusters}",
            numbers.percent(coverage.share),
        ])  # fmt: skip
    head = (
        "model", "top-1", "top-1, a skill applies", "top-3", "acceptable", "MRR", "nDCG@3", "n / independent", "coverage",
    )  # fmt: skip
    yield from markdown_table(head, rows)


def _preliminary(report: RouterReport) -> Iterator[str]:
    for reason, names in _cells.preliminary(report.models).items():
        yield f"- Preliminary ({text(', '.join(names))}): {text(reason)}."
    for least, names in _detectable(report.models).items():
        yield f"- {least}: {text(', '.join(names))}."
    if report.models:
        yield ""


def _detectable(models: Sequence[ModelRoutingReport]) -> dict[str, list[str]]:
    """What a run could have found, each with the models of which it holds."""
    found: dict[str, list[str]] = {}
    for model in models:
        least = model.detectable
        said = (
            f"A difference of less than {numbers.percent(least.value)} points would mostly be missed "
            f"({least.clusters} independent prompts, {numbers.count(least.replications, 'replication')}, at best)"
            if least.value is not None
            else "No difference can be detected, since no prompt has a right answer to count"
        )
        found.setdefault(said, []).append(model.model)
    return found


def _comparisons(report: RouterReport) -> Iterator[str]:
    pairs = sorted(report.comparisons, key=lambda pair: -abs(pair.difference.value or 0))
    if pairs:
        yield "### Models against each other"
        yield ""
        yield "Top-1 of the first less that of the second, in percentage points, paired by prompt."
        yield ""
    yield from markdown_table(
        ("first", "second", "difference", "better / worse of independent", "p", "p (Holm)"),
        (
            [
                text(pair.first), text(pair.second), numbers.points(pair.difference),
                f"{pair.better} / {pair.worse} of {pair.difference.clusters}",
                numbers.p_value(pair.difference.p), numbers.p_value(pair.difference.p_adjusted),
            ]
            for pair in pairs[:_PAIRS]
        ),
    )  # fmt: skip
    yield from rest(_PAIRS, len(pairs), "pairs")
    if len(pairs) and report.agreement.value is not None:
        yield f"Agreement of the models (Fleiss' kappa of the first answer): {format_number(report.agreement)}."
        yield ""


def _splits(report: RouterReport) -> Iterator[str]:
    rows = [
        [
            text(model.model), text(split.split or "(none)"), str(split.prompts), share(split.top1),
            str(split.top1.n),
        ]
        for model in report.models
        for split in model.splits
    ]  # fmt: skip
    if rows:
        yield "### By split"
        yield ""
    yield from markdown_table(("model", "split", "prompts", "top-1", "n"), rows)


def _none(report: RouterReport) -> Iterator[str]:
    yield "### Abstaining, rejected skills, steals"
    yield ""
    keys = (
        "abstention_precision", "abstention_recall", "abstention_f1", "false_fire", "false_abstention", "rejected_at_1",
        "rejected_at_3", "steals",
    )  # fmt: skip
    head = (
        "model", "abstention precision", "recall", "F1", "false fire", "false abstention", "rejected at 1", "rejected at 3",
        "steals",
    )  # fmt: skip
    rows = []
    for model in report.models:
        metrics = (getattr(model.metrics, key) for key in keys)
        rows.append([_name(model), *(numbers.with_n(share(number), number) for number in metrics)])
    yield from markdown_table(head, rows)


def _two_stages(report: RouterReport) -> Iterator[str]:
    found = report.retrieval
    if not found:
        return
    yield "### Two stages"
    yield ""
    yield text(f"What {found.router} ({found.index}) leaves: how often the right skill is among the first so many.")
    yield ""
    rows = [
        [str(each.depth), share(each.prompts), f"{each.prompts.n} / {each.prompts.clusters}", *_over_skills(each)]
        for each in found.recall
    ]
    yield from markdown_table(("first", "recall", "n / independent", "over skills", "skills"), rows)
    yield "What models make of it, over the calls for which a skill applies: the first two multiply to the third."
    yield ""
    rows = []
    for model in report.models:
        if own := model.stages:
            parts = (own.retrieved, own.ranked, own.product)
            rows.append([text(model.model), *(numbers.with_n(share(part), part) for part in parts)])
    yield from markdown_table(("model", f"retrieved (of {found.k})", "right, where retrieved", "right"), rows)


def _over_skills(each: RecallAt) -> list[str]:
    low, high = each.skills.low, each.skills.high
    between = NOTHING if low is None or high is None else f"[{numbers.percent(low)}, {numbers.percent(high)}]"
    return [between, str(each.skills.clusters)]


def _ambiguous(report: RouterReport) -> Iterator[str]:
    if not report.shared:
        return
    yield "### Names of several skills"
    yield ""
    rows = [
        [text(model.model), numbers.with_n(share(model.metrics.top1), model.metrics.top1), share(model.ambiguous)]
        for model in report.models
        if model.ambiguous
    ]
    yield from markdown_table(("model", "top-1", "ambiguous, at most to be added"), rows)
    names = [f"{each.name} ({', '.join(each.skills)})" for each in report.shared[:_PAIRS]]
    yield from (f"- {text(name, 300)}" for name in names)
    yield from rest(_PAIRS, len(report.shared), "names")
    yield ""


_PROMPTS, _PICKS, _TEXT, _RATIONALE = 40, 12, 300, 200
_STATES = {"truncated": "cuts its description", "name-only": "shows only its name"}


def prompts(report: RouterReport) -> Iterator[str]:
    """The prompts that failed, the worst first."""
    found = _cells.failing(report)
    if not found:
        return
    yield "## Prompts that failed"
    yield ""
    for prompt in found[:_PROMPTS]:
        yield from _prompt(prompt)
    yield from rest(_PROMPTS, len(found), "prompts")


def _prompt(prompt: PromptReport) -> Iterator[str]:
    right = "" if prompt.right is None else f", {numbers.percent(prompt.right, 0)} % right"
    yield f"### {text(prompt.prompt_id, 100)}{right}"
    yield ""
    yield text(prompt.text, _TEXT)
    yield ""
    parts = [f"expected {prompt.expected}" if prompt.expected else "no expected answer"]
    parts += [f"{name} {', '.join(each)}" for name in ("acceptable", "rejected") if (each := getattr(prompt, name))]
    parts += [f"{name} {each}" for name in ("family", "split") if (each := getattr(prompt, name))]
    yield f"- {text('; '.join(parts))}"
    if prompt.reason:
        yield f"- why: {text(prompt.reason, _TEXT)}"
    listing = prompt.listing
    if listing and listing.state != "full":
        state = _STATES.get(listing.state, f"does not list it ({listing.state})")
        yield f"- the host {text(state)}" + (f": {text(listing.cut)}" if listing.cut else "")
    wrong = [
        (model.model, pick) for model in prompt.models for pick in model.picks if pick.rationale is not None
    ]  # fmt: skip
    for name, pick in wrong[:_PICKS]:
        kinds = f" ({', '.join(pick.kinds)})" if pick.kinds else ""
        said = f": {text(pick.rationale, _RATIONALE)}" if pick.rationale else ""
        yield f"- {text(name)} picked {text(_cells.picked(pick.picked) + kinds)} {pick.calls}x{said}"
    if len(wrong) > _PICKS:
        yield f"- and {len(wrong) - _PICKS} more wrong answers"
    yield ""


_SKILLS, _SKILLS_PAIRS, _THIEVES, _MODELS = 60, 30, 15, 6
_DENSE = 20
"""A matrix of more classes than this is unreadable; the pairs say it better."""


def skills(report: RouterReport) -> Iterator[str]:
    """Every table that has a row for each skill or pair of skills."""
    yield from _skills(report)
    yield from _by_model(report)
    yield from _pairs(report)
    yield from _matrix(report)
    yield from _thieves(report)
    yield from _gaps(report)
    yield "Length of the description against a right answer, all models: " + (
        f"{format_number(report.length)} log odds for each 100 characters."
        if report.length.value is not None
        else text(report.length.note or "not testable") + "."
    )
    yield ""


def _skills(report: RouterReport) -> Iterator[str]:
    ranked = _cells.rank_skills(report)
    yield "## Skills"
    yield ""
    yield "The lowest recall first, over all models. p: does its recall differ from that of all other skills?"
    yield f"Fewer than {FEW} independent prompts are far from a verdict on one skill."
    yield ""
    rows = [
        [
            text(skill.name), share(skill.recall), f"{skill.recall.n} / {skill.recall.clusters}",
            _breakdown(skill), numbers.p_value(skill.recall.p_adjusted), share(skill.precision),
            f"{skill.picked_right} of {skill.picked}",
        ]
        for skill in ranked[:_SKILLS]
    ]  # fmt: skip
    head = (
        "skill", "recall", "n / independent", "right + other + abstained + no answer (missing)", "p (BH)", "precision",
        "right when picked",
    )  # fmt: skip
    yield from markdown_table(head, rows)
    yield from rest(_SKILLS, len(ranked), "skills")
    untested = [skill.name for skill in report.skills if skill.recall.value is None]
    if untested:
        more = f" and {len(untested) - 20} more" if len(untested) > 20 else ""
        yield f"Recall not testable (no prompt expects it, or no call is scored): {text(', '.join(untested[:20]))}{more}."
        yield ""


def _by_model(report: RouterReport) -> Iterator[str]:
    """Recall of each skill by each model, where there are few enough models to read it."""
    models = [model.model for model in report.models]
    if not 1 < len(models) <= _MODELS:
        return
    yield "### Recall by model"
    yield ""
    rows = []
    for skill in _cells.rank_skills(report)[:_SKILLS]:
        by_model = {part.model: part.recall for part in skill.models}
        found = [by_model.get(model) for model in models]
        rows.append(
            [
                text(skill.name),
                *(numbers.with_n(share(each), each) if each else NOTHING for each in found),
            ]
        )
    yield from markdown_table(["skill", *map(text, models)], rows)


def _breakdown(skill: SkillRoutingReport) -> str:
    parts = " + ".join(str(getattr(skill, name)) for name in ("right", "other_skill", "abstained", "no_answer"))
    return f"{parts} ({skill.missing})"


def _pairs(report: RouterReport) -> Iterator[str]:
    if report.pairs:
        yield "## Confusions"
        yield ""
    rows = [
        [
            text(pair.expected), text(pair.picked), f"{pair.calls} of {pair.rate.n}", str(pair.prompts), share(pair.rate),
            NOTHING if pair.similarity is None else f"{pair.similarity:.2f}", text(", ".join(pair.shared_words)) or NOTHING,
        ]
        for pair in report.pairs[:_SKILLS_PAIRS]
    ]  # fmt: skip
    head = ("expected", "picked", "calls", "prompts", "share of its calls", "similarity", "words in both")
    yield from markdown_table(head, rows)
    yield from rest(_SKILLS_PAIRS, len(report.pairs), "pairs")


def _matrix(report: RouterReport) -> Iterator[str]:
    """The matrix over all models, where it fits."""
    cells = {(cell.expected, cell.picked): cell.calls for cell in report.confusion}
    expected = sorted({each for each, _ in cells}, key=lambda name: (name == NONE, name))
    picked = sorted({each for _, each in cells}, key=lambda name: (name is None, name == NONE, name or ""))
    if not cells or max(len(expected), len(picked)) > _DENSE:
        return
    yield "### Matrix of all calls"
    yield ""
    yield "Rows are expected, columns picked."
    yield ""
    head = ["", *(text(_cells.picked(name)) for name in picked)]
    rows = []
    for row in expected:
        numbers = [(name, cells.get((row, name), 0)) for name in picked]
        rows.append([text(row), *(NOTHING if not n else f"**{n}**" if name == row else str(n) for name, n in numbers)])
    yield from markdown_table(head, rows)


def _thieves(report: RouterReport) -> Iterator[str]:
    found = report.steals.thieves
    if found:
        yield "### Steals"
        yield ""
        yield "Skills that came first though they are neither expected nor acceptable, over the calls that are not theirs."
        yield ""
    rows = [
        [
            text(thief.skill), f"{thief.calls} of {thief.rate.n}", str(thief.prompts), share(thief.rate),
            text(", ".join(f"{each.expected} {each.calls}" for each in thief.from_)),
        ]
        for thief in found[:_THIEVES]
    ]  # fmt: skip
    yield from markdown_table(("skill", "calls", "prompts", "rate", "from"), rows)
    yield from rest(_THIEVES, report.steals.skills, "skills")


def _gaps(report: RouterReport) -> Iterator[str]:
    if report.gaps:
        yield "### Description gap"
        yield ""
        yield "Found by the whole SKILL.md and missed by its description, in a search for words."
        yield ""
    rows = [
        [
            text(gap.skill), f"{gap.by_description} of {gap.prompts}", f"{gap.by_body} of {gap.prompts}",
            text(", ".join(missed.prompt_id for missed in gap.missed)), text(", ".join(gap.words)) or NOTHING,
        ]
        for gap in report.gaps[:_SKILLS]
    ]  # fmt: skip
    head = ("skill", "found by description", "by the whole file", "prompts missed", "words that the description lacks")
    yield from markdown_table(head, rows)
    yield from rest(_SKILLS, len(report.gaps), "skills")


def behaviour(report: RouterReport) -> Iterator[str]:
    """Every table about the calls themselves."""
    yield from _failures(report)
    yield from _behaviour(report)
    yield from _cost(report)


def _failures(report: RouterReport) -> Iterator[str]:
    yield "### Failures and missing calls"
    yield ""
    rows = []
    for model in report.models:
        first, final = model.failures.first_attempt, model.failures.after_retry
        rows.append([
            text(model.model), share(first.rate), text(_cells.kinds(first)) or NOTHING, share(final.rate),
            text(_cells.kinds(final)) or NOTHING, f"{model.coverage.scored} of {model.coverage.planned}",
            text(_cells.missing(model.coverage)) or NOTHING,
        ])  # fmt: skip
    yield from markdown_table(("model", "first attempt", "kinds", "after retry", "kinds", "scored", "missing"), rows)


def _behaviour(report: RouterReport) -> Iterator[str]:
    yield "### Position, stability, calibration, length"
    yield ""
    rows = []
    why: dict[str, list[str]] = {}
    for model in report.models:
        position, stability, calibration = model.position, model.stability, model.calibration
        rows.append([
            text(model.model), _n(lambda found: numbers.decimals(found.value), position.tv), numbers.p_value(position.tv.p),
            _n(format_number, position.slope), _n(share, stability.modal_share), share(stability.flip_rate),
            _n(format_number, calibration.brier), numbers.decimals(calibration.ece.value), _n(format_number, model.length),
        ])  # fmt: skip
        if notes := _notes(model):
            why.setdefault("; ".join(notes), []).append(model.model)
    head = (
        "model", "position TV", "p", "slope by place", "modal share", "flip rate", "Brier", "ECE", "slope by length",
    )  # fmt: skip
    yield from markdown_table(head, rows)
    yield "TV: distance of the places picked from those expected if places did not matter. Slopes: change of the log odds of"
    yield "a right answer for each place further down, and for each 100 characters more of the right description."
    yield ""
    for said, names in why.items():
        yield f"- {text(', '.join(names))}: {text(said)}"
    if why:
        yield ""


def _n(shown: Callable[[Figure], str], number: Figure) -> str:
    return numbers.with_n(shown(number), number)


def _notes(model: ModelRoutingReport) -> list[str]:
    """Why a number of that table is not there, and what distance chance alone makes; equal reasons once."""
    numbers = {
        "TV": model.position.tv, "slope by place": model.position.slope,
        "modal share": model.stability.modal_share, "flip rate": model.stability.flip_rate,
        "Brier": model.calibration.brier, "ECE": model.calibration.ece, "slope by length": model.length,
    }  # fmt: skip
    names: dict[str, list[str]] = {}
    for name, number in numbers.items():
        if number.value is None or name == "TV":
            names.setdefault(number.note, []).append(name)
    return [f"{', '.join(each)}: {note}" for note, each in names.items() if note]


def _cost(report: RouterReport) -> Iterator[str]:
    rows = []
    for model in report.models:
        usage = model.usage
        cost, latency, tokens = usage.cost_usd, usage.latency_ms, usage.tokens
        if not cost.total and latency.median.value is None and not tokens.input_tokens.known:
            continue
        rows.append([
            text(model.model), numbers.amount(cost.total), f"{cost.known} of {cost.calls}",
            _amounts(cost.median), _amounts(cost.p95), _amounts(latency.median), _amounts(latency.p95),
            *(numbers.amount(each.total, 9) for each in (tokens.input_tokens, tokens.output_tokens, tokens.cached_tokens)),
        ])  # fmt: skip
    if rows:
        yield "### Cost and time"
        yield ""
    head = (
        "model", "US dollars", "known for", "per call, median", "p95", "ms, median", "p95", "tokens read", "written", "cached",
    )  # fmt: skip
    yield from markdown_table(head, rows)


def _amounts(number: Figure) -> str:
    if number.value is None:
        return NOTHING
    return f"{numbers.amount(number.value)} [{numbers.amount(number.low)}, {numbers.amount(number.high)}]"


EXTENSION = ".md"
_FINDINGS = 20


def render(report: RouterReport, look: RenderOptions = PLAIN) -> str:
    """The verdicts first, then the models, the skills, and the prompts that failed."""
    parts = (_head(report), models(report), behaviour(report), skills(report), prompts(report), _foot(report))
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def _head(report: RouterReport) -> Iterator[str]:
    run, counts = report.run, report.counts
    yield "# Router report"
    yield ""
    commit = f"commit {str(run.commit)[:12]}" if run.commit else "no commit"
    commit += " with changes" if run.dirty else ""
    template = run.template
    yield text(
        f"Run {run.run_id}, {run.created}, {commit}: {numbers.count(counts.prompts, 'prompt')} "
        f"({counts.with_skill} with a skill, {counts.null} for which none applies, {counts.clusters} independent) "
        f"x {numbers.count(counts.listed, 'listed skill')} x {numbers.count(len(report.models), 'model')}; mode "
        f"{run.mode}, listing {run.listing}, template {template and template.name}{_version(template)}, "
        f"orders {run.orders}, seed {run.seed}."
    )
    yield ""
    yield from _trust(report)
    for note in report.notes:
        yield f"- {text(note)}"
    if report.notes:
        yield ""


def _version(template: FrozenTemplate | None) -> str:
    return f" (version {template.version})" if template and template.version else ""


def _trust(report: RouterReport) -> Iterator[str]:
    verdict = _cells.trust(report)
    if verdict:
        yield f"> **{text(verdict)}**  "
    findings = report.check.findings if report.check else ()
    for finding in findings[:_FINDINGS]:
        yield f"> {'' if finding.level == 'fail' else 'Note: '}{text(finding.model)}: {text(finding.text)}  "
    if len(findings) > _FINDINGS:
        yield f"> {len(findings) - _FINDINGS} more findings are in the JSON report."
    if verdict or findings:
        yield ""


def _foot(report: RouterReport) -> Iterator[str]:
    yield "## How to read this"
    yield ""
    yield f"- [{NOTHING}] stands where too few or too unequal clusters leave no interval, {NOTHING} where there is no number."
    for statement in report.statements:
        yield f"- {text(statement)}"
    yield ""
    hashes = report.run.hashes or {}
    if hashes:
        yield text(f"Hashes: {', '.join(f'{name} {value}' for name, value in sorted(hashes.items()))}.")
        yield ""
