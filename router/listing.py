"""Skills -> what a host shows a model of them: the catalogue that routers rank, of today or of a git revision."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import NamedTuple

from skill_health.bench.collection import UNREADABLE as UNREADABLE_KINDS
from skill_health.bench.collection import NamedCollection, Names, plain_name, read_collection
from skill_health.config.settings import Config
from skill_health.core.boundary import git_top
from skill_health.core.errors import UsageError
from skill_health.core.files import MAX_BYTES, blake2b, is_there, read_small
from skill_health.core.git import GitRepository, open_repository
from skill_health.discovery import plugins
from skill_health.discovery.corpus import discover
from skill_health.discovery.hosts import OMITTED, Host, simulate
from skill_health.discovery.listing import is_skill_name
from skill_health.discovery.roots import is_certain
from skill_health.router.lexicon.references import is_markdown
from skill_health.router.records import NONE, Catalogue, ListedSkill
from skill_health.rules.frontmatter._shared import below_templates
from skill_health.rules.routing._groups import name_key
from skill_health.skill.model import Skill
from skill_health.skill.parse import SkillHead
from skill_health.skill.sections import governing, outermost, roles_of
from skill_health.text.near import nearest
from skill_health.text.numbers import count

FULL = "full"
HIDDEN, UNREADABLE = "hidden", "unreadable"
_STRICT = frozenset(("colon-trap", "yaml-error", "tab-indent", "not-a-mapping"))
_SHOWN = 3


def catalogue(
    skills: Sequence[Skill],
    listing: str = FULL,
    hosts: Sequence[Host] = (),
    names: Mapping[str, Names] = MappingProxyType({}),
    sections: bool = True,
) -> Catalogue:
    """List skills as "full" (every description whole) or as the host of this key does, in the order of their paths.

    `names` are those that they are listed by, by the path of each; the plain ones where nothing is said.

    As hosts do, a skill without a description is listed by its name, and by its folder's where it declares none.
    Those with `disable-model-invocation: true` (state "hidden"), those whose file cannot be read ("unreadable") and
    those that the host's budget leaves out ("omitted") are in `omitted`. White space in names and descriptions is
    collapsed. Without `sections`, which takes the Markdown of each to be parsed, `when` is "".

    Raises UsageError for an unknown listing, for two skills of one name and for a skill that is called "none": answers
    could not tell them apart.
    """
    host = _find_host(listing, hosts)
    entries = [(skill, _listed(skill, names, sections)) for skill in sorted(skills, key=lambda skill: skill.path)]
    _distinct([listed for _, listed in entries])
    states = {listed.path: state for skill, listed in entries if (state := _absent(skill))}
    candidates = [listed for _, listed in entries if listed.path not in states]
    absent = [replace(listed, state=states[listed.path], text="") for _, listed in entries if listed.path in states]
    return _shown(candidates, absent, listing, host)


def relist(whole: Catalogue, names: Collection[str], hosts: Sequence[Host] = ()) -> Catalogue:
    """The listing of a part of a collection, by these names, as its host would list only that."""
    host = _find_host(whole.listing, hosts)
    candidates = [
        replace(skill, state=FULL, text=skill.description if host else skill.text)
        for skill in (*whole.shown, *whole.omitted)
        if skill.name in names and skill.state not in (HIDDEN, UNREADABLE)
    ]
    return _shown(sorted(candidates, key=lambda skill: skill.path), (), whole.listing, host)


def _shown(
    candidates: Sequence[ListedSkill], absent: Sequence[ListedSkill], listing: str, host: Host | None
) -> Catalogue:
    """What a host shows of those that it may list, and who is not in it."""
    shown, omitted = list(candidates), list(absent)
    if host:
        pairs = [(listed.listed_as, listed.description) for listed in candidates]
        shown = []
        for listed, result in zip(candidates, simulate(pairs, host).skills, strict=True):
            if result.state == OMITTED:
                omitted.append(replace(listed, state=OMITTED, text=""))
            else:
                shown.append(replace(listed, state=result.state, text=listed.description[: result.chars]))
    return Catalogue(tuple(shown), listing, tuple(sorted(omitted, key=lambda listed: listed.path)))


def catalogue_digest(catalogue: Catalogue) -> str:
    """A hash of what is shown, names and texts in their order: 32 hexadecimal digits."""
    return listing_digest((skill.listed_as, skill.text) for skill in catalogue.shown)


def listing_digest(entries: Iterable[tuple[str, str]]) -> str:
    """The same of names and texts as they are listed, such as those of a manifest."""
    shown = json.dumps([[name, text] for name, text in entries], ensure_ascii=True)
    return blake2b(shown.encode("ascii"), digest_size=16).hexdigest()


def shared_names(shown: Iterable[ListedSkill]) -> dict[str, tuple[str, ...]]:
    """The names that several skills are listed by, sorted, each with the names that tell all of those apart.

    Names are the same where hosts take them for the same: in NFKC, without regard to case.
    """
    groups = _alike(shown)
    found = {
        skill.shared: tuple(one.name for one in group) for group in groups.values() for skill in group if len(group) > 1
    }
    return dict(sorted(found.items()))


def sole_names(shown: Iterable[ListedSkill]) -> dict[str, str]:
    """The skills that listed names stand for where others have the name, but are not among these."""
    return {group[0].shared: group[0].name for group in _alike(shown).values() if len(group) == 1}


def _alike(shown: Iterable[ListedSkill]) -> dict[str, list[ListedSkill]]:
    groups: dict[str, list[ListedSkill]] = {}
    for skill in shown:
        if skill.shared:
            groups.setdefault(name_key(skill.shared), []).append(skill)
    return groups


def listing_notes(skills: Sequence[Skill], catalogue: Catalogue) -> tuple[str, ...]:
    """What somebody should know of a listing: who is not in it, and who may be missing from another host's."""
    by_state: dict[str, list[str]] = {}
    for listed in (*catalogue.shown, *catalogue.omitted):
        by_state.setdefault(listed.state, []).append(listed.name)
    paths = {skill.path for skill in catalogue.shown}
    seen = [skill for skill in sorted(skills, key=lambda skill: skill.path) if skill.path in paths]
    listed_as = {skill.path: skill.name for skill in catalogue.shown}
    templates = [listed_as[skill.path] for skill in seen if below_templates(skill)]
    groups = (
        (templates, "below a folder of templates, which hosts do not load; leave them out by `exclude`"),
        (by_state.get(HIDDEN, ()), "not listed, because disable-model-invocation is set"),
        (by_state.get(UNREADABLE, ()), "not listed, because SKILL.md cannot be read"),
        (by_state.get(OMITTED, ()), f"left out of the listing of {catalogue.listing} for want of room"),
        (by_state.get("name-only", ()), f"listed by {catalogue.listing} without a description for want of room"),
        (by_state.get("truncated", ()), f"listed by {catalogue.listing} with a cut description"),
        (
            [listed_as[s.path] for s in seen if not s.description.strip()],
            "listed by name only: there is no description",
        ),
        (
            [listed_as[s.path] for s in seen if any(defect.kind in _STRICT for defect in s.defects)],
            "listed with what could be read of broken YAML; hosts with a strict parser drop such a skill",
        ),
    )
    return (
        *(f"{_names(names)}: {what}" for names, what in groups if names),
        *_shared(catalogue.shown),
    )


def _shared(shown: Iterable[ListedSkill]) -> Iterator[str]:
    """One line on the skills that a host lists by one name."""
    if found := shared_names(shown):
        groups = set(found.values())
        yield (
            f"{_names(found)}: {count(len(groups), 'name')} of {sum(map(len, groups))} skills, listed by the same "
            "name as hosts do; a model that answers with one does not say which it means, and that counts as not right "
            "(--namesakes-by-path tells them apart, --skip-namesakes keeps one of each)"
        )


def when_to_use(skill: Skill) -> str:
    """The text of the sections that say when to use a skill, without the parts of them that say when not to."""
    tagged = [(section, roles_of(section.heading.title)) for section in governing(skill.body)]
    against = [section for section, roles in tagged if "boundaries" in roles and "when_to_use" not in roles]
    lines: list[str] = []
    for section in outermost(tagged, "when_to_use"):
        barred = {n for part in against for n in range(part.line, part.end_line + 1)}
        inside = range(section.line + 1, section.end_line + 1)
        lines += [skill.lines[n - 1] for n in inside if n not in barred]
    return "\n".join(lines).strip()


def _listed(skill: Skill, names: Mapping[str, Names], sections: bool) -> ListedSkill:
    first = skill.unparsed.first_line if isinstance(skill, SkillHead) else skill.body.first_line
    body = "\n".join(skill.lines[first - 1 :])[:MAX_BYTES].strip()
    own, description = names.get(skill.path) or Names(plain_name(skill)), _one_line(skill.description)
    when = when_to_use(skill) if sections else ""
    return ListedSkill(
        own.listed, description, FULL, description, body, when, skill.path, own.others, shared=own.shared
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _absent(skill: Skill) -> str:
    """Why no host lists a skill; "" where hosts do."""
    if any(defect.kind in UNREADABLE_KINDS for defect in skill.defects):
        return UNREADABLE
    flag = skill.field("disable-model-invocation")
    return HIDDEN if flag is not None and flag.value is True else ""


def _find_host(listing: str, hosts: Sequence[Host]) -> Host | None:
    if listing == FULL:
        return None
    known = {host.key: host for host in hosts}
    if listing not in known:
        near = nearest(listing, [FULL, *known])
        hint = f"did you mean {near!r}?" if near else f"take {', '.join([FULL, *sorted(known)])}"
        raise UsageError(f"there is no listing {listing[:80]!r}; {hint}")
    return known[listing]


def _distinct(listed: Sequence[ListedSkill]) -> None:
    first: dict[str, ListedSkill] = {}
    clashes = list(_clashes(listed, first))
    if reserved := next((skill for skill in listed if name_key(skill.listed_as) == NONE), None):
        raise UsageError(
            f"{reserved.path}: a skill must not be called {reserved.listed_as!r} here, the answer for no skill"
        )
    if clashes:
        one, two = clashes[0]
        rest = len(clashes) - 1
        more = f" (and {rest} more such pair{'s' * (rest != 1)})" if rest else ""
        raise UsageError(
            f"two skills are called {one.name[:80]!r}: {one.path} and {two.path}{more}; an answer cannot tell them "
            'apart: put their folders before their names by --namesakes-by-path (`namesakes = "path"` under [router]), '
            "keep the first of each name by --skip-namesakes, or leave some out by `exclude`"
        )


def _clashes(listed: Sequence[ListedSkill], first: dict[str, ListedSkill]) -> Iterator[tuple[ListedSkill, ListedSkill]]:
    """Each skill whose name an earlier one has, as hosts compare names: NFKC, without regard to case."""
    for skill in listed:
        earlier = first.setdefault(name_key(skill.name), skill)
        if earlier is not skill:
            yield earlier, skill


def _names(names: Collection[str]) -> str:
    found = list(names)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(_one_line(name)[:80] for name in found[:_SHOWN]) + more


MAX_ENTRIES = 200_000
MAX_REVISION_BYTES = 16 * 2**20
_READ = frozenset((".gitignore", "skill-health.toml", "pyproject.toml", *plugins.FILES))
_LINK = b"120000"


class _Blob(NamedTuple):
    """A file of a tree: its mode, object id, size in bytes and path relative to the top of the repository."""

    mode: bytes
    oid: bytes
    size: int
    path: str


@contextmanager
def collection_at(
    root: str, config: Config, revision: str, paths: Sequence[str] = (), references: bool = False
) -> Iterator[tuple[NamedCollection, str]]:
    """The skills below `root` at a revision, as `read_collection` would have found them, and the root they lie in.

    `paths` are what was asked for, relative to the root (all of it where there are none). The tree is laid out in a
    temporary folder with the skills' texts and, with `references`, their Markdown files, and with stand-ins for all
    other files; it is gone afterwards. Nothing of the repository is run, and its index and working tree are left alone.
    There are no skills where none were there.

    Raises UsageError outside a git repository, without git and for a revision that git does not know.
    """
    top = git_top(root)
    if top is None:
        raise UsageError(f"{root} is in no git repository, so there is no revision {revision!r} of it")
    repository = open_repository(top)
    commit = repository.resolve_commit(revision)
    inner = os.path.relpath(root, top).replace(os.sep, "/")
    with TemporaryDirectory(prefix="skill-health-") as folder:
        base = os.path.realpath(folder)
        place = os.path.normpath(os.path.join(base, inner))
        _lay_out(repository, commit, "" if inner == "." else inner, base, references)
        _mark(repository, root, base, place)
        wanted = [os.path.normpath(os.path.join(place, path)) for path in paths or (".",)]
        there = [path for path in wanted if is_there(path, links=False)]
        if there:
            yield read_collection(discover(there, config, place), config.router.namesakes)[1], place
        else:
            yield NamedCollection(), place


def _mark(repository: GitRepository, root: str, base: str, place: str) -> None:
    """Mark the copies of the repository's top and of the root as such, so that they are searched as those are."""
    os.makedirs(os.path.join(base, ".git", "info"))
    done = repository.run("rev-parse", "--git-path", "info/exclude")
    exclude = read_small(os.path.join(repository.top, os.fsdecode(done.output.rstrip(b"\n"))))
    with open(os.path.join(base, ".git", "info", "exclude"), "wb") as file:
        file.write(exclude or b"")
    if is_certain(root) and os.path.isdir(place) and not is_certain(place):
        with open(os.path.join(place, "skill-health.toml"), "wb"):
            pass


def _lay_out(repository: GitRepository, commit: str, inner: str, base: str, references: bool) -> None:
    """Write what is below `inner` in a commit, and ignore files and manifests beside it, into the folder `base`.

    A file that nobody reads holds its object id, so that equal files are equal and others are not.
    """

    def is_read(blob: _Blob) -> bool:
        return _is_read(blob) or (references and blob.size <= MAX_BYTES and is_markdown(blob.path))

    blobs = [blob for blob in _tree(repository, commit) if _is_wanted(blob.path, inner)]
    read = [blob for blob in blobs if blob.mode == _LINK or is_read(blob)]
    texts = dict(zip((blob.oid for blob in read), _contents(repository, read), strict=True))
    # Links come last, so that nothing is written through one.
    for blob in sorted(blobs, key=lambda blob: (blob.mode == _LINK, blob.path)):
        target = os.path.join(base, blob.path)
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if blob.mode == _LINK:
                os.symlink(os.fsdecode(texts[blob.oid]), target)
            else:
                with open(target, "xb") as file:
                    file.write(texts[blob.oid] if is_read(blob) else blob.oid)
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot lay out {blob.path} of that revision: {error}") from None
    _drop_escaping(base, [os.path.join(base, blob.path) for blob in blobs if blob.mode == _LINK])


def _is_wanted(path: str, inner: str) -> bool:
    parts = path.split("/")
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        return False
    return not inner or path.startswith(inner + "/") or parts[-1] in (".gitignore", *plugins.FILES)


def _is_read(blob: _Blob) -> bool:
    name = blob.path.rpartition("/")[2]
    return blob.size <= MAX_REVISION_BYTES and (is_skill_name(name) or name in _READ)


def _drop_escaping(base: str, links: Sequence[str]) -> None:
    """Remove the symbolic links that lead out of the folder: what they name is not of that revision."""
    for link in links:
        if not os.path.realpath(link).startswith(base + os.sep):
            os.unlink(link)


def _tree(repository: GitRepository, commit: str) -> Iterator[_Blob]:
    """Every file and link of a commit, submodules left out."""
    done = repository.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
    if done.code:
        raise UsageError(f"git cannot list the files of {commit[:12]}: {done.reason}")
    entries = [entry for entry in done.output.split(b"\0") if entry]
    if len(entries) > MAX_ENTRIES:
        raise UsageError(f"{len(entries):,} files at that revision; {MAX_ENTRIES:,} can be looked at")
    for entry in entries:
        head, _, path = entry.partition(b"\t")
        mode, kind, oid, size = head.split()
        if not size.isdigit() and kind == b"blob":
            raise UsageError(f"git lacks the contents of {os.fsdecode(path)} at {commit[:12]}: fetch them first")
        if kind == b"blob":
            yield _Blob(mode, oid, int(size), os.fsdecode(path))


def _contents(repository: GitRepository, blobs: Sequence[_Blob]) -> Iterator[bytes]:
    """The bytes of blobs, in their order."""
    done = repository.run("cat-file", "--batch", given=b"".join(blob.oid + b"\n" for blob in blobs))
    at = 0
    for blob in blobs:
        head, _, _ = done.output[at : at + 200].partition(b"\n")
        if done.code or head.split()[1:2] != [b"blob"]:
            raise UsageError(f"git lacks the contents of {blob.path}: {done.reason}")
        start = at + len(head) + 1
        yield done.output[start : start + blob.size]
        at = start + blob.size + 1
