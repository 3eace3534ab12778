"""Are labelled prompts fit to measure with? What is wrong with a set of prompts, and what it covers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from skill_health.config.settings import RuleLimits
from skill_health.core.strict_json import quote
from skill_health.router.families import near_pairs
from skill_health.router.records import NONE, Catalogue, Prompt
from skill_health.router.splits import TEST, spanning, split_table
from skill_health.rules.routing._groups import names_other
from skill_health.text.fingerprints import shared_runs, words_of
from skill_health.text.similarity import STOP

NULL_SHARE = 0.2
# A run of so many words is no chance between a prompt and a description, if so many of them are telling ones.
_RUN, _TELLING = 5, 3
_LISTED = 3

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to know.

    `kind` is a stable word. `prompts` are the ids that it is about and `places` where those stand, as `path:line`.
    """

    severity: Severity
    kind: str
    message: str
    help: str = ""
    prompts: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many prompts expect a skill, accept it as a second, and reject it without expecting it (near misses)."""

    skill: str
    positives: int
    acceptable: int
    negatives: int


@dataclass(frozen=True, slots=True)
class Audit:
    """What a set of prompts covers, and what is wrong with it.

    `unknown` prompts only say which skills must not fire. `splits` maps each class to its prompts by split ("" for
    those without one); "?" is the class of `unknown`.
    """

    prompts: int
    nulls: int
    unknown: int
    families: int
    skills: tuple[Coverage, ...]
    splits: Mapping[str, Mapping[str, int]]
    remarks: tuple[Remark, ...]

    @property
    def failed(self) -> bool:
        """Whether anything is an error."""
        return any(remark.severity == "error" for remark in self.remarks)


def audit(prompts: Sequence[Prompt], catalogue: Catalogue, limits: RuleLimits) -> Audit:
    """Look at prompts over the collection that they are for. `limits` says how many prompts a skill wants."""
    skills = sorted((*catalogue.shown, *catalogue.omitted), key=lambda skill: skill.path)
    positives = Counter(prompt.expected for prompt in prompts if prompt.known)
    accepted = Counter(name for prompt in prompts for name in prompt.acceptable)
    negatives = Counter(name for prompt in prompts for name in prompt.rejected if name != prompt.expected)
    rows = tuple(Coverage(s.name, positives[s.name], accepted[s.name], negatives[s.name]) for s in skills)
    shown = set(catalogue.names)
    remarks = [
        *_families(prompts),
        *_duplicates(prompts),
        *_labels(prompts, shown),
        *_leaks(prompts, {skill.name: skill.description for skill in skills}),
        *_nulls(prompts),
        *_coverage([row for row in rows if row.skill in shown], limits),
    ]
    order = ("error", "warning", "info")
    return Audit(
        prompts=len(prompts),
        nulls=sum(prompt.target == NONE for prompt in prompts),
        unknown=sum(not prompt.known for prompt in prompts),
        families=len({prompt.cluster for prompt in prompts}),
        skills=rows,
        splits=split_table(prompts),
        remarks=tuple(sorted(remarks, key=lambda remark: order.index(remark.severity))),
    )


def _families(prompts: Sequence[Prompt]) -> Iterator[Remark]:
    for family, splits in spanning(prompts).items():
        members = [prompt for prompt in prompts if prompt.family == family]
        message = f"the family {quote(family)} is torn apart: its prompts are in the splits {', '.join(splits)}"
        yield _remark("error", "family-spans-splits", message, "Put all of a family into one split.", *members)


def _duplicates(prompts: Sequence[Prompt]) -> Iterator[Remark]:
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


def _labels(prompts: Sequence[Prompt], shown: set[str]) -> Iterator[Remark]:
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


def _leaks(prompts: Sequence[Prompt], descriptions: Mapping[str, str]) -> Iterator[Remark]:
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


def _nulls(prompts: Sequence[Prompt]) -> Iterator[Remark]:
    known = [prompt for prompt in prompts if prompt.known]
    nulls = sum(prompt.expected is None for prompt in known)
    if known and nulls < NULL_SHARE * len(known):
        share = (
            f"{nulls} of {len(known)} prompts ({nulls / len(known):.0%}) expect no skill; {NULL_SHARE:.0%} are wanted"
        )
        yield _remark("warning", "few-nulls", share, "Add requests that sound like a skill's and are nobody's.")


def _coverage(rows: Sequence[Coverage], limits: RuleLimits) -> Iterator[Remark]:
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


def _remark(severity: Severity, kind: str, message: str, advice: str, *prompts: Prompt) -> Remark:
    ids = tuple(prompt.prompt_id for prompt in prompts)
    return Remark(severity, kind, message, advice, ids, tuple(prompt.source for prompt in prompts))
