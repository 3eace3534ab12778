"""What drafts are made from: the skills that somebody names, the collection around them, and its labelled prompts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from skill_health.bench.collection import read_collection
from skill_health.config.load import describe_refused
from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.core.files import is_there, read_bytes
from skill_health.discovery.hosts import hosts
from skill_health.discovery.roots import relative, resolve
from skill_health.documents._draft import DraftedSkill
from skill_health.drafts.store import hash_skill
from skill_health.lint.pipeline import configure, find_readable
from skill_health.registries.records import BadRecord, problem_line
from skill_health.router.inputs import NoPromptsError, prompts_beside, with_namesakes
from skill_health.router.lexicon.routability import RiskFeatures, read_features
from skill_health.router.listing import catalogue
from skill_health.router.prompts._api import Known, known_skills
from skill_health.router.records import Catalogue, ListedSkill, Prompt
from skill_health.router.routers import lexical
from skill_health.router.routers._api import Setup
from skill_health.router.routers._local import LocalRouter
from skill_health.skill.model import Skill
from skill_health.text.near import did_you_mean, either

MOST_SIBLINGS = 3
_SEVERAL = 3


@dataclass(frozen=True)
class DraftingCollection:
    """A collection to draft for. `skills` are those by the paths of their SKILL.md, parsed; `prompts` what is labelled.

    `problems` are records of prompts that cannot be read, `notes` what somebody should know, those records among it.
    """

    root: str
    config: Config
    catalogue: Catalogue
    skills: Mapping[str, Skill]
    prompts: tuple[Prompt, ...]
    problems: tuple[BadRecord, ...]
    notes: tuple[str, ...]

    @cached_property
    def known(self) -> Known:
        """The skills that a label may name."""
        return known_skills(self.catalogue)

    @cached_property
    def by_name(self) -> Mapping[str, ListedSkill]:
        """The skills that are listed, by name."""
        return {skill.name: skill for skill in self.catalogue.shown}

    @cached_property
    def router(self) -> LocalRouter:
        """The free router over the collection."""
        return cast(LocalRouter, lexical.open_router(Setup("lexical", "", self.catalogue)))

    @cached_property
    def _features(self) -> Mapping[str, RiskFeatures]:
        return {found.skill.name: found for found in read_features(self.catalogue.shown)}

    def stamp(self, listed: ListedSkill) -> DraftedSkill:
        """A skill as a draft remembers it. Raises UsageError where it can no longer be read."""
        raw, problem = read_bytes(os.path.join(self.root, listed.path))
        if problem:
            raise UsageError(f"cannot read {listed.path} any longer ({problem})")
        return DraftedSkill(name=listed.name, path=listed.path, digest=hash_skill(raw))

    def siblings(self, listed: ListedSkill, most: int = MOST_SIBLINGS) -> tuple[ListedSkill, ...]:
        """The skills that a request for this one is likeliest to be lost to, the likeliest first.

        They are the one whose listing is most like its own, one that answers several passages of its body (both as
        `router risk` finds them), and then those that the free router finds for its description.
        """
        features = self._features[listed.name]
        ranked = [name for name, _ in self.router.rank(listed.description)]
        thief = features.thief if features.taken >= _SEVERAL else ""
        names = dict.fromkeys([features.nearest, thief, *ranked])
        return tuple(self.by_name[name] for name in names if name and name != listed.name)[:most]


def load_collection(
    paths: Sequence[str], config_file: str | None = None, namesakes: str | None = None
) -> DraftingCollection:
    """The collection that `paths` name (default: here), with its labelled prompts, if there are any.

    Raises UsageError for what the user got wrong, such as an empty collection.
    """
    paths = tuple(paths) or (os.curdir,)
    root, config = configure(paths, config_file, {})
    config = with_namesakes(config, namesakes)
    discovery = find_readable(paths, config, root)
    discovery, found = read_collection(discovery, config.router.namesakes)
    listed = catalogue(found.skills, "full", hosts(config.listing), found.names)
    prompts: tuple[Prompt, ...] = ()
    problems: tuple[BadRecord, ...] = ()
    try:
        loaded = prompts_beside(discovery, config, known_skills(listed))
        prompts, problems = loaded.prompts, loaded.problems
    except NoPromptsError:
        pass
    skills = {skill.path: skill for skill in found.skills}
    notes = (*describe_refused(config), *discovery.warnings, *found.notes, *map(problem_line, problems))
    return DraftingCollection(discovery.root, config, listed, skills, prompts, problems, notes)


def choose_skills(collection: DraftingCollection, named: Sequence[str]) -> tuple[ListedSkill, ...]:
    """The skills that are named by name, or by a path that leads to them, in this order; all where none is named.

    Raises UsageError for a name that no listed skill has, or several have.
    """
    if not named:
        return collection.catalogue.shown
    return tuple(dict.fromkeys(_choose(collection, name) for name in named))


def _choose(collection: DraftingCollection, named: str) -> ListedSkill:
    if known := collection.known.name_of(named):
        return collection.by_name[known]
    if several := collection.known.several(named):
        raise UsageError(f"{named!r} may be {either(several)}: say which")
    if is_there(named, links=False):
        place, is_folder = resolve(named)
        inner = relative(place, collection.root)
        for skill in collection.catalogue.shown:
            if inner is not None and inner == (os.path.dirname(skill.path) if is_folder else skill.path):
                return skill
    raise UsageError(f"no skill is called {named!r}{did_you_mean(named, collection.by_name)}")


def collection_of(named: Sequence[str], given: str | None) -> tuple[str, ...]:
    """The paths of the collection: the one that is given, else the skills that are named by paths, else here.

    A skill's own folder means it within the collection around it.
    """
    if given:
        return (given,)
    return tuple(name for name in named if os.sep in name and is_there(name, links=False)) or (os.curdir,)
