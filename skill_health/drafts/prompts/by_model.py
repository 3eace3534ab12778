"""Requests by a model: one question for each skill, and one to a second model, which may only reject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from skill_health.bench.manifest import digest
from skill_health.core.errors import UsageError
from skill_health.documents._draft import DraftOrigin
from skill_health.documents.prompt_draft import PromptContent
from skill_health.drafts.asking.plan import DraftingPlan, DraftQuestion, OpenWriter, PlannedQuestion
from skill_health.drafts.asking.run import DraftingOutcome
from skill_health.drafts.material import DraftingCollection
from skill_health.drafts.prompts.propose import ProposedPrompt
from skill_health.drafts.prompts.question import (
    RECIPE,
    PromptCheck,
    ask_about_prompts,
    ask_for_prompts,
    read_checks,
    read_prompts,
)
from skill_health.drafts.prompts.validate import PromptFault
from skill_health.router.records import NONE, ListedSkill

_TOKENS, _TOKENS_EACH, _CHECKED_EACH, _TYPICAL_EACH = 600, 160, 60, 60
"""Tokens of an answer: for its form, for each request, for each request that is checked, and those that are usual."""
_REQUEST_BYTES = 200


class PromptQuestions:
    """The questions about some skills of a collection, and what their answers come to.

    `writer` writes up to `most` requests of each kind, `checker` says of each what it would pick, if there is one.
    """

    def __init__(
        self,
        collection: DraftingCollection,
        skills: Sequence[ListedSkill],
        writer: OpenWriter,
        checker: OpenWriter | None,
        most: int,
        intent: str,
    ) -> None:
        if checker and checker.spec == writer.spec:
            raise UsageError(f"{checker.spec} would check what it wrote itself: name another model by --check-model")
        self._collection, self._skills = collection, skills
        self._writer, self._checker = writer, checker
        self._most, self._intent = most, intent

    def plan(self, seed: int) -> DraftingPlan:
        """What is asked, skill by skill."""
        written = [self._write(skill) for skill in self._skills]
        checked = [self._check(skill, self._checker) for skill in self._skills] if self._checker else []
        return DraftingPlan("prompts", seed, (*written, *checked))

    def proposals(self, outcome: DraftingOutcome) -> list[ProposedPrompt]:
        """The requests of all answers that could be read, each with what the second model found."""
        texts = outcome.texts
        found: list[ProposedPrompt] = []
        for skill in self._skills:
            contents = self._contents(skill, texts)
            origin = DraftOrigin(
                by="model", model=self._writer.spec, resolved=outcome.resolved(_written(skill)), run=outcome.run_id,
            )  # fmt: skip
            faults = self._faults(skill, contents, texts)
            found += [
                ProposedPrompt(skill, content, origin, fault=fault)
                for content, fault in zip(contents, faults, strict=True)
            ]
        return found

    def _write(self, skill: ListedSkill) -> PlannedQuestion:
        question = ask_for_prompts(skill, self._collection.siblings(skill), self._most, self._intent)
        each = 3 * self._most

        def read(text: str) -> str:
            found = read_prompts(text, self._writer.provider.think_tags)
            return found if isinstance(found, str) else ""

        return PlannedQuestion(
            question=_written(skill),
            writer=self._writer,
            make=lambda answers: question,
            read=read,
            recipe=digest([question.system, question.text]),
            size=question.size,
            max_output=max(self._writer.provider.max_output_tokens, _TOKENS + _TOKENS_EACH * each),
            typical=_TYPICAL_EACH * each,
        )

    def _check(self, skill: ListedSkill, checker: OpenWriter) -> PlannedQuestion:
        shown = (skill, *self._collection.siblings(skill))
        empty = ask_about_prompts(shown, [])

        def make(answers: Mapping[str, str]) -> DraftQuestion | None:
            contents = self._contents(skill, answers)
            return ask_about_prompts(shown, [content.text for content in contents]) if contents else None

        def read(text: str) -> str:
            # How many there are is looked at again where the answer is used.
            found = read_checks(text, text.count('"number"'), checker.provider.think_tags)
            return found if isinstance(found, str) else ""

        each = 3 * self._most
        return PlannedQuestion(
            question=_checked(skill),
            writer=checker,
            make=make,
            read=read,
            recipe=digest([RECIPE, empty.text]),
            size=empty.size + _REQUEST_BYTES * each,
            max_output=max(checker.provider.max_output_tokens, _TOKENS + _CHECKED_EACH * each),
            typical=_CHECKED_EACH * each // 2,
            after=(_written(skill),),
        )

    def _contents(self, skill: ListedSkill, texts: Mapping[str, str]) -> list[PromptContent]:
        """The requests of an answer, with what they must not fire; those beyond what was asked for are left out."""
        found = read_prompts(texts.get(_written(skill), ""), self._writer.provider.think_tags)
        if isinstance(found, str):
            return []
        counts: dict[str, int] = {}
        kept = []
        for content in found:
            counts[content.role] = counts.get(content.role, 0) + 1
            if counts[content.role] <= self._most:
                rejected = () if content.role == "positive" else (skill.name,)
                known = self._collection.known.name_of(content.expected) or content.expected
                kept.append(structs.replace(content, expected=known, rejected=rejected))
        return kept

    def _faults(
        self, skill: ListedSkill, contents: Sequence[PromptContent], texts: Mapping[str, str]
    ) -> list[PromptFault | None]:
        text = texts.get(_checked(skill), "")
        checks = read_checks(text, len(contents), self._checker.provider.think_tags) if self._checker else "not asked"
        if not contents or isinstance(checks, str):
            return [None] * len(contents)
        return [_fault(content, check) for content, check in zip(contents, checks, strict=True)]


def _fault(content: PromptContent, check: PromptCheck) -> PromptFault | None:
    """Why a second model rejects a request: it may say so, or pick another skill. It cannot accept one."""
    why = f" ({check.why})" if check.why else ""
    if check.ambiguous:
        return PromptFault("ambiguous", f"the second model finds it ambiguous{why}")
    if check.skill not in (content.expected or NONE, *content.acceptable):
        picked = "no skill" if check.skill == NONE else check.skill
        return PromptFault("label_disputed", f"the second model would pick {picked}{why}")
    return None


def _written(skill: ListedSkill) -> str:
    return f"write:{skill.name}"


def _checked(skill: ListedSkill) -> str:
    return f"check:{skill.name}"
