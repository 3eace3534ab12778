"""Compiled nodes -> the text that an agent is given: most severe first, each with its source line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from skill_health.effectiveness.delivery.compile import SEVERITIES, KnowledgeNode, compile_text
from skill_health.skill import frontmatter

NOTE = "Compiled from SKILL.md: the most severe first; [n] is the line there."
_TICKS = "`" * 3


def compiled_passages(text: str) -> tuple[str, tuple[tuple[int, str], ...]]:
    """A SKILL.md compiled: its text for an agent, and each node with its line. The frontmatter stays as it is."""
    lines = text.split("\n")
    first = frontmatter.read(text).first
    nodes = compile_text(lines, first)
    head = "\n".join(lines[: first - 1]).strip()
    body = "\n\n".join(_groups(nodes))
    return "\n\n".join(filter(None, (head, NOTE, body))) + "\n", tuple((node.line, render_node(node)) for node in nodes)


def _groups(nodes: Sequence[KnowledgeNode]) -> Iterator[str]:
    """The nodes below their severities; the steps of one section stay together, where its most severe step is."""
    ranks: dict[tuple[tuple[int, str], ...], int] = {}
    for node in nodes:
        if node.kind == "step":
            ranks[node.section] = min(node.rank, ranks.get(node.section, node.rank))
    placed = [(ranks[node.section] if node.kind == "step" else node.rank, node) for node in nodes]
    for rank, group in groupby(sorted(placed, key=lambda each: (each[0], each[1].line)), key=lambda each: each[0]):
        parts = [f"## {SEVERITIES[rank].upper()}"]
        for section, members in groupby((node for _, node in group), key=lambda node: node.section):
            title = " > ".join(title for _, title in section)
            parts.append("\n".join([*([f"[{title}]"] if title else []), *map(render_node, members)]))
        yield "\n\n".join(parts)


def render_node(node: KnowledgeNode) -> str:
    """One node: its kind and text, then what belongs to it."""
    name = f"step {node.number}".strip() if node.kind == "step" else node.kind
    lines = [f"- [{node.line}] {'' if node.kind == 'note' else f'{name}: '}{node.text}".rstrip()]
    if node.alternative is not None:
        lines.append(f"  [{node.alternative.line}] correct: {node.alternative.text}")
    lines += [f"  [{each.line}] {'constraint' if each.severity == 'plain' else each.severity}: {each.text}" for each in node.constraints]  # fmt: skip
    for code in node.examples:
        fence = _TICKS
        while fence in code.text:
            fence += "`"
        lines += [f"  [{code.line}] example:", f"{fence}{code.info}", code.text, fence]
    return "\n".join(lines)
