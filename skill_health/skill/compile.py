"""A skill's text -> typed nodes with their source lines; no sentence is dropped, and none is changed.

A statement is a sentence, a heading that nothing else carries, or a row of a table. It is a rule where it holds a modal
word, an anti-pattern where it forbids something, paired with what to do instead where the text says that, and a note
otherwise. An item of a numbered list is a step, and all else in the item are its constraints. Blocks of code are
examples of what stands before them. What the parser of Markdown has no name for, such as HTML, is a note line by line.
What an agent is given of them begins with the most severe, each with its source line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from skill_health.skill import frontmatter
from skill_health.skill.markdown import parse_document
from skill_health.skill.model import CodeBlock, Document, Prose
from skill_health.text.patterns import lazy

NodeKind = Literal["rule", "anti-pattern", "step", "example", "note"]
Severity = Literal["must", "should", "may", "plain"]
SEVERITIES: tuple[Severity, ...] = ("must", "should", "may", "plain")
"""From the most severe, after the words of RFC 2119."""
_Title = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence as it stands in the source, without the markers of lists and quotes, and the line it begins on."""

    text: str
    line: int
    severity: Severity = "plain"


@dataclass(frozen=True, slots=True)
class CodeExample:
    """A block of code with the words behind its fence."""

    text: str
    line: int
    info: str = ""


@dataclass(frozen=True, slots=True)
class KnowledgeNode:
    """One node. `section` are the headings above it, each with its line.

    `alternative` is what to do in the place of an anti-pattern, `constraints` what holds for a step, `examples` the
    code that follows either. `number` is a step's, as it stands there. The kind "example" has no text of its own: code
    that no statement introduces. `group` is the paragraph, or of a step the line of its item.
    """

    kind: NodeKind
    severity: Severity
    line: int
    text: str
    section: tuple[_Title, ...] = ()
    alternative: Statement | None = None
    constraints: tuple[Statement, ...] = ()
    examples: tuple[CodeExample, ...] = ()
    number: str = ""
    group: int = 0

    @property
    def rank(self) -> int:
        """0 for the most severe, with all that belongs to it."""
        return min(SEVERITIES.index(each) for each in (self.severity, *(part.severity for part in self.constraints)))


_WORDS: tuple[tuple[Severity, str], ...] = (
    (
        "must",
        r"\b(?:must|never|always|required|mandatory|shall|forbidden|prohibited|critical|important)\b"
        r"|(?:^|[.,;:!?()\u2013\u2014-]\s*|\b(?:and|but|then|or|so|please)\s+)(?:do not|don[\u2019']t)\b",
    ),
    ("should", r"\b(?:should|shouldn[\u2019']t|recommended|ensure|make sure|be sure|avoid)\b"),
    ("may", r"\b(?:may|optional|optionally|consider|prefer|preferably|preferred)\b"),
)
_MODALS = tuple((severity, lazy(f"(?i){pattern}")) for severity, pattern in _WORDS)
_FORBIDS = lazy(
    r"(?i)\b(?:never|must not|mustn[\u2019']t|should not|shouldn[\u2019']t|shall not|avoid|forbidden|prohibited)\b"
    r"|(?:^|[.,;:!?()\u2013\u2014-]\s*|\b(?:and|but|then|or|so|please)\s+)(?:do not|don[\u2019']t)\b"
    r"|^(?:\u274c|\u2717|\u2718|\U0001f6ab|(?:bad|wrong|anti-?pattern)\b)"
)
_TURN = lazy(r"(?i)[;,:\u2013\u2014]\s+(?=(?:but\s+)?(?:instead|rather|use|prefer)\b)")
_RATHER = lazy(r"(?i)\b(?:instead of|rather than)\b")
_IMPERATIVE = lazy(r"(?i)^(?:use|prefer|choose|write|call|run|return|pass|set|do|take|make|add|put|keep)\b")
_INSTEAD = lazy(r"(?i)^(?:\u2705|\u2713|\u2714|(?:good|correct|right|instead|rather)\b)")
_INSTEAD_HERE = lazy(r"(?i)^(?:use|prefer|always)\b")
_STOP = lazy(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u2019\u201d)\]*_]*\s+(?=\S)")
_SHORT = frozenset(("e.g", "i.e", "etc", "vs", "cf", "no", "approx", "fig", "resp", "incl", "dr", "mr", "ms"))
_MARKUP = "*_~#> \t\n\"'([-"
_NUMBER = lazy(r"[ \t>*+-]*(\d{1,9}[.)])[ \t]")
_NOTHING = frozenset("-=*_ \t>#|:`~+.")
_WRONG_COLUMN = lazy(
    r"(?i)\b(?:avoid|bad|wrong|don[\u2019']t|do not|never|incorrect|anti-?pattern|instead of)\b|\u274c"
)
_RIGHT_COLUMN = lazy(r"(?i)^(?:do|use|good|right|correct|instead|prefer|better|fix|alternative)\b|\u2705")


def severity_of(plain: str) -> Severity:
    """How strong a statement is, by the strongest modal word outside code."""
    bare = plain.lstrip(_MARKUP)
    return next((severity for severity, pattern in _MODALS if pattern.search(bare)), "plain")


def compile_text(lines: Sequence[str], first_line: int = 1) -> tuple[KnowledgeNode, ...]:
    """The nodes of a Markdown text in the order of the source. `lines` are those of the whole file."""
    body = parse_document(tuple(lines), first_line)
    titles, steps = _titles(body), _steps(body)
    made: list[KnowledgeNode] = []
    parts: dict[int, list[Statement]] = {}
    codes: dict[int, list[CodeExample]] = {}
    for line, block in _blocks(body):
        section = titles[line] if line < len(titles) else ()
        step = steps[line] if line < len(steps) else 0
        if isinstance(block, CodeBlock):
            _show(made, codes, block, body.lines, section, step)
        elif isinstance(block, _Row):
            made.append(_row(block, section))
        else:
            _tell(made, parts, block, body.lines, section, step)
    made = [
        replace(node, constraints=tuple(parts.get(at, ())), examples=tuple(codes.get(at, ())))
        for at, node in enumerate(made)
    ]
    carried = {title for node in made for title in node.section}
    made += [
        _node(Statement(each.title, each.line, severity_of(each.title)), titles[each.line][:-1])
        for each in body.headings
        if (each.line, each.title) not in carried
    ]
    return tuple(sorted(_paired(made), key=lambda node: node.line))


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a table: its cells, the titles of their columns, and the line as it stands there."""

    line: int
    cells: tuple[str, ...]
    plain: str
    titles: tuple[str, ...]
    raw: str


def _blocks(body: Document) -> list[tuple[int, Prose | CodeBlock | _Row]]:
    """All that says something but headings, by lines; what the parser has no name for is prose, a line each."""
    found: list[tuple[int, Prose | CodeBlock | _Row]] = [(each.line, each) for each in body.blocks]
    cells: dict[int, list[Prose]] = {}
    covered: set[int] = set()
    for each in body.prose:
        covered.update(range(each.line, each.line + each.text.count("\n") + 1))
        if each.kind == "cell":
            cells.setdefault(each.line, []).append(each)
        elif each.kind != "heading":
            found.append((each.line, each))
    for block in body.blocks:
        covered.update(range(block.line, block.end_line + 1))
    for table in body.tables:
        head = tuple(cell.text for cell in cells.get(table.line, ()))
        for line in range(table.line, table.end_line + 1):
            if line in cells:
                raw = body.lines[line - 1].strip() if line <= len(body.lines) else ""
                texts, plain = tuple(cell.text for cell in cells[line]), " ".join(cell.plain for cell in cells[line])
                found.append((line, _Row(line, texts, plain, () if line == table.line else head, raw)))
    for line in range(body.first_line, len(body.lines) + 1):
        text = body.lines[line - 1].strip()
        if line not in covered and not set(text) <= _NOTHING:
            found.append((line, Prose("paragraph", text, text, line, -line)))
    return sorted(found, key=lambda each: each[0])


def _titles(body: Document) -> list[tuple[_Title, ...]]:
    """For each line the headings that it stands below, each with its own line."""
    found: list[tuple[_Title, ...]] = []
    path: list[tuple[int, _Title]] = []
    headings = {each.line: each for each in body.headings}
    current: tuple[_Title, ...] = ()
    for line in range(len(body.lines) + 1):
        if (heading := headings.get(line)) is not None:
            while path and path[-1][0] >= heading.level:
                path.pop()
            path.append((heading.level, (heading.line, heading.title)))
            current = tuple(title for _, title in path)
        found.append(current)
    return found


def _steps(body: Document) -> list[int]:
    """For each line the first line of the outermost numbered item that it stands in, 0 for none."""
    found = [0] * (len(body.lines) + 1)
    end = 0
    for item in sorted(body.items, key=lambda item: (item.line, item.depth)):
        if item.ordered and item.line > end:
            end = item.end_line
            found[item.line : end + 1] = [item.line] * (min(end, len(body.lines)) - item.line + 1)
    return found


def sentences(prose: Prose) -> Iterator[Statement]:
    """The sentences of a text, which together are all of it but the white space between them.

    A full stop in code or behind an abbreviation ends none.
    """
    text, plain, start, line, counted = prose.text, prose.plain, 0, prose.line, 0
    ends = [match.end() for match in _STOP.finditer(text) if _ends(text, plain, match.start(), match.end())]
    for end in (*ends, len(text)):
        said = text[start:end]
        lead = start + len(said) - len(said.lstrip())
        line += text.count("\n", counted, lead)
        counted = lead
        if said.strip():
            yield Statement(" ".join(said.split()), line, severity_of(plain[lead:end]))
        start = end


def _ends(text: str, plain: str, stop: int, after: int) -> bool:
    if plain[stop] != text[stop] or text[after].islower():
        return False
    word = text[max(0, stop - 8) : stop].rpartition(" ")[2].lstrip("(").lower()
    return word not in _SHORT and not word.isdigit()


def _node(said: Statement, section: tuple[_Title, ...]) -> KnowledgeNode:
    """A rule, an anti-pattern with what it says itself to do instead, or a note."""
    bare = said.text.lstrip(_MARKUP)
    rather = _RATHER.search(said.text)
    if rather and rather.start() and (_IMPERATIVE.match(bare) or said.severity != "plain"):
        right = replace(said, text=said.text[: rather.start()].rstrip())
        return KnowledgeNode("anti-pattern", said.severity, said.line, said.text[rather.start() :], section, right)
    if _FORBIDS.search(bare):
        turn = next((each for each in _TURN.finditer(said.text) if each.start()), None)
        at = turn.end() if turn else len(said.text)
        instead = Statement(said.text[at:], said.line, said.severity) if turn else None
        return KnowledgeNode("anti-pattern", said.severity, said.line, said.text[:at].rstrip(), section, instead)
    return KnowledgeNode("note" if said.severity == "plain" else "rule", said.severity, said.line, said.text, section)


def _tell(
    made: list[KnowledgeNode],
    parts: dict[int, list[Statement]],
    prose: Prose,
    lines: Sequence[str],
    section: tuple[_Title, ...],
    step: int,
) -> None:
    """Add what a paragraph says: nodes of its own, or to the step whose item it stands in."""
    for said in sentences(prose):
        if not step:
            made.append(replace(_node(said, section), group=prose.unit))
        elif made and made[-1].kind == "step" and made[-1].group == step:
            marker = _NUMBER.match(lines[said.line - 1]) if said.line == prose.line and said.line != step else None
            part = replace(said, text=f"{marker.group(1)} {said.text}" if marker else said.text)
            parts.setdefault(len(made) - 1, []).append(part)
        else:
            marker = _NUMBER.match(lines[step - 1])
            made.append(
                KnowledgeNode(
                    "step", said.severity, said.line, said.text, section,
                    number=marker.group(1) if marker else "", group=step,
                )
            )  # fmt: skip


def _show(
    made: list[KnowledgeNode],
    codes: dict[int, list[CodeExample]],
    block: CodeBlock,
    lines: Sequence[str],
    section: tuple[_Title, ...],
    step: int,
) -> None:
    """Add code to what it follows in its section, or as a node of its own."""
    fence = lines[block.line - 1].lstrip(" \t>") if block.fenced and block.line <= len(lines) else ""
    info = fence[fence.find(fence[0]) :].lstrip("`~").strip() if fence[:1] in ("`", "~") else block.info
    code = CodeExample(block.text.rstrip("\n"), block.line, info)
    last = made[-1] if made else None
    if last is None or last.section != section or (step and last.group != step):
        made.append(KnowledgeNode("example", "plain", block.line, "", section))
    codes.setdefault(len(made) - 1, []).append(code)


def _row(row: _Row, section: tuple[_Title, ...]) -> KnowledgeNode:
    """A row of a table: an anti-pattern where its columns say so."""
    whole = Statement(row.raw.strip("|").strip(), row.line, severity_of(row.plain))
    if "".join("".join(row.cells).split()) != "".join(row.raw.replace("|", "").split()):
        return _node(whole, section)
    wrong = [at for at, title in enumerate(row.titles) if at < len(row.cells) and _WRONG_COLUMN.search(title)]
    right = [at for at, title in enumerate(row.titles) if at < len(row.cells) and _RIGHT_COLUMN.search(title)]
    right = [at for at in right if at not in wrong]
    if len(wrong) != 1 or not right or not row.cells[wrong[0]].strip():
        return _node(whole, section)
    other = " | ".join(cell for at, cell in enumerate(row.cells) if at != right[0])
    return KnowledgeNode(
        "anti-pattern", whole.severity, row.line, other, section, Statement(row.cells[right[0]], row.line)
    )


def _paired(made: list[KnowledgeNode]) -> Iterator[KnowledgeNode]:
    """The nodes, where an anti-pattern takes in the statement behind it that says what to do instead."""
    last: KnowledgeNode | None = None
    for node in made:
        if last is not None and _is_answer(last, node):
            right = Statement(node.text, node.line, node.severity)
            last = replace(last, alternative=right, examples=(*last.examples, *node.examples))
            continue
        if last is not None:
            yield last
        last = node
    if last is not None:
        yield last


def _is_answer(wrong: KnowledgeNode, node: KnowledgeNode) -> bool:
    if wrong.kind != "anti-pattern" or wrong.alternative is not None or wrong.section != node.section:
        return False
    if node.kind not in ("rule", "note") or not node.text:
        return False
    bare = node.text.lstrip(_MARKUP)
    return bool(_INSTEAD.match(bare) or (node.group == wrong.group and _INSTEAD_HERE.match(bare)))


_NOTE = "Compiled from SKILL.md: the most severe first; [n] is the line there."
_TICKS = "`" * 3


def compiled_passages(text: str) -> tuple[str, tuple[tuple[int, str], ...]]:
    """A SKILL.md compiled: its text for an agent, and each node with its line. The frontmatter stays as it is."""
    lines = text.split("\n")
    first = frontmatter.read(text).first
    nodes = compile_text(lines, first)
    head = "\n".join(lines[: first - 1]).strip()
    body = "\n\n".join(_groups(nodes))
    return "\n\n".join(filter(None, (head, _NOTE, body))) + "\n", tuple(
        (node.line, render_node(node)) for node in nodes
    )


def _groups(nodes: Sequence[KnowledgeNode]) -> Iterator[str]:
    """The nodes below their severities; the steps of one section stay together, where its most severe step is."""
    ranks: dict[tuple[_Title, ...], int] = {}
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
