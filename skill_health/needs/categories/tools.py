"""Command-line programs that must be installed beside a plain shell and the interpreter of a language."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import SectionUse, is_conditional, is_negated
from skill_health.needs.reading.programs import AMBIGUOUS, PLAIN, facts_of, installs_skill, is_tool
from skill_health.needs.reading.read import PlacedCommand, SkillReading, phrase, signs_of_phrase
from skill_health.needs.reading.scripts import language_of
from skill_health.text.patterns import lazy

ORDER = 1
TITLE = "Tool and CLI access"
MEANING = "Programs must be installed that a plain shell lacks: git, gh, docker, npm, jq, ffmpeg, a vendor's CLI."

_NAME = lazy(r"[a-z@][a-z0-9][a-z0-9._+@/-]{0,40}")
_NO_PROGRAMS = frozenset(
    "import from def const let var class try catch with async await and or not the is are was fallback prints each safe like runs run "
    "prompt assert raise print require use include extends public private void int string struct package func fn enum type interface "
    "open web_search web_fetch message skip describe expect given scenario feature step note todo usage example input output error "
    "warning info name version description status".split()
)
"""Words of other languages, and of English, that begin lines of blocks which are called shell."""
_ARGUMENT = lazy(r"^-|[/.$<>=\"'@:{]")
_FEW_WORDS = 3
_LANGUAGES = frozenset(("python", "javascript"))
_SAME = {"py": "python", "js": "javascript", "ts": "javascript", "typescript": "javascript"}
_HOSTS_OWN = frozenset(
    (
        "claude",
        "codex",
        "gemini",
        "copilot",
        "opencode",
        "openclaw",
        "clawdbot",
        "clawhub",
        "clawdhub",
        "skills",
        "agent",
        "claw",
    )
)
_WORKS_BY = lazy(
    r"\b(?:using|via|with|through|by running) (?:the )?`?([a-z][a-z0-9-]{1,30})`?(?= |,|\.|;|\)|$)|"
    r"(?<![\w./-])([a-z][a-z0-9]*(?:-[a-z0-9]+)*) (?:cli|command[- ]line)\b|"
    r"(?<![\w./-])([a-z][a-z0-9]*(?:-[a-z0-9]+)+)(?![\w/])"
)
_PRODUCTS = frozenset(
    "docker terraform ansible claude codex gemini openai cursor firebase supabase vercel netlify stripe "
    "shopify twilio neo4j ghidra playwright puppeteer cypress selenium prisma chrome firefox postgres nginx "
    "redis mongo mysql airflow dagster prefect latex blender obsidian whisper piper npm yarn pnpm vite next "
    "webpack jest vitest mocha eslint prettier hardhat helm gradle maven composer rails poetry flask conda "
    "anvil slither".split()
)
"""Names of products that descriptions mention without running them."""
_MANAGERS = frozenset("brew apt apt-get dnf yum pacman apk snap choco winget scoop nix nix-env port".split())
_INSTALLED = lazy(r"\b(?:install|add|get|tap)\b")
_RUNS = phrase(
    "run|execut|invok|using|via",
    r"\b(?:runs?|running|execute[sd]?|executing|invok(?:e|es|ing)|using|via) (?:the |a )?"
    r"[`*]{0,2}([a-z][a-z0-9+-]{1,30})[`*]{0,2}(?= |,|\.|;|:|\)|$)",
)
_REQUIRED = phrase(
    "installed|cli|command-line|in path|on path|on your path|$path|binary",
    r"\b(?:requires?|needs?|must have|make sure|ensure|verify|check|install)\b[^.\n]{0,50}`([a-z][\w+-]{1,30})`[^.\n]{0,40}"
    r"\b(?:installed|cli|command|in path|on (?:your |the )?path|binary|available)|"
    r"`([a-z][\w+-]{1,30})`(?: cli| command| binary)?(?: is| must be| be)? (?:installed|available|(?:in|on) (?:your |the )?\$?path)",
)


_COMPATIBLE = lazy(r"`([a-z][\w+.-]{1,40}) [^`\n]{1,80}`|(?<![\w./-])([A-Za-z][\w+-]{1,40})(?![\w/])")
_CLI = lazy(r"(?<![\w./-])(`?[a-z][a-z0-9]*(?:-[a-z0-9]+)*`?) cli\b(?! (?:app|application|design|argument|tools? for))")
_NO_NAMES = frozenset("a an the this that any your our its their each via and or using with by in of command node python rust go custom simple "
    "standalone own bundled included new existing official legacy non-interactive interactive desktop web full "
    "other another core local use run".split())  # fmt: skip
_ENSURED = lazy(r"\b(?:requires?|required|needs?|ensure|make sure|must|installed|install)\b")
_IF_THERE = lazy(r"\bif (?:command -v|which|hash|type) \w")

_ONE_IS_ENOUGH = 1.5
"""Few skills that run a program at all, even in passing, do without one."""


def find(reading: SkillReading) -> Iterator[Sign]:
    """Commands of the normal course, declared programs, and what the bundled scripts start."""
    for sign in _signs(reading):
        yield sign._replace(weight=sign.weight * _ONE_IS_ENOUGH)


def _signs(reading: SkillReading) -> Iterator[Sign]:
    for name, line in reading.declared.programs:
        if name not in PLAIN and is_tool(name):
            yield reading.sign(1.0, EvidenceKind.DECLARED, name, line)
    for name, line in reading.declared.allowed:
        if is_tool(name) and name not in _HOSTS_OWN:
            yield reading.sign(0.7, EvidenceKind.DECLARED, name, line)
    for match in _COMPATIBLE.finditer(reading.declared.compatibility):
        name = match[1] or match[2]
        known = facts_of(name.lower())
        plainly = known.listed and name.lower() not in AMBIGUOUS and not name.isupper()
        if is_tool(name.lower()) and (match[1] or plainly):
            yield reading.sign(1.0, EvidenceKind.DECLARED, name.lower(), reading.declared.line)
    yield from _clients(reading)
    own = _own_programs(reading)
    asked_first = {placed.command.program for placed in reading.commands if _IF_THERE.search(placed.command.text)}
    for placed in reading.commands:
        if placed.command.program not in own and (sign := _of_command(placed, reading)):
            yield sign._replace(weight=sign.weight * 0.3) if placed.command.program in asked_first else sign
    for script in reading.scripts:
        for use in script.uses:
            if use.kind == "program" and is_tool(use.name) and facts_of(use.name).listed and use.name not in _MANAGERS:
                weight = 1.0 if script.weight >= 0.7 else 0.5 * script.weight
                yield reading.sign(
                    weight, EvidenceKind.SCRIPT, use.name, use.line, f"{script.file} runs {use.name}", script.path
                )
    for match in _WORKS_BY.finditer(reading.about):
        for name in filter(None, match.groups()):
            if (
                name not in AMBIGUOUS
                and name not in PLAIN
                and is_tool(name)
                and facts_of(name).listed
                and name not in _PRODUCTS
            ):
                yield reading.sign(0.6, EvidenceKind.PROGRAM, name, reading.about_line, name)
    for sign in signs_of_phrase(reading, _RUNS, 0.5, ""):
        name = sign.evidence.subject
        if facts_of(name).listed and is_tool(name) and name not in AMBIGUOUS and name not in _HOSTS_OWN:
            yield sign._replace(evidence=sign.evidence._replace(kind=EvidenceKind.PROGRAM))
    for sign in signs_of_phrase(reading, _REQUIRED, 1.0, ""):
        if is_tool(sign.evidence.subject) and sign.evidence.subject not in _HOSTS_OWN:
            yield sign


def _clients(reading: SkillReading) -> Iterator[Sign]:
    """Sentences that speak of the command line of something as what the work is done with."""
    for statement in reading.statements_with((" cli",)):
        if statement.role in (SectionUse.ASIDE, SectionUse.OPTIONAL):
            continue
        for match in _CLI.finditer(statement.text):
            name = match[1].strip("`")
            if name in _NO_NAMES or is_negated(statement.text, match.start(), match.end()):
                continue
            required = _ENSURED.search(statement.text) is not None
            if name in _HOSTS_OWN and "install" not in statement.text:
                continue
            weight = (1.0 if required else 0.5) * statement.weight
            if is_conditional(statement.text, match.start()):
                weight *= 0.5
            yield reading.sign(weight, EvidenceKind.PROGRAM, f"{name} CLI", statement.line, statement.shown)


def _own_programs(reading: SkillReading) -> frozenset[str]:
    """The names under which the skill's own scripts are run."""
    stems = {file.rpartition("/")[2].partition(".")[0] for file in reading.skill.files if language_of(file) is not None}
    alone = {reading.skill.name} if stems & {"cli", "index", "main", reading.skill.name} else set()
    return frozenset(stems | alone)


def _of_command(placed: PlacedCommand, reading: SkillReading) -> Sign | None:
    command = placed.command
    name = command.program
    if command.is_path or not name or not is_tool(name) or name in _HOSTS_OWN or not _NAME.fullmatch(name):
        return None
    facts = facts_of(name)
    if name in _MANAGERS:
        return None
    if installs_skill(name, command.words):
        return None
    if not facts.listed:
        # A name that nobody knows is a program where a block of commands runs it with arguments.
        if not command.words or "(" in command.text.split(" ")[0] or "=" in command.words[0][:2]:
            return None
        if (
            f"|{name}" in command.text
            or command.text.endswith(".")
            or any(word.endswith(",") for word in command.words)
        ):
            return None
        if name.endswith((".py", ".sh", ".js", ":")) or name in reading.skill.files or name in _NO_PROGRAMS:
            return None
        if not any(_ARGUMENT.search(word) for word in command.words) and len(command.words) > _FEW_WORDS:
            return None
        weight = 0.6
    else:
        weight = 1.0
    if name == "curl" and {_SAME.get(each.language, each.language) for each in reading.snippets} >= _LANGUAGES:
        # One of several ways to make the same call.
        weight *= 0.3
    if name in ("curl", "wget") and "install" in command.text:
        weight *= 0.4
    if name == "git" and command.words[:1] == ("clone",):
        weight *= 0.5
    return reading.sign(weight * placed.weight, EvidenceKind.COMMAND, name, placed.line, command.text)
