"""The YAML block at the head of a SKILL.md or task.md, by python-frontmatter: where it is and what it says.

Everything that reads or writes whole frontmatter goes through `HANDLER`. What must keep the bytes of a user's file (the
edits of `--fix`, a placebo's head) goes by the positions that it found. The library is on the hook's path, too: a run
pays 2 to 3 ms for it, since what it imports is there already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import frontmatter
from frontmatter.default_handlers import YAMLHandler

from skill_health.core import yaml_errors, yaml_fields, yaml_lines
from skill_health.core.skill import Defect, Frontmatter, Span

MAX_CHARACTERS = 1 << 18


class Block(str):
    """The text between two fences. `span` covers its lines in the file, `first` is the line behind them."""

    span: Span = Span(1, 1)
    first: int = 1
    defects: tuple[Defect, ...] = ()


class Metadata(dict[str, Any]):
    """The values by their keys, as python-frontmatter wants them, and behind them the fields with their positions."""

    def __init__(self, matter: Frontmatter, defects: list[Defect]) -> None:
        super().__init__((field.key, field.value) for field in matter.fields)
        self.matter, self.defects = matter, defects


class NoFrontmatter(ValueError):
    """There is none; a ValueError is how python-frontmatter is told so. `defect` says why."""

    def __init__(self, defect: Defect) -> None:
        super().__init__(defect.message)
        self.defect = defect


class FrontmatterHandler(YAMLHandler):
    """YAML between two lines `---`: positions are kept, nothing is constructed from tags, and nothing raises.

    Where it is passed, as we always do, python-frontmatter tries none of its own handlers (JSON and TOML among them).
    """

    # Theirs takes four hyphens for a fence, too.
    FM_BOUNDARY = re.compile(r"^---[^\S\n]*$", re.MULTILINE)

    def split(self, text: str) -> tuple[Block, str]:
        """The block and the text behind it. Without a closing fence the block ends where it can no longer go on.

        Raises:
            NoFrontmatter: where there is none.
        """
        lines = text.split("\n")
        start, end, closed, defects = _fences(lines)
        inner = lines[start + 1 : end]
        block = Block("\n".join(inner) + "\n" if inner else "")
        block.span = Span(start + 2, 1, end, len(lines[end - 1]) + 1)
        block.first = end + 2 if closed else end + 1
        block.defects = tuple(defects)
        return block, "\n".join(lines[block.first - 1 :])

    def load(self, fm: str, **_options: object) -> Metadata:
        """Read a block, and line by line where strict YAML rejects it. In plain text, lines count from 1."""
        lines = fm.removesuffix("\n").split("\n")
        span = fm.span if isinstance(fm, Block) else Span(1, 1, len(lines), len(lines[-1]) + 1)
        # PyYAML's parser in C takes nothing but a plain string.
        return Metadata(*_read(str(fm), lines, span))

    def export(self, metadata: dict[str, object], **options: object) -> str:
        """YAML in the order of the keys, each plain value on one line."""
        return super().export(metadata, **{"sort_keys": False, "width": MAX_CHARACTERS, **options})


HANDLER = FrontmatterHandler()


class FrontmatterReading(NamedTuple):
    """What a file's frontmatter says (None without any), the line that `content` begins at, and all defects."""

    matter: Frontmatter | None
    first: int
    content: str
    defects: list[Defect]


def read(text: str) -> FrontmatterReading:
    """Read the frontmatter of a text that holds more than blanks.

    By the handler's own steps: `frontmatter.parse` takes them too, but strips the text first, by which positions are
    lost, and `frontmatter.loads` passes keys on as names of arguments, so that a key `content` raises.
    """
    try:
        block, content = HANDLER.split(text)
    except NoFrontmatter as none:
        return FrontmatterReading(None, 1, text, [none.defect])
    metadata = HANDLER.load(block)
    return FrontmatterReading(metadata.matter, block.first, content, [*block.defects, *metadata.defects])


def write(metadata: Mapping[str, object], content: str) -> str:
    """A file with this frontmatter and this text behind it."""
    post = frontmatter.Post(content, HANDLER)
    post.metadata.update(metadata)
    return frontmatter.dumps(post) + "\n"


def _fences(lines: list[str]) -> tuple[int, int, bool, list[Defect]]:
    """Indexes of the opening fence and of the line that ends the block, whether that is a fence, and defects."""
    start = next((i for i, line in enumerate(lines[:50]) if line.strip()), -1)
    if start < 0 or lines[start].rstrip() != "---":
        later = next((i for i, line in enumerate(lines[:30]) if line.rstrip() == "---"), -1)
        if later > 0 and any(_is_key(line, "name", "description") for line in lines[later + 1 : later + 12]):
            message = f"text stands before the frontmatter, which starts at line {later + 1}"
            return *_close(lines, later)[:3], [Defect("leading-text", Span(start + 1, 1), message)]
        raise NoFrontmatter(Defect("no-frontmatter", Span(1, 1), "the file does not start with a frontmatter block"))
    opening, closing, closed, defects = _close(lines, start)
    if start > 0:
        defects.append(Defect("leading-text", Span(1, 1), "blank lines stand before the frontmatter"))
    return opening, closing, closed, defects


def _close(lines: list[str], start: int) -> tuple[int, int, bool, list[Defect]]:
    for i in range(start + 1, len(lines)):
        if lines[i].startswith("---") and lines[i].rstrip() == "---":
            return start, i, True, []
    end = start + 1
    while end < len(lines) and lines[end].strip() and not lines[end].startswith("#"):
        end += 1
    message = "the frontmatter opened here is never closed by a line of its own with ---"
    return start, end, False, [Defect("unclosed-frontmatter", Span(start + 1, 1, start + 1, 4), message)]


def _is_key(line: str, *keys: str) -> bool:
    return any(line.startswith(f"{key}:") for key in keys)


def _read(text: str, block: list[str], span: Span) -> tuple[Frontmatter, list[Defect]]:
    """The fields of a block, given whole and as lines, which `span` covers."""
    fence = span.line - 1
    if not any(line.strip() and not line.lstrip().startswith("#") for line in block):
        return Frontmatter(span, ()), [Defect("empty-frontmatter", Span(fence, 1), "the frontmatter is empty")]
    if len(text) > MAX_CHARACTERS:
        message = f"{len(text):,} characters of frontmatter: not read"
        return Frontmatter(span, (), valid=False), [Defect("too-deep", Span(fence, 1), message)]
    fields, defects, error = yaml_fields.load(text, fence)
    if error is None:
        return Frontmatter(span, fields), defects
    saved, traps = yaml_lines.quote_traps(block)
    if traps:
        fields, defects, again = yaml_fields.load("\n".join(saved) + "\n", fence)
        if again is None:
            fixed = {trap: yaml_lines.trap_field(block, trap, last, span.line) for trap, last in traps.items()}
            fields = tuple(fixed.get(f.key_span.line - span.line, f) for f in fields)
            return Frontmatter(span, fields, valid=False), defects + [yaml_lines.trap_defect(f) for f in fixed.values()]
    fields = tuple(yaml_lines.line_fields(block, span.line))
    return Frontmatter(span, fields, valid=False), [*defects, yaml_errors.explain(error, block, span.line)]
