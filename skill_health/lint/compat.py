"""The published checker (plan v2.3.0), quirk for quirk, for histories that began with it.

Every oddity here is its own and deliberate: substring tests for sections, numbers counted in code, a ratio
that is not clamped, links in a form that nobody uses. Nothing else in this project may import these rules.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from skill_health.core.boundary import Boundary
from skill_health.discovery.corpus import Entry
from skill_health.lint.pipeline import LintResult
from skill_health.lint.readable import read_entry
from skill_health.registries.records import Registries, RegistryRecord
from skill_health.score.scoring import Flag, Score, ScorePart
from skill_health.text.patterns import lazy

SECTIONS = ("When to Activate", "Core Concepts", "Practical Guidance", "Gotchas", "Integration", "References")
_FIRST_PERSON = lazy(r"\b(I can|Use me|You can use this)\b")
_GOTCHAS = lazy(r"^## Gotchas\s*\n(.+?)(?=\n## |\Z)", re.MULTILINE | re.DOTALL)
# Theirs, `^\s*\d+\.\s+` and "^\s*```", find as many, in square time.
_NUMBERED = lazy(r"^[^\S\n]*\d+\.\s", re.MULTILINE)
_FENCE = lazy(r"^[^\S\n]*```", re.MULTILINE)
_NUMBERS = (
    re.compile(r"\b\d+(?:\.\d+)?\s*%", re.IGNORECASE),
    re.compile(r"\b\d+(?:\.\d+)?\s*x\b", re.IGNORECASE),
    re.compile(r"\b\d+(?:\.\d+)?\s*ms\b", re.IGNORECASE),
    re.compile(r"\b\d+(?:\.\d+)?\s*s(?:ec|econds)?\b", re.IGNORECASE),
    re.compile(r"\b\d+(?:\.\d+)?\s*tokens?\b", re.IGNORECASE),
    re.compile(r"\b\d+(?:k|K|M|B|x)\b"),
)
_BENCHMARKS = (
    "LoCoMo", "LongMemEval", "BrowseComp", "SWE-bench", "RULER", "DMR", "HotPotQA", "MMLU", "GSM8K", "HumanEval",
)  # fmt: skip
_CLAIM_ID = lazy(r"\bclaim-[a-z0-9][a-z0-9-]*[a-z0-9]\b")
# Theirs end at the last parenthesis. Here what is no link is passed over too, so that nothing is looked at twice.
_INTERNAL = lazy(r"\[[^\]]+(?:\](?:\((?:\.\./)?skills/([a-z0-9-]+)/[^)]*(?:(\))|\Z))?|\Z)")
_EXTERNAL = lazy(r"\[[^\]]+(?:\](?:\((https?://[^)]+)(?:(\))|\Z))?|\Z)")
_WEIGHTS = {
    "sections": 0.20, "gotchas": 0.15, "examples": 0.10, "links": 0.15, "activation": 0.10, "claims": 0.15,
    "mechanisms": 0.10, "frontmatter": 0.05,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlanSkill:
    """What that checker finds in one skill; the fields are the keys of its report, in its order."""

    name: str
    path: str
    line_count: int
    line_count_ok: bool
    frontmatter_valid: bool
    frontmatter_issues: list[str]
    missing_sections: list[str]
    gotcha_count: int
    code_example_count: int
    internal_links_total: int
    internal_links_resolved: int
    external_link_count: int
    external_link_results: list[str]
    numeric_claims_total: int
    numeric_claims_with_id: int
    claim_ids_referenced: list[str]
    claim_ids_unknown: list[str]
    mechanism_count: int
    activation_case_count: int

    @property
    def components(self) -> dict[str, float]:
        """The value of each part of the score."""
        links, claims = self.internal_links_total, self.numeric_claims_total
        return {
            "sections": (len(SECTIONS) - len(self.missing_sections)) / len(SECTIONS),
            "gotchas": min(1.0, self.gotcha_count / 3),
            "examples": min(1.0, self.code_example_count / 2),
            "links": self.internal_links_resolved / links if links else 1.0,
            "activation": 1.0 if self.activation_case_count else 0.5,
            "claims": self.numeric_claims_with_id / claims if claims else 1.0,
            "mechanisms": 1.0 if self.mechanism_count else 0.5,
            "frontmatter": 1.0 if self.frontmatter_valid else 0.0,
        }

    @property
    def score(self) -> float:
        """The weighted sum of the parts."""
        return round(sum(_WEIGHTS[part] * value for part, value in self.components.items()), 4)

    @property
    def flagged(self) -> bool:
        """Whether it needs work."""
        return self.score < 0.75 or not self.line_count_ok or bool(self.missing_sections or self.frontmatter_issues)


def compat_report(result: LintResult) -> dict[str, Any]:
    """The published checker's JSON report for the skills asked for, key for key."""
    registries = result.registries
    skills = check_skills(result)
    scores = [skill.score for skill in skills]
    flagged = sum(skill.flagged for skill in skills)
    summary = {
        "skill_count": len(skills),
        "corpus_score": round(sum(scores) / len(scores), 4) if scores else 0.0,
        "min_score": min(scores, default=0.0),
        "max_score": max(scores, default=0.0),
        "flagged": flagged,
        "known_claim_ids": len(_known_claims(registries)),
        "mechanism_owners": _owners(registries.mechanisms if registries else None, "owning_skill"),
        "activation_owners": _owners(registries.activation if registries else None, "expected_primary_skill"),
    }
    entries = [asdict(skill) | {"score": skill.score, "flagged": skill.flagged} for skill in skills]
    return {"ok": flagged == 0, "summary": summary, "skills": entries}


def compat_scores(result: LintResult) -> dict[str, Score]:
    """The same scores in the form of the other profiles."""
    scores = {}
    for skill in check_skills(result):
        parts = tuple(ScorePart(name, w, w, round(skill.components[name], 4), "") for name, w in _WEIGHTS.items())
        reasons = [f"no section '{title[3:]}'" for title in skill.missing_sections] + skill.frontmatter_issues
        reasons += [f"{skill.line_count} lines, over 500"] * (not skill.line_count_ok)
        reasons += [f"score {skill.score:.4f} is below 0.75"] * (skill.score < 0.75)
        scores[skill.path] = Score(skill.score, parts, tuple(Flag("plan", reason) for reason in reasons))
    return scores


def check_skills(result: LintResult) -> list[PlanSkill]:
    """What that checker finds in each skill that was asked for."""
    registries = result.registries
    known = _known_claims(registries)
    mechanisms = _owners(registries.mechanisms if registries else None, "owning_skill")
    cases = _owners(registries.activation if registries else None, "expected_primary_skill")
    return [
        check_text(
            entry.folder_name, entry.path, _text(result.root, entry), known,
            mechanisms.get(entry.folder_name, 0), cases.get(entry.folder_name, 0), result.root,
        )
        for entry in result.entries if entry.target and not entry.problem
    ]  # fmt: skip


def check_text(name: str, path: str, text: str, known: set[str], mechanisms: int, cases: int, root: str) -> PlanSkill:
    """What is found in one skill. `known` are the claim ids of the registry; the counts are its own."""
    issues = _frontmatter_issues(name, text)
    ids = sorted(set(_CLAIM_ID.findall(text)))
    internal = _linked(_INTERNAL, text)
    gotchas = _GOTCHAS.search(text)
    lines = len(text.splitlines())
    return PlanSkill(
        name=name,
        path=path,
        line_count=lines,
        line_count_ok=lines <= 500,
        frontmatter_valid=not issues,
        frontmatter_issues=issues,
        missing_sections=[f"## {title}" for title in SECTIONS if f"## {title}" not in text],
        gotcha_count=len(_NUMBERED.findall(gotchas[1])) if gotchas else 0,
        code_example_count=len(_FENCE.findall(text)) // 2,
        internal_links_total=len(internal),
        internal_links_resolved=sum(_skill_exists(root, other) for other in internal),
        external_link_count=len(_linked(_EXTERNAL, text)),
        external_link_results=[],
        numeric_claims_total=sum(len(each.findall(text)) for each in _NUMBERS) + sum(map(text.count, _BENCHMARKS)),
        numeric_claims_with_id=len(ids),
        claim_ids_referenced=ids,
        claim_ids_unknown=[claim for claim in ids if claim not in known],
        mechanism_count=mechanisms,
        activation_case_count=cases,
    )


def _linked(pattern: re.Pattern[str], text: str) -> list[str]:
    return [target for target, closed in pattern.findall(text) if closed]


def _frontmatter_issues(folder: str, text: str) -> list[str]:
    """What that checker says, which splits lines at their first colon; a reader of YAML finds other issues."""
    fields = {}
    end = text.find("\n---", 4)
    if text.startswith("---\n") and end >= 0:
        for line in text[4:end].split("\n"):
            key, colon, value = line.partition(":")
            if colon and not line.startswith(" "):
                fields[key.strip()] = value.strip().strip("\"'")
    name, description = fields.get("name", ""), fields.get("description", "")
    issues = ["name missing"] if not name else []
    issues += [f"name {name} does not match directory {folder}"] if name and name != folder else []
    issues += ["description missing"] if not description else []
    issues += ["description over 1024 characters"] if len(description) > 1024 else []
    issues += ["description not in the third person"] if _FIRST_PERSON.search(description) else []
    return issues


def _known_claims(registries: Registries | None) -> set[str]:
    return {str(record.data.get("claim_id")) for record in (registries.claims if registries else None) or ()}


def _owners(records: Sequence[RegistryRecord] | None, key: str) -> dict[str, int]:
    return dict(Counter(str(record.data[key]) for record in records or () if record.data.get(key)))


def _skill_exists(root: str, name: str) -> bool:
    return os.path.isfile(os.path.join(root, "skills", name, "SKILL.md"))


def _text(root: str, entry: Entry) -> str:
    data = read_entry(Boundary(root), entry)[0].decode("utf-8", "replace")
    return data.replace("\r\n", "\n").replace("\r", "\n")
