"""The one look at the sealed prompts: counted before it is taken, and held against a level that all looks share.

The k-th use of sealed prompts for a skill has to reach a one-sided level of 0.05 / (k (k + 1)). These levels add up to
0.05 over however many uses, so that whoever tries until something looks better is told so in at most one case of twenty
where nothing is (Bonferroni's inequality, with the level spent unequally).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime

from skill_health.bench.manifest import digest
from skill_health.core.errors import UsageError
from skill_health.core.files import here, read_each_line
from skill_health.core.history import append_history
from skill_health.documents._record import decode_record, record_values
from skill_health.documents.sealed_use import SealedUse
from skill_health.drafts.material import DraftingCollection
from skill_health.drafts.store import drafts_folder, format_time, writing
from skill_health.router.listing import catalogue_digest
from skill_health.router.records import ListedSkill, Prompt
from skill_health.router.splits import TEST
from skill_health.stats.estimates import Estimate

USES = "sealed-uses.jsonl"
LEVEL = 0.05


def spend_level(use: int) -> float:
    """The one-sided level of the k-th use of sealed prompts."""
    return LEVEL / (use * (use + 1))


def is_better(found: Estimate, use: int) -> bool:
    """Whether a difference is shown to be above 0: by its test at the level of the use, and by its 95 % interval.

    Where all prompts differ by the same there is no interval, and where few differ no test reaches the level.
    """
    if found.value is None or found.p is None:
        return False
    return found.value > 0 and (found.low is None or found.low > 0) and found.p / 2 <= spend_level(use)


def count_use(
    collection: DraftingCollection,
    skill: ListedSkill,
    candidate: str,
    sealed: Sequence[Prompt],
    routers: Sequence[str],
    seed: int,
    time: datetime,
) -> SealedUse:
    """Write down that sealed prompts are used, and say which use it is; the very same comparison counts once.

    Raises UsageError where the file of uses cannot be read or written.
    """
    path = os.path.join(drafts_folder(collection.root), USES)
    ids = tuple(sorted(prompt.prompt_id for prompt in sealed))
    texts = digest(sorted([prompt.prompt_id, prompt.text, prompt.target or "", TEST] for prompt in sealed))
    with writing(collection.root):
        earlier = [use for use in _read_uses(path) if use.skill == skill.name and not set(ids).isdisjoint(use.prompts)]
        made = SealedUse(
            schema="skill-health/sealed-use/1",
            at=format_time(time),
            skill=skill.name,
            number=1 + len(earlier),
            before=digest(skill.description),
            after=digest(candidate),
            measure=digest([list(routers), catalogue_digest(collection.catalogue), texts]),
            prompts=ids,
            seed=seed,
        )
        for use in earlier:
            if (use.before, use.after, use.measure, use.seed) == (made.before, made.after, made.measure, made.seed):
                return use
        append_history(path, record_values(made))
    return made


def _read_uses(path: str) -> Iterator[SealedUse]:
    try:
        for number, line in enumerate(read_each_line(path), 1):
            try:
                yield decode_record(line, SealedUse)
            except ValueError as error:
                if line.endswith(b"\n"):
                    raise UsageError(
                        f"{here(path)}:{number} is no use of sealed prompts: {error}; restore it"
                    ) from None
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot read {here(path)}: {error.strerror}") from None
