"""Are labelled prompts fit to measure with? What is wrong with a set of prompts, and what it covers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from skill_health.config.settings import RuleLimits
from skill_health.core.strict_json import quote
from skill_health.documents._record import encode_record
from skill_health.documents.router_audit import AuditedSkill, AuditProblem, AuditRemark, AuditSeverity, PromptAudit
from skill_health.registries.records import BadRecord, problem_line
from skill_health.router.prompts._rows import UNKNOWN
from skill_health.router.records import NONE, Catalogue, Prompt
from skill_health.router.splits import SHARES, TEST, near_pairs, spanning, split_table
from skill_health.rules.routing._groups import names_other
from skill_health.text.fingerprints import shared_runs, words_of
from skill_health.text.similarity import STOP
from skill_health.text.terminal import clean, lay_out_table, paint

NULL_SHARE = 0.2
# A run of so many words is no chance between a prompt and a description, if so many of them are telling ones.
_RUN, _TELLING = 5, 3
_LISTED = 3
_ORDER: tuple[AuditSeverity, ...] = ("error", "warning", "info")


def audit(prompts: Sequence[Prompt], catalogue: Catalogue, limits: RuleLimits) -> PromptAudit:
    """Look at prompts over the collection that they are for. `limits` says how many prompts a skill wants."""
    skills = sorted((*catalogue.shown, *catalogue.omitted), key=lambda skill: skill.path)
    positives = Counter(prompt.expected for prompt in prompts if prompt.known)
    accepted = Counter(name for prompt in prompts for name in prompt.acceptable)
    negatives = Counter(name for prompt in prompts for name in prompt.rejected if name != prompt.expected)
    rows = tuple(
        AuditedSkill(
            skill=s.name, positives=positives[s.name], acceptable=accepted[s.name], negatives=negatives[s.name]
        )
        for s in skills
    )
    shown = set(catalogue.names)
    remarks = [
        *_families(prompts),
        *_duplicates(prompts),
        *_labels(prompts, shown),
        *_leaks(prompts, {skill.name: skill.description for skill in skills}),
        *_nulls(prompts),
        *_coverage([row for row in rows if row.skill in shown], limits),
    ]
    return PromptAudit(
        schema="skill-health/router-audit/1",
        prompts=len(prompts),
        nulls=sum(prompt.target == NONE for prompt in prompts),
        unknown=sum(not prompt.known for prompt in prompts),
        families=len({prompt.cluster for prompt in prompts}),
        skills=rows,
        splits=split_table(prompts),
        remarks=tuple(sorted(remarks, key=lambda remark: _ORDER.index(remark.severity))),
        problems=(),
        notes=(),
    )


def _families(prompts: Sequence[Prompt]) -> Iterator[AuditRemark]:
    for family, splits in spanning(prompts).items():
        members = [prompt for prompt in prompts if prompt.family == family]
        message = f"the family {quote(family)} is torn apart: its prompts are in the splits {', '.join(splits)}"
        yield _remark("error", "family-spans-splits", message, "Put all of a family into one split.", *members)


def _duplicates(prompts: Sequence[Prompt]) -> Iterator[AuditRemark]:
    for pair in near_pairs(prompts):
        both = (pair.first, pair.later)
        splits = {prompt.split for prompt in both}
        across = len(splits) > 1 and TEST in splits
        where = f", one of them in the sealed split {TEST}" if across else ""
        if pair.same:
            advice = "Remove or reword one of them."
            yield _remark("error" if across else "warning", "duplicate", f"the same text twice{where}", advice, *both)
        elif across or pair.first.cluster != pair.later.cluster:
            message = f"{pair.similarity:.0%} the same words{where}"
            advice = "Name one family for both, so that they are resampled and split together."
            yield _remark("warning" if across else "info", "near-duplicate", message, advice, *both)


def _labels(prompts: Sequence[Prompt], shown: set[str]) -> Iterator[AuditRemark]:
    for prompt in prompts:
        if both := sorted(set(prompt.acceptable) & set(prompt.rejected)):
            message = f"{quote(both[0])} is both acceptable and rejected"
            yield _remark("error", "acceptable-rejected", message, "Decide which label is right.", prompt)
        if prompt.known and prompt.expected is None and prompt.acceptable:
            message = f"no skill is expected, but {quote(prompt.acceptable[0])} is acceptable"
            yield _remark("warning", "acceptable-none", message, "Decide whether a skill may be loaded.", prompt)
        if prompt.expected is not None and prompt.expected not in shown:
            message = f"{quote(prompt.expected)} is expected, but not listed to a model"
            yield _remark("warning", "expected-not-listed", message, "List the skill, or correct the label.", prompt)


def _leaks(prompts: Sequence[Prompt], descriptions: Mapping[str, str]) -> Iterator[AuditRemark]:
    """Prompts that give their answer away: by the skill's name, or in the words of its description.

    The words of a name in plain text are what users say, and are left alone.
    """
    words = {name: words_of(text) for name, text in descriptions.items()}
    for prompt in prompts:
        name = prompt.expected
        if name is None or name not in words:
            continue
        own = words_of(prompt.text)
        advice = "Ask as a user does who does not know the skill."
        if names_other(prompt.text.casefold(), name.casefold()):
            yield _remark("warning", "names-skill", f"the request names its skill {quote(name)}", advice, prompt)
        runs = [own[run.a : run.a + run.length] for run in shared_runs(own, words[name], _RUN)]
        telling = [run for run in runs if len({word for word in run if word not in STOP and len(word) > 1}) >= _TELLING]
        if telling:
            longest = max(telling, key=len)
            message = f"{len(longest)} words in a row are those of the description of {quote(name)}"
            yield _remark("warning", "copies-description", f"{message}: {quote(' '.join(longest))}", advice, prompt)


def _nulls(prompts: Sequence[Prompt]) -> Iterator[AuditRemark]:
    known = [prompt for prompt in prompts if prompt.known]
    nulls = sum(prompt.expected is None for prompt in known)
    if known and nulls < NULL_SHARE * len(known):
        share = (
            f"{nulls} of {len(known)} prompts ({nulls / len(known):.0%}) expect no skill; {NULL_SHARE:.0%} are wanted"
        )
        yield _remark("warning", "few-nulls", share, "Add requests that sound like a skill's and are nobody's.")


def _coverage(rows: Sequence[AuditedSkill], limits: RuleLimits) -> Iterator[AuditRemark]:
    thin = [row.skill for row in rows if row.positives < limits.positives]
    missing = [row.skill for row in rows if row.negatives < limits.negatives]
    for kind, names, wanted, what in (
        ("few-positives", thin, limits.positives, "expect them"),
        ("few-near-misses", missing, limits.negatives, "reject them"),
    ):
        if names:
            more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
            shown = ", ".join(map(quote, names[:_LISTED])) + more
            message = f"{len(names)} of {len(rows)} skills have fewer than {wanted} prompts that {what}: {shown}"
            yield _remark("info", kind, message, "Add prompts; the table shows how many each has.")


def _remark(severity: AuditSeverity, kind: str, message: str, advice: str, *prompts: Prompt) -> AuditRemark:
    ids = tuple(prompt.prompt_id for prompt in prompts)
    places = tuple(prompt.source for prompt in prompts)
    return AuditRemark(severity=severity, kind=kind, message=message, help=advice, prompts=ids, places=places)


_STYLES = {"error": "red", "warning": "yellow", "info": "blue"}
_WORDS: dict[AuditSeverity, str] = {"error": "error", "warning": "warning", "info": "remark"}
_MOST, _PLACES = 10, 4
_NO_SPLIT = "(none)"


def as_json(found: PromptAudit, problems: Sequence[BadRecord], notes: Sequence[str]) -> str:
    """The audit as one JSON object with sorted keys; ends with a newline."""
    listed = tuple(AuditProblem(path=p.path, line=p.line, message=p.message, help=p.help) for p in problems)
    return encode_record(replace(found, problems=listed, notes=tuple(notes)))


def as_text(found: PromptAudit, problems: Sequence[BadRecord], notes: Sequence[str], color: bool = False) -> str:
    """The audit for a terminal; at most ten remarks of a kind are shown."""
    lines = [f"note: {clean(note)}" for note in notes]
    lines += [f"{paint('error', 'red', color)}: {problem_line(problem)}" for problem in problems]
    for kind in dict.fromkeys(remark.kind for remark in found.remarks):
        group = [remark for remark in found.remarks if remark.kind == kind]
        lines += [_line(remark, color) for remark in group[:_MOST]]
        if len(group) > _MOST:
            lines.append(f"... and {len(group) - _MOST} more of the kind {kind} (--format json has all)")
    if lines:
        lines.append("")
    lines += [*_table(found), "", _summary(found, problems)]
    return "\n".join(lines) + "\n"


def _line(remark: AuditRemark, color: bool) -> str:
    places = [f"{place} ({name})" for place, name in zip(remark.places, remark.prompts, strict=True)][:_PLACES]
    where = f"{', '.join(places)}{' ...' if len(remark.places) > _PLACES else ''}: " if places else ""
    advice = remark.help[:1].lower() + remark.help[1:].removesuffix(".")
    head = paint(remark.severity, _STYLES[remark.severity], color)
    return f"{head}: {clean(f'{where}{remark.message}; {advice}')} [{remark.kind}]"


def _table(found: PromptAudit) -> Iterator[str]:
    """One row for each skill, then none and the unknown: prompts that expect, accept and reject it, and its splits."""
    splits = sorted({split for row in found.splits.values() for split in row}, key=_split_order)
    rows = [["class", "expected", "acceptable", "rejected", *(split or _NO_SPLIT for split in splits)]]
    for skill in found.skills:
        rows.append([skill.skill, str(skill.positives), str(skill.acceptable), str(skill.negatives)])
    rows += [["none", str(found.nulls), "", ""], ["?", str(found.unknown), "", ""]]
    for row in rows[1:]:
        row += [str(found.splits.get(row[0], {}).get(split, 0)) for split in splits]
    rows = [row for row in rows if row[0] not in ("none", "?") or row[1] != "0"]
    return lay_out_table(rows[0], rows[1:])


def _split_order(split: str) -> tuple[bool, int, str]:
    """Ours in their order, then others by name, then no split at all."""
    ours = tuple(SHARES)
    return (not split, ours.index(split) if split in ours else len(ours), split)


def _summary(found: PromptAudit, problems: Sequence[BadRecord]) -> str:
    prompts = f"{_count(found.prompts, 'prompt')} in {_count(found.families, 'family', 'families')}"
    unknown = f", {found.unknown} with no known answer (?)" if found.unknown else ""
    by_severity = Counter(remark.severity for remark in found.remarks)
    words = [_count(len(problems), "bad record")]
    words += [_count(by_severity[severity], word) for severity, word in _WORDS.items()]
    return f"{prompts}, {found.nulls} for no skill{unknown}: {', '.join(words)}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def prompt_line(prompt: Prompt) -> str:
    """A prompt as a line of the plan's prompts.jsonl, with its newline.

    The plan knows no prompt without a right answer; such a one carries `expected_known: false`, which is read back.
    """
    data = {
        "prompt_id": prompt.prompt_id,
        "prompt": prompt.text,
        "expected_primary_skill": prompt.expected,
        "acceptable_secondary_skills": list(prompt.acceptable),
        "rejected_skills": list(prompt.rejected),
        "reason": prompt.reason,
        "family": prompt.family,
        "tags": list(prompt.tags),
        "split": prompt.split,
        UNKNOWN: prompt.known,
    }
    optional = ("family", "split", "tags", "reason")
    kept = {key: value for key, value in data.items() if value or key not in optional}
    if prompt.known:
        del kept[UNKNOWN]
    return json.dumps(kept, ensure_ascii=False) + "\n"
