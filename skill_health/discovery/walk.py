"""One bounded walk over folders that belong to somebody else: skills, the files beside them, and links to follow later.

Nothing here raises for what is on the disk: what cannot be read is a warning or a skill with a `problem`.
"""

from typing import NamedTuple

from skill_health.discovery.ignores import Patterns, read_patterns
from skill_health.discovery.listing import (
    Listing,
    drop_ignored,
    examine,
    has_skill,
    is_foreign,
    list_folder,
    may_hold_skills,
    skill_name,
)

MAX_ENTRIES = 200_000
MAX_DEPTH = 24


class SkillFolder(NamedTuple):
    """A folder that holds a SKILL.md. `real` is its folder without symbolic links; both are relative to the root."""

    folder: str
    real: str
    file_name: str
    link: bool
    problem: str
    size: int
    files: list[str]

    @property
    def path(self) -> str:
        """The SKILL.md's path relative to the root."""
        return f"{self.folder}/{self.file_name}" if self.folder else self.file_name


class Walk:
    """What has been seen so far below `root`. `links` are symbolic links to folders, not entered."""

    def __init__(self, root: str, exclude: Patterns | None = None) -> None:
        self.root, self.exclude = root, exclude
        self.found: list[SkillFolder] = []
        self.links: list[str] = []
        self.warnings: list[str] = []
        self.seen: set[str] = set()
        self.entries = 0
        self.deep = False

    def full(self) -> bool:
        """Whether the bound of the walk is reached."""
        return self.entries > MAX_ENTRIES


def scan(walk: Walk, start: str, stack: tuple[Patterns, ...], real: str | None = None, siblings: bool = False) -> None:
    """Walk everything below `start` (relative to the root), which itself is entered whatever its name.

    `stack` are the ignore files above it, the nearest first; `real` is where `start` leads if it is a symbolic link.
    With `siblings` only skills that stand right in `start` are entered, quietly.
    """
    origin = start if real is None else real
    pending: list[tuple[str, int, tuple[Patterns, ...], SkillFolder | None]] = [(start, 0, stack, None)]
    while pending and not walk.full():
        folder, depth, stack, owner = pending.pop()
        place = origin + folder[len(start) :]
        if place in walk.seen:
            continue
        directory = f"{walk.root}/{folder}" if folder else walk.root
        listing = _listing(walk, directory, folder, quiet=siblings)
        if listing is None or (depth and is_foreign(directory, listing.files)):
            continue
        prefix = f"{folder}/" if folder else ""
        if ".gitignore" in listing.files and ".gitignore" not in listing.linked:
            stack = _with_gitignore(walk, directory, prefix, stack)
        rules = (walk.exclude, *stack) if walk.exclude else stack
        if rules:
            drop_ignored(listing, rules, prefix)
        name = skill_name(listing)
        if name:
            problem, size = examine(f"{directory}/{name}")
            owner = SkillFolder(folder, place, name, name in listing.linked, problem, size, [])
            walk.found.append(owner)
        if owner:
            inner = prefix[len(owner.folder) + 1 :] if owner.folder else prefix
            owner.files.extend([inner + file for file in listing.files if file != name])
        elif siblings and depth:
            continue
        walk.seen.add(place)
        links = [link for link in listing.links if link != name and may_hold_skills(link)]
        if siblings and not depth:
            links = [link for link in links if has_skill(f"{directory}/{link}")]
        walk.links.extend([prefix + link for link in links])
        below = [child for child in listing.folders if child != name and may_hold_skills(child)]
        below.sort(reverse=True)
        if depth < MAX_DEPTH:
            pending.extend([(prefix + child, depth + 1, stack, owner) for child in below])
        elif below and not walk.deep:
            walk.deep = True
            walk.warnings.append(f"folders over {MAX_DEPTH} levels deep are not searched, such as {prefix}{below[-1]}")


def _listing(walk: Walk, directory: str, folder: str, quiet: bool) -> Listing | None:
    """What a folder holds; None, with a warning, where it cannot be read or the bound of the walk is reached."""
    try:
        listing = list_folder(directory, MAX_ENTRIES - walk.entries)
    except OSError as error:
        if not quiet:
            walk.warnings.append(f"cannot read {folder or directory}: {error.strerror or error}; it is not searched")
        return None
    walk.entries += listing.size
    if not walk.full():
        return listing
    walk.warnings.append(
        f"stopped at {folder or directory} after {MAX_ENTRIES:,} files and folders: name the folders that hold skills, "
        "or exclude others in the configuration"
    )
    return None


def _with_gitignore(walk: Walk, directory: str, prefix: str, stack: tuple[Patterns, ...]) -> tuple[Patterns, ...]:
    """The ignore files that hold in a folder with a `.gitignore` of its own, that one ahead."""
    try:
        patterns = read_patterns(f"{directory}/.gitignore", cut=len(prefix))
    except OSError as error:
        walk.warnings.append(f"cannot read {prefix}.gitignore: {error.strerror or error}; nothing is ignored by it")
        return stack
    return (patterns, *stack) if patterns else stack
