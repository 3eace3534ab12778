"""Before a commit: does every labelled prompt that found its skill still find it with the changed descriptions?

Lexical routers rank the prompts over the catalogue as it was and as it is. They have one threshold, chosen on the old
catalogue and the train prompts. No model is asked. What a lexical router loses is no proof that a model would lose it,
but it says that words are gone, or that another skill has taken them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from skill_health.bench.collection import read_collection
from skill_health.config.settings import Config, RouterSettings
from skill_health.core.boundary import git_top
from skill_health.core.errors import UsageError
from skill_health.core.files import kind_of
from skill_health.core.git import GitRepository, open_repository
from skill_health.discovery import plugins
from skill_health.discovery.changes import list_changes
from skill_health.discovery.corpus import Discovery, discover
from skill_health.discovery.hosts import hosts
from skill_health.documents.router_comparison import ComparedSkill
from skill_health.router.inputs import catalogue_at, prompts_beside
from skill_health.router.listing import catalogue
from skill_health.router.prompts._api import known_skills
from skill_health.router.prompts._load import load_prompts, refuse_bad_records
from skill_health.router.records import NONE, Catalogue, Prompt
from skill_health.router.routers._load import LOCAL, open_choice, resolve
from skill_health.router.routers._local import LocalRouter
from skill_health.text.similarity import STOP, terms
from skill_health.text.terminal import clean

_PROMPT, _DESCRIPTION, _WORDS, _IDS = 200, 400, 12, 20


@dataclass(frozen=True, slots=True)
class Lost:
    """A prompt that found `expected` and finds `now` instead (NONE: the router abstains)."""

    prompt: Prompt
    expected: str
    now: str


@dataclass(frozen=True, slots=True)
class EditEffect:
    """What a change does to one router's first places.

    Of `testable` prompts `before` were right and `after` are. `untested` prompts expect that no skill applies, which a
    router without a threshold cannot say.
    """

    model: str
    testable: int
    untested: int
    before: int
    after: int
    lost: tuple[Lost, ...]
    gained: tuple[str, ...]


def effect(spec: str, routing: RouterSettings, old: Catalogue, new: Catalogue, prompts: Sequence[Prompt]) -> EditEffect:
    """Route the prompts by one local router over both catalogues, in the prompts' order.

    Raises UsageError for a router that is none or is not computed here.
    """
    choice = resolve(spec, routing)
    if choice.kind != LOCAL:
        raise UsageError(
            f"{spec!r} is not computed here, so a hook cannot use it: take lexical:tfidf or another local one"
        )
    train = tuple(prompt for prompt in prompts if prompt.split == "train")
    first = cast(LocalRouter, open_choice(choice, old, train=train))
    cut = first.threshold.value
    second = cast(LocalRouter, open_choice(choice, new, settings={"threshold": cut}))
    known = [prompt for prompt in prompts if prompt.target is not None]
    tested = [prompt for prompt in known if cut or prompt.target != NONE]
    flips = [(prompt, str(prompt.target), first.first(prompt.text), second.first(prompt.text)) for prompt in tested]
    return EditEffect(
        model=spec,
        testable=len(tested),
        untested=len(known) - len(tested),
        before=sum(was == target for _, target, was, _ in flips),
        after=sum(now == target for _, target, _, now in flips),
        lost=tuple(Lost(prompt, target, now) for prompt, target, was, now in flips if was == target != now),
        gained=tuple(prompt.prompt_id for prompt, target, was, now in flips if was != target == now),
    )


def report(changed: Sequence[ComparedSkill], effects: Sequence[EditEffect], since: str) -> Iterator[str]:
    """The lines of the report, safe to print."""
    names = ", ".join(f"{clean(one.name)} ({one.kind})" for one in changed)
    yield f"{_count(len(changed), 'listed skill')} changed since {clean(since)}: {names}"
    for one in effects:
        yield (
            f"{one.model}: {one.before} of {_count(one.testable, 'prompt')} right before, {one.after} now; "
            f"{len(one.lost)} lost, {len(one.gained)} gained" + _ids(one.gained)
        )
        if one.untested:
            yield f"  not tested: {_count(one.untested, 'prompt')} that no skill is for, for want of a threshold"
        for lost in one.lost:
            yield from _lost(lost, {each.name: each for each in changed})
    if any(one.lost for one in effects):
        for edited in changed:
            yield f"{clean(edited.name)} was listed as: {_clip(edited.before) or '(not listed)'}"
            yield f"{clean(edited.name)} is listed as:  {_clip(edited.after) or '(not listed)'}"


def _lost(lost: Lost, changed: dict[str, ComparedSkill]) -> Iterator[str]:
    yield f'  {clean(lost.prompt.prompt_id)} "{_clip(lost.prompt.text, _PROMPT)}"'
    now = f"{clean(lost.now)} comes first" if lost.now != NONE else "no skill scores high enough"
    expected = "no skill" if lost.expected == NONE else clean(lost.expected)
    yield f"    expected {expected}; now {now}" + (f" ({clean(lost.prompt.source)})" if lost.prompt.source else "")
    asked = terms(lost.prompt.text, STOP)
    for name, verb in ((lost.expected, "no longer says"), (lost.now, "now says")):
        one = changed.get(name)
        if one:
            before = set() if one.kind == "added" else set(terms(f"{one.name} {one.before}"))
            after = set() if one.kind == "removed" else set(terms(f"{one.name} {one.after}"))
            moved = before - after if name == lost.expected else after - before
            words = [word for word in dict.fromkeys(asked) if word in moved]
            if words:
                yield f"    {clean(name)} {verb}: {', '.join(map(clean, words[:_WORDS]))}"


def _clip(text: str, most: int = _DESCRIPTION) -> str:
    flat = clean(" ".join(text.split()))
    return flat if len(flat) <= most else flat[: most - 4] + " ..."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _ids(ids: Sequence[str]) -> str:
    shown = ", ".join(map(clean, ids[:_IDS])) + (f" and {len(ids) - _IDS} more" if len(ids) > _IDS else "")
    return f" ({shown})" if ids else ""


def both_catalogues(
    files: Sequence[str], root: str, config: Config, commit: str, listing: str | None
) -> tuple[Catalogue | str, Catalogue, Discovery]:
    """The catalogue at a commit, or why there is none; the one in the work tree; and where that was found.

    Folders mean the skills below them; files stand for the whole collection, which may have had other ones. Raises
    UsageError where the work tree cannot be listed.
    """
    paths = tuple(path for path in files if kind_of(path) in ("folder", "unknown")) or (root,)
    inner = [os.path.relpath(os.path.realpath(path), root).replace(os.sep, "/") for path in paths]
    discovery = discover(paths, config, root)
    discovery, found = read_collection(discovery, config.router.namesakes)
    new = catalogue(found.skills, listing or config.router.listing, hosts(config.listing), found.names)
    try:
        return catalogue_at(root, config, commit, listing, inner), new, discovery
    except UsageError as error:
        # Two skills of one name, say, which this very commit may fix.
        return str(error), new, discovery


def prompts_of_both(
    old: Catalogue, new: Catalogue, discovery: Discovery, config: Config, prompt_files: Sequence[str]
) -> tuple[Prompt, ...]:
    """The prompts as `load_inputs` finds them. One whose skill has gone is a prompt still: it finds it no longer.

    Raises NoPromptsError where there are none, and UsageError for records that are no prompts, as every run refuses
    them: what a broken one expects is not known.
    """
    there = {name for skill in (*new.shown, *new.omitted) for name in (skill.name, *skill.aliases)}
    gone = tuple(
        replace(skill, aliases=tuple(name for name in skill.aliases if name not in there))
        for skill in (*old.shown, *old.omitted)
        if skill.name not in there
    )
    known = known_skills(Catalogue((*gone, *new.shown), omitted=new.omitted))
    found = (
        load_prompts(prompt_files, known, discovery.root) if prompt_files else prompts_beside(discovery, config, known)
    )
    refuse_bad_records(found.problems, None)
    return found.prompts


# What a listing comes from: the skills, and what decides which of them are read and how they are called.
_FILES = tuple(
    name.lower() for name in ("SKILL.md", "skill-health.toml", "pyproject.toml", ".gitignore", *plugins.FILES)
)


def repository_of(root: str) -> GitRepository:
    """The repository that a collection is in. Raises UsageError where it is in none."""
    top = git_top(root)
    if top is None:
        raise UsageError(f"{root} is in no git repository: there is no earlier version to compare with")
    return open_repository(top)


def base_of(repository: GitRepository, since: str) -> str | None:
    """The commit where the current branch left `since`; None where nothing has been committed yet.

    Raises UsageError for a revision that git does not know.
    """
    head = repository.find_head()
    if not head:
        return None
    commit = repository.resolve_commit(since)
    # Histories that have nothing in common have no such commit.
    return repository.ask("merge-base", commit, head, missing=1).decode("ascii").strip() or commit


def is_touched(repository: GitRepository, commit: str, untracked: bool = True) -> bool:
    """Whether a file that listings come from differs from `commit` or is new, where `untracked` even to git.

    Raises UsageError where git fails.
    """

    def matters(path: str) -> bool:
        lower = path.lower()
        return any(lower == name or lower.endswith(f"/{name}") for name in _FILES)

    changes = (
        list_changes(repository, commit, matters) if untracked else repository.list_tracked_changes(commit, matters)
    )
    return any(True for _ in changes)
