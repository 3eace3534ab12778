"""What is in none of the other categories: hardware, an operating system, other agents, people."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import SectionUse
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
    r"launch)\w* (?:the |an? )?`[\w:-]+` (agents?)\b|\bspawn(?:s|ing)? (?:\w+ ){0,3}agents?\b",
)
_HARDWARE = lazy(
    r"\b(?:bluefield|jetson|dpus?\b|raspberry pi|arduino|esp32|micro-?controllers?|oscilloscope|3d printers?|printers?|smart home|"
    r"home assistant|philips hue|sonos|apple (?:notes|reminders|silicon)|homekit|android (?:device|phone)s?|iphone)\b"
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


def find(reading: SkillReading) -> Iterator[Sign]:
    """Systems that are declared or needed by a program, other agents that are started, and devices."""
    for name, line in reading.declared.systems:
        if (
            name.lower() in ("darwin", "macos", "win32", "windows", "linux")
            and len({each.lower() for each, _ in reading.declared.systems}) == 1
        ):
            yield reading.sign(1.0, EvidenceKind.DECLARED, name, line)
    for name, line in reading.declared.tools:
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
    if match := _HARDWARE.search(reading.about):
        yield reading.sign(1.0, EvidenceKind.SENTENCE, match[0], reading.about_line)
    if match := _AGENT_WORK.search(reading.about):
        yield reading.sign(0.5, EvidenceKind.SENTENCE, "other agents", reading.about_line, match[0])
    for sign in signs_of_phrase(reading, _AGENTS, 0.4, ""):
        told = 2.5 if _TELLS.match(sign.evidence.text.lower()) else 1.0
        evidence = sign.evidence._replace(subject=f"agents:{sign.evidence.line}")
        yield sign._replace(weight=sign.weight * told, evidence=evidence)
    for sign in signs_of_phrase(reading, _SYSTEM, 0.7, ""):
        # What runs on several systems needs none of them.
        if len(set(_ANY_SYSTEM.findall(sign.evidence.text.lower()))) > 1:
            continue
        required = reading.role(sign.evidence.line) is SectionUse.REQUIRED
        yield sign._replace(weight=sign.weight * (1.45 if required else 1.0))
    yield from signs_of_phrase(reading, _DEVICE, 0.6, "")
    yield from signs_of_phrase(reading, _HOSTS_TOOL, 0.4, "")
    yield from signs_of_phrase(reading, _PLUGINS, 0.8, "")
    yield from signs_of_phrase(reading, _BUILTIN, 1.0, "")
