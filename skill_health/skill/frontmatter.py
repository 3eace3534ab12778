"""The YAML block at the head of a SKILL.md or task.md, read with python-frontmatter: where it is and what it says.

Everything that reads or writes whole frontmatter goes through `HANDLER`. Code that must preserve the bytes of a user's
file (the edits of `--fix`, a placebo's head) uses the positions it found. The library is on the hook's path, too, but
costs a run only 2 to 3 ms, since its imports are already loaded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler

from skill_health.skill.model import Defect, Field, Frontmatter, Span
from skill_health.text.patterns import lazy

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ANCHOR = lazy(r"(?:^|[\s\[{,:-])([&*])[^\s,\[\]{}]")
# Each level of nesting needs one of these.
_OPENING = lazy(r"[\[{:?-]")
_MAX_RECURSION = 400
_STYLES = {None: "plain", "": "plain", "'": "single", '"': "double", "|": "literal", ">": "folded"}
_MAX_NODES = 10_000
_MAX_DEPTH = 50
_MAX_NUMBER = 1_000
"""The most characters of a number; a longer one is slow for Python to read, or has more digits than it will print."""


class _Bounded(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def load(text: str, line_offset: int) -> tuple[tuple[Field, ...], list[Defect], yaml.YAMLError | None]:
    """Read a YAML mapping: (fields, defects, the error of strict YAML or None). `line_offset` is added to lines."""
    try:
        # What composes is recursive, in C where it can be: a deep document would overflow its stack.
        if len(_OPENING.findall(text)) > _MAX_RECURSION and _is_deep(text):
            return (), [Defect("too-deep", Span(line_offset, 1), "the frontmatter is nested too deeply to read")], None
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        return (), [], error
    except (RecursionError, ValueError):
        return (), [Defect("too-deep", Span(line_offset, 1), "the frontmatter is nested too deeply to read")], None
    reader = _Reader(line_offset)
    if "&" in text or "*" in text:
        reader.anchors(text)
    if not isinstance(node, yaml.MappingNode):
        kind = "list" if isinstance(node, yaml.SequenceNode) else "single value"
        message = f"the frontmatter is a {kind}, not a mapping of keys to values"
        return (), [Defect("not-a-mapping", Span(line_offset + 1, 1), message)], None
    try:
        fields = reader.mapping(node, 0)
    except _Bounded as stop:
        return (), [*reader.defects, Defect(stop.kind, Span(line_offset + 1, 1), str(stop))], None
    return fields, reader.defects, None


def _is_deep(text: str) -> bool:
    """Whether collections are nested deeper than we read, by the events of the parser, which does not recurse."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                return True
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return False


class _Reader:
    def __init__(self, offset: int) -> None:
        self.offset = offset + 1
        self.defects: list[Defect] = []
        self.nodes = 0

    def span(self, node: yaml.Node | yaml.Token) -> Span:
        start, end = node.start_mark, node.end_mark
        return Span(start.line + self.offset, start.column + 1, end.line + self.offset, end.column + 1)

    def anchors(self, text: str) -> None:
        if not _ANCHOR.search(text):
            return
        for token in yaml.scan(text, Loader=_LOADER):
            if isinstance(token, (yaml.AnchorToken, yaml.AliasToken)):
                message = "YAML anchors and aliases: few hosts expand them"
                self.defects.append(Defect("alias", self.span(token), message))
                return

    def mapping(self, node: yaml.MappingNode, depth: int) -> tuple[Field, ...]:
        seen: dict[str, int] = {}
        fields = []
        for key_node, value_node in node.value:
            key, span = self.key(key_node), self.span(key_node)
            if key in seen:
                message = f"'{key}' stands twice, at line {seen[key]} and line {span.line}; the last one counts"
                self.defects.append(Defect("duplicate-key", span, message, "keep one of the two"))
            seen.setdefault(key, span.line)
            value, tag = self.value(value_node, depth + 1)
            nested = ()
            if isinstance(value_node, yaml.MappingNode):
                nested, style = tuple(value.pop("\0fields")), "mapping"
            elif isinstance(value_node, yaml.SequenceNode):
                style = "sequence"
            else:
                style = _STYLES.get(value_node.style, "plain")
            fields.append(Field(key, value, span, self.span(value_node), style, tag, nested))
        return tuple(fields)

    def key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self.defects.append(Defect("non-string-key", self.span(node), "a key is not plain text"))
            return "?"
        if not node.tag.endswith((":str", ":merge")):
            message = f"YAML does not read the key '{node.value}' as text"
            self.defects.append(Defect("non-string-key", self.span(node), message, "put the key in quotes"))
        return str(node.value)

    def value(self, node: yaml.Node, depth: int) -> tuple[Any, str]:
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise _Bounded("alias-bomb", f"the frontmatter expands to more than {_MAX_NODES:,} values")
        if depth > _MAX_DEPTH:
            raise _Bounded("too-deep", "the frontmatter is nested too deeply to read")
        if isinstance(node, yaml.MappingNode):
            fields = self.mapping(node, depth)
            return {**{f.key: f.value for f in fields}, "\0fields": fields}, "map"
        if isinstance(node, yaml.SequenceNode):
            return [_clean(self.value(child, depth + 1)[0]) for child in node.value], "seq"
        assert isinstance(node, yaml.ScalarNode)
        return _scalar(node)


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        value.pop("\0fields", None)
    return value


def _scalar(node: yaml.ScalarNode) -> tuple[Any, str]:
    tag = node.tag.rpartition(":")[2]
    text = node.value
    if tag in ("int", "float", "bool", "null"):
        if len(text) > _MAX_NUMBER:
            return text, tag
        try:
            value = yaml.constructor.SafeConstructor().construct_object(node)
        except (ArithmeticError, LookupError, ValueError, yaml.YAMLError):
            # PyYAML lets all of these escape if a value does not fit its tag, such as `!!int ""`.
            return text, "str"
        finite = not isinstance(value, float) or math.isfinite(value)
        return (value if finite else text), tag
    return text, "date" if tag == "timestamp" else "str"


# (part of PyYAML's or libyaml's text, what it means, remedy); the first match is used.
_MEANINGS = (
    (
        "mapping values are not allowed",
        "a colon followed by a space inside an unquoted value",
        "put the value in quotes",
    ),
    ("cannot start any token", "a value starts with a character that YAML reserves", "put the value in quotes"),
    (
        "unexpected end of stream",
        "a quote that is opened and never closed",
        "close the quote, or double the ones inside",
    ),
    (
        "unexpected document indicator",
        "a quote that is opened and never closed",
        "close the quote, or double the ones inside",
    ),
    (
        "could not find expected ':'",
        "a line that is neither `key: value` nor an indented continuation",
        "indent the line below its key, or put the value in quotes",
    ),
    (
        "did not find expected key",
        "text after a closing quote, or a line with the wrong indentation",
        "quote the whole value and align the keys",
    ),
    (
        "expected <block end>",
        "text after a closing quote, or a line with the wrong indentation",
        "quote the whole value and align the keys",
    ),
    ("did not find expected '-'", "a list whose items are not aligned", "align the items of the list"),
    (
        "expected ',' or",
        "a list or mapping in brackets that is never closed, or text after it",
        "close the bracket, or put the value in quotes",
    ),
    ("undefined alias", "a value that starts with * is an alias in YAML", "put the value in quotes"),
    (
        "alphabetic or numeric character",
        "a value that starts with & or * is an anchor or alias in YAML",
        "put the value in quotes",
    ),
    ("unknown escape", "a backslash inside double quotes", "double the backslash, or use single quotes"),
    ("control characters", "a control character", "delete the character"),
    ("special characters", "a control character", "delete the character"),
    ("expected a single document", "a second YAML document starts inside the frontmatter", "remove the extra `---`"),
    ("indentation", "wrong indentation of a block value", "indent the lines below the key by two spaces"),
)
# If something is opened and never closed, the place to fix is where it opens.
_OPENED_EARLIER = ("unexpected end of stream", "unexpected document indicator", "expected ',' or")


def explain(error: Any, block: list[str], offset: int) -> Defect:
    """Turn PyYAML's exception into a defect. `block` is the lines read, `offset` the file line of the first."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if any(part in str(error) for part in _OPENED_EARLIER):
        mark = getattr(error, "context_mark", None) or mark
    index = min(mark.line, len(block) - 1) if mark else 0
    col = mark.column + 1 if mark and mark.line < len(block) else 1
    text = f"{getattr(error, 'problem', '') or ''} {getattr(error, 'context', '') or ''} {error}"
    line = block[index] if block else ""
    if line[: len(line) - len(line.lstrip())].count("\t") or "'\\t'" in text:
        span = Span(index + offset, 1, index + offset, 2)
        return Defect("tab-indent", span, "YAML does not allow tabs for indentation", "indent with spaces")
    meaning, remedy = next(((m, r) for part, m, r in _MEANINGS if part in text), ("not valid YAML", "fix the line"))
    span = Span(index + offset, col, index + offset, col + 1)
    return Defect("yaml-error", span, f"the frontmatter is not valid YAML: {meaning}", remedy)


_NOT_PLAIN = "\"'[{|>&*!%@`#"


def _runs(block: list[str]) -> list[tuple[int, int]]:
    """Top-level entries as (first line, last line): a key at the margin and the indented lines below it."""
    runs: list[tuple[int, int]] = []
    for i, line in enumerate(block):
        if line[:1] not in ("", " ", "\t", "#", "-") and ":" in line:
            runs.append((i, i))
        elif runs and (line[:1] in (" ", "\t") and line.strip()):
            runs[-1] = (runs[-1][0], i)
    return runs


def quote_traps(block: list[str]) -> tuple[list[str], dict[int, int]]:
    """Quote each top-level plain value that contains `: ` (or ends in a colon); the line count stays the same."""
    saved, traps = list(block), {}
    for first, last in _runs(block):
        key, _, rest = block[first].partition(":")
        value = " ".join([rest.strip(), *(line.strip() for line in block[first + 1 : last + 1])]).strip()
        if not rest.strip() or rest.strip()[0] in _NOT_PLAIN or not (": " in value or value.endswith(":")):
            continue
        saved[first : last + 1] = [f"{key}: '{value.replace(chr(39), chr(39) * 2)}'"] + [""] * (last - first)
        traps[first] = last
    return saved, traps


def trap_field(block: list[str], first: int, last: int, offset: int) -> Field:
    """The field of an entry as spelled; `offset` is the file line of the block's first line."""
    key, _, rest = block[first].partition(":")
    value = " ".join([rest.strip(), *(line.strip() for line in block[first + 1 : last + 1])]).strip()
    line, col = first + offset, len(block[first]) - len(rest.lstrip()) + 1
    span = Span(line, col, last + offset, len(block[last].rstrip()) + 1)
    return Field(key.strip(), value, Span(line, 1, line, len(key) + 1), span)


def trap_defect(entry: Field) -> Defect:
    """The defect of a field with a colon trap."""
    at = entry.value.find(": ")
    col = entry.span.col + at if at >= 0 and entry.span.line == entry.span.end_line else entry.span.col
    message = f"the value of '{entry.key}' holds an unquoted colon, so the frontmatter is not valid YAML"
    remedy = f"put the value of '{entry.key}' in quotes"
    return Defect("colon-trap", Span(entry.span.line, col, entry.span.line, col + 1), message, remedy)


def line_fields(block: list[str], offset: int) -> list[Field]:
    """Every top-level entry as spelled, whatever else is in the block."""
    fields = []
    for first, last in _runs(block):
        key = block[first].partition(":")[0]
        if key.strip() and len(key) <= 64:
            trapped = trap_field(block, first, last, offset)
            fields.append(Field(trapped.key, trapped.value.strip("\"'"), trapped.key_span, trapped.span))
    return fields


MAX_CHARACTERS = 1 << 18


class Block(str):
    """The text between two fences. `span` covers its lines in the file, `first` is the line after them."""

    span: Span = Span(1, 1)
    first: int = 1
    defects: tuple[Defect, ...] = ()


class Metadata(dict[str, Any]):
    """The values by key, as python-frontmatter wants them, plus the fields with their positions."""

    def __init__(self, matter: Frontmatter, defects: list[Defect]) -> None:
        super().__init__((field.key, field.value) for field in matter.fields)
        self.matter, self.defects = matter, defects


class NoFrontmatter(ValueError):
    """The file has no frontmatter; python-frontmatter expects a ValueError. `defect` says why."""

    def __init__(self, defect: Defect) -> None:
        super().__init__(defect.message)
        self.defect = defect


class FrontmatterHandler(YAMLHandler):
    """YAML between two `---` lines: keeps positions, constructs nothing from tags, and never raises.

    Given this handler, as we always do, python-frontmatter tries none of its own (which include JSON and TOML).
    """

    # Theirs also accepts four hyphens as a fence.
    FM_BOUNDARY = re.compile(r"^---[^\S\n]*$", re.MULTILINE)

    def split(self, text: str) -> tuple[Block, str]:
        """The block and the text after it. Without a closing fence the block ends where it cannot continue.

        Raises:
            NoFrontmatter: if there is none.
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
        """Read a block, line by line if strict YAML rejects it. In plain text, lines count from 1."""
        lines = fm.removesuffix("\n").split("\n")
        span = fm.span if isinstance(fm, Block) else Span(1, 1, len(lines), len(lines[-1]) + 1)
        # PyYAML's parser in C accepts only a plain string.
        return Metadata(*_read(str(fm), lines, span))

    def export(self, metadata: dict[str, object], **options: object) -> str:
        """Write YAML in key order, each plain value on one line."""
        return super().export(metadata, **{"sort_keys": False, "width": MAX_CHARACTERS, **options})


HANDLER = FrontmatterHandler()


class FrontmatterReading(NamedTuple):
    """A file's frontmatter (None without any), the line on which `content` begins, and all defects."""

    matter: Frontmatter | None
    first: int
    content: str
    defects: list[Defect]


def read(text: str) -> FrontmatterReading:
    """Read the frontmatter of a text that is not blank.

    This calls the handler's steps itself: `frontmatter.parse` calls them too, but strips the text first, which loses
    positions, and `frontmatter.loads` passes keys on as argument names, so a key `content` raises.
    """
    try:
        block, content = HANDLER.split(text)
    except NoFrontmatter as none:
        return FrontmatterReading(None, 1, text, [none.defect])
    metadata = HANDLER.load(block)
    return FrontmatterReading(metadata.matter, block.first, content, [*block.defects, *metadata.defects])


_LONGEST_DOMAIN = 80


def declared_domain(matter: Frontmatter | None) -> str:
    """What a skill says in metadata.domain, metadata.category or category, on one line; "" for nothing."""
    if matter is None:
        return ""
    within = matter.get("metadata")
    inner = within.value if within and isinstance(within.value, Mapping) else {}
    top = matter.get("category")
    for value in (inner.get("domain"), inner.get("category"), top.value if top else None):
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())[:_LONGEST_DOMAIN]
    return ""


def write(metadata: Mapping[str, object], content: str) -> str:
    """Write a file with this frontmatter, followed by this text."""
    post = frontmatter.Post(content, HANDLER)
    post.metadata.update(metadata)
    return frontmatter.dumps(post) + "\n"


def _fences(lines: list[str]) -> tuple[int, int, bool, list[Defect]]:
    """Indexes of the opening fence and of the line that ends the block, whether that is a fence, and the defects."""
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
    """Read the fields of a block, given whole and as lines, which `span` covers."""
    fence = span.line - 1
    if not any(line.strip() and not line.lstrip().startswith("#") for line in block):
        return Frontmatter(span, ()), [Defect("empty-frontmatter", Span(fence, 1), "the frontmatter is empty")]
    if len(text) > MAX_CHARACTERS:
        message = f"{len(text):,} characters of frontmatter: not read"
        return Frontmatter(span, (), valid=False), [Defect("too-deep", Span(fence, 1), message)]
    fields, defects, error = load(text, fence)
    if error is None:
        return Frontmatter(span, fields), defects
    saved, traps = quote_traps(block)
    if traps:
        fields, defects, again = load("\n".join(saved) + "\n", fence)
        if again is None:
            fixed = {trap: trap_field(block, trap, last, span.line) for trap, last in traps.items()}
            fields = tuple(fixed.get(f.key_span.line - span.line, f) for f in fields)
            return Frontmatter(span, fields, valid=False), defects + [trap_defect(f) for f in fixed.values()]
    fields = tuple(line_fields(block, span.line))
    return Frontmatter(span, fields, valid=False), [*defects, explain(error, block, span.line)]
