"""A skill -> what its texts say, each passage with how much it counts."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from skill_health.needs.model import EvidenceKind, NeedEvidence, Sign
from skill_health.needs.reading.force import SectionUse, hedge, is_conditional, is_negated, roles_by_line
from skill_health.needs.reading.programs import AMBIGUOUS, PLAIN, facts_of
from skill_health.needs.reading.scripts import MAX_SCRIPT, ScriptUse, language_of, uses_of
from skill_health.needs.reading.shell import ShellCommand, read_commands
from skill_health.needs.reading.variables import is_secret
from skill_health.skill.model import CodeBlock, Skill
from skill_health.text.patterns import lazy

ReadText = Callable[[str], str | None]
"""The text of a file by its path relative to the root of the collection; None where it cannot be had."""

SHELLS = frozenset(
    (
        "bash",
        "sh",
        "shell",
        "zsh",
        "console",
        "shell-session",
        "terminal",
        "powershell",
        "pwsh",
        "ps1",
        "cmd",
        "bat",
        "batch",
        "fish",
    )
)
_TARGET = lazy(r"\]\([^)\s]{1,400}\)")
_MOST_SCRIPTS, _MOST_STATEMENTS, _SHOWN = 40, 4_000, 160
_SENTENCE = lazy(r"(?<=[.!?。！？])\s+(?=[A-Z\"'`*\[(0-9]|[^\x00-\x7f])|\n(?=[ \t]{0,16}[-*|])|(?<=[。！？])")
_SCRIPT = lazy(
    r"(?<![\w./])((?:[\w.${}<>~-]{1,60}/){0,8}[\w.-]{1,60}\.(?:py|sh|js|mjs|cjs|ts|rb|ps1|pl|R|bash|php|lua|jl|go|swift|tsx|exs))(?![\w/])"
)
_OWN_IMPORT = lazy(r"(?m)^[ \t]{0,8}(?:from|import)[ \t]+([A-Za-z_]\w*)")
_VARIABLE = lazy(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
_ASSIGNED = lazy(r"(?m)^(?:export )?([A-Z][A-Z0-9]*_[A-Z0-9_]{2,50})=[^=\n]")
_EXPORT = lazy(r"\s*(?:\$ )?export ([A-Z][A-Z0-9_]{2,60})=")
_MAY_RUN = lazy(r"(?:Bash|shell)\(([a-z][\w.+-]{1,40})(?=[ :*)])")
_NOT_RUN = frozenset(
    "tests test __tests__ fixtures examples example templates template node_modules evals eval assets".split()
)


class SkillStatement(NamedTuple):
    """One sentence, heading or cell of the text: in lower case, with the weight that its place and words give it."""

    text: str
    shown: str
    line: int
    role: SectionUse
    weight: float
    kind: str


class PlacedCommand(NamedTuple):
    """A command where it stands: `source` is block, inline or script."""

    command: ShellCommand
    path: str
    line: int
    weight: float
    role: SectionUse
    source: str


class Snippet(NamedTuple):
    """Code in another language than a shell's."""

    language: str
    text: str
    line: int
    role: SectionUse


class PlacedScript(NamedTuple):
    """A bundled script that the text names, what it uses, and where and how strongly the text names it."""

    path: str
    file: str
    runtime: str
    line: int
    weight: float
    runs: bool
    uses: tuple[ScriptUse, ...]


class Declared(NamedTuple):
    """What the frontmatter declares: the words of `compatibility`, required programs and variables, systems, tools."""

    compatibility: str
    programs: tuple[tuple[str, int], ...]
    variables: tuple[tuple[str, int], ...]
    systems: tuple[tuple[str, int], ...]
    tools: tuple[tuple[str, int], ...]
    packages: tuple[tuple[str, int], ...]
    line: int

    @property
    def allowed(self) -> Iterator[tuple[str, int]]:
        """The programs that the declared tools may run, as in `Bash(jq:*)`."""
        for tool, line in self.tools:
            if match := _MAY_RUN.match(tool):
                yield match[1], line


@dataclass(frozen=True)
class SkillReading:
    """All that categories look at. Everything of it is read on first use, once."""

    skill: Skill
    read: ReadText

    @cached_property
    def roles(self) -> list[SectionUse]:
        """The role of each line of SKILL.md, by its number."""
        return roles_by_line(self.skill.body, len(self.skill.lines))

    def role(self, line: int) -> SectionUse:
        """The role of a line."""
        return self.roles[line] if 0 <= line < len(self.roles) else SectionUse.MAIN

    @cached_property
    def about(self) -> str:
        """What the skill says of itself: its description, else how its text begins; in lower case."""
        said = self.skill.description or " ".join(each.plain for each in self.skill.body.prose[:3])
        return said.lower()[:3_000]

    @cached_property
    def about_line(self) -> int:
        """The line of the description."""
        field = self.skill.field("description")
        return field.span.line if field else 1

    @cached_property
    def statements(self) -> tuple[SkillStatement, ...]:
        """The sentences of the description and of the text, in order."""
        return tuple(_statements(self))

    @cached_property
    def _joined(self) -> tuple[str, list[int]]:
        starts, at = [], 0
        for each in self.statements:
            starts.append(at)
            at += len(each.text) + 1
        return "\n".join(each.text for each in self.statements), starts

    def statements_with(self, anchors: Iterable[str]) -> Iterator[SkillStatement]:
        """The statements that contain one of these lower-case literals, in order, each once."""
        joined, starts = self._joined
        found: set[int] = set()
        for anchor in anchors:
            at = joined.find(anchor)
            while at >= 0:
                nth = bisect_right(starts, at) - 1
                found.add(nth)
                after = starts[nth + 1] if nth + 1 < len(starts) else len(joined)
                at = joined.find(anchor, max(after, at + 1))
        yield from (self.statements[nth] for nth in sorted(found))

    @cached_property
    def commands(self) -> tuple[PlacedCommand, ...]:
        """The commands of blocks, inline code and, where the skill runs them, of its scripts."""
        return tuple(_commands(self))

    @cached_property
    def snippets(self) -> tuple[Snippet, ...]:
        """The code blocks in other languages."""
        blocks = (block for block in self.skill.body.blocks if not is_shell(block))
        return tuple(Snippet(each.info.lower(), each.text, each.line, self.role(each.line)) for each in blocks)

    @cached_property
    def scripts(self) -> tuple[PlacedScript, ...]:
        """The bundled scripts that the text names."""
        return tuple(_scripts(self))

    @cached_property
    def exported(self) -> tuple[tuple[str, int, str], ...]:
        """The variables that the skill's own README has the user export: name, line and path."""
        file = next((each for each in self.skill.files if each.lower() == "readme.md"), "")
        path = self.skill.path_of(file)
        text = self.read(path) if file else None
        lines = enumerate((text or "")[:MAX_SCRIPT].split("\n"), 1)
        return tuple((match[1], nth, path) for nth, line in lines if (match := _EXPORT.match(line)))

    @cached_property
    def assigned_secrets(self) -> tuple[tuple[str, int, float], ...]:
        """The secrets that blocks of the text give a value, as files of settings do: name, line and weight."""
        found = []
        for block in self.skill.body.blocks:
            for match in _ASSIGNED.finditer(block.text) if "=" in block.text else ():
                if is_secret(match[1]) and match[1] not in self.optional_names:
                    line = block.line + block.fenced + block.text.count("\n", 0, match.start(1))
                    found.append((match[1], line, self.role(block.line).run))
        return tuple(found)

    @cached_property
    def optional_names(self) -> frozenset[str]:
        """The variables that some sentence, or the head of a list, calls optional."""
        said = self.statements_with(("optional",))
        listed = (
            each for each in self.statements_with(("_",)) if each.weight <= _IN_OPTIONS and each.role is SectionUse.MAIN
        )
        return frozenset(name for each in (*said, *listed) for name in _VARIABLE.findall(each.shown))

    @cached_property
    def declared(self) -> Declared:
        """What the frontmatter declares."""
        return _declared(self.skill)

    def sign(self, weight: float, kind: EvidenceKind, subject: str, line: int, text: str = "", path: str = "") -> Sign:
        """Evidence at a line of SKILL.md, or of another file."""
        if not text and not path:
            text = self.skill.lines[line - 1] if 0 < line <= len(self.skill.lines) else ""
        return Sign(
            weight, NeedEvidence(path or self.skill.path, max(1, line), kind, subject, " ".join(text.split())[:_SHOWN])
        )


class Phrase(NamedTuple):
    """Words to look for: a pattern for a statement in lower case, and literals one of which each match contains."""

    anchors: tuple[str, ...]
    pattern: re.Pattern[str]


def phrase(anchors: str, pattern: str) -> Phrase:
    """A phrase; anchors are separated by `|`."""
    return Phrase(tuple(anchors.split("|")), lazy(pattern))


def signs_of_phrase(
    reading: SkillReading, what: Phrase, weight: float, subject: str, conditional: float = 0.5
) -> Iterator[Sign]:
    """A sign for each statement that says a phrase: weaker for an option or a condition, none where it is denied."""
    for statement in reading.statements_with(what.anchors):
        if statement.weight <= 0:
            continue
        match = what.pattern.search(statement.text)
        if match is None or is_negated(statement.text, match.start(), match.end()):
            continue
        strength = weight * statement.weight
        if conditional < 1 and is_conditional(statement.text, match.start()):
            strength *= conditional
        name = subject or match[match.lastindex or 0].strip(" `*")
        yield reading.sign(strength, EvidenceKind.SENTENCE, name, statement.line, statement.shown)


def is_shell(block: CodeBlock) -> bool:
    """Whether a block holds commands: by its language, or without one by what most of its lines begin with."""
    info = block.info.lower().strip("{}.")
    if info:
        return info in SHELLS
    lines = [line.strip() for line in block.text.split("\n")[:60]]
    lines = [line for line in lines if line and not line.startswith("#")]
    if not lines:
        return False
    hits = sum(_begins_command(line) for line in lines)
    return hits * 2 > len(lines)


def _begins_command(line: str) -> bool:
    words = line.removeprefix("$ ").split(" ", 2)
    facts = facts_of(words[0])
    named = (
        facts.listed
        or bool(facts.runtime)
        or words[0] in ("cd", "mkdir", "export", "cat", "cp", "ls", "grep", "find", "chmod")
    )
    plain = len(words) > 1 and (words[1][:1] in "-./$<{\"'" or words[1].islower())
    return line.startswith("$ ") or (named and plain and not line.endswith((".", ":", ",")))


def _statements(reading: SkillReading) -> Iterator[SkillStatement]:
    skill, count = reading.skill, 0
    for part in _SENTENCE.split(skill.description):
        if part and part.strip():
            low = part.lower()
            when = low.lstrip().startswith(
                ("use when", "use this", "trigger", "when ", "also use", "use for", "use if", "invoke")
            )
            role = SectionUse.WHEN if when else SectionUse.MAIN
            yield SkillStatement(low, part, reading.about_line, role, role.says * hedge(low), "description")
    optional = False
    for prose in skill.body.prose:
        role = reading.role(prose.line)
        offset = 0
        if not prose.item:
            # What a line that ends in a colon calls optional is what is listed below it.
            optional = prose.kind == "paragraph" and _OPTIONAL_LEAD.match(prose.text.lower()) is not None
        for part in _SENTENCE.split(prose.text):
            if not part:
                continue
            at = prose.text.find(part, offset)
            at = offset if at < 0 else at
            offset = at + len(part)
            if not part.strip():
                continue
            count += 1
            if count > _MOST_STATEMENTS:
                return
            low = _TARGET.sub("] ", part[:1_500]).lower().replace("\n", " ").replace("\u2019", "'")
            weight = role.says * hedge(low) * (_IN_OPTIONS if optional and prose.item else 1.0)
            if prose.kind == "heading":
                weight *= 0.5
            elif prose.kind == "cell":
                weight *= 0.6
            line = prose.line + prose.text.count("\n", 0, at)
            yield SkillStatement(low, part, line, role, weight, prose.kind)


_OPTIONAL_LEAD = lazy(r"\W{0,4}(?:optional|alternatively|alternatives?\b|if\b(?! you are ready))[^.\n]{0,80}:\W{0,4}$")
_IN_OPTIONS = 0.35


def _commands(reading: SkillReading) -> Iterator[PlacedCommand]:
    skill = reading.skill
    for block in skill.body.blocks:
        if is_shell(block):
            role = reading.role(block.line)
            lead = _lead_weight(reading, block.line)
            for command in read_commands(block.text):
                at = block.line + command.line + block.fenced
                yield PlacedCommand(command, skill.path, at, role.run * lead, role, "block")
    blocks = {block.text.lstrip().partition(" ")[0] for block in skill.body.blocks if is_shell(block)}
    clients = _programs_in_spans(reading)
    for span in skill.body.codes:
        first, _, rest = span.text.strip().partition(" ")
        if first.startswith("/") or not (rest or first in _ALONE):
            continue
        if first in AMBIGUOUS and not (" -" in rest or first in blocks):
            continue
        known = first in _RUNNERS or first in clients or (facts_of(first).listed and first not in PLAIN)
        if not known and not first.startswith(("./", "scripts/", "{baseDir}", "$")):
            continue
        role = reading.role(span.line)
        around = reading.skill.lines[span.line - 1].lower() if span.line <= len(reading.skill.lines) else ""
        at = around.find(span.text[:40].lower())
        if at >= 0 and is_negated(around, at, at + len(span.text)):
            continue
        weight = role.run * hedge(around) * (0.6 if around.lstrip().startswith("|") or not rest else 1.0)
        if at >= 0 and is_conditional(around, at):
            weight *= 0.5
        for command in read_commands(span.text):
            if command.program:
                yield PlacedCommand(command, skill.path, span.line, weight, role, "inline")


_PROGRAM = lazy(r"([a-z][a-z0-9]*(?:-[a-z0-9]+)*) (?:[a-z][a-z-]+|-)")
_OPTION = lazy(r" --?[a-z]")
_OFTEN = 3


def _programs_in_spans(reading: SkillReading) -> frozenset[str]:
    """Programs that nobody lists, of which inline code shows several commands, some with options."""
    seen: dict[str, set[str]] = {}
    for span in reading.skill.body.codes:
        if match := _PROGRAM.match(span.text.strip()):
            seen.setdefault(match[1], set()).add(span.text.strip())
    return frozenset(
        name
        for name, texts in seen.items()
        if name not in PLAIN and name not in AMBIGUOUS and len(texts) >= _OFTEN and any(map(_OPTION.search, texts))
    )


_RUNNERS = frozenset(("python", "python3", "node", "bash", "sh", "npx", "uv", "npm"))
_ALONE = frozenset(
    ("gh", "git", "jq", "ffmpeg", "pandoc", "docker", "psql", "terraform", "kubectl", "semgrep", "codeql")
)
_ASIDE_LEAD = lazy(
    r"^\W{0,4}manual(?: install\w*)?\W*$|\b(?:alternatively|optional(?:ly)?|or,? (?:use|with|via|if)|if you (?:prefer|want)|"
    r"for (?:windows|macos|linux)|fallback|legacy|deprecated|"
    r"(?:bad|wrong|incorrect|don'?t|do not|never|avoid|instead of)\b)|[❌✗]"
)


def _lead_weight(reading: SkillReading, line: int) -> float:
    """The weight that the lines right above a block give it: less where they offer an alternative or warn of it."""
    for nth in range(line - 2, max(-1, line - 5), -1):
        text = reading.skill.lines[nth].strip().lower() if 0 <= nth < len(reading.skill.lines) else ""
        if text:
            return 0.35 if _ASIDE_LEAD.search(text[-200:]) else 1.0
    return 1.0


def _scripts(reading: SkillReading) -> Iterator[PlacedScript]:
    skill = reading.skill
    files = {
        file for file in skill.files if language_of(file) is not None and _NOT_RUN.isdisjoint(file.split("/")[:-1])
    }
    if not files:
        return
    by_name: dict[str, list[str]] = {}
    for file in sorted(files):
        by_name.setdefault(file.rpartition("/")[2], []).append(file)
    own = frozenset(part.rpartition(".")[0] or part for file in skill.files for part in file.split("/"))
    best: dict[str, tuple[float, int, bool]] = {}
    for nth, line in enumerate(skill.lines, 1):
        if "." not in line or not any(name in line for name in _names_in(line)):
            continue
        for match in _SCRIPT.finditer(line[:2_000]):
            name = match[1].rpartition("/")[2]
            given = by_name.get(name, ())
            file = next((each for each in given if match[1].endswith(each)), given[0] if len(given) == 1 else "")
            if not file:
                continue
            role = reading.role(nth)
            low = line.lower()
            weight = max(role.run, 0.2 if role is SectionUse.ASIDE else 0.0) * hedge(low)
            runs = _runs(line, match.start())
            known = best.get(file)
            if known is None or (weight, runs) > (known[0], known[2]):
                best[file] = (weight, nth, runs)
    also: set[str] = set()
    for file in sorted(best)[:_MOST_SCRIPTS]:
        weight, nth, runs = best[file]
        path = skill.path_of(file)
        text = reading.read(path) or ""
        yield PlacedScript(path, file, _runtime(file, text), nth, weight, runs, tuple(uses_of(file, text, own)))
        # Modules of the skill that a script imports run with it.
        if file.endswith(".py"):
            folder = file.rpartition("/")[0]
            for name in dict.fromkeys(_OWN_IMPORT.findall(text[:MAX_SCRIPT])):
                inner = f"{folder}/{name}.py" if folder else f"{name}.py"
                if inner in files and inner not in best and inner not in also:
                    also.add(inner)
                    other = reading.read(skill.path_of(inner)) or ""
                    uses = tuple(uses_of(inner, other, own))
                    yield PlacedScript(skill.path_of(inner), inner, "Python", nth, weight, runs, uses)


def _names_in(line: str) -> tuple[str, ...]:
    return (
        ".py",
        ".sh",
        ".js",
        ".mjs",
        ".cjs",
        ".ts",
        ".rb",
        ".ps1",
        ".pl",
        ".R",
        ".bash",
        ".php",
        ".go",
        ".swift",
        ".lua",
        ".jl",
        ".exs",
    )


def _runtime(file: str, text: str) -> str:
    runtime = language_of(file) or ""
    if not runtime and text.startswith("#!"):
        first = text[:100].split("\n", 1)[0]
        runtime = "Python" if "python" in first else "Node" if "node" in first else ""
    return runtime


_RUNNER = lazy(
    r"(?:^|[\s`\"'(|&;$])(?:python3?|bash|sh|zsh|node|uv run|npx|tsx|bun|deno|ruby|perl|rscript|pwsh|source|"
    r"\./)\b[^|;&`]{0,120}$|`(?:\.?/?[\w{}$/.-]*/)?$",
    re.I,
)


def _runs(line: str, at: int) -> bool:
    return (
        _RUNNER.search(line[:at]) is not None
        or re.search(r"\b(?:run|execut|invoke|call|use)\w*\b", line[:at], re.I) is not None
    )


def _declared(skill: Skill) -> Declared:
    programs: list[tuple[str, int]] = []
    variables: list[tuple[str, int]] = []
    systems: list[tuple[str, int]] = []
    tools: list[tuple[str, int]] = []
    packages: list[tuple[str, int]] = []
    compatibility, line = "", 1
    for field in skill.frontmatter.fields if skill.frontmatter else ():
        at, key = field.key_span.line, field.key.lower()
        if key == "compatibility" and isinstance(field.value, str):
            compatibility, line = field.value, at
        elif key in ("allowed-tools", "tools", "allowed_tools", "allowedtools"):
            tools += ((name, at) for name in _listed(field.value))
        elif key in (
            "dependencies",
            "requires",
            "requirements",
            "env",
            "environment",
            "prerequisites",
            "metadata",
            "required_env",
        ):
            _walk(field.value, key, at, programs, variables, systems, packages, 0)
    return Declared(
        compatibility, tuple(programs), tuple(variables), tuple(systems), tuple(tools), tuple(packages), line
    )


_PLACES = {
    "bins": 0, "anybins": 0, "bin": 0, "binaries": 0, "commands": 0, "programs": 0, "system": 0,
    "env": 1, "envs": 1, "environment": 1, "required_env": 1, "env_vars": 1, "environment_variables": 1, "primaryenv": 1,
    "os": 2, "platforms": 2, "packages": 3, "python": 3, "pip": 3, "npm": 3, "dependencies": 3,
}  # fmt: skip
_DEEPEST = 8


def _walk(
    value: Any, key: str, line: int, programs: list[tuple[str, int]], variables: list[tuple[str, int]],
    systems: list[tuple[str, int]], packages: list[tuple[str, int]], depth: int,
) -> None:  # fmt: skip
    """Take what the keys of a mapping say is required; installers below `install` are how to get it, no need."""
    lists = (programs, variables, systems, packages)
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for inner, each in value.items():
            if str(inner).lower() not in ("install", "optional", "emoji", "skillkey"):
                _walk(each, str(inner).lower(), line, programs, variables, systems, packages, depth + 1)
    elif isinstance(value, (str, list, tuple)) and key in _PLACES:
        names = [str(each) for each in value if isinstance(each, str)] if not isinstance(value, str) else [value]
        for name in names:
            if _PLACES[key] == 1 and not re.fullmatch(r"[A-Za-z_]\w{1,60}", name):
                continue
            if _PLACES[key] == 3 and (" " in name.strip() or not name.strip()):
                continue
            lists[_PLACES[key]].append((name[:80], line))


def _listed(value: Any) -> list[str]:
    if isinstance(value, str):
        return re.findall(r"[\w:*.-]+(?:\([^)]{0,200}\))?", value[:4_000])
    return [each[:200] for each in value if isinstance(each, str)] if isinstance(value, (list, tuple)) else []
