"""What the hook compares: the catalogue as it was and as it is, and the prompts that name a skill of either."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from skill_health.bench.collection import read_collection
from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.discovery.corpus import Discovery, discover
from skill_health.discovery.hosts import hosts
from skill_health.router.inputs import NoPromptsError, catalogue_at, prompts_beside
from skill_health.router.listing import catalogue
from skill_health.router.prompts._api import known_skills
from skill_health.router.prompts._load import load_prompts, refuse_bad_records
from skill_health.router.records import Catalogue, Prompt


def both_catalogues(
    files: Sequence[str], root: str, config: Config, commit: str, listing: str | None
) -> tuple[Catalogue | str, Catalogue, Discovery]:
    """The catalogue at a commit, or why there is none; the one in the work tree; and where that was found.

    Folders mean the skills below them; files stand for the whole collection, which may have had other ones. Raises
    UsageError where the work tree cannot be listed.
    """
    paths = tuple(path for path in files if os.path.isdir(path)) or (root,)
    inner = [os.path.relpath(os.path.realpath(path), root).replace(os.sep, "/") for path in paths]
    discovery = discover(paths, config, root)
    discovery, found = read_collection(discovery, config.router.namesakes)
    new = catalogue(found.skills, listing or config.router.listing, hosts(config.hosts), found.names)
    try:
        return catalogue_at(root, config, commit, listing, inner), new, discovery
    except UsageError as error:
        # Two skills of one name, say, which this very commit may mend.
        return str(error), new, discovery


def prompts_of_both(
    old: Catalogue, new: Catalogue, discovery: Discovery, config: Config, prompt_files: Sequence[str]
) -> tuple[Prompt, ...]:
    """The prompts as `load_inputs` finds them. One whose skill has gone is a prompt still: it finds it no longer.

    There may be none, unless files are named. Raises UsageError for records that are no prompts, as every run refuses
    them: what a broken one expects is not known.
    """
    there = {name for skill in (*new.shown, *new.omitted) for name in (skill.name, *skill.aliases)}
    gone = tuple(
        replace(skill, aliases=tuple(name for name in skill.aliases if name not in there))
        for skill in (*old.shown, *old.omitted)
        if skill.name not in there
    )
    known = known_skills(Catalogue((*gone, *new.shown), omitted=new.omitted))
    try:
        found = (
            load_prompts(prompt_files, known, discovery.root)
            if prompt_files
            else prompts_beside(discovery, config, known)
        )
    except NoPromptsError:
        return ()
    refuse_bad_records(found.problems, None)
    return found.prompts
