"""Particular files outside of the skill, beyond some repository."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import SectionUse, is_conditional, is_in_brackets, is_negated
from skill_health.needs.reading.read import SkillReading, SkillStatement, phrase, signs_of_phrase
from skill_health.text.patterns import lazy

ORDER = 9
TITLE = "Existing code files (outside the skill)"
MEANING = (
    "Particular files outside of the skill must be there, which it names by path or kind: AGENTS.md, "
    "package.json, a configuration, files of another skill."
)

_FILE = lazy(
    r"`([~.\w<>{}$*/-]*[\w*>}-]\.(?:md|json|jsonl|ya?ml|toml|cfg|ini|conf|lock|config|csproj|sln|props|xml|"
    r"gradle|mod|txt|py|ts|tsx|js|fc|sol|rs|go|env|config\.[jt]s|prisma|tf))`|"
    r"(?<![\w/.])((?:~/|\./|\.[a-z][\w-]+/)[\w./-]{2,80}|AGENTS\.md|CLAUDE\.md|GEMINI\.md|MEMORY\.md|"
    r"package\.json|pyproject\.toml|Cargo\.toml|go\.mod|tsconfig\.json|README\.md|CHANGELOG\.md|Makefile|"
    r"Dockerfile|\.mcp\.json)(?![\w/])"
)
_READS = lazy(
    r"\b(?:read(?:s|ing)?|load(?:s|ing)?|open(?:s|ing)?|pars(?:e|es|ing)|check(?:s|ing)?|inspect(?:s|ing)?|find|locate|from|edit(?:s|ing)?|updat(?:e|es|ing)|"
    r"modif(?:y|ies|ying)|compar(?:e|es|ing)|diff|"
    r"consult|review|look (?:at|for|in|up)|scan|scans|use|uses|using|requires?|needs?|against|per|follow|in|"
    r"input|verify|inputs?|defined|exists?|matches|extract|audit)\b"
)
_TELLS = lazy(
    r"\b(?:read(?:s|ing)?|open|load|pars(?:e|es)|inspect|edit|update|audit|check|compare|verify|consult|promote to|against|modify|"
    r"scan)\b[^.\n]{0,30}$"
)
_MEDIA = lazy(r"\.(?:png|jpe?g|gif|svg|webp|mp[34]|wav|pdf|html?|css|d\.ts|log|csv)$|\*\.?\w*$|\.d\.ts")
_MAKES = lazy(
    r"\b(?:creat|writ|sav|generat|output|produc|export|stor|append|scaffold|emit|add to|placed? in|put)\w*\b[^.\n]{0,50}$"
)
_SIBLING = lazy(
    r"\b(?:invoke|load|use|run|follow(?:ing)?|dispatch(?:es)?(?: to)?|hand(?:s)? off to|delegate(?:s)? to|"
    r"requires?|depends on|via|per|call|route(?:s)? to)\b[^.\n]{0,30}"
    r"(?:the )?`/?([a-z][\w-]*(?::[a-z][\w-]*)?)` (?:skill|agent|workflow|snapshot)|\bskill:([a-z][\w-]+)"
)
_OUTSIDE = lazy(r"~/|\$\{?HOME\}?/|\.[A-Za-z][\w-]*(?:/|$|\.(?:json|ya?ml|toml))|[\w./<>-]+\.(?:[a-z]{2}proj|sln)$")
_MUST_USE = lazy(r"^(?:use|requires?|depends on|load|invoke|run|follow(?:ing)?|via)\b")
_REQUIRED_SKILL = lazy(r"\brequired\b[^.\n]{0,20}\b(?:sub-?skill|background|skill)\b")
_SCRIPT = lazy(r"\.(?:sh|py|js|mjs|ts|rb|ps1)$")
_SETTINGS = lazy(r"\.(?:ya?ml|json|toml|ini|cfg|conf)$")
_FROM_FILE = frozenset(("-f", "--file", "-c", "--config", "--env-file", "--settings"))
_ASIDE = 0.4
"""What stands in brackets is said by the way."""
_OWN_STATE = 0.3
"""What lies in a folder of the skill's own name at home is mostly its own doing."""
_IN_TABLE = 0.6
_FILTERS = frozenset(("jq", "yq"))
_ALWAYS = frozenset(
    (
        "agents.md",
        "claude.md",
        "gemini.md",
        "memory.md",
        "package.json",
        "pyproject.toml",
        "cargo.toml",
        "go.mod",
        "tsconfig.json",
        ".mcp.json",
        "makefile",
    )
)
_MADE = lazy(r"report|output|result|summary|draft|notes?\b|tmp|temp|example|sample|/tmp/|out\.|plan\.md|todo")


def find(reading: SkillReading) -> Iterator[Sign]:
    """Files that sentences and commands of the normal course read, and sibling skills that it hands work to."""
    own = {file.rpartition("/")[2].lower() for file in reading.skill.files} | {
        "skill.md",
        reading.skill.file_name.lower(),
    }
    own |= _made(reading)
    for statement in reading.statements_with(
        (
            ".md",
            ".json",
            ".y",
            ".toml",
            "~/",
            "./",
            ".lock",
            ".c",
            ".mod",
            ".xml",
            "makefile",
            "dockerfile",
            ".env",
            ".t",
            ".f",
            ".s",
            ".p",
        )
    ):
        if statement.weight <= 0:
            continue
        if statement.kind != "description":
            yield from _of_statement(statement, reading, own)
        elif (
            (match := _ABOUT_FILE.search(statement.text))
            and (name := match[1] or match[2]) not in own
            and not _MAKES.search(statement.text[: match.start()][-70:])
            and "\u2192" not in statement.text[match.end() : match.end() + 30]
        ):
            weight = max(0.7, statement.weight)
            yield reading.sign(weight, EvidenceKind.FILE, name, statement.line, statement.shown)
    for placed in reading.commands:
        script = placed.command.program.rpartition("/")
        if placed.command.is_path and script[2].lower() not in own and _SCRIPT.search(script[2]) and "$" in script[0]:
            yield reading.sign(0.9 * placed.weight, EvidenceKind.SCRIPT, script[2], placed.line, placed.command.text)
        for flag, word in pairwise(placed.command.words):
            base = word.rpartition("/")[2].lower()
            if (
                flag in _FROM_FILE
                and "/" in word
                and _SETTINGS.search(base)
                and base not in own
                and not _MADE.search(word)
            ):
                yield reading.sign(0.7 * placed.weight, EvidenceKind.FILE, base, placed.line, placed.command.text)
        for word in placed.command.words:
            name = "" if placed.command.program in _FILTERS and word.lstrip("\"'").startswith(".") else _plain(word)
            if name and placed.command.program in (
                "cat",
                "jq",
                "wc",
                "head",
                "tail",
                "less",
                "grep",
                "stat",
                "chmod",
                "test",
                "[",
                "yq",
                "ls",
            ):
                base = name.rpartition("/")[2].lower()
                if (
                    (base in _ALWAYS or _OUTSIDE.match(name))
                    and base not in own
                    and not _MADE.search(name)
                    and not (placed.command.program == "chmod" and name.startswith("./"))
                ):
                    yield reading.sign(0.7 * placed.weight, EvidenceKind.FILE, base, placed.line, placed.command.text)
    yield from _plugin_files(reading)
    yield from _sibling_skills(reading)
    yield from _neighbours(reading)
    yield from signs_of_phrase(reading, _PLAN, 0.4, "")
    for statement in reading.statements_with(("`.", "`*.", "proj")):
        kind = _KIND.search(statement.text)
        if kind and not _MADE_KIND.search(statement.text[: kind.start()]):
            yield reading.sign(
                0.7 * statement.weight, EvidenceKind.FILE, "files of a kind", statement.line, statement.shown
            )
    if match := _ROUTER.search(reading.about):
        yield reading.sign(0.7, EvidenceKind.FILE, "the skills that it routes to", reading.about_line, match[0])
    for statement in reading.statements_with(
        (
            "sub-skill",
            "subskill",
            "member skill",
            "sibling skill",
            "skill tool",
            "required background",
            "required skill",
        )
    ):
        weight = 1.0 if _REQUIRED_SKILL.search(statement.text) else 0.5
        yield reading.sign(
            weight * statement.weight, EvidenceKind.FILE, "other skills", statement.line, statement.shown
        )
    for statement in reading.statements_with(("skill", "agent", "workflow")):
        if statement.weight > 0 and statement.role not in (SectionUse.WHEN, SectionUse.ASIDE):
            for match in _SIBLING.finditer(statement.text):
                name = match[1] or match[2]
                if (
                    name
                    and name not in (reading.skill.name, "task", "agent", "workflow", "explore")
                    and not is_conditional(statement.text, match.start())
                ):
                    plain = statement.role in (SectionUse.MAIN, SectionUse.REQUIRED) and statement.kind == "paragraph"
                    aside = is_in_brackets(statement.text, match.start())
                    told = plain and not aside and _MUST_USE.search(match[0]) is not None
                    first = not statement.text[: match.start()].strip(" *_-0123456789.)") or "depends" in match[0]
                    yield reading.sign(
                        ((1.0 if first else 0.6) if told else 0.4) * statement.weight,
                        EvidenceKind.FILE,
                        f"skill {name}",
                        statement.line,
                        statement.shown,
                    )


_ABOUT_FILE = lazy(
    r"(?<![\w/.-])((?:[\w-]{1,60}\.)?[\w-]{0,60}\.(?:json|ya?ml|toml|csproj|vbproj|sln|config|lock|props|ini|cfg|gradle))\b|\b(agents\.md|claude\.md|gemini\.md|memory\.md)\b"
)
_KIND = lazy(
    r"`\*?(\.(?:py|tsx?|jsx?|cs|fc|func|sol|rs|go|java|kt|swift|c|h|cpp|csproj|vbproj|sln|tf|ya?ml|toml|xaml|sql|vue|rb|php))`|"
    r"\bthe (\.[a-z]{2}proj)\b"
)
_MADE_KIND = lazy(
    r"\b(?:creat\w*|writ\w*|generat\w*|make|sav\w*|outputs?|produc\w*|avoid|conflicts? with)\b[^.\n]{0,40}$"
)
_PLAN = phrase(
    "plan|spec|lock|config|project file|manifest|compose|rules file|instructions file",
    r"\b(?:(?:re-)?read|load|open|parse|edit|updat\w+|modify|check|inspect|follow|use|from|against|in|requires?|needs?|given|existing|the|your|accepts?)\b"
    r"[^.\n]{0,20}\b((?:plan|spec|lock|config(?:uration)?|settings|project|compose|solution|manifest|workflow|policy|schema|rules|"
    r"instructions) files?)\b",
)
_PASSING = lazy(r"\b(?:see|also)\b|\u2192")
_NEIGHBOUR = lazy(
    r"\]\(((?:\.\./)+[\w./-]+)(?:#[^)]*)?\)|(?<![\w/.])((?:\.\./){1,4}[\w./-]+)|(?<![\w@`.])@((?:[\w.-]+/)+[\w.-]+\.\w+)"
)


def _neighbours(reading: SkillReading) -> Iterator[Sign]:
    """Files beside the skill's own folder that the text links to or reads."""
    if "../" not in reading.skill.text and "@" not in reading.skill.text:
        return
    fenced = {
        nth
        for block in reading.skill.body.blocks
        for nth in range(block.line, block.line + block.text.count("\n") + 3)
        if block.fenced
    }
    for nth, line in enumerate(reading.skill.lines, 1):
        if nth not in fenced and ("../" in line or "@" in line):
            for match in _NEIGHBOUR.finditer(line[:2_000]):
                role = reading.role(nth)
                passing = _PASSING.search(line[: match.start()].lower()) is not None
                if not passing and role in (SectionUse.MAIN, SectionUse.REQUIRED, SectionUse.WHEN):
                    name = next(filter(None, match.groups()))
                    weight = 0.5 if match[3] else 0.35
                    yield reading.sign(weight * role.says, EvidenceKind.FILE, name.lstrip("./"), nth)


_NAME = lazy(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+|[a-z]{5,40}")
_WORKS_WITH = lazy(
    r"(?:\b(?:with|use|using|run|running|via|follow|following|by|per|through|invoke|load|apply|read)|^)(?: the| skill| this)? ?[`*]{0,3}$"
)
_FOR_OTHERS = lazy(r"(?: skill)? (?:for|when|if|to get|instead)\b")
_FOR_ONE = lazy(r"[\W\d]*(?:for|when|if)\b")
_INSTEAD = lazy(r"\bnot this skill\b|\b(?:instead|rather)\b|\u2192|->|\bsee\b|\bbelong")


def _sibling_skills(reading: SkillReading) -> Iterator[Sign]:
    """Skills that lie beside this one and that a step of the work is done with, by their names."""
    folder = reading.skill.path.rpartition("/")[0]
    above = folder.rpartition("/")[0]
    there: dict[str, bool] = {}
    for span in reading.skill.body.codes:
        name = span.text.strip()
        if reading.role(span.line) not in (SectionUse.MAIN, SectionUse.REQUIRED) or not _NAME.fullmatch(name):
            continue
        line = reading.skill.lines[span.line - 1].lower() if span.line <= len(reading.skill.lines) else ""
        at = line.find(f"`{name}")
        start = max(line.rfind(". ", 0, at), line.rfind("; ", 0, at), line.rfind(": ", 0, at)) + 1 if at > 0 else 0
        line, at = (line[start:], at - start) if at >= 0 else (line, at)
        if (
            at < 0
            or line.lstrip().startswith("|")
            or _FOR_OTHERS.match(line, at + len(name) + 2)
            or not _WORKS_WITH.search(line[max(0, at - 30) : at])
        ):
            continue
        if (
            _INSTEAD.search(line)
            or _FOR_ONE.match(line)
            or is_conditional(line, at)
            or is_negated(line, at, at + len(name))
        ):
            continue
        if name not in there:
            path = f"{above}/{name}/SKILL.md" if above else f"{name}/SKILL.md"
            there[name] = name != folder.rpartition("/")[2] and reading.read(path) is not None
        if there[name]:
            weight = _ASIDE if is_in_brackets(line, at) else 1.0
            yield reading.sign(weight, EvidenceKind.FILE, f"skill {name}", span.line)


_ROUTER = lazy(
    r"\b(?:router|routes? (?:to|requests?|between)|entry point for|dispatches to|orchestrat\w+ (?:the )?(?:other )?skills)\b"
)
_PLUGIN = lazy(r"\$\{?(?:CLAUDE|CODEX)?_?PLUGIN_ROOT\}?/([\w./<>{}*-]{2,120})")


def _plugin_files(reading: SkillReading) -> Iterator[Sign]:
    """Files of the plugin that the skill is in, outside of the skill."""
    for nth, line in enumerate(reading.skill.lines, 1):
        if "PLUGIN_ROOT" in line:
            for match in _PLUGIN.finditer(line[:2_000]):
                role = reading.role(nth)
                if is_conditional(line.lower(), match.start()):
                    continue
                if f"skills/{reading.skill.folder_name}/" not in match[1] and role.run > 0:
                    yield reading.sign(0.7 * role.run, EvidenceKind.FILE, match[1].rstrip("/").rpartition("/")[2], nth)


def _made(reading: SkillReading) -> set[str]:
    """The names of files that some sentence has the skill write."""
    return {
        (match[1] or match[2]).rstrip("/.").rpartition("/")[2].lower()
        for statement in reading.statements
        if statement.weight > 0
        for match in _FILE.finditer(statement.shown)
        if _MAKES.search(statement.text[: match.start()][-70:])
    } - _ALWAYS | {
        match[1].strip("\"'").rpartition("/")[2].lower()
        for block in reading.skill.body.blocks
        if ">" in block.text
        for match in _REDIRECTS.finditer(block.text)
    }


_REDIRECTS = lazy(r"(?<![-=<>&\d])>{1,2} ?([\w.~/${}\"'-]{2,120})")


def _plain(word: str) -> str:
    word = word.strip("\"'(){};,")
    return word if 2 < len(word) < 120 and ("." in word) and not word.startswith(("-", "s/", "http")) else ""


def _of_statement(statement: SkillStatement, reading: SkillReading, own: set[str]) -> Iterator[Sign]:
    names = {reading.skill.name.lower(), reading.skill.folder_name.lower()} - {""}
    for match in _FILE.finditer(statement.shown.replace("\n", " ")):
        name = match[1] or match[2]
        base = name.rstrip("/.").rpartition("/")[2].lower()
        before = statement.text[: match.start()]
        if (
            not base
            or (base in own and not (base == "skill.md" and "/" in name))
            or name.startswith(("http", "*."))
            or _MADE.search(name.lower())
            or _MEDIA.search(name.lower())
            or name.split("/")[0] in ("references", "scripts", "assets", "reference", "templates")
        ):
            continue
        if _MAKES.search(before[-70:]) or is_negated(statement.text, match.start(), match.end()):
            continue
        reads = _READS.search(before[-60:]) is not None
        told = _TELLS.search(before[-40:]) is not None and statement.role in (SectionUse.MAIN, SectionUse.REQUIRED)
        weight = (
            (0.7 if base in _ALWAYS or name.startswith(("~/", ".")) else 0.45) + (0.55 if told else 0.0)
            if reads
            else 0.12
            if base in _ALWAYS or name.startswith("~/")
            else 0.05
        )
        if reads and name.startswith("../") and base == "skill.md":
            weight = 1.0
        if name.startswith("~/") and not {part.strip(".") for part in name.split("/")}.isdisjoint(names):
            weight *= _OWN_STATE
        weight = min(1.0, weight) * (_IN_TABLE if statement.kind == "cell" else 1.0)
        if is_conditional(statement.text, match.start()) or "exists" in statement.text[match.end() : match.end() + 30]:
            weight *= 0.4
        yield reading.sign(weight * statement.weight, EvidenceKind.FILE, base, statement.line, statement.shown)
