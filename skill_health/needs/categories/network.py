"""Hosts outside that the normal course reaches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.clients import client_signs, session_signs
from skill_health.needs.reading.force import SectionUse, is_negated
from skill_health.needs.reading.packages import PACKAGES, client_imports, named_clients
from skill_health.needs.reading.products import owned_signs, product_signs
from skill_health.needs.reading.programs import facts_of, installs_skill, is_tool
from skill_health.needs.reading.read import PlacedCommand, SkillReading, phrase, signs_of_phrase
from skill_health.needs.reading.scripts import is_outside
from skill_health.needs.reading.servers import remote_signs
from skill_health.needs.reading.variables import REQUIRED_WORDS, is_secret
from skill_health.text.patterns import lazy

ORDER = 3
TITLE = "External network access"
MEANING = "It must reach hosts outside: web APIs, downloads, web search, cloud services. Installing a package alone does not count."

_BUCKET = lazy(r"(?<![\w/])(?:s3|gs|abfss?|wasbs?)://[\w<{$][\w.<>{}$/-]*")
_WEB_TOOL = lazy(r"(?:Web(?:Search|Fetch)|web_(?:search|fetch))\b")
_HOST = lazy(r"\b(?:https?|wss?)://(?:[^\s/@\"'`]{1,60}@)?([A-Za-z0-9$][\w.${}-]{2,100})")
_BARE_HOST = lazy(
    r"[\"']?((?:[a-z0-9-]+\.)+(?:com|org|net|io|in|dev|ai|co|app|me|sh|info|gov|edu|eu|de|uk|jp|cn|space|xyz|live))(?=[/?\"']|$)"
)
_GIT = frozenset(("clone", "push", "pull", "fetch", "ls-remote"))
_WORDS = phrase(
    "web search|websearch|web_search|search the web|webfetch|web_fetch|web fetch|internet|online|search "
    "engine|browse the web|google search|fetch the|fetch |download|scrape|crawl| api|network|first run",
    r"\b(?:use|using|run|perform|conduct|do|via|with|requires?|execute|call|through|then|"
    r"first)\b[^.\n]{0,40}\b(?:web ?search|web_search|webfetch|web_fetch|web fetch|brave search)|"
    r"`(?:web ?search|webfetch|web_search|web_fetch)`|\bsearch the (?:web|internet)\b|\bweb search(?:es)?\b|"
    r"\brequires? (?:an? )?(?:active |stable )?(?:internet|network|online)\b|\b(?:internet|network) (?:access|connection)\b|"
    r"\b(?:fetch(?:es)?|downloads?|scrapes?|crawls?|pulls?|retrieves?)\b[^.\n]{0,40}\b(?:from (?:the (?:web|internet)|(?:an? |the )?"
    r"[\w .()-]{0,30}\bapi)\b|"
    r"web "
    r"?pages?|websites?|urls?\b|https?://|from (?:github|the official|hugging ?face|s3))|"
    r"\b(?:scripts?|commands?|tools?|it|skill) (?:all )?(?:uses?|needs?|requires?) (?:the )?(?:network|internet)\b|"
    r"\b(?:calls?|queries|query|hits?|uses?|using|via|through) (?:the |an? )?[\w .-]{0,30}\bapi\b",
)
_SITES = phrase(
    "reddit|app store|job post|job board|competitor|forums|social media|search results|online",
    r"\b(?:gather|collect|synthesi[sz]|search|monitor|min(?:e|ing)|scan|check|crawl|browse|pull|capture|intel from|find)\w*\b[^.\n]{0,60}"
    r"\b(?:reddit|hacker news|app store reviews?|g2\b|trustpilot|job (?:postings?|boards?)|competitors?'? (?:sites?|websites?|pages?)|"
    r"online (?:sources|communities|forums)|search results|news sites?)\b",
)
_WEB = 1.1
_REGISTRY = lazy(
    r"\b(?:search|install|download|find|fetch|publish)\w*\b[^.\n]{0,60}\b(?:from|in|on|to) (?:the )?(?:[\w.-]+ ){0,2}(?:registry|marketplace)\b"
)
_INTERNET = lazy(r"internet|network")
_USES_WEB = lazy(
    r"^\W*(?:\d+[.)] )?(?:\*\*)?(?:use|run|search with|fetch with) `?(?:web ?search|web_search|webfetch|web_fetch)\b"
)
_FIRST = phrase(
    "download",
    r"\b(?:first (?:run|use|time)|initial(?:ly)?)\b[^.\n]{0,30}\bdownloads?\b|\bdownloads? (?:the |a "
    r")?(?:models?|weights|data ?sets?)\b[^.\n]{0,30}(?:first|hugging|from)",
)
_BY_API = lazy(
    r"\b(?:via|using|from|through|with|uses?|calls?|quer(?:y|ies)|by)\b[^.\n]{0,50}\b(?:apis?|web services?)\b(?! keys?)"
)
_CODES = lazy(
    r"\b(?:build|develop|integrat|implement|design|best practices|sdk|patterns?|expert|architect|audit|scaffold|generate(?:s)? code|"
    r"api (?:design|endpoints?|documentation))"
)
_REQUEST = lazy(r"\s*(?:[-*|]\s*)?`?(?:GET|POST|PUT|PATCH|DELETE) (?:https?://|/)\S+")
_ENDPOINT = lazy(r"\b(?:base url|api base|endpoints?|server at|mcp server|webhook|api at|rpc)\b")
_CREDENTIALS = ("api key", "oauth", "api_key", "bot token", "access token", "auth token", "api token")
_PLAINLY = 0.6
_KEY = lazy(
    r"\b([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*_(?:API_KEY|API_TOKEN|ACCESS_TOKEN|BEARER_TOKEN|BOT_TOKEN|AUTH_TOKEN|API_SECRET))\b"
)
_NO_NETWORK = lazy(
    r"\b(?:fully |completely |100% )?(?:offline|no (?:internet|network)|without (?:internet|network)|no (?:external )?api calls|zero network)"
)
_DOWNLOADS = lazy(
    r"\bfrom_pretrained\(\s*[\"'][\w.-]+/|\bload_dataset\(\s*[\"']|\bsnapshot_download\(|\bhf_hub_download\("
)


def find(reading: SkillReading) -> Iterator[Sign]:
    """Hosts in commands and scripts, programs and packages that are clients, and sentences that say so."""
    offline = 0.4 if _NO_NETWORK.search(reading.about) else 1.0
    declared = reading.declared
    if any(word in declared.compatibility.lower() for word in ("internet", "network", "online")):
        yield reading.sign(1.0, EvidenceKind.DECLARED, "internet", declared.line)
    for name, line in declared.tools:
        if name.lower().startswith(("websearch", "webfetch", "web_search", "web_fetch")):
            yield reading.sign(0.45, EvidenceKind.DECLARED, name.partition("(")[0], line)
    for placed in reading.commands:
        yield from _of_command(placed, reading, offline)
    for nth, row in enumerate(reading.skill.lines, 1):
        if "://" in row and (match := _BUCKET.search(row)):
            yield reading.sign(reading.role(nth).run * offline, EvidenceKind.HOST, "a bucket", nth, match[0])
    for statement in reading.statements_with(("websearch", "webfetch", "web_search", "web_fetch")):
        match = _WEB_TOOL.search(statement.shown)
        if match and not is_negated(statement.text, match.start(), match.end()):
            yield reading.sign(
                0.8 * statement.weight, EvidenceKind.PROGRAM, "web search", statement.line, statement.shown
            )
    yield from owned_signs(reading, 0.6)
    for name, line, path in named_clients(reading):
        yield reading.sign(0.6 * offline, EvidenceKind.IMPORT, name, line, f"imports {name}", path)
    for snippet in reading.snippets:
        if snippet.language in (
            "json",
            "yaml",
            "yml",
            "toml",
            "markdown",
            "md",
            "html",
            "xml",
            "text",
            "",
            "mermaid",
            "css",
        ):
            continue
        for use in client_imports(snippet.text):
            yield reading.sign(0.5 * snippet.role.run * offline, EvidenceKind.IMPORT, use, snippet.line)
        if match := _DOWNLOADS.search(snippet.text):
            yield reading.sign(
                0.6 * snippet.role.run * offline,
                EvidenceKind.IMPORT,
                match[0].partition("(")[0],
                snippet.line,
                match[0],
            )
    for script in reading.scripts:
        weight = 1.0 if script.weight >= 0.7 else 0.5 * script.weight
        for use2 in script.uses:
            if use2.kind == "host":
                yield reading.sign(
                    weight, EvidenceKind.HOST, use2.name, use2.line, f"{script.file} reaches {use2.name}", script.path
                )
            elif use2.kind == "package" and use2.name in PACKAGES:
                yield reading.sign(
                    weight
                    * (
                        0.5
                        if use2.name in ("requests", "httpx", "axios", "aiohttp", "google", "azure", "github")
                        else 1
                    ),
                    EvidenceKind.IMPORT,
                    use2.name,
                    use2.line,
                    f"{script.file} imports {use2.name}",
                    script.path,
                )
            elif (
                use2.kind == "program"
                and "network" in facts_of(use2.name).tags
                and use2.name not in ("curl", "wget", "claude", "codex", "gemini")
            ):
                yield reading.sign(
                    weight, EvidenceKind.SCRIPT, use2.name, use2.line, f"{script.file} runs {use2.name}", script.path
                )
    for statement in reading.statements_with(("api_key", "_token", "_api_")):
        if statement.weight > 0 and REQUIRED_WORDS.search(statement.text):
            for name in _KEY.findall(statement.shown):
                yield reading.sign(
                    statement.weight, EvidenceKind.VARIABLE, f"the service of {name}", statement.line, statement.shown
                )
    for name, line, path in reading.exported:
        if is_secret(name) and name not in reading.optional_names:
            yield reading.sign(
                1.0, EvidenceKind.VARIABLE, f"the service of {name}", line, f"README exports {name}", path
            )
    for name, line in reading.declared.variables:
        if is_secret(name):
            yield reading.sign(0.6, EvidenceKind.DECLARED, f"the service of {name}", line)
    if asks := next((each for each in reading.statements_with(_CREDENTIALS) if each.weight >= _PLAINLY), None):
        yield reading.sign(
            0.5 * offline, EvidenceKind.SENTENCE, "a service that wants credentials", asks.line, asks.shown
        )
        often = Counter(each.command.program for each in reading.commands if not each.command.is_path)
        for placed in reading.commands:
            program = placed.command.program
            if (
                (often[program] > 1 or placed.command.is_path)
                and program
                and is_tool(program)
                and not facts_of(program).listed
            ):
                yield reading.sign(
                    0.5 * placed.weight * offline,
                    EvidenceKind.COMMAND,
                    "a client of it",
                    placed.line,
                    placed.command.text,
                )
    for statement in reading.statements_with(("https://", "wss://")):
        if _ENDPOINT.search(statement.text) and any(is_outside(host) for host in _HOST.findall(statement.text)):
            yield reading.sign(
                0.8 * statement.weight, EvidenceKind.HOST, "an address of a service", statement.line, statement.shown
            )
    for sign in (*client_signs(reading, 1.0), *session_signs(reading, 0.6)):
        yield sign._replace(weight=sign.weight * offline)
    if match := _REGISTRY.search(reading.about):
        yield reading.sign(offline, EvidenceKind.SENTENCE, "a registry", reading.about_line, match[0])
    if not _CODES.search(reading.about):
        if match := _BY_API.search(reading.about):
            yield reading.sign(
                0.7 * offline, EvidenceKind.SENTENCE, "an API that it is for", reading.about_line, match[0]
            )
        for nth, row in enumerate(reading.skill.lines, 1):
            if (" /" in row or "http" in row) and _REQUEST.match(row):
                outside = any(is_outside(host) for host in _HOST.findall(row))
                weight = (0.7 if outside else 0.5) * reading.role(nth).run * offline
                yield reading.sign(weight, EvidenceKind.HOST, "requests to an API", nth, row)
    yield from remote_signs(reading, 0.9, own_content=False)
    for sign in product_signs(reading, 0.5):
        yield sign
    for sign in signs_of_phrase(reading, _FIRST, 1.0, "first download"):
        yield sign
    for sign in signs_of_phrase(reading, _WORDS, 0.65, ""):
        line = sign.evidence.line
        wanted = reading.role(line) is SectionUse.REQUIRED and _INTERNET.search(sign.evidence.subject) is not None
        plainly = line == reading.about_line or wanted or _USES_WEB.search(sign.evidence.text.lower()) is not None
        subject = "web search" if "web" in sign.evidence.subject else sign.evidence.subject
        evidence = sign.evidence._replace(subject=subject)
        web = _WEB if subject == "web search" else 1.0
        yield Sign(sign.weight * web * offline * (1.6 if plainly else 1.0), evidence)
    for sign in signs_of_phrase(reading, _SITES, 0.65, "public sites"):
        plainly = sign.evidence.line == reading.about_line
        yield sign._replace(weight=sign.weight * offline * (1.6 if plainly else 1.0))


_IMAGE = lazy(r"(?:[\w-]+\.)+(?:io|com|org|net|dev)/[\w./:-]+")
_FETCHES = lazy(r"\b(?:download|fetch|scrape|crawl)(?:[_-]\w+)?(?:\.(?:py|sh|js|ts))?(?:\s|$)")
_ASKS = lazy(r"^(?:exec|run|-p|--print|--prompt)\b|(?<!\S)-p\b")


def _of_command(placed: PlacedCommand, reading: SkillReading, offline: float) -> Iterator[Sign]:
    command, weight = placed.command, placed.weight * offline
    name = command.program
    if installs_skill(name, command.words):
        return
    if name in (
        "curl",
        "wget",
        "http",
        "https",
        "iwr",
        "Invoke-WebRequest",
        "Invoke-RestMethod",
        "lynx",
        "aria2c",
        "xh",
    ):
        text = " ".join(command.words)
        hosts = [match[1] for match in _HOST.finditer(text)]
        hosts += [match[1] for word in command.words if (match := _BARE_HOST.match(word))]
        outside = [host for host in hosts if is_outside(host) and "." in host] or (
            ["a host"] if not hosts or any("$" in host for host in hosts) else []
        )
        installs = (
            "install" in command.text or "| sh" in command.text or "| bash" in command.text or "|bash" in command.text
        )
        for host in outside[:2]:
            if placed.role is SectionUse.EXAMPLE and host != "a host" and not reading.about.count(host.split(".")[-2]):
                host = "a host of an example"
            if host != "a host" or "$" in text:
                yield reading.sign(
                    weight * (0.3 if installs else 1.0 if host != "a host" else 0.75),
                    EvidenceKind.HOST,
                    host,
                    placed.line,
                    command.text,
                )
    elif name == "git" and command.words[:1] and command.words[0] in _GIT:
        yield reading.sign(
            weight * (0.5 if command.words[0] != "push" else 0.7),
            EvidenceKind.COMMAND,
            "git " + command.words[0],
            placed.line,
            command.text,
        )
    elif name in ("docker", "podman") and command.words[:1] and command.words[0] in ("pull", "login", "run"):
        image = next((word for word in command.words[1:] if _IMAGE.match(word)), "")
        if image or command.words[0] != "run":
            strength = 0.5 if command.words[0] == "run" else 0.8
            yield reading.sign(
                strength * weight, EvidenceKind.HOST, image.partition("/")[0] or "a registry", placed.line, command.text
            )
    elif _FETCHES.search(command.text):
        yield reading.sign(0.5 * weight, EvidenceKind.COMMAND, "a download", placed.line, command.text)
    elif name in ("codex", "gemini") and _ASKS.search(" ".join(command.words)):
        yield reading.sign(0.7 * weight, EvidenceKind.COMMAND, name, placed.line, command.text)
    elif "network" in facts_of(name).tags and name not in ("claude", "codex", "gemini", "openclaw"):
        local = name in ("nmap", "ping", "kubectl", "helm", "ssh", "terraform", "tofu", "dbt", "firebase", "supabase")
        yield reading.sign(weight * (0.7 if local else 1.0), EvidenceKind.COMMAND, name, placed.line, command.text)
