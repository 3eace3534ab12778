"""What a Markdown text is, once read: its parts with their positions.

Lines and columns count from 1 and are those of the file on disk; columns count characters.
A character offset into a text counts from 0.
"""

from typing import NamedTuple


class Span(NamedTuple):
    """A half-open region of a file: it ends before (end_line, end_col)."""

    line: int
    col: int
    end_line: int = 0
    end_col: int = 0


class Heading(NamedTuple):
    """An ATX or Setext heading. `title` is the source text without its markers; `slug` is its anchor."""

    level: int
    title: str
    slug: str
    line: int
    col: int


class Section(NamedTuple):
    """A heading and what it governs: up to the line before the next heading of its level or above."""

    heading: Heading
    line: int
    end_line: int


class Link(NamedTuple):
    """A Markdown link, image or autolink. `target` is the destination, percent-decoding not applied."""

    kind: str
    target: str
    text: str
    line: int
    col: int
    end_col: int


class CodeSpan(NamedTuple):
    """Inline code: the text between the back-ticks and where it starts."""

    text: str
    line: int
    col: int


class CodeBlock(NamedTuple):
    """A fenced or indented code block: `line` to `end_line` inclusive, fences counted.

    `info` is the first word of the info string. An unclosed fence runs to the end of its container.
    """

    info: str
    text: str
    line: int
    end_line: int
    fenced: bool = True
    closed: bool = True


class Comment(NamedTuple):
    """An HTML comment: what stands between `<!--` and `-->`."""

    text: str
    line: int
    col: int
    end_line: int


class Prose(NamedTuple):
    """A run of inline text: a paragraph, a heading or a table cell.

    `text` is the source with container markers removed and its lines joined by newlines;
    `plain` has the same length and positions, with inline code, link targets and HTML blanked.
    `unit` numbers what belongs together: all paragraphs of one list item, all cells of one row,
    else the paragraph itself. `kind` is paragraph, heading or cell; `item` is true in a list item.
    """

    kind: str
    text: str
    plain: str
    line: int
    unit: int
    item: bool = False


class ListItem(NamedTuple):
    """One item of a list; `depth` is 1 for a top-level list."""

    line: int
    end_line: int
    depth: int
    ordered: bool


class MarkdownTable(NamedTuple):
    """A table: its first and last line and the number of rows without the header."""

    line: int
    end_line: int
    rows: int


class Document(NamedTuple):
    """A parsed Markdown text. `lines` are those of the whole file, so positions index into them.

    `anchors` are the explicit ones (`<a id="...">`); a heading's own is its slug.
    """

    lines: tuple[str, ...]
    first_line: int = 1
    headings: tuple[Heading, ...] = ()
    sections: tuple[Section, ...] = ()
    links: tuple[Link, ...] = ()
    codes: tuple[CodeSpan, ...] = ()
    blocks: tuple[CodeBlock, ...] = ()
    comments: tuple[Comment, ...] = ()
    prose: tuple[Prose, ...] = ()
    items: tuple[ListItem, ...] = ()
    tables: tuple[MarkdownTable, ...] = ()
    anchors: tuple[str, ...] = ()

    def section_at(self, line: int) -> Section | None:
        """The innermost section that holds this line."""
        found = None
        for section in self.sections:
            if section.line <= line <= section.end_line:
                found = section
        return found

    def position(self, prose: Prose, offset: int) -> tuple[int, int]:
        """Where a character of `prose.text` stands in the file: (line, column).

        The markers of quotes and lists are not part of the text, so its line is looked up
        inside the source line that the parser named.
        """
        before = prose.text[:offset]
        nth = before.count("\n")
        start = before.rfind("\n") + 1
        end = prose.text.find("\n", offset)
        segment = prose.text[start : end if end >= 0 else len(prose.text)]
        line = min(prose.line + nth, len(self.lines))
        source = self.lines[line - 1] if self.lines else ""
        at = source.find(segment)
        if at < 0:
            at = max(0, source.find(segment[:16])) if segment else 0
        return line, at + offset - start + 1


def sections_of(headings: list[Heading], last_line: int) -> list[Section]:
    """The sections that these headings, in the order of the text, open in a file of so many lines."""
    ends = [last_line] * len(headings)
    stack: list[int] = []
    for i, heading in enumerate(headings):
        while stack and headings[stack[-1]].level >= heading.level:
            ends[stack.pop()] = heading.line - 1
        stack.append(i)
    return [Section(heading, heading.line, end) for heading, end in zip(headings, ends, strict=True)]
