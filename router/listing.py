"""Skills -> what a host shows a model of them: the catalogue that every router ranks."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from skill_health.bench.collection import UNREADABLE as UNREADABLE_KINDS
from skill_health.bench.collection import Names, plain_name
from skill_health.core.errors import UsageError
from skill_health.core.files import MAX_BYTES, blake2b
from skill_health.discovery.hosts import OMITTED, Host, simulate
from skill_health.router.records import NONE, Catalogue, ListedSkill
from skill_health.rules.frontmatter._shared import below_templates
from skill_health.rules.routing._groups import name_key
from skill_health.skill.model import Skill
from skill_health.skill.sections import governing, outermost, roles_of
from skill_health.text.near import nearest

FULL = "full"
HIDDEN, UNREADABLE = "hidden", "unreadable"
_STRICT = frozenset(("colon-trap", "yaml-error", "tab-indent", "not-a-mapping"))
_SHOWN = 3


def catalogue(
    skills: Sequence[Skill],
    listing: str = FULL,
    hosts: Sequence[Host] = (),
    names: Mapping[str, Names] = MappingProxyType({}),
) -> Catalogue:
    """List skills as "full" (every description whole) or as the host of this key does, in the order of their paths.

    `names` are those that they are listed by, by the path of each; the plain ones where nothing is said.

    As hosts do, a skill without a description is listed by its name, and by its folder's where it declares none.
    Those with `disable-model-invocation: true` (state "hidden"), those whose file cannot be read ("unreadable") and
    those that the host's budget leaves out ("omitted") are in `omitted`. White space in names and descriptions is
    collapsed.

    Raises UsageError for an unknown listing, for two skills of one name and for a skill that is called "none": answers
    could not tell them apart.
    """
    host = _host(listing, hosts)
    entries = [(skill, _listed(skill, names)) for skill in sorted(skills, key=lambda skill: skill.path)]
    _distinct([listed for _, listed in entries])
    states = {listed.path: state for skill, listed in entries if (state := _absent(skill))}
    candidates = [listed for _, listed in entries if listed.path not in states]
    shown = {listed.path: listed for listed in candidates}
    if host:
        pairs = [(listed.name, listed.description) for listed in candidates]
        for listed, result in zip(candidates, simulate(pairs, host).skills, strict=True):
            if result.state == OMITTED:
                states[listed.path] = OMITTED
            shown[listed.path] = replace(listed, state=result.state, text=listed.description[: result.chars])
    return Catalogue(
        shown=tuple(shown[listed.path] for _, listed in entries if listed.path not in states),
        listing=listing,
        omitted=tuple(
            replace(listed, state=states[listed.path], text="") for _, listed in entries if listed.path in states
        ),
    )


def catalogue_digest(catalogue: Catalogue) -> str:
    """A hash of what is shown, names and texts in their order: 32 hexadecimal digits."""
    shown = json.dumps([[skill.name, skill.text] for skill in catalogue.shown], ensure_ascii=True)
    return blake2b(shown.encode("ascii"), digest_size=16).hexdigest()


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
    return tuple(f"{_names(names)}: {what}" for names, what in groups if names)


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


def _listed(skill: Skill, names: Mapping[str, Names]) -> ListedSkill:
    body = "\n".join(skill.lines[skill.body.first_line - 1 :])[:MAX_BYTES].strip()
    own, description = names.get(skill.path) or Names(plain_name(skill)), _one_line(skill.description)
    return ListedSkill(own.listed, description, FULL, description, body, when_to_use(skill), skill.path, own.others)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _absent(skill: Skill) -> str:
    """Why no host lists a skill; "" where hosts do."""
    if any(defect.kind in UNREADABLE_KINDS for defect in skill.defects):
        return UNREADABLE
    flag = skill.field("disable-model-invocation")
    return HIDDEN if flag is not None and flag.value is True else ""


def _host(listing: str, hosts: Sequence[Host]) -> Host | None:
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
    reserved = first.get(NONE)
    if reserved:
        raise UsageError(f"{reserved.path}: a skill must not be called {reserved.name!r} here, the answer for no skill")
    if clashes:
        one, two = clashes[0]
        rest = len(clashes) - 1
        more = f" (and {rest} more such pair{'s' * (rest != 1)})" if rest else ""
        raise UsageError(
            f"two skills are called {one.name[:80]!r}: {one.path} and {two.path}{more}; an answer cannot tell them "
            'apart: keep the first of each name by --skip-namesakes (`namesakes = "skip"` under [router]), or leave '
            "some out by `exclude`"
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
