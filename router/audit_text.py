"""The audit of a set of prompts as text and as JSON, and prompts as lines of the plan's format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from skill_health.registries.records import BadRecord, problem_line
from skill_health.router.audit import Audit, Remark, Severity
from skill_health.router.prompts._records import UNKNOWN
from skill_health.router.records import Prompt
from skill_health.router.splits import SHARES
from skill_health.text.terminal import clean, paint

SCHEMA = "skill-health/router-audit/1"
_STYLES = {"error": "red", "warning": "yellow", "info": "blue"}
_WORDS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "remark"}
_MOST, _PLACES = 10, 4
_NO_SPLIT = "(none)"


def as_json(found: Audit, problems: Sequence[BadRecord], notes: Sequence[str]) -> str:
    """The audit as one JSON object with sorted keys; ends with a newline."""
    data = {"schema": SCHEMA, **asdict(found), "notes": list(notes)}
    data["problems"] = [{"path": p.path, "line": p.line, "message": p.message, "help": p.help} for p in problems]
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=True) + "\n"


def as_text(found: Audit, problems: Sequence[BadRecord], notes: Sequence[str], color: bool = False) -> str:
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


def _line(remark: Remark, color: bool) -> str:
    places = [f"{place} ({name})" for place, name in zip(remark.places, remark.prompts, strict=True)][:_PLACES]
    where = f"{', '.join(places)}{' ...' if len(remark.places) > _PLACES else ''}: " if places else ""
    advice = remark.help[:1].lower() + remark.help[1:].removesuffix(".")
    head = paint(remark.severity, _STYLES[remark.severity], color)
    return f"{head}: {clean(f'{where}{remark.message}; {advice}')} [{remark.kind}]"


def _table(found: Audit) -> Iterator[str]:
    """One row for each skill, then none and the unknown: prompts that expect, accept and reject it, and its splits."""
    splits = sorted({split for row in found.splits.values() for split in row}, key=_split_order)
    rows = [["class", "expected", "acceptable", "rejected", *(split or _NO_SPLIT for split in splits)]]
    for skill in found.skills:
        rows.append([skill.skill, str(skill.positives), str(skill.acceptable), str(skill.negatives)])
    rows += [["none", str(found.nulls), "", ""], ["?", str(found.unknown), "", ""]]
    for row in rows[1:]:
        row += [str(found.splits.get(row[0], {}).get(split, 0)) for split in splits]
    rows = [row for row in rows if row[0] not in ("none", "?") or row[1] != "0"]
    widths = [max(len(clean(row[at])) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = (clean(cell).rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join((clean(row[0]).ljust(widths[0]), *cells)).rstrip()


def _split_order(split: str) -> tuple[bool, int, str]:
    """Ours in their order, then others by name, then no split at all."""
    ours = tuple(SHARES)
    return (not split, ours.index(split) if split in ours else len(ours), split)


def _summary(found: Audit, problems: Sequence[BadRecord]) -> str:
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
