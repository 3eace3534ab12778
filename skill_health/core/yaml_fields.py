"""YAML text -> fields with positions, through PyYAML's nodes; bounded against anchors and depth."""

from __future__ import annotations

import math
from typing import Any

import yaml

from skill_health.core.patterns import lazy
from skill_health.core.skill import Defect, Field, Span

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ANCHOR = lazy(r"(?:^|[\s\[{,:-])([&*])[^\s,\[\]{}]")
_NESTED = lazy(r"[\[{]")
_STYLES = {None: "plain", "": "plain", "'": "single", '"': "double", "|": "literal", ">": "folded"}
_MAX_NODES = 10_000
_MAX_DEPTH = 50
_MAX_NUMBER = 1_000
"""Characters of a number; a longer one takes Python long to read, or has more digits than it writes out."""


class _Bounded(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def load(text: str, line_offset: int) -> tuple[tuple[Field, ...], list[Defect], yaml.YAMLError | None]:
    """Read a YAML mapping: (fields, defects, the error of strict YAML or None). `line_offset` is added to lines."""
    if len(_NESTED.findall(text)) > 2_000:
        return (), [Defect("too-deep", Span(line_offset, 1), "the frontmatter is nested too deeply to read")], None
    try:
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
            # PyYAML lets all of these escape where a value does not fit its tag, such as `!!int ""`.
            return text, "str"
        finite = not isinstance(value, float) or math.isfinite(value)
        return (value if finite else text), tag
    return text, "date" if tag == "timestamp" else "str"
