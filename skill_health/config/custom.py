"""The rules that a repository adds in its configuration, as values: `[[custom.rules]]`.

A rule asks one thing of each skill: a `KeyCheck`, `PatternCheck`, `SectionCheck`, `LimitCheck` or `FilesCheck`. These
checks, as conditions, say which skills it is about. Zero, "" and an empty list mean that nothing is asked.
"""

from typing import NamedTuple


class KeyCheck(NamedTuple):
    """What a frontmatter key must be: `metadata.author`, `metadata.*` (each entry), `tags[]` (each item), "" (all)."""

    path: str = ""
    required: bool = False
    forbidden: bool = False
    types: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    pattern: str = ""
    equals: str = ""
    only: tuple[str, ...] = ()
    unique: bool = False
    min_chars: int = 0
    max_chars: int = 0
    min_items: int = 0
    max_items: int = 0


class PatternCheck(NamedTuple):
    """What a text must have (`require`, `at_least` times), must not have (`forbid`), or whose mentions must `exist`."""

    require: str = ""
    at_least: int = 1
    forbid: str = ""
    find: str = ""
    exist: tuple[str, ...] = ()
    within: str = "file"
    section: str = ""
    files: tuple[str, ...] = ()
    exempt: str = ""
    skip_code: bool = False


class SectionCheck(NamedTuple):
    """A heading that a text must have, or must not, by its title or a pattern; `order` of titles."""

    title: str = ""
    pattern: str = ""
    level: int = 0
    forbidden: bool = False
    order: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class LimitCheck(NamedTuple):
    """How long a text may be, or must be at least."""

    within: str = "file"
    section: str = ""
    files: tuple[str, ...] = ()
    min_lines: int = 0
    max_lines: int = 0
    min_words: int = 0
    max_words: int = 0
    min_chars: int = 0
    max_chars: int = 0
    max_tokens: int = 0


class FilesCheck(NamedTuple):
    """Which files a skill's folder must have, may have and must not have; `folder` is a pattern of its name."""

    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    folder: str = ""
    max_depth: int = 0
    max_files: int = 0


CustomCheck = KeyCheck | PatternCheck | SectionCheck | LimitCheck | FilesCheck
CHECKS: dict[str, type[CustomCheck]] = {
    "key": KeyCheck, "pattern": PatternCheck, "section": SectionCheck, "limit": LimitCheck, "files": FilesCheck,
}  # fmt: skip
"""The kinds of checks, by the key that they stand under."""


class CustomRule(NamedTuple):
    """One rule of a configuration. `check` stands under the key of its kind; `when` and `unless` are conditions."""

    check: CustomCheck
    code: str = ""
    name: str = ""
    severity: str = "warning"
    message: str = ""
    help: str = ""
    paths: tuple[str, ...] = ()
    when: tuple[CustomCheck, ...] = ()
    unless: tuple[CustomCheck, ...] = ()

    @property
    def repository_files(self) -> tuple[str, ...]:
        """The files outside of skills that the rule looks at, with placeholders."""
        texts = [each for each in (self.check, *self.when, *self.unless) if isinstance(each, PatternCheck | LimitCheck)]
        return tuple(path for each in texts if each.within == "repository" for path in each.files)
