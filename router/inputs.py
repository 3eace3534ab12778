"""What every command of the router starts from: the collection as a host lists it, and labelled prompts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skill_health.bench.collection import read_collection
from skill_health.config.load import describe_refused
from skill_health.config.settings import Config, SourceGlobs
from skill_health.core.boundary import Boundary
from skill_health.core.errors import UsageError
from skill_health.discovery.corpus import Discovery
from skill_health.discovery.hosts import hosts
from skill_health.documents.router_manifest import RouterIndex
from skill_health.lint.pipeline import configure, find_readable
from skill_health.registries.records import BadRecord
from skill_health.registries.sources import read_sources
from skill_health.router.lexicon.fields import CONTENT, DESCRIPTION
from skill_health.router.lexicon.references import add_references
from skill_health.router.listing import catalogue, collection_at, listing_notes
from skill_health.router.plan.choices import index_of
from skill_health.router.prompts._api import Known, PromptFile, known_skills
from skill_health.router.prompts._load import (
    EVALS,
    TRIGGERS,
    LoadedPrompts,
    load_prompts,
    matching,
    read_file,
    read_prompts,
)
from skill_health.router.prompts._mapped import parse_map
from skill_health.router.records import NONE, Catalogue, Prompt
from skill_health.text.near import did_you_mean, either


@dataclass(frozen=True, slots=True)
class RouterInputs:
    """A collection and its prompts.

    `paths` are what was asked for, relative to `root`. `prompts` are those that the filters left, `total` is how many
    there were. `problems` are records that are no prompts (see `prompts._load.problem_line`); a run must not pass over
    them unasked. `notes` are lines that somebody should know.
    """

    root: str
    paths: tuple[str, ...]
    config: Config
    catalogue: Catalogue
    prompts: tuple[Prompt, ...]
    total: int
    problems: tuple[BadRecord, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedCollection:
    """A collection as a host lists it; `paths` and `notes` are as in `RouterInputs`."""

    root: str
    paths: tuple[str, ...]
    config: Config
    discovery: Discovery
    catalogue: Catalogue
    notes: tuple[str, ...]


def load_listing(
    paths: Sequence[str],
    config_file: str | None = None,
    listing: str | None = None,
    *,
    namesakes: str | None = None,
    plain: bool = False,
    index: RouterIndex | None = None,
    retrieve: int | None = None,
    sections: bool = True,
) -> ListedCollection:
    """The collection of `load_inputs`, without prompts. Raises UsageError for what the user got wrong.

    Without `sections` no Markdown is parsed, and what sections say of when to use a skill is not read.
    """
    paths = tuple(paths) or (os.curdir,)
    root, config = configure(paths, config_file, {})
    config = with_namesakes(config, namesakes)
    discovery = find_readable(paths, config, root)
    discovery, found = read_collection(discovery, config.router.namesakes, plain, heads=not sections)
    listed = catalogue(found.skills, listing or config.router.listing, hosts(config.listing), found.names, sections)
    if index_of(index, retrieve, config.router) == CONTENT:
        listed = add_references(listed, found.skills, discovery.root)
    return ListedCollection(
        root=root,
        paths=tuple(os.path.relpath(os.path.realpath(path), root).replace(os.sep, "/") for path in paths),
        config=config,
        discovery=discovery,
        catalogue=listed,
        notes=(
            *describe_refused(config),
            *discovery.warnings,
            *found.notes,
            *listing_notes(found.skills, listed),
        ),
    )


def load_inputs(
    paths: Sequence[str],
    config_file: str | None = None,
    prompt_files: Sequence[str] = (),
    listing: str | None = None,
    *,
    prompt_ids: Sequence[str] = (),
    skills: Sequence[str] = (),
    splits: Sequence[str] = (),
    namesakes: str | None = None,
    plain: bool = False,
    field_map: str | None = None,
    index: RouterIndex | None = None,
    retrieve: int | None = None,
) -> RouterInputs:
    """Find and read the skills that `paths` name (default: here) with the collection around them, and the prompts.

    Without `prompt_files` the prompts are those of the configured `sources.prompts`, else of `sources.activation`, else
    the trigger queries and then the eval sets in the skills' folders. `listing` is "full" or the key of a host, by
    default what the configuration says. The filters narrow the prompts, never the collection: by id, by the skills
    that a prompt expects, accepts or rejects ("none" for those that expect no skill), and by split. `namesakes`
    stands in for the setting of that name; where `plain`, names do not show the plugin. `field_map` says by which names
    the records of `prompt_files` call what they hold. References are read where `index_of` the `index` and the skills
    to `retrieve` is "content".

    Raises UsageError for what the user got wrong, such as an empty collection, no prompts or a filter that leaves none.
    """
    if field_map and not prompt_files:
        raise UsageError("--map says how the files of --prompts are to be read: name them")
    given = load_listing(paths, config_file, listing, namesakes=namesakes, plain=plain, index=index, retrieve=retrieve)
    root, config, discovery, listed = given.root, given.config, given.discovery, given.catalogue
    known = known_skills(listed)
    if prompt_files:
        loaded = load_prompts(prompt_files, known, root, parse_map(field_map) if field_map else None)
    else:
        loaded = prompts_beside(discovery, config, known)
    if not loaded.prompts and not loaded.problems:
        raise UsageError(f"no labelled prompt in {', '.join(prompt_files) or root}: there are only other files")
    left = _narrowed(loaded.prompts, known, prompt_ids, skills, splits)
    return RouterInputs(
        root=root,
        paths=given.paths,
        config=config,
        catalogue=listed,
        prompts=left,
        total=len(loaded.prompts),
        problems=loaded.problems,
        notes=(*given.notes, *loaded.notes),
    )


def catalogue_at(
    root: str,
    config: Config,
    revision: str,
    listing: str | None = None,
    paths: Sequence[str] = (),
    index: str = DESCRIPTION,
) -> Catalogue:
    """The catalogue that the same call would have made at a git revision; an empty one where no skill was there.

    `paths` are relative to the root, as `Inputs.paths`. Raises UsageError as `collection_at` and `catalogue` do.
    """
    with collection_at(root, config, revision, paths, index == CONTENT) as (found, place):
        listed = catalogue(found.skills, listing or config.router.listing, hosts(config.listing), found.names)
        return add_references(listed, found.skills, place) if index == CONTENT else listed


def with_namesakes(config: Config, namesakes: str | None) -> Config:
    """The settings with what a command line says of namesakes, if it says anything."""
    return config._replace(router=config.router._replace(namesakes=namesakes)) if namesakes else config


class NoPromptsError(UsageError):
    """No file in the collection holds prompts; `notes` name those that might have."""

    def __init__(self, message: str, notes: tuple[str, ...] = ()) -> None:
        super().__init__("; ".join((message, *notes)))
        self.notes = notes


def prompts_beside(discovery: Discovery, config: Config, known: Known) -> LoadedPrompts:
    """The prompts of the first source that has any. Raises NoPromptsError."""
    sources = config.sources._replace(claims=(), mechanisms=(), tasks=())
    notes: list[str] = []
    for kind in ("prompts", "activation"):
        only = sources._replace(**{other: () for other in ("prompts", "activation") if other != kind})
        # Whoever configured a file meant it; one that only has a default name may hold labels in any format, or none.
        configured = getattr(sources, kind) != getattr(SourceGlobs(), kind)
        files = read_sources(discovery.root, only, marked=False)
        loaded = read_prompts([PromptFile(f.path, f.raw, problem=f.problem, named=configured) for f in files], known)
        if loaded.prompts or loaded.problems:
            return loaded
        notes += loaded.notes
    for patterns in (TRIGGERS, EVALS):
        paths = matching((f"{e.folder}/{name}".lstrip("/") for e in discovery.entries for name in e.files), patterns)
        full = sorted({os.path.join(discovery.root, path) for path in paths})
        boundary = Boundary(discovery.root)
        loaded = read_prompts([read_file(path, known, discovery.root, boundary) for path in full], known)
        if loaded.prompts or loaded.problems:
            return loaded
    looked = ", ".join(SourceGlobs().prompts[:2])
    raise NoPromptsError(
        f"no prompts for {discovery.root}: looked for {looked}, activation cases and trigger queries beside the skills; "
        "name a file with --prompts, or draft some with `skill-health draft prompts`",
        tuple(notes),
    )


def _narrowed(
    prompts: Sequence[Prompt], known: Known, ids: Sequence[str], skills: Sequence[str], splits: Sequence[str]
) -> tuple[Prompt, ...]:
    _must_exist(ids, [prompt.prompt_id for prompt in prompts], "prompt has the id")
    for name in skills:
        if several := known.several(name):
            raise UsageError(f"{name!r} may be {either(several)}: say which")
    names = [name if name == NONE else known.name_of(name) or name for name in skills]
    _must_exist(names, [*known.names, NONE], "skill is called")
    if splits and not any(prompt.split for prompt in prompts):
        raise UsageError("no prompt has a split: `skill-health router prompts --write-split FILE` gives them one")
    _must_exist(splits, [prompt.split for prompt in prompts if prompt.split], "prompt is in the split")
    left = tuple(
        prompt
        for prompt in prompts
        if (not ids or prompt.prompt_id in ids)
        and (not names or _names(prompt).intersection(names))
        and (not splits or prompt.split in splits)
    )
    if prompts and not left:
        raise UsageError(f"none of the {len(prompts)} prompts is left by the filters; take one of them away")
    return left


def _must_exist(wanted: Iterable[str], there: Sequence[str], what: str) -> None:
    known = set(there)
    for name in wanted:
        if name not in known:
            raise UsageError(f"no {what} {name!r}{did_you_mean(name, known)}")


def _names(prompt: Prompt) -> set[str]:
    """The skills that a prompt speaks of, and NONE where it expects no skill."""
    return {*prompt.acceptable, *prompt.rejected, *([prompt.target] if prompt.target else [])}
