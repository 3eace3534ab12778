"""Something that must run on this machine."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.programs import facts_of
from skill_health.needs.reading.read import SkillReading, phrase, signs_of_phrase
from skill_health.text.patterns import lazy

ORDER = 13
TITLE = "Local running services"
MEANING = (
    "Something must run on this machine: a dev server, a daemon, a queue, Docker, a local model server, an "
    "emulator, a desktop application's API."
)

_LOCAL = lazy(r"\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0|host\.docker\.internal)(?::(\d{2,5}))?")
_SERVES = lazy(r"^(?:run )?(?:dev|start|serve|preview)$")
_SAID = phrase(
    "server|launch|daemon|docker|ollama|emulator|simulator|localhost|gateway|comfyui|running|redis|local model",
    r"\b(?:start|launch|run|boot|spin up|bring up|requires?|needs?|ensure|make sure|verify|connect to|"
    r"running)\b[^.\n]{0,30}\b([\w -]{0,24}server|(?:real |actual )?app(?=[.,;* ]|$)|docker (?:daemon|desktop|"
    r"engine|compose)|ollama|emulator|simulator|the (?:server|daemon|gateway|app|service|container|dev "
    r"server)|a (?:running|local) [\w ]{2,20}|comfyui|redis|localstack)\b|"
    r"\b((?:server|daemon|docker|ollama|service|gateway|container|application|simulator|emulator) (?:is|must "
    r"be|to be|should be|be) (?:up|running|started|launched))\b|\blistening on (?:port|localhost)",
)
_BUILD_ONLY = frozenset(("--version", "version", "login", "--help"))


def find(reading: SkillReading) -> Iterator[Sign]:
    """Commands that start or ask something local, addresses of this machine, and sentences that want it running."""
    for placed in reading.commands:
        command = placed.command
        words = command.words
        tags = facts_of(command.program).tags
        if "services" in tags and not (words and words[0] in _BUILD_ONLY):
            yield reading.sign(0.8 * placed.weight, EvidenceKind.COMMAND, command.program, placed.line, command.text)
        elif (
            command.program in ("npm", "pnpm", "yarn", "bun")
            and words
            and _SERVES.match(" ".join(words[:2]) if words[0] == "run" else words[0])
        ):
            yield reading.sign(0.8 * placed.weight, EvidenceKind.COMMAND, "dev server", placed.line, command.text)
        elif command.program in ("uvicorn", "gunicorn", "flask", "streamlit", "http-server", "serve") or (
            "http.server" in words
        ):
            yield reading.sign(0.7 * placed.weight, EvidenceKind.COMMAND, "server", placed.line, command.text)
        elif command.program in ("adb", "emulator") or (command.program == "xcrun" and words[:1] == ("simctl",)):
            yield reading.sign(0.8 * placed.weight, EvidenceKind.COMMAND, "emulator", placed.line, command.text)
        if "localhost" in command.text or "127.0.0.1" in command.text:
            match = _LOCAL.search(command.text)
            yield reading.sign(
                0.7 * placed.weight, EvidenceKind.HOST, match[0] if match else "localhost", placed.line, command.text
            )
    for snippet in reading.snippets:
        if ("localhost:" in snippet.text or "127.0.0.1:" in snippet.text) and (match := _LOCAL.search(snippet.text)):
            yield reading.sign(0.3 * snippet.role.run, EvidenceKind.HOST, match[0], snippet.line, match[0])
    for script in reading.scripts:
        for use in script.uses:
            if use.kind == "program" and use.name in ("docker", "docker-compose", "ollama", "podman"):
                yield reading.sign(
                    0.8 if script.weight >= 0.7 else 0.3,
                    EvidenceKind.SCRIPT,
                    use.name,
                    use.line,
                    f"{script.file} runs {use.name}",
                    script.path,
                )
    for statement in reading.statements_with(("localhost", "127.0.0.1")):
        if match := _LOCAL.search(statement.text):
            yield reading.sign(0.4 * statement.weight, EvidenceKind.HOST, match[0], statement.line, statement.shown)
    yield from signs_of_phrase(reading, _SAID, 0.7, "")
