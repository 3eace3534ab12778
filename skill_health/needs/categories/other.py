"""What is in none of the other categories: hardware, an operating system, other agents, people."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import SectionUse, is_conditional
from skill_health.needs.reading.programs import facts_of
from skill_health.needs.reading.read import SkillReading, phrase, signs_of_phrase
from skill_health.text.patterns import lazy

ORDER = 16
TITLE = "Other"
MEANING = "Anything else: special hardware or an operating system, other agents, devices, payments or work by people."

_AGENTS = phrase(
    "agent launch|launching|subagent|sub-agent|task tool|teammate|agent team|spawn|dispatch|parallel agent|"
    "agent tool|subagent_type|agent-tool|own agent|agents to|the agent",
    r"\b(?:spawn|dispatch|launch|delegate|use|invoke|call|create|run|start|send|via|each|fresh|parallel|"
    r"the)\w*\b[^.\n]{0,30}\b(sub-?agents?|`?task`? tool|`?agent`? tool|(?:speciali[sz]ed|dedicated) "
    r"(?:sub-?)?agents?|teammates?|agent teams?|(?:parallel|independent|multiple|reviewer|explore|worker|"
    r"background) agents?)\b|\b(subagent_type)\b|\b(agent-tool|agent launch)\b|\blaunch(?:es|ing)? (?:an |the "
    r"|each |these |multiple )?(?:[\w-]+ )?(agents?)\b|\b(?:its|their|an) (own agent)\b|\b(?:dispatch|spawn|"
    r"launch)\w* (?:the |an? )?`[\w:-]+` (agents?)\b|\bspawn(?:s|ing)? (?:\w+ ){0,3}agents?\b|\bspawn\w* [^.\n]{0,40}\bagents\b|"
    r"\bdispatch\w* (?:one|an?|each|parallel) (?:\w+ )?(agents?)\b",
)
_HARDWARE = lazy(
    r"\b(?:bluefield|connectx|jetson|dpus?\b|fpgas?|drones?|vehicles?|tesla|raspberry pi|arduino|esp32|micro-?controllers?|"
    r"oscilloscope|3d printers?|printers?|smart home|"
    r"home assistant|philips hue|sonos|apple (?:notes|reminders|silicon)|homekit|android (?:device|phone)s?|iphone)\b"
)
_NO_AGENTS = lazy(
    r"\bnot an? (?:sub-?)?agent|\b(?:only|except) (?:when|if)\b|\bif (?:you (?:can|have)|(?:\w+ ){0,3}sub-?agents|available|"
    r"supported|the (?:host|platform))|\bwhen available\b"
)
_BY_TOOL = lazy(
    r"\bsubagent_type\b|\b(?:use|via|with|using|through) (?:the |parallel |a )?`?(?:task|agent)`? (?:tool|agents)\b|\bagent tool\b|"
    r"\buse (?:\w+ ){0,2}sub-?agents\b|\b(?:spawn|dispatch|launch)(?:s|ing)? (?:\w+ ){0,3}(?:fresh |parallel |independent |"
    r"read-only |\d+ ){0,2}(?:\w+ )?(?:sub-?)?agents?\b|\bspawns? [^.\n]{0,40}\bagents\b|\bdispatch(?:ing)? (?:one|an?|each|"
    r"parallel|speciali[sz]ed) (?:\w+ )?agents?\b"
)
_TELLS = lazy(
    r"\W{0,12}(?:\d+[.)] )?\W{0,6}(?:must )?(?:dispatch|spawn|launch|delegate|use (?:the )?`?(?:task|agent)`? tool)\b"
)
_AGENT_WORK = lazy(r"\b(?:sub-?agents?|agent teams?|parallel agents?|multi-agent|dispatch\w* agents?)\b")
_SYSTEM = phrase(
    "macos|mac os|windows|xcode|apple silicon|linux only|ios device|android device",
    r"\b(?:requires?|needs?|only|runs? on|must (?:be|run) on|works? (?:only )?on)\b[^.\n]{0,20}\b(macos|"
    r"mac os x?|windows(?: \d+)?|xcode|apple silicon|linux only)\b|\b(macos|windows|linux)[- ]only\b|"
    r"\b(macos) (?:with|\d|host)|\b(xcode) (?:installed|\d)",
)
_ANY_SYSTEM = lazy(r"\b(macos|linux|windows|cross-platform)\b")
_DEVICE = phrase(
    "printer|microphone|camera|smart home|home assistant|bluetooth|raspberry|arduino|robot|3d print|sonos|"
    "hue|light|thermostat|usb|gpu|device|speaker|tesla|roomba|vacuum",
    r"\b(?:control|connect(?:ed|s)? to|requires?|needs?|print|record|capture|manage|operate|turn|"
    r"access)\w*\b[^.\n]{0,40}\b(printers?|microphone|camera|smart[- ]home|home assistant|bluetooth|raspberry "
    r"pi|arduino|robots?|3d printers?|sonos|philips hue|hue lights?|smart (?:lights?|plugs?|speakers?)|"
    r"thermostat|usb device|android device|iphone|physical device|speakers?|tesla|roomba|vacuum)\b",
)
_PLUGINS = phrase(
    "plugin|agent",
    r"\b(?:requires?|needs?|depends on) (?:the )?[`\w:*/-]{2,40}\W{1,3}(plugin|agent)\b|\busing the "
    r"(?:[`\w:*-]{2,40}) (?:sub-?)?(agent)\b|\buse the (?:[`\w:*-]{2,40}) (?:sub-?)?(agent) from\b",
)
_BUILTIN = phrase(
    "clawdbot|openclaw|moltbot", r"\b(?:from|via|through|in) (clawdbot|openclaw|moltbot) via the [\w`-]+ tool\b"
)
_HOSTS_TOOL = phrase(
    "clawdbot|moltbot|openclaw|clawd",
    r"\b(?:from|via|in|through|uses?|using|with|of|for|requires?|your) (?:the )?`?(clawdbot|moltbot|openclaw)\b",
)
_AT_ONCE = 120
_MAC = phrase(
    "applescript|osascript|mail.app|notes.app|.app |keychain|launchagent|homebrew",
    r"\b(?:via|uses?|using|through|with|by)\b[^.\n]{0,30}\b(?:applescript|osascript|jxa|(?:mail|notes|calendar|reminders|messages|"
    r"music|finder|keynote|numbers|pages|safari)\.app|macos keychain|launchagents?)\b",
)
_WALLET = lazy(r"(?:^|_)(?:WALLET|SEED|MNEMONIC|PRIVATE)_?(?:KEY|PHRASE)?$|_PRIVATE_KEY$")
_PAYS = lazy(
    r"\b(?:send(?:s|ing)? (?:\w+ ){0,3}(?:sol|eth|btc|usdc|usdt|tokens?|funds|money|payments?|crypto)|swap(?:s|"
    r"ping)? (?:\w+ ){0,2}(?:tokens?|sol|via)|"
    r"(?:buy|sell|trade)(?:s|ing)? (?:\w+ ){0,2}(?:tokens?|stocks?|shares|crypto|options|bets?|positions)|place(?:s)? (?:\w+ ){0,2}orders?|"
    r"(?:make|send)(?:s)? (?:\w+ ){0,2}payments?|top up|checkout with|spend(?:s|ing)? (?:\w+ ){0,2}(?:money|credits|funds))\b"
)
_HOOKS = lazy(
    r"\b(?:UserPromptSubmit|PreToolUse|PostToolUse|SessionStart|SessionEnd|SubagentStop|PreCompact|Stop)\W{0,3} [Hh]ooks?\b"
)
_MEMORY = lazy(r"(?:~|\$HOME|\$\{HOME\})/\.claude/projects/|\bauto-memory\b|\bMEMORY_DIR\b")
_ENSURED_AGENT = phrase(
    "codex cli|gemini cli|claude cli|copilot cli|opencode",
    r"\b(?:ensure|requires?|make sure|install|needs?)\b[^.\n]{0,30}\b(codex|gemini|copilot|opencode|cursor) cli\b|\bintegrated with (codex|gemini)\b",
)
_OF_ONE_HOST = frozenset("EnterPlanMode ExitPlanMode TaskList TaskGet CronCreate ScheduleWakeup Workflow".split())
_OWN_TOOLS = lazy(r"^([a-z]{2,12})_[a-z][a-z_]{2,40}$")
_ENOUGH_TOOLS = 4


def _often(reading: SkillReading) -> Iterator[Sign]:
    """A text that speaks of its subagents again and again, in any language."""
    said = [each for each in reading.statements_with(("subagent", "sub-agent")) if _SUBAGENT.search(each.text)]
    places = [each for each in said if each.weight >= _PLAINLY and not is_conditional(each.text, len(each.text))]
    if len(places) >= _TIMES and not any(_NO_AGENTS.search(each.text) for each in said):
        yield reading.sign(1.0, EvidenceKind.SENTENCE, "subagents", places[0].line, places[0].shown)


_SUBAGENT = lazy(r"(?<![\w-])sub-?agents?\b")
_PLAINLY, _TIMES = 0.5, 3


def _spends(reading: SkillReading) -> Iterator[Sign]:
    """Money that is moved: a wallet's key, or a description that says so."""
    names = {name: line for name, line in reading.declared.variables if _WALLET.search(name)}
    for name, line in names.items():
        yield reading.sign(0.6, EvidenceKind.DECLARED, name, line)
    if match := _PAYS.search(reading.about):
        yield reading.sign(0.6 if names else 0.5, EvidenceKind.SENTENCE, "money", reading.about_line, match[0])


def _host_functions(reading: SkillReading) -> Iterator[Sign]:
    """What one host alone has: its hooks, its memory, tools of a plugin, another agent that must be installed."""
    for nth, line in enumerate(reading.skill.lines, 1):
        role = reading.role(nth)
        if role in (SectionUse.ASIDE, SectionUse.OPTIONAL, SectionUse.TROUBLE):
            continue
        if "Hook" in line or "hook" in line or "Stop" in line:
            for match in _HOOKS.finditer(line[:2_000]):
                yield reading.sign(0.5, EvidenceKind.SENTENCE, match[0].partition(" ")[0], nth)
        if "/.claude/projects/" in line or "emory" in line or "MEMORY" in line:
            for match in _MEMORY.finditer(line[:2_000]):
                yield reading.sign(0.7, EvidenceKind.FILE, "the memory of the host", nth, match[0])
    yield from signs_of_phrase(reading, _ENSURED_AGENT, 1.0, "")
    if "mcp" in reading.skill.text.lower() or reading.scripts or reading.snippets:
        return
    tools: dict[str, dict[str, int]] = {}
    for span in reading.skill.body.codes:
        if named := _OWN_TOOLS.match(span.text.strip()):
            tools.setdefault(named[1], {}).setdefault(span.text, span.line)
    for prefix, names in sorted(tools.items()):
        if len(names) >= _ENOUGH_TOOLS:
            yield reading.sign(1.0, EvidenceKind.SERVER, f"tools {prefix}_*", min(names.values()))


def find(reading: SkillReading) -> Iterator[Sign]:
    """Systems that are declared or needed by a program, other agents that are started, and devices."""
    for name, line in reading.declared.systems:
        if (
            name.lower() in ("darwin", "macos", "win32", "windows", "linux")
            and len({each.lower() for each, _ in reading.declared.systems}) == 1
        ):
            yield reading.sign(1.0, EvidenceKind.DECLARED, name, line)
    for name, line in reading.declared.tools:
        if name in _OF_ONE_HOST:
            yield reading.sign(0.5, EvidenceKind.DECLARED, f"{name} tool", line)
        if name in ("Task", "Agent") or name.startswith("Task("):
            yield reading.sign(0.3, EvidenceKind.DECLARED, f"{name[:20]} tool", line)
    for placed in reading.commands:
        tags = facts_of(placed.command.program).tags
        if "mac" in tags:
            yield reading.sign(0.7 * placed.weight, EvidenceKind.COMMAND, "macOS", placed.line, placed.command.text)
        elif (
            "agent" in tags
            and placed.command.words
            and not any(
                word in ("mcp", "plugin", "skill", "skills", "install", "login") for word in placed.command.words[:2]
            )
        ) or "device" in tags:
            yield reading.sign(
                0.7 * placed.weight, EvidenceKind.COMMAND, placed.command.program, placed.line, placed.command.text
            )
    for said in (reading.about, reading.declared.compatibility.lower()):
        if match := _HARDWARE.search(said):
            line = reading.about_line if said is reading.about else reading.declared.line
            yield reading.sign(1.0, EvidenceKind.SENTENCE, match[0], line)
    if match := _AGENT_WORK.search(reading.about):
        begins = 1.0 if match.start() < _AT_ONCE else 0.5
        yield reading.sign(begins, EvidenceKind.SENTENCE, "other agents", reading.about_line, match[0])
    yield from signs_of_phrase(reading, _MAC, 1.0, "macOS")
    yield from _spends(reading)
    yield from _host_functions(reading)
    for sign in signs_of_phrase(reading, _AGENTS, 0.4, ""):
        said = sign.evidence.text.lower()
        if _NO_AGENTS.search(said):
            continue
        told = 2.5 if _TELLS.match(said) or _BY_TOOL.search(said) else 1.0
        evidence = sign.evidence._replace(subject=f"agents:{sign.evidence.line}")
        yield sign._replace(weight=sign.weight * told, evidence=evidence)
    yield from _often(reading)
    for sign in signs_of_phrase(reading, _SYSTEM, 0.7, ""):
        # What runs on several systems needs none of them.
        if len(set(_ANY_SYSTEM.findall(sign.evidence.text.lower()))) > 1:
            continue
        required = reading.role(sign.evidence.line) is SectionUse.REQUIRED
        yield sign._replace(weight=sign.weight * (1.45 if required else 1.0))
    yield from signs_of_phrase(reading, _DEVICE, 0.6, "")
    yield from signs_of_phrase(reading, _HOSTS_TOOL, 0.4, "")
    yield from signs_of_phrase(reading, _PLUGINS, 0.8, "")
    yield from signs_of_phrase(reading, _BUILTIN, 2.0, "a tool of the host", conditional=1.0)
