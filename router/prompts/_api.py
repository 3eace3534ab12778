"""What a format of labelled prompts is given and what it gives back.

A format is a module of this package whose name has no underscore in front. It has

    TITLE                       what its records are called, in the plural
    fits(look) -> bool          whether a file of this look is its own; of all formats at most one may say so
    read(file, known)           the records of the file, in its order: a Prompt, or a BadRecord where one is no record;
                                JsonProblem, before the first of them, where the file as a whole cannot be read

and is pure: it opens nothing and prints nothing. Names of skills in a Prompt are as the record spells them; ids may be
"" where the record has none. `_settle` resolves both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from skill_health.registries.records import BadRecord
from skill_health.router.records import Catalogue, Prompt

MAX_BYTES = 64 * 2**20
MAX_TEXT = 100_000
MAX_ID = 200
CLASH = "Decide which label is right and remove the other."
"""The help where two labels contradict each other."""

Found = Prompt | BadRecord


@dataclass(frozen=True, slots=True)
class FileShape:
    """What a file looks like, whatever its name.

    `kind` is "list", "object", "lines" (JSON lines), "table" (CSV), "yaml", "code" (tests in JavaScript) or "".
    `keys` are those of its first records, or the columns of a table, which `delimiter` separates, or those of the one
    object of an "object" or a "yaml" file, or what code calls and declares; `inner` are those of the first records in a
    list of it.
    """

    kind: str = ""
    keys: frozenset[str] = frozenset()
    delimiter: str = ","
    inner: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FieldMap:
    """What `--map` says: the fields of a file's records by our names for them, `prompt` and `skill` among them."""

    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A file of prompts.

    `path` is how it is named in messages; `skill` is the one in whose folder it lies, or "". `problem` says why `raw`
    could not be read. `named` is False for a file that was found by its name below a folder: such a one may well hold
    something else.
    """

    path: str
    raw: bytes = b""
    skill: str = ""
    problem: str = ""
    named: bool = True


@dataclass(frozen=True, slots=True)
class Known:
    """The skills that a label may name.

    `aliases` maps what else skills are called, such as the name without that of a plugin, or the folder's name or
    path, to those that are called so; a label must mean one. `folders` maps the path of a folder, relative to the root.
    """

    names: frozenset[str] = frozenset()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)

    def name_of(self, label: object) -> str | None:
        """The skill that a label names; None where there is none of that name, or more than one."""
        if not isinstance(label, str):
            return None
        label = " ".join(label.split())
        meant = self.aliases.get(label, ())
        return label if label in self.names else meant[0] if len(meant) == 1 else None

    def name_near(self, label: object, own: str) -> str | None:
        """The skill that a label names in a file beside the skill `own`, which is meant before its namesakes."""
        return own if own and own in self.several(label) else self.name_of(label)

    def several(self, label: object) -> tuple[str, ...]:
        """The skills that a label may mean; () where it means one, or none."""
        label = " ".join(label.split()) if isinstance(label, str) else ""
        meant = () if label in self.names else self.aliases.get(label, ())
        return meant if len(meant) > 1 else ()

    def owner(self, path: str | None, place: str) -> str:
        """The skill that a file speaks of: the one in whose folder it lies, else one that a folder above it names.

        `path` is relative to the root, None for a file outside it; `place` is absolute, with `/`. The innermost folder
        decides; "" where none names a skill.
        """
        parts = path.split("/")[:-1] if path is not None else []
        for end in range(len(parts), 0, -1):
            if found := self.folders.get("/".join(parts[:end])):
                return found
        above = reversed(parts if path is not None else place.split("/")[:-1])
        named = next((name for part in above if (name := self.name_of(part))), "")
        return named or (self.folders.get("", "") if path is not None else "")


def known_skills(catalogue: Catalogue) -> Known:
    """What labels may name in a catalogue; skills that are not shown are known, too."""
    skills = (*catalogue.shown, *catalogue.omitted)
    names = frozenset(skill.name for skill in skills)
    folders = {skill.path.rpartition("/")[0]: skill.name for skill in skills}
    by_name = _grouped((alias, skill.name) for skill in skills for alias in skill.aliases)
    by_folder = _grouped((folder.rpartition("/")[2], name) for folder, name in folders.items())
    by_path = _grouped(folders.items())
    return Known(names, {**by_path, **by_folder, **by_name}, folders)


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for alias, name in pairs:
        if alias:
            found.setdefault(alias, {})[name] = None
    return {alias: tuple(names) for alias, names in found.items()}


class PromptFormat(Protocol):
    """A format's module."""

    TITLE: str

    def fits(self, look: FileShape) -> bool:
        """Whether a file of this look is its own."""

    def read(self, file: PromptFile, known: Known) -> Iterator[Found]:
        """The records of the file, in its order."""
