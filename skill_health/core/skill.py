"""What a skill is, once read: frozen values with positions and no behaviour beyond looking things up.

Named tuples rather than dataclasses: a hook pays for each class at every start, and these cost an eighth.

Lines and columns count from 1 and are those of the file on disk; columns count characters.
A character offset into a text counts from 0.
"""

from typing import Any, NamedTuple

from skill_health.core.document import (
    CodeBlock,
    CodeSpan,
    Comment,
    Document,
    Heading,
    Link,
    ListItem,
    MarkdownTable,
    Prose,
    Section,
    Span,
)

__all__ = [
    "CodeBlock",
    "CodeSpan",
    "Comment",
    "Defect",
    "Document",
    "Field",
    "Frontmatter",
    "Heading",
    "Link",
    "ListItem",
    "MarkdownTable",
    "Prose",
    "Section",
    "Skill",
    "Span",
]


class Defect(NamedTuple):
    """Something wrong with the bytes of a file, found while reading it.

    `kind` is a stable word (see `parse.DEFECTS`); `help` says what to do.
    """

    kind: str
    span: Span
    message: str
    help: str = ""


class Field(NamedTuple):
    """One `key: value` of a frontmatter mapping.

    `value` is JSON-safe (a date is its ISO text). `style` is how YAML spelled it: plain, single,
    double, literal, folded, sequence or mapping; `tag` what YAML takes it for: str, int, float,
    bool, null, date, seq or map. `fields` are the entries where the value is a mapping.
    """

    key: str
    value: Any
    key_span: Span
    span: Span
    style: str = "plain"
    tag: str = "str"
    fields: "tuple[Field, ...]" = ()


class Frontmatter(NamedTuple):
    """The YAML block at the head of a SKILL.md.

    `span` covers the lines between the fences. `valid` is False where strict YAML rejects the
    block; `fields` then hold what a line-by-line reading could save.
    """

    span: Span
    fields: tuple[Field, ...]
    valid: bool = True

    def get(self, key: str) -> Field | None:
        """The field with this exact key; the last one, as YAML loaders have it, where it is repeated."""
        found: Field | None = None
        for entry in self.fields:
            if entry.key == key:
                found = entry
        return found


class Skill(NamedTuple):
    """One skill as its folder holds it.

    `path` is SKILL.md's and `folder` its directory's, both with `/` and relative to the root of
    the collection (`folder` is "" when SKILL.md stands in the root itself). `folder_name` is
    the real name of the directory and `file_name` that of the file (`SKILL.md`, `skill.md`, ...).
    `text` is the decoded file with `\\n` for every line ending and no byte-order mark; `newline` is what the
    file really uses. `files` are the other files of the folder, relative to it, sorted.
    """

    path: str
    folder: str
    folder_name: str
    file_name: str
    text: str = ""
    newline: str = "\n"
    encoding: str = "utf-8"
    lines: tuple[str, ...] = ()
    frontmatter: Frontmatter | None = None
    body: Document = Document(())
    files: tuple[str, ...] = ()
    defects: tuple[Defect, ...] = ()

    def field(self, key: str) -> Field | None:
        """The frontmatter field with this key, or None."""
        return self.frontmatter.get(key) if self.frontmatter else None

    def text_of(self, key: str) -> str | None:
        """The value of a field that YAML takes for text, or None."""
        entry = self.field(key)
        return entry.value if entry and isinstance(entry.value, str) else None

    @property
    def name(self) -> str:
        """The declared name; the folder's where none is declared, as hosts have it."""
        return (self.text_of("name") or "").strip() or self.folder_name

    @property
    def description(self) -> str:
        """The declared description, or ""."""
        return self.text_of("description") or ""
