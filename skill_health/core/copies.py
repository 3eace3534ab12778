"""Which skills are one skill in several places: symbolic links to a folder, and byte-identical folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from skill_health.core.ignores import ignored_within
from skill_health.core.listing import has_skill
from skill_health.core.roots import ignores_above, relative
from skill_health.core.walk import SkillFolder, Walk, scan

MAX_BYTES = 64 * 1024 * 1024
MAX_ALIASES = 100_000
SHOWN = 5


def follow_links(walk: Walk) -> dict[str, list[str]]:
    """Symbolic links to folders -> further paths by the path of the skill that they lead to.

    A link into a part of the root that was not walked is walked in its place, once; a link to a folder above itself and
    one out of the root never are. Adds to `walk`.
    """
    inside: list[tuple[str, str]] = []
    outside: list[str] = []
    while walk.links and not walk.full():
        links, walk.links = sorted(walk.links), []
        for link in links:
            place = os.path.realpath(f"{walk.root}/{link}")
            target = relative(place, walk.root)
            if target is None:
                if has_skill(place) or os.path.basename(link) in ("skill", "skills"):
                    outside.append(link)
            elif not _leads_up(walk.root, link, target):
                inside.append((link, target))
                if target not in walk.seen and not (walk.exclude and ignored_within((walk.exclude,), target, True)):
                    scan(walk, link, ignores_above(walk.root, link), real=target)
    if outside:
        more = f" and {len(outside) - SHOWN} more" if len(outside) > SHOWN else ""
        walk.warnings.append(
            f"not followed, because they lead out of {walk.root}: {', '.join(outside[:SHOWN])}{more}; "
            "name the folders they lead to if they are to be checked"
        )
    return _aliases(walk, inside)


def _aliases(walk: Walk, links: list[tuple[str, str]]) -> dict[str, list[str]]:
    """The paths that (link, where it leads) give to the skills below, by the path of the skill."""
    below: dict[str, list[SkillFolder]] = {}
    for found in walk.found if links else ():
        parts = found.real.split("/")
        for n in range(1, len(parts) + 1):
            below.setdefault("/".join(parts[:n]), []).append(found)
    aliases: dict[str, list[str]] = {}
    count = 0
    for link, target in links:
        for found in below.get(target, ()):
            if found.folder != link and not found.folder.startswith(link + "/"):
                aliases.setdefault(found.path, []).append(f"{link}{found.real[len(target) :]}/{found.file_name}")
                count += 1
        if count > MAX_ALIASES:
            walk.warnings.append(f"skills are linked from more than {MAX_ALIASES:,} places: the rest are not named")
            break
    return aliases


def _leads_up(root: str, link: str, target: str) -> bool:
    """Whether a link leads to a folder that it stands in."""
    above = relative(os.path.realpath(os.path.join(root, os.path.dirname(link))), root) or ""
    return not target or above == target or above.startswith(target + "/")


def identical(found: Iterable[SkillFolder], root: str) -> Iterator[list[SkillFolder]]:
    """Group skills that are byte for byte the same folder under the same name; the one that stands for all comes first.

    Sizes and lists of files are compared first, so that few files are read. A folder of more than `MAX_BYTES` is not
    compared and stands for itself.
    """
    alike: dict[tuple[object, ...], list[SkillFolder]] = {}
    for one in found:
        name = os.path.basename(one.folder) if one.folder else ""
        key = (one.path,) if one.problem else (name, one.file_name, one.size, tuple(one.files))
        alike.setdefault(key, []).append(one)
    for group in alike.values():
        if len(group) == 1:
            yield group
            continue
        same: dict[tuple[object, ...], list[SkillFolder]] = {}
        for one in group:
            same.setdefault(_digest(one, root), []).append(one)
        for members in same.values():
            yield sorted(members, key=lambda one: (one.link, one.path))


def _digest(one: SkillFolder, root: str) -> tuple[object, ...]:
    """What two folders with the same list of files have in common only if they are byte-identical."""
    import hashlib

    folder = os.path.join(root, one.folder)
    total = hashlib.blake2b(digest_size=32)
    try:
        sizes = [os.path.getsize(os.path.join(folder, name)) for name in one.files]
        if one.size + sum(sizes) > MAX_BYTES:
            return (one.path,)
        for name in (one.file_name, *one.files):
            with open(os.path.join(folder, name), "rb") as handle:
                total.update(hashlib.file_digest(handle, "blake2b").digest())
    except OSError:
        return (one.path,)
    return (total.digest(),)
